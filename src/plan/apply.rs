//! One refactor: resources get other places, and everything that refers to them follows.
//!
//! The bodies stay as they are deployed. A reference that stays inside its stack gets the new
//! logical ID; one that crosses a border becomes an export and an import; an import of something
//! that is in the same stack now becomes a reference again. Outputs that publish nothing but a
//! resource go with it. All of it happens at once, so that names may be swapped.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap as HashMap;

use super::guide::Guide;
use super::outputs::{Fate, Outputs};
use super::world::{At, Spot, Target, Way, World};
use crate::model::{Object, Template, Text, Value};
use crate::template::{self, Reference, reference};

/// A resource and the place that it gets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Relocation {
    pub(super) from: Spot,
    pub(super) to: Spot,
}

/// What a refactor makes of the stacks.
#[derive(Default)]
pub(super) struct Applied {
    /// The templates that change.
    pub(super) templates: BTreeMap<At, Template>,
    /// Exports that stay where they were for importers that are not touched: the old output, and
    /// the stacks that import it.
    pub(super) kept_exports: Vec<(Spot, BTreeSet<Text>)>,
}

/// Everything that the rewriting of a template looks at.
pub(super) struct Scene<'w> {
    pub(super) world: &'w World,
    pub(super) guide: &'w Guide,
    pub(super) moved: HashMap<&'w Spot, &'w Spot>,
    /// The other way round.
    pub(super) origins: HashMap<&'w Spot, &'w Spot>,
    /// Stacks that something leaves or enters.
    pub(super) core: BTreeSet<At>,
}

impl Scene<'_> {
    /// Where a resource is afterwards.
    pub(super) fn place<'s>(&'s self, spot: &'s Spot) -> &'s Spot {
        self.moved.get(spot).copied().unwrap_or(spot)
    }
}

/// Moves resources at once. The destinations have to be free, or to become free.
pub(super) fn apply(world: &World, guide: &Guide, relocations: &[Relocation]) -> Applied {
    let moved = relocations.iter().map(|each| (&each.from, &each.to)).collect();
    let core = relocations.iter().flat_map(|each| [each.from.0, each.to.0]).collect();
    let origins = relocations.iter().map(|each| (&each.to, &each.from)).collect();
    let scene = Scene { world, guide, moved, origins, core };
    let mut outputs = Outputs::new(&scene);
    let touched = outputs.touched.clone();
    let mut resources = BTreeMap::new();
    for at in &touched {
        resources.insert(*at, own_resources(&scene, &mut outputs, *at));
    }
    let mut arrivals: Vec<&Relocation> =
        relocations.iter().filter(|each| each.from.0 != each.to.0).collect();
    arrivals.sort();
    for each in arrivals {
        let Some(body) = world.resource(&each.from) else { continue };
        let body = rewrite_body(&scene, &mut outputs, (each.from.0, each.to.0), body);
        if let Some(members) = resources.get_mut(&each.to.0) {
            members.push((each.to.1.clone(), body));
        }
    }
    let mut sections: BTreeMap<At, Vec<(Text, Value)>> = BTreeMap::new();
    for at in &touched {
        let rewritten = outputs_of(&scene, &mut outputs, *at);
        sections.insert(*at, rewritten);
    }
    for ((at, key), body) in outputs.take_added() {
        sections.entry(at).or_default().push((key, body));
    }
    let mut applied = Applied { kept_exports: outputs.kept(), ..Applied::default() };
    for (at, members) in resources {
        let own = sections.remove(&at).unwrap_or_default();
        let mut template = assembled(&world.sites[at].template, members, own);
        guide.restore(at, &mut template);
        applied.templates.insert(at, template);
    }
    outputs.drop_unused(&mut applied.templates);
    applied.templates.retain(|at, template| *template != world.sites[*at].template);
    applied
}

/// The template of a stack with other resources and outputs.
fn assembled(
    old: &Template,
    resources: Vec<(Text, Value)>,
    outputs: Vec<(Text, Value)>,
) -> Template {
    let mut sections = Object::new();
    let had_resources = old.sections.contains_key("Resources");
    let had_outputs = old.sections.contains_key("Outputs");
    let (resources, outputs) = (Object::from_iter(resources), Object::from_iter(outputs));
    for (name, section) in old.sections.iter() {
        match name.as_str() {
            "Resources" => {
                sections.insert(name.clone(), Value::Object(resources.clone()));
            }
            "Outputs" if outputs.is_empty() => {}
            "Outputs" => {
                sections.insert(name.clone(), Value::Object(outputs.clone()));
            }
            _ => {
                sections.insert(name.clone(), section.clone());
            }
        }
    }
    if !had_resources {
        sections.insert("Resources".into(), Value::Object(resources));
    }
    if !had_outputs && !outputs.is_empty() {
        sections.insert("Outputs".into(), Value::Object(outputs));
    }
    Template { sections }
}

/// The resources that a stack keeps, in their order, under the names that they have afterwards.
fn own_resources(scene: &Scene<'_>, outputs: &mut Outputs<'_>, at: At) -> Vec<(Text, Value)> {
    let mut kept = Vec::new();
    let section = scene.world.sites[at].template.section("Resources");
    for (id, body) in section.into_iter().flat_map(Object::iter) {
        let spot = (at, id.clone());
        let place = scene.place(&spot);
        if place.0 != at {
            continue;
        }
        let rewritten = match body {
            Value::Object(body) => rewrite_body(scene, outputs, (at, at), body),
            other => other.clone(),
        };
        kept.push((place.1.clone(), rewritten));
    }
    kept
}

/// The body of a resource that goes from one stack to another, or stays in its own.
fn rewrite_body(
    scene: &Scene<'_>,
    outputs: &mut Outputs<'_>,
    (from, to): (At, At),
    body: &Object,
) -> Value {
    let mut rewritten = Object::new();
    for (name, value) in body.iter() {
        let value = if name == "DependsOn" {
            depends_on(scene, (from, to), value)
        } else {
            Some(rewrite(scene, outputs, (from, to), value))
        };
        if let Some(value) = value {
            rewritten.insert(name.clone(), value);
        }
    }
    Value::Object(rewritten)
}

/// `DependsOn` with the new names, without what is in another stack.
fn depends_on(scene: &Scene<'_>, (from, to): (At, At), value: &Value) -> Option<Value> {
    let renamed = |value: &Value| {
        let Some(id) = value.as_str() else { return Some(value.clone()) };
        let spot = (from, Text::from(id));
        let place = scene.place(&spot);
        (place.0 == to).then(|| Value::String(place.1.clone()))
    };
    match value {
        Value::Array(items) => {
            let kept: Vec<Value> = items.iter().filter_map(renamed).collect();
            (!kept.is_empty() || items.is_empty()).then_some(Value::Array(kept))
        }
        other => renamed(other),
    }
}

/// An expression that goes from one stack to another, or stays in its own.
fn rewrite(
    scene: &Scene<'_>,
    outputs: &mut Outputs<'_>,
    (from, to): (At, At),
    value: &Value,
) -> Value {
    template::rewrite(value, &mut |found| replacement(scene, outputs, (from, to), found))
}

/// What stands in place of a reference; `None` if it stays.
pub(super) fn replacement(
    scene: &Scene<'_>,
    outputs: &mut Outputs<'_>,
    (from, to): (At, At),
    found: Reference<'_>,
) -> Option<Value> {
    if let Reference::Computed(name, attribute) = found {
        let spot = (from, Text::from(name));
        let place = scene.place(&spot);
        let items = vec![Value::String(place.1.clone()), attribute.clone()];
        return (place != &spot)
            .then(|| template::function_call("Fn::GetAtt", Value::Array(items)));
    }
    let mut target = scene.world.target(from, found)?;
    if scene.place(&target.spot).0 != to {
        // What is handed over stays so; to other stacks the resource in between is published.
        target = match (target.way, found) {
            (Way::Nested, Reference::Name(name, attribute)) => {
                scene.world.named(from, name, attribute)?
            }
            (Way::Output(output), _) => {
                let between = scene.world.published(&output);
                let way = Way::Output(output);
                match between {
                    Some(between) => Target { way, ..between },
                    None => Target { way, ..target },
                }
            }
            (way, _) => Target { way, ..target },
        };
    }
    let place = scene.place(&target.spot);
    let attribute = target.attribute.as_ref();
    if place.0 == to {
        let stays = target.way == Way::Direct && *place == target.spot;
        return (!stays).then(|| reference(&place.1, attribute.map(Text::as_str)));
    }
    match &target.way {
        Way::Output(output) => outputs.redirect(output, found, (place, attribute), to),
        _ => handed_over(scene, to, (place, attribute))
            .or_else(|| Some(outputs.import(place, attribute))),
    }
}

/// A parameter of a nested stack, or an output of one, that brings a resource to a stack already.
fn handed_over(
    scene: &Scene<'_>,
    to: At,
    (place, attribute): (&Spot, Option<&Text>),
) -> Option<Value> {
    let world = scene.world;
    let is_it = |target: Option<Target>| {
        target.is_some_and(|target| {
            scene.place(&target.spot) == place && target.attribute.as_ref() == attribute
        })
    };
    if let Some(maker) = world.maker(to).filter(|maker| scene.place(maker).0 == place.0) {
        let declared = world.sites[maker.0].template.resource(&maker.1);
        let passed = declared?.get("Properties")?.get("Parameters")?.as_object()?;
        let mut names = passed.iter().map(|(name, _)| name);
        return names.find(|name| is_it(world.passed(to, name))).map(|name| reference(name, None));
    }
    let maker = world.maker(place.0).filter(|maker| scene.place(maker).0 == to)?;
    let mut keys = world.sites[place.0].template.section("Outputs")?.iter().map(|(key, _)| key);
    let key = keys.find(|key| {
        let output = (place.0, (*key).clone());
        is_it(world.meaning(&output)) && world.export_name(&output).is_none()
    })?;
    Some(reference(&scene.place(maker).1, Some(&format!("Outputs.{key}"))))
}

/// The outputs that a stack keeps, in their order, under the keys that they have afterwards.
fn outputs_of(scene: &Scene<'_>, outputs: &mut Outputs<'_>, at: At) -> Vec<(Text, Value)> {
    let mut kept = Vec::new();
    let section = scene.world.sites[at].template.section("Outputs");
    for (key, body) in section.into_iter().flat_map(Object::iter) {
        let fate = outputs.fate(&(at, key.clone())).cloned();
        let stays = fate.as_ref().is_none_or(|fate| fate.keep);
        if stays {
            kept.push((key.clone(), rewrite(scene, outputs, (at, at), body)));
        }
        if let Some(Fate { to: Some(new), .. }) = fate
            && new.0 == at
            && let Some(body) = outputs.take(&new)
        {
            kept.push((new.1, body));
        }
    }
    kept
}
