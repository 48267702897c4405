//! Operations that read the resources and the events of stacks.

use super::parts::{time, write_drift, write_next};
use crate::local::error::Answer;
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
    let page = region.describe_stack_events(form.need("StackName")?, form.token()?)?;
    xml.list("StackEvents", &page.items, |xml, event| {
        xml.text("StackId", &event.stack_id);
        xml.text("EventId", &event.event_id);
        xml.text("StackName", &event.stack_name);
        xml.text("LogicalResourceId", &event.logical_id);
        xml.text("PhysicalResourceId", &event.physical_id);
        xml.text("ResourceType", &event.resource_type);
        time(xml, "Timestamp", event.at_ms);
        xml.text("ResourceStatus", &event.status);
        xml.some("ResourceStatusReason", event.reason.as_deref());
        xml.some("ResourceProperties", event.properties.as_deref());
    });
    write_next(xml, page.next_token.as_deref());
    Ok(())
}
