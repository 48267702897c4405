//! Real constructs in every situation: the mapping is complete, and never wrong.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use cdkr::compare::{Comparison, DecidedPair, Decisions, Reference, compare};
use cdkr::model::Location;
use support::{Construct, Variant, compare_variants, corpus, environment, judge, truth};

/// Runs one situation over the whole corpus; returns how many mappings are right, and what is
/// not right.
fn situation(constructs: &[Construct], before: &str, after: &str) -> (usize, Vec<String>) {
    let (mut right, mut not_right) = (0, Vec::new());
    for construct in constructs {
        let Some((old, new)) = construct.situation(before, after) else { continue };
        let comparison = compare_variants(old, new);
        let verdict = judge(&comparison, &truth(old, new));
        right += verdict.right;
        let name = &construct.name;
        not_right.extend(verdict.wrong.iter().map(|line| format!("{name}: wrong: {line}")));
        not_right.extend(verdict.missing.iter().map(|line| format!("{name}: missing: {line}")));
    }
    (right, not_right)
}

fn assert_complete(before: &str, after: &str) {
    let (right, not_right) = situation(&corpus(), before, after);
    assert!(not_right.is_empty(), "{before} -> {after}:\n{}", not_right.join("\n"));
    assert!(right > 0);
}

#[test]
fn every_resource_of_a_renamed_construct_is_mapped() {
    assert_complete("base", "rename");
}

#[test]
fn every_resource_of_a_wrapped_construct_is_mapped() {
    assert_complete("base", "wrap");
}

#[test]
fn every_resource_of_a_renamed_stack_is_mapped() {
    assert_complete("base", "stackRename");
}

#[test]
fn every_resource_of_a_construct_in_another_stack_is_mapped() {
    assert_complete("moveBefore", "moveAfter");
    assert_complete("moveBefore", "moveRename");
}

#[test]
fn every_resource_of_a_renamed_construct_is_mapped_while_its_twin_stays() {
    assert_complete("twinsBefore", "twinsHalf");
}

/// Twins that are both renamed: nothing but a person can tell them apart, so nothing of them is
/// mapped wrongly, all of it is asked for, and one answer for the construct settles the rest.
#[test]
fn twins_that_are_both_renamed_are_one_question() {
    let mut questions = BTreeMap::new();
    for construct in corpus() {
        let Some((old, new)) = construct.situation("twinsBefore", "twinsAfter") else { continue };
        let truth = truth(old, new);
        let first = compare_variants(old, new);
        let verdict = judge(&first, &truth);
        assert_eq!(verdict.wrong, Vec::<String>::new(), "{}", construct.name);
        let asked: BTreeSet<&Location> = first
            .ambiguous
            .iter()
            .flat_map(|question| &question.sources)
            .map(|place| &place.location)
            .collect();
        let silent: Vec<&Location> = truth
            .keys()
            .filter(|from| verdict.missing.iter().any(|line| line.contains(&format!(" {from} "))))
            .filter(|from| !asked.contains(from))
            .collect();
        assert_eq!(silent, Vec::<&Location>::new(), "{}", construct.name);
        let answers = answer_until_settled(&construct.name, old, new, first, &truth);
        questions.entry(answers).or_insert_with(Vec::new).push(construct.name);
    }
    assert!(questions.keys().all(|answers| *answers <= 1), "{questions:?}");
}

/// Answers one question after the other truthfully; returns how many it took until everything
/// was mapped.
fn answer_until_settled(
    name: &str,
    old: &Variant,
    new: &Variant,
    mut comparison: Comparison,
    truth: &BTreeMap<Location, (Location, String)>,
) -> usize {
    let mut decisions = Decisions::default();
    while let Some(question) = comparison.ambiguous.first() {
        let source = &question.sources[0].location;
        decisions.pairs.push(DecidedPair {
            source: Reference::Location(source.clone()),
            destination: Reference::Location(truth[source].0.clone()),
            origin: "test".into(),
        });
        assert!(decisions.pairs.len() < 20, "{name}: {:?}", comparison.ambiguous);
        comparison = compare(&environment(), &old.stacks, &new.stacks, &decisions)
            .expect("a true answer is valid");
        assert_eq!(judge(&comparison, truth).wrong, Vec::<String>::new(), "{name}");
    }
    assert_eq!(judge(&comparison, truth).missing, Vec::<String>::new(), "{name}");
    decisions.pairs.len()
}

/// Whatever is decided about twins whose order was swapped too: the parts of one go to the parts
/// of one.
#[test]
fn the_parts_of_twins_are_never_mixed() {
    for construct in corpus() {
        let Some((old, new)) = construct.situation("twinsBefore", "twinsSwapped") else { continue };
        let comparison = compare_variants(old, new);
        let mut images: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let twin = |path: Option<&cdkr::model::ConstructPath>| {
            path.and_then(|path| path.components().nth(1).map(str::to_owned)).unwrap_or_default()
        };
        for mapping in &comparison.mappings {
            images
                .entry(twin(mapping.source.path.as_ref()))
                .or_default()
                .insert(twin(mapping.destination.path.as_ref()));
        }
        for side in ["Left", "Right"] {
            let images = images.get(side).cloned().unwrap_or_default();
            let twins: Vec<_> =
                images.iter().filter(|name| ["Alpha", "Beta"].contains(&name.as_str())).collect();
            assert!(twins.len() <= 1, "{}: {side} -> {twins:?}", construct.name);
        }
    }
}

/// Nothing depends on which side comes first.
#[test]
fn the_reversed_comparison_gives_the_inverse_mapping() {
    for construct in corpus() {
        for (before, after) in [
            ("base", "wrap"),
            ("moveBefore", "moveRename"),
            ("twinsBefore", "twinsHalf"),
            ("twinsBefore", "twinsSwapped"),
        ] {
            let Some((old, new)) = construct.situation(before, after) else { continue };
            let pairs =
                |comparison: &Comparison, inverse: bool| -> BTreeSet<(Location, Location)> {
                    comparison
                        .mappings
                        .iter()
                        .map(|m| (m.source.location.clone(), m.destination.location.clone()))
                        .map(|(from, to)| if inverse { (to, from) } else { (from, to) })
                        .collect()
                };
            let forward = pairs(&compare_variants(old, new), false);
            let backward = pairs(&compare_variants(new, old), true);
            assert_eq!(forward, backward, "{} {before} {after}", construct.name);
        }
    }
}
