//! Drift: whether resources still are as the templates say that CloudFormation has.
//!
//! In: what is deployed, and the state of its resources as their services have it. Out: for each
//! resource what differs, or why nobody can say. Called by `toolkit`, which reads the states. Pure.
//!
//! `compare` holds a state against what is declared, after `alike` has taken out what is only
//! written differently, and `tags` what CloudFormation itself adds. What is not known is left out,
//! what nobody may see is neither compared nor shown.

mod alike;
mod compare;
mod tags;

use std::collections::BTreeMap;

use super::forecast::{Properties, Templates};
use super::site::{FILLER_TYPE, has_macros};
use crate::model::{
    DeployedEnvironment, DeployedStack, Environment, Location, ResourceType, Text, Value,
};
use crate::registry::{Address, NoAddress, Pointer, Schema, Verdict, address, lookup};

pub use compare::{compare, moved};

/// How the resources of an environment stand.
#[derive(Clone, Debug)]
pub struct Drift {
    /// The account and region.
    pub environment: Environment,
    /// The resources, by stack and logical ID.
    pub resources: Vec<Checked>,
}

/// How a resource stands.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The resource.
    pub subject: Subject,
    /// How it stands.
    pub standing: Standing,
    /// What was not compared.
    pub left_out: LeftOut,
}

/// A deployed resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Where it is.
    pub location: Location,
    /// Its type.
    pub resource_type: ResourceType,
    /// Its physical ID.
    pub physical_id: Text,
}

/// How a resource stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is as it is declared.
    InSync,
    /// It is not.
    Drifted(Vec<Divergence>),
    /// It does not exist any more.
    Gone,
    /// Nobody can say.
    Unverified(Unverified),
}

/// Why nobody can say how a resource stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unverified {
    /// What it is, its provider alone knows.
    #[error("its provider alone knows what it is")]
    Custom,
    /// The type cannot be read.
    #[error("Cloud Control does not read resources of this type")]
    Unsupported,
    /// It cannot be asked for.
    #[error("Cloud Control cannot be asked for it: {0}")]
    NoAddress(#[from] NoAddress),
    /// It was asked for under an identifier that may not be the right one.
    #[error("nothing is found under `{0}`, but Cloud Control may know it by another identifier")]
    NotFoundPerhaps(String),
    /// A macro makes its properties.
    #[error("a macro makes the template that counts")]
    Macro,
    /// It may not be read.
    #[error("it may not be read: {0}")]
    Denied(String),
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Failed(String),
    /// It is a stack in another one.
    #[error("it is a nested stack: what is in it has not moved")]
    NestedStack,
    /// It did not exist before it was moved.
    #[error("it did not exist any more before it was moved")]
    GoneBefore,
}

/// What was not compared, as paths below the properties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The value that is declared is not known.
    pub unknown: Vec<Pointer>,
    /// Nobody may see it.
    pub secret: Vec<Pointer>,
    /// The service does not give it back.
    pub unreadable: Vec<Pointer>,
}

impl LeftOut {
    /// Returns how many values were left out.
    pub fn len(&self) -> usize {
        self.unknown.len() + self.secret.len() + self.unreadable.len()
    }

    /// Whether everything was compared.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A place at which a resource is not as it is declared: an operation that would put it right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// What would put it right.
    pub kind: DivergenceKind,
    /// Where: below the properties, in what the operations before this one leave.
    pub path: Pointer,
    /// What is there. `None` if nothing is, or if it is hidden.
    pub current: Option<Value>,
    /// What is declared. `None` if nothing is, or if it is hidden.
    pub declared: Option<Value>,
    /// Whether the values are not shown: they hold something that nobody may see.
    pub is_hidden: bool,
    /// What the operation would mean for the resource.
    pub verdict: Verdict,
}

/// What would put something right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DivergenceKind {
    /// It is missing.
    Add,
    /// It is too much.
    Remove,
    /// It is something else.
    Replace,
}

impl DivergenceKind {
    /// Returns the operation of a JSON patch.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Remove => "remove",
            Self::Replace => "replace",
        }
    }
}

impl Drift {
    /// Returns the resources that are not as they are declared, those that are gone included.
    pub fn drifted(&self) -> impl Iterator<Item = &Checked> {
        self.resources.iter().filter(|one| one.standing.is_off())
    }
}

/// What became of the resources that were moved in an environment.
#[derive(Clone, Debug)]
pub struct Verification {
    /// The account and region.
    pub environment: Environment,
    /// The resources, by the places that they left.
    pub moves: Vec<VerifiedMove>,
}

/// What became of a resource that was moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedMove {
    /// Its type.
    pub resource_type: ResourceType,
    /// The place that it left, `Stack.LogicalId`.
    pub source: String,
    /// The place that it got, `Stack.LogicalId`.
    pub destination: String,
    /// How it stands: in sync if it is what it was.
    pub standing: Standing,
}

impl Verification {
    /// Returns the resources that are not what they were.
    pub fn changed(&self) -> impl Iterator<Item = &VerifiedMove> {
        self.moves.iter().filter(|one| one.standing.is_off())
    }
}

impl Standing {
    /// Whether the resource is not as it should be.
    pub fn is_off(&self) -> bool {
        matches!(self, Self::Drifted(_) | Self::Gone)
    }
}

/// Types with nothing behind them that could drift; what is in a nested stack is checked itself.
const NOTHING: [&str; 3] = ["AWS::CDK::Metadata", "AWS::CloudFormation::Stack", FILLER_TYPE];

/// The states of resources, as far as they were read.
pub type States = BTreeMap<Location, Value>;

/// What is declared of the resources of an environment.
pub struct Declarations<'a> {
    deployed: &'a DeployedEnvironment,
    templates: Templates<'a>,
    /// Attributes that outputs show, by location and name.
    shown: BTreeMap<(Location, String), Text>,
}

impl<'a> Declarations<'a> {
    /// Reads the templates. The stacks have to be read completely, their resources included.
    pub fn new(deployed: &'a DeployedEnvironment) -> Self {
        let templates = Templates::new(deployed);
        let mut shown = BTreeMap::new();
        for stack in &deployed.stacks {
            for (key, value) in &stack.outputs {
                if let Some((of, id, name)) = templates.output(stack.stack.name.as_str(), key) {
                    shown.insert((Location::new(&of, &id), name), value.clone());
                }
            }
        }
        Self { deployed, templates, shown }
    }

    /// Returns the account and region.
    pub fn environment(&self) -> &'a Environment {
        &self.deployed.environment
    }

    /// Returns the resources that something can be said of, in the order of stacks and logical IDs.
    pub fn subjects(&self) -> Vec<Subject> {
        let resources = self.deployed.stacks.iter().flat_map(|stack| {
            stack.resources.iter().map(move |(id, found)| (stack.stack.name.as_str(), id, found))
        });
        resources
            .filter(|(_, _, found)| {
                found.status != "DELETE_COMPLETE"
                    && !NOTHING.contains(&found.resource_type.as_str())
            })
            .filter_map(|(stack, id, found)| {
                Some(Subject {
                    location: Location::new(stack, id),
                    resource_type: found.resource_type.clone(),
                    physical_id: found.physical_id.clone().filter(|id| !id.is_empty())?,
                })
            })
            .collect()
    }

    /// Returns why nothing can be said of a resource whatever its state is, if that is so.
    pub fn hindrance(&self, subject: &Subject) -> Option<Unverified> {
        let name = subject.resource_type.as_str();
        if name.starts_with("Custom::") || name == "AWS::CloudFormation::CustomResource" {
            return Some(Unverified::Custom);
        }
        if lookup(name).is_some_and(|info| !info.handlers().contains('r')) {
            return Some(Unverified::Unsupported);
        }
        let template = &self.stack(&subject.location)?.stack.template;
        let is_there = template.resource(subject.location.logical_id.as_str()).is_some();
        (has_macros(template) || !is_there).then_some(Unverified::Macro)
    }

    /// Returns what is declared of a resource, as far as the states tell it.
    pub fn declared(&self, subject: &Subject, states: &States) -> Declared {
        let Location { stack, logical_id } = &subject.location;
        let attributes =
            |stack: &str, id: &str, name: &str| self.attribute(stack, id, name, states);
        let properties =
            self.templates.properties(stack.as_str(), logical_id.as_str(), &attributes);
        let tags = self.stack(&subject.location).map(|stack| stack.options.tags.clone());
        Declared { properties, tags: tags.unwrap_or_default() }
    }

    /// Returns what Cloud Control calls a resource.
    ///
    /// # Errors
    /// When that is not known, or not yet: more states may tell it.
    pub fn address(&self, subject: &Subject, declared: &Declared) -> Result<Address, NoAddress> {
        let value_of = |path: &str| {
            let pointer = Pointer::from_tokens(path.split('/'));
            let set = pointer.of(&declared.properties.value).and_then(alike::text);
            let key = (subject.location.clone(), path.replace('/', "."));
            set.or_else(|| self.shown.get(&key).map(ToString::to_string))
        };
        let name = subject.resource_type.as_str();
        address(&self.deployed.environment, name, &subject.physical_id, &value_of)
    }

    fn stack(&self, location: &Location) -> Option<&'a DeployedStack> {
        self.deployed.stacks.iter().find(|stack| stack.stack.name == location.stack)
    }

    fn kind(&self, location: &Location) -> Option<&'a str> {
        let resources = &self.stack(location)?.resources;
        Some(resources.get(location.logical_id.as_str())?.resource_type.as_str())
    }

    /// Returns an attribute of a resource: what its state or an output shows.
    fn attribute(&self, stack: &str, id: &str, name: &str, states: &States) -> Option<Value> {
        let location = Location::new(stack, id);
        if let Some(key) = name.strip_prefix("Outputs.") {
            let is_child = |other: &&DeployedStack| other.stack.parent.as_ref() == Some(&location);
            let child = self.deployed.stacks.iter().find(is_child)?;
            return child.outputs.get(key).map(|value| Value::String(value.clone()));
        }
        let state = states.get(&location);
        if name == "Ref" {
            // Nothing else is a name within something that has to be named as well.
            let is_stage = self.kind(&location) == Some("AWS::ApiGateway::Stage");
            return state.filter(|_| is_stage)?.get("StageName").cloned();
        }
        let read = state.and_then(|state| Pointer::from_tokens(name.split('.')).of(state));
        let shown = || self.shown.get(&(location.clone(), name.to_owned()));
        read.cloned().or_else(|| shown().map(|text| Value::String(text.clone())))
    }
}

/// What is declared of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    properties: Properties,
    /// The tags of its stack, which CloudFormation passes on.
    tags: BTreeMap<Text, Text>,
}

/// Returns what the table knows of a type.
pub fn schema(resource_type: &ResourceType) -> Schema {
    Schema::of(resource_type.as_str()).unwrap_or_else(Schema::unknown)
}

#[cfg(test)]
mod tests;
