//! Any text as the name of a file.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Longer names are cut and end in a hash; file systems take 255 bytes.
const LONGEST: usize = 180;

/// Returns a file name for a text: different for different texts, readable, without separators.
pub(crate) fn file_name(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            b'.' if !name.is_empty() => name.push('.'),
            // Writing to a string cannot fail.
            _ => drop(write!(name, "%{byte:02X}")),
        }
    }
    if name.len() > LONGEST {
        let hash = Sha256::digest(text.as_bytes());
        name.truncate(LONGEST - 17);
        name.push('~');
        for byte in &hash[..8] {
            // Writing to a string cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_their_directory() {
        assert_eq!(file_name("my-bucket"), "my-bucket");
        assert_eq!(file_name("../x"), "%2E.%2Fx");
        assert_eq!(file_name("arn:aws:sns"), "arn%3Aaws%3Asns");
        assert!(file_name(&"é".repeat(400)).len() <= LONGEST);
        assert_ne!(file_name(&"a".repeat(400)), file_name(&"a".repeat(401)));
    }
}
