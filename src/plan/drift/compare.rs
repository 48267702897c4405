//! A state against what is declared, and against an earlier one.

use std::collections::BTreeMap;

use super::{Declared, Divergence, DivergenceKind, LeftOut, Standing};
use super::{alike, tags};
use crate::model::{ResourceType, Text, Value};
use crate::registry::{Judged, Mode, Operation, Pointer, Schema, Verdict, apply, judge, update};

/// Returns how a resource stands whose state was read, and what was not compared.
pub fn compare(
    resource_type: &ResourceType,
    state: &Value,
    declared: &Declared,
    schema: &Schema,
) -> (Standing, LeftOut) {
    let properties = &declared.properties;
    let name = resource_type.as_str();
    let state = tags::without_foreign(name, state, Some(&properties.value), &declared.tags);
    let wanted = alike::settled(&properties.value, Some(&state)).unwrap_or_default();
    let found = update(&state, &wanted, schema, Mode::Declared).operations;
    let (unreadable, found): (Vec<Divergence>, Vec<Divergence>) = shown(&state, found, declared)
        .into_iter()
        .partition(|one| one.verdict == Verdict::CannotBeVerified);
    let left_out = LeftOut {
        unknown: properties.unknown.clone(),
        secret: properties.secret.clone(),
        unreadable: unreadable.into_iter().map(|one| one.path).collect(),
    };
    let standing = if found.is_empty() { Standing::InSync } else { Standing::Drifted(found) };
    (standing, left_out)
}

/// Returns what a move has changed of a resource: everything by which two states differ, but for
/// the tags that say to whom it belongs, those of its stacks included: CloudFormation passes them on.
/// `tags` are those of the stack to which it has moved.
pub fn moved(
    resource_type: &ResourceType,
    before: &Value,
    after: &Value,
    declared: &Declared,
    tags: &BTreeMap<Text, Text>,
    schema: &Schema,
) -> Vec<Divergence> {
    let set = &declared.properties.value;
    let own = |state: &Value, tags: &BTreeMap<Text, Text>| {
        tags::without_foreign(resource_type.as_str(), state, Some(set), tags)
    };
    let (before, after) = (own(before, &declared.tags), own(after, tags));
    // What would make it again what it was.
    let operations = judge(&after, &before, schema);
    shown(&after, operations, declared)
}

/// Puts the values to operations that they change.
fn shown(state: &Value, operations: Vec<Judged>, declared: &Declared) -> Vec<Divergence> {
    let secrets = &declared.properties.secret;
    let mut now = state.clone();
    let mut found = Vec::with_capacity(operations.len());
    for Judged { operation, verdict } in operations {
        let path = operation.path().clone();
        let is_hidden = secrets.iter().any(|secret| meets(secret, &path));
        let old = path.of(&now).cloned();
        let (kind, current, wanted) = match &operation {
            Operation::Remove { .. } => (DivergenceKind::Remove, old, None),
            Operation::Replace { value, .. } => (DivergenceKind::Replace, old, Some(value.clone())),
            Operation::Add { value, .. } => (DivergenceKind::Add, None, Some(value.clone())),
            // No difference is ever told by these.
            Operation::Move { .. } | Operation::Copy { .. } | Operation::Test { .. } => continue,
        };
        if let Ok(next) = apply(std::slice::from_ref(&operation), &now) {
            now = next;
        }
        let (current, declared) = if is_hidden { (None, None) } else { (current, wanted) };
        found.push(Divergence { kind, path, current, declared, is_hidden, verdict });
    }
    found
}

/// Whether one place is in the other, wherever in their lists.
fn meets(one: &Pointer, other: &Pointer) -> bool {
    let is_index = |token: &str| token == "-" || token.bytes().all(|byte| byte.is_ascii_digit());
    let mut pairs = one.tokens().zip(other.tokens());
    pairs.all(|(one, other)| one == other || is_index(one) && is_index(other))
}
