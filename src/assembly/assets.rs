//! Assets: what has to be published before stacks can be deployed.
//!
//! Asset manifests came with the modern synthesizer. Before, assets were metadata of stacks, and
//! their places parameters of templates (cloud assembly schema, `AssetManifest` and
//! `FileAssetMetadataEntry`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value as Json;

use super::confine::{Mention, Root};
use super::error::AssemblyError;
use super::load::LoadOptions;
use super::manifest::read_json;
use super::walk::{ASSETS, STACK, SubAssembly, read_manifests};

/// A file or directory that is uploaded to a bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileAsset {
    /// The key in the asset manifest.
    pub id: String,
    /// What is uploaded; `None` if a command makes it.
    pub source: Option<PathBuf>,
    /// The command that makes the file and says its path on the standard output, with its
    /// arguments; empty if there is none.
    pub command: Vec<String>,
    /// Whether it is uploaded as a zip archive.
    pub is_zip: bool,
    /// How else it is to be packed, in words that are not known here: it cannot be published.
    pub unknown_packaging: Option<String>,
    /// Where it is uploaded to. Names may hold the placeholders `${AWS::Partition}`,
    /// `${AWS::AccountId}` and `${AWS::Region}`.
    pub destinations: Vec<FileDestination>,
    /// The hierarchical IDs of the stacks that need it.
    pub stacks: Vec<String>,
    /// What the bootstrap stack has to offer.
    pub bootstrap: BootstrapNeed,
}

/// Which bootstrap stack an asset needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BootstrapNeed {
    /// The least version; `None`: any, or none at all.
    pub version: Option<u64>,
    /// The SSM parameter that holds the version.
    pub parameter: Option<String>,
}

/// A place for a file asset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileDestination {
    /// The bucket.
    pub bucket_name: String,
    /// The key of the object.
    pub object_key: String,
    /// The region of the bucket, if it is not that of the stack.
    pub region: Option<String>,
    /// The role to upload with.
    pub assume_role_arn: Option<String>,
    /// The external id that this role wants.
    pub assume_role_external_id: Option<String>,
    /// Further parameters of its session (`assumeRoleAdditionalOptions`).
    pub assume_role_options: BTreeMap<String, Json>,
}

/// An asset manifest. Images are read by those who want them.
#[derive(Deserialize)]
pub(super) struct AssetManifest {
    #[serde(default)]
    pub(super) files: BTreeMap<String, File>,
    #[serde(default, rename = "dockerImages")]
    pub(super) images: BTreeMap<String, Json>,
}

/// A file asset in its manifest.
#[derive(Deserialize)]
pub(super) struct File {
    #[serde(default)]
    pub(super) source: Source,
    #[serde(default)]
    pub(super) destinations: BTreeMap<String, Destination>,
}

/// The source of a file asset.
#[derive(Default, Deserialize)]
pub(super) struct Source {
    #[serde(default)]
    pub(super) path: Option<String>,
    #[serde(default)]
    packaging: Option<String>,
    #[serde(default)]
    executable: Option<Vec<String>>,
}

/// A destination of a file asset.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Destination {
    #[serde(default)]
    bucket_name: Option<String>,
    #[serde(default)]
    pub(super) object_key: Option<String>,
    #[serde(default)]
    region: Option<String>,
    #[serde(default)]
    assume_role_arn: Option<String>,
    #[serde(default)]
    assume_role_external_id: Option<String>,
    #[serde(default)]
    assume_role_additional_options: Option<BTreeMap<String, Json>>,
}

/// Properties of `cdk:asset-manifest`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AssetArtifact {
    file: Option<String>,
    requires_bootstrap_stack_version: Option<u64>,
    bootstrap_stack_version_ssm_parameter: Option<String>,
}

/// Reads the file assets of an assembly and of those nested in it, in the order of their ids;
/// one that several manifests list appears several times.
///
/// # Errors
/// When a manifest is missing or malformed, or when a path leaves the assembly or leads nowhere.
pub fn file_assets(
    directory: &Path,
    options: &LoadOptions,
) -> Result<Vec<FileAsset>, AssemblyError> {
    let mut found = Vec::new();
    each_manifest(directory, options, |root, assembly, manifest| {
        for (id, asset) in std::mem::take(&mut manifest.content.files) {
            found.push(read(root, assembly, manifest, id, asset)?);
        }
        Ok(())
    })?;
    found.sort_by(|a: &FileAsset, b| a.id.cmp(&b.id));
    Ok(found)
}

/// An asset manifest, where it stands, and what its artifact says of it.
pub(super) struct Found {
    pub(super) file: PathBuf,
    pub(super) content: AssetManifest,
    /// The stacks that need it.
    pub(super) stacks: Vec<String>,
    pub(super) bootstrap: BootstrapNeed,
}

/// Reads every asset manifest.
pub(super) fn each_manifest(
    directory: &Path,
    options: &LoadOptions,
    mut take: impl FnMut(&Root, &SubAssembly, &mut Found) -> Result<(), AssemblyError>,
) -> Result<(), AssemblyError> {
    let root = Root::new(directory)?;
    let manifests = read_manifests(&root, options)?;
    for assembly in &manifests.assemblies {
        for (id, artifact) in assembly.of_kind(ASSETS) {
            let properties: AssetArtifact =
                artifact.properties().map_err(|error| assembly.invalid(id, error))?;
            let Some(name) = properties.file else {
                return Err(assembly.invalid(id, "it names no `file`"));
            };
            let file = assembly.resolve(&root, id, "file", &name)?;
            let content: AssetManifest = read_json(&file.path)?;
            let bootstrap = BootstrapNeed {
                version: properties.requires_bootstrap_stack_version,
                parameter: properties.bootstrap_stack_version_ssm_parameter,
            };
            let stacks = stacks_with(assembly, id);
            take(&root, assembly, &mut Found { file: file.path, content, stacks, bootstrap })?;
        }
    }
    Ok(())
}

/// The stacks of an assembly that need an artifact.
fn stacks_with(assembly: &SubAssembly, artifact: &str) -> Vec<String> {
    let stacks = assembly.of_kind(STACK).filter(|(_, stack)| {
        stack.dependencies.iter().flatten().any(|dependency| dependency == artifact)
    });
    stacks.map(|(id, stack)| stack.display_name.clone().unwrap_or_else(|| id.clone())).collect()
}

fn read(
    root: &Root,
    assembly: &SubAssembly,
    manifest: &Found,
    id: String,
    asset: File,
) -> Result<FileAsset, AssemblyError> {
    let invalid = |what: &str| AssemblyError::InvalidManifest {
        file: manifest.file.clone(),
        message: format!("asset `{id}`: a destination without `{what}`"),
    };
    let destinations = asset.destinations.into_values().map(|to| {
        Ok(FileDestination {
            bucket_name: to.bucket_name.ok_or_else(|| invalid("bucketName"))?,
            object_key: to.object_key.ok_or_else(|| invalid("objectKey"))?,
            region: to.region,
            assume_role_arn: to.assume_role_arn,
            assume_role_external_id: to.assume_role_external_id,
            assume_role_options: to.assume_role_additional_options.unwrap_or_default(),
        })
    });
    let destinations = destinations.collect::<Result<_, _>>()?;
    let what = format!("`path` of asset `{id}`");
    let mention = Mention { file: &manifest.file, what: &what };
    let source = asset.source.path.as_deref();
    let source = source.map(|path| root.resolve(&assembly.directory.path, path, mention));
    let packaging = asset.source.packaging;
    Ok(FileAsset {
        source: source.transpose()?.map(|found| found.path),
        is_zip: packaging.as_deref() == Some("zip"),
        unknown_packaging: packaging.filter(|how| !["file", "zip"].contains(&how.as_str())),
        command: asset.source.executable.unwrap_or_default(),
        destinations,
        stacks: manifest.stacks.clone(),
        bootstrap: manifest.bootstrap.clone(),
        id,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn assembly(asset: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        write(
            "manifest.json",
            r#"{"version":"36.0.0","artifacts":{"A.assets":{"type":"cdk:asset-manifest",
                "properties":{"file":"A.assets.json"}}}}"#,
        );
        write("A.assets.json", &format!(r#"{{"version":"36.0.0","files":{{"abc":{asset}}}}}"#));
        write("nested.json", "{}");
        directory
    }

    fn read(asset: &str) -> Result<Vec<FileAsset>, AssemblyError> {
        file_assets(assembly(asset).path(), &LoadOptions::default())
    }

    #[test]
    fn a_file_asset_says_what_is_uploaded_where() {
        let found = read(
            r#"{"source":{"path":"nested.json","packaging":"file"},"destinations":{"current":
                {"bucketName":"cdk-${AWS::AccountId}","objectKey":"abc.json"}}}"#,
        );
        let found = found.unwrap();
        assert!(found[0].source.as_ref().unwrap().ends_with("nested.json"));
        assert!(!found[0].is_zip);
        assert_eq!(found[0].destinations[0].bucket_name, "cdk-${AWS::AccountId}");
    }

    #[test]
    fn a_packaging_that_is_not_known_is_told_and_not_guessed() {
        let of = |packaging: &str| {
            let source = format!(r#"{{"source":{{"path":"nested.json"{packaging}}}}}"#);
            let asset = read(&source).unwrap().remove(0);
            (asset.is_zip, asset.unknown_packaging)
        };
        assert_eq!(of(""), (false, None));
        assert_eq!(of(r#","packaging":"zip""#), (true, None));
        assert_eq!(of(r#","packaging":"crate""#), (false, Some("crate".to_owned())));
    }

    #[test]
    fn a_file_that_a_command_makes_has_no_path() {
        let found = read(r#"{"source":{"executable":["make","it"]}}"#).unwrap();
        assert_eq!(found[0].command, ["make", "it"]);
        assert_eq!(found[0].source, None);
    }

    #[test]
    fn an_asset_outside_of_the_assembly_is_refused() {
        let error = read(r#"{"source":{"path":"../../etc/passwd"}}"#).unwrap_err();
        assert!(error.to_string().contains("asset `abc`"), "{error}");
    }

    #[test]
    fn a_destination_without_a_bucket_is_an_error_that_names_the_asset() {
        let error = read(r#"{"destinations":{"current":{"objectKey":"k"}}}"#).unwrap_err();
        assert!(error.to_string().contains("`abc`"), "{error}");
    }
}
