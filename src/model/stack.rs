//! Stacks and their templates.

use std::collections::BTreeMap;

use super::{ConstructPath, Location, Object, StackName, Text, Value};

/// A CloudFormation template whose shape was checked: an object; `Resources`, if there, is an
/// object; every resource is an object with a `Type` that is a string. Everything else is kept
/// as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Template {
    /// The sections, in the order of the text.
    pub sections: Object,
}

impl Template {
    /// Returns a section (`Parameters`, `Conditions`, `Outputs`…) if it is there and an object.
    pub fn section(&self, name: &str) -> Option<&Object> {
        self.sections.get(name).and_then(Value::as_object)
    }

    /// Returns the resources by logical ID, in the order of the text. `Fn::ForEach` loops and
    /// other transforms stand between them in the section but are no resources.
    pub fn resources(&self) -> impl Iterator<Item = (&Text, &Object)> {
        self.section("Resources")
            .into_iter()
            .flat_map(Object::iter)
            .filter(|(id, _)| !id.starts_with("Fn::"))
            .filter_map(|(id, body)| Some((id, body.as_object()?)))
    }

    /// Returns the body of a resource.
    pub fn resource(&self, logical_id: &str) -> Option<&Object> {
        self.section("Resources")?.get(logical_id)?.as_object()
    }
}

/// A named template in an environment.
#[derive(Clone, Debug)]
pub struct Stack {
    /// The name that CloudFormation knows; for a nested stack see [`StackName`].
    pub name: StackName,
    /// What people select the stack by and see: `Stage/Stack`, or the name.
    pub display_name: Text,
    /// The template.
    pub template: Template,
    /// For a nested stack: the `AWS::CloudFormation::Stack` resource that makes it.
    pub parent: Option<Location>,
    /// CloudFormation gave the template back: it returns `?` for every character outside ASCII.
    pub is_returned: bool,
    /// Values of parameters, as far as they are known.
    pub parameters: BTreeMap<Text, Text>,
    /// All constructs of the app below this stack that are known, with and without resources.
    /// Paths that resources carry themselves need not be repeated here.
    pub constructs: Vec<ConstructPath>,
}

impl Stack {
    /// Returns a stack of which nothing but name and template is known.
    pub fn new(name: &str, template: Template) -> Self {
        Self {
            name: name.into(),
            display_name: name.into(),
            template,
            parent: None,
            is_returned: false,
            parameters: BTreeMap::new(),
            constructs: Vec::new(),
        }
    }
}
