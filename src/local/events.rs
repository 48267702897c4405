//! Events of stacks, oldest first in the file.

use super::error::Answer;
use super::record::{Resource, Stack, StackEvent, StackInfo};
use super::state::Tx;

fn path(stack_id: &str) -> String {
    format!("events/{}.json", super::stacks::unique_part(stack_id))
}

/// Returns the events of a stack, oldest first.
pub(crate) fn of(tx: &Tx<'_>, stack_id: &str) -> Answer<Vec<StackEvent>> {
    Ok(tx.get(&path(stack_id))?.unwrap_or_default())
}

/// Appends events, each to those of its stack.
pub(crate) fn record(tx: &mut Tx<'_>, events: Vec<StackEvent>) -> Answer<()> {
    let mut rest = events;
    while let Some(stack_id) = rest.first().map(|event| event.stack_id.clone()) {
        let (own, others) = rest.into_iter().partition(|event| event.stack_id == stack_id);
        rest = others;
        let own: Vec<StackEvent> = own;
        let mut all = of(tx, &stack_id)?;
        all.extend(own);
        tx.put(&path(&stack_id), &all)?;
    }
    Ok(())
}

/// Makes the event that a stack has a new status.
pub(crate) fn of_stack(tx: &Tx<'_>, info: &StackInfo) -> StackEvent {
    StackEvent {
        event_id: tx.cloud.ambient.uuid(),
        stack_id: info.id.clone(),
        stack_name: info.name.clone(),
        logical_id: info.name.clone(),
        physical_id: info.id.clone(),
        resource_type: "AWS::CloudFormation::Stack".to_owned(),
        at_ms: tx.now,
        status: info.status.clone(),
        reason: info.status_reason.clone(),
        properties: None,
    }
}

/// Makes an event of a resource of a stack.
pub(crate) fn of_resource(
    tx: &Tx<'_>,
    info: &StackInfo,
    resource: &Resource,
    status: &str,
    reason: Option<&str>,
) -> StackEvent {
    StackEvent {
        event_id: format!("{}-{status}-{}", resource.logical_id, tx.cloud.ambient.uuid()),
        stack_id: info.id.clone(),
        stack_name: info.name.clone(),
        logical_id: resource.logical_id.clone(),
        physical_id: resource.physical_id.clone(),
        resource_type: resource.resource_type.clone(),
        at_ms: tx.now,
        status: status.to_owned(),
        reason: reason.map(str::to_owned),
        properties: Some(resource.properties.to_string()),
    }
}

/// Gives a stack a status, and records the event of it.
pub(crate) fn set_status(
    tx: &mut Tx<'_>,
    stack: &mut Stack,
    status: &str,
    reason: Option<String>,
) -> Answer<()> {
    status.clone_into(&mut stack.info.status);
    stack.info.status_reason = reason;
    let event = of_stack(tx, &stack.info);
    record(tx, vec![event])
}
