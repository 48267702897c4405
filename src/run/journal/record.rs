//! What stands in a journal.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::aws::Roles;
use crate::plan::{Action, Batch, Change, Plan};

/// The version of the form that is written and read.
pub(in crate::run) const VERSION: u32 = 1;

/// A line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::run) struct Line {
    /// When it was written: `2026-11-21T08:47:39.123Z`. For people only.
    pub(in crate::run) at: String,
    /// What it says.
    pub(in crate::run) record: Record,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::run) enum Record {
    /// What is to be done. The first line, and only that.
    Begin(Box<Begin>),
    /// A step begins: this was there before.
    StepStarted(StepStarted),
    /// A call with an effect is about to be made.
    Sending(Sending),
    /// It was answered.
    Sent(Sent),
    /// An attempt came to nothing; everything is as it was before.
    GaveUp(GaveUp),
    /// A step is done.
    StepDone(StepDone),
    /// The run has ended, unless it is taken up again by a line that follows.
    End(End),
    /// After a deployment: what became of the resources that moved.
    Kept(Vec<Kept>),
}

/// A resource that moved, before the moves and after the deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// Its type.
    pub resource_type: String,
    /// The place that it left, `Stack.LogicalId`.
    pub source: String,
    /// The place that it has now, `Stack.LogicalId`.
    pub destination: String,
    /// Its physical ID before.
    pub before: Option<String>,
    /// Its physical ID after; `None` if it is not there any more.
    pub after: Option<String>,
}

impl Kept {
    /// Whether it is still the same.
    pub fn is_same(&self) -> bool {
        self.before.is_some() && self.before == self.after
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::run) struct Begin {
    /// The version of the form.
    pub(in crate::run) version: u32,
    /// The version of the program.
    pub(in crate::run) cdkr: String,
    /// What refactors and change sets of this run are found again by.
    pub(in crate::run) id: String,
    /// Whether it moves or moves back.
    pub(in crate::run) kind: Kind,
    /// The file name of the journal that is reversed.
    pub(in crate::run) reverses: Option<String>,
    /// The steps, with every template that is to be sent.
    pub(in crate::run) plan: Plan,
    /// Stacks to be deleted after the steps of the plan, if they hold nothing but fillers.
    pub(in crate::run) deletions: Vec<Deletion>,
    /// Who makes the calls.
    #[serde(default)]
    pub(in crate::run) roles: Roles,
    /// What new stacks get besides their templates, by name.
    pub(in crate::run) new_stacks: BTreeMap<String, NewStack>,
}

/// Whether a run moves or moves back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::run) enum Kind {
    Forward,
    Reversal,
}

/// A stack to be deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::run) struct Deletion {
    /// Its name.
    pub(in crate::run) stack: String,
    /// Its ARN.
    pub(in crate::run) id: Option<String>,
    /// The digest of the template that it must have by then.
    pub(in crate::run) before: String,
}

/// What a new stack gets besides its template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::run) struct NewStack {
    pub(in crate::run) tags: BTreeMap<String, String>,
    pub(in crate::run) notification_arns: Vec<String>,
    pub(in crate::run) role_arn: Option<String>,
}

/// The beginning of an attempt at a step. Steps are counted from 0, those of the plan first,
/// then the deletions; attempts from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::run) struct StepStarted {
    pub(in crate::run) step: usize,
    pub(in crate::run) attempt: usize,
    /// The stacks of the step as they are.
    pub(in crate::run) stacks: Vec<Before>,
}

/// A stack before a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::run) struct Before {
    /// Its name.
    pub(in crate::run) name: String,
    /// Its ARN; `None` if it does not exist.
    pub(in crate::run) id: Option<String>,
    /// Its template as CloudFormation gives it back, byte for byte; `None` if it does not exist.
    pub(in crate::run) body: Option<String>,
}

/// A call with an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::run) enum Call {
    /// `CreateStackRefactor` or `CreateChangeSet`.
    Create,
    /// `ExecuteStackRefactor`, `ExecuteChangeSet` or `DeleteStack`.
    Execute,
}

/// A call that is about to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::run) struct Sending {
    pub(in crate::run) step: usize,
    pub(in crate::run) attempt: usize,
    pub(in crate::run) call: Call,
    /// The newest event of each stack before an execution, by ARN.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(in crate::run) events: BTreeMap<String, String>,
}

/// A call that was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::run) struct Sent {
    pub(in crate::run) step: usize,
    pub(in crate::run) attempt: usize,
    pub(in crate::run) call: Call,
    /// The ID of the refactor, or the name of the change set.
    pub(in crate::run) id: Option<String>,
}

/// An attempt that came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::run) struct GaveUp {
    pub(in crate::run) step: usize,
    pub(in crate::run) attempt: usize,
    /// Why.
    pub(in crate::run) reason: String,
}

/// A step that is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::run) struct StepDone {
    pub(in crate::run) step: usize,
    /// Its stacks with their ARNs, new ones included.
    pub(in crate::run) stacks: Vec<Named>,
}

/// A stack with its ARN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::run) struct Named {
    pub(in crate::run) name: String,
    pub(in crate::run) id: String,
}

/// How a run has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::run) struct End {
    pub(in crate::run) outcome: Outcome,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::run) reason: Option<String>,
}

/// How a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::run) enum Outcome {
    /// Every step is done.
    Finished,
    /// A step was refused or failed.
    Failed,
    /// Another run has undone what it had done.
    Reversed,
}

/// A step.
#[derive(Clone, Copy, Debug)]
pub(in crate::run) enum Task<'a> {
    Refactor(&'a Batch),
    Change(&'a Change),
    Delete(&'a Deletion),
}

impl Begin {
    /// How many steps there are.
    pub(in crate::run) fn steps(&self) -> usize {
        self.plan.steps.len() + self.deletions.len()
    }

    /// Returns a step.
    pub(in crate::run) fn task(&self, step: usize) -> Option<Task<'_>> {
        match self.plan.steps.get(step) {
            Some(planned) => Some(match &planned.action {
                Action::Refactor(batch) => Task::Refactor(batch),
                Action::Change(change) => Task::Change(change),
            }),
            None => self.deletions.get(step - self.plan.steps.len()).map(Task::Delete),
        }
    }

    /// The steps that have to be done before one: for a deletion all of the plan.
    pub(in crate::run) fn needs(&self, step: usize) -> Vec<usize> {
        match self.plan.steps.get(step) {
            Some(planned) => planned.after.clone(),
            None => (0..self.plan.steps.len()).collect(),
        }
    }
}

impl<'a> Task<'a> {
    /// Returns the stacks: name, ARN if it is known to the plan, and the digest that the
    /// template has to have before; `None` if there must not be such a stack.
    pub(in crate::run) fn stacks(self) -> Vec<(&'a str, Option<&'a str>, Option<&'a str>)> {
        match self {
            Task::Refactor(batch) => {
                let each = batch.stacks.iter();
                each.map(|stack| {
                    (stack.name.as_str(), stack.id.as_deref(), stack.before.as_deref())
                })
                .collect()
            }
            Task::Change(change) => {
                vec![(change.stack.as_str(), change.id.as_deref(), change.before.as_deref())]
            }
            Task::Delete(deletion) => {
                let before = Some(deletion.before.as_str());
                vec![(deletion.stack.as_str(), deletion.id.as_deref(), before)]
            }
        }
    }

    /// Returns the templates that are sent, with their stacks.
    pub(in crate::run) fn templates(self) -> Vec<(&'a str, &'a str)> {
        match self {
            Task::Refactor(batch) => {
                let each = batch.stacks.iter();
                each.map(|stack| (stack.name.as_str(), stack.template.as_str())).collect()
            }
            Task::Change(change) => vec![(change.stack.as_str(), change.template.as_str())],
            Task::Delete(_) => Vec::new(),
        }
    }

    /// Returns what the step does, as people say it.
    pub(in crate::run) fn title(self) -> String {
        use crate::plan::Purpose;
        match self {
            Task::Refactor(batch) => {
                let names: Vec<&str> =
                    batch.stacks.iter().map(|stack| stack.name.as_str()).collect();
                let resources = match batch.moves.len() {
                    1 => "1 resource".to_owned(),
                    count => format!("{count} resources"),
                };
                format!("move {resources} in {}", names.join(", "))
            }
            Task::Change(change) => match change.purpose {
                Purpose::Create => format!("create {}", change.stack),
                Purpose::Prepare => format!("prepare {} for what moves into it", change.stack),
                Purpose::Fill => format!("put a filler into {}", change.stack),
                Purpose::RemoveFiller => format!("remove the filler from {}", change.stack),
                Purpose::Retain => {
                    format!("let {} retain {}", change.stack, change.retained.join(", "))
                }
                Purpose::Release => {
                    format!("let {} go from {}", change.retained.join(", "), change.stack)
                }
            },
            Task::Delete(deletion) => format!("delete {}, which is empty", deletion.stack),
        }
    }
}
