//! The journal: everything that a run has done or is about to do, one JSON object a line.
//!
//! A line is on the disk before the call that it announces is made, and after its answer. So a
//! run that ended anywhere can be continued by somebody who reads the journal and asks the
//! service.

mod file;
mod list;
mod lock;
mod origin;
mod record;

pub use file::JournalError;
pub(super) use file::{Journal, directory_of, named, read};
pub use list::{RunInfo, RunState, runs};
pub(super) use list::{empty_reversals, reversal_of};
pub(super) use lock::{Lock, LockError};
pub use origin::{Origin, origin};
pub use record::Kept;
pub(super) use record::{
    Before, Begin, Call, Deletion, End, GaveUp, Kind, Line, Named, NewStack, Outcome, Record,
    Sending, Sent, StepDone, StepStarted, Task, VERSION,
};
