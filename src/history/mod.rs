//! The history of an app's stacks, after RFC 0162, appendix A ("Making history"): an append-only
//! log of events, from which it can be told what every resource was called at every point in time.
//!
//! In: the texts of logs, states of stacks, decisions, and the time, all given by the caller. Out:
//! logs and their texts, the state of the stacks at an event ([`Snapshot`]), the moves that lead
//! from one event to another ([`compose`]), what an environment has to catch up with ([`replay`],
//! [`deployed`]), and the union of two branches ([`merge`]). Called by `toolkit`. Pure: files and
//! buckets are somebody else's.
//!
//! A log is a text of one JSON object per line. Each line names its parents by their hashes and
//! carries its own, so that an edited line, a missing one and a branch are noticed. There are no
//! two ways to write an event: a line that is not exactly what this room would write was edited.

mod arrive;
mod changes;
mod check;
mod compose;
mod error;
mod event;
mod graph;
mod hash;
mod log;
mod merge;
mod origins;
mod positions;
mod record;
mod replay;
mod revision;
#[cfg(test)]
mod samples;
mod snapshot;
mod steps;
mod wire;

pub use arrive::{Arrival, Standing, arrived, recurring, standing};
pub use changes::{Changes, Moved, Open, changes, open};
pub use compose::{ComposeError, Contradiction, Mapping, compose};
pub use error::{Head, Inconsistency, ParseError, Problem};
pub use event::{
    Decided, Event, Move, Refactor, ResourceRecord, StackKey, StackRecord, StackUpdate, What,
};
pub use hash::{EventHash, HashError};
pub use log::Log;
pub use merge::{Conflict, MergeEvent, Undone, merge};
pub use record::template_digest;
pub use replay::{Advance, ReplayError, deployed, replay};
pub use revision::RevisionError;
pub use snapshot::{Snapshot, SnapshotDifference, StackDifference, diff};
