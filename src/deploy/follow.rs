//! Follows what CloudFormation does with a stack, to its end.

use std::time::Duration;

use super::Failure;
use super::by_set::ChangeSet;
use super::driver::{Deployment, LOOKS, is_shell, unknown};
use super::error::StackError;
use super::watch::Watch;
use crate::aws::{ChangeSetMeans, StackState, change_set_means};
use crate::event::{Event, Remote};
use crate::model::StatusKind;

/// Something that was begun.
pub(super) struct Operation<'a> {
    /// The ARN of the stack, or its name if the answer never came.
    pub(super) stack: String,
    /// The change set that is executed; `None` for a direct change.
    pub(super) set: Option<&'a ChangeSet>,
    /// The newest event before it.
    pub(super) newest: Option<String>,
}

/// How an operation has ended.
pub(super) struct Followed {
    /// The stack as it is now.
    pub(super) state: StackState,
    /// What could not be deleted.
    pub(super) left: Vec<Failure>,
}

/// What a look at an operation has shown.
struct Sight {
    state: Option<StackState>,
    means: ChangeSetMeans,
    /// Of the change set.
    execution: String,
    is_busy: bool,
}

impl Deployment<'_> {
    /// Waits until a stack has changed, or has been rolled back. A request to stop ends the
    /// waiting at once; CloudFormation goes on by itself.
    pub(super) async fn follow(&self, operation: Operation<'_>) -> Result<Followed, StackError> {
        let end = self.unless_stopped(self.follow_to_the_end(operation)).await;
        end.map_err(|error| match error {
            StackError::Aws(error) => {
                let (stack, environment) = self.place();
                StackError::Unwatched { stack, environment, error: Box::new(error) }
            }
            other => other,
        })
    }

    async fn follow_to_the_end(&self, operation: Operation<'_>) -> Result<Followed, StackError> {
        let mut watch = Watch::new(&operation.stack, &self.name, operation.newest.clone());
        let (mut looks, mut waited, mut told) = (0, Duration::ZERO, String::new());
        let mut was_busy = false;
        let (state, has_failed) = loop {
            let sight = self.look(&operation, &mut watch, &mut told).await?;
            was_busy |= sight.is_busy;
            let has_failed = sight.execution == "EXECUTE_FAILED";
            let has_ended = has_failed
                || sight.execution == "EXECUTE_COMPLETE"
                || watch.has_ended()
                || (operation.set.is_none() && was_busy);
            if !sight.is_busy && has_ended {
                break (sight.state, has_failed);
            }
            if !sight.is_busy && sight.means == ChangeSetMeans::Obsolete {
                let (stack, environment) = self.place();
                return Err(StackError::Obsolete { stack, environment });
            }
            let is_unknown = matches!(sight.means, ChangeSetMeans::Ready | ChangeSetMeans::Unknown);
            if is_unknown && !sight.is_busy {
                looks += 1;
                if looks > LOOKS {
                    return Err(self.lost("the change"));
                }
            }
            self.pause(&mut waited, true).await?;
        };
        watch.look(&self.session, self.host).await;
        let is_done = |state: &StackState| {
            !has_failed && matches!(&*state.status.0, "CREATE_COMPLETE" | "UPDATE_COMPLETE")
        };
        match state {
            Some(state) if is_done(&state) => {
                let left = watch.left(&state);
                self.tell_left(&left);
                Ok(Followed { state, left })
            }
            state => {
                let failures = watch.failures(state.as_ref());
                let status = state.map_or_else(unknown, |state| state.status);
                let (stack, environment) = self.place();
                Err(StackError::Failed { stack, environment, status, failures })
            }
        }
    }

    /// Warns of what could not be deleted, although the stack says that all is well.
    fn tell_left(&self, left: &[Failure]) {
        let environment = self.session.environment();
        for one in left {
            let what = match &one.physical_id {
                Some(id) => format!("{} ({}, {id})", one.logical_id, one.resource_type),
                None => "something".to_owned(),
            };
            let reason = one.reason.trim().trim_end_matches('.');
            let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
            let text = format!(
                "{environment}: warning: stack `{}` is deployed, but {what} could not be \
                 deleted{reason}. It stays in the account and belongs to no stack any more: look \
                 at what it holds, then delete it by hand.",
                one.stack
            );
            self.host.tell(&Event::Note { text });
        }
    }

    async fn look(
        &self,
        operation: &Operation<'_>,
        watch: &mut Watch,
        told: &mut String,
    ) -> Result<Sight, StackError> {
        let (mut means, mut execution) = (ChangeSetMeans::Unknown, String::new());
        if let Some(set) = operation.set {
            // Before the stack: what has ended by now shows there.
            let change = self.session.describe_change_set(&set.stack, &set.name).await?;
            means = change_set_means(change.as_ref());
            execution = change.map(|change| change.execution_status).unwrap_or_default();
            if *told != execution {
                told.clone_from(&execution);
                self.tell(Remote::ChangeSet, &set.name, &execution);
            }
        }
        watch.look(&self.session, self.host).await;
        let state = self.session.describe_stack(&operation.stack).await?;
        // A shell whose change set is not executed waits for it, and nothing goes on.
        let has_begun = !matches!(means, ChangeSetMeans::Ready | ChangeSetMeans::Unknown);
        let is_busy = state.as_ref().is_some_and(|state| {
            state.status.kind() == StatusKind::Busy || (has_begun && is_shell(state))
        });
        Ok(Sight { state, means, execution, is_busy })
    }
}
