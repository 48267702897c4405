//! Why an assembly cannot be read, and why a selection is empty.

use std::fmt;
use std::path::PathBuf;

use crate::model::EnvironmentError;
use crate::template::TemplateError;

/// Why a directory cannot be read as a cloud assembly.
///
/// Texts that start with a capital letter are those of the reference implementation, so that
/// a search for them finds its answers.
#[derive(Debug, thiserror::Error)]
pub enum AssemblyError {
    /// The directory does not exist.
    #[error("directory `{}` does not exist", .0.display())]
    NoDirectory(PathBuf),
    /// What is there is no directory.
    #[error("`{}` is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// The directory is no cloud assembly.
    #[error("`{}` has no `manifest.json`: is it a cloud assembly? (`cdk synth` writes one)", .0.display())]
    NoManifest(PathBuf),
    /// A file cannot be read.
    #[error("cannot read `{}`: {error}", .file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// Something that is to be a file is a directory or a device.
    #[error("`{}` is not a file", .0.display())]
    NotAFile(PathBuf),
    /// A manifest or a metadata file is not JSON.
    #[error("`{}` is not JSON: {message}, while parsing \"{contents}\"", .file.display())]
    NotJson {
        /// The file.
        file: PathBuf,
        /// What the parser says, with line and column.
        message: String,
        /// The beginning of the contents.
        contents: String,
    },
    /// A manifest or a metadata file is JSON of another shape.
    #[error("Invalid assembly manifest:\n`{}`: {message}", .file.display())]
    InvalidManifest {
        /// The file.
        file: PathBuf,
        /// What is wrong, with line and column.
        message: String,
    },
    /// The version of the manifest is not a version.
    #[error("Invalid semver string: \"{version}\" (`version` in `{}`)", .file.display())]
    InvalidVersion {
        /// The manifest.
        file: PathBuf,
        /// What stands there.
        version: String,
    },
    /// The manifest was written by a framework that is newer than what we know.
    #[error(
        "Cloud assembly schema version mismatch: Maximum schema version supported is \
         {supported}.x.x, but found {found}{}",
        NeededVersion(.minimum_cli_version.as_deref())
    )]
    SchemaTooNew {
        /// The highest major version that we read.
        supported: u64,
        /// The version of the manifest.
        found: String,
        /// The version of the CDK CLI that the manifest asks for.
        minimum_cli_version: Option<String>,
    },
    /// An artifact lacks something or has it in the wrong shape.
    #[error("{message} (artifact `{artifact}` in `{}`)", .manifest.display())]
    InvalidArtifact {
        /// The manifest.
        manifest: PathBuf,
        /// The artifact.
        artifact: String,
        /// What is wrong with it.
        message: String,
    },
    /// The environment of a stack is not of the form `aws://account/region`.
    #[error("{error} (artifact `{artifact}` in `{}`)", .manifest.display())]
    InvalidEnvironment {
        /// The manifest.
        manifest: PathBuf,
        /// The artifact.
        artifact: String,
        /// What is wrong with it.
        error: EnvironmentError,
    },
    /// An artifact depends on something that is not there.
    #[error("Artifact {artifact} depends on non-existing artifact {dependency} (in `{}`)", .manifest.display())]
    MissingDependency {
        /// The manifest.
        manifest: PathBuf,
        /// The artifact.
        artifact: String,
        /// What it depends on.
        dependency: String,
    },
    /// There is more than one construct tree.
    #[error("Multiple artifacts of type cdk:tree found in manifest (`{}`)", .0.display())]
    MultipleTrees(PathBuf),
    /// A path in a manifest leads out of the assembly.
    #[error("{what} is `{path}`, which leaves the cloud assembly (in `{}`)", .file.display())]
    LeavesAssembly {
        /// The file in which the path stands.
        file: PathBuf,
        /// Whose path it is.
        what: String,
        /// The path.
        path: String,
    },
    /// A path in a manifest leads to nothing.
    #[error("{what} is `{path}`, which does not exist (in `{}`)", .file.display())]
    MissingFile {
        /// The file in which the path stands.
        file: PathBuf,
        /// Whose path it is.
        what: String,
        /// The path.
        path: String,
    },
    /// An assembly contains itself, or is contained twice.
    #[error(
        "`directoryName` of artifact `{artifact}` is `{path}`, an assembly that was read already \
         (in `{}`)", .manifest.display()
    )]
    RepeatedAssembly {
        /// The manifest.
        manifest: PathBuf,
        /// The artifact.
        artifact: String,
        /// The directory.
        path: String,
    },
    /// Assemblies contain assemblies without an end in sight.
    #[error("nested assemblies are more than {limit} levels deep at `{}`", .directory.display())]
    AssembliesTooDeep {
        /// How deep we read.
        limit: usize,
        /// Where we stopped.
        directory: PathBuf,
    },
    /// Two stacks of one environment have the same name.
    #[error("stacks `{first}` and `{second}` have the same name `{name}` in {environment}")]
    DuplicateStackName {
        /// The name.
        name: String,
        /// The environment, `aws://account/region`.
        environment: String,
        /// One of the stacks, as people select it.
        first: String,
        /// The other one.
        second: String,
    },
    /// A template is malformed.
    #[error("template `{}` of stack `{stack}`: {error}", .file.display())]
    Template {
        /// The stack.
        stack: String,
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        error: TemplateError,
    },
    /// A nested stack contains itself.
    #[error("nested stack `{stack}` has the template `{}`, which contains it", .file.display())]
    NestedStackCycle {
        /// The nested stack.
        stack: String,
        /// The file.
        file: PathBuf,
    },
    /// There are more nested stacks than an account can hold, or deeper ones.
    #[error("too many nested stacks below `{stack}`: more than {limit}")]
    TooManyNestedStacks {
        /// The stack.
        stack: String,
        /// How many, or how many levels, we read.
        limit: usize,
    },
}

/// The sentence that follows a version mismatch: the manifest names the version of the CDK CLI
/// that first understood it.
struct NeededVersion<'a>(Option<&'a str>);

impl fmt::Display for NeededVersion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => Ok(()),
            Some(version) => write!(
                f,
                ". You need a version of cdkr as new as CDK CLI version {version} to read this \
                 manifest."
            ),
        }
    }
}

/// Why a selection of stacks fails.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// A pattern matches no stack.
    #[error("no stack matches `{pattern}`{}", Available(.suggestion.as_deref(), .available))]
    NoMatch {
        /// The pattern.
        pattern: String,
        /// The id that comes closest to it.
        suggestion: Option<String>,
        /// All ids that could have been given.
        available: Vec<String>,
    },
    /// A pattern is malformed.
    #[error("`{pattern}` is not a pattern: {message}")]
    InvalidPattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        message: String,
    },
}

/// How many ids an error lists.
const LISTED: usize = 20;

/// What could have been selected instead.
struct Available<'a>(Option<&'a str>, &'a [String]);

impl fmt::Display for Available<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(suggestion, ids) = self;
        if let Some(suggestion) = suggestion {
            write!(f, "; did you mean `{suggestion}`?")?;
        }
        if ids.is_empty() {
            return f.write_str("; there are no stacks");
        }
        f.write_str(if suggestion.is_some() { " stacks: " } else { "; stacks: " })?;
        for (at, id) in ids.iter().take(LISTED).enumerate() {
            write!(f, "{}`{id}`", if at == 0 { "" } else { ", " })?;
        }
        match ids.len().checked_sub(LISTED) {
            Some(more) if more > 0 => write!(f, " and {more} more"),
            _ => Ok(()),
        }
    }
}
