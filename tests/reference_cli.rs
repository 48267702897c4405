//! The CLI of the CDK as a client of `cdkr local serve`: what it deploys, compares and moves there
//! is what `cdkr` itself sees. `.ci/run` installs it from npm, with `tests/reference/package.json`;
//! without it, or without Node.js, these tests are skipped, and say so.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]
#![expect(clippy::print_stderr, reason = "a test says why it is skipped")]

#[path = "reference/cli.rs"]
mod cli;

#[path = "program/mod.rs"]
mod program;

use cli::Reference;

/// Deploys an app, changes it, and lets the reference compare, move and deploy it. Nothing may be
/// replaced, and what is called `old` has to be called `new` in the end, each as a place.
fn moves_as_the_reference_says(app: &str, moves: &[(&str, &str)]) {
    let Some(reference) = Reference::start(app) else { return };
    reference.deploys("before");
    let before = reference.things();

    let told = reference.says(&["diff", "--app", "after"]);
    for (old, new) in moves {
        for place in [old, new] {
            let logical_id = place.split('.').nth(1).unwrap();
            assert!(told.contains(logical_id), "{logical_id}: {told}");
        }
    }
    assert_eq!(reference.things(), before, "a comparison changes nothing");

    let told = reference.says(&["refactor", "--unstable=refactor", "--force", "--app", "after"]);
    assert!(told.contains("Stack refactor complete"), "{told}");
    let mut expected = before;
    for (old, new) in moves {
        let thing = expected.remove(*old).unwrap_or_else(|| panic!("{old}: {expected:?}"));
        assert_eq!(expected.insert((*new).to_owned(), thing), None, "{new}");
    }
    assert_eq!(reference.things(), expected, "the same physical IDs under other names");

    let told = reference.deploys("after");
    assert!(told.contains("(no changes)"), "{told}");
    assert_eq!(reference.things(), expected, "nothing was left to be deployed");
    reference.nothing_is_left_to_do("after");
}

#[test]
fn the_reference_renames_within_a_stack() {
    moves_as_the_reference_says(
        "rename",
        &[
            ("Shop.OrdersTable1F8332C7", "Shop.PurchasesTable090EA98E"),
            ("Shop.OrdersDeadLetters6314E60F", "Shop.PurchasesDeadLetters68659AEC"),
            ("Shop.OrdersQueueC538DD4C", "Shop.PurchasesQueue6580000E"),
        ],
    );
}

#[test]
fn the_reference_renames_what_another_stack_imports() {
    moves_as_the_reference_says(
        "strong-references",
        &[
            ("Data.OrdersTable1F8332C7", "Data.PurchasesTable090EA98E"),
            ("Data.OrdersQueueC538DD4C", "Data.PurchasesQueue6580000E"),
        ],
    );
}

#[test]
fn the_reference_renames_in_two_regions() {
    // After the moves of the first region the reference deploys the stacks of both, and stops at
    // the second: a policy changes there, and nobody is at a terminal to approve it. Else it would
    // replace what it moves next.
    moves_as_the_reference_says(
        "two-regions",
        &[
            ("Shop-us.Sessions8896A56D", "Shop-us.Logins95E12B19"),
            ("Shop-eu.Sessions8896A56D", "Shop-eu.Logins95E12B19"),
            ("Shop-eu.Uploads4F6EB0FD", "Shop-eu.MediaA721A567"),
        ],
    );
}

#[test]
fn the_reference_is_told_what_cannot_be_moved() {
    let Some(reference) = Reference::start("move") else { return };
    reference.deploys("before");
    let before = reference.things();
    let told = reference.says(&["refactor", "--unstable=refactor", "--force", "--app", "after"]);
    assert!(told.contains("[CREATE_FAILED]"), "{told}");
    assert!(told.contains("Stack Refactor does not support AWS::IAM::Policy."), "{told}");
    assert_eq!(reference.things(), before);
    reference.got_what_it_asked_for();
}

#[test]
fn the_reference_is_told_why_a_deployment_was_rolled_back() {
    let Some(reference) = Reference::start("embrace") else { return };
    reference.deploys("before");
    let before = reference.things();
    let (code, told) =
        reference.run(&["deploy", "--app", "after", "--all", "--require-approval", "never"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("UPDATE_ROLLBACK_COMPLETE"), "{told}");
    assert!(told.contains("cannot be deleted as it is in use by Api"), "{told}");
    assert_eq!(reference.things(), before);
    reference.got_what_it_asked_for();
}
