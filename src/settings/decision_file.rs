//! Writing decisions down, so that nobody is asked twice: the text of an override file with more
//! decisions in it.

use super::decisions::Scope;
use super::located::{self, Content, Key, Misplaced, Node, Position};
use super::overrides::{Entry, entries};
use crate::model::{Environment, Location};

/// Why decisions cannot be added to a file.
#[derive(Debug, thiserror::Error)]
pub enum DecisionFileError {
    /// The text is not that of an override file in JSON. Reads `7:9: …`, so that the name of the
    /// file and a colon can stand before it.
    #[error(transparent)]
    Malformed(#[from] Misplaced),
    /// The file says something else already. Reads `7:9: …`, too.
    #[error(
        "{at}: {earlier} stands there already, so that {added} cannot be added; take the earlier \
         entry out if it has been carried out everywhere"
    )]
    Contradiction {
        /// Where the earlier decision stands.
        at: Position,
        /// The earlier decision.
        earlier: String,
        /// The one to be added.
        added: String,
    },
    /// The decisions to be added contradict each other.
    #[error("{first} and {second} contradict each other")]
    Inconsistent {
        /// A decision.
        first: String,
        /// Another one.
        second: String,
    },
}

/// A decision: the old name, and the new one if there is any.
type Said = (String, Option<String>);

/// Returns the text of an override file with decisions about one environment added: that of a
/// new file if there is none. What stands in it stays in its order; a decision that stands there
/// already, for this environment or for more, is not repeated. `left` are deployed resources that
/// are nothing that exists now. The text is JSON with two spaces for each level and a newline at
/// the end.
///
/// # Errors
/// When the text is not that of an override file, or says something else of the same resource.
pub fn append(
    text: Option<&str>,
    environment: &Environment,
    pairs: &[(Location, Location)],
    left: &[Location],
) -> Result<String, DecisionFileError> {
    let mut file = match text.filter(|text| !text.trim().is_empty()) {
        Some(text) => located::json(text)?,
        None => object([("environments", list(Vec::new()))]),
    };
    let present: Vec<Entry> =
        entries(&file)?.into_iter().filter(|entry| entry.scope.contains(environment)).collect();
    let moved = pairs.iter().map(|(old, new)| (old.to_string(), Some(new.to_string())));
    let gone = left.iter().map(|old| (old.to_string(), None));
    let mut added: Vec<Said> = Vec::new();
    for said in moved.chain(gone) {
        if let Some(first) = added.iter().find(|one| contradict(one, &said)) {
            let (first, second) = (written(first), written(&said));
            return Err(DecisionFileError::Inconsistent { first, second });
        }
        let of = |entry: &Entry| (entry.source.clone(), entry.destination.clone());
        if let Some(earlier) = present.iter().find(|entry| contradict(&of(entry), &said)) {
            let (at, earlier) = (earlier.at, written(&of(earlier)));
            return Err(DecisionFileError::Contradiction { at, earlier, added: written(&said) });
        }
        if !added.contains(&said) && !present.iter().any(|entry| of(entry) == said) {
            added.push(said);
        }
    }
    if !added.is_empty() {
        insert(&mut file, environment, added);
    }
    Ok(located::pretty(&file))
}

/// Whether two decisions about one environment cannot both hold.
fn contradict(one: &Said, other: &Said) -> bool {
    let same_source = one.0 == other.0;
    let same_destination = one.1.is_some() && one.1 == other.1;
    same_source != same_destination && (same_source || same_destination) && one != other
}

fn written((source, destination): &Said) -> String {
    match destination {
        Some(destination) => format!("`{source}` → `{destination}`"),
        None => format!("`{source}` → nothing"),
    }
}

/// Puts decisions into the entry of the environment, or into a new one at the end.
fn insert(file: &mut Node, environment: &Environment, added: Vec<Said>) {
    let Content::Map(members) = &mut file.content else { return };
    let is_list = |key: &Key| key.text == "environments" || key.text == "mappings";
    let Some((_, value)) = members.iter_mut().find(|(key, _)| is_list(key)) else { return };
    if matches!(value.content, Content::Map(_)) {
        // What held everywhere still does.
        let everywhere = std::mem::replace(value, list(Vec::new()));
        value.content = Content::List(vec![object([("resources", everywhere)])]);
    }
    let Content::List(items) = &mut value.content else { return };
    let at = items.iter().position(|item| names_of(item, environment).is_some());
    let at = at.unwrap_or_else(|| {
        items.push(object([
            ("account", text(&environment.account)),
            ("region", text(&environment.region)),
            ("resources", object([])),
        ]));
        items.len() - 1
    });
    let Some(item) = items.get_mut(at) else { return };
    if let Content::Map(members) = &mut item.content
        && let Some((_, names)) = members.iter_mut().find(|(key, _)| key.text == "resources")
        && let Content::Map(names) = &mut names.content
    {
        names.extend(added.into_iter().map(|(source, destination)| {
            let nothing = Node { at: Position::default(), content: Content::Null };
            (key(&source), destination.map_or(nothing, |destination| text(&destination)))
        }));
    }
}

/// The resources of an entry, if it is for exactly this environment.
fn names_of<'a>(item: &'a Node, environment: &Environment) -> Option<&'a Node> {
    let Content::Map(members) = &item.content else { return None };
    let get = |name: &str| members.iter().find(|(key, _)| key.text == name).map(|(_, node)| node);
    let part = |name: &str| get(name).and_then(|node| node.text("").ok()).map(str::to_owned);
    let scope = Scope { account: part("account"), region: part("region") };
    let is_named = scope.account.is_some() && scope.region.is_some();
    (is_named && scope.contains(environment)).then(|| get("resources")).flatten()
}

fn key(text: &str) -> Key {
    Key { at: Position::default(), text: text.to_owned() }
}

fn text(text: &str) -> Node {
    Node { at: Position::default(), content: Content::Text(text.to_owned()) }
}

fn list(items: Vec<Node>) -> Node {
    Node { at: Position::default(), content: Content::List(items) }
}

fn object<const N: usize>(members: [(&str, Node); N]) -> Node {
    let members = members.into_iter().map(|(name, node)| (key(name), node)).collect();
    Node { at: Position::default(), content: Content::Map(members) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(text: Option<&str>, pairs: &[(&str, &str)], left: &[&str]) -> Result<String, String> {
        let place = |text: &str| text.parse::<Location>().unwrap();
        let pairs: Vec<_> = pairs.iter().map(|(old, new)| (place(old), place(new))).collect();
        let left: Vec<_> = left.iter().map(|old| place(old)).collect();
        let environment = Environment::new("111111111111", "us-east-1");
        append(text, &environment, &pairs, &left).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_decision_makes_the_file() {
        insta::assert_snapshot!(add(None, &[("A.X", "B.Y")], &["A.Z"]).unwrap(), @r#"
        {
          "environments": [
            {
              "account": "111111111111",
              "region": "us-east-1",
              "resources": {
                "A.X": "B.Y",
                "A.Z": null
              }
            }
          ]
        }
        "#);
        assert_eq!(
            add(Some(" \n"), &[("A.X", "B.Y")], &["A.Z"]),
            add(None, &[("A.X", "B.Y")], &["A.Z"])
        );
    }

    #[test]
    fn what_stands_there_stays_and_is_not_repeated() {
        let before = r#"{"$schema": "s.json", "environments": [
            {"region": "eu-west-1", "account": "111111111111", "resources": {"A.X": "B.Other"}},
            {"resources": {"A.V": "A.W"}},
            {"region": "us-east-1", "account": "111111111111", "resources": {"Z.Z": null, "A.A": "A.B"}}
        ]}"#;
        let pairs = [("A.V", "A.W"), ("A.A", "A.B"), ("A.X", "B.Y"), ("A.X", "B.Y")];
        let after = add(Some(before), &pairs, &["Z.Z", "Q.Q"]).unwrap();
        insta::assert_snapshot!(after, @r#"
        {
          "$schema": "s.json",
          "environments": [
            {
              "region": "eu-west-1",
              "account": "111111111111",
              "resources": {
                "A.X": "B.Other"
              }
            },
            {
              "resources": {
                "A.V": "A.W"
              }
            },
            {
              "region": "us-east-1",
              "account": "111111111111",
              "resources": {
                "Z.Z": null,
                "A.A": "A.B",
                "A.X": "B.Y",
                "Q.Q": null
              }
            }
          ]
        }
        "#);
        assert_eq!(add(Some(&after), &pairs, &["Z.Z", "Q.Q"]).unwrap(), after);
    }

    #[test]
    fn the_other_forms_are_added_to_as_well() {
        insta::assert_snapshot!(add(Some(r#"{"mappings": {"A.V": "A.W"}}"#), &[("A.X", "B.Y")], &[]).unwrap(), @r#"
        {
          "mappings": [
            {
              "resources": {
                "A.V": "A.W"
              }
            },
            {
              "account": "111111111111",
              "region": "us-east-1",
              "resources": {
                "A.X": "B.Y"
              }
            }
          ]
        }
        "#);
        let pair = r#"{"mappings": [{"source": "A.V", "destination": "A.W"}]}"#;
        let text = add(Some(pair), &[("A.X", "B.Y")], &[]).unwrap();
        assert_eq!(entries(&located::json(&text).unwrap()).unwrap().len(), 2);
    }

    #[test]
    fn what_contradicts_is_refused_with_its_place() {
        let file = "{\"mappings\": {\n  \"A.X\": \"B.Y\",\n  \"A.Z\": null}}";
        insta::assert_snapshot!(
            add(Some(file), &[("A.X", "B.Z")], &[]).unwrap_err(),
            @"2:3: `A.X` → `B.Y` stands there already, so that `A.X` → `B.Z` cannot be added; take the earlier entry out if it has been carried out everywhere"
        );
        for (pairs, left) in
            [(&[("A.Q", "B.Y")][..], &[][..]), (&[("A.Z", "B.Z")], &[]), (&[], &["A.X"])]
        {
            assert!(add(Some(file), pairs, left).is_err(), "{pairs:?} {left:?}");
        }
        insta::assert_snapshot!(
            add(None, &[("A.X", "B.Z")], &["A.X"]).unwrap_err(),
            @"`A.X` → `B.Z` and `A.X` → nothing contradict each other"
        );
        assert!(add(Some(file), &[("B.Y", "C.Y")], &[]).is_ok(), "the chain goes on");
    }

    #[test]
    fn what_is_no_override_file_is_not_written_to() {
        insta::assert_snapshot!(add(Some("{\n \"x\": 1}"), &[], &[]).unwrap_err(), @"2:2: unknown field `x`, expected `environments` or `mappings`");
        assert!(add(Some("{"), &[], &[]).is_err());
    }
}
