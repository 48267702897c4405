//! Changes of stacks without a change set: whatever they do, they do at once.

use super::change_sets::{capabilities, parameters, tags};
use super::{ChangeSetRequest, TemplateAt};
use crate::aws::{AwsError, Session};

impl Session {
    /// Starts the creation of a stack; returns its ARN. The events of the operation repeat
    /// the token of the request.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn create_stack(
        &self,
        request: &ChangeSetRequest,
        disable_rollback: bool,
    ) -> Result<String, AwsError> {
        let client = self.cloudformation();
        let answer = Box::pin(client.call_once("CreateStack", Some(&request.stack), |sdk| {
            let call = sdk
                .create_stack()
                .stack_name(&request.stack)
                .client_request_token(&request.token)
                .set_role_arn(request.role_arn.clone())
                .set_parameters(parameters(request))
                .set_capabilities(capabilities(request))
                .set_tags(tags(request))
                .set_notification_arns(request.notification_arns.clone())
                .set_disable_rollback(disable_rollback.then_some(true));
            match &request.template {
                TemplateAt::Body(body) => call.template_body(body),
                TemplateAt::Url(url) => call.template_url(url),
            }
            .send()
        }))
        .await?;
        answer.stack_id.ok_or_else(|| AwsError::Incomplete {
            call: client.named("CreateStack", Some(&request.stack)),
            what: "stack ID",
        })
    }

    /// Starts the update of a stack; returns its ARN. The events of the operation repeat
    /// the token of the request.
    ///
    /// # Errors
    /// What the service or the network says; "No updates are to be performed" if there is nothing
    /// to change.
    pub async fn update_stack(
        &self,
        request: &ChangeSetRequest,
        disable_rollback: bool,
    ) -> Result<String, AwsError> {
        let client = self.cloudformation();
        let answer = Box::pin(client.call_once("UpdateStack", Some(&request.stack), |sdk| {
            let call = sdk
                .update_stack()
                .stack_name(&request.stack)
                .client_request_token(&request.token)
                .set_role_arn(request.role_arn.clone())
                .set_parameters(parameters(request))
                .set_capabilities(capabilities(request))
                .set_tags(tags(request))
                .set_notification_arns(request.notification_arns.clone())
                .set_disable_rollback(disable_rollback.then_some(true));
            match &request.template {
                TemplateAt::Body(body) => call.template_body(body),
                TemplateAt::Url(url) => call.template_url(url),
            }
            .send()
        }))
        .await?;
        answer.stack_id.ok_or_else(|| AwsError::Incomplete {
            call: client.named("UpdateStack", Some(&request.stack)),
            what: "stack ID",
        })
    }
}
