//! Properties of the comparison over random apps with known refactorings.
//!
//! A failure prints the smallest recipe that `proptest` finds. Runs are repeatable:
//! `PROPERTY_SEED` (a number) starts the random numbers, `PROPERTY_CASES` says how many cases
//! each property gets. `cargo test --release --test properties -- --ignored` tests many more
//! cases, from a seed that is new each time and that is printed first.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod generate;
mod support;

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use cdkr::compare::{Comparison, Decisions, Difference, compare};
use cdkr::model::{Location, Stack, Value};
use cdkr::template;
use generate::build::{AppRecipe, app};
use generate::disturb::{junk, replace, shuffled, size};
use generate::model::{App, Key};
use generate::refactor::{Op, ops, refactor};
use generate::render::{Places, Rendered, render, render_at};
use generate::truth::{Truth, without_twins};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseResult, TestRunner};
use support::environment;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Runs one property over as many cases as a test run can afford.
fn check<S: Strategy>(strategy: &S, test: impl Fn(S::Value) -> TestCaseResult) {
    let cases = number("PROPERTY_CASES").and_then(|cases| u32::try_from(cases).ok());
    run(strategy, cases.unwrap_or(300), number("PROPERTY_SEED").unwrap_or(1), test);
}

fn run<S: Strategy>(
    strategy: &S,
    cases: u32,
    seed: u64,
    test: impl Fn(S::Value) -> TestCaseResult,
) {
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    };
    if let Err(error) = TestRunner::new(config).run(strategy, test) {
        panic!("{error}\nPROPERTY_SEED={seed} PROPERTY_CASES={cases} repeats this");
    }
}

/// An app before and after, with the templates of both.
struct Case {
    before: App,
    after: App,
    old: Rendered,
    new: Rendered,
}

impl Case {
    fn new(before: App, after: App) -> Self {
        let (old, new) = (render(&before), render(&after));
        Self { before, after, old, new }
    }

    fn truth(&self) -> Truth<'_> {
        Truth::new((&self.before, &self.old), (&self.after, &self.new))
    }

    fn compare(&self) -> Comparison {
        compared(&self.old.stacks, &self.new.stacks)
    }

    /// Both templates, for the message of a failure.
    fn show(&self) -> String {
        let show = |rendered: &Rendered| -> String {
            let stacks = rendered.stacks.iter().map(|stack| {
                let template = Value::Object(stack.template.sections.clone());
                format!("{}: {}\n", stack.name, template::json::to_pretty(&template))
            });
            stacks.collect()
        };
        format!("--- before\n{}--- after\n{}", show(&self.old), show(&self.new))
    }
}

fn compared(old: &[Stack], new: &[Stack]) -> Comparison {
    compare(&environment(), old, new, &Decisions::default()).unwrap()
}

fn pairs(comparison: &Comparison) -> BTreeSet<(Location, Location)> {
    let pair = |mapping: &cdkr::compare::Mapping| {
        (mapping.source.location.clone(), mapping.destination.location.clone())
    };
    comparison.mappings.iter().map(pair).collect()
}

/// What is offered, with its score. One and the same resource is never offered twice, nor if it is
/// mapped or in a question.
fn offers(comparison: &Comparison) -> BTreeSet<(Location, Location, u8)> {
    let mut seen = (BTreeSet::new(), BTreeSet::new());
    let mut note = |source: &Location, destination: &Location| {
        assert!(seen.0.insert(source.clone()), "`{source}` is taken or offered already");
        assert!(seen.1.insert(destination.clone()), "`{destination}` is taken or offered already");
    };
    for (source, destination) in pairs(comparison) {
        note(&source, &destination);
    }
    let mut offers = BTreeSet::new();
    for one in &comparison.similar {
        let (source, destination) = (&one.source.location, &one.destination.location);
        note(source, destination);
        let is_asked = |question: &cdkr::compare::Ambiguity| {
            question.sources.contains(&one.source)
                || question.destinations.contains(&one.destination)
        };
        assert!(!comparison.ambiguous.iter().any(is_asked), "`{source}` is in a question");
        offers.insert((source.clone(), destination.clone(), one.score));
    }
    offers
}

type Recipe = (AppRecipe, Vec<Op>, bool);

/// Anything that may happen to an app.
fn anything() -> impl Strategy<Value = Recipe> {
    (app(2), ops(true), proptest::bool::weighted(0.2))
}

fn case((app, ops, reuse): &Recipe) -> Case {
    let before = app.build();
    let after = refactor(&before, ops, *reuse);
    Case::new(before, after)
}

/// Takes every `DependsOn` away that one of the sides cannot have, because it would cross a
/// border between stacks: to lose it is a change.
fn keep_depends_on(before: &mut App, after: &mut App) {
    for key in after.resources.keys().copied().collect::<Vec<_>>() {
        if !before.resources.contains_key(&key) {
            continue;
        }
        let (was, is) = (before.rendered_depends_on(key), after.rendered_depends_on(key));
        let both = |target: &Key| was.contains(target) && is.contains(target);
        let kept: Vec<_> = was.iter().copied().filter(both).collect();
        before.resources.get_mut(&key).unwrap().depends_on.clone_from(&kept);
        after.resources.get_mut(&key).unwrap().depends_on = kept;
    }
}

/// A `DependsOn` that is lost by a move can make a resource equal to what another one was, see
/// `tests/counterexamples.rs`: here none is lost.
fn no_mapping_contradicts((app, ops, reuse): &Recipe) -> TestCaseResult {
    let mut before = app.build();
    let mut after = refactor(&before, ops, *reuse);
    keep_depends_on(&mut before, &mut after);
    let case = Case::new(before, after);
    let wrong = case.truth().contradictions(&case.compare());
    prop_assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), case.show());
    Ok(())
}

#[test]
fn no_mapping_contradicts_the_truth() {
    check(&anything(), |recipe| no_mapping_contradicts(&recipe));
}

fn reversal_inverts(recipe: &Recipe) -> TestCaseResult {
    let case = case(recipe);
    let forward = case.compare();
    let backward = compared(&case.new.stacks, &case.old.stacks);
    let mappings = pairs(&backward).into_iter().map(|(from, to)| (to, from)).collect();
    prop_assert_eq!(pairs(&forward), mappings, "{}", case.show());
    let inverse = offers(&backward).into_iter().map(|(from, to, score)| (to, from, score));
    prop_assert_eq!(offers(&forward), inverse.collect(), "{}", case.show());
    Ok(())
}

#[test]
fn swapping_before_and_after_inverts_every_mapping_and_every_offer() {
    check(&anything(), |recipe| reversal_inverts(&recipe));
}

/// Nothing is added, removed or changed, and nothing is like anything else: then every move is
/// found.
fn moves_are_complete((app, ops): &(AppRecipe, Vec<Op>)) -> TestCaseResult {
    let mut before = AppRecipe { with_paths: true, ..app.clone() }.build();
    let mut after = refactor(&before, ops, false);
    keep_depends_on(&mut before, &mut after);
    without_twins(&mut before);
    after.resources.clone_from(&before.resources);
    let case = Case::new(before, after);
    let comparison = case.compare();
    let wrong = case.truth().contradictions(&comparison);
    prop_assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), case.show());
    if !case.truth().reuses_names() {
        let missing = case.truth().missing(&comparison);
        prop_assert!(missing.is_empty(), "{}\n{}", missing.join("\n"), case.show());
    }
    Ok(())
}

#[test]
fn every_move_of_a_pure_refactoring_is_found() {
    check(&(app(1), ops(false)), |recipe| moves_are_complete(&recipe));
}

/// Moves the mapped resources of the deployed stacks to where they are now, as they are, with
/// all references to them; `None` if something else is in the way.
fn applied(case: &Case, comparison: &Comparison) -> Option<Rendered> {
    let mut moved = case.before.clone();
    // Stacks are the same if they have the same number in both apps, unless they were renamed.
    let name = |app: &App, rendered: &Rendered, stack: usize| -> String {
        match app.stacks[stack].nested {
            Some((_, key)) => {
                rendered.locations.get(&key).map(ToString::to_string).unwrap_or_default()
            }
            None => app.top_name(stack),
        }
    };
    let mut names: Vec<String> =
        (0..moved.stacks.len()).map(|stack| name(&moved, &case.old, stack)).collect();
    let (mut places, mut inside_nested) = (Places::new(), Vec::new());
    for (key, (to, evidence)) in case.truth().pairs(comparison) {
        if evidence.is_none() {
            continue;
        }
        let destination = &case.new.locations[&to];
        let stack_name = destination.stack.as_str();
        if stack_name.contains('/') || case.old.locations[&key].stack.as_str().contains('/') {
            inside_nested.push(key);
        }
        let stack = names.iter().position(|name| name == stack_name).unwrap_or_else(|| {
            let mut stack = moved.stacks[0].clone();
            (stack.id, stack.stage, stack.nested) = (stack_name.to_owned(), None, None);
            moved.stacks.push(stack);
            names.push(stack_name.to_owned());
            names.len() - 1
        });
        places.insert(key, (stack, destination.logical_id.to_string()));
    }
    // A nested stack that wins or loses resources by the moves has become another.
    if !inside_nested.is_empty() {
        return None;
    }
    // A `DependsOn` cannot cross a border: the move would change the body.
    let stack_of =
        |key: &Key| places.get(key).map_or_else(|| moved.resource_place(*key).0, |at| at.0);
    let crosses = |key: &Key| {
        let depends_on = moved.rendered_depends_on(*key);
        depends_on.iter().any(|target| stack_of(target) != stack_of(key))
    };
    if moved.resources.keys().any(crosses) {
        return None;
    }
    let rendered = render_at(&moved, &places);
    let distinct: BTreeSet<&Location> = rendered.locations.values().collect();
    (distinct.len() == rendered.locations.len()).then_some(rendered)
}

fn nothing_is_left_to_do(recipe: &Recipe) -> TestCaseResult {
    let case = case(recipe);
    let first = case.compare();
    let Some(moved) = applied(&case, &first) else { return Ok(()) };
    let again = compared(&moved.stacks, &case.new.stacks);
    prop_assert!(again.mappings.is_empty(), "{:#?}\n{}", again.mappings, case.show());
    let itself = compared(&case.new.stacks, &case.new.stacks);
    prop_assert!(itself.mappings.is_empty() && itself.ambiguous.is_empty());
    prop_assert!(itself.changed.is_empty() && itself.similar.is_empty());
    Ok(())
}

#[test]
fn after_the_moves_are_made_there_is_nothing_to_move() {
    check(&anything(), |recipe| nothing_is_left_to_do(&recipe));
}

/// A comparison as text, without the positions of tags and without values, which are as they
/// were written.
fn canonical(comparison: &Comparison) -> String {
    let name = |property: &str| match property.split_once(".Tags.") {
        Some((before, tag)) => {
            format!("{before}.Tags.{}", tag.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => property.to_owned(),
    };
    let count = |differences: &[Difference]| {
        let mut properties: Vec<_> = differences
            .iter()
            .map(|d| (name(&d.property), d.name_only, d.replaces, d.old.is_some(), d.new.is_some()))
            .collect();
        properties.sort();
        properties
    };
    let mut lines = Vec::new();
    for m in &comparison.mappings {
        lines.push(format!(
            "{:?} {:?} {:?} {} {} {:?} {:?}",
            m.source,
            m.destination,
            m.evidence,
            m.by_names,
            m.indistinct,
            m.identical_stayed,
            count(&m.changes)
        ));
    }
    lines.push(format!("{:?}", comparison.ambiguous));
    for similar in &comparison.similar {
        let (score, differences) = (similar.score, count(&similar.differences));
        lines.push(format!(
            "{:?} {:?} {score} {differences:?}",
            similar.source, similar.destination
        ));
    }
    for unpaired in comparison.added.iter().chain(&comparison.removed) {
        lines.push(format!("{:?} {:?}", unpaired.place, unpaired.excluded));
    }
    for change in &comparison.changed {
        lines.push(format!("{:?} {:?}", change.place, count(&change.differences)));
    }
    lines.push(format!("{:?}", comparison.problems));
    lines.join("\n")
}

fn order_says_nothing((recipe, mut order): (Recipe, u64)) -> TestCaseResult {
    let case = case(&recipe);
    let ordered = canonical(&case.compare());
    let (old, new) =
        (shuffled(&case.old.stacks, &mut order), shuffled(&case.new.stacks, &mut order));
    prop_assert_eq!(canonical(&compared(&old, &new)), ordered, "{}", case.show());
    Ok(())
}

#[test]
fn the_order_of_keys_resources_stacks_and_lists_says_nothing() {
    check(&(anything(), any::<u64>()), order_says_nothing);
}

/// Whatever stands in a template, the answer is a comparison or an error.
fn junk_is_survived((recipe, junk): &(Recipe, Vec<(bool, u16, u16, Value)>)) -> TestCaseResult {
    let mut case = case(recipe);
    for (is_new, stack, at, junk) in junk {
        let stacks = if *is_new { &mut case.new.stacks } else { &mut case.old.stacks };
        let number = usize::from(*stack) % stacks.len();
        let mut sections = Value::Object(stacks[number].template.sections.clone());
        let mut at = usize::from(*at) % size(&sections);
        replace(&mut sections, &mut at, junk);
        let text = template::json::to_compact(&sections);
        // What is nested too deep is refused before it is a template.
        let Ok(read) = template::json::parse(&text) else { continue };
        prop_assert_eq!(&read, &sections);
        if let Ok(template) = template::check(sections) {
            stacks[number].template = template;
        }
    }
    for decisions in [
        Decisions { explain: true, ..Decisions::default() },
        Decisions { strict: true, ..Decisions::default() },
    ] {
        drop(compare(&environment(), &case.old.stacks, &case.new.stacks, &decisions));
    }
    Ok(())
}

fn with_junk() -> impl Strategy<Value = (Recipe, Vec<(bool, u16, u16, Value)>)> {
    (anything(), vec((any::<bool>(), any::<u16>(), any::<u16>(), junk()), 1..12))
}

#[test]
fn junk_in_templates_is_survived() {
    check(&with_junk(), |input| junk_is_survived(&input));
}

#[test]
#[ignore = "for a nightly run: every property over many more apps, minutes in release mode"]
fn all_properties_over_many_more_apps() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map(|time| time.as_secs()).unwrap();
    let seed = number("PROPERTY_SEED").unwrap_or(now);
    let cases = number("PROPERTY_CASES").and_then(|cases| u32::try_from(cases).ok());
    let cases = cases.unwrap_or(20_000);
    println!("PROPERTY_SEED={seed} PROPERTY_CASES={cases}");
    run(&anything(), cases, seed, |recipe| {
        no_mapping_contradicts(&recipe)?;
        reversal_inverts(&recipe)?;
        nothing_is_left_to_do(&recipe)
    });
    run(&(app(1), ops(false)), cases, seed, |recipe| moves_are_complete(&recipe));
    run(&(anything(), any::<u64>()), cases, seed, order_says_nothing);
    run(&with_junk(), cases, seed, |input| junk_is_survived(&input));
}
