//! Changes that have much in common, as one: a tree that a person can read where the list is too
//! long.
//!
//! In: the changes of an environment. Out: [`Group`]s by risk, type, what happens, cause, property
//! and value, in this order. A level that tells nothing apart becomes a part of what is said on
//! the level above it, and what differs for nearly every member is not told apart at all: what is
//! equal but for its names stands in one group.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{ChangeEffect, ComponentChange, EnvironmentReport, PropertyReport};
use crate::analyze::model::{Certainty, ComponentKind, PropertyChange};
use crate::analyze::rules::Risk;
use crate::model::{Text, Value};
use crate::template::json::to_compact;

/// How many causes or values are told apart.
const TOLD_APART: usize = 4;

/// Changes that have something in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What they have in common beyond the group around them, from the outside in.
    pub common: Vec<Common>,
    /// Whose they are: places in [`EnvironmentReport::changes`], ascending.
    pub members: Vec<usize>,
    /// In what they differ; empty if there is nothing more to say. A component of which several
    /// properties change may be a member of several.
    pub inner: Vec<Self>,
}

/// What changes have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Common {
    /// How dangerous they are. The outermost groups say only this.
    Risk(Risk),
    /// The kind of the components, and their type, if they have one.
    Component(ComponentKind, Option<Text>),
    /// What happens to them.
    Happens(Happens),
    /// What they follow from, the nearest cause first; empty: they do not follow from anything
    /// that others of the group follow from.
    Causes(Vec<String>),
    /// The properties that change, without places in lists.
    Properties {
        /// Their paths, with dots.
        paths: Vec<String>,
        /// The change replaces the resource; `None`: it does not.
        replaces: Option<Certainty>,
        /// How dangerous the change of the property is.
        risk: Risk,
    },
    /// The deployed and the new value; `None` where there is none.
    Values(Option<Value>, Option<Value>),
    /// Nothing: too much differs in this.
    Various(Aspect),
}

/// In what too much can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Aspect {
    /// What changes follow from.
    Causes,
    /// The values of properties.
    Values,
}

/// What happens to components of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Happens {
    /// What happens, apart from a move.
    pub effect: ChangeEffect,
    /// Whether they are in another place.
    pub moved: bool,
    /// Whether it is certain to happen.
    pub certainty: Certainty,
    /// What happens to a property, and whether that merely repeats a new name; `None` if it is not
    /// about properties.
    pub property: Option<(PropertyChange, bool)>,
}

/// Returns the changes of an environment as a tree: a group for each risk, the highest first. Each
/// change is in one of them; the groups in these, one for each type, share no change either.
pub fn aggregate(report: &EnvironmentReport) -> Vec<Group> {
    aggregate_where(report, |_, _| true)
}

/// Returns some of the changes of an environment as [`aggregate`] does. What is wanted is asked for
/// with the place of the change in the list.
pub fn aggregate_where(
    report: &EnvironmentReport,
    is_wanted: impl Fn(usize, &ComponentChange) -> bool,
) -> Vec<Group> {
    let units: Vec<Unit<'_>> = report
        .changes
        .iter()
        .enumerate()
        .filter(|(member, change)| is_wanted(*member, change))
        .flat_map(|(member, change)| Unit::of(member, change))
        .collect();
    let by_risk = split(&units, |unit| Reverse(unit.change.risk));
    let groups = by_risk.into_iter().map(|(Reverse(risk), units)| Group {
        common: vec![Common::Risk(risk)],
        members: members(&units),
        inner: by_component(&units),
    });
    groups.collect()
}

/// A change of a property, or of a component if none of its properties matters.
#[derive(Clone, Copy)]
struct Unit<'r> {
    member: usize,
    change: &'r ComponentChange,
    property: Option<&'r PropertyReport>,
}

impl<'r> Unit<'r> {
    fn of(member: usize, change: &'r ComponentChange) -> Vec<Self> {
        let all: Vec<&PropertyReport> = match change.effect {
            // What is new, or goes, has all of its properties with it.
            ChangeEffect::Add | ChangeEffect::Remove | ChangeEffect::Retain => Vec::new(),
            // Once it is replaced, it does not matter what else would have been changed in place.
            ChangeEffect::Recreate => Vec::new(),
            ChangeEffect::Replace if change.certainty == Certainty::Certain => {
                change.properties.iter().filter(|one| one.replaces.is_some()).collect()
            }
            _ => change.properties.iter().collect(),
        };
        if all.is_empty() {
            return vec![Self { member, change, property: None }];
        }
        all.into_iter().map(|one| Self { member, change, property: Some(one) }).collect()
    }

    fn happens(&self) -> Happens {
        Happens {
            effect: self.change.effect,
            moved: self.change.is_moved(),
            certainty: self.change.certainty,
            property: self.property.map(|one| (one.change, one.name_only)),
        }
    }

    /// What it follows from. A property of an updated component has a cause of its own, or none.
    fn causes(&self) -> Vec<&'r str> {
        match self.property {
            Some(PropertyReport { cause: Some(cause), .. }) => vec![cause],
            Some(_) if self.change.effect == ChangeEffect::Update => Vec::new(),
            _ => self.change.causes.iter().map(String::as_str).collect(),
        }
    }

    /// The values, as texts by which they can be told apart.
    fn values(&self) -> (Option<String>, Option<String>) {
        let Some(one) = self.property else { return (None, None) };
        (one.old.as_ref().map(to_compact), one.new.as_ref().map(to_compact))
    }
}

/// A path without places in lists.
fn without_places(path: &str) -> String {
    let is_place = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    path.split('.').filter(|part| !is_place(part)).collect::<Vec<_>>().join(".")
}

fn split<'r, K: Ord>(
    units: &[Unit<'r>],
    key: impl Fn(&Unit<'r>) -> K,
) -> BTreeMap<K, Vec<Unit<'r>>> {
    let mut parts: BTreeMap<K, Vec<Unit<'r>>> = BTreeMap::new();
    for unit in units {
        parts.entry(key(unit)).or_default().push(*unit);
    }
    parts
}

fn members(units: &[Unit<'_>]) -> Vec<usize> {
    let members: BTreeSet<usize> = units.iter().map(|unit| unit.member).collect();
    members.into_iter().collect()
}

/// A group in which nothing is said twice: what all of its members have in common is said once.
fn group(common: Common, units: &[Unit<'_>], mut inner: Vec<Group>) -> Group {
    let mut common = vec![common];
    if inner.len() == 1 {
        // The list has one element, which is taken out.
        for only in std::mem::take(&mut inner) {
            common.extend(only.common);
            inner = only.inner;
        }
    }
    Group { common, members: members(units), inner }
}

/// Resources first, and of them those that go or are replaced.
fn by_component(units: &[Unit<'_>]) -> Vec<Group> {
    let parts = split(units, |unit| (unit.change.kind, unit.change.subtype.as_ref()));
    let mut parts: Vec<_> = parts.into_iter().collect();
    parts.sort_by_key(|((kind, _), units)| {
        let worst = units.iter().map(|unit| unit.change.effect).max();
        (*kind != ComponentKind::Resource, Reverse(worst))
    });
    let groups = parts.into_iter().map(|((kind, subtype), units)| {
        group(Common::Component(kind, subtype.cloned()), &units, by_happening(&units))
    });
    groups.collect()
}

fn by_happening(units: &[Unit<'_>]) -> Vec<Group> {
    let parts = split(units, |unit| Reverse(unit.happens()));
    let groups = parts
        .into_iter()
        .map(|(Reverse(happens), units)| group(Common::Happens(happens), &units, by_cause(&units)));
    groups.collect()
}

fn by_cause(units: &[Unit<'_>]) -> Vec<Group> {
    let mut parts = split(units, Unit::causes);
    let without = parts.remove(&Vec::new()).unwrap_or_default();
    let parts = parts.into_iter().map(|(causes, units)| {
        let causes = causes.into_iter().map(str::to_owned).collect();
        (Common::Causes(causes), units)
    });
    let parts = folded(parts.collect(), Aspect::Causes);
    let is_split = !parts.is_empty();
    let mut groups: Vec<Group> = parts
        .into_iter()
        .map(|(common, units)| group(common, &units, by_property(&units)))
        .collect();
    let rest = by_property(&without);
    if rest.is_empty() && is_split && !without.is_empty() {
        groups.push(group(Common::Causes(Vec::new()), &without, rest));
    } else {
        groups.extend(rest);
    }
    groups
}

fn by_property(units: &[Unit<'_>]) -> Vec<Group> {
    let with: Vec<Unit<'_>> =
        units.iter().filter(|unit| unit.property.is_some()).copied().collect();
    let parts = split(&with, |unit| {
        // Those without a property were left out a moment ago.
        let property = unit.property.map(|one| (one.risk, one.replaces));
        (Reverse(property), unit.property.map(|one| without_places(one.path())))
    });
    let groups = parts.into_iter().map(|((Reverse(property), path), units)| {
        let (risk, replaces) = property.unwrap_or_default();
        let paths = path.into_iter().collect();
        group(Common::Properties { paths, replaces, risk }, &units, by_value(&units))
    });
    together(groups.collect())
}

/// Properties that change in the same components, and of which there is nothing else to say, as
/// one group.
fn together(groups: Vec<Group>) -> Vec<Group> {
    let mut merged: Vec<Group> = Vec::new();
    for group in groups {
        let like = merged.iter_mut().find(|other| is_like(other, &group));
        match (like.and_then(|like| like.common.first_mut()), group.common.first()) {
            (
                Some(Common::Properties { paths, .. }),
                Some(Common::Properties { paths: more, .. }),
            ) => paths.extend_from_slice(more),
            _ => merged.push(group),
        }
    }
    merged
}

fn is_like(left: &Group, right: &Group) -> bool {
    let plain = |group: &Group| {
        let told = |common: &Common| matches!(common, Common::Values(..));
        group.inner.is_empty() && !group.common.iter().any(told)
    };
    let kind = |group: &Group| match group.common.first() {
        Some(Common::Properties { replaces, risk, .. }) => Some((*replaces, *risk)),
        _ => None,
    };
    plain(left) && plain(right) && kind(left) == kind(right) && left.members == right.members
}

fn by_value(units: &[Unit<'_>]) -> Vec<Group> {
    if units.iter().all(|unit| unit.property.is_none_or(|one| one.name_only)) {
        return Vec::new();
    }
    let parts = split(units, Unit::values).into_values().map(|units| {
        let property = units.first().and_then(|unit| unit.property);
        let old = property.and_then(|one| one.old.clone());
        let new = property.and_then(|one| one.new.clone());
        (Common::Values(old, new), units)
    });
    let parts = folded(parts.collect(), Aspect::Values);
    let groups = parts.into_iter().map(|(common, units)| group(common, &units, Vec::new()));
    groups.collect()
}

type Part<'r> = (Common, Vec<Unit<'r>>);

/// The largest parts, and the others as one, if there are too many.
fn folded(mut parts: Vec<Part<'_>>, aspect: Aspect) -> Vec<Part<'_>> {
    parts.sort_by_key(|(_, units)| Reverse(members(units).len()));
    if parts.len() <= TOLD_APART {
        return parts;
    }
    let is_shared = |(_, units): &&Part<'_>| members(units).len() > 1;
    let told = parts.iter().take(TOLD_APART - 1).take_while(is_shared).count();
    let rest: Vec<Unit<'_>> = parts.split_off(told).into_iter().flat_map(|(_, all)| all).collect();
    parts.push((Common::Various(aspect), rest));
    parts
}

#[cfg(test)]
#[path = "aggregate_tests.rs"]
mod tests;
