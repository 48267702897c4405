//! What the steps of a plan leave.

use std::collections::BTreeMap;

use super::evaluate::{Reader, Site, Unchanged, Universe, export_name};
use super::users::imports_of;
use crate::model::{
    DeployedEnvironment, DeployedResource, DeployedStack, Export, Location, Object, Stack,
    StackOptions, StackStatus, Text, Value,
};
use crate::plan::order;
use crate::plan::steps::{Action, Batch, Change, Plan};
use crate::template;

/// Returns the deployed environment as the steps of the plan leave it: every stack with the
/// template that is sent to it last, every resource under its new place, new stacks among the
/// others, outputs and exports as far as they are known. What the plan does not touch stays as it
/// was read.
pub fn after(deployed: &DeployedEnvironment, plan: &Plan) -> DeployedEnvironment {
    let mut now = deployed.clone();
    for step in &plan.steps {
        match &step.action {
            Action::Change(change) => changed(&mut now, change),
            Action::Refactor(batch) => refactored(&mut now, batch),
        }
    }
    if plan.steps.is_empty() {
        return now;
    }
    follow_makers(&mut now, plan);
    now.stacks.sort_by(|left, right| {
        let depth = |stack: &DeployedStack| stack.stack.name.as_str().matches('/').count();
        (depth(left), &left.stack.name).cmp(&(depth(right), &right.stack.name))
    });
    let untouched: BTreeMap<Text, Text> =
        deployed.stacks.iter().map(|stack| (stack.id.clone(), stack.body.clone())).collect();
    publish(&mut now, &untouched);
    now
}

/// The stack with a name, made if it is not there yet.
fn stack<'n>(now: &'n mut DeployedEnvironment, name: &str) -> &'n mut DeployedStack {
    let at = now.stacks.iter().position(|stack| stack.stack.name.as_str() == name);
    let at = at.unwrap_or_else(|| {
        now.empty.retain(|(empty, _)| empty.as_str() != name);
        now.stacks.push(DeployedStack {
            id: name.into(),
            status: StackStatus("CREATE_COMPLETE".into()),
            stack: Stack::new(name, crate::model::Template::default()),
            body: Text::default(),
            resources: BTreeMap::new(),
            exports: Vec::new(),
            outputs: BTreeMap::new(),
            has_policy: false,
            options: StackOptions::default(),
        });
        now.stacks.len() - 1
    });
    &mut now.stacks[at]
}

fn set_template(stack: &mut DeployedStack, text: &str) {
    // A plan writes its templates itself: they can be read.
    if let Ok(template) = template::parse(text.as_bytes()) {
        stack.stack.template = template;
        stack.body = text.into();
    }
}

fn changed(now: &mut DeployedEnvironment, change: &Change) {
    let stack = stack(now, &change.stack);
    set_template(stack, &change.template);
    for (name, value) in &change.parameters {
        stack.stack.parameters.insert(name.as_str().into(), value.as_str().into());
    }
    let declared = stack.stack.template.section("Parameters");
    let is_declared = |name: &Text| declared.is_some_and(|all| all.contains_key(name));
    stack.stack.parameters.retain(|name, _| is_declared(name));
    stack.options.capabilities.extend(change.capabilities.iter().map(|each| each.as_str().into()));
    stack.options.capabilities.sort();
    stack.options.capabilities.dedup();
    // Such a change adds or removes nothing but a filler.
    let template = &stack.stack.template;
    stack.resources.retain(|id, _| template.resource(id).is_some());
    for (id, body) in template.resources() {
        let kind = body.get("Type").and_then(Value::as_str).unwrap_or_default();
        if kind == crate::plan::world::FILLER_TYPE && !stack.resources.contains_key(id) {
            stack.resources.insert(
                id.clone(),
                DeployedResource {
                    resource_type: kind.into(),
                    physical_id: None,
                    status: "CREATE_COMPLETE".into(),
                    changed_at: None,
                },
            );
        }
    }
}

fn refactored(now: &mut DeployedEnvironment, batch: &Batch) {
    for each in &batch.stacks {
        set_template(stack(now, &each.name), &each.template);
    }
    let place = |text: &str| text.parse::<Location>().ok();
    let mut taken: Vec<(Location, DeployedResource)> = Vec::new();
    for each in &batch.moves {
        let (Some(from), Some(to)) = (place(&each.source), place(&each.destination)) else {
            continue;
        };
        let found = stack(now, from.stack.as_str()).resources.remove(from.logical_id.as_str());
        let known = found.and_then(|found| found.physical_id);
        let resource = DeployedResource {
            resource_type: each.resource_type.as_str().into(),
            physical_id: known.or_else(|| each.physical_id.as_deref().map(Text::from)),
            status: "IMPORT_COMPLETE".into(),
            changed_at: None,
        };
        taken.push((to, resource));
    }
    for (to, resource) in taken {
        let id = Text::from(to.logical_id.as_str());
        stack(now, to.stack.as_str()).resources.insert(id, resource);
    }
}

/// Nested stacks follow the resources that make them, and get their names from them.
fn follow_makers(now: &mut DeployedEnvironment, plan: &Plan) {
    let place = |text: &str| text.parse::<Location>().ok();
    let moves = plan.moves().filter_map(|each| place(&each.source).zip(place(&each.destination)));
    let places: BTreeMap<Location, Location> = order::net(moves);
    let mut makers: BTreeMap<String, Location> = BTreeMap::new();
    for stack in &now.stacks {
        if let Some(parent) = &stack.stack.parent {
            let maker = places.get(parent).unwrap_or(parent).clone();
            makers.insert(stack.stack.name.to_string(), maker);
        }
    }
    for stack in &mut now.stacks {
        let Some(maker) = makers.get(stack.stack.name.as_str()) else { continue };
        let parent = name_of(maker.stack.as_str(), &makers);
        let name = format!("{parent}/{}", maker.logical_id);
        stack.stack.parent = Some(Location::new(&parent, maker.logical_id.as_str()));
        if stack.stack.name.as_str() != name {
            stack.stack.display_name = name.as_str().into();
            stack.stack.name = name.as_str().into();
        }
    }
}

/// The name that a stack has now, given the one that it had. Stacks do not nest in a circle.
fn name_of(before: &str, makers: &BTreeMap<String, Location>) -> String {
    let mut name = Vec::new();
    let mut at = before;
    for _ in 0..=makers.len() {
        let Some(maker) = makers.get(at) else { break };
        name.push(maker.logical_id.as_str());
        at = maker.stack.as_str();
    }
    name.push(at);
    name.reverse();
    name.join("/")
}

/// Outputs and exports of all stacks, with who imports them. `before` has the texts of templates by
/// the IDs of stacks: what has the same one publishes what it did.
fn publish(now: &mut DeployedEnvironment, before: &BTreeMap<Text, Text>) {
    let known: BTreeMap<Text, Export> = now
        .stacks
        .iter()
        .flat_map(|stack| stack.exports.iter().map(|export| (export.name.clone(), export.clone())))
        .collect();
    let sites = now.stacks.iter();
    let sites =
        sites.map(|stack| (Site::new(&stack.stack, Some(stack)), stack.stack.parent.as_ref()));
    let universe = Universe::new(&now.environment, sites.collect(), false);
    let reader = Reader::new(&universe, &Unchanged);
    let mut importers: BTreeMap<String, Vec<Text>> = BTreeMap::new();
    for (at, site) in universe.sites.iter().enumerate() {
        let user = site.own_name().unwrap_or(site.name);
        for name in imports_of(&reader, at) {
            importers.entry(name).or_default().push(user.into());
        }
    }
    let own: Vec<&str> = universe.sites.iter().filter_map(Site::own_name).collect();
    let mut all = Vec::new();
    for at in 0..universe.sites.len() {
        let (outputs, mut exports) = match universe.sites[at].now {
            Some(now) if before.get(&now.id) == Some(&now.body) => {
                (now.outputs.clone(), now.exports.clone())
            }
            _ => published(&reader, at, &known),
        };
        for export in &mut exports {
            let strangers = known.get(&export.name).map(|known| known.importers.clone());
            let mut users = strangers.unwrap_or_default();
            users.retain(|user| !own.contains(&user.as_str()));
            users.extend(importers.get(export.name.as_str()).into_iter().flatten().cloned());
            users.sort();
            users.dedup();
            export.importers = users;
        }
        all.push((outputs, exports));
    }
    for (stack, (outputs, exports)) in now.stacks.iter_mut().zip(all) {
        (stack.outputs, stack.exports) = (outputs, exports);
    }
}

/// The outputs of a stack with their values as far as they are known, and its exports.
fn published(
    reader: &Reader<'_, '_>,
    at: usize,
    known: &BTreeMap<Text, Export>,
) -> (BTreeMap<Text, Text>, Vec<Export>) {
    let site = &reader.universe.sites[at];
    let before = site.now.map(|now| &now.outputs);
    let (mut outputs, mut exports) = (BTreeMap::new(), Vec::new());
    for (key, output) in site.template.section("Outputs").into_iter().flat_map(Object::iter) {
        let body = output.as_object();
        if body.is_none_or(|body| reader.is_active(at, body) == Some(false)) {
            continue;
        }
        let name = export_name(reader, at, output);
        let value = output.get("Value").and_then(|value| reader.value(at, value));
        let value = value.as_ref().and_then(|value| value.resolved().known().map(Text::from));
        let value = value
            .or_else(|| before?.get(key).cloned())
            .or_else(|| Some(known.get(name.as_deref()?)?.value.clone()));
        outputs.extend(value.clone().map(|value| (key.clone(), value)));
        exports.extend(name.map(|name| Export {
            name: name.as_str().into(),
            value: value.unwrap_or_default(),
            importers: Vec::new(),
        }));
    }
    exports.sort_by(|left, right| left.name.cmp(&right.name));
    (outputs, exports)
}
