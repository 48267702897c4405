//! Things go away: in the order in which nothing loses what it needs, unless they are to stay.

use std::collections::BTreeSet;

use super::engine::NESTED;
use super::nested;
use crate::local::error::Answer;
use crate::local::record::{Leaving, Physical, Resource, Stack, StackEvent};
use crate::local::resources;
use crate::local::state::Tx;
use crate::local::{events, faults};

/// Whether a resource that leaves its stack stays in the account.
pub(super) fn is_retained(resource: &Resource) -> bool {
    matches!(
        resource.attributes.deletion_policy.as_deref(),
        Some("Retain" | "RetainExceptOnCreate")
    )
}

/// Returns logical IDs so that each comes before what it needs.
pub(super) fn order<'r>(resources: impl Iterator<Item = &'r Resource>) -> Vec<String> {
    let mut left: Vec<&Resource> = resources.collect();
    let mut order = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let needed: BTreeSet<&str> =
            left.iter().flat_map(|resource| &resource.depends_on).map(String::as_str).collect();
        let (last, free): (Vec<&Resource>, Vec<&Resource>) =
            left.iter().partition(|resource| needed.contains(resource.logical_id.as_str()));
        // Only a damaged file can have a cycle; then any order will do.
        let taken = if free.is_empty() { &last } else { &free };
        order.extend(taken.iter().map(|resource| resource.logical_id.clone()));
        left = if free.is_empty() { Vec::new() } else { last };
    }
    order
}

/// Lets things go. Returns what could not be deleted, with the reason.
pub(super) fn let_go(
    tx: &mut Tx<'_>,
    stack: &Stack,
    leaving: &[Leaving],
    told: &mut Vec<StackEvent>,
) -> Answer<Vec<(String, String)>> {
    let mut failed = Vec::new();
    for Leaving { resource, retained } in leaving {
        let mut tell = |tx: &Tx<'_>, status: &str, reason: Option<&str>| {
            told.push(events::of_resource(tx, &stack.info, resource, status, reason));
        };
        if resource.physical_id.is_empty() {
            // It never came into being.
            tell(tx, "DELETE_COMPLETE", None);
            continue;
        }
        if *retained {
            release(tx, stack, resource)?;
            tell(tx, "DELETE_SKIPPED", None);
            continue;
        }
        tell(tx, "DELETE_IN_PROGRESS", None);
        let (name, id) = (&stack.info.name, &resource.logical_id);
        let fault = match faults::take_resource(tx, name, id, &resource.resource_type)? {
            None if resource.resource_type == NESTED => nested::delete(tx, resource)?,
            None => {
                tx.remove(&resources::path(&resource.resource_type, &resource.physical_id));
                None
            }
            fault => fault,
        };
        match fault {
            None => tell(tx, "DELETE_COMPLETE", None),
            Some(reason) => {
                tell(tx, "DELETE_FAILED", Some(&reason));
                failed.push((resource.logical_id.clone(), reason));
            }
        }
    }
    Ok(failed)
}

/// A thing stays in the account and belongs to no stack any more, unless another definition has
/// written over it.
fn release(tx: &mut Tx<'_>, stack: &Stack, resource: &Resource) -> Answer<()> {
    let found = resources::find(tx, &resource.resource_type, &resource.physical_id)?;
    let own = |physical: &Physical| {
        physical.stack_id.as_ref() == Some(&stack.info.id)
            && physical.logical_id.as_ref() == Some(&resource.logical_id)
    };
    let Some(mut physical) = found.filter(own) else { return Ok(()) };
    (physical.stack_id, physical.logical_id) = (None, None);
    resources::save(tx, &physical)
}
