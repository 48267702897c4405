//! What is deployed and what is to be deployed as a graph: components with properties,
//! relationships between them, and the operations that make the one of the other.

use std::collections::BTreeSet;
use std::fmt;

use crate::model::{Text, Value};
use crate::registry::Segment;

/// The number of a component in its [`Model`].
pub type ComponentId = usize;
/// The number of an operation in its [`Graph`].
pub type OperationId = usize;
/// The way to a property from the definition of its component: `Properties`, `Tags`, 0.
pub type Path = Vec<Segment>;

/// Everything that there is on one side.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The components, stack by stack, in the order of the templates.
    pub components: Vec<Component>,
    /// What they have to do with each other.
    pub relationships: Vec<Relationship>,
}

/// A part of an app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// What it is.
    pub kind: ComponentKind,
    /// The type of a resource or a parameter.
    pub subtype: Option<Text>,
    /// The logical ID; the name of a stack; the last part of the path of a construct.
    pub name: Text,
    /// The stack that it is in; of a stack its name.
    pub stack: Text,
    /// The construct path, without that of the app; of a resource if it carries one.
    pub path: Option<Text>,
    /// The definition: of a resource with type, properties, policies and the rest, but without its
    /// construct path. Null for constructs and stacks.
    pub body: Value,
}

/// What a component is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ComponentKind {
    /// A stack, nested or not.
    Stack,
    /// A construct that is no resource.
    Construct,
    /// A resource.
    Resource,
    /// A parameter of a template.
    Parameter,
    /// An output of a template.
    Output,
    /// A condition of a template.
    Condition,
    /// A mapping of a template.
    Mapping,
}

/// What a component has to do with another one of the same side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relationship {
    /// What it is.
    pub kind: RelationshipKind,
    /// Who refers, or contains.
    pub source: ComponentId,
    /// Who is referred to, or contained.
    pub target: ComponentId,
}

/// What a relationship is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelationshipKind {
    /// The source refers to the target.
    Dependency {
        /// The property that does: the object that is the intrinsic function.
        path: Path,
        /// The attribute that is asked for; `None` for `Ref`, `DependsOn` and the like.
        attribute: Option<Text>,
    },
    /// The target is directly inside of the source.
    Structural,
}

/// Which of two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// What is deployed.
    Before,
    /// What is to be deployed.
    After,
}

/// Something that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What.
    pub kind: OperationKind,
    /// The component as it is deployed; `None` if it is new.
    pub before: Option<ComponentId>,
    /// The component as it is to be; `None` if it goes.
    pub after: Option<ComponentId>,
    /// Whether it is certain to happen.
    pub certainty: Certainty,
    /// The operation that this one follows from.
    pub cause: Option<OperationId>,
    /// The operation of the property that this one's property is in.
    pub outer: Option<OperationId>,
    /// Operations of what is in the property.
    pub inner: Vec<OperationId>,
    /// What is known of it besides.
    pub marks: BTreeSet<Mark>,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// The component is new.
    Insert,
    /// The component goes.
    Remove,
    /// Another one takes the place of the component.
    Replace,
    /// The component has another name.
    Rename,
    /// The component is in another stack.
    Move,
    /// A property of the component changes.
    Property {
        /// How.
        change: PropertyChange,
        /// Where it is deployed; `None` if it is new.
        old: Option<Path>,
        /// Where it is to be; `None` if it goes.
        new: Option<Path>,
    },
}

/// What happens to a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PropertyChange {
    /// It is new.
    Insert,
    /// It goes.
    Remove,
    /// It has another value, or what is in it changes.
    Update,
    /// It has another key or place.
    Move,
}

/// Whether something is certain to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// It depends on what is not known.
    Possible,
    /// It happens.
    Certain,
}

/// What others have found out about an operation, for rules to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// More may be done afterwards than before, as far as that can be told.
    BroadensPermissions,
    /// Data or an identity is lost.
    LosesData,
    /// The property merely repeats a new name of a construct.
    RepeatsNames,
    /// Only the template changes: CloudFormation does not touch the resource.
    TemplateOnly,
}

/// Both sides and what happens between them.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// What is deployed.
    pub before: Model,
    /// What is to be deployed.
    pub after: Model,
    /// For each component of the new side the one of the old side that it is, if there is one.
    pub joined: Vec<Option<ComponentId>>,
    /// What happens.
    pub operations: Vec<Operation>,
}

impl Graph {
    /// Returns a side.
    pub fn side(&self, side: Side) -> &Model {
        match side {
            Side::Before => &self.before,
            Side::After => &self.after,
        }
    }

    /// Returns the component of an operation as it is to be, or as it was if it goes.
    pub fn component(&self, operation: &Operation) -> Option<&Component> {
        let after = operation.after.and_then(|id| self.after.components.get(id));
        after.or_else(|| operation.before.and_then(|id| self.before.components.get(id)))
    }

    /// Adds an operation, to that of the property that it is in, if there is one.
    pub fn add(&mut self, operation: Operation) -> OperationId {
        let id = self.operations.len();
        if let Some(outer) = operation.outer {
            self.operations[outer].inner.push(id);
        }
        self.operations.push(operation);
        id
    }
}

impl Operation {
    /// Returns an operation that is certain, has no cause and stands alone.
    pub fn new(
        kind: OperationKind,
        before: Option<ComponentId>,
        after: Option<ComponentId>,
    ) -> Self {
        Self {
            kind,
            before,
            after,
            certainty: Certainty::Certain,
            cause: None,
            outer: None,
            inner: Vec::new(),
            marks: BTreeSet::new(),
        }
    }

    /// Returns the component on a side.
    pub fn on(&self, side: Side) -> Option<ComponentId> {
        match side {
            Side::Before => self.before,
            Side::After => self.after,
        }
    }

    /// Returns the property on a side; `None` for operations of components, and where there is no
    /// such property.
    pub fn property(&self, side: Side) -> Option<&Path> {
        match (&self.kind, side) {
            (OperationKind::Property { old, .. }, Side::Before) => old.as_ref(),
            (OperationKind::Property { new, .. }, Side::After) => new.as_ref(),
            _ => None,
        }
    }
}

impl Component {
    /// Returns a value of the definition.
    pub fn value(&self, path: &[Segment]) -> Option<&Value> {
        at(&self.body, path)
    }
}

/// Returns what is at a path in a value.
pub fn at<'v>(value: &'v Value, path: &[Segment]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, segment| match (value, segment) {
        (Value::Object(object), Segment::Key(key)) => object.get(key),
        (Value::Array(items), Segment::Index(at)) => items.get(*at),
        _ => None,
    })
}

impl ComponentKind {
    /// All kinds, with the names that rules use.
    pub const NAMES: [(&str, Self); 7] = [
        ("Stack", Self::Stack),
        ("Construct", Self::Construct),
        ("Resource", Self::Resource),
        ("Parameter", Self::Parameter),
        ("Output", Self::Output),
        ("Condition", Self::Condition),
        ("Mapping", Self::Mapping),
    ];
}

impl fmt::Display for ComponentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(_, kind)| kind == self).map(|(name, _)| *name);
        f.pad(name.unwrap_or_default())
    }
}

/// Writes a path with dots: `Properties.Tags.0`.
pub fn dotted(path: &[Segment]) -> String {
    let texts = path.iter().map(|segment| match segment {
        Segment::Key(key) => key.to_string(),
        Segment::Index(at) => at.to_string(),
    });
    texts.collect::<Vec<_>>().join(".")
}
