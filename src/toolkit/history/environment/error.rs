//! Why the history does not let a use case go on.

use std::path::PathBuf;

use crate::history::{ParseError, Problem, ReplayError};
use crate::model::Environment;

/// Why the history does not let a use case go on. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The log cannot be followed.
    #[error("`{}`: {source}", .file.display())]
    Log {
        /// The file.
        file: PathBuf,
        /// Why.
        source: Problem,
    },
    /// The app is not as the log says.
    #[error(
        "the app is not as the last event of `{}` says: {}. Nothing was changed", .file.display(),
        .differences.join("; ")
    )]
    NotRecorded {
        /// The file.
        file: PathBuf,
        /// The stacks that differ, a phrase each.
        differences: Vec<String>,
    },
    /// The log of an environment is not one.
    #[error("the log of {environment}, `{place}`, cannot be followed. Nothing was changed")]
    Environment {
        /// The account and region.
        environment: Environment,
        /// Where it is.
        place: String,
        /// What is wrong.
        source: ParseError,
    },
    /// An environment cannot catch up.
    #[error("{environment} cannot be brought to the state of the repository")]
    Replay {
        /// The account and region.
        environment: Environment,
        /// Why.
        source: Box<ReplayError>,
    },
    /// Somebody else has changed stacks between which resources are to move.
    #[error(
        "{environment} was changed behind its log's back, and resources are to move there: {}. \
         Nobody can say that these are still the same resources. Nothing was changed",
        .stacks.join("; ")
    )]
    ChangedBehind {
        /// The account and region.
        environment: Environment,
        /// The stacks, with what is the matter: a phrase each.
        stacks: Vec<String>,
    },
    /// Somebody decides what the log denies.
    #[error(
        "{environment}: the history does not say that {}. Nothing was changed", .moves.join("; ")
    )]
    Denied {
        /// The account and region.
        environment: Environment,
        /// The moves, a phrase each.
        moves: Vec<String>,
    },
    /// A list of the only moves that are allowed, and a history that says which ones are made.
    #[error(
        "`--refactor-file` allows these moves and nothing else, and the history of the app says          what has moved in {environment}: only one of them can decide. Nothing was changed"
    )]
    AllowList {
        /// The account and region.
        environment: Environment,
    },
    /// There is no log of this environment.
    #[error("{environment}: {reason}")]
    NoLog {
        /// The account and region.
        environment: Environment,
        /// Why.
        reason: String,
    },
}

impl FollowError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotRecorded { .. } => {
                "`cdkr history record` records the state of the app, with its moves; \
                 `--no-history` goes on without the history"
            }
            Self::ChangedBehind { .. } => {
                "bring the stacks back to what was deployed last, or let the evidence and `--map` \
                 decide: `--no-history`"
            }
            Self::Denied { .. } => {
                "record it, so that it holds everywhere: undo the last event of the log with Git, \
                 then `cdkr history record --map …`; or decide without the history, this once: \
                 `--no-history`"
            }
            Self::AllowList { .. } => "`--no-history` lets the file decide",
            Self::Environment { .. } => {
                "restore an earlier version of this object, or delete it: then the state of the \
                 stacks says where the environment stands"
            }
            Self::Replay { .. } => {
                "`--no-history` lets the evidence and `--map` decide in place of the history"
            }
            Self::Log { .. } => "nothing was changed; `--no-history` goes on without the history",
            Self::NoLog { .. } => return None,
        })
    }
}
