//! What a history says, and what people, files and other checkouts say besides.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;
#[path = "history_environments/world.rs"]
#[expect(dead_code, reason = "tests share this file")]
mod world;

use std::fs;

use world::Story;

/// Nothing that was made may go away; what is new may be.
const LOSSES: [&str; 2] = ["--allow-replacement", "AWS::SQS::Queue"];
const A: &str = "us-east-1 Web.A";

#[test]
fn what_another_checkout_has_moved_is_found_again_by_its_content() {
    let story = Story::new(&[("Web.A:Queue=30", ""), ("Web.C:Queue=30", "Web.A>Web.C")]);
    story.deploy_version(0, &[]);
    let before = story.number(A);
    story.checkout(1);
    story.place.out(&["refactor", "--local", "--app", "app", "--plan", "plan.json"]);
    // The log of this checkout does not know the move.
    story.checkout(0);
    story.place.out(&["refactor", "--local", "--plan-file", "plan.json", "--yes"]);
    assert_eq!(story.number("us-east-1 Web.C"), before);
    story.deploy(&[]);
    assert_eq!(story.number(A), before);
}

#[test]
fn what_another_checkout_has_moved_can_be_decided_where_the_evidence_does_not() {
    let story = Story::new(&[
        ("Web.A:Queue Web.B:Queue", ""),
        ("Web.C:Queue Web.D:Queue", "Web.A>Web.D Web.B>Web.C"),
    ]);
    story.deploy_version(0, &[]);
    let (a, b) = (story.number(A), story.number("us-east-1 Web.B"));
    story.checkout(1);
    story.place.out(&["refactor", "--local", "--app", "app", "--plan", "plan.json"]);
    story.checkout(0);
    story.place.out(&["refactor", "--local", "--plan-file", "plan.json", "--yes"]);
    story.refused(&[], 3);
    story.deploy(&["--map", "Web.D:Web.A"]);
    assert_eq!((story.number(A), story.number("us-east-1 Web.B")), (a, b));
}

#[test]
fn a_decision_that_the_log_denies_is_refused_since_the_log_would_be_wrong_afterwards() {
    let story = Story::new(&[("Web.A:Queue=30", ""), ("Web.N:Queue=30", "")]);
    story.deploy_version(0, &[]);
    let before = story.place.resources();
    story.checkout(1);
    let error = story.refused(&["--map", "Web.A:Web.N"], 1);
    for part in ["the history does not say that `Web.A` is `Web.N` now", "cdkr history record"] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(story.place.resources(), before);
    story.deploy(&["--map", "Web.A:Web.N", "--no-history"]);
    assert_eq!(story.number("us-east-1 Web.N"), before.get(A).copied());
}

#[test]
fn a_file_of_decisions_says_nothing_about_names_that_are_older_than_it() {
    let story = Story::new(&[
        ("Web.A:Queue=1 Web.T:Topic", ""),
        ("Web.T:Topic", ""),
        ("Web.A:Queue=2 Web.B:Queue=3 Web.T:Topic", ""),
        ("Web.E:Queue=2 Web.F:Queue=3 Web.T:Topic", "Web.A>Web.E Web.B>Web.F"),
    ]);
    let decisions = r#"{"mappings": {"Web.A": "Web.E", "Web.B": "Web.F"}}"#;
    fs::write(story.place.path().join("cdkr.decisions.json"), decisions).unwrap();
    story.deploy_version(0, &[]);
    let old = story.number(A);
    story.checkout(3);
    // The queue of the first version goes away.
    story.refused(&[], 3);
    story.deploy(&LOSSES);
    assert_ne!(story.number("us-east-1 Web.E"), old);
}

#[test]
fn a_list_of_allowed_moves_and_a_history_cannot_both_decide() {
    let story = Story::new(&[("Web.A:Queue", ""), ("Web.C:Queue", "Web.A>Web.C")]);
    story.deploy_version(0, &[]);
    story.checkout(1);
    fs::write(story.place.path().join("allowed.json"), r#"{"mappings": {}}"#).unwrap();
    let error = story.refused(&["--refactor-file", "allowed.json"], 1);
    assert!(error.contains("only one of them can decide"), "{error}");
}

#[test]
fn an_empty_log_is_damaged_and_not_a_missing_one() {
    let story = Story::new(&[("Web.A:Queue", ""), ("Web.C:Queue", "Web.A>Web.C")]);
    story.deploy_version(0, &[]);
    story.checkout(1);
    fs::write(story.place.path().join("cdkr.history.jsonl"), "").unwrap();
    let error = story.refused(&[], 1);
    assert!(error.contains("cdkr.history.jsonl") && error.contains("cut off"), "{error}");
}

#[test]
fn where_a_state_recurs_under_other_names_nobody_says_which_one_it_is() {
    // The twins have exchanged their places by the third version.
    let story = Story::new(&[
        ("Web.A:Queue Web.B:Queue", ""),
        ("Web.C:Queue Web.D:Queue", "Web.A>Web.C Web.B>Web.D"),
        ("Web.A:Queue Web.B:Queue", "Web.C>Web.B Web.D>Web.A"),
        ("Web.A:Queue Web.B:Queue Web.T:Topic", ""),
    ]);
    story.deploy_version(1, &[]);
    // Somebody takes it back to the first version without the log.
    story.checkout(0);
    story.deploy(&["--no-history", "--map", "Web.C:Web.A", "--map", "Web.D:Web.B"]);
    let before = story.place.resources();
    story.checkout(3);
    let output = story.place.run(&world::deploy(&[]));
    assert!(!output.status.success(), "the swap would be lost without a word");
    assert_eq!(story.place.resources(), before);
}
