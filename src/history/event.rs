//! What stands in a log.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::hash::EventHash;
use crate::model::{ConstructPath, Location, LogicalId, ResourceType, StackName};
use crate::settings::Scope;

/// What became of the stacks of an app between one state and the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The event before it; none for the first; for a merge the heads of both branches, the
    /// smaller hash first.
    pub parents: Vec<EventHash>,
    /// When it was recorded, as the caller says. For people only.
    pub at: String,
    /// The earlier event whose state this is again, each resource being what had that name there:
    /// in the log of an environment, after a deployment of an older state or of another branch.
    /// `None` in all other events.
    pub same_as: Option<EventHash>,
    /// The event of the repository on the way to which the environment is: in the log of an
    /// environment, after a refactor without a deployment, a deployment of some of the stacks, or
    /// one that has failed. The moves are those that were really made. That event need not be in
    /// the log of the environment. `None` in all other events.
    pub toward: Option<EventHash>,
    /// What happened.
    pub what: What,
}

/// Operations on stacks, all at once. What is created, updated and deleted is told against the
/// state at the first parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct What {
    /// New stacks.
    pub creates: BTreeMap<StackKey, StackRecord>,
    /// Stacks that exist before and after, and that differ.
    pub updates: BTreeMap<StackKey, StackUpdate>,
    /// Stacks that exist no more.
    pub deletes: BTreeSet<StackKey>,
    /// Resources that got another name.
    pub refactors: Vec<Refactor>,
}

/// A stack: its name, and the environments in which it is meant to be. Stacks of one name in two
/// environments are two stacks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StackKey {
    /// The name.
    pub name: StackName,
    /// Account and region, as far as the app settles them.
    pub scope: Scope,
}

impl fmt::Display for StackKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scope.is_everywhere() {
            write!(f, "{}", self.name)
        } else {
            write!(f, "{} ({})", self.name, self.scope)
        }
    }
}

/// A stack at a point in time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackRecord {
    /// The digest of the template. The caller settles how it is computed.
    pub template: String,
    /// The resources.
    pub resources: BTreeMap<LogicalId, ResourceRecord>,
}

/// What a log knows of a resource: enough to compare names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceRecord {
    /// The type.
    pub resource_type: ResourceType,
    /// `Metadata["aws:cdk:path"]`.
    pub path: Option<ConstructPath>,
}

/// What became of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackUpdate {
    /// The digest of the template from now on.
    pub template: String,
    /// Resources that are new, or whose type or path is another than before.
    pub resources: BTreeMap<LogicalId, ResourceRecord>,
    /// Resources that are there no more.
    pub removed: BTreeSet<LogicalId>,
}

/// Resources that got another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refactor {
    /// Where this holds.
    pub scope: Scope,
    /// In a merge: the parent whose names are the old ones. `None` in any other event.
    pub parent: Option<EventHash>,
    /// The moves, sources and destinations all different.
    pub moves: Vec<Move>,
}

/// A resource that got another name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Move {
    /// What it was called before.
    pub source: Location,
    /// What it is called now.
    pub destination: Location,
    /// Why the two are taken for the same.
    pub decided: Decided,
}

/// Why two names are taken for those of one resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decided {
    /// The comparison said so; on what evidence.
    Detected(String),
    /// Somebody said so; where: a flag, a file, the terminal.
    Stated(String),
    /// It follows from earlier events of the log.
    Recorded,
}

/// Whether there is an environment for which both were said.
pub(super) fn overlap(a: &Scope, b: &Scope) -> bool {
    fn agree(a: Option<&String>, b: Option<&String>) -> bool {
        a.zip(b).is_none_or(|(a, b)| a == b)
    }
    agree(a.account.as_ref(), b.account.as_ref()) && agree(a.region.as_ref(), b.region.as_ref())
}
