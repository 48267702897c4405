//! Patterns that aspects match with: texts, construct paths, paths of properties.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};

use crate::model::{Object, Text, Value};

/// Whether a text is what a pattern says, in which `*` stands for any characters.
pub(super) fn matches_text(pattern: &str, text: &str) -> bool {
    let Some((start, mut rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    while let Some((part, after)) = rest.split_once('*') {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
        rest = after;
    }
    text.ends_with(rest)
}

/// A pattern for construct paths: `*` within a component, `**` for any number of them.
#[derive(Clone, Debug)]
pub struct PathPattern {
    text: Text,
    matcher: GlobMatcher,
}

impl PathPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(text: &str) -> Result<Self, String> {
        let plain = text.strip_prefix('/').unwrap_or(text);
        let glob = GlobBuilder::new(plain)
            .literal_separator(true)
            .build()
            .map_err(|error| error.kind().to_string())?;
        Ok(Self { text: plain.into(), matcher: glob.compile_matcher() })
    }

    /// Whether it stands for this path.
    pub fn is_match(&self, path: &str) -> bool {
        self.text == path || self.matcher.is_match(path)
    }

    /// Returns the pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Attributes of a resource beside its properties (CloudFormation user guide, "Resource
/// attributes").
const ATTRIBUTES: [&str; 9] = [
    "Properties",
    "Metadata",
    "DependsOn",
    "Condition",
    "DeletionPolicy",
    "UpdateReplacePolicy",
    "UpdatePolicy",
    "CreationPolicy",
    "Type",
];

/// A pattern for places in the body of a resource: a JSON pointer in whose parts `*` stands for
/// any characters, while `**` is any number of parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyPattern {
    parts: Vec<Text>,
}

/// A step into a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Index(usize),
    Key(Text),
}

/// A place in the body of a resource.
pub(super) type Place = Vec<Step>;

impl PropertyPattern {
    /// Reads `/Properties/Tags/*`, or with dots as reports write it: `Properties.Tags.*`. What
    /// does not begin with an attribute of resources is a property.
    ///
    /// # Errors
    /// When it is empty, has an empty part, or stands for the type or the whole body.
    pub fn new(text: &str) -> Result<Self, String> {
        let mut parts: Vec<Text> = match text.strip_prefix('/') {
            Some(pointer) => pointer
                .split('/')
                .map(|part| part.replace("~1", "/").replace("~0", "~").into())
                .collect(),
            None => text.split('.').map(Text::from).collect(),
        };
        if parts.iter().any(Text::is_empty) {
            return Err("it has an empty part".to_owned());
        }
        match parts.first().map(Text::as_str) {
            Some("Type") => return Err("the type of a resource is never ignored".to_owned()),
            Some("*" | "**") if parts.len() == 1 => {
                parts.insert(0, "Properties".into());
            }
            Some(first) if ATTRIBUTES.contains(&first) || text.starts_with('/') => {}
            _ => parts.insert(0, "Properties".into()),
        }
        if !ATTRIBUTES.contains(&parts[0].as_str()) {
            let attributes = ATTRIBUTES[..8].join("`, `");
            return Err(format!("it has to begin with one of `{attributes}`"));
        }
        Ok(Self { parts })
    }

    /// Returns its parts.
    pub(super) fn parts(&self) -> &[Text] {
        &self.parts
    }

    /// Returns a pattern of other parts, of which the first is an attribute of resources.
    pub(super) fn of_parts(parts: Vec<Text>) -> Self {
        Self { parts }
    }

    /// Returns the places of a body that it stands for, in the order of the body.
    pub(super) fn places(&self, body: &Object) -> Vec<Place> {
        let mut found = Vec::new();
        let mut place = Vec::new();
        members(body, &self.parts, &mut place, &mut found);
        found.sort();
        found.dedup();
        found
    }
}

impl fmt::Display for PropertyPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts
            .iter()
            .try_for_each(|part| write!(f, "/{}", part.replace('~', "~0").replace('/', "~1")))
    }
}

fn members(object: &Object, parts: &[Text], place: &mut Place, found: &mut Vec<Place>) {
    for (key, value) in object.iter() {
        step(Step::Key(key.clone()), key, value, parts, (place, found));
    }
}

fn inside(value: &Value, parts: &[Text], place: &mut Place, found: &mut Vec<Place>) {
    match value {
        Value::Object(object) => members(object, parts, place, found),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                step(Step::Index(at), &at.to_string(), item, parts, (&mut *place, &mut *found));
            }
        }
        _ => {}
    }
}

fn step(
    step: Step,
    name: &str,
    value: &Value,
    parts: &[Text],
    (place, found): (&mut Place, &mut Vec<Place>),
) {
    let Some((first, rest)) = parts.split_first() else { return };
    place.push(step);
    if first == "**" {
        if rest.is_empty() {
            found.push(place.clone());
        }
        // It stands for this part and perhaps more, or for none.
        inside(value, parts, place, found);
        if let Some((next, after)) = rest.split_first()
            && matches_text(next, name)
        {
            arrive(value, after, place, found);
        }
    } else if matches_text(first, name) {
        arrive(value, rest, place, found);
    }
    place.pop();
}

fn arrive(value: &Value, rest: &[Text], place: &mut Place, found: &mut Vec<Place>) {
    if rest.is_empty() {
        found.push(place.clone());
    } else {
        if rest == ["**"] {
            found.push(place.clone());
        }
        inside(value, rest, place, found);
    }
}

/// Returns the value at a place.
pub(super) fn value_at<'v>(body: &'v Object, place: &[Step]) -> Option<&'v Value> {
    let (Step::Key(first), rest) = place.split_first()? else { return None };
    rest.iter().try_fold(body.get(first)?, |value, step| match (step, value) {
        (Step::Key(key), Value::Object(object)) => object.get(key),
        (Step::Index(at), Value::Array(items)) => items.get(*at),
        _ => None,
    })
}

/// Returns the value at a place, to be changed.
pub(super) fn value_at_mut<'v>(body: &'v mut Object, place: &[Step]) -> Option<&'v mut Value> {
    let (Step::Key(first), rest) = place.split_first()? else { return None };
    rest.iter().try_fold(body.get_mut(first)?, |value, step| match (step, value) {
        (Step::Key(key), Value::Object(object)) => object.get_mut(key),
        (Step::Index(at), Value::Array(items)) => items.get_mut(*at),
        _ => None,
    })
}

/// Takes the value at a place out, and the lists and objects around it that are empty then.
pub(super) fn remove(body: &mut Object, place: &[Step]) {
    let Some((last, around)) = place.split_last() else { return };
    let is_empty = match (value_at_mut(body, around), last) {
        (None, Step::Key(key)) => {
            body.remove(key);
            return;
        }
        (Some(Value::Object(object)), Step::Key(key)) => {
            object.remove(key);
            object.is_empty()
        }
        (Some(Value::Array(items)), Step::Index(at)) if *at < items.len() => {
            items.remove(*at);
            items.is_empty()
        }
        _ => false,
    };
    if is_empty {
        remove(body, around);
    }
}

/// Writes a place as reports do: `Properties.Tags.0.Value`.
pub(super) fn dotted(place: &[Step]) -> String {
    let parts: Vec<String> = place
        .iter()
        .map(|step| match step {
            Step::Key(key) => key.to_string(),
            Step::Index(at) => at.to_string(),
        })
        .collect();
    parts.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::json;

    fn body(text: &str) -> Object {
        match json::parse(text).unwrap() {
            Value::Object(object) => object,
            other => panic!("{other:?}"),
        }
    }

    fn found(pattern: &str, text: &str) -> Vec<String> {
        let places = PropertyPattern::new(pattern).unwrap().places(&body(text));
        places.iter().map(|place| dotted(place)).collect()
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text, expected) in [
            ("AWS::RDS::*", "AWS::RDS::DBCluster", true),
            ("AWS::RDS::*", "AWS::S3::Bucket", false),
            ("*Tags", "HostedZoneTags", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXcYb", false),
            ("a*a", "a", false),
            ("*", "", true),
        ] {
            assert_eq!(matches_text(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_double_star_in_a_path_goes_through_components_and_a_single_one_does_not() {
        let all = PathPattern::new("Prod/**").unwrap();
        assert!(all.is_match("Prod/Db/Resource") && !all.is_match("Dev/Db"));
        let one = PathPattern::new("/*/Db").unwrap();
        assert!(one.is_match("Prod/Db") && !one.is_match("Prod/X/Db"));
        assert!(PathPattern::new("Prod/[").is_err());
    }

    #[test]
    fn a_pattern_finds_the_places_of_a_body() {
        let text = r#"{"Type":"X","Metadata":{"aws:asset:path":1,"aws:asset:x":2,"aws:cdk:path":3},
            "Properties":{"Tags":[{"Key":"a"},{"Key":"b"}],"A":{"B":{"Key":1}}}}"#;
        assert_eq!(
            found("/Properties/Tags/*/Key", text),
            ["Properties.Tags.0.Key", "Properties.Tags.1.Key"]
        );
        assert_eq!(found("Tags", text), ["Properties.Tags"]);
        assert_eq!(
            found("/Metadata/aws:asset:*", text),
            ["Metadata.aws:asset:path", "Metadata.aws:asset:x"]
        );
        assert_eq!(
            found("/Properties/**/Key", text),
            ["Properties.A.B.Key", "Properties.Tags.0.Key", "Properties.Tags.1.Key"]
        );
        assert_eq!(
            found("Properties.A.**", text),
            ["Properties.A", "Properties.A.B", "Properties.A.B.Key"]
        );
        assert!(found("/Properties/None", text).is_empty());
    }

    #[test]
    fn the_type_and_empty_parts_are_refused() {
        for wrong in ["/Type", "", "/", "A..B", "/Propertis/A"] {
            assert!(PropertyPattern::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_removed_takes_empty_surroundings_with_it() {
        let mut it = body(r#"{"Type":"X","Properties":{"Tags":[{"Key":"a"}],"B":1}}"#);
        let place = PropertyPattern::new("Tags.*").unwrap().places(&it).remove(0);
        remove(&mut it, &place);
        assert_eq!(it, body(r#"{"Type":"X","Properties":{"B":1}}"#));
    }
}
