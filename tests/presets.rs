//! The built-in aspects over everything that the comparison is tested with: they lose no mapping,
//! make no wrong one, and see through what means nothing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod generate;
mod support;

use std::collections::BTreeSet;

use cdkr::aspects::{Compared, Declarations, Sides, compare as compare_with};
use cdkr::compare::{Comparison, Decisions, compare};
use cdkr::model::{Location, Stack};
use generate::build::{AppRecipe, app};
use generate::harmless::harmless;
use generate::refactor::{Op, ops, refactor};
use generate::render::{Rendered, render};
use generate::truth::Truth;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseResult, TestRunner};
use support::{Construct, corpus, environment, judge, truth};

fn with_presets(old: &[Stack], new: &[Stack]) -> Compared {
    let sides = Sides { constructs: &[], deployed: old, local: new };
    compare_with(&Declarations::default(), &environment(), sides, &Decisions::default()).unwrap()
}

fn plain(old: &[Stack], new: &[Stack]) -> Comparison {
    compare(&environment(), old, new, &Decisions::default()).unwrap()
}

fn pairs(comparison: &Comparison) -> BTreeSet<(Location, Location)> {
    let pair = |mapping: &cdkr::compare::Mapping| {
        (mapping.source.location.clone(), mapping.destination.location.clone())
    };
    comparison.mappings.iter().map(pair).collect()
}

/// Returns the pairs of one comparison that another one does not tell of. What is in a nested stack
/// that moved, under the logical ID that it had, has not moved itself.
fn lost(known: &Comparison, found: &Comparison) -> Vec<(Location, Location)> {
    let is = pairs(found);
    let nested = |from: &Location, to: &Location| {
        let parent = |location: &Location| -> Option<Location> {
            let (stack, id) = location.stack.as_str().rsplit_once('/')?;
            Some(Location::new(stack, id))
        };
        from.logical_id == to.logical_id
            && parent(from).zip(parent(to)).is_some_and(|(from, to)| is.contains(&(from, to)))
    };
    let known = pairs(known).into_iter();
    known.filter(|pair| !is.contains(pair) && !nested(&pair.0, &pair.1)).collect()
}

fn inverse(comparison: &Comparison) -> BTreeSet<(Location, Location)> {
    pairs(comparison).into_iter().map(|(from, to)| (to, from)).collect()
}

/// All situations in which the corpus is compared.
const SITUATIONS: [(&str, &str); 9] = [
    ("base", "rename"),
    ("base", "wrap"),
    ("base", "stackRename"),
    ("moveBefore", "moveAfter"),
    ("moveBefore", "moveRename"),
    ("twinsBefore", "twinsHalf"),
    ("twinsBefore", "twinsAfter"),
    ("twinsBefore", "twinsSwapped"),
    ("base", "base"),
];

/// What is wrong with a comparison of a construct that is as it was, and of one in which what
/// means nothing has changed.
fn wrong(construct: &Construct, before: &str, after: &str, seed: Option<u64>) -> Vec<String> {
    let Some((old, new)) = construct.situation(before, after) else { return Vec::new() };
    let name = format!("{} {before} -> {after}", construct.name);
    let now = match seed {
        None => new.stacks.clone(),
        Some(seed) => harmless(&new.stacks, seed),
    };
    let known = plain(&old.stacks, &new.stacks);
    let found = with_presets(&old.stacks, &now).comparison;
    let mut wrong = Vec::new();
    let is = pairs(&found);
    wrong.extend(lost(&known, &found).iter().map(|pair| format!("{name}: lost {pair:?}")));
    // Of twins that only a person can tell apart the comparison itself makes a guess per half.
    if after != "twinsSwapped" {
        let verdict = judge(&found, &truth(old, new));
        wrong.extend(verdict.wrong.iter().map(|line| format!("{name}: wrong: {line}")));
    }
    let backward = with_presets(&now, &old.stacks).comparison;
    if inverse(&backward) != is {
        wrong.push(format!("{name}: not reversible: {is:?} {:?}", inverse(&backward)));
    }
    wrong
}

/// What is wrong in every `step`-th comparison of a construct, as it is or with what means nothing
/// written otherwise.
fn all_wrong(step: usize, is_written_otherwise: bool) -> String {
    let constructs = corpus();
    let mut all = Vec::new();
    for (number, construct) in constructs.iter().enumerate() {
        for (situation, (before, after)) in SITUATIONS.iter().enumerate() {
            if (number + situation).is_multiple_of(step) {
                let seed = is_written_otherwise.then(|| u64::try_from(number).unwrap());
                all.extend(wrong(construct, before, after, seed));
            }
        }
    }
    all.join("\n")
}

#[test]
fn no_mapping_of_a_real_construct_is_lost_or_wrong_with_what_is_built_in() {
    assert_eq!(all_wrong(5, false), "");
}

#[test]
fn every_mapping_of_a_real_construct_is_found_though_everything_is_written_otherwise() {
    assert_eq!(all_wrong(7, true), "");
}

#[test]
#[ignore = "every construct in every situation takes minutes without optimization"]
fn no_mapping_of_any_real_construct_is_lost_or_wrong_with_what_is_built_in() {
    assert_eq!(all_wrong(1, false), "");
    assert_eq!(all_wrong(1, true), "");
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Runs one property over as many cases as a test run can afford.
fn check<S: Strategy>(strategy: &S, test: impl Fn(S::Value) -> TestCaseResult) {
    let cases = number("PROPERTY_CASES").and_then(|cases| u32::try_from(cases).ok());
    let seed = number("PROPERTY_SEED").unwrap_or(1);
    let config = Config {
        cases: cases.unwrap_or(80),
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    };
    if let Err(error) = TestRunner::new(config).run(strategy, test) {
        panic!("{error}\nPROPERTY_SEED={seed} repeats this");
    }
}

type Recipe = (AppRecipe, Vec<Op>, bool);

fn anything() -> impl Strategy<Value = Recipe> {
    (app(2), ops(true), proptest::bool::weighted(0.2))
}

fn show(old: &Rendered, new: &[Stack]) -> String {
    let show = |stacks: &[Stack]| -> String {
        let one = |stack: &Stack| {
            let template = cdkr::model::Value::Object(stack.template.sections.clone());
            format!("{}: {}\n", stack.name, cdkr::template::json::to_pretty(&template))
        };
        stacks.iter().map(one).collect()
    };
    format!("--- before\n{}--- after\n{}", show(&old.stacks), show(new))
}

/// `seed`: whether and how what means nothing is written otherwise.
fn nothing_is_lost((app, ops, reuse): &Recipe, seed: Option<u64>) -> TestCaseResult {
    let before = app.build();
    let after = refactor(&before, ops, *reuse);
    let (old, new) = (render(&before), render(&after));
    let now = seed.map_or_else(|| new.stacks.clone(), |seed| harmless(&new.stacks, seed));
    let known = plain(&old.stacks, &new.stacks);
    let found = with_presets(&old.stacks, &now).comparison;
    let (mut lost, is) = (lost(&known, &found), pairs(&found));
    // What is where it was stays there, if its content is not proven to have gone elsewhere: here
    // it is only alike.
    let has = |stacks: &[Stack], location: &Location| {
        let mut stacks = stacks.iter().filter(|stack| stack.name == location.stack);
        stacks.any(|stack| stack.template.resource(location.logical_id.as_str()).is_some())
    };
    lost.retain(|(from, to)| seed.is_none() || !(has(&now, from) || has(&old.stacks, to)));
    prop_assert!(lost.is_empty(), "lost {:?}\n{}", lost, show(&old, &now));
    let truth = Truth::new((&before, &old), (&after, &new));
    // What the comparison itself takes for proven stands, for better or worse: to be written in
    // the same way tells twins apart.
    let mut known = truth.contradictions(&known);
    known.extend(truth.contradictions(&plain(&old.stacks, &now)));
    let wrong = truth.contradictions(&found);
    let more: Vec<_> = wrong.iter().filter(|line| !known.contains(line)).collect();
    prop_assert!(more.is_empty(), "wrong {:?}\n{}", more, show(&old, &now));
    let backward = with_presets(&now, &old.stacks).comparison;
    prop_assert_eq!(inverse(&backward), is, "{}", show(&old, &now));
    Ok(())
}

#[test]
fn no_mapping_of_a_random_app_is_lost_or_wrong_with_what_is_built_in() {
    check(&anything(), |recipe| nothing_is_lost(&recipe, None));
}

#[test]
fn every_mapping_of_a_random_app_is_found_though_everything_is_written_otherwise() {
    check(&(anything(), any::<u64>()), |(recipe, seed)| nothing_is_lost(&recipe, Some(seed)));
}

/// Compares every `step`-th pair of different constructs, one replaced by the other under another
/// name; returns what only the built-in aspects took for the same.
fn taken_for_the_same(step: usize) -> Vec<String> {
    let constructs = corpus();
    let mut taken = Vec::new();
    for (at, was) in constructs.iter().enumerate() {
        for (other, is) in constructs.iter().enumerate() {
            if at == other || (at * 31 + other) % step != 0 {
                continue;
            }
            let (old, new) = (&was.variants["base"].stacks, &is.variants["rename"].stacks);
            let known = plain(old, new);
            let found = with_presets(old, new);
            let name = format!("{} replaced by {}", was.name, is.name);
            for pair in lost(&known, &found.comparison) {
                taken.push(format!("{name}: lost {pair:?}"));
            }
            taken.extend(found.thanks.iter().map(|one| format!("{name}: {one:?}")));
        }
    }
    taken
}

#[test]
fn nothing_that_is_unrelated_is_taken_for_the_same() {
    let taken = taken_for_the_same(211);
    assert!(taken.is_empty(), "{}", taken.join("\n"));
}

#[test]
#[ignore = "all 74,000 pairs take minutes in release mode"]
fn nothing_of_all_that_is_unrelated_is_taken_for_the_same() {
    let taken = taken_for_the_same(1);
    assert!(taken.is_empty(), "{}", taken.join("\n"));
}
