//! Where a run works and who makes its calls, for whoever wants to continue it.

use std::path::Path;

use super::file::{JournalError, read};
use super::record::Record;
use crate::aws::Roles;
use crate::model::Environment;

/// Where a run works and who makes its calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The account and region.
    pub environment: Environment,
    /// The roles that it was begun with.
    pub roles: Roles,
}

/// Returns where the run of a journal works.
///
/// # Errors
/// When the journal cannot be read, or a newer program has written it.
pub fn origin(journal: &Path) -> Result<Origin, JournalError> {
    let first = read(journal)?.into_iter().next().map(|line| line.record);
    match first {
        Some(Record::Begin(begin)) => {
            Ok(Origin { environment: begin.plan.environment(), roles: begin.roles })
        }
        _ => Err(JournalError::Malformed {
            path: journal.to_owned(),
            line: 1,
            message: "it does not say what is to be done".to_owned(),
        }),
    }
}
