//! Deploys one stack by a change set.

use std::fs;
use std::time::Duration;

use tokio::sync::watch::Receiver;

use super::error::StackError;
use super::stack::{
    CAPABILITIES, Footing, Parameters, footing, is_notified, is_unchanged, parameters, template,
};
use super::watch::Watch;
use super::{DeployOptions, DeployedStack, Outcome};
use crate::assembly::{AssemblyStack, StackProperties};
use crate::aws::{
    Aws, CallError, Cause, ChangeSetMeans, ChangeSetRequest, Purpose, Role, RoleOptions, Roles,
    Session, StackState, change_set_means, fill_in, now,
};
use crate::event::{Event, Host, Remote};
use crate::model::{Environment, StackStatus, StatusKind};

/// How often something is looked for before it is taken for lost: what was asked for may take a
/// moment to show.
const LOOKS: usize = 3;

/// The deployment of a stack.
pub(super) struct Deployment<'a> {
    session: Session,
    stack: &'a AssemblyStack,
    name: String,
    options: &'a DeployOptions,
    host: &'a dyn Host,
    cancel: Option<&'a Receiver<bool>>,
}

/// A change set that was asked for.
struct ChangeSet {
    name: String,
    /// The ARN of its stack, or the name if the answer never came.
    stack: String,
    creates_stack: bool,
}

impl<'a> Deployment<'a> {
    /// Gets credentials for the deployment of a stack.
    ///
    /// # Errors
    /// When there are none.
    pub(super) async fn open(
        aws: &Aws,
        stack: &'a AssemblyStack,
        environment: &Environment,
        options: &'a DeployOptions,
        host: &'a dyn Host,
        cancel: Option<&'a Receiver<bool>>,
    ) -> Result<Self, StackError> {
        let name = stack.stack.name.to_string();
        let roles = roles(&stack.properties)
            .map_err(|error| StackError::Role { stack: name.clone(), error })?;
        let session = aws.session(environment, &roles, Purpose::Write).await?;
        for text in session.warnings().iter().cloned() {
            host.tell(&Event::Note { text });
        }
        Ok(Self { session, stack, name, options, host, cancel })
    }

    /// Deploys the stack.
    ///
    /// # Errors
    /// When it cannot be deployed; the error tells how it is now.
    pub(super) async fn deploy(&self) -> Result<DeployedStack, StackError> {
        let mut existing = self.settled(&self.name).await?;
        match footing(existing.as_ref(), self.options.rollback) {
            Footing::Unusable(advice) => {
                let status = existing.map_or_else(unknown, |state| state.status);
                let (stack, environment) = self.place();
                return Err(StackError::State { stack, environment, status, advice });
            }
            Footing::Leftover => {
                if let Some(leftover) = existing.take() {
                    self.delete(&leftover).await?;
                }
            }
            Footing::New => existing = existing.filter(|it| it.status.0 == "REVIEW_IN_PROGRESS"),
            Footing::Existing => {}
        }
        let is_new = existing.as_ref().is_none_or(|it| it.status.0 == "REVIEW_IN_PROGRESS");
        let current = existing.as_ref().filter(|_| !is_new);
        let file = &self.stack.properties.template_file;
        let body = fs::read_to_string(file)
            .map_err(|error| StackError::Io { path: file.clone(), error })?;
        let parameters = parameters(self.stack, current);
        if let Some(current) = current.filter(|_| !self.options.force) {
            let deployed = self.session.submitted_template(&current.id).await?;
            if is_unchanged(self.stack, current, &parameters, &deployed, &body) {
                return self.finish(current.clone(), Outcome::Unchanged).await;
            }
        }
        self.change(existing.as_ref(), is_new, parameters, body).await
    }

    async fn change(
        &self,
        existing: Option<&StackState>,
        is_new: bool,
        parameters: Parameters,
        body: String,
    ) -> Result<DeployedStack, StackError> {
        let Some(set) = self.prepare(existing, is_new, parameters, body).await? else {
            // Only an update can be empty.
            let state = self.settled(&self.name).await?.ok_or_else(|| self.lost(""))?;
            if state.status.kind() != StatusKind::Stable {
                let ((stack, environment), status) = (self.place(), state.status);
                let advice = "CloudFormation finds nothing to change in it, but its last \
                              operation failed. Roll it back (`aws cloudformation \
                              rollback-stack`), then deploy again";
                return Err(StackError::State { stack, environment, status, advice });
            }
            if !is_notified(self.stack, &state) {
                let text = format!(
                    "CloudFormation does not change the notification topics of stack `{}` without \
                     another change: they are not yet as the app has them.",
                    self.name
                );
                self.host.tell(&Event::Note { text });
            }
            return self.finish(state, Outcome::Unchanged).await;
        };
        let state = self.execute(&set).await?;
        let outcome = if is_new { Outcome::Created } else { Outcome::Updated };
        self.finish(state, outcome).await
    }

    /// Makes a change set and waits until it can be executed; `None` if it is empty.
    async fn prepare(
        &self,
        existing: Option<&StackState>,
        is_new: bool,
        parameters: Parameters,
        body: String,
    ) -> Result<Option<ChangeSet>, StackError> {
        let environment = self.session.environment();
        let role = self.options.role_arn.as_ref();
        let role = role.or(self.stack.properties.execution_role_arn.as_ref());
        let digits: String = now().chars().filter(char::is_ascii_digit).collect();
        let request = ChangeSetRequest {
            name: format!("cdkr-deploy-{digits}"),
            stack: match existing {
                Some(state) if !is_new => state.id.clone(),
                _ => self.name.clone(),
            },
            creates_stack: is_new,
            template: template(self.stack, environment, body)?,
            parameters: parameters.given,
            kept_parameters: parameters.kept,
            capabilities: CAPABILITIES.map(str::to_owned).to_vec(),
            tags: Some(self.stack.tags.clone().into_iter().collect()),
            notification_arns: self.stack.properties.notification_arns.clone(),
            role_arn: role.map(|arn| fill_in(arn, environment)),
        };
        self.safe_point(false)?;
        let mut set = ChangeSet {
            name: request.name.clone(),
            stack: request.stack.clone(),
            // A shell that was there before is not ours to delete.
            creates_stack: existing.is_none(),
        };
        match self.session.create_change_set(&request).await {
            Ok(stack) => set.stack = stack,
            Err(error) => match error.call() {
                Some(call) if call.cause == Cause::Refused => {
                    return Err(self.refused(&call.message));
                }
                Some(call) if !call.had_no_effect() => self.may_have_arrived(call),
                _ => return Err(error.into()),
            },
        }
        match self.prepared(&set).await {
            Ok(true) => Ok(Some(set)),
            Ok(false) => {
                self.discard(&set).await;
                Ok(None)
            }
            Err(error) => {
                self.discard(&set).await;
                Err(error)
            }
        }
    }

    /// Waits until a change set can be executed; `false` if it is empty.
    async fn prepared(&self, set: &ChangeSet) -> Result<bool, StackError> {
        let (mut looks, mut waited, mut told) = (0, Duration::ZERO, String::new());
        loop {
            let state = self.session.describe_change_set(&set.stack, &set.name).await?;
            let status = state.as_ref().map(|state| state.status.clone()).unwrap_or_default();
            if told != status {
                told.clone_from(&status);
                self.tell(Remote::ChangeSet, &set.name, &status);
            }
            match change_set_means(state.as_ref()) {
                ChangeSetMeans::Ready => return Ok(true),
                ChangeSetMeans::Refused(reason) if is_empty(&reason) => return Ok(false),
                ChangeSetMeans::Refused(reason) => return Err(self.refused(&reason)),
                ChangeSetMeans::Obsolete | ChangeSetMeans::Executing => {
                    let (stack, environment) = self.place();
                    return Err(StackError::Obsolete { stack, environment });
                }
                ChangeSetMeans::Unknown if looks >= LOOKS => return Err(self.lost(&set.name)),
                ChangeSetMeans::Unknown => looks += 1,
                ChangeSetMeans::Wait => {}
            }
            self.pause(&mut waited, false).await?;
        }
    }

    /// Executes a change set and waits until the stack has changed, or has been rolled back.
    async fn execute(&self, set: &ChangeSet) -> Result<StackState, StackError> {
        let newest = self.session.newest_event(&set.stack).await;
        let begun = match (newest, self.safe_point(false)) {
            (Ok(newest), Ok(())) => Ok(newest),
            (Err(error), _) => Err(error.into()),
            (_, Err(error)) => Err(error),
        };
        let newest = match begun {
            Ok(newest) => newest,
            Err(error) => {
                self.discard(set).await;
                return Err(error);
            }
        };
        let disable = !self.options.rollback;
        let sent = self.session.execute_change_set(&set.stack, &set.name, &set.name, disable).await;
        if let Err(error) = sent {
            match error.call() {
                Some(call) if !call.had_no_effect() => self.may_have_arrived(call),
                _ => {
                    self.discard(set).await;
                    return Err(error.into());
                }
            }
        }
        self.follow(set, Watch::new(&set.stack, &self.name, newest)).await
    }

    async fn follow(&self, set: &ChangeSet, mut watch: Watch) -> Result<StackState, StackError> {
        let (mut looks, mut waited, mut told) = (0, Duration::ZERO, String::new());
        let (state, has_failed) = loop {
            // Before the stack: what has ended by now shows there.
            let change = self.session.describe_change_set(&set.stack, &set.name).await?;
            let means = change_set_means(change.as_ref());
            let execution = change.map(|change| change.execution_status).unwrap_or_default();
            if told != execution {
                told.clone_from(&execution);
                self.tell(Remote::ChangeSet, &set.name, &execution);
            }
            watch.look(&self.session, self.host).await;
            let state = self.session.describe_stack(&set.stack).await?;
            let is_busy = state.as_ref().is_some_and(|state| {
                state.status.kind() == StatusKind::Busy || state.status.0 == "REVIEW_IN_PROGRESS"
            });
            let has_failed = execution == "EXECUTE_FAILED";
            let has_ended = has_failed || execution == "EXECUTE_COMPLETE" || watch.ended;
            if !is_busy && has_ended {
                break (state, has_failed);
            }
            if !is_busy && means == ChangeSetMeans::Obsolete {
                let (stack, environment) = self.place();
                return Err(StackError::Obsolete { stack, environment });
            }
            if matches!(means, ChangeSetMeans::Ready | ChangeSetMeans::Unknown) && !is_busy {
                looks += 1;
                if looks > LOOKS {
                    return Err(self.lost(&set.name));
                }
            }
            self.pause(&mut waited, true).await?;
        };
        watch.look(&self.session, self.host).await;
        let is_done = |state: &StackState| {
            !has_failed && matches!(&*state.status.0, "CREATE_COMPLETE" | "UPDATE_COMPLETE")
        };
        match state {
            Some(state) if is_done(&state) => Ok(state),
            state => {
                let failures = watch.failures(state.as_ref());
                let status = state.map_or_else(unknown, |state| state.status);
                let (stack, environment) = self.place();
                Err(StackError::Failed { stack, environment, status, failures })
            }
        }
    }

    /// Protects the stack from deletion if the assembly says so, or no longer.
    async fn finish(
        &self,
        state: StackState,
        outcome: Outcome,
    ) -> Result<DeployedStack, StackError> {
        let wanted = self.stack.properties.termination_protection;
        let has = state.options.termination_protection;
        let mut outcome = outcome;
        if let Some(wanted) = wanted.filter(|wanted| *wanted != has) {
            self.session.protect_stack(&state.id, wanted).await?;
            if outcome == Outcome::Unchanged {
                outcome = Outcome::Updated;
            }
        }
        Ok(DeployedStack {
            id: self.stack.hierarchical_id.clone(),
            environment: self.session.environment().clone(),
            name: self.name.clone(),
            arn: state.id,
            outcome,
            outputs: state.outputs.into_iter().collect(),
        })
    }

    /// Waits until nothing goes on in a stack; returns how it is then.
    async fn settled(&self, stack: &str) -> Result<Option<StackState>, StackError> {
        let (mut waited, mut told) = (Duration::ZERO, None);
        loop {
            let state = self.session.describe_stack(stack).await?;
            let busy = state.as_ref().filter(|state| {
                // A shell waits for a change set, nothing goes on in it.
                state.status.kind() == StatusKind::Busy && state.status.0 != "REVIEW_IN_PROGRESS"
            });
            let Some(busy) = busy else { return Ok(state) };
            if told.as_ref() != Some(&busy.status) {
                told = Some(busy.status.clone());
                self.host.tell(&Event::Waiting {
                    environment: self.session.environment().clone(),
                    stack: self.name.as_str().into(),
                    status: busy.status.clone(),
                });
            }
            self.pause(&mut waited, false).await?;
        }
    }

    /// Deletes what is left of a creation that failed: it holds nothing that was ever deployed.
    async fn delete(&self, leftover: &StackState) -> Result<(), StackError> {
        self.safe_point(false)?;
        self.session.delete_stack(&leftover.id, "cdkr-deploy-leftover").await?;
        self.tell(Remote::Deletion, &self.name, "DELETE_IN_PROGRESS");
        let (mut looks, mut waited) = (0, Duration::ZERO);
        loop {
            match self.session.describe_stack(&leftover.id).await? {
                None => return Ok(()),
                Some(state) if state.status.0 == "DELETE_COMPLETE" => return Ok(()),
                Some(state) if state.status.0 == "DELETE_IN_PROGRESS" => {}
                // That the deletion has begun may take a moment to show.
                Some(state) if state.status.0 == "ROLLBACK_COMPLETE" && looks < LOOKS => looks += 1,
                Some(state) => {
                    let (stack, environment) = self.place();
                    let (status, reason) = (state.status, state.reason);
                    return Err(StackError::NotDeleted { stack, environment, status, reason });
                }
            }
            self.pause(&mut waited, true).await?;
        }
    }

    /// Takes away a change set that is not executed, and the shell that came with it. What stays
    /// does no harm.
    async fn discard(&self, set: &ChangeSet) {
        let left = |what: &str, error: &dyn std::fmt::Display| {
            let text = format!("{what} of stack `{}` is left: {error}", self.name);
            self.host.tell(&Event::Note { text });
        };
        if let Err(error) = self.session.delete_change_set(&set.stack, &set.name).await {
            left(&format!("the change set {}", set.name), &error);
            return;
        }
        if !set.creates_stack {
            return;
        }
        let Ok(Some(shell)) = self.session.describe_stack(&set.stack).await else { return };
        let others = self.session.change_sets_of(&shell.id).await;
        let is_ours = others.is_ok_and(|others| others.iter().all(|other| *other == set.name));
        if shell.status.0 == "REVIEW_IN_PROGRESS"
            && is_ours
            && let Err(error) = self.session.delete_stack(&shell.id, &set.name).await
        {
            left("the empty shell", &error);
        }
    }

    fn place(&self) -> (String, Environment) {
        (self.name.clone(), self.session.environment().clone())
    }

    fn refused(&self, reason: &str) -> StackError {
        let (stack, environment) = self.place();
        let reason = format!("{}.", reason.trim().trim_end_matches('.'));
        StackError::Refused { stack, environment, reason }
    }

    fn lost(&self, name: &str) -> StackError {
        let (stack, environment) = self.place();
        StackError::Lost { stack, environment, name: name.to_owned() }
    }

    fn may_have_arrived(&self, error: &CallError) {
        let text = format!("{error} The request may have arrived nevertheless.");
        self.host.tell(&Event::Note { text });
    }

    fn tell(&self, what: Remote, id: &str, status: &str) {
        let (environment, id) = (self.session.environment().clone(), id.to_owned());
        self.host.tell(&Event::Remote { environment, what, id, status: status.to_owned() });
    }

    /// Stops here if the deployment was asked to. `running`: CloudFormation goes on.
    fn safe_point(&self, running: bool) -> Result<(), StackError> {
        if self.cancel.is_some_and(|cancel| *cancel.borrow()) {
            let (stack, environment) = self.place();
            return Err(StackError::Cancelled { stack, environment, running });
        }
        Ok(())
    }

    /// Pauses before the next look at something; a request to stop ends the pause.
    async fn pause(&self, waited: &mut Duration, running: bool) -> Result<(), StackError> {
        if *waited >= self.options.limit {
            let (stack, environment) = self.place();
            return Err(StackError::TimedOut { stack, environment, waited: *waited });
        }
        self.safe_point(running)?;
        let pause = tokio::time::sleep(self.options.interval);
        match self.cancel.cloned() {
            Some(mut cancel) => tokio::select! {
                () = pause => {}
                // An error means that nobody is there any more to ask.
                Ok(_) = cancel.wait_for(|stop| *stop) => {}
            },
            None => pause.await,
        }
        *waited += self.options.interval;
        self.safe_point(running)
    }
}

/// What CloudFormation says of a change set that changes nothing.
fn is_empty(reason: &str) -> bool {
    reason.contains("didn't contain changes") || reason.contains("No updates are to be performed")
}

fn unknown() -> StackStatus {
    StackStatus("DELETE_COMPLETE".into())
}

/// The role that the manifest names to deploy a stack with.
fn roles(properties: &StackProperties) -> Result<Roles, crate::aws::RoleOptionsError> {
    let Some(arn) = &properties.assume_role_arn else { return Ok(Roles::default()) };
    let role = Role {
        arn: arn.clone(),
        external_id: properties.assume_role_external_id.clone(),
        options: RoleOptions::from_json(&properties.assume_role_options)?,
    };
    Ok(Roles { deploy: Some(role), ..Roles::default() })
}
