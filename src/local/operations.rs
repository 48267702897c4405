//! Operations of stacks: which event belongs to which operation, and what `DescribeEvents` says.
//!
//! Nothing is stored: an operation begins with the event by which the stack itself says so, and
//! is known by the name of that event.

use super::error::{Answer, ServiceError};
use super::record::StackEvent;
use super::stacks::{self, Page};
use super::state::{Region, Tx};
use super::{change_set, events};

/// An event, with the operation that it is a part of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationEvent {
    /// The event.
    pub event: StackEvent,
    /// The name of the operation.
    pub operation_id: String,
    /// `CREATE_CHANGESET`, `CREATE_STACK`, `UPDATE_STACK`, `DELETE_STACK` or `ROLLBACK`.
    pub operation_type: &'static str,
}

/// Which events are wanted: those of a change set, an operation or a stack, the first of these
/// that is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventsOf {
    /// The name or the ARN of a change set.
    pub change_set: Option<String>,
    /// The name of an operation.
    pub operation: Option<String>,
    /// The name or the ARN of a stack.
    pub stack: Option<String>,
    /// Whether only what has failed is wanted.
    pub failed: bool,
}

/// Which operation a status of a stack is the beginning of. Refactors are no type of their own,
/// and count as updates (inferred).
fn beginning(status: &str) -> Option<&'static str> {
    Some(match status {
        "REVIEW_IN_PROGRESS" => "CREATE_CHANGESET",
        "CREATE_IN_PROGRESS" => "CREATE_STACK",
        "UPDATE_IN_PROGRESS" => "UPDATE_STACK",
        "DELETE_IN_PROGRESS" => "DELETE_STACK",
        "ROLLBACK_IN_PROGRESS" | "UPDATE_ROLLBACK_IN_PROGRESS" => "ROLLBACK",
        _ => return None,
    })
}

/// Tells the operations of the events of a stack, which come oldest first.
pub(crate) fn of(events: Vec<StackEvent>) -> Vec<OperationEvent> {
    let mut current = (String::new(), "");
    let with_operation = |event: StackEvent| {
        if event.physical_id == event.stack_id
            && let Some(kind) = beginning(&event.status)
        {
            current = (event.event_id.clone(), kind);
        }
        let (operation_id, operation_type) = current.clone();
        OperationEvent { event, operation_id, operation_type }
    };
    events.into_iter().map(with_operation).collect()
}

fn of_operation(tx: &Tx<'_>, id: &str) -> Answer<Vec<OperationEvent>> {
    for path in tx.list("events")? {
        let mut found = of(tx.get(&path)?.unwrap_or_default());
        found.retain(|event| event.operation_id == id);
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Err(ServiceError::validation("Operation ID does not exist"))
}

fn wanted(tx: &Tx<'_>, of_what: &EventsOf) -> Answer<Vec<OperationEvent>> {
    let EventsOf { change_set, operation, stack, .. } = of_what;
    // The name of a change set says nothing without its stack.
    let known = |name: &&String| stack.is_some() || name.starts_with("arn:");
    match (change_set.as_ref().filter(known), operation, stack) {
        // Nothing is validated before a change set is made, and no hooks are invoked.
        (Some(name), ..) => change_set::template(tx, stack.as_deref(), name).map(|_| Vec::new()),
        (None, Some(id), _) => of_operation(tx, id),
        (None, None, Some(name)) => {
            let found = stacks::find_any(tx, name)?.ok_or_else(|| {
                ServiceError::validation(format!("Stack [{name}] does not exist"))
            })?;
            Ok(of(events::of(tx, &found.info.id)?))
        }
        (None, None, None) => Err(ServiceError::validation(
            "One of ChangeSetName, OperationId or StackName must be specified",
        )),
    }
}

impl Region<'_> {
    /// Describes what happened, the newest event first.
    ///
    /// # Errors
    /// `ValidationError` when there is no such stack or operation, `ChangeSetNotFound`.
    pub fn describe_events(
        &self,
        of_what: &EventsOf,
        token: Option<&str>,
    ) -> Answer<Page<OperationEvent>> {
        self.read(|tx| {
            let mut found = wanted(tx, of_what)?;
            found.retain(|event| !of_what.failed || event.event.status.ends_with("_FAILED"));
            found.reverse();
            stacks::page(found, self.cloud.options.page_size, token)
        })
    }
}
