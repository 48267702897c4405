//! Texts in templates that mean something else than their characters say: JSON, YAML, white space.
//!
//! A text may be cut by references (`Fn::Join`, `Fn::Sub`). It is put together with a mark in the
//! place of each, changed as a whole, and cut again.

use super::declaration::Meaning;
use crate::model::{Object, Text, Value};
use crate::template::{json, yaml};

/// Marks the place of a reference; what a text has of these itself leaves it unchanged.
const OPEN: char = '\u{E000}';
const CLOSE: char = '\u{E001}';

/// Returns a text in a form that is the same for all texts of its meaning; `None` if it is no
/// text of this kind.
pub(super) fn normalised(meaning: Meaning, text: &str) -> Option<String> {
    match meaning {
        Meaning::Whitespace => Some(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        Meaning::Json => compound(json::parse(text).ok()?),
        Meaning::Yaml => compound(yaml::parse(text).ok()?),
    }
}

/// A bare word is YAML, too, and a number is JSON: only what has parts is taken for a document.
fn compound(value: Value) -> Option<String> {
    matches!(value, Value::Object(_) | Value::Array(_)).then(|| json::to_compact(&sorted(value)))
}

/// Returns a value with the keys of all objects in order.
pub(super) fn sorted(value: Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        Value::Object(object) => {
            let mut members: Vec<(Text, Value)> =
                object.iter().map(|(key, value)| (key.clone(), sorted(value.clone()))).collect();
            members.sort_unstable_by(|left, right| left.0.cmp(&right.0));
            Value::Object(Object::from_iter(members))
        }
        other => other,
    }
}

/// Changes a text, whole or cut by references; `None` if it is none, or nothing is to be changed.
pub(super) fn change(value: &Value, edit: &dyn Fn(&str) -> Option<String>) -> Option<Value> {
    match value {
        Value::String(text) => Some(Value::from(edit(text)?.as_str())),
        Value::Object(object) => {
            let (function, argument) = object.single()?;
            let argument = match (function.as_str(), argument) {
                ("Fn::Base64", inner) => change(inner, edit)?,
                ("Fn::Sub", Value::String(_)) => change(argument, edit)?,
                ("Fn::Sub", Value::Array(items)) => {
                    let mut items = items.clone();
                    let first = items.first_mut()?;
                    *first = change(first, edit)?;
                    Value::Array(items)
                }
                ("Fn::Join", Value::Array(items)) => match items.as_slice() {
                    [Value::String(delimiter), Value::Array(pieces)] if delimiter.is_empty() => {
                        let pieces = joined(pieces, edit)?;
                        Value::Array(vec![Value::from(""), Value::Array(pieces)])
                    }
                    _ => return None,
                },
                _ => return None,
            };
            Some(Value::Object(Object::from_iter([(function.clone(), argument)])))
        }
        _ => None,
    }
}

fn joined(pieces: &[Value], edit: &dyn Fn(&str) -> Option<String>) -> Option<Vec<Value>> {
    let mut whole = String::new();
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Value::String(text) if text.contains([OPEN, CLOSE]) => return None,
            Value::String(text) => whole.push_str(text),
            _ => whole.extend([OPEN.to_string(), at.to_string(), CLOSE.to_string()]),
        }
    }
    let edited = edit(&whole)?;
    let mut rest = edited.as_str();
    let mut parts = Vec::new();
    let mut seen = vec![false; pieces.len()];
    while let Some((before, after)) = rest.split_once(OPEN) {
        let (number, after) = after.split_once(CLOSE)?;
        let number: usize = number.parse().ok()?;
        if std::mem::replace(seen.get_mut(number)?, true) {
            return None;
        }
        if !before.is_empty() {
            parts.push(Value::from(before));
        }
        parts.push(pieces[number].clone());
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Value::from(rest));
    }
    // A reference that got lost would be an invisible change.
    let kept = pieces.iter().zip(&seen).all(|(piece, seen)| *seen || piece.as_str().is_some());
    kept.then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        json::parse(text).unwrap()
    }

    fn same(meaning: Meaning, left: &str, right: &str) -> bool {
        let read = |text: &str| {
            let value = value(text);
            change(&value, &|text| normalised(meaning, text)).unwrap_or(value)
        };
        read(left) == read(right)
    }

    #[test]
    fn json_in_a_text_is_compared_by_meaning() {
        assert!(same(Meaning::Json, r#""{\"a\":1,\"b\":[2]}""#, r#""{ \"b\": [2],\n \"a\": 1 }""#));
        assert!(!same(Meaning::Json, r#""{\"a\":1}""#, r#""{\"a\":2}""#));
        assert!(!same(Meaning::Json, r#""no json""#, r#""no  json""#));
    }

    #[test]
    fn json_that_is_cut_by_references_is_compared_by_meaning() {
        let one = r#"{"Fn::Join":["",["{\"a\":\"",{"Ref":"X"},"\",\"b\":\"",{"Ref":"Y"},"\"}"]]}"#;
        let two =
            r#"{"Fn::Join":["",["{ \"b\": \"",{"Ref":"Y"},"\", \"a\": \"",{"Ref":"X"},"\" }"]]}"#;
        let other =
            r#"{"Fn::Join":["",["{ \"b\": \"",{"Ref":"X"},"\", \"a\": \"",{"Ref":"Y"},"\" }"]]}"#;
        assert!(same(Meaning::Json, one, two));
        assert!(!same(Meaning::Json, one, other));
        assert!(same(
            Meaning::Json,
            r#"{"Fn::Sub":"{\"a\": \"${X}\"}"}"#,
            r#"{"Fn::Sub":"{\"a\":\"${X}\"}"}"#
        ));
    }

    #[test]
    fn yaml_and_white_space_are_compared_by_meaning() {
        assert!(same(Meaning::Yaml, r#""a: 1\nb: [x]\n""#, r#""b:\n  - x\na: 1""#));
        assert!(same(Meaning::Whitespace, r#"" a\n  b ""#, r#""a b""#));
        assert!(same(Meaning::Whitespace, r#"{"Fn::Base64":"a  b"}"#, r#"{"Fn::Base64":"a b"}"#));
    }

    #[test]
    fn json_that_is_a_number_with_a_reference_in_it_stays_as_it_is() {
        let cut = value(r#"{"Fn::Join":["",["{\"a\":",{"Ref":"X"},"}"]]}"#);
        assert_eq!(change(&cut, &|text| normalised(Meaning::Json, text)), None);
    }
}
