//! The stacks that a reader asked for. The comparison always sees a whole environment, for a
//! resource may have come from anywhere in it; what is reported touches a selected stack.

use std::collections::BTreeSet;

use super::Error;
use super::sources::{Account, Deployed, Sources};
use crate::assembly::AssemblyStack;
use crate::compare::{Ambiguity, Comparison, Place};
use crate::model::{DeployedEnvironment, Environment, StackName};

/// The selected stacks, or all of them.
#[derive(Default)]
pub(super) enum Selection {
    /// Nobody chose.
    #[default]
    All,
    /// These, by environment and name.
    Only(BTreeSet<(Environment, StackName)>),
}

impl Selection {
    /// Selects by pattern on either side: a stack that was removed is only deployed.
    ///
    /// # Errors
    /// When a pattern matches nothing on both sides.
    pub(super) fn new(patterns: &[String], sources: &Sources) -> Result<Self, Error> {
        if patterns.is_empty() {
            return Ok(Self::All);
        }
        let mut selected = BTreeSet::new();
        let name = |stack: &&AssemblyStack| (stack.environment.clone(), stack.stack.name.clone());
        for pattern in patterns {
            let pattern = std::slice::from_ref(pattern);
            let local = sources.local.select(pattern);
            let local = local.map(|found| found.iter().map(name).collect());
            let deployed = match &sources.deployed {
                Deployed::Assembly(deployed) => {
                    deployed.select(pattern).map(|found| found.iter().map(name).collect()).ok()
                }
                Deployed::Account(account) => named(account, &pattern[0]),
            };
            match (local, deployed) {
                (Err(error), None) => return Err(Box::new(error).into()),
                (local, deployed) => {
                    let both: [Vec<_>; 2] =
                        [local.unwrap_or_default(), deployed.unwrap_or_default()];
                    selected.extend(both.into_iter().flatten());
                }
            }
        }
        Ok(Self::Only(selected))
    }

    /// Whether a stack was selected.
    pub(super) fn takes(&self, environment: &Environment, name: &StackName) -> bool {
        match self {
            Self::All => true,
            Self::Only(selected) => selected.contains(&(environment.clone(), name.clone())),
        }
    }

    /// Keeps what touches a selected stack. Returns the names of the other stacks that it touches
    /// as well; nothing is left of an environment without a selected stack.
    pub(super) fn apply(&self, comparison: &mut Comparison) -> Option<BTreeSet<String>> {
        let Self::Only(selected) = self else {
            return Some(BTreeSet::new());
        };
        let environment = comparison.environment.clone();
        if !selected.iter().any(|(other, _)| *other == environment) {
            return None;
        }
        let mut filter = Filter { selected, environment, others: BTreeSet::new() };
        comparison.mappings.retain(|one| filter.keep([&one.source, &one.destination]));
        comparison.similar.retain(|one| filter.keep([&one.source, &one.destination]));
        let groups: BTreeSet<usize> = comparison
            .ambiguous
            .iter()
            .filter(|one| filter.keep(places(one)))
            .map(|one| one.group)
            .collect();
        comparison.ambiguous.retain(|one| groups.contains(&one.group));
        for one in &comparison.ambiguous {
            filter.note(places(one));
        }
        comparison.added.retain(|one| filter.keep([&one.place]));
        comparison.removed.retain(|one| filter.keep([&one.place]));
        comparison.changed.retain(|one| filter.keep([&one.place]));
        Some(filter.others)
    }
}

/// The deployed stacks of exactly this name, unless there is none.
fn named(account: &Account, name: &str) -> Option<Vec<(Environment, StackName)>> {
    let of = |one: &DeployedEnvironment| {
        let has = one.stacks.iter().any(|stack| stack.stack.name.as_str() == name);
        has.then(|| (one.environment.clone(), StackName::from(name)))
    };
    let found: Vec<_> = account.environments.iter().filter_map(of).collect();
    (!found.is_empty()).then_some(found)
}

fn places(ambiguity: &Ambiguity) -> impl Iterator<Item = &Place> + Clone {
    ambiguity.sources.iter().chain(&ambiguity.destinations)
}

struct Filter<'a> {
    selected: &'a BTreeSet<(Environment, StackName)>,
    environment: Environment,
    others: BTreeSet<String>,
}

impl Filter<'_> {
    /// Whether one of the places is in a selected stack; if so, the others are noted.
    fn keep<'p>(&mut self, places: impl IntoIterator<Item = &'p Place, IntoIter: Clone>) -> bool {
        let places = places.into_iter();
        let keep = places.clone().any(|place| self.is_selected(root(place)));
        if keep {
            self.note(places);
        }
        keep
    }

    fn note<'p>(&mut self, places: impl IntoIterator<Item = &'p Place>) {
        for place in places {
            let root = root(place);
            if !self.is_selected(root) && !self.others.contains(root) {
                self.others.insert(root.to_owned());
            }
        }
    }

    fn is_selected(&self, root: &str) -> bool {
        self.selected.contains(&(self.environment.clone(), root.into()))
    }
}

/// The stack of a place, or the one in which it is nested: `Parent/Nested` belongs to `Parent`.
fn root(place: &Place) -> &str {
    let name = place.location.stack.as_str();
    name.split_once('/').map_or(name, |(root, _)| root)
}
