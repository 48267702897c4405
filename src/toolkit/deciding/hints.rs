//! Who refers to a candidate: it helps a person to tell it from others.

use crate::model::{Location, Stack, Value};
use crate::template::{Reference, visit};

/// How many of those that refer to a resource are named.
const MOST_REFERRERS: usize = 5;

/// Returns the resources of the same stack that refer to a resource, the first few of them.
pub(super) fn referrers(stacks: &[Stack], of: &Location) -> Vec<Location> {
    let Some(stack) = stacks.iter().find(|stack| stack.name == of.stack) else {
        return Vec::new();
    };
    let resources = stack.template.resources().filter(|(id, body)| {
        let mut refers = false;
        for (_, value) in body.iter() {
            visit(value, &mut |reference| {
                refers |= matches!(reference, Reference::Name(name, _) | Reference::Computed(name, _)
                    if name == of.logical_id.as_str());
            });
        }
        let depends_on = body.get("DependsOn").is_some_and(|on| names(on, of.logical_id.as_str()));
        id.as_str() != of.logical_id.as_str() && (refers || depends_on)
    });
    let mut found: Vec<Location> =
        resources.map(|(id, _)| Location::new(of.stack.as_str(), id.as_str())).collect();
    found.sort();
    found.truncate(MOST_REFERRERS);
    found
}

fn names(depends_on: &Value, id: &str) -> bool {
    match depends_on {
        Value::String(text) => text.as_str() == id,
        Value::Array(items) => items.iter().any(|item| names(item, id)),
        _ => false,
    }
}
