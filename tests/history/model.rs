//! Random histories whose resources carry an identity.

use std::collections::BTreeMap;

use cdkr::history::{
    Conflict, Decided, EventHash, Log, MergeEvent, Move, Refactor, ResourceRecord, Snapshot,
    StackKey, StackRecord, merge,
};
use cdkr::model::{Environment, Location};
use cdkr::settings::Scope;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

pub(crate) const STACKS: u8 = 3;
const NAMES: u8 = 4;
const TYPES: u8 = 2;

/// Where a resource is: number of the stack, number of the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place(pub(crate) u8, pub(crate) u8);

impl Place {
    pub(crate) fn location(self) -> Location {
        Location::new(&format!("Stack{}", self.0), &format!("Name{}", self.1))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) id: u32,
    pub(crate) kind: u8,
}

pub(crate) type World = BTreeMap<Place, Resource>;

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Create(Place, u8),
    Delete(Index),
    Move(Index, Place),
    Swap(Index, Index),
    Empty(u8),
    RenameStack(u8, u8),
}

/// The operations of one event.
pub(crate) fn ops() -> impl Strategy<Value = Vec<Op>> {
    let place = || (0..STACKS, 0..NAMES).prop_map(|(stack, name)| Place(stack, name));
    let op = prop_oneof![
        4 => (place(), 0..TYPES).prop_map(|(place, kind)| Op::Create(place, kind)),
        2 => any::<Index>().prop_map(Op::Delete),
        4 => (any::<Index>(), place()).prop_map(|(which, place)| Op::Move(which, place)),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Op::Swap(a, b)),
        1 => (0..STACKS).prop_map(Op::Empty),
        1 => (0..STACKS, 0..STACKS).prop_map(|(from, to)| Op::RenameStack(from, to)),
    ];
    vec(op, 0..4)
}

fn pick(world: &World, which: Index) -> Option<Place> {
    let places: Vec<Place> = world.keys().copied().collect();
    (!places.is_empty()).then(|| *which.get(&places))
}

/// Does what the operations of one event say.
pub(crate) fn apply(world: &mut World, ops: &[Op], next_id: &mut u32) {
    let before = world.clone();
    for op in ops {
        match op {
            Op::Create(place, kind) => {
                *next_id += 1;
                world.entry(*place).or_insert(Resource { id: *next_id, kind: *kind });
            }
            Op::Delete(which) => {
                let place = pick(world, *which);
                place.and_then(|place| world.remove(&place));
            }
            Op::Move(which, to) => {
                if let Some(from) = pick(world, *which)
                    && !world.contains_key(to)
                {
                    let resource = world.remove(&from).unwrap();
                    world.insert(*to, resource);
                }
            }
            Op::Swap(a, b) => {
                if let (Some(a), Some(b)) = (pick(world, *a), pick(world, *b)) {
                    let (first, second) = (world[&a], world[&b]);
                    world.insert(a, second);
                    world.insert(b, first);
                }
            }
            Op::Empty(stack) => world.retain(|place, _| place.0 != *stack),
            Op::RenameStack(from, to) => {
                if from != to && !world.keys().any(|place| place.0 == *to) {
                    let renamed = |(place, resource): (&Place, &Resource)| {
                        (Place(if place.0 == *from { *to } else { place.0 }, place.1), *resource)
                    };
                    *world = world.iter().map(renamed).collect();
                }
            }
        }
    }
    // One event does not tell a resource from one that takes its place at once.
    let ids = |world: &World| world.values().map(|it| it.id).collect::<Vec<_>>();
    let (old_ids, new_ids) = (ids(&before), ids(world));
    for (place, resource) in world.iter_mut() {
        if let Some(old) = before.get(place)
            && old.kind == resource.kind
            && !new_ids.contains(&old.id)
            && !old_ids.contains(&resource.id)
        {
            resource.id = old.id;
        }
    }
}

/// A state as the history knows it; the salt makes templates differ.
pub(crate) fn state(world: &World, salt: u32) -> Snapshot {
    let mut stacks: BTreeMap<StackKey, StackRecord> = BTreeMap::new();
    for (place, resource) in world {
        let location = place.location();
        let key = StackKey { name: location.stack, scope: Scope::default() };
        let stack = stacks.entry(key).or_default();
        stack.template = format!("digest{salt}");
        let record = ResourceRecord {
            resource_type: format!("Type{}", resource.kind).as_str().into(),
            path: None,
        };
        stack.resources.insert(location.logical_id, record);
    }
    Snapshot::new(stacks)
}

fn moves(before: &World, after: &World) -> Vec<Move> {
    let moved = before.iter().filter_map(|(place, resource)| {
        let (now, _) = after.iter().find(|(_, other)| other.id == resource.id)?;
        (now != place).then(|| Move {
            source: place.location(),
            destination: now.location(),
            decided: Decided::Detected("digest".to_owned()),
        })
    });
    moved.collect()
}

#[derive(Clone, Debug)]
pub(crate) struct Revision {
    pub(crate) hash: EventHash,
    pub(crate) world: World,
    pub(crate) salt: u32,
}

#[derive(Default)]
pub(crate) struct History {
    pub(crate) log: Log,
    pub(crate) revisions: Vec<Revision>,
    next_id: u32,
}

impl History {
    pub(crate) fn world(&self, hash: EventHash) -> &World {
        &self.revisions.iter().find(|revision| revision.hash == hash).unwrap().world
    }

    /// Goes on from a revision, or begins.
    fn commit(&mut self, from: Option<usize>, ops: &[Op], salt: u32) {
        let empty = World::new();
        let before = from.map(|at| self.revisions[at].clone());
        let old = before.as_ref().map_or(&empty, |revision| &revision.world);
        let mut world = old.clone();
        apply(&mut world, ops, &mut self.next_id);
        let moves = moves(old, &world);
        let refactor = Refactor { scope: Scope::default(), parent: None, moves };
        let parents = before.iter().map(|revision| revision.hash).collect();
        let was = before.as_ref().map_or_else(Snapshot::default, |it| state(&it.world, it.salt));
        let what = was.what_leads_to(&state(&world, salt), vec![refactor]);
        // Events of two branches with one content differ in their time.
        let at = self.revisions.len().to_string();
        let hash = self
            .log
            .append(cdkr::history::Event { parents, at, same_as: None, toward: None, what })
            .unwrap();
        self.revisions.push(Revision { hash, world, salt });
    }

    /// Merges two revisions, if the identities of the resources have a merge.
    fn merge(&mut self, a: usize, b: usize) {
        let (ours, theirs) = (self.revisions[a].clone(), self.revisions[b].clone());
        let bases = self.log.lowest_common_ancestors(ours.hash, theirs.hash);
        let [base] = bases[..] else { return };
        if base == ours.hash || base == theirs.hash {
            return;
        }
        let merged = three_way(self.world(base), &ours.world, &theirs.world);
        let at = self.revisions.len().to_string();
        let world = match &merged {
            Merged::World(world) | Merged::TwoPlaces(world) => world.clone(),
            Merged::Unclear => return,
        };
        let salt = ours.salt.max(theirs.salt);
        let event = MergeEvent { at, state: state(&world, salt), refactors: Vec::new() };
        let logs = (self.log.up_to(ours.hash).unwrap(), self.log.up_to(theirs.hash).unwrap());
        let result = merge(&logs.0, &logs.1, &event);
        if let Merged::TwoPlaces(_) = merged {
            assert!(matches!(result, Err(Conflict::Contradictions(_))), "{result:?}");
            return;
        }
        let log = result.unwrap();
        let (hash, event) = log.events().next_back().unwrap();
        self.log.append(event.clone()).unwrap();
        self.revisions.push(Revision { hash, world, salt });
    }
}

enum Merged {
    World(World),
    /// A resource went to two places; the world in which the first place won.
    TwoPlaces(World),
    /// Two resources want one place.
    Unclear,
}

fn three_way(base: &World, ours: &World, theirs: &World) -> Merged {
    let place = |world: &World, id: u32| {
        world.iter().find(|(_, resource)| resource.id == id).map(|(place, _)| *place)
    };
    let all = base.values().chain(ours.values()).chain(theirs.values());
    let resources: BTreeMap<u32, Resource> = all.map(|it| (it.id, *it)).collect();
    let mut world = World::new();
    let mut two_places = false;
    for (id, resource) in resources {
        let places = (place(base, id), place(ours, id), place(theirs, id));
        let now = match places {
            (_, a, b) if a == b => a,
            (was, a, b) if a == was => b,
            (was, a, b) if b == was => a,
            // Moved here, deleted there, and there another one has the name.
            (_, None, Some(name)) if ours.contains_key(&name) => return Merged::Unclear,
            (_, Some(name), None) if theirs.contains_key(&name) => return Merged::Unclear,
            (_, None, _) | (_, _, None) => None,
            (_, a, _) => {
                two_places = true;
                a
            }
        };
        if let Some(now) = now
            && world.insert(now, resource).is_some()
        {
            return Merged::Unclear;
        }
    }
    if two_places { Merged::TwoPlaces(world) } else { Merged::World(world) }
}

/// A history without branches.
pub(crate) fn linear(events: &[Vec<Op>]) -> History {
    let mut history = History::default();
    for (at, ops) in events.iter().enumerate() {
        let salt = u32::try_from(at).unwrap();
        history.commit(at.checked_sub(1), ops, salt);
    }
    history
}

#[derive(Clone, Debug)]
enum Act {
    /// Goes on from one of the latest revisions.
    Commit(Index, Vec<Op>, u32),
    /// Goes on from any revision.
    Branch(Index, Vec<Op>, u32),
    Merge(Index, Index),
}

/// How to make a history with branches and merges.
#[derive(Clone, Debug)]
pub(crate) struct Branching {
    first: Vec<Op>,
    acts: Vec<Act>,
}

pub(crate) fn branching() -> impl Strategy<Value = Branching> {
    // Few salts, so that different events have one state now and then.
    let salt = || 0..2_u32;
    let act = prop_oneof![
        3 => (any::<Index>(), ops(), salt()).prop_map(|(at, ops, salt)| Act::Commit(at, ops, salt)),
        2 => (any::<Index>(), ops(), salt()).prop_map(|(at, ops, salt)| Act::Branch(at, ops, salt)),
        3 => (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Act::Merge(a, b)),
    ];
    (vec(ops(), 3), vec(act, 1..10))
        .prop_map(|(first, acts)| Branching { first: first.concat(), acts })
}

impl Branching {
    pub(crate) fn run(&self) -> History {
        let mut history = History::default();
        history.commit(None, &self.first, 0);
        for act in &self.acts {
            let heads: Vec<usize> = {
                let heads = history.log.heads();
                let is_head = |it: &Revision| heads.iter().any(|head| head.event == it.hash);
                let revisions = history.revisions.iter().enumerate();
                revisions.filter(|(_, it)| is_head(it)).map(|(at, _)| at).collect()
            };
            match act {
                Act::Commit(at, ops, salt) => history.commit(Some(*at.get(&heads)), ops, *salt),
                Act::Branch(at, ops, salt) => {
                    let at = at.index(history.revisions.len());
                    history.commit(Some(at), ops, *salt);
                }
                Act::Merge(a, b) => {
                    let count = history.revisions.len();
                    history.merge(a.index(count), b.index(count));
                }
            }
        }
        history
    }
}

pub(crate) fn environment() -> Environment {
    Environment::new("111111111111", "eu-west-1")
}
