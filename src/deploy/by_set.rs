//! Changes a stack by a change set.

use std::time::Duration;

use super::driver::{Deployment, LOOKS, is_shell};
use super::error::StackError;
use super::follow::{Followed, Operation};
use super::{DeployedStack, Outcome};
use crate::aws::{
    CallError, Cause, ChangeSetChange, ChangeSetMeans, ChangeSetRequest, ChangeSetState,
    change_set_means,
};
use crate::event::{Event, Remote};
use crate::settings::Method;

/// How deep stacks may be nested: more than CloudFormation was ever seen to take.
const DEEPEST: usize = 8;

/// How often a request is sent that does not arrive.
const ATTEMPTS: usize = 3;

/// Why there is no change set.
enum NotPrepared {
    /// CloudFormation did not take the request.
    Refused(StackError),
    /// It was taken, or may have been.
    Failed(StackError),
}

/// A change set that was asked for.
pub(super) struct ChangeSet {
    pub(super) name: String,
    /// The ARN of its stack, or the name if the answer never came.
    pub(super) stack: String,
    token: String,
    /// Whether the stack is only there for it.
    brings_stack: bool,
}

impl Deployment<'_> {
    /// Makes a change set, lets it be judged, and executes it or leaves it.
    pub(super) async fn change_by_set(
        &self,
        change: &ChangeSetRequest,
        is_shell: bool,
    ) -> Result<DeployedStack, StackError> {
        let prepared = match self.prepare(change, is_shell).await {
            Err(StackError::Refused { reason, .. })
                if change.with_nested && is_about_nested(&reason) =>
            {
                self.prepare(&self.without_nested(change, &reason), is_shell).await
            }
            other => other,
        };
        let Some((set, state)) = prepared? else {
            return self.nothing_to_do().await;
        };
        if let Err(error) = self.judged(&state).await {
            self.discard(&set).await;
            return Err(error);
        }
        if self.request.options.method == Method::PrepareChangeSet {
            let outcome = Outcome::Prepared { name: set.name.clone(), arn: state.id };
            return match self.session.describe_stack(&set.stack).await? {
                Some(state) => Ok(self.report(state, outcome)),
                None => Err(self.lost("the stack")),
            };
        }
        let done = self.execute(&set).await?;
        let is_new = change.creates_stack;
        self.ended(done, if is_new { Outcome::Created } else { Outcome::Updated }).await
    }

    /// What would happen in nested stacks cannot always be told before: then only that something
    /// happens to them.
    fn without_nested(&self, change: &ChangeSetRequest, reason: &str) -> ChangeSetRequest {
        let text = format!(
            "What would happen in the stacks nested in `{}` cannot be told beforehand: {reason}",
            self.name
        );
        self.host.tell(&Event::Note { text });
        let mut change = ChangeSetRequest { with_nested: false, ..change.clone() };
        // The first one may still be there for a moment.
        change.token.push_str("-flat");
        if self.request.options.change_set_name.is_none() {
            change.name.clone_from(&change.token);
        }
        change
    }

    /// Makes a change set and waits until it can be executed; `None` if it is empty.
    async fn prepare(
        &self,
        change: &ChangeSetRequest,
        is_shell: bool,
    ) -> Result<Option<(ChangeSet, ChangeSetState)>, StackError> {
        self.safe_point(false)?;
        let mut set = ChangeSet {
            name: change.name.clone(),
            stack: change.stack.clone(),
            token: change.token.clone(),
            // A shell that was there before is not ours to delete.
            brings_stack: change.creates_stack && !is_shell,
        };
        if self.request.options.change_set_name.is_some() && !set.brings_stack {
            self.session.delete_change_set(&set.stack, &set.name).await?;
        }
        let prepared = self.ask_until_known(change, &mut set).await;
        match prepared {
            Ok(Some(state)) => Ok(Some((set, state))),
            Ok(None) => {
                self.discard(&set).await;
                Ok(None)
            }
            // CloudFormation has refused to look at it, so that there is none.
            Err(NotPrepared::Refused(error)) => Err(error),
            Err(NotPrepared::Failed(error)) => {
                self.discard(&set).await;
                Err(error)
            }
        }
    }

    /// Asks for a change set and waits until it can be executed; `None` if it is empty. A request
    /// that has not arrived is sent once more: two of one name cannot both be taken.
    async fn ask_until_known(
        &self,
        change: &ChangeSetRequest,
        set: &mut ChangeSet,
    ) -> Result<Option<ChangeSetState>, NotPrepared> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let is_answered = match self.session.create_change_set(change).await {
                Ok(stack) => {
                    set.stack = stack;
                    true
                }
                Err(error) => match error.call() {
                    // The one before has arrived late.
                    Some(call) if attempts > 1 && is_there(call) => true,
                    Some(call) if call.cause == Cause::Refused => {
                        return Err(NotPrepared::Refused(self.refused(&call.message)));
                    }
                    Some(call) if !call.had_no_effect() => {
                        self.may_have_arrived(call);
                        false
                    }
                    _ => return Err(NotPrepared::Refused(error.into())),
                },
            };
            match self.prepared(set).await {
                Err(StackError::Lost { .. }) if !is_answered && attempts < ATTEMPTS => {}
                end => return end.map_err(NotPrepared::Failed),
            }
        }
    }

    /// Waits until a change set can be executed; `None` if it is empty.
    async fn prepared(&self, set: &ChangeSet) -> Result<Option<ChangeSetState>, StackError> {
        let (mut looks, mut waited, mut told) = (0, Duration::ZERO, String::new());
        loop {
            let state = self.session.describe_change_set(&set.stack, &set.name).await?;
            let status = state.as_ref().map(|state| state.status.clone()).unwrap_or_default();
            if told != status {
                told.clone_from(&status);
                self.tell(Remote::ChangeSet, &set.name, &status);
            }
            match change_set_means(state.as_ref()) {
                ChangeSetMeans::Ready => return Ok(state),
                ChangeSetMeans::Refused(reason) if is_empty(&reason) => return Ok(None),
                ChangeSetMeans::Refused(reason) => return Err(self.refused(&reason)),
                ChangeSetMeans::Obsolete | ChangeSetMeans::Executing => {
                    let (stack, environment) = self.place();
                    return Err(StackError::Obsolete { stack, environment });
                }
                ChangeSetMeans::Unknown if looks >= LOOKS => {
                    return Err(self.lost(&format!("the change set {}", set.name)));
                }
                ChangeSetMeans::Unknown => looks += 1,
                ChangeSetMeans::Wait => {}
            }
            self.pause(&mut waited, false).await?;
        }
    }

    /// Asks whoever judges.
    async fn judged(&self, set: &ChangeSetState) -> Result<(), StackError> {
        let Some(judge) = self.request.judge else { return Ok(()) };
        let mut changes = set.changes.clone();
        self.add_nested(&mut changes).await?;
        judge(self.stack, &changes).map_err(|reasons| {
            let (stack, environment) = self.place();
            StackError::Stopped { stack, environment, reasons }
        })
    }

    /// Adds what would happen in nested stacks, as `Nested/LogicalId`.
    async fn add_nested(&self, changes: &mut Vec<ChangeSetChange>) -> Result<(), StackError> {
        let mut at = 0;
        while let Some(change) = changes.get(at) {
            at += 1;
            let Some(id) = change.change_set_id.clone() else { continue };
            let prefix = change.logical_id.clone();
            if prefix.split('/').count() > DEEPEST {
                continue;
            }
            let nested = self.session.describe_change_set_by_id(&id).await?;
            let nested = nested.map(|nested| nested.changes).unwrap_or_default();
            changes.extend(nested.into_iter().map(|mut change| {
                change.logical_id = format!("{prefix}/{}", change.logical_id);
                change
            }));
        }
        Ok(())
    }

    /// Executes a change set and waits until the stack has changed, or has been rolled back.
    async fn execute(&self, set: &ChangeSet) -> Result<Followed, StackError> {
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
        let end = self.execute_until_known(set, newest).await;
        if let Err(StackError::Lost { .. }) = end {
            // Nobody knows what would happen to it later.
            self.discard(set).await;
        }
        end
    }

    /// Asks for the execution of a change set and follows it. A request that has not arrived is
    /// sent once more: a change set is executed once only.
    async fn execute_until_known(
        &self,
        set: &ChangeSet,
        newest: Option<String>,
    ) -> Result<Followed, StackError> {
        let disable = !self.request.options.rollback;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let sent =
                self.session.execute_change_set(&set.stack, &set.name, &set.token, disable).await;
            let mut is_answered = true;
            if let Err(error) = sent {
                match error.call() {
                    Some(call) if !call.had_no_effect() => {
                        self.may_have_arrived(call);
                        is_answered = false;
                    }
                    // The one before has arrived late: the stack tells.
                    Some(call) if attempts > 1 && call.cause == Cause::Refused => {}
                    _ => {
                        self.discard(set).await;
                        return Err(error.into());
                    }
                }
            }
            let stack = set.stack.clone();
            let operation = Operation { stack, set: Some(set), newest: newest.clone() };
            match self.follow(operation).await {
                Err(StackError::Lost { .. }) if !is_answered && attempts < ATTEMPTS => {}
                end => return end,
            }
        }
    }

    /// Takes away a change set that is not executed, and the shell that came with it. What stays
    /// does no harm.
    pub(super) async fn discard(&self, set: &ChangeSet) {
        let left = |what: &str, error: &dyn std::fmt::Display| {
            let text = format!("{what} of stack `{}` is left: {error}", self.name);
            self.host.tell(&Event::Note { text });
        };
        if let Err(error) = self.session.delete_change_set(&set.stack, &set.name).await {
            left(&format!("the change set {}", set.name), &error);
            return;
        }
        if !set.brings_stack {
            return;
        }
        let Ok(Some(shell)) = self.session.describe_stack(&set.stack).await else { return };
        let others = self.session.change_sets_of(&shell.id).await;
        let is_ours = others.is_ok_and(|others| others.iter().all(|other| *other == set.name));
        if is_shell(&shell)
            && is_ours
            && let Err(error) = self.session.delete_stack(&shell.id, &set.name).await
        {
            left("the empty shell", &error);
        }
    }
}

/// Whether a change set is refused because there is one of its name.
fn is_there(error: &CallError) -> bool {
    error.code.as_deref() == Some("AlreadyExistsException")
}

/// What CloudFormation says if the change set of a nested stack fails.
fn is_about_nested(reason: &str) -> bool {
    reason.contains("ested change set")
}

/// What CloudFormation says of a change set or an update that changes nothing.
pub(super) fn is_empty(reason: &str) -> bool {
    reason.contains("didn't contain changes") || reason.contains("No updates are to be performed")
}
