//! What people decided: `--map` and `--skip-file`. See `overrides` for files of decisions.

use std::path::{Path, PathBuf};

use super::located::{Content, Position};
use super::overrides::{self, OverrideError};
use super::project::Project;
use super::{Origin, Setting, SettingsError, Typed};
use crate::model::{ConstructPath, Environment, Location, Pattern, PatternError};

/// A resource as people name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// `Stack.LogicalId`
    Location(Location),
    /// Anything with a slash: a construct path. A location in a nested stack that has no name of
    /// its own (`Parent/Nested.LogicalId`) looks like one too; only who knows the stacks can tell.
    Path(ConstructPath),
    /// Several by one name, of either kind.
    Pattern(Pattern),
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Location(location) => location.fmt(f),
            Self::Path(path) => path.fmt(f),
            Self::Pattern(pattern) => pattern.fmt(f),
        }
    }
}

/// Who decided, which tells how a decision ages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Said {
    /// Somebody at the command line or at the terminal, about what is there now.
    #[default]
    Now,
    /// A file that was named for this run. What it says may have been carried out already.
    File,
    /// The file in which the decisions of a project are kept for good.
    Record,
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
    /// Who said it.
    pub said: Said,
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
    /// A location, a construct path or a resource type; wildcards stand for several.
    pub what: String,
    /// The place in the file that says so.
    pub origin: String,
}

/// A deployed resource that is nothing that exists now: it is left to be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// What it is called where it is deployed.
    pub what: Named,
    /// Where this holds.
    pub scope: Scope,
    /// Who says so: a person at the terminal, or the place in a file.
    pub origin: String,
    /// Who said it.
    pub said: Said,
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
    /// A malformed pattern.
    #[error("{origin}: `{text}`: {problem}")]
    Pattern {
        /// The text.
        text: String,
        /// What is wrong with it.
        problem: PatternError,
        /// Where it stands.
        origin: String,
    },
    /// The wildcards of both names do not correspond.
    #[error(
        "{origin}: `{source_name}` and `{destination}` must have the same wildcards in the same \
         order"
    )]
    Wildcards {
        /// The old name.
        source_name: String,
        /// The new name.
        destination: String,
        /// Where it stands.
        origin: String,
    },
    /// A pattern that matches a name in several ways.
    #[error(
        "{origin}: `{text}` can match a name in several ways; only one `*` in each component and \
         one `**` can be mapped"
    )]
    Equivocal {
        /// The text.
        text: String,
        /// Where it stands.
        origin: String,
    },
    /// Neither of what a skip file may list.
    #[error(
        "{origin}: entry {number}, `{text}`, is neither a location (`Stack.LogicalId`) nor a \
         construct path nor a resource type"
    )]
    NotSkippable {
        /// Where it stands.
        origin: String,
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
            Self::NotAName { origin, .. }
            | Self::Pattern { origin, .. }
            | Self::Wildcards { origin, .. }
            | Self::Equivocal { origin, .. } => origin == MAP,
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
            Self::Pattern { .. } | Self::Wildcards { .. } | Self::Equivocal { .. } => Some(
                "wildcards: `Web.Old*:Web.New*`, or `Old/Website/**:Web/Site/**` for all that is \
                 below a construct"
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
            pair((source, MAP), (destination, MAP), &Scope::default(), Said::Now)
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
    said: Said,
) -> Result<Pair, DecisionError> {
    let names = (name(source, origin)?, name(destination, second)?);
    let wildcards = |named: &Named| match named {
        Named::Pattern(pattern) => pattern.wildcards(),
        _ => Vec::new(),
    };
    if wildcards(&names.0) != wildcards(&names.1) {
        return Err(DecisionError::Wildcards {
            source_name: source.to_owned(),
            destination: destination.to_owned(),
            origin: origin.to_owned(),
        });
    }
    for (named, origin) in [(&names.0, origin), (&names.1, second)] {
        if matches!(named, Named::Pattern(pattern) if !pattern.is_unequivocal()) {
            let (text, origin) = (named.to_string(), origin.to_owned());
            return Err(DecisionError::Equivocal { text, origin });
        }
    }
    Ok(Pair {
        source: names.0,
        destination: names.1,
        scope: scope.clone(),
        origin: origin.to_owned(),
        said,
    })
}

/// Reads the name of a resource, or of several.
pub(super) fn name(text: &str, origin: &str) -> Result<Named, DecisionError> {
    let pattern = Pattern::parse(text).map_err(|problem| {
        let (text, origin) = (text.to_owned(), origin.to_owned());
        DecisionError::Pattern { text, problem, origin }
    })?;
    let is_location = || text.parse::<Location>().is_ok();
    match pattern {
        Some(pattern) if is_path(text) || is_location() => return Ok(Named::Pattern(pattern)),
        None if is_path(text) => return Ok(Named::Path(text.into())),
        _ => {}
    }
    text.parse()
        .map(Named::Location)
        .map_err(|_| DecisionError::NotAName { text: text.to_owned(), origin: origin.to_owned() })
}

fn is_path(text: &str) -> bool {
    text.contains('/') && text.split('/').all(|component| !component.is_empty())
}

/// The file in which a project keeps its decisions.
pub(super) const RECORD: &str = "cdkr.decisions.json";

/// Everything that was decided, from all sources.
pub(super) struct Gathered {
    pub(super) decided: Decided,
    pub(super) only: bool,
    /// Where decisions are written down.
    pub(super) file: Setting<PathBuf>,
}

/// Reads the flags and the files that they and the project name. A refactor file stands for
/// itself: no other file is read besides it.
pub(super) fn gather(
    typed: &Typed,
    directory: &Path,
    project: &Project,
) -> Result<Gathered, SettingsError> {
    let named = |flag: &Option<PathBuf>, name| flag.clone().map(|file| (file, Origin::Flag(name)));
    let given = named(&typed.override_file, "--override-file");
    let kept = project.override_file.clone();
    let is_kept = kept.is_some() || directory.join(RECORD).exists();
    let kept = kept.unwrap_or_else(|| Setting::new(PathBuf::from(RECORD), Origin::Default));
    let mut decided = Decided { pairs: from_flags(&typed.map)?, left: Vec::new() };
    let mut add = |file: &Path, said| {
        let more = overrides::read(directory, file, said)?;
        decided.pairs.extend(more.pairs);
        decided.left.extend(more.left);
        Ok::<_, SettingsError>(())
    };
    if let Some(file) = &typed.refactor_file {
        add(file, Said::File)?;
    } else {
        let is_the_same = |file: &Path| directory.join(file) == directory.join(&kept.value);
        if is_kept {
            add(&kept.value, Said::Record)?;
        }
        if let Some((file, _)) = &given
            && !(is_kept && is_the_same(file))
        {
            add(file, Said::File)?;
        }
    }
    let file = given.map_or(kept, |(file, origin)| Setting::new(file, origin));
    let file = Setting::new(directory.join(file.value), file.origin);
    Ok(Gathered { decided, only: typed.refactor_file.is_some(), file })
}

/// Reads a skip file: a list of strings.
pub(super) fn skip_file(directory: &Path, file: &Path) -> Result<Vec<Skip>, SettingsError> {
    let node = overrides::node(directory, file)?;
    let wrong = |problem| OverrideError { file: file.to_owned(), problem };
    let Content::List(items) = &node.content else {
        return Err(wrong(node.unexpected("a list of strings")).into());
    };
    let mut skip = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let what = item.text("a string").map_err(wrong)?;
        let place = |at: Position| format!("{}:{at}", file.display());
        if let Err(problem) = Pattern::parse(what) {
            let (text, origin) = (what.to_owned(), place(item.at));
            return Err(DecisionError::Pattern { text, problem, origin }.into());
        }
        let known = is_type(what) || is_path(what) || what.parse::<Location>().is_ok();
        if !known {
            let (number, text) = (at + 1, what.to_owned());
            let origin = place(item.at);
            return Err(DecisionError::NotSkippable { origin, number, text }.into());
        }
        skip.push(Skip { what: what.to_owned(), origin: place(item.at) });
    }
    Ok(skip)
}

/// Whether a text is written like a resource type: `AWS::S3::Bucket`, `Custom::Thing`.
fn is_type(text: &str) -> bool {
    text.contains("::")
        && !text.contains('/')
        && text.split("::").all(|part| !part.is_empty() && !part.contains(char::is_whitespace))
}
