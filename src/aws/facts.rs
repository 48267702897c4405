//! Single questions about stacks, and their answers in our own types.

use std::collections::BTreeMap;

use aws_sdk_cloudformation::primitives::{DateTime, DateTimeFormat};
use aws_sdk_cloudformation::types::{self as sdk, TemplateStage};

use super::client::Place;
use super::error::AwsError;
use super::session::Session;
use crate::model::{DeployedResource, Export, StackOptions, StackStatus, Text};

/// Resources by logical ID.
pub(super) type Resources = BTreeMap<Text, DeployedResource>;

/// What `GetStackPolicy` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Policy {
    pub is_attached: bool,
}

/// What `DescribeStacks` says.
#[derive(Clone, Debug)]
pub(super) struct Detail {
    pub name: String,
    pub id: String,
    pub status: StackStatus,
    pub parent: Option<String>,
    pub parameters: BTreeMap<Text, Text>,
    pub outputs: BTreeMap<Text, Text>,
    pub exports: Vec<Export>,
    pub options: StackOptions,
}

/// What CloudFormation shows instead of the value of a `NoEcho` parameter.
const HIDDEN: &str = "****";

impl Session {
    /// Returns the template as it was submitted; nothing if there is no such stack.
    pub(super) async fn template(&self, stack: &str) -> Result<Option<String>, AwsError> {
        let answer = self.cloudformation().call("GetTemplate", Some(stack), |sdk| {
            sdk.get_template().stack_name(stack).template_stage(TemplateStage::Original).send()
        });
        let answer = existing(answer.await)?;
        Ok(answer.map(|answer| answer.template_body.unwrap_or_default()))
    }

    /// Describes a stack; nothing if there is none.
    pub(super) async fn detail(&self, stack: &str) -> Result<Option<Detail>, AwsError> {
        let place = self.cloudformation().place().await;
        self.detail_in(&place, stack).await
    }

    /// Describes a stack in a place that is held already.
    pub(super) async fn detail_in(
        &self,
        place: &Place<'_>,
        stack: &str,
    ) -> Result<Option<Detail>, AwsError> {
        let client = self.cloudformation();
        let answer = client.call_in(place, "DescribeStacks", Some(stack), |sdk| {
            sdk.describe_stacks().stack_name(stack).send()
        });
        let stacks = existing(answer.await)?.and_then(|answer| answer.stacks);
        let Some(found) = stacks.into_iter().flatten().next() else { return Ok(None) };
        let call = client.named("DescribeStacks", Some(stack));
        Detail::of(found).map(Some).map_err(|what| AwsError::Incomplete { call, what })
    }

    /// Lists the resources of a stack, page after page in one place.
    pub(super) async fn resources(&self, stack: &str) -> Result<Resources, AwsError> {
        let client = self.cloudformation();
        let place = client.place().await;
        let mut resources = Resources::new();
        let mut token = None;
        loop {
            let answer = client
                .call_in(&place, "ListStackResources", Some(stack), |sdk| {
                    sdk.list_stack_resources().stack_name(stack).set_next_token(token).send()
                })
                .await?;
            for resource in answer.stack_resource_summaries.into_iter().flatten() {
                let (Some(id), Some(resource_type)) =
                    (resource.logical_resource_id, resource.resource_type)
                else {
                    let call = client.named("ListStackResources", Some(stack));
                    return Err(AwsError::Incomplete { call, what: "logical ID or type" });
                };
                let status = resource.resource_status.as_ref().map_or("", |status| status.as_str());
                let resource = DeployedResource {
                    resource_type: resource_type.as_str().into(),
                    physical_id: resource
                        .physical_resource_id
                        .filter(|id| !id.is_empty())
                        .map(Text::from),
                    status: status.into(),
                    changed_at: resource.last_updated_timestamp.and_then(written),
                };
                resources.insert(id.into(), resource);
            }
            token = answer.next_token;
            if token.is_none() {
                return Ok(resources);
            }
        }
    }

    /// Returns whether a policy is attached to a stack.
    pub(super) async fn policy(&self, stack: &str) -> Result<Policy, AwsError> {
        let answer = self.cloudformation().call("GetStackPolicy", Some(stack), |sdk| {
            sdk.get_stack_policy().stack_name(stack).send()
        });
        let body = answer.await?.stack_policy_body;
        Ok(Policy { is_attached: body.is_some_and(|body| !body.trim().is_empty()) })
    }

    /// Lists the names of the stacks that import an export, sorted.
    pub(super) async fn importers(&self, export: &str) -> Result<Vec<Text>, AwsError> {
        let client = self.cloudformation();
        let place = client.place().await;
        let mut importers: Vec<Text> = Vec::new();
        let mut token = None;
        loop {
            let answer = client.call_in(&place, "ListImports", None, |sdk| {
                sdk.list_imports().export_name(export).set_next_token(token).send()
            });
            let answer = match answer.await {
                Ok(answer) => answer,
                Err(error) if is_not_imported(&error) => break,
                Err(error) => return Err(error),
            };
            importers.extend(answer.imports.into_iter().flatten().map(Text::from));
            token = answer.next_token;
            if token.is_none() {
                break;
            }
        }
        importers.sort();
        importers.dedup();
        Ok(importers)
    }
}

/// CloudFormation has no code of its own for an export that nobody imports.
/// A time in UTC, to the second.
fn written(time: DateTime) -> Option<Text> {
    let whole = DateTime::from_secs(time.secs()).fmt(DateTimeFormat::DateTime).ok()?;
    Some(whole.into())
}

fn is_not_imported(error: &AwsError) -> bool {
    let message = error.call().map_or("", |error| error.message.as_str());
    error.code() == Some("ValidationError") && message.contains("not imported by any stack")
}

/// Takes a stack that does not exist for nothing.
fn existing<T>(answer: Result<T, AwsError>) -> Result<Option<T>, AwsError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.is_missing_stack() => Ok(None),
        Err(error) => Err(error),
    }
}

impl Detail {
    /// Takes what we need of a stack.
    ///
    /// # Errors
    /// What it lacks.
    pub(super) fn of(stack: sdk::Stack) -> Result<Self, &'static str> {
        let status = stack.stack_status.ok_or("status")?;
        let mut outputs = BTreeMap::new();
        let mut exports = Vec::new();
        for output in stack.outputs.into_iter().flatten() {
            let value = Text::from(output.output_value.unwrap_or_default());
            if let Some(name) = output.export_name {
                let (name, value) = (name.into(), value.clone());
                exports.push(Export { name, value, importers: Vec::new() });
            }
            if let Some(key) = output.output_key {
                outputs.insert(key.into(), value);
            }
        }
        exports.sort_by(|a, b| a.name.cmp(&b.name));
        let parameters = stack.parameters.into_iter().flatten().filter_map(|parameter| {
            // For a parameter that names an SSM parameter the value is what that one holds.
            let value = parameter.resolved_value.or(parameter.parameter_value)?;
            (value != HIDDEN).then_some((parameter.parameter_key?.into(), value.into()))
        });
        let tag = |tag: sdk::Tag| Some((tag.key?.into(), tag.value.unwrap_or_default().into()));
        Ok(Self {
            name: stack.stack_name.ok_or("name")?,
            // Without an ARN a stack of the same name could take its place unnoticed.
            id: stack.stack_id.ok_or("ID")?,
            status: StackStatus(status.as_str().into()),
            parent: stack.parent_id.filter(|id| !id.is_empty()),
            parameters: parameters.collect(),
            outputs,
            exports,
            options: StackOptions {
                capabilities: stack
                    .capabilities
                    .into_iter()
                    .flatten()
                    .map(|capability| capability.as_str().into())
                    .collect(),
                tags: stack.tags.into_iter().flatten().filter_map(tag).collect(),
                notification_arns: stack
                    .notification_arns
                    .into_iter()
                    .flatten()
                    .map(Text::from)
                    .collect(),
                role_arn: stack.role_arn.map(Text::from),
                termination_protection: stack.enable_termination_protection.unwrap_or_default(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(key: &str, value: &str, resolved: Option<&str>) -> sdk::Parameter {
        sdk::Parameter::builder()
            .parameter_key(key)
            .parameter_value(value)
            .set_resolved_value(resolved.map(str::to_owned))
            .build()
    }

    fn stack() -> sdk::builders::StackBuilder {
        sdk::Stack::builder()
            .stack_name("Web")
            .stack_id("arn:aws:cloudformation:eu-west-1:1:stack/Web/1")
            .stack_status(sdk::StackStatus::CreateComplete)
    }

    #[test]
    fn a_hidden_value_is_not_known_and_one_from_the_parameter_store_is_what_that_holds() {
        let stack = stack()
            .parameters(parameter("Secret", "****", None))
            .parameters(parameter("Version", "/cdk/version", Some("29")))
            .parameters(parameter("Plain", "x", None));
        let detail = Detail::of(stack.build()).unwrap();
        let known: Vec<_> =
            detail.parameters.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(known, [("Plain", "x"), ("Version", "29")]);
    }

    #[test]
    fn exports_are_read_from_the_outputs() {
        let output = |key: &str, name: Option<&str>| {
            let output = sdk::Output::builder().output_key(key).output_value("v");
            output.set_export_name(name.map(str::to_owned)).build()
        };
        let stack = stack().outputs(output("A", Some("Web:A"))).outputs(output("B", None)).build();
        let detail = Detail::of(stack).unwrap();
        assert_eq!(detail.exports.len(), 1);
        assert_eq!(detail.exports[0].name, "Web:A");
        assert_eq!(detail.outputs.len(), 2);
    }

    #[test]
    fn a_stack_without_an_id_is_not_taken() {
        let stack = sdk::Stack::builder().stack_name("Web");
        let stack = stack.stack_status(sdk::StackStatus::CreateComplete).build();
        assert_eq!(Detail::of(stack).unwrap_err(), "ID");
    }
}
