//! `fixtures/releases/exclusions.json`: what is known not to work, with the reason (RFC 0111).

#![expect(unreachable_pub, reason = "a part of a test")]

use serde::Deserialize;

use super::fixtures::{Release, directory};

/// A stack that cannot be deployed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exclusion {
    /// The name of the stack.
    pub stack: String,
    /// The releases, as their directories are called.
    pub releases: Vec<String>,
    /// What the program says.
    pub says: String,
    /// Why this is right, or has to do.
    pub justification: String,
}

pub fn exclusions() -> Vec<Exclusion> {
    let text = std::fs::read_to_string(directory().join("exclusions.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The stacks that are left out of a release.
pub fn excluded<'a>(exclusions: &'a [Exclusion], release: &Release) -> Vec<&'a str> {
    let own = exclusions.iter().filter(|one| one.releases.contains(&release.name()));
    own.map(|one| one.stack.as_str()).collect()
}
