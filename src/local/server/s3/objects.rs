//! Objects.

use std::fmt::Write as _;

use md5::{Digest, Md5};

use super::Target;
use crate::local::clock::iso8601;
use crate::local::error::{Answer, ServiceError};
use crate::local::server::protocol::Reply;

/// The entity tag of an object: the MD5 of its content, in quotes.
pub(super) fn etag(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in Md5::digest(bytes) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text + "\""
}

/// `HeadObject` and `GetObject`. The server sends no body for the former.
pub(super) fn get(target: &Target<'_>) -> Answer<Reply> {
    let found = target.cloud.object(&target.bucket, &target.key)?;
    let Some((bytes, modified_ms)) = found else { return Err(target.no_key()) };
    let reply = Reply::empty(200)
        .with("etag", etag(&bytes))
        .with("last-modified", http_date(modified_ms))
        .with("accept-ranges", "bytes")
        .with("content-type", "binary/octet-stream");
    let Some(wanted) = target.call.header("range") else {
        let length = bytes.len().to_string();
        return Ok(Reply { body: bytes, ..reply }.with("content-length", length));
    };
    let (start, end) = range(wanted, bytes.len()).ok_or_else(|| {
        ServiceError::new("InvalidRange", 416, "The requested range is not satisfiable")
    })?;
    let place = format!("bytes {start}-{}/{}", end - 1, bytes.len());
    let reply = Reply { status: 206, body: bytes[start..end].to_vec(), ..reply };
    Ok(reply.with("content-range", place).with("content-length", (end - start).to_string()))
}

/// Start and end of `bytes=1-2`, `bytes=1-` or `bytes=-2`.
fn range(text: &str, length: usize) -> Option<(usize, usize)> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let (start, end) = match (first, last) {
        ("", count) => (length.saturating_sub(count.parse().ok()?), length),
        (first, "") => (first.parse().ok()?, length),
        (first, last) => {
            (first.parse().ok()?, last.parse::<usize>().ok()?.saturating_add(1).min(length))
        }
    };
    (start < end).then_some((start, end))
}

/// `PutObject`, with its conditions (S3, "Conditional writes").
pub(super) fn put(target: &Target<'_>) -> Answer<Reply> {
    let content = target.content()?;
    let (only_new, only_this) =
        (target.call.header("if-none-match"), target.call.header("if-match"));
    if only_new.is_some_and(|tag| tag != "*") {
        return Err(ServiceError::new(
            "NotImplemented",
            501,
            "A header you provided implies functionality that is not implemented",
        ));
    }
    let (cloud, bucket, key) = (target.cloud, &target.bucket, &target.key);
    // Nobody else writes between the look and the act.
    let held = (only_new.is_some() || only_this.is_some()).then(|| cloud.hold_bucket(bucket));
    let _held = held.transpose()?;
    if only_new.is_some() && cloud.object_size(bucket, key)?.is_some() {
        return Err(failed_condition());
    }
    if let Some(tag) = only_this {
        let Some(now) = cloud.get_object(bucket, key)? else { return Err(target.no_key()) };
        if etag(&now).trim_matches('"') != tag.trim_matches('"') {
            return Err(failed_condition());
        }
    }
    cloud.put_object(bucket, key, &content)?;
    Ok(Reply::empty(200).with("etag", etag(&content)))
}

fn failed_condition() -> ServiceError {
    let text = "At least one of the pre-conditions you specified did not hold";
    ServiceError::new("PreconditionFailed", 412, text)
}

/// `DeleteObject`.
pub(super) fn delete(target: &Target<'_>) -> Answer<Reply> {
    target.cloud.delete_object(&target.bucket, &target.key)?;
    Ok(Reply::empty(204))
}

/// A time as HTTP writes it: `Sat, 21 Nov 2026 08:47:39 GMT`.
pub(super) fn http_date(ms: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let text = iso8601(ms);
    // The first of January 1970 was a Thursday.
    let weekday = usize::try_from(ms / 86_400_000 % 7).unwrap_or_default();
    let month: usize = text[5..7].parse().unwrap_or(1);
    let (year, day, time) = (&text[..4], &text[8..10], &text[11..19]);
    format!("{}, {day} {} {year} {time} GMT", DAYS[weekday], MONTHS[(month - 1) % 12])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_understood() {
        assert_eq!(range("bytes=1-2", 5), Some((1, 3)));
        assert_eq!(range("bytes=3-", 5), Some((3, 5)));
        assert_eq!(range("bytes=-2", 5), Some((3, 5)));
        assert_eq!(range("bytes=0-99", 5), Some((0, 5)));
        for wrong in ["bytes=5-", "bytes=3-1", "lines=1-2", "bytes=x-"] {
            assert_eq!(range(wrong, 5), None, "{wrong}");
        }
    }

    #[test]
    fn times_are_written_as_http_writes_them() {
        assert_eq!(http_date(1_795_250_859_123), "Sat, 21 Nov 2026 08:47:39 GMT");
        assert_eq!(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
    }

    #[test]
    fn entity_tags_are_the_md5_of_the_content() {
        assert_eq!(etag(b""), "\"d41d8cd98f00b204e9800998ecf8427e\"");
    }
}
