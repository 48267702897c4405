//! What happens while we work, and the questions that come up.
//!
//! In: nothing. Out: [`Event`]s for whoever watches, [`Question`]s for whoever decides, and the
//! [`Host`] that gets both. Called by every room that works for longer than a moment. Values
//! decide, events narrate: nothing can be learnt only from an event.

use crate::model::{Environment, StackName, StackStatus};

/// Something that happens while we work.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The app is run.
    Synthesizing {
        /// Its command line.
        command: String,
    },
    /// Stacks are read.
    Reading {
        /// The account and region.
        environment: Environment,
        /// How many are read.
        done: usize,
        /// How many there are to be read.
        of: usize,
    },
    /// A stack is busy, and waited for.
    Waiting {
        /// The account and region.
        environment: Environment,
        /// The stack.
        stack: StackName,
        /// Its status.
        status: StackStatus,
    },
    /// A step of a plan begins.
    StepStarted {
        /// The account and region.
        environment: Environment,
        /// Which step, from 1.
        step: usize,
        /// How many there are.
        of: usize,
        /// What it does, such as `move 3 resources between A and B`.
        title: String,
    },
    /// A step of a plan is done.
    StepDone {
        /// The account and region.
        environment: Environment,
        /// Which step, from 1.
        step: usize,
        /// How many there are.
        of: usize,
    },
    /// What we asked AWS for has got another state.
    Remote {
        /// The account and region.
        environment: Environment,
        /// What it is.
        what: Remote,
        /// The ID of a stack refactor, or the name of a change set; for a deletion the stack.
        id: String,
        /// The state, as CloudFormation writes it.
        status: String,
    },
    /// A resource moves (the progress of RFC 0162).
    Moving {
        /// The account and region.
        environment: Environment,
        /// How many resources of the refactor have moved.
        done: usize,
        /// How many are to be moved.
        of: usize,
        /// When, as AWS writes it; `None` if CloudFormation told no event of it.
        at: Option<String>,
        /// What happens to it.
        status: MoveStatus,
        /// Its type.
        resource_type: String,
        /// The place that it leaves, `Stack.LogicalId`.
        source: String,
        /// The place that it gets, `Stack.LogicalId`.
        destination: String,
        /// Why, in the words of the service.
        reason: Option<String>,
    },
    /// A stack is being deployed.
    Deploying {
        /// The account and region.
        environment: Environment,
        /// The stack.
        stack: StackName,
        /// What is special about it; nothing for an ordinary deployment.
        title: Option<String>,
    },
    /// A stack is deployed, or could not be.
    Deployed {
        /// The account and region.
        environment: Environment,
        /// The stack.
        stack: StackName,
        /// What became of it.
        outcome: StackOutcome,
    },
    /// An asset is being published.
    Asset {
        /// The account and region.
        environment: Environment,
        /// Its key in the asset manifest.
        id: String,
        /// What it is.
        kind: AssetKind,
        /// How far it is.
        status: AssetStatus,
        /// How many are published by now.
        done: usize,
        /// How many are to be published.
        of: usize,
    },
    /// A tool that builds or pushes an asset says something.
    Output {
        /// The key of the asset in its manifest.
        id: String,
        /// One line.
        line: String,
    },
    /// Something else happened to a stack that is being changed, or to a resource of it.
    Stack {
        /// The account and region.
        environment: Environment,
        /// The stack.
        stack: StackName,
        /// When, as AWS writes it.
        at: String,
        /// The resource, or the stack itself.
        logical_id: String,
        /// Its type.
        resource_type: String,
        /// What happened, as CloudFormation writes it.
        status: String,
        /// Why, in the words of the service.
        reason: Option<String>,
    },
    /// Something worth knowing: one sentence or more.
    Note {
        /// The text.
        text: String,
    },
}

/// What we ask AWS for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remote {
    /// A stack refactor.
    Refactor,
    /// A change set.
    ChangeSet,
    /// The deletion of a stack.
    Deletion,
}

/// What became of a stack that was to be deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackOutcome {
    /// It is new.
    Created,
    /// It has changed.
    Updated,
    /// There was nothing to change.
    Unchanged,
    /// A change set waits for somebody to execute it.
    Prepared,
    /// It could not be deployed, or was not to be.
    Failed,
}

/// What an asset is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssetKind {
    /// A file, or a directory as an archive.
    File,
    /// A container image.
    Image,
}

/// How far an asset is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssetStatus {
    /// It was there already.
    Exists,
    /// It is built.
    Building,
    /// It is on its way.
    Publishing {
        /// Its size in bytes, if it is known.
        bytes: Option<u64>,
    },
    /// It is there now.
    Published {
        /// Its size in bytes, if it is known.
        bytes: Option<u64>,
    },
}

/// What happens to a resource that moves (RFC 0162).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveStatus {
    /// It is on its way.
    InProgress,
    /// It has moved.
    Complete,
    /// It could not be moved, or was moved back.
    Failed,
}

impl MoveStatus {
    /// Returns the text that RFC 0162 shows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "REFACTOR_IN_PROGRESS",
            Self::Complete => "REFACTOR_COMPLETE",
            Self::Failed => "REFACTOR_FAILED",
        }
    }
}

/// A question with its choices, and the flag that answers it when nobody is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What helps to answer: lines to be shown above it, indented where one belongs to another.
    pub help: Vec<String>,
    /// What is asked: one sentence.
    pub text: String,
    /// The possible answers.
    pub choices: Vec<String>,
    /// The answer that is proposed, an index into `choices`.
    pub default: usize,
    /// How to answer without being asked, such as `--yes`.
    pub flag: String,
}

/// Nobody is there to answer a question.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nobody is there to answer: {question} (`{flag}` answers it)")]
pub struct Unanswered {
    /// What was asked.
    pub question: String,
    /// How to answer without being asked.
    pub flag: String,
}

/// Whoever we work for: a terminal, a pipeline, a program that uses the library.
pub trait Host: Sync {
    /// Takes note of something that happens.
    fn tell(&self, event: &Event);

    /// Answers a question with an index into its choices.
    ///
    /// # Errors
    /// When nobody is there to answer.
    fn ask(&self, question: &Question) -> Result<usize, Unanswered>;
}

/// A host that watches nothing and answers nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Host for Silent {
    fn tell(&self, _: &Event) {}

    fn ask(&self, question: &Question) -> Result<usize, Unanswered> {
        Err(Unanswered { question: question.text.clone(), flag: question.flag.clone() })
    }
}
