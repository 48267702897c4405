//! What goes wrong when stacks are deployed, in words that say what to do.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::assets::AssetError;
use super::order::Circle;
use super::{DeployedStack, Failure};
use crate::aws::{AwsError, RoleOptionsError};
use crate::model::{Environment, StackStatus, StatusKind};
use crate::template::TemplateError;

/// Why a deployment ended before everything was deployed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeployError {
    /// Stacks wait for each other.
    #[error("{0}. Nothing was changed.")]
    Circle(#[from] Circle),
    /// An environment cannot be told.
    #[error(transparent)]
    Aws(Box<AwsError>),
    /// An asset is not where templates look for it.
    #[error(transparent)]
    Asset(Box<AssetError>),
    /// An option of a role cannot be honoured.
    #[error("stack {stack}: {error}. Nothing was changed.")]
    Role {
        /// The stack, by hierarchical ID.
        stack: String,
        /// Why.
        error: RoleOptionsError,
    },
    /// The bootstrap stack is older than what is needed.
    #[error(
        "{environment}: this deployment needs bootstrap stack version {least}, found {found} \
         ({} needs it). Run `cdk bootstrap {environment}`. Nothing was changed.", .of.join(", ")
    )]
    OldBootstrap {
        /// The account and region.
        environment: Environment,
        /// The version that is needed.
        least: u64,
        /// The version that is there.
        found: u64,
        /// Which stacks and assets need it.
        of: Vec<String>,
    },
    /// There is no bootstrap stack.
    #[error(
        "{environment} is not bootstrapped: there is no stack `{toolkit_stack}` that tells its \
         version, and {} needs version {least}. Run `cdk bootstrap {environment}`, or name the \
         bootstrap stack with `--toolkit-stack-name`. Nothing was changed.", .of.join(", ")
    )]
    NoBootstrap {
        /// The account and region.
        environment: Environment,
        /// The version that is needed.
        least: u64,
        /// The name by which the bootstrap stack was looked for.
        toolkit_stack: String,
        /// Which stacks and assets need it.
        of: Vec<String>,
    },
    /// A parameter is given that no stack has.
    #[error("no selected stack has the parameter `{key}`{}. Nothing was changed.", Meant(.pattern, .stacks))]
    NoSuchParameter {
        /// The parameter.
        key: String,
        /// For which stacks it is given; empty: for all.
        pattern: String,
        /// The selected stacks that are meant, by hierarchical ID.
        stacks: Vec<String>,
    },
    /// The stacks for which a parameter is given cannot be told.
    #[error("`--parameters`: {message}. Nothing was changed.")]
    ParameterPattern {
        /// What is wrong with the pattern.
        message: String,
    },
    /// Stacks could not be deployed.
    #[error("{}", Outcomes(.failed, .not_begun))]
    Stacks {
        /// The stacks that were deployed nevertheless, in the order of their ends.
        deployed: Vec<DeployedStack>,
        /// The stacks that were not, by hierarchical ID; the first is the one that stopped the
        /// others.
        failed: Vec<(String, StackError)>,
        /// The positions of their stages, in the same order.
        stages_failed: Vec<usize>,
        /// The stacks that were not begun, by hierarchical ID.
        not_begun: Vec<String>,
        /// The positions of their stages, in the same order.
        stages_not_begun: Vec<usize>,
    },
    /// It was asked to stop, between stacks.
    #[error("stopped as asked; not begun: {}", .not_begun.join(", "))]
    Cancelled {
        /// The stacks that were deployed, in the order of their ends.
        deployed: Vec<DeployedStack>,
        /// The stacks that were not begun, by hierarchical ID.
        not_begun: Vec<String>,
        /// The positions of their stages, in the same order.
        stages_not_begun: Vec<usize>,
    },
}

impl DeployError {
    /// Whether it ended because it was asked to.
    pub fn is_cancelled(&self) -> bool {
        match self {
            Self::Cancelled { .. } => true,
            Self::Asset(error) => matches!(**error, AssetError::Cancelled),
            Self::Stacks { failed, .. } => failed.iter().any(|(_, error)| error.is_cancelled()),
            _ => false,
        }
    }

    /// Whether a change set was not executed because it would have lost something.
    pub fn is_stopped(&self) -> bool {
        match self {
            Self::Stacks { failed, .. } => {
                failed.iter().any(|(_, error)| matches!(error, StackError::Stopped { .. }))
            }
            _ => false,
        }
    }

    /// Whether CloudFormation goes on with a stack that is not watched any more.
    pub fn goes_on(&self) -> bool {
        match self {
            Self::Stacks { failed, .. } => failed.iter().any(|(_, error)| error.is_running()),
            _ => false,
        }
    }

    /// Whether a stack was left in the middle of its deployment, because it was not to be rolled
    /// back or could not be.
    pub fn is_left_half_done(&self) -> bool {
        let is_stuck = |status: &StackStatus| {
            matches!(
                status.0.as_str(),
                "UPDATE_FAILED" | "CREATE_FAILED" | "UPDATE_ROLLBACK_FAILED"
            )
        };
        match self {
            Self::Stacks { failed, .. } => {
                failed.iter().any(|(_, error)| error.status().is_some_and(is_stuck))
            }
            _ => false,
        }
    }

    /// Returns the stacks that were deployed nevertheless, in the order of their ends.
    pub fn deployed(&self) -> &[DeployedStack] {
        match self {
            Self::Stacks { deployed, .. } | Self::Cancelled { deployed, .. } => deployed,
            _ => &[],
        }
    }
}

/// Of whom a parameter was expected.
struct Meant<'a>(&'a str, &'a [String]);

impl fmt::Display for Meant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(pattern, stacks) = self;
        match (pattern.is_empty(), stacks.is_empty()) {
            (true, _) => write!(f, " ({})", stacks.join(", ")),
            (false, true) => write!(f, ": it is given for `{pattern}`, which is none of them"),
            (false, false) => {
                write!(f, ": it is given for `{pattern}`, which is {}", stacks.join(", "))
            }
        }
    }
}

impl From<AwsError> for DeployError {
    fn from(error: AwsError) -> Self {
        Self::Aws(Box::new(error))
    }
}

impl From<AssetError> for DeployError {
    fn from(error: AssetError) -> Self {
        Self::Asset(Box::new(error))
    }
}

struct Outcomes<'a>(&'a [(String, StackError)], &'a [String]);

impl fmt::Display for Outcomes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.1.is_empty() {
            writeln!(f, "not begun: {}", self.1.join(", "))?;
        }
        for (at, (_, error)) in self.0.iter().enumerate() {
            let end = if at == 0 { "" } else { "\n" };
            write!(f, "{end}{error}")?;
        }
        Ok(())
    }
}

/// Why a stack was not deployed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StackError {
    /// AWS refuses, or cannot be reached.
    #[error(transparent)]
    Aws(#[from] AwsError),
    /// An option of its role cannot be honoured.
    #[error("stack `{stack}`: {error}. It was not changed.")]
    Role {
        /// The stack.
        stack: String,
        /// Why.
        error: RoleOptionsError,
    },
    /// The template cannot be read.
    #[error("`{}`: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The template that is to be sent in place of the app's is none.
    #[error("the template for stack `{stack}` cannot be read: {error}. It was not changed.")]
    Template {
        /// The stack.
        stack: String,
        /// Why.
        error: Box<TemplateError>,
    },
    /// The bucket for a template cannot be used.
    #[error("the template for stack `{stack}` cannot be uploaded: {error}. It was not changed.")]
    Staging {
        /// The stack.
        stack: String,
        /// Why.
        error: Box<AssetError>,
    },
    /// Whoever judges the change does not let it happen.
    #[error(
        "stack `{stack}` in {environment} was not deployed{}\nIts change set was deleted: the \
         stack was not changed.", Reasons(.reasons)
    )]
    Stopped {
        /// The stack.
        stack: String,
        /// The account and region.
        environment: Environment,
        /// Why.
        reasons: Vec<String>,
    },
    /// The stack is in a state on which nothing can be built.
    #[error("stack `{stack}` in {environment} is in {status}: {advice}. It was not changed.")]
    State {
        /// The stack.
        stack: String,
        /// The account and region.
        environment: Environment,
        /// Its status.
        status: StackStatus,
        /// What to do.
        advice: &'static str,
    },
    /// The template is too long for a request, and was not uploaded.
    #[error(
        "the template of stack `{stack}` has {bytes} bytes, {} more than a request takes, and the \
         app names no place to upload it to. Use the default synthesizer, and bootstrap the \
         environment. It was not changed.", .bytes.saturating_sub(crate::aws::MOST_INLINE_BYTES)
    )]
    TooLong {
        /// The stack.
        stack: String,
        /// The length of the template.
        bytes: usize,
    },
    /// An asset of the kind that the CDK had before asset manifests.
    #[error(
        "stack `{stack}`: asset {asset} is one whose place is a parameter of the template \
         (`{parameter}`), as in apps of CDK v1, and cannot be published. Let the app use the \
         default synthesizer (in v1 the context key `@aws-cdk/core:newStyleStackSynthesis`), \
         deploy it once with `cdk deploy`, or publish the asset and say where with \
         `--parameters`. It was not changed."
    )]
    ParameterAsset {
        /// The stack.
        stack: String,
        /// The ID of the asset.
        asset: String,
        /// The parameter.
        parameter: String,
    },
    /// The place of the template is not one.
    #[error(
        "stack `{stack}`: `{url}` is no place of a template (`s3://bucket/key`). It was not changed."
    )]
    TemplateUrl {
        /// The stack.
        stack: String,
        /// What the manifest says.
        url: String,
    },
    /// CloudFormation does not take the change.
    #[error(
        "stack `{stack}` in {environment}: CloudFormation refuses the change: {reason} It was not changed."
    )]
    Refused {
        /// The stack.
        stack: String,
        /// The account and region.
        environment: Environment,
        /// What it says.
        reason: String,
    },
    /// Somebody else has changed the stack in between.
    #[error("stack `{stack}` in {environment} was changed by somebody else just now: deploy again")]
    Obsolete {
        /// The stack.
        stack: String,
        /// The account and region.
        environment: Environment,
    },
    /// The deployment failed.
    #[error("stack `{stack}` in {environment} could not be deployed and is now in {status}{}", Failures(.stack, .failures))]
    Failed {
        /// The stack.
        stack: String,
        /// The account and region.
        environment: Environment,
        /// How it ended.
        status: StackStatus,
        /// What failed, oldest first.
        failures: Vec<Failure>,
    },
    /// What is left of a failed creation cannot be deleted.
    #[error(
        "stack `{stack}` in {environment} is left of a creation that failed and cannot be deleted \
         ({status}): {reason}. Delete it, then deploy again."
    )]
    NotDeleted {
        /// The stack.
        stack: String,
        /// The account and region.
        environment: Environment,
        /// How the deletion ended.
        status: StackStatus,
        /// Why.
        reason: String,
    },
    /// A request may have been lost on the way.
    #[error(
        "stack `{stack}` in {environment}: CloudFormation knows nothing of {what} that it was \
         asked for. Look at the stack, then deploy again."
    )]
    Lost {
        /// The stack.
        stack: String,
        /// The account and region.
        environment: Environment,
        /// What was asked for, such as `the change set cdkr-deploy-1`.
        what: String,
    },
    /// What was begun cannot be watched.
    #[error("stack `{stack}` in {environment}: {}. {error}", GoesOn(.stack, .environment))]
    Unwatched {
        /// The stack.
        stack: String,
        /// The account and region.
        environment: Environment,
        /// Why.
        error: Box<AwsError>,
    },
    /// Something took too long.
    #[error(
        "stack `{stack}` in {environment}: after {} s something is still going on. {}.",
        .waited.as_secs(), GoesOn(.stack, .environment)
    )]
    TimedOut {
        /// The stack.
        stack: String,
        /// The account and region.
        environment: Environment,
        /// For how long.
        waited: Duration,
    },
    /// It was asked to stop.
    #[error("stack `{stack}` in {environment}: stopped as asked. {}", Stop(.stack, .environment, *.running))]
    Cancelled {
        /// The stack.
        stack: String,
        /// The account and region.
        environment: Environment,
        /// Whether CloudFormation goes on.
        running: bool,
    },
}

impl StackError {
    /// Whether it ended because it was asked to.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled { .. })
    }

    /// Returns how the stack is now, if it is known: after a failed deployment, or because
    /// nothing can be built on it.
    pub fn status(&self) -> Option<&StackStatus> {
        match self {
            Self::Failed { status, .. }
            | Self::State { status, .. }
            | Self::NotDeleted { status, .. } => Some(status),
            _ => None,
        }
    }

    /// Whether the deployment failed and CloudFormation has put everything back: the stack has
    /// its last template again, or nothing if it was to be created.
    pub fn is_rolled_back(&self) -> bool {
        matches!(self, Self::Failed { status, .. }
            if matches!(&*status.0, "UPDATE_ROLLBACK_COMPLETE" | "ROLLBACK_COMPLETE"))
    }

    /// Whether the stack is surely as it was before: nothing was executed.
    pub fn left_untouched(&self) -> bool {
        matches!(
            self,
            Self::Role { .. }
                | Self::Io { .. }
                | Self::Template { .. }
                | Self::Staging { .. }
                | Self::Stopped { .. }
                | Self::State { .. }
                | Self::TooLong { .. }
                | Self::ParameterAsset { .. }
                | Self::TemplateUrl { .. }
                | Self::Refused { .. }
                | Self::Cancelled { running: false, .. }
        )
    }

    /// Whether CloudFormation goes on with the stack.
    pub fn is_running(&self) -> bool {
        match self {
            Self::Cancelled { running, .. } => *running,
            Self::TimedOut { .. } | Self::Unwatched { .. } => true,
            other => other.status().is_some_and(|status| status.kind() == StatusKind::Busy),
        }
    }
}

/// Why a change is not to happen.
struct Reasons<'a>(&'a [String]);

impl fmt::Display for Reasons<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|reason| write!(f, "\n  {reason}"))
    }
}

/// How to look at what goes on without us.
struct GoesOn<'a>(&'a str, &'a Environment);

impl fmt::Display for GoesOn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(stack, environment) = self;
        write!(
            f,
            "CloudFormation goes on by itself: `aws cloudformation describe-stack-events \
             --stack-name {stack} --region {}` tells how it ends",
            environment.region
        )
    }
}

/// What a request to stop has left.
struct Stop<'a>(&'a str, &'a Environment, bool);

impl fmt::Display for Stop<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(stack, environment, running) = self;
        if *running {
            write!(f, "{}.", GoesOn(stack, environment))
        } else {
            f.write_str("It was not changed.")
        }
    }
}

struct Failures<'a>(&'a str, &'a [Failure]);

impl fmt::Display for Failures<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(root, failures) = self;
        for Failure { stack, logical_id, resource_type, reason, .. } in *failures {
            // What is nested in the stack says so.
            let nested = if stack == root { "" } else { stack.as_str() };
            let slash = if nested.is_empty() { "" } else { "/" };
            write!(f, "\n  {nested}{slash}{logical_id} ({resource_type}): {reason}")?;
        }
        Ok(())
    }
}
