//! Runs that go well.

use cdkr::event::{Event, MoveStatus};
use cdkr::plan::Action;
use cdkr::run::{Problem, RunState, runs};
use serde_json::json;

use crate::world::*;

#[test]
fn a_rename_and_a_move_keep_the_things_that_they_are_about() {
    let world = world();
    let plan = two_stacks(&world);
    let before = world.snapshot();
    let done = world.run(&plan).unwrap();
    let after = world.snapshot();
    assert_eq!(before.markers(), after.markers());
    let mut places: Vec<String> = after.places().into_values().collect();
    places.sort();
    assert_eq!(places, ["A.Renamed", "A.Stay", "B.Arrived", "B.Here"]);
    assert_eq!(done.steps, 1);
    assert!(after.stacks.values().all(|(stable, _)| *stable), "it waits for the stacks");
    let Action::Refactor(batch) = &plan.steps[0].action else { panic!() };
    assert_eq!(after.stacks["A"].1, batch.stacks[0].template);
}

#[test]
fn a_new_stack_is_created_and_an_emptied_one_keeps_its_filler() {
    let world = world();
    let plan = new_and_emptied(&world);
    let before = world.snapshot();
    let done = world.run(&plan).unwrap();
    let after = world.snapshot();
    assert_eq!(before.markers(), after.markers());
    assert!(after.places().values().all(|place| place.starts_with("New.")));
    assert_eq!(world.status("New"), "CREATE_COMPLETE");
    assert!(done.stacks["New"].starts_with("arn:"));
    assert!(after.stacks["Old"].1.contains("Filler"));
}

#[test]
fn a_stack_with_conditions_is_created_by_a_change_set_and_loses_its_filler_afterwards() {
    let world = world();
    let plan = created(&world);
    let before = world.snapshot();
    world.run(&plan).unwrap();
    let after = world.snapshot();
    assert_eq!(before.markers(), after.markers());
    assert!(after.stacks["New"].1.contains("Conditions"));
    assert!(!after.stacks["New"].1.contains("Filler"));
}

#[test]
fn progress_counts_every_move_and_comes_from_the_events_of_the_stacks() {
    let world = world();
    let plan = two_stacks(&world);
    let listener = Listener::default();
    let journals = world.journals();
    world.with(options(), &listener, async |runner| runner.run(&plan, &journals).await).unwrap();
    let events = listener.0.into_inner().unwrap();
    let moving: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Moving { done, of, at, status, destination, .. } => {
                Some((*done, *of, at.is_some(), *status, destination.as_str()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(moving.iter().filter(|each| each.3 == MoveStatus::InProgress).count(), 2);
    assert_eq!(moving.iter().filter(|each| each.3 == MoveStatus::Complete).count(), 2);
    assert_eq!(moving.iter().map(|each| each.0).max(), Some(2));
    assert!(moving.iter().all(|each| each.1 == 2 && each.2), "{moving:?}");
    // Nothing that happened before the refactor is told.
    let created = |event: &Event| matches!(event, Event::Stack { status, .. } if status.starts_with("CREATE_"));
    assert!(!events.iter().any(created), "{events:?}");
}

#[test]
fn a_template_that_is_too_long_for_a_request_goes_through_the_staging_bucket() {
    let world = world();
    // Bytes count, not characters.
    let long = |resources: &[(&str, &str)]| {
        let mut template = template(resources);
        template["Metadata"] = json!({ "Padding": "ä".repeat(30_000) });
        template
    };
    world.deploy("A", &template(&[("One", "queue"), ("Two", "topic")]));
    world.deploy("B", &template(&[("Here", "queue")]));
    let plan = Script::new(&world)
        .refactor(
            &[
                ("A", long(&[("Two", "topic")])),
                ("B", template(&[("Here", "queue"), ("There", "queue")])),
            ],
            &[("A.One", "B.There")],
        )
        .plan();
    world.run(&plan).unwrap();
    let bucket = format!("cdk-hnb659fds-assets-{ACCOUNT}-{REGION}");
    let objects = world.running.cloud().list_objects(&bucket, "cdkr-refactor/A/").unwrap();
    assert_eq!(objects.len(), 1, "{objects:?}");
    assert!(world.template("A").contains("??????"));
    // What the journal keeps of it is the way back.
    world.revert(&world.last_journal()).unwrap();
    assert_eq!(world.snapshot().places().values().filter(|place| *place == "A.One").count(), 1);
}

#[test]
fn runs_are_listed_with_where_they_stand() {
    let world = world();
    assert_eq!(runs(&world.journals()).unwrap(), []);
    let plan = two_stacks(&world);
    let (killed, _) = killed_at(12);
    let error = world.run_with(&plan, killed).unwrap_err();
    assert!(matches!(*error.problem, Problem::Stopped));
    let listed = runs(&world.journals()).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].state, RunState::Interrupted);
    assert_eq!((listed[0].done, listed[0].of, listed[0].moves), (0, 1, 2));
    world.resume(&listed[0].path).unwrap();
    let state = || runs(&world.journals()).unwrap()[0].state.clone();
    assert_eq!(state(), RunState::Finished);
    world.revert(&listed[0].path).unwrap();
    assert_eq!(state(), RunState::Reverted);
    let error = world.resume(&listed[0].path).unwrap_err();
    assert!(matches!(*error.problem, Problem::AlreadyReverted));
    std::fs::write(world.journals().join("zzz.jsonl"), "not a journal\n").unwrap();
    let odd = runs(&world.journals()).unwrap().remove(0);
    assert!(matches!(odd.state, RunState::Unreadable(_)));
}

#[test]
fn a_finished_run_is_resumed_by_doing_nothing() {
    let world = world();
    let plan = two_stacks(&world);
    let done = world.run(&plan).unwrap();
    let count = world.running.requests().len();
    let again = world.resume(&done.journal.unwrap()).unwrap();
    assert_eq!(again.steps, 1);
    assert_eq!(world.running.requests().len(), count);
}
