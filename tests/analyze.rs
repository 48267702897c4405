//! What happens between two sides, for every pair of versions of the fixtures: nothing is lost,
//! moves are moves, and every consequence has a cause.

#![expect(clippy::unwrap_used, reason = "a broken fixture fails the test")]

mod support;

use std::collections::BTreeSet;

use cdkr::analyze::model::{ComponentKind, Graph, OperationKind, Side};
use cdkr::analyze::{Joining, Risk, Rules, diff, mark_permissions, permissions};
use cdkr::compare::{Comparison, Decisions, compare};
use cdkr::model::{Location, Stack, Value};
use cdkr::template;
use support::{Variant, compare_variants, corpus, environment};

fn name(graph: &Graph, side: Side, id: usize) -> String {
    let component = &graph.side(side).components[id];
    format!("{:?} {} {}", component.kind, component.stack, component.name)
}

/// Checks what must hold of every graph.
fn check(what: &str, graph: &Graph, comparison: &Comparison) {
    let mut seen: [BTreeSet<usize>; 2] = Default::default();
    for (id, operation) in graph.operations.iter().enumerate() {
        let follows = matches!(operation.kind, OperationKind::Replace);
        assert!(!follows || operation.cause.is_some(), "{what}: a replacement without a cause");
        let mut chain = BTreeSet::from([id]);
        let mut cause = operation.cause;
        while let Some(next) = cause {
            assert!(chain.insert(next), "{what}: a cause leads back to itself");
            cause = graph.operations[next].cause;
        }
        match operation.kind {
            OperationKind::Insert => assert!(seen[1].insert(operation.after.unwrap())),
            OperationKind::Remove => assert!(seen[0].insert(operation.before.unwrap())),
            _ => {}
        }
    }
    for mapping in &comparison.mappings {
        let place = |side: Side, location: &Location| {
            let components = &graph.side(side).components;
            components.iter().position(|component| {
                component.kind == ComponentKind::Resource
                    && component.stack == location.stack.as_str()
                    && component.name == location.logical_id.as_str()
            })
        };
        let before = place(Side::Before, &mapping.source.location).unwrap();
        let after = place(Side::After, &mapping.destination.location).unwrap();
        let shown = name(graph, Side::After, after);
        assert!(!seen[0].contains(&before) && !seen[1].contains(&after), "{what}: {shown} is lost");
        let own: Vec<_> = graph.operations.iter().filter(|one| one.after == Some(after)).collect();
        let is_move =
            |kind: &OperationKind| matches!(kind, OperationKind::Move | OperationKind::Rename);
        assert_eq!(own.iter().filter(|one| is_move(&one.kind)).count(), 1, "{what}: {shown}");
        let replaced = own.iter().find(|one| one.kind == OperationKind::Replace);
        let by_name =
            replaced.is_some_and(|replace| is_move(&graph.operations[replace.cause.unwrap()].kind));
        assert_eq!(by_name, mapping.blocked.is_some(), "{what}: {shown}");
    }
    let locations = |side: Side, ids: &BTreeSet<usize>| -> BTreeSet<Location> {
        let components = ids.iter().map(|id| &graph.side(side).components[*id]);
        components
            .filter(|component| component.kind == ComponentKind::Resource)
            .map(|component| Location::new(&component.stack, &component.name))
            .collect()
    };
    for added in &comparison.added {
        let inserted = locations(Side::After, &seen[1]);
        assert!(inserted.contains(&added.place.location), "{what}: {}", added.place.location);
    }
    for removed in &comparison.removed {
        let gone = locations(Side::Before, &seen[0]);
        assert!(gone.contains(&removed.place.location), "{what}: {}", removed.place.location);
    }
}

fn joined(before: &Variant, after: &Variant) -> (Graph, Comparison) {
    let comparison = compare_variants(before, after);
    let graph = diff(&before.stacks, &after.stacks, Joining::Comparison(&comparison));
    (graph, comparison)
}

#[test]
fn moves_are_moves_and_nothing_is_lost() {
    let mut moved = 0;
    for construct in corpus() {
        for from in ["base", "twinsBefore"] {
            let Some(before) = construct.variants.get(from) else { continue };
            let of_twins = |name: &str| name.starts_with("twins");
            for (to, after) in &construct.variants {
                if of_twins(from) != of_twins(to) {
                    continue;
                }
                let (graph, comparison) = joined(before, after);
                let what = format!("{} {from} {to}", construct.name);
                check(&what, &graph, &comparison);
                if from == to {
                    assert_eq!(graph.operations, [], "{what}");
                }
                moved += comparison.mappings.len();
            }
        }
    }
    assert!(moved > 1000, "{moved}");
}

#[test]
fn by_contents_equal_sides_are_equal_and_different_ones_are_compared_without_a_crash() {
    for construct in corpus() {
        let mut last: Option<&Variant> = None;
        for (name, variant) in &construct.variants {
            let graph = diff(&variant.stacks, &variant.stacks, Joining::Contents);
            assert_eq!(graph.operations, [], "{} {name}", construct.name);
            if let Some(last) = last {
                diff(&last.stacks, &variant.stacks, Joining::Contents);
            }
            last = Some(variant);
        }
    }
}

fn stack(name: &str, text: &str) -> Stack {
    let value: Value = template::json::parse(text).unwrap();
    Stack::new(name, template::check(value).unwrap())
}

#[test]
fn a_moved_resource_whose_policy_is_widened_is_one_move_and_one_risk() {
    let policy = |action: &str| {
        format!(
            r#""P":{{"Type":"AWS::IAM::ManagedPolicy","Properties":{{"Description":"d","PolicyDocument":
            {{"Statement":[{{"Effect":"Allow","Action":"{action}","Resource":"*"}}]}}}}}}"#
        )
    };
    let queue = r#""Q":{"Type":"AWS::SQS::Queue","Properties":{"DelaySeconds":7}}"#;
    let empty = r#""T":{"Type":"AWS::SNS::Topic"}"#;
    let before = [
        stack("A", &format!(r#"{{"Resources":{{{queue},{}}}}}"#, policy("s3:GetObject"))),
        stack("B", &format!(r#"{{"Resources":{{{empty}}}}}"#)),
    ];
    let after = [
        stack("A", &format!(r#"{{"Resources":{{{}}}}}"#, policy("s3:*"))),
        stack("B", &format!(r#"{{"Resources":{{{empty},{queue}}}}}"#)),
    ];
    let comparison = compare(&environment(), &before, &after, &Decisions::default()).unwrap();
    let mut graph = diff(&before, &after, Joining::Comparison(&comparison));
    check("moved and widened", &graph, &comparison);
    mark_permissions(&mut graph, &permissions(&before, &after));
    let kinds: Vec<_> = graph.operations.iter().map(|operation| &operation.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| ***kind == OperationKind::Move).count(), 1, "{kinds:?}");
    assert_eq!(kinds.len(), 2, "{kinds:?}");
    let verdicts = Rules::built_in().judge(&graph);
    let high: Vec<_> = verdicts.iter().filter(|(_, verdict)| verdict.risk == Risk::High).collect();
    let [(widened, verdict)] = high.as_slice() else { panic!("{high:?}") };
    assert!(matches!(graph.operations[**widened].kind, OperationKind::Property { .. }));
    assert_eq!(verdict.rule, "permissions become broader");
}

#[test]
fn an_output_that_only_repeats_a_new_name_does_not_change() {
    let of = |id: &str| {
        let text = format!(
            r#"{{"Resources":{{"{id}":{{"Type":"AWS::SQS::Queue","Properties":{{"DelaySeconds":7}}}}}},
            "Outputs":{{"Url":{{"Value":{{"Ref":"{id}"}}}}}}}}"#
        );
        [stack("A", &text)]
    };
    let (before, after) = (of("Old"), of("New"));
    let comparison = compare(&environment(), &before, &after, &Decisions::default()).unwrap();
    let graph = diff(&before, &after, Joining::Comparison(&comparison));
    let kinds: Vec<_> = graph.operations.iter().map(|operation| &operation.kind).collect();
    assert_eq!(kinds, [&OperationKind::Rename]);
}
