//! The proof in the journal that nothing was replaced.

use std::path::Path;

use super::JournalError;
use super::journal::{Journal, Line, Record};
use crate::aws::now;

pub use super::journal::Kept;

/// Writes into the journal of a run which physical IDs its resources had before the moves and
/// have after the deployment.
///
/// # Errors
/// When the journal cannot be read or written.
pub fn note_kept(journal: &Path, kept: Vec<Kept>) -> Result<(), JournalError> {
    let (mut journal, _) = Journal::open(journal)?;
    journal.append(&Line { at: now(), record: Record::Kept(kept) })
}
