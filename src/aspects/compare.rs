//! A comparison with aspects.
//!
//! Aspects only ever add: what the comparison finds without them stands, and what is where it was
//! stays there. With the views, more resources may turn out to be the same; what then differs
//! between them is told as it really is, with the aspects that hid it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::AspectError;
use super::bearing::Open;
use super::coverage::Coverage;
use super::edits::{Edits, overlap};
use super::read::Declarations;
use super::view::{Side, ViewRequest, Views, views};
use crate::compare::{
    self, Ambiguity, Comparison, Decisions, Difference, Evidence, FoundPair, Mapping, Place,
    Similar, Unpaired,
};
use crate::model::{Environment, Location, Object, Stack, Text, TreeNode, Value};
use crate::template::{Reference, visit};

/// The construct tree and both sides of an environment.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    /// The construct tree of the app as it is now.
    pub constructs: &'a [TreeNode],
    /// The stacks as they are deployed.
    pub deployed: &'a [Stack],
    /// The stacks as they are now.
    pub local: &'a [Stack],
}

/// A comparison, and what aspects have to do with it.
#[derive(Clone, Debug)]
pub struct Compared {
    /// What is known of the environment. Differences are those of the stacks, not of the views.
    pub comparison: Comparison,
    /// Mappings that only exist thanks to aspects.
    pub thanks: Vec<Thanks>,
    /// Differences that aspects hid.
    pub hidden: Vec<Hidden>,
    /// What the aspects found at all.
    pub coverage: Coverage,
    /// What people should know: sentences.
    pub notes: Vec<String>,
}

/// A mapping that only exists thanks to aspects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thanks {
    /// Where the resource is deployed.
    pub source: Location,
    /// Where it is now.
    pub destination: Location,
    /// The aspects, by name.
    pub aspects: Vec<Text>,
    /// They changed not the resource itself, but others that it was told by.
    pub is_indirect: bool,
}

/// A difference that aspects hid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// Where the resource is now.
    pub location: Location,
    /// What really differs.
    pub difference: Difference,
    /// The aspects, by name.
    pub aspects: Vec<Text>,
}

/// Compares the stacks of an environment, in the view of the aspects.
///
/// # Errors
/// When the two sides cannot be compared, or the aspects not invoked.
pub fn compare(
    aspects: &Declarations,
    environment: &Environment,
    sides: Sides<'_>,
    decisions: &Decisions,
) -> Result<Compared, AspectError> {
    let Sides { constructs, deployed, local } = sides;
    let decisions = &Decisions { literal: aspects.literal, ..decisions.clone() };
    let first = compare::compare(environment, deployed, local, decisions)?;
    // What people declared is looked for even if there is nothing to tell: it may be mistyped.
    if aspects.iter().all(|one| one.is_preset || !one.is_changing()) {
        let open = Open::of(&first);
        if open.is_empty() || !open.is_told_by_types(&aspects.list, deployed, local) {
            return Ok(Compared::plain(first));
        }
    }
    let settled = settled(&first, deployed, local);
    let views = views(&ViewRequest { aspects, constructs, deployed, local, settled: &settled })?;
    if !Open::of(&first).is_told_by(&views) {
        let Views { coverage, notes, .. } = views;
        return Ok(Compared { coverage, notes, ..Compared::plain(first) });
    }
    let second = in_views(environment, &first, &views, deployed, decisions)?;
    let Views { edits, coverage, notes, .. } = views;
    let mut compared = Compared { coverage, notes, ..Compared::plain(first) };
    let first = &compared.comparison;
    let seen = Seen { first, second: &second, edits: &Edits::new(&edits), deployed };
    let new = seen.new_mappings();
    let mut whole = if new.is_empty() && seen.has_no_new_questions() {
        first.clone()
    } else {
        // What names explain in a view need not be all that differs.
        let pairs = new.iter().map(|it| FoundPair { by_names: false, ..pair(it) });
        let kept = with_pairs(decisions, pins(first, deployed));
        let all = with_pairs(&kept, pairs.collect());
        let third = compare::compare(environment, deployed, local, &all)?;
        let offered = third.similar.clone();
        let mut whole = seen.whole(third);
        let only_seen = as_offered(&mut whole.similar, &offered);
        if !only_seen.is_empty() {
            // What differs in them is told by a comparison in which they are taken.
            let taken = with_pairs(&all, only_seen);
            let taken = compare::compare(environment, deployed, local, &taken)?;
            as_taken(&mut whole.similar, &taken);
        }
        whole
    };
    let hidden = seen.hidden(&whole);
    let thanks = seen.thanks(&new, &hidden);
    whole.mappings.sort_by(|left, right| left.source.cmp(&right.source));
    compared.comparison = whole;
    compared.thanks = thanks;
    compared.hidden = hidden;
    Ok(compared)
}

/// Compares the views. What the comparison without aspects found stands: only if the views alone
/// do not tell all of it as well, it is given to the second comparison, in which it counts for no
/// more than it did.
fn in_views(
    environment: &Environment,
    first: &Comparison,
    views: &Views,
    deployed: &[Stack],
    decisions: &Decisions,
) -> Result<Comparison, AspectError> {
    let freely = compare::compare(environment, &views.deployed, &views.local, decisions)?;
    if keeps(first, &freely) {
        return Ok(freely);
    }
    let kept = with_pairs(decisions, pins(first, deployed));
    Ok(compare::compare(environment, &views.deployed, &views.local, &kept)?)
}

/// Gives pairs that are alike in the view the differences of the stacks. Returns those that are only
/// offered in the view.
fn as_offered(pairs: &mut [Similar], offered: &[Similar]) -> Vec<FoundPair> {
    let mut only_seen = Vec::new();
    for one in pairs {
        let same = |other: &&Similar| {
            (&other.source, &other.destination) == (&one.source, &one.destination)
        };
        match offered.iter().find(same) {
            Some(same) => one.differences.clone_from(&same.differences),
            None => only_seen.push(FoundPair {
                source: one.source.location.clone(),
                destination: one.destination.location.clone(),
                evidence: None,
                by_names: false,
            }),
        }
    }
    only_seen
}

/// Gives them the differences of a comparison in which they are mapped.
fn as_taken(pairs: &mut [Similar], taken: &Comparison) {
    let mappings: BTreeMap<_, _> = taken.mappings.iter().map(|it| (ends(it), it)).collect();
    for one in pairs {
        if let Some(mapping) = mappings.get(&(&one.source.location, &one.destination.location)) {
            one.differences.clone_from(&mapping.changes);
        }
    }
}

/// Whether a comparison finds all that another one did, and leaves what stayed where it is.
fn keeps(first: &Comparison, second: &Comparison) -> bool {
    let found: BTreeSet<_> = second.mappings.iter().map(ends).collect();
    let sources: BTreeSet<_> = found.iter().map(|(from, _)| *from).collect();
    let targets: BTreeSet<_> = found.iter().map(|(_, to)| *to).collect();
    let stays = |location: &Location| !sources.contains(location) && !targets.contains(location);
    first.mappings.iter().all(|one| found.contains(&ends(one)))
        && first.changed.iter().all(|one| stays(&one.place.location))
}

impl Compared {
    /// Returns a comparison with which aspects have nothing to do.
    pub fn plain(comparison: Comparison) -> Self {
        Self {
            comparison,
            thanks: Vec::new(),
            hidden: Vec::new(),
            coverage: Coverage::default(),
            notes: Vec::new(),
        }
    }
}

/// Returns the resources that are known to be the same: those that moved, and those that are
/// where they were.
fn settled(first: &Comparison, deployed: &[Stack], local: &[Stack]) -> Vec<(Location, Location)> {
    let mut open: HashSet<&Location> = HashSet::new();
    let unpaired = first.added.iter().chain(&first.removed);
    open.extend(unpaired.map(|one| &one.place.location));
    for ambiguity in &first.ambiguous {
        let places = ambiguity.sources.iter().chain(&ambiguity.destinations);
        open.extend(places.map(|place| &place.location));
    }
    for similar in &first.similar {
        open.extend([&similar.source.location, &similar.destination.location]);
    }
    for mapping in &first.mappings {
        open.extend([&mapping.source.location, &mapping.destination.location]);
    }
    let types = |stacks: &[Stack]| -> BTreeMap<Location, Value> {
        let resources = stacks.iter().flat_map(|stack| {
            stack.template.resources().map(|(id, body)| {
                let location =
                    Location { stack: stack.name.clone(), logical_id: id.clone().into() };
                (location, body.get("Type").cloned().unwrap_or_default())
            })
        });
        resources.collect()
    };
    let now = types(local);
    let stayed = types(deployed)
        .into_iter()
        .filter(|(location, kind)| now.get(location) == Some(kind) && !open.contains(location))
        .map(|(location, _)| (location.clone(), location));
    let moved = first
        .mappings
        .iter()
        .map(|one| (one.source.location.clone(), one.destination.location.clone()));
    moved.chain(stayed).collect()
}

/// Returns the pairs that a comparison of the views must not undo.
fn pins(first: &Comparison, deployed: &[Stack]) -> Vec<FoundPair> {
    let stayed = first
        .changed
        .iter()
        .map(|change| &change.place.location)
        .filter(|location| is_here(location, deployed))
        .map(|location| FoundPair {
            source: location.clone(),
            destination: location.clone(),
            evidence: None,
            by_names: false,
        });
    first.mappings.iter().map(pair).chain(stayed).collect()
}

/// Whether a resource is where it was: what is in a renamed nested stack is not.
fn is_here(location: &Location, stacks: &[Stack]) -> bool {
    stacks.iter().any(|stack| {
        stack.name == location.stack
            && stack.template.resource(location.logical_id.as_str()).is_some()
    })
}

/// Returns a mapping as a pair that counts for as much as it did: no more, or what is built on it
/// would be a guess.
fn pair(mapping: &Mapping) -> FoundPair {
    let evidence = match &mapping.evidence {
        Evidence::NestedStack => None,
        other => Some(other.clone()),
    };
    FoundPair {
        source: mapping.source.location.clone(),
        destination: mapping.destination.location.clone(),
        evidence,
        by_names: mapping.by_names,
    }
}

fn with_pairs(decisions: &Decisions, pairs: Vec<FoundPair>) -> Decisions {
    let mut all = decisions.clone();
    all.found.extend(pairs);
    all
}

/// Both comparisons.
struct Seen<'c> {
    first: &'c Comparison,
    second: &'c Comparison,
    edits: &'c Edits<'c>,
    deployed: &'c [Stack],
}

fn ends(mapping: &Mapping) -> (&Location, &Location) {
    (&mapping.source.location, &mapping.destination.location)
}

impl<'c> Seen<'c> {
    /// Returns the mappings that only exist in the view of the aspects.
    fn new_mappings(&self) -> Vec<&'c Mapping> {
        let known: BTreeSet<_> = self.first.mappings.iter().map(ends).collect();
        self.second.mappings.iter().filter(|mapping| !known.contains(&ends(mapping))).collect()
    }

    /// Puts the evidence of the first two comparisons into one of the stacks as they are, in
    /// which all pairs were given.
    fn whole(&self, mut third: Comparison) -> Comparison {
        let first: BTreeMap<_, _> = self.first.mappings.iter().map(|it| (ends(it), it)).collect();
        let second: BTreeMap<_, _> = self.second.mappings.iter().map(|it| (ends(it), it)).collect();
        for mapping in &mut third.mappings {
            let was_there = first.get(&ends(mapping)).copied();
            let Some(known) = was_there.or_else(|| second.get(&ends(mapping)).copied()) else {
                continue;
            };
            let changes = std::mem::replace(mapping, known.clone()).changes;
            if was_there.is_none() {
                mapping.by_names &= changes.iter().all(|change| change.name_only);
            }
            if was_there.is_none() || !mapping.by_names {
                mapping.changes = changes;
            }
        }
        // What is open is what is open in the view: a question may only arise there.
        let ends = third.mappings.iter().map(ends);
        let (old, new): (BTreeSet<Location>, BTreeSet<Location>) =
            ends.map(|(old, new)| (old.clone(), new.clone())).unzip();
        let second = self.second.clone();
        let (asked, dropped) = second.ambiguous.into_iter().partition(|one| self.is_asked(one));
        third.ambiguous = asked;
        third.ambiguous.retain_mut(|one| {
            one.sources.retain(|place| !old.contains(&place.location));
            one.destinations.retain(|place| !new.contains(&place.location));
            !one.sources.is_empty() && !one.destinations.is_empty()
        });
        third.similar = second.similar;
        third.similar.retain(|one| {
            !old.contains(&one.source.location) && !new.contains(&one.destination.location)
        });
        let real = std::mem::replace(&mut third.added, second.added);
        nearest_of(&mut third.added, &real);
        let real = std::mem::replace(&mut third.removed, second.removed);
        nearest_of(&mut third.removed, &real);
        for ambiguity in dropped {
            third.added.extend(unpaired(&ambiguity, &ambiguity.destinations, &self.first.added));
            third.removed.extend(unpaired(&ambiguity, &ambiguity.sources, &self.first.removed));
        }
        third.added.retain(|one| !new.contains(&one.place.location));
        third.added.sort_by(|left, right| left.place.cmp(&right.place));
        third.removed.retain(|one| !old.contains(&one.place.location));
        third.removed.sort_by(|left, right| left.place.cmp(&right.place));
        third
    }

    /// Whether people have to answer a question. One that only arises since what is built in
    /// makes resources alike is none: nobody has said that what tells them apart does not count.
    fn is_asked(&self, ambiguity: &Ambiguity) -> bool {
        let (old, new) = places(ambiguity);
        let is_old_question = self.first.ambiguous.iter().any(|one| {
            let (first_old, first_new) = places(one);
            !old.is_disjoint(&first_old) || !new.is_disjoint(&first_new)
        });
        is_old_question
            || old.iter().any(|location| self.edits.are_declared(Side::Deployed, location))
            || new.iter().any(|location| self.edits.are_declared(Side::Local, location))
    }

    fn has_no_new_questions(&self) -> bool {
        let of = |comparison: &'c Comparison| -> Vec<_> {
            comparison.ambiguous.iter().map(places).collect()
        };
        of(self.first) == of(self.second)
    }

    /// Returns the differences that are there, but not in the view.
    fn hidden(&self, whole: &Comparison) -> Vec<Hidden> {
        let left = by_location(self.second);
        let mut hidden = Vec::new();
        let sources: BTreeMap<&Location, &Location> = whole
            .mappings
            .iter()
            .map(|it| (&it.destination.location, &it.source.location))
            .collect();
        for (location, differences) in by_location(whole) {
            let source = sources.get(location).copied().unwrap_or(location);
            for difference in differences {
                let is_seen = left.get(location).is_some_and(|left| {
                    left.iter().any(|other| overlap(&other.property, &difference.property))
                });
                let aspects = self.edits.of(source, location, Some(&difference.property));
                if !is_seen && !aspects.is_empty() {
                    hidden.push(Hidden {
                        location: location.clone(),
                        difference: difference.clone(),
                        aspects,
                    });
                }
            }
        }
        hidden
    }

    /// Says for each mapping which aspects it exists thanks to: those that made the two alike, or
    /// else those that told what they refer to.
    fn thanks(&self, new: &[&Mapping], hidden: &[Hidden]) -> Vec<Thanks> {
        let mut own: BTreeMap<&Location, Vec<Text>> = BTreeMap::new();
        for mapping in new {
            let (source, destination) = ends(mapping);
            own.insert(source, self.edits.of(source, destination, None));
        }
        let thanks = |mapping: &&Mapping| {
            let (source, destination) = ends(mapping);
            let mut aspects = own.get(source).cloned().unwrap_or_default();
            let is_indirect = aspects.is_empty();
            if is_indirect {
                aspects = self.through_references(source, &own);
            }
            // What refers to it may have told as well.
            if aspects.is_empty() {
                let all = own.values().flatten().chain(hidden.iter().flat_map(|it| &it.aspects));
                aspects = all.cloned().collect::<BTreeSet<Text>>().into_iter().collect();
            }
            let (source, destination) = (source.clone(), destination.clone());
            Thanks { source, destination, aspects, is_indirect }
        };
        new.iter().map(thanks).collect()
    }

    /// Returns the aspects of the nearest resources of the same stack that a deployed one refers
    /// to, directly or through others.
    fn through_references(
        &self,
        source: &Location,
        own: &BTreeMap<&Location, Vec<Text>>,
    ) -> Vec<Text> {
        let Some(stack) = self.deployed.iter().find(|stack| stack.name == source.stack) else {
            return Vec::new();
        };
        let mut seen: BTreeSet<Location> = BTreeSet::from([source.clone()]);
        let mut layer = vec![source.clone()];
        while !layer.is_empty() {
            let mut next = Vec::new();
            for location in layer {
                let body = stack.template.resource(location.logical_id.as_str());
                for (_, value) in body.into_iter().flat_map(Object::iter) {
                    visit(value, &mut |reference| {
                        if let Reference::Name(name, _) = reference {
                            let target = Location::new(source.stack.as_str(), name);
                            if seen.insert(target.clone()) {
                                next.push(target);
                            }
                        }
                    });
                }
            }
            let found: BTreeSet<&Text> =
                next.iter().filter_map(|target| own.get(target)).flatten().collect();
            if !found.is_empty() {
                return found.into_iter().cloned().collect();
            }
            layer = next;
        }
        Vec::new()
    }
}

/// Takes what is nearest, and how it differs, from the comparison of the stacks.
fn nearest_of(unpaired: &mut [Unpaired], real: &[Unpaired]) {
    let real: BTreeMap<&Place, &Unpaired> = real.iter().map(|one| (&one.place, one)).collect();
    for one in unpaired {
        if let Some(real) = real.get(&one.place) {
            one.nearest.clone_from(&real.nearest);
        }
    }
}

fn places(ambiguity: &Ambiguity) -> (BTreeSet<&Location>, BTreeSet<&Location>) {
    let sources = ambiguity.sources.iter().map(|place| &place.location);
    let destinations = ambiguity.destinations.iter().map(|place| &place.location);
    (sources.collect(), destinations.collect())
}

/// Returns what is on one side of a question that is not asked.
fn unpaired(question: &Ambiguity, places: &[Place], first: &[Unpaired]) -> Vec<Unpaired> {
    let unpaired = |place: &Place| {
        let known = first.iter().find(|one| one.place == *place);
        known.cloned().unwrap_or_else(|| Unpaired {
            resource_type: question.resource_type.clone(),
            place: place.clone(),
            nearest: None,
            excluded: None,
        })
    };
    places.iter().map(unpaired).collect()
}

/// Returns what differs in the resources that are on both sides.
fn by_location(comparison: &Comparison) -> BTreeMap<&Location, &[Difference]> {
    let moved =
        comparison.mappings.iter().map(|it| (&it.destination.location, it.changes.as_slice()));
    let changed =
        comparison.changed.iter().map(|it| (&it.place.location, it.differences.as_slice()));
    moved.chain(changed).collect()
}
