//! The history of an app in its repository, by the program itself and by Git.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;

#[path = "history_cli/git.rs"]
mod git;
#[path = "history_cli/project.rs"]
mod project;

use std::fs;

use program::{app, text};
use project::{Project, without_chance};

#[test]
fn a_story_is_recorded_and_told() {
    let project = Project::of("rename");
    assert!(project.record(&[]).starts_with("recorded "));
    assert_eq!(project.record(&[]), "Nothing has changed since the last event.\n");
    project.becomes("rename", "after");
    let said = project.record(&[]);
    assert!(said.contains("The following resources were moved or renamed:"), "{said}");
    project.becomes("move", "before");
    project.record(&["--leave-similar"]);
    insta::assert_snapshot!("log", project.seen(&["log"]));
    insta::assert_snapshot!("log-oneline", project.seen(&["log", "--oneline"]));
    insta::assert_snapshot!("show", project.seen(&["show", "HEAD~1"]));
    insta::assert_snapshot!("graph", project.seen(&["graph"]));
    insta::assert_snapshot!("snapshot", project.seen(&["snapshot", "HEAD~1"]));
    insta::assert_snapshot!("diff", project.seen(&["diff", "HEAD~2", "HEAD~1"]));
    insta::assert_snapshot!("diff-json", project.seen(&["diff", "--output", "json"]));
    for view in ["log", "show", "graph", "snapshot", "diff"] {
        let json = project.out(&["history", view, "--output", "json"]);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["version"], 1, "{view}");
        assert!(!project.out(&["history", view]).contains('\u{1b}'), "{view}: colours in a pipe");
    }
}

#[test]
fn what_differs_is_named_by_a_check_which_changes_nothing() {
    let project = Project::of("rename");
    let check = ["history", "record", "--check"];
    insta::assert_snapshot!("check-none", project.failing(&check, 4));
    project.record(&[]);
    assert_eq!(project.out(&check), "The app is as the log says.\n");
    let before = project.files();
    project.becomes("rename", "after");
    insta::assert_snapshot!("check", project.failing(&check, 4));
    assert_eq!(project.files(), before);
    project.becomes("rename", "before");
    fs::remove_dir_all(project.path().join("cdkr.history")).unwrap();
    insta::assert_snapshot!("check-templates", project.failing(&check, 4));
    let said = project.record(&[]);
    assert!(said.contains("1 template that cdkr.history/ lacked written again."), "{said}");
    assert_eq!(project.files(), before);
}

#[test]
fn twins_are_recorded_once_somebody_has_decided() {
    let project = Project::of("twins");
    project.record(&[]);
    let before = project.files();
    project.becomes("twins", "after");
    let error = project.failing(&["history", "record", "--check"], 4);
    assert!(error.contains("    - … and 4 more\n"), "{error}");
    let output = project.run(&["history", "record"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stdout).contains("--map "), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("nothing was recorded"), "{}", text(&output.stderr));
    assert_eq!(project.files(), before);
    project.record(&["--map", "Shop/Orders/Queue:Shop/Purchases/Queue"]);
    let shown = project.out(&["history", "show"]);
    assert!(shown.contains("(stated by --map"), "{shown}");
    assert!(shown.contains("(detected: "), "{shown}");
    assert_eq!(project.out(&["history", "record", "--check"]), "The app is as the log says.\n");
}

#[test]
fn every_app_of_the_fixtures_is_recorded_with_the_moves_that_a_comparison_finds() {
    for entry in fs::read_dir(format!("{}/fixtures/apps", env!("CARGO_MANIFEST_DIR"))).unwrap() {
        let name = entry.unwrap().file_name().to_str().unwrap().to_owned();
        let project = Project::of(&name);
        project.record(&[]);
        project.becomes(&name, "after");
        let output = project.run(&["history", "record", "--output", "json"]);
        if output.status.code() == Some(3) {
            continue;
        }
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
        let recorded: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let events = recorded["recorded"].as_array().unwrap();
        let moves = events.iter().flat_map(|event| event["moves"].as_array().unwrap());
        // What is in a nested stack that moved is called otherwise, but did not move.
        let moves = moves.filter(|one| one["detected"] != "nested-stack").count();
        let (after, before) = (app(&name, "after"), app(&name, "before"));
        let arguments =
            ["refactor", "--dry-run", "--app", &after, "--against", &before, "--output", "json"];
        let found: serde_json::Value = serde_json::from_str(&project.out(&arguments)).unwrap();
        let environments = found["environments"].as_array().unwrap().iter();
        let found: usize = environments.map(|one| one["mappings"].as_array().unwrap().len()).sum();
        assert_eq!(moves, found, "{name}");
        assert_eq!(project.out(&["history", "record", "--check"]), "The app is as the log says.\n");
    }
}

#[test]
fn a_table_that_is_merely_like_another_one_is_a_question_unless_somebody_leaves_it() {
    let project = Project::of("rename");
    project.record(&[]);
    let before = project.files();
    project.becomes("rename", "after");
    // Another name in every sense, and half of another table.
    project.edit("PurchasesTable090EA98E", "Visits0A1B2C3D");
    project.edit("Shop/Purchases/Table/Resource", "Shop/Visits/Resource");
    project.edit("\"ReadCapacityUnits\": 5", "\"ReadCapacityUnits\": 7");
    let output = project.run(&["history", "record"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("--leave-similar"), "{}", text(&output.stderr));
    assert_eq!(project.files(), before);
    let said = project.record(&["--leave-similar"]);
    assert!(said.contains("2 resources moved"), "{said}");
}

#[test]
fn what_is_in_a_nested_stack_goes_with_it() {
    let project = Project::of("nested-stack");
    project.record(&[]);
    project.becomes("nested-stack", "after");
    project.record(&[]);
    insta::assert_snapshot!("nested-stack", project.seen(&["diff"]));
}

#[test]
fn a_log_begins_with_what_was_released_if_somebody_says_so() {
    let project = Project::of("rename");
    project.becomes("rename", "after");
    let released = app("rename", "before");
    let said = project.record(&["--against", &released]);
    assert_eq!(said.matches("recorded ").count(), 2, "{said}");
    assert!(project.out(&["history", "diff"]).contains("Moved"));
}

#[test]
fn the_assembly_of_the_last_state_stands_for_templates_that_are_lost() {
    let project = Project::of("rename");
    project.record(&[]);
    fs::remove_dir_all(project.path().join("cdkr.history")).unwrap();
    project.becomes("rename", "after");
    let error = project.failing(&["history", "record"], 1);
    assert!(error.contains("the templates of `Shop ("), "{error}");
    assert!(error.contains("--against DIRECTORY"), "{error}");
    let other = app("move", "before");
    let error = project.failing(&["history", "record", "--against", &other], 1);
    assert!(error.contains("is not the last state of the log"), "{error}");
    project.record(&["--against", &app("rename", "before")]);
    assert!(project.out(&["history", "diff"]).contains("Moved"));
}

#[test]
fn a_damaged_log_stops_every_command_with_line_and_column() {
    let project = Project::of("rename");
    project.record(&[]);
    project.becomes("rename", "after");
    project.record(&[]);
    let file = project.path().join("cdkr.history.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    let commands: [&[&str]; 8] = [
        &["record"],
        &["record", "--check"],
        &["log"],
        &["show"],
        &["graph"],
        &["snapshot"],
        &["diff"],
        &["merge"],
    ];
    let damaged = [
        (whole[..whole.len() - 9].to_owned(), "line 2", "the log was cut off"),
        (whole.replacen("AWS::DynamoDB", "AWS::DynamoBD", 1), "line 1", "the line was edited"),
        (whole.lines().nth(1).unwrap().to_owned() + "\n", "line 1", "lines were removed"),
        (whole.replace('\n', "\r\n"), "line 1", "carriage return"),
    ];
    for (text, line, problem) in damaged {
        assert_ne!(text, whole, "{problem}");
        fs::write(&file, &text).unwrap();
        for command in commands {
            let error = project.failing(&[&["history"], command].concat(), 1);
            let place = format!("`cdkr.history.jsonl`, {line}, column ");
            assert!(error.contains(&place) && error.contains(problem), "{command:?}: {error}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn events_are_named_by_place_and_hash_or_refused() {
    let project = Project::of("rename");
    assert!(project.failing(&["history", "log"], 1).contains("there is no `cdkr.history.jsonl`"));
    project.record(&[]);
    let error = project.failing(&["history", "show", "HEAD~1"], 1);
    assert!(error.contains("nothing is before it"), "{error}");
    assert!(project.failing(&["history", "show", "0123456"], 1).contains("there is no event"));
    let log = project.out(&["history", "log", "--oneline"]);
    let hash = log.split(' ').next().unwrap();
    assert!(project.out(&["history", "show", &hash[..6]]).contains(hash));
    let error = project.failing(&["history", "snapshot", "--stack", "Nope"], 1);
    assert!(error.contains("there are Shop ("), "{error}");
}

#[test]
fn stacks_of_several_regions_are_told_apart() {
    let project = Project::of("two-regions");
    project.record(&[]);
    project.becomes("two-regions", "after");
    project.record(&[]);
    insta::assert_snapshot!("two-regions", project.seen(&["diff"]));
    let all = project.out(&["history", "snapshot"]);
    let one = project.out(&["history", "snapshot", "--environment", "111111111111/eu-west-1"]);
    assert!(one.len() < all.len() && one.contains("eu-west-1"), "{one}");
    let error = project.failing(&["history", "log", "--environment", "nowhere"], 2);
    assert!(error.contains("111111111111/eu-west-1"), "{error}");
}

#[test]
fn whatever_is_written_appears_as_a_whole() {
    let project = Project::of("rename");
    project.record(&[]);
    let before = project.files();
    project.becomes("rename", "after");
    // The log is written, the template is not in its place yet.
    let copy = project.path().join("copy");
    fs::create_dir(&copy).unwrap();
    project.record(&[]);
    fs::rename(
        project.path().join("cdkr.history/Shop@111111111111@us-east-1.json"),
        copy.join("Shop.json"),
    )
    .unwrap();
    let digest = {
        let snapshot = project.out(&["history", "snapshot", "--output", "json"]);
        let snapshot: serde_json::Value = serde_json::from_str(&snapshot).unwrap();
        snapshot["stacks"][0]["template"].as_str().unwrap().to_owned()
    };
    let kept = project.path().join(".cdkr/history");
    fs::create_dir_all(&kept).unwrap();
    fs::rename(copy.join("Shop.json"), kept.join(format!("{digest}.json"))).unwrap();
    project.becomes("rename", "before");
    let said = project.record(&[]);
    assert!(said.contains("moved"), "the kept template was found: {said}");
    assert_eq!(fs::read_dir(&kept).unwrap().count(), 0);
    let template = |files: &[(String, String)]| {
        files.iter().find(|(name, _)| name.contains("/Shop@")).cloned()
    };
    assert_eq!(template(&project.files()), template(&before));
}
