//! Two branches' logs become one.

use std::collections::BTreeSet;

use super::compose::Contradiction;
use super::error::Problem;
use super::event::{Refactor, overlap};
use super::hash::EventHash;
use super::log::Log;
use super::snapshot::Snapshot;
use super::steps::Tracker;
use crate::model::{Environment, Location};
use crate::settings::Scope;

/// The event in which two branches meet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeEvent {
    /// When, as the caller says.
    pub at: String,
    /// The stacks of the app after its branches were merged.
    pub state: Snapshot,
    /// What was decided where the branches do not say it: each names the head whose names are the
    /// old ones.
    pub refactors: Vec<Refactor>,
}

/// A name that a branch gave and that the merged app does not have, but the older one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Undone {
    /// The last event of the branch.
    pub head: EventHash,
    /// The name before the branches, which the merged app has.
    pub earlier: Location,
    /// The name that the branch gave.
    pub given: Location,
}

impl std::fmt::Display for Undone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { head, earlier, given } = self;
        write!(
            f,
            "the branch that ends with {} calls `{earlier}` `{given}`; the merged app does not",
            head.short()
        )
    }
}

/// Why two logs were not merged.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// One of the logs has branched itself.
    #[error("one of the logs to be merged cannot be: {0}")]
    Branched(Problem),
    /// The logs have no event in common.
    #[error(
        "the logs have no event in common: they began separately. Keep one of them and record the \
         present state in it"
    )]
    Unrelated,
    /// What is to be the event of the merge cannot have happened.
    #[error("the merge cannot be recorded: {0}")]
    Event(Problem),
    /// The branches do not agree on names.
    #[error(
        "the branches do not agree: {}. Nothing was merged. Say which names the merged app has, \
         for each branch that calls a resource otherwise", join(.0)
    )]
    Contradictions(Vec<Contradiction>),
    /// The merged app has gone back to older names.
    #[error(
        "the merged app has gone back to older names: {}. Nothing was merged. Merge the app's \
         code again, or say that the resources get their older names back", join(.0)
    )]
    Undone(Vec<Undone>),
}

fn join(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Returns the log of two branches and of the event in which they meet; if one branch merely goes
/// on from the other, its log, without another event. The events of `ours` come first. What the
/// branches have in common, and so what either has moved, the logs say themselves.
///
/// # Errors
/// When the branches, with what was decided, do not give one name to each resource.
pub fn merge(ours: &Log, theirs: &Log, event: &MergeEvent) -> Result<Log, Conflict> {
    let heads =
        (ours.head().map_err(Conflict::Branched)?, theirs.head().map_err(Conflict::Branched)?);
    if theirs.is_prefix_of(ours) {
        return Ok(ours.clone());
    }
    if ours.is_prefix_of(theirs) {
        return Ok(theirs.clone());
    }
    let (Some(our_head), Some(their_head)) = heads else { return Err(Conflict::Unrelated) };
    let mut log = ours.united(theirs).map_err(|_| Conflict::Unrelated)?;
    let ends = vec![our_head, their_head];
    let meeting = log.leading_to(ends, &event.at, &event.state, event.refactors.clone());
    log.append(meeting).map_err(Conflict::Event)?;
    agreed(&log)?;
    Ok(log)
}

/// Whether in every environment the branches that meet in the last event agree.
fn agreed(log: &Log) -> Result<(), Conflict> {
    let mut contradictions = BTreeSet::new();
    let mut undone = BTreeSet::new();
    for environment in environments(log) {
        look(log, &environment, &mut contradictions, &mut undone);
    }
    if !contradictions.is_empty() {
        return Err(Conflict::Contradictions(contradictions.into_iter().collect()));
    }
    if !undone.is_empty() {
        return Err(Conflict::Undone(undone.into_iter().collect()));
    }
    Ok(())
}

fn look(
    log: &Log,
    environment: &Environment,
    contradictions: &mut BTreeSet<Contradiction>,
    undone: &mut BTreeSet<Undone>,
) {
    let entries = log.entries();
    let end = entries.len() - 1;
    let [first, second] = entries[end].parents[..] else { return };
    let base = log.base(first, second);
    let mut tracker = Tracker::new(log, environment, end);
    let merged = tracker.positions(base, end);
    for parent in [first, second] {
        let branch = tracker.positions(base, parent);
        let step = tracker.step(end, parent);
        for (earlier, place) in &branch.moved {
            let is_back = place.location != *earlier
                && step.gone.contains(&place.location)
                && merged.of(earlier) == Some(earlier);
            if is_back {
                let (earlier, given) = (earlier.clone(), place.location.clone());
                undone.insert(Undone { head: entries[parent].hash, earlier, given });
            }
        }
    }
    contradictions.extend(tracker.contradictions().iter().cloned());
}

/// One environment of each kind that the log distinguishes. What an environment sees depends only
/// on the scopes that take it in.
fn environments(log: &Log) -> BTreeSet<Environment> {
    let mut scopes = BTreeSet::from([Scope::default()]);
    for entry in log.entries() {
        let what = &entry.event.what;
        scopes.extend(what.creates.keys().map(|key| key.scope.clone()));
        scopes.extend(what.refactors.iter().map(|refactor| refactor.scope.clone()));
    }
    let mut found = BTreeSet::new();
    for first in &scopes {
        for second in scopes.iter().filter(|second| overlap(first, second)) {
            let account = first.account.as_ref().or(second.account.as_ref());
            let region = first.region.as_ref().or(second.region.as_ref());
            found.insert(Environment::new(
                account.map_or("unknown-account", String::as_str),
                region.map_or("unknown-region", String::as_str),
            ));
        }
    }
    found
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
