//! The execution of a refactor.

use std::collections::BTreeMap;

use super::judge::{Verdict, judge, type_of};
use super::{Phase, Refactor, create, eligibility, get, obsolete_but, save, values};
use crate::local::error::{Answer, ServiceError};
use crate::local::events::{self, set_status};
use crate::local::faults::{self, RefactorFault};
use crate::local::record::{Json, Resource, Stack, StackEvent};
use crate::local::stacks::{self, find};
use crate::local::state::{Region, Task, Tx};
use crate::local::{behind, resources, templates};

impl Region<'_> {
    /// Starts the execution of a refactor.
    ///
    /// # Errors
    /// `StackRefactorNotFoundException`; `ValidationError` when it is not available or a stack is
    /// busy. [I] Both texts of the latter.
    pub fn execute_stack_refactor(&self, id: &str) -> Answer<()> {
        self.transact(|tx| {
            let mut refactor = get(tx, id)?;
            let status = &refactor.info.execution_status;
            if status != "AVAILABLE" {
                return Err(ServiceError::validation(format!(
                    "Stack refactor {id} cannot be executed in its current execution status of \
                     [{status}]"
                )));
            }
            for definition in refactor.definitions.iter().filter(|each| !each.created) {
                create::check_stable(&stacks::get(tx, &definition.stack_id)?)?;
            }
            let reason = format!("Refactor {id} initiated");
            for definition in &refactor.definitions {
                let mut stack = stacks::get(tx, &definition.stack_id)?;
                let status =
                    if definition.created { "CREATE_IN_PROGRESS" } else { "UPDATE_IN_PROGRESS" };
                stack.revision += 1;
                set_status(tx, &mut stack, status, Some(reason.clone()))?;
                stacks::save(tx, &stack)?;
                obsolete_but(tx, &stack.info.id, id)?;
            }
            "EXECUTE_IN_PROGRESS".clone_into(&mut refactor.info.execution_status);
            refactor.phase = Phase::Executing;
            save(tx, &refactor)?;
            tx.schedule(tx.cloud.options.delays.refactor_execute, Task::Refactor(id.to_owned()))
        })
    }
}

/// Moves everything, or nothing.
pub(super) fn carry_out(tx: &mut Tx<'_>, mut refactor: Refactor) -> Answer<()> {
    let fault = faults::take_refactor(tx, |fault| {
        matches!(
            fault,
            RefactorFault::ExecuteFailed(_)
                | RefactorFault::RollbackComplete(_)
                | RefactorFault::RollbackFailed(_)
                | RefactorFault::Alters { .. }
        )
    })?;
    match &fault {
        Some(RefactorFault::ExecuteFailed(reason)) => {
            return give_up(tx, refactor, reason.clone());
        }
        Some(RefactorFault::RollbackFailed(reason)) => {
            return roll_back(tx, refactor, reason.clone(), false);
        }
        Some(RefactorFault::RollbackComplete(reason)) => {
            return roll_back(tx, refactor, reason.clone(), true);
        }
        _ => {}
    }
    let verdict = match judge(tx, &refactor)? {
        Ok(verdict) => verdict,
        // Something around the stacks has changed since, for instance an export.
        Err(refusal) => return roll_back(tx, refactor, refusal.text(), true),
    };
    let late = verdict.moves.iter().find_map(|each| {
        eligibility::late_refusal(type_of(&verdict.parties[each.from].old, &each.from_id))
    });
    if let Some(reason) = late {
        return roll_back(tx, refactor, reason, true);
    }
    if let Some(RefactorFault::Alters { property, value }) = &fault {
        for each in &verdict.moves {
            let moving = verdict.parties[each.from].stack.resources.get(&each.from_id);
            alter(tx, moving, property, value)?;
        }
    }
    relocate(tx, verdict)?;
    "EXECUTE_COMPLETE".clone_into(&mut refactor.info.execution_status);
    refactor.phase = Phase::Settling;
    save(tx, &refactor)?;
    let delay = tx.cloud.options.delays.refactor_settle;
    tx.schedule(delay, Task::Refactor(refactor.info.id.clone()))
}

/// Sets a property of a thing that moves.
fn alter(tx: &mut Tx<'_>, moving: Option<&Resource>, property: &str, value: &Json) -> Answer<()> {
    let Some(moving) = moving else { return Ok(()) };
    let found = resources::find(tx, &moving.resource_type, &moving.physical_id)?;
    let Some(mut physical) = found else { return Ok(()) };
    behind::alter(&mut physical, property, value);
    resources::save(tx, &physical)
}

/// Puts every resource where it belongs now.
fn relocate(tx: &mut Tx<'_>, verdict: Verdict) -> Answer<()> {
    let told = tell(tx, &verdict);
    events::record(tx, told)?;
    let Verdict { parties, moves, results } = verdict;
    let sources: Vec<BTreeMap<String, Resource>> =
        parties.iter().map(|party| party.stack.resources.clone()).collect();
    let mut nested = Vec::new();
    for (at, (party, result)) in parties.into_iter().zip(results).enumerate() {
        let mut stack = party.stack;
        stack.resources.clear();
        for (id, new) in result.resources {
            let moved = moves.iter().find(|each| each.to == at && each.to_id == id);
            let (from, old) = moved.map_or((at, &id), |each| (each.from, &each.from_id));
            let Some(before) = sources[from].get(old) else { continue };
            let mut resource = Resource {
                logical_id: id.clone(),
                attributes: new.attributes,
                depends_on: new.depends_on,
                ..before.clone()
            };
            if moved.is_some() {
                "IMPORT_COMPLETE".clone_into(&mut resource.status);
                resource.status_reason = None;
                resource.updated_ms = tx.now;
                own(tx, &stack, &resource)?;
                if values::is_nested(&resource) {
                    nested.push((resource.physical_id.clone(), stack.info.id.clone()));
                }
            }
            stack.resources.insert(id, resource);
        }
        stack.info.description = templates::description(&templates::parse(&party.input.template)?);
        stack.input = party.input;
        stack.info.outputs = result.outputs;
        stack.imports = result.imports.into_iter().collect();
        stacks::save(tx, &stack)?;
    }
    for (child, parent) in nested {
        adopt(tx, &child, &parent)?;
    }
    Ok(())
}

/// The thing itself learns to whom it belongs; nothing else of it changes.
fn own(tx: &mut Tx<'_>, stack: &Stack, resource: &Resource) -> Answer<()> {
    let found = resources::find(tx, &resource.resource_type, &resource.physical_id)?;
    let Some(mut physical) = found else { return Ok(()) };
    physical.stack_id = Some(stack.info.id.clone());
    physical.logical_id = Some(resource.logical_id.clone());
    resources::save(tx, &physical)
}

fn adopt(tx: &mut Tx<'_>, child: &str, parent: &str) -> Answer<()> {
    let (Some(mut child), Some(parent)) = (find(tx, child)?, find(tx, parent)?) else {
        return Ok(());
    };
    child.info.root_id = Some(parent.info.root_id.unwrap_or_else(|| parent.info.id.clone()));
    child.info.parent_id = Some(parent.info.id);
    stacks::save(tx, &child)
}

/// [I] The events of the source: `EXPORT_*` statuses came with the API, but no log was seen.
fn tell(tx: &Tx<'_>, verdict: &Verdict) -> Vec<StackEvent> {
    let mut told = Vec::new();
    for each in &verdict.moves {
        let (source, destination) =
            (&verdict.parties[each.from].stack, &verdict.parties[each.to].stack);
        let Some(before) = source.resources.get(&each.from_id) else { continue };
        let after = Resource { logical_id: each.to_id.clone(), ..before.clone() };
        let mut event = |stack: &Stack, resource: &Resource, status: &str| {
            told.push(events::of_resource(tx, &stack.info, resource, status, None));
        };
        event(destination, &after, "IMPORT_IN_PROGRESS");
        event(source, before, "EXPORT_IN_PROGRESS");
        event(source, before, "EXPORT_COMPLETE");
        event(destination, &after, "IMPORT_COMPLETE");
    }
    told
}

/// The stacks become stable, a moment after the refactor has said that it is done.
pub(super) fn settle(tx: &mut Tx<'_>, mut refactor: Refactor) -> Answer<()> {
    set_all(tx, &refactor, "UPDATE_COMPLETE", "CREATE_COMPLETE", None)?;
    refactor.phase = Phase::Ready;
    save(tx, &refactor)
}

/// Gives the stacks of a refactor a status: one those that existed, another those that it made.
fn set_all(
    tx: &mut Tx<'_>,
    refactor: &Refactor,
    existing: &str,
    created: &str,
    reason: Option<&str>,
) -> Answer<()> {
    for definition in &refactor.definitions {
        let Some(mut stack) = find(tx, &definition.stack_id)? else { continue };
        let status = if definition.created { created } else { existing };
        if !definition.created {
            stack.info.updated_ms = Some(tx.now);
        }
        set_status(tx, &mut stack, status, reason.map(str::to_owned))?;
        stacks::save(tx, &stack)?;
    }
    Ok(())
}

/// [I] What `EXECUTE_FAILED` means for the stacks; it is only reached by a fault.
fn give_up(tx: &mut Tx<'_>, mut refactor: Refactor, reason: String) -> Answer<()> {
    set_all(tx, &refactor, "UPDATE_FAILED", "CREATE_FAILED", Some(&reason))?;
    "EXECUTE_FAILED".clone_into(&mut refactor.info.execution_status);
    refactor.info.execution_status_reason = Some(reason);
    refactor.phase = Phase::Ready;
    save(tx, &refactor)
}

fn roll_back(
    tx: &mut Tx<'_>,
    mut refactor: Refactor,
    reason: String,
    succeeds: bool,
) -> Answer<()> {
    let (existing, created) = ("UPDATE_ROLLBACK_IN_PROGRESS", "ROLLBACK_IN_PROGRESS");
    set_all(tx, &refactor, existing, created, Some(&reason))?;
    "ROLLBACK_IN_PROGRESS".clone_into(&mut refactor.info.execution_status);
    refactor.info.execution_status_reason = Some(reason);
    refactor.phase = Phase::RollingBack { succeeds };
    save(tx, &refactor)?;
    let delay = tx.cloud.options.delays.refactor_execute;
    tx.schedule(delay, Task::Refactor(refactor.info.id.clone()))
}

/// Ends a rollback.
pub(super) fn rolled_back(tx: &mut Tx<'_>, mut refactor: Refactor, succeeds: bool) -> Answer<()> {
    let end = if succeeds { "COMPLETE" } else { "FAILED" };
    let (existing, created) = (format!("UPDATE_ROLLBACK_{end}"), format!("ROLLBACK_{end}"));
    set_all(tx, &refactor, &existing, &created, None)?;
    refactor.info.execution_status = created;
    refactor.phase = Phase::Ready;
    save(tx, &refactor)
}
