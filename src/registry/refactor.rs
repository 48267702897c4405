//! Which types stack refactoring can move.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::table::{TypeInfo, lookup};

/// `data/refactor-unsupported-types.json`
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Unsupported {
    /// The list of the user guide, sorted.
    types: Vec<String>,
    /// Others, with the reason that was given.
    refused_in_practice: BTreeMap<String, String>,
}

static UNSUPPORTED: LazyLock<Unsupported> = LazyLock::new(|| {
    let text = include_str!("../../data/refactor-unsupported-types.json");
    // A test makes sure that the file can be read.
    let mut unsupported: Unsupported = serde_json::from_str(text).unwrap_or_default();
    unsupported.types.sort_unstable();
    unsupported
});

/// Returns why CloudFormation's stack refactoring cannot move resources of this type, as the end
/// of a sentence; `None` if it can, or if nothing is known of the type.
///
/// The rule: the type must be fully mutable and not on the list of the user guide ("Stack
/// refactoring", resource limitations). A few more are refused in practice.
pub fn refactor_block(resource_type: &str) -> Option<String> {
    if resource_type == "AWS::CDK::Metadata" {
        return Some("is written by the CDK itself and never part of a refactor".to_owned());
    }
    if resource_type.starts_with("Custom::")
        || resource_type == "AWS::CloudFormation::CustomResource"
    {
        return Some("is a custom resource, which CloudFormation cannot move".to_owned());
    }
    let listed = |name: &String| name.as_str().cmp(resource_type);
    if UNSUPPORTED.types.binary_search_by(listed).is_ok() {
        return Some("is on CloudFormation's list of types that it cannot move".to_owned());
    }
    let info = lookup(resource_type);
    if let Some(missing) = info.filter(|info| !info.fully_mutable()).map(missing_handlers) {
        return Some(format!("cannot be moved by CloudFormation, since the type has {missing}"));
    }
    let tags_stay = |info: &TypeInfo| info.tag_property().is_some_and(|at| info.is_create_only(at));
    if info.as_ref().is_some_and(tags_stay) {
        return Some(
            "cannot be moved by CloudFormation, since its tags cannot be changed".to_owned(),
        );
    }
    let reason = UNSUPPORTED.refused_in_practice.get(resource_type)?;
    Some(format!("is refused by CloudFormation in practice: {reason}"))
}

/// Whether the answer of [`refactor_block`] rests on the registry's schemas only, which CloudFormation
/// may have extended since, or on nothing at all: `DescribeType` knows better. Lists, custom
/// resources and what the CDK writes itself are certain.
pub fn refactor_block_is_uncertain(resource_type: &str) -> bool {
    let listed = |name: &String| name.as_str().cmp(resource_type);
    let certain = resource_type == "AWS::CDK::Metadata"
        || resource_type.starts_with("Custom::")
        || UNSUPPORTED.types.binary_search_by(listed).is_ok()
        || UNSUPPORTED.refused_in_practice.contains_key(resource_type);
    !certain && lookup(resource_type).is_none_or(|info| !info.fully_mutable())
}

/// Returns what a type lacks to be fully mutable: `no read handler`.
fn missing_handlers(info: TypeInfo) -> String {
    let all = [('c', "create"), ('r', "read"), ('u', "update"), ('d', "delete")];
    let missing: Vec<_> = all
        .into_iter()
        .filter(|(initial, _)| !info.handlers().contains(*initial))
        .map(|(_, name)| name)
        .collect();
    match missing.as_slice() {
        [only] => format!("no {only} handler"),
        [first @ .., last] if missing.len() < all.len() => {
            format!("no {} and {last} handlers", first.join(", "))
        }
        _ => "no handlers".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(resource_type: &str) -> String {
        refactor_block(resource_type).unwrap_or_else(|| panic!("{resource_type} can move"))
    }

    #[test]
    fn the_list_of_unsupported_types_can_be_read() {
        assert_eq!(UNSUPPORTED.types.len(), 132);
        assert_eq!(UNSUPPORTED.refused_in_practice.len(), 4);
    }

    #[test]
    fn ordinary_resources_can_move() {
        for name in ["AWS::S3::Bucket", "AWS::Lambda::Function", "AWS::CloudFormation::Stack"] {
            assert_eq!(refactor_block(name), None, "{name}");
        }
    }

    #[test]
    fn an_inline_policy_cannot_move_since_it_cannot_be_read() {
        assert_eq!(
            reason("AWS::IAM::Policy"),
            "cannot be moved by CloudFormation, since the type has no read handler"
        );
    }

    #[test]
    fn the_missing_handlers_are_named() {
        assert!(reason("AWS::Lambda::Permission").ends_with("has no update handler"));
        assert!(reason("Alexa::ASK::Skill").ends_with("has no handlers"));
    }

    #[test]
    fn custom_resources_listed_types_and_cdk_metadata_cannot_move() {
        assert!(reason("Custom::S3AutoDeleteObjects").contains("custom resource"));
        assert!(reason("AWS::CloudFormation::CustomResource").contains("custom resource"));
        assert!(reason("AWS::ApiGateway::Method").contains("list of types"));
        assert!(reason("AWS::Lambda::MicrovmImage").contains("unsupported tag schema"));
        assert!(reason("AWS::CDK::Metadata").contains("written by the CDK"));
    }

    #[test]
    fn nothing_is_said_of_unknown_types() {
        assert_eq!(refactor_block("Acme::Web::Site"), None);
        assert_eq!(refactor_block("AWS::Brand::New"), None);
    }
}
