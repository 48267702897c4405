//! What somebody has left to be replaced is nothing that exists now, and no question any more.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod literals;

use cdkr::compare::{
    self, CompareError, Comparison, DecidedPair, Decisions, LeftEntry, Reference, Unpaired,
};
use cdkr::model::Stack;
use literals::{environment, pairs, queue, stack};

fn locations(unpaired: &[Unpaired]) -> Vec<String> {
    unpaired.iter().map(|one| one.place.location.to_string()).collect()
}

fn twins(names: &[&str]) -> [Stack; 1] {
    [stack("A", names.iter().map(|name| queue(name)))]
}

fn left(names: &[&str]) -> Decisions {
    let entry = |name: &&str| LeftEntry {
        resource: Reference::Location(name.parse().unwrap()),
        origin: "the terminal".to_owned(),
    };
    Decisions { left: names.iter().map(entry).collect(), ..Decisions::default() }
}

fn compared(old: &[&str], new: &[&str], decisions: &Decisions) -> Result<Comparison, CompareError> {
    compare::compare(&environment(), &twins(old), &twins(new), decisions)
}

#[test]
fn what_is_left_is_removed_and_not_asked_about_again() {
    let found = compared(&["P", "Q"], &["X", "Y"], &left(&["A.P", "A.Q"])).unwrap();
    assert!(found.ambiguous.is_empty() && found.mappings.is_empty(), "{found:#?}");
    assert_eq!(locations(&found.removed), ["A.P", "A.Q"]);
    assert_eq!(locations(&found.added), ["A.X", "A.Y"]);
    let why = found.removed[0].excluded.as_deref();
    assert_eq!(why, Some("left to be replaced: the terminal"));
}

#[test]
fn the_others_of_its_kind_are_matched_as_if_it_were_not_there() {
    let found = compared(&["P", "Q"], &["X"], &left(&["A.P"])).unwrap();
    assert_eq!(pairs(&found), [("A.Q".to_owned(), "A.X".to_owned())]);
}

#[test]
fn what_is_left_and_still_there_stays() {
    let found = compared(&["P", "Q"], &["P", "X"], &left(&["A.P"])).unwrap();
    assert_eq!(found.unchanged, 1);
    assert_eq!(pairs(&found), [("A.Q".to_owned(), "A.X".to_owned())]);
}

#[test]
fn what_was_left_once_and_is_gone_says_nothing() {
    let found = compared(&["Q"], &["X"], &left(&["A.P"])).unwrap();
    assert_eq!(pairs(&found).len(), 1);
}

#[test]
fn nothing_is_left_and_decided_at_once() {
    let reference = |name: &str| Reference::Location(name.parse().unwrap());
    let pair = DecidedPair {
        source: reference("A.P"),
        destination: reference("A.X"),
        origin: "--map".to_owned(),
    };
    let decisions = Decisions { pairs: vec![pair], ..left(&["A.P"]) };
    let error = compared(&["P"], &["X"], &decisions).unwrap_err().to_string();
    assert!(error.starts_with("two decisions about `A.P`"), "{error}");
}
