//! S3, as far as a staging bucket needs it. Every bucket exists.

mod chunked;
mod list;
mod objects;
mod uploads;

use std::borrow::Cow;

use hyper::Method;
use percent_encoding::percent_decode_str;

use super::http::Call;
use super::protocol::Reply;
use super::xml::Xml;
use crate::local::error::{Answer, ServiceError};
use crate::local::state::Cloud;

const NAMESPACE: &str = "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";

/// Parts of buckets and objects that are addressed by a parameter of the query.
const PARTS: &[&str] = &[
    "accelerate",
    "acl",
    "analytics",
    "attributes",
    "cors",
    "delete",
    "encryption",
    "legal-hold",
    "lifecycle",
    "location",
    "logging",
    "notification",
    "object-lock",
    "ownershipControls",
    "policy",
    "policyStatus",
    "publicAccessBlock",
    "replication",
    "requestPayment",
    "restore",
    "retention",
    "select",
    "tagging",
    "torrent",
    "uploadId",
    "uploads",
    "versioning",
    "versions",
    "website",
];

/// What a request is about.
#[derive(Debug)]
struct Target<'c> {
    call: &'c Call,
    cloud: &'c Cloud,
    bucket: String,
    key: String,
}

/// Bucket and key that a request names, in the host or in the path.
fn names(call: &Call) -> (String, String) {
    let path = call.path.strip_prefix('/').unwrap_or(&call.path);
    let (bucket, key) = match &call.bucket {
        Some(bucket) => (Cow::from(bucket), path),
        None => {
            let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
            (percent_decode_str(bucket).decode_utf8_lossy(), key)
        }
    };
    (bucket.into_owned(), percent_decode_str(key).decode_utf8_lossy().into_owned())
}

/// Returns the name of the operation that a request asks for; of those that are not here, the
/// method.
pub(super) fn action(call: &Call) -> &'static str {
    let (bucket, key) = names(call);
    let part = PARTS.iter().find(|part| call.parameter(part).is_some()).copied();
    let copies = call.headers.contains_key("x-amz-copy-source");
    match (call.method.as_str(), key.is_empty(), part) {
        (method, _, _) if bucket.is_empty() => method_name(method),
        ("HEAD", true, None) => "HeadBucket",
        ("PUT", true, None) => "CreateBucket",
        ("GET", true, None) if call.parameter("list-type").as_deref() == Some("2") => {
            "ListObjectsV2"
        }
        ("GET", true, Some("location")) => "GetBucketLocation",
        ("GET", true, Some("encryption")) => "GetBucketEncryption",
        ("HEAD", false, None) => "HeadObject",
        ("GET", false, None) => "GetObject",
        ("PUT", false, None) if !copies => "PutObject",
        ("DELETE", false, None) => "DeleteObject",
        ("POST", false, Some("uploads")) => "CreateMultipartUpload",
        ("PUT", false, Some("uploadId")) if !copies => "UploadPart",
        ("POST", false, Some("uploadId")) => "CompleteMultipartUpload",
        ("DELETE", false, Some("uploadId")) => "AbortMultipartUpload",
        (method, ..) => method_name(method),
    }
}

fn method_name(method: &str) -> &'static str {
    ["GET", "PUT", "POST", "DELETE", "HEAD"]
        .into_iter()
        .find(|known| *known == method)
        .unwrap_or("OTHER")
}

/// Carries out an operation.
pub(super) fn answer(cloud: &Cloud, region: &str, action: &str, call: &Call) -> Answer<Reply> {
    let (bucket, key) = names(call);
    let target = Target { call, cloud, bucket, key };
    check_bucket(&target.bucket)?;
    match action {
        "HeadBucket" => Ok(Reply::empty(200).with("x-amz-bucket-region", region)),
        "CreateBucket" => Ok(Reply::empty(200).with("location", format!("/{}", target.bucket))),
        "GetBucketLocation" => Ok(location(region)),
        "GetBucketEncryption" => Err(ServiceError::new(
            "ServerSideEncryptionConfigurationNotFoundError",
            404,
            "The server side encryption configuration was not found",
        )),
        "ListObjectsV2" => list::answer(&target),
        "HeadObject" | "GetObject" => objects::get(&target),
        "PutObject" => objects::put(&target),
        "DeleteObject" => objects::delete(&target),
        "CreateMultipartUpload" => uploads::create(&target),
        "UploadPart" => uploads::part(&target),
        "CompleteMultipartUpload" => uploads::complete(&target),
        "AbortMultipartUpload" => uploads::abort(&target),
        _ => Err(ServiceError::new(
            "NotImplemented",
            501,
            "A header or parameter you provided implies functionality that is not implemented",
        )),
    }
}

/// Every bucket exists whose name is possible.
fn check_bucket(name: &str) -> Answer<()> {
    let allowed =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.' || c == '_';
    if (3..=63).contains(&name.len()) && name.chars().all(allowed) && !name.contains("..") {
        return Ok(());
    }
    Err(ServiceError::new("NoSuchBucket", 404, "The specified bucket does not exist"))
}

fn location(region: &str) -> Reply {
    let mut xml = Xml::default();
    if region == "us-east-1" {
        xml.with("LocationConstraint", NAMESPACE, |_| ());
    } else {
        xml.with_text("LocationConstraint", NAMESPACE, region);
    }
    document(200, xml)
}

fn document(status: u16, xml: Xml) -> Reply {
    let text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}", xml.finish());
    Reply::new(status, "application/xml", text)
}

impl Target<'_> {
    fn no_key(&self) -> ServiceError {
        let is_head = self.call.method == Method::HEAD;
        let text = if is_head { "Not Found" } else { "The specified key does not exist." };
        ServiceError::new("NoSuchKey", 404, text)
    }

    /// The content of the body, whatever its encoding.
    fn content(&self) -> Answer<Cow<'_, [u8]>> {
        let kind = self.call.header("x-amz-content-sha256").unwrap_or_default();
        if !kind.starts_with("STREAMING-") {
            return Ok(Cow::from(&self.call.body[..]));
        }
        let announced = self.call.header("x-amz-decoded-content-length");
        let announced = announced.and_then(|length| length.parse().ok());
        chunked::decode(&self.call.body, announced).map(Cow::from)
    }
}
