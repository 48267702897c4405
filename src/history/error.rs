//! What can be wrong with a log.

use std::fmt;

use super::event::StackKey;
use super::hash::EventHash;
use super::wire::VERSION;
use crate::model::Location;

/// Why the text of a log cannot be taken. Nothing of it was taken.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a line, or with an event that is to become one.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The last line does not end.
    #[error(
        "the last line ends in the middle: the log was cut off. Take the file from version \
         control again"
    )]
    Truncated,
    /// The hash is not that of the line.
    #[error(
        "the line was edited: it says that its hash is {}, but it is {}. A log is only added to; \
         take the line from version control again", .stated.short(), .actual.short()
    )]
    Edited {
        /// What the line says.
        stated: EventHash,
        /// What it is.
        actual: EventHash,
    },
    /// The hash is right, but the line is written in another way.
    #[error(
        "the line was edited: it says the same but is not written as cdkr writes it. Take it from \
         version control again, and keep formatters away from the file"
    )]
    Reformatted,
    /// The line ends as on Windows.
    #[error(
        "the line ends with a carriage return. Keep Git from converting the file: put \
         `cdkr.history.jsonl -text` into .gitattributes, and check it out again"
    )]
    CarriageReturn,
    /// Git could not merge.
    #[error(
        "this is a mark of a merge conflict. Leave the file as it is: `cdkr history merge` reads \
         both branches' lines"
    )]
    ConflictMark,
    /// It is something else.
    #[error(
        "this is not an event: {message}. A log is only added to; take the line from version \
         control again"
    )]
    Malformed {
        /// Why.
        message: String,
    },
    /// A newer program has written it.
    #[error(
        "the line has version {found}; this program knows versions up to {VERSION}. Use the \
         version of cdkr that has written it, or a newer one"
    )]
    Newer {
        /// Its version.
        found: u64,
    },
    /// No line before has this hash.
    #[error("the event before this one, {}, {}", .parent.short(), missing(*.below))]
    UnknownParent {
        /// The hash.
        parent: EventHash,
        /// The line below that has it, if there is one.
        below: Option<usize>,
    },
    /// An event without parents that is not the first.
    #[error(
        "a second history begins here: the event names none before it. Logs that began \
         separately cannot be joined; keep one of them and record the present state in it"
    )]
    SecondBeginning,
    /// Several events are the last.
    #[error(
        "the log has branched: {}. Merge the branches with `cdkr history merge`", list(.heads)
    )]
    Branched {
        /// The last events.
        heads: Vec<Head>,
    },
    /// The same event twice.
    #[error("this event stands in line {first} already. Remove one of the two lines")]
    Duplicate {
        /// The line of the first, from 1.
        first: usize,
    },
    /// What it says cannot have happened.
    #[error("what the event says cannot have happened: {0}. Nothing was recorded")]
    Inconsistent(Inconsistency),
}

/// An event after which there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The event.
    pub event: EventHash,
    /// Its line, from 1.
    pub line: usize,
}

/// Why what an event says cannot have happened.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inconsistency {
    /// A stack is created that exists, or that is told of twice.
    #[error("the stack {0} exists already")]
    StackExists(StackKey),
    /// A stack is updated or deleted that does not exist.
    #[error("there is no stack {0}")]
    NoStack(StackKey),
    /// Two stacks would have one name in one environment.
    #[error("the stacks {} and {} have one name in one environment", .0.0, .0.1)]
    StacksOverlap(Box<(StackKey, StackKey)>),
    /// A resource is removed that does not exist.
    #[error("there is no resource {0} in the stack {1} that could be removed")]
    NoResource(String, StackKey),
    /// The old name of a move.
    #[error("there was no resource {0} that could have got the name {1}")]
    NoSource(Location, Location),
    /// The new name of a move.
    #[error("there is no resource {1} now that was called {0}")]
    NoDestination(Location, Location),
    /// A move between types.
    #[error("{0} and {1} are not of one type")]
    TypesDiffer(Location, Location),
    /// One resource moves twice, or does not move at all, or two become one.
    #[error("{0} has two names at once, or is a name of two resources, or did not move")]
    NotOneToOne(Location),
    /// Two parents only in a merge, each with the names that were there.
    #[error("a merge has two parents, the smaller hash first, and each of its moves names one")]
    Parents,
    /// A state that is said to be an earlier one.
    #[error("the state is not that of the event {}, or that one does not come before", .0.short())]
    NotTheSame(EventHash),
    /// A move on the way to an event of the repository that is not one of those that lead there.
    #[error("the move of {0} to {1} is none of those on the way that the event names")]
    NotOnTheWay(Location, Location),
    /// A merge of an event with one that came before it.
    #[error("one of the merged events comes before the other")]
    NothingToMerge,
    /// Branches that were merged crosswise, which leaves open what they have in common.
    #[error("{}", crosswise(.0))]
    Crosswise(Vec<EventHash>),
    /// A name that could not be read again.
    #[error("a name in it cannot be written so that it reads back (an empty name, or a dot)")]
    Unwritable,
}

/// Why branches cannot be merged that were merged crosswise before.
pub(super) fn crosswise(ancestors: &[EventHash]) -> String {
    let ancestors: Vec<String> = ancestors.iter().map(EventHash::short).collect();
    format!(
        "the two were merged crosswise before: the events {} come last of all that they have in \
         common. Take back one of these merges and let both go on from the other",
        ancestors.join(" and ")
    )
}

/// Where a parent is missing.
fn missing(below: Option<usize>) -> String {
    match below {
        Some(line) => {
            format!("stands further below, in line {line}: put the lines into order again")
        }
        None => "is missing: lines were removed. Take the file from version control again".into(),
    }
}

fn list(heads: &[Head]) -> String {
    let heads: Vec<String> = heads.iter().map(ToString::to_string).collect();
    format!("no event comes after {}", heads.join(" and none after "))
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {})", self.event.short(), self.line)
    }
}
