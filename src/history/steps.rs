//! What each event does to the names before it, as one environment sees it.
//!
//! An event with one parent says so itself. A merge has to carry over to each parent what the
//! other one has done since their common ancestor ("base"), by name of the base: what the other
//! branch has moved moves here too, unless this branch has moved or created it itself.

use std::collections::{BTreeMap, BTreeSet};

use super::compose::Contradiction;
use super::event::Move;
use super::hash::EventHash;
use super::log::Log;
use super::positions::{Place, Positions, Start, Step};
use super::snapshot::Snapshot;
use crate::model::{Environment, Location};

/// Follows resources through a log.
pub(super) struct Tracker<'a> {
    log: &'a Log,
    environment: &'a Environment,
    /// What merges do to the names at their parents, by merge and parent.
    merges: BTreeMap<(usize, usize), Step>,
    contradictions: BTreeSet<Contradiction>,
}

impl<'a> Tracker<'a> {
    /// Returns a tracker for all that comes before an event.
    pub(super) fn new(log: &'a Log, environment: &'a Environment, end: usize) -> Self {
        let (merges, contradictions) = (BTreeMap::new(), BTreeSet::new());
        let mut tracker = Self { log, environment, merges, contradictions };
        let marked = log.marked(end);
        for (at, entry) in log.entries().iter().enumerate() {
            // In the order of the log: earlier merges are needed to understand later ones.
            if let [first, second] = entry.parents[..]
                && marked[at]
            {
                tracker.add_merge(at, first, second);
            }
        }
        tracker
    }

    /// What branches did not agree on so far.
    pub(super) fn contradictions(&self) -> &BTreeSet<Contradiction> {
        &self.contradictions
    }

    /// Where the resources of an event are at a later one.
    pub(super) fn positions(&mut self, from: usize, to: usize) -> Positions {
        let entries = self.log.entries();
        let start = Start { environment: self.environment, snapshot: &entries[from].snapshot };
        let marked = self.log.marked(to);
        let mut uses = vec![0_usize; entries.len()];
        for (entry, _) in entries.iter().zip(&marked).filter(|(_, is_marked)| **is_marked) {
            entry.parents.iter().for_each(|parent| uses[*parent] += 1);
        }
        let mut reached: BTreeMap<usize, Positions> = BTreeMap::new();
        reached.insert(from, Positions::default());
        for at in (from + 1..=to).filter(|at| marked[*at]) {
            let mut here: Option<Positions> = None;
            for parent in &entries[at].parents {
                uses[*parent] -= 1;
                // Whoever is the last to need it takes it.
                let before = match uses[*parent] {
                    0 => reached.remove(parent),
                    _ => reached.get(parent).cloned(),
                };
                let Some(before) = before else { continue };
                let along = before.then(&self.step(at, *parent), start);
                here = Some(match here {
                    None => along,
                    Some(other) => {
                        let merge = entries[at].hash;
                        other.joined(&along, start, merge, &mut self.contradictions)
                    }
                });
            }
            if let Some(here) = here {
                reached.insert(at, here);
            }
        }
        reached.remove(&to).unwrap_or_default()
    }

    /// What an event does to the names at one of its parents.
    pub(super) fn step(&self, at: usize, parent: usize) -> Step {
        match self.merges.get(&(at, parent)) {
            Some(step) => step.clone(),
            None => self.plain_step(at, parent),
        }
    }

    /// What an event with one parent does.
    fn plain_step(&self, at: usize, parent: usize) -> Step {
        let entries = self.log.entries();
        let (event, after) = (&entries[at].event, &entries[at].snapshot);
        let before = &entries[parent].snapshot;
        let moves = self.stated_moves(at, parent);
        let destinations: BTreeSet<&Location> =
            moves.values().map(|place| &place.location).collect();
        let mut touched: BTreeSet<Location> = destinations.iter().copied().cloned().collect();
        for key in &event.what.deletes {
            let record = before.stack(key).into_iter();
            touched.extend(
                record
                    .flat_map(|record| record.resources.keys())
                    .map(|id| Location { stack: key.name.clone(), logical_id: id.clone() }),
            );
        }
        for (key, update) in &event.what.updates {
            let ids = update.removed.iter().chain(update.resources.keys());
            touched
                .extend(ids.map(|id| Location { stack: key.name.clone(), logical_id: id.clone() }));
        }
        let is_gone = |location: &Location| {
            before.resource(self.environment, location).is_some()
                && !moves.contains_key(location)
                && (destinations.contains(location) || !self.is_same(before, after, location))
        };
        let gone = touched.into_iter().filter(is_gone).collect();
        Step { moves, gone }
    }

    /// The moves that an event itself says, against one of its parents.
    fn stated_moves(&self, at: usize, parent: usize) -> BTreeMap<Location, Place> {
        let entries = self.log.entries();
        let entry = &entries[at];
        let base = (entry.parents.len() == 2).then_some(entries[parent].hash);
        let refactors = entry.event.what.refactors.iter().filter(|refactor| {
            refactor.parent == base && refactor.scope.contains(self.environment)
        });
        let exists = |moved: &&Move| {
            entries[parent].snapshot.resource(self.environment, &moved.source).is_some()
                && entry.snapshot.resource(self.environment, &moved.destination).is_some()
        };
        let moves = refactors.flat_map(|refactor| &refactor.moves).filter(exists);
        moves
            .map(|moved| {
                let location = moved.destination.clone();
                (moved.source.clone(), Place { location, events: vec![entry.hash] })
            })
            .collect()
    }

    /// Whether a name stands for resources of one type in two states.
    fn is_same(&self, before: &Snapshot, after: &Snapshot, location: &Location) -> bool {
        self.is_kept(before, location, after, location)
    }

    fn is_kept(&self, before: &Snapshot, old: &Location, after: &Snapshot, new: &Location) -> bool {
        let old = before.resource(self.environment, old);
        let new = after.resource(self.environment, new);
        old.zip(new).is_some_and(|(old, new)| old.resource_type == new.resource_type)
    }

    fn add_merge(&mut self, at: usize, first: usize, second: usize) {
        let base = self.log.base(first, second);
        let ours = self.positions(base, first);
        let theirs = self.positions(base, second);
        let start =
            Start { environment: self.environment, snapshot: &self.log.entries()[base].snapshot };
        let first_step = self.merge_step(start, (at, first, second), &ours, &theirs);
        let second_step = self.merge_step(start, (at, second, first), &theirs, &ours);
        let both = ours.moved.iter().filter_map(|(source, place)| {
            Some((source, &place.location, &theirs.moved.get(source)?.location))
        });
        for (source, a, b) in both.filter(|(source, a, b)| a != b && a != source && b != source) {
            if first_step.of(a) != second_step.of(b) {
                self.contradictions.insert(Contradiction::TwoPlaces {
                    merge: self.log.entries()[at].hash,
                    source_name: source.clone(),
                    places: Box::new((a.clone(), b.clone())),
                });
            }
        }
        self.merges.insert((at, first), first_step);
        self.merges.insert((at, second), second_step);
    }

    /// What a merge (`at`) does to the names at one of its parents.
    fn merge_step(
        &mut self,
        start: Start<'_>,
        (at, parent, other): (usize, usize, usize),
        here: &Positions,
        there: &Positions,
    ) -> Step {
        let entries = self.log.entries();
        let (before, after) = (&entries[parent].snapshot, &entries[at].snapshot);
        let beyond = &entries[other].snapshot;
        let stated = self.stated_moves(at, parent);
        let sources = here.sources();
        let mut claims = Claims::of(&stated, entries[at].hash);
        let mut step = Step { moves: stated, gone: BTreeSet::new() };
        let (mut staying, mut yielding) = (Vec::new(), Vec::new());
        for (location, _) in before.resources(self.environment) {
            if step.moves.contains_key(&location) {
                continue;
            }
            let origin = match sources.get(&location) {
                Some(source) => Some(*source),
                None => here.stays(start, &location).then_some(&location),
            };
            if let Some(source) = origin.filter(|source| there.gone.contains(*source)) {
                let was_moved = *source != location;
                yielding.push((location, was_moved));
                continue;
            }
            // What this branch has moved or created is where this branch says.
            if origin == Some(&location)
                && let Some(place) = there.moved.get(&location)
                && place.location != location
                && self.is_kept(before, &location, after, &place.location)
            {
                if claims.take(&location, &place.location, &mut self.contradictions) {
                    step.moves.insert(location, place.clone());
                } else {
                    step.gone.insert(location);
                }
                continue;
            }
            staying.push(location);
        }
        for location in staying {
            let stays = self.is_same(before, after, &location)
                && claims.take(&location, &location, &mut self.contradictions);
            if !stays {
                step.gone.insert(location);
            }
        }
        // The other branch has deleted these. Who was moved keeps the new name, unless something
        // that both branches have wants it; who was not, only if the other branch has not given
        // the name to another.
        for (location, was_moved) in yielding {
            let is_free = claims.is_free(&location)
                && (was_moved || beyond.resource(self.environment, &location).is_none());
            if !is_free || !self.is_same(before, after, &location) {
                step.gone.insert(location);
            }
        }
        step
    }
}

/// Who has which name after a merge.
struct Claims {
    merge: EventHash,
    stated: BTreeSet<Location>,
    taken: BTreeMap<Location, Location>,
}

impl Claims {
    fn of(stated: &BTreeMap<Location, Place>, merge: EventHash) -> Self {
        let stated = stated.values().map(|place| place.location.clone()).collect();
        Self { merge, stated, taken: BTreeMap::new() }
    }

    /// Whether nobody has a name yet.
    fn is_free(&self, name: &Location) -> bool {
        !self.stated.contains(name) && !self.taken.contains_key(name)
    }

    /// Whether a resource gets a name. What was stated goes first; apart from that two that want
    /// one name contradict each other.
    fn take(
        &mut self,
        source: &Location,
        destination: &Location,
        contradictions: &mut BTreeSet<Contradiction>,
    ) -> bool {
        if self.stated.contains(destination) {
            return false;
        }
        let Some(other) = self.taken.get(destination) else {
            self.taken.insert(destination.clone(), source.clone());
            return true;
        };
        contradictions.insert(Contradiction::TwoSources {
            merge: self.merge,
            sources: Box::new((other.clone(), source.clone())),
            destination: destination.clone(),
        });
        false
    }
}
