//! Where assets are: hashes, buckets and repositories that differ from build to build and from
//! one synthesizer to the next, while nothing in the asset need have changed.

use crate::model::{Object, Text, Value};

/// Stands for the key or the tag of an asset.
const ASSET: &str = "<asset>";
/// Stands for the bucket of assets.
const BUCKET: &str = "<asset-bucket>";
/// What the legacy synthesizer's parameters begin with.
const PARAMETERS: &str = "AssetParameters";
/// Letters of a SHA-256 in hexadecimal digits.
const HASH: usize = 64;

/// Returns the properties of a resource without the places of its assets; `None` if it uses no
/// asset. Long hexadecimal numbers count as assets only where a bucket or repository of assets
/// is named as well.
pub(super) fn without_places(properties: &Value) -> Option<Value> {
    uses_assets(properties).then(|| masked(properties))
}

fn uses_assets(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("-assets-") || text.starts_with(PARAMETERS),
        Value::Array(items) => items.iter().any(uses_assets),
        Value::Object(object) => object.iter().any(|(_, value)| uses_assets(value)),
        _ => false,
    }
}

fn masked(value: &Value) -> Value {
    match value {
        Value::String(text) => match text.as_str() {
            text if is_bucket(text) => Value::from(BUCKET),
            text => Value::from(without_hashes(text).as_str()),
        },
        Value::Array(items) => Value::Array(items.iter().map(masked).collect()),
        Value::Object(object) => legacy(object).or_else(|| bucket(object)).unwrap_or_else(|| {
            let members = object.iter().map(|(key, value)| (key.clone(), masked(value)));
            Value::Object(members.collect())
        }),
        other => other.clone(),
    }
}

/// `Fn::Sub` of the name of a bucket, and nothing else.
fn bucket(object: &Object) -> Option<Value> {
    match object.single()? {
        (function, Value::String(text)) if function == "Fn::Sub" && is_bucket(text) => {
            Some(Value::from(BUCKET))
        }
        _ => None,
    }
}

fn is_bucket(text: &str) -> bool {
    text.starts_with("cdk-")
        && text.contains("-assets-")
        && !text.contains("-container-assets-")
        && !text.contains('/')
        && without_hashes(text) == text
}

/// What the legacy synthesizer writes: a parameter for the bucket, and a key that is put together
/// of the two parts of another one.
fn legacy(object: &Object) -> Option<Value> {
    let (function, argument) = object.single()?;
    match (function.as_str(), argument) {
        ("Ref", Value::String(name)) if name.starts_with(PARAMETERS) => {
            Some(Value::from(if name.contains("S3Bucket") { BUCKET } else { ASSET }))
        }
        ("Fn::Join", Value::Array(items)) => match items.as_slice() {
            [Value::String(delimiter), Value::Array(parts)] if delimiter.is_empty() => {
                let is_key = !parts.is_empty() && parts.iter().all(is_part_of_key);
                is_key.then(|| Value::from(ASSET))
            }
            _ => None,
        },
        _ => None,
    }
}

/// `Fn::Select` of `Fn::Split` of a parameter of an asset.
fn is_part_of_key(value: &Value) -> bool {
    let argument = |value: &Value, function: &str, at: usize| -> Option<Value> {
        let items = value.get(function)?.as_array()?;
        items.get(at).cloned()
    };
    let parameter = argument(value, "Fn::Select", 1)
        .and_then(|split| argument(&split, "Fn::Split", 1))
        .and_then(|reference| Some(Text::from(reference.get("Ref")?.as_str()?)));
    parameter.is_some_and(|name| name.starts_with(PARAMETERS))
}

/// Replaces every hash that stands alone, with the ending of its file.
fn without_hashes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let (before, word) = rest.split_at(at);
        let is_alone = before.is_empty() || !before.ends_with(|c: char| c.is_alphanumeric());
        out.push_str(before);
        let end = word.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(word.len());
        let (word, after) = word.split_at(end);
        let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if is_alone && word.len() == HASH && word.bytes().all(is_digit) {
            out.push_str(ASSET);
            rest = without_ending(after);
        } else {
            out.push_str(word);
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// Takes `.zip`, `.json` and the like off.
fn without_ending(text: &str) -> &str {
    let Some(rest) = text.strip_prefix('.') else { return text };
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    if (1..=5).contains(&end) { without_ending(&rest[end..]) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::json;

    fn read(text: &str) -> Value {
        json::parse(text).unwrap()
    }

    fn hash(digit: char) -> String {
        digit.to_string().repeat(HASH)
    }

    #[test]
    fn the_code_of_a_function_is_the_same_with_either_synthesizer() {
        let parameter = format!("{PARAMETERS}{}S3VersionKeyX", hash('a'));
        let part = |at: usize| {
            format!(r#"{{"Fn::Select":[{at},{{"Fn::Split":["||",{{"Ref":"{parameter}"}}]}}]}}"#)
        };
        let legacy = read(&format!(
            r#"{{"Code":{{"S3Bucket":{{"Ref":"{PARAMETERS}{}S3BucketY"}},
                 "S3Key":{{"Fn::Join":["",[{},{}]]}}}}}}"#,
            hash('a'),
            part(0),
            part(1)
        ));
        let modern = read(&format!(
            r#"{{"Code":{{"S3Bucket":{{"Fn::Sub":"cdk-hnb659fds-assets-${{AWS::AccountId}}-${{AWS::Region}}"}},
                 "S3Key":"{}.zip"}}}}"#,
            hash('b')
        ));
        assert_eq!(without_places(&legacy), without_places(&modern));
        assert!(without_places(&legacy).is_some());
    }

    #[test]
    fn the_tag_of_an_image_is_a_hash_and_the_rest_of_its_name_counts() {
        let image = |digit, repository: &str| {
            read(&format!(
                r#"{{"Image":{{"Fn::Sub":"x.dkr/cdk-{repository}-container-assets-1:{}"}}}}"#,
                hash(digit)
            ))
        };
        assert_eq!(without_places(&image('1', "q")), without_places(&image('2', "q")));
        assert_ne!(without_places(&image('1', "q")), without_places(&image('1', "r")));
    }

    #[test]
    fn a_long_number_without_a_bucket_of_assets_is_no_asset() {
        assert_eq!(without_places(&read(&format!(r#"{{"Key":"{}"}}"#, hash('1')))), None);
        assert_eq!(without_hashes(&format!("x{}", hash('1'))), format!("x{}", hash('1')));
        assert_eq!(without_hashes(&format!("{}.tar.gz rest.", hash('1'))), "<asset> rest.");
    }
}
