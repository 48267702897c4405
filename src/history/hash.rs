//! The name of an event: the hash of what it says.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// The SHA-256 of an event, written in 64 lower-case hexadecimal digits. It covers the hashes of
/// the parents, and so everything that was before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventHash([u8; 32]);

/// The text is not the hash of an event.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not the hash of an event: that has 64 hexadecimal digits in lower case")]
pub struct HashError(String);

impl EventHash {
    /// Returns the hash of the canonical bytes of an event.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the first twelve digits, by which people know it.
    pub fn short(&self) -> String {
        let mut text = self.to_string();
        text.truncate(12);
        text
    }
}

impl fmt::Display for EventHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for EventHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short())
    }
}

impl FromStr for EventHash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let error = || HashError(text.to_owned());
        if text.len() != 64 {
            return Err(error());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            match (digit(pair[0]), digit(pair[1])) {
                (Some(high), Some(low)) => *byte = high * 16 + low,
                _ => return Err(error()),
            }
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_reads_back_as_it_is_written() {
        let hash = EventHash::of(b"event");
        assert_eq!(hash.to_string().parse::<EventHash>().unwrap(), hash);
        assert!(hash.to_string().starts_with(&hash.short()));
    }

    #[test]
    fn a_malformed_hash_is_refused_with_its_text() {
        let upper = EventHash::of(b"event").to_string().to_uppercase();
        for text in ["", "abc", upper.as_str(), &"g".repeat(64), &"é".repeat(32)] {
            let error = text.parse::<EventHash>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{text}`")));
        }
    }
}
