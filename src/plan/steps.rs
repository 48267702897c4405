//! The steps of a plan, as they are carried out and as they are saved.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::model::{Environment, Location, ResourceType};

/// What is to be done in one environment, in which order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The account.
    pub account: String,
    /// The region.
    pub region: String,
    /// The steps; a step stands after those that it needs.
    pub steps: Vec<Step>,
    /// Resources that are the same under another name, but that CloudFormation cannot move.
    pub staying: Vec<Staying>,
    /// What has to be known, or put right, before anything is done.
    pub findings: Vec<Finding>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// The positions of the steps that have to be done before this one.
    pub after: Vec<usize>,
    /// What is done.
    pub action: Action,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Action {
    /// An ordinary change of one stack by a change set, before or after the refactors.
    Change(Change),
    /// A stack refactor.
    Refactor(Batch),
}

/// An ordinary change of one stack. Unlike a refactor, CloudFormation carries out whatever differs:
/// a change set that has anything but the addition or removal of the one filler
/// (`AWS::CloudFormation::WaitConditionHandle`), and the policies of what is retained, must not be
/// executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The name of the stack; for a nested stack `Parent/LogicalId`.
    pub stack: String,
    /// Its ARN; `None` if it does not exist yet.
    pub id: Option<String>,
    /// Why it is changed.
    pub purpose: Purpose,
    /// [`body_digest`] of the template that has to be there before; `None` if the stack does not
    /// exist yet.
    pub before: Option<String>,
    /// The template to be sent.
    pub template: String,
    /// Values of parameters that are new in the template. All others keep their values.
    pub parameters: Vec<(String, String)>,
    /// Capabilities to acknowledge.
    pub capabilities: Vec<String>,
    /// The resources whose `DeletionPolicy` changes, their logical IDs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retained: Vec<String>,
}

/// Why a stack is changed apart from the refactors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Purpose {
    /// It does not exist yet, and has sections that a refactor cannot create.
    Create,
    /// It exists, but lacks parameters, conditions or mappings that something needs that moves
    /// into it: they are added, with a filler, without which nothing would change.
    Prepare,
    /// It would become empty: it gets a filler.
    Fill,
    /// It has a filler that is not needed any more.
    RemoveFiller,
    /// It has resources that the deployment makes anew elsewhere, where they are the same things:
    /// they get the `DeletionPolicy` `Retain`, so that this stack does not delete them afterwards.
    /// CloudFormation does not take such a change alone (template reference, "`DeletionPolicy`
    /// attribute": not "by itself"), so a filler comes or goes with it.
    Retain,
    /// The resources that were retained get the `DeletionPolicy` again that they had.
    Release,
}

/// A stack refactor of at most five stacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Batch {
    /// The stacks whose templates change, sorted by name.
    pub stacks: Vec<BatchStack>,
    /// Every resource that changes its place, sorted by source.
    pub moves: Vec<Move>,
}

/// A stack in a refactor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchStack {
    /// Its name; for a nested stack `Parent/LogicalId`.
    pub name: String,
    /// Its ARN; `None` if it does not exist before the plan is carried out.
    pub id: Option<String>,
    /// [`body_digest`] of the template that has to be there before; `None` if the refactor
    /// creates the stack.
    pub before: Option<String>,
    /// The template to be sent.
    pub template: String,
}

/// A resource that gets another place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Move {
    /// Its type.
    pub resource_type: String,
    /// Its physical ID, if it is known.
    pub physical_id: Option<String>,
    /// The place that it leaves, `Stack.LogicalId`.
    pub source: String,
    /// The place that it gets, `Stack.LogicalId`.
    pub destination: String,
}

/// A resource that would move but cannot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Staying {
    /// Its type.
    pub resource_type: String,
    /// Where it stays, `Stack.LogicalId`.
    pub source: String,
    /// Where the app has it now, `Stack.LogicalId`.
    pub destination: String,
    /// Why, as the end of a sentence that starts with the resource.
    pub reason: String,
    /// What the deployment will do to it: one sentence.
    pub consequence: String,
    /// Data or identity is lost when it is replaced.
    pub dangerous: bool,
    /// What happens when the old and the new one meet.
    #[serde(default)]
    pub hand_over: HandOver,
    /// Its physical ID, if it is known.
    #[serde(default)]
    pub physical_id: Option<String>,
    /// Texts of the properties that identify it, as far as they are known, by path below
    /// `Properties`.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
}

/// What happens when a resource is made anew while the old one exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HandOver {
    /// They are two things.
    #[default]
    None,
    /// They are one thing, which the new stack writes over, and which the old one is told to
    /// leave alone.
    Retained,
    /// They would be one thing, which cannot be created while it exists: the deployment fails.
    Exclusive,
}

/// Something that has to be known before a plan is carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Whether the plan can be carried out nevertheless.
    pub severity: Severity,
    /// The stack that it is about.
    pub stack: String,
    /// The resource that it is about, its logical ID.
    pub resource: Option<String>,
    /// What is the matter: one sentence.
    pub message: String,
    /// What to do about it: one sentence.
    pub remedy: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// May go wrong.
    Warning,
    /// CloudFormation would refuse it: the plan is not carried out.
    Error,
}

impl Plan {
    /// Returns the account and region.
    pub fn environment(&self) -> Environment {
        Environment::new(&self.account, &self.region)
    }

    /// Returns every move of every refactor, in the order of the steps. A resource whose name has
    /// to make way first moves twice.
    pub fn moves(&self) -> impl Iterator<Item = &Move> {
        let batches = self.steps.iter().filter_map(|step| match &step.action {
            Action::Refactor(batch) => Some(&batch.moves),
            Action::Change(_) => None,
        });
        batches.flatten()
    }

    /// Returns the places of the resources that are retained by a step.
    pub fn retained(&self) -> Vec<Location> {
        let changes = self.steps.iter().filter_map(|step| match &step.action {
            Action::Change(change) if change.purpose == Purpose::Retain => Some(change),
            Action::Change(_) | Action::Refactor(_) => None,
        });
        changes.flat_map(Change::places).collect()
    }

    /// Returns from where to where resources move in the end, sorted by source.
    pub fn net_moves(&self) -> Vec<Move> {
        let mut last: BTreeMap<&str, Move> = BTreeMap::new();
        for each in self.moves() {
            let first = last.remove(each.source.as_str());
            let source = first.map_or_else(|| each.source.clone(), |first| first.source);
            last.insert(&each.destination, Move { source, ..each.clone() });
        }
        let mut moves: Vec<Move> =
            last.into_values().filter(|each| each.source != each.destination).collect();
        moves.sort_by(|left, right| left.source.cmp(&right.source));
        moves
    }

    /// Whether something forbids that the plan is carried out.
    pub fn is_refused(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }
}

impl Change {
    /// Returns the places of the resources whose deletion policies change.
    pub fn places(&self) -> impl Iterator<Item = Location> {
        self.retained.iter().map(|id| Location::new(&self.stack, id))
    }
}

impl Move {
    /// Returns a move from one place to another.
    pub fn new(
        resource_type: &ResourceType,
        physical_id: Option<&str>,
        source: &Location,
        destination: &Location,
    ) -> Self {
        Self {
            resource_type: resource_type.to_string(),
            physical_id: physical_id.map(str::to_owned),
            source: source.to_string(),
            destination: destination.to_string(),
        }
    }
}

/// Returns the SHA-256, in lower-case hexadecimal digits, of a template as CloudFormation gives
/// it back: every character outside of ASCII is a `?` there, so that the text that was sent and
/// the text that is returned have one digest.
pub fn body_digest(body: &str) -> String {
    let folded: String = body.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
    let mut digits = String::with_capacity(64);
    for byte in Sha256::digest(folded.as_bytes()) {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_knows_nothing_of_hand_overs_can_be_read() {
        let text = r#"{"resourceType":"T","source":"A.X","destination":"B.X","reason":"r",
            "consequence":"c","dangerous":false}"#;
        let staying: Staying = serde_json::from_str(text).unwrap();
        assert_eq!(staying.hand_over, HandOver::None);
        let text = r#"{"stack":"A","id":null,"purpose":"fill","before":null,"template":"{}",
            "parameters":[],"capabilities":[]}"#;
        let change: Change = serde_json::from_str(text).unwrap();
        assert_eq!(change.places().count(), 0);
    }

    #[test]
    fn a_template_has_one_digest_before_it_is_sent_and_after_it_is_returned() {
        assert_eq!(body_digest("Größe"), body_digest("Gr??e"));
        assert_ne!(body_digest("a"), body_digest("b"));
    }
}
