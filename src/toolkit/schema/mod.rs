//! Whether a JSON Schema still keeps what an older one promised (RFC 0111).
//!
//! In: two schemas. Out: every difference that matters, with the rule that it breaks.

mod walk;

use std::fmt;

use serde_json::Value as Json;

/// What a change of a schema comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Something was removed or renamed.
    Removed,
    /// Something has another type, or its values are more restricted.
    Type,
    /// What could be left out has to be there.
    Required,
    /// Something new has to be there.
    NewRequired,
    /// It says something that this program does not understand.
    Unknown,
    /// More is possible than before: no rule is broken.
    Addition,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Removed => "removed or renamed",
            Self::Type => "type changed",
            Self::Required => "optional made required",
            Self::NewRequired => "new and required",
            Self::Unknown => "not understood",
            Self::Addition => "added",
        })
    }
}

/// A difference between two schemas. What describes a schema to people is none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// Where it is in a document: names with dots, `[]` for the items of a list, `*` for any
    /// name. Empty for the document itself.
    pub at: String,
    /// What it comes to.
    pub rule: Rule,
    /// What was, and what is.
    pub what: String,
}

/// The relation of a schema to an older one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The differences, by place.
    pub differences: Vec<Difference>,
    /// The versions of the documents, which a schema says as the constant of a `version`.
    pub versions: (Option<u64>, Option<u64>),
}

impl Check {
    /// The differences that break a promise: whoever could read or write documents before cannot
    /// any more.
    pub fn broken(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(|one| one.rule != Rule::Addition)
    }

    /// Whether there is a difference, but no new version: any change is a major version, since a
    /// program of the old version does not know what is new.
    pub fn lacks_version(&self) -> bool {
        !self.differences.is_empty() && self.versions.1 <= self.versions.0
    }
}

/// Compares a schema with an older one.
pub fn check_schema(old: &Json, new: &Json) -> Check {
    let mut differences = walk::differences(old, new);
    differences.sort();
    differences.dedup();
    Check { differences, versions: (version(old), version(new)) }
}

/// The version of the documents, wherever they say it; of several the highest.
fn version(schema: &Json) -> Option<u64> {
    let below = match schema {
        Json::Object(members) => members.values().filter_map(version).max(),
        Json::Array(items) => items.iter().filter_map(version).max(),
        _ => None,
    };
    below.max(schema.pointer("/properties/version/const").and_then(Json::as_u64))
}

#[cfg(test)]
mod tests;
