//! Options of a deployment.

use std::collections::BTreeMap;

use cdkr::deploy::{DeployError, DeployOptions, Outcome, StackError};
use cdkr::settings::Method;
use serde_json::{Value as Json, json};

use super::world::{App, World, options, queue, template, world};
use super::{fail, failed, outcomes};

fn sized() -> Json {
    json!({"Parameters": {"Delay": {"Type": "String", "Default": "1"}},
        "Resources": {"Queue": queue(&json!({"DelaySeconds": {"Ref": "Delay"}}))}})
}

fn delay(world: &World) -> String {
    let stack = world.region().describe_stacks(Some("Web"), None).unwrap().items.remove(0);
    stack.parameters["Delay"].value.clone()
}

fn given(stack: &str, value: &str) -> DeployOptions {
    let pairs = vec![("Delay".to_owned(), value.to_owned())];
    DeployOptions { parameters: BTreeMap::from([(stack.to_owned(), pairs)]), ..options() }
}

#[test]
fn given_parameters_reach_the_stacks_that_have_them_and_stay_until_told_otherwise() {
    let world = world();
    let app = App::new().stack("Web", &sized()).stack("Other", &template(1));
    world.deploy(&app, given("", "7")).unwrap();
    assert_eq!(delay(&world), "7");
    assert_eq!(world.deploy(&app, options()).unwrap().stacks[1].outcome, Outcome::Unchanged);
    assert_eq!(delay(&world), "7");
    let fresh = DeployOptions { use_previous_parameters: false, ..options() };
    world.deploy(&app, fresh).unwrap();
    assert_eq!(delay(&world), "1");
}

#[test]
fn a_misspelt_parameter_changes_nothing() {
    let world = world();
    let app = App::new().stack("Web", &template(1)).published("Web");
    let error = world.deploy(&app, given("", "7")).unwrap_err();
    assert!(matches!(error, DeployError::NoSuchParameter { .. }), "{error}");
    assert_eq!(world.count("PutObject") + world.count("CreateChangeSet"), 0);
}

#[test]
fn a_direct_deployment_creates_and_updates_without_change_sets() {
    let world = world();
    let direct = || DeployOptions { method: Method::Direct, force: true, ..options() };
    let outcome = |delay: u32| {
        let app = App::new().stack("Web", &template(delay));
        world.deploy(&app, direct()).unwrap().stacks.remove(0).outcome
    };
    assert_eq!(outcome(10), Outcome::Created);
    assert_eq!(outcome(20), Outcome::Updated);
    assert_eq!(outcome(20), Outcome::Unchanged);
    assert_eq!(world.count("CreateChangeSet"), 0);
    assert_eq!(world.count("UpdateStack"), 2);
    assert_eq!(world.status("Web"), "UPDATE_COMPLETE");
}

#[test]
fn a_direct_update_that_fails_is_rolled_back_and_names_what_failed() {
    let world = world();
    outcomes(&world, &App::new().stack("Web", &template(10)));
    fail(&world, "Web", "Queue");
    let direct = DeployOptions { method: Method::Direct, ..options() };
    let error = failed(world.deploy(&App::new().stack("Web", &template(20)), direct).unwrap_err());
    assert!(error.is_rolled_back(), "{error}");
    assert!(error.to_string().contains("\n  Queue (AWS::SQS::Queue): "), "{error}");
    assert_eq!(world.status("Web"), "UPDATE_ROLLBACK_COMPLETE");
}

#[test]
fn a_prepared_change_set_waits_and_a_later_one_of_the_same_name_takes_its_place() {
    let world = world();
    let prepare = || DeployOptions {
        method: Method::PrepareChangeSet,
        change_set_name: Some("review".to_owned()),
        ..options()
    };
    let app = App::new().stack("Web", &template(10));
    for _ in 0..2 {
        let prepared = world.deploy(&app, prepare()).unwrap().stacks.remove(0);
        match prepared.outcome {
            Outcome::Prepared { name, arn } => {
                assert_eq!(name, "review");
                assert!(arn.contains(":changeSet/review/"), "{arn}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(world.status("Web"), "REVIEW_IN_PROGRESS");
    }
    assert_eq!(world.count("ExecuteChangeSet"), 0);
    let direct = DeployOptions { method: Method::Direct, ..options() };
    assert_eq!(world.deploy(&app, direct).unwrap().stacks[0].outcome, Outcome::Created);
    assert_eq!(world.count("CreateStack"), 0);
}

#[test]
fn given_tags_take_the_place_of_those_of_the_app() {
    let world = world();
    let app = App::new().stack("Web", &template(10));
    let app = app.property("Web", "tags", json!({"team": "shop"}));
    let tags = BTreeMap::from([("stage".to_owned(), "beta".to_owned())]);
    let tagged = DeployOptions { tags: tags.clone(), ..options() };
    assert_eq!(world.deploy(&app, tagged.clone()).unwrap().stacks[0].outcome, Outcome::Created);
    assert_eq!(world.deploy(&app, tagged).unwrap().stacks[0].outcome, Outcome::Unchanged);
    assert_eq!(outcomes(&world, &app)[0].1, Outcome::Updated);
}

#[test]
fn an_environment_with_an_old_bootstrap_stack_is_named_before_anything_is_changed() {
    let world = world();
    let app = App::new().stack("Web", &template(10));
    let needs = |version: u32| {
        app.clone().property("Web", "requiresBootstrapStackVersion", version).property(
            "Web",
            "bootstrapStackVersionSsmParameter",
            "/cdk-bootstrap/q/version",
        )
    };
    world.region().put_parameter("/cdk-bootstrap/q/version", Some("5")).unwrap();
    world.check_bootstrap(&needs(5)).unwrap();
    let error = world.check_bootstrap(&needs(6)).unwrap_err().to_string();
    for part in ["version 6, found 5", "Web needs it", "cdk bootstrap aws://111111111111/us-east-1"]
    {
        assert!(error.contains(part), "{part} in {error}");
    }
    world.region().put_parameter("/cdk-bootstrap/q/version", None).unwrap();
    let error = world.check_bootstrap(&needs(6)).unwrap_err();
    assert!(matches!(error, DeployError::NoBootstrap { .. }), "{error}");
    assert!(error.to_string().contains("--toolkit-stack-name"), "{error}");
    world.check_bootstrap(&app).unwrap();
}

#[test]
fn what_cloudformation_refuses_directly_is_refused_too() {
    let world = world();
    let body = json!({"Resources": {"Queue": queue(&json!({"DelaySeconds": {"Ref": "Nowhere"}}))}});
    let direct = DeployOptions { method: Method::Direct, ..options() };
    let error = failed(world.deploy(&App::new().stack("Web", &body), direct).unwrap_err());
    assert!(matches!(error, StackError::Refused { .. }), "{error}");
    assert_eq!(world.status("Web"), "-");
}
