//! Our calls with an effect, and those that watch the effect.
//!
//! Each is one request, or one list with all its pages. Calls with an effect are never repeated
//! by themselves once they may have arrived ([`super::Client::call_once`]): whoever makes them
//! looks what happened. Futures of the SDK are large, so each lives in a box of its own.

mod change_sets;
mod changed;
mod direct;
mod events;
mod refactors;
mod stacks;
mod staging;

pub use change_sets::{ChangeSetMeans, ChangeSetRequest, ChangeSetState, change_set_means};
pub use changed::{ChangeDetail, ChangeSetChange};
pub use events::{StackEvent, now};
pub use refactors::{RefactorAction, RefactorRequest, RefactorState};
pub use stacks::StackState;
pub use staging::{MOST_INLINE_BYTES, PutError, StoredText, TemplateAt, staged_url};

/// Returns the text of an enumeration of the SDK, or nothing.
fn text<T: AsRef<str>>(value: Option<&T>) -> String {
    value.map(|value| value.as_ref().to_owned()).unwrap_or_default()
}
