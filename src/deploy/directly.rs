//! Changes a stack without a change set.

use std::time::Duration;

use super::by_set::is_empty;
use super::driver::{Deployment, LOOKS};
use super::error::StackError;
use super::follow::Operation;
use super::{DeployedStack, Outcome};
use crate::aws::{Cause, ChangeSetRequest};

impl Deployment<'_> {
    /// Creates or updates the stack, and waits until it has changed or has been rolled back.
    pub(super) async fn change_directly(
        &self,
        change: &ChangeSetRequest,
    ) -> Result<DeployedStack, StackError> {
        let newest = if change.creates_stack {
            None
        } else {
            self.session.newest_event(&change.stack).await?
        };
        self.safe_point(false)?;
        let keep = !self.request.options.rollback;
        let sent = if change.creates_stack {
            self.session.create_stack(change, keep).await
        } else {
            self.session.update_stack(change, keep).await
        };
        let stack = match sent {
            Ok(arn) => arn,
            Err(error) => match error.call() {
                Some(call) if call.cause == Cause::Refused && is_empty(&call.message) => {
                    return self.nothing_to_do().await;
                }
                Some(call) if call.cause == Cause::Refused => {
                    return Err(self.refused(&call.message));
                }
                Some(call) if !call.had_no_effect() => {
                    self.may_have_arrived(call);
                    self.arrived(change).await?
                }
                _ => return Err(error.into()),
            },
        };
        let done = self.follow(Operation { stack, set: None, newest }).await?;
        let outcome = if change.creates_stack { Outcome::Created } else { Outcome::Updated };
        self.ended(done, outcome).await
    }

    /// Looks whether there is a stack after a request whose answer was lost; returns its ARN.
    async fn arrived(&self, change: &ChangeSetRequest) -> Result<String, StackError> {
        let mut waited = Duration::ZERO;
        for _ in 0..=LOOKS {
            if let Some(state) = self.session.describe_stack(&change.stack).await? {
                return Ok(state.id);
            }
            self.pause(&mut waited, true).await?;
        }
        Err(self.lost("the stack"))
    }
}
