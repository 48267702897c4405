//! `cdkr deploy` when the network, the process or CloudFormation fails at a request with an
//! effect: nothing is lost, and what the program says next leads to the end.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;
#[path = "deploy_faults/wire.rs"]
mod wire;
#[path = "deploy_faults/world.rs"]
mod world;

use std::process::Output;

use cdkr::local::Delays;
use program::text;
use wire::{Of, Trap, Trouble};
use world::{DELAYS, State, World, deploy};

/// The exit code of what was interrupted.
const INTERRUPTED: i32 = 130;

/// An app as it was, and what becomes of it if nothing happens.
struct Reference {
    world: World,
    before: State,
    after: State,
    /// The requests with an effect of the deployment.
    effects: Vec<String>,
}

fn reference() -> Reference {
    let world = World::new();
    let before = world.state();
    let undisturbed = world.copy();
    undisturbed.must(&deploy("after"), "undisturbed");
    let (after, effects) = (undisturbed.settled(), undisturbed.wire.effects());
    after.assert_keeps(&before, "undisturbed");
    after.assert_settled("undisturbed");
    Reference { world, before, after, effects }
}

impl Reference {
    /// The requests that move or deploy; what was uploaded before harms nobody.
    fn moments(&self) -> impl Iterator<Item = usize> {
        (1..=self.effects.len()).filter(|at| self.effects[at - 1] != "PutObject")
    }

    /// The first request that lets something be deployed.
    fn first_deployed(&self) -> usize {
        self.effects.iter().position(|effect| effect == "ExecuteChangeSet").unwrap() + 1
    }

    fn trap(&self, at: usize, trouble: Trouble) -> (Trap, String) {
        (effect(at, trouble), format!("{trouble:?} {at} ({})", self.effects[at - 1]))
    }

    fn assert_deployed(&self, world: &World, what: &str) {
        let now = world.settled();
        now.assert_keeps(&self.before, what);
        now.assert_settled(what);
        assert_eq!(now.since(&self.before), self.after.since(&self.before), "{what}");
    }
}

/// Deploys again until nothing is left to do, as the program says.
fn go_on(world: &World, what: &str) {
    let output = world.run(&deploy("after"), None);
    if output.status.success() {
        return;
    }
    let said = text(&output.stderr);
    assert!(said.contains("an earlier run was interrupted"), "{what}: {said}");
    assert!(said.contains("`cdkr resume` continues it"), "{what}: {said}");
    world.must(&["resume"], what);
    world.must(&deploy("after"), what);
}

/// Something that happens at a request with an effect.
fn effect(at: usize, trouble: Trouble) -> Trap {
    Trap { at, trouble, of: Of::Effects }
}

fn said(output: &Output) -> String {
    text(&output.stderr)
}

fn killed_and_deployed(reference: &Reference, moments: impl Iterator<Item = usize>) {
    for at in moments {
        for trouble in [Trouble::KillBefore, Trouble::KillAfter] {
            let world = reference.world.copy();
            let (trap, what) = reference.trap(at, trouble);
            let output = world.run(&deploy("after"), Some(trap));
            assert_eq!(output.status.code(), None, "{what}");
            world.settled().assert_keeps(&reference.before, &what);
            go_on(&world, &what);
            reference.assert_deployed(&world, &what);
        }
    }
}

#[test]
fn killed_at_any_request_it_is_continued_by_deploying_again() {
    let reference = reference();
    killed_and_deployed(&reference, reference.moments());
}

#[test]
fn killed_at_any_request_its_moves_can_be_taken_back() {
    let reference = reference();
    for at in reference.moments().skip(1) {
        let world = reference.world.copy();
        let (trap, what) = reference.trap(at, Trouble::KillBefore);
        world.run(&deploy("after"), Some(trap));
        world.must(&["revert", "--yes"], &what);
        let now = world.settled();
        now.assert_settled(&what);
        now.assert_keeps(&reference.before, &what);
        if at <= reference.first_deployed() {
            let before = &reference.before;
            assert_eq!(now.since(before), before.since(before), "{what}");
        }
        go_on(&world, &what);
        reference.assert_deployed(&world, &what);
    }
}

#[test]
fn interrupted_at_any_request_it_says_how_to_go_on_and_that_works() {
    let reference = reference();
    for at in reference.moments() {
        for trouble in [Trouble::InterruptBefore, Trouble::InterruptAfter] {
            let world = reference.world.copy();
            let (trap, what) = reference.trap(at, trouble);
            let output = world.run(&deploy("after"), Some(trap));
            assert_eq!(output.status.code(), Some(INTERRUPTED), "{what}: {}", said(&output));
            let said = said(&output);
            let resumes = said.contains("`cdkr resume` continues");
            assert!(resumes || said.contains("`cdkr deploy` goes on"), "{what}: {said}");
            world.settled().assert_keeps(&reference.before, &what);
            if resumes {
                world.must(&["resume"], &what);
            }
            world.must(&deploy("after"), &what);
            reference.assert_deployed(&world, &what);
        }
    }
}

#[test]
fn a_connection_that_is_lost_for_a_moment_and_throttling_are_no_reason_to_fail() {
    let reference = reference();
    for at in 1..=reference.effects.len() {
        for trouble in [Trouble::LoseRequest, Trouble::LoseAnswer, Trouble::Throttle(2)] {
            if trouble == Trouble::Throttle(2) && reference.effects[at - 1] == "PutObject" {
                // S3 has other words for it.
                continue;
            }
            let world = reference.world.copy();
            let (trap, what) = reference.trap(at, trouble);
            let output = world.run(&deploy("after"), Some(trap));
            assert!(output.status.success(), "{what}: {}", said(&output));
            reference.assert_deployed(&world, &what);
        }
    }
}

#[test]
fn a_first_deployment_that_is_killed_is_begun_again() {
    let deployed = World::new();
    let (after, effects) = (deployed.settled(), deployed.wire.effects());
    let places = |state: &State| state.things.keys().cloned().collect::<Vec<_>>();
    for at in (1..=effects.len()).filter(|at| effects[at - 1] != "PutObject") {
        for trouble in [
            Trouble::KillBefore,
            Trouble::KillAfter,
            Trouble::InterruptBefore,
            Trouble::LoseRequest,
        ] {
            let world = World::empty();
            let what = format!("first, {trouble:?} {at} ({})", effects[at - 1]);
            let output = world.run(&deploy("before"), Some(effect(at, trouble)));
            assert_eq!(output.status.success(), trouble == Trouble::LoseRequest, "{what}");
            world.must(&deploy("before"), &what);
            let now = world.settled();
            now.assert_settled(&what);
            assert_eq!(places(&now), places(&after), "{what}");
            assert_eq!(now.since(&after).0, after.since(&after).0, "{what}");
        }
    }
}

#[test]
#[ignore = "takes minutes: every request, those that only read included"]
fn killed_at_any_request_of_all_it_is_continued_by_deploying_again() {
    let reference = reference();
    let undisturbed = reference.world.copy();
    undisturbed.must(&deploy("after"), "undisturbed");
    for at in 1..=undisturbed.wire.requests() {
        for trouble in [Trouble::KillBefore, Trouble::KillAfter] {
            let world = reference.world.copy();
            let what = format!("{trouble:?} {at} of all");
            let trap = Trap { at, trouble, of: Of::Requests };
            world.run(&deploy("after"), Some(trap));
            world.settled().assert_keeps(&reference.before, &what);
            go_on(&world, &what);
            reference.assert_deployed(&world, &what);
        }
    }
}

#[test]
#[ignore = "takes minutes: the program is patient"]
fn a_connection_that_is_lost_for_good_leaves_what_can_be_continued() {
    let reference = reference();
    for at in reference.moments() {
        let world = reference.world.copy();
        let (trap, what) = reference.trap(at, Trouble::Down);
        let output = world.run(&deploy("after"), Some(trap));
        assert_eq!(output.status.code(), Some(1), "{what}");
        world.settled().assert_keeps(&reference.before, &what);
        if let Some(command) = suggested(&output) {
            world.must(&command, &what);
        }
        go_on(&world, &what);
        reference.assert_deployed(&world, &what);
    }
}

/// Deploys while a stack fails, so that moves are taken back.
fn failing(world: &World, stack: &str, trap: Option<Trap>) -> Output {
    world.fail(stack, "Version6A868472");
    world.run(&deploy("after"), trap)
}

/// The command that the program says to run next.
fn suggested(output: &Output) -> Option<Vec<String>> {
    let said = said(output);
    let hint = said.lines().find_map(|line| line.strip_prefix("hint: `cdkr "))?;
    Some(hint.split('`').next().unwrap().split(' ').map(str::to_owned).collect())
}

fn reversal_is_resumed(stack: &str) {
    let reference = reference();
    let failed = reference.world.copy();
    let output = failing(&failed, stack, None);
    assert!(said(&output).contains("taken back"), "{}", said(&output));
    let (after, effects) = (failed.settled(), failed.wire.effects());
    after.assert_settled(stack);
    after.assert_keeps(&reference.before, stack);
    let is_refactor = |at: &usize| effects[at - 1].ends_with("StackRefactor");
    // The first four are those of the deployment itself.
    for at in (1..=effects.len()).filter(is_refactor).skip(4) {
        for trouble in [
            Trouble::KillBefore,
            Trouble::KillAfter,
            Trouble::InterruptBefore,
            Trouble::InterruptAfter,
        ] {
            let world = reference.world.copy();
            let what = format!("{stack} fails, {trouble:?} {at} ({})", effects[at - 1]);
            let output = failing(&world, stack, Some(effect(at, trouble)));
            world.settled().assert_keeps(&reference.before, &what);
            match (output.status.code(), suggested(&output)) {
                (None, _) => drop(world.must(&["resume"], &what)),
                (_, Some(command)) => drop(world.must(&command, &what)),
                // It was asked to stop when everything was done.
                (_, None) => assert!(said(&output).contains("taken back"), "{}", said(&output)),
            }
            let now = world.settled();
            now.assert_settled(&what);
            assert_eq!(now.since(&reference.before), after.since(&reference.before), "{what}");
            world.must(&deploy("after"), &what);
            reference.assert_deployed(&world, &what);
        }
    }
}

#[test]
fn a_reversal_of_all_moves_that_is_stopped_is_continued() {
    reversal_is_resumed("Base");
}

#[test]
fn a_reversal_of_some_moves_that_is_stopped_is_continued() {
    reversal_is_resumed("Top");
}

#[test]
fn a_stack_that_cloudformation_still_deploys_is_waited_for() {
    let reference = reference();
    let at = reference.first_deployed();
    for trouble in [Trouble::KillAfter, Trouble::InterruptAfter] {
        let world = reference.world.copy_with(Delays { stack: 1500, ..DELAYS });
        let (trap, what) = reference.trap(at, trouble);
        world.run(&deploy("after"), Some(trap));
        let busy = world.state().stacks["Base"].0.clone();
        assert_eq!(busy, "UPDATE_IN_PROGRESS", "{what}");
        let said = world.must(&deploy("after"), &what);
        assert!(said.contains("waiting for stack Base (UPDATE_IN_PROGRESS)"), "{what}: {said}");
        reference.assert_deployed(&world, &what);
    }
}
