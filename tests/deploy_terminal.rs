//! `cdkr deploy` at a terminal: every question, and every answer to it.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;

use program::{Place, app};
use rexpect::session::{Options, PtySession, spawn_with_options};

/// How long an answer may take, in milliseconds: this machine may be busy.
const PATIENCE: u64 = 60_000;
const ENTER: &str = "\r";
const DOWN: &str = "\x1b[B";
const CHOICES: [&str; 3] =
    ["Execute the refactor and deploy", "Deploy without refactoring", "Quit"];

/// Runs the program at a terminal of its own.
fn at_terminal(place: &Place, arguments: &[&str]) -> PtySession {
    let mut command = place.command(arguments);
    command.env("TERM", "xterm").env("NO_COLOR", "1").stdin(std::process::Stdio::inherit());
    let options = Options::default().timeout_ms(Some(PATIENCE)).strip_ansi_escape_codes(true);
    spawn_with_options(command, options).unwrap()
}

fn ends(mut session: PtySession, code: i32) -> String {
    let rest = session.exp_eof().unwrap();
    let status = session.process().wait().unwrap();
    // `Exited(process, code)`
    assert!(format!("{status:?}").ends_with(&format!(", {code})")), "{status:?}: {rest}");
    rest
}

fn seeded(name: &str) -> (Place, String) {
    let place = Place::new();
    place.seed(&app(name, "before"));
    (place, app(name, "after"))
}

fn asked(place: &Place, after: &str, more: &[&str]) -> PtySession {
    let arguments = [&["deploy", "--all", "--local", "--app", after], more].concat();
    let mut session = at_terminal(place, &arguments);
    session.exp_string("were moved or renamed").unwrap();
    for choice in CHOICES {
        session.exp_string(choice).unwrap();
    }
    session
}

#[test]
fn the_first_choice_moves_and_deploys() {
    let (place, after) = seeded("rename");
    let before = place.resources();
    let mut session = asked(&place, &after, &[]);
    session.send(ENTER).unwrap();
    session.flush().unwrap();
    let said = ends(session, 0);
    assert!(said.contains("3 of 3 moved resources are the same"), "{said}");
    let kept: std::collections::BTreeSet<_> = before.values().collect();
    assert!(place.resources().values().filter(|one| kept.contains(one)).count() >= 3);
}

#[test]
fn the_second_choice_replaces_and_asks_again_where_data_would_be_lost() {
    let (place, after) = seeded("rename");
    let before = place.resources();
    let mut session = asked(&place, &after, &[]);
    session.send(DOWN).unwrap();
    session.send(ENTER).unwrap();
    session.flush().unwrap();
    session.exp_string("Data or identity would be lost").unwrap();
    session.exp_string("What do you want to do?").unwrap();
    session.send(ENTER).unwrap();
    session.flush().unwrap();
    ends(session, 1);
    assert_eq!(place.resources(), before, "the proposed answer changes nothing");
}

#[test]
fn the_third_choice_changes_nothing() {
    let (place, after) = seeded("rename");
    let before = place.resources();
    let mut session = asked(&place, &after, &[]);
    session.send(DOWN).unwrap();
    session.send(DOWN).unwrap();
    session.send(ENTER).unwrap();
    session.flush().unwrap();
    let said = ends(session, 1);
    assert!(said.contains("nothing was changed"), "{said}");
    assert_eq!(place.resources(), before);
}

#[test]
fn ctrl_c_at_a_question_changes_nothing() {
    let (place, after) = seeded("rename");
    let before = place.resources();
    let mut session = asked(&place, &after, &[]);
    session.send_control('c').unwrap();
    let rest = session.exp_eof().unwrap();
    assert!(!rest.contains("panicked"), "{rest}");
    assert_eq!(place.resources(), before);
}

#[test]
fn what_cannot_be_told_apart_is_asked_about_where_nothing_is_to_be_moved_too() {
    let (place, after) = seeded("twins");
    let before = place.resources();
    let without = ["--refactoring", "DEPLOY_WITHOUT_REFACTORING"];
    let arguments = [&["deploy", "--all", "--local", "--app", &after][..], &without].concat();
    let mut session = at_terminal(&place, &arguments);
    session.exp_string("cannot be told apart. What do you want to do?").unwrap();
    session.exp_string("Go on without them (will cause resource replacement)").unwrap();
    session.send(ENTER).unwrap();
    session.flush().unwrap();
    ends(session, 1);
    assert_eq!(place.resources(), before);
}

#[test]
fn a_choice_that_was_made_beforehand_is_not_asked_for() {
    let (place, after) = seeded("rename");
    let arguments =
        ["deploy", "--all", "--local", "--app", &after, "--refactoring", "execute_and_deploy"];
    let said = ends(at_terminal(&place, &arguments), 0);
    assert!(!said.contains("What do you want to do"), "{said}");
}
