//! Changes behind the back of the embedded CloudFormation: what somebody does by hand in a real
//! account.

use std::fs;
use std::path::Path;

use super::local::{LocalError, open_existing, show};
use crate::local::{Json, Meddling};
use crate::model::{Location, Value};
use crate::registry::{Operation, Pointer, apply, parse_patch};
use crate::template::json::{self, Written};

/// What becomes of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Its properties are patched.
    Patch(Vec<Operation>),
    /// Properties of it are set.
    Set(Vec<(Pointer, Value)>),
    /// It is deleted.
    Delete,
}

/// Why a change cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The file cannot be read.
    #[error("cannot read `{file}`: {error}")]
    File {
        /// The file.
        file: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// The file is no JSON patch.
    #[error("`{file}` is no JSON patch: {problem}")]
    Patch {
        /// The file.
        file: String,
        /// What is wrong.
        problem: String,
    },
    /// `--set` of another form.
    #[error("`--set {0}` is not of the form `Path=Value`")]
    SetForm(String),
}

impl Change {
    /// Reads a JSON patch.
    ///
    /// # Errors
    /// When the file cannot be read, or is none.
    pub fn read(file: &Path) -> Result<Self, LocalError> {
        let name = || file.display().to_string();
        let text =
            fs::read_to_string(file).map_err(|error| ChangeError::File { file: name(), error })?;
        let wrong = |problem: String| ChangeError::Patch { file: name(), problem };
        let patch = json::parse(&text).map_err(|error| wrong(error.to_string()))?;
        Ok(Self::Patch(parse_patch(&patch).map_err(|error| wrong(error.to_string()))?))
    }

    /// Reads `Path=Value`, as often as it was given: a dotted path or a JSON pointer, and JSON or a
    /// text.
    ///
    /// # Errors
    /// When one is of another form.
    pub fn set(texts: &[String]) -> Result<Self, LocalError> {
        let one = |text: &String| {
            let (path, value) = text.split_once('=').filter(|(path, _)| !path.is_empty())?;
            let pointer = if path.starts_with('/') {
                path.parse().ok()?
            } else {
                Pointer::from_tokens(path.split('.'))
            };
            Some((pointer, json::parse(value).unwrap_or_else(|_| Value::from(value))))
        };
        let wrong = |text: &String| ChangeError::SetForm(text.clone()).into();
        texts
            .iter()
            .map(|text| one(text).ok_or_else(|| wrong(text)))
            .collect::<Result<_, _>>()
            .map(Self::Set)
    }

    fn of(&self, properties: &Json) -> Result<Json, String> {
        let mut value = json::parse(&properties.to_string()).map_err(|error| error.to_string())?;
        if value == Value::Null {
            value = Value::Object(crate::model::Object::new());
        }
        let changed = match self {
            Self::Patch(patch) => apply(patch, &value).map_err(|error| error.to_string())?,
            Self::Set(members) => {
                let operation = |(path, new): &(Pointer, Value)| match path.of(&value) {
                    Some(_) => Operation::Replace { path: path.clone(), value: new.clone() },
                    None => Operation::Add { path: path.clone(), value: new.clone() },
                };
                let patch: Vec<Operation> = members.iter().map(operation).collect();
                apply(&patch, &value).map_err(|error| error.to_string())?
            }
            Self::Delete => value,
        };
        serde_json::to_value(Written(&changed)).map_err(|error| error.to_string())
    }
}

/// Changes a resource behind the back of its stack, in every environment that has the stack and the
/// resource.
///
/// # Errors
/// When the place is no `Stack.LogicalId`, there is no such resource, or it cannot be changed so.
pub fn drift(directory: &Path, place: &str, change: &Change) -> Result<(), LocalError> {
    let location: Location = place.parse().map_err(|_| LocalError::NoPlace(place.to_owned()))?;
    let id = location.logical_id.as_str();
    let cloud = open_existing(directory)?;
    let found = show(directory, location.stack.as_str())?;
    let has = |resources: &[(crate::local::Resource, _)]| {
        resources.iter().any(|(resource, _)| resource.logical_id == id)
    };
    let mut meddled = false;
    for stack in found.iter().filter(|stack| has(&stack.resources)) {
        let altered = |properties: &Json| change.of(properties);
        let what = match change {
            Change::Delete => Meddling::Delete,
            _ => Meddling::Change(&altered),
        };
        cloud.region(&stack.environment).meddle(&stack.info.name, id, &what)?;
        meddled = true;
    }
    if meddled { Ok(()) } else { Err(LocalError::NoPlace(place.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn properties_are_set_by_path_and_by_pointer() {
        let texts = ["A.B=45", "/C~1D=text", "E={\"x\":[1]}", "N=1.50"].map(str::to_owned);
        let change = Change::set(&texts).unwrap();
        let changed = change.of(&json!({"A": {"B": 30}, "K": 1})).unwrap();
        assert_eq!(
            changed.to_string(),
            r#"{"A":{"B":45},"C/D":"text","E":{"x":[1]},"K":1,"N":1.50}"#
        );
        for text in ["A", "=1", "/A~=1"] {
            assert!(Change::set(&[text.to_owned()]).is_err(), "{text}");
        }
        let nowhere = Change::set(&["X.Y=1".to_owned()]).unwrap();
        assert!(nowhere.of(&json!({})).is_err());
    }
}
