//! What is done when a deployment fails: the moves of what is not deployed are taken back.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use super::super::carry_out::{Cancel, Carried};
use super::super::{Error, afterwards};
use super::prepare::Deployment;
use crate::deploy::DeployError;
use crate::event::Host;
use crate::model::Environment;
use crate::run::RunError;

/// A deployment that has failed, and what became of the moves.
#[derive(Debug)]
pub struct DeploymentFailed {
    cause: Cause,
    /// The moves, by environment.
    pub undone: Vec<Undone>,
    unwritten: Option<Error>,
}

#[derive(Debug)]
enum Cause {
    /// Before anything was changed.
    Early(DeployError),
    /// While resources moved.
    Moving(Box<Error>),
    /// While stacks were deployed.
    Deploying(DeployError),
}

/// What became of the moves of an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The account and region.
    pub environment: Environment,
    /// The journal of the moves.
    pub journal: Option<PathBuf>,
    /// How many moves were taken back.
    pub back: usize,
    /// How many moves stay, because their stacks are deployed or nobody wanted them back.
    pub kept: usize,
    /// Why the others could not be taken back, a sentence each.
    pub problems: Vec<String>,
    /// The journal of a reversal that has stopped in the middle and can be continued.
    pub stopped: Option<PathBuf>,
}

impl DeploymentFailed {
    pub(super) fn early(error: DeployError) -> Box<Self> {
        Box::new(Self { cause: Cause::Early(error), undone: Vec::new(), unwritten: None })
    }

    pub(super) fn moving(error: Error, undone: Vec<Undone>) -> Box<Self> {
        Box::new(Self { cause: Cause::Moving(Box::new(error)), undone, unwritten: None })
    }

    /// `unwritten` says why the outputs of stacks that are deployed nevertheless are not written.
    pub(super) fn deploying(
        error: DeployError,
        undone: Vec<Undone>,
        unwritten: Option<Error>,
    ) -> Box<Self> {
        Box::new(Self { cause: Cause::Deploying(error), undone, unwritten })
    }

    /// Whether it was interrupted, not refused.
    pub fn is_cancelled(&self) -> bool {
        match &self.cause {
            Cause::Early(error) | Cause::Deploying(error) => error.is_cancelled(),
            Cause::Moving(error) => {
                matches!(&**error, Error::Run { source, .. } if source.is_cancelled())
            }
        }
    }

    /// Whether it was stopped because a change set would have lost something.
    pub fn is_stopped(&self) -> bool {
        match &self.cause {
            Cause::Early(error) | Cause::Deploying(error) => error.is_stopped(),
            Cause::Moving(error) => matches!(**error, Error::NewDanger(_)),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let journal = |undone: &Undone| undone.journal.as_ref().map(|it| it.display().to_string());
        if let Some(stopped) = self.undone.iter().find_map(|undone| undone.stopped.as_ref()) {
            let stopped = stopped.display();
            return Some(format!("`cdkr resume {stopped}` goes on to take the moves back"));
        }
        let failed = self.undone.iter().find(|undone| !undone.problems.is_empty());
        if let Some(journal) = failed.and_then(journal) {
            return Some(format!("`cdkr revert {journal}` tries again to take the moves back"));
        }
        if self.is_stopped() {
            return Some(
                "`--allow-replacement` with the location, the construct path or the type allows it"
                    .to_owned(),
            );
        }
        if let Cause::Moving(error) = &self.cause
            && let Some(hint) = error.hint()
        {
            return Some(hint);
        }
        if let Cause::Deploying(error) = &self.cause
            && error.is_left_half_done()
        {
            return Some(
                "`cdkr deploy --no-rollback` goes on from here. Or roll the stack back (`aws \
                 cloudformation rollback-stack --stack-name …`): then `cdkr deploy` goes on as \
                 usual, and `cdkr revert` can take the moves back"
                    .to_owned(),
            );
        }
        if self.undone.iter().any(|undone| undone.kept > 0 && undone.back == 0) {
            return Some(
                "`cdkr deploy` goes on from here; `cdkr revert` takes the moves back".to_owned(),
            );
        }
        None
    }
}

impl fmt::Display for DeploymentFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Early(error) | Cause::Deploying(error) => write!(f, "{error}")?,
            Cause::Moving(error) => {
                write!(f, "{error}")?;
                let mut cause = std::error::Error::source(&**error);
                while let Some(next) = cause {
                    write!(f, ": {next}")?;
                    cause = next.source();
                }
            }
        }
        for undone in &self.undone {
            write!(f, "\n{undone}")?;
        }
        if let Some(error) = &self.unwritten {
            write!(f, "\n{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for DeploymentFailed {}

impl fmt::Display for Undone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moves = |number: usize, were: &str, was: &str| match number {
            1 => format!("1 move {was}"),
            number => format!("{number} moves {were}"),
        };
        let mut parts = Vec::new();
        if self.back > 0 {
            parts.push(moves(self.back, "were taken back", "was taken back"));
        }
        if self.kept > 0 {
            parts.push(moves(self.kept, "stay", "stays"));
        }
        if parts.is_empty() {
            parts.push("no move was taken back to the end".to_owned());
        }
        write!(f, "{}: {}", self.environment, parts.join(", "))?;
        for problem in &self.problems {
            write!(f, "\n  not taken back: {problem}")?;
        }
        Ok(())
    }
}

/// The stacks that are not as the app has them, by environment. A stack of which a first stage is
/// deployed is.
pub(super) fn not_deployed(
    deployment: &Deployment,
    error: &DeployError,
) -> BTreeMap<Environment, BTreeSet<String>> {
    let deployed: BTreeSet<&str> = error.deployed().iter().map(|stack| &*stack.id).collect();
    let mut left: BTreeMap<Environment, BTreeSet<String>> = BTreeMap::new();
    for stack in deployment.stacks() {
        if !deployed.contains(&*stack.hierarchical_id) {
            let names = left.entry(stack.environment.clone()).or_default();
            names.insert(stack.stack.name.to_string());
        }
    }
    left
}

/// Takes back the moves that belong to some stacks, the latest environment first.
pub(super) async fn take_back(
    deployment: &Deployment,
    carried: &[Carried],
    left: &BTreeMap<Environment, BTreeSet<String>>,
    host: &dyn Host,
    cancel: &Cancel,
) -> Vec<Undone> {
    let place = deployment.settings.place();
    let mut all = Vec::new();
    for one in carried.iter().rev() {
        let Some(journal) = one.done.journal.clone() else { continue };
        let stacks = left.get(&one.environment).cloned().unwrap_or_default();
        let undone = Box::pin(afterwards::undo_for(&place, &journal, &stacks, host, cancel)).await;
        let environment = one.environment.clone();
        let journal = Some(journal);
        all.push(match undone {
            Ok(taken) => {
                let afterwards::Taken { back, kept, problems } = taken;
                Undone { environment, journal, back, kept, problems, stopped: None }
            }
            Err(error) => {
                let problems = vec![sentence(&error)];
                let stopped = stopped(&error);
                Undone { environment, journal, back: 0, kept: 0, problems, stopped }
            }
        });
    }
    all
}

/// Takes back all moves because those of an environment have failed.
pub(super) async fn take_back_all(
    deployment: &Deployment,
    carried: &[Carried],
    error: &Error,
    host: &dyn Host,
    cancel: &Cancel,
) -> Vec<Undone> {
    let failed: Option<(&Environment, &RunError)> = match error {
        Error::Run { environment, source } => Some((environment, source)),
        _ => None,
    };
    if !deployment.deploying.rollback || failed.is_some_and(|(_, error)| !error.problem.is_final())
    {
        return kept(carried);
    }
    let place = deployment.settings.place();
    let mut all = Vec::new();
    if let Some((environment, run)) = failed
        && let Some(journal) = run.journal.clone().filter(|_| run.done > 0)
    {
        let result = Box::pin(afterwards::undo(&place, &journal, host, cancel)).await;
        let error = result.err();
        all.push(Undone {
            environment: environment.clone(),
            journal: Some(journal),
            back: if error.is_some() { 0 } else { run.done },
            kept: 0,
            problems: error.iter().map(sentence).collect(),
            stopped: error.as_ref().and_then(stopped),
        });
    }
    let mut left = BTreeMap::new();
    for one in carried {
        let stacks = one.done.stacks.keys().cloned().collect();
        left.insert(one.environment.clone(), stacks);
    }
    all.extend(Box::pin(take_back(deployment, carried, &left, host, cancel)).await);
    all
}

/// The moves as they are, when nobody wants them back.
pub(super) fn kept(carried: &[Carried]) -> Vec<Undone> {
    let each = carried.iter().map(|one| Undone {
        environment: one.environment.clone(),
        journal: one.done.journal.clone(),
        back: 0,
        kept: one.moves(),
        problems: Vec::new(),
        stopped: None,
    });
    each.collect()
}

/// The journal of a reversal that can be continued.
fn stopped(error: &Error) -> Option<PathBuf> {
    let Error::Run { source, .. } = error else { return None };
    source.journal.clone().filter(|_| !source.problem.is_final())
}

/// An error with its causes, in a line.
fn sentence(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}
