//! What others have found out, noted at the operations that it is about.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{
    ComponentKind, Graph, Mark, Operation, OperationId, OperationKind, PropertyChange, Side, dotted,
};
use super::permissions::PermissionChange;
use crate::compare::{Comparison, Difference};
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

/// Notes which operations merely repeat a new name of a construct, as a comparison says.
pub fn mark_names(graph: &mut Graph, comparison: &Comparison) {
    let moved = comparison.mappings.iter();
    let moved = moved.map(|one| (&one.destination.location, one.changes.as_slice()));
    let changed = comparison.changed.iter();
    let changed = changed.map(|one| (&one.place.location, one.differences.as_slice()));
    let differences: BTreeMap<&Location, &[Difference]> = moved.chain(changed).collect();
    for id in 0..graph.operations.len() {
        let operation = &graph.operations[id];
        let OperationKind::Property { old, new, .. } = &operation.kind else { continue };
        if !operation.inner.is_empty() || operation.cause.is_some() {
            continue;
        }
        let Some(place) = places(graph, operation).into_iter().next() else { continue };
        let paths: Vec<String> = old.iter().chain(new).map(|path| dotted(path)).collect();
        let is_of = |difference: &&Difference| {
            paths.iter().any(|path| {
                let rest = path.strip_prefix(difference.property.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        };
        let all = differences.get(&place).copied().unwrap_or_default();
        let mut own = all.iter().filter(is_of).peekable();
        if own.peek().is_some() && own.all(|difference| difference.name_only) {
            graph.operations[id].marks.insert(Mark::RepeatsNames);
        }
    }
}

/// Notes which operations change nothing but the template: parts of a resource for which
/// CloudFormation does not touch it.
pub fn mark_templates(graph: &mut Graph) {
    for id in 0..graph.operations.len() {
        let operation = &graph.operations[id];
        let OperationKind::Property { old, new, .. } = &operation.kind else { continue };
        let is_resource = graph.component(operation).map(|component| component.kind)
            == Some(ComponentKind::Resource);
        let is_part = old.iter().chain(new).all(|path| is_of_template(path));
        if is_resource && is_part {
            graph.operations[id].marks.insert(Mark::TemplateOnly);
        }
    }
}

/// Whether CloudFormation does nothing to a resource when this part of its definition changes.
fn is_of_template(path: &[Segment]) -> bool {
    const PARTS: [&str; 4] = ["DeletionPolicy", "DependsOn", "Metadata", "UpdateReplacePolicy"];
    match path.first() {
        Some(Segment::Key(key)) => PARTS.contains(&key.as_str()),
        _ => false,
    }
}

/// Where the component of an operation is, and was.
fn places(graph: &Graph, operation: &Operation) -> Vec<Location> {
    let sides = [Side::After, Side::Before].into_iter();
    let components = sides.filter_map(|side| graph.side(side).components.get(operation.on(side)?));
    components.map(|component| Location::new(&component.stack, &component.name)).collect()
}
