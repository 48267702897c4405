//! The journals of a directory.

use std::path::{Path, PathBuf};

use super::file::{JournalError, begin, directory_of, io_error, named, read};
use super::lock;
use super::record::{Outcome, Task};
use crate::model::Environment;
use crate::run::state::State;

/// What a journal says of its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInfo {
    /// The journal.
    pub path: PathBuf,
    /// The account and region; `None` if the journal cannot be read.
    pub environment: Option<Environment>,
    /// When it was begun: `2026-11-21T08:47:39.123Z`.
    pub begun: String,
    /// For a run that moves back: the file name of the journal that it reverses.
    pub reverses: Option<String>,
    /// How many steps are done.
    pub done: usize,
    /// How many steps there are.
    pub of: usize,
    /// How many resources are to be moved in all steps.
    pub moves: usize,
    /// Where it stands.
    pub state: RunState,
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunState {
    /// A process is working on it.
    Running,
    /// Every step is done.
    Finished,
    /// It ended in the middle: it can be resumed or reverted.
    Interrupted,
    /// A step was refused or failed; why. It can be resumed or reverted.
    Failed(String),
    /// What it had done was undone.
    Reverted,
    /// The journal cannot be read; why.
    Unreadable(String),
}

/// Returns the runs of which a directory holds journals, oldest first; none if there is no such
/// directory.
///
/// # Errors
/// When the directory cannot be read. A journal that cannot be read is listed as such.
pub fn runs(directory: &Path) -> Result<Vec<RunInfo>, JournalError> {
    let directory = named(directory);
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io_error(directory)(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(io_error(directory))?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            paths.push(path);
        }
    }
    let mut found: Vec<RunInfo> = paths.iter().map(|path| info(directory, path)).collect();
    found.sort_by(|a, b| (&a.begun, &a.path).cmp(&(&b.begun, &b.path)));
    Ok(found)
}

fn info(directory: &Path, path: &Path) -> RunInfo {
    let mut info = RunInfo {
        path: path.to_owned(),
        environment: None,
        begun: String::new(),
        reverses: None,
        done: 0,
        of: 0,
        moves: 0,
        state: RunState::Interrupted,
    };
    let lines = match read(path) {
        Ok(lines) => lines,
        Err(error) => return RunInfo { state: RunState::Unreadable(error.to_string()), ..info },
    };
    let Some(begin) = begin(&lines) else { return info };
    let environment = begin.plan.environment();
    info.begun.clone_from(&lines[0].at);
    info.reverses.clone_from(&begin.reverses);
    info.of = begin.steps();
    info.moves = (0..begin.steps())
        .filter_map(|step| match begin.task(step)? {
            Task::Refactor(batch) => Some(batch.moves.len()),
            _ => None,
        })
        .sum();
    let owner = lock::holder(directory, &environment);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_running = owner.is_some_and(|owner| owner.journal == name);
    info.environment = Some(environment);
    match State::of(&lines) {
        Err(message) => info.state = RunState::Unreadable(message),
        Ok(state) => {
            info.done = state.done();
            info.state = match &state.end {
                _ if is_running => RunState::Running,
                None => RunState::Interrupted,
                Some(end) => match end.outcome {
                    Outcome::Finished => RunState::Finished,
                    Outcome::Failed => RunState::Failed(end.reason.clone().unwrap_or_default()),
                    Outcome::Reversed => RunState::Reverted,
                },
            };
        }
    }
    info
}

/// Returns the journal of the reversal of a run, if one has begun a step.
pub(in crate::run) fn reversal_of(path: &Path) -> Option<PathBuf> {
    reversals(path).into_iter().find(|(_, has_begun)| *has_begun).map(|(path, _)| path)
}

/// Returns the journals of reversals of a run that have ended before their first step: nothing
/// was done. Those that say so themselves are left out.
pub(in crate::run) fn empty_reversals(path: &Path) -> Vec<PathBuf> {
    reversals(path).into_iter().filter(|(_, has_begun)| !has_begun).map(|(path, _)| path).collect()
}

/// The reversals of a run that were not given up, and whether they have begun a step.
fn reversals(path: &Path) -> Vec<(PathBuf, bool)> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let all = runs(directory_of(path)).unwrap_or_default().into_iter();
    let own = all.filter(|run| run.reverses.as_deref() == Some(name));
    own.filter(|run| run.state != RunState::Reverted)
        .map(|run| {
            let state = read(&run.path).ok().and_then(|lines| State::of(&lines).ok());
            // One that cannot be read may have done something.
            (run.path, state.is_none_or(|state| state.has_begun()))
        })
        .collect()
}
