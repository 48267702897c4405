//! Stack refactors.

use super::parts::{template, write_next};
use crate::local::error::{Answer, ServiceError};
use crate::local::refactor::{
    CreateStackRefactor, RefactorAction, RefactorInfo, ResourceLocation, ResourceMapping,
    StackDefinition,
};
use crate::local::server::form::Form;
use crate::local::server::xml::Xml;
use crate::local::state::Region;

const EXECUTION_STATUSES: &[&str] = &[
    "UNAVAILABLE",
    "AVAILABLE",
    "OBSOLETE",
    "EXECUTE_IN_PROGRESS",
    "EXECUTE_COMPLETE",
    "EXECUTE_FAILED",
    "ROLLBACK_IN_PROGRESS",
    "ROLLBACK_COMPLETE",
    "ROLLBACK_FAILED",
];

/// `CreateStackRefactor`.
pub(super) fn create(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let definitions = match form.list("StackDefinitions") {
        // The error for a list that is not there.
        None => return form.need("StackDefinitions").map(drop),
        Some(items) => items.into_iter().map(definition).collect(),
    };
    let mappings = form.list("ResourceMappings").unwrap_or_default();
    let mappings: Answer<Vec<ResourceMapping>> =
        mappings.into_iter().enumerate().map(|(at, item)| mapping(at + 1, item)).collect();
    let id = region.create_stack_refactor(&CreateStackRefactor {
        description: form.owned("Description"),
        enable_stack_creation: form.flag("EnableStackCreation")?.unwrap_or_default(),
        mappings: mappings?,
        definitions,
    })?;
    xml.text("StackRefactorId", &id);
    Ok(())
}

fn definition(form: &Form) -> StackDefinition {
    StackDefinition { stack: form.owned("StackName"), template: template(form) }
}

fn mapping(number: usize, form: &Form) -> Answer<ResourceMapping> {
    let location = |end: &str, member: &str| -> Answer<ResourceLocation> {
        let path = format!("resourceMappings.{number}.member.{end}");
        let Some(form) = form.inside(member) else {
            return Err(ServiceError::validation(format!(
                "1 validation error detected: Value null at '{path}' failed to satisfy \
                 constraint: Member must not be null"
            )));
        };
        let path = format!("{path}.");
        Ok(ResourceLocation {
            stack: form.need_at(&path, "StackName")?.to_owned(),
            logical_id: form.need_at(&path, "LogicalResourceId")?.to_owned(),
        })
    };
    Ok(ResourceMapping {
        source: location("source", "Source")?,
        destination: location("destination", "Destination")?,
    })
}

fn write_info(xml: &mut Xml, info: &RefactorInfo) {
    xml.some("Description", info.description.as_deref());
    xml.text("StackRefactorId", &info.id);
    xml.text("ExecutionStatus", &info.execution_status);
    xml.some("ExecutionStatusReason", info.execution_status_reason.as_deref());
    xml.text("Status", &info.status);
    xml.some("StatusReason", info.status_reason.as_deref());
}

/// `DescribeStackRefactor`.
pub(super) fn describe(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let info = region.describe_stack_refactor(form.need("StackRefactorId")?)?;
    write_info(xml, &info);
    xml.texts("StackIds", &info.stack_ids);
    Ok(())
}

/// `ExecuteStackRefactor`.
pub(super) fn execute(region: &Region<'_>, form: &Form, _: &mut Xml) -> Answer<()> {
    region.execute_stack_refactor(form.need("StackRefactorId")?)
}

/// `ListStackRefactorActions`.
pub(super) fn actions(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let id = form.need("StackRefactorId")?;
    let size = form.number("MaxResults", 1, 100)?;
    let page = region.list_stack_refactor_actions(id, size, form.token()?)?;
    xml.list("StackRefactorActions", &page.items, write_action);
    write_next(xml, page.next_token.as_deref());
    Ok(())
}

fn write_action(xml: &mut Xml, action: &RefactorAction) {
    xml.text("Action", &action.action);
    xml.text("Entity", &action.entity);
    xml.some("PhysicalResourceId", action.physical_id.as_deref());
    xml.some("ResourceIdentifier", action.identifier.as_deref());
    xml.text("Description", &action.description);
    xml.text("Detection", &action.detection);
    xml.some("DetectionReason", action.detection_reason.as_deref());
    xml.list("TagResources", &action.tag_resources, |xml, (key, value)| {
        xml.text("Key", key);
        xml.text("Value", value);
    });
    xml.texts("UntagResources", &action.untag_resources);
    let mapping = action.mapping.as_ref();
    xml.inside("ResourceMapping", |xml| {
        write_location(xml, "Source", mapping.map(|mapping| &mapping.source));
        write_location(xml, "Destination", mapping.map(|mapping| &mapping.destination));
    });
}

fn write_location(xml: &mut Xml, name: &str, location: Option<&ResourceLocation>) {
    xml.inside(name, |xml| {
        if let Some(location) = location {
            xml.text("StackName", &location.stack);
            xml.text("LogicalResourceId", &location.logical_id);
        }
    });
}

/// `ListStackRefactors`.
pub(super) fn list(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let wanted = form.choices("ExecutionStatusFilter", EXECUTION_STATUSES)?;
    let size = form.number("MaxResults", 1, 100)?;
    let page = region.list_stack_refactors(&wanted, size, form.token()?)?;
    xml.list("StackRefactorSummaries", &page.items, write_info);
    write_next(xml, page.next_token.as_deref());
    Ok(())
}
