//! What would make CloudFormation refuse the steps, as far as it can be known beforehand.

use std::collections::{BTreeMap, BTreeSet};

use super::limits::REGIONS_WITHOUT;
use super::steps::{Finding, Severity};
use super::world::{At, World};
use crate::model::{DeployedEnvironment, StatusKind};

/// Returns what is the matter with the stacks that the steps change.
pub(super) fn check(
    world: &World,
    deployed: &DeployedEnvironment,
    involved: &BTreeSet<At>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for stack in &deployed.stacks {
        let name = stack.stack.name.as_str();
        if !world.at(name).is_some_and(|at| involved.contains(&at)) {
            continue;
        }
        let mut say = |message: String, remedy: &str| {
            findings.push(Finding {
                severity: Severity::Error,
                stack: name.to_owned(),
                resource: None,
                message,
                remedy: remedy.to_owned(),
            });
        };
        match stack.status.kind() {
            StatusKind::Stable => {}
            StatusKind::Busy => say(
                format!("{name} is busy ({}).", stack.status),
                "Wait until the operation has ended, and try again.",
            ),
            StatusKind::Broken | StatusKind::Empty => say(
                format!("{name} is in the state {}.", stack.status),
                "Repair the stack, so that its last operation is complete, and try again.",
            ),
        }
        if stack.has_policy {
            say(
                format!("{name} has a stack policy, with which CloudFormation refuses refactors."),
                "Leave this stack out; a stack policy cannot be removed, only replaced.",
            );
        }
    }
    for (name, status) in &deployed.empty {
        if world.at(name.as_str()).is_some_and(|at| involved.contains(&at)) {
            findings.push(Finding {
                severity: Severity::Error,
                stack: name.to_string(),
                resource: None,
                message: format!(
                    "{name} exists without resources ({status}), so that it cannot be created."
                ),
                remedy: format!("Delete the stack {name}, and try again."),
            });
        }
    }
    let region = &deployed.environment.region;
    if !involved.is_empty() && REGIONS_WITHOUT.contains(&region.as_str()) {
        findings.push(Finding {
            severity: Severity::Warning,
            stack: String::new(),
            resource: None,
            message: format!(
                "Stack refactoring was not offered in {region} when this was written."
            ),
            remedy: "Try: the preview changes nothing.".to_owned(),
        });
    }
    findings.extend(circles(world, involved));
    findings
}

/// Stacks that import from each other: CloudFormation accepts that of stacks that exist, but
/// none of them could be created first.
fn circles(world: &World, involved: &BTreeSet<At>) -> Vec<Finding> {
    let mut reach: BTreeMap<At, BTreeSet<At>> = BTreeMap::new();
    for at in involved {
        let mut seen = BTreeSet::new();
        let mut open: Vec<At> = world.producers(*at).into_iter().collect();
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                open.extend(world.producers(next));
            }
        }
        reach.insert(*at, seen);
    }
    let mut findings = Vec::new();
    for (at, reached) in &reach {
        let Some(other) = reached
            .iter()
            .find(|other| **other > *at && reach.get(other).is_some_and(|back| back.contains(at)))
        else {
            continue;
        };
        let (name, other) = (&world.sites[*at].name, &world.sites[*other].name);
        findings.push(Finding {
            severity: Severity::Warning,
            stack: name.to_string(),
            resource: None,
            message: format!(
                "Between the moves and the deployment, {name} and {other} import from each other."
            ),
            remedy: "Deploy soon: until then neither of the two can be deleted.".to_owned(),
        });
    }
    findings
}
