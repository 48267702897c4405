//! What is remembered of stacks: the documents of the state directory, and the parts of them
//! that operations answer with.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A JSON value of which documents are made.
pub type Json = serde_json::Value;

/// The value of a parameter of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// What was given, or the default.
    pub value: String,
    /// For a parameter that names an SSM parameter: its value.
    pub resolved: Option<String>,
    /// Whether the value is hidden from answers.
    pub no_echo: bool,
    /// The type, as the template declares it.
    pub parameter_type: String,
}

/// An output of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// The key in the template.
    pub key: String,
    /// The value.
    pub value: String,
    /// What the template says of it.
    pub description: Option<String>,
    /// The name under which other stacks import it.
    pub export: Option<String>,
}

/// What a stack is made of: everything that a request to create or update it gives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The template, as submitted.
    pub template: String,
    /// The parameters.
    pub parameters: BTreeMap<String, Parameter>,
    /// The tags of the stack.
    pub tags: BTreeMap<String, String>,
    /// The capabilities that were acknowledged.
    pub capabilities: Vec<String>,
    /// The service role.
    pub role_arn: Option<String>,
    /// Topics to be notified. They are stored, and seen by `AWS::NotificationARNs`.
    pub notification_arns: Vec<String>,
    /// Whether a failure leaves everything as it is.
    pub disable_rollback: bool,
}

/// What can be read of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackInfo {
    /// The name.
    pub name: String,
    /// The ARN.
    pub id: String,
    /// The status, such as `CREATE_COMPLETE`.
    pub status: String,
    /// Why it has this status.
    pub status_reason: Option<String>,
    /// What the template says of itself.
    pub description: Option<String>,
    /// When the stack was created.
    pub created_ms: u64,
    /// When its last update began.
    pub updated_ms: Option<u64>,
    /// When it was deleted.
    pub deleted_ms: Option<u64>,
    /// The outputs, in the order of the template.
    pub outputs: Vec<Output>,
    /// Whether deletion is refused.
    pub termination_protection: bool,
    /// For a nested stack: the stack that has it as a resource.
    pub parent_id: Option<String>,
    /// For a nested stack: the stack at the top.
    pub root_id: Option<String>,
    /// The change set that made it what it is.
    pub change_set_id: Option<String>,
}

/// The attributes of a resource besides its properties.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Attributes {
    /// What happens when it leaves the stack.
    pub deletion_policy: Option<String>,
    /// What happens to it when it is replaced.
    pub update_replace_policy: Option<String>,
    /// Its metadata, evaluated.
    pub metadata: Json,
    /// Everything else but type, properties, condition and dependencies.
    pub other: BTreeMap<String, Json>,
}

/// A resource of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// The key in the template.
    pub logical_id: String,
    /// The physical ID.
    pub physical_id: String,
    /// The type.
    pub resource_type: String,
    /// The status, such as `CREATE_COMPLETE`.
    pub status: String,
    /// Why it has this status.
    pub status_reason: Option<String>,
    /// When it was last touched.
    pub updated_ms: u64,
    /// The properties, evaluated.
    pub properties: Json,
    /// The other attributes, evaluated.
    pub attributes: Attributes,
    /// What it depends on: logical IDs, sorted.
    pub depends_on: Vec<String>,
}

/// A thing that exists in an environment (a file below `resources/`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Physical {
    /// The type.
    pub resource_type: String,
    /// The physical ID.
    pub physical_id: String,
    /// When it was created.
    pub created_ms: u64,
    /// Its number among all things ever created in the environment: a thing that was replaced
    /// has another one.
    pub generation: u64,
    /// How often it was updated in place.
    pub updates: u64,
    /// The properties that it has.
    pub properties: Json,
    /// The ID of the stack that it belongs to, unless it was retained.
    pub stack_id: Option<String>,
    /// Its key in that stack.
    pub logical_id: Option<String>,
}

/// What is going on in a stack, and what comes next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Operation {
    /// The first creation of its resources.
    Create(Box<Input>),
    /// Everything created so far goes away.
    RollbackCreate,
    /// The change to another input.
    Update(Box<Input>),
    /// What was replaced or removed goes away.
    Cleanup(Vec<Leaving>),
    /// Everything is as it was before; the stack says so soon.
    RollbackUpdate,
    /// The same, after its cleanup.
    RollbackCleanup,
    /// The deletion of the stack, but for these resources; the status to return to if it is
    /// cancelled.
    Delete { retain: Vec<String>, before: String },
}

/// A thing that a stack is about to let go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Leaving {
    pub(crate) resource: Resource,
    /// Whether it stays in the account.
    pub(crate) retained: bool,
}

/// A stack (a file below `stacks/`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stack {
    pub(crate) info: StackInfo,
    pub(crate) input: Input,
    /// By logical ID; the order of creation is kept by the events.
    pub(crate) resources: BTreeMap<String, Resource>,
    pub(crate) operation: Option<Operation>,
    /// The stack policy.
    pub(crate) policy: Option<String>,
    /// Counts what a preview must not overlook: every operation that was started.
    pub(crate) revision: u64,
    /// The names that it imports.
    pub(crate) imports: Vec<String>,
}

/// An event of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackEvent {
    /// A name of its own.
    pub event_id: String,
    /// The ID of the stack.
    pub stack_id: String,
    /// The name of the stack.
    pub stack_name: String,
    /// The resource, or the name of the stack itself.
    pub logical_id: String,
    /// The physical ID.
    pub physical_id: String,
    /// The type.
    pub resource_type: String,
    /// When it happened.
    pub at_ms: u64,
    /// What happened.
    pub status: String,
    /// Why.
    pub reason: Option<String>,
    /// The properties with which it happened.
    pub properties: Option<String>,
}

impl Stack {
    /// Whether an operation is going on.
    pub(crate) fn is_busy(&self) -> bool {
        self.info.status.ends_with("_IN_PROGRESS") && self.info.status != "REVIEW_IN_PROGRESS"
    }

    /// Resources that exist.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Resource> {
        self.resources.values().filter(|resource| resource.status != "DELETE_COMPLETE")
    }
}
