//! What the program was asked to do: flags, environment variables, `cdk.json` and `~/.cdk.json`
//! become one [`Settings`] value in which each setting knows where it came from.
//!
//! In: what was typed ([`Typed`]) and where ([`Surroundings`]). Out: [`Settings`]. Called by
//! `cli`, read by `toolkit`. No other room looks at flags, variables or these files.

mod account;
mod context;
pub mod decision_file;
mod decisions;
mod deploying;
mod located;
mod overrides;
mod project;

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use account::{
    Account, DEFAULT_CONCURRENCY, DEFAULT_LOCAL, DEFAULT_TOOLKIT_STACK, Place,
    local as local_directory,
};
pub use context::{CONTEXT_FILE, with_looked_up};
pub use decisions::{Decided, DecisionError, Left, Named, Pair, Said, Scope, Skip};
pub use deploying::{Approval, Deploying, Method, Parameter, TypedDeploying};
pub use located::{Misplaced, Position};
pub use overrides::{OverrideError, mapping_file};

use project::Project;

/// Values that the app reads as its context, by key.
pub type Context = BTreeMap<String, serde_json::Value>;

/// What was typed, and nothing else: no defaults, no files, no environment.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Typed {
    /// `--app`
    pub app: Option<String>,
    /// `--against`
    pub against: Option<PathBuf>,
    /// `--local`
    pub local: Option<PathBuf>,
    /// `--profile`
    pub profile: Option<String>,
    /// `--region`
    pub region: Option<String>,
    /// `--role-arn`
    pub role_arn: Option<String>,
    /// `--toolkit-stack-name`
    pub toolkit_stack_name: Option<String>,
    /// `--additional-stack-name`, as often as it was given.
    pub additional_stacks: Vec<String>,
    /// `--concurrency`
    pub concurrency: Option<usize>,
    /// `--wait`
    pub wait: bool,
    /// `--poll-interval`
    pub poll_interval: Option<Duration>,
    /// `--wait-limit`
    pub wait_limit: Option<Duration>,
    /// Patterns of the stacks to report.
    pub stacks: Vec<String>,
    /// `--map`, as often as it was given.
    pub map: Vec<String>,
    /// `--override-file`
    pub override_file: Option<PathBuf>,
    /// `--refactor-file`
    pub refactor_file: Option<PathBuf>,
    /// `--skip-file`
    pub skip_file: Option<PathBuf>,
    /// `--context`, as often as it was given.
    pub context: Vec<String>,
    /// `--lookups`, `--no-lookups`
    pub lookups: Option<bool>,
    /// `--assume-refactorable`, as often as it was given.
    pub assume_refactorable: Vec<String>,
    /// `--assume-fixed`, as often as it was given.
    pub assume_fixed: Vec<String>,
    /// `--ignore`, as often as it was given.
    pub ignore: Vec<String>,
    /// `--ignore-ambiguous-refactoring`
    pub ignore_ambiguous_refactoring: bool,
    /// `--strict`
    pub strict: bool,
    /// `--explain`
    pub explain: bool,
    /// `--ignore-schema-version`
    pub ignore_schema_version: bool,
    /// `--no-history`
    pub no_history: bool,
}

/// Where the program was started.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The working directory: `cdk.json` is looked for here.
    pub directory: PathBuf,
    /// The home directory: `.cdk.json` is looked for here.
    pub home: Option<PathBuf>,
    /// Environment variables.
    pub variables: BTreeMap<String, String>,
}

impl Surroundings {
    /// Returns the surroundings of this process. Variables that are not text are left out.
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self {
            directory: PathBuf::new(),
            home: env::home_dir(),
            variables: env::vars_os().filter_map(text).collect(),
        }
    }
}

/// Where a setting came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    Flag(&'static str),
    /// An environment variable.
    Variable(&'static str),
    /// A file.
    File(PathBuf),
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) => f.write_str(name),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub origin: Origin,
}

impl<T> Setting<T> {
    fn new(value: T, origin: Origin) -> Self {
        Self { value, origin }
    }
}

/// How the cloud assembly of the app is come by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum App {
    /// It is there already, in this directory.
    Directory(PathBuf),
    /// This command line makes it.
    Command(String),
}

/// What `deploy` does about moves: the RFC's choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refactoring {
    /// Ask.
    Ask,
    /// Move, then deploy.
    ExecuteAndDeploy,
    /// Deploy as if nothing had moved.
    DeployWithoutRefactoring,
    /// Stop.
    Quit,
}

/// Everything that a use case needs to know, resolved and checked.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct Settings {
    /// The app as it is now.
    pub app: Setting<App>,
    /// Where `app` is run: the directory of the project.
    pub project: PathBuf,
    /// Where the app writes its assembly, if it is a command.
    pub output: Setting<PathBuf>,
    /// The assembly that stands for what is deployed, in place of the account.
    pub against: Option<Setting<PathBuf>>,
    /// How the account is reached.
    pub account: Account,
    /// Patterns of the stacks to report; none means all.
    pub stacks: Vec<String>,
    /// The context for the app, all sources merged.
    pub context: Context,
    /// Whether context that the app lacks is looked up.
    pub lookups: bool,
    /// Pairs that people decided.
    pub pairs: Vec<Pair>,
    /// Whether nothing but `pairs` may be moved.
    pub only: bool,
    /// The file in which decisions are written down; it need not be there.
    pub decision_file: Setting<PathBuf>,
    /// What people excluded.
    pub skip: Vec<Skip>,
    /// What people left to be replaced.
    pub left: Vec<Left>,
    /// Types that somebody says CloudFormation can move.
    pub assume_refactorable: Vec<String>,
    /// Types that somebody says CloudFormation cannot move.
    pub assume_fixed: Vec<String>,
    /// `--ignore`: what the comparison is not to look at in this run.
    pub ignore: Vec<String>,
    /// `refactor` of `cdk.json`, as it stands there.
    pub refactor: Option<Setting<serde_json::Value>>,
    /// Whether indistinct mappings are questions.
    pub strict: bool,
    /// Whether the reader wants to know why.
    pub explain: bool,
    /// Whether assemblies of an unknown schema are read.
    pub ignore_schema_version: bool,
    /// Whether the history of the app decides, if it has one.
    pub history: bool,
    /// What `deploy` does about moves, if somebody said so.
    pub refactoring: Option<Setting<Refactoring>>,
    /// Whether `deploy` goes on in spite of ambiguities.
    pub ignore_ambiguous_refactoring: Setting<bool>,
}

/// Why there are no settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// No app anywhere.
    #[error("no app: neither `--app` nor the key `app` of cdk.json says where it is")]
    NoApp,
    /// `--local FILE`.
    #[error("`--local`: `{}` is a file, not the directory of an embedded CloudFormation", .0.display())]
    LocalIsFile(PathBuf),
    /// `--concurrency 0`.
    #[error("`--concurrency 0`: at least one request has to run at a time")]
    NoConcurrency,
    /// `--parameters` of another form.
    #[error("`--parameters {0}` is not of the form `Key=Value` or `Stack:Key=Value`")]
    ParameterForm(String),
    /// `--tags` of another form.
    #[error("`--tags {0}` is not of the form `Key=Value`")]
    TagForm(String),
    /// `--context` without a `=`.
    #[error("`--context {0}` is not of the form `key=value`")]
    ContextForm(String),
    /// `--context aws:…=…`.
    #[error("`--context {0}`: keys that start with `aws:` are reserved for the framework")]
    ContextReserved(String),
    /// A file that is there but cannot be read.
    #[error("cannot read {}", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file that is not of the shape that it should have.
    #[error("{} is not a valid {what}", .file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// What it should be.
        what: &'static str,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// A decision that cannot be read.
    #[error(transparent)]
    Decision(#[from] DecisionError),
    /// A file of decisions of an unknown shape.
    #[error(transparent)]
    Override(#[from] OverrideError),
}

impl SettingsError {
    /// Whether the command line is wrong, not a file.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::LocalIsFile(_)
            | Self::NoApp
            | Self::NoConcurrency
            | Self::ParameterForm(_)
            | Self::TagForm(_)
            | Self::ContextForm(_)
            | Self::ContextReserved(_) => true,
            Self::Decision(error) => error.is_usage(),
            Self::Unreadable { .. } | Self::Malformed { .. } | Self::Override(_) => false,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoApp => "pass a directory or a command: `--app cdk.out`, `--app \"node \
                            bin/app.js\"`"
                .to_owned(),
            Self::LocalIsFile(_) => "what stands after `--local` is its directory: put names of \
                                     stacks and journals before it, or write `--local=DIRECTORY`"
                .to_owned(),
            Self::Decision(error) => return error.hint(),
            Self::Override(_) => overrides::SHAPE.to_owned(),
            _ => return None,
        })
    }
}

impl Settings {
    /// Returns the account and the project.
    pub fn place(&self) -> Place {
        Place {
            account: self.account.clone(),
            project: self.project.clone(),
            history: self.history,
        }
    }

    /// Resolves what was typed with the environment and the files: flags win over environment
    /// variables, these over `cdk.json`, that over `~/.cdk.json`.
    ///
    /// # Errors
    /// When something required is missing, or a flag or a file is malformed.
    pub fn resolve(typed: &Typed, surroundings: &Surroundings) -> Result<Self, SettingsError> {
        let (project, user) = Project::both(surroundings)?;
        let app = app(typed, surroundings, &project, &user).ok_or(SettingsError::NoApp)?;
        let context = context::merge(&typed.context, &surroundings.directory, &project, &user)?;
        let account = Account::resolve(typed, surroundings, &project, &user)?;
        let gathered = decisions::gather(typed, &surroundings.directory, &project)?;
        let skip = match typed.skip_file.as_ref().or(project.skip_file.as_ref()) {
            Some(file) => decisions::skip_file(&surroundings.directory, file)?,
            None => Vec::new(),
        };
        let history = project::history(typed, &project, &user);
        let output = project.output.or(user.output).map_or_else(
            || Setting::new(PathBuf::from("cdk.out"), Origin::Default),
            |found| Setting::new(PathBuf::from(found.value), found.origin),
        );
        Ok(Self {
            app,
            project: working(&surroundings.directory),
            output,
            against: typed.against.as_ref().map(|against| {
                Setting::new(surroundings.directory.join(against), Origin::Flag("--against"))
            }),
            account,
            stacks: typed.stacks.clone(),
            context,
            lookups: typed.lookups.or(project.lookups).or(user.lookups).unwrap_or(true),
            pairs: gathered.decided.pairs,
            left: gathered.decided.left,
            only: gathered.only,
            decision_file: gathered.file,
            skip,
            assume_refactorable: typed.assume_refactorable.clone(),
            assume_fixed: typed.assume_fixed.clone(),
            ignore: typed.ignore.clone(),
            refactor: project.refactor.or(user.refactor),
            strict: typed.strict,
            explain: typed.explain,
            ignore_schema_version: typed.ignore_schema_version,
            history,
            refactoring: project.refactoring.or(user.refactoring),
            ignore_ambiguous_refactoring: typed
                .ignore_ambiguous_refactoring
                .then(|| Setting::new(true, Origin::Flag("--ignore-ambiguous-refactoring")))
                .or(project.ignore_ambiguous_refactoring)
                .or(user.ignore_ambiguous_refactoring)
                .unwrap_or_else(|| Setting::new(false, Origin::Default)),
        })
    }
}

/// The directory itself, in a form that a process can be started in.
fn working(directory: &Path) -> PathBuf {
    if directory.as_os_str().is_empty() { PathBuf::from(".") } else { directory.to_owned() }
}

fn app(
    typed: &Typed,
    surroundings: &Surroundings,
    project: &Project,
    user: &Project,
) -> Option<Setting<App>> {
    let flag = typed.app.clone().map(|app| Setting::new(app, Origin::Flag("--app")));
    let variable = || {
        let app = surroundings.variables.get("CDK_APP").filter(|app| !app.is_empty())?;
        Some(Setting::new(app.clone(), Origin::Variable("CDK_APP")))
    };
    let found =
        flag.or_else(variable).or_else(|| project.app.clone()).or_else(|| user.app.clone())?;
    let directory = surroundings.directory.join(&found.value);
    let app =
        if directory.is_dir() { App::Directory(directory) } else { App::Command(found.value) };
    Some(Setting::new(app, found.origin))
}

#[cfg(test)]
mod tests;
