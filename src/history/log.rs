//! The log itself: events, each after its parents.

use std::collections::BTreeMap;

use super::check::checked;
use super::error::{Head, Inconsistency, ParseError, Problem};
use super::event::{Event, Move, Refactor};
use super::hash::EventHash;
use super::origins;
use super::snapshot::Snapshot;
use super::wire::{self, VERSION, Versioned, column};
use crate::model::Environment;
use crate::settings::Scope;

/// A log. Every event in it is whole, and follows from those before it.
#[derive(Clone, Debug, Default)]
pub struct Log {
    entries: Vec<Entry>,
    index: BTreeMap<EventHash, usize>,
}

/// An event with what is known of it besides.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) hash: EventHash,
    pub(super) event: Event,
    /// Where its parents stand, in their order.
    pub(super) parents: Vec<usize>,
    /// The state after it.
    pub(super) snapshot: Snapshot,
}

impl PartialEq for Log {
    /// Whether both have the same events in the same order.
    fn eq(&self, other: &Self) -> bool {
        self.entries.iter().map(|entry| entry.hash).eq(other.entries.iter().map(|entry| entry.hash))
    }
}

impl Eq for Log {}

impl Log {
    /// Reads the text of a log.
    ///
    /// # Errors
    /// When a line was edited, removed, cut off, repeated or reordered, or when the log has
    /// branched; with line, column and what to do. What no text can show is that its last lines
    /// were removed: compare it with another copy ([`Log::is_prefix_of`]).
    pub fn parse(text: &[u8]) -> Result<Self, ParseError> {
        let log = Self::parse_branches(text)?;
        match log.heads() {
            heads if heads.len() > 1 => {
                let line = heads.last().map_or(1, |head| head.line);
                Err(ParseError { line, column: 1, problem: Problem::Branched { heads } })
            }
            _ => Ok(log),
        }
    }

    /// Like [`Log::parse`], but takes a log that has branched: both branches' lines one after
    /// another, to be merged.
    ///
    /// # Errors
    /// Those of [`Log::parse`] but for the branch.
    pub fn parse_branches(text: &[u8]) -> Result<Self, ParseError> {
        let mut log = Self::default();
        for (at, bytes) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let error = |(column, problem)| ParseError { line: at + 1, column, problem };
            let (line, event) = read(bytes).map_err(error)?;
            log.append(event).map_err(|problem| {
                let problem = with_line_below(problem, text, at);
                error((column_of(&problem, line), problem))
            })?;
        }
        Ok(log)
    }

    /// Adds an event and returns its hash.
    ///
    /// # Errors
    /// When a parent is not in the log, when the event is in it already, and when what it says
    /// cannot have happened. The log stays as it was.
    pub fn append(&mut self, event: Event) -> Result<EventHash, Problem> {
        let (line, hash) = wire::encode(&event);
        if let Some(first) = self.index.get(&hash) {
            return Err(Problem::Duplicate { first: first + 1 });
        }
        if event.parents.is_empty() && !self.entries.is_empty() {
            return Err(Problem::SecondBeginning);
        }
        let mut parents = Vec::new();
        for parent in &event.parents {
            let known = self.index.get(parent);
            parents.push(*known.ok_or(Problem::UnknownParent { parent: *parent, below: None })?);
        }
        if event.parents.len() > 2 || !event.parents.is_sorted_by(|a, b| a < b) {
            return Err(Problem::Inconsistent(Inconsistency::Parents));
        }
        if let [a, b] = parents[..] {
            if self.is_ancestor(a, b) || self.is_ancestor(b, a) {
                return Err(Problem::Inconsistent(Inconsistency::NothingToMerge));
            }
            if let Some(ancestors) = self.crosswise(a, b) {
                return Err(Problem::Inconsistent(Inconsistency::Crosswise(ancestors)));
            }
        }
        if wire::decode(&line).ok().as_ref() != Some(&(event.clone(), hash)) {
            return Err(Problem::Inconsistent(Inconsistency::Unwritable));
        }
        let states: Vec<&Snapshot> = parents.iter().map(|at| &self.entries[*at].snapshot).collect();
        let snapshot = checked(&event, &states).map_err(Problem::Inconsistent)?;
        if let Some(same) = event.same_as {
            let comes_before =
                |at: usize| parents.iter().any(|parent| self.is_ancestor(at, *parent));
            let is_true = self
                .position(same)
                .is_some_and(|at| comes_before(at) && self.entries[at].snapshot == snapshot);
            if !is_true {
                return Err(Problem::Inconsistent(Inconsistency::NotTheSame(same)));
            }
        }
        if let Some(toward) = event.toward {
            self.check_on_the_way(&event, toward)?;
        }
        self.index.insert(hash, self.entries.len());
        self.entries.push(Entry { hash, event, parents, snapshot });
        Ok(hash)
    }

    /// Adds the event that leads from the head to another state, with the moves that were
    /// decided, and returns its hash; `None` if nothing has changed.
    ///
    /// # Errors
    /// Those of [`Log::append`], and when the log has branched.
    pub fn record(
        &mut self,
        at: &str,
        state: &Snapshot,
        refactors: Vec<Refactor>,
    ) -> Result<Option<EventHash>, Problem> {
        let head = self.head()?;
        let empty = Snapshot::default();
        let before = head.and_then(|head| self.snapshot(head)).unwrap_or(&empty);
        if before == state && refactors.iter().all(|refactor| refactor.moves.is_empty()) {
            return Ok(None);
        }
        self.append(self.leading_to(head.into_iter().collect(), at, state, refactors)).map(Some)
    }

    /// Returns the text of the log; [`Log::parse_branches`] gives the same log again.
    pub fn render(&self) -> String {
        self.entries.iter().map(|entry| wire::encode(&entry.event).0 + "\n").collect()
    }

    /// Returns the events with their hashes, each after its parents.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = (EventHash, &Event)> {
        self.entries.iter().map(|entry| (entry.hash, &entry.event))
    }

    /// Returns an event.
    pub fn event(&self, hash: EventHash) -> Option<&Event> {
        self.position(hash).map(|at| &self.entries[at].event)
    }

    /// Returns the state of the stacks after an event.
    pub fn snapshot(&self, hash: EventHash) -> Option<&Snapshot> {
        self.position(hash).map(|at| &self.entries[at].snapshot)
    }

    /// Whether an event is in the log.
    pub fn contains(&self, hash: EventHash) -> bool {
        self.index.contains_key(&hash)
    }

    /// Returns the events after which there is none, in the order of their lines: none of an
    /// empty log, several of one that has branched.
    pub fn heads(&self) -> Vec<Head> {
        let mut is_parent = vec![false; self.entries.len()];
        for entry in &self.entries {
            entry.parents.iter().for_each(|parent| is_parent[*parent] = true);
        }
        let heads = self.entries.iter().enumerate().filter(|(at, _)| !is_parent[*at]);
        heads.map(|(at, entry)| Head { event: entry.hash, line: at + 1 }).collect()
    }

    /// Returns the last event; `None` if the log is empty.
    ///
    /// # Errors
    /// When the log has branched.
    pub fn head(&self) -> Result<Option<EventHash>, Problem> {
        match self.heads()[..] {
            [] => Ok(None),
            [Head { event, .. }] => Ok(Some(event)),
            _ => Err(Problem::Branched { heads: self.heads() }),
        }
    }

    /// The event that leads from one, or from two that meet, to another state. The refactors of a
    /// meeting say for themselves from which.
    pub(super) fn leading_to(
        &self,
        mut parents: Vec<EventHash>,
        at: &str,
        state: &Snapshot,
        refactors: Vec<Refactor>,
    ) -> Event {
        parents.sort_unstable();
        let empty = Snapshot::default();
        let before = parents.first().and_then(|first| self.snapshot(*first)).unwrap_or(&empty);
        let what = before.what_leads_to(state, refactors);
        Event { parents, at: at.to_owned(), same_as: None, toward: None, what }
    }

    /// Checks an event on the way to another one. What that one says is known in the log of the
    /// repository only, so that the moves are checked where both meet.
    fn check_on_the_way(&self, event: &Event, toward: EventHash) -> Result<(), Problem> {
        let [parent] = event.parents[..] else {
            return Err(Problem::Inconsistent(Inconsistency::Parents));
        };
        if event.same_as.is_some() {
            return Err(Problem::Inconsistent(Inconsistency::NotTheSame(toward)));
        }
        for refactor in &event.what.refactors {
            let wrong = match environment_of(&refactor.scope) {
                Some(place) => {
                    origins::unjustified(self, &place, (parent, toward), &refactor.moves)
                }
                // It has to say in which environment they were made.
                None => refactor.moves.first(),
            };
            if let Some(Move { source, destination, .. }) = wrong {
                let problem = Inconsistency::NotOnTheWay(source.clone(), destination.clone());
                return Err(Problem::Inconsistent(problem));
            }
        }
        Ok(())
    }

    pub(super) fn position(&self, hash: EventHash) -> Option<usize> {
        self.index.get(&hash).copied()
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

/// The one environment of a scope.
fn environment_of(scope: &Scope) -> Option<Environment> {
    let (account, region) = scope.account.as_ref().zip(scope.region.as_ref())?;
    Some(Environment::new(account, region))
}

/// Reads a line, its line break included.
fn read(bytes: &[u8]) -> Result<(&str, Event), (usize, Problem)> {
    let malformed =
        |column, message: &str| (column, Problem::Malformed { message: message.to_owned() });
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let whole = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).chars().count();
        malformed(whole + 1, "it is not UTF-8")
    })?;
    let Some(line) = text.strip_suffix('\n') else {
        return Err((text.chars().count() + 1, Problem::Truncated));
    };
    if line.ends_with('\r') {
        return Err((line.chars().count(), Problem::CarriageReturn));
    }
    if ["<<<<<<<", "|||||||", "=======", ">>>>>>>"].iter().any(|mark| line.starts_with(mark)) {
        return Err((1, Problem::ConflictMark));
    }
    if let Ok(Versioned { version }) = serde_json::from_str(line)
        && version > VERSION
    {
        return Err((column(line, "\"version\""), Problem::Newer { found: version }));
    }
    let (event, stated) =
        wire::decode(line).map_err(|(column, message)| malformed(column, &message))?;
    let (canonical, actual) = wire::encode(&event);
    if actual != stated {
        return Err((column(line, "\"hash\""), Problem::Edited { stated, actual }));
    }
    if canonical != line {
        let same = canonical.chars().zip(line.chars()).take_while(|(a, b)| a == b).count();
        return Err((same + 1, Problem::Reformatted));
    }
    Ok((line, event))
}

/// Where in a line a problem is.
fn column_of(problem: &Problem, line: &str) -> usize {
    match problem {
        Problem::UnknownParent { parent, .. } => column(line, &parent.to_string()),
        Problem::SecondBeginning => column(line, "\"parents\""),
        Problem::Inconsistent(_) => column(line, "\"what\""),
        _ => 1,
    }
}

/// Says where a missing parent stands, if that is below.
fn with_line_below(problem: Problem, text: &[u8], at: usize) -> Problem {
    let Problem::UnknownParent { parent, .. } = problem else { return problem };
    let own = format!("\"hash\":\"{parent}\"}}");
    let lines = text.split(|byte| *byte == b'\n').enumerate().skip(at + 1);
    let below = lines.into_iter().find(|(_, line)| line.ends_with(own.as_bytes()));
    Problem::UnknownParent { parent, below: below.map(|(line, _)| line + 1) }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
