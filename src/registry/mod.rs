//! What is known of resource types: which properties identify them, which cannot be changed,
//! what can be moved, what must not be lost, what two definitions have in common, and what it takes
//! to bring a resource from one state to another ([`update()`]).
//!
//! In: the name of a type. Out: a [`TypeInfo`], or the answer to a question. Called by
//! `compare`, `plan`, `report`, `aws` and `toolkit`. Pure; the data lies in `data/` and is part of
//! the program.

mod address;
mod flatten;
mod identity;
mod patch;
mod path;
mod pointer;
mod refactor;
mod regions;
mod replacement;
#[cfg(test)]
mod samples;
mod schema;
mod table;
mod update;

use std::sync::LazyLock;

pub use address::{Address, NoAddress, address};
pub use flatten::{Leaf, Segment, UnflattenError, flatten, unflatten};
pub use identity::{Clash, Identity, Key, Part, identity};
pub use patch::{Operation, ParseError, PatchError, apply, diff, parse as parse_patch};
pub use pointer::{Pointer, PointerError};
pub use refactor::{refactor_block, refactor_block_is_uncertain};
pub use regions::lacks_refactoring;
pub use replacement::{Replacement, replacement, snapshots_by_default};
pub use schema::Schema;
pub use table::{TypeInfo, lookup, source, type_names};
pub use update::{Judged, Mode, Update, Verdict, judge, update};

/// Whether data, or an identity that others rely on, is lost when a resource of this type is
/// replaced: tables, buckets, keys, certificates… (our own list, `data/stateful-types.txt`). Of a
/// type that nobody has looked at the worst is assumed: a third-party one, or one that is newer than
/// the data.
pub fn is_stateful(resource_type: &str) -> bool {
    is_listed(resource_type) || is_unknown(resource_type)
}

/// Whether nobody can say what a type holds. Custom resources do what their handlers do, and what
/// belongs to CloudFormation, SAM or the CDK itself is no service that keeps anything: what of it
/// does is listed.
fn is_unknown(resource_type: &str) -> bool {
    let Some((namespace, rest)) = resource_type.split_once("::") else { return false };
    match namespace {
        "Custom" => false,
        "AWS" => {
            let service = rest.split("::").next().unwrap_or_default();
            !matches!(service, "CDK" | "CloudFormation" | "Serverless")
                && lookup(resource_type).is_none()
        }
        _ => true,
    }
}

fn is_listed(resource_type: &str) -> bool {
    static TYPES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        let text = include_str!("../../data/stateful-types.txt");
        let mut types: Vec<_> =
            text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        types.sort_unstable();
        types
    });
    TYPES.binary_search(&resource_type).is_ok()
}

/// Whether resources of this type are made to be replaced rather than changed, and therefore
/// never matched (RFC 0162): snapshots of an API, versions of a function.
pub fn made_to_be_replaced(resource_type: &str) -> bool {
    matches!(resource_type, "AWS::ApiGateway::Deployment" | "AWS::Lambda::Version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_data_is_stateful_and_what_does_not_is_not() {
        for stateful in [
            "AWS::S3::Bucket",
            "AWS::DynamoDB::Table",
            "AWS::Cognito::UserPool",
            "AWS::KMS::Key",
            "AWS::SQS::Queue",
            "AWS::Logs::LogGroup",
            "AWS::Route53::HostedZone",
            "AWS::CloudFormation::Stack",
            "AWS::Organizations::Account",
            "AWS::QuickSight::DataSet",
            "AWS::ElasticLoadBalancingV2::LoadBalancer",
            "AWS::Serverless::SimpleTable",
        ] {
            assert!(is_stateful(stateful), "{stateful}");
        }
        for stateless in ["AWS::IAM::Policy", "AWS::Lambda::Function", "Custom::X", "", "#"] {
            assert!(!is_stateful(stateless), "{stateless}");
        }
    }

    #[test]
    fn of_a_type_that_nobody_has_looked_at_the_worst_is_assumed() {
        for unknown in [
            "MongoDB::Atlas::Cluster",
            "Alexa::ASK::Skill",
            "My::Own::Thing::MODULE",
            "AWS::S3::NewThing",
            "AWS::NewService::Thing",
        ] {
            assert!(is_stateful(unknown), "{unknown}");
        }
        for known in [
            "Custom::Database",
            "AWS::CDK::Metadata",
            "AWS::CloudFormation::CustomResource",
            "AWS::CloudFormation::NewThing",
            "AWS::Serverless::NewThing",
            "AWS::EC2::Subnet",
        ] {
            assert!(!is_stateful(known), "{known}");
        }
    }

    #[test]
    fn every_stateful_type_exists() {
        let text = include_str!("../../data/stateful-types.txt");
        for name in text.lines().filter(|line| !line.starts_with('#')) {
            assert!(lookup(name).is_some(), "{name}");
        }
    }

    #[test]
    fn versions_and_deployments_are_made_to_be_replaced() {
        assert!(made_to_be_replaced("AWS::Lambda::Version"));
        assert!(made_to_be_replaced("AWS::ApiGateway::Deployment"));
        assert!(!made_to_be_replaced("AWS::Lambda::Alias"));
    }
}
