//! Single stacks, as they are at this moment.

use std::collections::BTreeMap;

use aws_sdk_cloudformation::types::{Stack, TemplateStage};

use super::text;
use crate::aws::{AwsError, Session};
use crate::model::{StackOptions, StackStatus};

/// What `DescribeStacks` says of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackState {
    /// The name.
    pub name: String,
    /// The ARN.
    pub id: String,
    /// The status.
    pub status: StackStatus,
    /// Why it has this status.
    pub reason: String,
    /// The names of the parameters.
    pub parameters: Vec<String>,
    /// The values of the parameters, as far as they are shown: `****` stands for one that is not.
    pub parameter_values: BTreeMap<String, String>,
    /// What a change of the stack has to repeat.
    pub options: StackOptions,
    /// Values of outputs, by key.
    pub outputs: Vec<(String, String)>,
}

impl Session {
    /// Describes a stack by name or ARN; `None` if there is none. By its ARN a deleted stack is
    /// found, too (`DELETE_COMPLETE`).
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn describe_stack(&self, stack: &str) -> Result<Option<StackState>, AwsError> {
        let answer = Box::pin(self.cloudformation().call("DescribeStacks", Some(stack), |sdk| {
            sdk.describe_stacks().stack_name(stack).send()
        }))
        .await;
        match answer {
            Ok(found) => Ok(found.stacks.unwrap_or_default().into_iter().next().map(state)),
            Err(error) if error.is_missing_stack() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the template of a stack as it was submitted, as far as CloudFormation gives it
    /// back; an empty text for a stack that was only created to be reviewed.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn submitted_template(&self, stack: &str) -> Result<String, AwsError> {
        let answer = Box::pin(self.cloudformation().call("GetTemplate", Some(stack), |sdk| {
            sdk.get_template().stack_name(stack).template_stage(TemplateStage::Original).send()
        }))
        .await?;
        Ok(answer.template_body.unwrap_or_default())
    }

    /// Lists the resources of a stack that exist: logical ID and type.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn resources_of(&self, stack: &str) -> Result<Vec<(String, String)>, AwsError> {
        let mut found = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let page =
                Box::pin(self.cloudformation().call("ListStackResources", Some(stack), |sdk| {
                    sdk.list_stack_resources()
                        .stack_name(stack)
                        .set_next_token(token.clone())
                        .send()
                }))
                .await?;
            for each in page.stack_resource_summaries.unwrap_or_default() {
                if text(each.resource_status.as_ref()) != "DELETE_COMPLETE" {
                    let id = each.logical_resource_id.unwrap_or_default();
                    found.push((id, each.resource_type.unwrap_or_default()));
                }
            }
            token = page.next_token.filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(found);
            }
        }
    }

    /// Protects a stack from deletion, or no longer.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn protect_stack(&self, stack: &str, protected: bool) -> Result<(), AwsError> {
        let client = self.cloudformation();
        Box::pin(client.call("UpdateTerminationProtection", Some(stack), |sdk| {
            sdk.update_termination_protection()
                .stack_name(stack)
                .enable_termination_protection(protected)
                .send()
        }))
        .await?;
        Ok(())
    }

    /// Starts the deletion of a stack, which has to be named by its ARN: then a request that is
    /// repeated is the same as one, also by its `token`.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn delete_stack(&self, stack: &str, token: &str) -> Result<(), AwsError> {
        Box::pin(self.cloudformation().call("DeleteStack", Some(stack), |sdk| {
            sdk.delete_stack().stack_name(stack).client_request_token(token).send()
        }))
        .await?;
        Ok(())
    }
}

fn state(stack: Stack) -> StackState {
    let pairs = stack.tags.unwrap_or_default().into_iter();
    let capabilities = stack.capabilities.unwrap_or_default();
    let parameters = stack.parameters.unwrap_or_default();
    let values = parameters.iter().filter_map(|parameter| {
        Some((parameter.parameter_key.clone()?, parameter.parameter_value.clone()?))
    });
    let outputs = stack.outputs.unwrap_or_default().into_iter();
    let notified = stack.notification_arns.unwrap_or_default();
    StackState {
        status: StackStatus(text(stack.stack_status.as_ref()).into()),
        name: stack.stack_name.unwrap_or_default(),
        id: stack.stack_id.unwrap_or_default(),
        reason: stack.stack_status_reason.unwrap_or_default(),
        parameter_values: values.collect(),
        parameters: parameters
            .into_iter()
            .filter_map(|parameter| parameter.parameter_key)
            .collect(),
        options: StackOptions {
            capabilities: capabilities.iter().map(|each| each.as_str().into()).collect(),
            tags: pairs
                .filter_map(|tag| Some((tag.key?.into(), tag.value.unwrap_or_default().into())))
                .collect(),
            notification_arns: notified.into_iter().map(Into::into).collect(),
            role_arn: stack.role_arn.map(Into::into),
            termination_protection: stack.enable_termination_protection.unwrap_or_default(),
        },
        outputs: outputs
            .filter_map(|output| Some((output.output_key?, output.output_value?)))
            .collect(),
    }
}
