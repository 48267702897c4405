//! What goes wrong between us and AWS, in words that say what to do.

use std::fmt;
use std::time::Duration;

use crate::model::{Environment, StackName, StackStatus};

/// Which call was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The operation, as the service calls it: `GetTemplate`.
    pub operation: &'static str,
    /// The account and region.
    pub environment: Environment,
    /// The stack that it is about.
    pub stack: Option<String>,
}

/// Why a call failed, as far as it makes a difference for what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// No credentials were found, or they cannot be loaded.
    NoCredentials,
    /// The credentials are no longer valid.
    Expired,
    /// The credentials are not known to AWS or are wrong.
    Invalid,
    /// The credentials do not allow the call.
    Denied,
    /// Too many requests, and waiting did not help.
    Throttled,
    /// The service cannot be reached. The request may have arrived nevertheless.
    Connection,
    /// No answer in time. The request may have arrived nevertheless.
    Timeout,
    /// The request is larger than what the service takes.
    TooLarge,
    /// What came back is no answer of the service.
    NotAnAnswer,
    /// The service is at fault (5xx). The request may have taken effect.
    Server,
    /// The service refuses: its code and message say why.
    Refused,
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// The call.
    pub call: Call,
    /// Why.
    pub cause: Cause,
    /// The code of the service.
    pub code: Option<String>,
    /// What the service or the system says; holds no credentials.
    pub message: String,
}

impl CallError {
    /// Whether the service cannot have acted: it refused before doing anything.
    pub fn had_no_effect(&self) -> bool {
        !matches!(
            self.cause,
            Cause::Connection | Cause::Timeout | Cause::NotAnAnswer | Cause::Server
        )
    }

    /// Whether the service says that there is no such stack. CloudFormation has no code of its
    /// own for that.
    pub fn is_missing_stack(&self) -> bool {
        self.code.as_deref() == Some("ValidationError") && self.message.contains("does not exist")
    }

    fn advice(&self) -> Option<&'static str> {
        Some(match self.cause {
            Cause::NoCredentials => {
                "Set up credentials (`aws configure`, `aws sso login`) or name a profile with \
                 `--profile`."
            }
            Cause::Expired => "Log in again (`aws sso login`) or renew the credentials.",
            Cause::Invalid => {
                "Check which credentials are in use (`aws sts get-caller-identity`), or name a \
                 profile with `--profile`. A region that is not enabled for the account looks the \
                 same."
            }
            Cause::Denied => {
                "Use credentials that are allowed to, or bootstrap the environment again \
                 (`cdk bootstrap`) so that its roles are."
            }
            Cause::Throttled => "Try again later, or with a lower `--concurrency`.",
            Cause::Connection => {
                "Check the network, the proxy, and that the region exists (`--region`)."
            }
            Cause::Timeout => "Check the network, and try again.",
            Cause::TooLarge => "A template of this size has to go through the staging bucket.",
            Cause::NotAnAnswer => "Something between here and AWS answers instead: a proxy?",
            Cause::Server | Cause::Refused => return None,
        })
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Call { operation, environment, stack } = &self.call;
        if let Some(stack) = stack {
            write!(f, "stack `{stack}` in {environment}: ")?;
        } else {
            write!(f, "{environment}: ")?;
        }
        match self.cause {
            Cause::NoCredentials => write!(f, "there are no AWS credentials for {operation}")?,
            Cause::Expired => write!(f, "the AWS credentials have expired ({operation})")?,
            Cause::Invalid => write!(f, "AWS does not accept the credentials ({operation})")?,
            Cause::Denied => write!(f, "{operation} is not allowed")?,
            Cause::Throttled => write!(f, "AWS still throttles {operation} after many attempts")?,
            Cause::Connection => write!(f, "AWS cannot be reached for {operation}")?,
            Cause::Timeout => write!(f, "AWS does not answer {operation} in time")?,
            Cause::TooLarge => write!(f, "the request of {operation} is too large")?,
            Cause::NotAnAnswer => write!(f, "the answer to {operation} cannot be read")?,
            Cause::Server => write!(f, "AWS fails at {operation}")?,
            Cause::Refused => write!(f, "{operation} failed")?,
        }
        let message = self.message.trim().trim_end_matches('.');
        match (&self.code, message) {
            (Some(code), "") => write!(f, ": {code}.")?,
            (Some(code), message) => write!(f, ": {message} ({code}).")?,
            (None, "") => write!(f, ".")?,
            (None, message) => write!(f, ": {message}.")?,
        }
        self.advice().map_or(Ok(()), |advice| write!(f, " {advice}"))
    }
}

impl std::error::Error for CallError {}

/// What goes wrong between us and AWS.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AwsError {
    /// A call failed.
    #[error(transparent)]
    Call(Box<CallError>),
    /// An environment-agnostic stack, and no region anywhere.
    #[error(
        "no region is set, and the app leaves it open: name one with `--region`, `AWS_REGION` or \
         in the profile"
    )]
    NoRegion,
    /// The credentials are of another account, and no role leads to the right one.
    #[error(
        "{environment} needs credentials for account {}, but the current ones are for account \
         {account}. Name a profile of that account with `--profile`, or bootstrap it with \
         `cdk bootstrap --trust {account} {environment}`.{}", .environment.account, Refusals(.refused)
    )]
    WrongAccount {
        /// The account and region.
        environment: Environment,
        /// The account of the current credentials.
        account: String,
        /// The roles that could not be assumed, with why.
        refused: Vec<(String, String)>,
    },
    /// A stack was named that is not there.
    #[error("there is no stack `{stack}` in {environment} (`--additional-stack-name`)")]
    NoSuchStack {
        /// The account and region.
        environment: Environment,
        /// The stack.
        stack: String,
    },
    /// A nested stack was named as if it were one of its own.
    #[error(
        "`{stack}` in {environment} is nested in another stack ({parent}): name that one \
         (`--additional-stack-name`)"
    )]
    NamedNested {
        /// The account and region.
        environment: Environment,
        /// The stack.
        stack: String,
        /// The ARN of the stack that it is nested in.
        parent: String,
    },
    /// Something is going on in stacks that are to be read.
    #[error(
        "{environment}: something is going on in {}. Try again when it has ended, or let `--wait` \
         wait for it. Nothing was changed.", Stacks(.stacks)
    )]
    Busy {
        /// The account and region.
        environment: Environment,
        /// The stacks, sorted.
        stacks: Vec<(StackName, StackStatus)>,
    },
    /// Something went on for longer than we wait.
    #[error(
        "{environment}: after {} s something is still going on in {}. Nothing was changed.",
        .waited.as_secs(), Stacks(.stacks)
    )]
    StillBusy {
        /// The account and region.
        environment: Environment,
        /// The stacks, sorted.
        stacks: Vec<(StackName, StackStatus)>,
        /// For how long.
        waited: Duration,
    },
    /// Stacks are in a state that somebody has to repair.
    #[error(
        "{environment}: the last operation left {} in a state that has to be repaired first.{} \
         Nothing was changed.", Stacks(.stacks), Repairs(.stacks)
    )]
    Broken {
        /// The account and region.
        environment: Environment,
        /// The stacks, sorted.
        stacks: Vec<(StackName, StackStatus)>,
    },
    /// The template of a stack cannot be read.
    #[error("the template of stack `{stack}` in {environment} cannot be read: {error}")]
    Template {
        /// The account and region.
        environment: Environment,
        /// The stack.
        stack: StackName,
        /// Why.
        error: crate::template::TemplateError,
    },
    /// Stacks are nested deeper than can be.
    #[error("stack `{stack}` in {environment} is nested deeper than {limit} levels")]
    TooDeep {
        /// The account and region.
        environment: Environment,
        /// The stack.
        stack: StackName,
        /// The bound.
        limit: usize,
    },
    /// An answer lacks what it always has.
    #[error("the answer to {} in {} has no {what}{}", .call.operation, .call.environment,
        .call.stack.as_ref().map(|stack| format!(" (stack `{stack}`)")).unwrap_or_default())]
    Incomplete {
        /// The call.
        call: Call,
        /// What it lacks.
        what: &'static str,
    },
    /// The version of the bootstrap stack is no number.
    #[error("the bootstrap version of {environment} is `{found}`, which is no number ({place})")]
    BootstrapVersion {
        /// The account and region.
        environment: Environment,
        /// What stands there.
        found: String,
        /// Where it stands.
        place: String,
    },
}

impl AwsError {
    /// Returns the code of the service, if it answered with one.
    pub fn code(&self) -> Option<&str> {
        self.call()?.code.as_deref()
    }

    /// Returns the call that failed, if one did.
    pub fn call(&self) -> Option<&CallError> {
        match self {
            Self::Call(error) => Some(error),
            _ => None,
        }
    }

    /// Returns why the call failed, if one did.
    pub fn cause(&self) -> Option<Cause> {
        self.call().map(|error| error.cause)
    }

    /// Whether the service says that there is no such stack.
    pub fn is_missing_stack(&self) -> bool {
        self.call().is_some_and(CallError::is_missing_stack)
    }
}

impl From<CallError> for AwsError {
    fn from(error: CallError) -> Self {
        Self::Call(Box::new(error))
    }
}

/// Roles that could not be assumed.
struct Refusals<'a>(&'a [(String, String)]);

impl fmt::Display for Refusals<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (role, reason) in self.0 {
            write!(f, " The role {role} cannot be assumed: {reason}")?;
        }
        Ok(())
    }
}

/// Stacks with their status.
struct Stacks<'a>(&'a [(StackName, StackStatus)]);

impl fmt::Display for Stacks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (stack, status)) in self.0.iter().enumerate() {
            let separator = match at {
                0 => "",
                at if at + 1 == self.0.len() => " and ",
                _ => ", ",
            };
            write!(f, "{separator}`{stack}` ({status})")?;
        }
        Ok(())
    }
}

/// What to do about broken stacks.
struct Repairs<'a>(&'a [(StackName, StackStatus)]);

impl fmt::Display for Repairs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has = |statuses: &[&str]| {
            self.0.iter().any(|(_, status)| statuses.contains(&status.0.as_str()))
        };
        if has(&["UPDATE_ROLLBACK_FAILED"]) {
            f.write_str(" UPDATE_ROLLBACK_FAILED: `aws cloudformation continue-update-rollback`.")?;
        }
        if has(&["UPDATE_FAILED"]) {
            f.write_str(
                " UPDATE_FAILED: `aws cloudformation rollback-stack`, or deploy again with \
                 `cdkr deploy --no-rollback`.",
            )?;
        }
        if has(&["DELETE_FAILED", "ROLLBACK_FAILED"]) {
            f.write_str(
                " DELETE_FAILED, ROLLBACK_FAILED: find the resource that cannot be deleted in the \
                 stack's events, and delete the stack again.",
            )?;
        }
        if has(&["IMPORT_ROLLBACK_FAILED"]) {
            f.write_str(" IMPORT_ROLLBACK_FAILED: see the stack's events.")?;
        }
        Ok(())
    }
}
