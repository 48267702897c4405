//! What the service's answers mean for a step. Pure.
//!
//! The states are those of the service model; what follows from them is in the user guide
//! ("Stack refactoring") and in what other clients met. Not every terminal state is known to the
//! waiters of the SDKs, so every one is named here.

use std::collections::BTreeSet;

use crate::aws::{ChangeSetChange, RefactorAction, RefactorState};
use crate::model::Location;
use crate::plan::{Batch, Change, Move, Purpose};
use crate::template;

/// The type of a resource that does nothing and costs nothing, so that a stack is not empty.
pub(super) const FILLER: &str = "AWS::CloudFormation::WaitConditionHandle";

/// What the state of a refactor means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RefactorMeans {
    /// CloudFormation does not know it (any more).
    Unknown,
    /// Something is going on.
    Wait,
    /// It can be executed.
    Ready,
    /// It was refused; nothing has happened.
    Refused(String),
    /// A stack was changed since; nothing has happened.
    Obsolete(String),
    /// Everything has moved; the stacks may still be busy.
    Executed,
    /// It failed and was undone; the stacks may still be busy.
    Undone(String),
    /// It failed. Whether it is undone after that shows in the stacks.
    Failing(String),
    /// It failed and could not be undone.
    Broken(String),
}

/// Says what the state of a refactor means.
pub(super) fn refactor_means(state: Option<&RefactorState>) -> RefactorMeans {
    let Some(state) = state else { return RefactorMeans::Unknown };
    let (reason, execution) = (state.reason.clone(), state.execution_reason.clone());
    // An obsolete refactor may have been refused before.
    match (state.status.as_str(), state.execution_status.as_str()) {
        ("CREATE_FAILED", _) => RefactorMeans::Refused(reason),
        ("DELETE_IN_PROGRESS" | "DELETE_COMPLETE" | "DELETE_FAILED", _) => RefactorMeans::Unknown,
        (_, "OBSOLETE") => RefactorMeans::Obsolete(execution),
        ("CREATE_IN_PROGRESS", _) => RefactorMeans::Wait,
        (_, "AVAILABLE") => RefactorMeans::Ready,
        (_, "EXECUTE_COMPLETE") => RefactorMeans::Executed,
        (_, "ROLLBACK_COMPLETE") => RefactorMeans::Undone(execution),
        // Where this stands between execution and rollback is not documented.
        (_, "EXECUTE_FAILED") => RefactorMeans::Failing(execution),
        (_, "ROLLBACK_FAILED") => RefactorMeans::Broken(execution),
        // UNAVAILABLE, EXECUTE_IN_PROGRESS, ROLLBACK_IN_PROGRESS, and what nobody knows yet.
        _ => RefactorMeans::Wait,
    }
}

/// Compares what a refactor says that it will do with what it was asked for; returns a sentence
/// for every difference. `name_of` gives the name of a stack by its ARN or name.
pub(super) fn unasked(
    batch: &Batch,
    actions: &[RefactorAction],
    name_of: impl Fn(&str) -> String,
) -> Vec<String> {
    let (mut differences, mut moved, mut created) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let written = |place: &(String, String)| format!("{}.{}", name_of(&place.0), place.1);
    for action in actions {
        let kind = (action.action.to_ascii_uppercase(), action.entity.to_ascii_uppercase());
        match (kind.0.as_str(), kind.1.as_str(), &action.source, &action.destination) {
            ("MOVE", "RESOURCE", Some(source), Some(destination)) => {
                let (source, destination) = (written(source), written(destination));
                let asked = |each: &Move| each.source == source && each.destination == destination;
                if batch.moves.iter().any(asked) {
                    moved.insert(source);
                } else {
                    differences.push(format!(
                        "it would move {source} to {destination}, which nobody asked for"
                    ));
                }
            }
            ("CREATE", "STACK", _, _) => {
                // "Stack <ARN> created."; the mapping is empty.
                created.insert(action.description.clone());
            }
            _ => differences.push(format!(
                "it would do something that is not known: {} {} {}",
                action.action, action.entity, action.description
            )),
        }
    }
    for each in batch.moves.iter().filter(|each| !moved.contains(&each.source)) {
        differences.push(format!("it would not move {} to {}", each.source, each.destination));
    }
    let new = batch.stacks.iter().filter(|stack| stack.before.is_none()).count();
    if created.len() != new {
        differences.push(format!("it would create {} stacks, not {new}", created.len()));
    }
    differences
}

/// Compares what a change set would do with what the templates say: only fillers may come and
/// go, and of what is retained or released only what is not a property may change. That may also
/// not be shown at all. Returns a sentence for every difference. A body of `None` is a stack that
/// does not exist.
pub(super) fn unexpected(
    before: Option<&str>,
    change: &Change,
    changes: &[ChangeSetChange],
) -> Vec<String> {
    let old = resources(before.unwrap_or_default());
    let (Some(old), Some(new)) = (old, resources(&change.template)) else {
        return vec!["the template cannot be read".to_owned()];
    };
    let differ = |one: &BTreeSet<_>, other: &BTreeSet<_>, action: &'static str| {
        let only = one.difference(other).cloned();
        only.map(move |(id, kind): (String, String)| (action.to_owned(), id, kind)).collect()
    };
    let added: BTreeSet<_> = differ(&new, &old, "Add");
    let removed: BTreeSet<_> = differ(&old, &new, "Remove");
    let expected: BTreeSet<_> = added.union(&removed).cloned().collect();
    let found: BTreeSet<_> = changes
        .iter()
        .filter(|each| !is_policy(change, each))
        .map(|each| (each.action.clone(), each.logical_id.clone(), each.resource_type.clone()))
        .collect();
    let mut differences: Vec<String> = found
        .iter()
        .filter(|each| !expected.contains(each) || each.2 != FILLER)
        .map(|(action, id, kind)| format!("it would {} {id} ({kind})", action.to_lowercase()))
        .collect();
    let missing = expected.difference(&found);
    differences.extend(
        missing.map(|(action, id, _)| format!("it would not {} {id}", action.to_lowercase())),
    );
    differences
}

/// Whether nothing but the policies of a resource changes that is to be retained or released.
fn is_policy(change: &Change, each: &ChangeSetChange) -> bool {
    let harmless =
        |scope: &String| matches!(&**scope, "DeletionPolicy" | "UpdateReplacePolicy" | "Metadata");
    each.action == "Modify"
        && matches!(change.purpose, Purpose::Retain | Purpose::Release)
        && change.retained.contains(&each.logical_id)
        && matches!(&*each.replacement, "" | "False")
        && each.scope.iter().all(harmless)
}

/// The resources of a template: logical ID and type.
fn resources(text: &str) -> Option<BTreeSet<(String, String)>> {
    let template = template::parse(text.as_bytes()).ok()?;
    let kind = |body: &crate::model::Object| {
        body.get("Type").and_then(crate::model::Value::as_str).unwrap_or_default().to_owned()
    };
    Some(template.resources().map(|(id, body)| (id.to_string(), kind(body))).collect())
}

/// Returns what a template has besides fillers: logical IDs, or what is the matter with it.
pub(super) fn not_fillers(text: &str) -> Vec<String> {
    match resources(text) {
        Some(found) => {
            found.into_iter().filter(|(_, kind)| kind != FILLER).map(|(id, _)| id).collect()
        }
        None => vec!["a template that cannot be read".to_owned()],
    }
}

/// Returns the two places of a move.
///
/// # Errors
/// The text that is no place.
pub(super) fn places(each: &Move) -> Result<(Location, Location), String> {
    let parse = |text: &str| text.parse::<Location>().map_err(|error| error.to_string());
    Ok((parse(&each.source)?, parse(&each.destination)?))
}

/// Returns the name of a stack from its ARN (`arn:…:stack/NAME/UUID`); a name stays as it is.
pub(super) fn name_in_arn(stack: &str) -> &str {
    match stack.strip_prefix("arn:") {
        Some(rest) => rest.split('/').nth(1).unwrap_or(stack),
        None => stack,
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
