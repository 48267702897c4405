//! A step that is a stack refactor.

use std::collections::BTreeMap;

use super::settle::{Standing, Trace, named};
use super::watch::Watch;
use super::{Driver, LOOKS, Patience};
use crate::aws::{AwsError, Cause, RefactorRequest, RefactorState};
use crate::event::Remote;
use crate::model::{Location, StatusKind};
use crate::plan::Batch;
use crate::run::error::Problem;
use crate::run::journal::{Before, Call};
use crate::run::reasons::{Reason, understand};
use crate::run::rules::{RefactorMeans, name_in_arn, places, refactor_means, unasked};
use crate::run::state::{Open, Sending};

/// How an attempt has ended.
enum Ended {
    /// The step is done.
    Done,
    /// Nothing has happened, and trying again may help; why, if that is all there is to say.
    Again(Problem),
}

impl Driver<'_> {
    /// Carries out a refactor, wherever it stands.
    pub(super) async fn refactor(&mut self, step: usize, batch: &Batch) -> Result<(), Problem> {
        let (mut tries, mut last) = (0, None);
        loop {
            let Some(open) = self.state.open(step).cloned() else {
                if let Some(problem) = last.take_if(|_| tries >= self.options.attempts) {
                    return Err(problem);
                }
                tries += 1;
                self.start(step).await?;
                continue;
            };
            let ended = match (&open.id, open.create) {
                (Some(id), _) => self.pursue(step, batch, &open, id).await?,
                (None, Sending::Not) => {
                    self.create(step, batch, &open).await?;
                    continue;
                }
                (None, _) => match self.find(step, &open).await? {
                    Some(id) => {
                        self.log_sent(step, Call::Create, Some(id))?;
                        continue;
                    }
                    None => {
                        self.drop_attempt(step, &open, "the request has not arrived").await?;
                        Ended::Again(Problem::Lost { attempts: tries })
                    }
                },
            };
            match ended {
                Ended::Done => return Ok(()),
                Ended::Again(Problem::Obsolete { reason, .. }) => {
                    last = Some(Problem::Obsolete { attempts: tries, reason });
                }
                Ended::Again(problem) => last = Some(problem),
            }
        }
    }

    /// Asks for the refactor.
    async fn create(&mut self, step: usize, batch: &Batch, open: &Open) -> Result<(), Problem> {
        let mut stacks = Vec::new();
        for (sent, before) in batch.stacks.iter().zip(&open.stacks) {
            let template = self.stage(&sent.name, &sent.template).await?;
            stacks.push((self.address(before), template));
        }
        let mut moves = Vec::new();
        for each in &batch.moves {
            let (source, destination) =
                places(each).map_err(|message| Problem::Malformed { message })?;
            moves.push((self.addressed(&source, open), self.addressed(&destination, open)));
        }
        let request = RefactorRequest {
            description: self.state.token(step, open.attempt),
            creates_stacks: open.stacks.iter().any(|stack| stack.body.is_none()),
            stacks,
            moves,
        };
        self.safe_point()?;
        self.log_sending(step, Call::Create, BTreeMap::new())?;
        let created = self.session.create_stack_refactor(&request);
        match self.call("CreateStackRefactor", created).await? {
            Ok(id) => self.log_sent(step, Call::Create, Some(id)),
            Err(error) if had_no_effect(&error) => {
                self.drop_attempt(step, open, &error.to_string()).await?;
                Err(refusal(error, batch))
            }
            // It may have arrived: it is looked for.
            Err(error) => {
                self.note(format!("{error} The request may have arrived nevertheless."));
                Ok(())
            }
        }
    }

    /// The same location, its stack named by its ARN if it has one.
    fn addressed(&self, location: &Location, open: &Open) -> Location {
        let stack = open.stacks.iter().find(|stack| stack.name == location.stack.as_str());
        match stack {
            Some(stack) => Location::new(&self.address(stack), location.logical_id.as_str()),
            None => location.clone(),
        }
    }

    /// Looks for a refactor whose creation was not answered.
    async fn find(&self, step: usize, open: &Open) -> Result<Option<String>, Problem> {
        let mut patience = Patience::of("the search for a stack refactor");
        for look in 0..LOOKS {
            let all = self.ask("ListStackRefactors", self.session.stack_refactors()).await?;
            // A request of an earlier attempt may have arrived late.
            for attempt in (1..=open.attempt).rev() {
                let token = self.state.token(step, attempt);
                let found = all.iter().find(|each| each.description == token);
                let usable = |state: &&RefactorState| {
                    attempt == open.attempt
                        || matches!(
                            refactor_means(Some(state)),
                            RefactorMeans::Wait | RefactorMeans::Ready
                        )
                };
                if let Some(found) = found.filter(usable) {
                    return Ok(Some(found.id.clone()));
                }
            }
            if look + 1 < LOOKS {
                self.pause(&mut patience).await?;
            }
        }
        Ok(None)
    }

    /// Follows a refactor that was created until it has ended.
    async fn pursue(
        &mut self,
        step: usize,
        batch: &Batch,
        open: &Open,
        id: &str,
    ) -> Result<Ended, Problem> {
        let mut pursuit = Pursuit {
            told: String::new(),
            compared: false,
            looks: 0,
            refused: None,
            patience: Patience::of(format!("stack refactor {id}")),
        };
        let mut watch = Watch::new(Vec::new(), BTreeMap::new(), &batch.moves);
        if open.execute > Sending::Not {
            watch = self.watch_refactor(batch, open, id).await?;
        }
        loop {
            let state = self.session.describe_stack_refactor(id);
            let state = self.ask("DescribeStackRefactor", state).await?;
            let status = state.as_ref().map(|state| (&*state.status, &*state.execution_status));
            self.tell_remote(Remote::Refactor, id, status, &mut pursuit.told);
            watch.look(self).await?;
            let reason = |text: &str| Box::new(understand(text, batch));
            match refactor_means(state.as_ref()) {
                RefactorMeans::Wait => self.pause(&mut pursuit.patience).await?,
                RefactorMeans::Ready => {
                    if let Some(new) = self.ready(step, batch, id, &mut pursuit).await? {
                        watch = new;
                    }
                }
                RefactorMeans::Refused(text) => {
                    self.drop_attempt(step, open, &text).await?;
                    return Err(Problem::Refused(reason(&text)));
                }
                RefactorMeans::Obsolete(text) => {
                    self.drop_attempt(step, open, &text).await?;
                    let reason = reason(&text);
                    return Ok(Ended::Again(Problem::Obsolete { attempts: 1, reason }));
                }
                RefactorMeans::Executed => {
                    return self.executed(step, batch, open, &mut watch).await;
                }
                RefactorMeans::Undone(text) => {
                    self.settle(&open.stacks).await?;
                    watch.look(self).await?;
                    self.drop_attempt(step, open, &text).await?;
                    return Err(Problem::Undone(reason(&text)));
                }
                RefactorMeans::Failing(_) if pursuit.looks < LOOKS => {
                    pursuit.looks += 1;
                    self.pause(&mut pursuit.patience).await?;
                }
                RefactorMeans::Failing(text) | RefactorMeans::Broken(text) => {
                    return self.by_templates(step, batch, open, reason(&text)).await;
                }
                RefactorMeans::Unknown => {
                    return self.by_templates(step, batch, open, Box::default()).await;
                }
            }
        }
    }

    /// A refactor can be executed: compares what it will do with what it was asked for, looks
    /// once more, and executes it. Returns what to watch from now on.
    async fn ready<'b>(
        &mut self,
        step: usize,
        batch: &'b Batch,
        id: &str,
        pursuit: &mut Pursuit,
    ) -> Result<Option<Watch<'b>>, Problem> {
        let Some(open) = self.state.open(step).cloned() else { return Ok(None) };
        if !pursuit.compared {
            let actions = self.session.stack_refactor_actions(id);
            let actions = self.ask("ListStackRefactorActions", actions).await?;
            let names = self.names(batch, &open);
            let name_of = |stack: &str| {
                names.get(stack).cloned().unwrap_or_else(|| name_in_arn(stack).to_owned())
            };
            let differences = unasked(batch, &actions, name_of);
            if !differences.is_empty() {
                self.drop_attempt(step, &open, &differences.join("; ")).await?;
                return Err(Problem::Unasked { differences });
            }
            pursuit.compared = true;
            return Ok(None);
        }
        // It was asked to execute, and does not yet: that may take a moment to show.
        if open.execute > Sending::Not && pursuit.looks < LOOKS {
            pursuit.looks += 1;
            self.pause(&mut pursuit.patience).await?;
            return Ok(None);
        }
        if let Some(error) = pursuit.refused.take() {
            self.drop_attempt(step, &open, &error.to_string()).await?;
            return Err(refusal(error, batch));
        }
        self.safe_point()?;
        pursuit.looks = 0;
        let mut events = open.events.clone();
        if events.is_empty() {
            for before in &open.stacks {
                let Some(arn) = &before.id else { continue };
                let newest = self.session.newest_event(arn);
                // Only for what is told of it.
                if let Ok(Some(newest)) = self.call("DescribeStackEvents", newest).await? {
                    events.insert(arn.clone(), newest);
                }
            }
        }
        self.log_sending(step, Call::Execute, events)?;
        let executed = self.session.execute_stack_refactor(id);
        match self.call("ExecuteStackRefactor", executed).await? {
            Ok(()) => self.log_sent(step, Call::Execute, None)?,
            Err(error) if had_no_effect(&error) && error.cause() != Some(Cause::Refused) => {
                return Err(error.into());
            }
            // What the refactor says next decides.
            Err(error) if had_no_effect(&error) => pursuit.refused = Some(error),
            Err(error) => {
                self.note(format!("{error} The request may have arrived nevertheless."));
            }
        }
        let open = self.state.open(step).cloned().unwrap_or(open);
        Ok(Some(self.watch_refactor(batch, &open, id).await?))
    }

    /// Everything has moved: waits for the stacks.
    async fn executed(
        &mut self,
        step: usize,
        batch: &Batch,
        open: &Open,
        watch: &mut Watch<'_>,
    ) -> Result<Ended, Problem> {
        let settled = self.settle(&open.stacks).await?;
        watch.look(self).await?;
        let broken = settled.iter().any(|(_, state)| {
            state.as_ref().is_none_or(|state| state.status.kind() != StatusKind::Stable)
        });
        if broken {
            return self.by_templates(step, batch, open, Box::default()).await;
        }
        watch.complete(self);
        self.finish(step, named(&settled))?;
        Ok(Ended::Done)
    }

    /// The refactor does not tell what has happened: the templates do.
    async fn by_templates(
        &mut self,
        step: usize,
        batch: &Batch,
        open: &Open,
        reason: Box<Reason>,
    ) -> Result<Ended, Problem> {
        let settled = self.settle(&open.stacks).await?;
        let sent: Vec<&str> = batch.stacks.iter().map(|stack| stack.template.as_str()).collect();
        match self.standing(&open.stacks, &settled, &sent).await? {
            Standing::After => {
                self.finish(step, named(&settled))?;
                Ok(Ended::Done)
            }
            Standing::Before => {
                self.drop_attempt(step, open, &reason.text).await?;
                Ok(Ended::Again(if reason.text.is_empty() {
                    Problem::Lost { attempts: 1 }
                } else {
                    Problem::Undone(reason)
                }))
            }
            Standing::Mixed => {
                let unstable = settled.iter().any(|(_, state)| {
                    state.as_ref().is_some_and(|state| state.status.kind() == StatusKind::Broken)
                });
                if !unstable && reason.text.is_empty() {
                    let stacks = open.stacks.iter().map(|stack| stack.name.clone()).collect();
                    return Err(Problem::Diverged { stacks });
                }
                let stacks = settled
                    .into_iter()
                    .filter_map(|(name, state)| Some((name, state?.status)))
                    .collect();
                Err(Problem::Broken { reason, stacks })
            }
        }
    }

    /// Ends an attempt that came to nothing.
    pub(super) async fn drop_attempt(
        &mut self,
        step: usize,
        open: &Open,
        reason: &str,
    ) -> Result<(), Problem> {
        self.sweep(&open.stacks, Trace::Refactor(open.id.as_deref())).await?;
        self.give_up(step, reason)
    }

    /// Names of stacks by their ARNs.
    fn names(&self, batch: &Batch, open: &Open) -> BTreeMap<String, String> {
        let stacks = batch.stacks.iter().zip(&open.stacks);
        stacks.map(|(sent, before)| (self.address(before), sent.name.clone())).collect()
    }

    async fn watch_refactor<'b>(
        &self,
        batch: &'b Batch,
        open: &Open,
        id: &str,
    ) -> Result<Watch<'b>, Problem> {
        let state = self.session.describe_stack_refactor(id);
        let ids = match self.call("DescribeStackRefactor", state).await? {
            Ok(Some(state)) => state.stack_ids,
            _ => Vec::new(),
        };
        let arn = |stack: &Before| {
            let of_new = || ids.iter().find(|arn| name_in_arn(arn) == stack.name).cloned();
            stack.id.clone().or_else(of_new)
        };
        let stacks = open.stacks.iter().filter_map(|stack| Some((stack.name.clone(), arn(stack)?)));
        Ok(Watch::new(stacks.collect(), open.events.clone(), &batch.moves))
    }

    /// Ends a step that is under way without beginning anything new, so that what is done can be
    /// undone: waits for what goes on, and drops what was only prepared.
    pub(super) async fn conclude_refactor(
        &mut self,
        step: usize,
        batch: &Batch,
    ) -> Result<(), Problem> {
        let Some(mut open) = self.state.open(step).cloned() else { return Ok(()) };
        if open.id.is_none() && open.create > Sending::Not {
            open.id = self.find(step, &open).await?;
            if let Some(id) = open.id.clone() {
                self.log_sent(step, Call::Create, Some(id))?;
            }
        }
        let Some(id) = open.id.clone() else {
            return self.drop_attempt(step, &open, "it was not begun").await;
        };
        let mut patience = Patience::of(format!("stack refactor {id}"));
        let mut looks = 0;
        loop {
            let state = self.session.describe_stack_refactor(&id);
            let state = self.ask("DescribeStackRefactor", state).await?;
            let waits = open.execute > Sending::Not && looks < LOOKS;
            match refactor_means(state.as_ref()) {
                RefactorMeans::Wait => self.pause(&mut patience).await?,
                RefactorMeans::Ready if waits => {
                    looks += 1;
                    self.pause(&mut patience).await?;
                }
                RefactorMeans::Ready | RefactorMeans::Refused(_) | RefactorMeans::Obsolete(_) => {
                    return self.drop_attempt(step, &open, "it was not executed").await;
                }
                _ => {
                    return self
                        .pursue(step, batch, &open, &id)
                        .await
                        .map(|_| ())
                        .or_else(harmless);
                }
            }
        }
    }
}

/// What was undone by CloudFormation needs no undoing.
fn harmless(problem: Problem) -> Result<(), Problem> {
    match problem {
        Problem::Undone(_) | Problem::Refused(_) => Ok(()),
        problem => Err(problem),
    }
}

/// What is remembered while a refactor is followed.
struct Pursuit {
    told: String,
    /// Whether the preview is known to be what was asked for.
    compared: bool,
    /// How often something was seen that may not last.
    looks: usize,
    /// Why the execution was refused.
    refused: Option<AwsError>,
    patience: Patience,
}

pub(super) fn had_no_effect(error: &AwsError) -> bool {
    error.call().is_none_or(crate::aws::CallError::had_no_effect)
        && !matches!(error, AwsError::Incomplete { .. })
}

/// What the service says to the request itself.
fn refusal(error: AwsError, batch: &Batch) -> Problem {
    match error.call() {
        Some(call) if call.cause == Cause::Refused => {
            Problem::Refused(Box::new(understand(&call.message, batch)))
        }
        _ => Problem::Aws(error),
    }
}
