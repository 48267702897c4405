//! What is written by runs: plans, journals and the lines of answers.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value as Json, json};

use super::program::{Place, app};
use super::schema;
use super::validate::{Properties, problems};

#[track_caller]
fn fits(schema: &Json, value: &Json) {
    assert_eq!(problems(schema, value, Properties::All), Vec::<String>::new(), "{value:#}");
}

fn lines(text: &str) -> impl Iterator<Item = Json> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

/// The kinds of the records of all journals, each of which is as the schema says.
fn records(place: &Place) -> BTreeSet<String> {
    let schema = schema("journal");
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(place.path().join(".cdkr/runs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            for line in lines(&fs::read_to_string(path).unwrap()) {
                fits(&schema, &line);
                found.extend(line["record"].as_object().unwrap().keys().cloned());
            }
        }
    }
    found
}

fn events(schema: &Json, text: &str) -> BTreeSet<String> {
    let event = |line: Json| {
        fits(schema, &line);
        line["event"].as_str().unwrap().to_owned()
    };
    lines(text).map(event).collect()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_plan_its_journal_and_its_events_are_as_the_schemas_say() {
    let place = Place::new();
    place.seed(&app("rfc-0162", "before"));
    let after = app("rfc-0162", "after");
    let local = ["refactor", "--local", "--app", &after, "--additional-stack-name", "MyStack"];
    place.out(&[&local[..], &["--plan", "plan.json"]].concat());
    let text = fs::read_to_string(place.path().join("plan.json")).unwrap();
    let mut plan: Json = serde_json::from_str(&text).unwrap();
    fits(&schema("plan"), &plan);
    assert!(!plan["environments"][0]["plan"]["steps"].as_array().unwrap().is_empty());
    plan["version"] = 2.into();
    assert!(!problems(&schema("plan"), &plan, Properties::AsSaid).is_empty());

    let carry = ["refactor", "--local", "--plan-file", "plan.json", "--yes", "--output", "json"];
    let seen = events(&schema("events"), &place.out(&carry));
    assert!(
        seen.is_superset(&names(&["done", "moving", "step", "stepDone", "remote"])),
        "{seen:?}"
    );
    place.out(&["revert", "--local", "--yes"]);
    let kinds = ["begin", "stepStarted", "sending", "sent", "stepDone", "end"];
    let seen = records(&place);
    assert!(seen.is_superset(&names(&kinds)), "{seen:?}");
}

#[test]
fn every_line_of_a_deployment_is_as_the_schema_says() {
    let schema = schema("events");
    let place = Place::new();
    let deploy = |place: &Place, app: &str, more: &[&str]| {
        let arguments = ["deploy", "**", "--local", "--require-approval", "never"];
        let run = [&arguments[..], &["--output", "json", "--app", app], more].concat();
        let output = place.run(&run);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = deploy(&place, &app("rename", "before"), &[]);
    let mut seen = events(&schema, &text);
    assert_eq!(code, Some(0));
    let after = app("rename", "after");
    let (code, text) = deploy(&place, &after, &[]);
    seen.extend(events(&schema, &text));
    assert_eq!(code, Some(0));
    assert!(records(&place).contains("kept"));
    // What is refused, and what fails.
    let (code, text) =
        deploy(&place, &app("rename", "before"), &["--refactoring", "DEPLOY_WITHOUT_REFACTORING"]);
    seen.extend(events(&schema, &text));
    assert_eq!(code, Some(3));
    let place = Place::new();
    place.seed(&app("chain", "before"));
    let faults = json!({"resources": [
        {"stack": "Base", "logical_id": "Version6A868472", "message": "Out of luck"}]});
    let file = place.path().join(".cdkr/local/111111111111/us-east-1/faults.json");
    fs::write(file, faults.to_string()).unwrap();
    let (code, text) = deploy(&place, &app("chain", "after"), &[]);
    seen.extend(events(&schema, &text));
    assert_eq!(code, Some(1), "{text}");
    let all = [
        "found",
        "outlook",
        "step",
        "stepDone",
        "moving",
        "remote",
        "stack",
        "deploying",
        "deployed",
        "asset",
        "finished",
        "failed",
    ];
    let missing: Vec<String> = names(&all).difference(&seen).cloned().collect();
    assert_eq!(missing, [] as [&str; 0]);
}

#[test]
fn what_the_embedded_cloudformation_holds_is_as_the_schema_says() {
    let schema = schema("local");
    let place = Place::new();
    place.seed(&app("rename", "before"));
    let stacks = place.json(&["local", "ls", "--output", "json"]);
    fits(&schema, &stacks);
    let name = stacks["stacks"][0]["name"].as_str().unwrap();
    let shown = place.json(&["local", "show", name, "--output", "json"]);
    fits(&schema, &shown);
    assert!(shown["stacks"][0]["resources"][0]["generation"].is_u64());
    assert_eq!((&stacks["version"], &shown["version"]), (&json!(1), &json!(1)));
}

#[test]
fn the_answers_about_a_history_are_as_the_schema_says() {
    let schema = schema("history-answer");
    let place = Place::new();
    let (before, after) = (app("rename", "before"), app("rename", "after"));
    let mut seen = BTreeSet::new();
    for arguments in [
        &["record", "--app", &before][..],
        &["record", "--app", &after],
        &["record", "--check", "--app", &before],
        &["record", "--check", "--app", &after],
        &["log"],
        &["show", "HEAD"],
        &["graph"],
        &["snapshot"],
        &["diff"],
    ] {
        let call = [&["history"], arguments, &["--output", "json"]].concat();
        let output = place.run(&call);
        assert!([0, 4].contains(&output.status.code().unwrap()), "{arguments:?}");
        // Before what was recorded stands what moved.
        let text = String::from_utf8(output.stdout).unwrap();
        for answer in serde_json::Deserializer::from_str(&text).into_iter::<Json>() {
            let answer = answer.unwrap();
            assert_eq!(answer["version"], 1);
            if answer.get("environments").is_some() {
                continue;
            }
            fits(&schema, &answer);
            seen.extend(answer.as_object().unwrap().keys().cloned());
        }
    }
    let parts = ["events", "recorded", "stacks", "from", "misplaced"];
    assert!(seen.is_superset(&names(&parts)), "{seen:?}");
}
