//! The history of an app in its repository: the log beside `cdk.json`, and what is written to it.
//!
//! The rules of a log are those of [`crate::history`]; here are the files, the app, and Git.

mod environment;
mod git;
mod hook;
mod merge;
mod record;
mod repository_error;
mod state;
mod store;

use std::path::Path;

pub(super) use environment::{Doing, Followed, Histories, Provisional, declared, keep, keep_run};
pub use environment::{FollowError, environment_log};
pub use hook::{Hooked, install_hook};
pub use merge::{Merged, Merging, merge_driver, prepare_merge};
pub use record::{Checked, Recorded, Recording, check, prepare_record};
pub use repository_error::RepositoryError;
pub use state::snapshot_of;
pub use store::{HISTORY_FILE, TEMPLATES};

use super::Error;
use crate::history::Log;
use store::{Store, parsed};

/// Returns the log of a project; `None` if it has none.
///
/// # Errors
/// When the file cannot be read, is damaged, or has branched.
pub fn load_log(project: &Path) -> Result<Option<Log>, Error> {
    load(project, Log::parse)
}

/// Returns the log of a project even if it has branched; `None` if it has none.
///
/// # Errors
/// When the file cannot be read, or is damaged.
pub fn load_branches(project: &Path) -> Result<Option<Log>, Error> {
    load(project, Log::parse_branches)
}

fn load(
    project: &Path,
    parse: fn(&[u8]) -> Result<Log, crate::history::ParseError>,
) -> Result<Option<Log>, Error> {
    let store = Store::new(project);
    let text = store.text()?;
    Ok(text.map(|text| parsed(&store.file, &text, parse)).transpose()?)
}

/// Returns the present time as a log has it, in UTC: `2026-11-21T08:47:39Z`.
pub fn now() -> String {
    let time = crate::aws::now();
    let seconds = time.split('.').next().unwrap_or_default();
    format!("{seconds}Z")
}
