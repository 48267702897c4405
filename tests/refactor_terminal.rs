//! Deciding at the terminal what the evidence does not: one question after the other, with what
//! follows from every answer.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use program::{Place, app, text};
use rexpect::session::{Options, PtySession, spawn_with_options};
use serde_json::{Value as Json, json};

/// How long an answer may take, in milliseconds: this machine may be busy.
const PATIENCE: u64 = 60_000;
const STOP: &str = "Stop, change nothing";
const HEADING: &str = "Constructs of equal content";
const ENTER: &str = "\r";
const DOWN: &str = "\x1b[B";

/// Runs the program at a terminal of its own, so many columns wide.
fn at_terminal(place: &Place, columns: u16, arguments: &[&str]) -> PtySession {
    let program = place.command(arguments);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("stty cols {columns} rows 50; exec \"$@\""), "sh"]);
    command.arg(program.get_program()).args(program.get_args()).current_dir(place.path());
    command.env_clear().env("HOME", place.path()).env("TERM", "xterm").env("NO_COLOR", "1");
    command.env("PATH", std::env::var_os("PATH").unwrap()).stdin(Stdio::inherit());
    let options = Options::default().timeout_ms(Some(PATIENCE)).strip_ansi_escape_codes(true);
    spawn_with_options(command, options).unwrap()
}

/// Waits for a question and picks the choice that begins with a text. Returns what was shown.
fn choose(session: &mut PtySession, question: &str, wanted: &str) -> String {
    let before = session.exp_string(question).unwrap();
    let choices = session.exp_string(STOP).unwrap();
    let mut lines: Vec<&str> = choices.lines().skip(1).collect();
    // The last choice is what was waited for; before it stand the two columns of the mark.
    let last = format!("{}{STOP}", lines.pop().unwrap());
    lines.push(&last);
    let marked = lines.iter().position(|line| line.starts_with("> ")).unwrap();
    let at = lines.iter().position(|line| line[2..].starts_with(wanted));
    let at = at.unwrap_or_else(|| panic!("no choice begins with {wanted}: {lines:?}"));
    for _ in 0..(at + lines.len() - marked) % lines.len() {
        session.send(DOWN).unwrap();
    }
    session.send(ENTER).unwrap();
    session.flush().unwrap();
    before + question + &choices + STOP
}

fn ends(mut session: PtySession, code: i32) -> String {
    let rest = session.exp_eof().unwrap();
    let status = session.process().wait().unwrap();
    // `Exited(process, code)`
    assert!(format!("{status:?}").ends_with(&format!(", {code})")), "{status:?}: {rest}");
    rest
}

fn twins() -> (Place, String) {
    let place = Place::new();
    place.seed(&app("twins", "before"));
    (place, app("twins", "after"))
}

const ORDERS: &str = "us-east-1 Shop.OrdersQueueC538DD4C";

/// Where a resource of the twins is now.
fn of(place: &Place, generation: u64) -> String {
    let found = place.resources().into_iter().find(|(_, other)| *other == generation);
    found.map_or_else(String::new, |(place, _)| place)
}

/// The question from a line on, without what is different every time.
fn shown(text: &str, from: &str) -> String {
    let word = |word: &str| {
        let is_time =
            word.len() > 7 && word.chars().all(|c| c.is_ascii_digit() || "-:".contains(c));
        let mark = if word.contains("Shop-") { "<id>" } else { "<time>" };
        if is_time || word.contains("Shop-") { mark.to_owned() } else { word.to_owned() }
    };
    let line = |line: &str| line.trim_end().split(' ').map(word).collect::<Vec<_>>().join(" ");
    let lines = text[text.rfind(from).unwrap()..].lines().map(line);
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn one_answer_settles_both_constructs_and_then_they_are_moved() {
    let (place, after) = twins();
    let before = place.resources();
    let mut session = at_terminal(&place, 100, &["refactor", "--local", "--app", &after]);
    let seen =
        choose(&mut session, "Which one is Shop/Orders/** (7 resources) now?", "Shop/Purchases/**");
    insta::assert_snapshot!("question", shown(&seen, HEADING));
    let said = choose_yes(&mut session);
    assert!(said.contains("--write-decisions keeps it"), "{said}");
    assert!(said.contains("were moved or renamed"), "what follows is shown: {said}");
    ends(session, 0);
    assert!(of(&place, before[ORDERS]).starts_with("us-east-1 Shop.PurchasesQueue"));
    let now: BTreeSet<_> = place.resources().into_values().collect();
    assert!(now.is_superset(&before.into_values().collect()));
}

/// Agrees to move. Returns what was said before.
fn choose_yes(session: &mut PtySession) -> String {
    let said = session.exp_string("Move these resources?").unwrap();
    session.exp_string("No, change nothing").unwrap();
    session.send(DOWN).unwrap();
    session.send(ENTER).unwrap();
    session.flush().unwrap();
    said
}

#[test]
fn what_was_decided_is_kept_also_if_nothing_is_moved_then() {
    let (place, after) = twins();
    let before = place.resources();
    let arguments = ["refactor", "--local", "--app", &after, "--write-decisions=moves.json"];
    let mut session = at_terminal(&place, 100, &arguments);
    choose(&mut session, "Which one is Shop/Orders/**", "Shop/Purchases/**");
    let said = session.exp_string("Move these resources?").unwrap();
    assert!(
        said.contains("what you decided is kept in moves.json, whatever happens now"),
        "{said}"
    );
    session.exp_string("No, change nothing").unwrap();
    session.send(ENTER).unwrap();
    session.flush().unwrap();
    ends(session, 0);
    assert_eq!(place.resources(), before);
    let file: Json =
        serde_json::from_str(&std::fs::read_to_string(place.path().join("moves.json")).unwrap())
            .unwrap();
    let entry = &file["environments"][0];
    assert_eq!(
        (&entry["account"], &entry["region"]),
        (&json!("111111111111"), &json!("us-east-1"))
    );
    assert_eq!(entry["resources"].as_object().unwrap().len(), 1, "{file}");
    // Nobody is asked any more, not even where nobody could answer.
    let again = ["refactor", "--local", "--yes", "--app", &after, "--override-file", "moves.json"];
    place.out(&again);
    assert!(of(&place, before[ORDERS]).starts_with("us-east-1 Shop.PurchasesQueue"));
}

#[test]
fn a_file_to_which_nothing_can_be_added_is_refused_before_anybody_is_asked() {
    let (place, after) = twins();
    std::fs::write(place.path().join("moves.json"), "[1, 2").unwrap();
    let arguments = ["refactor", "--local", "--app", &after, "--write-decisions=moves.json"];
    let said = ends(at_terminal(&place, 100, &arguments), 1);
    assert!(said.contains("moves.json") && !said.contains("Which one"), "{said}");
}

#[test]
fn whoever_stops_changes_and_keeps_nothing() {
    let (place, after) = twins();
    let before = place.resources();
    let arguments = ["refactor", "--local", "--app", &after, "--write-decisions"];
    let mut session = at_terminal(&place, 100, &arguments);
    choose(&mut session, "Which one is Shop/Orders/**", STOP);
    let said = ends(session, 1);
    assert!(said.contains("stopped: nothing was changed"), "{said}");
    assert_eq!(place.resources(), before);
    assert!(!place.path().join("cdkr.decisions.json").exists());
}

#[test]
fn ctrl_c_at_a_question_ends_with_130_and_changes_nothing() {
    let (place, after) = twins();
    let before = place.resources();
    let mut session = at_terminal(&place, 100, &["refactor", "--local", "--app", &after]);
    session.exp_string("Which one is Shop/Orders/**").unwrap();
    session.exp_string(STOP).unwrap();
    session.send_control('c').unwrap();
    let said = ends(session, 130);
    assert!(said.contains("interrupted: nothing was changed"), "{said}");
    assert_eq!(place.resources(), before);
}

#[test]
fn what_is_left_to_be_replaced_stays_and_is_no_question_any_more() {
    let (place, after) = twins();
    let before = place.resources();
    let arguments = ["refactor", "--local", "--app", &after, "--write-decisions"];
    let mut session = at_terminal(&place, 100, &arguments);
    choose(&mut session, "Which one is Shop/Orders/**", "Leave all 2 to be replaced");
    let said = ends(session, 0);
    assert!(said.contains("kept in cdkr.decisions.json"), "{said}");
    assert!(said.contains("left to be replaced: the terminal"), "{said}");
    assert_eq!(place.resources(), before);
    let file = std::fs::read_to_string(place.path().join("cdkr.decisions.json")).unwrap();
    assert!(file.contains("\"Shop.OrdersQueueC538DD4C\": null"), "{file}");
}

#[test]
fn a_narrow_terminal_shows_every_name_and_breaks_no_word() {
    let (place, after) = twins();
    let mut session = at_terminal(&place, 60, &["refactor", "--local", "--app", &after]);
    let seen = choose(&mut session, "Which one is Shop/Orders/** (7 resources) now?", STOP);
    let question = &seen[seen.find(HEADING).unwrap()..];
    // A word that is too long stays whole, so that it can be copied.
    let is_wide = |line: &&str| line.chars().count() > 60 && !line.contains("https://");
    let wide: Vec<_> = question.lines().map(str::trim_end).filter(is_wide).collect();
    assert!(wide.is_empty(), "{wide:?}");
    insta::assert_snapshot!("narrow", shown(question, HEADING));
    ends(session, 1);
}

#[test]
fn deploy_asks_the_same_and_moves_before_it_deploys() {
    let (place, after) = twins();
    let before = place.resources();
    let arguments = ["deploy", "--all", "--local", "--app", &after, "--require-approval", "never"];
    let mut session = at_terminal(&place, 100, &arguments);
    choose(&mut session, "Which one is Shop/Orders/**", "Shop/Purchases/**");
    session.exp_string("What do you want to do about the resources that moved?").unwrap();
    session.exp_string("Quit").unwrap();
    session.send(ENTER).unwrap();
    session.flush().unwrap();
    let said = ends(session, 0);
    assert!(said.contains("moved resources are the same"), "{said}");
    assert!(of(&place, before[ORDERS]).starts_with("us-east-1 Shop.PurchasesQueue"));
}

/// An assembly with one stack with one queue.
fn queue(directory: &std::path::Path, name: &str, delay: u32) -> String {
    let directory = directory.join(name);
    std::fs::create_dir(&directory).unwrap();
    let manifest = json!({"version": "36.0.0", "artifacts": {"Shop": {
        "type": "aws:cloudformation:stack",
        "environment": "aws://111111111111/us-east-1",
        "properties": {"templateFile": "Shop.template.json"},
    }}});
    let template = json!({"Resources": {
        "Topic": {"Type": "AWS::SNS::Topic"},
        (name): {"Type": "AWS::SQS::Queue", "Properties": {
            "VisibilityTimeout": 77, "MessageRetentionPeriod": 7777, "MaximumMessageSize": 4096,
            "ReceiveMessageWaitTimeSeconds": 17, "DelaySeconds": delay,
        }, "Metadata": {"aws:cdk:path": format!("Shop/{name}/Resource")}},
    }});
    std::fs::write(directory.join("manifest.json"), manifest.to_string()).unwrap();
    std::fs::write(directory.join("Shop.template.json"), template.to_string()).unwrap();
    directory.to_str().unwrap().to_owned()
}

#[test]
fn a_pair_that_is_alike_is_moved_if_somebody_says_so() {
    let place = Place::new();
    let (old, new) = (queue(place.path(), "Letters", 1), queue(place.path(), "Parcels", 2));
    place.seed(&old);
    let before = place.resources();
    let mut session = at_terminal(&place, 100, &["refactor", "--local", "--app", &new]);
    let seen = choose(&mut session, "Is Shop.Letters the same as Shop.Parcels?", "Yes");
    assert!(seen.contains("Properties.DelaySeconds (in place)"), "{seen}");
    insta::assert_snapshot!("similar", shown(&seen, "AWS::SQS::Queue in"));
    choose_yes(&mut session);
    ends(session, 0);
    assert_eq!(place.resources()["us-east-1 Shop.Parcels"], before["us-east-1 Shop.Letters"]);
}

#[test]
fn where_nobody_can_answer_the_flags_and_the_file_are_named_that_decide() {
    let (place, after) = twins();
    let output = place.run(&["refactor", "--local", "--app", &after]);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stdout);
    insta::assert_snapshot!("nobody", said);
    let json: String =
        said.lines().skip_while(|line| *line != "{").take_while(|line| !line.is_empty()).collect();
    std::fs::write(place.path().join("moves.json"), json).unwrap();
    let flags: Vec<&str> =
        said.lines().filter_map(|line| line.trim().strip_prefix("--map ")).collect();
    assert_eq!(flags.len(), 2);
    let maps: Vec<&str> = flags.iter().flat_map(|flag| ["--map", flag]).collect();
    let check = ["refactor", "--local", "--dry-run", "--check", "--app", &after];
    for decided in [&maps[..], &["--override-file", "moves.json"]] {
        assert_eq!(place.run(&[&check[..], decided].concat()).status.code(), Some(4));
    }
}

#[test]
fn programs_are_told_what_would_decide() {
    let (place, after) = twins();
    let arguments = ["refactor", "--local", "--dry-run", "--output", "json", "--app", &after];
    let found = place.json(&arguments);
    let decide = &found["environments"][0]["decide"];
    assert_eq!(decide.as_array().unwrap().len(), 1, "{decide}");
    assert_eq!(decide[0]["about"], "ambiguous");
    let resources = decide[0]["resources"].as_object().unwrap();
    assert_eq!(resources.len(), 2);
    for (pair, (old, new)) in decide[0]["map"].as_array().unwrap().iter().zip(resources) {
        assert_eq!(pair.as_str().unwrap(), format!("{old}:{}", new.as_str().unwrap()));
    }
}
