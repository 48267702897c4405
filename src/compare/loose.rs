//! Weak digests, and the proof that they need (design, section 4.2).
//!
//! Two bodies with equal weak digests differ at most in names that the app itself can produce.
//! That only proposes a pair. It stands if each difference is explained by the renaming of
//! constructs: by the pair's own for names that cannot be coincidence (its whole path, its unique
//! id, its address), by other pairs for everything else.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet as HashSet;

use super::CompareError;
use super::digest::Digest;
use super::matching::Matching;
use super::names::{Finder, Form, KnownConstruct, Token};
use super::renaming::{ancestors, prefixes};
use super::scope::NodeId;
use super::side::Side;
use super::skeleton::{Reading, Skeleton, Walker};

/// Which names are read as names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// Those that the CDK generates: paths, unique ids, addresses, names of stacks.
    Names,
    /// Bare ids of constructs that exist on one side only, too.
    Ids,
    /// The same, and `DeletionPolicy` and `UpdateReplacePolicy` do not count: they say what is to
    /// become of a resource, not what it is.
    WithoutPolicies,
}

/// Both sides in a loose reading. What is matched already is not read again.
pub(super) struct Loose<'a> {
    finder: Finder<'a>,
    old: Vec<Option<Skeleton>>,
    new: Vec<Option<Skeleton>>,
}

impl<'a> Loose<'a> {
    /// Reads what is not matched yet. `None` if this reading cannot find anything new.
    pub(super) fn read(
        matching: &Matching<'_, 'a>,
        strength: Strength,
    ) -> Result<Option<Self>, CompareError> {
        let has_policy = |side: &Side<'_>, id| {
            let body = side.node(id).body;
            body.contains_key("DeletionPolicy") || body.contains_key("UpdateReplacePolicy")
        };
        if strength == Strength::WithoutPolicies
            && !matching.free_old().any(|id| has_policy(matching.old, id))
            && !matching.free_new().any(|id| has_policy(matching.new, id))
        {
            return Ok(None);
        }
        let finder = finder(matching, strength);
        let reading = match strength {
            Strength::WithoutPolicies => Reading::LooseWithoutPolicies(&finder),
            Strength::Names | Strength::Ids => Reading::Loose(&finder),
        };
        let walk = |side: &Side<'_>, pair: &[Option<usize>]| {
            let mut walker = Walker::new(&side.scope, reading);
            side.ids()
                .map(|id| {
                    if pair[id as usize].is_some() {
                        return Ok(None);
                    }
                    let node = side.node(id);
                    walker
                        .resource(node.stack, node.logical_id, node.body)
                        .map(Some)
                        .map_err(|error| error.at(&side.location(id)))
                })
                .collect::<Result<Vec<_>, _>>()
        };
        let (old, new) = std::thread::scope(|scope| {
            let old = scope.spawn(|| walk(matching.old, &matching.old_pair));
            let new = walk(matching.new, &matching.new_pair);
            (old.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), new)
        });
        let (old, new) = (old?, new?);
        Ok(Some(Self { finder, old, new }))
    }

    /// Returns the weak digests of both sides.
    pub(super) fn digests(&self, matching: &Matching<'_, '_>) -> (Vec<Digest>, Vec<Digest>) {
        (
            matching.old.digests(|id| self.old[id as usize].as_ref(), &matching.old_pair),
            matching.new.digests(|id| self.new[id as usize].as_ref(), &matching.new_pair),
        )
    }

    /// Whether the renaming explains every name that differs between two resources of equal
    /// weak digest.
    pub(super) fn proves(&self, matching: &Matching<'_, '_>, old: NodeId, new: NodeId) -> bool {
        self.proves_given(matching, old, new, &|_, _| false)
    }

    /// Whether the renaming would explain every name that differs, given that the constructs
    /// that `given` names were renamed so.
    pub(super) fn proves_given(
        &self,
        matching: &Matching<'_, '_>,
        old: NodeId,
        new: NodeId,
        given: &dyn Fn(&str, &str) -> bool,
    ) -> bool {
        let (Some(was), Some(is)) = (&self.old[old as usize], &self.new[new as usize]) else {
            return false;
        };
        let own = Own {
            old: matching.old.node(old).path.unwrap_or_default(),
            new: matching.new.node(new).path.unwrap_or_default(),
        };
        was.tokens.len() == is.tokens.len()
            && was
                .tokens
                .iter()
                .zip(&is.tokens)
                .all(|(was, is)| explains(matching, &own, was, is, given))
    }
}

/// The paths of the pair that is being proven.
struct Own<'p> {
    old: &'p str,
    new: &'p str,
}

impl Own<'_> {
    /// Whether the pair itself says that `old` is now `new`: they are its own place, one around
    /// it, or a part of the construct that it belongs to.
    fn says(&self, construct: &str, old: &str, new: &str) -> bool {
        let parent = self.old.rsplit_once('/').map_or(self.old, |(parent, _)| parent);
        let is_own = below(self.old, construct).is_some() || below(construct, parent).is_some();
        is_own && below(self.old, old).is_some_and(|rest| below(self.new, new) == Some(rest))
    }

    /// Whether the pair does not say otherwise: `old` is its own place, or one around it, and
    /// `new` is not, or the other way round.
    fn allows(&self, old: &str, new: &str) -> bool {
        below(self.old, old).is_some() == below(self.new, new).is_some()
    }
}

/// Returns what is left of a path below an ancestor.
fn below<'p>(path: &'p str, ancestor: &str) -> Option<&'p str> {
    path.strip_prefix(ancestor).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn explains(
    matching: &Matching<'_, '_>,
    own: &Own<'_>,
    was: &Token,
    is: &Token,
    given: &dyn Fn(&str, &str) -> bool,
) -> bool {
    was.text == is.text
        || was.readings.iter().any(|(form, old)| {
            is.readings.iter().filter(|(other, _)| form == other).any(|(_, new)| {
                follows(matching, own, *form, old, new)
                    || prefixes(old, new).any(|(from, to)| own.allows(from, to) && given(from, to))
            })
        })
}

/// Whether a construct is known to have gone from one path to another.
fn follows(matching: &Matching<'_, '_>, own: &Own<'_>, form: Form, old: &str, new: &str) -> bool {
    let cannot_be_coincidence = match form {
        Form::Unique { .. } | Form::Address { .. } | Form::Path { whole: true } => true,
        // People write `orders/table` as well.
        Form::Path { whole: false } | Form::StackName | Form::Id => false,
    };
    prefixes(old, new).any(|(from, to)| {
        matching.renaming.says(from, to) || (cannot_be_coincidence && own.says(old, from, to))
    })
}

/// Makes the finder for the names of everything that is not known to have stayed.
fn finder<'a>(matching: &Matching<'_, 'a>, strength: Strength) -> Finder<'a> {
    let mut known = Vec::new();
    let mut seen = HashSet::default();
    let old = Surroundings::new(matching, false);
    let new = Surroundings::new(matching, true);
    for surroundings in [&old, &new] {
        for construct in surroundings.known() {
            if seen.insert(construct.path) {
                known.push(construct);
            }
        }
    }
    let ids = match strength {
        Strength::Names => HashSet::default(),
        Strength::Ids | Strength::WithoutPolicies => {
            let mut ids = old.ids_missing_in(matching.new);
            ids.extend(new.ids_missing_in(matching.old));
            ids
        }
    };
    Finder::new(known, &renamed_stacks(matching), &ids)
}

/// The constructs of one side around resources that moved or are not matched yet.
struct Surroundings<'s, 'a> {
    side: &'s Side<'a>,
    around: HashSet<&'a str>,
    /// Those of them that contain resources that stayed, too.
    shared: HashSet<&'a str>,
}

impl<'s, 'a> Surroundings<'s, 'a> {
    fn new(matching: &Matching<'s, 'a>, is_new: bool) -> Self {
        let (side, pair) = if is_new {
            (matching.new, &matching.new_pair)
        } else {
            (matching.old, &matching.old_pair)
        };
        let stayed = |id: NodeId| {
            pair[id as usize].is_some_and(|pair| {
                let pair = &matching.pairs[pair];
                pair.evidence.is_none()
                    || matching.old.node(pair.old).path == matching.new.node(pair.new).path
            })
        };
        let (unmoved, moved): (Vec<NodeId>, Vec<NodeId>) = side.ids().partition(|id| stayed(*id));
        let mut around = HashSet::default();
        for path in moved.iter().filter_map(|id| side.node(*id).path) {
            for ancestor in ancestors(path) {
                if !around.insert(ancestor) {
                    break;
                }
            }
        }
        let mut shared = HashSet::default();
        let has_others = side.scope.stacks.iter().any(|scope| !scope.stack.constructs.is_empty());
        let unmoved = if has_others { unmoved } else { Vec::new() };
        for path in unmoved.iter().filter_map(|id| side.node(*id).path) {
            for ancestor in outermost_first(path).take_while(|path| around.contains(path)) {
                shared.insert(ancestor);
            }
        }
        Self { side, around, shared }
    }

    /// Returns the constructs, those without resources too.
    fn known(&self) -> Vec<KnownConstruct<'a>> {
        let mut known = Vec::new();
        let mut seen = HashSet::default();
        for node in &self.side.nodes {
            let Some(path) = node.path.filter(|path| self.around.contains(path)) else { continue };
            for ancestor in ancestors(path) {
                if !seen.insert(ancestor) {
                    break;
                }
                known.push(construct(self.side, node.stack, ancestor));
            }
        }
        for (stack, scope) in self.side.scope.stacks.iter().enumerate() {
            for path in &scope.stack.constructs {
                let path = path.as_str();
                let nearest =
                    outermost_first(path).take_while(|path| self.around.contains(path)).last();
                let is_around = nearest.is_some_and(|path| !self.shared.contains(path));
                if is_around && seen.insert(path) {
                    known.push(construct(self.side, stack, path));
                }
            }
        }
        known
    }

    /// Returns the bare ids of these constructs that no construct of the other side has.
    fn ids_missing_in(&self, other: &Side<'a>) -> HashSet<&'a str> {
        let mut ids: HashSet<&str> = HashSet::default();
        for construct in self.known() {
            ids.extend(construct.path.rsplit('/').next());
        }
        let resources = other.nodes.iter().filter_map(|node| node.path);
        let constructs = other.scope.stacks.iter().flat_map(|scope| &scope.stack.constructs);
        for path in resources.chain(constructs.map(crate::model::ConstructPath::as_str)) {
            for id in path.split('/') {
                ids.remove(id);
            }
        }
        ids
    }
}

/// Returns the ancestors of a path and the path itself, the outermost first.
fn outermost_first(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(end, _)| &path[..end]).chain(std::iter::once(path))
}

fn construct<'a>(side: &Side<'a>, stack: usize, path: &'a str) -> KnownConstruct<'a> {
    KnownConstruct {
        path,
        stack_components: side.stack_components[stack],
        stack_name: side.scope.stacks[stack].stack.name.as_str(),
    }
}

/// Returns the names of stacks that exist on one side only, with the paths of their constructs.
fn renamed_stacks<'a>(matching: &Matching<'_, 'a>) -> Vec<(&'a str, &'a str)> {
    let names = |side: &Side<'a>| -> BTreeSet<(&'a str, &'a str)> {
        let mut paths = vec![None; side.scope.stacks.len()];
        for node in &side.nodes {
            paths[node.stack] = paths[node.stack].or(node.path);
        }
        let stacks = side.scope.stacks.iter().zip(paths).zip(&side.stack_components);
        stacks
            .filter(|((scope, _), _)| scope.stack.parent.is_none())
            .map(|((scope, path), components)| {
                let name = scope.stack.name.as_str();
                (name, path.map_or(name, |path| prefix(path, *components)))
            })
            .collect()
    };
    names(matching.old).symmetric_difference(&names(matching.new)).copied().collect()
}

/// Returns the first components of a path.
fn prefix(path: &str, components: usize) -> &str {
    let end = path.match_indices('/').nth(components.saturating_sub(1));
    end.map_or(path, |(end, _)| &path[..end])
}

/// Whether the renaming that all pairs define explains a name.
pub(super) fn explained_by_others(matching: &Matching<'_, '_>, was: &Token, is: &Token) -> bool {
    explains(matching, &Own { old: "", new: "" }, was, is, &|_, _| false)
}

impl<'a> Loose<'a> {
    /// Returns the finder of names.
    pub(super) fn finder(&self) -> &Finder<'a> {
        &self.finder
    }
}
