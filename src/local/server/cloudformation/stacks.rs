//! Operations that change stacks.

use super::parts::{capabilities, parameters, template, unsupported};
use crate::local::error::{Answer, ServiceError};
use crate::local::server::form::Form;
use crate::local::server::xml::Xml;
use crate::local::stacks::{CreateStack, DeleteStack, UpdateStack};
use crate::local::state::Region;

/// `CreateStack`.
pub(super) fn create(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    unsupported(form, "StackPolicyURL", "")?;
    let name = form.need("StackName")?.to_owned();
    let id = region.create_stack(&CreateStack {
        name,
        template: template(form),
        parameters: parameters(form)?,
        tags: form.pairs("Tags")?.unwrap_or_default(),
        capabilities: capabilities(form)?,
        role_arn: form.owned("RoleARN"),
        notification_arns: form.texts("NotificationARNs").unwrap_or_default(),
        disable_rollback: keeps_failures(form)?,
        termination_protection: form.flag("EnableTerminationProtection")?.unwrap_or_default(),
        policy: form.owned("StackPolicyBody"),
    })?;
    xml.text("StackId", &id);
    Ok(())
}

/// Whether a failed creation is left as it is.
fn keeps_failures(form: &Form) -> Answer<bool> {
    let disable = form.flag("DisableRollback")?;
    match form.choice("OnFailure", &["DO_NOTHING", "ROLLBACK", "DELETE"])? {
        Some(_) if disable.is_some() => Err(ServiceError::validation(
            "You can specify either DisableRollback or OnFailure, but not both.",
        )),
        Some("DO_NOTHING") => Ok(true),
        Some("DELETE") => Err(ServiceError::validation(
            "OnFailure DELETE is not supported by the embedded CloudFormation",
        )),
        _ => Ok(disable.unwrap_or_default()),
    }
}

/// `UpdateStack`.
pub(super) fn update(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    form.need("StackName")?;
    unsupported(form, "StackPolicyURL", "")?;
    let id = region.update_stack(&update_of(form)?)?;
    xml.text("StackId", &id);
    Ok(())
}

/// Reads what updates and change sets have in common.
pub(super) fn update_of(form: &Form) -> Answer<UpdateStack> {
    Ok(UpdateStack {
        name: form.need("StackName")?.to_owned(),
        template: template(form),
        use_previous_template: form.flag("UsePreviousTemplate")?.unwrap_or_default(),
        parameters: parameters(form)?,
        tags: form.pairs("Tags")?,
        capabilities: capabilities(form)?,
        role_arn: form.owned("RoleARN"),
        notification_arns: form.texts("NotificationARNs"),
        disable_rollback: form.flag("DisableRollback")?.unwrap_or_default(),
        policy: form.owned("StackPolicyBody"),
    })
}

/// `DeleteStack`.
pub(super) fn delete(region: &Region<'_>, form: &Form, _: &mut Xml) -> Answer<()> {
    unsupported(form, "DeletionMode", "STANDARD")?;
    region.delete_stack(&DeleteStack {
        name: form.need("StackName")?.to_owned(),
        retain: form.texts("RetainResources").unwrap_or_default(),
    })
}

/// `GetStackPolicy`.
pub(super) fn policy(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let policy = region.get_stack_policy(form.need("StackName")?)?;
    xml.some("StackPolicyBody", policy.as_deref());
    Ok(())
}

/// `SetStackPolicy`.
pub(super) fn set_policy(region: &Region<'_>, form: &Form, _: &mut Xml) -> Answer<()> {
    unsupported(form, "StackPolicyURL", "")?;
    let stack = form.need("StackName")?;
    region.set_stack_policy(stack, form.need("StackPolicyBody")?)
}

/// `UpdateTerminationProtection`.
pub(super) fn protect(region: &Region<'_>, form: &Form, xml: &mut Xml) -> Answer<()> {
    let stack = form.need("StackName")?;
    form.need("EnableTerminationProtection")?;
    let enabled = form.flag("EnableTerminationProtection")?.unwrap_or_default();
    xml.text("StackId", &region.update_termination_protection(stack, enabled)?);
    Ok(())
}
