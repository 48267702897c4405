//! The stacks as they are to be, as far as they say under which names things are published.

use std::collections::{BTreeMap, BTreeSet};

use super::literal::Context;
use super::world::{At, Spot, World};
use crate::model::{Object, Stack, Template, Text, Value};
use crate::template::{self, Reference, as_reference};

/// What an output is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Published {
    pub(super) key: Text,
    /// The name of the export and how it is written, if it is one.
    pub(super) export: Option<(String, Value)>,
}

/// A resource and an attribute of it.
type Thing = (Spot, Option<Text>);

/// The outputs of the stacks as they are to be.
#[derive(Default)]
pub(super) struct Guide {
    published: BTreeMap<Thing, Vec<Published>>,
    keys: BTreeSet<Spot>,
    /// Outputs that are read by `Fn::GetStackOutput`.
    read: BTreeSet<Spot>,
    /// `DependsOn` of resources, to be restored where moves have lost it.
    depends_on: BTreeMap<Spot, Value>,
    /// The templates, if the guide is what was.
    before: BTreeMap<At, Template>,
    /// The outputs by the names of their exports, if the guide is what was.
    exports: BTreeMap<String, Spot>,
}

impl Guide {
    /// `stacks` come with the number of the stack that each of them is deployed as.
    pub(super) fn new(world: &World, stacks: &[(At, &Stack)]) -> Self {
        let mut guide = Self::default();
        for (at, stack) in stacks {
            guide.add(world, *at, stack);
        }
        let by_name: BTreeMap<&str, At> =
            stacks.iter().map(|(at, stack)| (stack.name.as_str(), *at)).collect();
        for (at, stack) in stacks {
            let mut read = Vec::new();
            for section in ["Resources", "Outputs"] {
                let Some(section) = stack.template.sections.get(section) else { continue };
                template::visit(section, &mut |found| {
                    if let Reference::StackOutput(name, key, _) = found {
                        read.push((name, key));
                    }
                });
            }
            for (name, key) in read {
                let name = evaluate(world, *at, stack, name);
                if let Some(other) = name.and_then(|name| by_name.get(name.as_str()).copied()) {
                    guide.read.insert((other, key.into()));
                }
            }
        }
        for published in guide.published.values_mut() {
            published.sort_by(|left, right| left.key.cmp(&right.key));
        }
        guide
    }

    /// The same, which also restores `DependsOn` that was lost when resources were in different
    /// stacks for a while.
    pub(super) fn remembering(world: &World, stacks: &[(At, &Stack)]) -> Self {
        let mut guide = Self::new(world, stacks);
        for (at, stack) in stacks {
            guide.before.insert(*at, stack.template.clone());
            let section = stack.template.section("Outputs");
            for (key, output) in section.into_iter().flat_map(Object::iter) {
                let name = output.get("Export").and_then(|export| export.get("Name"));
                let name = name.and_then(|name| evaluate(world, *at, stack, name));
                guide.exports.extend(name.map(|name| (name, (*at, key.clone()))));
            }
            for (id, body) in stack.template.resources() {
                if let Some(value) = body.get("DependsOn") {
                    guide.depends_on.insert((*at, id.clone()), value.clone());
                }
            }
        }
        guide
    }

    /// Whether the guide is what was, so that every export which it lacks came with the moves.
    pub(super) fn is_past(&self) -> bool {
        !self.before.is_empty()
    }

    /// Returns the template that a stack had, if the guide is what was.
    pub(super) fn before(&self, at: At) -> Option<&Template> {
        self.before.get(&at)
    }

    /// Returns the output that exported a name, if the guide is what was.
    pub(super) fn exported(&self, name: &str) -> Option<&Spot> {
        self.exports.get(name)
    }

    /// Puts `DependsOn` back where everything that it names is there again.
    pub(super) fn restore(&self, at: At, template: &mut Template) {
        let Some(Value::Object(resources)) = template.sections.get("Resources") else { return };
        let names = |value: &Value| -> Vec<Text> {
            let all = match value {
                Value::Array(items) => items.as_slice(),
                one => std::slice::from_ref(one),
            };
            all.iter().filter_map(Value::as_str).map(Text::from).collect()
        };
        let mut restored = Vec::new();
        for (id, body) in resources.iter() {
            let Some(value) = self.depends_on.get(&(at, id.clone())) else { continue };
            let wanted = names(value);
            let own = body.get("DependsOn").map(names).unwrap_or_default();
            let is_there = |name: &Text| resources.contains_key(name);
            if own.iter().all(|name| wanted.contains(name)) && wanted.iter().all(is_there) {
                restored.push((id.clone(), value.clone()));
            }
        }
        let Some(Value::Object(resources)) = template.sections.get_mut("Resources") else { return };
        for (id, value) in restored {
            if let Some(Value::Object(body)) = resources.get_mut(&id) {
                body.insert("DependsOn".into(), value);
            }
        }
    }

    fn add(&mut self, world: &World, at: At, stack: &Stack) {
        for (key, output) in stack.template.section("Outputs").into_iter().flat_map(Object::iter) {
            self.keys.insert((at, key.clone()));
            let Some((id, attribute)) = output.get("Value").and_then(as_reference) else {
                continue;
            };
            if stack.template.resource(id).is_none() {
                continue;
            }
            let name = output.get("Export").and_then(|export| export.get("Name"));
            let export =
                name.and_then(|name| Some((evaluate(world, at, stack, name)?, name.clone())));
            let thing = ((at, Text::from(id)), attribute.map(Text::from));
            let published = Published { key: key.clone(), export };
            self.published.entry(thing).or_default().push(published);
        }
    }

    /// Whether a stack is to have an output of this key.
    pub(super) fn has(&self, output: &Spot) -> bool {
        self.keys.contains(output)
    }

    /// Returns the output that is to publish an attribute of a resource, exported or not.
    pub(super) fn published(
        &self,
        spot: &Spot,
        attribute: Option<&Text>,
        exported: bool,
    ) -> Option<&Published> {
        let all = self.published.get(&(spot.clone(), attribute.cloned()))?;
        all.iter().find(|published| published.export.is_some() == exported)
    }

    /// Whether an attribute of a resource is to be read by `Fn::GetStackOutput` and not imported.
    pub(super) fn prefers_reading(&self, spot: &Spot, attribute: Option<&Text>) -> bool {
        let all = self.published.get(&(spot.clone(), attribute.cloned()));
        let mut all = all.into_iter().flatten();
        all.clone().all(|published| published.export.is_none())
            && all.any(|published| self.read.contains(&(spot.0, published.key.clone())))
    }
}

fn evaluate(world: &World, at: At, stack: &Stack, value: &Value) -> Option<String> {
    let parameter = |name: &str| {
        let given = stack.parameters.get(name).map(Text::to_string);
        given.or_else(|| {
            let default = stack.template.section("Parameters")?.get(name)?.get("Default")?;
            default.as_str().map(str::to_owned)
        })
    };
    let stack_name = &world.sites[at].own_name;
    let context = Context { environment: &world.environment, stack_name, parameter: &parameter };
    context.evaluate(value)
}
