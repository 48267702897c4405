//! Why something about the log in the repository fails.

use std::io;
use std::path::PathBuf;

use crate::history::{
    ComposeError, Conflict, EventHash, ParseError, Problem, RevisionError, StackKey,
};

/// Why something about the log in the repository fails. Unless it says otherwise nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// There is no log.
    #[error("there is no `{}`: nothing was recorded yet", .0.display())]
    NoLog(PathBuf),
    /// A file cannot be read.
    #[error("cannot read `{}`", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write `{}`", .file.display())]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A log is damaged, or has branched.
    #[error("`{}`, {problem}", .file.display())]
    Log {
        /// The file.
        file: PathBuf,
        /// Where, and what is wrong.
        problem: Box<ParseError>,
    },
    /// Somebody else wrote while we worked.
    #[error("`{}` was changed in the meantime. Nothing was recorded: try again", .0.display())]
    Changed(PathBuf),
    /// What is to be recorded cannot have happened.
    #[error("the state of the app cannot be recorded: {0}")]
    Refused(Problem),
    /// The app has two stacks of one name in one environment.
    #[error("the app has two stacks called {0}: a history could not tell them apart")]
    SameStack(StackKey),
    /// A decision about an event that was recorded already.
    #[error(
        "the app is as the last event of the log says, {}: a decision comes too late for it. \
         Nothing was recorded", .0.short()
    )]
    TooLate(EventHash),
    /// The templates of a state are nowhere.
    #[error(
        "the templates of {} as they were at {} are neither in `cdkr.history/` nor in Git's \
         history, and without them nobody can say what moved. Nothing was recorded",
        list(.stacks), .event.short()
    )]
    NoTemplates {
        /// The event.
        event: EventHash,
        /// The stacks.
        stacks: Vec<StackKey>,
    },
    /// What was given for a state is another one.
    #[error(
        "the assembly of `--against` is not the last state of the log, {}: {} differ. Nothing was \
         recorded", .event.short(), list(.stacks)
    )]
    AnotherState {
        /// The event.
        event: EventHash,
        /// The stacks.
        stacks: Vec<StackKey>,
    },
    /// Two branches do not fit together.
    #[error("{conflict}")]
    Merge {
        /// Why.
        conflict: Box<Conflict>,
        /// The options that would decide it.
        maps: Vec<String>,
    },
    /// A decision names what no branch has.
    #[error("{origin}: no branch has a resource `{name}` that is called otherwise now")]
    NotInBranches {
        /// The name.
        name: String,
        /// Where it was said.
        origin: String,
    },
    /// A decision names what the merged app does not have.
    #[error("{origin}: `{name}` is not in the merged app")]
    NotMerged {
        /// The name.
        name: String,
        /// Where it was said.
        origin: String,
    },
    /// No event is called so.
    #[error(transparent)]
    Revision(#[from] RevisionError),
    /// Moves cannot be told.
    #[error(transparent)]
    Compose(#[from] ComposeError),
    /// The stack is not in the state.
    #[error("there is no stack `{stack}` at {}; there are {}", .event.short(), .stacks.join(", "))]
    NoStack {
        /// The stack.
        stack: String,
        /// The event.
        event: EventHash,
        /// Those that there are.
        stacks: Vec<String>,
    },
    /// Git is not there, or does not do what it is told.
    #[error("`git {command}` failed: {message}")]
    Git {
        /// What it was told.
        command: String,
        /// What it says.
        message: String,
    },
    /// A hook that somebody else has written.
    #[error("`{}` is there already, and somebody else has written it. Nothing was changed", .file.display())]
    ForeignHook {
        /// The file.
        file: PathBuf,
        /// What to add to it.
        lines: String,
    },
}

fn list(stacks: &[StackKey]) -> String {
    let names: Vec<String> = stacks.iter().map(|key| format!("`{key}`")).collect();
    names.join(", ")
}

impl RepositoryError {
    /// What to do about it, if something can be said.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoLog(_) => "`cdkr history record` begins the log with the app as it is now; \
                               `--against DIRECTORY` with what is deployed"
                .to_owned(),
            Self::TooLate(_) => {
                "if that event was not deployed yet, take `cdkr.history.jsonl` and \
                                 `cdkr.history/` from the commit before it and record it again \
                                 with the decision"
                    .to_owned()
            }
            Self::NoTemplates { .. } => "commit `cdkr.history/` with `cdkr.history.jsonl`; now \
                                         give the assembly of that state: `cdkr history record \
                                         --against DIRECTORY`"
                .to_owned(),
            Self::AnotherState { .. } => "synthesize the revision of the app that was recorded \
                                          last, and give that directory"
                .to_owned(),
            Self::Merge { maps, .. } if !maps.is_empty() => {
                format!("if these are the same: cdkr history merge {}", maps.join(" "))
            }
            Self::ForeignHook { lines, .. } => {
                format!("add this to it, or replace it with `--force`:\n{lines}")
            }
            Self::SameStack(_) => "give the stacks different names (`stackName`), or different \
                                   environments (`env`)"
                .to_owned(),
            _ => return None,
        })
    }
}
