//! Whether what an event says can have happened.

use std::collections::BTreeMap;

use super::error::Inconsistency;
use super::event::{Event, Move, Refactor, ResourceRecord, StackKey, overlap};
use super::snapshot::Snapshot;
use crate::model::Location;
use crate::settings::Scope;

/// Checks an event against the states at its parents, in their order, and returns the state after
/// it.
pub(super) fn checked(event: &Event, parents: &[&Snapshot]) -> Result<Snapshot, Inconsistency> {
    let empty = Snapshot::default();
    let before = parents.first().copied().unwrap_or(&empty);
    stacks(event, before)?;
    let after = before.after(event);
    names(event, &after)?;
    let is_merge = event.parents.len() == 2;
    for refactor in &event.what.refactors {
        let base = match refactor.parent {
            None if !is_merge => before,
            Some(parent) if is_merge => {
                let found = event.parents.iter().position(|candidate| *candidate == parent);
                found.and_then(|at| parents.get(at)).ok_or(Inconsistency::Parents)?
            }
            _ => return Err(Inconsistency::Parents),
        };
        for moved in &refactor.moves {
            endpoints(moved, &refactor.scope, base, &after)?;
        }
    }
    one_to_one(&event.what.refactors)?;
    Ok(after)
}

/// Whether the stacks and resources that are told of exist, or do not exist yet.
fn stacks(event: &Event, before: &Snapshot) -> Result<(), Inconsistency> {
    let what = &event.what;
    for key in what.creates.keys() {
        if before.stack(key).is_some() {
            return Err(Inconsistency::StackExists(key.clone()));
        }
    }
    for key in &what.deletes {
        if before.stack(key).is_none() || what.updates.contains_key(key) {
            return Err(Inconsistency::NoStack(key.clone()));
        }
    }
    for (key, update) in &what.updates {
        let Some(record) = before.stack(key) else {
            return Err(Inconsistency::NoStack(key.clone()));
        };
        let is_wrong = |id| !record.resources.contains_key(id) || update.resources.contains_key(id);
        if let Some(id) = update.removed.iter().find(|id| is_wrong(*id)) {
            return Err(Inconsistency::NoResource(id.to_string(), key.clone()));
        }
    }
    Ok(())
}

/// Whether a name means one stack in each environment. Only what is created can spoil it.
fn names(event: &Event, after: &Snapshot) -> Result<(), Inconsistency> {
    for key in event.what.creates.keys() {
        let anywhere = Location::new(key.name.as_str(), "");
        let mut others = after.named(&anywhere).map(|(other, _)| other);
        let is_same: fn(&StackKey, &StackKey) -> bool =
            |a, b| a != b && overlap(&a.scope, &b.scope);
        if let Some(other) = others.find(|other| is_same(other, key)) {
            return Err(Inconsistency::StacksOverlap(Box::new((other.clone(), key.clone()))));
        }
    }
    Ok(())
}

/// Whether both names of a move exist, and are of one type, wherever the move holds.
fn endpoints(
    moved: &Move,
    scope: &Scope,
    before: &Snapshot,
    after: &Snapshot,
) -> Result<(), Inconsistency> {
    let (source, destination) = (&moved.source, &moved.destination);
    let sources = find(before, source, scope);
    let destinations = find(after, destination, scope);
    if sources.is_empty() {
        return Err(Inconsistency::NoSource(source.clone(), destination.clone()));
    }
    if destinations.is_empty() {
        return Err(Inconsistency::NoDestination(source.clone(), destination.clone()));
    }
    for (_, old) in &sources {
        for (_, new) in &destinations {
            if old.resource_type != new.resource_type {
                return Err(Inconsistency::TypesDiffer(source.clone(), destination.clone()));
            }
        }
    }
    for (key, _) in &sources {
        if !destinations.iter().any(|(other, _)| overlap(&key.scope, &other.scope)) {
            return Err(Inconsistency::NoDestination(source.clone(), destination.clone()));
        }
    }
    Ok(())
}

/// The resources at a location wherever a scope reaches.
fn find<'a>(
    snapshot: &'a Snapshot,
    location: &Location,
    scope: &Scope,
) -> Vec<(&'a StackKey, &'a ResourceRecord)> {
    let stacks = snapshot.named(location).filter(|(key, _)| overlap(&key.scope, scope));
    stacks
        .filter_map(|(key, record)| Some((key, record.resources.get(&location.logical_id)?)))
        .collect()
}

/// Whether no environment sees a source or a destination twice.
fn one_to_one(refactors: &[Refactor]) -> Result<(), Inconsistency> {
    let mut seen: BTreeMap<(bool, &Location), Vec<&Refactor>> = BTreeMap::new();
    for refactor in refactors {
        for moved in &refactor.moves {
            if moved.source == moved.destination {
                return Err(Inconsistency::NotOneToOne(moved.source.clone()));
            }
            for (is_source, location) in [(true, &moved.source), (false, &moved.destination)] {
                let earlier = seen.entry((is_source, location)).or_default();
                let is_twice = earlier.iter().any(|other| {
                    other.parent == refactor.parent && overlap(&other.scope, &refactor.scope)
                });
                if is_twice {
                    return Err(Inconsistency::NotOneToOne(location.clone()));
                }
                earlier.push(refactor);
            }
        }
    }
    Ok(())
}
