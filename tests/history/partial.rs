//! Environments that are on the way: refactored and not deployed, deployed in parts, failed.

use std::collections::{BTreeMap, BTreeSet};

use cdkr::history::{
    Advance, Arrival, Log, ReplayError, ResourceRecord, StackRecord, arrived, deployed, replay,
};
use cdkr::model::{Location, StackName};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::model::{self, Branching, Place, Resource, Revision, STACKS, World, branching};

/// What is done with an environment.
#[derive(Clone, Debug)]
enum Act {
    /// Everything is moved and deployed.
    Whole(Index),
    /// Everything is moved, nothing deployed.
    Moves(Index),
    /// Some of it is moved, nothing deployed: a deployment has failed.
    SomeMoves(Index, u16),
    /// Some stacks are deployed, with those between which and them resources move.
    SomeStacks(Index, u8),
}

fn act() -> impl Strategy<Value = Act> {
    let goal = any::<Index>;
    prop_oneof![
        2 => goal().prop_map(Act::Whole),
        2 => goal().prop_map(Act::Moves),
        2 => (goal(), any::<u16>()).prop_map(|(goal, mask)| Act::SomeMoves(goal, mask)),
        3 => (goal(), 0..8_u8).prop_map(|(goal, mask)| Act::SomeStacks(goal, mask)),
    ]
}

/// An environment: who is where, and what each thing is.
#[derive(Clone, Default)]
struct Deployed {
    things: BTreeMap<Place, (Resource, u32)>,
    /// The digests of the templates.
    templates: BTreeMap<u8, String>,
    next: u32,
}

impl Deployed {
    fn record(&self) -> BTreeMap<StackName, Option<StackRecord>> {
        let stack = |number: u8| {
            let name = Place(number, 0).location().stack;
            let own = self.things.iter().filter(|(place, _)| place.0 == number);
            let resources: BTreeMap<_, _> = own
                .map(|(place, (resource, _))| {
                    let record = ResourceRecord {
                        resource_type: format!("Type{}", resource.kind).as_str().into(),
                        path: None,
                    };
                    (place.location().logical_id, record)
                })
                .collect();
            let template = self.templates.get(&number).cloned().unwrap_or_default();
            (name, (!resources.is_empty()).then_some(StackRecord { template, resources }))
        };
        (0..STACKS).map(stack).collect()
    }

    /// Makes moves that collide with nothing; returns those that were made.
    fn refactor(&mut self, moves: &BTreeMap<Place, Place>) -> Vec<(Location, Location)> {
        let mut made = moves.clone();
        made.retain(|source, _| self.things.contains_key(source));
        loop {
            let places: Vec<Place> =
                self.things.keys().map(|place| *made.get(place).unwrap_or(place)).collect();
            let count = |place: &Place| places.iter().filter(|other| *other == place).count();
            let before = made.len();
            made.retain(|_, destination| count(destination) == 1);
            if made.len() == before {
                break;
            }
        }
        let things = std::mem::take(&mut self.things);
        self.things = things
            .into_iter()
            .map(|(place, thing)| (*made.get(&place).unwrap_or(&place), thing))
            .collect();
        for (source, destination) in &made {
            for stack in [source.0, destination.0] {
                self.next += 1;
                self.templates.insert(stack, format!("moved{}", self.next));
            }
        }
        made.iter().map(|(source, place)| (source.location(), place.location())).collect()
    }

    /// Deploys stacks after moves, as CloudFormation does: by name.
    fn deploy(&mut self, goal: &Revision, stacks: &BTreeSet<u8>, moves: &BTreeMap<Place, Place>) {
        let before = std::mem::take(&mut self.things);
        for (source, destination) in moves {
            if let Some(thing) = before.get(source) {
                self.things.insert(*destination, *thing);
            }
        }
        for (place, thing) in before.iter().filter(|(place, _)| !moves.contains_key(*place)) {
            self.things.entry(*place).or_insert(*thing);
        }
        self.things.retain(|place, (resource, _)| {
            let there = goal.world.get(place);
            !stacks.contains(&place.0) || there.is_some_and(|it| it.kind == resource.kind)
        });
        for (place, resource) in goal.world.iter().filter(|(place, _)| stacks.contains(&place.0)) {
            self.next += 1;
            let thing = self.things.get(place).map_or(self.next, |(_, thing)| *thing);
            self.things.insert(*place, (*resource, thing));
        }
        for stack in stacks {
            self.templates.insert(*stack, format!("digest{}", goal.salt));
        }
    }
}

/// The stacks that are deployed together with some.
fn closed(mask: u8, moves: &BTreeMap<Place, Place>) -> BTreeSet<u8> {
    let mut stacks: BTreeSet<u8> = (0..STACKS).filter(|stack| mask & (1 << stack) != 0).collect();
    loop {
        let before = stacks.len();
        for (source, destination) in moves {
            if stacks.contains(&source.0) || stacks.contains(&destination.0) {
                stacks.extend([source.0, destination.0]);
            }
        }
        if stacks.len() == before {
            return stacks;
        }
    }
}

fn place(location: &Location) -> Place {
    let number = |text: &str, start: &str| text.strip_prefix(start).unwrap().parse().unwrap();
    Place(number(location.stack.as_str(), "Stack"), number(location.logical_id.as_str(), "Name"))
}

fn walk(recipe: &Branching, acts: &[Act]) -> Result<(), TestCaseError> {
    let history = recipe.run();
    let environment = model::environment();
    let (mut log, mut now) = (Log::default(), Deployed::default());
    for act in acts {
        let (Act::Whole(goal)
        | Act::Moves(goal)
        | Act::SomeMoves(goal, _)
        | Act::SomeStacks(goal, _)) = act;
        let goal = goal.get(&history.revisions);
        let repository = history.log.up_to(goal.hash).unwrap();
        let is_new = log.events().next().is_none();
        let advance = match replay(&log, &repository, &environment) {
            Ok(advance) => advance,
            Err(ReplayError::Crosswise(_) | ReplayError::UnknownGoal { .. }) => continue,
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        };
        if advance.permitted().is_err() {
            continue;
        }
        let mappings = match advance {
            Advance::Forward { mappings, .. } | Advance::Back { mappings, .. } => mappings,
            _ => Vec::new(),
        };
        let moves: BTreeMap<Place, Place> =
            mappings.iter().map(|it| (place(&it.source), place(&it.destination))).collect();
        prop_assert_eq!(moves.len(), mappings.len());
        for (old, (resource, _)) in &now.things {
            let there = goal.world.iter().find(|(_, other)| other.id == resource.id);
            if let Some((new, _)) = there {
                prop_assert_eq!(moves.get(old).unwrap_or(old), new, "{:?} of {:?}", act, moves);
            }
        }
        let all: BTreeSet<u8> = (0..STACKS).collect();
        match act {
            Act::Moves(_) | Act::SomeMoves(..) | Act::SomeStacks(..) if is_new => continue,
            Act::Whole(_) => {
                now.deploy(goal, &all, &moves);
                log = deployed(&log, &repository, &environment, "now").unwrap();
                let head = log.head().unwrap().unwrap();
                prop_assert_eq!(log.snapshot(head), repository.snapshot(goal.hash));
                prop_assert_eq!(replay(&log, &repository, &environment), Ok(Advance::UpToDate));
                continue;
            }
            _ => {}
        }
        let made = match act {
            Act::Moves(_) => now.refactor(&moves),
            Act::SomeMoves(_, mask) => {
                let numbered = moves.iter().enumerate();
                let some = numbered.filter(|(at, _)| mask & (1 << (at % 16)) != 0);
                let some = some.map(|(_, (source, place))| (*source, *place)).collect();
                now.refactor(&some)
            }
            Act::SomeStacks(_, mask) => {
                let stacks = closed(*mask, &moves);
                let mut own = moves.clone();
                own.retain(|source, _| stacks.contains(&source.0));
                now.deploy(goal, &stacks, &own);
                own.iter().map(|(source, place)| (source.location(), place.location())).collect()
            }
            Act::Whole(_) => unreachable!(),
        };
        let stacks = now.record();
        let arrival = Arrival {
            environment: &environment,
            at: "now",
            stacks: &stacks,
            moves: &made,
            kept: &[],
            is_complete: false,
        };
        log = arrived(&log, &repository, &arrival).unwrap();
        prop_assert_eq!(Log::parse(log.render().as_bytes()), Ok(log.clone()));
    }
    Ok(())
}

#[test]
fn no_environment_that_is_on_the_way_loses_a_resource() {
    crate::check(&(branching(), vec(act(), 2..9)), |(recipe, acts): (Branching, Vec<Act>)| {
        walk(&recipe, &acts)
    });
}

#[test]
fn what_was_moved_in_parts_ends_where_it_would_have_ended_at_once() {
    let way = (vec(model::ops(), 2..7), vec((any::<Index>(), any::<u16>()), 1..5));
    crate::check(&way, |(events, parts)| {
        let history = model::linear(&events);
        let environment = model::environment();
        let mut now = Deployed::default();
        let (first, last) = (&history.revisions[0], history.revisions.last().unwrap());
        now.deploy(first, &(0..STACKS).collect(), &BTreeMap::new());
        let mut log = history.log.up_to(first.hash).unwrap();
        let world: World = first.world.clone();
        for (goal, mask) in parts {
            let goal = goal.get(&history.revisions);
            let repository = history.log.up_to(goal.hash).unwrap();
            let mappings = match replay(&log, &repository, &environment) {
                Ok(Advance::Forward { mappings, .. } | Advance::Back { mappings, .. }) => mappings,
                // An older revision does not know where the environment is going.
                Ok(Advance::UpToDate | Advance::Diverged { .. })
                | Err(ReplayError::UnknownGoal { .. }) => continue,
                other => return Err(TestCaseError::fail(format!("{other:?}"))),
            };
            let numbered = mappings.iter().enumerate();
            let some = numbered.filter(|(at, _)| mask & (1 << (at % 16)) != 0);
            let some = some.map(|(_, it)| (place(&it.source), place(&it.destination))).collect();
            let moves = now.refactor(&some);
            let stacks = now.record();
            let arrival = Arrival {
                environment: &environment,
                at: "now",
                stacks: &stacks,
                moves: &moves,
                kept: &[],
                is_complete: false,
            };
            log = arrived(&log, &repository, &arrival).unwrap();
        }
        let advance = replay(&log, &history.log, &environment).unwrap();
        let mappings = match advance {
            Advance::Forward { mappings, .. } => mappings,
            Advance::UpToDate => Vec::new(),
            other => return Err(TestCaseError::fail(format!("{other:?}"))),
        };
        let expected: BTreeMap<Location, Location> = now
            .things
            .iter()
            .filter_map(|(old, (resource, _))| {
                let (new, _) = last.world.iter().find(|(_, other)| other.id == resource.id)?;
                (new != old).then(|| (old.location(), new.location()))
            })
            .collect();
        let found: BTreeMap<Location, Location> =
            mappings.into_iter().map(|it| (it.source, it.destination)).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(now.things.len(), world.len());
        Ok(())
    });
}
