//! The change report: what a deployment will do, and how dangerous it is, as values for people.
//!
//! In: a [`Graph`](super::model::Graph) with the verdicts of rules, and what a forecast says of
//! each resource. Out: a [`ChangeReport`]. `report` renders it as text, JSON, Markdown and HTML.

mod aggregate;
mod build;
mod causes;
mod fates;
mod properties;

#[cfg(test)]
mod tests;

pub use aggregate::{Aspect, Common, Group, Happens, aggregate, aggregate_where};
pub use build::{ReportRequest, change_report};
pub use fates::{Fate, FateKind, Fates};

use crate::model::{Environment, Text, Value};

use super::model::{Certainty, ComponentKind, PropertyChange};
use super::permissions::PermissionChange;
use super::rules::{Action, Risk};

/// What a deployment will do, in all environments.
#[derive(Clone, Debug, Default)]
pub struct ChangeReport {
    /// Sorted by account and region.
    pub environments: Vec<EnvironmentReport>,
    /// What has to be known besides: the errors first.
    pub remarks: Vec<Remark>,
}

/// What has to be known besides the changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The account and region.
    pub environment: Environment,
    /// Whether it forbids the deployment.
    pub is_error: bool,
    /// One or two sentences.
    pub text: String,
}

/// What a deployment will do in one environment.
#[derive(Clone, Debug)]
pub struct EnvironmentReport {
    /// The account and region.
    pub environment: Environment,
    /// The stacks, by name, nested ones (`Parent/LogicalId`) included.
    pub stacks: Vec<StackReport>,
    /// Everything that changes: resources, then the other parts of templates. Sorted by the stack
    /// in which a component is (or was, if it goes), and in that by its place in the template.
    pub changes: Vec<ComponentChange>,
    /// The resources to which nothing happens, in the same order: type and place.
    pub unchanged: Vec<(Text, Place)>,
    /// Permissions that come or go.
    pub permissions: Vec<PermissionChange>,
}

/// What becomes of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackReport {
    /// Its name; for a nested stack `Parent/LogicalId`.
    pub name: Text,
    /// What becomes of it.
    pub fate: StackFate,
    /// How many resources it has before and after.
    pub resources: (usize, usize),
}

/// What becomes of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StackFate {
    /// It is created.
    New,
    /// It stays; something in it may change.
    Kept,
    /// The app does not have it any more. Nothing deletes it.
    Left,
    /// A nested stack that its parent does not have any more: it is deleted.
    Removed,
}

/// Where a component is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The stack; for a nested stack `Parent/LogicalId`.
    pub stack: Text,
    /// The logical ID.
    pub logical_id: Text,
    /// The construct path, if the template says it.
    pub path: Option<Text>,
}

/// What happens to a component of a template.
#[derive(Clone, Debug)]
pub struct ComponentChange {
    /// What it is.
    pub kind: ComponentKind,
    /// The type of a resource or a parameter.
    pub subtype: Option<Text>,
    /// Where it is deployed; `None` if it is new.
    pub before: Option<Place>,
    /// Where it will be; `None` if it goes.
    pub after: Option<Place>,
    /// The physical ID before, if it is known.
    pub physical_id: Option<Text>,
    /// What happens, apart from a move.
    pub effect: ChangeEffect,
    /// Whether that is certain to happen.
    pub certainty: Certainty,
    /// Why it is taken for the same in spite of another place, as a few words ("equal content").
    pub evidence: Option<String>,
    /// How dangerous it is: the worst of it and its properties.
    pub risk: Risk,
    /// The rule that says so.
    pub rule: Option<String>,
    /// What is to be done about it, if a rule says so.
    pub action: Option<Action>,
    /// What is lost, if data or an identity is lost: one sentence.
    pub danger: Option<String>,
    /// What it follows from, the nearest cause first: "`Properties.BucketName` changes and cannot
    /// be changed in place", "`Shop.Bucket` is replaced".
    pub causes: Vec<String>,
    /// The properties that change.
    pub properties: Vec<PropertyReport>,
}

/// What happens to a component, apart from a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeEffect {
    /// Nothing else than that it is in another place.
    Nothing,
    /// Only the template changes (`Metadata`, `DependsOn`): CloudFormation does not touch it.
    TemplateOnly,
    /// It is created.
    Add,
    /// It is changed where it is.
    Update,
    /// Another one takes its place; if that is only possible, it is updated at least.
    Replace,
    /// It cannot be moved to its new place: another one is made there, and this one leaves.
    Recreate,
    /// It leaves the template and stays in the account, in no stack.
    Retain,
    /// It is deleted.
    Remove,
}

/// What happens to a property.
#[derive(Clone, Debug)]
pub struct PropertyReport {
    /// What.
    pub change: PropertyChange,
    /// Where it is deployed, with dots, from the definition of the component
    /// (`Properties.Tags.0.Value`); `None` if it is new.
    pub old_path: Option<String>,
    /// Where it will be; `None` if it goes.
    pub new_path: Option<String>,
    /// The deployed value.
    pub old: Option<Value>,
    /// The new value.
    pub new: Option<Value>,
    /// It merely repeats a new name of a construct.
    pub name_only: bool,
    /// The change of this property replaces the resource; `None`: it does not.
    pub replaces: Option<Certainty>,
    /// What the change follows from, if not from the app: "`Shop.Bucket` is replaced".
    pub cause: Option<String>,
    /// How dangerous it is.
    pub risk: Risk,
    /// Whether more may be done afterwards than before.
    pub broadens_permissions: bool,
}

impl ComponentChange {
    /// Returns where it will be, or where it was if it goes.
    pub fn place(&self) -> Option<&Place> {
        self.after.as_ref().or(self.before.as_ref())
    }

    /// Whether it stays the same in another place.
    pub fn is_moved(&self) -> bool {
        self.effect != ChangeEffect::Recreate && self.has_another_place()
    }

    /// Whether the places before and after differ.
    pub fn has_another_place(&self) -> bool {
        let places = self.before.as_ref().zip(self.after.as_ref());
        places.is_some_and(|(before, after)| {
            (&before.stack, &before.logical_id) != (&after.stack, &after.logical_id)
        })
    }
}

impl PropertyReport {
    /// Returns the path after the change, or the old one if the property goes.
    pub fn path(&self) -> &str {
        self.new_path.as_deref().or(self.old_path.as_deref()).unwrap_or_default()
    }
}
