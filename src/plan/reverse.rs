//! The way back: from where resources are now to where they were.

use std::collections::{BTreeMap, BTreeSet};

use super::build::{Builder, Policies};
use super::guide::Guide;
use super::order;
use super::steps::{Finding, Move, Plan, Severity};
use super::wishes::additions;
use super::world::{At, Spot, World};
use super::{apply::Relocation, characters, finish};
use crate::compare::Comparison;
use crate::model::{DeployedEnvironment, Location, Stack, Text, Value};

/// What is remembered of moves that were made. Nested stacks have the names that they were
/// deployed with. All lists may be empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Past<'a> {
    /// The stacks before the moves: they tell what outputs and exports were called, and what
    /// resources depended on.
    pub before: &'a [Stack],
    /// The templates that were sent: they tell the characters outside of ASCII, which
    /// CloudFormation does not give back.
    pub sent: &'a [Stack],
    /// The places of what a plan has retained ([`Plan::retained`]): they get back the deletion
    /// policies that they had.
    pub retained: &'a [Location],
}

/// Makes the plan that undoes moves.
///
/// `deployed` is what CloudFormation has now, and `moves` are all moves that were made, in their
/// order. A resource that is not where the moves left it stays, with a finding.
pub fn reverse(deployed: &DeployedEnvironment, moves: &[Move], past: Past<'_>) -> Plan {
    let names = Names::new(moves);
    let (before, sent) = (names.translated(past.before), names.translated(past.sent));
    let nothing = Comparison {
        environment: deployed.environment.clone(),
        mappings: Vec::new(),
        ambiguous: Vec::new(),
        similar: Vec::new(),
        added: Vec::new(),
        removed: Vec::new(),
        changed: Vec::new(),
        unchanged: 0,
        problems: Vec::new(),
    };
    let (templates, doubts) = characters::restore(deployed, &sent, &nothing);
    let mut world = World::new(&deployed.environment, &deployed.stacks, templates);
    let mut findings = Vec::new();
    let pairs = pairs(&mut world, &names, moves, &before, &mut findings);
    let mut relocations = Vec::new();
    for (was, is) in order::net(pairs) {
        if world.resource(&is).is_none() {
            findings.push(cannot(&world, &is, "is not there any more, so that it cannot go back"));
        } else {
            relocations.push(Relocation { from: is, to: was });
        }
    }
    relocations.sort();
    let additions = additions(&world, &relocations, &mut findings);
    let known: Vec<(At, &Stack)> =
        before.iter().filter_map(|stack| Some((world.at(stack.name.as_str())?, stack))).collect();
    let policies = released(&world, &names, past.retained, &before);
    let guide = Guide::remembering(&world, &known);
    let mut builder = Builder::new(world, guide, &deployed.stacks, additions, policies);
    builder.carry_out(&relocations);
    finish(deployed, builder, Vec::new(), findings, &doubts)
}

/// The policies that were there before a plan has retained something. What is not retained any
/// more has been deployed since, and what was not there before has none to go back to.
fn released(world: &World, names: &Names, retained: &[Location], before: &[Stack]) -> Policies {
    let mut policies = Policies { release: true, ..Policies::default() };
    let retained: BTreeSet<&Location> = retained.iter().collect();
    for place in retained {
        let stack = names.now(place.stack.as_str());
        let id = Text::from(place.logical_id.as_str());
        let old = before.iter().find(|other| other.name.as_str() == stack);
        let old = old.and_then(|stack| stack.template.resource(&id));
        let Some((at, old)) = world.at(&stack).zip(old) else { continue };
        let now = world.resource(&(at, id.clone())).and_then(|body| body.get("DeletionPolicy"));
        let policy = old.get("DeletionPolicy");
        if now.and_then(Value::as_str) == Some("Retain") && now != policy {
            policies.by_stack.entry(at).or_default().insert(id, policy.cloned());
        }
    }
    policies
}

/// The names of nested stacks, which follow the resources that make them.
struct Names {
    /// Where resources are now, by where they were; with the names of stacks at that time.
    places: BTreeMap<Location, Location>,
}

impl Names {
    fn new(moves: &[Move]) -> Self {
        let parse = |text: &str| text.parse::<Location>().ok();
        let pairs =
            moves.iter().filter_map(|each| parse(&each.source).zip(parse(&each.destination)));
        Self { places: order::net(pairs) }
    }

    /// The name now of a stack that had this name before the moves.
    fn now(&self, before: &str) -> String {
        let Some((parent, id)) = before.rsplit_once('/') else { return before.to_owned() };
        let place = Location::new(parent, id);
        let place = self.places.get(&place).unwrap_or(&place);
        format!("{}/{}", self.now(place.stack.as_str()), place.logical_id)
    }

    fn translated(&self, stacks: &[Stack]) -> Vec<Stack> {
        let renamed = |stack: &Stack| {
            let name = self.now(stack.name.as_str());
            Stack { name: name.as_str().into(), ..stack.clone() }
        };
        stacks.iter().map(renamed).collect()
    }
}

/// The moves between stacks that are there or can be made.
fn pairs(
    world: &mut World,
    names: &Names,
    moves: &[Move],
    before: &[Stack],
    findings: &mut Vec<Finding>,
) -> Vec<(Spot, Spot)> {
    let templates: BTreeMap<&str, &Stack> =
        before.iter().map(|stack| (stack.name.as_str(), stack)).collect();
    let mut found = Vec::new();
    for each in moves {
        let mut spot = |text: &str| -> Option<Spot> {
            let place: Location = text.parse().ok()?;
            let name = &names.now(place.stack.as_str());
            let at = world.at(name).or_else(|| {
                let stack =
                    templates.get(name.as_str()).copied().filter(|stack| stack.parent.is_none());
                (!name.contains('/')).then(|| match stack {
                    Some(stack) => world.add_new(stack),
                    None => world.add_new(&Stack::new(name, crate::model::Template::default())),
                })
            })?;
            Some((at, Text::from(place.logical_id.as_str())))
        };
        match spot(&each.source).zip(spot(&each.destination)) {
            Some(pair) => found.push(pair),
            None => findings.push(Finding {
                severity: Severity::Error,
                stack: each.destination.clone(),
                resource: None,
                message: format!(
                    "The move from `{}` to `{}` cannot be undone: a stack of it is gone.",
                    each.source, each.destination
                ),
                remedy: "Undo this one by hand, and leave it out.".to_owned(),
            }),
        }
    }
    found
}

fn cannot(world: &World, spot: &Spot, what: &str) -> Finding {
    let place = world.location(spot);
    Finding {
        severity: Severity::Warning,
        stack: place.stack.to_string(),
        resource: Some(place.logical_id.to_string()),
        message: format!("`{place}` {what}."),
        remedy: "Look for what has happened to the resource since.".to_owned(),
    }
}
