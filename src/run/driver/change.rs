//! A step that is an ordinary change of a stack.

use std::collections::BTreeMap;

use super::refactor::had_no_effect;
use super::settle::{Standing, Trace, named};
use super::watch::Watch;
use super::{Driver, LOOKS, Patience};
use crate::aws::{Cause, ChangeSetMeans, ChangeSetRequest, change_set_means};
use crate::event::Remote;
use crate::model::{StackStatus, StatusKind};
use crate::plan::Change;
use crate::run::error::Problem;
use crate::run::journal::{Before, Call};
use crate::run::rules::unexpected;
use crate::run::state::{Open, Sending};
use crate::template;

impl Driver<'_> {
    /// Carries out a change, wherever it stands.
    pub(super) async fn change(&mut self, step: usize, change: &Change) -> Result<(), Problem> {
        let (mut tries, mut told, mut looks) = (0, String::new(), 0);
        let mut patience = Patience::of(format!("the change set for stack `{}`", change.stack));
        while !self.state.is_done(step) {
            let Some(open) = self.state.open(step).cloned() else {
                if tries >= self.options.attempts {
                    return Err(Problem::Lost { attempts: tries });
                }
                (tries, looks) = (tries + 1, 0);
                self.start(step).await?;
                continue;
            };
            let Some(before) = open.stacks.first() else {
                return Err(Problem::Malformed { message: "a change of no stack".to_owned() });
            };
            if open.create == Sending::Not {
                self.create_change_set(step, change, &open, before).await?;
                continue;
            }
            let (stack, name) = (self.address(before), self.state.token(step, open.attempt));
            let state = self.session.describe_change_set(&stack, &name);
            let state = self.ask("DescribeChangeSet", state).await?;
            let status = state.as_ref().map(|state| (&*state.status, &*state.execution_status));
            self.tell_remote(Remote::ChangeSet, &name, status, &mut told);
            let waits = looks < LOOKS;
            match change_set_means(state.as_ref()) {
                ChangeSetMeans::Wait => self.pause(&mut patience).await?,
                // What was asked for may take a moment to show.
                ChangeSetMeans::Unknown if open.execute == Sending::Not && waits => {
                    looks += 1;
                    self.pause(&mut patience).await?;
                }
                ChangeSetMeans::Ready if open.execute > Sending::Not && waits => {
                    looks += 1;
                    self.pause(&mut patience).await?;
                }
                ChangeSetMeans::Ready => {
                    let changes = state.map(|state| state.changes).unwrap_or_default();
                    let differences = unexpected(before.body.as_deref(), change, &changes);
                    if !differences.is_empty() {
                        self.drop_change_set(step, &open, &differences.join("; ")).await?;
                        let stack = change.stack.clone();
                        return Err(Problem::UnexpectedChange { stack, differences });
                    }
                    self.execute_change_set(step, change, &open, &stack, &name).await?;
                    looks = 0;
                }
                ChangeSetMeans::Refused(reason) => {
                    self.drop_change_set(step, &open, &reason).await?;
                    return Err(Problem::ChangeSetRefused { stack: change.stack.clone(), reason });
                }
                ChangeSetMeans::Obsolete => {
                    self.drop_change_set(step, &open, "the change set went stale").await?;
                }
                ChangeSetMeans::Executing => self.follow(step, change, &open).await?,
                ChangeSetMeans::Unknown if open.execute > Sending::Not => {
                    self.follow(step, change, &open).await?;
                }
                ChangeSetMeans::Unknown => {
                    self.drop_change_set(step, &open, "the request has not arrived").await?;
                }
            }
        }
        Ok(())
    }

    async fn create_change_set(
        &mut self,
        step: usize,
        change: &Change,
        open: &Open,
        before: &Before,
    ) -> Result<(), Problem> {
        let template = self.stage(&change.stack, &change.template).await?;
        let mut request = ChangeSetRequest {
            name: self.state.token(step, open.attempt),
            token: self.state.token(step, open.attempt),
            stack: self.address(before),
            creates_stack: before.body.is_none(),
            template,
            parameters: change.parameters.clone(),
            kept_parameters: Vec::new(),
            capabilities: change.capabilities.clone(),
            tags: None,
            notification_arns: None,
            role_arn: None,
            with_nested: false,
        };
        if let Some(id) = &before.id {
            // Role, tags and topics stay as they are if nothing is said of them.
            let state = self.session.describe_stack(id);
            let state = self.ask("DescribeStacks", state).await?;
            let known = state.map(|state| state.parameters).unwrap_or_default();
            let declared = |name: &String| declares(&change.template, name);
            let given = |name: &String| change.parameters.iter().any(|(key, _)| key == name);
            request.kept_parameters =
                known.into_iter().filter(|name| declared(name) && !given(name)).collect();
        } else if let Some(new) = self.state.begin.new_stacks.get(&change.stack).cloned() {
            request.tags =
                Some(new.tags.into_iter().collect::<Vec<_>>()).filter(|tags| !tags.is_empty());
            request.notification_arns = Some(new.notification_arns).filter(|arns| !arns.is_empty());
            request.role_arn = new.role_arn;
        }
        self.safe_point()?;
        self.log_sending(step, Call::Create, BTreeMap::new())?;
        let created = self.session.create_change_set(&request);
        match self.call("CreateChangeSet", created).await? {
            Ok(_) => self.log_sent(step, Call::Create, None),
            // Names are ours alone: it is the one that was asked for.
            Err(error) if error.code() == Some("AlreadyExistsException") => Ok(()),
            Err(error) if had_no_effect(&error) => {
                self.drop_change_set(step, open, &error.to_string()).await?;
                Err(match error.call().filter(|call| call.cause == Cause::Refused) {
                    Some(call) => Problem::ChangeSetRefused {
                        stack: change.stack.clone(),
                        reason: call.message.clone(),
                    },
                    None => error.into(),
                })
            }
            Err(error) => {
                self.note(format!("{error} The request may have arrived nevertheless."));
                Ok(())
            }
        }
    }

    async fn execute_change_set(
        &mut self,
        step: usize,
        change: &Change,
        open: &Open,
        stack: &str,
        name: &str,
    ) -> Result<(), Problem> {
        self.safe_point()?;
        let mut events = open.events.clone();
        if let (true, Some(id)) =
            (events.is_empty(), open.stacks.first().and_then(|s| s.id.clone()))
        {
            let newest = self.session.newest_event(&id);
            // Only for what is told of it.
            if let Ok(Some(newest)) = self.call("DescribeStackEvents", newest).await? {
                events.insert(id, newest);
            }
        }
        self.log_sending(step, Call::Execute, events)?;
        let executed = self.session.execute_change_set(stack, name, name, false);
        match self.call("ExecuteChangeSet", executed).await? {
            Ok(()) => self.log_sent(step, Call::Execute, None),
            Err(error) if had_no_effect(&error) => {
                // A request that was sent twice is refused the second time.
                if open.execute > Sending::Not {
                    return self.follow(step, change, open).await;
                }
                match error.call().filter(|call| call.cause == Cause::Refused) {
                    Some(call) => {
                        let reason = call.message.clone();
                        self.drop_change_set(step, open, &reason).await?;
                        Err(Problem::ChangeSetRefused { stack: change.stack.clone(), reason })
                    }
                    None => Err(error.into()),
                }
            }
            Err(error) => {
                self.note(format!("{error} The request may have arrived nevertheless."));
                Ok(())
            }
        }
    }

    /// Waits until the stack has changed, or has not.
    async fn follow(&mut self, step: usize, change: &Change, open: &Open) -> Result<(), Problem> {
        let open = self.state.open(step).cloned().unwrap_or_else(|| open.clone());
        let address = open.stacks.first().map(|stack| self.address(stack)).unwrap_or_default();
        let found = self.ask("DescribeStacks", self.session.describe_stack(&address)).await?;
        let stacks = found.into_iter().map(|state| (change.stack.clone(), state.id)).collect();
        let mut watch = Watch::new(stacks, open.events.clone(), &[]);
        let mut patience = Patience::of(format!("the change of stack `{}`", change.stack));
        let settled = loop {
            watch.look(self).await?;
            let state = self.ask("DescribeStacks", self.session.describe_stack(&address)).await?;
            // A new stack is in review until its creation has begun.
            let busy = state.as_ref().is_some_and(|state| {
                state.status.kind() == StatusKind::Busy || state.status.0 == "REVIEW_IN_PROGRESS"
            });
            if !busy {
                break vec![(change.stack.clone(), state)];
            }
            self.pause(&mut patience).await?;
        };
        watch.look(self).await?;
        if self.standing(&open.stacks, &settled, &[&change.template]).await? == Standing::After {
            return self.finish(step, named(&settled));
        }
        let status = settled.into_iter().find_map(|(_, state)| state);
        let (status, reason) = status.map_or_else(
            || (StackStatus("DELETE_COMPLETE".into()), String::new()),
            |state| (state.status, state.reason),
        );
        let mut reasons = std::mem::take(&mut watch.failures);
        if reasons.is_empty() {
            reasons.push(reason);
        }
        self.drop_change_set(step, &open, &reasons.join("; ")).await?;
        Err(Problem::ChangeFailed { stack: change.stack.clone(), status, reasons })
    }

    /// Ends an attempt that came to nothing.
    async fn drop_change_set(
        &mut self,
        step: usize,
        open: &Open,
        reason: &str,
    ) -> Result<(), Problem> {
        if let Some(before) = open.stacks.first() {
            let name = self.state.token(step, open.attempt);
            // A new stack goes with its change set, by which it is known to be ours.
            let is_new = before.body.is_none();
            if is_new && !self.sweep(&open.stacks, Trace::ChangeSet(&name)).await? {
                return self.give_up(step, reason);
            }
            let stack = self.address(before);
            let deletion = self.session.delete_change_set(&stack, &name);
            // One that stays does no harm: it is never executed.
            if let Err(error) = self.call("DeleteChangeSet", deletion).await? {
                self.note(format!("The change set {name} could not be deleted: {error}"));
            }
        }
        self.give_up(step, reason)
    }

    /// Ends a step that is under way without beginning anything new.
    pub(super) async fn conclude_change(
        &mut self,
        step: usize,
        change: &Change,
    ) -> Result<(), Problem> {
        let Some(open) = self.state.open(step).cloned() else { return Ok(()) };
        if open.execute == Sending::Not {
            return self.drop_change_set(step, &open, "it was not executed").await;
        }
        let (Some(before), name) = (open.stacks.first(), self.state.token(step, open.attempt))
        else {
            return Ok(());
        };
        let stack = self.address(before);
        let mut patience = Patience::of(format!("the change set {name}"));
        for _ in 0..LOOKS {
            let state = self.session.describe_change_set(&stack, &name);
            let state = self.ask("DescribeChangeSet", state).await?;
            if change_set_means(state.as_ref()) != ChangeSetMeans::Ready {
                return match self.follow(step, change, &open).await {
                    Err(Problem::ChangeFailed { .. }) => Ok(()),
                    other => other,
                };
            }
            self.pause(&mut patience).await?;
        }
        // The request to execute it has not arrived.
        self.drop_change_set(step, &open, "it was not executed").await
    }
}

/// Whether a template declares a parameter.
fn declares(text: &str, name: &str) -> bool {
    let parsed = template::parse(text.as_bytes()).ok();
    parsed.is_some_and(|it| it.section("Parameters").is_some_and(|all| all.contains_key(name)))
}
