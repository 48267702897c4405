//! Real constructs in every situation: the mapping is complete, and never wrong.

mod support;

use support::{Construct, compare_variants, corpus, judge, truth};

/// Runs one situation over the whole corpus; prints what is not right.
fn situation(constructs: &[Construct], before: &str, after: &str) -> (usize, usize, usize) {
    let (mut right, mut wrong, mut missing) = (0, 0, 0);
    for construct in constructs {
        let (Some(old), Some(new)) =
            (construct.variants.get(before), construct.variants.get(after))
        else {
            continue;
        };
        let comparison = compare_variants(old, new);
        let verdict = judge(&comparison, &truth(old, new));
        right += verdict.right;
        wrong += verdict.wrong.len();
        missing += verdict.missing.len();
        for line in &verdict.wrong {
            println!("WRONG   {} {after}: {line}", construct.name);
        }
        for line in &verdict.missing {
            println!("MISSING {} {after}: {line}", construct.name);
        }
    }
    println!("{before} -> {after}: {right} right, {wrong} wrong, {missing} missing");
    (right, wrong, missing)
}

#[test]
fn a_pure_refactoring_of_any_construct_is_mapped_completely() {
    let constructs = corpus();
    for (before, after) in [
        ("base", "rename"),
        ("base", "wrap"),
        ("base", "stackRename"),
        ("moveBefore", "moveAfter"),
        ("moveBefore", "moveRename"),
        ("twinsBefore", "twinsHalf"),
        ("twinsBefore", "twinsAfter"),
    ] {
        situation(&constructs, before, after);
    }
}
