//! Which types of resources can move.

use super::judge::{Party, Refusal, type_of};
use super::matching::Move;
use crate::registry::{lookup, refactor_block};

/// The text about the resource that CDK adds to every stack.
pub(super) const CDK_METADATA: &str = "Stack Refactor does not support AWS::CDK::Metadata.";

/// Types that pass the preview and fail when they are moved.
const FAILS_LATE: &[&str] = &["AWS::Lambda::MicrovmImage"];

/// Refuses a move of a resource whose type cannot move.
pub(super) fn check(parties: &[Party], each: &Move) -> Result<(), Refusal> {
    let source = &parties[each.from];
    match refusal(type_of(&source.old, &each.from_id)) {
        None => Ok(()),
        Some(reason) => Err(Refusal::of(&source.stack, reason)),
    }
}

fn refusal(resource_type: &str) -> Option<String> {
    if resource_type == "AWS::CDK::Metadata" {
        return Some(CDK_METADATA.to_owned());
    }
    if FAILS_LATE.contains(&resource_type) {
        return None;
    }
    let fixed_tags = lookup(resource_type)
        .is_some_and(|info| info.tag_property().is_some_and(|tags| info.is_create_only(tags)));
    if fixed_tags {
        return Some(format!(
            "Stack Refactor does not support {resource_type} because the resource type does not \
             allow tag updates after creation."
        ));
    }
    // [I] The text, which is known of one type only.
    refactor_block(resource_type)
        .map(|_| format!("Stack Refactor does not support {resource_type}."))
}

/// Why a type fails when it is moved although it passed the preview.
pub(super) fn late_refusal(resource_type: &str) -> Option<String> {
    FAILS_LATE.contains(&resource_type).then(|| {
        format!(
            "Stack Refactor does not support {resource_type} because the resource type defines an \
             unsupported tag schema."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_refused_with_the_texts_of_aws() {
        assert_eq!(refusal("AWS::S3::Bucket"), None);
        assert_eq!(
            refusal("AWS::EC2::KeyPair").unwrap(),
            "Stack Refactor does not support AWS::EC2::KeyPair because the resource type does not \
             allow tag updates after creation."
        );
        for other in ["AWS::IAM::Policy", "Custom::X", "AWS::ApiGateway::Method"] {
            assert_eq!(
                refusal(other).unwrap(),
                format!("Stack Refactor does not support {other}.")
            );
        }
        assert_eq!(refusal("AWS::Lambda::MicrovmImage"), None);
        assert!(late_refusal("AWS::Lambda::MicrovmImage").unwrap().contains("tag schema"));
    }
}
