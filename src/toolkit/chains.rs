//! What the decisions of people come to in one environment. Files of decisions are kept, so they
//! tell a story: `A` became `B`, and later `B` became `C`. An environment that has missed a
//! chapter is carried to the end of it; what was carried out stays as it is; where the story can
//! be read in two ways, nobody guesses.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::decisions::DecisionError;
use super::names::Names;
use crate::model::Location;
use crate::registry;
use crate::settings::{Left, Named, Pair, Said, Scope};

/// A decision as it was written.
pub(super) struct Entry<'a> {
    pub(super) source: &'a Named,
    pub(super) text: String,
    /// `None`: nothing that exists now.
    pub(super) destination: Option<(&'a Named, String)>,
    pub(super) scope: &'a Scope,
    pub(super) origin: &'a str,
    pub(super) said: Said,
    /// Whether a file says so that is kept with the app for good.
    pub(super) is_of_record: bool,
}

impl<'a> Entry<'a> {
    pub(super) fn pair(pair: &'a Pair) -> Self {
        Self {
            source: &pair.source,
            text: pair.source.to_string(),
            destination: Some((&pair.destination, pair.destination.to_string())),
            scope: &pair.scope,
            origin: &pair.origin,
            said: pair.said,
            is_of_record: pair.said == Said::Record,
        }
    }

    pub(super) fn left(left: &'a Left) -> Self {
        Self {
            source: &left.what,
            text: left.what.to_string(),
            destination: None,
            scope: &left.scope,
            origin: &left.origin,
            // Whoever says so, nothing goes on from there.
            said: Said::File,
            is_of_record: left.said == Said::Record,
        }
    }

    pub(super) fn is_pattern(&self) -> bool {
        matches!(self.source, Named::Pattern(_))
    }

    pub(super) fn is_now(&self) -> bool {
        self.said == Said::Now
    }

    /// How an error calls it.
    fn written(&self) -> String {
        let destination = self.destination.as_ref().map_or("nothing", |(_, text)| text.as_str());
        format!("{} → {destination} ({})", self.text, self.origin)
    }
}

/// A pair of an environment: numbers of resources, and of the entries that say so.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) source: usize,
    pub(super) destination: usize,
    pub(super) by: Vec<usize>,
}

/// What is known of an entry in one environment.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Status {
    /// It holds, or was carried out already.
    pub(super) is_fine: bool,
    pub(super) source_is_deployed: bool,
    pub(super) destination_is_local: bool,
    /// Something of the stack of the source is deployed.
    pub(super) stack_is_deployed: bool,
    pub(super) anything_is_deployed: bool,
}

/// What the decisions come to.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    pub(super) pairs: Vec<Held>,
    /// Deployed resources that are nothing that exists now, and the entries that say so.
    pub(super) left: Vec<(usize, usize)>,
    /// Entries that name several resources, or several constructs of one name: the comparison
    /// says which.
    pub(super) vague: Vec<usize>,
    pub(super) notes: Vec<String>,
    /// By entry; `None` if it is not for this environment.
    pub(super) status: Vec<Option<Status>>,
}

/// Whether somebody excludes a resource: its location, type and path.
pub(super) type Excluded<'e> = dyn Fn(&str, &str, Option<&str>) -> bool + 'e;

/// The decisions for one environment, by what they are about.
pub(super) struct Book<'b, 'a> {
    pub(super) entries: &'b [Entry<'b>],
    pub(super) deployed: &'b Names<'a>,
    pub(super) local: &'b Names<'a>,
    pub(super) by_deployed: HashMap<usize, Vec<usize>>,
    by_local: HashMap<usize, Vec<usize>>,
    by_text: HashMap<&'b str, Vec<usize>>,
    patterns: Vec<usize>,
    inside: Vec<usize>,
}

/// A name on the way from a deployed resource to what it is now.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    text: String,
    pub(super) deployed: Option<usize>,
    pub(super) local: Option<usize>,
}

/// What an entry says that a name is now.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Next {
    Name(String),
    Nothing,
}

impl Next {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Nothing => None,
        }
    }
}

/// Where a deployed resource may have gone.
#[derive(Debug, Default)]
pub(super) struct Walk {
    by: Vec<usize>,
    pub(super) spots: Vec<Spot>,
    /// Spots that are there now, with the number of entries that lead to them.
    candidates: Vec<(usize, usize)>,
    /// The entry that says that the way ends.
    end: Option<usize>,
}

/// A name without the default child, which people leave out.
fn key(text: &str) -> &str {
    text.strip_suffix("/Resource").or_else(|| text.strip_suffix("/Default")).unwrap_or(text)
}

impl<'b, 'a> Book<'b, 'a> {
    pub(super) fn new(
        entries: &'b [Entry<'b>],
        inside: Vec<usize>,
        deployed: &'b Names<'a>,
        local: &'b Names<'a>,
    ) -> Self {
        let mut book = Self {
            entries,
            deployed,
            local,
            by_deployed: HashMap::new(),
            by_local: HashMap::new(),
            by_text: HashMap::new(),
            patterns: Vec::new(),
            inside,
        };
        for number in book.inside.clone() {
            let entry = &entries[number];
            if entry.is_pattern() {
                book.patterns.push(number);
                continue;
            }
            if let Some(at) = deployed.one(&entry.text) {
                book.by_deployed.entry(at).or_default().push(number);
            }
            if let Some(at) = local.one(&entry.text) {
                book.by_local.entry(at).or_default().push(number);
            }
            book.by_text.entry(key(&entry.text)).or_default().push(number);
        }
        book
    }

    /// Says what holds here. `is_excluded` tells whether a pattern passes over a resource.
    ///
    /// # Errors
    /// When decisions contradict each other, go round in a circle, or can be read in two ways.
    pub(super) fn resolve(&self, is_excluded: &Excluded<'_>) -> Result<Resolved, DecisionError> {
        let mut resolved =
            Resolved { status: vec![None; self.entries.len()], ..Resolved::default() };
        resolved.vague = self.vague();
        resolved.settle(&resolved.vague.clone());
        let mut found: BTreeMap<usize, Held> = BTreeMap::new();
        let mut matched: HashSet<usize> = HashSet::new();
        for source in 0..self.deployed.resources.len() {
            let start = self.start(source);
            let now = self.next(&start, true)?;
            let walk = self.walk(start)?;
            matched.extend(walk.by.first());
            matched.extend(now.as_ref().map(|(by, _)| *by));
            let is_settled = now.is_some_and(|(by, to)| {
                to.name().is_some_and(|to| {
                    self.take_now(source, (by, to), &walk, is_excluded, &mut resolved)
                })
            });
            if is_settled {
                continue;
            }
            match (walk.candidates.as_slice(), walk.end) {
                ([], Some(end)) => {
                    resolved.left.push((source, end));
                    resolved.settle(&walk.by);
                }
                ([], None) => {}
                ([(destination, steps)], None) => {
                    let by = walk.by[..*steps].to_vec();
                    found.insert(source, Held { source, destination: *destination, by });
                }
                _ => return Err(self.two_ways(source, &walk)),
            }
        }
        self.accept(found, is_excluded, &mut resolved)?;
        for held in resolved.pairs.clone() {
            resolved.settle(&held.by);
        }
        self.drop_less_exact(&mut resolved.pairs);
        for number in &self.inside {
            let fine = resolved.status[*number].is_some_and(|status| status.is_fine);
            let status = self.status(*number, fine, matched.contains(number));
            resolved.status[*number] = Some(status);
        }
        Ok(resolved)
    }

    /// Takes what somebody says now. Whether that settles what files say of the resource.
    fn take_now(
        &self,
        source: usize,
        (by, to): (usize, &str),
        walk: &Walk,
        is_excluded: &Excluded<'_>,
        resolved: &mut Resolved,
    ) -> bool {
        let Some(destination) = self.destination(source, by, to) else { return false };
        let held = Held { source, destination, by: vec![by] };
        if self.entries[by].is_pattern() {
            let is_exact = |number: &usize| !self.entries[*number].is_pattern();
            if walk.by.first().is_some_and(is_exact) || self.is_passed_over(&held, is_excluded) {
                resolved.settle(&[by]);
                return false;
            }
        }
        resolved.pairs.push(held);
        // One of the ways that the files leave open.
        let is_open = walk.candidates.iter().any(|(one, _)| *one == destination);
        if is_open {
            resolved.settle(&walk.by);
        }
        is_open
    }

    /// Whether patterns pass over a pair.
    pub(super) fn is_passed_over(&self, held: &Held, is_excluded: &Excluded<'_>) -> bool {
        let (was, is) =
            (&self.deployed.resources[held.source], &self.local.resources[held.destination]);
        registry::made_to_be_replaced(was.kind)
            || is_excluded(&was.text, was.kind, was.path)
            || is_excluded(&is.text, is.kind, is.path)
    }

    /// Entries that name several resources on either side.
    fn vague(&self) -> Vec<usize> {
        let is_vague = |number: &&usize| {
            let entry = &self.entries[**number];
            let Some((_, destination)) = &entry.destination else {
                return self.deployed.find(&entry.text).len() > 1;
            };
            let counts =
                (self.deployed.find(&entry.text).len(), self.local.find(destination).len());
            !entry.is_pattern() && counts.0 + counts.1 > 2 && counts.0 > 0 && counts.1 > 0
        };
        self.inside.iter().filter(is_vague).copied().collect()
    }

    fn start(&self, source: usize) -> Spot {
        let text = self.deployed.resources[source].text.clone();
        Spot { text, deployed: Some(source), local: None }
    }

    pub(super) fn spot(&self, text: String) -> Spot {
        let (deployed, local) = (self.deployed.one(&text), self.local.one(&text));
        Spot { text, deployed, local }
    }

    /// Returns what the decisions of now, or those of files, say of a name: the entry, and the
    /// next name if it is one.
    fn next(&self, spot: &Spot, now: bool) -> Result<Option<(usize, Next)>, DecisionError> {
        let wanted = |number: &&usize| self.entries[**number].is_now() == now;
        let lists = [
            spot.deployed.and_then(|at| self.by_deployed.get(&at)),
            spot.local.and_then(|at| self.by_local.get(&at)),
            self.by_text.get(key(&spot.text)),
        ];
        let mut said: Vec<(usize, Next)> = Vec::new();
        for number in lists.into_iter().flatten().flatten().filter(wanted) {
            let to = self.entries[*number].destination.as_ref();
            said.push((*number, to.map_or(Next::Nothing, |(_, text)| Next::Name(text.clone()))));
        }
        if said.is_empty() {
            for number in self.patterns.iter().filter(wanted) {
                if let Some(to) = self.filled(*number, spot) {
                    said.push((*number, to));
                }
            }
        }
        let Some(first) = said.first().cloned() else { return Ok(None) };
        match said.iter().find(|(_, to)| !self.is_same(to.name(), first.1.name())) {
            Some((other, _)) => Err(DecisionError::Conflict {
                name: spot.text.clone(),
                first: self.entries[first.0].written(),
                second: self.entries[*other].written(),
            }),
            None => Ok(Some(first)),
        }
    }

    /// Whether two names mean the same.
    fn is_same(&self, one: Option<&str>, other: Option<&str>) -> bool {
        match (one, other) {
            (Some(one), Some(other)) => {
                let at = self.local.one(one);
                key(one) == key(other) || (at.is_some() && at == self.local.one(other))
            }
            (one, other) => one == other,
        }
    }

    /// Returns what a pattern makes of a name.
    fn filled(&self, number: usize, spot: &Spot) -> Option<Next> {
        let entry = &self.entries[number];
        let Named::Pattern(pattern) = entry.source else { return None };
        let deployed = spot.deployed.map(|at| &self.deployed.resources[at]);
        let there = deployed.or_else(|| spot.local.map(|at| &self.local.resources[at]));
        let names =
            [Some(spot.text.as_str()), there.map(|one| &*one.text), there.and_then(|one| one.path)];
        let captures = names.into_iter().flatten().find_map(|name| pattern.captures(name))?;
        Some(match &entry.destination {
            Some((Named::Pattern(destination), _)) => Next::Name(destination.filled(&captures)),
            Some((_, text)) => Next::Name(text.clone()),
            None => Next::Nothing,
        })
    }

    /// Goes from name to name as the files say, until something is deployed there.
    pub(super) fn walk(&self, start: Spot) -> Result<Walk, DecisionError> {
        let source = start.deployed;
        let mut walk = Walk::default();
        let mut spot = start;
        while let Some((number, to)) = self.next(&spot, false)? {
            // A pattern may match again what it has made.
            if walk.by.contains(&number) && self.entries[number].is_pattern() {
                break;
            }
            walk.by.push(number);
            let Next::Name(to) = to else {
                walk.end = Some(number);
                break;
            };
            let next = self.spot(to);
            let is_visited = walk.spots.iter().any(|one| key(&one.text) == key(&next.text));
            let stays = walk.spots.is_empty() && self.is_start(source, &next);
            if is_visited || (!stays && !walk.spots.is_empty() && self.is_start(source, &next)) {
                return Err(self.circle(&walk, &next));
            }
            if let Some(destination) =
                next.local.filter(|_| source.is_none_or(|source| self.fits(source, number, &next)))
            {
                walk.candidates.push((destination, walk.by.len()));
            }
            walk.spots.push(next.clone());
            if stays || next.deployed.is_some() {
                break;
            }
            spot = next;
        }
        Ok(walk)
    }

    fn is_start(&self, source: Option<usize>, spot: &Spot) -> bool {
        source.is_some_and(|source| {
            spot.deployed == Some(source) || spot.text == self.deployed.resources[source].text
        })
    }

    /// Whether an entry may take a resource to a name: patterns pass over other types.
    fn fits(&self, source: usize, number: usize, spot: &Spot) -> bool {
        let kind = |at: usize| self.local.resources[at].kind;
        !self.entries[number].is_pattern()
            || spot.local.is_some_and(|at| kind(at) == self.deployed.resources[source].kind)
    }

    fn destination(&self, source: usize, number: usize, to: &str) -> Option<usize> {
        let spot = self.spot(to.to_owned());
        spot.local.filter(|_| self.fits(source, number, &spot))
    }

    pub(super) fn origins(&self, by: &[usize]) -> String {
        let origins: Vec<&str> = by.iter().map(|number| self.entries[*number].origin).collect();
        origins.join(", ")
    }

    fn circle(&self, walk: &Walk, last: &Spot) -> DecisionError {
        let mut names: Vec<&str> = walk.spots.iter().map(|spot| spot.text.as_str()).collect();
        names.push(&last.text);
        DecisionError::Circle { names: names.join(" → "), origin: self.origins(&walk.by) }
    }

    fn two_ways(&self, source: usize, walk: &Walk) -> DecisionError {
        let name = |(at, _): &(usize, usize)| self.local.resources[*at].location.clone();
        let candidates: Vec<Location> = walk.candidates.iter().map(name).collect();
        DecisionError::TwoWays {
            source_name: self.deployed.resources[source].text.clone(),
            candidates,
            ends: walk.end.is_some(),
            origin: self.origins(&walk.by),
        }
    }
}

impl Resolved {
    pub(super) fn settle(&mut self, by: &[usize]) {
        for number in by {
            self.status[*number].get_or_insert_default().is_fine = true;
        }
    }
}
