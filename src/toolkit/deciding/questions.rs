//! Which question comes next, and what an answer decides. Pure: comparisons in, decisions out.
//!
//! One answer may settle much: a pair of two constructs decides what is in them, since what the
//! pair says of the path is evidence for the rest. So after every answer the sides are compared
//! again with what was decided so far, and only what is still open is asked.

use std::collections::BTreeMap;

use crate::compare::{self, Ambiguity, Comparison, Place, Similar};
use crate::model::{ConstructPath, Environment, Location};
use crate::report;

/// What somebody has decided about one environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// Resources that are the same: where each is deployed, and where it is now.
    pub pairs: Vec<(Location, Location)>,
    /// Deployed resources that are nothing that exists now: they are left to be replaced.
    pub left: Vec<Location>,
}

impl Decided {
    /// Whether nothing was decided.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.left.is_empty()
    }

    /// Adds what was decided later.
    pub(in crate::toolkit) fn extend(&mut self, later: Self) {
        for pair in later.pairs {
            if !self.pairs.contains(&pair) {
                self.pairs.push(pair);
            }
        }
        for location in later.left {
            if !self.left.contains(&location) {
                self.left.push(location);
            }
        }
    }
}

/// What is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subjects {
    /// Resources that the evidence does not tell apart.
    pub ambiguous: bool,
    /// Pairs that are alike, but not enough so to be taken.
    pub similar: bool,
}

/// A question that is open.
#[derive(Debug)]
pub(super) struct Open<'c> {
    pub(super) environment: &'c Environment,
    pub(super) subject: Subject<'c>,
}

/// What a question is about.
#[derive(Debug)]
pub(super) enum Subject<'c> {
    /// Which of several resources a deployed one is.
    Resource {
        ambiguity: &'c Ambiguity,
        source: &'c Place,
        /// The candidates, the proposed one first.
        destinations: Vec<&'c Place>,
        /// Whether the first one is proposed.
        proposed: bool,
    },
    /// Which of several constructs a deployed one is.
    Construct {
        group: Vec<&'c Ambiguity>,
        old: &'c ConstructPath,
        /// The candidates, the proposed one first.
        new: Vec<&'c ConstructPath>,
        /// Whether the first one is proposed.
        proposed: bool,
    },
    /// Whether two resources that are alike are the same.
    Similar(&'c Similar),
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It is the candidate of this number.
    Same(usize),
    /// It is nothing that exists now.
    Leave,
    /// None of the deployed ones is anything that exists now.
    LeaveAll,
    /// Such questions are not to be asked: nothing is decided about them.
    Skip,
    /// Nobody decides anything.
    Stop,
}

/// What is to be done next.
#[derive(Debug)]
pub(super) enum Next<'c> {
    /// Somebody has to answer.
    Ask(Open<'c>),
    /// An earlier answer decides more than it seemed: the sides have to be compared again.
    Compare,
    /// Nothing is open.
    Done,
}

/// The state of the questioning.
#[derive(Debug)]
pub(super) struct Questioning {
    subjects: Subjects,
    decided: BTreeMap<Environment, Decided>,
    /// Constructs that somebody has decided about, with what they are now, if anything.
    constructs: BTreeMap<(Environment, ConstructPath), Option<ConstructPath>>,
}

impl Questioning {
    pub(super) fn new(subjects: Subjects) -> Self {
        Self { subjects, decided: BTreeMap::new(), constructs: BTreeMap::new() }
    }

    /// What was decided so far.
    pub(super) fn decided(&self) -> &BTreeMap<Environment, Decided> {
        &self.decided
    }

    /// Returns what was decided in the end, and what may still be asked about.
    pub(super) fn end(self) -> (Vec<(Environment, Decided)>, Subjects) {
        let decided = self.decided.into_iter().filter(|(_, decided)| !decided.is_empty());
        (decided.collect(), self.subjects)
    }

    /// Returns what comes next, given comparisons that know what was decided so far.
    pub(super) fn next<'c>(&mut self, comparisons: &'c [Comparison]) -> Next<'c> {
        if self.subjects.ambiguous {
            if comparisons.iter().any(|one| self.settle(one)) {
                return Next::Compare;
            }
            for comparison in comparisons {
                let groups = report::ambiguity_groups(&comparison.ambiguous);
                if let Some(group) = groups.into_iter().next() {
                    let subject = self.subject(&comparison.environment, group);
                    return Next::Ask(Open { environment: &comparison.environment, subject });
                }
            }
        }
        let similar = comparisons.iter().find_map(|one| Some((one, one.similar.first()?)));
        match similar.filter(|_| self.subjects.similar) {
            Some((Comparison { environment, .. }, pair)) => {
                Next::Ask(Open { environment, subject: Subject::Similar(pair) })
            }
            None => Next::Done,
        }
    }

    /// Takes an answer. Returns whether the questioning goes on.
    pub(super) fn answer(&mut self, open: &Open<'_>, answer: Answer) -> bool {
        let Open { environment, subject } = open;
        let mut decided = Decided::default();
        match (subject, answer) {
            (_, Answer::Stop) => return false,
            (subject, Answer::Skip) => {
                match subject {
                    Subject::Similar(_) => self.subjects.similar = false,
                    _ => self.subjects.ambiguous = false,
                }
                return true;
            }
            (Subject::Resource { source, destinations, .. }, Answer::Same(at)) => {
                // The host answers with one of the choices that it was given.
                let Some(destination) = destinations.get(at) else { return false };
                decided.pairs.push(locations((source, destination)));
            }
            (Subject::Resource { source, .. }, Answer::Leave) => {
                decided.left.push(source.location.clone());
            }
            (Subject::Resource { ambiguity, .. }, Answer::LeaveAll) => {
                decided.left.extend(ambiguity.sources.iter().map(location));
            }
            (Subject::Construct { group, old, new, .. }, Answer::Same(at)) => {
                let Some(new) = new.get(at) else { return false };
                // One pair says which construct is which; the path rule does the rest.
                let pair = pairs(group, old, new).into_iter().next();
                decided.pairs.extend(pair.map(locations));
                self.constructs
                    .insert(((*environment).clone(), (*old).clone()), Some((*new).clone()));
            }
            (Subject::Construct { group, old, .. }, Answer::Leave) => {
                let inside = within(group.iter().flat_map(|one| &one.sources), old);
                decided.left.extend(inside.into_iter().map(location));
                self.constructs.insert(((*environment).clone(), (*old).clone()), None);
            }
            (Subject::Construct { group, .. }, Answer::LeaveAll) => {
                decided.left.extend(group.iter().flat_map(|one| &one.sources).map(location));
                let constructs = group.iter().flat_map(|one| &one.constructs.0);
                let keys = constructs.map(|path| ((*environment).clone(), path.clone()));
                self.constructs.extend(keys.map(|key| (key, None)));
            }
            (Subject::Similar(pair), Answer::Same(_)) => {
                decided.pairs.push(locations((&pair.source, &pair.destination)));
            }
            (Subject::Similar(pair), Answer::Leave | Answer::LeaveAll) => {
                decided.left.push(pair.source.location.clone());
            }
        }
        self.add(environment, decided)
    }

    /// Returns whether something was added that was not decided before: nobody is asked twice.
    fn add(&mut self, environment: &Environment, new: Decided) -> bool {
        let decided = self.decided.entry(environment.clone()).or_default();
        let before = (decided.pairs.len(), decided.left.len());
        decided.extend(new);
        before != (decided.pairs.len(), decided.left.len())
    }

    /// Decides what follows from what was said about constructs, where one pair did not settle it.
    /// Returns whether something did.
    fn settle(&mut self, comparison: &Comparison) -> bool {
        let environment = &comparison.environment;
        let mut decided = Decided::default();
        for ((of, old), new) in &self.constructs {
            if of != environment {
                continue;
            }
            let all: Vec<&Ambiguity> = comparison.ambiguous.iter().collect();
            match new {
                Some(new) => {
                    decided.pairs.extend(pairs(&all, old, new).into_iter().map(locations));
                }
                None => {
                    let inside = within(all.iter().flat_map(|one| &one.sources), old);
                    decided.left.extend(inside.into_iter().map(location));
                }
            }
        }
        !decided.is_empty() && self.add(environment, decided)
    }

    fn subject<'c>(&self, environment: &Environment, group: Vec<&'c Ambiguity>) -> Subject<'c> {
        if let Some((old, new)) = report::question_constructs(&group)
            && let Some((old, new, proposed)) = self.construct(environment, &group, old, new)
        {
            return Subject::Construct { group, old, new, proposed };
        }
        // A group has a member, and every ambiguity a source and a destination.
        let ambiguity = group[0];
        let proposed = self
            .decided_elsewhere(environment, ambiguity)
            .or_else(|| compare::likely(ambiguity).first().copied());
        let (source, first) = proposed.unwrap_or_default();
        let mut destinations: Vec<&Place> = ambiguity.destinations.iter().collect();
        destinations[..=first].rotate_right(1);
        Subject::Resource {
            ambiguity,
            source: &ambiguity.sources[source],
            destinations,
            proposed: proposed.is_some(),
        }
    }

    /// The same pair may have been decided in another environment, where its stacks may be called
    /// otherwise: those of each stage of an app are.
    fn decided_elsewhere(&self, here: &Environment, of: &Ambiguity) -> Option<(usize, usize)> {
        let others = self.decided.iter().filter(|(environment, _)| *environment != here);
        let mut pairs = others.flat_map(|(_, decided)| &decided.pairs);
        let at = |places: &[Place], location: &Location| {
            let same = places.iter().position(|place| place.location == *location);
            let id = &location.logical_id;
            same.or_else(|| only(places, |place| place.location.logical_id == *id))
        };
        pairs.find_map(|(old, new)| Some((at(&of.sources, old)?, at(&of.destinations, new)?)))
    }

    /// Which construct is asked about, and its candidates: such as have a resource at the same
    /// place. What was decided in another environment is proposed first.
    fn construct<'c>(
        &self,
        here: &Environment,
        group: &[&'c Ambiguity],
        old: &'c [ConstructPath],
        new: &'c [ConstructPath],
    ) -> Option<(&'c ConstructPath, Vec<&'c ConstructPath>, bool)> {
        let fits = |old: &ConstructPath, new: &ConstructPath| !pairs(group, old, new).is_empty();
        let at = |paths: &[ConstructPath], path: &ConstructPath| {
            let same = paths.iter().position(|other| other == path);
            same.or_else(|| only(paths, |other| in_stage(other) == in_stage(path)))
        };
        let others = self.constructs.iter().filter(|((environment, _), _)| environment != here);
        let known =
            others.filter_map(|((_, was), is)| Some((at(old, was)?, at(new, is.as_ref()?)?)));
        let likely = known.chain(compare::likely_constructs(old, new));
        let mut likely = likely.map(|(from, to)| (&old[from], &new[to]));
        let proposed = likely.find(|(old, new)| fits(old, new));
        let source = match proposed {
            Some((source, _)) => source,
            None => old.iter().find(|old| new.iter().any(|new| fits(old, new)))?,
        };
        let mut candidates: Vec<_> = new.iter().filter(|new| fits(source, new)).collect();
        // The sort is stable: only the proposed one changes its place.
        candidates.sort_by_key(|path| proposed.is_none_or(|(_, proposed)| **path != *proposed));
        Some((source, candidates, proposed.is_some()))
    }
}

/// Sources in one construct and destinations in another at the same relative place.
pub(super) fn pairs<'c>(
    group: &[&'c Ambiguity],
    old: &ConstructPath,
    new: &ConstructPath,
) -> Vec<(&'c Place, &'c Place)> {
    let mut found = Vec::new();
    for ambiguity in group {
        for source in &ambiguity.sources {
            let place = relative(source, old);
            let same = |other: &&Place| place.is_some() && relative(other, new) == place;
            let destination = ambiguity.destinations.iter().find(same);
            found.extend(destination.map(|destination| (source, destination)));
        }
    }
    found
}

/// The candidates in a construct.
pub(super) fn within<'p>(
    places: impl Iterator<Item = &'p Place>,
    construct: &ConstructPath,
) -> Vec<&'p Place> {
    places.filter(|place| relative(place, construct).is_some()).collect()
}

/// The path of a resource below a construct.
fn relative<'p>(place: &'p Place, construct: &ConstructPath) -> Option<&'p str> {
    let path = place.path.as_ref()?;
    path.is_within(construct.as_str()).then(|| &path.as_str()[construct.as_str().len()..])
}

fn location(place: &Place) -> Location {
    place.location.clone()
}

fn locations((source, destination): (&Place, &Place)) -> (Location, Location) {
    (location(source), location(destination))
}

/// The position of the only one.
fn only<T>(all: &[T], is_it: impl Fn(&T) -> bool) -> Option<usize> {
    let mut found = all.iter().enumerate().filter(|(_, one)| is_it(one));
    let (at, _) = found.next()?;
    found.next().is_none().then_some(at)
}

/// A path without its first component, which is the stage or the stack.
fn in_stage(path: &ConstructPath) -> &str {
    path.as_str().split_once('/').map_or("", |(_, rest)| rest)
}
