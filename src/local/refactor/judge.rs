//! The rules of stack refactoring, applied to templates and deployed stacks.

use std::collections::BTreeMap;

use super::matching::{self, Move};
use super::values::{self, Evaluated};
use super::{Refactor, eligibility, sections};
use crate::local::error::{Answer, ServiceError};
use crate::local::exports::Index;
use crate::local::record::{Input, Resource, Stack};
use crate::local::stacks::{self, differences};
use crate::local::state::Tx;
use crate::local::templates;
use crate::model::{Template, Value};

/// Why a refactor cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The stack to which it applies.
    stack_id: Option<String>,
    reason: String,
}

impl Refusal {
    /// Returns a refusal that names its stack.
    pub(super) fn of(stack: &Stack, reason: impl Into<String>) -> Self {
        Self { stack_id: Some(stack.info.id.clone()), reason: reason.into() }
    }

    /// Returns a refusal without a stack.
    pub(super) fn bare(reason: &str) -> Self {
        Self { stack_id: None, reason: reason.to_owned() }
    }

    /// The status reason: `<stackArn>: <why>`.
    pub(super) fn text(&self) -> String {
        match &self.stack_id {
            Some(id) => format!("{id}: {}", self.reason),
            None => self.reason.clone(),
        }
    }
}

/// A stack of a refactor as it is and as it is to be.
pub(super) struct Party {
    pub(super) stack: Stack,
    pub(super) created: bool,
    pub(super) old: Template,
    pub(super) new: Template,
    /// What the stack is to be made of.
    pub(super) input: Input,
}

/// What an accepted refactor does.
pub(super) struct Verdict {
    pub(super) parties: Vec<Party>,
    pub(super) moves: Vec<Move>,
    /// For each party its resources, outputs and imports.
    pub(super) results: Vec<Evaluated>,
}

/// Judges a refactor against the stacks as they are now.
pub(super) fn judge(tx: &Tx<'_>, refactor: &Refactor) -> Answer<Result<Verdict, Refusal>> {
    let parties = match parties(tx, refactor) {
        Ok(parties) => parties,
        Err(error) if error.http_status >= 500 => return Err(error),
        Err(error) => return Ok(Err(Refusal::bare(&error.message))),
    };
    let index = Index::load(tx)?;
    Ok(rules(tx, refactor, parties, &index))
}

fn parties(tx: &Tx<'_>, refactor: &Refactor) -> Answer<Vec<Party>> {
    let mut parties = Vec::new();
    for definition in &refactor.definitions {
        let stack = stacks::get(tx, &definition.stack_id)?;
        let input = Input { template: definition.template.clone(), ..stack.input.clone() };
        // What CloudFormation gives back has no characters outside of ASCII, and clients send
        // that again: [I] both sides are judged in this form.
        let read = |text: &str| -> Result<Template, ServiceError> {
            templates::parse(&templates::given_back(text))
        };
        parties.push(Party {
            old: read(&stack.input.template)?,
            new: read(&definition.template)?,
            created: definition.created,
            input,
            stack,
        });
    }
    Ok(parties)
}

fn rules(
    tx: &Tx<'_>,
    refactor: &Refactor,
    parties: Vec<Party>,
    index: &Index,
) -> Result<Verdict, Refusal> {
    for party in &parties {
        sections::check(party)?;
    }
    let active = values::active(tx, &parties)?;
    for (party, active) in parties.iter().zip(&active) {
        if active.is_empty() {
            let reason = "Template format error: At least one Resources member must be defined.";
            return Err(Refusal::of(&party.stack, reason));
        }
    }
    let moves = matching::moves(&parties, &active, &refactor.mappings)?;
    for each in &moves {
        eligibility::check(&parties, each)?;
        pseudo_parameters(&parties, each)?;
    }
    let occupants = occupants(&parties, &active, &moves);
    let results = values::evaluate(tx, &parties, &occupants, index)?;
    compare(&parties, &moves, &occupants, &results)?;
    values::check_exports(&parties, &results, index)?;
    Ok(Verdict { parties, moves, results })
}

/// For each party, which deployed resource stands behind each logical ID of its new template.
type Occupants = Vec<BTreeMap<String, Resource>>;

fn occupants(
    parties: &[Party],
    active: &[std::collections::BTreeSet<String>],
    moves: &[Move],
) -> Occupants {
    let mut all: Occupants = Vec::new();
    for (at, ids) in active.iter().enumerate() {
        let here = ids.iter().filter_map(|id| {
            let moved = moves.iter().find(|each| each.to == at && each.to_id == *id);
            let (party, old) = moved.map_or((at, id), |each| (each.from, &each.from_id));
            let deployed = parties[party].stack.resources.get(old)?;
            Some((id.clone(), deployed.clone()))
        });
        all.push(here.collect());
    }
    all
}

/// What a resource that moves to another stack uses must not change its value by moving.
fn pseudo_parameters(parties: &[Party], each: &Move) -> Result<(), Refusal> {
    if each.from == each.to {
        return Ok(());
    }
    let (source, destination) = (&parties[each.from], &parties[each.to]);
    let mut differing = vec!["AWS::StackName", "AWS::StackId"];
    if source.stack.input.notification_arns != destination.stack.input.notification_arns {
        differing.push("AWS::NotificationARNs");
    }
    let bodies = [source.old.resource(&each.from_id), destination.new.resource(&each.to_id)];
    let uses = bodies.into_iter().flatten().filter_map(|body| body.get("Properties"));
    let mut uses = uses.flat_map(|properties| {
        differing.iter().filter(move |name| sections::names(properties, name))
    });
    // [I] The text: AWS documents only that it is refused.
    match uses.next() {
        None => Ok(()),
        Some(_) => Err(mismatch(source, &each.from_id)),
    }
}

fn mismatch(source: &Party, id: &str) -> Refusal {
    let stack = &source.stack;
    let reason = format!(
        "Resource {id} in stack {} does not match the destination resource's properties.",
        stack.info.id
    );
    Refusal::of(stack, reason)
}

const MODIFY: &str =
    "Found an action type that is not permitted during refactor operations: Modify";

/// Every resource must be what it was, wherever it is now.
fn compare(
    parties: &[Party],
    moves: &[Move],
    occupants: &Occupants,
    results: &[Evaluated],
) -> Result<(), Refusal> {
    for (at, result) in results.iter().enumerate() {
        for (id, new) in &result.resources {
            let Some(old) = occupants[at].get(id) else { continue };
            let moved = moves.iter().find(|each| each.to == at && each.to_id == *id);
            if is_same(old, new) {
                continue;
            }
            if new.resource_type == "AWS::CDK::Metadata" {
                return Err(Refusal::of(&parties[at].stack, eligibility::CDK_METADATA));
            }
            return Err(match moved {
                Some(each) => mismatch(&parties[each.from], &each.from_id),
                None => Refusal::of(&parties[at].stack, MODIFY),
            });
        }
    }
    Ok(())
}

/// Whether a resource stays what it is: properties by their resolved values. [I] Of the rest,
/// `DependsOn` and the construct path may differ, and nothing else.
fn is_same(old: &Resource, new: &Resource) -> bool {
    let (before, after) = (&old.attributes, &new.attributes);
    old.resource_type == new.resource_type
        && differences(&values::ascii(&old.properties), &values::ascii(&new.properties)).is_empty()
        && before.deletion_policy == after.deletion_policy
        && before.update_replace_policy == after.update_replace_policy
        && before.other == after.other
        && values::without_path(&before.metadata) == values::without_path(&after.metadata)
}

/// The type of a resource in a template.
pub(super) fn type_of<'t>(template: &'t Template, id: &str) -> &'t str {
    let body = template.resource(id);
    body.and_then(|body| body.get("Type")).and_then(Value::as_str).unwrap_or_default()
}
