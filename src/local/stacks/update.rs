//! The request to update a stack.

use std::collections::BTreeMap;

use super::change::ResourceChange;
use super::create::TemplateSource;
use super::engine::{Engine, Stop, type_change};
use super::{check_capabilities, get, resolve_parameters};
use crate::local::error::{Answer, ServiceError};
use crate::local::evaluate::parameters::ParameterInput;
use crate::local::events::set_status;
use crate::local::record::{Input, Operation, Stack};
use crate::local::state::{Region, Tx};
use crate::local::templates;
use crate::model::{Template, Value};

/// What to change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateStack {
    /// The name or the ARN.
    pub name: String,
    /// The template; nothing with `use_previous_template`.
    pub template: TemplateSource,
    /// Whether the template stays as it is.
    pub use_previous_template: bool,
    /// The values of its parameters.
    pub parameters: Vec<ParameterInput>,
    /// The tags of the stack; without them they stay as they are.
    pub tags: Option<BTreeMap<String, String>>,
    /// The capabilities that are acknowledged.
    pub capabilities: Vec<String>,
    /// The service role; without it, it stays as it is.
    pub role_arn: Option<String>,
    /// Topics to be notified; without them they stay as they are.
    pub notification_arns: Option<Vec<String>>,
    /// Whether a failure leaves everything as it is.
    pub disable_rollback: bool,
    /// The stack policy.
    pub policy: Option<String>,
}

/// States from which a stack can be updated.
const UPDATABLE: &[&str] = &[
    "CREATE_COMPLETE",
    "UPDATE_COMPLETE",
    "UPDATE_ROLLBACK_COMPLETE",
    "IMPORT_COMPLETE",
    "IMPORT_ROLLBACK_COMPLETE",
    "UPDATE_FAILED",
    "CREATE_FAILED",
];

impl Region<'_> {
    /// Starts the update of a stack; returns its ARN.
    ///
    /// # Errors
    /// `InsufficientCapabilitiesException`, `ValidationError`; among the latter
    /// `No updates are to be performed.`
    pub fn update_stack(&self, request: &UpdateStack) -> Answer<String> {
        self.transact(|tx| {
            let mut stack = get(tx, &request.name)?;
            check_updatable(&stack)?;
            let input = target(tx, &stack, request)?;
            if !changes_anything(tx, &stack, &input)? {
                return Err(ServiceError::validation("No updates are to be performed."));
            }
            if request.policy.is_some() {
                stack.policy.clone_from(&request.policy);
            }
            let id = stack.info.id.clone();
            start(tx, stack, input)?;
            Ok(id)
        })
    }
}

/// Refuses a stack that is busy, or beyond an update.
pub(crate) fn check_updatable(stack: &Stack) -> Answer<()> {
    let status = stack.info.status.as_str();
    if UPDATABLE.contains(&status) {
        return Ok(());
    }
    let id = &stack.info.id;
    Err(ServiceError::validation(format!(
        "Stack:{id} is in {status} state and can not be updated."
    )))
}

/// Returns what the stack is to become.
pub(crate) fn target(tx: &Tx<'_>, stack: &Stack, request: &UpdateStack) -> Answer<Input> {
    let before = &stack.input;
    let text = if request.use_previous_template {
        before.template.clone()
    } else {
        request.template.read(tx)?
    };
    let template = templates::read(&text)?;
    check_types(stack, &template)?;
    check_capabilities(&template, &request.capabilities)?;
    let parameters = resolve_parameters(tx, &template, &request.parameters, &before.parameters)?;
    Ok(Input {
        template: text,
        parameters,
        tags: request.tags.clone().unwrap_or_else(|| before.tags.clone()),
        capabilities: request.capabilities.clone(),
        role_arn: request.role_arn.clone().or_else(|| before.role_arn.clone()),
        notification_arns: request
            .notification_arns
            .clone()
            .unwrap_or_else(|| before.notification_arns.clone()),
        disable_rollback: request.disable_rollback,
    })
}

fn check_types(stack: &Stack, template: &Template) -> Answer<()> {
    let changed: Vec<&str> = template
        .resources()
        .filter(|(id, body)| {
            let new = body.get("Type").and_then(Value::as_str);
            let old = stack.live().find(|resource| resource.logical_id == id.as_str());
            old.is_some_and(|old| Some(old.resource_type.as_str()) != new)
        })
        .map(|(id, _)| id.as_str())
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    Err(ServiceError::validation(type_change(&changed.join(", "))))
}

/// Whether an update would do anything. What cannot be evaluated is left to fail when it runs.
fn changes_anything(tx: &mut Tx<'_>, stack: &Stack, input: &Input) -> Answer<bool> {
    let mut preview = stack.clone();
    let mut engine = Engine::new(tx, true)?;
    match engine.converge(&mut preview, input) {
        Err(Stop::Service(error)) => Err(error),
        Err(Stop::Failed(_)) => Ok(true),
        Ok(()) => Ok(!engine.changes.iter().all(ResourceChange::is_only_a_deletion_policy)
            || preview.info.outputs != stack.info.outputs
            || preview.imports != stack.imports
            || input.tags != stack.input.tags
            || input.notification_arns != stack.input.notification_arns
            || stack.info.status.ends_with("_FAILED")),
    }
}

/// Starts an update.
pub(crate) fn start(tx: &mut Tx<'_>, mut stack: Stack, input: Input) -> Answer<()> {
    stack.revision += 1;
    stack.info.updated_ms = Some(tx.now);
    set_status(tx, &mut stack, "UPDATE_IN_PROGRESS", Some("User Initiated".to_owned()))?;
    crate::local::refactor::obsolete(tx, &stack)?;
    let delay = tx.cloud.options.delays.stack;
    super::phases::wait(tx, stack, Operation::Update(Box::new(input)), delay)
}
