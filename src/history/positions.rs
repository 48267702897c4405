//! Where the resources of one event are at a later one. Only what does not stay is kept.

use std::collections::{BTreeMap, BTreeSet};

use super::compose::Contradiction;
use super::hash::EventHash;
use super::snapshot::Snapshot;
use crate::model::{Environment, Location};

/// Where a resource went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) location: Location,
    /// The events that moved it.
    pub(super) events: Vec<EventHash>,
}

/// What an event does to the names at one of its parents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    /// Resources that get another name.
    pub(super) moves: BTreeMap<Location, Place>,
    /// Resources that are there no more, whoever has their names now.
    pub(super) gone: BTreeSet<Location>,
}

/// Where the resources of an event are at a later one, by their names at the first. Who is neither
/// moved nor gone has stayed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Positions {
    pub(super) moved: BTreeMap<Location, Place>,
    pub(super) gone: BTreeSet<Location>,
}

/// The environment, and the state at the first event.
#[derive(Clone, Copy)]
pub(super) struct Start<'a> {
    pub(super) environment: &'a Environment,
    pub(super) snapshot: &'a Snapshot,
}

impl Step {
    /// What a resource is called afterwards; `None` if it is gone.
    pub(super) fn of<'a>(&'a self, source: &'a Location) -> Option<&'a Location> {
        match self.moves.get(source) {
            Some(place) => Some(&place.location),
            None => (!self.gone.contains(source)).then_some(source),
        }
    }
}

impl Positions {
    /// Whether a resource is where it always was, without ever having been elsewhere.
    pub(super) fn stays(&self, start: Start<'_>, source: &Location) -> bool {
        !self.moved.contains_key(source)
            && !self.gone.contains(source)
            && start.snapshot.resource(start.environment, source).is_some()
    }

    /// Where a resource is; `None` if it is gone.
    pub(super) fn of<'a>(&'a self, source: &'a Location) -> Option<&'a Location> {
        match self.moved.get(source) {
            Some(place) => Some(&place.location),
            None => (!self.gone.contains(source)).then_some(source),
        }
    }

    /// By what names the resources were known that are somewhere else now.
    pub(super) fn sources(&self) -> BTreeMap<&Location, &Location> {
        self.moved.iter().map(|(source, place)| (&place.location, source)).collect()
    }

    /// Goes one event further.
    #[must_use]
    pub(super) fn then(self, step: &Step, start: Start<'_>) -> Self {
        let mut next = Self { gone: self.gone.clone(), ..Self::default() };
        for (source, place) in &self.moved {
            if step.gone.contains(&place.location) {
                next.gone.insert(source.clone());
                continue;
            }
            let mut place = place.clone();
            if let Some(further) = step.moves.get(&place.location) {
                place.location = further.location.clone();
                place.events.extend(&further.events);
            }
            next.moved.insert(source.clone(), place);
        }
        let stayed = |location: &&Location| self.stays(start, location);
        next.gone.extend(step.gone.iter().filter(stayed).cloned());
        let moved = step.moves.iter().filter(|(source, _)| self.stays(start, source));
        next.moved.extend(moved.map(|(source, place)| (source.clone(), place.clone())));
        next
    }

    /// Brings together what is known by way of both parents of a merge. A resource that one
    /// branch still has was not deleted by the merge.
    pub(super) fn joined(
        self,
        other: &Self,
        start: Start<'_>,
        merge: EventHash,
        contradictions: &mut BTreeSet<Contradiction>,
    ) -> Self {
        let mut joined = Self::default();
        let maps = [&self, other];
        let sources: BTreeSet<&Location> =
            maps.iter().flat_map(|map| map.moved.keys().chain(&map.gone)).collect();
        for source in sources {
            match (self.of(source), other.of(source)) {
                (None, None) => drop(joined.gone.insert(source.clone())),
                (Some(a), Some(b)) if a != b => {
                    contradictions.insert(Contradiction::TwoPlaces {
                        merge,
                        source_name: source.clone(),
                        places: Box::new((a.clone(), b.clone())),
                    });
                    joined.gone.insert(source.clone());
                }
                (ours, _) => {
                    let known = if ours.is_some() { &self } else { other };
                    if let Some(place) = known.moved.get(source) {
                        joined.moved.insert(source.clone(), place.clone());
                    }
                }
            }
        }
        joined.contested(start, merge, contradictions);
        joined
    }

    /// Tells of places that two resources claim.
    fn contested(
        &self,
        start: Start<'_>,
        merge: EventHash,
        contradictions: &mut BTreeSet<Contradiction>,
    ) {
        let mut claimed: BTreeMap<&Location, &Location> = BTreeMap::new();
        for (source, place) in &self.moved {
            let destination = &place.location;
            let earlier = claimed.insert(destination, source);
            let stays = self.stays(start, destination).then_some(destination);
            if let Some(other) = earlier.or(stays) {
                contradictions.insert(Contradiction::TwoSources {
                    merge,
                    sources: Box::new((other.clone(), source.clone())),
                    destination: destination.clone(),
                });
            }
        }
    }
}
