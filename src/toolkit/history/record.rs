//! The app as it is now becomes the next state of the log.

use std::collections::BTreeMap;

use super::repository_error::RepositoryError;
use super::state::{
    aligned, assembly_of, moved_inside, refactor, state_of, synthesized, templates_of,
    without_values,
};
use super::store::{Store, Templates, parsed};
use crate::assembly::Assembly;
use crate::event::Host;
use crate::history::{
    EventHash, Log, Move, Refactor, Snapshot, SnapshotDifference, StackKey, diff,
};
use crate::model::Environment;
use crate::registry;
use crate::report::Style;
use crate::settings::{Pair, Said, Settings};
use crate::toolkit::Error;
use crate::toolkit::deciding::{self, Decided, Deciding, Subjects};
use crate::toolkit::detect::{Detection, Outcome, Sides};
use crate::toolkit::parameters::Previous;
use crate::toolkit::selection::Selection;
use crate::toolkit::sources::{self, AGAINST, Deployed, Sources};

/// What is to be recorded.
pub struct Recording {
    /// What moved since the last state. As long as something in it is ambiguous, somebody has to
    /// decide before anything is recorded.
    pub outcome: Outcome,
    inside: Inside,
    store: Store,
    /// The text of the log.
    seen: Option<Vec<u8>>,
    log: Log,
    /// The state of `--against`, if that is where the log begins.
    beginning: Option<Snapshot>,
    state: Snapshot,
    templates: Templates,
    /// The state before and the app, if they had to be compared.
    sides: Option<(Assembly, Assembly)>,
}

/// What was recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The log as it is now.
    pub log: Log,
    /// The new events, oldest first; none if nothing has changed.
    pub events: Vec<EventHash>,
    /// Stacks whose templates were missing beside the log and were written again.
    pub mended: Vec<StackKey>,
}

/// How the app differs from the last state of the log.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The last event; `None` if nothing was ever recorded.
    pub head: Option<EventHash>,
    /// What differs, by name: from the log to the app.
    pub difference: SnapshotDifference,
    /// Stacks of the last state whose templates are not beside the log as they should be.
    pub misplaced: Vec<StackKey>,
}

impl Checked {
    /// Whether the log says what the app is.
    pub fn is_recorded(&self) -> bool {
        self.head.is_some()
            && self.difference == SnapshotDifference::default()
            && self.misplaced.is_empty()
    }
}

/// Synthesizes the app and finds what became of the stacks since the last state of the log.
/// Changes nothing.
///
/// # Errors
/// When the app or the log cannot be read, the log has branched, the templates of its last state
/// are nowhere, or a decision fits nothing.
pub async fn prepare_record(settings: &Settings, host: &dyn Host) -> Result<Recording, Error> {
    let store = Store::new(&settings.project);
    let seen = store.text()?;
    let log = match &seen {
        Some(text) => parsed(&store.file, text, Log::parse)?,
        None => Log::default(),
    };
    let local = synthesized(settings, host).await?;
    let state = state_of(&local.stacks)?;
    let templates = templates_of(&local.stacks, &state);
    let against = match &settings.against {
        Some(against) => Some(sources::read(AGAINST, &against.value, settings)?),
        None => None,
    };
    let head = log.head().map_err(RepositoryError::Refused)?;
    let mut recording = Recording {
        outcome: Outcome::default(),
        inside: Inside::new(),
        store,
        seen,
        log,
        beginning: None,
        state,
        templates,
        sides: None,
    };
    let deployed = match (head, against) {
        (None, None) => {
            if !settings.pairs.is_empty() {
                let warning = "the log begins with this state: decisions about what was before are \
                               not looked at. `--against` begins it with an earlier one";
                recording.outcome.warnings.push(warning.to_owned());
            }
            None
        }
        (None, Some(against)) => {
            recording.beginning = Some(state_of(&against.stacks)?);
            Some(against)
        }
        (Some(head), against) => recording.last_state(head, against)?,
    };
    let is_decided = settings.pairs.iter().any(|pair| pair.said == Said::Now);
    let is_same = |head: &EventHash| recording.log.snapshot(*head) == Some(&recording.state);
    if let Some(head) = head.filter(|head| is_decided && is_same(head)) {
        return Err(RepositoryError::TooLate(head).into());
    }
    recording.sides = deployed.map(|deployed| (deployed, local));
    recording.compare(settings)?;
    Ok(recording)
}

/// Whether something that holds data is offered as the same.
pub(super) fn has_alike(outcome: &Outcome) -> bool {
    let mut offered = outcome.environments.iter().flat_map(|one| &one.similar);
    offered.any(|pair| registry::is_stateful(pair.resource_type.as_str()))
}

/// What moved with a nested stack, by environment.
pub(super) type Inside = BTreeMap<Environment, Vec<Move>>;

/// Compares two states of an app.
pub(super) fn outcome(
    settings: &Settings,
    deployed: Assembly,
    local: Assembly,
) -> Result<(Outcome, Inside), Error> {
    let Detection { outcome, environments, .. } = detection(settings, deployed, local)?;
    let sides: BTreeMap<Environment, Sides> = environments.into_iter().collect();
    let inside = outcome.environments.iter().filter_map(|comparison| {
        let environment = &comparison.environment;
        Some((environment.clone(), moved_inside(comparison, sides.get(environment)?)))
    });
    let inside = inside.collect();
    Ok((outcome, inside))
}

fn detection(settings: &Settings, deployed: Assembly, local: Assembly) -> Result<Detection, Error> {
    let deployed = aligned(deployed, &local);
    let (settings, warnings) = within(settings, &deployed, &local);
    let sources = Sources {
        deployed: Deployed::Assembly(without_values(deployed)),
        local: without_values(local),
        histories: None,
    };
    let mut detection = Detection::of(&settings, sources, Previous::Kept)?;
    detection.narrow(Selection::All)?;
    detection.outcome.warnings.extend(warnings);
    Ok(detection)
}

/// The settings without decisions for an account of which the app says nothing, with a warning
/// for each: in a file for several accounts they are no mistake.
fn within(settings: &Settings, deployed: &Assembly, local: &Assembly) -> (Settings, Vec<String>) {
    let mut settings = settings.clone();
    let stacks = || deployed.stacks.iter().chain(&local.stacks);
    let is_there = |pair: &Pair| stacks().any(|stack| pair.scope.contains(&stack.environment));
    let (pairs, others): (Vec<Pair>, Vec<Pair>) = settings.pairs.into_iter().partition(is_there);
    settings.pairs = pairs;
    let warning = |pair: &Pair| {
        let Pair { source, destination, scope, origin, .. } = pair;
        format!(
            "{origin}: `{source}` → `{destination}` is for {scope}, and the app says of no stack \
             that it is there: it is not looked at"
        )
    };
    (settings, others.iter().map(warning).collect())
}

impl Recording {
    /// Asks about what is open until nothing is, and compares again with the answers, which are
    /// returned as well; `None` if somebody said to stop.
    ///
    /// # Errors
    /// When nobody answers, or the answers contradict other decisions.
    pub async fn decide(
        mut self,
        settings: &Settings,
        subjects: Subjects,
        style: Style,
        host: &dyn Host,
    ) -> Result<Option<(Self, Vec<(Environment, Decided)>)>, Error> {
        let Some((before, app)) = &self.sides else { return Ok(Some((self, Vec::new()))) };
        let detection = detection(settings, before.clone(), app.clone())?;
        match deciding::decide(detection, settings, subjects, style, host).await? {
            Deciding::Stopped => Ok(None),
            Deciding::Settled(settled) => {
                self.compare(&settled.settings)?;
                Ok(Some((self, settled.decided)))
            }
        }
    }

    /// Compares again, with other decisions. The app is not synthesized again.
    ///
    /// # Errors
    /// When a decision fits nothing, or a template cannot be compared.
    pub fn compare(&mut self, settings: &Settings) -> Result<(), Error> {
        if let Some((before, app)) = &self.sides {
            (self.outcome, self.inside) = outcome(settings, before.clone(), app.clone())?;
        }
        Ok(())
    }

    /// The last state of the log with its templates; `None` if the app is still in it and
    /// nothing has to be compared.
    fn last_state(
        &self,
        head: EventHash,
        against: Option<Assembly>,
    ) -> Result<Option<Assembly>, RepositoryError> {
        let empty = Snapshot::default();
        let state = self.log.snapshot(head).unwrap_or(&empty);
        if let Some(against) = against {
            let difference = diff(state, &state_of(&against.stacks)?);
            if difference != SnapshotDifference::default() {
                let stacks = stacks_of(&difference);
                return Err(RepositoryError::AnotherState { event: head, stacks });
            }
            return Ok(Some(against));
        }
        if *state == self.state {
            return Ok(Some(assembly_of(&self.templates)));
        }
        let (templates, missing) = self.store.templates(state, None)?;
        if !missing.is_empty() {
            return Err(RepositoryError::NoTemplates { event: head, stacks: missing });
        }
        Ok(Some(assembly_of(&templates)))
    }

    /// Whether something that holds data is offered as the same, and nobody has said whether it is.
    /// A log is believed: what it says was removed and added is not looked for again.
    pub fn has_alike(&self) -> bool {
        has_alike(&self.outcome)
    }

    /// Whether this begins the log.
    pub fn is_first(&self) -> bool {
        self.seen.is_none()
    }

    /// Adds to the log what was found, with the time at which that happens, and writes log and
    /// templates. If nothing has changed the log is left alone.
    ///
    /// # Errors
    /// When somebody else has written in the meantime, or a file cannot be written.
    pub fn record(self, at: &str) -> Result<Recorded, Error> {
        let Self { outcome, inside, store, seen, mut log, beginning, state, templates, .. } = self;
        let mut events = Vec::new();
        if let Some(beginning) = beginning {
            let event = log.record(at, &beginning, Vec::new());
            events.extend(event.map_err(RepositoryError::Refused)?);
        }
        let refactors = outcome.environments.iter().filter_map(|one| {
            let inside = inside.get(&one.environment).map(Vec::as_slice).unwrap_or_default();
            refactor(one, inside, None)
        });
        let refactors: Vec<Refactor> = refactors.collect();
        let head = log.head().map_err(RepositoryError::Refused)?;
        if let Some(head) = head.filter(|head| log.snapshot(*head) == Some(&state))
            && !refactors.is_empty()
        {
            return Err(RepositoryError::TooLate(head).into());
        }
        let event = log.record(at, &state, refactors).map_err(RepositoryError::Refused)?;
        events.extend(event);
        let mended = if events.is_empty() { store.misplaced(&state)? } else { Vec::new() };
        if !events.is_empty() || !mended.is_empty() {
            store.write(seen.as_deref(), &log, &templates)?;
        }
        Ok(Recorded { log, events, mended })
    }
}

/// Synthesizes the app and compares it with the last state of the log. Changes nothing.
///
/// # Errors
/// When the app or the log cannot be read, or the log has branched.
pub async fn check(settings: &Settings, host: &dyn Host) -> Result<Checked, Error> {
    let store = Store::new(&settings.project);
    let log = match store.text()? {
        Some(text) => parsed(&store.file, &text, Log::parse)?,
        None => Log::default(),
    };
    let local = synthesized(settings, host).await?;
    let state = state_of(&local.stacks)?;
    let head = log.head().map_err(RepositoryError::Refused)?;
    let empty = Snapshot::default();
    let before = head.and_then(|head| log.snapshot(head)).unwrap_or(&empty);
    let difference = diff(before, &state);
    let misplaced = store.misplaced(before)?;
    Ok(Checked { head, difference, misplaced })
}

/// The stacks in which something differs.
pub(super) fn stacks_of(difference: &SnapshotDifference) -> Vec<StackKey> {
    let SnapshotDifference { created, deleted, updated } = difference;
    let mut stacks: Vec<StackKey> =
        created.keys().chain(deleted.keys()).chain(updated.keys()).cloned().collect();
    stacks.sort();
    stacks
}
