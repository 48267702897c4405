//! Moves over many events, composed into one.

use super::hash::EventHash;
use super::log::Log;
use super::steps::Tracker;
use crate::model::{Environment, Location, ResourceType};

/// A resource that is called otherwise at a later event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mapping {
    /// What it was called.
    pub source: Location,
    /// What it is called.
    pub destination: Location,
    /// Its type.
    pub resource_type: ResourceType,
    /// The events that moved it, in their order.
    pub events: Vec<EventHash>,
}

/// Two branches that do not agree on where a resource went.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Contradiction {
    /// One resource would be in two places.
    #[error(
        "`{source_name}` is called `{}` on one branch and `{}` on the other", .places.0, .places.1
    )]
    TwoPlaces {
        /// The merge.
        merge: EventHash,
        /// What it was called before the branches.
        source_name: Location,
        /// What it is called on either.
        places: Box<(Location, Location)>,
    },
    /// Two resources would be in one place.
    #[error("`{}` and `{}` would both be called `{destination}`", .sources.0, .sources.1)]
    TwoSources {
        /// The merge.
        merge: EventHash,
        /// What both were called before.
        sources: Box<(Location, Location)>,
        /// What both would be called.
        destination: Location,
    },
}

impl Contradiction {
    /// Returns the merge in which the branches met.
    pub fn merge(&self) -> EventHash {
        match self {
            Self::TwoPlaces { merge, .. } | Self::TwoSources { merge, .. } => *merge,
        }
    }
}

/// Why the moves between two events cannot be told.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComposeError {
    /// An event is not in the log.
    #[error("the event {} is not in the log", .0.short())]
    Unknown(EventHash),
    /// The second event does not follow from the first.
    #[error(
        "the event {} does not come after {}: there are no moves from that one to it",
        .to.short(), .from.short()
    )]
    NotAfter {
        /// The first.
        from: EventHash,
        /// The second.
        to: EventHash,
    },
    /// Merged branches do not agree. A merge made by [`super::merge`] has no such thing.
    #[error(
        "the branches that the event {event} has merged do not agree: {0}. Merge them again with \
         `cdkr history merge`, and say which name is right", event = .0.merge().short()
    )]
    Contradiction(Contradiction),
}

/// Returns the moves of all events after `from` up to `to`, composed, as an environment sees them:
/// each resource that is called otherwise at `to` than at `from`, sorted by the old name. A
/// resource that was deleted on the way has no mapping, even if its name was taken by a new one.
///
/// # Errors
/// When `to` does not follow from `from`, or when merged branches contradict each other.
pub fn compose(
    log: &Log,
    from: EventHash,
    to: EventHash,
    environment: &Environment,
) -> Result<Vec<Mapping>, ComposeError> {
    let start = log.position(from).ok_or(ComposeError::Unknown(from))?;
    let end = log.position(to).ok_or(ComposeError::Unknown(to))?;
    if !log.is_ancestor(start, end) {
        return Err(ComposeError::NotAfter { from, to });
    }
    let mut tracker = Tracker::new(log, environment, end);
    let positions = tracker.positions(start, end);
    if let Some(contradiction) = tracker.contradictions().first() {
        return Err(ComposeError::Contradiction(contradiction.clone()));
    }
    let before = &log.entries()[start].snapshot;
    let mappings = positions.moved.into_iter().filter_map(|(source, place)| {
        let resource_type = before.resource(environment, &source)?.resource_type.clone();
        let (destination, events) = (place.location, place.events);
        (source != destination).then_some(Mapping { source, destination, resource_type, events })
    });
    Ok(mappings.collect())
}

/// Returns the mappings in the other direction.
pub(super) fn inverse(mappings: Vec<Mapping>) -> Vec<Mapping> {
    let mut inverse: Vec<Mapping> = mappings
        .into_iter()
        .map(|mapping| Mapping {
            source: mapping.destination,
            destination: mapping.source,
            resource_type: mapping.resource_type,
            events: mapping.events.into_iter().rev().collect(),
        })
        .collect();
    inverse.sort();
    inverse
}

#[cfg(test)]
#[path = "compose_tests.rs"]
mod tests;
