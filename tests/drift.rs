//! What somebody changes without CloudFormation is found, by the program itself: by `drift`, and
//! after moves by `refactor --verify`.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;

use std::fs;
use std::path::Path;

use program::{Place, app, text};
use serde_json::{Value as Json, json};

/// A stack with what can be read, what cannot, and secrets.
fn shop() -> Json {
    json!({
        "Parameters": {"Password": {"Type": "String", "NoEcho": true}},
        "Resources": {
            "Jobs": {"Type": "AWS::SQS::Queue", "Properties": {
                "VisibilityTimeout": 30, "Tags": [{"Key": "team", "Value": "shop"}]}},
            "Failed": {"Type": "AWS::SQS::Queue", "Properties": {
                "RedriveAllowPolicy": {"sourceQueueArns": [{"Fn::GetAtt": ["Jobs", "Arn"]}]}}},
            "Role": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {}}},
            "Worker": {"Type": "AWS::Lambda::Function", "Properties": {
                "Code": {"S3Bucket": "code", "S3Key": "worker"},
                "MemorySize": 128,
                "Role": {"Fn::GetAtt": ["Role", "Arn"]},
                "Environment": {"Variables": {
                    "QUEUE": {"Ref": "Jobs"},
                    "TOKEN": "{{resolve:secretsmanager:token:SecretString}}",
                    "PASSWORD": {"Ref": "Password"}}}}},
            "Nightly": {"Type": "AWS::Events::Rule", "Properties": {
                "Name": "nightly", "ScheduleExpression": "rate(1 day)"}},
            "Policy": {"Type": "AWS::IAM::Policy", "Properties": {
                "PolicyName": "p", "PolicyDocument": {}, "Roles": [{"Ref": "Role"}]}},
            "Custom": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "arn"}},
        }
    })
}

/// Writes an assembly of stacks, all in one environment.
fn assembly(directory: &Path, stacks: &[(&str, Json, Json)]) {
    fs::create_dir_all(directory).unwrap();
    let mut artifacts = json!({});
    for (name, template, properties) in stacks {
        let file = format!("{name}.template.json");
        fs::write(directory.join(&file), template.to_string()).unwrap();
        let mut all = properties.clone();
        all["templateFile"] = file.into();
        artifacts[name] = json!({"type": "aws:cloudformation:stack",
            "environment": "aws://111111111111/us-east-1", "properties": all});
    }
    let manifest = json!({"version": "38.0.0", "artifacts": artifacts});
    fs::write(directory.join("manifest.json"), manifest.to_string()).unwrap();
}

fn seeded() -> Place {
    let place = Place::new();
    let tags = json!({"parameters": {"Password": "hunter2"}, "tags": {"owner": "me"}});
    assembly(&place.path().join("cdk.out"), &[("Shop", shop(), tags)]);
    place.seed("cdk.out");
    place
}

const DRIFT: [&str; 4] = ["drift", "--local", "--app", "cdk.out"];

/// Compares a text with the one that is kept, but for what is made up.
macro_rules! snapshot {
    ($name:literal, $text:expr) => {
        insta::with_settings!({filters => vec![("-[A-Z0-9]{12}\\b", "-RANDOM")]}, {
            insta::assert_snapshot!($name, $text);
        });
    };
}

fn drift(more: &[&'static str]) -> Vec<&'static str> {
    [&DRIFT[..], more].concat()
}

#[test]
fn what_was_just_deployed_is_in_sync() {
    let place = seeded();
    snapshot!("in-sync", place.out(&drift(&["--verbose"])));
    assert_eq!(place.run(&drift(&["--check"])).status.code(), Some(0));
}

#[test]
fn no_app_of_the_fixtures_has_drifted_when_it_is_deployed() {
    let apps = fs::read_dir(format!("{}/fixtures/apps", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (mut in_sync, mut all) = (0, 0);
    for name in apps.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()) {
        let place = Place::new();
        let before = app(&name, "before");
        place.seed(&before);
        let found = place.json(&["drift", "--local", "--app", &before, "--output", "json"]);
        for environment in found["environments"].as_array().unwrap() {
            let number = |key: &str| environment["summary"][key].as_u64().unwrap();
            for resource in environment["resources"].as_array().unwrap() {
                let status = resource["status"].as_str().unwrap();
                assert!(["inSync", "unverified"].contains(&status), "{name}: {resource}");
            }
            (in_sync, all) = (in_sync + number("inSync"), all + number("resources"));
        }
    }
    // Most of them can be read: policies and custom resources cannot.
    assert!(in_sync * 10 > all * 7, "{in_sync} of {all}");
}

#[test]
fn what_somebody_changes_is_shown_with_what_would_put_it_right() {
    let place = seeded();
    place.out(&["local", "drift", "Shop.Jobs", "--set", "VisibilityTimeout=45"]);
    fs::write(
        place.path().join("patch.json"),
        r#"[{"op": "add", "path": "/Tags/-", "value": {"Key": "by", "Value": "hand"}}]"#,
    )
    .unwrap();
    place.out(&["local", "drift", "Shop.Jobs", "patch.json"]);
    place.out(&["local", "drift", "Shop.Nightly", "--delete"]);
    place.out(&["local", "drift", "Shop.Failed", "--delete"]);
    place.out(&["local", "drift", "Shop.Worker", "--set", "PackageType=Image"]);
    snapshot!("drifted", place.out(&DRIFT));
    snapshot!("drifted-markdown", place.out(&drift(&["--output", "markdown"])));
    snapshot!("drifted-json", place.out(&drift(&["--output", "json"])));
    assert_eq!(place.run(&drift(&["--check"])).status.code(), Some(4));
    // The state of its stack is as it was.
    assert_eq!(place.run(&["refactor", "--local", "--app", "cdk.out"]).status.code(), Some(0));
}

#[test]
fn secrets_are_neither_compared_nor_shown() {
    let place = seeded();
    let variable = "Environment.Variables.PASSWORD=changed-by-hand";
    place.out(&["local", "drift", "Shop.Worker", "--set", variable]);
    for form in [&["--verbose"][..], &["--output", "json"]] {
        let arguments = drift(&[]);
        let arguments = [&arguments[..], form].concat();
        let said = place.out(&arguments);
        for secret in ["hunter2", "changed-by-hand", "value-", "{{resolve"] {
            assert!(!said.contains(secret), "{secret}: {said}");
        }
    }
    assert_eq!(place.run(&drift(&["--check"])).status.code(), Some(0));
    // What is beside a secret is not shown either.
    place.out(&["local", "drift", "Shop.Worker", "--set", "Environment=nothing"]);
    let said = place.out(&DRIFT);
    assert!(said.contains("hidden, since it holds a secret"), "{said}");
    assert!(!said.contains("hunter2") && !said.contains("resolve"), "{said}");
}

#[test]
fn stacks_are_named_without_an_app_and_resources_by_patterns() {
    let place = seeded();
    place.out(&["local", "drift", "Shop.Jobs", "--set", "VisibilityTimeout=45"]);
    // The stack is in another account than that of the credentials.
    let none = place.err(&["drift", "Shop", "--local"], 1);
    assert!(none.contains("there is no stack `Shop` in aws://123456789012/us-east-1"), "{none}");
    let nobody = place.err(&["drift", "--local"], 2);
    assert!(nobody.contains("no app"), "{nobody}");
    for (pattern, number) in [("Shop.Jobs", 1), ("Shop.*o*", 5), ("*.Failed", 1)] {
        let found = place.json(&drift(&["--output", "json", "--resource", pattern]));
        assert_eq!(found["environments"][0]["summary"]["resources"], number, "{pattern}");
    }
    let idle = place.err(&drift(&["--resource", "Shop.Nothing"]), 1);
    assert!(idle.contains("`--resource Shop.Nothing`: no such resource"), "{idle}");
    let agnostic = Place::new();
    let queue = json!({"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {}}}});
    assembly(&agnostic.path().join("app"), &[("Plain", queue, json!({}))]);
    let manifest = agnostic.path().join("app/manifest.json");
    let open = fs::read_to_string(&manifest).unwrap();
    let open = open.replace("111111111111/us-east-1", "unknown-account/unknown-region");
    fs::write(&manifest, open).unwrap();
    agnostic.seed("app");
    let said = agnostic.out(&["drift", "Plain", "--local"]);
    assert!(said.contains("1 resource: 1 in sync"), "{said}");
}

#[test]
fn what_is_to_be_changed_behind_the_back_has_to_be_there() {
    let place = seeded();
    for (arguments, expected) in [
        (&["Shop.None", "--delete"][..], "`Shop.None` is no resource of a stack"),
        (&["Shop", "--delete"], "`Shop` is no resource of a stack"),
        (&["Other.Jobs", "--delete"], "there is no stack `Other`"),
        (&["Shop.Jobs", "--set", "x"], "`--set x` is not of the form `Path=Value`"),
        (&["Shop.Jobs", "--set", "A.B=1"], "ValidationError"),
        (&["Shop.Jobs", "none.json"], "cannot read `none.json`"),
    ] {
        let said = place.err(&[&["local", "drift"][..], arguments].concat(), 1);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    assert_eq!(place.run(&["local", "drift", "Shop.Jobs"]).status.code(), Some(2));
}

/// The environment's file of faults.
fn arm(place: &Place, faults: &Json) {
    let file = place.path().join(".cdkr/local/111111111111/us-east-1/faults.json");
    fs::write(file, faults.to_string()).unwrap();
}

/// A queue and a topic that move to another stack, and get other names.
fn moving() -> Place {
    let place = Place::new();
    let queue = json!({"Type": "AWS::SQS::Queue", "Properties": {
        "VisibilityTimeout": 30, "DelaySeconds": 1, "Tags": [{"Key": "team", "Value": "shop"}]}});
    let topic = json!({"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": "news"}});
    let stay = json!({"Type": "AWS::S3::Bucket", "Properties": {}});
    let tagged = |owner: &str| json!({"tags": {"owner": owner}});
    let before = json!({"Resources": {"Queue": queue, "Topic": topic, "Stay": stay}});
    assembly(
        &place.path().join("before"),
        &[
            ("Old", before, tagged("old")),
            ("New", json!({"Resources": {"Other": stay}}), tagged("new")),
        ],
    );
    let after = json!({"Resources": {"Jobs": queue, "News": topic, "Other": stay}});
    assembly(
        &place.path().join("cdk.out"),
        &[
            ("Old", json!({"Resources": {"Stay": stay}}), tagged("old")),
            ("New", after, tagged("new")),
        ],
    );
    place.seed("before");
    place
}

const REFACTOR: [&str; 6] = ["refactor", "--local", "--yes", "--verify", "--app", "cdk.out"];

#[test]
fn a_move_is_verified_to_change_nothing() {
    let place = moving();
    let said = place.out(&[&REFACTOR[..], &["--verbose"]].concat());
    let verified = &said[said.find("verified").unwrap()..];
    snapshot!("verified", verified);
    // The resources are under their new names now, and drift knows them.
    let found = place.json(&drift(&["--output", "json"]));
    assert_eq!(found["environments"][0]["summary"]["inSync"], 4);
}

#[test]
fn a_resource_that_is_another_after_a_move_is_an_error_that_says_what_changed() {
    let place = moving();
    arm(&place, &json!({"refactors": [{"Alters": {"property": "DisplayName", "value": "other"}}]}));
    let output = place.run(&REFACTOR);
    assert_eq!(output.status.code(), Some(1));
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    snapshot!("altered", &out[out.find("verified").unwrap()..]);
    assert!(err.contains("2 resources are not what they were before they were moved"), "{err}");
    assert!(err.contains("`cdkr revert` moves it back"), "{err}");
    place.out(&["revert", "--local", "--yes"]);
    let back = place.resources();
    assert!(back.contains_key("us-east-1 Old.Queue") && back.contains_key("us-east-1 Old.Topic"));
}

#[test]
fn programs_are_told_what_was_verified() {
    let place = moving();
    let said = place.out(&[&REFACTOR[..], &["--output", "json"]].concat());
    let line = said.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    let verified = line.filter(|line| line["event"] == "verified").collect::<Vec<_>>();
    assert_eq!(verified.len(), 1);
    let moves = verified[0]["moves"].as_array().unwrap();
    assert_eq!(moves.len(), 2);
    assert!(moves.iter().all(|one| one["status"] == "inSync"), "{moves:?}");
}

const DEPLOY: [&str; 9] = [
    "deploy",
    "--all",
    "--local",
    "--yes",
    "--ci",
    "--refactoring",
    "EXECUTE_AND_DEPLOY",
    "--verify",
    "--app",
];

#[test]
fn a_deployment_goes_on_when_what_it_has_moved_is_what_it_was() {
    let place = moving();
    let output = place.run(&[&DEPLOY[..], &["cdk.out"]].concat());
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("verified: 2 moved resources are what they were"), "{said}");
}

#[test]
fn a_deployment_moves_back_what_is_not_what_it_was() {
    let place = moving();
    let before = place.resources();
    arm(&place, &json!({"refactors": [{"Alters": {"property": "DisplayName", "value": "other"}}]}));
    let said = place.err(&[&DEPLOY[..], &["cdk.out"]].concat(), 1);
    for expected in [
        "resources are not what they were before they were moved",
        r#"~  /DisplayName  was "news", is "other""#,
        "2 moves were taken back",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert_eq!(place.resources(), before);
}
