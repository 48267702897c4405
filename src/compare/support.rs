//! How well a mapping is supported besides equal contents.

use super::comparison::Evidence;
use super::matching::{Matching, Pair};
use super::scope::NodeId;
use super::side::Side;
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
    let is_distinctive = was == is && old.body.get("Properties").map_or(0, leaves) > 1;
    let keeps_name = old.logical_id == new.logical_id
        || old.path.zip(new.path).is_some_and(|(old, new)| name(old) == name(new));
    !is_distinctive && !keeps_name
}

/// Counts the scalars in a value. One alone is a common setting: a retention, a timeout.
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
