//! Nested stacks: what happens in them is told, and what fails in them is named.

use std::sync::Mutex;

use cdkr::aws::ChangeSetChange;
use cdkr::deploy::StackError;
use cdkr::event::Event;
use serde_json::json;

use super::world::{App, options, queue, template, world};
use super::{fail_in, failed, outcomes};

fn app(delay: u32) -> App {
    let url = format!(
        "https://cdk-assets-111111111111-us-east-1.s3.us-east-1.amazonaws.com/Inner{delay}.json"
    );
    let parent = json!({"Resources": {
        "Own": queue(&json!({})),
        "Inner": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": url}},
    }});
    App::new().stack("Web", &parent).nested(&format!("Inner{delay}"), &template(delay))
}

fn told(events: &[Event], nested: bool) -> Vec<(String, String)> {
    let each = events.iter().filter_map(|event| match event {
        Event::Stack { stack, logical_id, status, .. }
            if (stack.as_str() == "Web/Inner") == nested =>
        {
            Some((logical_id.clone(), status.clone()))
        }
        _ => None,
    });
    each.collect()
}

#[test]
fn what_happens_in_a_nested_stack_is_told_once_and_from_its_beginning() {
    let world = world();
    outcomes(&world, &app(10));
    let count = |id: &str, status: &str| {
        let pair = (id.to_owned(), status.to_owned());
        told(&world.events(), true).iter().filter(|event| **event == pair).count()
    };
    assert_eq!(count("Queue", "CREATE_COMPLETE"), 1, "{:?}", told(&world.events(), true));
    world.forget();
    outcomes(&world, &app(20));
    assert_eq!(count("Queue", "UPDATE_COMPLETE"), 1, "{:?}", told(&world.events(), true));
    assert_eq!(count("Queue", "CREATE_COMPLETE"), 0);
}

#[test]
fn what_fails_in_a_nested_stack_is_the_cause_and_not_that_the_nested_stack_failed() {
    for first in [None, Some(app(10))] {
        let world = world();
        if let Some(first) = &first {
            outcomes(&world, first);
        }
        fail_in(&world, None, "Queue");
        match failed(world.deploy(&app(20), options()).unwrap_err()) {
            StackError::Failed { failures, .. } => {
                let found: Vec<_> = failures
                    .iter()
                    .map(|it| format!("{}/{}: {}", it.stack, it.logical_id, it.reason))
                    .collect();
                assert_eq!(found.len(), 1, "{found:?}");
                assert!(found[0].starts_with("Web/Inner/Queue: "), "{found:?}");
                assert!(found[0].contains("Out of queues"), "{found:?}");
            }
            other => panic!("{other}"),
        }
    }
}

/// What the judge of one test has seen: a judge outlives the request that knows it.
static SEEN: Mutex<Vec<ChangeSetChange>> = Mutex::new(Vec::new());

#[test]
fn whoever_judges_sees_what_would_happen_in_a_nested_stack() {
    let world = world();
    outcomes(&world, &app(10));
    let error = world
        .deploy_as(&app(20), options(), |request| {
            request.judge = Some(&|_, changes| {
                *SEEN.lock().unwrap() = changes.to_vec();
                Err(vec!["no".to_owned()])
            });
        })
        .unwrap_err();
    assert!(matches!(failed(error), StackError::Stopped { .. }));
    let seen: Vec<_> = SEEN
        .lock()
        .unwrap()
        .iter()
        .map(|change| format!("{} {} {}", change.action, change.logical_id, change.replacement))
        .collect();
    assert_eq!(seen, ["Modify Inner False", "Modify Inner/Queue False"]);
    for stack in world.region().describe_stacks(None, None).unwrap().items {
        let sets = world.region().list_change_sets(&stack.info.name, None).unwrap().items;
        assert!(sets.iter().all(|set| set.execution_status == "EXECUTE_COMPLETE"), "{sets:?}");
    }
}

#[test]
fn whoever_judges_is_told_if_nobody_can_look_into_a_nested_stack() {
    let world = world();
    outcomes(&world, &app(10));
    let broken = json!({"Resources": {"Queue": queue(&json!({"DelaySeconds": {"Ref": "No"}}))}});
    let broken = app(20).nested("Inner20", &broken);
    let error = world.deploy_as(&broken, options(), |request| {
        request.judge = Some(&|_, changes| {
            let not_looked_into = changes.iter().filter(|it| it.change_set_id.is_none());
            Err(not_looked_into.map(|change| change.logical_id.clone()).collect())
        });
    });
    match failed(error.unwrap_err()) {
        StackError::Stopped { reasons, .. } => assert_eq!(reasons, ["Inner"]),
        other => panic!("{other}"),
    }
    let told = |event: &Event| matches!(event, Event::Note { text } if text.contains("beforehand"));
    assert!(world.events().iter().any(told), "{:?}", world.events());
    assert_eq!(world.count("ExecuteChangeSet"), 1);
}
