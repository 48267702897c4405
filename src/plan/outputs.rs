//! Outputs and exports while resources move.
//!
//! An output that publishes nothing but a resource goes with it, under the name that the stacks
//! as they are to be have for it, else under the name that the CDK would give it. Whoever imports
//! it is pointed to the new one, unless that would make the refactor too large or the importer is
//! not known: then the old export stays, with an equal value.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap as HashMap;

use super::apply::Scene;
use super::guide::Published;
use super::limits::MOST_STACKS;
use super::world::{At, Spot};
use crate::compare;
use crate::model::{Object, Template, Text, Value};
use crate::template::{Reference, as_reference, function_call, json, reference};

/// What becomes of an output whose resource gets another place.
#[derive(Clone, Debug)]
pub(super) struct Fate {
    /// Where it is afterwards; `None` if it goes away since nobody uses it.
    pub(super) to: Option<Spot>,
    /// Whether the old one stays, too.
    pub(super) keep: bool,
    /// The new name of the export.
    export: Option<String>,
}

/// How a resource is published for other stacks.
#[derive(Clone, Debug)]
struct Door {
    key: Text,
    export: Option<String>,
}

/// All outputs of a refactor.
pub(super) struct Outputs<'w> {
    scene: &'w Scene<'w>,
    /// The stacks whose templates are written anew.
    pub(super) touched: BTreeSet<At>,
    fates: BTreeMap<Spot, Fate>,
    /// New outputs.
    added: BTreeMap<Spot, Value>,
    /// How things are published: place, attribute, whether it is read and not imported.
    doors: HashMap<(Spot, Option<Text>, bool), Door>,
    /// New outputs that stand for old ones.
    renamed: BTreeMap<Spot, Spot>,
    /// Names of exports that new outputs have.
    taken: BTreeSet<String>,
    kept: Vec<(Spot, BTreeSet<Text>)>,
}

impl<'w> Outputs<'w> {
    pub(super) fn new(scene: &'w Scene<'w>) -> Self {
        let mut outputs = Self {
            scene,
            touched: scene.core.clone(),
            fates: BTreeMap::new(),
            added: BTreeMap::new(),
            doors: HashMap::default(),
            renamed: BTreeMap::new(),
            taken: BTreeSet::new(),
            kept: Vec::new(),
        };
        let mut affected = Vec::new();
        for at in &scene.core {
            let section = scene.world.sites[*at].template.section("Outputs");
            for (key, body) in section.into_iter().flat_map(Object::iter) {
                let Some((id, attribute)) = body.get("Value").and_then(as_reference) else {
                    continue;
                };
                let spot = (*at, Text::from(id));
                if scene.moved.contains_key(&spot) {
                    affected.push(((*at, key.clone()), spot, attribute.map(Text::from)));
                }
            }
        }
        affected.sort();
        for (output, spot, attribute) in affected {
            let fate = outputs.decide(&output, &spot, attribute.as_ref());
            outputs.fates.insert(output, fate);
        }
        outputs
    }

    pub(super) fn fate(&self, output: &Spot) -> Option<&Fate> {
        self.fates.get(output)
    }

    pub(super) fn kept(&mut self) -> Vec<(Spot, BTreeSet<Text>)> {
        std::mem::take(&mut self.kept)
    }

    /// Takes the body of a new output.
    pub(super) fn take(&mut self, output: &Spot) -> Option<Value> {
        self.added.remove(output)
    }

    pub(super) fn take_added(&mut self) -> BTreeMap<Spot, Value> {
        std::mem::take(&mut self.added)
    }

    fn decide(&mut self, output: &Spot, spot: &Spot, attribute: Option<&Text>) -> Fate {
        let world = self.scene.world;
        let place = self.scene.place(spot).clone();
        let same_stack = place.0 == output.0;
        let old_export = world.export_name(output);
        let users = world.users(output);
        let foreign = old_export.as_ref().and_then(|name| world.foreign.get(name));
        // The parent names the outputs of a nested stack, and stays as it is deployed.
        let is_handed_over = old_export.is_none() && world.is_nested(output.0);
        let wanted = self.scene.guide.published(&place, attribute, old_export.is_some());
        let wanted = wanted.filter(|_| !is_handed_over).cloned();
        let unused = users.is_empty() && foreign.is_none();
        let renamed = wanted.filter(|wanted| self.is_free(wanted, &place, output));
        let is_wanted = renamed.is_some() || self.scene.guide.has(output);
        let came_along = |name: &str| is_generated(name) || self.scene.guide.is_past();
        if unused && !is_wanted && old_export.as_deref().is_some_and(came_along) {
            return Fate { to: None, keep: false, export: None };
        }
        let (key, export) = match renamed {
            Some(Published { key, export }) => (key, export),
            None if same_stack => {
                let name = world.output(output).and_then(|body| body.get("Export")?.get("Name"));
                (output.1.clone(), old_export.clone().zip(name.cloned()))
            }
            None => self.invent(&place, attribute, output, old_export.as_deref()),
        };
        let name = export.as_ref().map(|(name, _)| name.clone());
        let to = (place.0, key.clone());
        let same_name = name == old_export && (name.is_some() || (same_stack && key == output.1));
        let keep = to != *output
            && !same_name
            && (self.scene.guide.has(output)
                || (is_handed_over && !users.is_empty())
                || !self.can_follow(output, &users, foreign));
        let unchanged = to == *output && name == old_export;
        if unchanged {
            let fate = Fate { to: None, keep: true, export: name.clone() };
            self.open(&place, attribute, key, name);
            return fate;
        }
        let mut body = Object::new();
        for (name, value) in world.output(output).into_iter().flat_map(Object::iter) {
            match name.as_str() {
                "Value" => drop(
                    body.insert(name.clone(), reference(&place.1, attribute.map(Text::as_str))),
                ),
                "Export" => {
                    if let Some((_, written)) = &export {
                        body.insert(name.clone(), function_call("Name", written.clone()));
                    }
                }
                "Condition" if !same_stack => {}
                _ => drop(body.insert(name.clone(), value.clone())),
            }
        }
        // The condition of the old output need not be there, but that of the resource is.
        let had_condition = world.output(output).is_some_and(|old| old.contains_key("Condition"));
        if !same_stack && had_condition {
            self.condition(&mut body, spot);
        }
        self.added.insert(to.clone(), Value::Object(body));
        self.renamed.insert(to.clone(), output.clone());
        self.taken.extend(name.clone());
        self.open(&place, attribute, key, name.clone());
        Fate { to: Some(to), keep, export: name }
    }

    fn open(&mut self, place: &Spot, attribute: Option<&Text>, key: Text, export: Option<String>) {
        let reads = export.is_none();
        let door = Door { key, export };
        self.doors.entry((place.clone(), attribute.cloned(), reads)).or_insert(door);
    }

    /// An output exists under the condition of its resource.
    fn condition(&self, body: &mut Object, spot: &Spot) {
        if let Some(condition) =
            self.scene.world.resource(spot).and_then(|body| body.get("Condition"))
        {
            body.insert("Condition".into(), condition.clone());
        }
    }

    /// Whether an output can have this key and export: nothing else has them.
    fn is_free(&self, wanted: &Published, place: &Spot, old: &Spot) -> bool {
        let to = (place.0, wanted.key.clone());
        let key_free =
            to == *old || (self.scene.world.output(&to).is_none() && !self.added.contains_key(&to));
        let is_free = |name: &str| {
            let owner = self.scene.world.export(name);
            !self.taken.contains(name) && owner.is_none_or(|owner| owner == old)
        };
        key_free && wanted.export.as_ref().is_none_or(|(name, _)| is_free(name))
    }

    /// Whether all users of an output can be pointed to another one in this refactor. If so, they
    /// take part in it.
    fn can_follow(
        &mut self,
        output: &Spot,
        users: &BTreeSet<At>,
        foreign: Option<&BTreeSet<Text>>,
    ) -> bool {
        let with_users: BTreeSet<At> = self.touched.union(users).copied().collect();
        let fits = with_users.len() <= MOST_STACKS
            && users.iter().all(|at| self.scene.world.sites[*at].can_follow);
        if fits && foreign.is_none() {
            self.touched = with_users;
            return true;
        }
        let mut names = foreign.cloned().unwrap_or_default();
        let outside = users.difference(&self.scene.core);
        names.extend(outside.map(|at| Text::from(self.scene.world.sites[*at].name.as_str())));
        self.kept.push((output.clone(), names));
        false
    }

    /// Makes up a key and a name of an export where the stacks as they are to be have none.
    fn invent(
        &self,
        place: &Spot,
        attribute: Option<&Text>,
        old: &Spot,
        old_export: Option<&str>,
    ) -> (Text, Option<(String, Value)>) {
        let explicit = old_export.filter(|name| !is_generated(name));
        if old_export.is_some() && explicit.is_none() {
            return self.generated(place, attribute, true);
        }
        let key_free = |key: &Text| {
            let spot = (place.0, key.clone());
            self.scene.world.output(&spot).is_none() && !self.added.contains_key(&spot)
        };
        let mut key = old.1.clone();
        while !key_free(&key) {
            key.push('X');
        }
        (key, explicit.map(|name| (name.to_owned(), Value::from(name))))
    }

    /// Key and name of the export as the CDK makes them.
    fn generated(
        &self,
        place: &Spot,
        attribute: Option<&Text>,
        exported: bool,
    ) -> (Text, Option<(String, Value)>) {
        let value = reference(&place.1, attribute.map(Text::as_str));
        let scope = if exported { "Exports" } else { "Publish" };
        let written = format!("Output{}", json::to_compact(&value));
        let mut key = compare::unique_id(&[scope, &written]);
        let stack = &self.scene.world.sites[place.0].own_name;
        let name_of = |key: &str| format!("{stack}:{key}");
        let is_free = |key: &String| {
            let spot = (place.0, Text::from(key.as_str()));
            let name = name_of(key);
            let free = self.scene.world.export(&name).is_none() && !self.taken.contains(&name);
            self.scene.world.output(&spot).is_none()
                && !self.added.contains_key(&spot)
                && (free || !exported)
        };
        while !is_free(&key) {
            key.push('X');
        }
        let name = name_of(&key);
        let export = exported.then(|| (name.clone(), Value::from(name.as_str())));
        (key.into(), export)
    }

    /// Returns the expression for a resource that is in another stack than it is used in.
    pub(super) fn import(&mut self, place: &Spot, attribute: Option<&Text>) -> Value {
        let reads = self.scene.guide.prefers_reading(place, attribute);
        let door = self.door(place, attribute, reads);
        match door.export.as_deref().filter(|_| !reads) {
            Some(name) => function_call("Fn::ImportValue", Value::from(name)),
            None => self.reading((place.0, door.key), None),
        }
    }

    /// Returns what reads an output. `given` are the arguments that stood there before.
    fn reading(&self, (at, key): Spot, given: Option<&Object>) -> Value {
        let stack = Value::from(self.scene.world.sites[at].own_name.as_str());
        let mut arguments = given.cloned().unwrap_or_else(|| {
            let region = Value::String(self.scene.world.environment.region.clone());
            Object::from_iter([
                (Text::from("StackName"), stack.clone()),
                (Text::from("Region"), region),
                (Text::from("OutputName"), Value::Null),
            ])
        });
        arguments.insert("StackName".into(), stack);
        arguments.insert("OutputName".into(), Value::String(key));
        function_call("Fn::GetStackOutput", Value::Object(arguments))
    }

    fn door(&mut self, place: &Spot, attribute: Option<&Text>, reads: bool) -> Door {
        let asked = (place.clone(), attribute.cloned(), reads);
        // What is exported can be read, too.
        let exported = (place.clone(), attribute.cloned(), false);
        let known = self.doors.get(&asked);
        if let Some(door) = known.or_else(|| self.doors.get(&exported).filter(|_| reads)) {
            return door.clone();
        }
        let door = self.standing(place, attribute, reads).unwrap_or_else(|| {
            let guide = self.scene.guide;
            let wanted = guide.published(place, attribute, !reads);
            let wanted = wanted.or_else(|| guide.published(place, attribute, true)).cloned();
            let nothing = (place.0, Text::default());
            let wanted = wanted.filter(|wanted| self.is_free(wanted, place, &nothing));
            let is_made_up = wanted.is_none();
            let (key, export) = match wanted {
                Some(Published { key, export }) => (key, export),
                None => self.generated(place, attribute, !reads),
            };
            let value = reference(&place.1, attribute.map(Text::as_str));
            let mut body = Object::from_iter([(Text::from("Value"), value)]);
            if let Some((_, written)) = &export {
                body.insert("Export".into(), function_call("Name", written.clone()));
            }
            let origin = self.scene.origins.get(place).copied();
            let origin = origin.unwrap_or(place);
            if is_made_up || self.scene.world.absent.contains(origin) {
                self.condition(&mut body, origin);
            }
            self.added.insert((place.0, key.clone()), Value::Object(body));
            let export = export.map(|(name, _)| name);
            self.taken.extend(export.clone());
            Door { key, export }
        });
        self.doors.insert(asked, door.clone());
        door
    }

    /// An output that publishes a resource already and that stays.
    fn standing(&self, place: &Spot, attribute: Option<&Text>, reads: bool) -> Option<Door> {
        let section = self.scene.world.sites[place.0].template.section("Outputs")?;
        section.iter().find_map(|(key, body)| {
            let (id, named) = as_reference(body.get("Value")?)?;
            let output = (place.0, key.clone());
            let is_it = id == place.1.as_str() && named == attribute.map(Text::as_str);
            if !is_it || self.scene.moved.contains_key(&(place.0, Text::from(id))) {
                return None;
            }
            let export = self.scene.world.export_name(&output);
            (reads || export.is_some()).then(|| Door { key: key.clone(), export })
        })
    }

    /// What stands in place of a reference by way of an output, in a stack where the resource is
    /// not; `None` if it stays.
    pub(super) fn redirect(
        &mut self,
        output: &Spot,
        found: Reference<'_>,
        (place, attribute): (&Spot, Option<&Text>),
        user: At,
    ) -> Option<Value> {
        let fate = self.fates.get(output)?;
        let same_name =
            fate.export.is_some() && fate.export == self.scene.world.export_name(output);
        let unchanged = fate.to.is_none() && fate.keep;
        let stays = unchanged || (fate.keep && !self.scene.core.contains(&user));
        match found {
            Reference::Import(_) if stays || same_name => None,
            Reference::Import(_) => Some(self.import(place, attribute)),
            Reference::StackOutput(_, _, given) if !stays => {
                Some(self.reading(fate.to.clone()?, Some(given)))
            }
            _ => None,
        }
    }

    /// Takes away outputs whose last user is gone by this refactor and which are not to be.
    pub(super) fn drop_unused(&self, templates: &mut BTreeMap<At, Template>) {
        loop {
            let superfluous = self.superfluous(templates);
            if superfluous.is_empty() {
                return;
            }
            for (at, key) in superfluous {
                let Some(template) = templates.get_mut(&at) else { continue };
                let Some(Value::Object(section)) = template.sections.get_mut("Outputs") else {
                    continue;
                };
                section.remove(&key);
                if section.is_empty() {
                    template.sections.remove("Outputs");
                }
            }
        }
    }

    fn superfluous(&self, templates: &BTreeMap<At, Template>) -> Vec<Spot> {
        let world = self.scene.world;
        let (mut imported, mut read) = (BTreeSet::new(), BTreeSet::new());
        for (at, template) in templates {
            let (imports, reads) = world.uses(*at, template);
            imported.extend(imports);
            read.extend(reads);
        }
        let mut found = Vec::new();
        for (at, template) in templates {
            for (key, body) in template.section("Outputs").into_iter().flat_map(Object::iter) {
                let output = (*at, key.clone());
                if self.scene.guide.has(&output) {
                    continue;
                }
                let origin = self.renamed.get(&output).unwrap_or(&output);
                let users = world.users(origin);
                let name = body.get("Export").and_then(|export| export.get("Name"));
                let name = name.and_then(|name| world.evaluate(*at, name));
                let is_import = name.as_ref().is_some_and(|name| {
                    imported.contains(name) || world.foreign.contains_key(name)
                });
                let same =
                    *origin == output || (name.is_some() && name == world.export_name(origin));
                let outside = same && users.iter().any(|user| !templates.contains_key(user));
                if !users.is_empty() && !is_import && !outside && !read.contains(&output) {
                    found.push(output);
                }
            }
        }
        found
    }
}

/// Whether the CDK made up the name of an export.
fn is_generated(name: &str) -> bool {
    name.split_once(':').is_some_and(|(_, key)| key.starts_with("ExportsOutput"))
}
