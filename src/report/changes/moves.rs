//! Moves by construct: where a construct has moved with all that is in it, that is one thing to
//! know, and not one for each of its resources.

use std::collections::{BTreeMap, BTreeSet};

use super::phrase::Phrase;
use crate::analyze::{ComponentChange, EnvironmentReport};
use crate::report::text::squeezed;

/// So many parts of a construct that move side by side are told one by one.
const SIDE_BY_SIDE: usize = 5;
/// Longest construct path that is shown.
const PATH_WIDTH: usize = 60;

/// The components of two construct paths, before and after.
type Ends<'r> = (Vec<&'r str>, Vec<&'r str>);
/// A place in the list of changes, and the components of the path that are the same.
type Member<'r> = (usize, Vec<&'r str>);

/// A construct that has moved, with at least two resources.
pub(super) struct Way<'r> {
    from: Vec<&'r str>,
    to: Vec<&'r str>,
    /// Places in the list of changes, ascending.
    pub(super) members: Vec<usize>,
}

impl Way<'_> {
    /// `Orders/Returns → Billing/Returns`.
    pub(super) fn phrase(&self) -> Phrase {
        let path = |parts: &[&str]| squeezed(&parts.join("/"), PATH_WIDTH);
        Phrase::default().code(path(&self.from)).words(" → ").code(path(&self.to))
    }
}

/// Returns the constructs that have moved, in the order of their first resources. Resources that
/// moved alone, or of which the template does not say the construct, are in none.
pub(super) fn ways(report: &EnvironmentReport) -> Vec<Way<'_>> {
    let moved = report.changes.iter().enumerate().filter_map(|(member, change)| {
        let (from, to) = paths(change)?;
        Some((member, from, to))
    });
    let mut groups: BTreeMap<Ends<'_>, Vec<Member<'_>>> = BTreeMap::new();
    for (member, from, to) in moved {
        let kept = common_end(&from, &to);
        let rest = from[from.len() - kept..].to_vec();
        let key = (from[..from.len() - kept].to_vec(), to[..to.len() - kept].to_vec());
        groups.entry(key).or_default().push((member, rest));
    }
    let kept = kept(report);
    let mut targets: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    for (from, _) in groups.keys() {
        *targets.entry(from.clone()).or_default() += 1;
    }
    let all = groups.into_iter().flat_map(|((from, to), members)| {
        // Where nothing is left, and all went the same way, the construct itself moved.
        let prefix = from.join("/") + "/";
        let next = kept.get(kept.partition_point(|path| **path < *prefix));
        let is_left = next.is_some_and(|path| path.starts_with(&prefix));
        if is_left || targets.get(&from).is_some_and(|number| *number > 1) {
            named(&from, &to, &members)
        } else {
            vec![whole(&from, &to, &members)]
        }
    });
    let mut ways: Vec<Way<'_>> = merged(all.collect());
    ways.retain(|way| way.members.len() > 1);
    ways.sort_by_key(|way| way.members.first().copied());
    ways
}

/// The construct paths of everything that there is afterwards, sorted.
fn kept(report: &EnvironmentReport) -> Vec<&str> {
    let changed = report.changes.iter().filter_map(|change| change.after.as_ref());
    let places = changed.chain(report.unchanged.iter().map(|(_, place)| place));
    let mut paths: Vec<&str> = places.filter_map(|place| place.path.as_deref()).collect();
    paths.sort_unstable();
    paths
}

fn whole<'r>(from: &[&'r str], to: &[&'r str], members: &[Member<'r>]) -> Way<'r> {
    let members = members.iter().map(|(member, _)| *member).collect();
    Way { from: from.to_vec(), to: to.to_vec(), members }
}

/// The construct paths of a resource that moved to another construct.
fn paths(change: &ComponentChange) -> Option<(Vec<&str>, Vec<&str>)> {
    let (before, after) = (change.before.as_ref()?, change.after.as_ref()?);
    let (from, to) = (before.path.as_deref()?, after.path.as_deref()?);
    (change.is_moved() && from != to).then(|| (from.split('/').collect(), to.split('/').collect()))
}

/// How many components at the end are the same; the first ones do not count.
fn common_end(from: &[&str], to: &[&str]) -> usize {
    let pairs = from.iter().skip(1).rev().zip(to.iter().skip(1).rev());
    pairs.take_while(|(from, to)| from == to).count()
}

/// Ways whose ends are named as far as they are the same for all that goes them: what moves from
/// `Orders` to `Billing` may be no more than `Returns`.
fn named<'r>(from: &[&'r str], to: &[&'r str], members: &[Member<'r>]) -> Vec<Way<'r>> {
    // The last component is the resource itself.
    let next = |rest: &[&'r str]| rest.first().copied().filter(|_| rest.len() > 1);
    let heads: BTreeSet<Option<&str>> = members.iter().map(|(_, rest)| next(rest)).collect();
    if heads.contains(&None) || heads.len() > SIDE_BY_SIDE {
        return vec![whole(from, to, members)];
    }
    let ways = heads.into_iter().flatten().map(|head| {
        let (mut from, mut to) = (from.to_vec(), to.to_vec());
        from.push(head);
        to.push(head);
        let inner = members.iter().filter(|(_, rest)| rest.first() == Some(&head));
        let members: Vec<usize> = inner.map(|(member, _)| *member).collect();
        Way { from, to, members }
    });
    ways.collect()
}

/// Ways without those that are in another one: the id of a construct may repeat the name of one
/// around it.
fn merged(mut ways: Vec<Way<'_>>) -> Vec<Way<'_>> {
    ways.sort_by_key(|way| way.from.len());
    let mut outer: Vec<Way<'_>> = Vec::new();
    let mut known: BTreeMap<Ends<'_>, usize> = BTreeMap::new();
    for way in ways {
        let around = |from: usize, to: usize| {
            let ends = (way.from[..from].to_vec(), way.to[..to].to_vec());
            known.get(&ends).copied()
        };
        let mut lengths =
            (1..way.from.len()).flat_map(|from| (1..way.to.len()).map(move |to| (from, to)));
        if let Some(at) = lengths.find_map(|(from, to)| around(from, to)) {
            outer[at].members.extend(way.members);
        } else {
            known.insert((way.from.clone(), way.to.clone()), outer.len());
            outer.push(way);
        }
    }
    for way in &mut outer {
        way.members.sort_unstable();
    }
    outer
}

#[cfg(test)]
mod tests {
    use super::super::sample::{change, quiet};
    use super::*;
    use crate::analyze::{ChangeEffect, ChangePlace};

    /// Ways between pairs of paths, with the number of resources; one resource has stayed.
    fn found(pairs: &[(&str, &str)], stayed: &str) -> Vec<(String, usize)> {
        let place = |path: &str| {
            let stack = path.split('/').next().unwrap_or_default();
            ChangePlace {
                stack: stack.into(),
                logical_id: path.replace('/', "").into(),
                path: Some(path.into()),
            }
        };
        let changes = pairs.iter().map(|(from, to)| ComponentChange {
            before: Some(place(from)),
            after: Some(place(to)),
            ..change("T", "", "", ChangeEffect::Nothing)
        });
        let unchanged = vec![("T".into(), place(stayed))];
        let report = EnvironmentReport { changes: changes.collect(), unchanged, ..quiet() };
        ways(&report).iter().map(|way| (way.phrase().text(), way.members.len())).collect()
    }

    fn one(way: &str, number: usize) -> Vec<(String, usize)> {
        vec![(way.to_owned(), number)]
    }

    #[test]
    fn a_construct_moves_with_all_that_is_in_it() {
        let moved = [
            ("Orders/Returns/Table/Resource", "Billing/Returns/Table/Resource"),
            ("Orders/Returns/Queue/Resource", "Billing/Returns/Queue/Resource"),
            ("Orders/Returns/Accept/Orders7A", "Billing/Returns/Accept/Billing8B"),
        ];
        assert_eq!(found(&moved, "Orders/Cart"), one("Orders/Returns → Billing/Returns", 3));
        let wrapped = [
            ("Web/Shop/Api/Resource", "Web/Edge/Shop/Api/Resource"),
            ("Web/Shop/Handler/Role", "Web/Edge/Shop/Handler/Role"),
        ];
        assert_eq!(found(&wrapped, "Web/Log"), one("Web/Shop → Web/Edge/Shop", 2));
    }

    #[test]
    fn constructs_side_by_side_are_told_one_by_one_unless_they_are_many() {
        let two = |name: &str, part: &str| {
            (format!("A/{name}/{part}/Resource"), format!("B/{name}/{part}/Resource"))
        };
        let moved = |names: &[&str]| {
            let all = names.iter().flat_map(|name| [two(name, "Table"), two(name, "Queue")]);
            let all: Vec<(String, String)> = all.collect();
            let all: Vec<(&str, &str)> =
                all.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
            found(&all, "A/Rest")
        };
        let [x, y] = ["A/X → B/X", "A/Y → B/Y"].map(|way| (way.to_owned(), 2));
        assert_eq!(moved(&["X", "Y"]), [x, y]);
        assert_eq!(moved(&["R", "S", "T", "U", "V", "W"]), one("A → B", 12));
    }

    #[test]
    fn a_construct_of_which_nothing_is_left_is_told_as_a_whole() {
        let renamed = [("A/X/Table/Resource", "A/Y/Table/Resource"), ("A/X/Queue", "A/Y/Queue")];
        assert_eq!(found(&renamed, "A/XY/Queue"), one("A/X → A/Y", 2));
        let stack = [("Old/X/Table", "New/X/Table"), ("Old/Y/Table", "New/Y/Table")];
        assert_eq!(found(&stack, "Other/X"), one("Old → New", 2));
        let cut = [
            ("Old/X/Table", "New/X/Table"),
            ("Old/X/Queue", "New/X/Queue"),
            ("Old/Y/Table", "Web/Y/Table"),
            ("Old/Y/Queue", "Web/Y/Queue"),
        ];
        let expected = [("Old/X → New/X".to_owned(), 2), ("Old/Y → Web/Y".to_owned(), 2)];
        assert_eq!(found(&cut, "Other/X"), expected);
    }

    #[test]
    fn what_moves_alone_is_no_construct() {
        assert_eq!(found(&[("App/Queue/Resource", "App/Jobs/Resource")], "App/X"), []);
        assert_eq!(found(&[("App/Same", "App/Same"), ("App/Queue", "App/Queue")], "App/X"), []);
    }
}
