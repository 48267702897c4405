//! On the way back, references across borders are written as they were before the moves.
//!
//! A resource can be published by several outputs, and be imported or read. What was a reference
//! inside of a stack for a while does not tell any more which of them it was; the templates from
//! before do. A way is only taken if it means the same as the one that stands there.

use std::collections::{BTreeMap, BTreeSet};

use super::guide::Guide;
use super::world::{At, Spot, Target, World};
use crate::model::{Object, Template, Text, Value};
use crate::template::{Intrinsic, Reference, as_reference};

/// Writes references in stacks as they were, after a refactor of these stacks. Outputs that this
/// takes are added; those that are not to be and that lose their last user by it go away.
pub(super) fn restore(world: &mut World, guide: &Guide, stacks: &BTreeSet<At>) {
    let mut ways = Ways { world, guide, stacks, added: BTreeMap::new() };
    let mut templates: BTreeMap<At, Template> =
        stacks.iter().filter_map(|at| Some((*at, ways.rewritten(*at)?))).collect();
    if templates.is_empty() {
        return;
    }
    for (output, body) in ways.added {
        let template =
            templates.entry(output.0).or_insert_with(|| world.sites[output.0].template.clone());
        match template.sections.get_mut("Outputs") {
            Some(Value::Object(section)) => drop(section.insert(output.1, body)),
            _ => {
                let section = Value::Object(Object::from_iter([(output.1, body)]));
                template.sections.insert("Outputs".into(), section);
            }
        }
    }
    let used = used_for_now(world, guide, stacks);
    for (at, template) in templates {
        world.set(at, template);
    }
    for output in used {
        if world.users(&output).is_empty() {
            remove(world, &output);
        }
    }
}

/// Returns the outputs that are used, but that are not to be.
fn used_for_now(world: &World, guide: &Guide, stacks: &BTreeSet<At>) -> Vec<Spot> {
    let mut found = Vec::new();
    for at in stacks {
        let section = world.sites[*at].template.section("Outputs");
        for (key, _) in section.into_iter().flat_map(Object::iter) {
            let output = (*at, key.clone());
            let name = world.export_name(&output);
            let is_foreign = name.is_some_and(|name| world.foreign.contains_key(&name));
            if !guide.has(&output) && !is_foreign && !world.users(&output).is_empty() {
                found.push(output);
            }
        }
    }
    found
}

fn remove(world: &mut World, output: &Spot) {
    let mut template = world.sites[output.0].template.clone();
    let Some(Value::Object(section)) = template.sections.get_mut("Outputs") else { return };
    section.remove(&output.1);
    if section.is_empty() {
        template.sections.remove("Outputs");
    }
    world.set(output.0, template);
}

struct Ways<'a> {
    world: &'a World,
    guide: &'a Guide,
    /// The stacks that can get further outputs.
    stacks: &'a BTreeSet<At>,
    added: BTreeMap<Spot, Value>,
}

impl Ways<'_> {
    /// Returns the template of a stack with references as they were; `None` if they are.
    fn rewritten(&mut self, at: At) -> Option<Template> {
        let (now, before) = (&self.world.sites[at].template, self.guide.before(at)?);
        let mut template = now.clone();
        for section in ["Resources", "Outputs"] {
            let Some((now, before)) = now.sections.get(section).zip(before.sections.get(section))
            else {
                continue;
            };
            template.sections.insert(section.into(), self.walk(at, now, before));
        }
        (template != *now).then_some(template)
    }

    fn walk(&mut self, at: At, now: &Value, before: &Value) -> Value {
        match (now, before) {
            (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
                let pairs = items.iter().zip(others);
                Value::Array(pairs.map(|(now, before)| self.walk(at, now, before)).collect())
            }
            (Value::Object(object), Value::Object(other)) => {
                if now != before && self.is_same(at, object, other) {
                    return before.clone();
                }
                let member = |(key, now): (&Text, &Value)| {
                    let value = other.get(key).map(|before| self.walk(at, now, before));
                    (key.clone(), value.unwrap_or_else(|| now.clone()))
                };
                Value::Object(object.iter().map(member).collect())
            }
            _ => now.clone(),
        }
    }

    /// Whether both are references across a border that mean the same. An output that is missing
    /// for that is added if it can be.
    fn is_same(&mut self, at: At, now: &Object, before: &Object) -> bool {
        let Some((now, before)) = across(now).zip(across(before)) else { return false };
        let Some((target, output)) = self.world.target(at, now).zip(self.output(at, before)) else {
            return false;
        };
        let is_it = |found: Option<Target>| {
            found.is_some_and(|found| {
                found.spot == target.spot && found.attribute == target.attribute
            })
        };
        if self.world.output(&output).is_some() {
            let is_there = self.world.output_of(at, before).as_ref() == Some(&output);
            return is_there && is_it(self.world.meaning(&output));
        }
        let Some(body) = self.missing(&output) else { return false };
        let found = body.get("Value").and_then(as_reference).and_then(|(name, attribute)| {
            self.world.target(output.0, Reference::Name(name, attribute))
        });
        let same = is_it(found);
        if same {
            self.added.insert(output, Value::Object(body.clone()));
        }
        same
    }

    /// The output that a reference meant before.
    fn output(&self, at: At, before: Reference<'_>) -> Option<Spot> {
        let Reference::Import(name) = before else { return self.world.output_of(at, before) };
        self.guide.exported(&self.world.evaluate(at, name)?).cloned()
    }

    /// The body of an output that was there before, if the stack can have it again.
    fn missing(&self, output: &Spot) -> Option<&Object> {
        let section = self.guide.before(output.0)?.section("Outputs")?;
        let body = section.get(&output.1)?.as_object()?;
        let conditions = self.world.sites[output.0].template.section("Conditions");
        let has = |name: &str| conditions.is_some_and(|all| all.contains_key(name));
        let is_free = |name| {
            let name = self.world.evaluate(output.0, name);
            name.is_some_and(|name| self.world.export(&name).is_none())
        };
        let condition = body.get("Condition").and_then(Value::as_str);
        let export = body.get("Export").and_then(|export| export.get("Name"));
        let fits = self.stacks.contains(&output.0)
            && condition.is_none_or(has)
            && export.is_none_or(is_free);
        fits.then_some(body)
    }
}

/// The reference across a border that an expression is.
fn across(object: &Object) -> Option<Reference<'_>> {
    match Intrinsic::of(object)? {
        Intrinsic::ImportValue(name) => Some(Reference::Import(name)),
        Intrinsic::GetStackOutput(stack, key, all) => Some(Reference::StackOutput(stack, key, all)),
        _ => None,
    }
}
