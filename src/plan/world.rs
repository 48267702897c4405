//! The stacks of an environment while a plan is made: their templates after the steps so far,
//! and who exports, imports and reads what.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::literal::Context;
pub(super) use super::site::{At, FILLER, FILLER_TYPE, Site, Spot, write};
use super::site::{Links, filler_in, has_macros, stack_name_of};
use super::steps::body_digest;
use crate::model::{
    DeployedStack, Environment, Location, Object, Stack, StatusKind, Template, Text, Value,
};
use crate::template::{self, Intrinsic, Reference, as_reference};

/// A resource that a reference means, however it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) spot: Spot,
    pub(super) attribute: Option<Text>,
    pub(super) way: Way,
}

/// How a reference gets to its resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It names it.
    Direct,
    /// It names this output, which publishes it.
    Output(Spot),
    /// It is handed over between a nested stack and its parent.
    Nested,
}

/// All stacks.
pub(super) struct World {
    pub(super) environment: Environment,
    pub(super) sites: Vec<Site>,
    by_name: HashMap<Text, At>,
    exports: BTreeMap<String, Spot>,
    importers: HashMap<String, BTreeSet<At>>,
    readers: HashMap<Spot, BTreeSet<At>>,
    /// Nested stacks by the resources that make them.
    children: HashMap<Spot, At>,
    /// The resources that make nested stacks.
    makers: HashMap<At, Spot>,
    /// Definitions without a resource, since their conditions are not met.
    pub(super) absent: HashSet<Spot>,
    /// For each export the stacks that import it in a way that is not seen here.
    pub(super) foreign: BTreeMap<String, BTreeSet<Text>>,
}

impl World {
    /// Returns the stacks as they are deployed. Templates come as they are to be sent, that is
    /// with all of their characters.
    pub(super) fn new(
        environment: &Environment,
        deployed: &[DeployedStack],
        templates: Vec<Template>,
    ) -> Self {
        let mut sites: Vec<Site> = deployed
            .iter()
            .zip(templates)
            .map(|(stack, template)| Site {
                name: stack.stack.name.clone(),
                own_name: stack_name_of(&stack.id).unwrap_or(stack.stack.name.as_str()).into(),
                id: Some(stack.id.clone()),
                text: Some(stack.body.clone()),
                has_macros: has_macros(&template),
                can_follow: stack.status.kind() == StatusKind::Stable
                    && !stack.has_policy
                    && !has_macros(&template),
                filler: filler_in(&template),
                template,
                parameters: stack.stack.parameters.clone(),
                links: Links::default(),
            })
            .collect();
        sites.sort_by(|left, right| left.name.cmp(&right.name));
        let mut world = Self {
            environment: environment.clone(),
            by_name: HashMap::default(),
            sites: Vec::new(),
            exports: BTreeMap::new(),
            importers: HashMap::default(),
            readers: HashMap::default(),
            children: HashMap::default(),
            makers: HashMap::default(),
            absent: HashSet::default(),
            foreign: BTreeMap::new(),
        };
        for site in sites {
            world.add(site);
        }
        world.relate(deployed);
        for at in 0..world.sites.len() {
            world.link(at);
        }
        world.find_foreign(deployed);
        world
    }

    /// Finds what is not there although it is defined, and which stacks are nested.
    fn relate(&mut self, deployed: &[DeployedStack]) {
        for stack in deployed.iter().filter(|stack| !stack.resources.is_empty()) {
            let Some(at) = self.at(stack.stack.name.as_str()) else { continue };
            let ids = stack.stack.template.resources().map(|(id, _)| id);
            let missing = ids.filter(|id| !stack.resources.contains_key(*id));
            self.absent.extend(missing.map(|id| (at, id.clone())));
        }
        for stack in deployed {
            let maker = stack.stack.parent.as_ref().and_then(|parent| {
                let at = self.at(parent.stack.as_str())?;
                Some((at, Text::from(parent.logical_id.as_str())))
            });
            if let Some((maker, child)) = maker.zip(self.at(stack.stack.name.as_str())) {
                self.children.insert(maker.clone(), child);
                self.makers.insert(child, maker);
            }
        }
    }

    /// Finds imports that are not seen in the templates.
    fn find_foreign(&mut self, deployed: &[DeployedStack]) {
        for export in deployed.iter().flat_map(|stack| &stack.exports) {
            let known = self.importers.get(export.name.as_str());
            let seen = |name: &Text| {
                let at = self.at(name).or_else(|| self.at_own_name(name));
                known.zip(at).is_some_and(|(known, at)| known.contains(&at))
            };
            let foreign: BTreeSet<Text> =
                export.importers.iter().filter(|name| !seen(name)).cloned().collect();
            if !foreign.is_empty() {
                self.foreign.insert(export.name.to_string(), foreign);
            }
        }
    }

    fn add(&mut self, site: Site) -> At {
        let at = self.sites.len();
        self.by_name.insert(site.name.as_str().into(), at);
        self.sites.push(site);
        at
    }

    /// Adds a stack that does not exist yet.
    pub(super) fn add_new(&mut self, stack: &Stack) -> At {
        let name = &stack.name;
        let mut sections = Object::new();
        for section in ["AWSTemplateFormatVersion", "Description", "Metadata"] {
            if let Some(value) = stack.template.sections.get(section) {
                sections.insert(section.into(), value.clone());
            }
        }
        self.add(Site {
            name: name.clone(),
            own_name: name.as_str().into(),
            id: None,
            text: None,
            template: Template { sections },
            parameters: BTreeMap::new(),
            has_macros: false,
            can_follow: true,
            filler: None,
            links: Links::default(),
        })
    }

    pub(super) fn at(&self, name: &str) -> Option<At> {
        self.by_name.get(name).copied()
    }

    fn at_own_name(&self, name: &str) -> Option<At> {
        self.sites.iter().position(|site| site.own_name == name)
    }

    pub(super) fn location(&self, spot: &Spot) -> Location {
        Location::new(self.sites[spot.0].name.as_str(), &spot.1)
    }

    pub(super) fn resource(&self, spot: &Spot) -> Option<&Object> {
        self.sites[spot.0].template.resource(&spot.1)
    }

    /// How many resources a stack has.
    pub(super) fn count(&self, at: At) -> usize {
        self.sites[at].template.resources().count()
    }

    /// Nested stacks follow the resources that make them.
    pub(super) fn follow(&mut self, moves: impl Iterator<Item = (Spot, Spot)>) {
        let moved: Vec<(Spot, At)> =
            moves.filter_map(|(from, to)| Some((to, self.children.remove(&from)?))).collect();
        for (to, child) in moved {
            self.makers.insert(child, to.clone());
            self.children.insert(to, child);
        }
    }

    /// Returns the resource that makes a nested stack.
    pub(super) fn maker(&self, at: At) -> Option<&Spot> {
        self.makers.get(&at)
    }

    /// Whether a stack is nested in another one.
    pub(super) fn is_nested(&self, at: At) -> bool {
        self.makers.contains_key(&at)
    }

    /// Returns the resource that a parameter of a nested stack stands for, if its parent passes
    /// a reference and nothing else.
    pub(super) fn passed(&self, at: At, parameter: &str) -> Option<Target> {
        let maker = self.makers.get(&at)?;
        let properties = self.resource(maker)?.get("Properties")?;
        let (name, attribute) = as_reference(properties.get("Parameters")?.get(parameter)?)?;
        let target = self.target(maker.0, Reference::Name(name, attribute))?;
        Some(Target { way: Way::Nested, ..target })
    }

    /// Sets the template that a step leaves. Returns the text to be sent.
    pub(super) fn set(&mut self, at: At, template: Template) -> Text {
        let text: Text = write(&template).into();
        self.unlink(at);
        let site = &mut self.sites[at];
        site.template = template;
        site.text = Some(text.clone());
        self.link(at);
        text
    }

    /// The digest of the template that has to be there now.
    pub(super) fn digest(&self, at: At) -> Option<String> {
        self.sites[at].text.as_deref().map(body_digest)
    }

    /// Returns what an expression comes to in a stack.
    pub(super) fn evaluate(&self, at: At, value: &Value) -> Option<String> {
        evaluate(&self.environment, &self.sites[at], value)
    }

    fn unlink(&mut self, at: At) {
        let links = std::mem::take(&mut self.sites[at].links);
        for (name, key) in links.exports {
            if self.exports.get(&name).is_some_and(|spot| *spot == (at, key)) {
                self.exports.remove(&name);
            }
        }
        for name in links.imports {
            if let Some(users) = self.importers.get_mut(&name) {
                users.remove(&at);
            }
        }
        for output in links.reads {
            if let Some(users) = self.readers.get_mut(&output) {
                users.remove(&at);
            }
        }
    }

    fn link(&mut self, at: At) {
        let links = self.links(at, &self.sites[at].template);
        for (name, key) in &links.exports {
            self.exports.insert(name.clone(), (at, key.clone()));
        }
        for name in &links.imports {
            self.importers.entry(name.clone()).or_default().insert(at);
        }
        for output in &links.reads {
            self.readers.entry(output.clone()).or_default().insert(at);
        }
        self.sites[at].links = links;
    }

    /// Returns the names that a template would import in a stack, and the outputs that it would
    /// read.
    pub(super) fn uses(&self, at: At, template: &Template) -> (BTreeSet<String>, BTreeSet<Spot>) {
        let links = self.links(at, template);
        (links.imports, links.reads)
    }

    /// Returns the output that exports a name.
    pub(super) fn export(&self, name: &str) -> Option<&Spot> {
        self.exports.get(name)
    }

    /// Returns the name under which an output is exported.
    pub(super) fn export_name(&self, output: &Spot) -> Option<String> {
        let body = self.output(output)?.get("Export")?.get("Name")?;
        self.evaluate(output.0, body)
    }

    pub(super) fn output(&self, output: &Spot) -> Option<&Object> {
        self.sites[output.0].template.section("Outputs")?.get(&output.1)?.as_object()
    }

    /// Returns the stacks that import or read an output.
    pub(super) fn users(&self, output: &Spot) -> BTreeSet<At> {
        let mut users = self.readers.get(output).cloned().unwrap_or_default();
        if let Some(importers) = self.export_name(output).and_then(|n| self.importers.get(&n)) {
            users.extend(importers);
        }
        users
    }

    /// Returns the stacks whose exports and outputs a stack uses, and those that use its own.
    pub(super) fn neighbours(&self, at: At) -> BTreeSet<At> {
        let links = &self.sites[at].links;
        let mut found = self.producers(at);
        for name in links.exports.keys() {
            found.extend(self.importers.get(name).into_iter().flatten());
        }
        let outputs = self.sites[at].template.section("Outputs");
        for (key, _) in outputs.into_iter().flat_map(Object::iter) {
            found.extend(self.readers.get(&(at, key.clone())).into_iter().flatten());
        }
        found.remove(&at);
        found
    }

    /// Returns the stacks from which a stack imports or reads.
    pub(super) fn producers(&self, at: At) -> BTreeSet<At> {
        let links = &self.sites[at].links;
        let imported = links.imports.iter().filter_map(|name| Some(self.exports.get(name)?.0));
        let read = links.reads.iter().map(|output| output.0);
        imported.chain(read).filter(|other| *other != at).collect()
    }

    /// Returns the output that a reference across a border means.
    pub(super) fn output_of(&self, at: At, found: Reference<'_>) -> Option<Spot> {
        match found {
            Reference::Import(name) => self.exports.get(&self.evaluate(at, name)?).cloned(),
            Reference::StackOutput(_, key, arguments) => {
                let stack = read_stack(&self.environment, &self.sites[at], arguments)?;
                Some((self.at(&stack)?, key.into()))
            }
            _ => None,
        }
    }

    /// Returns the resource that a reference in a stack means, if it means one and nothing else.
    pub(super) fn target(&self, at: At, found: Reference<'_>) -> Option<Target> {
        let Reference::Name(name, attribute) = found else {
            let output = self.output_of(at, found)?;
            let target = self.meaning(&output)?;
            return Some(Target { way: Way::Output(output), ..target });
        };
        if self.sites[at].template.resource(name).is_none() {
            return if attribute.is_none() { self.passed(at, name) } else { None };
        }
        let handed = self
            .nested_output(at, name, attribute)
            .and_then(|output| self.meaning(&output))
            .map(|target| Target { way: Way::Nested, ..target });
        handed.or_else(|| self.named(at, name, attribute))
    }

    /// Returns the resource that a name in a stack is, wherever its attributes come from.
    pub(super) fn named(&self, at: At, name: &str, attribute: Option<&str>) -> Option<Target> {
        let spot = (at, Text::from(name));
        self.resource(&spot)?;
        Some(Target { spot, attribute: attribute.map(Text::from), way: Way::Direct })
    }

    /// Returns the output of a nested stack that an attribute is.
    pub(super) fn nested_output(
        &self,
        at: At,
        name: &str,
        attribute: Option<&str>,
    ) -> Option<Spot> {
        let key = attribute?.strip_prefix("Outputs.")?;
        let child = self.children.get(&(at, Text::from(name)))?;
        Some((*child, key.into()))
    }

    /// Returns the resource that an output publishes, if it publishes a reference and nothing
    /// else. Outputs may import others; a circle of them ends the search.
    pub(super) fn meaning(&self, output: &Spot) -> Option<Target> {
        let (at, name, attribute) = self.value_of(output, 0)?;
        self.target(at, Reference::Name(name, attribute))
    }

    /// The same, but an attribute of a nested stack stays one, wherever it comes from.
    pub(super) fn published(&self, output: &Spot) -> Option<Target> {
        let (at, name, attribute) = self.value_of(output, 0)?;
        self.named(at, name, attribute)
    }

    /// Returns the name, and the stack in which it is one, that an output comes to.
    fn value_of(&self, output: &Spot, depth: usize) -> Option<(At, &str, Option<&str>)> {
        let value = self.output(output)?.get("Value")?;
        if let Some((name, attribute)) = as_reference(value) {
            return Some((output.0, name, attribute));
        }
        let whole = match Intrinsic::of(value.as_object()?)? {
            Intrinsic::ImportValue(name) => Reference::Import(name),
            Intrinsic::GetStackOutput(stack, key, all) => Reference::StackOutput(stack, key, all),
            _ => return None,
        };
        let next = self.output_of(output.0, whole)?;
        if depth > self.sites.len() { None } else { self.value_of(&next, depth + 1) }
    }
}

impl World {
    fn links(&self, at: At, template: &Template) -> Links {
        let mut links = Links::default();
        for section in ["Resources", "Outputs"] {
            let Some(section) = template.sections.get(section) else { continue };
            template::visit(section, &mut |found| match found {
                Reference::Import(name) => links.imports.extend(self.evaluate(at, name)),
                Reference::StackOutput(..) => links.reads.extend(self.output_of(at, found)),
                Reference::Name(name, attribute @ Some(_)) => {
                    links.reads.extend(self.nested_output(at, name, attribute));
                }
                _ => {}
            });
        }
        for (key, output) in template.section("Outputs").into_iter().flat_map(Object::iter) {
            let name = output.get("Export").and_then(|export| export.get("Name"));
            if let Some(name) = name.and_then(|name| self.evaluate(at, name)) {
                links.exports.insert(name, key.clone());
            }
        }
        links
    }
}

/// Returns the stack that `Fn::GetStackOutput` reads from, if it is one of this environment.
fn read_stack(environment: &Environment, site: &Site, arguments: &Object) -> Option<String> {
    let region = arguments.get("Region").map(|region| evaluate(environment, site, region));
    let is_here = region.is_none_or(|region| region.as_deref() == Some(&environment.region));
    let stack =
        arguments.get("StackName").filter(|_| is_here && !arguments.contains_key("RoleArn"))?;
    evaluate(environment, site, stack)
}

fn evaluate(environment: &Environment, site: &Site, value: &Value) -> Option<String> {
    let parameter = |name: &str| {
        let given = site.parameters.get(name).map(Text::to_string);
        given.or_else(|| {
            let default = site.template.section("Parameters")?.get(name)?.get("Default")?;
            default.as_str().map(str::to_owned)
        })
    };
    let context = Context { environment, stack_name: &site.own_name, parameter: &parameter };
    context.evaluate(value)
}
