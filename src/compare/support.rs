//! How well a mapping is supported besides equal contents.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap as HashMap;

use super::classes::{Class, Classes};
use super::comparison::Evidence;
use super::matching::{Matching, Pair};
use super::scope::NodeId;
use super::side::{DEPENDS_ON, Side};
use crate::model::{Object, Value};

/// Whether nothing distinctive supports a pair: the contents are equal, and that is all. A
/// default resource that was deleted in one place and another one that was added elsewhere look
/// like this, and so do the helpers of two unrelated constructs.
pub(super) fn is_indistinct(matching: &Matching<'_, '_>, pair: &Pair) -> bool {
    if !matches!(
        pair.evidence,
        Some(Evidence::Digest | Evidence::Structure | Evidence::RelativePath(..))
    ) {
        return false;
    }
    if has_corresponding_neighbour(matching, pair) {
        return false;
    }
    // Both have surroundings, and nothing in them is the same.
    let is_connected = |side: &Side<'_>, id: NodeId| {
        !side.referrers(id).is_empty() || side.targets(id).next().is_some()
    };
    if is_connected(matching.old, pair.old) && is_connected(matching.new, pair.new) {
        return true;
    }
    let (old, new) = (matching.old.node(pair.old), matching.new.node(pair.new));
    let (was, is) = (policies(old.body), policies(new.body));
    let is_distinctive = was == is && old.body.get("Properties").map_or(0, leaves) > 0;
    let keeps_name = old.logical_id == new.logical_id
        || old.path.zip(new.path).is_some_and(|(old, new)| name(old) == name(new));
    !is_distinctive && !keeps_name
}

/// Counts the scalars in a value.
fn leaves(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(leaves).sum(),
        Value::Object(object) => object.iter().map(|(_, value)| leaves(value)).sum(),
        _ => 1,
    }
}

/// What is to become of a resource when it leaves its template.
fn policies(body: &Object) -> [Option<&Value>; 2] {
    ["DeletionPolicy", "UpdateReplacePolicy"].map(|key| body.get(key))
}

/// The last component of a path that somebody chose.
fn name(path: &str) -> Option<&str> {
    path.rsplit('/').find(|id| !matches!(*id, "Resource" | "Default"))
}

/// Whether something that refers to the old resource, or that it refers to, corresponds to
/// something that does the same with the new one.
fn has_corresponding_neighbour(matching: &Matching<'_, '_>, pair: &Pair) -> bool {
    let now: Vec<_> = matching.new.referrers(pair.new).iter().collect();
    let referrers = matching.old.referrers(pair.old).iter();
    let by_referrer = referrers
        .filter(|(referrer, _)| !matching.old.node(*referrer).is_provider)
        .filter_map(|(referrer, place)| Some((matching.partner_of_old(*referrer)?, *place)))
        .any(|referrer| now.contains(&&referrer));
    by_referrer
        || matching
            .old
            .targets(pair.old)
            .filter_map(|target| matching.partner_of_old(target))
            .any(|target| matching.new.targets(pair.new).any(|other| other == target))
}

/// A matched resource (the number of its pair), whether it is referred to or refers, and the door
/// through which it does.
type Connection = (usize, bool, u64);

/// Returns the pairs that the structure points out in classes of equal content.
///
/// If each part into which a class was split has as many members on one side as on the other, all
/// of it falls into place: whoever is alone in its part is a pair. Otherwise something was added,
/// removed or changed around the class, and to be alone may only mean that somebody refers to the
/// true partner now, or does so no longer: what is not there proves nothing. Then a pair needs a
/// matched neighbour that is connected in the same way with no other candidate, on both sides.
pub(super) fn by_structure(
    matching: &Matching<'_, '_>,
    classes: &Classes<'_, '_>,
    groups: &[Class],
    refined: &[Class],
) -> Vec<(NodeId, NodeId)> {
    let alone: HashMap<NodeId, NodeId> = refined.iter().filter_map(Class::pair).collect();
    let mut found = Vec::new();
    for group in groups {
        let candidates = matching.still_free(group);
        if !candidates.has_both() {
            continue;
        }
        if classes.is_balanced(&candidates) {
            let pairs = candidates.old.iter().filter_map(|old| Some((*old, *alone.get(old)?)));
            found.extend(pairs);
        } else {
            found.extend(by_connections(matching, &candidates));
        }
    }
    found
}

/// Pairs the only candidates with a certain connection, if none of their connections says
/// otherwise.
fn by_connections(matching: &Matching<'_, '_>, candidates: &Class) -> Vec<(NodeId, NodeId)> {
    let [old, new] = [(false, &candidates.old), (true, &candidates.new)].map(|(is_new, ids)| {
        let mut holders: HashMap<Connection, Vec<NodeId>> = HashMap::default();
        for id in ids {
            for connection in connections(matching, is_new, *id) {
                holders.entry(connection).or_default().push(*id);
            }
        }
        holders
    });
    let mut images: BTreeMap<NodeId, BTreeSet<NodeId>> = BTreeMap::new();
    let mut origins: BTreeMap<NodeId, BTreeSet<NodeId>> = BTreeMap::new();
    for (connection, was) in &old {
        if let ([old], Some([new])) = (was.as_slice(), new.get(connection).map(Vec::as_slice)) {
            images.entry(*old).or_default().insert(*new);
            origins.entry(*new).or_default().insert(*old);
        }
    }
    images
        .into_iter()
        .filter(|(_, images)| images.len() == 1)
        .filter_map(|(old, images)| Some((old, images.into_iter().next()?)))
        .filter(|(_, new)| origins[new].len() == 1)
        .collect()
}

/// Returns the matched resources that refer to a resource or that it refers to.
fn connections(matching: &Matching<'_, '_>, is_new: bool, id: NodeId) -> BTreeSet<Connection> {
    let (side, pair) = if is_new {
        (matching.new, &matching.new_pair)
    } else {
        (matching.old, &matching.old_pair)
    };
    let referrers = side
        .referrers(id)
        .iter()
        .filter(|(referrer, _)| !side.node(*referrer).is_provider)
        .filter_map(|(referrer, place)| Some((pair[*referrer as usize]?, false, *place)));
    let slots = side.node(id).skeleton.slots.iter().map(|slot| (slot.target, slot.place));
    let depends_on = &side.node(id).skeleton.depends_on;
    let targets = slots
        .chain(depends_on.iter().map(|target| (*target, DEPENDS_ON)))
        .filter_map(|(target, place)| Some((pair[target as usize]?, true, place)));
    referrers.chain(targets).collect()
}
