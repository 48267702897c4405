//! Carries out steps: asks the service where things stand, lets the rules say what that means,
//! writes down what comes next, and does it.
//!
//! A step is carried on with in the same way whether it was begun a moment ago or by a process
//! that is gone: what was done is read from the journal and from the service, never remembered.

mod change;
mod delete;
mod look;
mod refactor;
mod settle;
mod staging;
mod watch;

use std::time::Duration;

use super::error::Problem;
use super::journal::{
    Before, Call, GaveUp, Journal, Line, Lock, Named, Record, Sent, StepDone, Task,
};
use super::options::{Moment, RunOptions};
use super::state::{Sending, State};
use crate::aws::{AwsError, Session, now};
use crate::event::{Event, Host, Remote};
use crate::model::Environment;

pub(super) use look::check_all;
pub(super) use staging::Staging;

/// How often something is looked for, or looked at, before it is taken for what it seems: what
/// was asked for may take a moment to show.
const LOOKS: usize = 3;

/// A run under way.
pub(super) struct Driver<'a> {
    pub(super) session: Session,
    pub(super) staging: Option<Staging>,
    pub(super) options: &'a RunOptions,
    pub(super) host: &'a dyn Host,
    pub(super) journal: Journal,
    pub(super) state: State,
    /// Held as long as the run is under way.
    pub(super) lock: Lock,
}

/// How long something is waited for.
struct Patience {
    what: String,
    waited: Duration,
}

impl Patience {
    fn of(what: impl Into<String>) -> Self {
        Self { what: what.into(), waited: Duration::ZERO }
    }
}

impl Driver<'_> {
    /// Carries out every step that is not done yet.
    pub(super) async fn carry_on(&mut self) -> Result<(), Problem> {
        let mut told = None;
        while let Some(step) = self.state.next() {
            self.safe_point()?;
            if told != Some(step) {
                self.tell_start(step);
                told = Some(step);
            }
            self.carry_out(step).await?;
        }
        Ok(())
    }

    /// Carries on with one step until it is done.
    async fn carry_out(&mut self, step: usize) -> Result<(), Problem> {
        // Cloned: the state changes while the step is carried out.
        let begin = self.state.begin.clone();
        match begin.task(step) {
            Some(Task::Refactor(batch)) => Box::pin(self.refactor(step, batch)).await,
            Some(Task::Change(change)) => Box::pin(self.change(step, change)).await,
            Some(Task::Delete(deletion)) => Box::pin(self.delete(step, deletion)).await,
            None => Err(Problem::Malformed { message: format!("there is no step {step}") }),
        }
    }

    /// Ends what is under way without beginning anything new: waits for what goes on, and drops
    /// what was only prepared.
    pub(super) async fn conclude(&mut self) -> Result<(), Problem> {
        let begin = self.state.begin.clone();
        for step in 0..begin.steps() {
            match begin.task(step) {
                Some(Task::Refactor(batch)) => self.conclude_refactor(step, batch).await?,
                Some(Task::Change(change)) => self.conclude_change(step, change).await?,
                Some(Task::Delete(deletion)) => self.conclude_delete(step, deletion).await?,
                None => {}
            }
        }
        Ok(())
    }

    fn tell_start(&self, step: usize) {
        let title = self.state.begin.task(step).map(Task::title).unwrap_or_default();
        self.host.tell(&Event::StepStarted {
            environment: self.environment(),
            step: step + 1,
            of: self.state.begin.steps(),
            title,
        });
    }

    fn environment(&self) -> Environment {
        self.session.environment().clone()
    }

    /// Writes down what happens, and remembers it.
    pub(super) fn log(&mut self, record: Record) -> Result<(), Problem> {
        let line = Line { at: now(), record };
        self.state.apply(&line.record).map_err(|message| Problem::Malformed { message })?;
        self.journal.append(&line)?;
        Ok(())
    }

    /// Makes a call; tests may stop before and after it.
    async fn call<T>(
        &self,
        operation: &'static str,
        request: impl Future<Output = Result<T, AwsError>>,
    ) -> Result<Result<T, AwsError>, Problem> {
        call(self.options, operation, request).await
    }

    /// Makes a call that reads.
    async fn ask<T>(
        &self,
        operation: &'static str,
        request: impl Future<Output = Result<T, AwsError>>,
    ) -> Result<T, Problem> {
        Ok(self.call(operation, request).await??)
    }

    /// Tells the state of a refactor or a change set, if it is another than the last that was
    /// told: its status, or once it is created that of its execution.
    fn tell_remote(&self, what: Remote, id: &str, status: Option<(&str, &str)>, told: &mut String) {
        let Some((status, execution)) = status else { return };
        let status = if status == "CREATE_COMPLETE" { execution } else { status };
        if told != status {
            status.clone_into(told);
            let (environment, id) = (self.environment(), id.to_owned());
            let status = status.to_owned();
            self.host.tell(&Event::Remote { environment, what, id, status });
        }
    }

    /// Stops here if the run was asked to.
    fn safe_point(&self) -> Result<(), Problem> {
        match &self.options.cancel {
            Some(cancel) if *cancel.borrow() => Err(Problem::Cancelled { running: self.running() }),
            _ => Ok(()),
        }
    }

    /// What is going on at AWS: the executions that were asked for and are not known to have
    /// ended.
    fn running(&self) -> Vec<String> {
        let steps = 0..self.state.begin.steps();
        let running = steps.filter_map(|step| {
            let open = self.state.open(step)?;
            let names: Vec<&str> = open.stacks.iter().map(|stack| stack.name.as_str()).collect();
            let names = names.join(", ");
            match (open.execute > Sending::Not, self.state.begin.task(step)?, &open.id) {
                (true, Task::Refactor(_), Some(id)) => {
                    Some(format!("stack refactor {id} of {names}"))
                }
                (true, Task::Delete(_), _) => Some(format!("the deletion of {names}")),
                (true, _, _) => Some(format!("a change of {names}")),
                (false, _, _) => None,
            }
        });
        running.collect()
    }

    /// Pauses before the next look at something; a request to stop ends the pause.
    async fn pause(&self, patience: &mut Patience) -> Result<(), Problem> {
        if patience.waited >= self.options.limit {
            let what = patience.what.clone();
            return Err(Problem::TimedOut { what, waited: patience.waited });
        }
        self.safe_point()?;
        let pause = tokio::time::sleep(self.options.interval);
        match self.options.cancel.clone() {
            Some(mut cancel) => tokio::select! {
                () = pause => {}
                // An error means that nobody is there any more to ask.
                Ok(_) = cancel.wait_for(|stop| *stop) => {}
            },
            None => pause.await,
        }
        patience.waited += self.options.interval;
        self.safe_point()
    }

    fn note(&self, text: String) {
        self.host.tell(&Event::Note { text });
    }

    /// Begins an attempt at a step: looks at its stacks and writes down how they are.
    async fn start(&mut self, step: usize) -> Result<(), Problem> {
        let stacks = self.look_at_all(step).await?;
        let attempt = self.state.attempts(step) + 1;
        let started = super::journal::StepStarted { step, attempt, stacks };
        self.log(Record::StepStarted(started))
    }

    fn log_sending(
        &mut self,
        step: usize,
        call: Call,
        events: std::collections::BTreeMap<String, String>,
    ) -> Result<(), Problem> {
        let attempt = self.state.attempts(step);
        self.log(Record::Sending(super::journal::Sending { step, attempt, call, events }))
    }

    fn log_sent(&mut self, step: usize, call: Call, id: Option<String>) -> Result<(), Problem> {
        let attempt = self.state.attempts(step);
        self.log(Record::Sent(Sent { step, attempt, call, id }))
    }

    fn give_up(&mut self, step: usize, reason: impl Into<String>) -> Result<(), Problem> {
        let attempt = self.state.attempts(step);
        self.log(Record::GaveUp(GaveUp { step, attempt, reason: reason.into() }))
    }

    fn finish(&mut self, step: usize, stacks: Vec<Named>) -> Result<(), Problem> {
        self.log(Record::StepDone(StepDone { step, stacks }))?;
        self.host.tell(&Event::StepDone {
            environment: self.environment(),
            step: step + 1,
            of: self.state.begin.steps(),
        });
        Ok(())
    }

    /// What calls name a stack by: its ARN if it is known.
    fn address(&self, stack: &Before) -> String {
        let known = stack.id.as_ref().or_else(|| self.state.ids.get(&stack.name));
        known.unwrap_or(&stack.name).clone()
    }
}

/// Makes a call; tests may stop before and after it.
async fn call<T>(
    options: &RunOptions,
    operation: &'static str,
    request: impl Future<Output = Result<T, AwsError>>,
) -> Result<Result<T, AwsError>, Problem> {
    let hook = |moment| match &options.on_call {
        Some(hook) if !hook(moment, operation) => Err(Problem::Stopped),
        _ => Ok(()),
    };
    hook(Moment::Before)?;
    let answer = request.await;
    hook(Moment::After)?;
    Ok(answer)
}
