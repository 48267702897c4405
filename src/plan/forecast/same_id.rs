//! Logical IDs that stay as they are deployed, since CloudFormation can neither move the resource
//! nor put another one in its place without a loss.
//!
//! The choice is recorded in the template itself: `Metadata["cdkr:kept-id"]` of the resource holds
//! the logical ID that the app has for it. As long as the app says the same, the next deployment
//! keeps the deployed one again.

use std::collections::{BTreeMap, BTreeSet};

use super::ForecastRequest;
use crate::model::{Location, Object, Stack, Template, Text, Value};
use crate::plan::steps::{Finding, HandOver, Severity, Staying};
use crate::template::{Reference, reference, rewrite};

/// The key of the record.
const KEPT_ID: &str = "cdkr:kept-id";

/// Returns the logical IDs that a deployed template has kept: what the app calls the resource, and
/// what it is called.
pub fn kept_ids(template: &Template) -> Vec<(Text, Text)> {
    let kept = template.resources().filter_map(|(old, body)| {
        let new = body.get("Metadata")?.get(KEPT_ID)?.as_str()?;
        Some((Text::from(new), old.clone()))
    });
    kept.collect()
}

/// What is deployed in place of what the app says.
pub(super) struct SameIds {
    /// The stacks of the app, with the deployed logical IDs.
    pub(super) local: Vec<Stack>,
    /// What is made anew after all.
    pub(super) staying: Vec<Staying>,
    /// The stacks that differ from those of the app.
    pub(super) changed: BTreeSet<String>,
    /// The places that are kept, `Stack.LogicalId`.
    pub(super) kept: BTreeSet<String>,
    pub(super) findings: Vec<Finding>,
}

/// Decides which resources keep their deployed logical IDs.
pub(super) fn keep(request: &ForecastRequest<'_>) -> SameIds {
    let mut same = SameIds {
        local: request.local.to_vec(),
        staying: request.staying.to_vec(),
        changed: BTreeSet::new(),
        kept: BTreeSet::new(),
        findings: Vec::new(),
    };
    let mut renames: BTreeMap<String, BTreeMap<Text, Text>> = BTreeMap::new();
    for (stack, old, new) in recorded_ids(request) {
        same.kept.insert(format!("{stack}.{old}"));
        renames.entry(stack).or_default().insert(new, old);
    }
    for staying in request.staying.iter().filter(|staying| matters(staying)) {
        if same.kept.contains(&staying.source) {
            continue;
        }
        let Some((stack, old, new)) = within_a_stack(request, staying) else { continue };
        if !request.keep_names {
            same.findings.push(could_be_kept(staying));
            continue;
        }
        renames.entry(stack).or_default().insert(new, old);
        same.kept.insert(staying.source.clone());
    }
    same.staying.retain(|staying| !same.kept.contains(&staying.source));
    for stack in &mut same.local {
        let Some(names) = renames.get(stack.name.as_str()) else { continue };
        stack.template = renamed(&stack.template, names);
        same.changed.insert(stack.name.to_string());
    }
    same
}

/// Whether a replacement loses something, or fails.
fn matters(staying: &Staying) -> bool {
    staying.dangerous || staying.hand_over == HandOver::Exclusive
}

/// The stack with the deployed and the new logical ID of a resource that stays within an outermost
/// stack, if the deployed one is free in the template of the app.
fn within_a_stack(
    request: &ForecastRequest<'_>,
    staying: &Staying,
) -> Option<(String, Text, Text)> {
    let source: Location = staying.source.parse().ok()?;
    let destination: Location = staying.destination.parse().ok()?;
    let name = source.stack.as_str();
    if source.stack != destination.stack || name.contains('/') || !request.selected.contains(name) {
        return None;
    }
    let (old, new) = (source.logical_id.as_str(), destination.logical_id.as_str());
    let local = request.local.iter().find(|stack| stack.name == source.stack)?;
    let now = request.now.stacks.iter().find(|stack| stack.stack.name == source.stack)?;
    let is_new = local.template.resource(new)?.get("Type")?.as_str()? == staying.resource_type;
    let is_free =
        local.template.resource(old).is_none() && now.stack.template.resource(new).is_none();
    (is_new && is_free).then(|| (name.to_owned(), Text::from(old), Text::from(new)))
}

/// What was kept before and is called the same by the app: stack, deployed and new logical ID. What
/// else has changed of the resource does not matter.
fn recorded_ids(request: &ForecastRequest<'_>) -> Vec<(String, Text, Text)> {
    let mut found = Vec::new();
    for now in &request.now.stacks {
        let name = now.stack.name.as_str();
        if name.contains('/') || !request.selected.contains(name) {
            continue;
        }
        let Some(local) = request.local.iter().find(|stack| stack.name == now.stack.name) else {
            continue;
        };
        for (old, body) in now.stack.template.resources() {
            let record = body.get("Metadata").and_then(|data| data.get(KEPT_ID)?.as_str());
            let Some(new) = record else { continue };
            let is_free = local.template.resource(old).is_none()
                && now.stack.template.resource(new).is_none();
            let is = local.template.resource(new);
            if is_free && is.is_some_and(|is| is.get("Type") == body.get("Type")) {
                found.push((name.to_owned(), old.clone(), Text::from(new)));
            }
        }
    }
    found
}

/// The template with other logical IDs: new ones become deployed ones.
fn renamed(template: &Template, names: &BTreeMap<Text, Text>) -> Template {
    let mut replace = |found: Reference<'_>| match found {
        Reference::Name(name, attribute) => Some(reference(names.get(name)?, attribute)),
        Reference::Computed(name, attribute) => {
            let arguments = vec![Value::from(names.get(name)?.as_str()), attribute.clone()];
            Some(crate::template::function_call("Fn::GetAtt", Value::Array(arguments)))
        }
        _ => None,
    };
    let mut renamed = template.clone();
    for (section, value) in renamed.sections.iter_mut() {
        let Value::Object(members) = value else { continue };
        match section.as_str() {
            "Resources" => {
                let each = members.iter().map(|(id, body)| {
                    let body = depending(&rewrite(body, &mut replace), names);
                    match names.get(id) {
                        Some(old) => (old.clone(), recorded(body, id)),
                        None => (id.clone(), body),
                    }
                });
                *members = each.collect();
            }
            "Outputs" => {
                let each = members.iter();
                *members =
                    each.map(|(key, value)| (key.clone(), rewrite(value, &mut replace))).collect();
            }
            _ => {}
        }
    }
    renamed
}

/// A body with the other names in `DependsOn`.
fn depending(body: &Value, names: &BTreeMap<Text, Text>) -> Value {
    let name = |value: &Value| match value.as_str().and_then(|id| names.get(id)) {
        Some(old) => Value::from(old.as_str()),
        None => value.clone(),
    };
    let mut body = body.clone();
    if let Value::Object(members) = &mut body
        && let Some(depends) = members.get_mut("DependsOn")
    {
        *depends = match &*depends {
            Value::Array(all) => Value::Array(all.iter().map(name).collect()),
            one => name(one),
        };
    }
    body
}

fn recorded(mut body: Value, id: &Text) -> Value {
    if let Value::Object(members) = &mut body {
        let metadata = members.get("Metadata").and_then(Value::as_object);
        let mut metadata = metadata.cloned().unwrap_or_else(Object::new);
        metadata.insert(KEPT_ID.into(), Value::from(id.as_str()));
        members.insert("Metadata".into(), Value::Object(metadata));
    }
    body
}

fn could_be_kept(staying: &Staying) -> Finding {
    let (stack, id) = staying.source.split_once('.').unwrap_or((&staying.source, ""));
    Finding {
        severity: Severity::Note,
        stack: stack.to_owned(),
        resource: Some(id.to_owned()),
        message: format!("`{}` can stay as it is under its deployed logical ID.", staying.source),
        remedy: "Deploy with --keep-names.".to_owned(),
    }
}
