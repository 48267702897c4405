//! Text ⇄ model, and the one reading of intrinsic functions that every other room uses.
//!
//! In: the text of a template, JSON or YAML. Out: a checked [`Template`], and views of the
//! references in it. Called by `assembly` (reading) and `compare` (references). Pure.

mod intrinsic;
pub mod json;
mod rewrite;
mod sub;
pub mod yaml;

pub use intrinsic::{Attribute, Intrinsic};
pub use rewrite::{Reference, as_reference, function_call, reference, rewrite, visit};
pub use sub::{Segment, SubError, parse_sub};

use crate::model::{Object, Template, Value};

/// Why a text is not a template.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The text is not JSON.
    #[error("not valid JSON: {0}")]
    Json(String),
    /// The text is not YAML that CloudFormation reads.
    #[error("not valid YAML: {0}")]
    Yaml(String),
    /// The text is not UTF-8.
    #[error("not UTF-8 text (at byte {0})")]
    NotText(usize),
    /// There is nothing in the file.
    #[error("the file is empty")]
    Empty,
    /// The value is not an object.
    #[error("a template must be an object, this is {0}")]
    NotAnObject(&'static str),
    /// The `Resources` section is not an object.
    #[error("`Resources` must be an object, it is {0}")]
    ResourcesNotAnObject(&'static str),
    /// A resource is not an object.
    #[error("resource `{logical_id}` must be an object, it is {kind}")]
    ResourceNotAnObject {
        /// The key of the resource.
        logical_id: String,
        /// What stands there instead.
        kind: &'static str,
    },
    /// A resource has no type.
    #[error("resource `{0}` has no `Type`")]
    ResourceWithoutType(String),
}

/// Reads a template from the text of a file: JSON, or YAML if the first character is not `{`.
///
/// An empty text is an empty template: CloudFormation gives that for a stack that was created
/// only to be reviewed.
///
/// # Errors
/// When the text is not JSON or YAML, or not of the shape of a template.
pub fn parse(bytes: &[u8]) -> Result<Template, TemplateError> {
    let text =
        std::str::from_utf8(bytes).map_err(|error| TemplateError::NotText(error.valid_up_to()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match text.trim_start().chars().next() {
        None => Ok(Template::default()),
        Some('{') => check(json::parse(text)?),
        Some(_) => check(yaml::parse(text)?),
    }
}

/// Makes a template of a value.
///
/// # Errors
/// When the value does not have the shape of a template.
pub fn check(value: Value) -> Result<Template, TemplateError> {
    let sections = match value {
        Value::Object(sections) => sections,
        Value::Null => Object::new(),
        other => return Err(TemplateError::NotAnObject(other.kind())),
    };
    match sections.get("Resources") {
        None => {}
        Some(Value::Object(resources)) => {
            for (id, body) in resources.iter().filter(|(id, _)| !id.starts_with("Fn::")) {
                let Value::Object(body) = body else {
                    return Err(TemplateError::ResourceNotAnObject {
                        logical_id: id.to_string(),
                        kind: body.kind(),
                    });
                };
                if body.get("Type").and_then(Value::as_str).is_none() {
                    return Err(TemplateError::ResourceWithoutType(id.to_string()));
                }
            }
        }
        Some(other) => return Err(TemplateError::ResourcesNotAnObject(other.kind())),
    }
    Ok(Template { sections })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_resource_is_named() {
        let error = parse(br#"{"Resources":{"A":{"Type":"T"},"B":null}}"#).unwrap_err();
        assert_eq!(error.to_string(), "resource `B` must be an object, it is null");
    }

    #[test]
    fn a_resource_without_a_type_is_named() {
        let error = parse(br#"{"Resources":{"B":{"Properties":{}}}}"#).unwrap_err();
        assert_eq!(error.to_string(), "resource `B` has no `Type`");
    }

    #[test]
    fn a_list_is_no_template() {
        assert!(parse(b"[]").is_err());
        assert!(parse(br#"{"Resources":[]}"#).is_err());
    }

    #[test]
    fn an_empty_text_is_an_empty_template() {
        assert_eq!(parse(b" \n").unwrap(), Template::default());
    }

    #[test]
    fn loops_are_kept_but_are_no_resources() {
        let template = parse(
            br#"{"Resources":{"Fn::ForEach::Topics":["N",["a"],{"T${N}":{"Type":"T"}}],"A":{"Type":"T"}}}"#,
        )
        .unwrap();
        assert_eq!(template.resources().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["A"]);
    }
}
