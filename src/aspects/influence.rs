//! What aspects had to do with what is told of an environment.

use std::collections::{BTreeMap, BTreeSet};

use super::check::Violation;
use super::compare::{Hidden, Thanks};
use crate::compare::Comparison;
use crate::model::{Environment, Location, Text};

/// What aspects had to do with the comparison of an environment, and what they say of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Influence {
    /// The account and region.
    pub environment: Environment,
    /// Mappings that only exist thanks to aspects.
    pub thanks: Vec<Thanks>,
    /// Differences that aspects hid.
    pub hidden: Vec<Hidden>,
    /// Rules that do not hold.
    pub violations: Vec<Violation>,
}

impl Influence {
    /// Returns that of an environment in which aspects did nothing.
    pub fn none(environment: Environment) -> Self {
        Self { environment, thanks: Vec::new(), hidden: Vec::new(), violations: Vec::new() }
    }

    /// Whether aspects did nothing.
    pub fn is_empty(&self) -> bool {
        self.thanks.is_empty() && self.hidden.is_empty() && self.violations.is_empty()
    }

    /// Keeps what is about resources of a comparison.
    pub fn narrow(&mut self, comparison: &Comparison) {
        let moved: BTreeSet<&Location> =
            comparison.mappings.iter().map(|one| &one.destination.location).collect();
        let changed = comparison.changed.iter().map(|one| &one.place.location);
        self.thanks.retain(|one| moved.contains(&one.destination));
        let present: BTreeSet<&Location> = changed.chain(moved).collect();
        self.hidden.retain(|one| present.contains(&one.location));
    }

    /// Returns to which aspects the mapping is owed whose resource is now at a location.
    pub fn thanks_for(&self, destination: &Location) -> Option<&Thanks> {
        self.thanks.iter().find(|one| one.destination == *destination)
    }

    /// Returns the aspects that hid differences of a resource, by property.
    pub fn hidden_in(&self, location: &Location) -> BTreeMap<&str, &[Text]> {
        let own = self.hidden.iter().filter(|one| one.location == *location);
        own.map(|one| (one.difference.property.as_str(), one.aspects.as_slice())).collect()
    }
}
