//! Stacks as CloudFormation has them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Environment, ResourceType, Stack, StackName, Text};

/// Everything that was read of one environment.
#[derive(Clone, Debug)]
pub struct DeployedEnvironment {
    /// The account and region; never an environment-agnostic one.
    pub environment: Environment,
    /// The stacks that hold something, by name; every nested stack after its parent.
    pub stacks: Vec<DeployedStack>,
    /// Stacks that exist but hold nothing yet or any more, with their status. Their names are
    /// taken nevertheless.
    pub empty: Vec<(StackName, StackStatus)>,
}

/// A stack as CloudFormation has it.
#[derive(Clone, Debug)]
pub struct DeployedStack {
    /// The ARN.
    pub id: Text,
    /// The status when it was read.
    pub status: StackStatus,
    /// Name, template (`is_returned`), parameter values as far as they are shown, parent. A
    /// nested stack is called `Parent/LogicalId`.
    pub stack: Stack,
    /// The template as it was submitted, as far as CloudFormation gives it back.
    pub body: Text,
    /// The resources, by logical ID.
    pub resources: BTreeMap<Text, DeployedResource>,
    /// What the stack exports, by name.
    pub exports: Vec<Export>,
    /// Values of outputs, by key.
    pub outputs: BTreeMap<Text, Text>,
    /// Whether a stack policy is attached.
    pub has_policy: bool,
    /// What a change of the stack has to repeat.
    pub options: StackOptions,
}

/// A resource of a stack as CloudFormation has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployedResource {
    /// Its type.
    pub resource_type: ResourceType,
    /// Its physical ID, once it has one.
    pub physical_id: Option<Text>,
    /// Its status (`CREATE_COMPLETE`…).
    pub status: Text,
    /// When CloudFormation changed it last, in UTC (RFC 3339), if it says so.
    pub changed_at: Option<Text>,
}

/// An export of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The name, unique in the environment.
    pub name: Text,
    /// The value.
    pub value: Text,
    /// The names of the stacks that import it, sorted.
    pub importers: Vec<Text>,
}

/// Options of a stack that stay with it (`DescribeStacks`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StackOptions {
    /// Acknowledged capabilities.
    pub capabilities: Vec<Text>,
    /// Tags of the stack.
    pub tags: BTreeMap<Text, Text>,
    /// Topics that get its events.
    pub notification_arns: Vec<Text>,
    /// The role that CloudFormation works with.
    pub role_arn: Option<Text>,
    /// Whether the stack is protected from deletion.
    pub termination_protection: bool,
}

/// A stack status of CloudFormation, as its API writes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackStatus(pub Text);

/// What a status means to somebody who wants to read or change the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusKind {
    /// Deployed, and ready for the next operation.
    Stable,
    /// Holds nothing: it was never created, or its creation failed and was undone.
    Empty,
    /// Something is going on; it ends by itself.
    Busy,
    /// The last operation failed and left it in a state that somebody has to repair.
    Broken,
}

impl StackStatus {
    /// Returns what the status means (CloudFormation user guide, "Stack status codes"). A status
    /// that is not known counts as broken: nothing may be built on it.
    pub fn kind(&self) -> StatusKind {
        match self.0.as_str() {
            "CREATE_COMPLETE"
            | "UPDATE_COMPLETE"
            | "UPDATE_ROLLBACK_COMPLETE"
            | "IMPORT_COMPLETE"
            | "IMPORT_ROLLBACK_COMPLETE" => StatusKind::Stable,
            "ROLLBACK_COMPLETE" | "REVIEW_IN_PROGRESS" | "CREATE_FAILED" | "DELETE_COMPLETE" => {
                StatusKind::Empty
            }
            status if status.ends_with("_IN_PROGRESS") => StatusKind::Busy,
            _ => StatusKind::Broken,
        }
    }
}

impl fmt::Display for StackStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(status: &str) -> StatusKind {
        StackStatus(status.into()).kind()
    }

    #[test]
    fn cleaning_up_after_an_update_is_busy_not_done() {
        assert_eq!(kind("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"), StatusKind::Busy);
        assert_eq!(kind("UPDATE_COMPLETE"), StatusKind::Stable);
    }

    #[test]
    fn a_shell_that_waits_for_a_change_set_holds_nothing() {
        assert_eq!(kind("REVIEW_IN_PROGRESS"), StatusKind::Empty);
        assert_eq!(kind("ROLLBACK_COMPLETE"), StatusKind::Empty);
    }

    #[test]
    fn a_status_that_nobody_knows_is_not_built_on() {
        assert_eq!(kind("UPDATE_ROLLBACK_FAILED"), StatusKind::Broken);
        assert_eq!(kind("SOMETHING_NEW"), StatusKind::Broken);
    }
}
