//! Reading submitted templates, and what CloudFormation refuses before it looks at a stack.

use std::collections::BTreeSet;

use super::error::{Answer, ServiceError};
use super::evaluate::references;
use crate::model::{Object, Template, Value};
use crate::template::{self, TemplateError};

/// The most bytes of a template in a request.
pub(crate) const INLINE_MAX: usize = 51_200;
/// The most bytes of a template in a bucket.
pub(crate) const URL_MAX: usize = 1_000_000;

const SECTIONS: &[&str] = &[
    "AWSTemplateFormatVersion",
    "Description",
    "Metadata",
    "Parameters",
    "Rules",
    "Mappings",
    "Conditions",
    "Transform",
    "Hooks",
    "Resources",
    "Outputs",
];

/// Reads a template and checks what can be checked without a stack.
///
/// # Errors
/// `ValidationError` with CloudFormation's text.
pub(crate) fn read(text: &str) -> Answer<Template> {
    let template = parse(text)?;
    check(&template)?;
    Ok(template)
}

/// Reads a template of which it is known that it was checked once.
pub(crate) fn parse(text: &str) -> Answer<Template> {
    template::parse(text.as_bytes()).map_err(|error| {
        ServiceError::validation(match error {
            TemplateError::Json(place) => {
                format!("Template format error: JSON not well-formed. ({})", at(&place))
            }
            TemplateError::Yaml(place) => {
                format!("Template format error: YAML not well-formed. ({})", at(&place))
            }
            TemplateError::ResourceWithoutType(id) => format!(
                "Template format error: [/Resources/{id}] Every Resources object must contain a \
                 Type member."
            ),
            TemplateError::ResourceNotAnObject { logical_id, .. } => format!(
                "Template format error: [/Resources/{logical_id}] 'null' values are not allowed \
                 in templates"
            ),
            other => format!("Template format error: {other}"),
        })
    })
}

/// `(line 3, column 5)` from the end of a message that names line and column.
fn at(message: &str) -> String {
    match message.rsplit_once("line ").and_then(|(_, place)| place.split_once(" column ")) {
        Some((line, column)) => format!("line {line}, column {column}"),
        None => message.to_owned(),
    }
}

fn check(template: &Template) -> Answer<()> {
    let unknown: Vec<&str> = template
        .sections
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| !SECTIONS.contains(name))
        .collect();
    if !unknown.is_empty() {
        let list = unknown.join(", ");
        return Err(ServiceError::validation(format!(
            "Invalid template property or properties [{list}]"
        )));
    }
    if template.sections.contains_key("Transform") {
        // Not AWS: macros are outside of what this emulator does.
        return Err(ServiceError::validation(
            "Transform is not supported by the embedded CloudFormation: submit a template \
             without macros",
        ));
    }
    for section in ["Resources", "Outputs", "Conditions"] {
        let entries = template.section(section).into_iter().flat_map(Object::iter);
        if let Some((id, _)) = entries.into_iter().find(|(id, _)| id.starts_with("Fn::")) {
            return Err(ServiceError::validation(format!(
                "{id} in the {section} block needs the transform AWS::LanguageExtensions, which \
                 is not supported by the embedded CloudFormation"
            )));
        }
    }
    resources(template)?;
    references::check(template)
}

fn resources(template: &Template) -> Answer<()> {
    let count = template.resources().count();
    if count == 0 {
        return Err(ServiceError::validation(
            "Template format error: At least one Resources member must be defined.",
        ));
    }
    quota("resources", count, 500)?;
    for (section, most) in [("Parameters", 200), ("Outputs", 200), ("Mappings", 200)] {
        let count = template.section(section).map_or(0, Object::len);
        quota(&section.to_lowercase(), count, most)?;
    }
    for (id, body) in template.resources() {
        if !id.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(ServiceError::validation(format!(
                "Template format error: Resource name {id} is non alphanumeric."
            )));
        }
        let known = BTreeSet::from([
            "Type",
            "Properties",
            "Metadata",
            "DependsOn",
            "Condition",
            "DeletionPolicy",
            "UpdateReplacePolicy",
            "UpdatePolicy",
            "CreationPolicy",
            "Description",
            "Version",
        ]);
        if let Some((key, _)) = body.iter().find(|(key, _)| !known.contains(key.as_str())) {
            return Err(ServiceError::validation(format!(
                "Invalid template resource property '{key}'"
            )));
        }
        for policy in ["DeletionPolicy", "UpdateReplacePolicy"] {
            check_policy(id, policy, body.get(policy))?;
        }
    }
    Ok(())
}

fn check_policy(id: &str, policy: &str, value: Option<&Value>) -> Answer<()> {
    let allowed = ["Delete", "Retain", "Snapshot", "RetainExceptOnCreate"];
    match value.and_then(Value::as_str) {
        Some(text) if !allowed.contains(&text) => Err(ServiceError::validation(format!(
            "Template error: Unrecognized {policy} {text} for resource {id}"
        ))),
        _ => Ok(()),
    }
}

fn quota(what: &str, count: usize, most: usize) -> Answer<()> {
    if count <= most {
        return Ok(());
    }
    Err(ServiceError::validation(format!(
        "Template format error: Number of {what}, {count}, is greater than maximum allowed, {most}"
    )))
}

/// Returns the description of a template.
pub(crate) fn description(template: &Template) -> Option<String> {
    template.sections.get("Description").and_then(Value::as_str).map(str::to_owned)
}

/// Returns a stored template the way that CloudFormation gives it back: every character outside
/// of ASCII is a question mark.
pub(crate) fn given_back(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect()
}

/// The capabilities that a template needs and the types for which it needs them.
pub(crate) fn required_capabilities(template: &Template) -> (Vec<String>, Vec<String>) {
    const TYPES: &[(&str, &str)] = &[
        ("AWS::IAM::AccessKey", ""),
        ("AWS::IAM::Group", "GroupName"),
        ("AWS::IAM::InstanceProfile", "InstanceProfileName"),
        ("AWS::IAM::ManagedPolicy", "ManagedPolicyName"),
        ("AWS::IAM::Policy", ""),
        ("AWS::IAM::Role", "RoleName"),
        ("AWS::IAM::User", "UserName"),
        ("AWS::IAM::UserToGroupAddition", ""),
    ];
    let (mut capability, mut types) = (None, BTreeSet::new());
    for (_, body) in template.resources() {
        let found = body.get("Type").and_then(Value::as_str);
        let Some((name, property)) = TYPES.iter().find(|(name, _)| Some(*name) == found) else {
            continue;
        };
        types.insert((*name).to_owned());
        let named = body.get("Properties").is_some_and(|all| all.get(property).is_some());
        if named {
            capability = Some("CAPABILITY_NAMED_IAM");
        } else {
            capability = capability.or(Some("CAPABILITY_IAM"));
        }
    }
    (capability.map(str::to_owned).into_iter().collect(), types.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        read(text).unwrap_err().message
    }

    #[test]
    fn malformed_templates_are_refused_with_the_texts_of_cloudformation() {
        assert_eq!(
            refusal("{\"Resources\":\n{,}}"),
            "Template format error: JSON not well-formed. (line 2, column 2)"
        );
        assert!(refusal("Resources:\n  - a\n b: 1").starts_with("Template format error: YAML"));
        assert_eq!(
            refusal("{}"),
            "Template format error: At least one Resources member must be defined."
        );
        assert_eq!(
            refusal(r#"{"Resources":{"A":{}}}"#),
            "Template format error: [/Resources/A] Every Resources object must contain a Type \
             member."
        );
        assert_eq!(
            refusal(r#"{"Resources":{"A-b":{"Type":"T"}}}"#),
            "Template format error: Resource name A-b is non alphanumeric."
        );
        assert_eq!(
            refusal(r#"{"Foo":{},"Resources":{"A":{"Type":"T"}}}"#),
            "Invalid template property or properties [Foo]"
        );
        assert!(refusal(r#"{"Transform":"X","Resources":{}}"#).contains("not supported"));
        let loops = r#"{"Resources":{"Fn::ForEach::T":[],"A":{"Type":"T"}}}"#;
        assert!(refusal(loops).contains("AWS::LanguageExtensions"));
    }

    #[test]
    fn a_template_may_have_five_hundred_resources() {
        let template = |count: usize| {
            let all: Vec<_> = (0..count).map(|n| format!(r#""R{n}":{{"Type":"T"}}"#)).collect();
            format!(r#"{{"Resources":{{{}}}}}"#, all.join(","))
        };
        assert!(read(&template(500)).is_ok());
        assert_eq!(
            refusal(&template(501)),
            "Template format error: Number of resources, 501, is greater than maximum allowed, 500"
        );
    }

    #[test]
    fn named_roles_need_the_stronger_capability() {
        let needs = |text: &str| required_capabilities(&parse(text).unwrap()).0;
        assert_eq!(needs(r#"{"Resources":{"A":{"Type":"T"}}}"#), Vec::<String>::new());
        assert_eq!(needs(r#"{"Resources":{"A":{"Type":"AWS::IAM::Role"}}}"#), ["CAPABILITY_IAM"]);
        assert_eq!(
            needs(r#"{"Resources":{"A":{"Type":"AWS::IAM::Role","Properties":{"RoleName":"x"}}}}"#),
            ["CAPABILITY_NAMED_IAM"]
        );
    }
}
