//! `manifest.json`: its shape (cloud assembly schema 0.36 to 55) and the rule for its version.
//!
//! Unknown properties are tolerated everywhere: real manifests carry some that are in no schema.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::confine;
use super::error::AssemblyError;
use super::metadata::Metadata;

/// The highest major version of the cloud assembly schema that is read. Only the major version
/// counts, and there is no lowest one (the rule of the CDK's own loader).
pub const MAX_SCHEMA: u64 = 55;

/// A manifest.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    /// The version of the schema.
    #[serde(default)]
    pub version: Option<String>,
    /// Since schema 39: the version of the CDK CLI that first reads it.
    #[serde(default)]
    pub minimum_cli_version: Option<String>,
    /// The artifacts by id. Sorted, so that nothing depends on the order of the text.
    #[serde(default)]
    pub artifacts: Option<BTreeMap<String, Artifact>>,
    /// Context values that the app lacked.
    #[serde(default)]
    pub missing: Option<Vec<MissingContext>>,
}

/// A context value that the app lacked.
#[derive(Debug, Deserialize)]
pub(super) struct MissingContext {
    /// Its key.
    pub key: String,
    /// Who knows the value.
    #[serde(default)]
    pub provider: String,
    /// What the provider has to be told.
    #[serde(default)]
    pub props: BTreeMap<String, Json>,
}

/// An artifact of whatever type.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Artifact {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// For stacks: `aws://account/region`.
    #[serde(default)]
    pub environment: Option<String>,
    /// What constructs said.
    #[serde(default)]
    pub metadata: Option<Metadata>,
    /// Since schema 52: a file with more of it.
    #[serde(default)]
    pub additional_metadata_file: Option<String>,
    /// Ids of other artifacts of this manifest.
    #[serde(default)]
    pub dependencies: Option<Vec<String>>,
    /// Since schema 12: the path of the construct.
    #[serde(default)]
    pub display_name: Option<String>,
    /// Depend on the type.
    #[serde(default)]
    properties: Option<Json>,
}

impl Artifact {
    /// Reads the properties in the shape of the type.
    ///
    /// # Errors
    /// When they have another shape; what is wrong, without the name of the artifact.
    pub(super) fn properties<T: DeserializeOwned + Default>(&self) -> Result<T, String> {
        match &self.properties {
            None => Ok(T::default()),
            Some(properties) => T::deserialize(properties).map_err(|error| error.to_string()),
        }
    }
}

/// Properties of `aws:cloudformation:stack`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StackArtifact {
    pub template_file: Option<String>,
    pub stack_name: Option<String>,
    pub parameters: Option<BTreeMap<String, String>>,
    pub tags: Option<BTreeMap<String, String>>,
    pub termination_protection: Option<bool>,
    pub assume_role_arn: Option<String>,
    pub assume_role_external_id: Option<String>,
    pub assume_role_additional_options: Option<BTreeMap<String, Json>>,
    pub cloud_formation_execution_role_arn: Option<String>,
    pub stack_template_asset_object_url: Option<String>,
    pub requires_bootstrap_stack_version: Option<u64>,
    pub bootstrap_stack_version_ssm_parameter: Option<String>,
    pub notification_arns: Option<Vec<String>>,
    pub lookup_role: Option<Role>,
}

/// A role with the bootstrap version that it needs.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Role {
    pub arn: String,
    pub assume_role_external_id: Option<String>,
    pub assume_role_additional_options: Option<BTreeMap<String, Json>>,
    pub requires_bootstrap_stack_version: Option<u64>,
    pub bootstrap_stack_version_ssm_parameter: Option<String>,
}

/// Properties of `cdk:cloud-assembly`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AssemblyArtifact {
    pub directory_name: Option<String>,
    pub display_name: Option<String>,
}

/// Properties of `cdk:tree` and `cdk:asset-manifest`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FileArtifact {
    pub file: Option<String>,
}

/// Reads a file as JSON of a certain shape.
///
/// # Errors
/// When the file cannot be read, is not JSON, or has another shape.
pub(super) fn read_json<T: DeserializeOwned>(file: &Path) -> Result<T, AssemblyError> {
    let bytes = confine::read(file)?;
    // `serde` would take a list for a struct whose fields are given by position.
    if bytes.trim_ascii_start().starts_with(b"[") {
        let message = "it must be an object, it is a list".to_owned();
        return Err(AssemblyError::InvalidManifest { file: file.to_owned(), message });
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        let (file, message) = (file.to_owned(), error.to_string());
        if error.is_data() {
            AssemblyError::InvalidManifest { file, message }
        } else {
            AssemblyError::NotJson { file, message, contents: beginning(&bytes) }
        }
    })
}

/// How many characters of a malformed file an error shows.
const SHOWN: usize = 100;

fn beginning(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN * 4)]);
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < bytes.len() {
        shown.push('…');
    }
    shown
}

/// Checks the version of a manifest and returns its major part.
///
/// # Errors
/// When it is not a version, or of a schema that is not known yet.
pub(super) fn check_version(manifest: &Manifest, file: &Path) -> Result<u64, AssemblyError> {
    let version = manifest.version.as_deref().unwrap_or_default();
    let major = semver_major(version).ok_or_else(|| AssemblyError::InvalidVersion {
        file: file.to_owned(),
        version: version.to_owned(),
    })?;
    if major > MAX_SCHEMA {
        return Err(AssemblyError::SchemaTooNew {
            supported: MAX_SCHEMA,
            found: version.to_owned(),
            minimum_cli_version: manifest.minimum_cli_version.clone(),
        });
    }
    Ok(major)
}

/// Returns the major part of a semantic version (`1.2.3-pre+build`).
pub(super) fn semver_major(version: &str) -> Option<u64> {
    let version = version.trim();
    let core = version.split(['-', '+']).next()?;
    let core = core.strip_prefix('v').unwrap_or(core);
    let mut parts = core.split('.').map(|part| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        // A number too long for 64 bits is surely too new.
        is_number.then(|| part.parse().unwrap_or(u64::MAX))
    });
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(Some(major)), Some(Some(_)), Some(Some(_)), None) => Some(major),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<u64, String> {
        let manifest: Manifest = serde_json::from_str(text).unwrap();
        check_version(&manifest, Path::new("manifest.json")).map_err(|error| error.to_string())
    }

    #[test]
    fn only_the_major_version_counts_and_there_is_no_lowest_one() {
        for (version, major) in [("0.0.0", 0), ("0.36.0", 0), ("55.0.0", 55), ("55.99.7", 55)] {
            assert_eq!(check(&format!(r#"{{"version":"{version}"}}"#)), Ok(major));
        }
    }

    #[test]
    fn a_newer_schema_is_refused_in_the_words_that_people_search_for() {
        assert_eq!(
            check(r#"{"version":"56.0.0"}"#).unwrap_err(),
            "Cloud assembly schema version mismatch: Maximum schema version supported is \
             55.x.x, but found 56.0.0"
        );
        assert_eq!(
            check(r#"{"version":"99999.0.0","minimumCliVersion":"2.2000.0"}"#).unwrap_err(),
            "Cloud assembly schema version mismatch: Maximum schema version supported is \
             55.x.x, but found 99999.0.0. You need a version of cdkr as new as CDK CLI version \
             2.2000.0 to read this manifest."
        );
        assert!(check(r#"{"version":"99999999999999999999.0.0"}"#).is_err());
    }

    #[test]
    fn a_version_that_is_none_is_refused_with_its_text() {
        for version in ["version", "", "1", "1.2", "1.2.3.4", "1.x.0"] {
            let error = check(&format!(r#"{{"version":"{version}"}}"#)).unwrap_err();
            assert!(error.starts_with(&format!("Invalid semver string: \"{version}\"")), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_not_json_is_shown_from_its_beginning() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("manifest.json");
        std::fs::write(&file, format!("<html>{}", "é".repeat(100_000))).unwrap();
        let error = read_json::<Manifest>(&file).unwrap_err().to_string();
        assert!(error.contains("while parsing \"<html>é"), "{error}");
        assert!(error.contains("manifest.json"), "{error}");
        assert!(error.len() < 600, "{error}");
    }
}
