//! Members that several operations have in common.

use std::collections::BTreeMap;

use crate::local::clock::iso8601;
use crate::local::error::{Answer, ServiceError};
use crate::local::evaluate::parameters::ParameterInput;
use crate::local::record::Parameter;
use crate::local::server::form::Form;
use crate::local::server::xml::Xml;
use crate::local::stacks::TemplateSource;

/// Reads where the template is.
pub(super) fn template(form: &Form) -> TemplateSource {
    TemplateSource { body: form.owned("TemplateBody"), url: form.owned("TemplateURL") }
}

/// Reads the values of parameters.
pub(super) fn parameters(form: &Form) -> Answer<Vec<ParameterInput>> {
    let items = form.list("Parameters").unwrap_or_default();
    items
        .into_iter()
        .map(|item| {
            Ok(ParameterInput {
                key: item.owned("ParameterKey").unwrap_or_default(),
                value: item.owned("ParameterValue"),
                use_previous: item.flag("UsePreviousValue")?.unwrap_or_default(),
            })
        })
        .collect()
}

/// Reads capabilities.
pub(super) fn capabilities(form: &Form) -> Answer<Vec<String>> {
    const KNOWN: &[&str] = &["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"];
    form.choices("Capabilities", KNOWN)
}

/// Refuses a member that would be passed over in silence.
pub(super) fn unsupported(form: &Form, member: &str, harmless: &str) -> Answer<()> {
    match form.text(member) {
        Some(value) if value != harmless => Err(ServiceError::validation(format!(
            "{member} {value} is not supported by the embedded CloudFormation"
        ))),
        _ => Ok(()),
    }
}

/// Writes a time.
pub(super) fn time(xml: &mut Xml, name: &str, ms: u64) {
    xml.text(name, &iso8601(ms));
}

/// Writes a time if there is one.
pub(super) fn some_time(xml: &mut Xml, name: &str, ms: Option<u64>) {
    if let Some(ms) = ms {
        time(xml, name, ms);
    }
}

/// Writes the values of parameters.
pub(super) fn write_parameters(xml: &mut Xml, parameters: &BTreeMap<String, Parameter>) {
    xml.list("Parameters", parameters, |xml, (key, parameter)| {
        xml.text("ParameterKey", key);
        xml.text("ParameterValue", &parameter.value);
        xml.some("ResolvedValue", parameter.resolved.as_deref());
    });
}

/// Writes tags.
pub(super) fn write_tags<'t>(
    xml: &mut Xml,
    name: &str,
    tags: impl IntoIterator<Item = (&'t String, &'t String)>,
) {
    xml.list(name, tags, |xml, (key, value)| {
        xml.text("Key", key);
        xml.text("Value", value);
    });
}

/// Writes the token of the next page.
pub(super) fn write_next(xml: &mut Xml, token: Option<&str>) {
    xml.some("NextToken", token);
}

/// Writes that drift was not looked for.
pub(super) fn write_drift(xml: &mut Xml, member: &str) {
    xml.inside("DriftInformation", |xml| xml.text(member, "NOT_CHECKED"));
}
