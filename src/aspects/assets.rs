//! Where assets are: buckets and repositories that differ from one synthesizer and one bootstrap
//! to the next, and hashes, which differ from build to build.

use crate::model::{Object, Text, Value};

/// Stands for the hash of an asset.
const ASSET: &str = "<asset>";
/// Stands for the bucket of assets.
const BUCKET: &str = "<asset-bucket>";
/// Stands for the repository of images.
const REPOSITORY: &str = "<asset-repository>";
/// What the legacy synthesizer's parameters begin with.
const PARAMETERS: &str = "AssetParameters";
/// Letters of a SHA-256 in hexadecimal digits.
const HASH: usize = 64;

/// Returns the properties of a resource without the places of its assets and, if they are not to
/// count, without their hashes; `None` if it uses no asset. Long hexadecimal numbers count as
/// hashes of assets only where a bucket or repository of assets is named as well.
pub(super) fn without_places(properties: &Value, hashes: bool) -> Option<Value> {
    uses_assets(properties).then(|| Mask { hashes }.value(properties))
}

fn uses_assets(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("-assets-") || text.starts_with(PARAMETERS),
        Value::Array(items) => items.iter().any(uses_assets),
        Value::Object(object) => object.iter().any(|(_, value)| uses_assets(value)),
        _ => false,
    }
}

/// What is covered up.
#[derive(Clone, Copy)]
struct Mask {
    hashes: bool,
}

impl Mask {
    fn value(self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::from(self.text(text).as_str()),
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.value(item)).collect())
            }
            Value::Object(object) => self.legacy(object).unwrap_or_else(|| self.object(object)),
            other => other.clone(),
        }
    }

    fn object(self, object: &Object) -> Value {
        let members = object.iter().map(|(key, value)| (key.clone(), self.value(value)));
        let masked: Object = members.collect();
        // `Fn::Sub` of a place and nothing else is the place.
        match masked.single() {
            Some((function, Value::String(text)))
                if function == "Fn::Sub" && (text == BUCKET || text == REPOSITORY) =>
            {
                Value::from(text.as_str())
            }
            _ => Value::Object(masked),
        }
    }

    /// What the legacy synthesizer writes: a parameter for the bucket, and a key that is put
    /// together of the two parts of another one. The names of parameters hold the hash.
    fn legacy(self, object: &Object) -> Option<Value> {
        let (function, argument) = object.single()?;
        match (function.as_str(), argument) {
            ("Ref", Value::String(name)) if name.starts_with(PARAMETERS) => {
                let is_bucket = name.contains("S3Bucket");
                Some(if is_bucket { Value::from(BUCKET) } else { self.hash_of_parameter(name) })
            }
            ("Fn::Join", Value::Array(items)) => match items.as_slice() {
                [Value::String(delimiter), Value::Array(parts)] if delimiter.is_empty() => {
                    let names: Option<Vec<Text>> = parts.iter().map(parameter_of_part).collect();
                    Some(self.hash_of_parameter(names?.first()?))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn hash_of_parameter(self, name: &str) -> Value {
        let hash = name.strip_prefix(PARAMETERS).and_then(|rest| rest.get(..HASH));
        Value::from(if self.hashes { ASSET } else { hash.unwrap_or(ASSET) })
    }

    /// Replaces names of buckets and repositories, and hashes that stand alone, with the endings
    /// of their files.
    fn text(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let is_start = !out.ends_with(|c: char| c.is_ascii_alphanumeric());
            let place = if is_start { place(rest) } else { None };
            if let Some((stands_for, after)) = place {
                out.push_str(stands_for);
                rest = after;
                continue;
            }
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end.max(first.len_utf8()));
            if is_start && is_hash(word) {
                out.push_str(if self.hashes { ASSET } else { word });
                rest = without_ending(after);
            } else {
                out.push_str(word);
                rest = after;
            }
        }
        out
    }
}

/// Reads `cdk-QUALIFIER-assets-…` or `cdk-QUALIFIER-container-assets-…` from the beginning of a
/// text, variables of `Fn::Sub` included; returns what stands for it, and the rest.
fn place(text: &str) -> Option<(&'static str, &str)> {
    if !text.starts_with("cdk-") {
        return None;
    }
    let mut end = 0;
    while let Some(next) = text[end..].chars().next() {
        if next.is_ascii_alphanumeric() || next == '-' {
            end += 1;
        } else if let Some(variable) = text[end..].strip_prefix("${") {
            end += 2 + variable.find('}')? + 1;
        } else {
            break;
        }
    }
    let (name, after) = text.split_at(end);
    if name.contains("-container-assets-") {
        Some((REPOSITORY, after))
    } else {
        name.contains("-assets-").then_some((BUCKET, after))
    }
}

/// `Fn::Select` of `Fn::Split` of a parameter of an asset.
fn parameter_of_part(value: &Value) -> Option<Text> {
    let split = value.get("Fn::Select")?.as_array()?.get(1)?;
    let reference = split.get("Fn::Split")?.as_array()?.get(1)?;
    let name = reference.get("Ref")?.as_str()?;
    name.starts_with(PARAMETERS).then(|| name.into())
}

fn is_hash(word: &str) -> bool {
    word.len() == HASH && word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
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

    fn legacy(digit: char) -> Value {
        let parameter = format!("{PARAMETERS}{}S3VersionKeyX", hash(digit));
        let part = |at: usize| {
            format!(r#"{{"Fn::Select":[{at},{{"Fn::Split":["||",{{"Ref":"{parameter}"}}]}}]}}"#)
        };
        read(&format!(
            r#"{{"Code":{{"S3Bucket":{{"Ref":"{PARAMETERS}{}S3BucketY"}},
                 "S3Key":{{"Fn::Join":["",[{},{}]]}}}}}}"#,
            hash(digit),
            part(0),
            part(1)
        ))
    }

    fn modern(digit: char) -> Value {
        read(&format!(
            r#"{{"Code":{{"S3Bucket":{{"Fn::Sub":"cdk-hnb659fds-assets-${{AWS::AccountId}}-${{AWS::Region}}"}},
                 "S3Key":"{}.zip"}}}}"#,
            hash(digit)
        ))
    }

    #[test]
    fn the_place_of_code_is_the_same_with_either_synthesizer_and_its_hash_counts() {
        let places = |value: &Value| without_places(value, false).unwrap();
        assert_eq!(places(&legacy('a')), places(&modern('a')));
        assert_ne!(places(&legacy('a')), places(&modern('b')));
        assert_ne!(places(&modern('a')), places(&modern('b')));
        let all = |value: &Value| without_places(value, true).unwrap();
        assert_eq!(all(&legacy('a')), all(&modern('b')));
    }

    #[test]
    fn an_image_is_known_by_its_hash() {
        let image = |digit, place: &str| {
            let value = read(&format!(
                r#"{{"Image":{{"Fn::Sub":"x.dkr/cdk-{place}-container-assets-${{AWS::AccountId}}:{}"}}}}"#,
                hash(digit)
            ));
            (without_places(&value, false).unwrap(), without_places(&value, true).unwrap())
        };
        assert_eq!(image('1', "q"), image('1', "r"));
        assert_ne!(image('1', "q").0, image('2', "q").0);
        assert_eq!(image('1', "q").1, image('2', "r").1);
    }

    #[test]
    fn a_long_number_without_a_bucket_of_assets_is_no_asset() {
        assert_eq!(without_places(&read(&format!(r#"{{"Key":"{}"}}"#, hash('1'))), true), None);
        let mask = Mask { hashes: true };
        assert_eq!(mask.text(&format!("x{}", hash('1'))), format!("x{}", hash('1')));
        assert_eq!(mask.text(&format!("{}.tar.gz rest.", hash('1'))), "<asset> rest.");
        assert_eq!(mask.text("s3://cdk-q-assets-1-x/é/cdk-q"), "s3://<asset-bucket>/é/cdk-q");
    }
}
