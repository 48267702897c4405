//! Resources that moved and changed at once (design, section 4.3, step 5).

use rustc_hash::FxHashMap as HashMap;

use super::comparison::Evidence;
use super::difference::{Differ, View};
use super::matching::Matching;
use super::renaming::{ancestors, prefixes};
use super::scope::NodeId;
use super::side::Side;
use super::similarity::{features, score};
use super::support::is_indistinct;
use crate::registry;

/// A resource that holds data has to be this much alike to be taken for the same.
const ALIKE_STATEFUL: f64 = 0.8;

/// Any other resource has to be this much alike.
const ALIKE: f64 = 0.3;

/// Returns free pairs whose path follows from a renaming that at least half of a construct
/// proves by its contents.
pub(super) fn moved_and_changed(matching: &Matching<'_, '_>) -> Vec<(NodeId, NodeId, Evidence)> {
    let proof = Proof::new(matching);
    let whereabouts = Whereabouts::new(matching);
    let free_new = by_path(matching.new, matching.free_new());
    let free_old = by_path(matching.old, matching.free_old());
    let (old_digests, new_digests) = matching.digests();
    let mut found = Vec::new();
    for old in matching.free_old() {
        let Some(path) = matching.old.node(old).path else { continue };
        let Some((new, rest)) = only(&free_new, matching.renaming.images(path)) else { continue };
        let Some(now) = matching.new.node(new).path else { continue };
        if only(&free_old, matching.renaming.origins(now)).map(|(id, _)| id) != Some(old)
            || matching.old.node(old).kind != matching.new.node(new).kind
        {
            continue;
        }
        let outermost = (&path[..path.len() - rest.len()], &now[..now.len() - rest.len()]);
        let Some(evidence) = proof.evidence(outermost) else { continue };
        let alike = score(
            &features(matching.old, &old_digests, old),
            &features(matching.new, &new_digests, new),
        );
        let kind = matching.old.node(old).kind;
        let is_stateful = registry::is_stateful(kind);
        let enough = if is_stateful { ALIKE_STATEFUL } else { ALIKE };
        // A deployment would replace it in spite of the move: then it is not worth a doubt.
        let is_replaced = || {
            let differ = Differ {
                old: View { side: matching.old, digests: &old_digests },
                new: View { side: matching.new, digests: &new_digests },
                names: None,
            };
            differ.differences(old, new).is_ok_and(|all| all.iter().any(|one| one.replaces))
        };
        if alike >= enough && whereabouts.agree(path, now) && !(is_stateful && is_replaced()) {
            found.push((old, new, evidence));
        }
    }
    found
}

/// How many resources of a construct are mapped by their contents to the same place below
/// another, and how many there are.
struct Proof<'a> {
    proven: HashMap<(&'a str, &'a str), usize>,
    old_totals: HashMap<&'a str, usize>,
    new_totals: HashMap<&'a str, usize>,
}

impl<'a> Proof<'a> {
    fn new(matching: &Matching<'_, 'a>) -> Self {
        let mut proven: HashMap<_, usize> = HashMap::default();
        for pair in &matching.pairs {
            let by_content = matches!(
                pair.evidence,
                Some(
                    Evidence::Decision(_)
                        | Evidence::PhysicalId(_)
                        | Evidence::Digest
                        | Evidence::Structure
                        | Evidence::Path(..)
                        | Evidence::LogicalId
                        | Evidence::RelativePath(..)
                )
            );
            if !by_content || is_indistinct(matching, pair) {
                continue;
            }
            let paths = (matching.old.node(pair.old).path, matching.new.node(pair.new).path);
            if let (Some(old), Some(new)) = paths {
                for pair in prefixes(old, new) {
                    *proven.entry(pair).or_default() += 1;
                }
            }
        }
        Self { proven, old_totals: totals(matching.old), new_totals: totals(matching.new) }
    }

    /// Returns the proof for a renamed construct, or for one around it that was renamed along.
    fn evidence(&self, (old, new): (&str, &str)) -> Option<Evidence> {
        prefixes(old, new).find_map(|(from, to)| {
            let proven = *self.proven.get(&(from, to))?;
            let of = (*self.old_totals.get(from)?).max(*self.new_totals.get(to)?);
            (proven * 2 >= of).then(|| Evidence::MovedAndChanged {
                from: from.into(),
                to: to.into(),
                proven,
                of,
            })
        })
    }
}

fn totals<'a>(side: &Side<'a>) -> HashMap<&'a str, usize> {
    let mut totals: HashMap<&str, usize> = HashMap::default();
    for node in side.nodes.iter().filter(|node| node.excluded.is_none()) {
        for ancestor in node.path.into_iter().flat_map(ancestors) {
            *totals.entry(ancestor).or_default() += 1;
        }
    }
    totals
}

fn by_path<'a>(
    side: &Side<'a>,
    ids: impl Iterator<Item = NodeId>,
) -> HashMap<&'a str, Vec<NodeId>> {
    let mut index: HashMap<&str, Vec<NodeId>> = HashMap::default();
    for id in ids {
        if let Some(path) = side.node(id).path {
            index.entry(path).or_default().push(id);
        }
    }
    index
}

/// Returns the only resource that one of the nearest paths leads to, and the part of the path
/// that was not renamed.
fn only<'p>(
    index: &HashMap<&str, Vec<NodeId>>,
    paths: impl Iterator<Item = (&'p str, Vec<String>)>,
) -> Option<(NodeId, &'p str)> {
    for (rest, paths) in paths {
        let hits: Vec<NodeId> =
            paths.iter().filter_map(|path| index.get(path.as_str())).flatten().copied().collect();
        match hits.as_slice() {
            [] => {}
            [only] => return Some((*only, rest)),
            _ => return None,
        }
    }
    None
}

/// Where the resources below each construct went, or came from.
struct Whereabouts<'a> {
    forward: HashMap<&'a str, Vec<&'a str>>,
    backward: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Whereabouts<'a> {
    fn new(matching: &Matching<'_, 'a>) -> Self {
        let mut this = Self { forward: HashMap::default(), backward: HashMap::default() };
        for pair in &matching.pairs {
            let paths = (matching.old.node(pair.old).path, matching.new.node(pair.new).path);
            if let (Some(old), Some(new)) = paths {
                for ancestor in ancestors(old).skip(1) {
                    this.forward.entry(ancestor).or_default().push(new);
                }
                for ancestor in ancestors(new).skip(1) {
                    this.backward.entry(ancestor).or_default().push(old);
                }
            }
        }
        this
    }

    /// Whether no part of the construct that a resource stands for was found elsewhere, and none
    /// came from elsewhere.
    fn agree(&self, old: &str, new: &str) -> bool {
        let (old, new) = (own_construct(old), own_construct(new));
        let all_below = |parts: Option<&Vec<&str>>, construct: &str| {
            parts
                .into_iter()
                .flatten()
                .all(|part| part.strip_prefix(construct).is_some_and(|rest| rest.starts_with('/')))
        };
        all_below(self.forward.get(old), new) && all_below(self.backward.get(new), old)
    }
}

/// Returns the construct that a resource is the main part of: `App/Table` for
/// `App/Table/Resource`.
fn own_construct(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((parent, "Resource" | "Default")) => parent,
        _ => path,
    }
}
