//! Where a run stands, as its journal tells it. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::journal::{Before, Begin, Call, End, Line, Outcome, Record, StepStarted, Task};

/// Where a run stands.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) begin: Begin,
    steps: Vec<Progress>,
    /// ARNs of stacks, by name, as far as they are known.
    pub(super) ids: BTreeMap<String, String>,
    pub(super) end: Option<End>,
}

/// Where a step stands.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// Attempts that were begun.
    attempts: usize,
    open: Option<Open>,
    done: Option<Vec<Before>>,
}

/// An attempt that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Open {
    /// Which attempt, from 1.
    pub(super) attempt: usize,
    /// The stacks before it.
    pub(super) stacks: Vec<Before>,
    /// How far the creation of the refactor or change set has got.
    pub(super) create: Sending,
    /// The ID of the refactor.
    pub(super) id: Option<String>,
    /// How far its execution, or a deletion, has got.
    pub(super) execute: Sending,
    /// The newest event of each stack before the execution.
    pub(super) events: BTreeMap<String, String>,
}

/// How far a call has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sending {
    /// It was not made.
    Not,
    /// It was about to be made, and may have been made.
    Perhaps,
    /// It was made and answered.
    Sent,
}

impl State {
    /// Reads a journal.
    ///
    /// # Errors
    /// A sentence about a line that does not fit those before it.
    pub(super) fn of(lines: &[Line]) -> Result<Self, String> {
        let Some(Record::Begin(begin)) = lines.first().map(|line| &line.record) else {
            return Err("the journal does not say what is to be done".to_owned());
        };
        let mut state = Self::new((**begin).clone())?;
        for (at, line) in lines.iter().enumerate().skip(1) {
            let fits = state.apply(&line.record);
            fits.map_err(|message| format!("line {}: {message}", at + 1))?;
        }
        Ok(state)
    }

    /// Returns the state of a run that has just begun.
    ///
    /// # Errors
    /// When a step needs itself or one that stands after it.
    pub(super) fn new(begin: Begin) -> Result<Self, String> {
        let count = begin.steps();
        if (0..count).any(|step| begin.needs(step).iter().any(|need| *need >= step)) {
            return Err("a step of the plan needs one that stands after it".to_owned());
        }
        let mut ids = BTreeMap::new();
        for (name, id, _) in (0..count).filter_map(|step| begin.task(step)).flat_map(Task::stacks) {
            if let Some(id) = id {
                ids.insert(name.to_owned(), id.to_owned());
            }
        }
        Ok(Self { begin, steps: vec![Progress::default(); count], ids, end: None })
    }

    /// Takes in what was written to the journal.
    ///
    /// # Errors
    /// When it does not fit what was there before.
    pub(super) fn apply(&mut self, record: &Record) -> Result<(), String> {
        // A look at what became of the resources changes nothing.
        if matches!(record, Record::Kept(_)) {
            return Ok(());
        }
        // A run that has ended can be taken up again, but not one that was undone.
        match (&self.end, record) {
            (Some(End { outcome: Outcome::Reversed, .. }), _) => {
                return Err("something follows although the run was undone".to_owned());
            }
            (Some(_), _) => self.end = None,
            (None, _) => {}
        }
        match record {
            Record::Begin(_) => return Err("the run begins twice".to_owned()),
            Record::StepStarted(started) => self.start(started)?,
            Record::Sending(sending) => {
                let open = self.attempt(sending.step, sending.attempt)?;
                match sending.call {
                    Call::Create => open.create = Sending::Perhaps,
                    Call::Execute => {
                        open.execute = Sending::Perhaps;
                        open.events.clone_from(&sending.events);
                    }
                }
            }
            Record::Sent(sent) => {
                let open = self.attempt(sent.step, sent.attempt)?;
                match sent.call {
                    Call::Create => {
                        open.create = Sending::Sent;
                        open.id.clone_from(&sent.id);
                    }
                    Call::Execute => open.execute = Sending::Sent,
                }
            }
            Record::GaveUp(gave_up) => {
                self.attempt(gave_up.step, gave_up.attempt)?;
                self.step(gave_up.step)?.open = None;
            }
            Record::StepDone(done) => {
                let step = self.step(done.step)?;
                let open = step.open.take();
                let open = open.ok_or_else(|| format!("step {} ends twice", done.step))?;
                step.done = Some(open.stacks);
                for stack in &done.stacks {
                    self.ids.insert(stack.name.clone(), stack.id.clone());
                }
            }
            Record::End(end) => self.end = Some(end.clone()),
            Record::Kept(_) => {}
        }
        Ok(())
    }

    fn start(&mut self, started: &StepStarted) -> Result<(), String> {
        let step = self.step(started.step)?;
        if step.done.is_some() || step.open.is_some() {
            return Err(format!("step {} begins twice", started.step));
        }
        step.attempts = started.attempt;
        step.open = Some(Open {
            attempt: started.attempt,
            stacks: started.stacks.clone(),
            create: Sending::Not,
            id: None,
            execute: Sending::Not,
            events: BTreeMap::new(),
        });
        for stack in &started.stacks {
            if let Some(id) = &stack.id {
                self.ids.insert(stack.name.clone(), id.clone());
            }
        }
        Ok(())
    }

    fn step(&mut self, step: usize) -> Result<&mut Progress, String> {
        self.steps.get_mut(step).ok_or_else(|| format!("there is no step {step}"))
    }

    fn attempt(&mut self, step: usize, attempt: usize) -> Result<&mut Open, String> {
        let open = self.step(step)?.open.as_mut().filter(|open| open.attempt == attempt);
        open.ok_or_else(|| format!("step {step} has no attempt {attempt} under way"))
    }

    /// Returns the step to be carried on with: one that is under way, else the first whose needs
    /// are done; `None` if every step is done. Steps are taken one after another: an update of
    /// one stack would make previews of others obsolete that share it, and what a person reads
    /// in the journal is what happened, in its order.
    pub(super) fn next(&self) -> Option<usize> {
        let open = self.steps.iter().position(|step| step.open.is_some());
        open.or_else(|| {
            (0..self.steps.len()).find(|step| {
                self.steps[*step].done.is_none()
                    && self.begin.needs(*step).iter().all(|need| self.is_done(*need))
            })
        })
    }

    /// Returns the attempt that is under way at a step.
    pub(super) fn open(&self, step: usize) -> Option<&Open> {
        self.steps.get(step)?.open.as_ref()
    }

    /// How many attempts at a step were begun.
    pub(super) fn attempts(&self, step: usize) -> usize {
        self.steps.get(step).map_or(0, |step| step.attempts)
    }

    /// Whether a step was ever begun.
    pub(super) fn has_begun(&self) -> bool {
        self.steps.iter().any(|step| step.attempts > 0)
    }

    /// Whether a step is done.
    pub(super) fn is_done(&self, step: usize) -> bool {
        self.before(step).is_some()
    }

    /// Returns the stacks of a step that is done as they were before.
    pub(super) fn before(&self, step: usize) -> Option<&[Before]> {
        self.steps.get(step)?.done.as_deref()
    }

    /// How many steps are done.
    pub(super) fn done(&self) -> usize {
        self.steps.iter().filter(|step| step.done.is_some()).count()
    }

    /// The stacks whose templates have to be as planned before anything is done: name, ARN and
    /// digest of each where it is first met among the steps that are not done.
    pub(super) fn expected(&self) -> Vec<(String, Option<String>, Option<String>)> {
        let (mut met, mut found) = (BTreeSet::new(), Vec::new());
        for step in 0..self.steps.len() {
            // What is under way is looked at with its refactor.
            if self.is_done(step) {
                continue;
            }
            let Some(task) = self.begin.task(step) else { continue };
            for (name, id, before) in task.stacks() {
                if met.insert(name.to_owned()) && self.open(step).is_none() {
                    let id = id.map(str::to_owned).or_else(|| self.ids.get(name).cloned());
                    found.push((name.to_owned(), id, before.map(str::to_owned)));
                }
            }
        }
        found
    }

    /// The description of the refactor, and the name of the change set, of an attempt at a step:
    /// what it is found again by.
    pub(super) fn token(&self, step: usize, attempt: usize) -> String {
        format!("cdkr-{}-step-{}-attempt-{attempt}", self.begin.id, step + 1)
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
