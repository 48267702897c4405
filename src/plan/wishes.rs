//! Which resources move, and which stay although they should.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap as HashMap;

use super::apply::Relocation;
use super::choices::Choices;
use super::hand_over::{self, Retained};
use super::sections::Additions;
use super::steps::{Finding, HandOver, Severity, Staying};
use super::world::{At, Spot, World};
use crate::compare::{Comparison, Mapping};
use crate::model::{DeployedEnvironment, DeployedStack, Location, Object, Stack, Text, Value};
use crate::registry;
use crate::template::{self, Reference};

/// What a comparison comes to.
#[derive(Default)]
pub(super) struct Wishes {
    /// Moves that CloudFormation can carry out, sorted.
    pub(super) moves: Vec<Relocation>,
    pub(super) staying: Vec<Staying>,
    pub(super) findings: Vec<Finding>,
    /// What stacks need beforehand.
    pub(super) additions: BTreeMap<At, Additions>,
    /// Old definitions whose deletion would take away what the new ones write.
    pub(super) retained: Retained,
}

/// What the moves are made of.
pub(super) struct Sources<'a> {
    pub(super) deployed: &'a DeployedEnvironment,
    pub(super) local: &'a [Stack],
    pub(super) comparison: &'a Comparison,
    pub(super) choices: &'a Choices,
}

/// The stacks as they are to be, and which deployed stack each of them is.
pub(super) struct Counterparts<'a> {
    by_name: HashMap<&'a str, Option<At>>,
}

impl<'a> Counterparts<'a> {
    /// Finds the deployed stack of every local one. Nested stacks go by the resource that makes
    /// them, wherever it moves.
    pub(super) fn new(world: &mut World, sources: &Sources<'a>) -> Self {
        let origins: HashMap<&Location, &Location> = sources
            .comparison
            .mappings
            .iter()
            .map(|mapping| (&mapping.destination.location, &mapping.source.location))
            .collect();
        let nested: HashMap<&Location, At> = sources
            .deployed
            .stacks
            .iter()
            .filter_map(|stack| {
                Some((stack.stack.parent.as_ref()?, world.at(stack.stack.name.as_str())?))
            })
            .collect();
        let mut local: Vec<&Stack> = sources.local.iter().collect();
        local.sort_by_key(|stack| (stack.name.as_str().matches('/').count(), stack.name.clone()));
        let mut by_name: HashMap<&str, Option<At>> = HashMap::default();
        for stack in local {
            let at = match &stack.parent {
                None => Some(world.at(stack.name.as_str()).unwrap_or_else(|| world.add_new(stack))),
                Some(parent) => origins
                    .get(parent)
                    .map(|origin| (*origin).clone())
                    .or_else(|| {
                        let at = by_name.get(parent.stack.as_str()).copied().flatten()?;
                        let spot = (at, Text::from(parent.logical_id.as_str()));
                        world.resource(&spot).map(|_| world.location(&spot))
                    })
                    .and_then(|location| nested.get(&location).copied()),
            };
            by_name.insert(stack.name.as_str(), at);
        }
        Self { by_name }
    }

    pub(super) fn at(&self, local_name: &str) -> Option<At> {
        self.by_name.get(local_name).copied().flatten()
    }

    /// The local stacks with the numbers of the deployed ones.
    pub(super) fn pairs(&self, local: &'a [Stack]) -> Vec<(At, &'a Stack)> {
        local.iter().filter_map(|stack| Some((self.at(stack.name.as_str())?, stack))).collect()
    }
}

/// Decides for every mapping whether it is carried out.
pub(super) fn decide(world: &World, sources: &Sources<'_>, parts: &Counterparts<'_>) -> Wishes {
    let mut wishes = Wishes::default();
    let by_name: HashMap<&str, &DeployedStack> =
        sources.deployed.stacks.iter().map(|stack| (stack.stack.name.as_str(), stack)).collect();
    let mut mappings: Vec<&Mapping> = sources.comparison.mappings.iter().collect();
    mappings.sort_by(|left, right| left.source.location.cmp(&right.source.location));
    let mut moving: BTreeMap<Spot, (Spot, &Mapping)> = BTreeMap::new();
    for mapping in mappings {
        let source = &mapping.source.location;
        let Some(from) = world.at(source.stack.as_str()) else { continue };
        let from: Spot = (from, source.logical_id.as_str().into());
        if !exists(by_name.get(source.stack.as_str()).copied(), source) {
            wishes.staying.push(absent(mapping));
            continue;
        }
        match destination(world, sources, parts, &by_name, mapping, &from) {
            Ok(to) if to == from => {}
            Ok(to) => {
                wishes.findings.extend(replaced_after_all(mapping));
                moving.insert(from, (to, mapping));
            }
            Err(reason) => wishes.stay(world, &from, mapping, reason),
        }
    }
    keep_out_of_the_way(world, &mut moving, &mut wishes);
    wishes.moves = moving.into_iter().map(|(from, (to, _))| Relocation { from, to }).collect();
    wishes.additions = additions(world, &wishes.moves, &mut wishes.findings);
    hand_over::decide(world, sources, parts, &mut wishes);
    wishes
}

/// Where a resource goes, or why it stays.
fn destination(
    world: &World,
    sources: &Sources<'_>,
    parts: &Counterparts<'_>,
    deployed: &HashMap<&str, &DeployedStack>,
    mapping: &Mapping,
    from: &Spot,
) -> Result<Spot, String> {
    let source = &mapping.source.location;
    let stack = deployed.get(source.stack.as_str());
    if let Some(reason) = sources.choices.block(&mapping.resource_type, source) {
        return Err(reason);
    }
    let goal = &mapping.destination.location;
    let Some(at) = parts.at(goal.stack.as_str()) else {
        return Err(format!(
            "goes into {}, a nested stack that is not deployed, and a refactor cannot create \
             nested stacks",
            goal.stack
        ));
    };
    for (side, at) in [("is in", from.0), ("goes into", at)] {
        if world.sites[at].has_macros {
            return Err(format!(
                "{side} {}, whose template needs macros: a refactor cannot acknowledge them",
                world.sites[at].name
            ));
        }
    }
    let to: Spot = (at, goal.logical_id.as_str().into());
    if at != from.0
        && let Some(body) = world.resource(from)
        && let Some(name) =
            of_the_stack(body, stack.copied(), deployed.get(world.sites[at].name.as_str()).copied())
    {
        return Err(format!(
            "cannot be moved by CloudFormation, since it refers to `{name}`, which differs \
             between stacks"
        ));
    }
    Ok(to)
}

/// Whether there is a resource behind a definition: its condition may not be met.
fn exists(stack: Option<&DeployedStack>, place: &Location) -> bool {
    stack.is_none_or(|stack| {
        stack.resources.is_empty() || stack.resources.contains_key(place.logical_id.as_str())
    })
}

/// A definition without a resource.
fn absent(mapping: &Mapping) -> Staying {
    let reason = "is in the template only: its condition is not met".to_owned();
    staying(mapping, reason, "There is nothing to move and nothing to lose.", false)
}

fn staying(mapping: &Mapping, reason: String, consequence: &str, dangerous: bool) -> Staying {
    Staying {
        resource_type: mapping.resource_type.to_string(),
        source: mapping.source.location.to_string(),
        destination: mapping.destination.location.to_string(),
        reason,
        consequence: consequence.to_owned(),
        dangerous,
        hand_over: HandOver::None,
        physical_id: None,
        names: BTreeMap::new(),
    }
}

/// Tells of a resource that the deployment replaces in spite of its move.
fn replaced_after_all(mapping: &Mapping) -> Option<Finding> {
    let change = mapping.changes.iter().find(|change| change.replaces)?;
    let place = &mapping.destination.location;
    Some(Finding {
        severity: Severity::Warning,
        stack: place.stack.to_string(),
        resource: Some(place.logical_id.to_string()),
        message: format!(
            "The deployment replaces `{place}` even if it was moved, since `{}` changes.",
            change.property
        ),
        remedy: "Keep the old value in the app if the resource must not be replaced.".to_owned(),
    })
}

/// The pseudo parameter in a body that has another value in another stack.
fn of_the_stack(
    body: &Object,
    from: Option<&DeployedStack>,
    to: Option<&DeployedStack>,
) -> Option<&'static str> {
    let topics = |stack: Option<&DeployedStack>| {
        stack.map(|stack| stack.options.notification_arns.clone()).unwrap_or_default()
    };
    let mut differing = vec!["AWS::StackName", "AWS::StackId"];
    if topics(from) != topics(to) {
        differing.push("AWS::NotificationARNs");
    }
    let mut found = None;
    for (_, value) in body.iter() {
        template::visit(value, &mut |reference| {
            if let Reference::Name(name, _) = reference {
                found = found.or(differing.iter().find(|other| **other == name).copied());
            }
        });
    }
    found
}

/// Takes moves out until none of the others is in the way of anything that stays.
fn keep_out_of_the_way(
    world: &World,
    moving: &mut BTreeMap<Spot, (Spot, &Mapping)>,
    wishes: &mut Wishes,
) {
    let ties = ties(world, moving);
    loop {
        let mut staying: Vec<(Spot, String)> = Vec::new();
        for (from, (to, _)) in moving.iter() {
            if world.resource(to).is_some() && !moving.contains_key(to) {
                let there = world.location(to);
                staying.push((
                    from.clone(),
                    format!("cannot move: `{there}` is taken by another resource that is there until the deployment"),
                ));
            }
        }
        for (user, target) in &ties {
            let at = |spot: &Spot| moving.get(spot).map_or(spot.0, |(to, _)| to.0);
            if user.as_ref().map_or(target.0, at) == at(target) {
                continue;
            }
            for spot in user.iter().chain([target]).filter(|spot| moving.contains_key(*spot)) {
                staying.push((
                    spot.clone(),
                    "cannot move away from a resource with which it shares a reference whose \
                     attribute is computed: no export can stand for that"
                        .to_owned(),
                ));
            }
        }
        if staying.is_empty() {
            return;
        }
        for (from, reason) in staying {
            if let Some((_, mapping)) = moving.remove(&from) {
                wishes.stay(world, &from, mapping, reason);
            }
        }
    }
}

/// References with a computed attribute: who refers (`None` for an output) to what.
fn ties(world: &World, moving: &BTreeMap<Spot, (Spot, &Mapping)>) -> Vec<(Option<Spot>, Spot)> {
    let sources: BTreeSet<At> =
        moving.iter().filter(|(from, (to, _))| from.0 != to.0).map(|(from, _)| from.0).collect();
    let mut found = Vec::new();
    for at in sources {
        let template = &world.sites[at].template;
        for (section, is_resource) in [("Resources", true), ("Outputs", false)] {
            for (key, body) in template.section(section).into_iter().flat_map(Object::iter) {
                template::visit(body, &mut |reference| {
                    if let Reference::Computed(name, _) = reference {
                        let user = is_resource.then(|| (at, key.clone()));
                        found.push((user, (at, Text::from(name))));
                    }
                });
            }
        }
    }
    found
}

impl Wishes {
    fn stay(&mut self, world: &World, from: &Spot, mapping: &Mapping, reason: String) {
        let dangerous = registry::is_stateful(mapping.resource_type.as_str());
        let policy = world.resource(from).and_then(|body| body.get("DeletionPolicy"));
        let consequence = match (dangerous, policy.and_then(Value::as_str)) {
            (false, _) => {
                "The deployment creates it anew and deletes the old one; no data is lost."
            }
            (true, Some("Retain" | "RetainExceptOnCreate")) => {
                "The deployment creates a new one without the data; the old one stays in the \
                 account and belongs to no stack."
            }
            (true, _) => "The deployment creates a new one and deletes the old one with its data.",
        };
        self.staying.push(staying(mapping, reason, consequence, dangerous));
    }
}

/// Returns what stacks need before resources can move into them; what cannot be helped is a
/// finding.
pub(super) fn additions(
    world: &World,
    moves: &[Relocation],
    findings: &mut Vec<Finding>,
) -> BTreeMap<At, Additions> {
    let mut all: BTreeMap<At, Additions> = BTreeMap::new();
    let goals: HashMap<&Spot, &Spot> = moves.iter().map(|each| (&each.from, &each.to)).collect();
    for Relocation { from, to } in moves.iter().filter(|each| each.from.0 != each.to.0) {
        let Some(body) = world.resource(from) else { continue };
        let (old, new) = (&world.sites[from.0], &world.sites[to.0]);
        let becomes_local = |parameter: &str| {
            let passed = world.passed(from.0, parameter);
            passed.is_some_and(|target| {
                goals.get(&target.spot).map_or(target.spot.0, |at| at.0) == to.0
            })
        };
        let own = all.entry(to.0).or_default();
        if let Err(obstacle) = own.extend(old, new, body, &becomes_local) {
            let place = world.location(from);
            findings.push(Finding {
                severity: Severity::Error,
                stack: new.name.to_string(),
                resource: Some(place.logical_id.to_string()),
                message: format!("`{place}` cannot move to {}: {}.", new.name, obstacle.message),
                remedy: obstacle.remedy,
            });
        }
    }
    all.retain(|_, additions| !additions.is_empty());
    all
}
