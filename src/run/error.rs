//! Why a run has stopped, what was left untouched, and what to do next.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::journal::JournalError;
use super::reasons::Reason;
use crate::aws::{AwsError, Cause};
use crate::model::{Environment, StackStatus};

/// Why a run has stopped.
#[derive(Debug)]
pub struct RunError {
    /// What happened.
    pub problem: Box<Problem>,
    /// The journal, if there is one: nothing was changed otherwise.
    pub journal: Option<PathBuf>,
    /// How many steps are done.
    pub done: usize,
    /// How many steps there are.
    pub of: usize,
}

/// What happened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The plan has findings that forbid it.
    #[error("the plan cannot be carried out: {}", .findings.join("; "))]
    PlanRefused {
        /// The findings.
        findings: Vec<String>,
    },
    /// The plan or the journal does not fit together.
    #[error("the plan is not whole: {message}")]
    Malformed {
        /// Why.
        message: String,
    },
    /// The journal cannot be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Another process works in this environment.
    #[error("process {process} on {host} is working on {environment} since {since}")]
    Locked {
        /// The account and region.
        environment: Environment,
        /// Its number.
        process: u32,
        /// Where it runs.
        host: String,
        /// Since when.
        since: String,
    },
    /// A call failed.
    #[error(transparent)]
    Aws(#[from] AwsError),
    /// A stack is not there.
    #[error("stack `{stack}` is not there any more")]
    Missing {
        /// The stack.
        stack: String,
    },
    /// A stack cannot be changed now.
    #[error("stack `{stack}` cannot be changed while its status is {status}")]
    NotReady {
        /// The stack.
        stack: String,
        /// Its status.
        status: StackStatus,
    },
    /// The name of a new stack is taken.
    #[error("stack `{stack}` was to be created, but it is there already ({status})")]
    NameTaken {
        /// The stack.
        stack: String,
        /// Its status.
        status: StackStatus,
    },
    /// A stack is not what the plan was made for.
    #[error("the template of stack `{stack}` was changed since the plan was made")]
    Changed {
        /// The stack.
        stack: String,
    },
    /// A stack is not what the run has left.
    #[error("the template of stack `{stack}` was changed since the run that is to be undone")]
    ChangedSince {
        /// The stack.
        stack: String,
    },
    /// A template is too long for a request, and there is no bucket for it.
    #[error(
        "the template of stack `{stack}` has {bytes} bytes and has to go through the staging \
         bucket `{bucket}`, which cannot be used: {error}"
    )]
    NoBucket {
        /// The stack.
        stack: String,
        /// How long its template is.
        bytes: usize,
        /// The bucket.
        bucket: String,
        /// Why it cannot be used; the text of this error says it.
        error: Box<AwsError>,
    },
    /// CloudFormation refuses a refactor in its preview.
    #[error("CloudFormation refuses the move{}", Told(.0))]
    Refused(Box<Reason>),
    /// A preview does not do what it was asked for.
    #[error(
        "the preview of the move is not what was asked for, so it was not executed: {}",
        .differences.join("; ")
    )]
    Unasked {
        /// How it differs.
        differences: Vec<String>,
    },
    /// Previews go stale again and again.
    #[error("the preview of the move went stale {attempts} times{}", Told(.reason))]
    Obsolete {
        /// How often.
        attempts: usize,
        /// What CloudFormation says.
        reason: Box<Reason>,
    },
    /// Requests get lost again and again.
    #[error("the request got lost {attempts} times; CloudFormation does not know of it")]
    Lost {
        /// How often.
        attempts: usize,
    },
    /// A refactor failed and was undone by CloudFormation.
    #[error("the move failed, and CloudFormation has undone it{}", Told(.0))]
    Undone(Box<Reason>),
    /// A refactor failed and was not undone.
    #[error(
        "the move failed, and CloudFormation has not undone it ({}){}",
        Stacks(.stacks), Told(.reason)
    )]
    Broken {
        /// What CloudFormation says.
        reason: Box<Reason>,
        /// The stacks and where they stand.
        stacks: Vec<(String, StackStatus)>,
    },
    /// The templates are neither as before nor as after.
    #[error(
        "CloudFormation does not know the request any more, and the templates of {} are neither \
         as they were nor as they were to be", .stacks.join(", ")
    )]
    Diverged {
        /// The stacks.
        stacks: Vec<String>,
    },
    /// A change set was refused.
    #[error("the change set for stack `{stack}` was refused: {reason}")]
    ChangeSetRefused {
        /// The stack.
        stack: String,
        /// What CloudFormation says.
        reason: String,
    },
    /// A change set would do more than it should.
    #[error(
        "the change set for stack `{stack}` is not what was asked for, so it was not executed: {}",
        .differences.join("; ")
    )]
    UnexpectedChange {
        /// The stack.
        stack: String,
        /// How it differs.
        differences: Vec<String>,
    },
    /// The change of a stack failed.
    #[error("the change of stack `{stack}` failed ({status}): {}", .reasons.join("; "))]
    ChangeFailed {
        /// The stack.
        stack: String,
        /// Its status.
        status: StackStatus,
        /// What CloudFormation says of its resources.
        reasons: Vec<String>,
    },
    /// A stack that was to be deleted holds something.
    #[error("stack `{stack}` is not deleted, since it holds {}", .resources.join(", "))]
    NotEmpty {
        /// The stack.
        stack: String,
        /// What it holds.
        resources: Vec<String>,
    },
    /// A stack could not be deleted.
    #[error("stack `{stack}` could not be deleted ({status}): {reason}")]
    NotDeleted {
        /// The stack.
        stack: String,
        /// Its status.
        status: StackStatus,
        /// Why.
        reason: String,
    },
    /// Something takes longer than we wait.
    #[error("after {} s, {what} is still going on", .waited.as_secs())]
    TimedOut {
        /// What.
        what: String,
        /// For how long it was waited for.
        waited: Duration,
    },
    /// The run was asked to stop.
    #[error("stopped on request; {}", Running(.running))]
    Cancelled {
        /// What is still going on at AWS.
        running: Vec<String>,
    },
    /// The run was undone.
    #[error("the run was undone by another one; there is nothing to continue")]
    AlreadyReverted,
    /// A reversal of the run was begun.
    #[error("a reversal of the run was begun, so it is not continued")]
    BeingReverted,
    /// A reversal cannot be reversed.
    #[error("the run is itself the reversal of another one")]
    IsReversal,
    /// A test stopped the run.
    #[error("stopped by a hook")]
    Stopped,
}

impl Problem {
    /// Whether trying the same again would end the same way. What is not final leaves the run
    /// interrupted.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Aws(error) => matches!(error.cause(), Some(Cause::Refused | Cause::TooLarge)),
            Self::Journal(_)
            | Self::TimedOut { .. }
            | Self::Cancelled { .. }
            | Self::Locked { .. }
            | Self::Stopped => false,
            _ => true,
        }
    }

    fn remedy(&self) -> String {
        let text = match self {
            Self::Refused(reason) | Self::Undone(reason) => return reason.remedy.clone(),
            Self::Obsolete { .. } => "Try again when nobody else deploys.",
            Self::Changed { .. } => "Make the plan again.",
            Self::Missing { .. } | Self::Diverged { .. } => {
                "Find out who else has changed the stacks, and make the plan again."
            }
            Self::NotReady { status, .. } if status.0.ends_with("_IN_PROGRESS") => {
                "Wait until nothing is going on in it, and try again."
            }
            Self::NotReady { .. } => "Repair the stack first.",
            Self::NameTaken { status, .. } if status.0 == "REVIEW_IN_PROGRESS" => {
                "Nothing was ever deployed to it: delete it, if nobody is about to use it \
                 (`aws cloudformation delete-stack`)."
            }
            Self::NameTaken { .. } => "Make the plan again.",
            Self::NoBucket { .. } => {
                "Bootstrap the environment (`cdk bootstrap`), or name its bootstrap stack with \
                 `--toolkit-stack-name`."
            }
            Self::Locked { .. } => "Wait until it has ended.",
            Self::Broken { .. } => {
                "Look at the events of the stacks. UPDATE_ROLLBACK_FAILED: `aws cloudformation \
                 continue-update-rollback`. When the stacks are stable again, `cdkr resume` finds \
                 out from their templates where they stand."
            }
            Self::ChangedSince { .. } => {
                "The way back has to be planned from the templates as they are now."
            }
            Self::BeingReverted => "`cdkr revert` continues the reversal.",
            Self::IsReversal => "`cdkr resume` continues it if it was interrupted.",
            Self::NotDeleted { .. } | Self::NotEmpty { .. } => "Delete it by hand.",
            _ => "",
        };
        text.to_owned()
    }
}

impl RunError {
    /// Returns the error of a run that was not begun.
    pub fn of(problem: Problem) -> Self {
        Self { problem: Box::new(problem), journal: None, done: 0, of: 0 }
    }

    /// Returns what to do next; empty if nobody knows.
    pub fn hint(&self) -> String {
        let mut hint = self.problem.remedy();
        if self.journal.is_some() && !matches!(*self.problem, Problem::AlreadyReverted) {
            let advice = match (self.problem.is_final(), self.done) {
                (true, 0) => "",
                (true, _) => {
                    "`cdkr resume` tries the rest again, `cdkr revert` undoes what is done."
                }
                (false, _) => "`cdkr resume` continues, `cdkr revert` undoes what is done.",
            };
            if !hint.is_empty() && !advice.is_empty() {
                hint.push(' ');
            }
            hint.push_str(advice);
        }
        hint
    }

    /// Whether the run was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        matches!(*self.problem, Problem::Cancelled { .. })
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = self.problem.to_string();
        let problem = problem.trim_end_matches('.');
        let stop = if problem.ends_with(['?', '!']) { "" } else { "." };
        write!(f, "{problem}{stop}")?;
        match (&self.journal, self.done) {
            (None, _) => f.write_str(" Nothing was changed."),
            (Some(_), 0) if self.is_harmless() => f.write_str(" Nothing was changed."),
            (Some(_), 0) => Ok(()),
            (Some(_), done) => {
                write!(f, " {done} of {} steps are done; the others were not begun", self.of)?;
                f.write_str(if self.is_harmless() {
                    ", or came to nothing."
                } else {
                    " but for this one."
                })
            }
        }
    }
}

impl RunError {
    /// Whether the step in which it happened has changed nothing.
    fn is_harmless(&self) -> bool {
        match &*self.problem {
            Problem::Broken { .. }
            | Problem::Diverged { .. }
            | Problem::TimedOut { .. }
            | Problem::NotDeleted { .. }
            | Problem::Stopped => false,
            Problem::Cancelled { running } => running.is_empty(),
            Problem::Aws(error) => error.call().is_none_or(crate::aws::CallError::had_no_effect),
            _ => true,
        }
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.problem.source()
    }
}

/// A reason, in our words and those of the service.
struct Told<'a>(&'a Reason);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reason { stack, resource, meaning, text, .. } = self.0;
        match (resource, stack) {
            (Some(resource), Some(stack)) => write!(f, " of `{stack}.{resource}`")?,
            (Some(resource), None) => write!(f, " of `{resource}`")?,
            (None, Some(stack)) => write!(f, " (stack `{stack}`)")?,
            (None, None) => {}
        }
        if !meaning.is_empty() {
            write!(f, ": {meaning}")?;
        }
        match text.trim_end_matches('.') {
            "" => Ok(()),
            text => write!(f, ". CloudFormation says: {text}"),
        }
    }
}

/// Stacks and where they stand.
struct Stacks<'a>(&'a [(String, StackStatus)]);

impl fmt::Display for Stacks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (stack, status)) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            write!(f, "{separator}`{stack}` is {status}")?;
        }
        Ok(())
    }
}

/// What is still going on.
struct Running<'a>(&'a [String]);

impl fmt::Display for Running<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("nothing is going on at AWS"),
            running => write!(f, "still going on at AWS: {}", running.join("; ")),
        }
    }
}
