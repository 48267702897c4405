//! The way back.

use cdkr::local::{TemplateSource, UpdateStack};
use cdkr::plan::Purpose;
use cdkr::run::{Problem, RunState};
use serde_json::json;

use crate::world::*;

#[test]
fn what_was_moved_is_moved_back_and_templates_are_the_same_byte_for_byte() {
    let world = world();
    let plan = two_stacks(&world);
    let before = world.snapshot();
    let done = world.run(&plan).unwrap();
    world.revert(&done.journal.unwrap()).unwrap();
    assert_eq!(world.snapshot(), before);
}

#[test]
fn a_stack_that_the_run_has_created_is_gone_afterwards_and_so_is_the_filler() {
    let world = world();
    let plan = new_and_emptied(&world);
    let before = world.snapshot();
    let done = world.run(&plan).unwrap();
    world.revert(&done.journal.unwrap()).unwrap();
    assert_eq!(world.snapshot(), before);
    assert_eq!(world.status("New"), "-");
}

#[test]
fn a_stack_that_was_deployed_since_is_not_touched() {
    let world = world();
    let plan = two_stacks(&world);
    let done = world.run(&plan).unwrap();
    let update = UpdateStack {
        name: "B".to_owned(),
        template: TemplateSource::body(
            &template(&[("Here", "queue"), ("Arrived", "topic"), ("More", "queue")]).to_string(),
        ),
        ..UpdateStack::default()
    };
    world.region().update_stack(&update).unwrap();
    let before = world.snapshot();
    let error = world.revert(&done.journal.unwrap()).unwrap_err();
    assert!(matches!(&*error.problem, Problem::ChangedSince { stack } if stack == "B"));
    assert!(error.to_string().ends_with("Nothing was changed."), "{error}");
    assert_eq!(world.snapshot(), before);
}

#[test]
fn what_a_stack_was_given_for_the_move_is_taken_away_again() {
    let world = world();
    world.deploy("A", &template(&[("One", "queue"), ("Two", "topic")]));
    world.deploy("B", &template(&[("Here", "queue")]));
    let with = |resources: &[(&str, &str)]| {
        let mut template = template(resources);
        template["Parameters"] = json!({"P": {"Type": "String", "Default": "x"}});
        template["Conditions"] = json!({"Yes": {"Fn::Equals": [{"Ref": "P"}, "x"]}});
        template
    };
    let plan = Script::new(&world)
        .change("B", Purpose::Prepare, &with(&[("Here", "queue"), ("Filler", "filler")]))
        .refactor(
            &[
                ("A", template(&[("One", "queue")])),
                ("B", with(&[("Here", "queue"), ("Filler", "filler"), ("Two", "topic")])),
            ],
            &[("A.Two", "B.Two")],
        )
        .change("B", Purpose::RemoveFiller, &with(&[("Here", "queue"), ("Two", "topic")]))
        .plan();
    let before = world.snapshot();
    let done = world.run(&plan).unwrap();
    assert!(world.template("B").contains("Parameters"));
    let journal = done.journal.unwrap();
    let past = cdkr::run::past(&journal).unwrap();
    assert_eq!(past.moves.len(), 1);
    assert_eq!(past.before["B"], before.stacks["B"].1);
    assert_eq!(past.sent["B"], world.template("B"));
    world.revert(&journal).unwrap();
    assert_eq!(world.snapshot(), before);
}

/// A template in which a policy may be retained.
fn with_policy(policy: Option<&str>, filler: bool) -> serde_json::Value {
    let mut template = template(&[("Stay", "queue")]);
    template["Resources"]["Policy"] = json!({
        "Type": "AWS::IAM::Policy",
        "Properties": {"PolicyName": "p", "Roles": ["r"], "PolicyDocument": {}}
    });
    if let Some(policy) = policy {
        template["Resources"]["Policy"]["DeletionPolicy"] = json!(policy);
    }
    if filler {
        template["Resources"]["Filler"] =
            json!({"Type": "AWS::CloudFormation::WaitConditionHandle"});
    }
    template
}

#[test]
fn what_was_retained_is_released_byte_for_byte() {
    for filler in [true, false] {
        let world = world();
        world.deploy("A", &with_policy(None, !filler));
        let plan = Script::new(&world)
            .retain("A", &["Policy"], &with_policy(Some("Retain"), filler))
            .plan();
        let before = world.snapshot();
        let journal = world.run(&plan).unwrap().journal.unwrap();
        assert!(world.template("A").contains("Retain"));
        let past = cdkr::run::past(&journal).unwrap();
        assert_eq!(past.retained, [cdkr::model::Location::new("A", "Policy")]);
        world.revert(&journal).unwrap();
        assert_eq!(world.snapshot(), before);
    }
}

#[test]
fn a_retention_that_would_change_something_else_is_not_carried_out() {
    let world = world();
    world.deploy("A", &with_policy(None, false));
    let mut other = with_policy(Some("Retain"), true);
    other["Resources"]["Policy"]["Properties"]["PolicyDocument"] = json!({"Statement": []});
    let plan = Script::new(&world).retain("A", &["Policy"], &other).plan();
    let before = world.snapshot();
    let error = world.run(&plan).unwrap_err();
    assert!(matches!(&*error.problem, Problem::UnexpectedChange { .. }), "{error}");
    assert_eq!(world.snapshot(), before);
}

#[test]
fn a_way_back_that_was_planned_anew_counts_as_the_reversal() {
    let world = world();
    let plan = two_stacks(&world);
    let journal = world.run(&plan).unwrap().journal.unwrap();
    let back = Script::new(&world)
        .refactor(
            &[
                ("A", template(&[("One", "queue"), ("Two", "topic"), ("Stay", "bucket")])),
                ("B", template(&[("Here", "queue")])),
            ],
            &[("A.Renamed", "A.One"), ("B.Arrived", "A.Two")],
        )
        .plan();
    let listener = Listener::default();
    world.with(options(), &listener, async |run| run.revert_by(&back, &journal).await).unwrap();
    let state = cdkr::run::runs(&world.journals()).unwrap().remove(0).state;
    assert_eq!(state, RunState::Reverted);
}

#[test]
fn a_run_that_was_undone_is_not_undone_twice() {
    let world = world();
    let plan = two_stacks(&world);
    let done = world.run(&plan).unwrap();
    let journal = done.journal.unwrap();
    world.revert(&journal).unwrap();
    let before = world.snapshot();
    world.revert(&journal).unwrap();
    assert_eq!(world.snapshot(), before);
    assert!(matches!(
        *world.revert(&world.last_journal()).unwrap_err().problem,
        Problem::IsReversal
    ));
}
