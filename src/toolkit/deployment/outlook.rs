//! What a deployment would do.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Error;
use super::prepare::Deployment;
use crate::deploy::{Danger, PlannedStack};
use crate::model::Environment;
use crate::plan::{
    self, Allowed, Effect, Finding, Forecast, ForecastRequest, HandOver, Severity,
};

/// What is done about the moves (RFC 0162).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// They are carried out first.
    Move,
    /// Nothing: what moved is replaced.
    Replace,
}

/// What a deployment would do, in all environments.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// What is done about the moves.
    pub choice: Choice,
    /// The stacks, in the order of the app.
    pub stacks: Vec<PlannedStack>,
    /// Where data or identity would be lost, or a resource be missing for a moment, and nobody
    /// has allowed it.
    pub dangers: Vec<Danger>,
    /// What has to be known, or put right.
    pub findings: Vec<(Environment, Finding)>,
    pub(super) forecasts: Vec<Forecast>,
    pub(super) allowed: Allowed,
}

impl Outlook {
    /// Returns what forbids the deployment.
    pub fn refusals(&self) -> impl Iterator<Item = &(Environment, Finding)> {
        self.findings.iter().filter(|(_, finding)| finding.severity == Severity::Error)
    }

    /// Takes it that somebody has agreed to what would be lost.
    pub fn allow_dangers(&mut self) {
        for danger in std::mem::take(&mut self.dangers) {
            self.allowed.add(&danger.place);
        }
    }

    /// Whether nothing would happen.
    pub fn is_empty(&self) -> bool {
        self.stacks.iter().all(|stack| stack.exists && stack.effects.is_empty())
    }
}

impl Deployment {
    /// Tells what the deployment would do.
    ///
    /// # Errors
    /// When an entry of `--allow-replacement` is malformed.
    pub fn outlook(&self, choice: Choice) -> Result<Outlook, Error> {
        let allowed = Allowed::parse(&self.deploying.allow_replacement)
            .map_err(|error| Error::Allowed(Box::new(error)))?;
        let mut outlook = Outlook {
            choice,
            stacks: Vec::new(),
            dangers: Vec::new(),
            findings: Vec::new(),
            forecasts: Vec::new(),
            allowed,
        };
        let environments: BTreeSet<&Environment> =
            self.stacks().map(|stack| &stack.environment).collect();
        for environment in environments {
            self.look_at(environment, &mut outlook);
        }
        let order: BTreeMap<&str, usize> = self
            .assembly
            .stacks
            .iter()
            .enumerate()
            .map(|(at, stack)| (&*stack.hierarchical_id, at))
            .collect();
        outlook.stacks.sort_by_key(|stack| order.get(&*stack.id).copied());
        outlook.dangers.sort();
        outlook.dangers.dedup();
        Ok(outlook)
    }

    fn look_at(&self, environment: &Environment, outlook: &mut Outlook) {
        let Some(sides) = self.sides(environment) else { return };
        let Some(deployed) = &sides.account else { return };
        let plan = self.prepared.plans.iter().map(|one| &one.plan);
        let plan = plan.filter(|_| outlook.choice == Choice::Move);
        let plan = plan.into_iter().find(|plan| plan.environment() == *environment);
        let moved = plan.map(|plan| plan::after(deployed, plan));
        let now = moved.as_ref().unwrap_or(deployed);
        let mine: Vec<_> =
            self.stacks().filter(|stack| stack.environment == *environment).collect();
        let selected = mine.iter().map(|stack| stack.stack.name.to_string()).collect();
        let comparisons = &self.prepared.outcome.environments;
        let comparison = comparisons.iter().find(|one| one.environment == *environment);
        let found = plan::forecast(&ForecastRequest {
            now,
            local: &sides.local,
            selected: &selected,
            needs: &self.needs(environment),
            comparison: comparison.filter(|_| outlook.choice == Choice::Move),
            staying: plan.map(|plan| &*plan.staying).unwrap_or_default(),
            keep_names: self.deploying.keep_names,
        });
        outlook.findings.extend(found.findings.iter().map(|it| (environment.clone(), it.clone())));
        for stack in mine {
            let name = stack.stack.name.as_str();
            let of = found.stacks.iter().find(|one| one.name == name);
            let effects = of.map(|one| one.effects.clone()).unwrap_or_default();
            for effect in &effects {
                outlook.dangers.extend(danger(environment, effect, &outlook.allowed));
            }
            let held = of.and_then(|one| one.holding.as_ref()).into_iter();
            let held = held.flat_map(|holding| &holding.exports);
            outlook.stacks.push(PlannedStack {
                id: stack.hierarchical_id.clone(),
                environment: environment.clone(),
                name: name.to_owned(),
                exists: now.stacks.iter().any(|stack| stack.stack.name.as_str() == name),
                effects,
                held: held.map(|one| (one.name.clone(), one.importers.clone())).collect(),
            });
        }
        for staying in plan.into_iter().flat_map(|plan| &plan.staying) {
            let place = &staying.source;
            let is_allowed = outlook.allowed.has(place, None, &staying.resource_type)
                || outlook.allowed.has(&staying.destination, None, &staying.resource_type);
            if staying.hand_over == HandOver::Exclusive && !is_allowed {
                outlook.dangers.push(Danger {
                    environment: environment.clone(),
                    place: place.clone(),
                    resource_type: staying.resource_type.clone(),
                    physical_id: None,
                    reason: staying.consequence.clone(),
                });
            }
        }
        outlook.forecasts.push(found);
    }

    /// For each stack of an environment the names of those that are deployed before it.
    pub(super) fn needs(&self, environment: &Environment) -> BTreeMap<String, BTreeSet<String>> {
        let by_id: BTreeMap<&str, _> =
            self.assembly.stacks.iter().map(|stack| (&*stack.hierarchical_id, stack)).collect();
        let mine = self.assembly.stacks.iter().filter(|one| one.environment == *environment);
        let needed = mine.map(|stack| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![stack]);
            while let Some(next) = open.pop() {
                for id in &next.dependencies {
                    if let Some(found) = by_id.get(&**id)
                        && seen.insert(&*found.hierarchical_id)
                    {
                        open.push(found);
                    }
                }
            }
            let names = seen.iter().filter_map(|id| by_id.get(id));
            let here = names.filter(|one| one.environment == *environment);
            let names = here.map(|one| one.stack.name.to_string()).collect();
            (stack.stack.name.to_string(), names)
        });
        needed.collect()
    }
}

fn danger(environment: &Environment, effect: &Effect, allowed: &Allowed) -> Option<Danger> {
    let reason = effect.danger.clone()?;
    let place = format!("{}.{}", effect.stack, effect.logical_id);
    if allowed.has(&place, effect.path.as_deref(), &effect.resource_type) {
        return None;
    }
    Some(Danger {
        environment: environment.clone(),
        place,
        resource_type: effect.resource_type.clone(),
        physical_id: effect.physical_id.clone(),
        reason,
    })
}
