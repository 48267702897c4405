//! The state of an app's stacks at a point in time.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::{Event, Refactor, ResourceRecord, StackKey, StackRecord, StackUpdate, What};
use crate::model::{Environment, Location, LogicalId};

/// Which stacks there are, with which resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    stacks: BTreeMap<StackKey, Arc<StackRecord>>,
}

/// What differs between two snapshots, by name: moves are not known here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotDifference {
    /// Stacks that only the second has.
    pub created: BTreeMap<StackKey, StackRecord>,
    /// Stacks that only the first has.
    pub deleted: BTreeMap<StackKey, StackRecord>,
    /// Stacks that both have and that differ.
    pub updated: BTreeMap<StackKey, StackDifference>,
}

/// What differs in a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackDifference {
    /// The digests of both templates, the first one's first.
    pub templates: (String, String),
    /// Resources that only the second has.
    pub added: BTreeMap<LogicalId, ResourceRecord>,
    /// Resources that only the first has.
    pub removed: BTreeMap<LogicalId, ResourceRecord>,
    /// Resources of another type or path: in the first, in the second.
    pub changed: BTreeMap<LogicalId, (ResourceRecord, ResourceRecord)>,
}

impl Snapshot {
    /// Returns the snapshot of the given stacks.
    pub fn new(stacks: impl IntoIterator<Item = (StackKey, StackRecord)>) -> Self {
        let shared = stacks.into_iter().map(|(key, record)| (key, Arc::new(record)));
        Self { stacks: shared.collect() }
    }

    /// Returns the stacks, by name.
    pub fn stacks(&self) -> impl Iterator<Item = (&StackKey, &StackRecord)> {
        self.stacks.iter().map(|(key, record)| (key, record.as_ref()))
    }

    /// Returns a stack.
    pub fn stack(&self, key: &StackKey) -> Option<&StackRecord> {
        self.stacks.get(key).map(AsRef::as_ref)
    }

    /// Returns what is meant to be in an environment.
    #[must_use]
    pub fn in_environment(&self, environment: &Environment) -> Self {
        let stacks = self.stacks.iter().filter(|(key, _)| key.scope.contains(environment));
        Self { stacks: stacks.map(|(key, record)| (key.clone(), Arc::clone(record))).collect() }
    }

    /// Returns the resource of an environment at a location.
    pub fn resource(
        &self,
        environment: &Environment,
        location: &Location,
    ) -> Option<&ResourceRecord> {
        let mut stacks = self.named(location).filter(|(key, _)| key.scope.contains(environment));
        stacks.next()?.1.resources.get(&location.logical_id)
    }

    /// Returns the resources of an environment, by location.
    pub fn resources(
        &self,
        environment: &Environment,
    ) -> impl Iterator<Item = (Location, &ResourceRecord)> {
        let stacks = self.stacks().filter(|(key, _)| key.scope.contains(environment));
        stacks.flat_map(|(key, record)| {
            record.resources.iter().map(|(id, resource)| {
                let location = Location { stack: key.name.clone(), logical_id: id.clone() };
                (location, resource)
            })
        })
    }

    /// Returns what leads from this state to another.
    pub fn what_leads_to(&self, after: &Self, refactors: Vec<Refactor>) -> What {
        let difference = diff(self, after);
        let updates = difference.updated.into_iter().map(|(key, stack)| {
            let changed = stack.changed.into_iter().map(|(id, (_, new))| (id, new));
            let update = StackUpdate {
                template: stack.templates.1,
                resources: stack.added.into_iter().chain(changed).collect(),
                removed: stack.removed.into_keys().collect(),
            };
            (key, update)
        });
        What {
            updates: updates.collect(),
            creates: difference.created,
            deletes: difference.deleted.into_keys().collect(),
            refactors,
        }
    }

    /// The stacks of the name in a location, in whatever environments.
    pub(super) fn named(
        &self,
        location: &Location,
    ) -> impl Iterator<Item = (&StackKey, &StackRecord)> {
        // The smallest key of a name has no scope.
        let first =
            StackKey { name: location.stack.clone(), scope: crate::settings::Scope::default() };
        let from_first = self.stacks.range(first..);
        from_first
            .take_while(|(key, _)| key.name == location.stack)
            .map(|(key, record)| (key, record.as_ref()))
    }

    /// The state after an event, of which this is the state before. What it says must have been
    /// checked.
    pub(super) fn after(&self, event: &Event) -> Self {
        let mut stacks = self.stacks.clone();
        for key in &event.what.deletes {
            stacks.remove(key);
        }
        for (key, record) in &event.what.creates {
            stacks.insert(key.clone(), Arc::new(record.clone()));
        }
        for (key, update) in &event.what.updates {
            if let Some(shared) = stacks.get_mut(key) {
                let record = Arc::make_mut(shared);
                record.template.clone_from(&update.template);
                record.resources.retain(|id, _| !update.removed.contains(id));
                record.resources.extend(update.resources.clone());
            }
        }
        Self { stacks }
    }
}

/// Returns what differs between two snapshots, by name.
pub fn diff(before: &Snapshot, after: &Snapshot) -> SnapshotDifference {
    let mut difference = SnapshotDifference::default();
    for (key, old) in before.stacks() {
        match after.stack(key) {
            None => drop(difference.deleted.insert(key.clone(), old.clone())),
            Some(new) if new != old => {
                difference.updated.insert(key.clone(), stack_difference(old, new));
            }
            Some(_) => {}
        }
    }
    let created = after.stacks().filter(|(key, _)| before.stack(key).is_none());
    difference.created = created.map(|(key, record)| (key.clone(), record.clone())).collect();
    difference
}

fn stack_difference(old: &StackRecord, new: &StackRecord) -> StackDifference {
    let mut difference = StackDifference {
        templates: (old.template.clone(), new.template.clone()),
        ..StackDifference::default()
    };
    for (id, before) in &old.resources {
        match new.resources.get(id) {
            None => drop(difference.removed.insert(id.clone(), before.clone())),
            Some(after) if after != before => {
                difference.changed.insert(id.clone(), (before.clone(), after.clone()));
            }
            Some(_) => {}
        }
    }
    let added = new.resources.iter().filter(|(id, _)| !old.resources.contains_key(*id));
    difference.added = added.map(|(id, resource)| (id.clone(), resource.clone())).collect();
    difference
}
