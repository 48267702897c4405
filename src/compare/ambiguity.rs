//! What the evidence does not decide, grouped so that a person decides once per construct.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap as HashMap;

use super::classes::{Class, Classes};
use super::comparison::{Ambiguity, Place};
use super::loose::Loose;
use super::matching::Matching;
use super::names::Form;
use super::scope::NodeId;
use super::side::Side;
use crate::model::{ConstructPath, Location};

/// Returns the classes of free resources that are left with candidates on both sides: of equal
/// digest first, then of equal weak digest where names could explain what differs.
pub(super) fn open_classes(matching: &Matching<'_, '_>, loose: Option<&Loose<'_>>) -> Vec<Class> {
    let (old, new) = (matching.old, matching.new);
    let mut taken_old = vec![false; old.nodes.len()];
    let mut taken_new = vec![false; new.nodes.len()];
    let mut open = Vec::new();
    let exact = (matching.digests(), None);
    let weak = loose.map(|loose| (loose.digests(matching), Some(loose)));
    for ((old_digests, new_digests), loose) in std::iter::once(exact).chain(weak) {
        let classes = Classes::new((old, &old_digests), (new, &new_digests), |is_new, id| {
            let taken = if is_new { &taken_new } else { &taken_old };
            matching.is_free(is_new, id) && !taken[id as usize]
        });
        for class in classes.open() {
            if loose.is_some_and(|loose| !is_possible(matching, loose, &class)) {
                continue;
            }
            class.old.iter().for_each(|id| taken_old[*id as usize] = true);
            class.new.iter().for_each(|id| taken_new[*id as usize] = true);
            open.push(class);
        }
    }
    open.sort_by(|left, right| left.old.cmp(&right.old));
    open
}

/// Whether names could explain what differs, if the constructs in question were renamed so.
fn is_possible(matching: &Matching<'_, '_>, loose: &Loose<'_>, class: &Class) -> bool {
    let (was, is) = constructs(matching, class, Some(loose)).unwrap_or_default();
    let in_question = |from: &str, to: &str| {
        let is_in = |paths: &[String], path: &str| paths.iter().any(|other| other == path);
        class.pair().is_none() && is_in(&was, from) && is_in(&is, to)
    };
    let proves = |old, new| loose.proves_given(matching, old, new, &in_question);
    class.old.iter().any(|old| proves(*old, class.new[0]))
        || class.new.iter().any(|new| proves(class.old[0], *new))
}

/// Makes questions of classes: those whose candidates differ in the same constructs are one.
pub(super) fn questions(
    matching: &Matching<'_, '_>,
    classes: &[Class],
    loose: Option<&Loose<'_>>,
) -> Vec<Ambiguity> {
    let mut groups: BTreeMap<(Vec<String>, Vec<String>), usize> = BTreeMap::new();
    let mut questions = Vec::new();
    for class in classes {
        let constructs = constructs(matching, class, loose);
        let next = groups.len();
        let group = match &constructs {
            Some(constructs) => *groups.entry(constructs.clone()).or_insert(next),
            None => {
                let alone = vec![matching.old.location(class.old[0]).to_string()];
                *groups.entry((alone, Vec::new())).or_insert(next)
            }
        };
        let paths = |paths: Vec<String>| -> Vec<ConstructPath> {
            paths.iter().map(|path| path.as_str().into()).collect()
        };
        let (was, is) = constructs.unwrap_or_default();
        questions.push(Ambiguity {
            resource_type: matching.old.node(class.old[0]).kind.into(),
            sources: class.old.iter().map(|id| matching.old.place(*id)).collect(),
            destinations: class.new.iter().map(|id| matching.new.place(*id)).collect(),
            group,
            constructs: (paths(was), paths(is)),
            referrers: (referrers(matching.old, &class.old), referrers(matching.new, &class.new)),
        });
    }
    questions.sort_by(|left, right| {
        left.group.cmp(&right.group).then_with(|| left.sources.cmp(&right.sources))
    });
    questions
}

/// How many of those that refer to a candidate are named.
const MOST_REFERRERS: usize = 5;

/// Returns who refers to each of some resources: who refers to all of them tells none of them from
/// the others, and is named only where nobody else is.
fn referrers(side: &Side<'_>, ids: &[NodeId]) -> Vec<Vec<Location>> {
    let mut of_each: Vec<Vec<NodeId>> = Vec::with_capacity(ids.len());
    let mut counts: HashMap<NodeId, usize> = HashMap::default();
    for id in ids {
        let mut own: Vec<NodeId> = side.referrers(*id).iter().map(|(id, _)| *id).collect();
        // Resources are numbered in the order of their locations.
        own.sort_unstable();
        own.dedup();
        for id in &own {
            *counts.entry(*id).or_default() += 1;
        }
        of_each.push(own);
    }
    let named = |own: Vec<NodeId>| {
        let (shared, mut telling): (Vec<_>, Vec<_>) =
            own.into_iter().partition(|id| counts[id] == ids.len());
        if telling.is_empty() {
            telling = shared;
        }
        telling.truncate(MOST_REFERRERS);
        telling.into_iter().map(|id| side.location(id)).collect()
    };
    of_each.into_iter().map(named).collect()
}

/// Returns the constructs in which the candidates differ: their paths without the end that all
/// of them have in common.
fn constructs(
    matching: &Matching<'_, '_>,
    class: &Class,
    loose: Option<&Loose<'_>>,
) -> Option<(Vec<String>, Vec<String>)> {
    let paths = |side: &Side<'_>, ids: &[NodeId]| -> Option<Vec<Vec<String>>> {
        ids.iter()
            .map(|id| {
                let path = named_construct(side.node(*id).path?, loose);
                Some(path.split('/').map(str::to_owned).collect())
            })
            .collect()
    };
    let mut old = paths(matching.old, &class.old)?;
    let mut new = paths(matching.new, &class.new)?;
    loop {
        let mut all = old.iter().chain(&new);
        let first = all.next()?.last()?.clone();
        let mut all = old.iter().chain(&new);
        if !all.all(|path| path.len() > 1 && path.last() == Some(&first)) {
            break;
        }
        for path in old.iter_mut().chain(&mut new) {
            path.pop();
        }
    }
    let join = |paths: Vec<Vec<String>>| {
        let mut paths: Vec<String> = paths.iter().map(|path| path.join("/")).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    };
    Some((join(old), join(new)))
}

/// Returns the construct that a path is about. The CDK puts names of constructs into ids of
/// others (`Policy/from ShopLb1A2B3C4D:80`): where they end up is decided by the named one.
fn named_construct(path: &str, loose: Option<&Loose<'_>>) -> String {
    let Some(loose) = loose else { return path.to_owned() };
    for id in path.split('/') {
        let mut tokens = Vec::new();
        loose.finder().mask(id, &mut tokens);
        let generated = |form: &Form| !matches!(form, Form::Id | Form::StackName);
        let mut named = tokens.iter().flat_map(|token| &token.readings);
        if let Some((_, construct)) = named.find(|(form, _)| generated(form)) {
            return construct.clone();
        }
    }
    path.to_owned()
}

impl Side<'_> {
    /// Returns location and path of a resource.
    pub(super) fn place(&self, id: NodeId) -> Place {
        Place { location: self.location(id), path: self.node(id).path.map(Into::into) }
    }
}
