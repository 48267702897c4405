//! What the paths of constructs say about resources of equal content.

use rustc_hash::FxHashMap as HashMap;

use super::classes::Class;
use super::comparison::Evidence;
use super::matching::Matching;
use super::renaming::renamed;
use super::scope::NodeId;
use super::side::Side;

/// A pair and what justifies it.
type Found = (NodeId, NodeId, Evidence);

/// A way to find pairs in a class.
pub(super) type Step = for<'s, 'a> fn(&Matching<'s, 'a>, &Class) -> Vec<Found>;

/// Pairs a member with the only one that its path became, by the renaming that the pairs so far
/// define, if no other one became that.
pub(super) fn by_renaming(matching: &Matching<'_, '_>, class: &Class) -> Vec<Found> {
    let now = by_path(matching.new, &class.new);
    let was = by_path(matching.old, &class.old);
    let nearest = |path: Option<&str>, forward: bool| -> Option<NodeId> {
        let path = path?;
        let index = if forward { &now } else { &was };
        let hits = |paths: Vec<String>| -> Vec<NodeId> {
            paths.iter().filter_map(|path| index.get(path.as_str())).flatten().copied().collect()
        };
        let found = if forward {
            matching.renaming.images(path).map(|(_, p)| hits(p)).find(|hits| !hits.is_empty())
        } else {
            matching.renaming.origins(path).map(|(_, p)| hits(p)).find(|hits| !hits.is_empty())
        };
        match found?.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    };
    let mut found = Vec::new();
    for &old in &class.old {
        let Some(new) = nearest(matching.old.node(old).path, true) else { continue };
        if nearest(matching.new.node(new).path, false) == Some(old) {
            found.push((old, new, path_evidence(matching, old, new)));
        }
    }
    found
}

fn path_evidence(matching: &Matching<'_, '_>, old: NodeId, new: NodeId) -> Evidence {
    let old = matching.old.node(old).path.unwrap_or_default();
    let new = matching.new.node(new).path.unwrap_or_default();
    let (from, to) = renamed(old, new);
    Evidence::Path(from.into(), to.into())
}

fn by_path<'a>(side: &Side<'a>, ids: &[NodeId]) -> HashMap<&'a str, Vec<NodeId>> {
    let mut index: HashMap<&str, Vec<NodeId>> = HashMap::default();
    for &id in ids {
        if let Some(path) = side.node(id).path {
            index.entry(path).or_default().push(id);
        }
    }
    index
}

/// Pairs members that have the same logical ID in different stacks, if it is unique on both
/// sides.
pub(super) fn by_logical_id(matching: &Matching<'_, '_>, class: &Class) -> Vec<Found> {
    let key = |side: &Side<'_>, id: NodeId| side.node(id).logical_id.to_string();
    unique_pairs(
        class.old.iter().map(|id| (key(matching.old, *id), *id)),
        class.new.iter().map(|id| (key(matching.new, *id), *id)),
    )
    .into_iter()
    .map(|(old, new)| (old, new, Evidence::LogicalId))
    .collect()
}

/// Pairs members with equal paths below one common old and one common new ancestor of the whole
/// class. `Resource` and `Default` are no names.
pub(super) fn by_relative_path(matching: &Matching<'_, '_>, class: &Class) -> Vec<Found> {
    if class.old.len() < 2 || class.new.len() < 2 {
        return Vec::new();
    }
    let paths = |side: &Side<'_>, ids: &[NodeId]| -> Option<Vec<String>> {
        ids.iter().map(|id| side.node(*id).path.map(str::to_owned)).collect()
    };
    let (Some(old), Some(new)) = (paths(matching.old, &class.old), paths(matching.new, &class.new))
    else {
        return Vec::new();
    };
    let (old_root, new_root) = (common_ancestor(&old), common_ancestor(&new));
    let relative = |path: &str, root: &str| -> String {
        let below = path[root.len()..].split('/');
        let names: Vec<&str> =
            below.filter(|id| !matches!(*id, "" | "Resource" | "Default")).collect();
        names.join("/")
    };
    let named = |paths: &[String], root: &str, ids: &[NodeId]| -> Vec<(String, NodeId)> {
        paths
            .iter()
            .zip(ids)
            .map(|(path, id)| (relative(path, root), *id))
            .filter(|(name, _)| !name.is_empty())
            .collect()
    };
    unique_pairs(
        named(&old, &old_root, &class.old).into_iter(),
        named(&new, &new_root, &class.new).into_iter(),
    )
    .into_iter()
    .map(|(source, destination)| {
        let evidence = Evidence::RelativePath(old_root.as_str().into(), new_root.as_str().into());
        (source, destination, evidence)
    })
    .collect()
}

/// Returns the longest path that all paths lie below (strictly: a path is no ancestor of
/// itself). Empty if they have none in common.
pub(super) fn common_ancestor(paths: &[String]) -> String {
    let mut paths = paths.iter();
    let Some(first) = paths.next() else { return String::new() };
    let mut common: Vec<&str> = first.split('/').collect();
    common.pop();
    for path in paths {
        let components: Vec<&str> = path.split('/').collect();
        let equal = common
            .iter()
            .zip(&components[..components.len() - 1])
            .take_while(|(left, right)| left == right)
            .count();
        common.truncate(equal);
    }
    common.join("/")
}

/// Pairs what has the same key, if the key is unique on both sides.
fn unique_pairs(
    old: impl Iterator<Item = (String, NodeId)>,
    new: impl Iterator<Item = (String, NodeId)>,
) -> Vec<(NodeId, NodeId)> {
    let mut keys: HashMap<String, (Vec<NodeId>, Vec<NodeId>)> = HashMap::default();
    for (key, id) in old {
        keys.entry(key).or_default().0.push(id);
    }
    for (key, id) in new {
        if let Some(entry) = keys.get_mut(&key) {
            entry.1.push(id);
        }
    }
    let mut pairs: Vec<(NodeId, NodeId)> = keys
        .into_values()
        .filter_map(|(old, new)| match (old.as_slice(), new.as_slice()) {
            ([old], [new]) => Some((*old, *new)),
            _ => None,
        })
        .collect();
    pairs.sort_unstable();
    pairs
}
