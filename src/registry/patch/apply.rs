//! A patch carried out.

use super::Operation;
use crate::model::{Text, Value};
use crate::registry::pointer::{Pointer, index};

/// Why a patch does not fit a value. Nothing of it was carried out.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// There is nothing in this place.
    #[error("operation {operation} of the patch: there is nothing at `{path}`")]
    Missing {
        /// The number of the operation, from zero.
        operation: usize,
        /// The place.
        path: Pointer,
    },
    /// A test failed.
    #[error("operation {operation} of the patch: what is at `{path}` is not what is expected")]
    Unexpected {
        /// The number of the operation, from zero.
        operation: usize,
        /// The place.
        path: Pointer,
    },
    /// Something would be moved into itself.
    #[error("operation {operation} of the patch: `{from}` cannot be moved into itself")]
    IntoItself {
        /// The number of the operation, from zero.
        operation: usize,
        /// What would be moved.
        from: Pointer,
    },
}

/// Returns what a patch makes of a value.
///
/// # Errors
/// When an operation names a place that is not there, or a test fails. A patch is carried out as a
/// whole or not at all.
pub fn apply(patch: &[Operation], value: &Value) -> Result<Value, PatchError> {
    let mut value = value.clone();
    for (at, operation) in patch.iter().enumerate() {
        step(&mut value, operation).map_err(|fault| match fault {
            Fault::Missing(path) => PatchError::Missing { operation: at, path },
            Fault::Unexpected(path) => PatchError::Unexpected { operation: at, path },
            Fault::IntoItself(from) => PatchError::IntoItself { operation: at, from },
        })?;
    }
    Ok(value)
}

enum Fault {
    Missing(Pointer),
    Unexpected(Pointer),
    IntoItself(Pointer),
}

fn step(whole: &mut Value, operation: &Operation) -> Result<(), Fault> {
    match operation {
        Operation::Add { path, value } => add(whole, path, value.clone()),
        Operation::Remove { path } => remove(whole, path).map(drop),
        Operation::Replace { path, value } => {
            *place(whole, path)? = value.clone();
            Ok(())
        }
        Operation::Move { from, path } if from.is_proper_ancestor_of(path) => {
            Err(Fault::IntoItself(from.clone()))
        }
        // To move something to where it is changes nothing, but it must be there.
        Operation::Move { from, path } if from == path => place(whole, path).map(|_| ()),
        Operation::Move { from, path } => {
            let value = remove(whole, from)?;
            add(whole, path, value)
        }
        Operation::Copy { from, path } => {
            let value = place(whole, from)?.clone();
            add(whole, path, value)
        }
        Operation::Test { path, value } => {
            let found = place(whole, path)?;
            if same(found, value) { Ok(()) } else { Err(Fault::Unexpected(path.clone())) }
        }
    }
}

/// Finds a place that must be there.
fn place<'v>(whole: &'v mut Value, path: &Pointer) -> Result<&'v mut Value, Fault> {
    path.tokens()
        .try_fold(whole, |value, token| match value {
            Value::Object(object) => object.get_mut(token),
            Value::Array(items) => items.get_mut(index(token)?),
            _ => None,
        })
        .ok_or_else(|| Fault::Missing(path.clone()))
}

fn add(whole: &mut Value, path: &Pointer, value: Value) -> Result<(), Fault> {
    let Some((parent, last)) = path.split_last() else {
        *whole = value;
        return Ok(());
    };
    match place(whole, &parent)? {
        Value::Object(object) => {
            object.insert(Text::from(last), value);
            Ok(())
        }
        Value::Array(items) => {
            let at = if last == "-" { Some(items.len()) } else { index(last) };
            match at.filter(|at| *at <= items.len()) {
                Some(at) => {
                    items.insert(at, value);
                    Ok(())
                }
                None => Err(Fault::Missing(path.clone())),
            }
        }
        _ => Err(Fault::Missing(path.clone())),
    }
}

fn remove(whole: &mut Value, path: &Pointer) -> Result<Value, Fault> {
    let missing = || Fault::Missing(path.clone());
    // Without the whole there is no value that anything could be added to.
    let (parent, last) = path.split_last().ok_or_else(missing)?;
    match place(whole, &parent)? {
        Value::Object(object) => object.remove(last).ok_or_else(missing),
        Value::Array(items) => match index(last).filter(|at| *at < items.len()) {
            Some(at) => Ok(items.remove(at)),
            None => Err(missing()),
        },
        _ => Err(missing()),
    }
}

/// Whether two values are equal as the standard has it (section 4.6): numbers by what they are
/// worth.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right
                || worth(left.as_str()).is_some_and(|left| Some(left) == worth(right.as_str()))
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, left)| right.get(key).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}

/// Returns sign, digits and exponent of a number, however it is written: `0.` and the digits,
/// times ten to the power of the exponent. `None` if the exponent is beyond all measure.
fn worth(text: &str) -> Option<(bool, String, i64)> {
    let (sign, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let leading = digits.len() - digits.trim_start_matches('0').len();
    let significant = digits.trim_matches('0');
    if significant.is_empty() {
        return Some((false, String::new(), 0));
    }
    let exponent: i64 = exponent.parse().ok()?;
    let point = i64::try_from(whole.len()).ok()?.checked_sub(i64::try_from(leading).ok()?)?;
    Some((sign, significant.to_owned(), exponent.checked_add(point)?))
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::registry::samples::json;

    fn outcome(value: &str, patch: &str) -> Result<String, String> {
        let patch = parse(&json::parse(patch).unwrap()).unwrap();
        let value = json::parse(value).unwrap();
        apply(&patch, &value)
            .map(|value| json::to_compact(&value))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_examples_of_the_standard_give_what_it_says() {
        for (value, patch, expected) in [
            (
                r#"{"foo":"bar"}"#,
                r#"[{"op":"add","path":"/baz","value":"qux"}]"#,
                r#"{"foo":"bar","baz":"qux"}"#,
            ),
            (
                r#"{"foo":["bar","baz"]}"#,
                r#"[{"op":"add","path":"/foo/1","value":"qux"}]"#,
                r#"{"foo":["bar","qux","baz"]}"#,
            ),
            (
                r#"{"baz":"qux","foo":"bar"}"#,
                r#"[{"op":"remove","path":"/baz"}]"#,
                r#"{"foo":"bar"}"#,
            ),
            (
                r#"{"foo":["bar","qux","baz"]}"#,
                r#"[{"op":"remove","path":"/foo/1"}]"#,
                r#"{"foo":["bar","baz"]}"#,
            ),
            (
                r#"{"baz":"qux","foo":"bar"}"#,
                r#"[{"op":"replace","path":"/baz","value":"boo"}]"#,
                r#"{"baz":"boo","foo":"bar"}"#,
            ),
            (
                r#"{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}"#,
                r#"[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]"#,
                r#"{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}"#,
            ),
            (
                r#"{"foo":["all","grass","cows","eat"]}"#,
                r#"[{"op":"move","from":"/foo/1","path":"/foo/3"}]"#,
                r#"{"foo":["all","cows","eat","grass"]}"#,
            ),
            (
                r#"{"baz":"qux","foo":["a",2,"c"]}"#,
                r#"[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]"#,
                r#"{"baz":"qux","foo":["a",2,"c"]}"#,
            ),
            (
                r#"{"/":9,"~1":10}"#,
                r#"[{"op":"test","path":"/~01","value":10}]"#,
                r#"{"/":9,"~1":10}"#,
            ),
            (
                r#"{"foo":["bar"]}"#,
                r#"[{"op":"add","path":"/foo/-","value":["abc","def"]}]"#,
                r#"{"foo":["bar",["abc","def"]]}"#,
            ),
            (r#"{"a":1}"#, r#"[{"op":"copy","from":"/a","path":"/b"}]"#, r#"{"a":1,"b":1}"#),
            (r#"{"a":1}"#, r#"[{"op":"replace","path":"","value":[]}]"#, "[]"),
            (r#"{"a":1}"#, r#"[{"op":"move","from":"/a","path":"/a"}]"#, r#"{"a":1}"#),
        ] {
            assert_eq!(outcome(value, patch).as_deref(), Ok(expected), "{patch}");
        }
    }

    #[test]
    fn a_patch_that_does_not_fit_is_refused_with_the_place() {
        for (value, patch, expected) in [
            (
                r#"{"baz":"qux"}"#,
                r#"[{"op":"test","path":"/baz","value":"bar"}]"#,
                "operation 0 of the patch: what is at `/baz` is not what is expected",
            ),
            (
                r#"{"foo":"bar"}"#,
                r#"[{"op":"add","path":"/baz/bat","value":"qux"}]"#,
                "operation 0 of the patch: there is nothing at `/baz`",
            ),
            (
                r#"{"a":[1]}"#,
                r#"[{"op":"remove","path":"/a/0"},{"op":"remove","path":"/a/0"}]"#,
                "operation 1 of the patch: there is nothing at `/a/0`",
            ),
            ("[]", r#"[{"op":"add","path":"/1","value":0}]"#, "operation 0 of the patch: there"),
            (
                "[1]",
                r#"[{"op":"replace","path":"/-","value":0}]"#,
                "operation 0 of the patch: there",
            ),
            ("1", r#"[{"op":"remove","path":""}]"#, "operation 0 of the patch: there"),
            (
                r#"{"a":{}}"#,
                r#"[{"op":"move","from":"/a","path":"/a/b"}]"#,
                "operation 0 of the patch: `/a` cannot be moved into itself",
            ),
            (
                r#"{"a":"10"}"#,
                r#"[{"op":"test","path":"/a","value":10}]"#,
                "operation 0 of the patch: what is at `/a`",
            ),
        ] {
            let error = outcome(value, patch).unwrap_err();
            assert!(error.starts_with(expected), "{patch}: {error}");
        }
    }

    #[test]
    fn a_test_compares_numbers_by_what_they_are_worth() {
        for (left, right, equal) in [
            ("1", "1.0", true),
            ("100", "1e2", true),
            ("0.010", "1E-2", true),
            ("-0", "0", true),
            ("1", "-1", false),
            ("10", "1", false),
            ("0.1", "0.01", false),
            ("1e99999999999999999999", "1e99999999999999999998", false),
        ] {
            let patch = format!(r#"[{{"op":"test","path":"/0","value":{right}}}]"#);
            let found = outcome(&format!("[{left}]"), &patch);
            assert_eq!(found.is_ok(), equal, "{left} {right}");
        }
    }
}
