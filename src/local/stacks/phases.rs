//! The phases of an operation of a stack, each of which happens when its time has come.

use super::engine::{Engine, Stop};
use super::{bury, find, nested, save, teardown};
use crate::local::error::Answer;
use crate::local::events::set_status;
use crate::local::exports::Index;
use crate::local::faults::Faults;
use crate::local::record::{Input, Leaving, Operation, Stack};
use crate::local::state::{Task, Tx};
use crate::local::{change_set, events};

/// Carries out the phase that a stack waits for.
pub(crate) fn step(tx: &mut Tx<'_>, id: &str) -> Answer<()> {
    let Some(mut stack) = find(tx, id)? else { return Ok(()) };
    match stack.operation.take() {
        None => Ok(()),
        Some(Operation::Create(input)) => create(tx, stack, *input),
        Some(Operation::RollbackCreate) => rollback_create(tx, stack),
        Some(Operation::Update(input)) => update(tx, stack, *input),
        Some(Operation::Cleanup(leaving)) => cleanup(tx, stack, &leaving),
        Some(Operation::RollbackUpdate) => {
            let status = "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS";
            set_status(tx, &mut stack, status, None)?;
            let delay = tx.cloud.options.delays.cleanup;
            wait(tx, stack, Operation::RollbackCleanup, delay)
        }
        Some(Operation::RollbackCleanup) => finish(tx, stack, "UPDATE_ROLLBACK_COMPLETE", None),
        Some(Operation::Delete { retain, before }) => delete(tx, stack, &retain, &before),
    }
}

/// Lets a stack wait for its next phase.
pub(crate) fn wait(
    tx: &mut Tx<'_>,
    mut stack: Stack,
    next: Operation,
    delay_ms: u64,
) -> Answer<()> {
    stack.operation = Some(next);
    tx.schedule(delay_ms, Task::Stack(stack.info.id.clone()))?;
    save(tx, &stack)
}

fn finish(tx: &mut Tx<'_>, mut stack: Stack, status: &str, reason: Option<String>) -> Answer<()> {
    set_status(tx, &mut stack, status, reason)?;
    save(tx, &stack)
}

fn create(tx: &mut Tx<'_>, mut stack: Stack, input: Input) -> Answer<()> {
    let mut engine = Engine::new(tx, false)?;
    let result = engine.converge(&mut stack, &input);
    let told = std::mem::take(&mut engine.events);
    events::record(tx, told)?;
    let disable_rollback = input.disable_rollback;
    stack.input = input;
    match result {
        Ok(()) => {
            change_set::executed(tx, &stack, true)?;
            finish(tx, stack, "CREATE_COMPLETE", None)
        }
        Err(Stop::Service(error)) => Err(error),
        Err(Stop::Failed(failure)) => {
            change_set::executed(tx, &stack, false)?;
            if disable_rollback {
                return finish(tx, stack, "CREATE_FAILED", Some(failure.reason));
            }
            let reason = format!("{}Rollback requested by user.", spaced(&failure.reason));
            set_status(tx, &mut stack, "ROLLBACK_IN_PROGRESS", Some(reason))?;
            let delay = tx.cloud.options.delays.stack;
            wait(tx, stack, Operation::RollbackCreate, delay)
        }
    }
}

/// A reason that another sentence can follow.
fn spaced(reason: &str) -> String {
    if reason.ends_with(' ') { reason.to_owned() } else { format!("{reason}. ") }
}

fn rollback_create(tx: &mut Tx<'_>, mut stack: Stack) -> Answer<()> {
    for resource in stack.resources.values_mut() {
        // This policy retains only what was not created just now.
        let policy = &mut resource.attributes.deletion_policy;
        if policy.as_deref() == Some("RetainExceptOnCreate") {
            *policy = None;
        }
    }
    let failed = nested::empty(tx, &mut stack, &[])?;
    stack.info.outputs.clear();
    stack.imports.clear();
    if failed.is_empty() {
        return finish(tx, stack, "ROLLBACK_COMPLETE", None);
    }
    let reason = failed_to_delete(&failed);
    finish(tx, stack, "ROLLBACK_FAILED", Some(reason))
}

fn failed_to_delete(failed: &[(String, String)]) -> String {
    let list = failed.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>().join(", ");
    format!("The following resource(s) failed to delete: [{list}]. ")
}

fn update(tx: &mut Tx<'_>, stack: Stack, input: Input) -> Answer<()> {
    let savepoint = tx.savepoint();
    let mut changed = stack.clone();
    let mut engine = Engine::new(tx, false)?;
    let result = engine.converge(&mut changed, &input);
    let told = std::mem::take(&mut engine.events);
    let leaving = std::mem::take(&mut engine.leaving);
    match result {
        Err(Stop::Service(error)) => Err(error),
        Ok(()) => {
            events::record(tx, told)?;
            changed.input = input;
            change_set::executed(tx, &changed, true)?;
            set_status(tx, &mut changed, "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", None)?;
            let delay = tx.cloud.options.delays.cleanup;
            wait(tx, changed, Operation::Cleanup(leaving), delay)
        }
        Err(Stop::Failed(failure)) if input.disable_rollback => {
            events::record(tx, told)?;
            change_set::executed(tx, &changed, false)?;
            finish(tx, changed, "UPDATE_FAILED", Some(failure.reason))
        }
        Err(Stop::Failed(failure)) => {
            // What was done so far is undone at once; the stack only says so later. A fault that
            // was met stays met.
            let faults: Option<Faults> = tx.get("faults.json")?;
            tx.restore(savepoint);
            if let Some(faults) = faults {
                tx.put("faults.json", &faults)?;
            }
            events::record(tx, told)?;
            let mut stack = stack;
            change_set::executed(tx, &stack, false)?;
            let status = "UPDATE_ROLLBACK_IN_PROGRESS";
            set_status(tx, &mut stack, status, Some(failure.reason))?;
            let delay = tx.cloud.options.delays.stack;
            wait(tx, stack, Operation::RollbackUpdate, delay)
        }
    }
}

fn cleanup(tx: &mut Tx<'_>, stack: Stack, leaving: &[Leaving]) -> Answer<()> {
    let mut told = Vec::new();
    let failed = teardown::let_go(tx, &stack, leaving, &mut told)?;
    events::record(tx, told)?;
    // What cannot be cleaned up is left behind, and the update has succeeded all the same.
    let reason = (!failed.is_empty()).then(|| {
        format!(
            "Update successful. One or more resources could not be deleted. {}",
            failed_to_delete(&failed)
        )
    });
    finish(tx, stack, "UPDATE_COMPLETE", reason)
}

fn delete(tx: &mut Tx<'_>, mut stack: Stack, retain: &[String], before: &str) -> Answer<()> {
    if let Err(reason) = Index::load(tx)?.check_deletion(&stack) {
        return finish(tx, stack, before, Some(reason));
    }
    let failed = nested::empty(tx, &mut stack, retain)?;
    if !failed.is_empty() {
        let reason = failed_to_delete(&failed);
        return finish(tx, stack, "DELETE_FAILED", Some(reason));
    }
    stack.info.deleted_ms = Some(tx.now);
    set_status(tx, &mut stack, "DELETE_COMPLETE", None)?;
    change_set::forget(tx, &stack.info.id)?;
    bury(tx, &stack)
}
