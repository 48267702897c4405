//! The request to create a stack.

use std::collections::BTreeMap;

use super::{check_capabilities, find, new_id, resolve_parameters};
use crate::local::error::{Answer, ServiceError};
use crate::local::evaluate::parameters::ParameterInput;
use crate::local::events::set_status;
use crate::local::record::{Input, Operation, Stack, StackInfo};
use crate::local::state::{Region, Tx};
use crate::local::templates::{self, INLINE_MAX};

/// Where a template is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateSource {
    /// The text itself.
    pub body: Option<String>,
    /// The URL of an object that contains it.
    pub url: Option<String>,
}

impl TemplateSource {
    /// Returns a template that is given as text.
    pub fn body(text: &str) -> Self {
        Self { body: Some(text.to_owned()), url: None }
    }

    /// Returns a template that lies in a bucket.
    pub fn url(url: &str) -> Self {
        Self { body: None, url: Some(url.to_owned()) }
    }

    /// Whether neither is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.body.is_none() && self.url.is_none()
    }

    /// Reads the text.
    pub(crate) fn read(&self, tx: &Tx<'_>) -> Answer<String> {
        match (&self.body, &self.url) {
            (Some(body), None) if body.len() > INLINE_MAX => Err(ServiceError::constraint(
                body,
                "templateBody",
                &format!("Member must have length less than or equal to {INLINE_MAX}"),
            )),
            (Some(body), None) => Ok(body.clone()),
            (None, Some(url)) => tx.cloud.template_at(url),
            _ => Err(ServiceError::validation(
                "Either Template URL or Template Body must be specified.",
            )),
        }
    }
}

/// What to create.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreateStack {
    /// The name.
    pub name: String,
    /// The template.
    pub template: TemplateSource,
    /// The values of its parameters.
    pub parameters: Vec<ParameterInput>,
    /// The tags of the stack.
    pub tags: BTreeMap<String, String>,
    /// The capabilities that are acknowledged.
    pub capabilities: Vec<String>,
    /// The service role.
    pub role_arn: Option<String>,
    /// Topics to be notified.
    pub notification_arns: Vec<String>,
    /// Whether a failure leaves everything as it is.
    pub disable_rollback: bool,
    /// Whether deletion is to be refused.
    pub termination_protection: bool,
    /// The stack policy.
    pub policy: Option<String>,
}

impl Region<'_> {
    /// Starts the creation of a stack; returns its ARN.
    ///
    /// # Errors
    /// `AlreadyExistsException`, `InsufficientCapabilitiesException`, `ValidationError`.
    pub fn create_stack(&self, request: &CreateStack) -> Answer<String> {
        self.transact(|tx| {
            let text = request.template.read(tx)?;
            let template = templates::read(&text)?;
            if find(tx, &request.name)?.is_some() {
                return Err(already_exists(&request.name));
            }
            check_capabilities(&template, &request.capabilities)?;
            let input = Input {
                template: text,
                parameters: resolve_parameters(
                    tx,
                    &template,
                    &request.parameters,
                    &BTreeMap::new(),
                )?,
                tags: request.tags.clone(),
                capabilities: request.capabilities.clone(),
                role_arn: request.role_arn.clone(),
                notification_arns: request.notification_arns.clone(),
                disable_rollback: request.disable_rollback,
            };
            let mut stack = new_stack(tx, &request.name)?;
            stack.info.termination_protection = request.termination_protection;
            stack.policy.clone_from(&request.policy);
            let id = stack.info.id.clone();
            start(tx, stack, input)?;
            Ok(id)
        })
    }
}

fn already_exists(name: &str) -> ServiceError {
    ServiceError::new("AlreadyExistsException", 400, format!("Stack [{name}] already exists"))
}

/// Makes a stack without anything in it; it is not saved yet.
pub(crate) fn new_stack(tx: &Tx<'_>, name: &str) -> Answer<Stack> {
    let well_formed = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        && name.len() <= 128;
    if !well_formed {
        return Err(ServiceError::constraint(
            name,
            "stackName",
            "Member must satisfy regular expression pattern: [a-zA-Z][-a-zA-Z0-9]*",
        ));
    }
    let id = new_id(tx, name);
    Ok(Stack {
        info: StackInfo { name: name.to_owned(), id, created_ms: tx.now, ..StackInfo::default() },
        ..Stack::default()
    })
}

/// Starts the creation of the resources of a stack.
pub(crate) fn start(tx: &mut Tx<'_>, mut stack: Stack, input: Input) -> Answer<()> {
    stack.revision += 1;
    stack.input = input.clone();
    set_status(tx, &mut stack, "CREATE_IN_PROGRESS", Some("User Initiated".to_owned()))?;
    crate::local::refactor::obsolete(tx, &stack)?;
    let delay = tx.cloud.options.delays.stack;
    super::phases::wait(tx, stack, Operation::Create(Box::new(input)), delay)
}
