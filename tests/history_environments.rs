//! The logs of environments, by the program itself against the embedded CloudFormation.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;
#[path = "history_environments/world.rs"]
mod world;

use std::fs;
use std::process::Stdio;

use cdkr::assembly::{LoadOptions, load};
use cdkr::history::{Decided, Log, Move, Refactor};
use cdkr::settings::Scope;
use cdkr::toolkit::history::snapshot_of;
use program::{Place, app, text};
use serde_json::json;
use world::{Story, deploy};

const HERE: &str = "us-east-1";
const THERE: [&str; 2] = ["--region", "eu-west-1"];
/// Nothing that was made may go away; what is new may be.
const LOSSES: [&str; 2] = ["--allow-replacement", "AWS::SQS::Queue"];

fn head(log: &Log) -> cdkr::history::EventHash {
    log.head().unwrap().unwrap()
}

#[test]
fn an_environment_that_is_several_versions_behind_follows_without_a_question() {
    // RFC 0162, appendix A, the first example. The queues are twins, so that the evidence says
    // nothing.
    let story = Story::new(&[
        ("Web.A:Queue Web.B:Queue", ""),
        ("Web.B:Queue Web.C:Queue", "Web.A>Web.C"),
        ("Web.C:Queue Api.D:Queue", "Web.B>Api.D"),
        ("Web.E:Queue Api.D:Queue Web.N:Queue", "Web.C>Web.E"),
    ]);
    // One environment gets each version, the other one skips two.
    for version in 0..4 {
        story.deploy_version(version, &[]);
        assert_eq!(story.stored(HERE).unwrap(), story.log.up_to(story.hash(version)).unwrap());
    }
    story.deploy_version(0, &THERE);
    let (a, b) = (story.number("eu-west-1 Web.A"), story.number("eu-west-1 Web.B"));
    assert!(a.is_some() && b.is_some());
    let said = story.deploy_version(3, &THERE);
    assert_eq!(story.number("eu-west-1 Web.E"), a, "{said}");
    assert_eq!(story.number("eu-west-1 Api.D"), b, "{said}");
    assert_eq!(story.stored("eu-west-1").unwrap(), story.log);
    assert!(story.deploy(&THERE).contains("unchanged"));
}

#[test]
fn a_move_says_which_event_decided_it() {
    let story = Story::new(&[
        ("Web.A:Queue Web.B:Queue", ""),
        ("Web.C:Queue Web.D:Queue", "Web.A>Web.D Web.B>Web.C"),
    ]);
    story.deploy_version(0, &[]);
    story.checkout(1);
    let shown = ["refactor", "--local", "--dry-run", "--explain", "--app", "app"];
    let said = story.place.out(&shown);
    let origin = format!("cdkr.history.jsonl, event {}", story.hash(1).short());
    assert!(said.contains(&origin), "{said}");
    let blind = [&shown[..], &["--no-history", "--check"]].concat();
    assert_eq!(story.place.run(&blind).status.code(), Some(3), "twins are a question");
}

#[test]
fn what_the_log_knows_to_be_new_is_not_taken_for_something_that_was_deleted() {
    let story =
        Story::new(&[("Web.A:Queue=30 Web.T:Topic", ""), ("Web.B:Queue=30 Web.T:Topic", "")]);
    story.deploy_version(0, &[]);
    let a = story.number("us-east-1 Web.A");
    story.checkout(1);
    let error = story.refused(&[], 3);
    assert!(error.contains("data or identity would be lost"), "{error}");
    story.deploy(&LOSSES);
    assert_ne!(story.number("us-east-1 Web.B"), a);
}

#[test]
fn different_ways_without_moves_are_deployed_and_merged() {
    let mut story = Story::new(&[("Web.A:Queue", ""), ("Web.A:Queue Web.T:Topic", "")]);
    story.deploy_version(1, &[]);
    story.commit("Web.A:Queue=30 Web.T:Topic", "");
    story.deploy_version(2, &[]);
    let hotfix = story.hash(2);
    story.branch(1);
    story.commit("Web.A:Queue Web.T:Topic Web.U:Topic", "");
    story.deploy_version(2, &[]);
    let stored = story.stored(HERE).unwrap();
    let mut parents = [hotfix, story.hash(2)];
    parents.sort();
    assert_eq!(stored.event(head(&stored)).unwrap().parents, parents);
    // It goes on from there.
    let a = story.number("us-east-1 Web.A");
    story.commit("Web.B:Queue Web.T:Topic Web.U:Topic", "Web.A>Web.B");
    story.deploy_version(3, &[]);
    assert_eq!(story.number("us-east-1 Web.B"), a);
}

#[test]
fn different_ways_with_a_move_are_refused_with_its_event() {
    // RFC 0162, appendix A, the second example.
    let mut story = Story::new(&[("Web.A:Queue", ""), ("Web.A:Queue Web.T:Topic", "")]);
    story.commit("Web.A:Queue=30 Web.T:Topic", "");
    story.deploy_version(2, &[]);
    story.branch(1);
    story.commit("Web.A:Queue Web.T:Topic Web.U:Topic", "");
    story.commit("Web.B:Queue Web.T:Topic Web.U:Topic", "Web.A>Web.B");
    let before = story.place.resources();
    story.checkout(3);
    let error = story.refused(&[], 1);
    let event = format!("`Web.A` → `Web.B` ({})", story.hash(3).short());
    for part in [event.as_str(), "Nothing was changed", "cdkr history merge", "--no-history"] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(story.place.resources(), before);
}

#[test]
fn an_app_that_is_not_recorded_is_not_deployed() {
    let story = Story::new(&[("Web.A:Queue", "")]);
    story.deploy_version(0, &[]);
    story.write_app("Web.A:Queue=30");
    let error = story.refused(&[], 1);
    for part in ["stack Web is another", "Nothing was changed", "cdkr history record"] {
        assert!(error.contains(part), "{error}");
    }
    story.deploy(&["--no-history"]);
}

#[test]
fn stacks_that_were_changed_behind_the_log_are_named_and_nothing_moves_between_them() {
    let story = Story::new(&[
        ("Web.A:Queue Data.T:Topic", ""),
        ("Web.A:Queue Data.T:Topic Data.U:Topic", ""),
        ("Web.B:Queue Data.T:Topic Data.U:Topic", "Web.A>Web.B"),
    ]);
    story.deploy_version(0, &[]);
    story.write_app("Web.A:Queue Web.X:Queue=40 Data.T:Topic");
    story.deploy(&["--no-history"]);
    let log = story.stored(HERE).unwrap();
    assert_eq!(log, story.log.up_to(story.hash(0)).unwrap(), "nobody wrote it");
    story.checkout(2);
    let error = story.refused(&[], 1);
    for part in ["stack Web has `X` besides", "Nothing was changed", "--no-history"] {
        assert!(error.contains(part), "{error}");
    }
    // Where nothing moves it is a warning.
    story.checkout(1);
    let output = story.place.run(&deploy(&LOSSES));
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("changed behind its log's back: stack Web has `X` besides"), "{said}");
    assert_eq!(story.stored(HERE).unwrap(), story.log.up_to(story.hash(1)).unwrap());
}

#[test]
fn a_template_with_the_same_resources_may_have_changed_behind_the_log() {
    let story = Story::new(&[
        ("Web.A:Queue Web.B:Queue", ""),
        ("Web.C:Queue Web.D:Queue", "Web.A>Web.D Web.B>Web.C"),
    ]);
    story.deploy_version(0, &[]);
    let (a, b) = (story.number("us-east-1 Web.A"), story.number("us-east-1 Web.B"));
    story.write_app("Web.A:Queue=30 Web.B:Queue=30");
    story.deploy(&["--no-history"]);
    story.checkout(1);
    let output = story.place.run(&deploy(&[]));
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("stack Web has another template"), "{said}");
    assert_eq!(
        (story.number("us-east-1 Web.D"), story.number("us-east-1 Web.C")),
        (a, b),
        "{said}"
    );
}

#[test]
fn an_environment_without_a_log_stands_where_its_stacks_say() {
    let story = Story::new(&[
        ("Web.A:Queue Web.B:Queue", ""),
        ("Web.B:Queue Web.C:Queue", "Web.A>Web.C"),
        ("Web.C:Queue Web.D:Queue", "Web.B>Web.D"),
    ]);
    story.checkout(1);
    story.place.seed("app");
    let (b, c) = (story.number("us-east-1 Web.B"), story.number("us-east-1 Web.C"));
    assert!(story.stored(HERE).is_none());
    story.deploy_version(2, &[]);
    assert_eq!(story.number("us-east-1 Web.D"), b);
    assert_eq!(story.number("us-east-1 Web.C"), c);
    assert_eq!(story.stored(HERE).unwrap(), story.log);
}

#[test]
fn an_environment_in_a_state_that_nobody_recorded_begins_with_the_first_deployment() {
    let story =
        Story::new(&[("Web.A:Queue=30 Web.T:Topic", ""), ("Web.B:Queue=30", "Web.A>Web.B")]);
    story.write_app("Web.A:Queue=30 Web.X:Topic");
    story.place.seed("app");
    let a = story.number("us-east-1 Web.A");
    story.checkout(1);
    let output = story.place.run(&deploy(&["--allow-replacement", "AWS::SNS::Topic"]));
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("the evidence decides"), "{said}");
    assert_eq!(story.number("us-east-1 Web.B"), a);
    assert_eq!(story.stored(HERE).unwrap(), story.log);
}

#[test]
fn moves_without_a_deployment_are_known_to_the_next_version() {
    let story = Story::new(&[
        ("Web.A:Queue Web.Z:Queue", ""),
        ("Web.B:Queue Web.Z:Queue Web.T:Topic", "Web.A>Web.B"),
        ("Web.C:Queue Web.Z:Queue Web.T:Topic", "Web.B>Web.C"),
    ]);
    story.deploy_version(0, &[]);
    let a = story.number("us-east-1 Web.A");
    story.checkout(1);
    let refactor = ["refactor", "--local", "--yes", "--app", "app"];
    story.place.out(&refactor);
    assert_eq!(story.number("us-east-1 Web.B"), a);
    let stored = story.stored(HERE).unwrap();
    assert_eq!(stored.event(head(&stored)).unwrap().toward, Some(story.hash(1)));
    story.deploy_version(2, &[]);
    assert_eq!(story.number("us-east-1 Web.C"), a);
    let stored = story.stored(HERE).unwrap();
    assert_eq!(stored.event(head(&stored)).unwrap().same_as, Some(story.hash(2)));
    // The same with the way back: nothing was deployed, and nothing is known of the moves.
    story.deploy_version(0, &THERE);
    let a = story.number("eu-west-1 Web.A");
    story.checkout(1);
    story.place.out(&[&refactor[..], &THERE].concat());
    story.place.out(&["revert", "--local", "--yes"]);
    assert_eq!(story.number("eu-west-1 Web.A"), a);
    story.deploy_version(2, &THERE);
    assert_eq!(story.number("eu-west-1 Web.C"), a);
}

#[test]
fn some_of_the_stacks_may_be_versions_ahead() {
    let story = Story::new(&[
        ("StackA.A:Queue StackB.B:Queue", ""),
        ("StackA.N:Queue StackB.C:Queue StackA.A:Queue", "StackB.B>StackB.C"),
        ("StackA.M:Queue StackB.D:Queue StackA.A:Queue", "StackA.N>StackA.M StackB.C>StackB.D"),
    ]);
    story.deploy_version(0, &[]);
    story.deploy_version(1, &["StackA"]);
    let place = |place: &str| story.number(&format!("us-east-1 {place}"));
    let (a, n, b) = (place("StackA.A"), place("StackA.N"), place("StackB.B"));
    assert!(a.is_some() && n.is_some() && b.is_some());
    story.deploy_version(2, &[]);
    assert_eq!((place("StackA.A"), place("StackA.M"), place("StackB.D")), (a, n, b));
    assert!(story.deploy(&[]).contains("unchanged"));
}

#[test]
fn a_deployment_that_fails_and_is_taken_back_is_tried_again() {
    let story = Story::new(&[
        ("Web.A:Queue Web.Z:Queue", ""),
        ("Web.B:Queue Web.Z:Queue Web.T:Topic", "Web.A>Web.B"),
        ("Web.C:Queue Web.Z:Queue Web.T:Topic", "Web.B>Web.C"),
    ]);
    story.deploy_version(0, &[]);
    let a = story.number("us-east-1 Web.A");
    let fault = json!({"resources": [
        {"stack": "Web", "logical_id": "T", "message": "Out of luck"}]});
    let file = story.place.path().join(".cdkr/local/123456789012/us-east-1/faults.json");
    story.checkout(1);
    for more in [&[][..], &["--no-rollback"]] {
        fs::write(&file, fault.to_string()).unwrap();
        let error = story.refused(more, 1);
        assert!(error.contains("Out of luck"), "{error}");
        let here = if more.is_empty() { "us-east-1 Web.A" } else { "us-east-1 Web.B" };
        assert_eq!(story.number(here), a, "{error}");
        if more.is_empty() {
            let first = story.log.up_to(story.hash(0)).unwrap();
            assert_eq!(story.stored(HERE).unwrap(), first, "as if nothing had been");
        }
    }
    // What was moved and not taken back is known.
    let stored = story.stored(HERE).unwrap();
    let event = stored.event(head(&stored)).unwrap();
    assert_eq!(event.toward, Some(story.hash(1)));
    assert_eq!(event.what.refactors[0].moves.len(), 1);
}

#[test]
fn an_older_version_takes_the_names_back() {
    let story =
        Story::new(&[("Web.A:Queue Web.Z:Queue", ""), ("Web.B:Queue Web.Z:Queue", "Web.A>Web.B")]);
    story.deploy_version(0, &[]);
    let a = story.number("us-east-1 Web.A");
    for (version, place) in [(1, "Web.B"), (0, "Web.A"), (1, "Web.B")] {
        story.deploy_version(version, &[]);
        assert_eq!(story.number(&format!("us-east-1 {place}")), a);
    }
}

#[test]
fn a_stack_that_the_app_does_not_have_any_more_is_known_without_being_named() {
    let story = Story::new(&[
        ("Old.A:Queue Old.B:Queue", ""),
        ("New.A:Queue New.C:Queue", "Old.A>New.A Old.B>New.C"),
    ]);
    story.deploy_version(0, &[]);
    let (a, b) = (story.number("us-east-1 Old.A"), story.number("us-east-1 Old.B"));
    story.deploy_version(1, &[]);
    assert_eq!(story.number("us-east-1 New.A"), a);
    assert_eq!(story.number("us-east-1 New.C"), b);
    // The stack that is left is nobody's any more.
    assert!(story.deploy(&[]).contains("unchanged"));
    assert_eq!(story.stored(HERE).unwrap(), story.log);
}

#[test]
fn eight_pipelines_at_the_same_time_lose_no_event() {
    let stacks = |kind: &str| -> String {
        let of = |at| format!("Stack{at}.Q{kind}:Queue Stack{at}.Z:Queue");
        (0..9).map(of).collect::<Vec<_>>().join(" ")
    };
    let moves = (0..9).map(|at| format!("Stack{at}.Qa>Stack{at}.Qb"));
    let moves = moves.collect::<Vec<_>>().join(" ");
    let story = Story::new(&[(&stacks("a"), ""), (&stacks("b"), &moves)]);
    story.deploy_version(0, &[]);
    let of = |at: usize, id: &str| story.number(&format!("us-east-1 Stack{at}.{id}"));
    let before: Vec<_> = (0..9).map(|at| of(at, "Qa")).collect();
    story.checkout(1);
    let pipelines: Vec<_> = (0..8)
        .map(|at| {
            // Each has a directory of its own, and the account in common.
            let project = story.place.path().join(format!("pipeline{at}"));
            fs::create_dir(&project).unwrap();
            let log = "cdkr.history.jsonl";
            fs::copy(story.place.path().join(log), project.join(log)).unwrap();
            let name = format!("Stack{at}");
            let arguments = ["deploy", &name, "--require-approval", "never", "--app", "../app"];
            let mut command = story.place.command(&arguments);
            command.current_dir(project);
            command.env("CDKR_LOCAL", story.place.path().join(".cdkr/local"));
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for pipeline in pipelines {
        let output = pipeline.wait_with_output().unwrap();
        let said = text(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(!said.contains("does not say what was done"), "{said}");
    }
    let stored = story.stored(HERE).unwrap();
    let goal = story.log.snapshot(story.hash(1)).unwrap();
    let now = stored.snapshot(head(&stored)).unwrap();
    for (key, record) in goal.stacks().filter(|(key, _)| key.name.as_str() != "Stack8") {
        assert_eq!(now.stack(key), Some(record), "{key}");
    }
    story.deploy(&[]);
    assert_eq!((0..9).map(|at| of(at, "Qb")).collect::<Vec<_>>(), before);
    let stored = story.stored(HERE).unwrap();
    assert_eq!(stored.snapshot(head(&stored)), Some(goal));
    assert!(story.deploy(&[]).contains("unchanged"));
}

#[test]
fn without_the_history_nothing_is_read_and_nothing_written() {
    let story = Story::new(&[("Web.A:Queue=30", ""), ("Web.B:Queue=30", "Web.A>Web.B")]);
    story.checkout(0);
    story.deploy(&["--no-history"]);
    assert!(story.stored(HERE).is_none());
    fs::write(story.place.path().join("cdk.json"), r#"{"refactor": {"history": false}}"#).unwrap();
    let a = story.number("us-east-1 Web.A");
    story.deploy_version(1, &[]);
    assert!(story.stored(HERE).is_none());
    assert_eq!(story.number("us-east-1 Web.B"), a, "the evidence is enough here");
}

#[test]
fn a_log_of_an_environment_that_was_edited_stops_everything() {
    let story = Story::new(&[("Web.A:Queue", "")]);
    story.deploy_version(0, &[]);
    let bucket = story
        .place
        .path()
        .join(".cdkr/local/buckets/cdk-hnb659fds-assets-123456789012-us-east-1")
        .join(format!("cdkr%2Fhistory%2F{}.jsonl", story.hash(0)));
    let log = fs::read_to_string(&bucket).unwrap();
    fs::write(&bucket, log.replace("Queue", "Qeueu")).unwrap();
    let error = story.refused(&[], 1);
    assert!(error.contains("line 1, column"), "{error}");
    assert!(error.contains("was edited"), "{error}");
    assert!(
        error.contains("s3://cdk-hnb659fds-assets-123456789012-us-east-1/cdkr/history/"),
        "{error}"
    );
}

#[test]
fn a_bucket_that_nobody_names_leaves_the_state_of_the_stacks_to_say_where_they_stand() {
    let story = Story::new(&[
        ("Web.A:Queue Web.B:Queue", ""),
        ("Web.C:Queue Web.D:Queue", "Web.A>Web.D Web.B>Web.C"),
    ]);
    let legacy = |version| {
        story.checkout(version);
        let manifest = story.place.path().join("app/manifest.json");
        let text = fs::read_to_string(&manifest).unwrap();
        fs::write(&manifest, text.replace("stackTemplateAssetObjectUrl", "unknown")).unwrap();
    };
    legacy(0);
    story.deploy(&[]);
    let (a, b) = (story.number("us-east-1 Web.A"), story.number("us-east-1 Web.B"));
    legacy(1);
    let output = story.place.run(&deploy(&[]));
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("there is no log of this environment, since the assembly names"),
        "{said}"
    );
    assert!(story.stored(HERE).is_none());
    assert_eq!((story.number("us-east-1 Web.D"), story.number("us-east-1 Web.C")), (a, b));
}

/// The moves between two assemblies, by environment.
fn moves(place: &Place, before: &str, after: &str, more: &[&str]) -> Vec<Refactor> {
    let arguments = ["refactor", "--dry-run", "--app", after, "--against", before];
    let found = place.json(&[&arguments[..], &["--output", "json"], more].concat());
    let end = |end: &serde_json::Value| {
        let location =
            format!("{}.{}", end["stack"].as_str().unwrap(), end["logicalId"].as_str().unwrap());
        location.parse().unwrap()
    };
    let environments = found["environments"].as_array().unwrap().iter();
    let refactors = environments.map(|one| {
        let known = |key: &str| {
            let text = one[key].as_str().unwrap();
            (!text.starts_with("unknown-")).then(|| text.to_owned())
        };
        let moves = one["mappings"].as_array().unwrap().iter().map(|mapping| Move {
            source: end(&mapping["source"]),
            destination: end(&mapping["destination"]),
            decided: Decided::Detected("a test".to_owned()),
        });
        let scope = Scope { account: known("account"), region: known("region") };
        Refactor { scope, parent: None, moves: moves.collect() }
    });
    refactors.filter(|one| !one.moves.is_empty()).collect()
}

#[test]
fn every_app_of_the_fixtures_follows_its_history_and_is_as_it_says() {
    let apps = fs::read_dir(format!("{}/fixtures/apps", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut apps: Vec<String> =
        apps.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()).collect();
    apps.sort();
    for name in apps.iter().filter(|name| *name != "replaced" && *name != "stack-rename") {
        let place = Place::new();
        let (before, after) = (app(name, "before"), app(name, "after"));
        let decided: &[&str] = match name.as_str() {
            "twins" => &["--map", "Shop/Orders/Queue:Shop/Purchases/Queue"],
            _ => &[],
        };
        let state = |directory: &str| {
            let assembly = load(directory.as_ref(), &LoadOptions::default()).unwrap();
            snapshot_of(&assembly.stacks)
        };
        let mut log = Log::default();
        let refactors = moves(&place, &before, &after, decided);
        for (side, refactors) in [(&before, Vec::new()), (&after, refactors)] {
            log.record(side, &state(side), refactors).unwrap();
            fs::write(place.path().join("cdkr.history.jsonl"), log.render()).unwrap();
            let fixed = ["deploy", "--all", "--local", "--require-approval", "never"];
            let more = ["--app", side, "--keep-names", "--ignore-ambiguous-refactoring"];
            let losses = match name.as_str() {
                "commerce" => "AWS::*",
                "embrace" => "Data/Files/**",
                _ => "Shop/Orders/Changes/**",
            };
            let losing = ["--allow-replacement", losses];
            let output = place.run(&[&fixed[..], &more, &losing].concat());
            let said = text(&output.stderr);
            assert!(output.status.success(), "{name}: {said}");
            assert!(!said.contains("does not say what was done"), "{name}: {said}");
            let again = place.run(&[&fixed[..], &more].concat());
            let said = text(&again.stderr);
            assert!(again.status.success(), "{name}: {said}");
            for part in ["its log", "no log", "history"] {
                assert!(!said.contains(part), "{name}: {said}");
            }
            assert!(!text(&again.stdout).contains("updated"), "{name}: {}", text(&again.stdout));
        }
    }
}
