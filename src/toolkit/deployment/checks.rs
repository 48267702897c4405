//! Refuses what CloudFormation would refuse anyway, before anything is changed: after the moves
//! everything would have to be taken back.

use super::super::Error;
use super::super::detect::Sides;
use super::targets::Targets;
use crate::assembly::{Assembly, AssemblyStack};
use crate::model::{Environment, Object, Stack, Text};
use crate::settings::Deploying;

/// Checks every stack that is going to be deployed, with the values of parameters that it will
/// have.
///
/// # Errors
/// The first stack without resources, or with a parameter that has no value.
pub(super) fn check(
    targets: &Targets,
    assembly: &Assembly,
    environments: &[(Environment, Sides)],
    deploying: &Deploying,
) -> Result<(), Error> {
    for stack in assembly.stacks.iter().filter(|stack| targets.has(stack)) {
        let id = || stack.hierarchical_id.clone();
        if has_nothing(stack) {
            return Err(Error::NoResources { stack: id() });
        }
        let sides = environments.iter().find(|(other, _)| *other == stack.environment);
        let Some((_, sides)) = sides else { continue };
        let keys = without_value(stack, sides, deploying);
        if !keys.is_empty() {
            return Err(Error::MissingParameters { stack: id(), keys });
        }
    }
    Ok(())
}

/// Whether a template has no resources, and no macro that could make some.
fn has_nothing(stack: &AssemblyStack) -> bool {
    let template = &stack.stack.template;
    template.section("Resources").is_none_or(|all| all.iter().next().is_none())
        && template.sections.get("Transform").is_none()
}

fn without_value(stack: &AssemblyStack, sides: &Sides, deploying: &Deploying) -> Vec<String> {
    let name = &stack.stack.name;
    let Some(known) = sides.local.iter().find(|one| one.name == *name) else { return Vec::new() };
    let deployed = sides.account.iter().flat_map(|account| &account.stacks);
    let mut deployed = deployed.map(|one| &one.stack).filter(|_| deploying.previous_parameters);
    let deployed = deployed.find(|one| one.name == *name);
    // A hidden value is kept, although nobody sees it.
    let is_kept = |key: &Text| deployed.is_some_and(|deployed| has(deployed, key));
    let declared = known.template.section("Parameters").into_iter().flat_map(Object::iter);
    let missing = declared.filter(|(key, declaration)| {
        declaration.get("Default").is_none()
            && !known.parameters.contains_key(*key)
            && !is_kept(key)
    });
    missing.map(|(key, _)| key.to_string()).collect()
}

/// Whether a deployed stack has a value for a parameter.
fn has(deployed: &Stack, key: &Text) -> bool {
    let declared = deployed.template.section("Parameters");
    deployed.parameters.contains_key(key) || declared.is_some_and(|all| all.get(key).is_some())
}
