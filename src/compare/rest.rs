//! What is left without a counterpart and without a question: pairs to offer, and what is added or
//! removed.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap as HashMap;

use super::CompareError;
use super::assignment::{Edge, clear_pairs};
use super::bodies::Bodies;
use super::candidates::{Measured, WHOLE, measured};
use super::classes::Class;
use super::comparison::{Difference, Place, Similar, Unpaired};
use super::difference::Differ;
use super::matching::Matching;
use super::measure::MATCHED_ABOVE;
use super::scope::NodeId;
use super::side::Side;

/// A pair is offered only if it is this much better than the second best, in millionths.
const CLEARLY_BETTER: i64 = WHOLE / 20;

/// What a pair is worth that is just alike enough, and has nothing telling in common.
const WORTH_NOTHING: i64 = WHOLE / 4;

/// The free resources of one type, both sides, with the pairs of them that were measured.
struct Alike {
    old: Vec<NodeId>,
    new: Vec<NodeId>,
    pairs: Vec<Measured>,
}

/// What is left.
pub(super) struct Rest<'s, 'a> {
    matching: &'s Matching<'s, 'a>,
    alike: Vec<Alike>,
    old: Vec<NodeId>,
    new: Vec<NodeId>,
    excluded_old: Vec<NodeId>,
    excluded_new: Vec<NodeId>,
}

impl<'s, 'a> Rest<'s, 'a> {
    /// Takes what is left of a matching, aside from the classes that people are asked about.
    pub(super) fn new(
        matching: &'s Matching<'s, 'a>,
        classes: &[Class],
        differ: &Differ<'_, '_>,
    ) -> Result<Self, CompareError> {
        let of = |side: &'s Side<'a>, pair: &[Option<usize>], mut asked: Vec<NodeId>| {
            asked.sort_unstable();
            side.ids()
                .filter(|id| pair[*id as usize].is_none() && asked.binary_search(id).is_err())
                .partition::<Vec<NodeId>, _>(|id| side.node(*id).excluded.is_some())
        };
        let asked_old = classes.iter().flat_map(|class| class.old.clone()).collect();
        let asked_new = classes.iter().flat_map(|class| class.new.clone()).collect();
        let (excluded_old, old) = of(matching.old, &matching.old_pair, asked_old);
        let (excluded_new, new) = of(matching.new, &matching.new_pair, asked_new);
        let mut kinds: BTreeMap<&str, [Vec<NodeId>; 2]> = BTreeMap::new();
        for id in &old {
            kinds.entry(matching.old.node(*id).kind).or_default()[0].push(*id);
        }
        for id in &new {
            kinds.entry(matching.new.node(*id).kind).or_default()[1].push(*id);
        }
        let finder = differ.names.as_ref().map(|names| names.finder);
        let bodies = [Bodies { view: &differ.old, finder }, Bodies { view: &differ.new, finder }];
        let mut alike = Vec::new();
        for [old, new] in kinds.into_values().filter(|ids| ids.iter().all(|ids| !ids.is_empty())) {
            let pairs = measured(&bodies[0].resources(&old)?, &bodies[1].resources(&new)?);
            alike.push(Alike { old, new, pairs });
        }
        Ok(Self { matching, alike, old, new, excluded_old, excluded_new })
    }

    /// Offers pairs that are alike, and more so than any other way to pair the resources around
    /// them.
    pub(super) fn similar(&self, differ: &Differ<'_, '_>) -> Result<Vec<Similar>, CompareError> {
        let mut similar = Vec::new();
        for alike in &self.alike {
            let edges: Vec<Edge> =
                alike.pairs.iter().map(edge).filter(|edge| edge.worth > 0).collect();
            for (left, right) in clear_pairs(&edges, CLEARLY_BETTER) {
                let found = alike
                    .pairs
                    .binary_search_by_key(&(left, right), |pair| (pair.left, pair.right));
                let Ok(at) = found else { continue };
                let (old, new) = (alike.old[left], alike.new[right]);
                similar.push(Similar {
                    resource_type: self.matching.old.node(old).kind.into(),
                    source: self.matching.old.place(old),
                    destination: self.matching.new.place(new),
                    score: percent(alike.pairs[at].score),
                    differences: differ.differences(old, new)?,
                });
            }
        }
        similar.sort_by(|left, right| left.source.cmp(&right.source));
        Ok(similar)
    }

    /// Lists what was added, or removed, with the nearest candidate if asked for.
    pub(super) fn unpaired(
        &self,
        differ: &Differ<'_, '_>,
        added: bool,
        explain: bool,
    ) -> Result<Vec<Unpaired>, CompareError> {
        let (side, own, excluded) = if added {
            (self.matching.new, &self.new, &self.excluded_new)
        } else {
            (self.matching.old, &self.old, &self.excluded_old)
        };
        let nearest = if explain { self.nearest(added) } else { HashMap::default() };
        let mut unpaired = Vec::new();
        for id in own {
            let nearest = match nearest.get(id) {
                Some(other) => Some(self.with_differences(differ, added, *id, *other)?),
                None => None,
            };
            unpaired.push(unpaired_one(side, *id, nearest));
        }
        unpaired.extend(excluded.iter().map(|id| unpaired_one(side, *id, None)));
        unpaired.sort_by(|left, right| left.place.cmp(&right.place));
        Ok(unpaired)
    }

    /// Returns for the resources of one side which one of the other is most like them.
    fn nearest(&self, is_new: bool) -> HashMap<NodeId, NodeId> {
        let mut best: HashMap<NodeId, (f64, i64, NodeId)> = HashMap::default();
        for alike in &self.alike {
            for pair in &alike.pairs {
                let (old, new) = (alike.old[pair.left], alike.new[pair.right]);
                let (id, other) = if is_new { (new, old) } else { (old, new) };
                let found = (pair.score, pair.overlap, other);
                best.entry(id)
                    .and_modify(|best| {
                        let order = found.0.total_cmp(&best.0).then(found.1.cmp(&best.1));
                        // Among equals the first one.
                        if order.then(best.2.cmp(&other)).is_gt() {
                            *best = found;
                        }
                    })
                    .or_insert(found);
            }
        }
        best.into_iter().map(|(id, (_, _, other))| (id, other)).collect()
    }

    fn with_differences(
        &self,
        differ: &Differ<'_, '_>,
        added: bool,
        id: NodeId,
        other: NodeId,
    ) -> Result<(Place, Vec<Difference>), CompareError> {
        Ok(if added {
            (self.matching.old.place(other), differ.differences(other, id)?)
        } else {
            (self.matching.new.place(other), differ.differences(id, other)?)
        })
    }
}

/// What a measured pair is worth as a proposal: half of it what the measure says, half of it how
/// much of what few others have is in both. What falls just short of being offered still casts doubt
/// on others.
fn edge(pair: &Measured) -> Edge {
    Edge {
        left: pair.left,
        right: pair.right,
        worth: i64::midpoint(millionths(pair.score), pair.overlap) - WORTH_NOTHING,
        may_be_chosen: pair.score > MATCHED_ABOVE && pair.is_supported,
    }
}

fn unpaired_one(
    side: &Side<'_>,
    id: NodeId,
    nearest: Option<(Place, Vec<Difference>)>,
) -> Unpaired {
    Unpaired {
        resource_type: side.node(id).kind.into(),
        place: side.place(id),
        nearest,
        excluded: side.node(id).excluded.clone(),
    }
}

/// Returns a share in millionths.
fn millionths(share: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "a share is between 0 and 1")]
    {
        (share * 1e6).round() as i64
    }
}

/// Returns a share as a whole percentage.
fn percent(share: f64) -> u8 {
    // Sums of shares of a whole may miss it by a rounding error.
    u8::try_from((millionths(share) / 10_000).clamp(0, 100)).unwrap_or(100)
}
