//! Journals and those who share them.

use std::path::Path;

use cdkr::run::{Moment, Problem, RunOptions, RunState, runs};

use crate::world::*;

/// Begins a reversal that is killed before its first step.
fn empty_reversal(world: &World, journal: &Path) {
    let before = runs(&world.journals()).unwrap().len();
    world.revert(journal).unwrap();
    let reversal = world.last_journal();
    assert_eq!(runs(&world.journals()).unwrap().len(), before + 1);
    let text = std::fs::read_to_string(&reversal).unwrap();
    let first = text.lines().next().unwrap();
    std::fs::write(&reversal, format!("{first}\n")).unwrap();
}

#[test]
fn a_reversal_that_has_begun_nothing_is_in_nobodys_way() {
    let origin = world();
    let plan = two_stacks(&origin);
    let (killed, _) = killed_at(usize::MAX);
    let done = origin.run_with(&plan, killed).unwrap();
    let journal = done.journal.unwrap();
    let name = journal.file_name().unwrap().to_owned();
    // The journals of the run, finished, and of its reversal, which has only been begun.
    let world = origin.copy();
    empty_reversal(&origin, &journal);
    let reversal = origin.last_journal();
    let target = world.journals().join(reversal.file_name().unwrap());
    std::fs::copy(&reversal, &target).unwrap();
    let original = world.journals().join(&name);
    world.revert(&original).unwrap();
    let listed = runs(&world.journals()).unwrap();
    let states: Vec<_> = listed.iter().map(|run| run.state.clone()).collect();
    assert_eq!(states.len(), 3, "{listed:?}");
    assert!(!states.contains(&RunState::Interrupted), "{listed:?}");
    assert_eq!(world.snapshot().places().values().filter(|it| *it == "A.One").count(), 1);
}

#[test]
fn a_run_goes_on_although_a_reversal_of_it_was_about_to_begin() {
    let world = world();
    let plan = new_and_emptied(&world);
    let hook = |at: Moment, called: &'static str| {
        !(at == Moment::Before && called == "CreateStackRefactor")
    };
    let killed = RunOptions { on_call: Some(std::sync::Arc::new(hook)), ..options() };
    world.run_with(&plan, killed).unwrap_err();
    let journal = world.last_journal();
    let interrupted = world.copy();
    empty_reversal(&world, &journal);
    let reversal = world.last_journal();
    let target = interrupted.journals().join(reversal.file_name().unwrap());
    std::fs::copy(&reversal, &target).unwrap();
    let journal = interrupted.journals().join(journal.file_name().unwrap());
    interrupted.resume(&journal).unwrap();
    let places = interrupted.snapshot().places();
    assert!(places.values().all(|place| place.starts_with("New.")), "{places:?}");
    let error = interrupted.resume(&target).unwrap_err();
    assert!(matches!(*error.problem, Problem::AlreadyReverted), "{error}");
}

#[test]
fn a_journal_that_somebody_is_writing_is_not_cut_off_by_who_has_to_wait() {
    let world = world();
    let plan = two_stacks(&world);
    let (killed, _) = killed_at(12);
    world.run_with(&plan, killed).unwrap_err();
    let journal = world.last_journal();
    let lock = journal.with_file_name(format!("{ACCOUNT}-{REGION}.lock"));
    let held = std::fs::File::open(&lock).unwrap();
    held.lock().unwrap();
    // Half of a line, as it looks while it is being written.
    let mut text = std::fs::read_to_string(&journal).unwrap();
    text.push_str("{\"at\":\"2026");
    std::fs::write(&journal, &text).unwrap();
    for error in [world.revert(&journal).unwrap_err(), world.resume(&journal).unwrap_err()] {
        assert!(matches!(*error.problem, Problem::Locked { .. }), "{error}");
        assert_eq!(std::fs::read_to_string(&journal).unwrap(), text);
    }
    drop(held);
    world.resume(&journal).unwrap();
}
