//! What goes wrong when others carry out a refactor, case by case, with what has to happen here.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;

use std::collections::BTreeMap;
use std::path::Path;

use cdkr::local::{Cloud, CreateStack, ResourceFault, TemplateSource, UpdateStack};
use cdkr::model::Environment;
use program::{Place, text};
use serde_json::{Value as Json, json};

/// Writes a cloud assembly of stacks in `eu-west-1`, or in the region before a `/` in the name.
fn assembly(place: &Place, side: &str, stacks: &[(&str, Json)]) -> String {
    let directory = place.path().join(side);
    std::fs::create_dir_all(&directory).unwrap();
    let mut artifacts = serde_json::Map::new();
    for (name, template) in stacks {
        let (region, name) = name.split_once('/').unwrap_or(("eu-west-1", name));
        let file = format!("{name}.template.json");
        std::fs::write(directory.join(&file), template.to_string()).unwrap();
        let artifact = json!({
            "type": "aws:cloudformation:stack",
            "environment": format!("aws://111111111111/{region}"),
            "properties": {"templateFile": file},
        });
        artifacts.insert(name.to_owned(), artifact);
    }
    let manifest = json!({"version": "36.0.0", "artifacts": artifacts});
    std::fs::write(directory.join("manifest.json"), manifest.to_string()).unwrap();
    directory.to_str().unwrap().to_owned()
}

fn queue(name: &str) -> Json {
    json!({"Type": "AWS::SQS::Queue", "Properties": {"Tags": [{"Key": "what", "Value": name}]}})
}

fn of(resources: &[(&str, Json)]) -> Json {
    let resources: serde_json::Map<String, Json> =
        resources.iter().map(|(id, body)| ((*id).to_owned(), body.clone())).collect();
    json!({"Resources": resources})
}

/// A place in which the first side is deployed, with both sides.
struct Case {
    place: Place,
    after: String,
    before: BTreeMap<String, u64>,
}

impl Case {
    fn new(before: &[(&str, Json)], after: &[(&str, Json)]) -> Self {
        let place = Place::new();
        let deployed = assembly(&place, "before", before);
        place.seed(&deployed);
        let after = assembly(&place, "after", after);
        let before = place.resources();
        Self { place, after, before }
    }

    fn refactor<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [&["refactor", "--local", "--yes", "--app", &self.after], more].concat()
    }

    fn plan(&self, more: &[&str]) -> Json {
        let dry = ["refactor", "--local", "--dry-run", "--output", "json", "--app", &self.after];
        self.place.json(&[&dry[..], more].concat())["environments"][0]["plan"].clone()
    }

    /// Whether what was at one place is now at another.
    fn has_moved(&self, from: &str, to: &str) -> bool {
        let now = self.place.resources();
        now.get(to) == Some(&self.before[from]) && !now.contains_key(from)
    }

    fn cloud(&self) -> Cloud {
        cdkr::toolkit::local::open(&self.place.path().join(".cdkr/local")).unwrap()
    }

    fn template(&self, stack: &str) -> Json {
        let file = self.place.path();
        let file = file.join(format!(".cdkr/local/111111111111/eu-west-1/stacks/{stack}.json"));
        let stack: Json = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        serde_json::from_str(stack["input"]["template"].as_str().unwrap()).unwrap()
    }
}

fn environment() -> Environment {
    Environment::new("111111111111", "eu-west-1")
}

#[test]
fn e1_a_rename_in_the_second_region_is_moved_like_that_in_the_first() {
    let case = Case::new(
        &[("us-east-1/A", of(&[("Old", queue("a"))])), ("eu-west-1/B", of(&[("Old", queue("b"))]))],
        &[("us-east-1/A", of(&[("New", queue("a"))])), ("eu-west-1/B", of(&[("New", queue("b"))]))],
    );
    case.place.out(&case.refactor(&[]));
    assert!(case.has_moved("us-east-1 A.Old", "us-east-1 A.New"));
    assert!(case.has_moved("eu-west-1 B.Old", "eu-west-1 B.New"));
}

#[test]
fn e2_a_stack_that_was_not_selected_stays_as_it_is() {
    let case = Case::new(
        &[("A", of(&[("Old", queue("a"))])), ("B", of(&[("Old", queue("b"))]))],
        &[("A", of(&[("New", queue("a"))])), ("B", of(&[("New", queue("b"))]))],
    );
    case.place.out(&case.refactor(&["A"]));
    assert!(case.has_moved("eu-west-1 A.Old", "eu-west-1 A.New"));
    assert_eq!(case.place.resources()["eu-west-1 B.Old"], case.before["eu-west-1 B.Old"]);
}

#[test]
fn e8_a_question_about_some_does_not_keep_the_certain_ones_from_moving_if_that_is_wanted() {
    let twin = || json!({"Type": "AWS::SNS::Topic"});
    let case = Case::new(
        &[("A", of(&[("X", twin()), ("Y", twin()), ("Old", queue("a"))]))],
        &[("A", of(&[("V", twin()), ("W", twin()), ("New", queue("a"))]))],
    );
    let stopped = case.place.run(&case.refactor(&[]));
    assert_eq!(stopped.status.code(), Some(3));
    assert_eq!(case.place.resources(), case.before);
    case.place.out(&case.refactor(&["--ignore-ambiguous-refactoring"]));
    assert!(case.has_moved("eu-west-1 A.Old", "eu-west-1 A.New"));
    assert_eq!(case.place.resources()["eu-west-1 A.X"], case.before["eu-west-1 A.X"]);
}

#[test]
fn e9_seven_stacks_are_more_than_one_refactor_but_one_run() {
    let names = ["A", "B", "C", "D", "E", "F", "G"];
    let side = |id: &'static str| -> Vec<(&str, Json)> {
        names.iter().map(|name| (*name, of(&[(id, queue(name)), ("Stays", queue("s"))]))).collect()
    };
    let case = Case::new(&side("Old"), &side("New"));
    let steps = case.plan(&[])["steps"].as_array().unwrap().clone();
    assert!(steps.iter().all(|step| step["stacks"].as_array().unwrap().len() <= 5), "{steps:?}");
    case.place.out(&case.refactor(&[]));
    for name in names {
        let place = |id: &str| format!("eu-west-1 {name}.{id}");
        assert!(case.has_moved(&place("Old"), &place("New")), "{name}");
    }
    case.place.out(&["revert", "--local", "--yes"]);
    assert_eq!(case.place.resources(), case.before);
}

#[test]
fn e10_a_stack_in_which_only_an_output_was_edited_is_not_sent() {
    let with_output = |value: &str| {
        let mut template = of(&[("Stays", queue("b"))]);
        template["Outputs"] = json!({"O": {"Value": value}});
        template
    };
    let case = Case::new(
        &[("A", of(&[("Old", queue("a"))])), ("B", with_output("one"))],
        &[("A", of(&[("New", queue("a"))])), ("B", with_output("two"))],
    );
    assert_eq!(case.plan(&[])["steps"][0]["stacks"], json!(["A"]));
}

#[test]
fn e11_a_new_parameter_mapping_or_output_waits_for_the_deployment() {
    let mut after = of(&[("New", queue("a"))]);
    after["Parameters"] = json!({"P": {"Type": "String", "Default": "x"}});
    after["Mappings"] = json!({"M": {"a": {"b": "c"}}});
    after["Outputs"] = json!({"O": {"Value": {"Ref": "New"}}});
    let case = Case::new(&[("A", of(&[("Old", queue("a"))]))], &[("A", after)]);
    case.place.out(&case.refactor(&[]));
    assert!(case.has_moved("eu-west-1 A.Old", "eu-west-1 A.New"));
    let template = case.template("A");
    assert!(template.get("Parameters").is_none() && template.get("Mappings").is_none());
}

#[test]
fn e12_what_stays_in_an_additional_stack_keeps_its_references_and_exports() {
    let mut extra = of(&[
        ("Foo", queue("foo")),
        (
            "Bar",
            json!({"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Ref": "Foo"}}}),
        ),
    ]);
    extra["Outputs"] = json!({"O": {"Value": {"Ref": "Bar"}, "Export": {"Name": "bar"}}});
    let user = of(&[(
        "P",
        json!({"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Fn::ImportValue": "bar"}}}),
    )]);
    let case = Case::new(
        &[("Extra", extra), ("User", user.clone())],
        &[("New", of(&[("Foo", queue("foo"))])), ("User", user)],
    );
    case.place.out(&case.refactor(&["--additional-stack-name", "Extra"]));
    assert!(case.has_moved("eu-west-1 Extra.Foo", "eu-west-1 New.Foo"));
    let extra = case.template("Extra");
    assert!(extra["Resources"]["Bar"]["Properties"]["Value"].get("Fn::ImportValue").is_some());
    assert_eq!(extra["Outputs"]["O"]["Export"]["Name"], "bar");
    assert_eq!(case.place.resources()["eu-west-1 User.P"], case.before["eu-west-1 User.P"]);
}

#[test]
fn e13_an_additional_stack_that_would_become_empty_gets_a_filler() {
    let case = Case::new(
        &[("Extra", of(&[("Foo", queue("foo"))])), ("Main", of(&[("Q", queue("q"))]))],
        &[("Main", of(&[("Q", queue("q")), ("Foo", queue("foo"))]))],
    );
    case.place.out(&case.refactor(&["--additional-stack-name", "Extra"]));
    assert!(case.has_moved("eu-west-1 Extra.Foo", "eu-west-1 Main.Foo"));
    let template = case.template("Extra");
    let left = template["Resources"].as_object().unwrap();
    let types: Vec<&Json> = left.values().map(|one| &one["Type"]).collect();
    assert_eq!(types, ["AWS::CloudFormation::WaitConditionHandle"]);
}

#[test]
fn e14_deployed_metadata_of_the_cdk_keeps_its_condition() {
    let mut before = of(&[
        ("Old", queue("a")),
        ("CDKMetadata", json!({"Type": "AWS::CDK::Metadata", "Condition": "Available"})),
    ]);
    before["Conditions"] =
        json!({"Available": {"Fn::Equals": [{"Ref": "AWS::Region"}, "eu-west-1"]}});
    let case = Case::new(&[("A", before.clone())], &[("A", of(&[("New", queue("a"))]))]);
    case.place.out(&case.refactor(&[]));
    assert!(case.has_moved("eu-west-1 A.Old", "eu-west-1 A.New"));
    let now = case.template("A");
    assert_eq!(now["Conditions"], before["Conditions"]);
    assert_eq!(now["Resources"]["CDKMetadata"], before["Resources"]["CDKMetadata"]);
}

#[test]
fn e15_the_length_of_a_template_counts_in_bytes() {
    let long = "ü".repeat(30_000);
    let parameter =
        json!({"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": long}});
    let case = Case::new(
        &[("A", of(&[("Old", queue("a")), ("P", parameter.clone())]))],
        &[("A", of(&[("New", queue("a")), ("P", parameter)]))],
    );
    case.place.out(&case.refactor(&[]));
    assert!(case.has_moved("eu-west-1 A.Old", "eu-west-1 A.New"));
    let value = case.template("A")["Resources"]["P"]["Properties"]["Value"].clone();
    assert_eq!(value.as_str().unwrap(), long, "no character was lost on the way");
}

#[test]
fn e16_a_stack_that_never_came_to_be_holds_nothing_and_one_that_failed_is_named() {
    let case = Case::new(
        &[("A", of(&[("Old", queue("a"))]))],
        &[("A", of(&[("New", queue("a"))])), ("B", of(&[("Q", queue("b"))]))],
    );
    let cloud = case.cloud();
    let region = cloud.region(&environment());
    let fail = |logical_id: &str| {
        let fault = ResourceFault {
            logical_id: Some(logical_id.to_owned()),
            message: "No.".to_owned(),
            ..ResourceFault::default()
        };
        let faults =
            cdkr::local::Faults { resources: vec![fault], ..cdkr::local::Faults::default() };
        region.arm(&faults).unwrap();
    };
    fail("Q");
    let body = of(&[("Q", queue("b"))]).to_string();
    let create = CreateStack {
        name: "B".to_owned(),
        template: TemplateSource::body(&body),
        ..CreateStack::default()
    };
    region.create_stack(&create).unwrap();
    let status =
        |name: &str| region.describe_stacks(Some(name), None).unwrap().items[0].info.status.clone();
    assert_eq!(status("B"), "ROLLBACK_COMPLETE");
    assert_eq!(case.plan(&[])["steps"][0]["stacks"], json!(["A"]));
    fail("Old");
    let update = UpdateStack {
        name: "A".to_owned(),
        template: TemplateSource::body(&of(&[("Old", queue("other"))]).to_string()),
        disable_rollback: true,
        ..UpdateStack::default()
    };
    region.update_stack(&update).unwrap();
    assert_eq!(status("A"), "UPDATE_FAILED");
    let error = case.place.err(&case.refactor(&[]), 1);
    assert!(error.contains("`A`") && error.contains("UPDATE_FAILED"), "{error}");
}

#[test]
fn e20_a_renamed_stack_is_a_new_one_into_which_everything_moves() {
    let case = Case::new(
        &[("Old", of(&[("Q", queue("a")), ("R", queue("b"))]))],
        &[("New", of(&[("Q", queue("a")), ("R", queue("b"))]))],
    );
    case.place.out(&case.refactor(&["--additional-stack-name", "Old"]));
    assert!(case.has_moved("eu-west-1 Old.Q", "eu-west-1 New.Q"));
    assert!(case.has_moved("eu-west-1 Old.R", "eu-west-1 New.R"));
}

#[test]
fn n13_what_knows_the_name_of_its_stack_stays_and_the_plan_says_why() {
    let named = || json!({"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Ref": "AWS::StackName"}}});
    let case = Case::new(
        &[("A", of(&[("Q", named()), ("Old", queue("a"))])), ("B", of(&[("S", queue("s"))]))],
        &[
            ("A", of(&[("Stay", queue("x"))])),
            ("B", of(&[("S", queue("s")), ("Q", named()), ("New", queue("a"))])),
        ],
    );
    let staying = case.plan(&[])["staying"].clone();
    assert_eq!(staying[0]["source"], "A.Q", "{staying}");
    assert!(staying[0]["reason"].as_str().unwrap().contains("AWS::StackName"), "{staying}");
    let said = case.place.run(&case.refactor(&[]));
    assert!(said.status.success(), "{}", text(&said.stderr));
    assert!(case.has_moved("eu-west-1 A.Old", "eu-west-1 B.New"));
    assert_eq!(case.place.resources()["eu-west-1 A.Q"], case.before["eu-west-1 A.Q"]);
}

#[test]
fn n14_types_that_cannot_move_do_not_keep_the_others_from_moving() {
    let fixed = |name: &str| {
        vec![
            ("AWS::Route53::RecordSet", json!({"Name": name, "Type": "TXT", "HostedZoneId": "Z1"})),
            (
                "Custom::Thing",
                json!({"ServiceToken": "arn:aws:lambda:eu-west-1:111111111111:function:f", "Name": name}),
            ),
            ("AWS::EC2::LaunchTemplate", json!({"LaunchTemplateData": {"ImageId": name}})),
        ]
    };
    let side = |suffix: &str| {
        let mut template = of(&[(&*format!("Queue{suffix}"), queue("a"))]);
        for (at, (kind, properties)) in fixed("x").into_iter().enumerate() {
            template["Resources"][format!("Fixed{at}{suffix}")] =
                json!({"Type": kind, "Properties": properties});
        }
        template
    };
    let case = Case::new(&[("A", side("Old"))], &[("A", side("New"))]);
    let plan = case.plan(&[]);
    assert_eq!(plan["staying"].as_array().unwrap().len(), 3, "{plan}");
    case.place.out(&case.refactor(&[]));
    assert!(case.has_moved("eu-west-1 A.QueueOld", "eu-west-1 A.QueueNew"));
    for at in 0..3 {
        let place = format!("eu-west-1 A.Fixed{at}Old");
        assert_eq!(case.place.resources()[&place], case.before[&place]);
    }
}

#[test]
fn a_place_without_a_project_is_left_as_it_was_by_a_dry_run() {
    let case =
        Case::new(&[("A", of(&[("Old", queue("a"))]))], &[("A", of(&[("New", queue("a"))]))]);
    case.plan(&[]);
    assert!(!Path::new(case.place.path()).join(".cdkr/runs").exists());
}

#[test]
fn an_output_that_the_app_has_edited_keeps_its_characters_until_the_deployment() {
    let side = |id: &str, value: Json| {
        let mut template = of(&[(id, queue("a"))]);
        template["Outputs"] = json!({"O": {"Value": value, "Export": {"Name": "size"}}});
        template
    };
    let case = Case::new(
        &[("A", side("Old", json!("Größe")))],
        &[("A", side("New", json!("something else")))],
    );
    case.place.out(&case.refactor(&[]));
    assert!(case.has_moved("eu-west-1 A.Old", "eu-west-1 A.New"));
    assert_eq!(case.template("A")["Outputs"]["O"]["Value"], "Größe");
    let joined = |text: &str| json!({"Fn::Join": ["", [text, {"Ref": "AWS::Region"}]]});
    let case = Case::new(
        &[("A", side("Old", joined("Maß ")))],
        &[("A", side("New", joined("something else ")))],
    );
    let said = case.place.run(&case.refactor(&[]));
    assert_eq!(said.status.code(), Some(1), "{}", text(&said.stdout));
    assert!(text(&said.stdout).contains("outside of ASCII"), "{}", text(&said.stdout));
    assert_eq!(case.place.resources(), case.before);
}
