//! Settings that can make something public.

use std::collections::BTreeMap;

use super::collect::Place;
use super::resolve::text;
use crate::model::{Object, Value};

/// How a setting stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Setting {
    /// Nothing is public through it.
    Shut,
    /// Something may be public through it: its value.
    Open(String),
    /// Nothing is said, and what holds then depends on the age of the resource or its network.
    Unsaid,
}

/// The canned access lists that let in nobody from outside.
const OWN_LISTS: &[&str] =
    &["Private", "AwsExecRead", "BucketOwnerFullControl", "BucketOwnerRead", "LogDeliveryWrite"];

/// The switches of a public access block.
const SWITCHES: [&str; 4] =
    ["BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"];

/// Settings by type: the property, the values by which nothing is public, and what holds if
/// nothing is said.
const SETTINGS: &[(&str, &str, &[&str], Setting)] = &[
    ("AWS::AmazonMQ::Broker", "PubliclyAccessible", &["false"], Setting::Unsaid),
    ("AWS::DMS::ReplicationInstance", "PubliclyAccessible", &["false"], Setting::Unsaid),
    ("AWS::Lambda::Url", "AuthType", &["AWS_IAM"], Setting::Shut),
    ("AWS::RDS::DBCluster", "PubliclyAccessible", &["false"], Setting::Unsaid),
    ("AWS::RDS::DBInstance", "PubliclyAccessible", &["false"], Setting::Unsaid),
    ("AWS::Redshift::Cluster", "PubliclyAccessible", &["false"], Setting::Unsaid),
    ("AWS::RedshiftServerless::Workgroup", "PubliclyAccessible", &["false"], Setting::Unsaid),
    ("AWS::S3::Bucket", "AccessControl", OWN_LISTS, Setting::Shut),
];

/// The property that holds a public access block, of the types that have one.
const BLOCKS: &[(&str, &str)] = &[
    ("AWS::S3::AccessPoint", "PublicAccessBlockConfiguration"),
    ("AWS::S3::Bucket", "PublicAccessBlockConfiguration"),
    ("AWS::S3::MultiRegionAccessPoint", "PublicAccessBlockConfiguration"),
];

/// Whether resources of a type have settings that can make something public.
pub(super) fn has_settings(resource_type: &str) -> bool {
    SETTINGS.iter().any(|(kind, ..)| *kind == resource_type)
        || BLOCKS.iter().any(|(kind, _)| *kind == resource_type)
}

/// Reads the settings of a resource; its properties are without references.
pub(super) fn read(
    place: &Place,
    properties: &Object,
    settings: &mut BTreeMap<(Place, String), Setting>,
) {
    for (_, property, shut, unsaid) in
        SETTINGS.iter().filter(|(kind, ..)| *kind == place.resource_type)
    {
        let setting = match properties.get(property) {
            None | Some(Value::Null) => unsaid.clone(),
            Some(value) if shut.contains(&text(value).as_str()) => Setting::Shut,
            Some(value) => Setting::Open(text(value)),
        };
        settings.insert((place.clone(), (*property).to_owned()), setting);
    }
    for (_, property) in BLOCKS.iter().filter(|(kind, _)| *kind == place.resource_type) {
        let block = properties.get(property);
        for switch in SWITCHES {
            settings
                .insert((place.clone(), format!("{property}.{switch}")), blocked(block, switch));
        }
    }
}

/// A switch that is not set in a block that is given is off; without a block new buckets have
/// all of them on and old ones none ("Blocking public access to your Amazon S3 storage").
fn blocked(block: Option<&Value>, switch: &str) -> Setting {
    match block {
        None | Some(Value::Null) => Setting::Unsaid,
        Some(Value::Object(block))
            if block.single().is_none_or(|(key, _)| !key.starts_with("Fn::")) =>
        {
            match block.get(switch).map(text) {
                None => Setting::Open("false".to_owned()),
                Some(value) if value == "true" => Setting::Shut,
                Some(value) => Setting::Open(value),
            }
        }
        Some(computed) => Setting::Open(text(computed)),
    }
}

/// Whether a setting may let in more than before; `None`: there was no such resource.
pub(super) fn is_looser(before: Option<&Setting>, now: &Setting) -> bool {
    match (before, now) {
        (_, Setting::Shut) => false,
        (before, Setting::Unsaid) => before == Some(&Setting::Shut),
        (before, now @ Setting::Open(_)) => before != Some(now),
    }
}

/// A setting as a reader would write it.
pub(super) fn shown(setting: &Setting) -> String {
    match setting {
        Setting::Shut => "shut".to_owned(),
        Setting::Open(value) => value.clone(),
        Setting::Unsaid => "(not set)".to_owned(),
    }
}
