//! What became of the stacks between two events.

use std::collections::{BTreeMap, BTreeSet};

use super::compose::{ComposeError, Mapping, compose, inverse};
use super::event::StackKey;
use super::hash::EventHash;
use super::log::Log;
use super::snapshot::{Snapshot, SnapshotDifference, diff};
use super::steps::Tracker;
use crate::model::{Environment, Location, LogicalId, ResourceType};
use crate::settings::Scope;

/// What differs between the states at two events, moved resources as what they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// What differs by name, without the names of moved resources.
    pub difference: SnapshotDifference,
    /// Resources that are called otherwise.
    pub moved: BTreeSet<Moved>,
    /// How many events come after the one and lead to the other; `None` if neither follows from
    /// the other, so that nobody can say what moved.
    pub events: Option<usize>,
}

/// A resource that is called otherwise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moved {
    /// Its stack before, and its logical ID there.
    pub source: (StackKey, LogicalId),
    /// Its stack now, and its logical ID there.
    pub destination: (StackKey, LogicalId),
    /// Its type.
    pub resource_type: ResourceType,
    /// The events that moved it, in their order.
    pub events: Vec<EventHash>,
}

/// What a merge says nothing of, as one environment sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// By head: its resources that the merged app does not have.
    pub lost: BTreeMap<EventHash, BTreeSet<Location>>,
    /// Resources of the merged app that come from neither head.
    pub new: BTreeSet<Location>,
}

/// Returns what became of the stacks between two events; if the second one comes first, the way
/// back.
///
/// # Errors
/// When an event is not in the log, or when merged branches contradict each other.
pub fn changes(log: &Log, from: EventHash, to: EventHash) -> Result<Changes, ComposeError> {
    let start = log.position(from).ok_or(ComposeError::Unknown(from))?;
    let end = log.position(to).ok_or(ComposeError::Unknown(to))?;
    let (before, after) = (&log.entries()[start].snapshot, &log.entries()[end].snapshot);
    let mut changes = Changes { difference: diff(before, after), ..Changes::default() };
    let is_forward = log.is_ancestor(start, end);
    if !is_forward && !log.is_ancestor(end, start) {
        return Ok(changes);
    }
    let (earlier, later) = if is_forward { (start, end) } else { (end, start) };
    let marks = log.marked(later).into_iter().zip(log.marked(earlier));
    changes.events = Some(marks.filter(|(later, earlier)| *later && !*earlier).count());
    for environment in environments(before, after) {
        let mappings = if is_forward {
            compose(log, from, to, &environment)?
        } else {
            inverse(compose(log, to, from, &environment)?)
        };
        changes.moved.extend(
            mappings.into_iter().filter_map(|mapping| moved(mapping, before, after, &environment)),
        );
    }
    changes.leave_out_moved();
    Ok(changes)
}

impl Changes {
    /// Takes the names of moved resources out of what differs by name. A name that a resource
    /// left, and that another one got, stays: it is neither added nor removed.
    fn leave_out_moved(&mut self) {
        for Moved { source, destination, .. } in &self.moved {
            let difference = &mut self.difference;
            if let Some(stack) = difference.updated.get_mut(&source.0) {
                stack.removed.remove(&source.1);
            }
            if let Some(stack) = difference.deleted.get_mut(&source.0) {
                stack.resources.remove(&source.1);
            }
            if let Some(stack) = difference.updated.get_mut(&destination.0) {
                stack.added.remove(&destination.1);
            }
            if let Some(stack) = difference.created.get_mut(&destination.0) {
                stack.resources.remove(&destination.1);
            }
        }
    }
}

fn moved(
    mapping: Mapping,
    before: &Snapshot,
    after: &Snapshot,
    environment: &Environment,
) -> Option<Moved> {
    let source = key(before, &mapping.source, environment)?;
    let destination = key(after, &mapping.destination, environment)?;
    Some(Moved {
        source: (source, mapping.source.logical_id),
        destination: (destination, mapping.destination.logical_id),
        resource_type: mapping.resource_type,
        events: mapping.events,
    })
}

fn key(snapshot: &Snapshot, location: &Location, environment: &Environment) -> Option<StackKey> {
    let mut named = snapshot.named(location).map(|(key, _)| key);
    named.find(|key| key.scope.contains(environment)).cloned()
}

/// One environment for each kind of stack.
fn environments(before: &Snapshot, after: &Snapshot) -> BTreeSet<Environment> {
    let keys = before.stacks().chain(after.stacks()).map(|(key, _)| key);
    keys.map(|key| key.scope.environment()).collect()
}

impl Scope {
    /// Returns the environment as a cloud assembly names it: what is not said is unknown.
    pub fn environment(&self) -> Environment {
        Environment::new(
            self.account.as_deref().unwrap_or("unknown-account"),
            self.region.as_deref().unwrap_or("unknown-region"),
        )
    }

    /// Returns the scope of the stacks that a cloud assembly has in an environment: what is
    /// unknown is not said.
    pub fn of(environment: &Environment) -> Self {
        let known = |text: &str, unknown| (text != unknown).then(|| text.to_owned());
        Self {
            account: known(&environment.account, "unknown-account"),
            region: known(&environment.region, "unknown-region"),
        }
    }
}

/// Returns what a merge says nothing of, as an environment sees it; nothing for an event that is
/// no merge.
pub fn open(log: &Log, merge: EventHash, environment: &Environment) -> Open {
    let mut open = Open::default();
    let Some(at) = log.position(merge) else { return open };
    let entries = log.entries();
    let [first, second] = entries[at].parents[..] else { return open };
    let tracker = Tracker::new(log, environment, at);
    let after = &entries[at].snapshot;
    open.new = after.resources(environment).map(|(location, _)| location).collect();
    for parent in [first, second] {
        let step = tracker.step(at, parent);
        let mut lost = BTreeSet::new();
        for (location, resource) in entries[parent].snapshot.resources(environment) {
            let now = step.of(&location).filter(|now| {
                let there = after.resource(environment, now);
                there.is_some_and(|there| there.resource_type == resource.resource_type)
            });
            match now {
                Some(now) => drop(open.new.remove(now)),
                None => drop(lost.insert(location.clone())),
            }
        }
        open.lost.insert(entries[parent].hash, lost);
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::samples::{add, environment, place, state, story};
    use crate::history::{MergeEvent, merge};

    fn names(moved: &BTreeSet<Moved>) -> Vec<String> {
        let name = |(key, id): &(StackKey, LogicalId)| format!("{}.{id}", key.name);
        moved.iter().map(|it| format!("{}>{}", name(&it.source), name(&it.destination))).collect()
    }

    #[test]
    fn what_moved_was_neither_added_nor_removed() {
        let (log, hashes) = story(&[
            ("Web.A:Bucket Web.Q:Queue", ""),
            ("Web.B:Bucket Web.Q:Queue", "Web.A>Web.B"),
            ("Api.C:Bucket Web.R:Queue", "Web.B>Api.C"),
        ]);
        let found = changes(&log, hashes[0], hashes[2]).unwrap();
        assert_eq!(names(&found.moved), ["Web.A>Api.C"]);
        assert_eq!(found.events, Some(2));
        let created: Vec<_> = found.difference.created.values().collect();
        assert!(created.len() == 1 && created[0].resources.is_empty());
        let web = found.difference.updated.values().next().unwrap();
        assert_eq!(web.removed.keys().map(LogicalId::as_str).collect::<Vec<_>>(), ["Q"]);
        assert_eq!(web.added.keys().map(LogicalId::as_str).collect::<Vec<_>>(), ["R"]);
        let back = changes(&log, hashes[2], hashes[0]).unwrap();
        assert_eq!(names(&back.moved), ["Api.C>Web.A"]);
        assert_eq!(back.events, Some(2));
    }

    #[test]
    fn stacks_of_one_name_in_two_accounts_move_each_for_itself() {
        let (log, hashes) =
            story(&[("Web@1.A:T Web@2.A:T", ""), ("Web@1.B:T Web@2.B:T", "Web.A>Web.B")]);
        let found = changes(&log, hashes[0], hashes[1]).unwrap();
        assert_eq!(names(&found.moved), ["Web.A>Web.B", "Web.A>Web.B"]);
        assert!(found.difference.updated.values().all(|stack| stack.added.is_empty()));
    }

    #[test]
    fn of_two_branches_only_the_names_are_compared() {
        let (mut log, hashes) = story(&[("Web.A:T", "")]);
        let one = add(&mut log, Some(hashes[0]), "Web.B:T", Vec::new());
        let other = add(&mut log, Some(hashes[0]), "Web.C:T", Vec::new());
        let found = changes(&log, one, other).unwrap();
        assert_eq!(found.events, None);
        assert!(found.moved.is_empty());
        assert_eq!(found.difference.updated.len(), 1);
    }

    #[test]
    fn a_merge_leaves_open_what_neither_branch_knows() {
        let (log, hashes) = story(&[("Web.A:T Web.K:T", "")]);
        let (mut ours, mut theirs) = (log.clone(), log);
        let our_head = add(&mut ours, Some(hashes[0]), "Web.A:T Web.K:T Web.B:T", Vec::new());
        let their_head = add(&mut theirs, Some(hashes[0]), "Web.A:T Web.K:T Web.C:T", Vec::new());
        let event =
            MergeEvent { state: state("Web.A:T Web.B:T Web.C:T Web.N:T"), ..MergeEvent::default() };
        let merged = merge(&ours, &theirs, &event).unwrap();
        let head = merged.head().unwrap().unwrap();
        let found = open(&merged, head, &environment("1"));
        assert_eq!(found.new, BTreeSet::from([place("Web.N")]));
        for head in [our_head, their_head] {
            assert_eq!(found.lost[&head], BTreeSet::from([place("Web.K")]));
        }
    }
}
