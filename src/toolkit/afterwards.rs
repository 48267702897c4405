//! What people do with runs afterwards: continue them, or undo them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::Error;
use super::account::{self, Connection};
use super::carry_out::{Cancel, journals, options};
use super::history;
use super::leftovers;
use crate::aws::{Depth, ReadRequest, Wait, Wanted};
use crate::event::{Event, Host};
use crate::model::{DeployedEnvironment, Environment, Stack};
use crate::plan::{self, Action, Move, Plan, Purpose};
use crate::run::{
    self, Done, Origin, Problem, RunError, RunInfo, RunState, Runner, origin, past, runs,
};
use crate::settings::Place;
use crate::template;

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

/// Returns the journal of the run that was interrupted or has failed in the middle.
///
/// # Errors
/// When there is none, or several.
pub fn interrupted(place: &Place) -> Result<PathBuf, Error> {
    let directory = journals(&place.project);
    let all = runs(&directory)?;
    // Who has begun another run in the same environment has decided not to go on with this one.
    let is_last = |at: usize, run: &RunInfo| {
        !all[at + 1..].iter().any(|later| later.environment == run.environment)
    };
    let open = |run: &RunInfo| match run.state {
        RunState::Interrupted => true,
        RunState::Failed(_) => run.done > 0,
        _ => false,
    };
    let mut found: Vec<PathBuf> = all
        .iter()
        .enumerate()
        .filter(|(at, run)| open(run) && is_last(*at, run))
        .map(|(_, run)| run.path.clone())
        .collect();
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
    let journal = &in_a_directory(journal);
    let known = Known::open(place, journal).await?;
    let runner = known.runner(place, host, cancel);
    let result = Box::pin(runner.resume(journal)).await.map_err(|error| known.stopped(error));
    keep(place, journal, &result, host).await;
    let done = result?;
    Box::pin(known.tidy(&done, host)).await;
    Ok(done)
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
    let journal = &in_a_directory(journal);
    let result = Box::pin(undo(place, journal, host, cancel)).await;
    keep(place, journal, &result, host).await;
    result
}

/// Writes into the log of the environment what a run has done, or what was undone of it, unless
/// somebody has stopped it and does not want to wait.
async fn keep(place: &Place, journal: &Path, result: &Result<Done, Error>, host: &dyn Host) {
    let is_stopped = matches!(result, Err(Error::Run { source, .. }) if source.is_cancelled());
    if !is_stopped {
        Box::pin(history::keep_run(place, journal, None, host)).await;
    }
}

/// Undoes a run as [`revert`] does, and leaves it to others to write down that it was.
///
/// # Errors
/// When its moves cannot be undone, or not all of them.
pub(super) async fn undo(
    place: &Place,
    journal: &Path,
    host: &dyn Host,
    cancel: &Cancel,
) -> Result<Done, Error> {
    let known = Known::open(place, journal).await?;
    let runner = known.runner(place, host, cancel);
    let done = match Box::pin(runner.revert(journal)).await {
        Ok(done) => done,
        Err(error) if matches!(*error.problem, Problem::ChangedSince { .. }) => {
            host.tell(&Event::Note {
                text: format!("{error} Planning the way back from the templates as they are now"),
            });
            let plan = Box::pin(known.way_back(journal, host)).await?;
            for finding in &plan.findings {
                host.tell(&Event::Note {
                    text: format!("{}: {} {}", finding.stack, finding.message, finding.remedy),
                });
            }
            let undone = Box::pin(runner.revert_by(&plan, journal)).await;
            tell_emptied(&plan, host);
            undone.map_err(|error| known.stopped(error))?
        }
        Err(error) => return Err(known.stopped(error)),
    };
    Box::pin(known.tidy(&done, host)).await;
    Ok(done)
}

/// What became of moves that were to be taken back.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken {
    /// How many were taken back.
    pub(super) back: usize,
    /// How many stay, because their stacks are not concerned.
    pub(super) kept: usize,
    /// Why the others could not be taken back.
    pub(super) problems: Vec<String>,
}

/// Takes back the moves of a run into and out of some stacks, by their names; all of them by the
/// templates from before, if nothing was changed since.
///
/// # Errors
/// When they cannot be taken back, or not all of them.
pub(super) async fn undo_for(
    place: &Place,
    journal: &Path,
    stacks: &BTreeSet<String>,
    host: &dyn Host,
    cancel: &Cancel,
) -> Result<Taken, Error> {
    let known = Known::open(place, journal).await?;
    let past = past(journal).map_err(|problem| known.stopped(RunError::of(problem)))?;
    let net = past.plan.net_moves();
    let belongs = |one: &Move| {
        [&one.source, &one.destination].into_iter().any(|place| stacks.contains(root_of(place)))
    };
    let (back, kept): (Vec<Move>, Vec<Move>) = net.into_iter().partition(belongs);
    if back.is_empty() {
        return Ok(Taken { kept: kept.len(), ..Taken::default() });
    }
    if kept.is_empty() {
        drop(known);
        Box::pin(undo(place, journal, host, cancel)).await?;
        return Ok(Taken { back: back.len(), ..Taken::default() });
    }
    let (before, sent) = (self::stacks(&past.before), self::stacks(&past.sent));
    let deployed = Box::pin(known.read(&past, host)).await?;
    let remembered = plan::Past { before: &before, sent: &sent, retained: &past.retained };
    let plan = plan::reverse(&deployed, &back, remembered);
    let problems: Vec<String> = plan
        .findings
        .iter()
        .map(|finding| format!("{}: {} {}", finding.stack, finding.message, finding.remedy))
        .collect();
    if plan.is_refused() {
        return Ok(Taken { back: 0, kept: kept.len(), problems });
    }
    let moved = plan.net_moves().len();
    let runner = known.runner(place, host, cancel);
    let done = Box::pin(runner.run(&plan, &journals(&place.project))).await;
    done.map_err(|error| known.stopped(error))?;
    tell_emptied(&plan, host);
    let problems = if moved < back.len() { problems } else { Vec::new() };
    Ok(Taken { back: moved, kept: kept.len(), problems })
}

/// Tells which stacks have nothing left but a filler.
fn tell_emptied(plan: &Plan, host: &dyn Host) {
    for step in &plan.steps {
        if let Action::Change(change) = &step.action
            && change.purpose == Purpose::Fill
        {
            host.tell(&Event::Note {
                text: format!(
                    "{}: stack {} holds nothing but a filler now: delete it, unless the app comes \
                     back to it",
                    plan.environment(),
                    change.stack
                ),
            });
        }
    }
}

/// The outermost stack of a location: `Parent` of `Parent/Nested.LogicalId`.
fn root_of(place: &str) -> &str {
    let stack = place.split_once('.').map_or(place, |(stack, _)| stack);
    stack.split_once('/').map_or(stack, |(root, _)| root)
}

/// A name without a directory is in this one.
fn in_a_directory(journal: &Path) -> PathBuf {
    match journal.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new(".").join(journal),
        _ => journal.to_owned(),
    }
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

    /// Takes away what a deployment that was killed has left in the stacks of a run.
    async fn tidy(&self, done: &Done, host: &dyn Host) {
        let place = (&self.origin.environment, &self.origin.roles);
        leftovers::delete_change_sets(&self.connection.aws, place, &done.stacks, host).await;
    }

    /// Plans how to undo a run from the templates as they are now.
    async fn way_back(&self, journal: &Path, host: &dyn Host) -> Result<Plan, Error> {
        let past = past(journal).map_err(|problem| self.stopped(RunError::of(problem)))?;
        let deployed = Box::pin(self.read(&past, host)).await?;
        let (before, sent) = (stacks(&past.before), stacks(&past.sent));
        let remembered = plan::Past { before: &before, sent: &sent, retained: &past.retained };
        Ok(plan::reverse(&deployed, &past.moves, remembered))
    }

    /// Reads the stacks that a run has touched as they are now, when nothing goes on in them.
    async fn read(&self, past: &run::Past, host: &dyn Host) -> Result<DeployedEnvironment, Error> {
        let names: BTreeSet<&str> = past
            .moves
            .iter()
            .flat_map(|one| [&one.source, &one.destination])
            .map(|place| root_of(place))
            .chain(past.sent.keys().map(String::as_str).filter(|name| !name.contains('/')))
            .collect();
        let wanted = names
            .into_iter()
            .map(|name| Wanted { name: name.to_owned(), roles: self.origin.roles.clone() });
        let request = ReadRequest {
            environment: self.origin.environment.clone(),
            stacks: wanted.collect(),
            additional: Vec::new(),
            depth: Depth::Complete,
            wait: Some(Wait::default()),
            accepts_failed: false,
        };
        Ok(Box::pin(self.connection.aws.read(&request, host)).await?.deployed)
    }

    fn stopped(&self, error: crate::run::RunError) -> Error {
        let environment: Environment = self.origin.environment.clone();
        Error::Run { environment, source: Box::new(error) }
    }
}

/// Templates of a journal as stacks. One that cannot be read is left out: it only serves names.
fn stacks(templates: &BTreeMap<String, String>) -> Vec<Stack> {
    let parsed = templates
        .iter()
        .filter_map(|(name, text)| Some(Stack::new(name, template::parse(text.as_bytes()).ok()?)));
    parsed.collect()
}
