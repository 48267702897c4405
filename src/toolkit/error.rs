//! Why a use case fails.

use crate::aspects::{AspectError, DeclareError, DeclareErrors, Violation};
use crate::assembly::{AppError, AssemblyError, SelectError};
use crate::aws::{AwsError, LookupError, LookupProblem, RoleOptionsError};
use crate::compare::CompareError;
use crate::event::Unanswered;
use crate::model::Environment;
use crate::plan::drift::Verification;
use crate::report;
use crate::run::{JournalError, RunError};
use crate::settings::SettingsError;
use crate::toolkit::local::LocalError;
use crate::toolkit::{DecisionError, FollowError, KeepError, RepositoryError};
use crate::toolkit::{NoRun, PlanFileError, ReportFileError, ReversalError, RulesError};
use std::path::PathBuf;

/// Why a use case fails.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The app could not be run.
    #[error("the app gave no cloud assembly (`app` comes from {origin})")]
    App {
        /// The command line.
        command: String,
        /// Where it was said.
        origin: String,
        /// What went wrong.
        source: Box<AppError>,
    },
    /// A cloud assembly cannot be read.
    #[error("cannot read the cloud assembly of `{flag}`")]
    Assembly {
        /// The flag that names it.
        flag: &'static str,
        /// What is wrong with it.
        source: Box<AssemblyError>,
    },
    /// The app lacks context, and it is not to be looked up.
    #[error("the app lacks context, and look-ups are turned off. Missing context keys: {}", quoted(.keys))]
    NoLookups {
        /// The keys.
        keys: Vec<String>,
    },
    /// Context that the app lacks cannot be looked up.
    #[error("{}", .failed.iter().map(LookupError::to_string).collect::<Vec<_>>().join("\n"))]
    Lookup {
        /// What is missing, and why it is not found.
        failed: Vec<LookupError>,
        /// The directory of the embedded CloudFormation, if that was asked.
        local: Option<PathBuf>,
    },
    /// The app lacks what it was given.
    #[error(
        "the app was given context that was looked up, and synthesized again, but does not find \
         it. Context keys: {}", quoted(.keys)
    )]
    ContextNotTaken {
        /// The keys.
        keys: Vec<String>,
    },
    /// What was looked up cannot be kept.
    #[error("cannot write `{}`", .file.display())]
    ContextFile {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// An assembly that is to be deployed was synthesized with made-up values.
    #[error(
        "the cloud assembly `{}` contains missing context, in place of which there are made-up \
         values, and cannot be deployed. Missing context keys: {}", .directory.display(), quoted(.keys)
    )]
    MissingContext {
        /// The assembly.
        directory: PathBuf,
        /// The keys.
        keys: Vec<String>,
    },
    /// What is declared under `refactor` in `cdk.json` is wrong.
    #[error("{origin}: {source}")]
    Aspects {
        /// Where it was said.
        origin: String,
        /// Everything that is wrong.
        source: Box<DeclareErrors>,
    },
    /// `--ignore` of another form.
    #[error(transparent)]
    Ignore(Box<DeclareError>),
    /// A file of rules cannot be used.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// A report cannot be written.
    #[error(transparent)]
    ReportFile(#[from] ReportFileError),
    /// Aspects cannot be invoked.
    #[error("the aspects of {environment} cannot be invoked")]
    Invoke {
        /// The account and region.
        environment: Environment,
        /// What went wrong.
        source: Box<AspectError>,
    },
    /// Aspects of the team forbid what was found.
    #[error("{}", violations(.0))]
    Forbidden(Vec<Violation>),
    /// A pattern selects nothing.
    #[error(transparent)]
    Selection(#[from] Box<SelectError>),
    /// A decision fits nowhere.
    #[error(transparent)]
    Decision(#[from] Box<DecisionError>),
    /// The embedded CloudFormation does not do what it is told.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// AWS cannot be reached, or refuses.
    #[error(transparent)]
    Aws(#[from] Box<AwsError>),
    /// A role of the assembly cannot be assumed as it should.
    #[error("a role of the cloud assembly cannot be assumed")]
    Role(#[from] RoleOptionsError),
    /// A run has stopped.
    #[error("{environment}")]
    Run {
        /// The account and region.
        environment: Environment,
        /// What happened, and what was left untouched.
        source: Box<RunError>,
    },
    /// An earlier run was interrupted.
    #[error("an earlier run was interrupted: `{}`", .journal.display())]
    Interrupted {
        /// Its journal.
        journal: PathBuf,
    },
    /// What was planned again is not what somebody has agreed to.
    #[error(
        "{environment}: planned again without what CloudFormation refuses, `{source_name}` would \
         move to `{destination}`, which nobody has agreed to"
    )]
    NotConfirmed {
        /// The account and region.
        environment: String,
        /// The place that it leaves.
        source_name: String,
        /// The place that it gets.
        destination: String,
    },
    /// What was planned again has questions.
    #[error("planned again without what CloudFormation refuses, there are new questions")]
    NewQuestions,
    /// There is no run to continue or to undo.
    #[error(transparent)]
    NoRun(#[from] Box<NoRun>),
    /// A journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A plan cannot be saved or read.
    #[error(transparent)]
    PlanFile(#[from] PlanFileError),
    /// A file of decisions cannot be moved back.
    #[error(transparent)]
    Reversal(#[from] ReversalError),
    /// A file of decisions cannot be read.
    #[error(transparent)]
    Settings(#[from] Box<SettingsError>),
    /// The log in the repository cannot be read or written, or its app not be recorded.
    #[error(transparent)]
    Repository(#[from] Box<RepositoryError>),
    /// Nobody said which stacks are meant.
    #[error("the app has {} stacks: {}", .stacks.len(), .stacks.join(", "))]
    WhichStacks {
        /// By hierarchical ID.
        stacks: Vec<String>,
    },
    /// A parameter that was typed is nowhere.
    #[error(
        "`--parameters {}{key}=…`: no stack of the app that is meant has such a parameter",
        .stack.as_ref().map(|stack| format!("{stack}:")).unwrap_or_default()
    )]
    UnusedParameter {
        /// Its name.
        key: String,
        /// The stack that was named.
        stack: Option<String>,
    },
    /// CloudFormation would refuse a stack because parameters have no value.
    #[error(
        "stack `{stack}`: nobody gives a value for {}, and there is neither a default nor a value \
         that is kept. Nothing was changed", ticked(.keys)
    )]
    MissingParameters {
        /// By hierarchical ID.
        stack: String,
        /// The names of the parameters.
        keys: Vec<String>,
    },
    /// CloudFormation would refuse a stack because nothing is in it.
    #[error(
        "stack `{stack}` has no resources, and CloudFormation takes no template without them. \
         Nothing was changed"
    )]
    NoResources {
        /// By hierarchical ID.
        stack: String,
    },
    /// An entry of `--allow-replacement` means nothing.
    #[error(transparent)]
    Allowed(Box<crate::plan::AllowedError>),
    /// What was planned again would lose something.
    #[error(
        "{}: planned again without what CloudFormation refuses, `{}` would be lost: {}",
        .0.environment, .0.place, .0.reason
    )]
    NewDanger(Box<crate::deploy::Danger>),
    /// What was planned again cannot be deployed.
    #[error("{environment}: planned again without what CloudFormation refuses: {finding}")]
    NewRefusal {
        /// The account and region.
        environment: Environment,
        /// What forbids it.
        finding: String,
    },
    /// Outputs cannot be written.
    #[error("cannot write the outputs to `{}`: {error}", .file.display())]
    Outputs {
        /// The file.
        file: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// Nobody answers a question.
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
    /// Decisions cannot be kept.
    #[error(transparent)]
    Keep(#[from] Box<KeepError>),
    /// A deployment has failed, or must not go on.
    #[error(transparent)]
    Deployment(#[from] Box<super::DeploymentFailed>),
    /// The history does not let it go on.
    #[error(transparent)]
    Follow(Box<FollowError>),
    /// A stack that somebody named is nowhere.
    #[error("`--additional-stack-name {0}`: there is no such stack in any environment of the app")]
    NoAdditionalStack(String),
    /// Resources are not what they were before they were moved.
    #[error("{}", altered(.0))]
    Altered(Vec<Verification>),
    /// Drift cannot be looked for.
    #[error(transparent)]
    Drift(#[from] super::DriftError),
    /// Two sides of an environment cannot be compared.
    #[error("cannot compare {environment}")]
    Comparison {
        /// The account and region.
        environment: Environment,
        /// What went wrong.
        source: Box<CompareError>,
    },
}

impl Error {
    /// What to do about it, if something can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Run { source, .. } => Some(source.hint()).filter(|hint| !hint.is_empty()),
            Self::Deployment(error) => error.hint(),
            Self::Repository(error) => error.hint(),
            Self::Follow(error) => error.hint().map(str::to_owned),
            _ => self.own_hint(),
        }
    }

    fn own_hint(&self) -> Option<String> {
        let hint = match self {
            Self::Assembly { source, .. }
                if matches!(**source, AssemblyError::SchemaTooNew { .. }) =>
            {
                "this version of cdkr is not compatible with the CDK library used by your \
                 application. Please upgrade cdkr to the latest version; --ignore-schema-version \
                 reads the assembly nevertheless, as far as it is understood"
            }
            Self::App { command, .. } if !command.contains(char::is_whitespace) => {
                return Some(format!(
                    "`{command}` was run as a command, for there is no directory of this name"
                ));
            }
            Self::NoLookups { .. } => {
                "`cdk synth` or `cdkr` with `--lookups` looks it up; commit cdk.context.json"
            }
            Self::Lookup { local: Some(local), .. } => {
                return Some(format!(
                    "the embedded CloudFormation answers look-ups from `{}`",
                    local.join("<account>/<region>/lookups.json").display()
                ));
            }
            Self::Lookup { failed, local: None }
                if failed.iter().any(|one| matches!(one.problem, LookupProblem::Aws(_))) =>
            {
                "what was looked up once is kept in cdk.context.json: commit it, and nothing has to \
                 be looked up here"
            }
            Self::ContextNotTaken { .. } => {
                "the app has to leave its context to the caller: `CDK_CONTEXT_JSON`, or the file \
                 that `CONTEXT_OVERFLOW_LOCATION_ENV` names"
            }
            Self::MissingContext { .. } => {
                "nothing was changed: `cdk synth` looks it up, or name the command of the app with \
                 `--app` in place of the directory"
            }
            Self::Decision(error) if error.hint().is_some() => return error.hint(),
            Self::Forbidden(_) => {
                "nothing was changed: change the app, decide otherwise, or change the aspects under \
                 `refactor` in cdk.json"
            }
            Self::Decision(_) => {
                "decisions name the deployed resource first, then the one as it is now: \
                 `Stack.LogicalId`, or the construct path"
            }
            Self::NotConfirmed { .. } | Self::NewQuestions => {
                "nothing was changed by this attempt: `cdkr refactor` shows what can be done now"
            }
            Self::Interrupted { .. } => {
                "`cdkr resume` continues it, `cdkr revert` undoes what is done"
            }
            Self::WhichStacks { .. } => {
                "name those that are meant, patterns are possible: `cdkr deploy 'Web*'`; or all of \
                 them: `cdkr deploy --all`"
            }
            Self::MissingParameters { keys, .. }
                if keys.iter().any(|key| key.starts_with("AssetParameters")) =>
            {
                "parameters of this kind say where an asset is, as in apps of CDK v1, and `cdkr` \
                 cannot publish such an asset: let the app use the default synthesizer (in v1 the \
                 context key `@aws-cdk/core:newStyleStackSynthesis`), deploy it once with `cdk \
                 deploy`, or publish the asset and say where with `--parameters`"
            }
            Self::MissingParameters { stack, keys } => {
                let flags = keys.iter().map(|key| format!("`--parameters {stack}:{key}=…`"));
                return Some(format!("give it: {}", flags.collect::<Vec<_>>().join(" ")));
            }
            Self::NoResources { .. } => {
                "`cdkr` deletes no stack: name only the others, or take it out of the app; if it \
                 is deployed, look at what is left in it, then delete it"
            }
            Self::NoRun(error) if matches!(**error, NoRun::Several(_)) => {
                "name the one that is meant"
            }
            Self::Local(LocalError::NotThere(_)) => {
                "`cdkr local seed` deploys an app to it; stacks to report are named before `--local`"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

fn violations(all: &[Violation]) -> String {
    let lines = all.iter().map(report::violation);
    lines.collect::<Vec<_>>().join("\n")
}

fn altered(all: &[Verification]) -> String {
    let lines = all.iter().flat_map(report::verified_lines).collect::<Vec<_>>();
    format!("resources are not what they were before they were moved\n{}", lines.join("\n"))
}

fn quoted(keys: &[String]) -> String {
    format!("'{}'", keys.join("', '"))
}

fn ticked(names: &[String]) -> String {
    format!("`{}`", names.join("`, `"))
}

impl From<AwsError> for Error {
    fn from(error: AwsError) -> Self {
        Self::Aws(Box::new(error))
    }
}

impl From<FollowError> for Error {
    fn from(error: FollowError) -> Self {
        Self::Follow(Box::new(error))
    }
}

impl From<RepositoryError> for Error {
    fn from(error: RepositoryError) -> Self {
        Self::Repository(Box::new(error))
    }
}

impl From<SettingsError> for Error {
    fn from(error: SettingsError) -> Self {
        Self::Settings(Box::new(error))
    }
}
