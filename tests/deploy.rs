//! Stacks of an assembly, deployed to the embedded CloudFormation.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "deploy/assets.rs"]
mod assets;
#[path = "deploy/nested.rs"]
mod nested;
#[path = "deploy/options.rs"]
mod options;
#[path = "deploy/stages.rs"]
mod stages;
#[path = "deploy/world.rs"]
mod world;

use cdkr::deploy::{DeployError, DeployOptions, Outcome, StackError};
use cdkr::event::{Event, Remote};
use cdkr::local::{
    ChangeSetType, CreateChangeSet, Delays, Faults, ResourceFault, TemplateSource, UpdateStack,
};
use cdkr::settings::Method;
use serde_json::json;
use world::{App, World, options, queue, slow_world, template, world, world_with};

fn outcomes(world: &World, app: &App) -> Vec<(String, Outcome)> {
    let deployed = world.deploy(app, options()).unwrap();
    deployed.stacks.into_iter().map(|stack| (stack.name, stack.outcome)).collect()
}

fn fail(world: &World, stack: &str, logical_id: &str) {
    fail_in(world, Some(stack), logical_id);
}

/// Lets a resource fail; of any stack if none is given.
fn fail_in(world: &World, stack: Option<&str>, logical_id: &str) {
    let fault = ResourceFault {
        stack: stack.map(str::to_owned),
        logical_id: Some(logical_id.to_owned()),
        resource_type: None,
        message: "Out of queues".to_owned(),
    };
    world.region().arm(&Faults { resources: vec![fault], ..Faults::default() }).unwrap();
}

fn failed(error: DeployError) -> StackError {
    match error {
        DeployError::Stacks { mut failed, .. } => failed.remove(0).1,
        other => panic!("{other}"),
    }
}

#[test]
fn a_new_stack_is_created_with_its_outputs_tags_and_protection() {
    let world = world();
    let app = App::new().stack("Web", &template(10)).property("Web", "terminationProtection", true);
    let app = app.property("Web", "tags", json!({"team": "shop"}));
    let deployed = world.deploy(&app, options()).unwrap();
    let web = &deployed.stacks[0];
    assert_eq!(web.outcome, Outcome::Created);
    assert!(web.arn.contains(":stack/Web/"), "{}", web.arn);
    assert!(web.outputs["Url"].contains("Web"), "{:?}", web.outputs);
    let info = world.region().describe_stacks(Some("Web"), None).unwrap().items.remove(0).info;
    assert!(info.termination_protection);
    assert_eq!(world.status("Web"), "CREATE_COMPLETE");
    let told = world.events();
    let created = |event: &Event| {
        matches!(event, Event::Stack { logical_id, status, .. }
        if logical_id == "Queue" && status == "CREATE_COMPLETE")
    };
    assert!(told.iter().any(created), "{told:?}");
}

#[test]
fn a_stack_that_is_as_the_assembly_has_it_gets_no_change_set() {
    let world = world();
    let app = App::new().stack("Web", &template(10));
    assert_eq!(outcomes(&world, &app), [("Web".to_owned(), Outcome::Created)]);
    assert_eq!(outcomes(&world, &app), [("Web".to_owned(), Outcome::Unchanged)]);
    assert_eq!(world.count("CreateChangeSet"), 1);
}

#[test]
fn with_force_a_change_set_is_made_and_an_empty_one_is_deleted() {
    let world = world();
    let app = App::new().stack("Web", &template(10));
    outcomes(&world, &app);
    let forced = DeployOptions { force: true, ..options() };
    let deployed = world.deploy(&app, forced).unwrap();
    assert_eq!(deployed.stacks[0].outcome, Outcome::Unchanged);
    assert_eq!(deployed.stacks[0].outputs.len(), 1);
    assert_eq!(world.count("ExecuteChangeSet"), 1);
    assert_eq!(world.count("DeleteChangeSet"), 1);
}

#[test]
fn a_changed_stack_is_updated_and_protection_alone_needs_no_change_set() {
    let world = world();
    outcomes(&world, &App::new().stack("Web", &template(10)));
    let changed = App::new().stack("Web", &template(20));
    assert_eq!(outcomes(&world, &changed), [("Web".to_owned(), Outcome::Updated)]);
    let protected = changed.property("Web", "terminationProtection", true);
    assert_eq!(outcomes(&world, &protected), [("Web".to_owned(), Outcome::Updated)]);
    assert_eq!(world.count("CreateChangeSet"), 2);
    assert_eq!(world.count("UpdateTerminationProtection"), 1);
}

#[test]
fn a_parameter_that_the_assembly_does_not_name_keeps_its_value() {
    let world = world();
    let body = json!({"Parameters": {"Delay": {"Type": "String", "Default": "1"}},
        "Resources": {"Queue": queue(&json!({"DelaySeconds": {"Ref": "Delay"}}))}});
    let app = App::new().stack("Web", &body);
    outcomes(&world, &app.clone().property("Web", "parameters", json!({"Delay": "7"})));
    assert_eq!(outcomes(&world, &app), [("Web".to_owned(), Outcome::Unchanged)]);
    let mut changed = body.clone();
    changed["Resources"]["Other"] = queue(&json!({}));
    assert_eq!(outcomes(&world, &App::new().stack("Web", &changed))[0].1, Outcome::Updated);
    let stack = world.region().describe_stacks(Some("Web"), None).unwrap().items.remove(0);
    assert_eq!(format!("{:?}", stack.parameters).matches("\"7\"").count(), 1, "{stack:?}");
}

#[test]
fn stacks_are_deployed_after_those_that_they_need() {
    let world = world();
    let app = App::new()
        .stack("App", &template(1))
        .stack("Data", &template(2))
        .stack("Net", &template(3))
        .needs("App", "Data")
        .needs("Data", "Net");
    let both = DeployOptions { concurrency: 4, ..options() };
    let deployed = world.deploy(&app, both).unwrap();
    let names: Vec<_> = deployed.stacks.iter().map(|stack| stack.name.as_str()).collect();
    assert_eq!(names, ["Net", "Data", "App"]);
}

#[test]
fn a_failed_creation_is_rolled_back_and_the_next_one_starts_afresh() {
    let world = world();
    let app = App::new().stack("Web", &template(10)).stack("Later", &template(1));
    let app = app.needs("Later", "Web");
    fail(&world, "Web", "Queue");
    let error = world.deploy(&app, options()).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("not begun: Later\n"), "{text}");
    assert!(text.contains("is now in ROLLBACK_COMPLETE\n  Queue (AWS::SQS::Queue): "), "{text}");
    assert!(text.lines().last().unwrap().contains("Out of queues"), "{text}");
    assert_eq!(world.status("Web"), "ROLLBACK_COMPLETE");
    let again = outcomes(&world, &app);
    assert_eq!(again.len(), 2);
    assert_eq!(again[0], ("Web".to_owned(), Outcome::Created));
    assert_eq!(world.count("DeleteStack"), 1);
}

#[test]
fn a_failed_update_is_rolled_back_to_its_end_and_names_what_failed() {
    let world = world();
    outcomes(&world, &App::new().stack("Web", &template(10)));
    fail(&world, "Web", "Queue");
    let error = world.deploy(&App::new().stack("Web", &template(20)), options()).unwrap_err();
    match failed(error) {
        StackError::Failed { status, failures, .. } => {
            assert_eq!(status.0, "UPDATE_ROLLBACK_COMPLETE");
            assert_eq!(failures.len(), 1, "{failures:?}");
            assert_eq!(failures[0].logical_id, "Queue");
            assert!(failures[0].reason.contains("Out of queues"), "{failures:?}");
        }
        other => panic!("{other}"),
    }
    assert_eq!(world.status("Web"), "UPDATE_ROLLBACK_COMPLETE");
}

#[test]
fn what_could_not_be_deleted_after_an_update_is_told_and_named() {
    for method in [Method::ChangeSet, Method::Direct] {
        let world = world();
        let mut body = template(10);
        body["Resources"]["Old"] = queue(&json!({"QueueName": "old"}));
        outcomes(&world, &App::new().stack("Web", &body));
        fail(&world, "Web", "Old");
        let app = App::new().stack("Web", &template(10));
        let how = DeployOptions { method, ..options() };
        let web = world.deploy(&app, how).unwrap().stacks.remove(0);
        assert_eq!(web.outcome, Outcome::Updated);
        assert_eq!(world.status("Web"), "UPDATE_COMPLETE");
        let [left] = &web.left[..] else { panic!("{:?}", web.left) };
        assert_eq!((left.stack.as_str(), left.logical_id.as_str()), ("Web", "Old"));
        assert!(left.physical_id.as_deref().unwrap().contains("old"), "{left:?}");
        assert!(left.reason.contains("Out of queues"), "{left:?}");
        let warns = |event: &Event| matches!(event, Event::Note { text } if text.contains("Old") && text.contains("by hand"));
        assert_eq!(world.events().iter().filter(|event| warns(event)).count(), 1);
        let again = outcomes(&world, &app);
        assert_eq!(again, [("Web".to_owned(), Outcome::Unchanged)]);
    }
}

#[test]
fn without_rollback_a_failure_stays_and_is_gone_on_from() {
    let world = world();
    outcomes(&world, &App::new().stack("Web", &template(10)));
    fail(&world, "Web", "Queue");
    let app = App::new().stack("Web", &template(20));
    let without = || DeployOptions { rollback: false, ..options() };
    world.deploy(&app, without()).unwrap_err();
    assert_eq!(world.status("Web"), "UPDATE_FAILED");
    let error = failed(world.deploy(&app, options()).unwrap_err());
    assert!(matches!(error, StackError::State { .. }), "{error}");
    let repaired = App::new().stack("Web", &template(30));
    assert_eq!(world.deploy(&repaired, without()).unwrap().stacks[0].outcome, Outcome::Updated);
    assert_eq!(world.status("Web"), "UPDATE_COMPLETE");
}

#[test]
fn tags_that_the_assembly_no_longer_has_are_taken_away() {
    let world = world();
    let app = App::new().stack("Web", &template(10));
    outcomes(&world, &app.clone().property("Web", "tags", json!({"team": "shop"})));
    assert_eq!(outcomes(&world, &app), [("Web".to_owned(), Outcome::Updated)]);
    assert_eq!(outcomes(&world, &app), [("Web".to_owned(), Outcome::Unchanged)]);
}

#[test]
fn topics_stay_unless_the_assembly_says_something_of_them() {
    let world = world();
    let app = App::new().stack("Web", &template(10));
    let topics = json!(["arn:aws:sns:us-east-1:111111111111:Topic"]);
    outcomes(&world, &app.clone().property("Web", "notificationArns", topics));
    let changed = App::new().stack("Web", &template(20));
    assert_eq!(outcomes(&world, &changed), [("Web".to_owned(), Outcome::Updated)]);
    let topics = || {
        let page = world.region().describe_stacks(Some("Web"), None).unwrap();
        page.items[0].notification_arns.len()
    };
    assert_eq!(topics(), 1);
    let none = App::new().stack("Web", &template(30));
    let none = none.property("Web", "notificationArns", json!([]));
    assert_eq!(outcomes(&world, &none), [("Web".to_owned(), Outcome::Updated)]);
    assert_eq!(topics(), 0);
}

#[test]
fn a_shell_that_waits_for_a_change_set_is_filled() {
    let world = world();
    let change = CreateChangeSet {
        name: "other".to_owned(),
        kind: ChangeSetType::Create,
        update: UpdateStack {
            name: "Web".to_owned(),
            template: TemplateSource::body(&template(1).to_string()),
            ..UpdateStack::default()
        },
        description: None,
    };
    world.region().create_change_set(&change).unwrap();
    assert_eq!(world.status("Web"), "REVIEW_IN_PROGRESS");
    let app = App::new().stack("Web", &template(10));
    assert_eq!(outcomes(&world, &app), [("Web".to_owned(), Outcome::Created)]);
    assert_eq!(world.status("Web"), "CREATE_COMPLETE");
}

#[test]
fn a_stack_whose_rollback_failed_is_left_alone() {
    let world = world();
    outcomes(&world, &App::new().stack("Web", &template(10)));
    world.set_status("Web", "UPDATE_ROLLBACK_FAILED");
    let error = world.deploy(&App::new().stack("Web", &template(20)), options()).unwrap_err();
    assert!(error.to_string().contains("continue-update-rollback"), "{error}");
    assert_eq!(world.count("CreateChangeSet"), 1);
}

#[test]
fn a_request_that_is_stopped_changes_no_stack() {
    let world = world();
    let app = App::new().stack("Web", &template(10));
    let error = world.deploy_cancelled(&app).unwrap_err();
    assert!(matches!(error, DeployError::Cancelled { .. }), "{error}");
    assert_eq!(world.status("Web"), "-");
}

#[test]
fn a_refused_change_set_leaves_no_shell_behind() {
    let world = world();
    let body = json!({"Resources": {"Queue": queue(&json!({"DelaySeconds": {"Ref": "Nowhere"}}))}});
    let error = failed(world.deploy(&App::new().stack("Web", &body), options()).unwrap_err());
    assert!(matches!(error, StackError::Refused { .. }), "{error}");
    assert_eq!(world.status("Web"), "-");
}

#[test]
fn a_request_to_stop_while_a_change_set_is_made_leaves_neither_it_nor_a_shell() {
    let world = slow_world();
    let app = App::new().stack("Web", &template(10));
    let error = world
        .deploy_until(&app, |event| matches!(event, Event::Remote { what: Remote::ChangeSet, .. }))
        .unwrap_err();
    assert!(error.is_cancelled(), "{error}");
    assert!(error.to_string().contains("It was not changed."), "{error}");
    assert_eq!(world.count("DeleteChangeSet"), 1);
    assert_ne!(world.status("Web"), "REVIEW_IN_PROGRESS");
}

#[test]
fn a_request_to_stop_while_a_stack_changes_says_how_to_look_what_becomes_of_it() {
    let world = world_with(Delays { stack: 60_000, ..Delays::default() });
    let app = App::new().stack("Web", &template(10)).stack("Later", &template(1));
    let app = app.needs("Later", "Web");
    let error = world
        .deploy_until(&app, |event| {
            matches!(event, Event::Remote { status, .. } if status == "EXECUTE_IN_PROGRESS")
        })
        .unwrap_err();
    assert!(error.is_cancelled(), "{error}");
    let text = error.to_string();
    for part in ["not begun: Later", "goes on by itself", "--stack-name Web --region us-east-1"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let error = failed(error);
    assert!(error.is_running() && !error.left_untouched(), "{error}");
    assert_eq!(world.count("DeleteChangeSet"), 0);
    assert_eq!(world.status("Web"), "CREATE_IN_PROGRESS");
}

#[test]
fn a_template_with_characters_that_are_not_given_back_gets_a_change_set() {
    let world = world();
    let describe =
        |text: &str| json!({"Description": text, "Resources": {"Queue": queue(&json!({}))}});
    outcomes(&world, &App::new().stack("Web", &describe("caf\u{e9}")));
    let again = outcomes(&world, &App::new().stack("Web", &describe("caf\u{e9}")));
    assert_eq!(again, [("Web".to_owned(), Outcome::Unchanged)]);
    assert_eq!(world.count("CreateChangeSet"), 2);
}
