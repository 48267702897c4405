//! What a deployment would do.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Error;
use super::super::changes::{Changes, remark};
use super::prepare::Deployment;
use crate::analyze::{ChangeReport, PermissionChange, Rules, permissions};
use crate::deploy::{Danger, PlannedStack};
use crate::model::{DeployedEnvironment, Environment, Stack, Text};
use crate::plan::{
    self, Allowed, Effect, Finding, Forecast, ForecastRequest, HandOver, Plan, Severity, Staying,
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
    /// Permissions that become broader, by environment.
    pub broadening: Vec<(Environment, Vec<PermissionChange>)>,
    pub(super) forecasts: Vec<Forecast>,
    /// What may be lost, by environment: consent for one is none for another.
    pub(super) allowed: BTreeMap<Environment, Allowed>,
    /// What somebody has agreed to lose.
    pub(super) consented: BTreeSet<Danger>,
}

impl Outlook {
    /// Returns what forbids the deployment.
    pub fn refusals(&self) -> impl Iterator<Item = &(Environment, Finding)> {
        self.findings.iter().filter(|(_, finding)| finding.severity == Severity::Error)
    }

    /// Takes it that somebody has agreed to what would be lost.
    pub fn allow_dangers(&mut self) {
        self.consented.extend(std::mem::take(&mut self.dangers));
        for stack in &self.stacks {
            let allowed = self.allowed.entry(stack.environment.clone()).or_default();
            for effect in stack.effects.iter().filter(|effect| effect.danger.is_some()) {
                allowed.foresee(effect);
            }
        }
    }

    /// Returns plans as they are to be shown: what keeps its logical ID is not replaced.
    pub fn shown(&self, mut plans: Vec<Plan>) -> Vec<Plan> {
        for plan in &mut plans {
            let kept = self.kept(&plan.environment());
            let (stay, anew): (Vec<_>, Vec<_>) = std::mem::take(&mut plan.staying)
                .into_iter()
                .partition(|staying| kept.contains(&staying.source));
            plan.staying = anew;
            plan.findings.retain(|finding| {
                let place = finding.resource.as_ref().map(|id| format!("{}.{id}", finding.stack));
                let is_about = |staying: &Staying| {
                    let ends = [&staying.source, &staying.destination];
                    place.as_ref().is_some_and(|place| ends.contains(&place))
                };
                !stay.iter().any(is_about)
            });
        }
        plans
    }

    /// Returns the resources that keep the logical IDs that they have, `Stack.LogicalId`.
    pub fn kept(&self, environment: &Environment) -> BTreeSet<String> {
        let own = self.forecasts.iter().filter(|one| one.environment == *environment);
        own.flat_map(|one| one.kept.iter().cloned()).collect()
    }
}

impl Deployment {
    /// Tells what the deployment would do.
    ///
    /// # Errors
    /// When an entry of `--allow-replacement` is malformed.
    pub fn outlook(&self, choice: Choice) -> Result<Outlook, Error> {
        let mut allowed = BTreeMap::new();
        for (environment, sides) in &self.prepared.environments {
            let entries = self.deploying.allow_replacement.iter().map(String::as_str);
            let mut own =
                Allowed::parse(entries).map_err(|error| Error::Allowed(Box::new(error)))?;
            own.know(sides.deployed.iter().chain(&sides.local));
            allowed.insert(environment.clone(), own);
        }
        let mut outlook = Outlook {
            choice,
            stacks: Vec::new(),
            dangers: Vec::new(),
            findings: Vec::new(),
            broadening: Vec::new(),
            forecasts: Vec::new(),
            allowed,
            consented: BTreeSet::new(),
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
        let mut plans = self.plans(outlook.choice).iter().map(|one| &one.plan);
        let plan = plans.find(|plan| plan.environment() == *environment);
        let moved = plan.map(|plan| plan::after(deployed, plan));
        let now = moved.as_ref().unwrap_or(deployed);
        outlook.broadening.extend(self.broadening(environment, now, &sides.local));
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
        let allowed = outlook.allowed.get(environment).cloned().unwrap_or_default();
        outlook.findings.extend(found.findings.iter().map(|it| (environment.clone(), it.clone())));
        for stack in mine {
            let name = stack.stack.name.as_str();
            let of = found.stacks.iter().find(|one| one.name == name);
            let effects = of.map(|one| one.effects.clone()).unwrap_or_default();
            let refused = allowed.refused(&effects);
            outlook.dangers.extend(refused.into_iter().map(|effect| danger(environment, effect)));
            let held = of.and_then(|one| one.holding.as_ref()).into_iter();
            let held = held.flat_map(|holding| &holding.exports);
            outlook.stacks.push(PlannedStack {
                id: stack.hierarchical_id.clone(),
                environment: environment.clone(),
                name: name.to_owned(),
                exists: now.stacks.iter().any(|stack| stack.stack.name.as_str() == name),
                kept: kept_ids(&found.kept, name),
                effects,
                held: held.map(|one| (one.name.clone(), one.importers.clone())).collect(),
            });
        }
        let staying = plan.into_iter().flat_map(|plan| &plan.staying);
        let exclusive = staying.filter(|one| {
            one.hand_over == HandOver::Exclusive && !found.kept.contains(&one.source)
        });
        for one in exclusive.filter(|one| !allows_staying(&allowed, one)) {
            outlook.dangers.push(Danger {
                environment: environment.clone(),
                place: one.source.clone(),
                resource_type: one.resource_type.clone(),
                physical_id: None,
                reason: one.consequence.clone(),
            });
        }
        outlook.forecasts.push(found);
    }

    /// Returns the change report of what is going to be deployed.
    pub fn changes(&self, outlook: &Outlook, rules: &Rules) -> ChangeReport {
        let mut report = ChangeReport::default();
        for forecast in &outlook.forecasts {
            let environment = &forecast.environment;
            let comparisons = &self.prepared.outcome.environments;
            let comparison = comparisons.iter().find(|one| one.environment == *environment);
            let Some((comparison, sides)) = comparison.zip(self.sides(environment)) else {
                continue;
            };
            let Some(deployed) = &sides.account else { continue };
            let mut plans = self.plans(outlook.choice).iter().map(|one| &one.plan);
            let mine = self.stacks().filter(|stack| stack.environment == *environment);
            let selected = mine.map(|stack| Text::from(stack.stack.name.as_str())).collect();
            let changes = Changes {
                sides,
                comparison,
                deployed,
                plan: plans.find(|plan| plan.environment() == *environment),
                forecast,
                rules,
                selected: Some(&selected),
                moves: outlook.choice == Choice::Move,
                strict: false,
            };
            report.environments.push(changes.report());
        }
        let findings = outlook.findings.iter();
        report.remarks = findings.map(|(environment, one)| remark(environment, one)).collect();
        report.remarks.sort_by_key(|remark| !remark.is_error);
        report
    }

    /// The permissions that become broader in the stacks of an environment, if any do.
    fn broadening(
        &self,
        environment: &Environment,
        now: &DeployedEnvironment,
        local: &[Stack],
    ) -> Option<(Environment, Vec<PermissionChange>)> {
        let names: BTreeSet<&str> = self
            .stacks()
            .filter(|stack| stack.environment == *environment)
            .map(|stack| stack.stack.name.as_str())
            .collect();
        let is_mine = |stack: &&Stack| {
            let name = stack.name.as_str();
            names.contains(name.split_once('/').map_or(name, |(root, _)| root))
        };
        let before: Vec<Stack> = now.stacks.iter().map(|stack| stack.stack.clone()).collect();
        let local: Vec<Stack> = local.iter().filter(is_mine).cloned().collect();
        let mut changes = permissions(&before, &local);
        changes.retain(|change| change.broadens);
        (!changes.is_empty()).then(|| (environment.clone(), changes))
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

/// The logical IDs of a stack among places.
fn kept_ids(places: &BTreeSet<String>, stack: &str) -> Vec<String> {
    let own = places.iter().filter_map(|place| place.split_once('.'));
    own.filter(|(name, _)| *name == stack).map(|(_, id)| id.to_owned()).collect()
}

fn danger(environment: &Environment, effect: &Effect) -> Danger {
    Danger {
        environment: environment.clone(),
        place: format!("{}.{}", effect.stack, effect.logical_id),
        resource_type: effect.resource_type.clone(),
        physical_id: effect.physical_id.clone(),
        reason: effect.danger.clone().unwrap_or_default(),
    }
}

/// Whether somebody allows that a resource is missing for a moment.
fn allows_staying(allowed: &Allowed, staying: &Staying) -> bool {
    [&staying.source, &staying.destination].into_iter().any(|place| {
        let place = place.split_once('.');
        place.is_some_and(|(stack, id)| allowed.allows(stack, id, &staying.resource_type))
    })
}
