//! Bodies of the content encoding `aws-chunked`: chunks with a length each, then trailers.

use crate::local::error::{Answer, ServiceError};

/// Takes the content out of a chunked body. Signatures of chunks and checksums in trailers are
/// passed over.
pub(super) fn decode(body: &[u8], announced: Option<usize>) -> Answer<Vec<u8>> {
    let incomplete =
        || ServiceError::new("IncompleteBody", 400, "The request body terminated unexpectedly");
    let mut content = Vec::with_capacity(announced.unwrap_or_default().min(body.len()));
    let mut rest = body;
    loop {
        let end = rest.windows(2).position(|pair| pair == b"\r\n").ok_or_else(incomplete)?;
        let line = std::str::from_utf8(&rest[..end]).map_err(|_| incomplete())?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(digits, 16).map_err(|_| incomplete())?;
        rest = &rest[end + 2..];
        if length == 0 {
            break;
        }
        let chunk = rest.get(..length).ok_or_else(incomplete)?;
        content.extend_from_slice(chunk);
        rest = rest[length..].strip_prefix(b"\r\n").ok_or_else(incomplete)?;
    }
    if announced.is_some_and(|announced| announced != content.len()) {
        return Err(incomplete());
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_put_together_and_trailers_passed_over() {
        let body = b"5;chunk-signature=abc\r\nhello\r\nA\r\n, \r\nworld!\r\n0\r\n\
                     x-amz-checksum-crc32:AAAAAA==\r\n\r\n";
        assert_eq!(decode(body, Some(15)).unwrap(), b"hello, \r\nworld!");
        assert_eq!(decode(b"0\r\n\r\n", Some(0)).unwrap(), b"");
    }

    #[test]
    fn a_body_that_ends_early_is_refused() {
        for body in [&b"5\r\nhell"[..], b"5\r\nhello", b"zz\r\n", b"", b"5\r\nhello\r\n"] {
            assert_eq!(decode(body, None).unwrap_err().code, "IncompleteBody");
        }
        assert!(decode(b"1\r\nx\r\n0\r\n\r\n", Some(2)).is_err());
    }
}
