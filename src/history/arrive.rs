//! What becomes of the log of an environment after something was done there, and where an
//! environment stands that its log does not explain.
//!
//! The state of an environment is that of an event of the repository ([`deployed`] says so), or
//! something on the way to one: after a refactor without a deployment, a deployment of some of the
//! stacks, or one that has failed. What cdkr itself leaves behind (a filler, an export that is
//! held, a logical ID that is kept) is such a state, too.

use std::collections::{BTreeMap, BTreeSet};

use super::event::{Decided, Move, Refactor, StackKey, StackRecord};
use super::hash::EventHash;
use super::log::Log;
use super::origins::{self, Way};
use super::replay::{ReplayError, deployed, joined};
use super::snapshot::Snapshot;
use super::{Problem, compose};
use crate::model::{Environment, Location, StackName};
use crate::settings::Scope;

/// What was found in an environment after something was done there.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The account and region.
    pub environment: &'a Environment,
    /// When, as the caller says.
    pub at: &'a str,
    /// The stacks that were looked at, as they are deployed; `None`: the stack is not there.
    pub stacks: &'a BTreeMap<StackName, Option<StackRecord>>,
    /// The moves that were made since the last event of the log, from name to name.
    pub moves: &'a [(Location, Location)],
    /// Logical IDs that were kept: what the app calls a resource, and what it is called.
    pub kept: &'a [(Location, Location)],
    /// Whether all stacks of the app were deployed as it has them, but for what is kept and held.
    pub is_complete: bool,
}

/// Where an environment stands that its log does not explain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The log that would explain it.
    pub log: Log,
    /// The event of the repository that stacks have the state of.
    pub event: EventHash,
    /// Whether all of them have.
    pub is_whole: bool,
}

/// Returns the log of an environment after something was done there on the way to the last event
/// of the repository's log. Moves of which neither log knows are left out. The log of an
/// environment that has none begins with the first state in it that the repository knows.
///
/// # Errors
/// When a log has branched, or when the environment may not have that state
/// ([`Advance::permitted`](super::Advance::permitted)).
pub fn arrived(
    environment_log: &Log,
    repository_log: &Log,
    arrival: &Arrival<'_>,
) -> Result<Log, ReplayError> {
    let Arrival { environment, at, .. } = *arrival;
    let Some(goal) = repository_log.head().map_err(ReplayError::Repository)? else {
        return Ok(environment_log.clone());
    };
    let wanted = state(repository_log, goal, environment);
    if arrival.is_complete {
        let whole = deployed(environment_log, repository_log, environment, at)?;
        let mine = |(name, _): &(&StackName, &Option<StackRecord>)| wanted.contains_key(*name);
        let stacks: BTreeMap<StackName, Option<StackRecord>> = arrival
            .stacks
            .iter()
            .filter(mine)
            .map(|(name, record)| (name.clone(), record.clone()))
            .collect();
        let arrival = Arrival { stacks: &stacks, moves: arrival.kept, ..*arrival };
        let log = step(&whole, repository_log, &arrival, goal)?;
        let is_as_before = has_come_from(environment_log, goal)
            && head_state(environment_log, environment) == head_state(&log, environment);
        return Ok(if is_as_before { environment_log.clone() } else { log });
    }
    if environment_log.events().next().is_none() {
        let there = arrival.stacks.iter();
        let there: BTreeMap<StackName, StackRecord> =
            there.filter_map(|(name, record)| Some((name.clone(), record.clone()?))).collect();
        let found = standing(environment_log, repository_log, environment, &there, at);
        return Ok(found.map_or_else(Log::default, |found| found.log));
    }
    let log = step(environment_log, repository_log, arrival, goal)?;
    if head_state(&log, environment) == wanted && log != *environment_log {
        return deployed(environment_log, repository_log, environment, at);
    }
    Ok(log)
}

/// Whether an environment is on the way that began with the state of an event.
fn has_come_from(log: &Log, event: EventHash) -> bool {
    let last = log.head().ok().flatten().and_then(|head| log.position(head));
    last.is_some_and(|last| {
        let way = Way::to(log, last);
        log.entries()[way.base(log)].hash == event
    })
}

/// Adds the event on the way that tells what was found; the same log if nothing is new.
fn step(
    log: &Log,
    repository_log: &Log,
    arrival: &Arrival<'_>,
    toward: EventHash,
) -> Result<Log, ReplayError> {
    let Arrival { environment, at, stacks, moves, .. } = *arrival;
    let Some(here) = log.head().map_err(ReplayError::Environment)? else {
        return Ok(log.clone());
    };
    let nothing = Snapshot::default();
    let before = log.snapshot(here).unwrap_or(&nothing);
    let goal = repository_log.snapshot(toward).unwrap_or(&nothing);
    let after = with(before, goal, environment, stacks);
    let moves =
        justified((log, repository_log), (before, &after), environment, (here, toward), moves);
    if after == *before && moves.is_empty() {
        return Ok(log.clone());
    }
    let scope = scope_of(environment);
    let refactors = vec![Refactor { scope, parent: None, moves }];
    let refactors = refactors.into_iter().filter(|one| !one.moves.is_empty()).collect();
    let mut event = log.leading_to(vec![here], at, &after, refactors);
    event.toward = Some(toward);
    let mut log = log.clone();
    match log.append(event) {
        // The very same was said a moment ago.
        Ok(_) | Err(Problem::Duplicate { .. }) => Ok(log),
        Err(problem) => Err(ReplayError::Environment(problem)),
    }
}

/// A state with stacks of an environment as they were found.
fn with(
    before: &Snapshot,
    goal: &Snapshot,
    environment: &Environment,
    found: &BTreeMap<StackName, Option<StackRecord>>,
) -> Snapshot {
    let mut all: BTreeMap<StackKey, StackRecord> =
        before.stacks().map(|(key, record)| (key.clone(), record.clone())).collect();
    let key_in = |snapshot: &Snapshot, name: &StackName| {
        let is_it = |key: &&StackKey| key.name == *name && key.scope.contains(environment);
        snapshot.stacks().map(|(key, _)| key).find(is_it).cloned()
    };
    for (name, record) in found {
        // What neither knows is none of the app's stacks.
        let Some(key) = key_in(before, name).or_else(|| key_in(goal, name)) else { continue };
        match record {
            Some(record) => drop(all.insert(key, record.clone())),
            None => drop(all.remove(&key)),
        }
    }
    Snapshot::new(all)
}

/// The moves that the logs know, and that can be told from the state before.
fn justified(
    (log, repository_log): (&Log, &Log),
    (before, after): (&Snapshot, &Snapshot),
    environment: &Environment,
    (parent, toward): (EventHash, EventHash),
    moves: &[(Location, Location)],
) -> Vec<Move> {
    let Ok(both) = repository_log.united(log) else { return Vec::new() };
    let (mut sources, mut destinations) = (BTreeSet::new(), BTreeSet::new());
    let mut found: Vec<Move> = Vec::new();
    for (source, destination) in moves {
        let types = before
            .resource(environment, source)
            .zip(after.resource(environment, destination))
            .map(|(old, new)| old.resource_type == new.resource_type);
        let moved = Move {
            source: source.clone(),
            destination: destination.clone(),
            decided: Decided::Recorded,
        };
        let is_known = types == Some(true)
            && source != destination
            && origins::unjustified(
                &both,
                environment,
                (parent, toward),
                std::slice::from_ref(&moved),
            )
            .is_none();
        if is_known && sources.insert(source) && destinations.insert(destination) {
            found.push(moved);
        }
    }
    found.sort();
    found
}

/// Returns where an environment stands whose stacks are not as its log says, or that has no log:
/// stacks that have the state of one event of the repository, the others being as the log says or,
/// without a log, not there yet. The newest such event counts. Nothing is returned if another event
/// explains the same stacks with resources under other names: nobody can say which.
pub fn standing(
    environment_log: &Log,
    repository_log: &Log,
    environment: &Environment,
    stacks: &BTreeMap<StackName, StackRecord>,
    at: &str,
) -> Option<Standing> {
    let events = explaining(environment_log, repository_log, environment, stacks);
    let event = *events.first()?;
    if recurring(environment_log, repository_log, environment, stacks).is_some() {
        return None;
    }
    let is_new = environment_log.events().next().is_none();
    let there = state(repository_log, event, environment);
    let is_whole = there.iter().map(|(name, record)| (*name, *record)).eq(stacks.iter());
    let up_to = repository_log.up_to(event)?;
    let log = if is_whole {
        deployed(environment_log, &up_to, environment, at)
            .or_else(|_| joined(environment_log, &up_to, environment, at, &[]))
            .ok()?
    } else {
        let base = if is_new { &up_to } else { environment_log };
        let known = head_state(base, environment);
        let names = there.keys().chain(known.keys()).copied().chain(stacks.keys());
        let found = names.map(|name| (name.clone(), stacks.get(name).cloned())).collect();
        let arrival =
            Arrival { environment, at, stacks: &found, moves: &[], kept: &[], is_complete: false };
        step(base, &up_to, &arrival, event).ok()?
    };
    Some(Standing { log, event, is_whole })
}

/// Returns two events that explain the stacks of an environment which its log does not explain,
/// and between which resources have exchanged their names: nobody can say which of the two it is.
pub fn recurring(
    environment_log: &Log,
    repository_log: &Log,
    environment: &Environment,
    stacks: &BTreeMap<StackName, StackRecord>,
) -> Option<(EventHash, EventHash)> {
    let events = explaining(environment_log, repository_log, environment, stacks);
    let (event, others) = events.split_first()?;
    let is_like =
        |other: &&EventHash| exchanges(repository_log, environment, (**other, *event), stacks);
    others.iter().find(is_like).map(|other| (*event, *other))
}

/// The events of the repository that explain stacks, the newest first.
fn explaining(
    environment_log: &Log,
    repository_log: &Log,
    environment: &Environment,
    stacks: &BTreeMap<StackName, StackRecord>,
) -> Vec<EventHash> {
    let before = head_state(environment_log, environment);
    let is_new = environment_log.events().next().is_none();
    let fits = |event: &EventHash| {
        let there = state(repository_log, *event, environment);
        let names: BTreeSet<&StackName> =
            there.keys().chain(before.keys()).copied().chain(stacks.keys()).collect();
        let fits = names.iter().all(|name| match stacks.get(*name) {
            Some(now) if there.get(*name) == Some(&now) => true,
            Some(now) => !is_new && before.get(*name) == Some(&now),
            None => is_new || !there.contains_key(*name) || !before.contains_key(*name),
        });
        let has_its_state = |(name, now)| there.get(name) == Some(&now);
        fits && stacks.iter().any(has_its_state)
    };
    let all = repository_log.events().rev().map(|(hash, _)| hash);
    all.filter(fits).collect()
}

/// Whether resources have exchanged their names between two events, in stacks that are deployed as
/// both say.
fn exchanges(
    log: &Log,
    environment: &Environment,
    (one, other): (EventHash, EventHash),
    stacks: &BTreeMap<StackName, StackRecord>,
) -> bool {
    if one == other {
        return false;
    }
    let states = [one, other].map(|event| state(log, event, environment));
    let is_as_both_say = |name: &StackName| {
        stacks.get(name).is_some_and(|now| states.iter().all(|there| there.get(name) == Some(&now)))
    };
    let moves = compose(log, one, other, environment);
    let moves = moves.or_else(|_| compose(log, other, one, environment));
    moves.is_ok_and(|moves| {
        let mut ends = moves.iter().flat_map(|it| [&it.source.stack, &it.destination.stack]);
        ends.any(is_as_both_say)
    })
}

/// The stacks of an environment at an event.
fn state<'a>(
    log: &'a Log,
    event: EventHash,
    environment: &Environment,
) -> BTreeMap<&'a StackName, &'a StackRecord> {
    let stacks = log.snapshot(event).into_iter().flat_map(Snapshot::stacks);
    let mine = stacks.filter(|(key, _)| key.scope.contains(environment));
    mine.map(|(key, record)| (&key.name, record)).collect()
}

fn head_state<'a>(
    log: &'a Log,
    environment: &Environment,
) -> BTreeMap<&'a StackName, &'a StackRecord> {
    let head = log.head().ok().flatten();
    head.map(|head| state(log, head, environment)).unwrap_or_default()
}

fn scope_of(environment: &Environment) -> Scope {
    Scope {
        account: Some(environment.account.to_string()),
        region: Some(environment.region.to_string()),
    }
}

#[cfg(test)]
#[path = "arrive_tests.rs"]
mod tests;
