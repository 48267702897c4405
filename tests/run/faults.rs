//! Runs that do not go well.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cdkr::local::server::{WireFault, WireFaultKind, WireFaults};
use cdkr::local::{
    ChangeSetType, CreateChangeSet, Faults, RefactorFault, ResourceFault, TemplateSource,
    UpdateStack,
};
use cdkr::plan::{Action, Plan};
use cdkr::run::{Moment, Problem, RunError, RunOptions};

use crate::world::*;

fn arm(world: &World, fault: RefactorFault) {
    let faults = Faults { refactors: vec![fault], ..Faults::default() };
    world.region().arm(&faults).unwrap();
}

fn failing(fault: RefactorFault) -> (World, Plan, RunError, Snapshot) {
    let world = world();
    let plan = new_and_emptied(&world);
    let before = world.snapshot();
    arm(&world, fault);
    let error = world.run(&plan).unwrap_err();
    (world, plan, error, before)
}

const REASON: &str = "Stack Refactor does not support AWS::SNS::Topic because the resource type \
                      does not allow tag updates after creation.";

#[test]
fn a_refused_preview_names_the_resource_and_leaves_no_shell_behind() {
    let (world, _, error, before) = failing(RefactorFault::CreateFailed(REASON.to_owned()));
    let Problem::Refused(reason) = &*error.problem else { panic!("{error}") };
    assert!(reason.is_about_type);
    assert_eq!(reason.resource_type.as_deref(), Some("AWS::SNS::Topic"));
    assert_eq!((reason.stack.as_deref(), reason.resource.as_deref()), (Some("Old"), Some("Two")));
    assert!(error.to_string().contains(REASON.trim_end_matches('.')), "{error}");
    assert!(error.to_string().contains("1 of 2 steps are done"), "{error}");
    assert_eq!(world.status("New"), "-");
    assert_eq!(world.snapshot().things, before.things);
    // It can be tried again, and it can be undone.
    world.revert(&world.last_journal()).unwrap();
    assert_eq!(world.snapshot(), before);
}

#[test]
fn a_run_that_failed_goes_on_when_the_cause_has_gone() {
    let (world, _, _, _) = failing(RefactorFault::CreateFailed("Something.".to_owned()));
    world.resume(&world.last_journal()).unwrap();
    assert!(world.snapshot().places().values().all(|place| place.starts_with("New.")));
}

#[test]
fn a_refactor_that_rolls_back_leaves_everything_as_it_was() {
    let (world, _, error, before) = failing(RefactorFault::RollbackComplete("No.".to_owned()));
    assert!(matches!(&*error.problem, Problem::Undone(reason) if reason.text == "No."));
    assert_eq!(world.snapshot().things, before.things);
    assert_eq!(world.status("New"), "-", "the empty stack is swept up");
    world.resume(&world.last_journal()).unwrap();
    assert!(world.snapshot().places().values().all(|place| place.starts_with("New.")));
}

#[test]
fn a_rollback_that_fails_says_which_stacks_have_to_be_repaired() {
    let (_, _, error, _) = failing(RefactorFault::RollbackFailed("No.".to_owned()));
    let Problem::Broken { stacks, .. } = &*error.problem else { panic!("{error}") };
    let shown: Vec<String> =
        stacks.iter().map(|(name, status)| format!("{name} {status}")).collect();
    assert_eq!(shown, ["New ROLLBACK_FAILED", "Old UPDATE_ROLLBACK_FAILED"]);
    assert!(error.hint().contains("continue-update-rollback"), "{}", error.hint());
    assert!(!error.to_string().contains("Nothing was changed"), "{error}");
}

#[test]
fn an_execution_that_fails_without_a_rollback_is_not_waited_for_forever() {
    let (_, _, error, _) = failing(RefactorFault::ExecuteFailed("No.".to_owned()));
    let Problem::Broken { stacks, .. } = &*error.problem else { panic!("{error}") };
    assert_eq!(stacks.len(), 2);
}

#[test]
fn a_stale_preview_is_made_again_if_nothing_has_changed() {
    let world = world();
    let plan = new_and_emptied(&world);
    arm(&world, RefactorFault::Obsolete);
    world.run(&plan).unwrap();
    assert!(world.snapshot().places().values().all(|place| place.starts_with("New.")));
}

#[test]
fn a_preview_that_goes_stale_again_and_again_is_given_up() {
    let world = world();
    let plan = two_stacks(&world);
    let before = world.snapshot();
    let refactors = vec![RefactorFault::Obsolete; 5];
    world.region().arm(&Faults { refactors, ..Faults::default() }).unwrap();
    let error = world.run(&plan).unwrap_err();
    assert!(matches!(*error.problem, Problem::Obsolete { attempts: 3, .. }), "{error}");
    assert_eq!(world.snapshot(), before);
}

/// Does something to the world right before a call is made for the first time.
fn before_call(
    world: &World,
    operation: &'static str,
    act: impl Fn(&cdkr::local::Region<'_>) + Send + Sync + 'static,
) -> RunOptions {
    let cloud = world.running.cloud().clone();
    let done = Mutex::new(false);
    let hook = move |at: Moment, called: &'static str| {
        let mut done = done.lock().unwrap();
        if at == Moment::Before && called == operation && !*done {
            *done = true;
            act(&cloud.region(&cdkr::model::Environment::new(ACCOUNT, REGION)));
        }
        true
    };
    RunOptions { on_call: Some(Arc::new(hook)), ..options() }
}

fn update_b(region: &cdkr::local::Region<'_>) {
    let body = template(&[("Here", "queue"), ("More", "bucket")]).to_string();
    let update = UpdateStack {
        name: "B".to_owned(),
        template: TemplateSource::body(&body),
        ..UpdateStack::default()
    };
    region.update_stack(&update).unwrap();
}

#[test]
fn a_stack_that_somebody_changes_between_preview_and_execution_is_not_touched() {
    let world = world();
    let plan = two_stacks(&world);
    let options = before_call(&world, "ExecuteStackRefactor", update_b);
    let error = world.run_with(&plan, options).unwrap_err();
    assert!(matches!(&*error.problem, Problem::Changed { stack } if stack == "B"), "{error}");
    let places = world.snapshot().places();
    assert!(places.values().any(|place| place == "A.One"), "{places:?}");
    assert!(places.values().any(|place| place == "B.More"), "{places:?}");
}

#[test]
fn a_stack_that_was_changed_since_the_plan_stops_the_run_before_anything_is_written() {
    let world = world();
    let plan = two_stacks(&world);
    update_b(&world.region());
    let error = world.run(&plan).unwrap_err();
    assert!(matches!(&*error.problem, Problem::Changed { stack } if stack == "B"));
    assert_eq!(error.journal, None);
    assert!(
        error.to_string().contains("`B`") && error.to_string().ends_with("Nothing was changed.")
    );
    let asked = world.running.requests();
    assert!(!asked.iter().any(|request| request.action == "CreateStackRefactor"));
}

#[test]
fn a_name_that_was_taken_since_the_plan_stops_the_run() {
    let world = world();
    let plan = new_and_emptied(&world);
    world.deploy("New", &template(&[("X", "queue")]));
    let error = world.run(&plan).unwrap_err();
    assert!(matches!(&*error.problem, Problem::NameTaken { stack, .. } if stack == "New"));
    assert_eq!(world.status("New"), "CREATE_COMPLETE");
}

#[test]
fn a_shell_that_somebody_else_has_made_in_between_is_not_swept_up() {
    let world = world();
    let plan = new_and_emptied(&world);
    let options = before_call(&world, "CreateStackRefactor", |region| {
        let update = UpdateStack {
            name: "New".to_owned(),
            template: TemplateSource::body(&template(&[("X", "queue")]).to_string()),
            ..UpdateStack::default()
        };
        let request = CreateChangeSet {
            name: "theirs".to_owned(),
            kind: ChangeSetType::Create,
            update,
            description: None,
        };
        region.create_change_set(&request).unwrap();
    });
    let error = world.run_with(&plan, options).unwrap_err();
    assert!(matches!(&*error.problem, Problem::Refused(_)), "{error}");
    assert_eq!(world.region().list_change_sets("New", None).unwrap().items.len(), 1);
    let error = world.resume(&world.last_journal()).unwrap_err();
    assert!(matches!(&*error.problem, Problem::NameTaken { .. }), "{error}");
}

#[test]
fn a_stack_that_got_something_before_it_was_to_be_deleted_is_kept() {
    let world = world();
    let plan = new_and_emptied(&world);
    let journal = world.run(&plan).unwrap().journal.unwrap();
    // Killed right before the deletion; then somebody deploys to the stack.
    let hook = |_: Moment, called: &'static str| called != "DeleteStack";
    let killed = RunOptions { on_call: Some(Arc::new(hook)), ..options() };
    let listener = Listener::default();
    let error = world.with(killed, &listener, async |runner| runner.revert(&journal).await);
    assert!(matches!(*error.unwrap_err().problem, Problem::Stopped));
    let update = UpdateStack {
        name: "New".to_owned(),
        template: TemplateSource::body(&template(&[("Theirs", "queue")]).to_string()),
        ..UpdateStack::default()
    };
    world.region().update_stack(&update).unwrap();
    let error = world.revert(&journal).unwrap_err();
    let Problem::NotEmpty { resources, .. } = &*error.problem else { panic!("{error}") };
    assert_eq!(resources, &["Theirs"]);
    assert!(world.snapshot().places().values().any(|place| place == "New.Theirs"));
}

#[test]
fn a_plan_that_hides_a_move_is_stopped_by_the_preview() {
    let world = world();
    let mut plan = two_stacks(&world);
    // The templates say more than the list of moves: `Two` keeps its name, so that
    // CloudFormation detects the move by itself.
    world.deploy("C", &template(&[("Here", "queue"), ("Other", "topic")]));
    plan.steps = Script::new(&world)
        .refactor(
            &[
                ("A", template(&[("One", "queue"), ("Stay", "bucket")])),
                ("C", template(&[("Here", "queue"), ("Renamed", "topic"), ("Two", "topic")])),
            ],
            &[("C.Other", "C.Renamed")],
        )
        .plan()
        .steps;
    let before = world.snapshot();
    let error = world.run(&plan).unwrap_err();
    let Problem::Unasked { differences } = &*error.problem else { panic!("{error}") };
    assert_eq!(differences, &["it would move A.Two to C.Two, which nobody asked for"]);
    assert_eq!(world.snapshot(), before);
}

#[test]
fn throttling_is_waited_out() {
    let world = world();
    let plan = new_and_emptied(&world);
    world.region().arm(&Faults { throttle: 5, ..Faults::default() }).unwrap();
    let hooked = before_call(&world, "CreateStackRefactor", |region| {
        region.arm(&Faults { throttle: 3, ..Faults::default() }).unwrap();
    });
    world.run_with(&plan, hooked).unwrap();
}

#[test]
fn a_lost_request_is_made_again_and_a_lost_answer_is_found_again() {
    let effects = [
        "CreateStackRefactor",
        "ExecuteStackRefactor",
        "CreateChangeSet",
        "ExecuteChangeSet",
        "DeleteStack",
    ];
    for kind in [WireFaultKind::DropBefore, WireFaultKind::DropAfter, WireFaultKind::MalformedXml] {
        let world = world();
        let plan = new_and_emptied(&world);
        let before = world.snapshot();
        let all = || WireFaults {
            latency_ms: 0,
            faults: effects
                .iter()
                .map(|action| WireFault { kind, action: Some((*action).to_owned()), times: 1 })
                .collect(),
        };
        world.running.arm_wire(all());
        let done = world.run(&plan).unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        assert!(world.snapshot().places().values().all(|place| place.starts_with("New.")));
        assert_eq!(world.snapshot().markers(), before.markers());
        world.running.arm_wire(all());
        let reverted = world.revert(&done.journal.unwrap());
        reverted.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        assert_eq!(world.snapshot(), before);
    }
}

#[test]
fn a_stack_that_cannot_be_filled_is_left_as_it_was() {
    let world = world();
    let plan = new_and_emptied(&world);
    let before = world.snapshot();
    let resources = vec![ResourceFault {
        stack: Some("Old".to_owned()),
        logical_id: Some("Filler".to_owned()),
        message: "out of fillers".to_owned(),
        ..ResourceFault::default()
    }];
    world.region().arm(&Faults { resources, ..Faults::default() }).unwrap();
    let error = world.run(&plan).unwrap_err();
    let Problem::ChangeFailed { stack, reasons, .. } = &*error.problem else { panic!("{error}") };
    assert_eq!(stack, "Old");
    assert!(reasons.iter().any(|reason| reason.contains("out of fillers")), "{reasons:?}");
    assert_eq!(world.snapshot(), before);
}

#[test]
fn a_change_set_that_would_do_more_than_fill_is_not_executed() {
    let world = world();
    let mut plan = new_and_emptied(&world);
    let more = template(&[("One", "queue"), ("Filler", "filler")]).to_string();
    let Action::Change(change) = &mut plan.steps[0].action else { panic!() };
    change.template = more;
    plan.steps.truncate(1);
    let before = world.snapshot();
    let error = world.run(&plan).unwrap_err();
    let Problem::UnexpectedChange { differences, .. } = &*error.problem else { panic!("{error}") };
    assert_eq!(differences, &["it would remove Two (AWS::SNS::Topic)"]);
    assert_eq!(world.snapshot(), before);
    assert!(world.region().list_change_sets("Old", None).unwrap().items.is_empty());
}

#[test]
fn two_runs_of_one_project_do_not_interleave() {
    let world = world();
    let plan = two_stacks(&world);
    let journals = world.journals();
    let inner = Arc::new(Mutex::new(None));
    let (seen, url) = (Arc::clone(&inner), world.running.url().to_owned());
    let (plan_again, journals_again) = (plan.clone(), journals.clone());
    let options = before_call(&world, "CreateStackRefactor", move |_| {
        let (plan, journals, url) = (plan_again.clone(), journals_again.clone(), url.clone());
        let second = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let identity = cdkr::aws::Identity::Anyone(ACCOUNT.to_owned());
                let endpoint = Some(cdkr::aws::Endpoint { url, identity });
                let access = cdkr::aws::Access { endpoint, ..cdkr::aws::Access::default() };
                let aws = cdkr::aws::Aws::connect(access).await;
                let listener = Listener::default();
                let roles = cdkr::aws::Roles::default();
                let runner = cdkr::run::Runner::new(&aws, roles, &listener, options());
                runner.run(&plan, &journals).await.unwrap_err()
            })
        });
        *seen.lock().unwrap() = Some(second.join().unwrap());
    });
    world.run_with(&plan, options).unwrap();
    let error = inner.lock().unwrap().take().unwrap();
    let Problem::Locked { process, .. } = &*error.problem else { panic!("{error}") };
    assert_eq!(*process, std::process::id());
}

#[test]
fn a_run_that_is_asked_to_stop_says_what_goes_on_and_can_be_continued() {
    let delays = cdkr::local::Delays { refactor_execute: 300, ..cdkr::local::Delays::default() };
    let world = world_with(delays);
    let plan = two_stacks(&world);
    let (stop, asked) = tokio::sync::watch::channel(false);
    let hook = move |at: Moment, called: &'static str| {
        if at == Moment::After && called == "ExecuteStackRefactor" {
            stop.send(true).unwrap();
        }
        true
    };
    let options = RunOptions { on_call: Some(Arc::new(hook)), cancel: Some(asked), ..options() };
    let error = world.run_with(&plan, options).unwrap_err();
    assert!(error.is_cancelled());
    assert!(error.to_string().contains("still going on at AWS: stack refactor "), "{error}");
    assert!(error.to_string().contains("A, B"), "{error}");
    assert!(error.hint().contains("cdkr resume"), "{}", error.hint());
    world.resume(&world.last_journal()).unwrap();
    let places = world.snapshot().places();
    assert!(places.values().any(|place| place == "B.Arrived"), "{places:?}");
}

#[test]
fn what_takes_too_long_is_left_running_and_can_be_continued() {
    let delays = cdkr::local::Delays { refactor_execute: 200, ..cdkr::local::Delays::default() };
    let world = world_with(delays);
    let plan = two_stacks(&world);
    let options = RunOptions { limit: Duration::from_millis(20), ..options() };
    let error = world.run_with(&plan, options).unwrap_err();
    assert!(matches!(*error.problem, Problem::TimedOut { .. }), "{error}");
    world.resume(&world.last_journal()).unwrap();
}

#[test]
fn a_missing_bucket_stops_the_run_before_anything_starts() {
    let world = world();
    let mut plan = two_stacks(&world);
    let Action::Refactor(batch) = &mut plan.steps[0].action else { panic!() };
    batch.stacks[0].template.push_str(&" ".repeat(52_000));
    let faults = vec![WireFault {
        kind: WireFaultKind::AccessDenied,
        action: Some("HeadBucket".to_owned()),
        times: 100,
    }];
    world.running.arm_wire(WireFaults { latency_ms: 0, faults });
    let error = world.run(&plan).unwrap_err();
    let Problem::NoBucket { stack, bucket, .. } = &*error.problem else { panic!("{error}") };
    assert_eq!((stack.as_str(), error.journal.is_none()), ("A", true));
    assert!(bucket.starts_with("cdk-hnb659fds-assets-"));
    assert!(error.hint().contains("cdk bootstrap"));
}
