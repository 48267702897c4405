//! The byte format of digests, and the digest type.
//!
//! A body becomes a byte stream in which no two different bodies are equal: every value starts
//! with a tag, every text with its length as four little-endian bytes, every list and object
//! with the number of its members; object keys come sorted by their bytes. In the place of a
//! reference stands what kind of reference it is and, at the end, what it points at.

use sha2::{Digest as _, Sha256};

/// A SHA-256 value.
pub(super) type Digest = [u8; 32];

/// What starts a piece of the stream.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Tag {
    Null = 0,
    False,
    True,
    Number,
    Text,
    Array,
    Object,
    Set,
    Ref,
    GetAtt,
    Sub,
    If,
    FindInMap,
    Import,
    StackOutput,
    Pseudo,
    Parameter,
    Unresolved,
    ServiceToken,
    Condition,
    Attribute,
    Name,
}

/// The stream of one body.
#[derive(Default)]
pub(super) struct Stream {
    /// The bytes so far.
    pub(super) bytes: Vec<u8>,
    /// Every character outside ASCII counts as `?`: so CloudFormation returns templates, and what
    /// it returned can only be compared with the same form of the other side.
    pub(super) folds: bool,
}

impl Stream {
    pub(super) fn tag(&mut self, tag: Tag) {
        self.bytes.push(tag as u8);
    }

    /// A count. Templates are far smaller than four gigabytes: the services that take them
    /// allow a million bytes.
    pub(super) fn count(&mut self, count: usize) {
        self.bytes.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
    }

    /// A text.
    pub(super) fn text(&mut self, text: &str) {
        if !self.folds || text.is_ascii() {
            self.count(text.len());
            self.bytes.extend_from_slice(text.as_bytes());
        } else {
            self.count(text.chars().count());
            self.bytes.extend(text.chars().map(|c| if c.is_ascii() { c as u8 } else { b'?' }));
        }
    }

    pub(super) fn digest(&self) -> Digest {
        Sha256::digest(&self.bytes).into()
    }
}

/// Returns a digest that equals no hash: the identity of the pair with this number.
pub(super) fn identity(pair: usize) -> Digest {
    let mut digest = [0xff; 32];
    digest[24..].copy_from_slice(&(pair as u64).to_le_bytes());
    digest
}

/// Combines the hash of a body with the digests of what it points at: in the order of the
/// references first, then `DependsOn` and the contents of a nested stack without order.
pub(super) fn combine(
    skeleton: &Digest,
    references: impl Iterator<Item = Digest>,
    depends_on: &mut [Digest],
    children: &mut [Digest],
) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(skeleton);
    for digest in references {
        hasher.update(digest);
    }
    for set in [depends_on, children] {
        hasher.update((set.len() as u64).to_le_bytes());
        set.sort_unstable();
        for digest in set {
            hasher.update(digest);
        }
    }
    hasher.finalize().into()
}
