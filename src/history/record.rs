//! What a log keeps of a stack.

use std::borrow::Cow;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::event::{ResourceRecord, StackRecord};
use crate::model::{Object, Stack, Template, Value};

/// How many hexadecimal digits the hash of an asset has.
const ASSET_HASH: usize = 64;
/// What the CDK adds about itself: it depends on the machine that synthesizes.
const CDK_METADATA: &str = "AWS::CDK::Metadata";
/// The condition of that resource.
const CDK_METADATA_CONDITION: &str = "CDKMetadataAvailable";
/// What cdkr notes in the metadata of resources.
const OURS: &str = "cdkr:";

impl StackRecord {
    /// Returns what a log keeps of a stack.
    pub fn of(stack: &Stack) -> Self {
        let resources = stack.template.resources().filter_map(|(id, body)| {
            let kind = body.get("Type").and_then(Value::as_str)?;
            let metadata = body.get("Metadata");
            let path = metadata.and_then(|metadata| metadata.get("aws:cdk:path"));
            let record = ResourceRecord {
                resource_type: kind.into(),
                path: path.and_then(Value::as_str).map(Into::into),
            };
            (kind != CDK_METADATA).then(|| (id.as_str().into(), record))
        });
        Self { template: template_digest(&stack.template), resources: resources.collect() }
    }
}

/// Returns the digest of a template, in 64 hexadecimal digits: equal for a template as it is
/// synthesized and as CloudFormation gives it back. It does not depend on the order of keys, on
/// the hashes of assets (a bundle that comes out differently on another machine is no other state
/// of the stacks), on what the CDK says of itself, nor on characters outside ASCII, which
/// CloudFormation returns as `?`.
pub fn template_digest(template: &Template) -> String {
    let mut bytes = Vec::new();
    object(&template.sections, &mut bytes);
    let mut digits = String::new();
    for byte in Sha256::digest(&bytes) {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// Whether a member says something about the stack; an empty `Metadata` or `Conditions` does not.
fn counts(key: &str, member: &Value) -> bool {
    let is_of_the_cdk = member.get("Type").and_then(Value::as_str) == Some(CDK_METADATA)
        || key == CDK_METADATA_CONDITION
        || key.starts_with(OURS);
    let is_empty = matches!(key, "Metadata" | "Conditions")
        && member.as_object().is_some_and(|all| !all.iter().any(|(key, one)| counts(key, one)));
    !is_of_the_cdk && !is_empty
}

/// Appends the members, sorted by their keys.
fn object(object: &Object, bytes: &mut Vec<u8>) {
    let mut members: Vec<_> = object.iter().filter(|(key, member)| counts(key, member)).collect();
    members.sort_by_key(|(key, _)| *key);
    bytes.push(b'{');
    for (key, member) in members {
        text(key, bytes);
        value(member, bytes);
    }
    bytes.push(b'}');
}

fn value(one: &Value, bytes: &mut Vec<u8>) {
    match one {
        Value::Null => bytes.push(b'0'),
        Value::Bool(flag) => bytes.push(if *flag { b't' } else { b'f' }),
        Value::Number(number) => {
            bytes.push(b'#');
            text(number.as_str(), bytes);
        }
        Value::String(string) => text(&without_asset_hashes(string), bytes),
        Value::Array(items) => {
            bytes.push(b'[');
            for item in items {
                value(item, bytes);
            }
            bytes.push(b']');
        }
        Value::Object(members) => object(members, bytes),
    }
}

/// Appends a text with its length, characters outside ASCII as `?`.
fn text(text: &str, bytes: &mut Vec<u8>) {
    let folded = text.chars().map(|one| if one.is_ascii() { one as u8 } else { b'?' });
    let start = bytes.len();
    bytes.extend(folded);
    let length = bytes.len() - start;
    bytes.splice(start..start, format!("\"{length}:").into_bytes());
}

/// The text with every run of exactly 64 hexadecimal digits, which is the hash of an asset, as
/// one mark.
fn without_asset_hashes(text: &str) -> Cow<'_, str> {
    if text.len() < ASSET_HASH {
        return Cow::Borrowed(text);
    }
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let bytes = text.as_bytes();
    let mut masked = String::new();
    let (mut copied, mut at) = (0, 0);
    while at < bytes.len() {
        let run = bytes[at..].iter().take_while(|byte| is_digit(byte)).count();
        if run == ASSET_HASH {
            masked.push_str(&text[copied..at]);
            masked.push('*');
            copied = at + run;
        }
        at += run.max(1);
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    masked.push_str(&text[copied..]);
    Cow::Owned(masked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> String {
        template_digest(&crate::template::parse(text.as_bytes()).expect("a template"))
    }

    #[test]
    fn what_cloudformation_and_the_machine_change_is_no_other_state() {
        let hash = "0123456789abcdef".repeat(4);
        let other = "f123456789abcdef".repeat(4);
        let local = format!(
            r#"{{"Description":"naïve","Conditions":{{"CDKMetadataAvailable":{{"Fn::Equals":[1,1]}}}},
            "Resources":{{"CDKMetadata":{{"Type":"AWS::CDK::Metadata"}},
            "F":{{"Type":"AWS::Lambda::Function","Properties":{{"S3Key":"{hash}.zip","A":1}}}}}}}}"#
        );
        let deployed = format!(
            r#"{{"Resources":{{"F":{{"Metadata":{{}},"Properties":{{"A":1,"S3Key":"{other}.zip"}},
            "Type":"AWS::Lambda::Function"}}}},"Description":"na?ve"}}"#
        );
        assert_eq!(digest(&local), digest(&deployed));
    }

    #[test]
    fn every_other_difference_is_another_state() {
        let body = |properties: &str| {
            digest(&format!(r#"{{"Resources":{{"Q":{{"Type":"T","Properties":{properties}}}}}}}"#))
        };
        let all = [
            r#"{"A":"ab"}"#,
            r#"{"A":"a","B":"b"}"#,
            r#"{"Aa":"b"}"#,
            r#"{"A":["a","b"]}"#,
            r#"{"A":["b","a"]}"#,
            r#"{"A":1}"#,
            r#"{"A":"1"}"#,
            r#"{"A":true}"#,
            r#"{"A":null}"#,
            r#"{"A":"0123456789abcdef"}"#,
            r#"{"A":"1123456789abcdef"}"#,
        ];
        let different: std::collections::BTreeSet<_> = all.into_iter().map(body).collect();
        assert_eq!(different.len(), all.len());
    }
}
