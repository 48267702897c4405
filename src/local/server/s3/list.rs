//! `ListObjectsV2`.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::objects::etag;
use super::{NAMESPACE, Target, document};
use crate::local::clock::iso8601;
use crate::local::error::{Answer, ServiceError};
use crate::local::server::protocol::Reply;
use crate::local::server::xml::Xml;

/// What stays as it is in the keys of an encoded list.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

const MOST: usize = 1000;

/// An entry of a list.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Entry {
    Object(String),
    /// All keys that go on from here.
    Prefix(String),
}

impl Entry {
    fn text(&self) -> &str {
        match self {
            Self::Object(text) | Self::Prefix(text) => text,
        }
    }
}

/// Answers a request.
pub(super) fn answer(target: &Target<'_>) -> Answer<Reply> {
    let parameter = |name: &str| target.call.parameter(name).filter(|text| !text.is_empty());
    let prefix = parameter("prefix").unwrap_or_default();
    let delimiter = parameter("delimiter");
    let most = match parameter("max-keys") {
        None => MOST,
        Some(text) => text.parse::<usize>().map_err(|_| invalid("max-keys"))?.min(MOST),
    };
    let after = match parameter("continuation-token") {
        Some(token) => Some(read_token(&token).ok_or_else(|| invalid("continuation-token"))?),
        None => parameter("start-after"),
    };
    let keys = target.cloud.list_objects(&target.bucket, &prefix)?;
    let entries = entries(keys, &prefix, delimiter.as_deref());
    let mut left = entries
        .into_iter()
        .filter(|entry| after.as_ref().is_none_or(|after| entry.text() > after.as_str()))
        .collect::<Vec<_>>();
    let truncated = left.len() > most;
    left.truncate(most);
    let encode = parameter("encoding-type").as_deref() == Some("url");
    let key = |text: &str| {
        if encode { utf8_percent_encode(text, ENCODED).to_string() } else { text.to_owned() }
    };
    let mut contents = Xml::default();
    for entry in &left {
        if let Entry::Object(name) = entry {
            write_object(target, &mut contents, name, &key(name))?;
        }
    }
    let mut xml = Xml::default();
    xml.with("ListBucketResult", NAMESPACE, |xml| {
        xml.text("Name", &target.bucket);
        xml.text("Prefix", &key(&prefix));
        xml.some("Delimiter", delimiter.as_deref().map(key).as_deref());
        xml.some("EncodingType", encode.then_some("url"));
        xml.text("MaxKeys", &most.to_string());
        xml.text("KeyCount", &left.len().to_string());
        xml.flag("IsTruncated", truncated);
        if let Some(last) = left.last().filter(|_| truncated) {
            xml.text("NextContinuationToken", &URL_SAFE_NO_PAD.encode(last.text()));
        }
        xml.append(&contents);
        for entry in &left {
            if let Entry::Prefix(text) = entry {
                xml.inside("CommonPrefixes", |xml| xml.text("Prefix", &key(text)));
            }
        }
    });
    Ok(document(200, xml))
}

fn write_object(target: &Target<'_>, xml: &mut Xml, name: &str, written: &str) -> Answer<()> {
    // It may have gone since the list was made.
    let Some((bytes, modified_ms)) = target.cloud.object(&target.bucket, name)? else {
        return Ok(());
    };
    xml.inside("Contents", |xml| {
        xml.text("Key", written);
        xml.text("LastModified", &iso8601(modified_ms));
        xml.text("ETag", &etag(&bytes));
        xml.text("Size", &bytes.len().to_string());
        xml.text("StorageClass", "STANDARD");
    });
    Ok(())
}

/// Puts keys together that are equal up to the delimiter.
fn entries(keys: Vec<String>, prefix: &str, delimiter: Option<&str>) -> Vec<Entry> {
    let mut prefixes = BTreeSet::new();
    let mut found = Vec::new();
    for key in keys {
        let end = delimiter
            .and_then(|delimiter| Some(key[prefix.len()..].find(delimiter)? + delimiter.len()));
        match end {
            None => found.push(Entry::Object(key)),
            Some(end) => {
                prefixes.insert(key[..prefix.len() + end].to_owned());
            }
        }
    }
    found.extend(prefixes.into_iter().map(Entry::Prefix));
    found.sort_by(|a, b| a.text().cmp(b.text()));
    found
}

fn read_token(token: &str) -> Option<String> {
    String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()
}

fn invalid(parameter: &str) -> ServiceError {
    let message = format!("The {parameter} provided is incorrect");
    ServiceError::new("InvalidArgument", 400, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_put_together_up_to_the_delimiter() {
        let keys = ["a/b/c", "a/b/d", "a/e"].map(str::to_owned).to_vec();
        assert_eq!(
            entries(keys, "a/", Some("/")),
            [Entry::Prefix("a/b/".to_owned()), Entry::Object("a/e".to_owned())]
        );
    }
}
