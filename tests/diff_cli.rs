//! `cdkr diff`, by the program itself: against another assembly, and against the embedded
//! CloudFormation.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;

use program::{Place, app, text};
use serde_json::Value as Json;

/// The arguments that compare both sides of an app.
fn between(name: &str) -> [String; 5] {
    let (before, after) = (app(name, "before"), app(name, "after"));
    ["diff".to_owned(), "--app".to_owned(), after, "--against".to_owned(), before]
}

fn said(place: &Place, name: &str, more: &[&str]) -> String {
    let arguments = between(name);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    place.out(&[&arguments, more].concat())
}

/// The changes of a report: place, effect, whether it moved, risk.
fn changes(report: &str) -> Vec<(String, String, bool, String)> {
    let report: Json = serde_json::from_str(report).unwrap();
    assert_eq!(report["version"], 1);
    let environments = report["environments"].as_array().unwrap().iter();
    let changes = environments.flat_map(|one| one["changes"].as_array().unwrap());
    let mut found: Vec<_> = changes
        .map(|change| {
            let place =
                if change["after"].is_null() { &change["before"] } else { &change["after"] };
            let text = |of: &Json, key: &str| of[key].as_str().unwrap_or_default().to_owned();
            (
                format!("{}.{}", text(place, "stack"), text(place, "logicalId")),
                text(change, "effect"),
                change["moved"].as_bool().unwrap(),
                text(change, "risk"),
            )
        })
        .collect();
    found.sort();
    found
}

#[test]
fn what_moved_is_shown_as_moved_and_not_as_removed_and_added() {
    let place = Place::new();
    insta::assert_snapshot!(said(&place, "rfc-0162", &[]));
}

#[test]
fn every_resource_is_shown_with_its_values_if_somebody_asks() {
    let place = Place::new();
    insta::assert_snapshot!(said(&place, "rename-add-change", &["--verbose"]));
}

#[test]
fn a_pull_request_gets_a_comment() {
    let place = Place::new();
    insta::assert_snapshot!(said(&place, "rename-add-change", &["--output", "markdown"]));
}

#[test]
fn an_account_shows_the_same_changes_as_the_assembly_that_was_deployed() {
    for name in ["rename-add-change", "state-machine", "move", "vpc", "nested-stack"] {
        let place = Place::new();
        let (before, after) = (app(name, "before"), app(name, "after"));
        place.out(&["deploy", "--all", "--local", "--require-approval", "never", "--app", &before]);
        let known = place.out(&["diff", "--local", "--app", &after, "--output", "json"]);
        let known = changes(&known);
        assert!(!known.is_empty(), "{name}");
        assert_eq!(changes(&said(&place, name, &["--output", "json"])), known, "{name}");
    }
}

#[test]
fn nothing_is_left_to_report_after_the_deployment() {
    let place = Place::new();
    let (before, after) = (app("move", "before"), app("move", "after"));
    for side in [&before, &after] {
        place.out(&["deploy", "--all", "--local", "--require-approval", "never", "--app", side]);
    }
    let found = place.out(&["diff", "--local", "--app", &after, "--output", "json", "--fail"]);
    assert_eq!(changes(&found), []);
}

#[test]
fn a_risk_can_be_a_failure() {
    let place = Place::new();
    let code = |name: &str, more: &[&str]| {
        let arguments = between(name);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        place.run(&[&arguments, more].concat()).status.code().unwrap()
    };
    // Moves are all that happens.
    assert_eq!(code("rename", &["--fail-on=high"]), 0);
    assert_eq!(code("rename", &["--fail"]), 4);
    // A topic is deleted.
    assert_eq!(code("rename-add-change", &["--fail-on"]), 4);
    assert_eq!(code("rename-add-change", &[]), 0);
    assert_eq!(code("rename-add-change", &["--fail-on=low"]), 2);
}

#[test]
fn rules_of_a_team_say_what_is_dangerous() {
    let place = Place::new();
    let rules = place.path().join("risks.yaml");
    let text = "
- description: topics may go
  let:
    topic: {Resource: AWS::SNS::Topic}
    change: {change: {type: REMOVE}, where: change appliesTo topic}
  effect: {risk: low}
";
    std::fs::write(&rules, text).unwrap();
    let more = ["--rules", "risks.yaml", "--output", "json", "--fail-on=high"];
    let found = changes(&said(&place, "rename-add-change", &more));
    let topic = found.iter().find(|(_, effect, ..)| effect == "remove").unwrap();
    assert_eq!(topic.3, "low");
}

#[test]
fn a_mistake_in_a_file_of_rules_is_shown_with_its_place() {
    let place = Place::new();
    std::fs::write(place.path().join("risks.yaml"), "- where: a === b\n").unwrap();
    let arguments = between("rename");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let all = [&arguments, &["--rules", "risks.yaml"][..]].concat();
    insta::assert_snapshot!(place.err(&all, 1));
    let all = [&arguments, &["--rules", "none.yaml"][..]].concat();
    insta::assert_snapshot!(place.err(&all, 1));
}

#[test]
fn a_selected_stack_is_reported_alone() {
    let place = Place::new();
    let found = changes(&said(&place, "rfc-0162", &["Web", "--output", "json"]));
    assert!(found.iter().all(|(place, ..)| place.starts_with("Web.")), "{found:?}");
    assert!(!found.is_empty());
}

#[test]
fn the_page_holds_everything_and_needs_nothing() {
    let place = Place::new();
    said(&place, "rename-add-change", &["--report", "pages/changes.html"]);
    let page = std::fs::read_to_string(place.path().join("pages/changes.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"));
    for name in ["PurchasesTable090EA98E", "OrdersChanges6D5C697C", "TimeToLiveSpecification"] {
        assert!(page.contains(name), "{name}");
    }
    // The name of a namespace is no address that is asked.
    let page = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!page.contains("http://") && !page.contains("https://"), "it asks the network");
}

/// Deploys an app as it was, with a file of rules.
fn deployed(name: &str, rules: &str) -> Place {
    let place = Place::new();
    let before = app(name, "before");
    place.out(&["deploy", "--all", "--local", "--require-approval", "never", "--app", &before]);
    std::fs::write(place.path().join("risks.yaml"), rules).unwrap();
    place
}

#[test]
fn a_rule_rejects_a_deployment_before_anything_is_changed() {
    let place = deployed(
        "rename-add-change",
        "
- description: functions are ours
  let:
    function: {Resource: AWS::Lambda::Function}
    change: {change: {}, where: change appliesTo function}
  effect: {action: reject}
",
    );
    let before = place.resources();
    let after = app("rename-add-change", "after");
    let deploy = ["deploy", "--all", "--local", "--yes", "--rules", "risks.yaml", "--app", &after];
    let output = place.run(&[&deploy[..], &["--allow-replacement", "AWS::*"]].concat());
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stdout);
    assert!(said.contains("Rejected:") && said.contains("functions are ours"), "{said}");
    insta::assert_snapshot!(text(&output.stderr));
    assert_eq!(place.resources(), before);
}

#[test]
fn a_change_of_high_risk_waits_for_an_approval() {
    let rule = |effect: &str| {
        format!(
            "
- description: memory costs money
  let:
    function: {{Resource: AWS::Lambda::Function}}
    change: {{change: {{}}, where: change appliesTo function.Properties.MemorySize}}
  effect: {effect}
"
        )
    };
    let place = deployed("rename-add-change", &rule("{risk: high}"));
    let before = place.resources();
    let after = app("rename-add-change", "after");
    let loss = ["--allow-replacement", "Shop/Orders/Changes/**"];
    let deploy = ["deploy", "--all", "--local", "--rules", "risks.yaml", "--app", &after];
    let output = place.run(&[&deploy[..], &loss].concat());
    assert_eq!(output.status.code(), Some(2), "nobody is there to ask");
    assert!(text(&output.stdout).contains("memory costs money"));
    assert_eq!(place.resources(), before);
    std::fs::write(place.path().join("risks.yaml"), rule("{risk: high, action: approve}")).unwrap();
    place.out(&[&deploy[..], &loss].concat());
    assert_ne!(place.resources(), before);
}
