//! Operations that read the resources and the events of stacks.

use super::parts::{time, write_drift, write_next};
use crate::local::error::{Answer, ServiceError};
use crate::local::operations::{EventsOf, OperationEvent};
use crate::local::record::Resource;
use crate::local::server::form::Form;
use crate::local::server::xml::Xml;
use crate::local::stacks::StackResource;
use crate::local::state::Region;

fn write_names(xml: &mut Xml, found: &StackResource) {
    xml.text("StackName", &found.stack_name);
    xml.text("StackId", &found.stack_id);
}

fn write_resource(xml: &mut Xml, resource: &Resource, time_member: &str) {
    xml.text("LogicalResourceId", &resource.logical_id);
    if !resource.physical_id.is_empty() {
        xml.text("PhysicalResourceId", &resource.physical_id);
    }
    xml.text("ResourceType", &resource.resource_type);
    time(xml, time_member, resource.updated_ms);
    xml.text("ResourceStatus", &resource.status);
    xml.some("ResourceStatusReason", resource.status_reason.as_deref());
    write_drift(xml, "StackResourceDriftStatus");
}

/// `ListStackResources`.
pub(super) fn list(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let page = region.list_stack_resources(form.need("StackName")?, form.token()?)?;
    xml.list("StackResourceSummaries", &page.items, |xml, found| {
        write_resource(xml, &found.resource, "LastUpdatedTimestamp");
    });
    write_next(xml, page.next_token.as_deref());
    Ok(())
}

/// `DescribeStackResources`.
pub(super) fn describe_all(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let found = region.describe_stack_resources(
        form.text("StackName"),
        form.text("LogicalResourceId"),
        form.text("PhysicalResourceId"),
    )?;
    xml.list("StackResources", &found, |xml, found| {
        write_names(xml, found);
        write_resource(xml, &found.resource, "Timestamp");
    });
    Ok(())
}

/// `DescribeStackResource`.
pub(super) fn describe(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let stack = form.need("StackName")?;
    let found = region.describe_stack_resource(stack, form.need("LogicalResourceId")?)?;
    xml.inside("StackResourceDetail", |xml| {
        write_names(xml, &found);
        write_resource(xml, &found.resource, "LastUpdatedTimestamp");
        let metadata = &found.resource.attributes.metadata;
        if !metadata.is_null() {
            xml.text("Metadata", &metadata.to_string());
        }
    });
    Ok(())
}

/// `DescribeStackEvents`.
pub(super) fn events(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let stack = Some(form.need("StackName")?.to_owned());
    let page = region.describe_events(&EventsOf { stack, ..EventsOf::default() }, form.token()?)?;
    xml.list("StackEvents", &page.items, |xml, found| {
        xml.text("StackName", &found.event.stack_name);
        write_event(xml, found);
    });
    write_next(xml, page.next_token.as_deref());
    Ok(())
}

fn write_event(xml: &mut Xml, found: &OperationEvent) {
    let OperationEvent { event, operation_id, .. } = found;
    xml.text("StackId", &event.stack_id);
    xml.text("EventId", &event.event_id);
    xml.text("OperationId", operation_id);
    xml.text("LogicalResourceId", &event.logical_id);
    xml.text("PhysicalResourceId", &event.physical_id);
    xml.text("ResourceType", &event.resource_type);
    time(xml, "Timestamp", event.at_ms);
    xml.text("ResourceStatus", &event.status);
    xml.some("ResourceStatusReason", event.reason.as_deref());
    xml.some("ResourceProperties", event.properties.as_deref());
}

/// `DescribeEvents`.
pub(super) fn operation_events(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let filters = form.inside("Filters");
    let of_what = EventsOf {
        change_set: form.owned("ChangeSetName"),
        operation: form.owned("OperationId"),
        stack: form.owned("StackName"),
        failed: filters.map_or(Ok(None), |form| form.flag("FailedEvents"))?.unwrap_or_default(),
    };
    let page = region.describe_events(&of_what, form.token()?)?;
    xml.list("OperationEvents", &page.items, |xml, found| {
        write_event(xml, found);
        xml.text("OperationType", found.operation_type);
        xml.text("EventType", "STACK_EVENT");
    });
    write_next(xml, page.next_token.as_deref());
    Ok(())
}

/// `ListHookResults`: there are no hooks here, and none that was invoked.
pub(super) fn hook_results(_: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let kinds = &["CHANGE_SET", "STACK", "RESOURCE", "CLOUD_CONTROL"];
    let (kind, target) = (form.choice("TargetType", kinds)?, form.text("TargetId"));
    if kind.is_some() != target.is_some() {
        return Err(ServiceError::validation("TargetType and TargetId must be specified together"));
    }
    xml.some("TargetType", kind);
    xml.some("TargetId", target);
    xml.texts("HookResults", [""; 0]);
    Ok(())
}
