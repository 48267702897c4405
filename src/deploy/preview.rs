//! What a deployment would do, as values that are shown before anybody agrees to it.

use crate::model::Environment;
use crate::plan::Effect;

/// A stack that is deployed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedStack {
    /// The hierarchical ID.
    pub id: String,
    /// The account and region.
    pub environment: Environment,
    /// The name.
    pub name: String,
    /// Whether it is there already, or will be after the moves.
    pub exists: bool,
    /// What the deployment does to its resources, nested stacks included.
    pub effects: Vec<Effect>,
    /// The logical IDs that resources keep although the app has others for them.
    pub kept: Vec<String>,
    /// The names of exports that are kept until others do not import them any more, each with
    /// those others.
    pub held: Vec<(String, Vec<String>)>,
}

/// Something that a deployment would lose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Danger {
    /// The account and region.
    pub environment: Environment,
    /// `Stack.LogicalId`; nested stacks are `Parent/Nested`.
    pub place: String,
    /// The type.
    pub resource_type: String,
    /// The physical ID, if it is known.
    pub physical_id: Option<String>,
    /// What is lost: a sentence.
    pub reason: String,
}
