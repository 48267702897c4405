//! `--override-file`, `--refactor-file` and the recorded decisions of a project: what people
//! decided, in the forms that tools for the CDK have used, as JSON or YAML.
//!
//! ```json
//! {"environments": [{"account": "111111111111", "region": "us-east-1",
//!                    "resources": {"Stack.Old": "Stack.New", "Stack.Gone": null}}]}
//! {"mappings": [{"account": "111111111111", "region": "us-east-1",
//!                "resources": {"Stack.Old": "Stack.New"}}]}
//! {"mappings": {"Stack.Old": "Stack.New"}}
//! {"mappings": [{"source": "Stack.Old", "destination": "Stack.New"}]}
//! ```
//!
//! `null` in place of the second name: the resource is nothing that exists now. Wildcards
//! (`Pattern`) name several resources at once, those of a construct above all. Whatever else
//! stands in the file is an error, for an entry that is ignored is a resource that is replaced.
//! Only `$schema` may stand there for the sake of editors.

use std::fs;
use std::path::{Path, PathBuf};

use super::SettingsError;
use super::decisions::{Decided, Left, Pair, Said, Scope, name, pair};
use super::located::{self, Content, Key, Misplaced, Node, Position};

/// What a valid file looks like.
pub(super) const SHAPE: &str = "an override file looks like {\"environments\": [{\"account\": \
                                \"111111111111\", \"region\": \"us-east-1\", \"resources\": \
                                {\"Stack.Old\": \"Stack.New\"}}]} or {\"mappings\": \
                                {\"Stack.Old\": \"Stack.New\"}}";

/// Where the schema of a file is: editors read it.
pub(super) const SCHEMA_KEY: &str = "$schema";

/// Why an override file says nothing that we understand.
#[derive(Debug, thiserror::Error)]
#[error("{}:{problem}", .file.display())]
pub struct OverrideError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong, and where.
    pub problem: Misplaced,
}

/// A decision as it stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) scope: Scope,
    pub(super) source: String,
    /// `None`: nothing that exists now.
    pub(super) destination: Option<String>,
    /// Where the first name stands.
    pub(super) at: Position,
    /// Where the second name stands.
    pub(super) destination_at: Position,
}

/// Reads a file of decisions.
pub(super) fn read(directory: &Path, file: &Path, said: Said) -> Result<Decided, SettingsError> {
    let node = node(directory, file)?;
    let wrong = |problem| OverrideError { file: file.to_owned(), problem };
    let mut decided = Decided::default();
    for entry in entries(&node).map_err(wrong)? {
        let origin = |at: Position| format!("{}:{at}", file.display());
        let first = origin(entry.at);
        match &entry.destination {
            Some(destination) => {
                let second = origin(entry.destination_at);
                let names = ((&*entry.source, &*first), (&**destination, &*second));
                decided.pairs.push(pair(names.0, names.1, &entry.scope, said)?);
            }
            None => decided.left.push(Left {
                what: name(&entry.source, &first)?,
                scope: entry.scope,
                origin: first,
                said,
            }),
        }
    }
    Ok(decided)
}

/// Reads the pairs of a file of decisions.
///
/// # Errors
/// When the file cannot be read, or says something else than decisions.
pub fn mapping_file(directory: &Path, file: &Path) -> Result<Vec<Pair>, SettingsError> {
    Ok(read(directory, file, Said::File)?.pairs)
}

/// Reads a JSON or YAML file with the places of everything in it.
pub(super) fn node(directory: &Path, file: &Path) -> Result<Node, SettingsError> {
    let text = fs::read_to_string(directory.join(file))
        .map_err(|source| SettingsError::Unreadable { file: directory.join(file), source })?;
    let is_yaml = file.extension().is_some_and(|one| one == "yaml" || one == "yml");
    let read = if is_yaml { located::yaml(&text) } else { located::json(&text) };
    read.map_err(|problem| OverrideError { file: file.to_owned(), problem }.into())
}

/// Reads the decisions in the order of the text.
pub(super) fn entries(node: &Node) -> Result<Vec<Entry>, Misplaced> {
    let members = object(node, &["environments", "mappings"], "an object")?;
    let lists = members.iter().filter(|(key, _)| key.text != SCHEMA_KEY);
    let (key, value) = match lists.collect::<Vec<_>>().as_slice() {
        [(key, value)] => (key, value),
        [] => return Err(wrong(node.at, "it has neither `environments` nor `mappings`")),
        [_, (second, _), ..] => {
            return Err(wrong(second.at, "it has both `environments` and `mappings`"));
        }
    };
    let mut found = Vec::new();
    match &value.content {
        Content::Map(_) if key.text == "mappings" => {
            resources(value, &Scope::default(), &mut found)?;
        }
        Content::List(items) => {
            for (number, item) in items.iter().enumerate() {
                entry(item, key, number + 1, &mut found)?;
            }
        }
        _ if key.text == "mappings" => {
            return Err(value.unexpected("an object of old names and new names, or a list"));
        }
        _ => return Err(value.unexpected("a list")),
    }
    Ok(found)
}

/// Reads an entry of a list; which keys belong together is checked so that the message can say
/// what is missing.
fn entry(item: &Node, list: &Key, number: usize, found: &mut Vec<Entry>) -> Result<(), Misplaced> {
    const KEYS: &[&str] = &["account", "region", "resources", "source", "destination"];
    let members = object(item, KEYS, "an object")?;
    let get = |name: &str| members.iter().find(|(key, _)| key.text == name).map(|(_, node)| node);
    let text = |name: &str| get(name).map(|node| node.text("a string")).transpose();
    let owned = |name: &str| Ok::<_, Misplaced>(text(name)?.map(str::to_owned));
    let scope = Scope { account: owned("account")?, region: owned("region")? };
    match (get("resources"), get("source"), get("destination")) {
        (Some(names), None, None) => resources(names, &scope, found),
        (None, Some(source), Some(second)) => {
            let destination = destination(second)?;
            found.push(Entry {
                scope,
                source: source.text("a string")?.to_owned(),
                destination,
                at: source.at,
                destination_at: second.at,
            });
            Ok(())
        }
        _ => Err(wrong(
            item.at,
            format!(
                "entry {number} of `{}` must have either `resources` or both `source` and \
                 `destination`",
                list.text
            ),
        )),
    }
}

fn resources(node: &Node, scope: &Scope, found: &mut Vec<Entry>) -> Result<(), Misplaced> {
    let Content::Map(members) = &node.content else {
        return Err(node.unexpected("an object of old names and new names"));
    };
    for (key, value) in members {
        found.push(Entry {
            scope: scope.clone(),
            source: key.text.clone(),
            destination: destination(value)?,
            at: key.at,
            destination_at: value.at,
        });
    }
    Ok(())
}

fn destination(node: &Node) -> Result<Option<String>, Misplaced> {
    match &node.content {
        Content::Null => Ok(None),
        _ => Ok(Some(node.text("a string, or null")?.to_owned())),
    }
}

/// Returns the members of an object that has each of these keys at most once, and no others but
/// `$schema`.
pub(super) fn object<'a>(
    node: &'a Node,
    keys: &[&str],
    expected: &str,
) -> Result<&'a [(Key, Node)], Misplaced> {
    let Content::Map(members) = &node.content else { return Err(node.unexpected(expected)) };
    for (at, (key, _)) in members.iter().enumerate() {
        if !keys.contains(&key.text.as_str()) && key.text != SCHEMA_KEY {
            let known: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
            let known = match known.split_last() {
                Some((last, [])) => last.clone(),
                Some((last, [first])) => format!("{first} or {last}"),
                _ => format!("one of {}", known.join(", ")),
            };
            return Err(wrong(key.at, format!("unknown field `{}`, expected {known}", key.text)));
        }
        if members[..at].iter().any(|(other, _)| other.text == key.text) {
            return Err(wrong(key.at, format!("`{}` is given twice", key.text)));
        }
    }
    Ok(members)
}

fn wrong(at: Position, problem: impl Into<String>) -> Misplaced {
    Misplaced::new(at, problem)
}
