//! What people do with runs afterwards: continue them, or undo them.

use std::path::{Path, PathBuf};

use super::Error;
use super::account::{self, Connection};
use super::carry_out::{Cancel, journals, options};
use crate::event::Host;
use crate::model::Environment;
use crate::run::{Done, Origin, RunInfo, RunState, Runner, origin, runs};
use crate::settings::Place;

/// Why there is no run to continue or to undo.
#[derive(Debug, thiserror::Error)]
pub enum NoRun {
    /// No journal, or none in that state.
    #[error("there is no run to {what} in `{}`", .directory.display())]
    None {
        /// `continue` or `undo`.
        what: &'static str,
        /// Where journals are kept.
        directory: PathBuf,
    },
    /// More than one.
    #[error("there are several runs to continue: {}", .0.join(", "))]
    Several(Vec<String>),
}

/// Returns all runs of a project, oldest first.
///
/// # Errors
/// When the directory of journals cannot be read.
pub fn all_runs(place: &Place) -> Result<Vec<RunInfo>, Error> {
    Ok(runs(&journals(&place.project))?)
}

/// Returns the journal of the run that was interrupted or has failed in the middle.
///
/// # Errors
/// When there is none, or several.
pub fn interrupted(place: &Place) -> Result<PathBuf, Error> {
    let directory = journals(&place.project);
    let open = |run: &RunInfo| match run.state {
        RunState::Interrupted => true,
        RunState::Failed(_) => run.done > 0,
        _ => false,
    };
    let mut found: Vec<PathBuf> =
        runs(&directory)?.into_iter().filter(open).map(|run| run.path).collect();
    if found.len() > 1 {
        let names = found.iter().map(|path| path.display().to_string()).collect();
        return Err(Box::new(NoRun::Several(names)).into());
    }
    found.pop().ok_or_else(|| Box::new(NoRun::None { what: "continue", directory }).into())
}

/// Returns the latest run that has moved something and is not undone.
///
/// # Errors
/// When there is none.
pub fn latest(place: &Place) -> Result<RunInfo, Error> {
    let directory = journals(&place.project);
    let open = |run: &RunInfo| {
        run.reverses.is_none()
            && match run.state {
                RunState::Finished | RunState::Interrupted => true,
                RunState::Failed(_) => run.done > 0,
                _ => false,
            }
    };
    let found = runs(&directory)?.into_iter().rev().find(open);
    found.ok_or_else(|| Box::new(NoRun::None { what: "undo", directory }).into())
}

/// Continues the run of a journal from where it stands. One that is finished stays as it is.
///
/// # Errors
/// When it fails again.
pub async fn resume(
    place: &Place,
    journal: &Path,
    host: &dyn Host,
    cancel: &Cancel,
) -> Result<Done, Error> {
    let known = Known::open(place, journal).await?;
    let runner = known.runner(place, host, cancel);
    Box::pin(runner.resume(journal)).await.map_err(|error| known.stopped(error))
}

/// Undoes the run of a journal.
///
/// # Errors
/// When its moves cannot be undone, or not all of them.
pub async fn revert(
    place: &Place,
    journal: &Path,
    host: &dyn Host,
    cancel: &Cancel,
) -> Result<Done, Error> {
    let known = Known::open(place, journal).await?;
    let runner = known.runner(place, host, cancel);
    Box::pin(runner.revert(journal)).await.map_err(|error| known.stopped(error))
}

/// A run with the way to its account.
struct Known {
    connection: Connection,
    origin: Origin,
}

impl Known {
    async fn open(place: &Place, journal: &Path) -> Result<Self, Error> {
        let origin = origin(journal)?;
        Ok(Self { connection: account::connect(&place.account).await?, origin })
    }

    fn runner<'a>(&'a self, place: &Place, host: &'a dyn Host, cancel: &Cancel) -> Runner<'a> {
        let roles = self.origin.roles.clone();
        let options = options(&place.account, &roles, cancel);
        Runner::new(&self.connection.aws, roles, host, options)
    }

    fn stopped(&self, error: crate::run::RunError) -> Error {
        let environment: Environment = self.origin.environment.clone();
        Error::Run { environment, source: Box::new(error) }
    }
}
