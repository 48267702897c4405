//! Branches of a log become one again.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;

use super::record::{Inside, has_alike, outcome};
use super::repository_error::RepositoryError;
use super::state::{assembly_of, refactor, state_of, synthesized, templates_of};
use super::store::{Store, Templates, parsed, read};
use crate::assembly::Assembly;
use crate::compare::{Comparison, Place};
use crate::event::Host;
use crate::history::{
    self, Conflict, Contradiction, Decided, EventHash, Log, MergeEvent, Move, Open, ParseError,
    Problem, Refactor, Snapshot, compose, open,
};
use crate::model::{ConstructPath, Environment, Location};
use crate::settings::{Named, Pair, Said, Scope, Settings};
use crate::toolkit::detect::Outcome;
use crate::toolkit::{Error, files};

/// What is to be merged.
pub struct Merging {
    /// By head: what the merged app calls otherwise than that branch, as far as the branches do
    /// not say it. As long as something in it is ambiguous, somebody has to decide before
    /// anything is written.
    pub outcomes: Vec<(EventHash, Outcome)>,
    /// How many branches there are.
    pub branches: usize,
    store: Store,
    seen: Option<Vec<u8>>,
    log: Log,
    /// The merged app, if its state had to be known.
    merged: Option<Templates>,
}

/// What was merged.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The log as it is now.
    pub log: Log,
    /// The new last event; `None` if nothing had to be done.
    pub event: Option<EventHash>,
}

/// Synthesizes the merged app and finds what the branches of the log, or the log and another
/// one, leave open. Changes nothing.
///
/// # Errors
/// When the app or a log cannot be read, the logs began separately, the branches contradict each
/// other, or templates that are needed are nowhere.
pub async fn prepare_merge(
    settings: &Settings,
    other: Option<&Path>,
    at: &str,
    host: &dyn Host,
) -> Result<Merging, Error> {
    let store = Store::new(&settings.project);
    let seen = store.text()?.ok_or_else(|| RepositoryError::NoLog(store.file.clone()))?;
    let mut branches = branches_of(&branched(&store, &seen)?);
    if let Some(file) = other {
        branches.extend(branches_of(&parsed(file, &needed(file)?, Log::parse_branches)?));
    }
    let mut merging = Merging {
        outcomes: Vec::new(),
        branches: branches.len(),
        store,
        seen: Some(seen),
        log: Log::default(),
        merged: None,
    };
    let mut app = None;
    for branch in branches {
        if merging.log.is_prefix_of(&branch) || branch.is_prefix_of(&merging.log) {
            let event = MergeEvent::default();
            merging.log = merged(&merging.log, &branch, &event)?;
            continue;
        }
        let assembly = match app.take() {
            Some(assembly) => assembly,
            None => synthesized(settings, host).await?,
        };
        merging.join(settings, other, &branch, at, &assembly)?;
        app = Some(assembly);
    }
    Ok(merging)
}

/// The log with all of its branches. Where Git had no driver to merge it, there are marks of a
/// conflict around each branch's lines.
fn branched(store: &Store, text: &[u8]) -> Result<Log, RepositoryError> {
    let is_conflict = |error: &ParseError| error.problem == Problem::ConflictMark;
    match Log::parse_branches(text) {
        Err(error) if is_conflict(&error) => {
            parsed(&store.file, &without_marks(text), Log::parse_branches)
        }
        _ => parsed(&store.file, text, Log::parse_branches),
    }
}

/// The lines of both sides of every conflict, each once, and nothing of what was before.
fn without_marks(text: &[u8]) -> Vec<u8> {
    let mut union = Vec::new();
    let mut known: BTreeSet<&[u8]> = BTreeSet::new();
    let mut is_before = false;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let is_mark = |mark: &[u8]| line.starts_with(mark);
        if is_mark(b"|||||||") {
            is_before = true;
        } else if is_mark(b"=======") {
            is_before = false;
        } else if !is_mark(b"<<<<<<<") && !is_mark(b">>>>>>>") && !is_before && known.insert(line) {
            union.extend(line);
        }
    }
    union
}

/// The bytes of a file that has to be there.
fn needed(file: &Path) -> Result<Vec<u8>, RepositoryError> {
    let source = || ErrorKind::NotFound.into();
    let missing = || RepositoryError::Unreadable { file: file.to_owned(), source: source() };
    read(file)?.ok_or_else(missing)
}

fn branches_of(log: &Log) -> Vec<Log> {
    log.heads().iter().filter_map(|head| log.up_to(head.event)).collect()
}

fn merged(ours: &Log, theirs: &Log, event: &MergeEvent) -> Result<Log, RepositoryError> {
    history::merge(ours, theirs, event).map_err(|conflict| {
        let maps = maps(&conflict, &event.state);
        RepositoryError::Merge { conflict: Box::new(conflict), maps }
    })
}

impl Merging {
    /// Merges another branch.
    fn join(
        &mut self,
        settings: &Settings,
        other: Option<&Path>,
        branch: &Log,
        at: &str,
        app: &Assembly,
    ) -> Result<(), Error> {
        let state = state_of(&app.stacks)?;
        self.merged = Some(templates_of(&app.stacks, &state));
        let logs = [&self.log, branch];
        let mut heads = Vec::new();
        for log in logs {
            heads.extend(log.head().map_err(RepositoryError::Refused)?);
        }
        let states = heads.iter().zip(logs);
        let states: Vec<_> =
            states.filter_map(|(head, log)| Some((*head, log.snapshot(*head)?))).collect();
        let refactors = stated(&settings.pairs, &states, &state)?;
        let mut event = MergeEvent { at: at.to_owned(), state, refactors };
        let mut log = merged(&self.log, branch, &event)?;
        let search = Search { settings, other, store: &self.store, app, log: &log };
        let (found, outcomes) = search.find(&event.state)?;
        self.outcomes.extend(outcomes);
        if !found.is_empty() {
            event.refactors.extend(found);
            log = merged(&self.log, branch, &event)?;
        }
        self.log = log;
        Ok(())
    }

    /// How many questions only a person can answer.
    pub fn ambiguities(&self) -> usize {
        self.outcomes.iter().map(|(_, outcome)| outcome.ambiguities()).sum()
    }

    /// Whether something that holds data is offered as the same, and nobody has said whether it is.
    pub fn has_alike(&self) -> bool {
        self.outcomes.iter().any(|(_, outcome)| has_alike(outcome))
    }

    /// Writes the merged log, and the templates of the merged app.
    ///
    /// # Errors
    /// When somebody else has written in the meantime, or a file cannot be written.
    pub fn merge(self) -> Result<Merged, Error> {
        let Self { store, seen, log, merged, .. } = self;
        let is_same = seen.as_deref() == Some(log.render().as_bytes());
        let event = log.head().map_err(RepositoryError::Refused)?.filter(|_| !is_same);
        if let Some(head) = event {
            let templates = match merged {
                Some(templates) => templates,
                // One log merely goes on from the other: what can be found of its last state.
                None => {
                    let empty = Snapshot::default();
                    store.templates(log.snapshot(head).unwrap_or(&empty), None)?.0
                }
            };
            store.write(seen.as_deref(), &log, &templates)?;
        }
        Ok(Merged { log, event })
    }
}

/// What people have said, for each branch that calls a resource so.
fn stated(
    pairs: &[Pair],
    heads: &[(EventHash, &Snapshot)],
    merged: &Snapshot,
) -> Result<Vec<Refactor>, RepositoryError> {
    let mut moves: BTreeMap<(Scope, EventHash), Vec<Move>> = BTreeMap::new();
    for pair in pairs {
        let destinations = located(&pair.destination, merged, &pair.scope);
        // A file of decisions stays in the repository after it was carried out; whoever types one
        // counts on it.
        let is_typed = pair.origin == "--map";
        if destinations.is_empty() && !is_typed {
            continue;
        }
        if destinations.is_empty() {
            let (name, origin) = (pair.destination.to_string(), pair.origin.clone());
            return Err(RepositoryError::NotMerged { name, origin });
        }
        let mut is_used = false;
        for (head, state) in heads {
            for (scope, source) in located(&pair.source, state, &pair.scope) {
                let to = destinations.iter().find(|(other, _)| *other == scope);
                let Some((_, destination)) = to.or(destinations.first()) else { continue };
                is_used = true;
                if source != *destination {
                    let destination = destination.clone();
                    let decided = Decided::Stated(pair.origin.clone());
                    let one = Move { source, destination, decided };
                    moves.entry((scope, *head)).or_default().push(one);
                }
            }
        }
        if !is_used && is_typed {
            let (name, origin) = (pair.source.to_string(), pair.origin.clone());
            return Err(RepositoryError::NotInBranches { name, origin });
        }
    }
    let refactors = moves.into_iter().map(|((scope, head), moves)| Refactor {
        scope,
        parent: Some(head),
        moves,
    });
    Ok(refactors.collect())
}

/// The resources that a name stands for.
fn located(name: &Named, state: &Snapshot, scope: &Scope) -> Vec<(Scope, Location)> {
    let mut exact = Vec::new();
    let mut inside = Vec::new();
    for (key, record) in state.stacks() {
        let reaches = |a: &Option<String>, b: &Option<String>| a.is_none() || b.is_none() || a == b;
        if !reaches(&key.scope.account, &scope.account)
            || !reaches(&key.scope.region, &scope.region)
        {
            continue;
        }
        for (id, resource) in &record.resources {
            let location = Location { stack: key.name.clone(), logical_id: id.clone() };
            let text = name.to_string();
            let path = resource.path.as_ref().map(ConstructPath::as_str);
            let child = path.and_then(|path| path.strip_prefix(&text));
            if location.to_string() == text || child == Some("") {
                exact.push((key.scope.clone(), location));
            } else if matches!(child, Some("/Resource" | "/Default")) {
                inside.push((key.scope.clone(), location));
            }
        }
    }
    if exact.is_empty() { inside } else { exact }
}

/// The search for what a merge leaves open.
struct Search<'a> {
    settings: &'a Settings,
    /// The file of the other log.
    other: Option<&'a Path>,
    store: &'a Store,
    app: &'a Assembly,
    /// The log with the merge, as far as it is known.
    log: &'a Log,
}

type Found = (Vec<Refactor>, Vec<(EventHash, Outcome)>);

impl Search<'_> {
    /// Finds what moved in the merge itself.
    fn find(&self, merged: &Snapshot) -> Result<Found, Error> {
        let mut found: Found = (Vec::new(), Vec::new());
        let Some(merge) = self.log.head().map_err(RepositoryError::Refused)? else {
            return Ok(found);
        };
        let environments: BTreeSet<Environment> =
            merged.stacks().map(|(key, _)| key.scope.environment()).collect();
        let open: Vec<(Environment, Open)> = environments
            .into_iter()
            .map(|environment| (environment.clone(), open(self.log, merge, &environment)))
            .collect();
        let heads: BTreeSet<EventHash> =
            open.iter().flat_map(|(_, open)| open.lost.keys().copied()).collect();
        for head in heads {
            let empty = Snapshot::default();
            let state = self.log.snapshot(head).unwrap_or(&empty);
            let questions: BTreeMap<&Environment, &Open> = open
                .iter()
                .filter(|(environment, open)| {
                    let types = |state: &Snapshot, places: Option<&BTreeSet<Location>>| {
                        let records = places.into_iter().flatten();
                        let records = records.filter_map(|it| state.resource(environment, it));
                        records.map(|it| it.resource_type.to_string()).collect::<BTreeSet<_>>()
                    };
                    let lost = types(state, open.lost.get(&head));
                    !types(merged, Some(&open.new)).is_disjoint(&lost)
                })
                .map(|(environment, open)| (environment, open))
                .collect();
            if questions.is_empty() {
                continue;
            }
            let (outcome, inside) = self.compare(head, merge, state, &questions)?;
            let moved = outcome.environments.iter();
            found.0.extend(moved.filter_map(|one| {
                let inside = inside.get(&one.environment).map(Vec::as_slice).unwrap_or_default();
                refactor(one, inside, Some(head))
            }));
            found.1.push((head, outcome));
        }
        Ok(found)
    }

    /// Compares the state of a head with the merged app, and keeps what is open.
    fn compare(
        &self,
        head: EventHash,
        merge: EventHash,
        state: &Snapshot,
        questions: &BTreeMap<&Environment, &Open>,
    ) -> Result<(Outcome, Inside), Error> {
        let (templates, missing) = self.store.templates(state, self.other)?;
        if !missing.is_empty() {
            return Err(RepositoryError::NoTemplates { event: head, stacks: missing }.into());
        }
        let mut settings = self.settings.clone();
        settings.pairs.clear();
        for environment in questions.keys() {
            let known =
                compose(self.log, head, merge, environment).map_err(RepositoryError::from)?;
            settings.pairs.extend(known.into_iter().map(|mapping| Pair {
                source: Named::Location(mapping.source),
                destination: Named::Location(mapping.destination),
                scope: Scope::of(environment),
                said: Said::Record,
                origin: "the history".to_owned(),
            }));
        }
        let (mut outcome, mut inside) =
            outcome(&settings, assembly_of(&templates), self.app.clone())?;
        for (environment, moves) in &mut inside {
            let Some(open) = questions.get(environment) else { continue };
            let lost = open.lost.get(&head);
            moves.retain(|one| {
                lost.is_some_and(|lost| lost.contains(&one.source))
                    && open.new.contains(&one.destination)
            });
        }
        outcome.environments.retain_mut(|comparison| {
            let open = questions.get(&comparison.environment);
            open.is_some_and(|open| keep_open(comparison, open, head))
        });
        Ok((outcome, inside))
    }
}

/// Keeps what a merge leaves open. Returns whether that is anything.
fn keep_open(comparison: &mut Comparison, open: &Open, head: EventHash) -> bool {
    let none = BTreeSet::new();
    let lost = open.lost.get(&head).unwrap_or(&none);
    let is_lost = |place: &Place| lost.contains(&place.location);
    let is_new = |place: &Place| open.new.contains(&place.location);
    comparison.mappings.retain(|one| is_lost(&one.source) && is_new(&one.destination));
    comparison.similar.retain(|one| is_lost(&one.source) && is_new(&one.destination));
    for ambiguity in &mut comparison.ambiguous {
        ambiguity.sources.retain(is_lost);
        ambiguity.destinations.retain(is_new);
    }
    comparison.ambiguous.retain(|one| !one.sources.is_empty() && !one.destinations.is_empty());
    comparison.added.clear();
    comparison.removed.clear();
    comparison.changed.clear();
    !comparison.mappings.is_empty()
        || !comparison.similar.is_empty()
        || !comparison.ambiguous.is_empty()
}

/// The options that would decide a conflict.
fn maps(conflict: &Conflict, merged: &Snapshot) -> Vec<String> {
    let has = |location: &Location| {
        merged.stacks().any(|(key, record)| {
            key.name == location.stack && record.resources.contains_key(&location.logical_id)
        })
    };
    let map = |from: &Location, to: &Location| format!("--map {from}:{to}");
    let found: BTreeSet<String> = match conflict {
        Conflict::Undone(all) => all.iter().map(|one| map(&one.given, &one.earlier)).collect(),
        Conflict::Contradictions(all) => all
            .iter()
            .filter_map(|one| match one {
                Contradiction::TwoPlaces { places, .. } => match (has(&places.0), has(&places.1)) {
                    (true, false) => Some(map(&places.1, &places.0)),
                    (false, true) => Some(map(&places.0, &places.1)),
                    _ => None,
                },
                Contradiction::TwoSources { .. } => None,
            })
            .collect(),
        _ => BTreeSet::new(),
    };
    found.into_iter().collect()
}

/// The union of two branches' files, as Git's merge driver: `ours` gets the lines of `theirs` as
/// well. The app is half merged at this time, so that nobody can say yet how the branches meet.
/// Of any other file, which is a template that belongs to a branch, ours is kept: `cdkr history
/// merge` writes that of the merged app.
///
/// # Errors
/// When a file cannot be read or written, a log is damaged, or the logs began separately.
pub fn merge_driver(ours: &Path, theirs: &Path, path: Option<&Path>) -> Result<(), Error> {
    let is_log = |path: &Path| path.extension().is_some_and(|extension| extension == "jsonl");
    if path.is_some_and(|path| !is_log(path)) {
        return Ok(());
    }
    let (our_text, their_text) = (needed(ours)?, needed(theirs)?);
    let name = path.unwrap_or(ours);
    parsed(name, &our_text, Log::parse_branches)?;
    parsed(name, &their_text, Log::parse_branches)?;
    let known: BTreeSet<&[u8]> = our_text.split_inclusive(|byte| *byte == b'\n').collect();
    let mut union = our_text.clone();
    for line in their_text.split_inclusive(|byte| *byte == b'\n') {
        if !known.contains(line) {
            union.extend(line);
        }
    }
    parsed(name, &union, Log::parse_branches)?;
    files::write(ours, &union).map_err(super::store::unwritable(ours))?;
    Ok(())
}
