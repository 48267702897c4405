//! What is deployed and what is to be deployed, side by side: what becomes of each resource.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap as HashMap;

use super::evaluate::{Fates, Reader, Site, Unchanged, Universe};
use super::symbol::{Fate, Kind, Leaf, Symbol, Thing, difference, differences};
use super::{EffectKind, ForecastRequest};
use crate::model::{DeployedStack, Location, Object, Template, Text, Value};
use crate::registry::{self, Replacement};
use crate::template::{self, Reference};

/// Attributes of a resource that CloudFormation heeds when the resource is changed or leaves.
const ATTRIBUTES: [&str; 4] =
    ["CreationPolicy", "DeletionPolicy", "UpdatePolicy", "UpdateReplacePolicy"];

/// What becomes of a resource of the new side.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) fate: Fate,
    /// `None` if nothing happens to it.
    pub(super) kind: Option<EffectKind>,
}

/// Both sides.
pub(super) struct Pair<'a> {
    pub(super) old: Universe<'a>,
    pub(super) new: Universe<'a>,
    outcomes: RefCell<HashMap<(usize, Text), Outcome>>,
}

impl<'a> Pair<'a> {
    /// `templates` take the place of those of the app.
    pub(super) fn new(
        request: &ForecastRequest<'a>,
        templates: &'a BTreeMap<String, Template>,
    ) -> Self {
        let deployed: BTreeMap<&str, &DeployedStack> =
            request.now.stacks.iter().map(|now| (now.stack.name.as_str(), now)).collect();
        let folds = request.now.stacks.iter().any(|now| now.stack.is_returned);
        let local: BTreeSet<&str> = request.local.iter().map(|stack| stack.name.as_str()).collect();
        let is_deployed = |name: &str| {
            let root = root_name(name);
            request.selected.contains(root) && local.contains(root)
        };
        let old = request
            .now
            .stacks
            .iter()
            .map(|now| (Site::new(&now.stack, Some(now)), now.stack.parent.as_ref()))
            .collect();
        let mut new: Vec<(Site<'a>, Option<&'a Location>)> = request
            .now
            .stacks
            .iter()
            .filter(|now| !is_deployed(now.stack.name.as_str()))
            .map(|now| (Site::new(&now.stack, Some(now)), now.stack.parent.as_ref()))
            .collect();
        let mut stacks: Vec<_> =
            request.local.iter().filter(|stack| is_deployed(stack.name.as_str())).collect();
        let rank = |name: &str| request.needs.get(root_name(name)).map_or(0, BTreeSet::len);
        stacks.sort_by_key(|stack| (rank(stack.name.as_str()), stack.name.clone()));
        for stack in stacks {
            let name = stack.name.as_str();
            let mut site = Site::new(stack, deployed.get(name).copied());
            site.is_deployed = true;
            site.template = templates.get(name).unwrap_or(site.template);
            new.push((site, stack.parent.as_ref()));
        }
        let environment = &request.now.environment;
        let pair = Self {
            old: Universe::new(environment, old, folds),
            new: Universe::new(environment, new, folds),
            outcomes: RefCell::default(),
        };
        pair.settle();
        pair
    }

    /// Reads the deployed side.
    pub(super) fn before(&self) -> Reader<'_, 'a> {
        Reader::new(&self.old, &Unchanged)
    }

    /// Reads the new side.
    pub(super) fn after(&self) -> Reader<'_, 'a> {
        Reader::new(&self.new, self).after(&self.old)
    }

    /// Works out all outcomes, each after those that it refers to, so that a long chain of
    /// references does not become a deep one of calls.
    fn settle(&self) {
        for (at, site) in self.new.sites.iter().enumerate() {
            let mut seen: BTreeSet<&str> = BTreeSet::new();
            for (id, _) in site.template.resources() {
                let mut open: Vec<(&str, bool)> = vec![(id, false)];
                while let Some((id, is_ready)) = open.pop() {
                    if is_ready {
                        self.outcome(at, id);
                    } else if seen.insert(id) {
                        open.push((id, true));
                        let names = site.template.resource(id).map(names_in).unwrap_or_default();
                        open.extend(names.into_iter().map(|name| (name, false)));
                    }
                }
            }
        }
    }

    /// Returns what becomes of a resource of the new side.
    pub(super) fn outcome(&self, site: usize, id: &str) -> Outcome {
        let key = (site, Text::from(id));
        if let Some(known) = self.outcomes.borrow().get(&key) {
            return known.clone();
        }
        // Who gets back here by way of its own references sees it as it is.
        let open = Outcome { fate: Fate::Same, kind: None };
        self.outcomes.borrow_mut().insert(key.clone(), open);
        let outcome = self.work_out(site, id);
        self.outcomes.borrow_mut().insert(key, outcome.clone());
        outcome
    }

    /// Whether there is such a resource.
    pub(super) fn exists(&self, site: usize, id: &str) -> bool {
        let Some(now) = self.new.sites[site].now else { return false };
        self.old.at(now.stack.name.as_str()).is_some_and(|old| self.is_deployed(old, now, id))
    }

    /// Whether a deployed stack has a resource. Where no resources were read, its template tells.
    pub(super) fn is_deployed(&self, old: usize, now: &DeployedStack, id: &str) -> bool {
        if !now.resources.is_empty() {
            return now.resources.contains_key(id);
        }
        let body = now.stack.template.resource(id);
        body.is_some_and(|body| self.before().is_active(old, body) != Some(false))
    }

    fn work_out(&self, site: usize, id: &str) -> Outcome {
        let stays = Outcome { fate: Fate::Same, kind: None };
        let own = &self.new.sites[site];
        let Some(body) = own.template.resource(id) else { return stays };
        if self.after().is_active(site, body) == Some(false) {
            return stays;
        }
        if !self.exists(site, id) {
            return Outcome { fate: Fate::New, kind: Some(EffectKind::Add) };
        }
        let old = self.old.at(own.name);
        let was = old.and_then(|old| self.old.sites[old].template.resource(id));
        let (Some(old), Some(was)) = (old.filter(|_| own.is_deployed), was) else { return stays };
        if was.get("Type") != body.get("Type") {
            let properties = vec!["Type".to_owned()];
            let kind = EffectKind::Replace { certain: true, properties, cause: None };
            return Outcome { fate: Fate::New, kind: Some(kind) };
        }
        let leaves = self.leaves((old, was), (site, body));
        let attributes = self.attributes((old, was), (site, body));
        let kind = body.get("Type").and_then(Value::as_str).unwrap_or_default();
        // Of what is deployed the physical ID need not have been read.
        let is_deployed = |thing: &Thing| {
            thing.physical.is_some()
                || self.new.at(&thing.stack).is_some_and(|site| self.exists(site, &thing.id))
        };
        judged(kind, &leaves, attributes, &is_deployed)
    }

    /// The properties in which a resource differs.
    pub(super) fn leaves(&self, old: (usize, &Object), new: (usize, &Object)) -> Vec<Leaf> {
        let old = old.1.get("Properties").and_then(|value| self.before().value(old.0, value));
        let new = new.1.get("Properties").and_then(|value| self.after().value(new.0, value));
        differences(old.as_ref(), new.as_ref())
    }

    fn attributes(&self, old: (usize, &Object), new: (usize, &Object)) -> Vec<String> {
        let differs = |key: &&str| {
            let value = |reader: Reader<'_, '_>, (site, body): (usize, &Object)| {
                body.get(key).and_then(|value| reader.value(site, value)).unwrap_or(Symbol::Null)
            };
            difference(&value(self.before(), old), &value(self.after(), new)).is_some()
        };
        ATTRIBUTES.into_iter().filter(differs).map(str::to_owned).collect()
    }
}

impl Fates for Pair<'_> {
    fn fate(&self, site: usize, id: &str) -> Fate {
        self.outcome(site, id).fate
    }
}

/// The name of the root of a stack.
pub(super) fn root_name(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

/// The names in a body, resources or not.
pub(super) fn names_in(body: &Object) -> Vec<&str> {
    let mut names = Vec::new();
    for (_, value) in body.iter() {
        template::visit(value, &mut |found| {
            if let Reference::Name(name, _) | Reference::Computed(name, _) = found {
                names.push(name);
            }
        });
    }
    names
}

/// What differences of properties and of other attributes come to.
fn judged(
    resource_type: &str,
    leaves: &[Leaf],
    attributes: Vec<String>,
    is_deployed: &dyn Fn(&Thing) -> bool,
) -> Outcome {
    let path = |leaf: &Leaf| format!("Properties.{}", leaf.path.replace('/', "."));
    let effect = |leaf: &Leaf| registry::replacement(resource_type, &leaf.path);
    let always = |leaf: &&Leaf| effect(leaf) == Replacement::Always;
    let certain = leaves.iter().filter(always).any(|leaf| leaf.kind == Kind::Certain);
    let replacing: Vec<&Leaf> = leaves
        .iter()
        .filter(|leaf| match effect(leaf) {
            Replacement::Always => true,
            // What merely may change where a change merely may replace is not worth a word.
            Replacement::Sometimes => !matches!(leaf.kind, Kind::Perhaps(_)),
            Replacement::Never => false,
        })
        .collect();
    if !replacing.is_empty() {
        let is_fresh = |leaf: &&Leaf| matches!(leaf.kind, Kind::Fresh(_));
        let fate = if certain || leaves.iter().filter(always).any(|leaf| is_fresh(&leaf)) {
            Fate::New
        } else {
            Fate::Perhaps
        };
        let cause = replacing.iter().find_map(|leaf| cause(&leaf.kind, is_deployed));
        let kind = EffectKind::Replace {
            certain,
            properties: replacing.into_iter().map(path).collect(),
            cause: cause.filter(|_| !certain),
        };
        return Outcome { fate, kind: Some(kind) };
    }
    let changing = leaves.iter().filter(|leaf| !matches!(leaf.kind, Kind::Perhaps(_)));
    let properties: Vec<String> = changing.map(path).chain(attributes).collect();
    // A provider may answer with another physical ID and other attributes.
    let is_custom = resource_type.starts_with("Custom::")
        || resource_type == "AWS::CloudFormation::CustomResource";
    let fate = if is_custom && !leaves.is_empty() { Fate::Perhaps } else { Fate::Same };
    let kind = (!properties.is_empty()).then_some(EffectKind::Update { properties });
    Outcome { fate, kind }
}

fn cause(kind: &Kind, is_deployed: &dyn Fn(&Thing) -> bool) -> Option<String> {
    let place = |thing: &Thing| format!("`{}.{}`", thing.stack, thing.id);
    match kind {
        Kind::Fresh(thing) if !is_deployed(thing) => Some(format!("{} is new", place(thing))),
        Kind::Fresh(thing) => Some(format!("{} is replaced", place(thing))),
        Kind::Perhaps(thing) => Some(format!("{} may become another one", place(thing))),
        Kind::Certain | Kind::Open => None,
    }
}
