use super::*;
use crate::history::samples::{add, environment, moves, place, scope, story};

fn between(events: &[(&str, &str)], from: usize, to: usize) -> Vec<String> {
    let (log, hashes) = story(events);
    written(&compose(&log, hashes[from], hashes[to], &environment("1")).unwrap())
}

fn written(mappings: &[Mapping]) -> Vec<String> {
    mappings.iter().map(|it| format!("{}>{}", it.source, it.destination)).collect()
}

#[test]
fn two_renames_in_a_row_are_one() {
    let events =
        [("Web.A:Bucket", ""), ("Web.B:Bucket", "Web.A>Web.B"), ("Api.C:Bucket", "Web.B>Api.C")];
    let (log, hashes) = story(&events);
    let found = compose(&log, hashes[0], hashes[2], &environment("1")).unwrap();
    let mapping = Mapping {
        source: place("Web.A"),
        destination: place("Api.C"),
        resource_type: "Bucket".into(),
        events: hashes[1..].to_vec(),
    };
    assert_eq!(found, [mapping]);
    assert_eq!(between(&events, 1, 2), ["Web.B>Api.C"]);
    assert!(between(&events, 1, 1).is_empty());
}

#[test]
fn a_name_that_was_deleted_and_created_anew_is_another_resource() {
    let events =
        [("Web.A:Bucket", ""), ("", ""), ("Web.A:Bucket", ""), ("Web.B:Bucket", "Web.A>Web.B")];
    assert!(between(&events, 0, 3).is_empty());
    assert_eq!(between(&events, 2, 3), ["Web.A>Web.B"]);
}

#[test]
fn a_name_that_was_left_and_taken_again_maps_only_the_one_that_left() {
    let events = [
        ("Web.A:Bucket", ""),
        ("Web.B:Bucket", "Web.A>Web.B"),
        ("Web.A:Bucket Web.B:Bucket", ""),
        ("Web.C:Bucket Web.B:Bucket", "Web.A>Web.C"),
    ];
    assert_eq!(between(&events, 0, 3), ["Web.A>Web.B"]);
    assert_eq!(between(&events, 2, 3), ["Web.A>Web.C"]);
}

#[test]
fn swaps_are_kept_and_two_swaps_are_none() {
    let both = "Web.A:Bucket Web.B:Bucket";
    let swap = (both, "Web.A>Web.B Web.B>Web.A");
    assert_eq!(between(&[(both, ""), swap], 0, 1), ["Web.A>Web.B", "Web.B>Web.A"]);
    assert!(between(&[(both, ""), swap, swap], 0, 2).is_empty());
}

#[test]
fn what_was_deleted_on_the_way_has_no_mapping() {
    let events = [
        ("Web.A:Bucket Web.Q:Queue", ""),
        ("Web.B:Bucket Web.Q:Queue", "Web.A>Web.B"),
        ("Web.Q:Queue", ""),
        ("Web.B:Queue", "Web.Q>Web.B"),
    ];
    assert_eq!(between(&events, 0, 3), ["Web.Q>Web.B"]);
}

#[test]
fn a_name_that_changes_its_type_is_another_resource() {
    let events = [("Web.A:Bucket", ""), ("Web.A:Queue", ""), ("Web.B:Queue", "Web.A>Web.B")];
    assert!(between(&events, 0, 2).is_empty());
}

#[test]
fn a_resource_that_takes_the_name_of_another_ends_that_one() {
    let events = [
        ("Web.A:Bucket Web.B:Bucket", ""),
        ("Web.B:Bucket", "Web.A>Web.B"),
        ("Web.C:Bucket", "Web.B>Web.C"),
    ];
    assert_eq!(between(&events, 0, 2), ["Web.A>Web.C"]);
}

#[test]
fn a_renamed_stack_takes_its_resources_along() {
    let events =
        [("Old.A:Bucket Old.Q:Queue", ""), ("New.A:Bucket New.Q:Queue", "Old.A>New.A Old.Q>New.Q")];
    assert_eq!(between(&events, 0, 1), ["Old.A>New.A", "Old.Q>New.Q"]);
}

#[test]
fn a_decision_for_one_account_says_nothing_about_another() {
    let (mut log, hashes) = story(&[("Web.A:Queue Web.B:Queue", "")]);
    let mut first = moves("Web.A>Web.C Web.B>Web.D");
    first.scope = scope("1");
    let mut second = moves("Web.A>Web.D Web.B>Web.C");
    second.scope = scope("2");
    let next = add(&mut log, Some(hashes[0]), "Web.C:Queue Web.D:Queue", vec![first, second]);
    let found = |account| written(&compose(&log, hashes[0], next, &environment(account)).unwrap());
    assert_eq!(found("1"), ["Web.A>Web.C", "Web.B>Web.D"]);
    assert_eq!(found("2"), ["Web.A>Web.D", "Web.B>Web.C"]);
    assert!(found("3").is_empty());
}

#[test]
fn stacks_of_one_name_in_two_accounts_are_two_stacks() {
    let (mut log, hashes) = story(&[("Web@1.A:Queue Web@2.A:Queue", "")]);
    let mut only = moves("Web.A>Web.B");
    only.scope = scope("1");
    let next = add(&mut log, Some(hashes[0]), "Web@1.B:Queue Web@2.A:Queue", vec![only]);
    let found = |account| written(&compose(&log, hashes[0], next, &environment(account)).unwrap());
    assert_eq!(found("1"), ["Web.A>Web.B"]);
    assert!(found("2").is_empty());
    assert!(found("3").is_empty());
}

#[test]
fn there_are_no_moves_against_the_direction_of_time() {
    let (log, hashes) = story(&[("Web.A:Bucket", ""), ("Web.B:Bucket", "Web.A>Web.B")]);
    let error = compose(&log, hashes[1], hashes[0], &environment("1")).unwrap_err();
    assert_eq!(error, ComposeError::NotAfter { from: hashes[1], to: hashes[0] });
    let (other, _) = story(&[("Web.X:Bucket", "")]);
    let error = compose(&other, hashes[0], hashes[1], &environment("1")).unwrap_err();
    assert_eq!(error, ComposeError::Unknown(hashes[0]));
}
