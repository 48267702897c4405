//! What others have found out, noted at the operations that it is about.

use std::collections::BTreeSet;

use super::model::{Graph, Mark, Operation, OperationId, OperationKind, PropertyChange, Side};
use super::permissions::PermissionChange;
use crate::model::Location;
use crate::registry::Segment;

/// Properties in which permissions are written, at any depth.
const PERMISSIONS: [&str; 14] = [
    "AccessPolicies",
    "AssumeRolePolicyDocument",
    "FileSystemPolicy",
    "Groups",
    "InlinePolicy",
    "KeyPolicy",
    "ManagedPolicyArns",
    "PermissionsBoundary",
    "Policies",
    "PolicyDocument",
    "RepositoryPolicyText",
    "ResourcePolicy",
    "SecurityGroupEgress",
    "SecurityGroupIngress",
];

/// Notes which operations make permissions broader: those of the properties of the resource in
/// which the permission is written; all of them, if none is known to hold permissions.
pub fn mark_permissions(graph: &mut Graph, changes: &[PermissionChange]) {
    let broader: BTreeSet<Location> = changes
        .iter()
        .filter(|change| change.broadens)
        .map(|change| Location::new(&change.stack, &change.logical_id))
        .collect();
    let mut exact: BTreeSet<Location> = BTreeSet::new();
    let mut found: Vec<(OperationId, Vec<Location>, bool)> = Vec::new();
    for (id, operation) in graph.operations.iter().enumerate() {
        let mut places = places(graph, operation);
        places.retain(|place| broader.contains(place));
        if places.is_empty() || !operation.inner.is_empty() || operation.cause.is_some() {
            continue;
        }
        let is_exact = match &operation.kind {
            OperationKind::Insert | OperationKind::Remove => true,
            // Where something stands in a list, or what it is called, permits nothing.
            OperationKind::Property { change: PropertyChange::Move, .. }
            | OperationKind::Rename
            | OperationKind::Move
            | OperationKind::Replace => continue,
            OperationKind::Property { old, new, .. } => {
                old.iter().chain(new).flatten().any(|segment| match segment {
                    Segment::Key(key) => PERMISSIONS.contains(&key.as_str()),
                    Segment::Index(_) => false,
                })
            }
        };
        if is_exact {
            exact.extend(places.iter().cloned());
        }
        found.push((id, places, is_exact));
    }
    for (id, places, is_exact) in found {
        if is_exact || !places.iter().any(|place| exact.contains(place)) {
            graph.operations[id].marks.insert(Mark::BroadensPermissions);
        }
    }
}

/// Notes which operations lose data or an identity: the removal, or the replacement, of these
/// resources, by their places on the new side or, if they go, on the old one.
pub fn mark_losses(graph: &mut Graph, lost: &BTreeSet<Location>) {
    for id in 0..graph.operations.len() {
        let operation = &graph.operations[id];
        let loses = matches!(operation.kind, OperationKind::Remove | OperationKind::Replace);
        if loses && places(graph, operation).iter().any(|place| lost.contains(place)) {
            graph.operations[id].marks.insert(Mark::LosesData);
        }
    }
}

/// Where the component of an operation is, and was.
fn places(graph: &Graph, operation: &Operation) -> Vec<Location> {
    let sides = [Side::After, Side::Before].into_iter();
    let components = sides.filter_map(|side| graph.side(side).components.get(operation.on(side)?));
    components.map(|component| Location::new(&component.stack, &component.name)).collect()
}
