//! Stages, and whoever judges them.

use std::sync::Mutex;

use cdkr::aws::ChangeSetChange;
use cdkr::deploy::{DeployError, Outcome, StackError, Stage};
use cdkr::event::{Event, StackOutcome};
use serde_json::json;

use super::world::{App, options, queue, template, world};
use super::{failed, outcomes};

/// What the judge of one test has seen: a judge outlives the request that knows it.
static SEEN: Mutex<Vec<ChangeSetChange>> = Mutex::new(Vec::new());

#[test]
fn whoever_judges_sees_what_would_happen_and_stops_it() {
    let world = world();
    let named = |name: &str| {
        json!({"Resources": {"Queue": queue(&json!({"QueueName": name})),
            "Stays": queue(&json!({}))}})
    };
    outcomes(&world, &App::new().stack("Web", &named("old")));
    let stopped = world
        .deploy_as(&App::new().stack("Web", &named("new")), options(), |request| {
            request.judge = Some(&|_, changes| {
                *SEEN.lock().unwrap() = changes.to_vec();
                Err(vec!["Queue would be replaced".to_owned()])
            });
        })
        .unwrap_err();
    let error = failed(stopped);
    assert!(matches!(&error, StackError::Stopped { reasons, .. } if reasons.len() == 1));
    assert!(error.left_untouched());
    assert!(error.to_string().contains("\n  Queue would be replaced\n"), "{error}");
    let seen = SEEN.lock().unwrap();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!((seen[0].action.as_str(), seen[0].replacement.as_str()), ("Modify", "True"));
    assert_eq!(seen[0].policy_action, "ReplaceAndDelete");
    assert!(seen[0].physical_id.ends_with("/old"), "{seen:?}");
    assert_eq!(seen[0].scope, ["Properties"]);
    let detail = &seen[0].details[0];
    assert_eq!(
        (detail.name.as_str(), detail.requires_recreation.as_str()),
        ("QueueName", "Always")
    );
    assert_eq!(world.count("ExecuteChangeSet"), 1);
    assert_eq!(world.count("DeleteChangeSet"), 1);
    assert_eq!(world.status("Web"), "CREATE_COMPLETE");
}

#[test]
fn a_new_stack_that_is_stopped_leaves_no_shell() {
    let world = world();
    let error = world
        .deploy_as(&App::new().stack("Web", &template(1)), options(), |request| {
            request.judge = Some(&|_, _| Err(vec!["no".to_owned()]));
        })
        .unwrap_err();
    assert!(matches!(failed(error), StackError::Stopped { .. }));
    assert_eq!((world.count("DeleteChangeSet"), world.count("DeleteStack")), (1, 1));
    assert_ne!(world.status("Web"), "REVIEW_IN_PROGRESS");
}

#[test]
fn a_stack_is_deployed_twice_around_another_and_each_stage_is_told() {
    let world = world();
    let app = App::new().stack("Data", &template(20)).stack("Web", &template(1));
    let kept = template(10).to_string();
    let deployed = world.deploy_as(&app, options(), |request| {
        let (data, web) = (request.stages[0].stack, request.stages[1].stack);
        assert_eq!(data.hierarchical_id, "Data");
        let plain = |stack, after| Stage { stack, template: None, after, title: None };
        request.stages = vec![
            plain(data, vec![1]),
            plain(web, vec![2]),
            Stage {
                template: Some(kept.clone()),
                title: Some("what others import is kept".to_owned()),
                ..plain(data, Vec::new())
            },
        ];
    });
    let done: Vec<_> =
        deployed.unwrap().stacks.into_iter().map(|it| (it.stage, it.outcome)).collect();
    let expected = [(2, Outcome::Created), (1, Outcome::Created), (0, Outcome::Updated)];
    assert_eq!(done, expected);
    let told: Vec<_> = world
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::Deploying { stack, title, .. } => Some(format!("{stack} {title:?}")),
            Event::Deployed { stack, outcome, .. } => Some(format!("{stack} {outcome:?}")),
            _ => None,
        })
        .collect();
    assert_eq!(told[0], r#"Data Some("what others import is kept")"#);
    assert_eq!(told[1], format!("Data {:?}", StackOutcome::Created));
    assert_eq!(told[5], format!("Data {:?}", StackOutcome::Updated));
}

#[test]
fn a_long_template_in_place_of_the_apps_goes_through_the_bucket() {
    let world = world();
    let app = App::new().stack("Web", &template(10)).published("Web");
    let mut long = template(20);
    long["Description"] = "x".repeat(1000).into();
    long["Metadata"] = json!({"Long": "y".repeat(60_000)});
    let long = long.to_string();
    let deploy = |app: &App| {
        world.deploy_as(app, options(), |request| {
            request.stages[0].template = Some(long.clone());
        })
    };
    deploy(&app).unwrap();
    let stack = world.region().describe_stacks(Some("Web"), None).unwrap().items.remove(0);
    assert_eq!(stack.info.status, "CREATE_COMPLETE");
    assert_eq!(world.count("PutObject"), 2);
    let error = failed(deploy(&App::new().stack("Other", &template(1))).unwrap_err());
    assert!(matches!(error, StackError::TooLong { .. }), "{error}");
}

#[test]
fn stages_that_wait_for_each_other_change_nothing() {
    let world = world();
    let app = App::new().stack("A", &template(1)).stack("B", &template(1));
    let error = world
        .deploy_as(&app, options(), |request| {
            request.stages[0].after = vec![1];
            request.stages[1].after = vec![0];
        })
        .unwrap_err();
    assert!(matches!(error, DeployError::Circle(_)), "{error}");
    assert_eq!(world.count("CreateChangeSet"), 0);
}
