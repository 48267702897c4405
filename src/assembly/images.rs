//! Container images: what has to be built and pushed before stacks can be deployed (cloud assembly
//! schema, `DockerImageAsset`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value as Json;

use super::assets::{BootstrapNeed, Found, each_manifest};
use super::confine::{Mention, Root};
use super::error::AssemblyError;
use super::load::LoadOptions;
use super::walk::SubAssembly;

/// A container image that is pushed to a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageAsset {
    /// The key in the asset manifest.
    pub id: String,
    /// How it is made.
    pub source: ImageSource,
    /// Where it is pushed to.
    pub destinations: Vec<ImageDestination>,
    /// The hierarchical IDs of the stacks that need it.
    pub stacks: Vec<String>,
    /// What the bootstrap stack has to offer.
    pub bootstrap: BootstrapNeed,
}

/// How an image is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageSource {
    /// It is built.
    Build {
        /// The build context.
        directory: PathBuf,
        /// How.
        options: Box<BuildOptions>,
    },
    /// A command makes it and says its name on the standard output.
    Command {
        /// The command with its arguments.
        command: Vec<String>,
        /// Where it is run.
        directory: PathBuf,
    },
}

impl Default for ImageSource {
    fn default() -> Self {
        Self::Command { command: Vec::new(), directory: PathBuf::new() }
    }
}

/// How an image is built (`DockerImageSource`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BuildOptions {
    /// The file with the instructions, below the build context.
    #[serde(rename = "dockerFile")]
    pub file: Option<String>,
    /// The stage that is built.
    #[serde(rename = "dockerBuildTarget")]
    pub target: Option<String>,
    /// Arguments of the build.
    #[serde(rename = "dockerBuildArgs")]
    pub args: BTreeMap<String, String>,
    /// Further build contexts.
    #[serde(rename = "dockerBuildContexts")]
    pub contexts: BTreeMap<String, String>,
    /// Secrets: where each of them comes from, such as `src=./file`.
    #[serde(rename = "dockerBuildSecrets")]
    pub secrets: BTreeMap<String, String>,
    /// The agent that is forwarded.
    #[serde(rename = "dockerBuildSsh")]
    pub ssh: Option<String>,
    /// The network of the build.
    pub network_mode: Option<String>,
    /// The platform that the image is for.
    pub platform: Option<String>,
    /// Where the result goes.
    #[serde(rename = "dockerOutputs")]
    pub outputs: Vec<String>,
    /// Where layers are taken from.
    pub cache_from: Vec<CacheOption>,
    /// Where layers are left.
    pub cache_to: Option<CacheOption>,
    /// Whether no layers are taken from anywhere.
    pub cache_disabled: bool,
}

/// A place for layers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CacheOption {
    /// Its type, such as `registry`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What else the type needs.
    pub params: BTreeMap<String, String>,
}

/// A place for an image. Names may hold the placeholders `${AWS::Partition}`,
/// `${AWS::AccountId}` and `${AWS::Region}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImageDestination {
    /// The repository.
    pub repository_name: String,
    /// The tag.
    pub image_tag: String,
    /// The region of the repository, if it is not that of the stack.
    pub region: Option<String>,
    /// The role to push with.
    pub assume_role_arn: Option<String>,
    /// The external id that this role wants.
    pub assume_role_external_id: Option<String>,
    /// Further parameters of its session (`assumeRoleAdditionalOptions`).
    #[serde(rename = "assumeRoleAdditionalOptions")]
    pub assume_role_options: BTreeMap<String, Json>,
}

/// An image in its manifest.
#[derive(Deserialize)]
struct Image {
    /// Read twice: who makes it, and how it is built.
    #[serde(default = "nothing")]
    source: Json,
    #[serde(default)]
    destinations: BTreeMap<String, ImageDestination>,
}

fn nothing() -> Json {
    Json::Object(serde_json::Map::new())
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Source {
    directory: Option<String>,
    executable: Option<Vec<String>>,
}

/// Reads which container images an assembly and those nested in it need, in the order of their
/// ids; one that several manifests list appears several times.
///
/// # Errors
/// When a manifest is missing or malformed, or when a path leaves the assembly or leads nowhere.
pub fn image_assets(
    directory: &Path,
    options: &LoadOptions,
) -> Result<Vec<ImageAsset>, AssemblyError> {
    let mut found = Vec::new();
    each_manifest(directory, options, |root, assembly, manifest| {
        for (id, image) in std::mem::take(&mut manifest.content.images) {
            found.push(read(root, assembly, manifest, id, image)?);
        }
        Ok(())
    })?;
    found.sort_by(|a: &ImageAsset, b| a.id.cmp(&b.id));
    Ok(found)
}

fn read(
    root: &Root,
    assembly: &SubAssembly,
    manifest: &Found,
    id: String,
    image: Json,
) -> Result<ImageAsset, AssemblyError> {
    let invalid = |message: &str| AssemblyError::InvalidManifest {
        file: manifest.file.clone(),
        message: format!("image `{id}`: {message}"),
    };
    let malformed = |error: serde_json::Error| invalid(&error.to_string());
    let Image { source, destinations } = serde_json::from_value(image).map_err(malformed)?;
    let maker = Source::deserialize(&source).map_err(malformed)?;
    let base = &assembly.directory.path;
    let source = match (maker.executable, maker.directory) {
        (Some(command), _) if !command.is_empty() => {
            ImageSource::Command { command, directory: base.clone() }
        }
        (_, Some(directory)) => {
            let what = format!("`directory` of image `{id}`");
            let mention = Mention { file: &manifest.file, what: &what };
            let directory = root.resolve(base, &directory, mention)?.path;
            let options = BuildOptions::deserialize(&source).map_err(malformed)?;
            ImageSource::Build { directory, options: Box::new(options) }
        }
        _ => return Err(invalid("its source has neither `directory` nor `executable`")),
    };
    for to in destinations.values() {
        if to.repository_name.is_empty() || to.image_tag.is_empty() {
            return Err(invalid("a destination without `repositoryName` or `imageTag`"));
        }
    }
    Ok(ImageAsset {
        source,
        destinations: destinations.into_values().collect(),
        stacks: manifest.stacks.clone(),
        bootstrap: manifest.bootstrap.clone(),
        id,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(image: &str) -> Result<ImageAsset, String> {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        write(
            "manifest.json",
            r#"{"version":"36.0.0","artifacts":{"A.assets":{"type":"cdk:asset-manifest",
                "properties":{"file":"A.assets.json","requiresBootstrapStackVersion":6}}}}"#,
        );
        write(
            "A.assets.json",
            &format!(r#"{{"version":"36.0.0","files":{{}},"dockerImages":{{"img":{image}}}}}"#),
        );
        fs::create_dir(directory.path().join("asset.img")).unwrap();
        let found = image_assets(directory.path(), &LoadOptions::default());
        found.map(|mut found| found.remove(0)).map_err(|error| error.to_string())
    }

    #[test]
    fn an_image_says_how_it_is_built_and_where_it_goes() {
        let image = read(
            r#"{"source":{"directory":"asset.img","dockerFile":"Web.Dockerfile",
                "dockerBuildArgs":{"A":"1"},"cacheDisabled":true,
                "cacheFrom":[{"type":"registry","params":{"ref":"r"}}]},
                "destinations":{"here":{"repositoryName":"repo","imageTag":"tag",
                "assumeRoleArn":"arn"}}}"#,
        );
        let image = image.unwrap();
        let ImageSource::Build { directory, options } = &image.source else { panic!("{image:?}") };
        assert!(directory.ends_with("asset.img"));
        assert_eq!(options.file.as_deref(), Some("Web.Dockerfile"));
        assert_eq!(options.args["A"], "1");
        assert_eq!(options.cache_from[0].params["ref"], "r");
        assert!(options.cache_disabled);
        assert_eq!(image.destinations[0].repository_name, "repo");
        assert_eq!(image.bootstrap.version, Some(6));
    }

    #[test]
    fn an_image_that_nothing_makes_or_that_leaves_the_assembly_is_an_error_that_names_it() {
        for image in [
            r"{}",
            r#"{"source":{"directory":"../elsewhere"}}"#,
            r#"{"source":{"directory":"asset.img"},"destinations":{"x":{"imageTag":"t"}}}"#,
            r#"{"source":{"directory":7}}"#,
        ] {
            let error = read(image).unwrap_err();
            assert!(error.contains("image `img`"), "{error}");
        }
    }
}
