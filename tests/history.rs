//! The history against a model that gives each resource an identity and follows it, over random
//! histories with branches and merges, and against random damage to its text.
//!
//! Runs are repeatable: `PROPERTY_SEED` (a number) starts the random numbers, `PROPERTY_CASES`
//! says how many cases each property gets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "history/model.rs"]
mod model;
#[path = "history/partial.rs"]
mod partial;

use std::collections::{BTreeMap, BTreeSet};

use cdkr::history::{
    Advance, Log, MergeEvent, ReplayError, compose, deployed, diff, merge, replay,
};
use cdkr::model::Location;
use model::{Branching, Op, World, branching, linear, ops, state};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseResult, TestRunner};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn check<S: Strategy>(strategy: &S, test: impl Fn(S::Value) -> TestCaseResult) {
    let cases = number("PROPERTY_CASES").and_then(|cases| u32::try_from(cases).ok());
    let config = Config {
        cases: cases.unwrap_or(200),
        rng_seed: RngSeed::Fixed(number("PROPERTY_SEED").unwrap_or(1)),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    };
    if let Err(error) = TestRunner::new(config).run(strategy, test) {
        panic!("{error}");
    }
}

/// What leads from one world to another: the places of what is in both, if they differ.
fn expected(from: &World, to: &World) -> BTreeMap<Location, Location> {
    let moved = from.iter().filter_map(|(place, resource)| {
        let (now, _) = to.iter().find(|(_, other)| other.id == resource.id)?;
        (now != place).then(|| (place.location(), now.location()))
    });
    moved.collect()
}

fn composed(mappings: Vec<cdkr::history::Mapping>) -> BTreeMap<Location, Location> {
    mappings.into_iter().map(|mapping| (mapping.source, mapping.destination)).collect()
}

#[test]
fn composed_moves_are_those_of_the_resources_themselves_over_every_stretch() {
    check(&vec(ops(), 1..9), |events: Vec<Vec<Op>>| {
        let history = linear(&events);
        for (at, from) in history.revisions.iter().enumerate() {
            for to in &history.revisions[at..] {
                let found =
                    compose(&history.log, from.hash, to.hash, &model::environment()).unwrap();
                prop_assert_eq!(composed(found), expected(&from.world, &to.world));
                prop_assert_eq!(history.log.snapshot(to.hash).unwrap(), &state(&to.world, to.salt));
            }
        }
        Ok(())
    });
}

#[test]
fn composed_moves_are_those_of_the_resources_themselves_over_branches_and_merges() {
    check(&branching(), |recipe: Branching| {
        let history = recipe.run();
        for from in &history.revisions {
            for to in &history.revisions {
                if !history.log.ancestors(to.hash).contains(&from.hash) {
                    continue;
                }
                let found = compose(&history.log, from.hash, to.hash, &model::environment());
                prop_assert_eq!(
                    composed(found.unwrap()),
                    expected(&from.world, &to.world),
                    "{} to {}\n{}",
                    from.hash.short(),
                    to.hash.short(),
                    history.log.render()
                );
            }
        }
        Ok(())
    });
}

/// What an environment has under which name after moves and a deployment.
fn after_deployment(
    names: &BTreeMap<Location, u32>,
    moves: &BTreeMap<Location, Location>,
    goal: &World,
    next_physical: &mut u32,
) -> BTreeMap<Location, u32> {
    let moved = names.iter().filter_map(|(name, it)| Some((moves.get(name)?.clone(), *it)));
    let mut after: BTreeMap<Location, u32> = moved.collect();
    for (name, physical) in names.iter().filter(|(name, _)| !moves.contains_key(*name)) {
        after.entry(name.clone()).or_insert(*physical);
    }
    let present: BTreeSet<Location> = goal.keys().map(|place| place.location()).collect();
    after.retain(|name, _| present.contains(name));
    for name in present {
        *next_physical += 1;
        after.entry(name).or_insert(*next_physical);
    }
    after
}

#[test]
fn no_walk_of_an_environment_through_the_revisions_loses_a_resource() {
    let walks = (branching(), vec(any::<prop::sample::Index>(), 1..7));
    check(&walks, |(recipe, walk): (Branching, Vec<prop::sample::Index>)| {
        let history = recipe.run();
        let environment = model::environment();
        let mut log = Log::default();
        let mut names: BTreeMap<Location, u32> = BTreeMap::new();
        let mut world = World::new();
        let mut next_physical = 0;
        for step in walk {
            let goal = step.get(&history.revisions);
            let repository = history.log.up_to(goal.hash).unwrap();
            let advance = match replay(&log, &repository, &environment) {
                Ok(advance) => advance,
                Err(ReplayError::Crosswise(_)) => continue,
                Err(other) => return Err(TestCaseError::fail(other.to_string())),
            };
            if advance.permitted().is_err() {
                prop_assert!(deployed(&log, &repository, &environment, "now").is_err());
                continue;
            }
            let mappings = match advance {
                Advance::Forward { mappings, .. } | Advance::Back { mappings, .. } => mappings,
                _ => Vec::new(),
            };
            let moves = composed(mappings);
            let after = after_deployment(&names, &moves, &goal.world, &mut next_physical);
            for (place, resource) in &world {
                let now = goal.world.iter().find(|(_, other)| other.id == resource.id);
                if let Some((now, _)) = now {
                    prop_assert_eq!(
                        names[&place.location()],
                        after[&now.location()],
                        "{} became {}: {:?}",
                        place.location(),
                        now.location(),
                        moves
                    );
                }
            }
            log = deployed(&log, &repository, &environment, "now").unwrap();
            let head = log.head().unwrap().unwrap();
            prop_assert_eq!(log.snapshot(head), repository.snapshot(goal.hash));
            prop_assert_eq!(replay(&log, &repository, &environment).unwrap(), Advance::UpToDate);
            (names, world) = (after, goal.world.clone());
        }
        Ok(())
    });
}

#[test]
fn a_log_reads_back_as_it_is_written() {
    check(&branching(), |recipe: Branching| {
        let history = recipe.run();
        let text = history.log.render();
        let read = Log::parse_branches(text.as_bytes()).unwrap();
        prop_assert_eq!(&read, &history.log);
        prop_assert_eq!(read.render(), text);
        for (hash, event) in read.events() {
            prop_assert_eq!(history.log.event(hash), Some(event));
            prop_assert_eq!(history.log.snapshot(hash), read.snapshot(hash));
        }
        Ok(())
    });
}

#[test]
fn a_byte_that_was_changed_removed_or_added_is_noticed() {
    let damage = (vec(ops(), 1..5), any::<prop::sample::Index>(), any::<u8>(), 0..3_u8);
    check(&damage, |(events, at, byte, kind)| {
        let log = linear(&events).log;
        let mut text = log.render().into_bytes();
        let at = at.index(text.len());
        match kind {
            0 if text[at] != byte => text[at] = byte,
            1 => drop(text.remove(at)),
            _ => text.insert(at, byte),
        }
        let error = Log::parse(&text).unwrap_err();
        let line = log.render().as_bytes()[..at].split(|byte| *byte == b'\n').count();
        // A line break more or less is noticed in the line that it spoils.
        prop_assert!(error.line == line || error.line == line + 1, "{error}");
        Ok(())
    });
}

#[test]
fn lines_that_were_removed_or_exchanged_are_noticed() {
    let damage = (vec(ops(), 2..6), any::<prop::sample::Index>(), any::<bool>());
    check(&damage, |(events, at, is_removed)| {
        let log = linear(&events).log;
        let text = log.render();
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let at = at.index(lines.len() - 1);
        if is_removed {
            lines.remove(at);
        } else {
            lines.swap(at, at + 1);
        }
        prop_assert!(Log::parse(lines.concat().as_bytes()).is_err());
        // That the last line is missing, only another copy can tell.
        let whole: Vec<&str> = text.split_inclusive('\n').collect();
        let shorter = Log::parse(whole[..whole.len() - 1].concat().as_bytes()).unwrap();
        prop_assert!(shorter.is_prefix_of(&log) && !log.is_prefix_of(&shorter));
        Ok(())
    });
}

#[test]
fn it_does_not_matter_which_branch_is_merged_into_which() {
    check(&(branching(), ops()), |(recipe, last): (Branching, Vec<Op>)| {
        let history = recipe.run();
        let heads = history.log.heads();
        let [first, .., second] = &heads[..] else { return Ok(()) };
        let (ours, theirs) =
            (history.log.up_to(first.event).unwrap(), history.log.up_to(second.event).unwrap());
        let mut world = history.world(first.event).clone();
        model::apply(&mut world, &last, &mut 1_000_000);
        let event =
            MergeEvent { at: "now".to_owned(), state: state(&world, 0), refactors: Vec::new() };
        let events = |log: &Log| -> BTreeMap<_, _> {
            log.events().map(|(hash, event)| (hash, event.clone())).collect()
        };
        match (merge(&ours, &theirs, &event), merge(&theirs, &ours, &event)) {
            (Ok(a), Ok(b)) => {
                prop_assert_eq!(events(&a), events(&b));
                prop_assert_eq!(a.head(), b.head());
            }
            (a, b) => prop_assert_eq!(a.unwrap_err(), b.unwrap_err()),
        }
        Ok(())
    });
}

#[test]
fn a_snapshot_with_the_difference_applied_is_the_other_one() {
    check(&vec(ops(), 2..6), |events: Vec<Vec<Op>>| {
        let history = linear(&events);
        for (a, b) in history.revisions.iter().zip(history.revisions.iter().rev()) {
            let (old, new) = (state(&a.world, a.salt), state(&b.world, b.salt));
            let mut log = Log::default();
            log.record("1", &old, Vec::new()).unwrap();
            log.record("2", &new, Vec::new()).unwrap();
            let head = log.head().unwrap();
            prop_assert_eq!(head.and_then(|head| log.snapshot(head)).unwrap_or(&old), &new);
            let (there, back) = (diff(&old, &new), diff(&new, &old));
            prop_assert_eq!(there.created, back.deleted);
            prop_assert_eq!(there.updated.len(), back.updated.len());
        }
        Ok(())
    });
}
