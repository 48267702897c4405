//! From "these moved" to "they are moved", by the program itself: asked, refused, interrupted,
//! continued and undone.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use program::{Place, app, edited, text};
use serde_json::Value as Json;

const REFACTOR: [&str; 3] = ["refactor", "--local", "--yes"];

fn refactor<'a>(after: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&REFACTOR[..], &["--app", after], more].concat()
}

/// The numbers of creation, whoever has the resource where.
fn generations(resources: &BTreeMap<String, u64>) -> BTreeSet<u64> {
    resources.values().copied().collect()
}

/// What moved, as the assemblies alone tell it (which is tested elsewhere).
fn moves(place: &Place, name: &str) -> Vec<(String, String)> {
    let (before, after) = (app(name, "before"), app(name, "after"));
    let arguments =
        ["refactor", "--dry-run", "--app", &after, "--against", &before, "--output", "json"];
    let found = place.json(&arguments);
    let end = |end: &Json| {
        format!("{}.{}", end["stack"].as_str().unwrap(), end["logicalId"].as_str().unwrap())
    };
    let mappings = found["environments"][0]["mappings"].as_array().unwrap().iter();
    mappings.map(|one| (end(&one["source"]), end(&one["destination"]))).collect()
}

#[test]
fn the_example_of_the_rfc_is_moved_into_two_new_stacks_and_back() {
    let place = Place::new();
    let after = app("rfc-0162", "after");
    place.seed(&app("rfc-0162", "before"));
    let before = place.resources();
    let old = ["--additional-stack-name", "MyStack"];
    let said = place.out(&refactor(&after, &old));
    assert!(said.contains("MyStack, Service (new), Web (new): 7 resources move"), "{said}");
    assert!(said.contains("7 resources were moved"), "{said}");
    let moved = place.resources();
    for (source, destination) in moves(&place, "rfc-0162") {
        let was = before[&format!("us-east-1 {source}")];
        assert_eq!(moved[&format!("us-east-1 {destination}")], was, "{source} → {destination}");
    }
    let left: Vec<&String> =
        moved.keys().filter(|place| place.starts_with("us-east-1 MyStack.")).collect();
    assert_eq!(left, ["us-east-1 MyStack.CdkrFiller"]);
    assert!(place.out(&refactor(&after, &old)).starts_with("Nothing to refactor."));
    place.out(&["revert", "--local", "--yes"]);
    assert_eq!(place.resources(), before);
}

#[test]
fn every_app_of_the_fixtures_keeps_what_it_has_and_gets_it_back() {
    let apps = std::fs::read_dir(format!("{}/fixtures/apps", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut apps: Vec<String> =
        apps.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()).collect();
    apps.sort();
    for name in apps {
        let place = Place::new();
        let after = app(&name, "after");
        place.seed(&app(&name, "before"));
        let before = place.resources();
        let old = old_stacks(&before, &name);
        let old: Vec<&str> =
            old.iter().flat_map(|stack| ["--additional-stack-name", stack]).collect();
        let more = [&old[..], &["--ignore-ambiguous-refactoring", "--output", "json"]].concat();
        let said = place.out(&refactor(&after, &more));
        let moves: u64 = said
            .lines()
            .map(|line| serde_json::from_str::<Json>(line).unwrap())
            .filter(|line| line["event"] == "done")
            .map(|line| line["moves"].as_u64().unwrap())
            .sum();
        let now = place.resources();
        assert!(generations(&now).is_superset(&generations(&before)), "{name}: lost something");
        let changed = before.iter().filter(|(place, number)| now.get(*place) != Some(number));
        // A nested stack moves as well and has no number; a swap takes two moves.
        assert!(changed.count() as u64 <= moves, "{name}: {now:?}");
        let arguments =
            [&["refactor", "--dry-run", "--local", "--output", "json", "--app", &after], &old[..]];
        for environment in place.json(&arguments.concat())["environments"].as_array().unwrap() {
            for mapping in environment["mappings"].as_array().unwrap() {
                assert_ne!(mapping["blocked"], Json::Null, "{name}: left over: {mapping}");
            }
        }
        while place.run(&["revert", "--local", "--yes"]).status.success() {}
        assert_eq!(place.resources(), before, "{name}");
    }
}

/// Stacks that the app had before and does not have any more.
fn old_stacks(before: &BTreeMap<String, u64>, name: &str) -> Vec<String> {
    let manifest = format!("{}/manifest.json", app(name, "after"));
    let manifest = std::fs::read_to_string(manifest).unwrap();
    let stacks: BTreeSet<String> = before
        .keys()
        .filter_map(|place| Some(place.split_once(' ')?.1.split_once('.')?.0.to_owned()))
        .collect();
    let is_gone = |stack: &String| {
        !stack.contains("NestedStack")
            && !manifest.contains(&format!("\"{stack}\""))
            && !manifest.contains("cdk:cloud-assembly")
    };
    stacks.into_iter().filter(is_gone).collect()
}

#[test]
fn without_a_terminal_nothing_is_changed_unless_somebody_said_yes() {
    let place = Place::new();
    place.seed(&app("rename", "before"));
    let before = place.resources();
    let error = place.err(&["refactor", "--local", "--app", &app("rename", "after")], 2);
    assert!(error.contains("`--yes` goes on without a question"), "{error}");
    assert_eq!(place.resources(), before);
}

#[test]
fn a_question_stops_before_anything_is_changed_and_says_how_to_answer() {
    let place = Place::new();
    place.seed(&app("twins", "before"));
    let before = place.resources();
    let output = place.run(&refactor(&app("twins", "after"), &[]));
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stdout).contains("--map "), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("nothing was changed"), "{}", text(&output.stderr));
    assert_eq!(place.resources(), before);
    let decided = ["--map", "Shop/Orders/Queue:Shop/Purchases/Queue"];
    place.out(&refactor(&app("twins", "after"), &decided));
    assert!(generations(&place.resources()).is_superset(&generations(&before)));
}

#[test]
fn a_plan_goes_through_a_review_and_is_carried_out_as_it_is() {
    let place = Place::new();
    let after = app("rename", "after");
    place.seed(&app("rename", "before"));
    let before = place.resources();
    let review = ["--plan", "plan.json", "--show-templates", "templates"];
    place.out(&[&["refactor", "--local", "--app", &after], &review[..]].concat());
    assert_eq!(place.resources(), before, "a plan changes nothing");
    let template = place.path().join("templates/111111111111-us-east-1/1-Shop.template.json");
    let template = std::fs::read_to_string(template).unwrap();
    assert!(template.contains("PurchasesTable090EA98E"), "{template}");
    place.out(&["refactor", "--local", "--yes", "--plan-file", "plan.json"]);
    let moved = place.resources();
    let table = before["us-east-1 Shop.OrdersTable1F8332C7"];
    assert_eq!(moved["us-east-1 Shop.PurchasesTable090EA98E"], table);
    let error = place.err(&["refactor", "--local", "--yes", "--plan-file", "plan.json"], 1);
    assert!(error.contains("the template of stack `Shop` was changed since the plan"), "{error}");
    assert!(error.contains("Nothing was changed."), "{error}");
    assert_eq!(place.resources(), moved);
}

#[test]
fn a_plan_of_a_newer_program_and_a_file_that_is_none_are_refused() {
    let place = Place::new();
    place.seed(&app("rename", "before"));
    let carry_out = ["refactor", "--local", "--yes", "--plan-file", "plan.json"];
    std::fs::write(place.path().join("plan.json"), r#"{"version": 9, "cdkr": "9.0.0"}"#).unwrap();
    let error = place.err(&carry_out, 1);
    assert!(error.contains("version 9, written by cdkr 9.0.0"), "{error}");
    std::fs::write(place.path().join("plan.json"), "[1, 2").unwrap();
    let error = place.err(&carry_out, 1);
    assert!(error.contains("`plan.json` is not a plan"), "{error}");
}

#[test]
fn a_type_that_the_service_refuses_in_the_preview_stays_and_the_others_move() {
    let place = Place::new();
    let after = app("rename", "after");
    place.seed(&app("rename", "before"));
    let before = place.resources();
    let text = "Stack Refactor does not support AWS::SQS::Queue because the resource type does \
                not allow tag updates after creation.";
    let faults = serde_json::json!({"refactors": [{"CreateFailed": text}]});
    let file = place.path().join(".cdkr/local/111111111111/us-east-1/faults.json");
    std::fs::write(file, faults.to_string()).unwrap();
    let output = place.run(&refactor(&after, &[]));
    let said = program::text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("CloudFormation does not move AWS::SQS::Queue"), "{said}");
    assert!(said.contains("planning again without the type"), "{said}");
    let now = place.resources();
    assert_eq!(
        now["us-east-1 Shop.PurchasesTable090EA98E"],
        before["us-east-1 Shop.OrdersTable1F8332C7"]
    );
    assert!(now.contains_key("us-east-1 Shop.OrdersQueueC538DD4C"), "{now:?}");
}

#[test]
fn people_overrule_which_types_can_be_moved() {
    let place = Place::new();
    let after = app("rename", "after");
    place.seed(&app("rename", "before"));
    let before = place.resources();
    place.out(&refactor(&after, &["--assume-fixed", "AWS::DynamoDB::Table"]));
    let now = place.resources();
    assert!(now.contains_key("us-east-1 Shop.OrdersTable1F8332C7"));
    assert_eq!(
        now["us-east-1 Shop.PurchasesQueue6580000E"],
        before["us-east-1 Shop.OrdersQueueC538DD4C"]
    );
}

#[test]
fn a_refactor_that_fails_says_why_and_everything_is_as_it_was() {
    let place = Place::new();
    place.seed(&app("rename", "before"));
    let before = place.resources();
    let faults = serde_json::json!({"refactors": [{"RollbackComplete": "InternalFailure"}]});
    let file = place.path().join(".cdkr/local/111111111111/us-east-1/faults.json");
    std::fs::write(file, faults.to_string()).unwrap();
    let error = place.err(&refactor(&app("rename", "after"), &[]), 1);
    assert!(error.contains("CloudFormation has undone it"), "{error}");
    assert!(error.contains("InternalFailure"), "{error}");
    assert_eq!(place.resources(), before);
    place.out(&refactor(&app("rename", "after"), &[]));
}

#[test]
fn a_stack_policy_forbids_the_move_before_anything_is_done() {
    let place = Place::new();
    place.seed(&app("rename", "before"));
    let before = place.resources();
    let cloud = cdkr::toolkit::local::open(&place.path().join(".cdkr/local")).unwrap();
    let environment = cdkr::model::Environment::new("111111111111", "us-east-1");
    let policy =
        r#"{"Statement":[{"Effect":"Allow","Principal":"*","Action":"Update:*","Resource":"*"}]}"#;
    cloud.region(&environment).set_stack_policy("Shop", policy).unwrap();
    let output = place.run(&refactor(&app("rename", "after"), &[]));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("stack policy"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("nothing was changed"), "{}", text(&output.stderr));
    assert_eq!(place.resources(), before);
}

#[test]
fn programs_are_told_what_happens_line_by_line() {
    let place = Place::new();
    place.seed(&app("rename", "before"));
    let said = place.out(&refactor(&app("rename", "after"), &["--output", "json"]));
    let lines: Vec<Json> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["event"], "found");
    assert_eq!(lines[0]["environments"][0]["plan"]["steps"][0]["kind"], "refactor");
    let moved =
        lines.iter().filter(|line| line["event"] == "moving" && line["status"] == "COMPLETE");
    assert_eq!(moved.count(), 3);
    assert_eq!(lines.last().unwrap()["event"], "done");
    assert_eq!(lines.last().unwrap()["moves"], 3);
}

#[test]
fn a_file_of_decisions_is_moved_back_without_the_app() {
    let place = Place::new();
    place.seed(&app("rename", "before"));
    let before = place.resources();
    place.out(&refactor(&app("rename", "after"), &[]));
    let file = serde_json::json!({"environments": [{
        "account": "111111111111", "region": "us-east-1",
        "resources": {"Shop.OrdersTable1F8332C7": "Shop.PurchasesTable090EA98E"},
    }]});
    std::fs::write(place.path().join("moves.json"), file.to_string()).unwrap();
    place.out(&["refactor", "--local", "--yes", "--revert", "moves.json"]);
    let now = place.resources();
    let table = "us-east-1 Shop.OrdersTable1F8332C7";
    assert_eq!(now[table], before[table]);
    assert!(!now.contains_key("us-east-1 Shop.PurchasesTable090EA98E"));
    let error = place.err(&["refactor", "--local", "--yes", "--revert", "moves.json"], 1);
    assert!(error.contains("`Shop.PurchasesTable090EA98E` is not deployed"), "{error}");
}

#[test]
fn a_change_outside_of_the_move_waits_for_the_deployment() {
    let place = Place::new();
    let after =
        edited(&app("rename", "after"), "\"ReadCapacityUnits\": 5", "\"ReadCapacityUnits\": 10");
    place.seed(&app("rename", "before"));
    let before = place.resources();
    place.out(&refactor(after.path().to_str().unwrap(), &[]));
    let now = place.resources();
    assert!(generations(&now).is_superset(&generations(&before)));
}

#[test]
fn killed_at_any_moment_a_run_is_noticed_and_continued() {
    let place = Place::new();
    let after = app("rfc-0162", "after");
    place.seed(&app("rfc-0162", "before"));
    let before = place.resources();
    let old = ["--additional-stack-name", "MyStack", "--output", "json"];
    for (kill_at, event) in ["found", "step", "moving", "waiting"].into_iter().enumerate() {
        let mut child = place
            .command(&refactor(&after, &old))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line: Json = serde_json::from_str(&line.unwrap()).unwrap();
            if line["event"] == event {
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let again = place.run(&refactor(&after, &old));
        if !again.status.success() {
            let said = text(&again.stderr);
            assert!(said.contains("an earlier run was interrupted"), "{kill_at}: {said}");
            place.out(&["resume", "--local"]);
        }
        let now = place.resources();
        for (source, destination) in moves(&place, "rfc-0162") {
            let was = before[&format!("us-east-1 {source}")];
            assert_eq!(now[&format!("us-east-1 {destination}")], was, "{event}: {source}");
        }
        while place.run(&["revert", "--local", "--yes"]).status.success() {}
        assert_eq!(place.resources(), before, "{event}");
    }
}

#[test]
fn a_run_is_undone_from_the_templates_as_they_are_now() {
    let place = Place::new();
    let after = app("rename", "after");
    place.seed(&app("rename", "before"));
    let before = place.resources();
    place.out(&refactor(&after, &[]));
    let changed = edited(&after, "\"ReadCapacityUnits\": 5", "\"ReadCapacityUnits\": 10");
    place.seed(changed.path().to_str().unwrap());
    let output = place.run(&["revert", "--local", "--yes"]);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("Planning the way back"), "{said}");
    assert_eq!(place.resources(), before);
    let shown = place.json(&["local", "show", "Shop", "--output", "json"]);
    assert!(shown.to_string().contains("\"ReadCapacityUnits\":10"), "the change has stayed");
    let error = place.err(&["revert", "--local", "--yes"], 1);
    assert!(error.contains("there is no run to undo"), "{error}");
}

#[test]
fn a_dry_run_changes_nothing_wherever_the_plan_comes_from() {
    let place = Place::new();
    let after = app("rename", "after");
    place.seed(&app("rename", "before"));
    let before = place.resources();
    place.out(&["refactor", "--local", "--app", &after, "--plan", "plan.json"]);
    let said =
        place.out(&["refactor", "--local", "--yes", "--dry-run", "--plan-file", "plan.json"]);
    assert!(said.contains("Shop.PurchasesTable090EA98E"), "what would move is shown: {said}");
    assert_eq!(place.resources(), before);
    place.out(&refactor(&after, &[]));
    let moved = place.resources();
    let file = serde_json::json!({"mappings": [{
        "account": "111111111111", "region": "us-east-1",
        "resources": {"Shop.OrdersTable1F8332C7": "Shop.PurchasesTable090EA98E"},
    }]});
    std::fs::write(place.path().join("moves.json"), file.to_string()).unwrap();
    let revert = ["refactor", "--local", "--yes", "--revert", "moves.json"];
    let said = place.out(&[&revert[..], &["--dry-run"]].concat());
    assert!(said.contains("Shop.OrdersTable1F8332C7"), "{said}");
    place.out(&[&revert[..], &["--plan", "back.json", "--show-templates", "templates"]].concat());
    assert!(place.path().join("back.json").exists() && place.path().join("templates").exists());
    assert_eq!(place.resources(), moved);
}

#[test]
fn a_plan_that_cannot_be_carried_out_is_not_saved_and_the_exit_code_says_so() {
    let place = Place::new();
    place.seed(&app("twins", "before"));
    let after = app("twins", "after");
    let output = place.run(&["refactor", "--local", "--app", &after, "--plan", "plan.json"]);
    assert_eq!(output.status.code(), Some(3));
    let cloud = cdkr::toolkit::local::open(&place.path().join(".cdkr/local")).unwrap();
    let environment = cdkr::model::Environment::new("111111111111", "us-east-1");
    cloud.region(&environment).set_stack_policy("Shop", r#"{"Statement":[]}"#).unwrap();
    let decided = ["--map", "Shop/Orders/Queue:Shop/Purchases/Queue", "--plan", "plan.json"];
    let output = place.run(&[&["refactor", "--local", "--app", &after], &decided[..]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(!place.path().join("plan.json").exists());
}

#[test]
fn what_is_left_over_because_it_cannot_be_moved_is_no_pending_move() {
    let place = Place::new();
    let after = app("move", "after");
    place.seed(&app("move", "before"));
    place.out(&refactor(&after, &[]));
    let check = ["refactor", "--local", "--dry-run", "--check", "--app", &after];
    assert_eq!(place.run(&check).status.code(), Some(0));
}

#[test]
fn a_journal_is_found_by_its_bare_name_and_is_not_taken_for_a_directory() {
    let place = Place::new();
    place.seed(&app("rename", "before"));
    let before = place.resources();
    place.out(&refactor(&app("rename", "after"), &[]));
    let runs = place.path().join(".cdkr/runs");
    let journal = std::fs::read_dir(&runs).unwrap().map(|entry| entry.unwrap().file_name());
    let journal = journal.map(|name| name.to_str().unwrap().to_owned());
    let journal = journal.filter(|name| !name.ends_with("lock")).collect::<Vec<_>>().remove(0);
    let whole = format!(".cdkr/runs/{journal}");
    let error = place.err(&["revert", "--yes", "--local", &whole], 2);
    assert!(error.contains("is a file, not the directory"), "{error}");
    let local = place.path().join(".cdkr/local");
    let arguments = ["revert", "--yes", &journal, "--local", local.to_str().unwrap()];
    let output = place.command(&arguments).current_dir(&runs).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(place.resources(), before);
}
