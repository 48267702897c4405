//! What an environment has to catch up with: the algorithm of RFC 0162, appendix A.
//!
//! The RFC knows two cases: the environment's log is a prefix of the repository's, or both have a
//! common ancestor. Three things go beyond it. An environment that was brought back to an older
//! state stands where it stood then, so that it can go forward again. An older revision may be
//! deployed over a newer one, and then the names go back as well. And where both went their own
//! ways, a move that only the environment has made stops the deployment as one of the repository
//! does: to deploy would replace what was moved.

use super::compose::{ComposeError, Mapping, compose, inverse};
use super::error::{Problem, crosswise};
use super::event::{Decided, Move, Refactor};
use super::hash::EventHash;
use super::log::Log;
use super::origins::{self, Way};
use crate::model::Environment;
use crate::settings::Scope;

/// What an environment has to catch up with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advance {
    /// Nothing: its state is that of the repository's last event.
    UpToDate,
    /// Nothing is known of what the resources in the environment were called: it has no log yet.
    New {
        /// The events of the repository, oldest first.
        events: Vec<EventHash>,
    },
    /// The repository goes on from a state that the environment has.
    Forward {
        /// The event whose state it has.
        from: EventHash,
        /// The moves since then, composed.
        mappings: Vec<Mapping>,
        /// The events since then, oldest first.
        events: Vec<EventHash>,
    },
    /// The repository is at an older state, which the environment has left behind.
    Back {
        /// The event at which the repository is.
        to: EventHash,
        /// The moves since then, composed and reversed.
        mappings: Vec<Mapping>,
        /// The events since then, oldest first.
        events: Vec<EventHash>,
    },
    /// Both have events that the other has not. See [`Advance::permitted`].
    Diverged {
        /// The last event before that; `None` if the logs began separately.
        ancestor: Option<EventHash>,
        /// The moves of the repository since then, composed.
        refactors: Vec<Mapping>,
        /// The moves of the environment since then, composed.
        environment: Vec<Mapping>,
    },
}

/// Why an environment cannot catch up.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The log of the environment has branched.
    #[error("the log of the environment cannot be followed: {0}")]
    Environment(Problem),
    /// The log of the repository has branched.
    #[error("the log of the repository cannot be followed: {0}")]
    Repository(Problem),
    /// Moves cannot be composed.
    #[error(transparent)]
    Compose(#[from] ComposeError),
    /// The logs have no event in common.
    #[error(
        "the logs of the environment and of the repository have no event in common, so nobody can \
         say which resources are the same. Nothing was changed. Deploy from a repository that has \
         the events of the environment"
    )]
    Unrelated,
    /// The environment is on the way to an event of which the repository knows nothing.
    #[error(
        "the environment is on the way to the event {}, which the repository does not have, and \
         resources were created or moved on that way. Nobody can say what they are here. Nothing \
         was changed. Deploy a revision that has the event", .toward.short()
    )]
    UnknownGoal {
        /// The event.
        toward: EventHash,
    },
    /// What environment and repository have in common was merged crosswise.
    #[error("the environment and the repository: {}. Nothing was changed", crosswise(.0))]
    Crosswise(Vec<EventHash>),
    /// Both went their own ways, and resources were moved on the way.
    #[error(
        "the environment and the repository went different ways after the event {}, and resources \
         were moved since{}{}. Nobody can say that these moves fit the state of the other. Nothing \
         was changed. Merge the log of the environment into that of the repository (`cdkr \
         history log --deployed ACCOUNT/REGION --raw > FILE`, then `cdkr history merge FILE`), or deploy the revision of {} first", .ancestor.short(),
        list("in the repository", .refactors), list("in the environment", .environment),
        .ancestor.short()
    )]
    Diverged {
        /// The last event that both have.
        ancestor: EventHash,
        /// The moves of the repository since then.
        refactors: Vec<Mapping>,
        /// The moves of the environment since then.
        environment: Vec<Mapping>,
    },
}

fn list(side: &str, mappings: &[Mapping]) -> String {
    if mappings.is_empty() {
        return String::new();
    }
    let moves = mappings.iter().map(|mapping| {
        let events: Vec<String> = mapping.events.iter().map(EventHash::short).collect();
        format!("`{}` → `{}` ({})", mapping.source, mapping.destination, events.join(", "))
    });
    format!("; {side}: {}", moves.collect::<Vec<_>>().join(", "))
}

impl Advance {
    /// Whether the repository's state may be deployed, once the moves were made.
    ///
    /// # Errors
    /// When environment and repository went different ways and either has moved resources: then
    /// the state is not the one for which the moves were decided.
    pub fn permitted(&self) -> Result<(), ReplayError> {
        match self {
            Self::Diverged { ancestor: None, .. } => Err(ReplayError::Unrelated),
            Self::Diverged { ancestor: Some(ancestor), refactors, environment }
                if !refactors.is_empty() || !environment.is_empty() =>
            {
                Err(ReplayError::Diverged {
                    ancestor: *ancestor,
                    refactors: refactors.clone(),
                    environment: environment.clone(),
                })
            }
            _ => Ok(()),
        }
    }
}

/// Returns what an environment with the given log has to catch up with to be in the state of the
/// last event of the repository's log.
///
/// # Errors
/// When a log has branched, when branches were merged that contradict each other, or when the
/// environment is on the way to an event of which the repository knows nothing.
pub fn replay(
    environment_log: &Log,
    repository_log: &Log,
    environment: &Environment,
) -> Result<Advance, ReplayError> {
    let here = environment_log.head().map_err(ReplayError::Environment)?;
    let there = repository_log.head().map_err(ReplayError::Repository)?;
    let unrelated =
        Advance::Diverged { ancestor: None, refactors: Vec::new(), environment: Vec::new() };
    let (here, there) = match (here, there) {
        (here, there) if here == there => return Ok(Advance::UpToDate),
        (None, _) => {
            let events = repository_log.events().map(|(hash, _)| hash).collect();
            return Ok(Advance::New { events });
        }
        (Some(here), Some(there)) => (here, there),
        (Some(_), None) => return Ok(unrelated),
    };
    let Ok(log) = repository_log.united(environment_log) else { return Ok(unrelated) };
    let (Some(own), Some(goal)) = (log.position(here), log.position(there)) else {
        return Ok(unrelated);
    };
    let hash = |at: usize| log.entries()[at].hash;
    let last = own;
    let way = Way::to(&log, last);
    if !way.steps.is_empty() && !log.is_ancestor(last, goal) {
        return on_the_way(&log, &way, goal, environment);
    }
    let own = stands_at(&log, last, goal);
    if own == goal {
        return Ok(Advance::UpToDate);
    }
    if let Some(ancestors) = log.crosswise(last, goal).or_else(|| log.crosswise(own, goal)) {
        return Err(ReplayError::Crosswise(ancestors));
    }
    if log.is_ancestor(own, goal) {
        let mappings = compose(&log, hash(own), there, environment)?;
        return Ok(Advance::Forward {
            from: hash(own),
            mappings,
            events: between(&log, own, goal),
        });
    }
    if log.is_ancestor(goal, own) {
        let mappings = inverse(compose(&log, there, hash(own), environment)?);
        return Ok(Advance::Back { to: there, mappings, events: between(&log, goal, own) });
    }
    let ancestor = hash(log.base(own, goal));
    Ok(Advance::Diverged {
        ancestor: Some(ancestor),
        refactors: compose(&log, ancestor, there, environment)?,
        environment: compose(&log, ancestor, hash(own), environment)?,
    })
}

/// What an environment has to catch up with that is on the way from one event to another.
fn on_the_way(
    log: &Log,
    way: &Way,
    goal: usize,
    environment: &Environment,
) -> Result<Advance, ReplayError> {
    let hash = |at: usize| log.entries()[at].hash;
    let last = way.steps.last().copied().unwrap_or(way.begin);
    let own = if log.is_ancestor(way.begin, goal) { way.begin } else { way.base(log) };
    if let Some(ancestors) = log.crosswise(last, goal).or_else(|| log.crosswise(own, goal)) {
        return Err(ReplayError::Crosswise(ancestors));
    }
    let is_on_a_line = |a: usize, b: usize| log.is_ancestor(a, b) || log.is_ancestor(b, a);
    // Who goes back to where the way began, or further, need not know where it led to.
    let goes_back = log.is_ancestor(goal, own);
    let is_known = way.goals(log).all(|toward| match toward {
        Some(toward) => is_on_a_line(toward, goal),
        None => goes_back,
    });
    if !is_on_a_line(own, goal) || !is_known {
        return astray(log, way, (own, goal), environment);
    }
    let mappings = origins::mappings(log, environment, way, goal)?;
    let state = |at: usize| log.entries()[at].snapshot.in_environment(environment);
    if goes_back && own != goal {
        let events = between(log, goal, own);
        return Ok(Advance::Back { to: hash(goal), mappings, events });
    }
    if own == goal && mappings.is_empty() && state(last) == state(goal) {
        return Ok(Advance::UpToDate);
    }
    Ok(Advance::Forward { from: hash(own), mappings, events: between(log, own, goal) })
}

/// What an environment has to catch up with that is on the way to an event that does not lie on
/// the way of the repository.
fn astray(
    log: &Log,
    way: &Way,
    (own, goal): (usize, usize),
    environment: &Environment,
) -> Result<Advance, ReplayError> {
    let hash = |at: usize| log.entries()[at].hash;
    let last = way.steps.last().copied().unwrap_or(way.begin);
    let ancestor = log.base(own, goal);
    let mut refactors = compose(log, hash(ancestor), hash(goal), environment)?;
    let mut moved = compose(log, hash(ancestor), hash(own), environment)?;
    moved.extend(compose(log, hash(way.begin), hash(last), environment)?);
    // What was created on the way has its names from there.
    for (toward, step) in way.goals(log).zip(&way.steps) {
        if let Some(toward) = toward {
            if let Some(ancestors) = log.crosswise(toward, goal) {
                return Err(ReplayError::Crosswise(ancestors));
            }
            let fork = hash(log.base(toward, goal));
            refactors.extend(compose(log, fork, hash(goal), environment)?);
            moved.extend(compose(log, fork, hash(toward), environment)?);
        } else if moved.is_empty() && origins::is_lost(log, environment, way, *step)? {
            let toward = log.entries()[*step].event.toward.unwrap_or(hash(*step));
            return Err(ReplayError::UnknownGoal { toward });
        }
    }
    for mappings in [&mut refactors, &mut moved] {
        mappings.sort();
        mappings.dedup();
    }
    Ok(Advance::Diverged { ancestor: Some(hash(ancestor)), refactors, environment: moved })
}

/// The event whose state the environment has: its own last one, if the repository knows that, or
/// the one of the repository that was deployed last.
fn stands_at(log: &Log, own: usize, goal: usize) -> usize {
    let same = log.entries()[own].event.same_as.and_then(|hash| log.position(hash));
    if log.is_ancestor(own, goal) { own } else { same.unwrap_or(own) }
}

/// The events that come with one but not with an earlier one.
fn between(log: &Log, earlier: usize, later: usize) -> Vec<EventHash> {
    let (earlier, later) = (log.marked(earlier), log.marked(later));
    let marks = earlier.iter().zip(&later);
    let events =
        log.entries().iter().zip(marks).filter(|(_, (earlier, later))| **later && !**earlier);
    events.map(|(entry, _)| entry.hash).collect()
}

/// Returns the log of an environment after the state of the repository's last event was deployed
/// to it, every move of [`replay`] made.
///
/// # Errors
/// Those of [`replay`] and of [`Advance::permitted`].
pub fn deployed(
    environment_log: &Log,
    repository_log: &Log,
    environment: &Environment,
    at: &str,
) -> Result<Log, ReplayError> {
    let advance = replay(environment_log, repository_log, environment)?;
    advance.permitted()?;
    if matches!(advance, Advance::UpToDate) {
        return Ok(environment_log.clone());
    }
    let mappings = match &advance {
        Advance::Forward { mappings, .. } | Advance::Back { mappings, .. } => mappings.as_slice(),
        _ => &[],
    };
    joined(environment_log, repository_log, environment, at, mappings)
}

/// Returns the log of an environment that has the state of the repository's last event, after
/// moves.
pub(super) fn joined(
    environment_log: &Log,
    repository_log: &Log,
    environment: &Environment,
    at: &str,
    mappings: &[Mapping],
) -> Result<Log, ReplayError> {
    let here = environment_log.head().map_err(ReplayError::Environment)?;
    let there = repository_log.head().map_err(ReplayError::Repository)?;
    let (Some(here), Some(there)) = (here, there) else { return Ok(repository_log.clone()) };
    if environment_log.is_prefix_of(repository_log) {
        return Ok(repository_log.clone());
    }
    let state = repository_log.snapshot(there).cloned().unwrap_or_default();
    let mut log = environment_log.united(repository_log).map_err(ReplayError::Repository)?;
    let mut event = if repository_log.is_prefix_of(environment_log) {
        let refactors = refactors(mappings, None, environment);
        log.leading_to(vec![here], at, &state, refactors)
    } else {
        let refactors = refactors(mappings, Some(here), environment);
        log.leading_to(vec![here, there], at, &state, refactors)
    };
    event.same_as = Some(there);
    log.append(event).map_err(ReplayError::Environment)?;
    Ok(log)
}

/// Moves that follow from a log, as an event says them.
fn refactors(
    mappings: &[Mapping],
    parent: Option<EventHash>,
    environment: &Environment,
) -> Vec<Refactor> {
    let moves: Vec<Move> = mappings
        .iter()
        .map(|mapping| Move {
            source: mapping.source.clone(),
            destination: mapping.destination.clone(),
            decided: Decided::Recorded,
        })
        .collect();
    let scope = Scope {
        account: Some(environment.account.to_string()),
        region: Some(environment.region.to_string()),
    };
    if moves.is_empty() { Vec::new() } else { vec![Refactor { scope, parent, moves }] }
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
