//! Objects that come in parts: what the command line of AWS does above eight megabytes.

use md5::{Digest, Md5};

use super::objects::etag;
use super::{NAMESPACE, Target, document};
use crate::local::error::{Answer, ServiceError};
use crate::local::server::protocol::Reply;
use crate::local::server::xml::Xml;

const MOST_PARTS: usize = 10_000;

/// `CreateMultipartUpload`.
pub(super) fn create(target: &Target<'_>) -> Answer<Reply> {
    let id = target.cloud.ambient.uuid();
    target.cloud.put_part(&target.bucket, &id, 0, target.key.as_bytes())?;
    let mut xml = Xml::default();
    xml.with("InitiateMultipartUploadResult", NAMESPACE, |xml| {
        xml.text("Bucket", &target.bucket);
        xml.text("Key", &target.key);
        xml.text("UploadId", &id);
    });
    Ok(document(200, xml))
}

/// The upload that a request names, if it is one of this key.
fn upload(target: &Target<'_>) -> Answer<String> {
    let id = target.call.parameter("uploadId").unwrap_or_default();
    let key = target.cloud.get_part(&target.bucket, &id, 0)?;
    if key.as_deref() == Some(target.key.as_bytes()) {
        return Ok(id);
    }
    Err(ServiceError::new(
        "NoSuchUpload",
        404,
        "The specified upload does not exist. The upload ID may be invalid, or the upload may \
         have been aborted or completed.",
    ))
}

/// `UploadPart`.
pub(super) fn part(target: &Target<'_>) -> Answer<Reply> {
    let id = upload(target)?;
    let number = target.call.parameter("partNumber").and_then(|number| number.parse().ok());
    let number = number.filter(|number| (1..=MOST_PARTS).contains(number)).ok_or_else(|| {
        let message = "Part number must be an integer between 1 and 10000, inclusive";
        ServiceError::new("InvalidArgument", 400, message)
    })?;
    let content = target.content()?;
    target.cloud.put_part(&target.bucket, &id, number, &content)?;
    Ok(Reply::empty(200).with("etag", etag(&content)))
}

/// The numbers in the body of a completion, in its order.
fn numbers(body: &[u8]) -> Vec<usize> {
    let text = String::from_utf8_lossy(body);
    text.split("<PartNumber>")
        .skip(1)
        .filter_map(|rest| rest.split('<').next()?.trim().parse().ok())
        .collect()
}

/// `CompleteMultipartUpload`.
pub(super) fn complete(target: &Target<'_>) -> Answer<Reply> {
    let id = upload(target)?;
    let numbers = numbers(&target.call.body);
    if !numbers.is_sorted_by(|a, b| a < b) || numbers.is_empty() {
        let message = "The list of parts was not in ascending order.";
        return Err(ServiceError::new("InvalidPartOrder", 400, message));
    }
    let (mut content, mut digests) = (Vec::new(), Vec::new());
    for number in &numbers {
        let bytes = target.cloud.get_part(&target.bucket, &id, *number)?.ok_or_else(|| {
            let message = "One or more of the specified parts could not be found.";
            ServiceError::new("InvalidPart", 400, message)
        })?;
        digests.extend_from_slice(&Md5::digest(&bytes));
        content.extend(bytes);
    }
    target.cloud.put_object(&target.bucket, &target.key, &content)?;
    target.cloud.delete_parts(&target.bucket, &id)?;
    let tag = etag(&digests);
    let mut xml = Xml::default();
    xml.with("CompleteMultipartUploadResult", NAMESPACE, |xml| {
        xml.text("Location", &format!("/{}/{}", target.bucket, target.key));
        xml.text("Bucket", &target.bucket);
        xml.text("Key", &target.key);
        xml.text("ETag", &format!("\"{}-{}\"", tag.trim_matches('"'), numbers.len()));
    });
    Ok(document(200, xml))
}

/// `AbortMultipartUpload`.
pub(super) fn abort(target: &Target<'_>) -> Answer<Reply> {
    let id = upload(target)?;
    target.cloud.delete_parts(&target.bucket, &id)?;
    Ok(Reply::empty(204))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_completion_are_read() {
        let body = b"<C><Part><ETag>x</ETag><PartNumber>1</PartNumber></Part>\
                     <Part><PartNumber>2</PartNumber></Part></C>";
        assert_eq!(numbers(body), [1, 2]);
    }
}
