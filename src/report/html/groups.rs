//! The order in which the page shows everything.

use std::collections::BTreeMap;

use crate::analyze::{ChangePlace, ChangeReport, ComponentChange, EnvironmentReport, StackReport};
use crate::model::Text;

/// An environment, its changes numbered through the whole page.
pub(super) struct Part<'r> {
    pub(super) environment: &'r EnvironmentReport,
    /// The number of its first change.
    pub(super) first: usize,
    /// Its stacks, in their order.
    pub(super) groups: Vec<Group<'r>>,
}

/// What happens in a stack.
pub(super) struct Group<'r> {
    pub(super) name: &'r str,
    pub(super) stack: Option<&'r StackReport>,
    /// Positions in the changes of the environment.
    pub(super) changes: Vec<usize>,
    pub(super) unchanged: Vec<&'r (Text, ChangePlace)>,
}

/// Returns the parts of a report.
pub(super) fn parts(report: &ChangeReport) -> Vec<Part<'_>> {
    let mut first = 0;
    let mut parts = Vec::new();
    for environment in &report.environments {
        parts.push(Part { environment, first, groups: groups(environment) });
        first += environment.changes.len();
    }
    parts
}

fn groups(environment: &EnvironmentReport) -> Vec<Group<'_>> {
    let new = |name, stack| Group { name, stack, changes: Vec::new(), unchanged: Vec::new() };
    let mut groups: Vec<Group<'_>> =
        environment.stacks.iter().map(|stack| new(stack.name.as_str(), Some(stack))).collect();
    let mut known: BTreeMap<&str, usize> =
        groups.iter().enumerate().map(|(at, group)| (group.name, at)).collect();
    // Nothing may be missing on the page, not even what is in a stack that nobody listed.
    for (at, change) in environment.changes.iter().enumerate() {
        let name = change.place().map_or("", |place| place.stack.as_str());
        let at_group = *known.entry(name).or_insert_with(|| {
            groups.push(new(name, None));
            groups.len() - 1
        });
        groups[at_group].changes.push(at);
    }
    for one in &environment.unchanged {
        let name = one.1.stack.as_str();
        let at_group = *known.entry(name).or_insert_with(|| {
            groups.push(new(name, None));
            groups.len() - 1
        });
        groups[at_group].unchanged.push(one);
    }
    groups
}

impl Part<'_> {
    /// Returns the change at a position, with the number that it has on the page.
    pub(super) fn change(&self, at: usize) -> (usize, &ComponentChange) {
        (self.first + at, &self.environment.changes[at])
    }
}
