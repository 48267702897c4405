//! What would make CloudFormation refuse the steps, as far as it can be known beforehand.

use std::collections::{BTreeMap, BTreeSet};

use super::steps::{Finding, Severity};
use super::world::{At, World};
use crate::model::{DeployedEnvironment, DeployedStack, StatusKind};
use crate::registry;

/// Returns what is the matter with the stacks that the steps change. `refactored` are those of
/// them that take part in refactors.
pub(super) fn check(
    world: &World,
    deployed: &DeployedEnvironment,
    involved: &BTreeSet<At>,
    refactored: &BTreeSet<At>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for stack in &deployed.stacks {
        match world.at(stack.stack.name.as_str()) {
            Some(at) if involved.contains(&at) => {
                findings.extend(state(stack));
                findings.extend(policy(stack, refactored.contains(&at)));
            }
            _ => {}
        }
    }
    for (name, status) in &deployed.empty {
        if world.at(name.as_str()).is_some_and(|at| involved.contains(&at)) {
            findings.push(finding(
                Severity::Error,
                name.as_str(),
                format!(
                    "{name} exists without resources ({status}), so that it cannot be created."
                ),
                &format!("Delete the stack {name}, and try again."),
            ));
        }
    }
    let region = &deployed.environment.region;
    if !refactored.is_empty() && registry::lacks_refactoring(region) {
        findings.push(finding(
            Severity::Warning,
            "",
            format!("Stack refactoring was not offered in {region} when this was written."),
            "Try: the preview changes nothing.",
        ));
    }
    findings.extend(circles(world, involved));
    findings
}

fn finding(severity: Severity, stack: &str, message: String, remedy: &str) -> Finding {
    let (stack, remedy) = (stack.to_owned(), remedy.to_owned());
    Finding { severity, stack, resource: None, message, remedy }
}

/// A stack that cannot be changed as it is.
fn state(stack: &DeployedStack) -> Option<Finding> {
    let name = stack.stack.name.as_str();
    let (message, remedy) = match stack.status.kind() {
        StatusKind::Stable => return None,
        StatusKind::Busy => (
            format!("{name} is busy ({}).", stack.status),
            "Wait until the operation has ended, and try again.",
        ),
        StatusKind::Broken | StatusKind::Empty => (
            format!("{name} is in the state {}.", stack.status),
            "Repair the stack, so that its last operation is complete, and try again.",
        ),
    };
    Some(finding(Severity::Error, name, message, remedy))
}

/// A stack policy: refactors are refused whatever it says, other changes if it forbids them.
fn policy(stack: &DeployedStack, is_refactored: bool) -> Option<Finding> {
    let name = stack.stack.name.as_str();
    let (severity, message, remedy) = if is_refactored {
        (
            Severity::Error,
            format!("{name} has a stack policy, with which CloudFormation refuses refactors."),
            "Leave this stack out; a stack policy cannot be removed, only replaced.",
        )
    } else {
        (
            Severity::Warning,
            format!("{name} has a stack policy, which may forbid the change that is planned."),
            "See that the policy allows updates of what is to be retained.",
        )
    };
    stack.has_policy.then(|| finding(severity, name, message, remedy))
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
    let mut told: BTreeSet<At> = BTreeSet::new();
    for (at, reached) in reach.iter().filter(|(at, reached)| reached.contains(at)) {
        if !told.insert(*at) {
            continue;
        }
        let back = |other: &At| {
            let known = reach.get(other).map(|back| back.contains(at));
            known.unwrap_or_else(|| reaches(world, *other, *at))
        };
        let ring: BTreeSet<At> = reached.iter().copied().filter(back).collect();
        told.extend(&ring);
        let names: Vec<&str> = ring.iter().map(|at| world.sites[*at].name.as_str()).collect();
        let Some((last, others)) = names.split_last().filter(|(_, others)| !others.is_empty())
        else {
            continue;
        };
        findings.push(finding(
            Severity::Warning,
            world.sites[*at].name.as_str(),
            format!(
                "Between the moves and the deployment, {} and {last} import from each other.",
                others.join(", ")
            ),
            "Deploy soon: until then none of them can be deleted.",
        ));
    }
    findings
}

/// Whether a stack imports from another one, directly or through others.
fn reaches(world: &World, from: At, to: At) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(at) = open.pop() {
        for next in world.producers(at) {
            if next == to {
                return true;
            }
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Environment, Stack};
    use crate::template;

    /// A stack that exports a name and imports another one.
    fn stack(own: &str, imported: &str) -> Stack {
        let text = format!(
            r#"{{"Resources":{{"X":{{"Type":"T","Properties":{{"P":{{"Fn::ImportValue":"{imported}"}}}}}}}},
            "Outputs":{{"O":{{"Value":{{"Ref":"X"}},"Export":{{"Name":"{own}"}}}}}}}}"#
        );
        Stack::new(own, template::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn a_ring_of_imports_is_told_once_with_all_its_members() {
        let mut world = World::new(&Environment::new("1", "r"), &[], Vec::new());
        let mut involved = BTreeSet::new();
        // D uses the ring, and is not part of it.
        for (own, imported) in [("A", "B"), ("B", "C"), ("C", "A"), ("D", "A")] {
            let stack = stack(own, imported);
            let at = world.add_new(&stack);
            world.set(at, stack.template);
            involved.insert(at);
        }
        for at in involved.clone() {
            let template = world.sites[at].template.clone();
            world.set(at, template);
        }
        let found = circles(&world, &involved);
        let [finding] = found.as_slice() else { panic!("{found:#?}") };
        assert!(finding.message.ends_with("A, B and C import from each other."), "{finding:?}");
        involved.pop_first();
        assert_eq!(circles(&world, &involved).len(), 1, "A is not changed, but in the ring");
    }
}
