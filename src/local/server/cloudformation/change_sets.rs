//! Change sets.

use super::parts::{time, unsupported, write_next, write_parameters, write_tags};
use super::stacks::update_of;
use crate::local::change_set::{ChangeSetInfo, ChangeSetType, CreateChangeSet};
use crate::local::error::Answer;
use crate::local::server::form::Form;
use crate::local::server::xml::Xml;
use crate::local::stacks::{Detail, ResourceChange};
use crate::local::state::Region;

/// `CreateChangeSet`.
pub(super) fn create(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let kind = match form.choice("ChangeSetType", &["CREATE", "UPDATE", "IMPORT"])? {
        Some("CREATE") => ChangeSetType::Create,
        Some("IMPORT") => ChangeSetType::Import,
        _ => ChangeSetType::Update,
    };
    unsupported(form, "OnStackFailure", "ROLLBACK")?;
    unsupported(form, "ImportExistingResources", "false")?;
    let request = CreateChangeSet {
        name: form.need("ChangeSetName")?.to_owned(),
        kind,
        update: update_of(form)?,
        description: form.owned("Description"),
    };
    let created = match form.flag("IncludeNestedStacks")? {
        Some(true) => region.create_change_set_with_nested(&request)?,
        _ => region.create_change_set(&request)?,
    };
    xml.text("Id", &created.id);
    xml.text("StackId", &created.stack_id);
    Ok(())
}

fn write_info(xml: &mut Xml, info: &ChangeSetInfo) {
    xml.text("ChangeSetName", &info.name);
    xml.text("ChangeSetId", &info.id);
    xml.text("StackName", &info.stack_name);
    xml.text("StackId", &info.stack_id);
    xml.some("Description", info.description.as_deref());
    time(xml, "CreationTime", info.created_ms);
    xml.text("ExecutionStatus", &info.execution_status);
    xml.text("Status", &info.status);
    xml.some("StatusReason", info.status_reason.as_deref());
    xml.flag("IncludeNestedStacks", info.with_nested);
    xml.some("ParentChangeSetId", info.parent_id.as_deref());
}

/// `DescribeChangeSet`.
pub(super) fn describe(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let name = form.need("ChangeSetName")?;
    let found = region.describe_change_set(form.text("StackName"), name, form.token()?)?;
    write_info(xml, &found.info);
    write_parameters(xml, &found.input.parameters);
    xml.inside("RollbackConfiguration", |_| ());
    xml.texts("NotificationARNs", &found.input.notification_arns);
    xml.texts("Capabilities", &found.input.capabilities);
    write_tags(xml, "Tags", &found.input.tags);
    xml.list("Changes", &found.info.changes, |xml, change| {
        xml.text("Type", "Resource");
        xml.inside("ResourceChange", |xml| write_change(xml, change));
    });
    write_next(xml, found.next_token.as_deref());
    Ok(())
}

fn write_change(xml: &mut Xml, change: &ResourceChange) {
    xml.some("PolicyAction", change.policy_action.as_deref());
    xml.text("Action", &change.action);
    xml.text("LogicalResourceId", &change.logical_id);
    xml.some("PhysicalResourceId", change.physical_id.as_deref());
    xml.text("ResourceType", &change.resource_type);
    xml.some("Replacement", change.replacement.as_deref());
    xml.texts("Scope", &change.scope);
    xml.list("Details", &change.details, write_detail);
    xml.some("ChangeSetId", change.change_set_id.as_deref());
}

fn write_detail(xml: &mut Xml, detail: &Detail) {
    xml.inside("Target", |xml| {
        xml.text("Attribute", &detail.attribute);
        xml.some("Name", detail.name.as_deref());
        xml.text("RequiresRecreation", &detail.requires_recreation);
        xml.some("Path", detail.path.as_deref());
        xml.some("BeforeValue", detail.before.as_deref());
        xml.some("AfterValue", detail.after.as_deref());
        xml.text("AttributeChangeType", &detail.change_type);
    });
    xml.text("Evaluation", &detail.evaluation);
    xml.text("ChangeSource", "DirectModification");
}

/// `ExecuteChangeSet`.
pub(super) fn execute(region: &Region<'_>, form: &Form, _: &mut Xml) -> Answer<()> {
    let name = form.need("ChangeSetName")?;
    let disable_rollback = form.flag("DisableRollback")?.unwrap_or_default();
    region.execute_change_set(form.text("StackName"), name, disable_rollback)
}

/// `DeleteChangeSet`.
pub(super) fn delete(region: &Region<'_>, form: &Form, _: &mut Xml) -> Answer<()> {
    region.delete_change_set(form.text("StackName"), form.need("ChangeSetName")?)
}

/// `ListChangeSets`.
pub(super) fn list(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let page = region.list_change_sets(form.need("StackName")?, form.token()?)?;
    xml.list("Summaries", &page.items, write_info);
    write_next(xml, page.next_token.as_deref());
    Ok(())
}
