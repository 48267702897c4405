//! Operations that read stacks and templates.

use super::parts::{
    some_time, template as source, time, write_drift, write_next, write_parameters, write_tags,
};
use crate::local::error::{Answer, ServiceError};
use crate::local::record::StackInfo;
use crate::local::server::form::Form;
use crate::local::server::xml::Xml;
use crate::local::stacks::{StackDetail, TemplateStage, TemplateSummary};
use crate::local::state::Region;

const STATUSES: &[&str] = &[
    "CREATE_IN_PROGRESS",
    "CREATE_FAILED",
    "CREATE_COMPLETE",
    "ROLLBACK_IN_PROGRESS",
    "ROLLBACK_FAILED",
    "ROLLBACK_COMPLETE",
    "DELETE_IN_PROGRESS",
    "DELETE_FAILED",
    "DELETE_COMPLETE",
    "UPDATE_IN_PROGRESS",
    "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
    "UPDATE_COMPLETE",
    "UPDATE_FAILED",
    "UPDATE_ROLLBACK_IN_PROGRESS",
    "UPDATE_ROLLBACK_FAILED",
    "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
    "UPDATE_ROLLBACK_COMPLETE",
    "REVIEW_IN_PROGRESS",
    "IMPORT_IN_PROGRESS",
    "IMPORT_COMPLETE",
    "IMPORT_ROLLBACK_IN_PROGRESS",
    "IMPORT_ROLLBACK_FAILED",
    "IMPORT_ROLLBACK_COMPLETE",
];

/// `ListStacks`.
pub(super) fn list_stacks(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let statuses = form.choices("StackStatusFilter", STATUSES)?;
    let page = region.list_stacks(&statuses, form.token()?)?;
    xml.list("StackSummaries", &page.items, |xml, stack| {
        let info = &stack.info;
        write_names(xml, info);
        xml.some("TemplateDescription", info.description.as_deref());
        write_state(xml, info);
    });
    write_next(xml, page.next_token.as_deref());
    Ok(())
}

fn write_names(xml: &mut Xml, info: &StackInfo) {
    xml.text("StackName", &info.name);
    xml.text("StackId", &info.id);
}

fn write_state(xml: &mut Xml, info: &StackInfo) {
    time(xml, "CreationTime", info.created_ms);
    some_time(xml, "LastUpdatedTime", info.updated_ms);
    some_time(xml, "DeletionTime", info.deleted_ms);
    xml.text("StackStatus", &info.status);
    xml.some("StackStatusReason", info.status_reason.as_deref());
    xml.some("ParentId", info.parent_id.as_deref());
    xml.some("RootId", info.root_id.as_deref());
    write_drift(xml, "StackDriftStatus");
}

/// `DescribeStacks`.
pub(super) fn describe_stacks(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let name = form.text("StackName").filter(|name| !name.is_empty());
    let page = region.describe_stacks(name, form.token()?)?;
    xml.list("Stacks", &page.items, write_detail);
    write_next(xml, page.next_token.as_deref());
    Ok(())
}

fn write_detail(xml: &mut Xml, stack: &StackDetail) {
    let info = &stack.info;
    write_names(xml, info);
    xml.some("ChangeSetId", info.change_set_id.as_deref());
    xml.some("Description", info.description.as_deref());
    write_parameters(xml, &stack.parameters);
    xml.inside("RollbackConfiguration", |_| ());
    write_state(xml, info);
    xml.flag("DisableRollback", stack.disable_rollback);
    xml.texts("NotificationARNs", &stack.notification_arns);
    xml.texts("Capabilities", &stack.capabilities);
    xml.list("Outputs", &info.outputs, |xml, output| {
        xml.text("OutputKey", &output.key);
        xml.text("OutputValue", &output.value);
        xml.some("Description", output.description.as_deref());
        xml.some("ExportName", output.export.as_deref());
    });
    xml.some("RoleARN", stack.role_arn.as_deref());
    write_tags(xml, "Tags", &stack.tags);
    xml.flag("EnableTerminationProtection", info.termination_protection);
}

/// `GetTemplate`.
pub(super) fn template(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let stage = match form.choice("TemplateStage", &["Original", "Processed"])? {
        Some("Original") => TemplateStage::Original,
        _ => TemplateStage::Processed,
    };
    let (stack, change_set) = (form.text("StackName"), form.text("ChangeSetName"));
    if stack.is_none() && change_set.is_none() {
        form.need("StackName")?;
    }
    let text = region.get_template(stack, change_set, stage)?;
    xml.text("TemplateBody", &text);
    xml.texts("StagesAvailable", ["Original", "Processed"]);
    Ok(())
}

/// `GetTemplateSummary`.
pub(super) fn template_summary(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let (stack, source) = (form.text("StackName"), source(form));
    if stack.is_some() != source.is_empty() {
        return Err(ServiceError::validation(
            "Only one of StackName, TemplateBody or TemplateURL can be specified.",
        ));
    }
    let summary = region.get_template_summary(stack, &source)?;
    write_summary(xml, &summary, true);
    xml.texts("ResourceTypes", &summary.resource_types);
    xml.some("Version", summary.version.as_deref());
    xml.some("Metadata", summary.metadata.as_deref());
    Ok(())
}

/// `ValidateTemplate`.
pub(super) fn validate(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    write_summary(xml, &region.validate_template(&source(form))?, false);
    Ok(())
}

fn write_summary(xml: &mut Xml, summary: &TemplateSummary, with_types: bool) {
    xml.list("Parameters", &summary.parameters, |xml, parameter| {
        xml.text("ParameterKey", &parameter.key);
        xml.some("DefaultValue", parameter.default.as_deref());
        if with_types {
            xml.text("ParameterType", &parameter.parameter_type);
        }
        xml.flag("NoEcho", parameter.no_echo);
        xml.some("Description", parameter.description.as_deref());
    });
    xml.some("Description", summary.description.as_deref());
    if !summary.capabilities.is_empty() {
        xml.texts("Capabilities", &summary.capabilities);
        xml.some("CapabilitiesReason", summary.capabilities_reason.as_deref());
    }
}

/// `ListExports`.
pub(super) fn exports(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let page = region.list_exports(form.token()?)?;
    xml.list("Exports", &page.items, |xml, export| {
        xml.text("ExportingStackId", &export.stack_id);
        xml.text("Name", &export.name);
        xml.text("Value", &export.value);
    });
    write_next(xml, page.next_token.as_deref());
    Ok(())
}

/// `ListImports`.
pub(super) fn imports(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let page = region.list_imports(form.need("ExportName")?, form.token()?)?;
    xml.texts("Imports", &page.items);
    write_next(xml, page.next_token.as_deref());
    Ok(())
}

/// `DescribeType`: of resource types only.
pub(super) fn describe_type(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let by_arn = form.text("Arn").and_then(|arn| arn.rsplit('/').next());
    let name = match by_arn {
        Some(dashed) => dashed.replace('-', "::"),
        None => form.need("TypeName")?.to_owned(),
    };
    let found = region.describe_type(&name)?;
    xml.text("Arn", &found.arn);
    xml.text("Type", "RESOURCE");
    xml.text("TypeName", &found.name);
    xml.text("Schema", &found.schema.to_string());
    xml.text("ProvisioningType", &found.provisioning_type);
    xml.text("DeprecatedStatus", "LIVE");
    xml.text("Visibility", "PUBLIC");
    Ok(())
}
