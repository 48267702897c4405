//! Puts the answer together.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::ambiguity::{open_classes, questions};
use super::classes::Class;
use super::comparison::{Change, Comparison, Difference, Mapping, Problem};
use super::decisions::Decisions;
use super::difference::{Differ, Names, View, same_content};
use super::digest::Digest;
use super::loose::{Loose, Strength};
use super::matching::{Matching, Pair};
use super::rest::Rest;
use super::scope::NodeId;
use super::side::Side;
use super::support::is_indistinct;
use super::{CompareError, Evidence};
use crate::model::{Environment, Location};
use crate::registry;

/// Returns the comparison that a finished matching amounts to.
pub(super) fn comparison(
    environment: &Environment,
    matching: &Matching<'_, '_>,
    decisions: &Decisions,
) -> Result<Comparison, CompareError> {
    let digests = matching.digests();
    let views = (
        View { side: matching.old, digests: &digests.0 },
        View { side: matching.new, digests: &digests.1 },
    );
    let differs: Vec<bool> = matching
        .pairs
        .iter()
        .map(|pair| !same_content(&views.0, &views.1, pair.old, pair.new))
        .collect();
    let unexplained =
        matching.pairs.iter().zip(&differs).any(|(pair, differs)| *differs && !pair.by_names);
    let follows_names = !matching.old.scope.literal.names;
    let loose = if follows_names && (unexplained || matching.has_candidates()) {
        Loose::read(matching, Strength::Ids)?
    } else {
        None
    };
    let follows = |was: &_, is: &_| super::loose::explained_by_others(matching, was, is);
    let differ = Differ {
        old: views.0,
        new: views.1,
        names: loose.as_ref().map(|loose| Names { finder: loose.finder(), follows: &follows }),
    };
    let mut classes = open_classes(matching, loose.as_ref());
    let mut mappings = Vec::new();
    let mut changed = Vec::new();
    let mut unchanged = 0;
    let stayed = identical_stayed(matching);
    for (pair, differs) in matching.pairs.iter().zip(&differs) {
        let mut differences = Vec::new();
        if *differs {
            differences = differ.differences(pair.old, pair.new)?;
            if pair.by_names {
                differences.iter_mut().for_each(Difference::is_by_name);
            }
        }
        match moved(matching, pair) {
            Some(evidence) => {
                let indistinct = is_indistinct(matching, pair);
                if indistinct && decisions.strict {
                    classes.push(Class { old: vec![pair.old], new: vec![pair.new] });
                } else {
                    mappings.push(mapping(
                        matching,
                        pair,
                        evidence,
                        differences,
                        indistinct,
                        &stayed,
                    ));
                }
            }
            None if differences.is_empty() => unchanged += 1,
            None => changed.push(Change {
                resource_type: matching.new.node(pair.new).kind.into(),
                place: matching.new.place(pair.new),
                differences,
            }),
        }
    }
    let ambiguous = questions(matching, &classes, loose.as_ref());
    let rest = Rest::new(matching, &classes, &differ)?;
    let similar = if decisions.only { Vec::new() } else { rest.similar(&differ)? };
    let mut comparison = Comparison {
        environment: environment.clone(),
        mappings,
        ambiguous,
        similar,
        added: rest.unpaired(&differ, true, decisions.explain)?,
        removed: rest.unpaired(&differ, false, decisions.explain)?,
        changed,
        unchanged,
        problems: problems(matching, &differs),
    };
    comparison.mappings.sort_by(|left, right| left.source.cmp(&right.source));
    comparison.changed.sort_by(|left, right| left.place.cmp(&right.place));
    Ok(comparison)
}

/// Returns the evidence of a pair whose place has changed. What is in a nested stack that was
/// mapped has not moved as long as it has its logical ID.
fn moved(matching: &Matching<'_, '_>, pair: &Pair) -> Option<Evidence> {
    if matching.old.location(pair.old) == matching.new.location(pair.new) {
        return None;
    }
    let (old, new) = (matching.old.node(pair.old), matching.new.node(pair.new));
    if old.logical_id == new.logical_id {
        let parent = |side: &Side<'_>, stack: usize| {
            side.scope.stacks[stack].stack.parent.as_ref().and_then(|parent| side.at(parent))
        };
        let (was, is) = (parent(matching.old, old.stack), parent(matching.new, new.stack));
        if was.zip(is).is_some_and(|(was, is)| matching.partner_of_old(was) == Some(is)) {
            return None;
        }
    }
    Some(pair.evidence.clone().unwrap_or(Evidence::NestedStack))
}

fn mapping(
    matching: &Matching<'_, '_>,
    pair: &Pair,
    evidence: Evidence,
    changes: Vec<Difference>,
    indistinct: bool,
    stayed: &HashMap<NodeId, Vec<Location>>,
) -> Mapping {
    let source = matching.old.node(pair.old);
    let crosses = matching.old.stack_name(pair.old) != matching.new.stack_name(pair.new);
    let of_the_stack = source.skeleton.own_stack.filter(|_| crosses);
    Mapping {
        resource_type: source.kind.into(),
        source: matching.old.place(pair.old),
        destination: matching.new.place(pair.new),
        evidence,
        by_names: pair.by_names && changes.iter().all(|change| change.name_only),
        changes,
        indistinct,
        identical_stayed: stayed.get(&pair.old).cloned().unwrap_or_default(),
        blocked: registry::refactor_block(source.kind).or_else(|| {
            of_the_stack.map(|pseudo| format!("cannot be moved by CloudFormation, since it refers to `{pseudo}`, which differs between stacks"))
        }),
    }
}

/// How many of the identical resources that stayed are named.
const MOST_NAMED: usize = 10;

/// Returns, for moved resources that were matched by content, those that stayed where they are
/// and were equal to it when they were deployed or are equal to it now.
fn identical_stayed(matching: &Matching<'_, '_>) -> HashMap<NodeId, Vec<Location>> {
    let mut stayed: HashMap<NodeId, Vec<Location>> = HashMap::default();
    let is_by_content = |pair: &&Pair| {
        matches!(
            pair.evidence,
            Some(
                Evidence::Digest
                    | Evidence::Structure
                    | Evidence::Path(..)
                    | Evidence::LogicalId
                    | Evidence::RelativePath(..)
            )
        )
    };
    let moved: Vec<&Pair> = matching.pairs.iter().filter(is_by_content).collect();
    if moved.is_empty() {
        return stayed;
    }
    for is_new in [false, true] {
        let (side, digests) = if is_new {
            (matching.new, &matching.first_new_digests)
        } else {
            (matching.old, &matching.first_old_digests)
        };
        let of = |pair: &Pair| if is_new { pair.new } else { pair.old };
        let wanted: HashSet<&Digest> =
            moved.iter().map(|pair| &digests[of(pair) as usize]).collect();
        let mut unmoved: HashMap<&Digest, Vec<NodeId>> = HashMap::default();
        for pair in matching.pairs.iter().filter(|pair| pair.evidence.is_none()) {
            let digest = &digests[of(pair) as usize];
            if wanted.contains(digest) {
                unmoved.entry(digest).or_default().push(of(pair));
            }
        }
        // Resources are numbered in the order of their locations.
        for same in unmoved.values_mut() {
            same.sort_unstable();
            same.truncate(MOST_NAMED);
        }
        for pair in &moved {
            if let Some(same) = unmoved.get(&digests[of(pair) as usize]) {
                let locations = same.iter().map(|id| side.location(*id));
                stayed.entry(pair.old).or_default().extend(locations);
            }
        }
    }
    for locations in stayed.values_mut() {
        locations.sort();
        locations.dedup();
        locations.truncate(MOST_NAMED);
    }
    stayed
}

fn problems(matching: &Matching<'_, '_>, differs: &[bool]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = matching
        .swapped
        .iter()
        .filter(|id| {
            matching
                .partner_of_old(**id)
                .is_some_and(|new| matching.new.location(new) != matching.old.location(**id))
        })
        .map(|id| Problem {
            message: format!(
                "`{}` exists on both sides with different contents, and both contents are also \
                 found elsewhere: it is taken to have moved, since content decides",
                matching.old.location(*id)
            ),
        })
        .collect();
    problems.extend(left_behind(matching, differs));
    problems.sort();
    problems
}

/// Names resources that change in place while what they were is added elsewhere: perhaps they
/// moved, and something else took their place.
fn left_behind(matching: &Matching<'_, '_>, differs: &[bool]) -> Vec<Problem> {
    let mut added: HashMap<&Digest, Vec<NodeId>> = HashMap::default();
    for id in matching.free_new() {
        added.entry(&matching.first_new_digests[id as usize]).or_default().push(id);
    }
    let changed = matching
        .pairs
        .iter()
        .zip(differs)
        .filter(|(pair, differs)| **differs && pair.evidence.is_none());
    changed
        .filter_map(|(pair, _)| {
            let there = added.get(&matching.first_old_digests[pair.old as usize])?;
            let (from, to) = (matching.old.location(pair.old), matching.new.location(there[0]));
            Some(Problem {
                message: format!(
                    "`{from}` changes, and `{to}` is added with exactly the content that it has \
                     now: if it moved there, decide so with --map {from}:{to}"
                ),
            })
        })
        .collect()
}
