//! The way back.

use cdkr::local::{TemplateSource, UpdateStack};
use cdkr::run::Problem;

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
