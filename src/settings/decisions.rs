//! What people decided: `--map` and `--skip-file`. See `overrides` for `--override-file`.

use std::path::{Path, PathBuf};

use super::{SettingsError, project};
use crate::model::{ConstructPath, Environment, Location};

/// A resource as people name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// `Stack.LogicalId`
    Location(Location),
    /// Anything with a slash: a construct path. A location in a nested stack that has no name of
    /// its own (`Parent/Nested.LogicalId`) looks like one too; only who knows the stacks can tell.
    Path(ConstructPath),
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Location(location) => location.fmt(f),
            Self::Path(path) => path.fmt(f),
        }
    }
}

/// The environments for which something was said: what is `None` is any.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    /// Account number.
    pub account: Option<String>,
    /// Region name.
    pub region: Option<String>,
}

impl Scope {
    /// Whether the scope takes in an environment.
    pub fn contains(&self, environment: &Environment) -> bool {
        self.account.as_ref().is_none_or(|account| *account == environment.account)
            && self.region.as_ref().is_none_or(|region| *region == environment.region)
    }

    /// Whether nothing was said, so that every environment is in.
    pub fn is_everywhere(&self) -> bool {
        self.account.is_none() && self.region.is_none()
    }
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let any = |part: &Option<String>| part.clone().unwrap_or_else(|| "*".to_owned());
        write!(f, "aws://{}/{}", any(&self.account), any(&self.region))
    }
}

/// Two names of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// What it is called where it is deployed.
    pub source: Named,
    /// What it is called now.
    pub destination: Named,
    /// Where this holds.
    pub scope: Scope,
    /// `--map`, or the place in a file: `moves.json:7:9`.
    pub origin: String,
}

/// A deployed resource that is nothing that exists now: a deployment replaces it, and nobody is
/// asked about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// What it is called where it is deployed.
    pub source: Named,
    /// Where this holds.
    pub scope: Scope,
    /// The place in a file that says so, or who else does.
    pub origin: String,
}

/// What a file of decisions says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// Resources that have two names.
    pub pairs: Vec<Pair>,
    /// Resources that are nothing that exists now.
    pub left: Vec<Left>,
}

/// Something not to be matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// A location, a construct path or a resource type.
    pub what: String,
    /// The name of the file that says so.
    pub origin: String,
}

/// Why a decision cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    /// `--map` without exactly one colon.
    #[error("`--map {0}` is not of the form `Stack.Old:Stack.New`")]
    MapForm(String),
    /// Neither a location nor a construct path.
    #[error("{origin}: `{text}` is neither a location (`Stack.LogicalId`) nor a construct path")]
    NotAName {
        /// The text.
        text: String,
        /// Where it stands.
        origin: String,
    },
    /// Neither of what a skip file may list.
    #[error(
        "{}: entry {number}, `{text}`, is neither a location (`Stack.LogicalId`) nor a construct \
         path nor a resource type",
        .file.display()
    )]
    NotSkippable {
        /// The file.
        file: PathBuf,
        /// Which entry, from 1.
        number: usize,
        /// The text.
        text: String,
    },
}

impl DecisionError {
    pub(super) fn is_usage(&self) -> bool {
        match self {
            Self::MapForm(_) => true,
            Self::NotAName { origin, .. } => origin == MAP,
            Self::NotSkippable { .. } => false,
        }
    }

    pub(super) fn hint(&self) -> Option<String> {
        match self {
            Self::MapForm(text) if text.matches(':').count() > 1 => {
                Some("names that contain a colon can be given in a file: --override-file".into())
            }
            Self::MapForm(_) | Self::NotAName { .. } => Some(
                "the old name comes first: --map Web.OldBucket1A2B3C4D:Web.NewBucket5E6F7A8B, or \
                 --map Web/OldBucket/Resource:Web/NewBucket/Resource"
                    .into(),
            ),
            Self::NotSkippable { .. } => None,
        }
    }
}

/// The flag that decides pairs.
pub(super) const MAP: &str = "--map";

/// Reads the values of `--map`.
pub(super) fn from_flags(values: &[String]) -> Result<Vec<Pair>, DecisionError> {
    let pairs = values.iter().map(|value| match value.split_once(':') {
        Some((source, destination)) if !destination.contains(':') => {
            pair((source, MAP), (destination, MAP), &Scope::default())
        }
        _ => Err(DecisionError::MapForm(value.clone())),
    });
    pairs.collect()
}

/// Reads both names of a pair, each with where it stands.
pub(super) fn pair(
    (source, origin): (&str, &str),
    (destination, second): (&str, &str),
    scope: &Scope,
) -> Result<Pair, DecisionError> {
    Ok(Pair {
        source: name(source, origin)?,
        destination: name(destination, second)?,
        scope: scope.clone(),
        origin: origin.to_owned(),
    })
}

/// Reads the name of a resource.
pub(super) fn name(text: &str, origin: &str) -> Result<Named, DecisionError> {
    if is_path(text) {
        return Ok(Named::Path(text.into()));
    }
    text.parse()
        .map(Named::Location)
        .map_err(|_| DecisionError::NotAName { text: text.to_owned(), origin: origin.to_owned() })
}

fn is_path(text: &str) -> bool {
    text.contains('/') && text.split('/').all(|component| !component.is_empty())
}

/// Reads a skip file: a JSON list of strings.
pub(super) fn skip_file(directory: &Path, file: &Path) -> Result<Vec<Skip>, SettingsError> {
    let entries: Vec<String> =
        project::required(&directory.join(file), "skip file (a JSON list of strings)")?;
    let origin = file.display().to_string();
    let mut skip = Vec::new();
    for (at, what) in entries.into_iter().enumerate() {
        let known = is_type(&what) || is_path(&what) || what.parse::<Location>().is_ok();
        if !known {
            let (file, number) = (file.to_owned(), at + 1);
            return Err(DecisionError::NotSkippable { file, number, text: what }.into());
        }
        skip.push(Skip { what, origin: origin.clone() });
    }
    Ok(skip)
}

/// Whether a text is written like a resource type: `AWS::S3::Bucket`, `Custom::Thing`.
fn is_type(text: &str) -> bool {
    text.contains("::")
        && !text.contains('/')
        && text.split("::").all(|part| !part.is_empty() && !part.contains(char::is_whitespace))
}
