//! A stack as the steps so far leave it: what is in it, and how it is written.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Object, StackName, Template, Text, Value};
use crate::template::json;

/// The logical ID of a resource that keeps a stack from being empty.
pub(super) const FILLER: &str = "CdkrFiller";

/// Its type: it does nothing and costs nothing.
pub(super) const FILLER_TYPE: &str = "AWS::CloudFormation::WaitConditionHandle";

/// The number of a stack.
pub(super) type At = usize;

/// A place: a stack and a logical ID in it.
pub(super) type Spot = (At, Text);

/// A stack as the steps so far leave it.
pub(super) struct Site {
    /// The name; for a nested stack `Parent/LogicalId` as it is deployed.
    pub(super) name: StackName,
    /// The name that `AWS::StackName` has.
    pub(super) own_name: Text,
    /// The ARN, if it exists before the plan.
    pub(super) id: Option<Text>,
    /// The text of its template; `None` if it does not exist yet.
    pub(super) text: Option<Text>,
    pub(super) template: Template,
    pub(super) parameters: BTreeMap<Text, Text>,
    /// Needs macros: its template cannot be sent in a refactor.
    pub(super) has_macros: bool,
    /// Whether a refactor may take it along although nothing moves from or to it: it is stable,
    /// has no policy and needs no macros.
    pub(super) can_follow: bool,
    /// The filler that a step of this plan or of an earlier one put in.
    pub(super) filler: Option<Text>,
    pub(super) links: Links,
}

/// What a template has to do with others.
#[derive(Default)]
pub(super) struct Links {
    /// Names of exports with the keys of their outputs.
    pub(super) exports: BTreeMap<String, Text>,
    /// Names that it imports.
    pub(super) imports: BTreeSet<String>,
    /// Outputs that it reads.
    pub(super) reads: BTreeSet<Spot>,
}

/// Finds the filler that an earlier plan put in.
pub(super) fn filler_in(template: &Template) -> Option<Text> {
    let is_filler = |(id, body): &(&Text, &Object)| {
        id.starts_with(FILLER) && body.get("Type").and_then(Value::as_str) == Some(FILLER_TYPE)
    };
    template.resources().find(is_filler).map(|(id, _)| id.clone())
}

/// The name in the ARN of a stack.
pub(super) fn stack_name_of(id: &str) -> Option<&str> {
    id.split('/').nth(1).filter(|_| id.starts_with("arn:"))
}

/// Writes a template as it is sent: as the CDK does, or on one line if only that fits.
pub(super) fn write(template: &Template) -> String {
    let value = Value::Object(template.sections.clone());
    let text = json::to_template(&value);
    if text.len() <= super::limits::MOST_BYTES { text } else { json::to_compact(&value) }
}

/// Whether CloudFormation has to expand a template: that needs a capability which a refactor
/// cannot acknowledge.
pub(super) fn has_macros(template: &Template) -> bool {
    fn inside(value: &Value) -> bool {
        match value {
            Value::Array(items) => items.iter().any(inside),
            Value::Object(object) => any(object),
            _ => false,
        }
    }
    fn any(object: &Object) -> bool {
        let is_macro = |key: &str| key == "Fn::Transform" || key.starts_with("Fn::ForEach::");
        object.iter().any(|(key, value)| is_macro(key) || inside(value))
    }
    template.sections.contains_key("Transform") || any(&template.sections)
}
