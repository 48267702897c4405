//! A run that is killed before and after any of its requests is continued, and undone, and
//! nothing is lost or done twice.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use cdkr::local::Delays;
use cdkr::plan::{Plan, Purpose};
use cdkr::run::Problem;

use crate::world::*;

/// Seven stacks in three batches: one is new, one is emptied.
fn seven(world: &World) -> Plan {
    for name in ["S1", "S2", "S3", "S4", "S5"] {
        world.deploy(name, &template(&[("One", "queue"), ("Two", "topic")]));
    }
    world.deploy("Emptied", &template(&[("Last", "bucket")]));
    seven_plan(world)
}

fn seven_plan(world: &World) -> Plan {
    Script::new(world)
        .change("Emptied", Purpose::Fill, &template(&[("Last", "bucket"), ("F", "filler")]))
        .refactor(
            &[
                ("Emptied", template(&[("F", "filler")])),
                ("New", template(&[("Last", "bucket"), ("Queue", "queue")])),
                ("S1", template(&[("Two", "topic")])),
            ],
            &[("Emptied.Last", "New.Last"), ("S1.One", "New.Queue")],
        )
        .refactor(
            &[
                ("S1", template(&[("Two", "topic"), ("FromTwo", "queue")])),
                ("S2", template(&[("Two", "topic"), ("FromThree", "queue")])),
                ("S3", template(&[("Two", "topic"), ("FromFour", "queue")])),
                ("S4", template(&[("Two", "topic"), ("FromFive", "queue")])),
                ("S5", template(&[("Two", "topic")])),
            ],
            &[
                ("S2.One", "S1.FromTwo"),
                ("S3.One", "S2.FromThree"),
                ("S4.One", "S3.FromFour"),
                ("S5.One", "S4.FromFive"),
            ],
        )
        .refactor(
            &[
                ("New", template(&[("Last", "bucket"), ("Queue", "queue"), ("Two", "topic")])),
                ("S1", template(&[("FromTwo", "queue")])),
                ("S5", template(&[("Renamed", "topic")])),
            ],
            &[("S1.Two", "New.Two"), ("S5.Two", "S5.Renamed")],
        )
        .plan()
}

/// What a world looks like before and after a plan, and the calls of a run and of its reversal.
struct Reference {
    plan: Plan,
    /// The directory of the world as it is before.
    origin: World,
    before: Snapshot,
    after: Snapshot,
    run: Vec<String>,
    revert: Vec<String>,
}

/// Carries out the plan in one go, and undoes it.
fn reference(plan: impl Fn(&World) -> Plan) -> Reference {
    let origin = world_with(Delays { refactor_settle: 6, ..Delays::default() });
    let plan = plan(&origin);
    let world = origin.copy();
    let before = world.snapshot();
    let (options, run) = killed_at(usize::MAX);
    let done = world.run_with(&plan, options).unwrap();
    let after = world.snapshot();
    assert_eq!(after.markers(), before.markers());
    let (options, revert) = killed_at(usize::MAX);
    let journal = done.journal.unwrap();
    let listener = Listener::default();
    world.with(options, &listener, async |runner| runner.revert(&journal).await).unwrap();
    assert_eq!(world.snapshot(), before);
    let names = |moments: Arc<Mutex<Vec<String>>>| moments.lock().unwrap().clone();
    Reference { plan, origin, before, after, run: names(run), revert: names(revert) }
}

/// The moments that differ in what is on the disk or at AWS: around each call with an effect.
/// Between two calls that only read nothing is written.
fn distinct(calls: &[String]) -> Vec<usize> {
    let has_effect = |call: &String| {
        ["Create", "Execute", "Delete", "Put"]
            .iter()
            .any(|verb| call.split(' ').nth(1).is_some_and(|operation| operation.starts_with(verb)))
    };
    let near = |at: usize| (at.saturating_sub(1)..=at).any(|each| has_effect(&calls[each]));
    (0..calls.len()).filter(|at| near(*at)).map(|at| at + 1).collect()
}

/// Runs the plan and is killed; returns the journal, if there is one.
fn killed(world: &World, plan: &Plan, moment: usize) -> Option<PathBuf> {
    let (options, moments) = killed_at(moment);
    match world.run_with(plan, options) {
        Ok(done) => done.journal,
        Err(error) => {
            let last = moments.lock().unwrap().last().cloned();
            assert!(matches!(*error.problem, Problem::Stopped), "{last:?}: {error}");
            error.journal
        }
    }
}

fn revert_killed(world: &World, journal: &Path, moment: usize) {
    let (options, _) = killed_at(moment);
    let listener = Listener::default();
    let result = world.with(options, &listener, async |runner| runner.revert(journal).await);
    match result {
        Ok(_) => return,
        Err(error) => assert!(matches!(*error.problem, Problem::Stopped), "{moment}: {error}"),
    }
    world.revert(journal).unwrap_or_else(|error| panic!("reversal killed at {moment}: {error}"));
}

fn resumed(reference: &Reference, moments: &[usize]) {
    for &moment in moments {
        let (world, plan) = (reference.origin.copy(), &reference.plan);
        match killed(&world, plan, moment) {
            Some(journal) => {
                let resumed = world.resume(&journal);
                resumed.unwrap_or_else(|error| panic!("killed at {moment}: {error}"));
            }
            // Killed before anything was done: it is begun anew.
            None => drop(world.run(plan).unwrap()),
        }
        assert_eq!(world.snapshot(), reference.after, "killed at {moment}");
    }
}

fn reverted(reference: &Reference, moments: &[usize]) {
    for &moment in moments {
        let (world, plan) = (reference.origin.copy(), &reference.plan);
        let Some(journal) = killed(&world, plan, moment) else { continue };
        let reverted = world.revert(&journal);
        reverted.unwrap_or_else(|error| panic!("killed at {moment}: {error}"));
        assert_eq!(world.snapshot(), reference.before, "killed at {moment}");
    }
}

fn reverts_resumed(reference: &Reference, moments: &[usize]) {
    let world = reference.origin.copy();
    let journal = world.run(&reference.plan).unwrap().journal.unwrap();
    for &moment in moments {
        let world = world.copy();
        let journal = world.journals().join(journal.file_name().unwrap());
        revert_killed(&world, &journal, moment);
        assert_eq!(world.snapshot(), reference.before, "reversal killed at {moment}");
    }
}

#[test]
fn a_run_killed_around_any_call_with_an_effect_is_continued() {
    let reference = reference(seven);
    resumed(&reference, &distinct(&reference.run));
}

#[test]
fn a_run_killed_around_any_call_with_an_effect_is_undone() {
    let reference = reference(seven);
    reverted(&reference, &distinct(&reference.run));
}

#[test]
fn a_reversal_killed_around_any_call_with_an_effect_is_continued() {
    let reference = reference(seven);
    reverts_resumed(&reference, &distinct(&reference.revert));
}

#[test]
fn a_run_that_creates_a_stack_by_a_change_set_is_continued_and_undone_too() {
    let reference = reference(created);
    let moments = distinct(&reference.run);
    resumed(&reference, &moments);
    reverted(&reference, &moments);
    reverts_resumed(&reference, &distinct(&reference.revert));
}

#[test]
#[ignore = "takes minutes: every call, those that only read included"]
fn runs_and_reversals_killed_around_any_call_are_continued_and_undone() {
    let reference = reference(seven);
    let all = |calls: &[String]| (1..=calls.len() + 1).collect::<Vec<_>>();
    resumed(&reference, &all(&reference.run));
    reverted(&reference, &all(&reference.run));
    reverts_resumed(&reference, &all(&reference.revert));
}
