//! Stacks: their creation, change and deletion, and what can be read of them.
//!
//! A request only starts an operation. What it does happens when its time has come
//! (`phases`), through one engine (`engine`) that also tells what would change.

mod change;
mod create;
mod delete;
mod diff;
pub(crate) mod engine;
mod nested;
pub(crate) mod phases;
mod read;
mod settings;
pub(crate) mod surroundings;
mod teardown;
pub(crate) mod types;
mod update;

use super::error::{Answer, ServiceError};
use super::evaluate::parameters::{self, ParameterInput};
use super::evaluate::{Pseudo, partition};
use super::exports;
use super::parameter_store;
use super::record::{Input, Parameter, Stack};
use super::state::{Tx, file_name};
use super::templates;
use crate::model::Template;
use std::collections::BTreeMap;

pub use change::{Detail, ResourceChange};
pub use create::{CreateStack, TemplateSource};
pub use delete::DeleteStack;
pub(crate) use nested::{Preview, preview as preview_nested};
pub use read::{
    Page, ParameterDeclaration, StackDetail, StackResource, StackSummary, TemplateStage,
    TemplateSummary,
};
pub use types::TypeDescription;
pub use update::UpdateStack;

pub(crate) use create::{new_stack, start as start_creation};
pub(crate) use diff::differences;
pub(crate) use read::page;
pub(crate) use update::{check_updatable, start as start_update, target as update_target};

/// The part of a stack ARN that is its name.
pub(crate) fn name_part(id: &str) -> &str {
    id.split('/').nth(1).unwrap_or(id)
}

/// The part of a stack ARN, or of that of a change set, that is unique.
pub(crate) fn unique_part(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

/// The path of the document of a stack that exists.
pub(crate) fn path(name: &str) -> String {
    format!("stacks/{}.json", file_name(name))
}

/// The path of the document of a stack that was deleted.
fn deleted_path(id: &str) -> String {
    format!("deleted/{}.json", file_name(unique_part(id)))
}

/// Makes an ARN for a new stack.
pub(crate) fn new_id(tx: &Tx<'_>, name: &str) -> String {
    let environment = &tx.environment;
    let (partition, _) = partition(&environment.region);
    format!(
        "arn:{partition}:cloudformation:{}:{}:stack/{name}/{}",
        environment.region,
        environment.account,
        tx.cloud.ambient.uuid()
    )
}

/// Returns a stack that exists, by name or ARN.
pub(crate) fn find(tx: &Tx<'_>, name_or_id: &str) -> Answer<Option<Stack>> {
    if !name_or_id.starts_with("arn:") {
        return tx.get(&path(name_or_id));
    }
    let stack: Option<Stack> = tx.get(&path(name_part(name_or_id)))?;
    Ok(stack.filter(|stack| stack.info.id == name_or_id))
}

/// Returns a stack that exists or, by ARN, one that existed.
pub(crate) fn find_any(tx: &Tx<'_>, name_or_id: &str) -> Answer<Option<Stack>> {
    match find(tx, name_or_id)? {
        None if name_or_id.starts_with("arn:") => tx.get(&deleted_path(name_or_id)),
        found => Ok(found),
    }
}

/// Returns a stack that exists.
pub(crate) fn get(tx: &Tx<'_>, name_or_id: &str) -> Answer<Stack> {
    find(tx, name_or_id)?.ok_or_else(|| ServiceError::no_stack(name_or_id))
}

/// Writes a stack and brings the index of exports up to date.
pub(crate) fn save(tx: &mut Tx<'_>, stack: &Stack) -> Answer<()> {
    exports::update(tx, stack, true)?;
    tx.put(&path(&stack.info.name), stack)
}

/// Moves a stack to those that were deleted.
pub(crate) fn bury(tx: &mut Tx<'_>, stack: &Stack) -> Answer<()> {
    exports::update(tx, stack, false)?;
    tx.remove(&path(&stack.info.name));
    tx.put(&deleted_path(&stack.info.id), stack)
}

/// The values of pseudo parameters in a stack.
pub(crate) fn pseudo(tx: &Tx<'_>, stack: &Stack, input: &Input) -> Pseudo {
    Pseudo {
        environment: tx.environment.clone(),
        stack_name: stack.info.name.clone(),
        stack_id: stack.info.id.clone(),
        notification_arns: input.notification_arns.clone(),
    }
}

/// Finds the values of parameters, those of the parameter store included.
pub(crate) fn resolve_parameters(
    tx: &Tx<'_>,
    template: &Template,
    given: &[ParameterInput],
    before: &BTreeMap<String, Parameter>,
) -> Answer<BTreeMap<String, Parameter>> {
    parameters::resolve(template, given, before, &|name| parameter_store::get(tx, name))
}

/// Refuses a template whose capabilities were not acknowledged.
pub(crate) fn check_capabilities(template: &Template, given: &[String]) -> Answer<()> {
    let (needed, _) = templates::required_capabilities(template);
    let has = |name: &str| given.iter().any(|other| other == name);
    let missing = needed.iter().find(|name| {
        let stronger = name.as_str() == "CAPABILITY_IAM" && has("CAPABILITY_NAMED_IAM");
        !has(name) && !stronger
    });
    match missing {
        None => Ok(()),
        Some(name) => Err(ServiceError::new(
            "InsufficientCapabilitiesException",
            400,
            format!("Requires capabilities : [{name}]"),
        )),
    }
}
