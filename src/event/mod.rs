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
}

/// A question with its choices, and the flag that answers it when nobody is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
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
