//! A step that deletes a stack which holds nothing but fillers.

use std::collections::BTreeMap;

use super::Driver;
use super::refactor::had_no_effect;
use crate::event::{Event, Remote};
use crate::plan::body_digest;
use crate::run::error::Problem;
use crate::run::journal::{Call, Deletion};
use crate::run::rules::not_fillers;
use crate::run::state::Sending;

impl Driver<'_> {
    /// Deletes a stack, wherever that stands.
    pub(super) async fn delete(&mut self, step: usize, deletion: &Deletion) -> Result<(), Problem> {
        let first = self.state.attempts(step);
        while !self.try_to_delete(step, deletion, first).await? {}
        Ok(())
    }

    /// Returns whether the stack is gone; if not, the request has got lost.
    async fn try_to_delete(
        &mut self,
        step: usize,
        deletion: &Deletion,
        first: usize,
    ) -> Result<bool, Problem> {
        let mut is_lost = false;
        if self.state.open(step).is_none() {
            self.start(step).await?;
        }
        let Some(open) = self.state.open(step).cloned() else { return Ok(true) };
        let Some(id) = open.stacks.first().and_then(|stack| stack.id.clone()) else {
            return Err(Problem::Malformed { message: "a deletion of no stack".to_owned() });
        };
        let stack = deletion.stack.clone();
        let state = self.ask("DescribeStacks", self.session.describe_stack(&id)).await?;
        let status = state.as_ref().map(|state| state.status.0.as_str());
        let is_gone = matches!(status, None | Some("DELETE_COMPLETE"));
        let is_going = open.execute > Sending::Not && status == Some("DELETE_IN_PROGRESS");
        if !is_gone && !is_going {
            // The step may have been begun long ago, so the template is read again.
            let body = self.ask("GetTemplate", self.session.submitted_template(&id)).await?;
            let mut resources = not_fillers(&body);
            if resources.is_empty() && body_digest(&body) != deletion.before {
                resources.push("another template than it was left with".to_owned());
            }
            if !resources.is_empty() {
                self.give_up(step, "it is not empty")?;
                return Err(Problem::NotEmpty { stack, resources });
            }
            self.safe_point()?;
            self.log_sending(step, Call::Execute, BTreeMap::new())?;
            let token = self.state.token(step, open.attempt);
            let deleted = self.session.delete_stack(&id, &token);
            match self.call("DeleteStack", deleted).await? {
                Ok(()) => self.log_sent(step, Call::Execute, None)?,
                Err(error) if had_no_effect(&error) => {
                    self.give_up(step, error.to_string())?;
                    return Err(error.into());
                }
                Err(error) => {
                    is_lost = true;
                    self.note(format!("{error} The request may have arrived nevertheless."));
                }
            }
        }
        self.host.tell(&Event::Remote {
            environment: self.environment(),
            what: Remote::Deletion,
            id: stack.clone(),
            status: "DELETE_IN_PROGRESS".to_owned(),
        });
        if let Some(state) = self.wait_until_gone(&stack, &id).await? {
            self.give_up(step, format!("{}: {}", state.status, state.reason))?;
            let again = self.state.attempts(step) - first < self.options.attempts;
            if again && is_lost && !state.status.0.starts_with("DELETE_") {
                return Ok(false);
            }
            let (status, reason) = (state.status, state.reason);
            return Err(Problem::NotDeleted { stack, status, reason });
        }
        self.finish(step, Vec::new())?;
        Ok(true)
    }

    /// Ends a deletion that is under way.
    pub(super) async fn conclude_delete(
        &mut self,
        step: usize,
        deletion: &Deletion,
    ) -> Result<(), Problem> {
        match self.state.open(step).map(|open| open.execute) {
            None => Ok(()),
            Some(Sending::Not) => self.give_up(step, "it was not begun"),
            Some(_) => self.delete(step, deletion).await,
        }
    }
}
