//! What goes wrong when stacks are deployed, in words that say what to do.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::assets::AssetError;
use super::order::Circle;
use super::{DeployedStack, Failure};
use crate::aws::{AwsError, RoleOptionsError};
use crate::model::{Environment, StackStatus};

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
    /// Stacks could not be deployed.
    #[error("{}", Outcomes(.failed, .not_begun))]
    Stacks {
        /// The stacks that were deployed nevertheless, in the order of their ends.
        deployed: Vec<DeployedStack>,
        /// The stacks that were not, by hierarchical ID; the first is the one that stopped the
        /// others.
        failed: Vec<(String, StackError)>,
        /// The stacks that were not begun, by hierarchical ID.
        not_begun: Vec<String>,
    },
    /// It was asked to stop, between stacks.
    #[error("stopped as asked; not begun: {}", .not_begun.join(", "))]
    Cancelled {
        /// The stacks that were deployed, in the order of their ends.
        deployed: Vec<DeployedStack>,
        /// The stacks that were not begun, by hierarchical ID.
        not_begun: Vec<String>,
    },
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
    #[error("stack `{stack}` in {environment} could not be deployed and is now in {status}{}", Failures(.failures))]
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
        "stack `{stack}` in {environment}: CloudFormation knows nothing of the change set {name} \
         that it was asked for. Look at the stack, then deploy again."
    )]
    Lost {
        /// The stack.
        stack: String,
        /// The account and region.
        environment: Environment,
        /// The change set.
        name: String,
    },
    /// Something took too long.
    #[error("stack `{stack}` in {environment}: after {} s something is still going on. It goes on without us.", .waited.as_secs())]
    TimedOut {
        /// The stack.
        stack: String,
        /// The account and region.
        environment: Environment,
        /// For how long.
        waited: Duration,
    },
    /// It was asked to stop.
    #[error("stack `{stack}` in {environment}: stopped as asked{}", if *.running { "; its deployment goes on without us" } else { ". It was not changed." })]
    Cancelled {
        /// The stack.
        stack: String,
        /// The account and region.
        environment: Environment,
        /// Whether CloudFormation goes on.
        running: bool,
    },
}

struct Failures<'a>(&'a [Failure]);

impl fmt::Display for Failures<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Failure { logical_id, resource_type, reason } in self.0 {
            write!(f, "\n  {logical_id} ({resource_type}): {reason}")?;
        }
        Ok(())
    }
}
