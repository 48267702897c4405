//! Carries out a plan, so that it can be continued and undone wherever it ends.
//!
//! In: a [`Plan`](crate::plan::Plan), the way to AWS, and a host that is told what happens. Out:
//! moved resources and a journal; or a [`RunError`] that says what happened, what was left
//! untouched and what to do next. Called by `toolkit` and `deploy`.
//!
//! `journal` is the file, `state` what it means, `rules` and `reasons` what the service's answers
//! mean, `reverse` the way back: all pure but the file. `driver` asks, decides by those, writes
//! down and acts; `runner` begins and ends. No step is ever done from memory: what was done is
//! read from the journal and from the service.

mod driver;
mod error;
mod journal;
mod kept;
mod options;
mod past;
mod reasons;
mod reverse;
mod rules;
mod runner;
mod state;

pub use error::{Problem, RunError};
pub use journal::{JournalError, Origin, RunInfo, RunState, origin, runs};
pub use kept::{Kept, note_kept};
pub use options::{CallHook, Moment, RunOptions};
pub use past::{Past, past};
pub use reasons::{Reason, understand};
pub use runner::{Done, Runner};
