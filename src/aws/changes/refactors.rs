//! Stack refactors.

use aws_sdk_cloudformation::Client as Sdk;
use aws_sdk_cloudformation::operation::create_stack_refactor::builders::CreateStackRefactorFluentBuilder;
use aws_sdk_cloudformation::types::{
    ResourceLocation, ResourceMapping, StackDefinition, StackRefactorExecutionStatus,
};

use super::{TemplateAt, text};
use crate::aws::{AwsError, Session};
use crate::model::Location;

/// A stack refactor to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefactorRequest {
    /// What it is found again by: 1 to 1024 characters.
    pub description: String,
    /// Whether it creates stacks that do not exist.
    pub creates_stacks: bool,
    /// Every stack whose template changes: name or ARN, and the template.
    pub stacks: Vec<(String, TemplateAt)>,
    /// Every resource that changes its place: stack (name or ARN) and logical ID, before and
    /// after.
    pub moves: Vec<(Location, Location)>,
}

/// A stack refactor as CloudFormation describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefactorState {
    /// The ID, a UUID.
    pub id: String,
    /// What it was called when it was created.
    pub description: String,
    /// The stacks, by ARN; a new one may be there by its name. Not in lists.
    pub stack_ids: Vec<String>,
    /// `CREATE_IN_PROGRESS`, `CREATE_COMPLETE`, `CREATE_FAILED` or `DELETE_*`.
    pub status: String,
    /// Why it has this status.
    pub reason: String,
    /// `UNAVAILABLE`, `AVAILABLE`, `OBSOLETE`, `EXECUTE_*` or `ROLLBACK_*`.
    pub execution_status: String,
    /// Why it has this execution status.
    pub execution_reason: String,
}

/// Something that a stack refactor will do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefactorAction {
    /// `MOVE` or `CREATE`.
    pub action: String,
    /// `RESOURCE` or `STACK`.
    pub entity: String,
    /// The physical ID of the resource.
    pub physical_id: Option<String>,
    /// What CloudFormation says of it.
    pub description: String,
    /// For a resource: stack (as a rule its ARN) and logical ID before.
    pub source: Option<(String, String)>,
    /// For a resource: stack and logical ID after.
    pub destination: Option<(String, String)>,
}

/// Every execution status. Without a filter, obsolete refactors were seen to be left out.
const EVERY: [StackRefactorExecutionStatus; 9] = [
    StackRefactorExecutionStatus::Unavailable,
    StackRefactorExecutionStatus::Available,
    StackRefactorExecutionStatus::Obsolete,
    StackRefactorExecutionStatus::ExecuteInProgress,
    StackRefactorExecutionStatus::ExecuteComplete,
    StackRefactorExecutionStatus::ExecuteFailed,
    StackRefactorExecutionStatus::RollbackInProgress,
    StackRefactorExecutionStatus::RollbackComplete,
    StackRefactorExecutionStatus::RollbackFailed,
];

impl Session {
    /// Asks for a stack refactor; returns its ID. Nothing moves yet. Whether CloudFormation
    /// accepts it is seen by describing it.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn create_stack_refactor(
        &self,
        request: &RefactorRequest,
    ) -> Result<String, AwsError> {
        let client = self.cloudformation();
        let answer = Box::pin(
            client.call_once("CreateStackRefactor", None, |sdk| creation(sdk, request).send()),
        )
        .await?;
        answer.stack_refactor_id.filter(|id| !id.is_empty()).ok_or_else(|| AwsError::Incomplete {
            call: client.named("CreateStackRefactor", None),
            what: "ID",
        })
    }

    /// Describes a stack refactor; `None` if there is none of this ID.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn describe_stack_refactor(
        &self,
        id: &str,
    ) -> Result<Option<RefactorState>, AwsError> {
        let answer = Box::pin(self.cloudformation().call("DescribeStackRefactor", None, |sdk| {
            sdk.describe_stack_refactor().stack_refactor_id(id).send()
        }))
        .await;
        match answer {
            Ok(found) => Ok(Some(RefactorState {
                id: id.to_owned(),
                description: found.description.unwrap_or_default(),
                stack_ids: found.stack_ids.unwrap_or_default(),
                status: text(found.status.as_ref()),
                reason: found.status_reason.unwrap_or_default(),
                execution_status: text(found.execution_status.as_ref()),
                execution_reason: found.execution_status_reason.unwrap_or_default(),
            })),
            Err(error) if error.code() == Some("StackRefactorNotFoundException") => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists what a stack refactor will do, all pages.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn stack_refactor_actions(&self, id: &str) -> Result<Vec<RefactorAction>, AwsError> {
        let mut found = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let page =
                Box::pin(self.cloudformation().call("ListStackRefactorActions", None, |sdk| {
                    sdk.list_stack_refactor_actions()
                        .stack_refactor_id(id)
                        .set_next_token(token.clone())
                        .send()
                }))
                .await?;
            for each in page.stack_refactor_actions.unwrap_or_default() {
                let mapping = each.resource_mapping.as_ref();
                found.push(RefactorAction {
                    action: text(each.action.as_ref()),
                    entity: text(each.entity.as_ref()),
                    source: mapping.and_then(|mapping| place(mapping.source.as_ref())),
                    destination: mapping.and_then(|mapping| place(mapping.destination.as_ref())),
                    physical_id: each.physical_resource_id,
                    description: each.description.unwrap_or_default(),
                });
            }
            token = page.next_token.filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(found);
            }
        }
    }

    /// Lists every stack refactor that CloudFormation remembers, whatever its status.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn stack_refactors(&self) -> Result<Vec<RefactorState>, AwsError> {
        let mut found = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let page = Box::pin(self.cloudformation().call("ListStackRefactors", None, |sdk| {
                sdk.list_stack_refactors()
                    .set_execution_status_filter(Some(EVERY.to_vec()))
                    .set_next_token(token.clone())
                    .send()
            }))
            .await?;
            for each in page.stack_refactor_summaries.unwrap_or_default() {
                found.push(RefactorState {
                    status: text(each.status.as_ref()),
                    execution_status: text(each.execution_status.as_ref()),
                    id: each.stack_refactor_id.unwrap_or_default(),
                    description: each.description.unwrap_or_default(),
                    stack_ids: Vec::new(),
                    reason: each.status_reason.unwrap_or_default(),
                    execution_reason: each.execution_status_reason.unwrap_or_default(),
                });
            }
            token = page.next_token.filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(found);
            }
        }
    }

    /// Starts the execution of a stack refactor.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn execute_stack_refactor(&self, id: &str) -> Result<(), AwsError> {
        Box::pin(self.cloudformation().call_once("ExecuteStackRefactor", None, |sdk| {
            sdk.execute_stack_refactor().stack_refactor_id(id).send()
        }))
        .await?;
        Ok(())
    }
}

fn creation(sdk: &Sdk, request: &RefactorRequest) -> CreateStackRefactorFluentBuilder {
    let mut call = sdk.create_stack_refactor().description(&request.description);
    if request.creates_stacks {
        call = call.enable_stack_creation(true);
    }
    for (stack, template) in &request.stacks {
        let definition = StackDefinition::builder().stack_name(stack);
        call = call.stack_definitions(match template {
            TemplateAt::Body(body) => definition.template_body(body).build(),
            TemplateAt::Url(url) => definition.template_url(url).build(),
        });
    }
    for (source, destination) in &request.moves {
        call = call.resource_mappings(
            ResourceMapping::builder()
                .source(location(source))
                .destination(location(destination))
                .build(),
        );
    }
    call
}

fn location(location: &Location) -> ResourceLocation {
    ResourceLocation::builder()
        .stack_name(location.stack.as_str())
        .logical_resource_id(location.logical_id.as_str())
        .build()
}

fn place(location: Option<&ResourceLocation>) -> Option<(String, String)> {
    let location = location?;
    Some((location.stack_name.clone()?, location.logical_resource_id.clone()?))
}
