//! The schemas that the program prints say what it takes, and what it gives.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "schemas/assemblies.rs"]
mod assemblies;
mod program;
#[path = "schemas/released.rs"]
mod released;
#[path = "schemas/runs.rs"]
mod runs;
#[path = "schemas/validate.rs"]
mod validate;

use cdkr::analyze::model::{Certainty, ComponentKind, PropertyChange};
use cdkr::analyze::{
    Action, ChangeEffect, ChangePlace, ChangeReport, ComponentChange, EnvironmentReport,
    PermissionChange, PermissionKind, PropertyReport, Risk, StackFate, StackReport,
};
use cdkr::aspects::Declarations;
use cdkr::history::{
    Decided, Event, Log, Move, Refactor, ResourceRecord, StackKey, StackRecord, StackUpdate, What,
};
use cdkr::model::{Environment, Location, Value};
use cdkr::report::changes_json;
use cdkr::settings::{Scope, Settings, Surroundings, Typed};
use program::{Place, app};
use serde_json::{Value as Json, json};
use validate::{Properties, problems};

const NAMES: [&str; 16] = [
    "override-file",
    "refactor-file",
    "skip-file",
    "cdk-json",
    "comparison",
    "history",
    "diff",
    "history-answer",
    "events",
    "local",
    "plan",
    "journal",
    "manifest",
    "assets",
    "tree",
    "drift",
];

fn schema(name: &str) -> Json {
    serde_json::from_str(&Place::new().out(&["schema", name])).unwrap()
}

#[test]
fn every_schema_is_listed_and_printed() {
    let list = Place::new().out(&["schema"]);
    let listed: Vec<&str> = list.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(listed, NAMES);
    for name in NAMES {
        let schema = schema(name);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert!(schema["title"].is_string() && schema["description"].is_string(), "{name}");
        validate::check(&schema);
    }
    insta::assert_snapshot!(list);
}

/// Whether the program takes a file, and what it says.
fn read(file: &str, text: &str, set: impl FnOnce(&mut Typed)) -> Result<(), String> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(file), text).unwrap();
    let mut typed =
        Typed { app: Some("app".into()), against: Some("before".into()), ..Typed::default() };
    set(&mut typed);
    let surroundings =
        Surroundings { directory: directory.path().to_owned(), ..Surroundings::default() };
    Settings::resolve(&typed, &surroundings).map(drop).map_err(|error| error.to_string())
}

#[track_caller]
fn agree(schema: &Json, text: &str, is_good: bool, read: &Result<(), String>) {
    let value: Json = serde_json::from_str(text).unwrap();
    let found = problems(schema, &value, Properties::AsSaid);
    assert_eq!(found.is_empty(), is_good, "the schema of {text}: {found:?}");
    assert_eq!(read.is_ok(), is_good, "the program with {text}: {read:?}");
}

#[test]
fn a_file_of_decisions_is_taken_as_the_schema_says() {
    let good = [
        r#"{"environments": []}"#,
        r#"{"$schema": "x", "mappings": {}}"#,
        r#"{"mappings": {"A.X": "B.Y", "A/B": "C/D", "A/B/**": "C/D/**", "A.*": null}}"#,
        r#"{"mappings": [{"source": "A.X", "destination": "B.Y"}, {"source": "A.X", "destination": null}]}"#,
        r#"{"environments": [{"account": "1", "region": "r", "resources": {"A.X": "B.Y"}}]}"#,
        r#"{"environments": [{"resources": {"A/Nested.X": "B/a.b/c"}}]}"#,
    ];
    let bad = [
        "[]",
        "{}",
        r#"{"environments": {}}"#,
        r#"{"environments": [], "mappings": {}}"#,
        r#"{"environment": []}"#,
        r#"{"environments": [{}]}"#,
        r#"{"environments": [{"resources": {}, "source": "A.X"}]}"#,
        r#"{"environments": [{"source": "A.X"}]}"#,
        r#"{"environments": [{"resources": {}, "regions": "r"}]}"#,
        r#"{"environments": [{"account": 1, "resources": {}}]}"#,
        r#"{"mappings": {"A.X": 3}}"#,
        r#"{"mappings": {"A.X": "B"}}"#,
        r#"{"mappings": {"A": "B.Y"}}"#,
        r#"{"mappings": {"A//X": "B/Y"}}"#,
        r#"{"mappings": "A.X:B.Y"}"#,
    ];
    for name in ["override-file", "refactor-file"] {
        let schema = schema(name);
        let each = good.iter().map(|text| (text, true)).chain(bad.iter().map(|text| (text, false)));
        for (text, is_good) in each {
            let read = read("f.json", text, |typed| match name {
                "override-file" => typed.override_file = Some("f.json".into()),
                _ => typed.refactor_file = Some("f.json".into()),
            });
            agree(&schema, text, is_good, &read);
        }
    }
}

#[test]
fn a_skip_file_is_taken_as_the_schema_says() {
    let schema = schema("skip-file");
    for (text, is_good) in [
        ("[]", true),
        (
            r#"["A.X", "A/B", "AWS::S3::Bucket", "Custom::Thing", "A/**", "AWS::S3::*", "A.*"]"#,
            true,
        ),
        (r#"{"skip": []}"#, false),
        ("[3]", false),
        (r#"["Queue"]"#, false),
        (r#"["AWS::"]"#, false),
    ] {
        let read = read("s.json", text, |typed| typed.skip_file = Some("s.json".into()));
        agree(&schema, text, is_good, &read);
    }
}

#[test]
fn cdk_json_is_taken_as_the_schema_says() {
    let schema = schema("cdk-json");
    let example = include_str!("../cdk.json.example");
    for (text, is_good) in [
        (example, true),
        (r#"{"watch": {}, "refactoring": "QUIT", "requireApproval": "any-change"}"#, true),
        (r#"{"tags": [{"Key": "a", "Value": "b"}]}"#, true),
        (r#"{"app": 3}"#, false),
        (r#"{"refactoring": "MAYBE"}"#, false),
        (r#"{"requireApproval": "sometimes"}"#, false),
        (r#"{"tags": [{"key": "a"}]}"#, false),
        (r#"{"overrideFile": []}"#, false),
        (r#"{"skipFile": 3}"#, false),
        (r#"{"keepNames": "no"}"#, false),
        (r#"{"notificationArns": "arn"}"#, false),
    ] {
        agree(&schema, text, is_good, &read("cdk.json", text, |_| ()));
    }
    let known = schema["properties"].as_object().unwrap();
    let example: Json = serde_json::from_str(example).unwrap();
    for key in example.as_object().unwrap().keys() {
        assert!(known.contains_key(key), "{key}");
    }
}

#[test]
fn aspects_are_taken_as_the_schema_says() {
    let schema = schema("cdk-json");
    let team = format!("{}/fixtures/aspects/cdk.json", env!("CARGO_MANIFEST_DIR"));
    let team: Json = serde_json::from_str(&std::fs::read_to_string(team).unwrap()).unwrap();
    let aspect = |more: &str| format!(r#"{{"aspects":[{{"id":"a",{more}}}]}}"#);
    for (refactor, is_good) in [
        (team["refactor"].to_string(), true),
        (r#"{"use": "builtin:asset-locations", "other": 1}"#.to_owned(), true),
        (r#"{"overrides": {"builtin:depends-on-order": {"enabled": false}}}"#.to_owned(), true),
        (r#"{"overrides": {"builtin:asset-locations": {"enable": false}}}"#.to_owned(), false),
        (r#"{"aspects": [{"do": [{"json": "A"}]}]}"#.to_owned(), false),
        (r#"{"aspects": {}}"#.to_owned(), false),
        (
            aspect(
                r#""do": [{"ignore": "A", "where": {"B": 1}}, {"sort": "/Properties/C", "by": "D"}]"#,
            ),
            true,
        ),
        (
            aspect(r#""do": [{"stripPrefix": "A", "prefix": "b"}, {"replace": "A", "with": 3}]"#),
            true,
        ),
        (aspect(r#""do": [{"assets": ["hashes", "metadata"]}, {"ignoreTags": "a"}]"#), true),
        (aspect(r#""do": [{"stripPrefix": "A"}]"#), false),
        (aspect(r#""do": [{"ignored": "A"}]"#), false),
        (aspect(r#""do": [{"assets": "hash"}]"#), false),
        (aspect(r#""kind": "reading", "do": []"#), false),
        (aspect(r#""priority": -1, "do": [{"json": "A"}]"#), false),
        (aspect(r#""match": {"types": "A"}, "do": [{"json": "A"}]"#), false),
        (aspect(r#""forbid": {"operation": ["move", "replace"], "outOf": "A"}"#), true),
        (aspect(r#""forbid": {"operation": "delete"}"#), false),
        (aspect(r#""require": {"/DeletionPolicy": "Retain", "decision": true}"#), true),
        (aspect(r#""require": {"/DeletionPolicy": "Keep"}"#), false),
        (
            aspect(r#""limit": {"moves": 3}, "level": "info", "scope": "P", "crossStages": true"#),
            true,
        ),
        (aspect(r#""limit": {}"#), false),
        (aspect(r#""limit": {"moves": 3}, "level": "severe""#), false),
    ] {
        let value = cdkr::template::json::parse(&refactor).unwrap();
        let read = Declarations::parse(&value, &|_| Err("no file".to_owned()));
        let read = read.map(drop).map_err(|errors| errors.to_string());
        agree(&schema, &format!(r#"{{"refactor":{refactor}}}"#), is_good, &read);
    }
}

#[test]
fn every_answer_is_as_the_schema_says() {
    let schema = schema("comparison");
    let apps = std::fs::read_dir(format!("{}/fixtures/apps", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let place = Place::new();
    for entry in apps {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let (after, before) = (app(&name, "after"), app(&name, "before"));
        for more in [&[][..], &["--explain"]] {
            let arguments = [
                "refactor",
                "--dry-run",
                "--app",
                &after,
                "--against",
                &before,
                "--output",
                "json",
            ];
            let answer = place.json(&[&arguments, more].concat());
            let found = problems(&schema, &answer, Properties::All);
            assert!(found.is_empty(), "{name}: {found:#?}");
        }
    }
    let place = Place::new();
    let team = format!("{}/fixtures/aspects", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::read_to_string(format!("{team}/cdk.json")).unwrap();
    let mut file: Json = serde_json::from_str(&file).unwrap();
    file["refactor"]["overrides"] = json!({"buckets-stay": {"level": "warning"}});
    std::fs::write(place.path().join("cdk.json"), file.to_string()).unwrap();
    let (after, before) = (format!("{team}/after"), format!("{team}/before"));
    let arguments = ["refactor", "--dry-run", "--app", &after, "--against", &before];
    let answer = place.json(&[&arguments[..], &["--output", "json", "--explain"]].concat());
    assert!(!answer["environments"][0]["aspects"]["violations"].as_array().unwrap().is_empty());
    assert_eq!(problems(&schema, &answer, Properties::All), Vec::<String>::new());
    let place = Place::new();
    place.seed(&app("rfc-0162", "before"));
    let after = app("rfc-0162", "after");
    let local = ["refactor", "--local", "--app", &after, "--additional-stack-name", "MyStack"];
    let answer = place.json(&[&local[..], &["--dry-run", "--output", "json"]].concat());
    assert!(
        answer["environments"][0]["plan"]["steps"].as_array().is_some_and(|all| !all.is_empty())
    );
    assert_eq!(problems(&schema, &answer, Properties::All), Vec::<String>::new());
    let lines = place.out(&[&local[..], &["--yes", "--output", "json"]].concat());
    let first: Json = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(problems(&schema, &first, Properties::All), Vec::<String>::new());
}

#[test]
fn what_has_drifted_is_as_the_schema_says() {
    let schema = schema("drift");
    let place = Place::new();
    let before = app("twins", "before");
    place.seed(&before);
    let drift = ["drift", "--local", "--app", &before, "--output", "json"];
    let answer = place.json(&drift);
    assert_eq!(problems(&schema, &answer, Properties::All), Vec::<String>::new());
    let resources = answer["environments"][0]["resources"].as_array().unwrap();
    let readable = resources.iter().filter(|one| one["status"] == "inSync");
    let places: Vec<String> = readable
        .map(|one| {
            let text = |key: &str| one[key].as_str().unwrap();
            format!("{}.{}", text("stack"), text("logicalId"))
        })
        .collect();
    place.out(&["local", "drift", &places[0], "--delete"]);
    for place_of in &places[1..] {
        place.out(&["local", "drift", place_of, "--set", "Tags=[{\"Key\": \"k\"}]"]);
        let set = ["Description", "RedrivePolicy", "BatchSize", "ManagedPolicyArns"];
        for name in set {
            place.out(&["local", "drift", place_of, "--set", &format!("{name}=by hand")]);
        }
    }
    let answer = place.json(&drift);
    assert_eq!(answer["environments"][0]["summary"]["deleted"], 1);
    assert_ne!(answer["environments"][0]["summary"]["drifted"], 0);
    assert_eq!(problems(&schema, &answer, Properties::All), Vec::<String>::new());
}

#[test]
fn every_line_of_a_history_is_as_the_schema_says() {
    let schema = schema("history");
    let mut log = Log::default();
    let key = |name: &str| StackKey {
        name: name.into(),
        scope: Scope { account: Some("1".into()), region: Some("r".into()) },
    };
    let record = |id: &str, path: Option<&str>| {
        let path = path.map(Into::into);
        (id.into(), ResourceRecord { resource_type: "AWS::SQS::Queue".into(), path })
    };
    let resources = ["X", "Y", "Z"].map(|id| record(id, Some("A/X/Resource")));
    let stack = StackRecord { template: "t1".into(), resources: resources.into() };
    let creates = [(key("A"), stack.clone()), (key("B"), stack)];
    let what = What { creates: creates.into(), ..What::default() };
    let event =
        |parents, what| Event { parents, at: "now".into(), same_as: None, toward: None, what };
    let first = log.append(event(Vec::new(), what)).unwrap();
    let moved = |source, destination, decided| Move {
        source: Location::new("A", source),
        destination: Location::new("A", destination),
        decided,
    };
    let update = StackUpdate {
        template: "t2".into(),
        resources: ["V", "W", "U"].map(|id| record(id, None)).into(),
        removed: ["X", "Y", "Z"].map(Into::into).into(),
    };
    let what = What {
        updates: [(key("A"), update)].into(),
        deletes: [key("B")].into(),
        refactors: vec![Refactor {
            scope: key("A").scope,
            parent: None,
            moves: vec![
                moved("X", "V", Decided::Detected("digest".into())),
                moved("Y", "W", Decided::Stated("--map".into())),
                moved("Z", "U", Decided::Recorded),
            ],
        }],
        ..What::default()
    };
    log.append(event(vec![first], what)).unwrap();
    for line in log.render().lines() {
        let mut line: Json = serde_json::from_str(line).unwrap();
        assert_eq!(problems(&schema, &line, Properties::All), Vec::<String>::new(), "{line:#}");
        // As the log of an environment has it.
        line["toward"] = line["hash"].clone();
        assert_eq!(problems(&schema, &line, Properties::All), Vec::<String>::new(), "{line:#}");
    }
    let other = json!({"version": 1, "parents": [], "at": "", "what": {}, "hash": "no"});
    assert!(!problems(&schema, &other, Properties::AsSaid).is_empty());
}

/// A change of which everything is known.
fn change(kind: ComponentKind, effect: ChangeEffect, risk: Risk) -> ComponentChange {
    let place = |id: &str| {
        Some(ChangePlace {
            stack: "A".into(),
            logical_id: id.into(),
            path: Some(format!("A/{id}").into()),
        })
    };
    let property = |change, replaces| PropertyReport {
        change,
        old_path: Some("Properties.Old".into()),
        new_path: Some("Properties.New".into()),
        old: Some(Value::Null),
        new: Some(Value::from("x")),
        name_only: true,
        replaces,
        cause: Some("`A.Y` is replaced".into()),
        risk,
        broadens_permissions: false,
    };
    ComponentChange {
        kind,
        subtype: Some("AWS::SQS::Queue".into()),
        before: place("X"),
        after: place("Y"),
        physical_id: Some("queue".into()),
        effect,
        certainty: Certainty::Possible,
        evidence: Some("equal content".into()),
        risk,
        rule: Some("a rule".into()),
        action: Some(Action::Reject),
        danger: Some("It is lost.".into()),
        causes: vec!["`A.Y` is replaced".into()],
        properties: vec![
            property(PropertyChange::Insert, None),
            property(PropertyChange::Remove, None),
            property(PropertyChange::Update, Some(Certainty::Certain)),
            property(PropertyChange::Move, Some(Certainty::Possible)),
        ],
    }
}

/// Everything that can happen, and next to it a change of which as little is known as can be.
fn everything() -> ChangeReport {
    use ChangeEffect as E;
    use PermissionKind as P;
    let kinds = ComponentKind::NAMES.map(|(_, kind)| change(kind, E::Update, Risk::Low));
    let effects = [E::Nothing, E::TemplateOnly, E::Add, E::Replace, E::Retain, E::Remove];
    let effects = effects.map(|effect| change(ComponentKind::Resource, effect, Risk::High));
    let little = ComponentChange {
        subtype: None,
        before: None,
        after: None,
        physical_id: None,
        evidence: None,
        rule: None,
        danger: None,
        causes: Vec::new(),
        properties: vec![PropertyReport {
            old_path: None,
            new_path: None,
            old: None,
            new: None,
            cause: None,
            ..effects[0].properties[0].clone()
        }],
        ..change(ComponentKind::Output, E::Add, Risk::Unknown)
    };
    let actions = [None, Some(Action::Approve), Some(Action::None)];
    let actions = actions.map(|action| ComponentChange { action, ..little.clone() });
    let permission = |kind| PermissionChange {
        stack: "A".into(),
        logical_id: "X".into(),
        resource_type: "AWS::IAM::Role".into(),
        kind,
        added: kind == PermissionKind::Statement,
        broadens: true,
        text: vec!["a".into(), "b".into()],
    };
    let permissions = [
        P::Statement,
        P::ManagedPolicy,
        P::PermissionsBoundary,
        P::Membership,
        P::Assignment,
        P::SecurityGroupRule,
        P::PublicAccess,
    ];
    let stack = |fate| StackReport { name: "A".into(), fate, resources: (1, 2) };
    let place = change(ComponentKind::Resource, E::Nothing, Risk::Low).before.unwrap();
    let bare = ChangePlace { path: None, ..place.clone() };
    let environment = EnvironmentReport {
        environment: Environment::new("111111111111", "eu-west-1"),
        stacks: [StackFate::New, StackFate::Kept, StackFate::Left, StackFate::Removed]
            .map(stack)
            .into(),
        changes: kinds.into_iter().chain(effects).chain(actions).collect(),
        unchanged: vec![("AWS::SQS::Queue".into(), place), ("AWS::SQS::Queue".into(), bare)],
        permissions: permissions.map(permission).into(),
    };
    let quiet = EnvironmentReport {
        environment: Environment::new("222222222222", "eu-west-1"),
        stacks: Vec::new(),
        changes: Vec::new(),
        unchanged: Vec::new(),
        permissions: Vec::new(),
    };
    ChangeReport { environments: vec![environment, quiet], ..ChangeReport::default() }
}

#[test]
fn every_report_of_changes_is_as_the_schema_says() {
    let schema = schema("diff");
    let answer: Json = serde_json::from_str(&changes_json(&everything())).unwrap();
    assert_eq!(problems(&schema, &answer, Properties::All), Vec::<String>::new());
    for (pointer, wrong) in [
        ("/version", json!(2)),
        ("/environments/0/changes/0/effect", json!("explode")),
        ("/environments/0/changes/0/risk", json!(3)),
        ("/environments/0/changes/0/before/logicalId", json!(null)),
        ("/environments/0/changes/0/properties/0/replaces", json!(true)),
        ("/environments/0/stacks/0/before", json!(-1)),
    ] {
        let mut other = answer.clone();
        *other.pointer_mut(pointer).unwrap() = wrong;
        assert!(!problems(&schema, &other, Properties::AsSaid).is_empty(), "{pointer}");
    }
}
