//! Weak digests, and the proof that they need (design, section 4.2).
//!
//! Two bodies with equal weak digests differ at most in names that the app itself can produce.
//! That only proposes a pair. It stands if each difference is explained by the renaming of
//! constructs: by the pair's own for names that cannot be coincidence (its whole path, its unique
//! id, its address), by other pairs for everything else.

use std::collections::{BTreeSet, HashSet};

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
pub(super) struct Loose {
    finder: Finder,
    old: Vec<Option<Skeleton>>,
    new: Vec<Option<Skeleton>>,
}

impl Loose {
    /// Reads what is not matched yet. `None` if no name could explain anything.
    pub(super) fn read(
        matching: &Matching<'_, '_>,
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
        let Some(finder) = finder else { return Ok(None) };
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
        let old = walk(matching.old, &matching.old_pair)?;
        let new = walk(matching.new, &matching.new_pair)?;
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
fn finder(matching: &Matching<'_, '_>, strength: Strength) -> Option<Finder> {
    let mut known: BTreeSet<KnownConstruct<'_>> = BTreeSet::new();
    let mut ids: [HashSet<&str>; 2] = [HashSet::new(), HashSet::new()];
    let sides = [(matching.old, &matching.old_pair), (matching.new, &matching.new_pair)];
    for (at, (side, pair)) in sides.into_iter().enumerate() {
        let mut around = HashSet::new();
        let mut around_unmoved = HashSet::new();
        for id in side.ids() {
            let node = side.node(id);
            let Some(path) = node.path else { continue };
            let stayed = pair[id as usize].is_some_and(|pair| {
                let pair = &matching.pairs[pair];
                matching.old.node(pair.old).path == matching.new.node(pair.new).path
            });
            if strength >= Strength::Ids {
                ids[at].extend(path.split('/'));
            }
            let set = if stayed { &mut around_unmoved } else { &mut around };
            for ancestor in ancestors(path) {
                let is_new = set.insert(ancestor);
                if !stayed && is_new {
                    known.insert(construct(side, node.stack, ancestor));
                } else if !is_new {
                    break;
                }
            }
        }
        for (stack, scope) in side.scope.stacks.iter().enumerate() {
            for path in &scope.stack.constructs {
                let path = path.as_str();
                if strength >= Strength::Ids {
                    ids[at].extend(path.split('/'));
                }
                let is_around = |path: &str| around.contains(path);
                let nearest =
                    ancestors(path).find(|path| is_around(path) || around_unmoved.contains(path));
                if nearest.is_some_and(is_around) {
                    known.insert(construct(side, stack, path));
                }
            }
        }
    }
    let one_sided = ids[0].symmetric_difference(&ids[1]).copied().collect();
    let stack_names = renamed_stacks(matching);
    let known: Vec<_> = known.into_iter().collect();
    (!known.is_empty() || strength != Strength::Ids)
        .then(|| Finder::new(&known, &stack_names, &one_sided))
}

fn construct<'a>(side: &Side<'a>, stack: usize, path: &'a str) -> KnownConstruct<'a> {
    KnownConstruct {
        path,
        stack_components: side.stack_components[stack],
        stack_name: side.scope.stacks[stack].stack.name.as_str(),
    }
}

/// Returns the names of stacks that exist on one side only, with the paths of their constructs.
fn renamed_stacks(matching: &Matching<'_, '_>) -> Vec<(String, String)> {
    let names = |side: &Side<'_>| -> BTreeSet<(String, String)> {
        let mut names = BTreeSet::new();
        for (at, scope) in side.scope.stacks.iter().enumerate() {
            let first = side.nodes.iter().find(|node| node.stack == at && node.path.is_some());
            let path = match first.and_then(|node| node.path) {
                Some(path) => {
                    let own = path.split('/').take(side.stack_components[at]);
                    own.collect::<Vec<_>>().join("/")
                }
                None => scope.stack.name.to_string(),
            };
            if scope.stack.parent.is_none() {
                names.insert((scope.stack.name.to_string(), path));
            }
        }
        names
    };
    names(matching.old).symmetric_difference(&names(matching.new)).cloned().collect()
}

/// Whether the renaming that all pairs define explains a name.
pub(super) fn explained_by_others(matching: &Matching<'_, '_>, was: &Token, is: &Token) -> bool {
    explains(matching, &Own { old: "", new: "" }, was, is, &|_, _| false)
}

impl Loose {
    /// Returns the finder of names.
    pub(super) fn finder(&self) -> &Finder {
        &self.finder
    }
}
