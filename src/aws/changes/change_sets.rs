//! Change sets.

use aws_sdk_cloudformation::Client as Sdk;
use aws_sdk_cloudformation::operation::create_change_set::builders::CreateChangeSetFluentBuilder;
use aws_sdk_cloudformation::types::{Capability, ChangeSetType, Parameter, Tag};

use super::changed::change;
use super::{ChangeSetChange, TemplateAt, text};
use crate::aws::{AwsError, Session};

/// A change set to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeSetRequest {
    /// Its name: a letter, then letters, digits and hyphens, 128 at most.
    pub name: String,
    /// Tells this request from any other, so that it is carried out once however often it arrives.
    pub token: String,
    /// The name or the ARN of the stack; the name for a new one.
    pub stack: String,
    /// Whether it creates the stack.
    pub creates_stack: bool,
    /// The template.
    pub template: TemplateAt,
    /// Parameters with their values.
    pub parameters: Vec<(String, String)>,
    /// Parameters that keep the values that they have.
    pub kept_parameters: Vec<String>,
    /// Acknowledged capabilities.
    pub capabilities: Vec<String>,
    /// Tags of the stack; `None`: they stay as they are.
    pub tags: Option<Vec<(String, String)>>,
    /// Topics that get its events; `None`: they stay as they are.
    pub notification_arns: Option<Vec<String>>,
    /// The role that CloudFormation works with; `None`: the one that the stack has.
    pub role_arn: Option<String>,
    /// Whether nested stacks get change sets of their own, which say what would happen in them.
    pub with_nested: bool,
}

/// A change set as CloudFormation describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSetState {
    /// The ARN.
    pub id: String,
    /// The ARN of the stack.
    pub stack_id: String,
    /// `CREATE_PENDING`, `CREATE_IN_PROGRESS`, `CREATE_COMPLETE`, `FAILED` or `DELETE_*`.
    pub status: String,
    /// Why it has this status.
    pub reason: String,
    /// `UNAVAILABLE`, `AVAILABLE`, `EXECUTE_*` or `OBSOLETE`.
    pub execution_status: String,
    /// What it would do.
    pub changes: Vec<ChangeSetChange>,
}

/// What the state of a change set means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeSetMeans {
    /// It is not there (any more).
    Unknown,
    /// Something is going on.
    Wait,
    /// It can be executed.
    Ready,
    /// It was refused; nothing has happened.
    Refused(String),
    /// The stack was changed since; nothing has happened.
    Obsolete,
    /// It is being executed, or was: the stack tells.
    Executing,
}

/// Returns what the state of a change set means; without a state it is not there.
pub fn change_set_means(state: Option<&ChangeSetState>) -> ChangeSetMeans {
    let Some(state) = state else { return ChangeSetMeans::Unknown };
    match (state.status.as_str(), state.execution_status.as_str()) {
        (_, "EXECUTE_IN_PROGRESS" | "EXECUTE_COMPLETE" | "EXECUTE_FAILED") => {
            ChangeSetMeans::Executing
        }
        ("FAILED", _) => ChangeSetMeans::Refused(state.reason.clone()),
        (status, _) if status.starts_with("DELETE_") => ChangeSetMeans::Unknown,
        (_, "OBSOLETE") => ChangeSetMeans::Obsolete,
        ("CREATE_COMPLETE", "AVAILABLE") => ChangeSetMeans::Ready,
        _ => ChangeSetMeans::Wait,
    }
}

impl Session {
    /// Asks for a change set; returns the ARN of the stack.
    ///
    /// With [`ChangeSetRequest::with_nested`] the changes of nested stacks name their change sets
    /// ([`ChangeSetChange::change_set_id`]).
    ///
    /// # Errors
    /// What the service or the network says; among it the code `AlreadyExistsException` if there
    /// is a change set of this name.
    pub async fn create_change_set(&self, request: &ChangeSetRequest) -> Result<String, AwsError> {
        let client = self.cloudformation();
        let answer = Box::pin(client.call_once("CreateChangeSet", Some(&request.stack), |sdk| {
            creation(sdk, request).send()
        }))
        .await?;
        answer.stack_id.ok_or_else(|| AwsError::Incomplete {
            call: client.named("CreateChangeSet", Some(&request.stack)),
            what: "stack ID",
        })
    }

    /// Describes a change set with all its changes; `None` if there is none of this name, or no
    /// such stack.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn describe_change_set(
        &self,
        stack: &str,
        name: &str,
    ) -> Result<Option<ChangeSetState>, AwsError> {
        self.change_set(Some(stack), name).await
    }

    /// Describes a change set by its ARN with all its changes; `None` if it is not there.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn describe_change_set_by_id(
        &self,
        arn: &str,
    ) -> Result<Option<ChangeSetState>, AwsError> {
        self.change_set(None, arn).await
    }

    async fn change_set(
        &self,
        stack: Option<&str>,
        name: &str,
    ) -> Result<Option<ChangeSetState>, AwsError> {
        let mut state = ChangeSetState::default();
        let mut token: Option<String> = None;
        loop {
            let answer = Box::pin(self.cloudformation().call("DescribeChangeSet", stack, |sdk| {
                sdk.describe_change_set()
                    .set_stack_name(stack.map(str::to_owned))
                    .change_set_name(name)
                    .set_next_token(token.clone())
                    .send()
            }))
            .await;
            let page = match answer {
                Ok(page) => page,
                Err(error) if is_missing(&error) => return Ok(None),
                Err(error) => return Err(error),
            };
            state.status = text(page.status.as_ref());
            state.execution_status = text(page.execution_status.as_ref());
            state.id = page.change_set_id.unwrap_or_default();
            state.stack_id = page.stack_id.unwrap_or_default();
            state.reason = page.status_reason.unwrap_or_default();
            let changes = page.changes.unwrap_or_default().into_iter();
            state.changes.extend(changes.filter_map(|each| each.resource_change).map(change));
            token = page.next_token.filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(Some(state));
            }
        }
    }

    /// Starts what a change set says. `token` is repeated by the events of the operation. With
    /// `disable_rollback` a failure leaves everything as it then is.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn execute_change_set(
        &self,
        stack: &str,
        name: &str,
        token: &str,
        disable_rollback: bool,
    ) -> Result<(), AwsError> {
        let disable_rollback = disable_rollback.then_some(true);
        Box::pin(self.cloudformation().call_once("ExecuteChangeSet", Some(stack), |sdk| {
            sdk.execute_change_set()
                .stack_name(stack)
                .change_set_name(name)
                .client_request_token(token)
                .set_disable_rollback(disable_rollback)
                .send()
        }))
        .await?;
        Ok(())
    }

    /// Lists the names of the change sets of a stack, all pages.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn change_sets_of(&self, stack: &str) -> Result<Vec<String>, AwsError> {
        let mut found = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let page = Box::pin(self.cloudformation().call("ListChangeSets", Some(stack), |sdk| {
                sdk.list_change_sets().stack_name(stack).set_next_token(token.clone()).send()
            }))
            .await?;
            let summaries = page.summaries.unwrap_or_default().into_iter();
            found.extend(summaries.filter_map(|summary| summary.change_set_name));
            token = page.next_token.filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(found);
            }
        }
    }

    /// Deletes a change set. One that is not there is deleted already.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn delete_change_set(&self, stack: &str, name: &str) -> Result<(), AwsError> {
        let answer = Box::pin(self.cloudformation().call("DeleteChangeSet", Some(stack), |sdk| {
            sdk.delete_change_set().stack_name(stack).change_set_name(name).send()
        }))
        .await;
        match answer {
            Err(error) if !is_missing(&error) => Err(error),
            _ => Ok(()),
        }
    }
}

fn is_missing(error: &AwsError) -> bool {
    matches!(error.code(), Some("ChangeSetNotFound" | "ChangeSetNotFoundException"))
        || error.is_missing_stack()
}

fn creation(sdk: &Sdk, request: &ChangeSetRequest) -> CreateChangeSetFluentBuilder {
    let kind = if request.creates_stack { ChangeSetType::Create } else { ChangeSetType::Update };
    let mut call = sdk
        .create_change_set()
        .stack_name(&request.stack)
        .change_set_name(&request.name)
        .change_set_type(kind)
        .client_token(&request.token)
        .set_include_nested_stacks(request.with_nested.then_some(true))
        .set_role_arn(request.role_arn.clone());
    call = match &request.template {
        TemplateAt::Body(body) => call.template_body(body),
        TemplateAt::Url(url) => call.template_url(url),
    };
    call = call.set_parameters(parameters(request));
    // An empty list takes away what there is, no list leaves it.
    call.set_capabilities(capabilities(request))
        .set_tags(tags(request))
        .set_notification_arns(request.notification_arns.clone())
}

pub(super) fn parameters(request: &ChangeSetRequest) -> Option<Vec<Parameter>> {
    let given = request
        .parameters
        .iter()
        .map(|(key, value)| Parameter::builder().parameter_key(key).parameter_value(value).build());
    let kept = request
        .kept_parameters
        .iter()
        .map(|key| Parameter::builder().parameter_key(key).use_previous_value(true).build());
    Some(given.chain(kept).collect()).filter(|all: &Vec<_>| !all.is_empty())
}

pub(super) fn capabilities(request: &ChangeSetRequest) -> Option<Vec<Capability>> {
    let all = request.capabilities.iter().map(|each| Capability::from(each.as_str()));
    Some(all.collect()).filter(|all: &Vec<_>| !all.is_empty())
}

pub(super) fn tags(request: &ChangeSetRequest) -> Option<Vec<Tag>> {
    let tag = |(key, value): &(String, String)| Tag::builder().key(key).value(value).build();
    request.tags.as_ref().map(|tags| tags.iter().map(tag).collect())
}
