//! Nested stacks: resources that are stacks.

use std::collections::BTreeMap;

use super::change::ResourceChange;
use super::engine::{Broken, Engine, Failure, Stop};
use super::{check_capabilities, find, new_id, resolve_parameters, save, teardown};
use crate::local::error::{Answer, ServiceError};
use crate::local::evaluate::parameters::of_nested;
use crate::local::record::{Input, Json, Leaving, Output, Parameter, Resource, Stack, StackInfo};
use crate::local::resources::UNKNOWN;
use crate::local::state::Tx;
use crate::local::{events, templates};
use crate::model::Object;

/// What the properties of the resource say of the stack.
fn input(
    tx: &Tx<'_>,
    target: &Input,
    properties: &Json,
    before: &BTreeMap<String, Parameter>,
) -> Answer<Input> {
    let url = properties.get("TemplateURL").and_then(Json::as_str);
    let url =
        url.ok_or_else(|| ServiceError::validation("Property TemplateURL cannot be empty."))?;
    let text = tx.cloud.template_at(url)?;
    let template = templates::read(&text)?;
    check_capabilities(&template, &target.capabilities)?;
    let given = of_nested(properties);
    let mut tags = target.tags.clone();
    for tag in properties.get("Tags").and_then(Json::as_array).into_iter().flatten() {
        let member = |key: &str| tag.get(key).and_then(Json::as_str).map(str::to_owned);
        if let (Some(key), Some(value)) = (member("Key"), member("Value")) {
            tags.insert(key, value);
        }
    }
    Ok(Input {
        template: text,
        parameters: resolve_parameters(tx, &template, &given, before)?,
        tags,
        capabilities: target.capabilities.clone(),
        role_arn: target.role_arn.clone(),
        notification_arns: target.notification_arns.clone(),
        disable_rollback: false,
    })
}

/// Creates the stack of a resource; returns its ARN.
pub(super) fn create(
    engine: &mut Engine<'_, '_>,
    parent: &Stack,
    target: &Input,
    wanted: &Resource,
) -> Result<Result<String, Broken>, Stop> {
    let input = match input(engine.tx, target, &wanted.properties, &BTreeMap::new()) {
        Ok(input) => input,
        Err(error) if error.http_status >= 500 => return Err(error.into()),
        Err(ServiceError { message: reason, .. }) => {
            return Ok(Err(Broken { physical_id: String::new(), reason }));
        }
    };
    let token = engine.tx.cloud.ambient.token(12);
    let name = format!("{}-{}-{token}", parent.info.name, wanted.logical_id);
    let id = new_id(engine.tx, &name);
    let mut child = Stack {
        info: StackInfo {
            name,
            id: id.clone(),
            status: "CREATE_IN_PROGRESS".to_owned(),
            created_ms: engine.tx.now,
            parent_id: Some(parent.info.id.clone()),
            root_id: Some(parent.info.root_id.clone().unwrap_or_else(|| parent.info.id.clone())),
            ..StackInfo::default()
        },
        revision: 1,
        ..Stack::default()
    };
    let begun = events::of_stack(engine.tx, &child.info);
    engine.events.push(begun);
    let failure = run(engine, &mut child, &input)?;
    child.input = input;
    Ok(match failure {
        None => {
            settle(engine, &mut child, "CREATE_COMPLETE", None)?;
            Ok(id)
        }
        Some(Failure { reason }) => {
            settle(engine, &mut child, "CREATE_FAILED", Some(reason.clone()))?;
            let reason = format!("Embedded stack {id} was not successfully created: {reason}");
            Err(Broken { physical_id: id, reason })
        }
    })
}

/// Updates the stack of a resource.
pub(super) fn update(
    engine: &mut Engine<'_, '_>,
    _parent: &Stack,
    target: &Input,
    wanted: &Resource,
) -> Result<Result<(), String>, Stop> {
    let id = &wanted.physical_id;
    let Some(mut child) = find(engine.tx, id)? else {
        return Ok(Err(format!("Stack with id {id} does not exist")));
    };
    let input = match input(engine.tx, target, &wanted.properties, &child.input.parameters) {
        Ok(input) => input,
        Err(error) if error.http_status >= 500 => return Err(error.into()),
        Err(ServiceError { message, .. }) => return Ok(Err(message)),
    };
    child.revision += 1;
    child.info.updated_ms = Some(engine.tx.now);
    settle(engine, &mut child, "UPDATE_IN_PROGRESS", None)?;
    crate::local::refactor::obsolete(engine.tx, &child)?;
    match run(engine, &mut child, &input)? {
        None => {
            child.input = input;
            settle(engine, &mut child, "UPDATE_COMPLETE", None)?;
            Ok(Ok(()))
        }
        // The parent rolls back, and with it everything that was done here.
        Some(Failure { reason }) => {
            Ok(Err(format!("Embedded stack {id} was not successfully updated: {reason}")))
        }
    }
}

/// What an update of the stack of a resource would do.
pub(crate) struct Preview {
    /// The stack as it is.
    pub(crate) child: StackInfo,
    /// What it would be made of.
    pub(crate) input: Input,
    /// What would change, or why that cannot be told.
    pub(crate) changes: Result<Vec<ResourceChange>, String>,
}

/// Returns the outputs that the stack of a resource will have, as far as they are known before it
/// is updated: those that it has, and new ones with values that are not known yet.
pub(super) fn outputs_to_be(
    tx: &Tx<'_>,
    target: &Input,
    wanted: &Resource,
) -> Answer<Option<Vec<Output>>> {
    let Some(child) = find(tx, &wanted.physical_id)? else { return Ok(None) };
    let input = match input(tx, target, &wanted.properties, &child.input.parameters) {
        Ok(input) => input,
        Err(error) if error.http_status >= 500 => return Err(error),
        // Told when the stack is updated.
        Err(_) => return Ok(None),
    };
    let template = templates::parse(&input.template)?;
    let mut outputs = child.info.outputs;
    let declared = template.section("Outputs").into_iter().flat_map(Object::iter);
    for (key, _) in declared {
        if !outputs.iter().any(|output| output.key == key.as_str()) {
            let value = UNKNOWN.to_owned();
            outputs.push(Output { key: key.to_string(), value, ..Output::default() });
        }
    }
    Ok(Some(outputs))
}

/// Tells what an update of the stack of a resource would do; nothing if there is no such stack.
pub(crate) fn preview(
    tx: &mut Tx<'_>,
    target: &Input,
    wanted: &Resource,
) -> Answer<Option<Preview>> {
    let Some(child) = find(tx, &wanted.physical_id)? else { return Ok(None) };
    let info = child.info.clone();
    let refused =
        |reason| Preview { child: info.clone(), input: child.input.clone(), changes: Err(reason) };
    let input = match input(tx, target, &wanted.properties, &child.input.parameters) {
        Ok(input) => input,
        Err(error) if error.http_status >= 500 => return Err(error),
        Err(ServiceError { message, .. }) => return Ok(Some(refused(message))),
    };
    let mut engine = Engine::new(tx, true)?;
    let changes = match engine.converge(&mut child.clone(), &input) {
        Ok(()) => Ok(engine.changes),
        Err(Stop::Failed(failure)) => Err(failure.reason),
        Err(Stop::Service(error)) => return Err(error),
    };
    Ok(Some(Preview { child: info, input, changes }))
}

/// Runs the engine over a nested stack. What leaves it goes away at once: if the parent rolls
/// back, that is undone with everything else.
fn run(
    engine: &mut Engine<'_, '_>,
    child: &mut Stack,
    input: &Input,
) -> Result<Option<Failure>, Stop> {
    let mut inner = Engine::new(engine.tx, false)?;
    let result = inner.converge(child, input);
    let (told, leaving) = (inner.events, inner.leaving);
    engine.events.extend(told);
    match result {
        Ok(()) => {
            teardown::let_go(engine.tx, child, &leaving, &mut engine.events)?;
            Ok(None)
        }
        Err(Stop::Failed(failure)) => Ok(Some(failure)),
        Err(stop) => Err(stop),
    }
}

fn settle(
    engine: &mut Engine<'_, '_>,
    child: &mut Stack,
    status: &str,
    reason: Option<String>,
) -> Answer<()> {
    status.clone_into(&mut child.info.status);
    child.info.status_reason = reason;
    let event = events::of_stack(engine.tx, &child.info);
    engine.events.push(event);
    save(engine.tx, child)
}

/// Deletes the stack of a resource; returns why it cannot be.
pub(super) fn delete(tx: &mut Tx<'_>, resource: &Resource) -> Answer<Option<String>> {
    let Some(mut child) = find(tx, &resource.physical_id)? else { return Ok(None) };
    let id = child.info.id.clone();
    if let Err(reason) = crate::local::exports::Index::load(tx)?.check_deletion(&child) {
        return Ok(Some(format!("Embedded stack {id} was not successfully deleted: {reason}")));
    }
    events::set_status(tx, &mut child, "DELETE_IN_PROGRESS", None)?;
    crate::local::refactor::obsolete(tx, &child)?;
    let failed = empty(tx, &mut child, &[])?;
    if failed.is_empty() {
        child.info.deleted_ms = Some(tx.now);
        events::set_status(tx, &mut child, "DELETE_COMPLETE", None)?;
        super::bury(tx, &child)?;
        return Ok(None);
    }
    let list = failed.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>().join(", ");
    let reason = format!("The following resource(s) failed to delete: [{list}]. ");
    events::set_status(tx, &mut child, "DELETE_FAILED", Some(reason.clone()))?;
    save(tx, &child)?;
    Ok(Some(format!("Embedded stack {id} was not successfully deleted: {reason}")))
}

/// Lets go of all resources of a stack; returns what could not be deleted.
pub(super) fn empty(
    tx: &mut Tx<'_>,
    stack: &mut Stack,
    retain: &[String],
) -> Answer<Vec<(String, String)>> {
    let mut leaving = Vec::new();
    for id in teardown::order(stack.live()) {
        if let Some(resource) = stack.resources.get(&id) {
            let retained = teardown::is_retained(resource) || retain.contains(&id);
            leaving.push(Leaving { resource: resource.clone(), retained });
        }
    }
    let mut told = Vec::new();
    let failed = teardown::let_go(tx, stack, &leaving, &mut told)?;
    events::record(tx, told)?;
    for Leaving { resource, retained } in leaving {
        let id = resource.logical_id;
        let failure = failed.iter().find(|(failed, _)| *failed == id);
        if let Some(kept) = stack.resources.get_mut(&id) {
            let status = match failure {
                Some(_) => "DELETE_FAILED",
                None if retained => "DELETE_SKIPPED",
                None => "DELETE_COMPLETE",
            };
            status.clone_into(&mut kept.status);
            kept.status_reason = failure.map(|(_, reason)| reason.clone());
            kept.updated_ms = tx.now;
        }
    }
    Ok(failed)
}
