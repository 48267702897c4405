//! Which resource moves where: what the request says, and what it need not say.

use std::collections::{BTreeMap, BTreeSet};

use super::ResourceMapping;
use super::eligibility::CDK_METADATA;
use super::judge::{Party, Refusal, type_of};

/// A move of a resource; stacks are numbers of parties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) from: usize,
    pub(super) from_id: String,
    pub(super) to: usize,
    pub(super) to_id: String,
    /// Whether the request says so.
    pub(super) explicit: bool,
}

/// Finds all moves, and refuses what is neither moved nor kept.
pub(super) fn moves(
    parties: &[Party],
    active: &[BTreeSet<String>],
    mappings: &[ResourceMapping],
) -> Result<Vec<Move>, Refusal> {
    let mut moves = explicit(parties, active, mappings)?;
    let mut leaving = Leaving::new();
    let mut unplaced = Vec::new();
    for (at, party) in parties.iter().enumerate() {
        let is_source = |id: &str| moves.iter().any(|each| each.from == at && each.from_id == id);
        let is_target = |id: &str| moves.iter().any(|each| each.to == at && each.to_id == id);
        for resource in party.stack.live() {
            let id = &resource.logical_id;
            if !is_source(id) && !active[at].contains(id) {
                let key = (id.clone(), resource.resource_type.clone());
                leaving.entry(key).or_default().push((at, id.clone()));
            }
        }
        for id in &active[at] {
            let stays = party.stack.resources.contains_key(id) && !is_source(id);
            if stays && type_changes(party, id) {
                return Err(not_permitted(party, "Modify"));
            }
            if !stays && !is_target(id) {
                unplaced.push((at, id.clone()));
            }
        }
    }
    automatic(parties, unplaced, &mut leaving, &mut moves)?;
    if let Some((from, id)) = leaving.values().flatten().next() {
        let party = &parties[*from];
        let is_metadata = type_of(&party.old, id) == "AWS::CDK::Metadata";
        return Err(if is_metadata {
            Refusal::of(&party.stack, CDK_METADATA)
        } else {
            not_permitted(party, "Remove")
        });
    }
    if moves.is_empty() {
        // [I] A refactor that moves nothing has no purpose.
        return Err(Refusal::bare("No resources to move were found in the stack definitions."));
    }
    Ok(moves)
}

/// What leaves a template, by logical ID and type.
type Leaving = BTreeMap<(String, String), Vec<(usize, String)>>;

/// Takes what is new in a template from the only other one that has lost the like of it.
fn automatic(
    parties: &[Party],
    unplaced: Vec<(usize, String)>,
    leaving: &mut Leaving,
    moves: &mut Vec<Move>,
) -> Result<(), Refusal> {
    let mut without_source = Vec::new();
    for (to, id) in unplaced {
        let resource_type = type_of(&parties[to].new, &id);
        let key = (id.clone(), resource_type.to_owned());
        match leaving.get_mut(&key).map(|candidates| (candidates.len(), candidates)) {
            Some((1, candidates)) => {
                if let Some((from, from_id)) = candidates.pop() {
                    moves.push(Move { from, from_id, to, to_id: id, explicit: false });
                }
            }
            _ if resource_type == "AWS::CDK::Metadata" => {
                return Err(Refusal::of(&parties[to].stack, CDK_METADATA));
            }
            // [I] AWS does not say what it does with several candidates.
            _ => without_source.push((to, id)),
        }
    }
    let Some((to, _)) = without_source.first() else { return Ok(()) };
    let pair = |(to, id): &(usize, String)| format!("{id} -> {}", parties[*to].stack.info.id);
    let pairs: Vec<String> = without_source.iter().map(pair).collect();
    let reason = format!(
        "Could not find any source stacks for Logical ID and Stack ID pairs: {}",
        pairs.join(", ")
    );
    Err(Refusal::of(&parties[*to].stack, reason))
}

fn type_changes(party: &Party, id: &str) -> bool {
    let deployed = party.stack.resources.get(id);
    deployed.is_some_and(|deployed| deployed.resource_type != type_of(&party.new, id))
}

/// The documented text, which was seen with `Modify` only.
fn not_permitted(party: &Party, action: &str) -> Refusal {
    let reason =
        format!("Found an action type that is not permitted during refactor operations: {action}");
    Refusal::of(&party.stack, reason)
}

fn explicit(
    parties: &[Party],
    active: &[BTreeSet<String>],
    mappings: &[ResourceMapping],
) -> Result<Vec<Move>, Refusal> {
    let party = |id: &str| parties.iter().position(|party| party.stack.info.id == id);
    let is_target = |stack: &str, id: &str| {
        mappings
            .iter()
            .any(|other| other.destination.stack == stack && other.destination.logical_id == id)
    };
    let mut moves = Vec::new();
    for ResourceMapping { source, destination } in mappings {
        let id = &source.logical_id;
        let stands_still = |name: &str| {
            let reason = format!(
                "The resource {id} defined in the resources mapping did no move from its original \
                 stack {name}. Review your stack template desired state."
            );
            reason
        };
        let Some(from) = party(&source.stack) else {
            let name = crate::local::stacks::name_part(&source.stack);
            return Err(Refusal::bare(&stands_still(name)));
        };
        let stack = &parties[from].stack;
        if !stack.live().any(|resource| resource.logical_id == *id) {
            // [I] The text.
            let reason = format!("Resource {id} does not exist for stack {}", stack.info.name);
            return Err(Refusal::of(stack, reason));
        }
        if active[from].contains(id) && !is_target(&source.stack, id) || source == destination {
            return Err(Refusal::of(stack, stands_still(&stack.info.name)));
        }
        let there = party(&destination.stack)
            .filter(|to| active[*to].contains(&destination.logical_id))
            .filter(|to| {
                let new = type_of(&parties[*to].new, &destination.logical_id);
                stack.resources.get(id).is_some_and(|old| old.resource_type == new)
            });
        let Some(to) = there else {
            // [I] The text: nothing that could match is there.
            let reason = format!(
                "Resource {id} in stack {} does not match the destination resource's properties.",
                stack.info.id
            );
            return Err(Refusal::of(stack, reason));
        };
        let (from_id, to_id) = (id.clone(), destination.logical_id.clone());
        moves.push(Move { from, from_id, to, to_id, explicit: true });
    }
    Ok(moves)
}
