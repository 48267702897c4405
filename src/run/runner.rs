//! The entries of the room: run, resume, revert.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _};
use std::path::{Path, PathBuf};

use super::driver::{Driver, Staging, check_all};
use super::error::{Problem, RunError};
use super::journal::{
    Begin, End, Journal, JournalError, Kind, Line, Lock, LockError, NewStack, Outcome, Record,
    VERSION, directory_of, empty_reversals, named, read, reversal_of,
};
use super::options::RunOptions;
use super::reverse::reversal;
use super::state::State;
use crate::aws::{Aws, Purpose, Roles, Session, now};
use crate::event::{Event, Host};
use crate::model::{Environment, StackOptions};
use crate::plan::{Plan, Severity};

/// Carries out plans.
pub struct Runner<'a> {
    aws: &'a Aws,
    roles: Roles,
    host: &'a dyn Host,
    options: RunOptions,
}

/// A run that has ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The journal; `None` if there was nothing to do.
    pub journal: Option<PathBuf>,
    /// How many steps were done, those of earlier processes included.
    pub steps: usize,
    /// The ARNs of the stacks that it met, by name; of those that it has created, too.
    pub stacks: BTreeMap<String, String>,
}

impl<'a> Runner<'a> {
    /// Returns a runner that changes stacks with the role to deploy with.
    pub fn new(aws: &'a Aws, roles: Roles, host: &'a dyn Host, options: RunOptions) -> Self {
        Self { aws, roles, host, options }
    }

    /// Carries out a plan, and keeps a journal in a directory, which is made if it is not there.
    ///
    /// # Errors
    /// What happened, what was left untouched, and what to do next. Without a journal in it,
    /// nothing was changed.
    pub async fn run(&self, plan: &Plan, directory: &Path) -> Result<Done, RunError> {
        self.run_plan(plan, directory, None).await
    }

    /// Carries out a plan that undoes another run: one that was made from the templates as they
    /// are now ([`crate::plan::reverse`]), because [`Self::revert`] has found them changed.
    ///
    /// # Errors
    /// As for [`Self::run`].
    pub async fn revert_by(&self, plan: &Plan, journal: &Path) -> Result<Done, RunError> {
        let reverses = journal.file_name().map(|name| name.to_string_lossy().into_owned());
        self.run_plan(plan, directory_of(journal), reverses).await
    }

    async fn run_plan(
        &self,
        plan: &Plan,
        directory: &Path,
        reverses: Option<String>,
    ) -> Result<Done, RunError> {
        let of = plan.steps.len();
        let early = |problem| early(problem, of);
        if plan.is_refused() {
            let errors = plan.findings.iter().filter(|each| each.severity == Severity::Error);
            let findings = errors.map(|each| format!("{}: {}", each.stack, each.message)).collect();
            return Err(early(Problem::PlanRefused { findings }));
        }
        if plan.steps.is_empty() {
            if let Some(original) = reverses {
                let original = named(directory).join(original);
                let (_, _, lock) = take(&original).map_err(early)?;
                give_up_empty_reversals(&original).map_err(early)?;
                mark_reversed(&original).map_err(early)?;
                drop(lock);
            }
            return Ok(Done { journal: None, steps: 0, stacks: BTreeMap::new() });
        }
        let new_stacks = self.options.new_stacks.iter();
        let begin = Begin {
            version: VERSION,
            cdkr: env!("CARGO_PKG_VERSION").to_owned(),
            id: fresh_id(),
            kind: if reverses.is_some() { Kind::Reversal } else { Kind::Forward },
            reverses,
            plan: plan.clone(),
            deletions: Vec::new(),
            roles: self.roles.clone(),
            new_stacks: new_stacks.map(|(name, new)| (name.clone(), new_stack(new))).collect(),
        };
        let mut driver = self.begin(begin, directory, None).await.map_err(early)?;
        let result = driver.carry_on().await;
        close(driver, result)
    }

    /// Continues a run that was interrupted, or failed, from its journal and from what the
    /// service says. A run that is finished stays as it is.
    ///
    /// # Errors
    /// What happened, what was left untouched, and what to do next.
    pub async fn resume(&self, journal: &Path) -> Result<Done, RunError> {
        let mut driver = match self.open(journal).await.map_err(|problem| early(problem, 0))? {
            Opened::Ended(done) => return Ok(done),
            Opened::Open(driver) => *driver,
        };
        let result = match check_all(&driver.session, driver.options, &driver.state).await {
            Ok(()) => driver.carry_on().await,
            Err(problem) => Err(problem),
        };
        close(driver, result)
    }

    /// Undoes the steps of a run that are done, in reverse order, and keeps a journal of its own
    /// beside that of the run. A reversal that has begun a step is continued.
    ///
    /// # Errors
    /// What happened, what was left untouched, and what to do next. With
    /// [`Problem::ChangedSince`] the templates are no longer those that the run has left, and the
    /// way back has to be planned.
    pub async fn revert(&self, journal: &Path) -> Result<Done, RunError> {
        let at_first = |problem| early(problem, 0);
        let Some(name) = journal.file_name().map(|name| name.to_string_lossy().into_owned()) else {
            let message = format!("{} is no journal", journal.display());
            return Err(at_first(Problem::Malformed { message }));
        };
        if let Some(begun) = reversal_of(journal) {
            return self.resume(&begun).await;
        }
        let (original, state, lock) = take(journal).map_err(at_first)?;
        // Somebody else may have begun to undo it in between.
        if let Some(begun) = reversal_of(journal) {
            drop((original, lock));
            return self.resume(&begun).await;
        }
        if state.begin.kind == Kind::Reversal {
            return Err(at_first(Problem::IsReversal));
        }
        let ids = state.ids.clone();
        if is_reversed(&state) {
            return Ok(Done { journal: Some(journal.to_owned()), steps: 0, stacks: ids });
        }
        let mut driver = self.driver(original, state, lock).await.map_err(at_first)?;
        let of = driver.state.begin.steps();
        let concluded = driver.conclude().await;
        if let Err(problem) = concluded {
            return close(driver, Err(problem));
        }
        let begin = reversal(&driver.state, &fresh_id(), &name)
            .map_err(|message| early(Problem::Malformed { message }, of))?;
        if begin.steps() == 0 {
            let marked = give_up_empty_reversals(journal).and_then(|()| mark_reversed(journal));
            marked.map_err(at_first)?;
            return Ok(Done { journal: Some(journal.to_owned()), steps: 0, stacks: ids });
        }
        let Driver { lock, .. } = driver;
        let begun = self.begin(begin, directory_of(journal), Some(lock)).await;
        let mut driver = begun.map_err(|problem| {
            at_first(match problem {
                Problem::Changed { stack } | Problem::Missing { stack } => {
                    Problem::ChangedSince { stack }
                }
                other => other,
            })
        })?;
        let result = driver.carry_on().await;
        close(driver, result)
    }

    /// Begins a run: everything that can be checked is checked before the journal is there.
    async fn begin(
        &self,
        begin: Begin,
        directory: &Path,
        held: Option<Lock>,
    ) -> Result<Driver<'_>, Problem> {
        let directory = named(directory);
        std::fs::create_dir_all(directory)
            .map_err(|error| JournalError::Io { path: directory.to_owned(), error })?;
        let environment = begin.plan.environment();
        let name = format!("{}-{}-{}.jsonl", begin.id, environment.account, environment.region);
        let lock = match held {
            Some(lock) => lock.renamed(now(), &name)?,
            None => lock(directory, &environment, &name)?,
        };
        let state = State::new(begin).map_err(|message| Problem::Malformed { message })?;
        let session = self.aws.session(&environment, &self.roles, Purpose::Write).await?;
        self.tell_warnings(&session);
        let staging = Staging::find(self.aws, &session, &self.options, &state.begin).await?;
        check_all(&session, &self.options, &state).await?;
        if let Some(original) = &state.begin.reverses {
            give_up_empty_reversals(&directory.join(original))?;
        }
        let first = Line { at: now(), record: Record::Begin(Box::new(state.begin.clone())) };
        let journal = Journal::create(&directory.join(name), &first)?;
        let options = &self.options;
        Ok(Driver { session, staging, options, host: self.host, journal, state, lock })
    }

    async fn open(&self, path: &Path) -> Result<Opened<'_>, Problem> {
        let state = state_of(&read(path)?)?;
        let is_finished =
            |state: &State| state.end.as_ref().is_some_and(|end| end.outcome == Outcome::Finished);
        let ended = |state: State| {
            let (journal, steps) = (Some(path.to_owned()), state.done());
            Ok(Opened::Ended(Done { journal, steps, stacks: state.ids }))
        };
        if is_reversed(&state) {
            return Err(Problem::AlreadyReverted);
        }
        if is_finished(&state) && state.begin.reverses.is_none() {
            return ended(state);
        }
        let (journal, state, lock) = take(path)?;
        // Somebody else may have gone on with it in between.
        if is_reversed(&state) {
            return Err(Problem::AlreadyReverted);
        }
        if is_finished(&state) {
            mark_original(path, &state)?;
            return ended(state);
        }
        if reversal_of(path).is_some() {
            return Err(Problem::BeingReverted);
        }
        give_up_empty_reversals(path)?;
        Ok(Opened::Open(Box::new(self.driver(journal, state, lock).await?)))
    }

    async fn driver(
        &self,
        journal: Journal,
        state: State,
        lock: Lock,
    ) -> Result<Driver<'_>, Problem> {
        let environment = state.begin.plan.environment();
        let session = self.aws.session(&environment, &self.roles, Purpose::Write).await?;
        self.tell_warnings(&session);
        let staging = Staging::find(self.aws, &session, &self.options, &state.begin).await?;
        let options = &self.options;
        Ok(Driver { session, staging, options, host: self.host, journal, state, lock })
    }

    fn tell_warnings(&self, session: &Session) {
        for warning in session.warnings() {
            self.host.tell(&Event::Note { text: warning.clone() });
        }
    }
}

enum Opened<'a> {
    Ended(Done),
    Open(Box<Driver<'a>>),
}

/// Writes down how a run has ended, if it has.
fn close(mut driver: Driver<'_>, result: Result<(), Problem>) -> Result<Done, RunError> {
    let ended = match &result {
        Ok(()) => Some(End { outcome: Outcome::Finished, reason: None }),
        Err(problem) if problem.is_final() => {
            Some(End { outcome: Outcome::Failed, reason: Some(problem.to_string()) })
        }
        Err(_) => None,
    };
    let mut logged = ended.map_or(Ok(()), |end| driver.log(Record::End(end)));
    if result.is_ok() && logged.is_ok() {
        logged = mark_original(driver.journal.path(), &driver.state);
    }
    let path = driver.journal.path().to_owned();
    let (done, of) = (driver.state.done(), driver.state.begin.steps());
    match result.and(logged) {
        Ok(()) => Ok(Done { journal: Some(path), steps: done, stacks: driver.state.ids }),
        Err(problem) => Err(RunError { problem: Box::new(problem), journal: Some(path), done, of }),
    }
}

/// For a reversal: writes into the journal that it reverses that this is done.
fn mark_original(path: &Path, state: &State) -> Result<(), Problem> {
    match &state.begin.reverses {
        Some(original) => mark_reversed(&directory_of(path).join(original)),
        None => Ok(()),
    }
}

/// Writes into the journals of reversals that have ended before their first step that there is
/// nothing left to do, so that nobody continues them. The lock has to be held.
fn give_up_empty_reversals(original: &Path) -> Result<(), Problem> {
    empty_reversals(original).iter().try_for_each(|path| mark_reversed(path))
}

/// Writes into a journal that what it says was undone. The lock has to be held.
fn mark_reversed(path: &Path) -> Result<(), Problem> {
    let (mut journal, lines) = Journal::open(path)?;
    let state = state_of(&lines)?;
    if !is_reversed(&state) {
        let end = End { outcome: Outcome::Reversed, reason: None };
        journal.append(&Line { at: now(), record: Record::End(end) })?;
    }
    Ok(())
}

/// Takes the lock of the environment of a journal, and opens the journal while it is held: it
/// says then how far others have come with it.
fn take(path: &Path) -> Result<(Journal, State, Lock), Problem> {
    let environment = state_of(&read(path)?)?.begin.plan.environment();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let lock = lock(directory_of(path), &environment, &name)?;
    let (journal, lines) = Journal::open(path)?;
    Ok((journal, state_of(&lines)?, lock))
}

fn is_reversed(state: &State) -> bool {
    state.end.as_ref().is_some_and(|end| end.outcome == Outcome::Reversed)
}

fn state_of(lines: &[Line]) -> Result<State, Problem> {
    State::of(lines).map_err(|message| Problem::Malformed { message })
}

fn lock(directory: &Path, environment: &Environment, journal: &str) -> Result<Lock, Problem> {
    Lock::take(directory, environment, now(), journal).map_err(|error| match error {
        LockError::Journal(error) => error.into(),
        LockError::Held(owner) => Problem::Locked {
            environment: environment.clone(),
            process: owner.process,
            host: owner.host,
            since: owner.since,
        },
    })
}

/// An error before there was a journal.
fn early(problem: Problem, of: usize) -> RunError {
    RunError { problem: Box::new(problem), journal: None, done: 0, of }
}

fn new_stack(options: &StackOptions) -> NewStack {
    let tags = options.tags.iter();
    NewStack {
        tags: tags.map(|(key, value)| (key.to_string(), value.to_string())).collect(),
        notification_arns: options.notification_arns.iter().map(ToString::to_string).collect(),
        role_arn: options.role_arn.as_ref().map(ToString::to_string),
    }
}

/// The time, and something that no other run has: `20261121T084739Z-1a2b3c4d`. Names of change
/// sets are made of it: letters, digits and hyphens.
fn fresh_id() -> String {
    let digits: String = now().chars().filter(|c| !matches!(c, '-' | ':')).collect();
    let time = digits.split(['.', 'Z']).next().unwrap_or_default().to_owned();
    // Every `RandomState` has keys of its own, so that the hash of nothing is a random number.
    let random = std::hash::RandomState::new().build_hasher().finish();
    format!("{time}Z-{:08x}", random >> 32)
}
