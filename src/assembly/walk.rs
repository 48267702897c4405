//! The manifests of an assembly and of all assemblies nested in it, checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::confine::{Confined, Entered, Mention, Root};
use super::error::AssemblyError;
use super::load::LoadOptions;
use super::manifest::{
    Artifact, AssemblyArtifact, FileArtifact, MAX_SCHEMA, Manifest, MissingContext, check_version,
    read_json, semver_major,
};
use super::stack::Missing;

/// How deep assemblies may be nested. Stages in stages are rare; this is a bound, not a rule.
const MAX_DEPTH: usize = 32;

/// An assembly with its manifest: the outermost one or one of those in it.
#[derive(Debug)]
pub(super) struct SubAssembly {
    /// Where it is.
    pub directory: Confined,
    /// Its manifest.
    pub manifest_file: PathBuf,
    /// What is in it.
    pub artifacts: BTreeMap<String, Artifact>,
    /// The position of the assembly that contains it, and the artifact that stands for it there.
    pub parent: Option<(usize, String)>,
    /// The path of the stage's construct.
    pub stage: Option<String>,
    depth: usize,
}

/// All manifests of an assembly.
#[derive(Debug, Default)]
pub(super) struct Manifests {
    /// The outermost assembly, then the others level by level.
    pub assemblies: Vec<SubAssembly>,
    /// The version of the outermost manifest.
    pub version: String,
    /// Its major part.
    pub schema_major: u64,
    /// Missing context values, each key once.
    pub missing: Vec<Missing>,
    /// What was passed over.
    pub warnings: Vec<String>,
}

/// The type of stacks.
pub(super) const STACK: &str = "aws:cloudformation:stack";
/// The type of nested assemblies.
pub(super) const ASSEMBLY: &str = "cdk:cloud-assembly";
/// The type of construct trees.
pub(super) const TREE: &str = "cdk:tree";
/// The type of asset manifests.
pub(super) const ASSETS: &str = "cdk:asset-manifest";

/// Reads the manifest of an assembly and those of all assemblies in it.
///
/// # Errors
/// When one is missing or malformed, or when assemblies contain themselves.
pub(super) fn read_manifests(
    root: &Root,
    options: &LoadOptions,
) -> Result<Manifests, AssemblyError> {
    let mut found = Manifests::default();
    let mut entered = Entered::default();
    let mut unknown = BTreeSet::new();
    let top = root.top();
    entered.enter(&top);
    found.open(root, top, None, None, options)?;
    let mut at = 0;
    while at < found.assemblies.len() {
        for artifact in found.assemblies[at].artifacts.values() {
            if !is_known(&artifact.kind) {
                unknown.insert(artifact.kind.clone());
            }
        }
        for (id, directory, stage) in nested(root, &found.assemblies[at])? {
            if !entered.enter(&directory) {
                return Err(AssemblyError::RepeatedAssembly {
                    manifest: found.assemblies[at].manifest_file.clone(),
                    artifact: id,
                    path: directory.path.display().to_string(),
                });
            }
            found.open(root, directory, Some((at, id)), stage, options)?;
        }
        at += 1;
    }
    found.warnings.extend(
        unknown
            .into_iter()
            .map(|kind| format!("artifacts of the unknown type `{kind}` are skipped")),
    );
    Ok(found)
}

fn is_known(kind: &str) -> bool {
    matches!(kind, STACK | ASSEMBLY | TREE | ASSETS | "cdk:feature-flag-report" | "none")
}

impl Manifests {
    /// Reads the manifest of one assembly and adds it.
    fn open(
        &mut self,
        root: &Root,
        directory: Confined,
        parent: Option<(usize, String)>,
        stage: Option<String>,
        options: &LoadOptions,
    ) -> Result<(), AssemblyError> {
        let depth = parent.as_ref().map_or(0, |(at, _)| self.assemblies[*at].depth + 1);
        if depth > MAX_DEPTH {
            let directory = directory.path;
            return Err(AssemblyError::AssembliesTooDeep { limit: MAX_DEPTH, directory });
        }
        let manifest_file = directory.path.join("manifest.json");
        let mention = Mention { file: &directory.path, what: "the manifest" };
        let file = match root.resolve(&directory.path, "manifest.json", mention) {
            Err(AssemblyError::MissingFile { .. }) => {
                return Err(AssemblyError::NoManifest(directory.path));
            }
            other => other?,
        };
        let manifest: Manifest = read_json(&file.path)?;
        let major = if options.ignore_schema_version {
            let version = manifest.version.as_deref().unwrap_or_default();
            let major = semver_major(version).unwrap_or(MAX_SCHEMA);
            // Once: all manifests of an app are of one version.
            if major > MAX_SCHEMA && self.warnings.is_empty() {
                self.warnings.push(format!(
                    "`{}` has schema version {version}, newer than {MAX_SCHEMA}.x.x: what is new \
                     in it is ignored",
                    manifest_file.display()
                ));
            }
            major
        } else {
            check_version(&manifest, &manifest_file)?
        };
        if depth == 0 {
            self.version = manifest.version.unwrap_or_default();
            self.schema_major = major;
        }
        for missing in manifest.missing.unwrap_or_default() {
            if !self.missing.iter().any(|known| known.key == missing.key) {
                let MissingContext { key, provider, props } = missing;
                self.missing.push(Missing { key, provider, props });
            }
        }
        let artifacts = manifest.artifacts.unwrap_or_default();
        check_artifacts(&artifacts, &manifest_file)?;
        self.assemblies.push(SubAssembly {
            directory,
            manifest_file,
            artifacts,
            parent,
            stage,
            depth,
        });
        Ok(())
    }
}

impl SubAssembly {
    /// Returns an error about an artifact of this assembly.
    pub(super) fn invalid(&self, artifact: &str, message: impl Into<String>) -> AssemblyError {
        invalid(&self.manifest_file, artifact, message)
    }

    /// Returns what an artifact names by one of its properties.
    ///
    /// # Errors
    /// When the path leaves the assembly or nothing is there.
    pub(super) fn resolve(
        &self,
        root: &Root,
        artifact: &str,
        property: &str,
        path: &str,
    ) -> Result<Confined, AssemblyError> {
        let what = format!("`{property}` of artifact `{artifact}`");
        let mention = Mention { file: &self.manifest_file, what: &what };
        root.resolve(&self.directory.path, path, mention)
    }

    /// Returns the artifacts of one type with their ids.
    pub(super) fn of_kind<'a>(
        &'a self,
        kind: &'a str,
    ) -> impl Iterator<Item = (&'a String, &'a Artifact)> {
        self.artifacts.iter().filter(move |(_, artifact)| artifact.kind == kind)
    }
}

fn invalid(manifest: &Path, artifact: &str, message: impl Into<String>) -> AssemblyError {
    AssemblyError::InvalidArtifact {
        manifest: manifest.to_owned(),
        artifact: artifact.to_owned(),
        message: message.into(),
    }
}

/// Checks what can be said of artifacts without opening their files. An artifact of an unknown
/// type counts as existing, though the reference implementation says that it does not: a newer
/// framework may well add types that stacks depend on.
fn check_artifacts(
    artifacts: &BTreeMap<String, Artifact>,
    manifest: &Path,
) -> Result<(), AssemblyError> {
    let mut trees = 0;
    for (id, artifact) in artifacts {
        for dependency in artifact.dependencies.iter().flatten() {
            if !artifacts.contains_key(dependency) {
                return Err(AssemblyError::MissingDependency {
                    manifest: manifest.to_owned(),
                    artifact: id.clone(),
                    dependency: dependency.clone(),
                });
            }
        }
        let class = match artifact.kind.as_str() {
            TREE => {
                trees += 1;
                "TreeCloudArtifact"
            }
            ASSETS => "AssetManifestCloudArtifact",
            _ => continue,
        };
        let properties: FileArtifact =
            artifact.properties().map_err(|error| invalid(manifest, id, error))?;
        if properties.file.is_none() {
            let message = format!("Invalid {class}. Missing \"file\" property");
            return Err(invalid(manifest, id, message));
        }
    }
    if trees > 1 {
        return Err(AssemblyError::MultipleTrees(manifest.to_owned()));
    }
    Ok(())
}

/// Returns the assemblies directly in an assembly: id, directory, path of the stage.
fn nested(
    root: &Root,
    assembly: &SubAssembly,
) -> Result<Vec<(String, Confined, Option<String>)>, AssemblyError> {
    assembly
        .of_kind(ASSEMBLY)
        .map(|(id, artifact)| {
            let properties: AssemblyArtifact =
                artifact.properties().map_err(|error| assembly.invalid(id, error))?;
            let name = properties
                .directory_name
                .ok_or_else(|| assembly.invalid(id, "missing `directoryName` property"))?;
            let directory = assembly.resolve(root, id, "directoryName", &name)?;
            if !directory.canonical.is_dir() {
                return Err(AssemblyError::NotADirectory(directory.path));
            }
            Ok((id.clone(), directory, properties.display_name))
        })
        .collect()
}
