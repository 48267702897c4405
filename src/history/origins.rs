//! Who the resources of an environment are that is on the way from one event to another.
//!
//! Such an environment has resources of two kinds: those that it had before, under the names from
//! then or, if they were moved, under later ones; and those that were created on the way, which
//! are what has their names at the event on the way to which the environment is. So each resource
//! has an origin: an event, and its name there. From there the log knows where it went.

use std::collections::{BTreeMap, BTreeSet};

use super::compose::{ComposeError, Mapping};
use super::event::{Move, StackRecord};
use super::hash::EventHash;
use super::log::Log;
use super::positions::{Positions, Start};
use super::snapshot::Snapshot;
use super::steps::Tracker;
use crate::model::{Environment, Location, StackName};

/// An event, and what the resource is called there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    event: usize,
    name: Location,
}

/// The resources of an environment by their present names; `None`: nobody knows who it is.
type Origins = BTreeMap<Location, Option<Origin>>;

/// The events of an environment that is on the way.
pub(super) struct Way {
    /// The last event that is none on the way: where it began.
    pub(super) begin: usize,
    /// The events on the way, oldest first.
    pub(super) steps: Vec<usize>,
}

impl Way {
    /// Returns the way whose last event is the given one; without steps if that is none.
    pub(super) fn to(log: &Log, last: usize) -> Self {
        let mut way = Self { begin: last, steps: Vec::new() };
        let entries = log.entries();
        while let ([parent], Some(_)) =
            (&entries[way.begin].parents[..], entries[way.begin].event.toward)
        {
            way.steps.push(way.begin);
            way.begin = *parent;
        }
        way.steps.reverse();
        way
    }

    /// The event whose state the environment had where the way began.
    pub(super) fn base(&self, log: &Log) -> usize {
        let same = log.entries()[self.begin].event.same_as.and_then(|hash| log.position(hash));
        same.unwrap_or(self.begin)
    }

    /// The events to which the steps lead; `None` for one that the log does not know.
    pub(super) fn goals<'a>(&'a self, log: &'a Log) -> impl Iterator<Item = Option<usize>> + 'a {
        let toward = |step: &usize| log.entries()[*step].event.toward;
        self.steps.iter().map(move |step| toward(step).and_then(|hash| log.position(hash)))
    }
}

/// What resources are called at other events.
struct Names<'a> {
    log: &'a Log,
    environment: &'a Environment,
    known: BTreeMap<(usize, usize), Positions>,
}

impl<'a> Names<'a> {
    fn new(log: &'a Log, environment: &'a Environment) -> Self {
        Self { log, environment, known: BTreeMap::new() }
    }

    /// What a resource of one event is called at another one that comes before or after it, and
    /// the events that moved it, in that order.
    fn at(
        &mut self,
        origin: &Origin,
        to: usize,
    ) -> Result<Option<(Location, Vec<EventHash>)>, ComposeError> {
        let (from, name) = (origin.event, &origin.name);
        let (earlier, later) = (from.min(to), from.max(to));
        if !self.log.is_ancestor(earlier, later) {
            return Ok(None);
        }
        let snapshot = &self.log.entries()[earlier].snapshot;
        let start = Start { environment: self.environment, snapshot };
        let positions = self.between(earlier, later)?;
        let stays = || positions.stays(start, name).then(|| (name.clone(), Vec::new()));
        if from == earlier {
            let moved = positions.moved.get(name);
            return Ok(moved
                .map(|place| (place.location.clone(), place.events.clone()))
                .or_else(stays));
        }
        let moved = positions.moved.iter().find(|(_, place)| place.location == *name);
        let back = moved
            .map(|(source, place)| (source.clone(), place.events.iter().rev().copied().collect()));
        Ok(back.or_else(stays))
    }

    fn between(&mut self, earlier: usize, later: usize) -> Result<&Positions, ComposeError> {
        let log = self.log;
        match self.known.entry((earlier, later)) {
            std::collections::btree_map::Entry::Occupied(known) => Ok(known.into_mut()),
            std::collections::btree_map::Entry::Vacant(place) => {
                let mut tracker = Tracker::new(log, self.environment, later);
                let positions = tracker.positions(earlier, later);
                if let Some(contradiction) = tracker.contradictions().first() {
                    return Err(ComposeError::Contradiction(contradiction.clone()));
                }
                Ok(place.insert(positions))
            }
        }
    }

    /// Who the resources at the end of a way are.
    fn origins(&mut self, way: &Way) -> Result<Origins, ComposeError> {
        let (log, base) = (self.log, way.base(self.log));
        let begin = log.entries()[way.begin].snapshot.resources(self.environment);
        let mut current: Origins =
            begin.map(|(name, _)| (name.clone(), Some(Origin { event: base, name }))).collect();
        for step in &way.steps {
            current = self.step(*step, current)?;
        }
        Ok(current)
    }

    /// Goes one step of the way.
    fn step(&mut self, at: usize, before: Origins) -> Result<Origins, ComposeError> {
        let entry = &self.log.entries()[at];
        let [parent] = entry.parents[..] else { return Ok(before) };
        let goal = entry.event.toward.and_then(|hash| self.log.position(hash));
        let done = Tracker::new(self.log, self.environment, parent).step(at, parent);
        let mut traced: Origins = BTreeMap::new();
        for (name, origin) in before {
            if let Some(now) = done.of(&name) {
                traced.insert(now.clone(), origin);
            }
        }
        let earlier = &self.log.entries()[parent].snapshot;
        let mut after = Origins::new();
        for (name, record) in entry.snapshot.resources(self.environment) {
            let origin = traced.remove(&name).flatten();
            let Some(goal) = goal else {
                after.insert(name, origin);
                continue;
            };
            let there = &self.log.entries()[goal].snapshot;
            let of_goal = there.resource(self.environment, &name);
            let is_there = of_goal.is_some_and(|it| it.resource_type == record.resource_type);
            let own = || is_there.then(|| Origin { event: goal, name: name.clone() });
            let now = self.stack(&entry.snapshot, &name.stack);
            let origin = match origin {
                None => own(),
                // The stack is as that event has it: what has a name is what has it there.
                Some(origin) if is_there && now == self.stack(there, &name.stack) => {
                    let was_touched = now != self.stack(earlier, &name.stack);
                    match self.at(&origin, goal)? {
                        Some((called, _)) if called == name || !was_touched => Some(origin),
                        _ => own(),
                    }
                }
                known => known,
            };
            after.insert(name, origin);
        }
        Ok(after)
    }

    fn stack<'s>(&self, snapshot: &'s Snapshot, name: &StackName) -> Option<&'s StackRecord> {
        let mut stacks = snapshot.stacks().filter(|(key, _)| key.name == *name);
        Some(stacks.find(|(key, _)| key.scope.contains(self.environment))?.1)
    }
}

/// Returns what the resources at the end of a way are called at an event before or after the one
/// where it began, if it is another name.
///
/// # Errors
/// When merged branches contradict each other.
pub(super) fn mappings(
    log: &Log,
    environment: &Environment,
    way: &Way,
    goal: usize,
) -> Result<Vec<Mapping>, ComposeError> {
    let mut names = Names::new(log, environment);
    let end = way.steps.last().copied().unwrap_or(way.begin);
    let mut taken: BTreeMap<Location, (usize, Mapping)> = BTreeMap::new();
    for (source, origin) in names.origins(way)? {
        let Some(origin) = origin else { continue };
        let Some((destination, events)) = names.at(&origin, goal)? else { continue };
        let Some(record) = log.entries()[end].snapshot.resource(environment, &source) else {
            continue;
        };
        let resource_type = record.resource_type.clone();
        // Where one was made anew in place of another that is still there, it is the new one.
        let is_newer = taken.get(&destination).is_none_or(|(other, _)| *other < origin.event);
        if is_newer {
            let mapping =
                Mapping { source, destination: destination.clone(), resource_type, events };
            taken.insert(destination, (origin.event, mapping));
        }
    }
    let mut mappings: Vec<Mapping> = taken.into_values().map(|(_, mapping)| mapping).collect();
    mappings.retain(|mapping| mapping.source != mapping.destination);
    mappings.sort();
    Ok(mappings)
}

/// Whether a step of a way whose goal the log does not know has moved resources, or created some
/// of which nobody can say what they are.
///
/// # Errors
/// When merged branches contradict each other.
pub(super) fn is_lost(
    log: &Log,
    environment: &Environment,
    way: &Way,
    step: usize,
) -> Result<bool, ComposeError> {
    let refactors = &log.entries()[step].event.what.refactors;
    let mut own = refactors.iter().filter(|it| it.scope.contains(environment));
    if own.any(|refactor| !refactor.moves.is_empty()) {
        return Ok(true);
    }
    let origins = Names::new(log, environment).origins(way)?;
    Ok(origins.values().any(Option::is_none))
}

/// Returns a move after an event (`parent`) that leads to no name that the resource has at the
/// event on the way to which it was made (`toward`), or had before. `None` if there is none, or if
/// the log does not know that event.
pub(super) fn unjustified<'m>(
    log: &Log,
    environment: &Environment,
    (parent, toward): (EventHash, EventHash),
    moves: &'m [Move],
) -> Option<&'m Move> {
    let (Some(parent), Some(goal)) = (log.position(parent), log.position(toward)) else {
        return None;
    };
    let mut names = Names::new(log, environment);
    let way = Way::to(log, parent);
    let Ok(mut origins) = names.origins(&way) else { return moves.first() };
    let mut earlier: BTreeSet<usize> = BTreeSet::new();
    for event in [way.base(log), goal] {
        let marked = log.marked(event);
        earlier.extend(marked.iter().enumerate().filter(|(_, is)| **is).map(|(at, _)| at));
    }
    moves.iter().find(|moved| {
        let Some(origin) = origins.remove(&moved.source).flatten() else { return true };
        let mut is_called = |at: usize| {
            let found = names.at(&origin, at).ok().flatten();
            found.is_some_and(|(name, _)| name == moved.destination)
        };
        !is_called(goal) && !earlier.iter().rev().any(|at| is_called(*at))
    })
}
