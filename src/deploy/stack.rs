//! What is sent for a stack, and whether anything is. Pure.

use std::collections::BTreeSet;

use super::error::StackError;
use super::options::Wanted;
use crate::assembly::AssemblyStack;
use crate::aws::{MOST_INLINE_BYTES, StackState, TemplateAt, fill_in, staged_url};
use crate::model::{Environment, Object, StatusKind, Template, Text, Value};

/// Everything that a template can need (`CreateChangeSet`, `Capabilities`).
pub(super) const CAPABILITIES: [&str; 3] =
    ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"];

/// What a stack that is there means for its deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Footing {
    /// There is none: it is created.
    New,
    /// There is what is left of a creation that failed: it is deleted, then created.
    Leftover,
    /// It is updated.
    Existing,
    /// Nothing can be built on it; the text says what to do.
    Unusable(&'static str),
}

/// Says what the status of a settled stack means for its deployment ("Stack status codes").
pub(super) fn footing(existing: Option<&StackState>, rollback: bool) -> Footing {
    let Some(existing) = existing else { return Footing::New };
    match existing.status.0.as_str() {
        "DELETE_COMPLETE" | "REVIEW_IN_PROGRESS" => Footing::New,
        "ROLLBACK_COMPLETE" => Footing::Leftover,
        "CREATE_FAILED" | "UPDATE_FAILED" if !rollback => Footing::Existing,
        "CREATE_FAILED" => Footing::Unusable(
            "its creation failed and was not rolled back. Deploy with `--no-rollback` to go on \
             from there, or delete it",
        ),
        "UPDATE_FAILED" => Footing::Unusable(
            "its update failed and was not rolled back. Deploy with `--no-rollback` to go on from \
             there, or roll it back (`aws cloudformation rollback-stack`)",
        ),
        "UPDATE_ROLLBACK_FAILED" => Footing::Unusable(
            "its rollback failed. End it with `aws cloudformation continue-update-rollback`",
        ),
        "ROLLBACK_FAILED" | "DELETE_FAILED" => Footing::Unusable(
            "a resource of it cannot be deleted. Find it in the events of the stack, and delete \
             the stack again",
        ),
        _ if existing.status.kind() == StatusKind::Stable => Footing::Existing,
        _ => Footing::Unusable("see its events, and repair it"),
    }
}

/// The parameters of a change set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parameters {
    /// Parameters with their values.
    pub given: Vec<(String, String)>,
    /// Parameters that keep the values that they have.
    pub kept: Vec<String>,
    /// Whether a value is looked up by CloudFormation with each change (SSM parameter types).
    pub are_looked_up: bool,
    /// Whether one may change because it gets its default.
    pub are_reset: bool,
}

/// Says which value each parameter of a template gets: the one that is wanted, or the one that it
/// has, or its default.
pub(super) fn parameters(
    template: &Template,
    wanted: &Wanted,
    existing: Option<&StackState>,
) -> Parameters {
    let mut found = Parameters::default();
    let declared = template.section("Parameters");
    for (name, declaration) in declared.into_iter().flat_map(Object::iter) {
        let kind = declaration.as_object().and_then(|it| it.get("Type")).and_then(Value::as_str);
        found.are_looked_up |= kind.is_some_and(|kind| kind.starts_with("AWS::SSM::Parameter::"));
        let has = |state: &StackState| state.parameters.iter().any(|known| known == name.as_str());
        if let Some(value) = wanted.parameters.get(name.as_str()) {
            found.given.push((name.to_string(), value.clone()));
        } else if existing.is_some_and(has) {
            if wanted.keeps_parameters {
                found.kept.push(name.to_string());
            } else {
                found.are_reset = true;
            }
        }
    }
    found
}

/// Returns the parameters whose values CloudFormation looks up with each change and that something
/// depends on, so that nobody can tell before what that change does. Rules only refuse
/// (`BootstrapVersion` is used by nothing else).
pub(super) fn looked_up(template: &Template) -> Vec<String> {
    let declared = template.section("Parameters").into_iter().flat_map(Object::iter);
    let names = declared.filter(|(_, declaration)| {
        let kind = declaration.get("Type").and_then(Value::as_str);
        kind.is_some_and(|kind| kind.starts_with("AWS::SSM::Parameter::"))
    });
    let sections = || {
        let all = template.sections.iter();
        all.filter(|(section, _)| !matches!(section.as_str(), "Parameters" | "Rules" | "Metadata"))
    };
    // A macro sees every parameter.
    let is_transformed = template.sections.get("Transform").is_some();
    names
        .filter(|(name, _)| {
            is_transformed || sections().any(|(_, section)| refers_to(section, name))
        })
        .map(|(name, _)| name.to_string())
        .collect()
}

/// Whether anything refers to a parameter; a text that only looks like it counts.
fn refers_to(value: &Value, parameter: &str) -> bool {
    match value {
        Value::String(text) => {
            let after = text.split("${").skip(1);
            after.filter_map(|rest| rest.split_once('}')).any(|(name, _)| name.trim() == parameter)
        }
        Value::Array(items) => items.iter().any(|item| refers_to(item, parameter)),
        Value::Object(object) => object.iter().any(|(key, value)| {
            let is_reference = key == "Ref" && value.as_str() == Some(parameter);
            // What is included may refer to anything.
            is_reference || key == "Fn::Transform" || refers_to(value, parameter)
        }),
        _ => false,
    }
}

/// Finds a parameter that says where an asset is, with the ID of the asset, and that would have no
/// value: the legacy synthesizer leaves it to the CLI to publish the asset and to give one
/// (cloud assembly schema, `FileAssetMetadataEntry`).
pub(super) fn parameter_asset(
    template: &Template,
    parameters: &Parameters,
) -> Option<(String, String)> {
    let declared = template.section("Parameters").into_iter().flat_map(Object::iter);
    declared
        .filter(|(_, declaration)| {
            declaration.as_object().is_some_and(|it| it.get("Default").is_none())
        })
        .find_map(|(name, _)| {
            let id = name.strip_prefix("AssetParameters")?.get(..64)?;
            let is_digest = id.bytes().all(|byte| byte.is_ascii_hexdigit());
            let has_value = parameters.given.iter().any(|(given, _)| given == name.as_str())
                || parameters.kept.iter().any(|kept| kept == name.as_str());
            (is_digest && !has_value).then(|| (name.to_string(), id.to_owned()))
        })
}

/// Where CloudFormation finds the template: where the assembly has it uploaded, or in the request.
///
/// # Errors
/// When it is too long for a request and has no other place.
pub(super) fn template(
    stack: &AssemblyStack,
    environment: &Environment,
    body: String,
) -> Result<TemplateAt, StackError> {
    let name = || stack.stack.name.to_string();
    if let Some(url) = &stack.properties.template_asset_url {
        let filled = fill_in(url, environment);
        let place = filled.strip_prefix("s3://").and_then(|place| place.split_once('/'));
        return match place {
            Some((bucket, key)) => Ok(TemplateAt::Url(staged_url(environment, bucket, key))),
            None if filled.starts_with("https://") => Ok(TemplateAt::Url(filled)),
            None => Err(StackError::TemplateUrl { stack: name(), url: filled }),
        };
    }
    inline(stack, body)
}

/// A template in the request.
///
/// # Errors
/// When it is too long for that.
pub(super) fn inline(stack: &AssemblyStack, body: String) -> Result<TemplateAt, StackError> {
    if body.len() > MOST_INLINE_BYTES {
        let stack = stack.stack.name.to_string();
        return Err(StackError::TooLong { stack, bytes: body.len() });
    }
    Ok(TemplateAt::Body(body))
}

/// Whether a change set would find nothing to do, as far as can be told without one. Protection
/// from deletion is not looked at: no change set changes it.
pub(super) fn is_unchanged(
    wanted: &Wanted,
    existing: &StackState,
    parameters: &Parameters,
    deployed: &str,
    body: &str,
) -> bool {
    let has = |(key, value): &(String, String)| existing.parameter_values.get(key) == Some(value);
    let tags = existing.options.tags.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let tags_wanted = wanted.tags.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    existing.status.kind() == StatusKind::Stable
        && !parameters.are_looked_up
        && !parameters.are_reset
        && parameters.given.iter().all(has)
        && tags.eq(tags_wanted)
        && is_notified(wanted, existing)
        && is_same_template(deployed, body)
}

/// Whether the events of a stack go where they are wanted; anywhere if nobody says so.
pub(super) fn is_notified(wanted: &Wanted, existing: &StackState) -> bool {
    let topics: BTreeSet<&str> =
        existing.options.notification_arns.iter().map(Text::as_str).collect();
    let arns = wanted.notification_arns.as_ref();
    arns.is_none_or(|arns| arns.iter().map(String::as_str).collect::<BTreeSet<_>>() == topics)
}

/// Whether a template is surely the one that CloudFormation gives back. Since it gives every
/// character outside of ASCII back as a question mark, one that has such a character cannot be
/// told from another: only a change set can.
fn is_same_template(deployed: &str, body: &str) -> bool {
    let json = |text| serde_json::from_str::<serde_json::Value>(text).ok();
    let same = || json(body).is_some_and(|body| json(deployed) == Some(body));
    deployed == body || (body.is_ascii() && same())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{StackOptions, StackStatus};

    fn state(status: &str) -> StackState {
        StackState {
            name: "Web".to_owned(),
            id: "arn".to_owned(),
            status: StackStatus(status.into()),
            reason: String::new(),
            parameters: Vec::new(),
            parameter_values: std::collections::BTreeMap::new(),
            options: StackOptions::default(),
            outputs: Vec::new(),
        }
    }

    #[test]
    fn what_is_left_of_a_failed_creation_is_deleted_and_a_failed_rollback_is_left_alone() {
        let footing = |status| footing(Some(&state(status)), true);
        assert_eq!(footing("ROLLBACK_COMPLETE"), Footing::Leftover);
        assert_eq!(footing("REVIEW_IN_PROGRESS"), Footing::New);
        assert_eq!(footing("UPDATE_ROLLBACK_COMPLETE"), Footing::Existing);
        for status in ["UPDATE_ROLLBACK_FAILED", "ROLLBACK_FAILED", "DELETE_FAILED", "NEW_ONE"] {
            assert!(matches!(footing(status), Footing::Unusable(_)), "{status}");
        }
    }

    #[test]
    fn a_failure_that_was_not_rolled_back_is_gone_on_from_only_without_rollback() {
        let failed = state("UPDATE_FAILED");
        assert_eq!(footing(Some(&failed), false), Footing::Existing);
        assert!(matches!(footing(Some(&failed), true), Footing::Unusable(_)));
    }

    #[test]
    fn an_asset_whose_place_is_a_parameter_is_known_by_its_name_unless_it_has_a_value() {
        let name = format!("AssetParameters{}S3Bucket1234ABCD", "0a".repeat(32));
        let text = format!(
            r#"{{"Parameters":{{"AssetParametersOfMine":{{"Type":"String"}},
                "{name}":{{"Type":"String"}}}},"Resources":{{}}}}"#
        );
        let template = crate::template::parse(text.as_bytes()).unwrap();
        let found = parameter_asset(&template, &Parameters::default()).unwrap();
        assert_eq!(found, (name.clone(), "0a".repeat(32)));
        let kept = Parameters { kept: vec![name.clone()], ..Parameters::default() };
        assert_eq!(parameter_asset(&template, &kept), None);
        let given = Parameters { given: vec![(name, String::new())], ..Parameters::default() };
        assert_eq!(parameter_asset(&template, &given), None);
    }

    #[test]
    fn a_parameter_is_looked_up_in_earnest_if_anything_but_a_rule_refers_to_it() {
        let found = |rest: &str| {
            let text = format!(
                r#"{{"Parameters":{{"P":{{"Type":"AWS::SSM::Parameter::Value<String>"}},
                    "Plain":{{"Type":"String"}}}},{rest}}}"#
            );
            looked_up(&crate::template::parse(text.as_bytes()).unwrap())
        };
        let nothing =
            r#""Resources":{"A":{"Type":"T","Properties":{"B":"P","C":{"Ref":"Plain"}}}}"#;
        assert!(found(nothing).is_empty());
        assert!(found(&format!(r#""Rules":{{"R":{{"Ref":"P"}}}},{nothing}"#)).is_empty());
        assert_eq!(found(&format!(r#""Conditions":{{"C":{{"Ref":"P"}}}},{nothing}"#)), ["P"]);
        assert_eq!(
            found(&format!(r#""Outputs":{{"O":{{"Fn::Sub":"a${{P}}"}}}},{nothing}"#)),
            ["P"]
        );
        assert_eq!(found(&format!(r#""Transform":"Macro",{nothing}"#)), ["P"]);
    }

    #[test]
    fn a_template_with_characters_that_are_not_given_back_is_never_taken_for_the_same() {
        assert!(is_same_template(r#"{"a":1}"#, r#"{"a":1}"#));
        assert!(is_same_template(r#"{"a":1,"b":2}"#, r#"{ "b": 2, "a": 1 }"#));
        assert!(!is_same_template(r#"{"a":"?"}"#, r#"{"a":"é"}"#));
        assert!(!is_same_template("a: ?", "a: é"));
        assert!(!is_same_template("a: 1", "a:  1"));
    }
}
