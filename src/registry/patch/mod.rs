//! JSON patches (RFC 6902): what makes one value of another.
//!
//! [`diff`] finds the operations, [`apply`] carries them out. Every patch of `diff` does what it
//! says: `apply(diff(a, b), a)` is `b`.

mod apply;
pub(super) mod delta;

pub use apply::{PatchError, apply};

use super::pointer::{Pointer, PointerError};
use crate::model::{Object, Text, Value};
use delta::{Delta, deltas};

/// One operation of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sets a member, or puts an element before another one; `-` is the place after the last.
    Add {
        /// Where.
        path: Pointer,
        /// What.
        value: Value,
    },
    /// Takes something out.
    Remove {
        /// What.
        path: Pointer,
    },
    /// Puts something in the place of something else.
    Replace {
        /// Where.
        path: Pointer,
        /// What.
        value: Value,
    },
    /// Takes something out and adds it elsewhere.
    Move {
        /// What.
        from: Pointer,
        /// Where to.
        path: Pointer,
    },
    /// Adds something that is there already.
    Copy {
        /// What.
        from: Pointer,
        /// Where to.
        path: Pointer,
    },
    /// Fails unless something is as it is expected to be.
    Test {
        /// Where.
        path: Pointer,
        /// What is expected.
        value: Value,
    },
}

/// Why a value is not a patch.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A patch is a list.
    #[error("a patch must be a list of operations, this is {0}")]
    NotAList(&'static str),
    /// An operation is an object that names what it does.
    #[error("operation {0} of the patch must be an object with `op` and `path`")]
    NotAnOperation(usize),
    /// There is no such operation.
    #[error(
        "operation {0} of the patch is `{1}`: it must be add, remove, replace, move, copy or test"
    )]
    Unknown(usize, String),
    /// A member is missing.
    #[error("operation {0} of the patch lacks `{1}`")]
    Missing(usize, &'static str),
    /// A pointer is malformed.
    #[error("operation {0} of the patch: {1}")]
    Pointer(usize, PointerError),
}

/// Returns the operations that make `after` of `before`: `add`, `remove` and `replace`, keys in
/// the order of their bytes, lists element by element in their places.
pub fn diff(before: &Value, after: &Value) -> Vec<Operation> {
    deltas(before, after, &|_| false).into_iter().map(Delta::into_operation).collect()
}

/// Reads a patch.
///
/// # Errors
/// When the value is no list of operations; their number (from zero) is named.
pub fn parse(patch: &Value) -> Result<Vec<Operation>, ParseError> {
    let operations = patch.as_array().ok_or(ParseError::NotAList(patch.kind()))?;
    operations.iter().enumerate().map(|(at, operation)| read(at, operation)).collect()
}

fn read(at: usize, operation: &Value) -> Result<Operation, ParseError> {
    let text = |key| operation.get(key).and_then(Value::as_str);
    let pointer = |key| {
        let text = text(key).ok_or(ParseError::Missing(at, key))?;
        text.parse::<Pointer>().map_err(|error| ParseError::Pointer(at, error))
    };
    let value = || operation.get("value").cloned().ok_or(ParseError::Missing(at, "value"));
    let Some(name) = text("op") else { return Err(ParseError::NotAnOperation(at)) };
    let path = || pointer("path");
    Ok(match name {
        "add" => Operation::Add { path: path()?, value: value()? },
        "remove" => Operation::Remove { path: path()? },
        "replace" => Operation::Replace { path: path()?, value: value()? },
        "move" => Operation::Move { from: pointer("from")?, path: path()? },
        "copy" => Operation::Copy { from: pointer("from")?, path: path()? },
        "test" => Operation::Test { path: path()?, value: value()? },
        other => return Err(ParseError::Unknown(at, other.to_owned())),
    })
}

impl Operation {
    /// Returns the place that the operation changes or tests.
    pub fn path(&self) -> &Pointer {
        match self {
            Self::Add { path, .. }
            | Self::Remove { path }
            | Self::Replace { path, .. }
            | Self::Move { path, .. }
            | Self::Copy { path, .. }
            | Self::Test { path, .. } => path,
        }
    }

    /// Returns the operation as the standard writes it.
    pub fn to_value(&self) -> Value {
        let (name, from, value) = match self {
            Self::Add { value, .. } => ("add", None, Some(value)),
            Self::Remove { .. } => ("remove", None, None),
            Self::Replace { value, .. } => ("replace", None, Some(value)),
            Self::Move { from, .. } => ("move", Some(from), None),
            Self::Copy { from, .. } => ("copy", Some(from), None),
            Self::Test { value, .. } => ("test", None, Some(value)),
        };
        let text = |pointer: &Pointer| Value::String(pointer.to_string().into());
        let members = [
            ("op", Some(Value::from(name))),
            ("from", from.map(text)),
            ("path", Some(text(self.path()))),
            ("value", value.cloned()),
        ];
        let members = members.into_iter().filter_map(|(key, value)| Some((key, value?)));
        Value::Object(members.map(|(key, value)| (Text::from(key), value)).collect::<Object>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::samples;
    use crate::registry::samples::json;

    #[test]
    fn a_patch_reads_back_as_it_is_written() {
        let text = r#"[{"op":"add","path":"/a~1b/-","value":null},{"op":"remove","path":"/x"},{"op":"replace","path":"","value":{}},{"op":"move","from":"/a","path":"/b"},{"op":"copy","from":"/a","path":"/b"},{"op":"test","path":"/a","value":1}]"#;
        let patch = parse(&json::parse(text).unwrap()).unwrap();
        let written = Value::Array(patch.iter().map(Operation::to_value).collect());
        assert_eq!(json::to_compact(&written), text);
    }

    #[test]
    fn what_is_no_patch_is_refused_with_its_place() {
        for (text, expected) in [
            ("{}", "a patch must be a list of operations, this is an object"),
            ("[1]", "operation 0 of the patch must be an object with `op` and `path`"),
            (r#"[{"op":"inc","path":""}]"#, "operation 0 of the patch is `inc`"),
            (r#"[{"op":"add","path":""}]"#, "operation 0 of the patch lacks `value`"),
            (r#"[{"op":"copy","path":""}]"#, "operation 0 of the patch lacks `from`"),
            (r#"[{"op":"remove","path":"a"}]"#, "operation 0 of the patch: `a` is not a JSON"),
        ] {
            let error = parse(&json::parse(text).unwrap()).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn equal_values_need_no_operation() {
        let value = json::parse(r#"{"a":[1,{"b":null}],"c":{}}"#).unwrap();
        let other = json::parse(r#"{"c":{},"a":[1,{"b":null}]}"#).unwrap();
        assert_eq!(diff(&value, &other), []);
    }

    proptest::proptest! {
        #[test]
        fn a_patch_makes_the_one_of_the_other(a in samples::values(), b in samples::values()) {
            let patch = diff(&a, &b);
            proptest::prop_assert_eq!(apply(&patch, &a).unwrap(), b.clone());
            proptest::prop_assert_eq!(patch.is_empty(), a == b);
            let written = Value::Array(patch.iter().map(Operation::to_value).collect());
            proptest::prop_assert_eq!(parse(&written).unwrap(), patch);
        }
    }
}
