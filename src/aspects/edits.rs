//! What aspects changed in the views, and which of them made two resources more alike.

use std::collections::{BTreeMap, BTreeSet};

use super::presets::PREFIX;
use super::view::{Edit, Side};
use crate::model::{Location, Text};

/// Whether one of two properties is the other one, or within it.
pub(super) fn overlap(left: &str, right: &str) -> bool {
    let within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    within(left, right) || within(right, left)
}

/// What was changed in the views, by resource.
pub(super) struct Edits<'e> {
    deployed: BTreeMap<&'e Location, Vec<&'e Edit>>,
    local: BTreeMap<&'e Location, Vec<&'e Edit>>,
}

impl<'e> Edits<'e> {
    pub(super) fn new(edits: &'e [Edit]) -> Self {
        let mut this = Self { deployed: BTreeMap::new(), local: BTreeMap::new() };
        for edit in edits {
            let side = match edit.side {
                Side::Deployed => &mut this.deployed,
                Side::Local => &mut this.local,
            };
            side.entry(&edit.location).or_default().push(edit);
        }
        this
    }

    /// Returns the aspects that made two resources more alike, at a property or anywhere: they
    /// changed something in one of them that they did not change in the same way in the other.
    pub(super) fn of(&self, old: &Location, new: &Location, property: Option<&str>) -> Vec<Text> {
        let of = |side: &BTreeMap<&Location, Vec<&'e Edit>>,
                  location: &Location|
         -> Vec<&'e Edit> { side.get(location).cloned().unwrap_or_default() };
        let (old, new) = (of(&self.deployed, old), of(&self.local, new));
        let lacks = |edits: &[&Edit], one: &Edit| {
            !edits.iter().any(|other| {
                (&other.aspect, &other.property, &other.before)
                    == (&one.aspect, &one.property, &one.before)
            })
        };
        let mut aspects: BTreeSet<Text> = BTreeSet::new();
        for (edits, others) in [(&old, &new), (&new, &old)] {
            for edit in edits {
                if lacks(others, edit)
                    && property.is_none_or(|property| overlap(&edit.property, property))
                {
                    aspects.insert(edit.aspect.clone());
                }
            }
        }
        aspects.into_iter().collect()
    }

    /// Whether an aspect that somebody declared changed a resource.
    pub(super) fn are_declared(&self, side: Side, location: &Location) -> bool {
        let side = match side {
            Side::Deployed => &self.deployed,
            Side::Local => &self.local,
        };
        let edits = side.get(location).into_iter().flatten();
        edits.into_iter().any(|edit| !edit.aspect.starts_with(PREFIX))
    }
}
