//! Values that are written differently and mean the same.

use crate::model::{Number, Object, Value};
use crate::template::json;

/// Returns what is declared in the words of the state, where both mean the same; `None` if nothing
/// is declared and nothing is there.
pub(super) fn settled(declared: &Value, state: Option<&Value>) -> Option<Value> {
    match (declared, state) {
        (Value::Object(declared), Some(Value::Object(state))) => {
            Some(Value::Object(members(declared, Some(state))))
        }
        (Value::Object(declared), None) => {
            let members = members(declared, None);
            (!members.is_empty()).then_some(Value::Object(members))
        }
        (Value::Array(declared), Some(Value::Array(state))) => {
            let each = declared.iter().enumerate();
            let each = each.map(|(at, item)| settled(item, state.get(at)).unwrap_or(item.clone()));
            Some(Value::Array(each.collect()))
        }
        (Value::Null, None) => None,
        (Value::Array(items), None) if items.is_empty() => None,
        (Value::String(text), None) if text.is_empty() => None,
        (declared, None) => Some(declared.clone()),
        (declared, Some(state)) if is_same(declared, state) => Some(state.clone()),
        (Value::String(text), Some(state)) => Some(typed(text, state)),
        (declared, Some(_)) => Some(declared.clone()),
    }
}

fn members(declared: &Object, state: Option<&Object>) -> Object {
    let member = |(key, value): (&crate::model::Text, &Value)| {
        let state = state.and_then(|state| state.get(key));
        Some((key.clone(), settled(value, state)?))
    };
    declared.iter().filter_map(member).collect()
}

/// A text as a value of the kind that the state has, if it is one: templates become texts when
/// they are evaluated.
fn typed(text: &str, state: &Value) -> Value {
    match state {
        Value::Number(_) if number(text).is_some() => Value::Number(Number::from_text(text)),
        Value::Bool(_) if matches!(text, "true" | "false") => Value::Bool(text == "true"),
        _ => Value::from(text),
    }
}

/// Whether two values mean the same: CloudFormation does not tell `"30"` from 30, gives templates
/// back without characters outside of ASCII, and services write documents in their own way.
fn is_same(declared: &Value, state: &Value) -> bool {
    match (declared, state) {
        (Value::Object(declared), Value::Object(state)) => {
            declared.len() == state.len()
                && declared
                    .iter()
                    .all(|(key, value)| state.get(key).is_some_and(|state| is_same(value, state)))
        }
        (Value::Array(declared), Value::Array(state)) => {
            declared.len() == state.len()
                && declared.iter().zip(state).all(|(declared, state)| is_same(declared, state))
        }
        (Value::String(declared), Value::String(state)) => {
            declared == state
                || is_returned(declared, state)
                || document(declared)
                    .zip(document(state))
                    .is_some_and(|(declared, state)| is_same(&declared, &state))
        }
        (Value::Object(_) | Value::Array(_), Value::String(state)) => {
            document(state).is_some_and(|state| is_same(declared, &state))
        }
        (Value::String(declared), Value::Object(_) | Value::Array(_)) => {
            document(declared).is_some_and(|declared| is_same(&declared, state))
        }
        (declared, state) => match (text(declared), text(state)) {
            (Some(declared), Some(state)) => {
                declared == state
                    || number(&declared).is_some_and(|one| number(&state) == Some(one))
            }
            (None, None) => declared == state,
            _ => false,
        },
    }
}

/// Whether a text is another one as CloudFormation gives it back.
fn is_returned(declared: &str, state: &str) -> bool {
    !state.is_ascii()
        && declared.chars().eq(state.chars().map(|c| if c.is_ascii() { c } else { '?' }))
}

/// Reads a text that is an object or a list.
fn document(text: &str) -> Option<Value> {
    let begins = text.trim_start().starts_with(['{', '[']);
    let value = begins.then(|| json::parse(text).ok()).flatten();
    value.filter(|value| matches!(value, Value::Object(_) | Value::Array(_)))
}

/// Returns a number that can be compared exactly: one of few digits.
fn number(text: &str) -> Option<f64> {
    let is_plain = text.len() <= 15
        && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
    text.parse().ok().filter(|_| is_plain)
}

/// The text of a scalar.
pub(super) fn text(value: &Value) -> Option<String> {
    Some(match value {
        Value::String(text) => text.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    })
}
