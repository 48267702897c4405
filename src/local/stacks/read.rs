//! What can be read of stacks.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::create::TemplateSource;
use super::{find_any, get, path};
use crate::local::error::{Answer, ServiceError};
use crate::local::events;
use crate::local::exports::{Export, Index};
use crate::local::record::{Parameter, Resource, Stack, StackEvent, StackInfo};
use crate::local::state::{Region, Tx};
use crate::local::{change_set, templates};
use crate::model::{Object, Template, Value};
use crate::template::json;

/// A part of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// What to ask for the next part with, if there is one.
    pub next_token: Option<String>,
}

/// Cuts a list into pages. The token is the number of the first item of the next page, with a
/// letter in front so that nobody takes it for more than it is.
pub(crate) fn page<T>(items: Vec<T>, size: usize, token: Option<&str>) -> Answer<Page<T>> {
    let start = match token {
        None => 0,
        Some(token) => token
            .strip_prefix('p')
            .and_then(|number| number.parse().ok())
            .filter(|start| *start <= items.len())
            .ok_or_else(|| ServiceError::validation("NextToken is invalid."))?,
    };
    let end = items.len().min(start + size.max(1));
    let next_token = (end < items.len()).then(|| format!("p{end}"));
    Ok(Page { items: items.into_iter().skip(start).take(end - start).collect(), next_token })
}

/// Everything that `DescribeStacks` says of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackDetail {
    /// Names, status, times and outputs.
    pub info: StackInfo,
    /// The parameters; hidden values are `****`.
    pub parameters: BTreeMap<String, Parameter>,
    /// The tags.
    pub tags: BTreeMap<String, String>,
    /// The capabilities that were acknowledged.
    pub capabilities: Vec<String>,
    /// The service role.
    pub role_arn: Option<String>,
    /// Topics to be notified.
    pub notification_arns: Vec<String>,
    /// Whether a failure leaves everything as it is.
    pub disable_rollback: bool,
}

/// What `ListStacks` says of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackSummary {
    /// Names, status and times.
    pub info: StackInfo,
}

/// A resource with the stack that has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackResource {
    /// The name of the stack.
    pub stack_name: String,
    /// The ARN of the stack.
    pub stack_id: String,
    /// The resource.
    pub resource: Resource,
}

/// Which text of a template is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TemplateStage {
    /// As submitted.
    Original,
    /// After macros. Without macros that is the same.
    #[default]
    Processed,
}

/// What `GetTemplateSummary` and `ValidateTemplate` say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateSummary {
    /// The declarations of parameters.
    pub parameters: Vec<ParameterDeclaration>,
    /// What the template says of itself.
    pub description: Option<String>,
    /// The capabilities that it needs.
    pub capabilities: Vec<String>,
    /// Why it needs them.
    pub capabilities_reason: Option<String>,
    /// The types of its resources, sorted.
    pub resource_types: Vec<String>,
    /// The version of the format.
    pub version: Option<String>,
    /// Its metadata, as text.
    pub metadata: Option<String>,
}

/// A parameter that a template declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParameterDeclaration {
    /// The name.
    pub key: String,
    /// The type.
    pub parameter_type: String,
    /// The default.
    pub default: Option<String>,
    /// Whether values are hidden.
    pub no_echo: bool,
    /// What the template says of it.
    pub description: Option<String>,
}

fn detail(stack: Stack) -> StackDetail {
    let mut parameters = stack.input.parameters;
    for parameter in parameters.values_mut().filter(|parameter| parameter.no_echo) {
        "****".clone_into(&mut parameter.value);
    }
    StackDetail {
        info: stack.info,
        parameters,
        tags: stack.input.tags,
        capabilities: stack.input.capabilities,
        role_arn: stack.input.role_arn,
        notification_arns: stack.input.notification_arns,
        disable_rollback: stack.input.disable_rollback,
    }
}

/// The part of a stack that lists show: what is not wanted is passed over when it is read.
#[derive(Deserialize)]
struct Head {
    info: StackInfo,
}

/// Returns all stacks in a directory of the state.
fn all<T: DeserializeOwned>(tx: &Tx<'_>, directory: &str) -> Answer<Vec<T>> {
    let mut stacks = Vec::new();
    for path in tx.list(directory)? {
        stacks.extend(tx.get(&path)?);
    }
    Ok(stacks)
}

fn existing(tx: &Tx<'_>, name: &str) -> Answer<Stack> {
    find_any(tx, name)?.ok_or_else(|| ServiceError::no_stack(name))
}

fn resource_of(stack: &Stack, resource: &Resource) -> StackResource {
    StackResource {
        stack_name: stack.info.name.clone(),
        stack_id: stack.info.id.clone(),
        resource: resource.clone(),
    }
}

impl Region<'_> {
    fn page_size(&self) -> usize {
        self.cloud.options.page_size
    }

    /// Describes a stack, or all that exist.
    ///
    /// # Errors
    /// `ValidationError` when there is no such stack.
    pub fn describe_stacks(
        &self,
        name: Option<&str>,
        token: Option<&str>,
    ) -> Answer<Page<StackDetail>> {
        self.read(|tx| {
            if let Some(name) = name {
                let stack = detail(existing(tx, name)?);
                return Ok(Page { items: vec![stack], next_token: None });
            }
            let stacks = all(tx, "stacks")?.into_iter().map(detail).collect();
            page(stacks, self.page_size(), token)
        })
    }

    /// Lists stacks, deleted ones too, the newest first.
    ///
    /// # Errors
    /// `ValidationError` for a token that is none.
    pub fn list_stacks(
        &self,
        statuses: &[String],
        token: Option<&str>,
    ) -> Answer<Page<StackSummary>> {
        self.read(|tx| {
            let mut found: Vec<Head> = all(tx, "stacks")?;
            if statuses.is_empty() || statuses.iter().any(|status| status == "DELETE_COMPLETE") {
                found.extend(all(tx, "deleted")?);
            }
            let wanted =
                |stack: &Head| statuses.is_empty() || statuses.contains(&stack.info.status);
            let mut found: Vec<StackSummary> = found
                .into_iter()
                .filter(wanted)
                .map(|stack| StackSummary { info: stack.info })
                .collect();
            found.sort_by(|a, b| {
                b.info.created_ms.cmp(&a.info.created_ms).then(a.info.id.cmp(&b.info.id))
            });
            page(found, self.page_size(), token)
        })
    }

    /// Returns the template of a stack or of one of its change sets. Characters outside of ASCII
    /// come back as question marks.
    ///
    /// # Errors
    /// `ValidationError` and `ChangeSetNotFound`.
    pub fn get_template(
        &self,
        stack: Option<&str>,
        change_set: Option<&str>,
        stage: TemplateStage,
    ) -> Answer<String> {
        // Macros are not supported, so that both stages are the same.
        let _ = stage;
        self.read(|tx| {
            let text = match change_set {
                Some(name) => change_set::template(tx, stack, name)?,
                None => existing(tx, stack.unwrap_or_default())?.input.template,
            };
            Ok(templates::given_back(&text))
        })
    }

    /// Lists the resources of a stack.
    ///
    /// # Errors
    /// `ValidationError` when there is no such stack.
    pub fn list_stack_resources(
        &self,
        stack: &str,
        token: Option<&str>,
    ) -> Answer<Page<StackResource>> {
        self.read(|tx| {
            let stack = existing(tx, stack)?;
            let all = stack.resources.values().map(|found| resource_of(&stack, found)).collect();
            page(all, self.page_size(), token)
        })
    }

    /// Describes resources: of a stack (the first hundred), or whatever has this physical ID
    /// together with the rest of its stack.
    ///
    /// # Errors
    /// `ValidationError` when there is no such stack or physical ID.
    pub fn describe_stack_resources(
        &self,
        stack: Option<&str>,
        logical_id: Option<&str>,
        physical_id: Option<&str>,
    ) -> Answer<Vec<StackResource>> {
        self.read(|tx| {
            let stack = match (stack, physical_id) {
                (Some(name), _) => existing(tx, name)?,
                (None, Some(id)) => {
                    let owns = |stack: &Stack| stack.live().any(|other| other.physical_id == id);
                    let owner = all::<Stack>(tx, "stacks")?.into_iter().find(owns);
                    owner.ok_or_else(|| {
                        ServiceError::validation(format!("Stack for {id} does not exist"))
                    })?
                }
                (None, None) => {
                    return Err(ServiceError::validation(
                        "Stack name or physical resource id must be specified",
                    ));
                }
            };
            let wanted = stack
                .resources
                .values()
                .filter(|found| logical_id.is_none_or(|id| found.logical_id == id));
            Ok(wanted.take(100).map(|found| resource_of(&stack, found)).collect())
        })
    }

    /// Describes a resource.
    ///
    /// # Errors
    /// `ValidationError` when there is no such stack or resource.
    pub fn describe_stack_resource(&self, stack: &str, logical_id: &str) -> Answer<StackResource> {
        self.read(|tx| {
            let found = existing(tx, stack)?;
            let resource = found.resources.get(logical_id).ok_or_else(|| {
                ServiceError::validation(format!(
                    "Resource {logical_id} does not exist for stack {stack}"
                ))
            })?;
            Ok(resource_of(&found, resource))
        })
    }

    /// Describes what happened to a stack, the newest event first.
    ///
    /// # Errors
    /// `ValidationError` when there is no such stack.
    pub fn describe_stack_events(
        &self,
        stack: &str,
        token: Option<&str>,
    ) -> Answer<Page<StackEvent>> {
        self.read(|tx| {
            let found = find_any(tx, stack)?.ok_or_else(|| {
                ServiceError::validation(format!("Stack [{stack}] does not exist"))
            })?;
            let mut events = events::of(tx, &found.info.id)?;
            events.reverse();
            page(events, self.page_size(), token)
        })
    }

    /// Lists the exports of this environment.
    ///
    /// # Errors
    /// `ValidationError` for a token that is none.
    pub fn list_exports(&self, token: Option<&str>) -> Answer<Page<Export>> {
        self.read(|tx| {
            let exports = Index::load(tx)?.exports.into_values().collect();
            page(exports, self.page_size(), token)
        })
    }

    /// Lists the names of the stacks that import an export.
    ///
    /// # Errors
    /// `ValidationError` when there is none.
    pub fn list_imports(&self, export: &str, token: Option<&str>) -> Answer<Page<String>> {
        self.read(|tx| {
            let index = Index::load(tx)?;
            let users: Vec<String> =
                index.imports.get(export).into_iter().flatten().cloned().collect();
            if users.is_empty() {
                return Err(ServiceError::validation(format!(
                    "Export '{export}' is not imported by any stack."
                )));
            }
            page(users, self.page_size(), token)
        })
    }

    /// Says what a template needs, or that of a stack.
    ///
    /// # Errors
    /// `ValidationError` when the template is malformed or there is no such stack.
    pub fn get_template_summary(
        &self,
        stack: Option<&str>,
        template: &TemplateSource,
    ) -> Answer<TemplateSummary> {
        self.read(|tx| {
            let text = match stack {
                Some(name) => get(tx, name)?.input.template,
                None => template.read(tx)?,
            };
            Ok(summary(&templates::read(&text)?))
        })
    }

    /// Checks a template.
    ///
    /// # Errors
    /// `ValidationError` when it is malformed.
    pub fn validate_template(&self, template: &TemplateSource) -> Answer<TemplateSummary> {
        self.get_template_summary(None, template)
    }

    /// Whether a stack with this name exists, without an error if not.
    ///
    /// # Errors
    /// When the state directory cannot be read.
    pub fn stack_exists(&self, name: &str) -> Answer<bool> {
        self.read(|tx| Ok(tx.get::<Stack>(&path(name))?.is_some()))
    }
}

fn summary(template: &Template) -> TemplateSummary {
    let text = |value: Option<&Value>| {
        value.map(|value| value.as_str().map_or_else(|| json::to_compact(value), str::to_owned))
    };
    let declared = template.section("Parameters").into_iter().flat_map(Object::iter);
    let (capabilities, types) = templates::required_capabilities(template);
    let mut resource_types: Vec<String> = template
        .resources()
        .filter_map(|(_, body)| body.get("Type").and_then(Value::as_str).map(str::to_owned))
        .collect();
    resource_types.sort();
    resource_types.dedup();
    TemplateSummary {
        parameters: declared
            .map(|(key, declaration)| ParameterDeclaration {
                key: key.to_string(),
                parameter_type: text(declaration.get("Type")).unwrap_or_default(),
                default: text(declaration.get("Default")),
                no_echo: text(declaration.get("NoEcho")).is_some_and(|flag| flag == "true"),
                description: text(declaration.get("Description")),
            })
            .collect(),
        description: templates::description(template),
        capabilities_reason: (!capabilities.is_empty()).then(|| {
            format!("The following resource(s) require capabilities: [{}]", types.join(", "))
        }),
        capabilities,
        resource_types,
        version: text(template.sections.get("AWSTemplateFormatVersion")),
        metadata: text(template.sections.get("Metadata")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other() {
        let first = page(vec![1, 2, 3], 2, None).unwrap();
        assert_eq!(first.items, [1, 2]);
        let second = page(vec![1, 2, 3], 2, first.next_token.as_deref()).unwrap();
        assert_eq!(second, Page { items: vec![3], next_token: None });
        assert!(page(vec![1], 2, Some("x")).is_err());
    }
}
