//! One construct replaced by an unrelated one under another name: nothing that holds data is
//! taken for something that it is not, and what is doubtful is marked.

mod support;

use cdkr::compare::{Evidence, Mapping};
use cdkr::registry;
use support::{compare_variants, corpus};

/// Compares every `step`-th pair of different constructs, one replaced by the other.
fn replaced(step: usize, mut check: impl FnMut(&str, &[Mapping])) {
    let constructs = corpus();
    for (at, was) in constructs.iter().enumerate() {
        for (other, is) in constructs.iter().enumerate() {
            if at == other || (at * 31 + other) % step != 0 {
                continue;
            }
            let comparison = compare_variants(&was.variants["base"], &is.variants["rename"]);
            check(&format!("{} replaced by {}", was.name, is.name), &comparison.mappings);
        }
    }
}

/// Whether a type counts as stateful for its address alone: to keep one for another that is much
/// like it loses nothing, and the deployment changes what differs.
fn holds_nothing(kind: &str) -> bool {
    kind == "AWS::ElasticLoadBalancingV2::LoadBalancer"
}

fn assert_safe(step: usize) {
    let mut lines = Vec::new();
    replaced(step, |name, mappings| {
        for mapping in mappings {
            let by_content = !matches!(mapping.evidence, Evidence::MovedAndChanged { .. });
            let kind = mapping.resource_type.as_str();
            if registry::is_stateful(kind) && !holds_nothing(kind) && !by_content {
                lines.push(format!("{name}: stateful without content evidence: {mapping:?}"));
            }
            let alone = mappings.len() == 1;
            if alone && mapping.resource_type.as_str() == "AWS::IAM::Role" && !mapping.indistinct {
                lines.push(format!("{name}: a doubtful role is not marked: {mapping:?}"));
            }
        }
    });
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn replacing_a_construct_by_an_unrelated_one_moves_no_data() {
    assert_safe(23);
}

#[test]
#[ignore = "all 74,000 pairs take a minute in release mode"]
fn replacing_any_construct_by_any_unrelated_one_moves_no_data() {
    assert_safe(1);
}
