//! Waits for what goes on in a stack, and stops waiting when asked to.

use std::time::Duration;

use super::driver::{Deployment, LOOKS};
use super::error::StackError;
use crate::aws::StackState;
use crate::event::{Event, Remote};
use crate::model::StatusKind;

impl Deployment<'_> {
    /// Waits until nothing goes on in a stack; returns how it is then.
    pub(super) async fn settled(&self, stack: &str) -> Result<Option<StackState>, StackError> {
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
    pub(super) async fn delete(&self, leftover: &StackState) -> Result<(), StackError> {
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

    /// Stops here if the deployment was asked to. `running`: CloudFormation goes on.
    pub(super) fn safe_point(&self, running: bool) -> Result<(), StackError> {
        if self.cancel.is_some_and(|cancel| *cancel.borrow()) {
            let (stack, environment) = self.place();
            return Err(StackError::Cancelled { stack, environment, running });
        }
        Ok(())
    }

    /// Pauses before the next look at something; a request to stop ends the pause.
    pub(super) async fn pause(
        &self,
        waited: &mut Duration,
        running: bool,
    ) -> Result<(), StackError> {
        if *waited >= self.request.options.limit {
            let (stack, environment) = self.place();
            return Err(StackError::TimedOut { stack, environment, waited: *waited });
        }
        self.safe_point(running)?;
        let pause = tokio::time::sleep(self.request.options.interval);
        match self.cancel.cloned() {
            Some(mut cancel) => tokio::select! {
                () = pause => {}
                // An error means that nobody is there any more to ask.
                Ok(_) = cancel.wait_for(|stop| *stop) => {}
            },
            None => pause.await,
        }
        *waited += self.request.options.interval;
        self.safe_point(running)
    }

    /// Does something that CloudFormation goes on with by itself, until a request to stop.
    pub(super) async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, StackError>>,
    ) -> Result<T, StackError> {
        let Some(mut cancel) = self.cancel.cloned() else { return work.await };
        tokio::select! {
            biased;
            // An error means that nobody is there any more to ask.
            Ok(_) = cancel.wait_for(|stop| *stop) => {
                let (stack, environment) = self.place();
                Err(StackError::Cancelled { stack, environment, running: true })
            }
            result = work => result,
        }
    }
}
