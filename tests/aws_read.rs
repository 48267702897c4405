//! What is deployed, as `cdkr` reads it from the embedded CloudFormation.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "aws_read/world.rs"]
mod world;

#[path = "aws_read/access.rs"]
mod access;

#[path = "aws_read/states.rs"]
mod states;

use std::time::Duration;

use cdkr::aws::{AwsError, Cause, Depth, Wait};
use cdkr::event::Event;
use cdkr::local::server::WireFaultKind;
use cdkr::local::{CreateStack, ParameterInput, TemplateSource};
use cdkr::model::{Location, Value};
use world::{QUEUE, Witness, create_in, environment, names, request, stack, world, world_with};

const EXPORTING: &str = r#"{"Resources":{"Queue":{"Type":"AWS::SQS::Queue"}},"Outputs":{
  "Used":{"Value":{"Fn::GetAtt":["Queue","Arn"]},"Export":{"Name":"Web:Used"}},
  "Unused":{"Value":"x","Export":{"Name":"Web:Unused"}},
  "Plain":{"Value":"y"}}}"#;
const IMPORTING: &str = r#"{"Resources":{"Topic":{"Type":"AWS::SNS::Topic",
  "Properties":{"DisplayName":{"Fn::ImportValue":"Web:Used"}}}}}"#;

#[test]
fn templates_come_back_as_they_were_submitted_in_json_and_in_yaml() {
    let world = world();
    world.create("Json", QUEUE);
    let yaml = "Resources:\n  Topic:\n    Type: AWS::SNS::Topic\n    Properties:\n      \
                DisplayName: !Sub '${AWS::StackName}'\n";
    world.create("Yaml", yaml);
    let read = world.read(&request(&["Yaml", "Json", "NotDeployed"])).unwrap();
    assert_eq!(names(&read), ["Json", "Yaml"]);
    assert_eq!(stack(&read, "Json").body, QUEUE);
    let yaml = stack(&read, "Yaml");
    assert!(yaml.stack.is_returned);
    let topic = yaml.stack.template.resource("Topic").unwrap();
    assert_eq!(topic.get("Type").and_then(Value::as_str), Some("AWS::SNS::Topic"));
    assert!(yaml.id.starts_with("arn:aws:cloudformation:eu-west-1:111111111111:stack/Yaml/"));
    let physical_id = stack(&read, "Json").resources["Queue"].physical_id.as_deref().unwrap();
    assert!(physical_id.contains("Json"), "{physical_id}");
    assert!(read.warnings.is_empty(), "{:?}", read.warnings);
}

#[test]
fn an_additional_stack_has_to_exist() {
    let world = world();
    world.create("Old", QUEUE);
    let mut request = request(&["Web"]);
    request.additional = vec!["Old".to_owned()];
    assert_eq!(names(&world.read(&request).unwrap()), ["Old"]);
    request.additional.push("Older".to_owned());
    let error = world.refused(&request).to_string();
    assert_eq!(
        error,
        "there is no stack `Older` in aws://111111111111/eu-west-1 (`--additional-stack-name`)"
    );
}

#[test]
fn nested_stacks_are_called_by_their_place_whatever_cloudformation_calls_them() {
    let world = world();
    let put = |key: &str, text: &str| {
        world.running.cloud().put_object("assets", key, text.as_bytes()).unwrap();
        format!("https://assets.s3.eu-west-1.amazonaws.com/{key}")
    };
    let nesting = |url: &str| {
        format!(
            r#"{{"Resources":{{"Inner":{{"Type":"AWS::CloudFormation::Stack","Properties":{{"TemplateURL":"{url}"}}}}}}}}"#
        )
    };
    let innermost = put("innermost.json", QUEUE);
    let inner = put("inner.json", &nesting(&innermost));
    world.create("Web", &nesting(&inner));
    for depth in [Depth::Comparison, Depth::Complete] {
        let read = world.read(&cdkr::aws::ReadRequest { depth, ..request(&["Web"]) }).unwrap();
        assert_eq!(names(&read), ["Web", "Web/Inner", "Web/Inner/Inner"]);
        let innermost = &stack(&read, "Web/Inner/Inner");
        assert_eq!(innermost.stack.parent, Some(Location::new("Web/Inner", "Inner")));
        assert_eq!(innermost.body, QUEUE);
        assert!(innermost.id.contains(":stack/Web-Inner-"), "{}", innermost.id);
    }
    let read = world.read(&request(&["Web"])).unwrap();
    let physical = stack(&read, "Web/Inner").id.split('/').nth(1).unwrap().to_owned();
    let mut named = request(&[]);
    named.additional.push(physical);
    assert!(matches!(world.refused(&named), AwsError::NamedNested { .. }));
}

#[test]
fn stacks_in_which_something_is_going_on_are_all_named() {
    let world = world();
    for name in ["A", "B", "C", "Stranger"] {
        world.create(name, QUEUE);
    }
    world.set_status("A", "UPDATE_IN_PROGRESS");
    world.set_status("C", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS");
    world.set_status("Stranger", "UPDATE_IN_PROGRESS");
    let error = world.refused(&request(&["A", "B", "C"])).to_string();
    assert_eq!(
        error,
        "aws://111111111111/eu-west-1: something is going on in `A` (UPDATE_IN_PROGRESS) and `C` \
         (UPDATE_COMPLETE_CLEANUP_IN_PROGRESS). Try again when it has ended, or let `--wait` wait \
         for it. Nothing was changed."
    );
    assert_eq!(names(&world.read(&request(&["B"])).unwrap()), ["B"]);
}

#[test]
fn a_busy_stack_is_waited_for_and_read_anew() {
    let world = world();
    world.create("A", QUEUE);
    world.set_status("A", "UPDATE_IN_PROGRESS");
    let mut request = request(&["A"]);
    let wait = Wait { interval: Duration::from_millis(10), limit: Duration::from_mins(1) };
    request.wait = Some(wait);
    let witness = Witness::default();
    let read = std::thread::scope(|scope| {
        let reading = scope.spawn(|| world.read_with(&request, &witness));
        while world.count("DescribeStacks") < 3 && !reading.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
        world.set_status("A", "UPDATE_COMPLETE");
        reading.join().unwrap().unwrap()
    });
    assert_eq!(stack(&read, "A").status.0, "UPDATE_COMPLETE");
    assert_eq!(world.count("GetTemplate"), 2);
    let events = witness.0.into_inner().unwrap();
    let waited = events.iter().filter(|event| matches!(event, Event::Waiting { .. })).count();
    assert_eq!(waited, 1);
    let last = Event::Reading { environment: environment(), done: 1, of: 1 };
    assert_eq!(events.last(), Some(&last));

    world.set_status("A", "UPDATE_IN_PROGRESS");
    request.wait = Some(Wait { limit: Duration::ZERO, ..wait });
    assert!(matches!(world.refused(&request), AwsError::StillBusy { .. }));
}

#[test]
fn stacks_that_have_to_be_repaired_are_named_with_what_to_do() {
    let world = world();
    world.create("A", QUEUE);
    world.create("B", QUEUE);
    world.set_status("A", "UPDATE_ROLLBACK_FAILED");
    world.set_status("B", "UPDATE_IN_PROGRESS");
    let error = world.refused(&request(&["A", "B"])).to_string();
    assert!(error.contains("`A` (UPDATE_ROLLBACK_FAILED)"), "{error}");
    assert!(error.contains("continue-update-rollback"), "{error}");
}

#[test]
fn stacks_that_hold_nothing_are_only_listed() {
    let world = world();
    world.create("A", QUEUE);
    world.create("B", QUEUE);
    world.set_status("A", "ROLLBACK_COMPLETE");
    world.set_status("B", "REVIEW_IN_PROGRESS");
    let read = world.read(&request(&["A", "B"])).unwrap();
    assert_eq!(names(&read), [""; 0]);
    let empty: Vec<_> =
        read.deployed.empty.iter().map(|(name, status)| format!("{name} {status}")).collect();
    assert_eq!(empty, ["A ROLLBACK_COMPLETE", "B REVIEW_IN_PROGRESS"]);
}

#[test]
fn exports_come_with_the_stacks_that_import_them() {
    let world = world();
    world.create("Web", EXPORTING);
    world.create("Stranger", IMPORTING);
    let read = world.read(&request(&["Web"])).unwrap();
    let web = stack(&read, "Web");
    let exports: Vec<_> =
        web.exports.iter().map(|export| (export.name.as_str(), export.importers.len())).collect();
    assert_eq!(exports, [("Web:Unused", 0), ("Web:Used", 1)]);
    assert_eq!(web.exports[1].importers, ["Stranger"]);
    assert_eq!(web.outputs["Plain"], "y");
    assert_eq!(world.count("ListExports"), 0);
}

#[test]
fn parameters_options_and_policies_are_what_a_change_has_to_repeat() {
    let world = world();
    world.region().put_parameter("/app/version", Some("29")).unwrap();
    let template = r#"{"Parameters":{"Secret":{"Type":"String","NoEcho":true},
      "Version":{"Type":"AWS::SSM::Parameter::Value<String>","Default":"/app/version"},
      "Plain":{"Type":"String","Default":"p"}},"Resources":{"Queue":{"Type":"AWS::SQS::Queue"}}}"#;
    let secret = ParameterInput { key: "Secret".to_owned(), ..ParameterInput::default() };
    world
        .region()
        .create_stack(&CreateStack {
            name: "Web".to_owned(),
            template: TemplateSource::body(template),
            parameters: vec![ParameterInput { value: Some("hush".to_owned()), ..secret }],
            tags: [("Team".to_owned(), "shop".to_owned())].into(),
            role_arn: Some("arn:aws:iam::111111111111:role/exec".to_owned()),
            termination_protection: true,
            policy: Some(r#"{"Statement":[]}"#.to_owned()),
            ..CreateStack::default()
        })
        .unwrap();
    world.create("Free", QUEUE);
    let read = world.read(&request(&["Web", "Free"])).unwrap();
    let web = stack(&read, "Web");
    let known: Vec<_> =
        web.stack.parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(known, ["Plain=p", "Version=29"]);
    assert_eq!(web.options.tags["Team"], "shop");
    assert_eq!(web.options.role_arn.as_deref(), Some("arn:aws:iam::111111111111:role/exec"));
    assert!(web.options.termination_protection && web.has_policy);
    assert!(!stack(&read, "Free").has_policy);
}

#[test]
fn what_a_comparison_leaves_out_can_be_read_later_for_the_stacks_that_matter() {
    let world = world();
    world.create("Web", EXPORTING);
    world.create("Stranger", IMPORTING);
    world.create("Other", QUEUE);
    let request = cdkr::aws::ReadRequest { depth: Depth::Comparison, ..request(&["Web", "Other"]) };
    let mut read = world.read(&request).unwrap();
    assert_eq!(world.running.requests().len(), 4);
    assert!(stack(&read, "Web").resources.is_empty());
    let aws = world.anyone();
    let roles = cdkr::aws::Roles::default();
    let wanted = ["Web".into()];
    world.run(aws.complete(&mut read.deployed, &wanted, &roles)).unwrap();
    assert!(stack(&read, "Web").resources["Queue"].physical_id.is_some());
    assert_eq!(stack(&read, "Web").exports[1].importers, ["Stranger"]);
    assert!(stack(&read, "Other").resources.is_empty());
}

#[test]
fn every_page_is_read() {
    let world = world_with(3);
    let queues: Vec<_> =
        (0..8).map(|at| format!(r#""Q{at}":{{"Type":"AWS::SQS::Queue"}}"#)).collect();
    let all: Vec<_> = (0..14).map(|at| format!("Stack{at:02}")).collect();
    for name in &all {
        world.create(name, &format!(r#"{{"Resources":{{{}}}}}"#, queues.join(",")));
    }
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    let read = world.read(&request(&all)).unwrap();
    assert_eq!(names(&read), all);
    assert!(read.deployed.stacks.iter().all(|stack| stack.resources.len() == 8));
}

#[test]
fn throttled_broken_and_lost_requests_are_sent_again() {
    let world = world();
    world.create("Web", EXPORTING);
    for kind in [
        WireFaultKind::Throttle,
        WireFaultKind::DropBefore,
        WireFaultKind::DropAfter,
        WireFaultKind::InternalError,
    ] {
        world.arm(kind, None, 6);
        assert_eq!(names(&world.read(&request(&["Web"])).unwrap()), ["Web"], "{kind:?}");
    }
    world.arm(WireFaultKind::Throttle, Some("GetTemplate"), 1000);
    let error = world.refused(&request(&["Web"]));
    assert_eq!(error.cause(), Some(Cause::Throttled));
    assert!(error.to_string().contains("`--concurrency`"), "{error}");
}

#[test]
fn answers_that_are_none_say_so() {
    let world = world();
    world.create("Web", QUEUE);
    world.arm(WireFaultKind::NotXml, Some("GetTemplate"), 1000);
    let error = world.refused(&request(&["Web"]));
    assert_eq!(error.cause(), Some(Cause::NotAnAnswer), "{error}");
    assert!(error.to_string().contains("stack `Web` in aws://111111111111/eu-west-1"), "{error}");
}

#[test]
fn a_template_of_a_megabyte_is_read() {
    let world = world();
    let description = "x".repeat(4000);
    let topics: Vec<_> = (0..240)
        .map(|at| {
            format!(r#""T{at}":{{"Type":"AWS::SNS::Topic","Metadata":{{"Text":"{description}"}}}}"#)
        })
        .collect();
    let template = format!(r#"{{"Resources":{{{}}}}}"#, topics.join(","));
    assert!(template.len() > 950_000);
    let region = world.region();
    world.running.cloud().put_object("assets", "large.json", template.as_bytes()).unwrap();
    let url = "https://assets.s3.eu-west-1.amazonaws.com/large.json".to_owned();
    create_in(&region, "Large", TemplateSource { url: Some(url), body: None });
    let read = world.read(&request(&["Large"])).unwrap();
    assert_eq!(stack(&read, "Large").body.len(), template.len());
    assert_eq!(stack(&read, "Large").resources.len(), 240);
}

#[test]
fn an_account_of_five_hundred_stacks_costs_what_ours_cost() {
    let world = world();
    let all: Vec<_> = (0..500).map(|at| format!("Stack{at:03}")).collect();
    for name in &all {
        world.create(name, QUEUE);
    }
    let few = cdkr::aws::ReadRequest { depth: Depth::Comparison, ..request(&["Stack400", "New"]) };
    assert_eq!(names(&world.read(&few).unwrap()), ["Stack400"]);
    assert_eq!(world.running.requests().len(), 4);

    let all: Vec<_> = all.iter().map(String::as_str).collect();
    let everything = cdkr::aws::ReadRequest { depth: Depth::Comparison, ..request(&all) };
    assert_eq!(names(&world.read(&everything).unwrap()), all);
    let calls = world.running.requests().len() - 4;
    // A template each and the pages of one listing; a stack that the listing has not reached when
    // its turn comes is described by its name, which depends on how fast the answers are.
    assert!((500..=1_010).contains(&calls), "{calls} calls");
}
