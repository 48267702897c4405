//! Tells what happens in a stack while it is deployed.

use super::Failure;
use crate::aws::{Session, StackEvent, StackState};
use crate::event::{Event, Host};

/// What was told already of a stack.
pub(super) struct Watch {
    arn: String,
    name: String,
    /// The newest event that was told, or was there before.
    known: Option<String>,
    /// The operation has ended, as the stack itself tells.
    pub(super) ended: bool,
    failures: Vec<Failure>,
}

impl Watch {
    /// Watches a stack from an event on.
    pub(super) fn new(arn: &str, name: &str, known: Option<String>) -> Self {
        let (arn, name) = (arn.to_owned(), name.to_owned());
        Self { arn, name, known, ended: false, failures: Vec::new() }
    }

    /// Tells what has happened since the last look. Nothing depends on it: an answer that does
    /// not come is left out.
    pub(super) async fn look(&mut self, session: &Session, host: &dyn Host) {
        let events = session.events_since(&self.arn, self.known.as_deref()).await;
        for event in events.unwrap_or_default() {
            self.known = Some(event.id.clone());
            self.take_note(&event);
            host.tell(&Event::Stack {
                environment: session.environment().clone(),
                stack: self.name.as_str().into(),
                at: event.at,
                logical_id: event.logical_id,
                resource_type: event.resource_type,
                status: event.status,
                reason: Some(event.reason).filter(|reason| !reason.is_empty()),
            });
        }
    }

    fn take_note(&mut self, event: &StackEvent) {
        if event.physical_id == self.arn {
            self.ended = !event.status.ends_with("_IN_PROGRESS");
        } else if event.status.ends_with("_FAILED") && !is_consequence(&event.reason) {
            self.failures.push(Failure {
                logical_id: event.logical_id.clone(),
                resource_type: event.resource_type.clone(),
                reason: event.reason.clone(),
            });
        }
    }

    /// Returns what failed, oldest first; if no resource says so, what the stack says.
    pub(super) fn failures(self, state: Option<&StackState>) -> Vec<Failure> {
        let reason = state.map(|state| state.reason.clone()).unwrap_or_default();
        if !self.failures.is_empty() || reason.is_empty() {
            return self.failures;
        }
        let resource_type = "AWS::CloudFormation::Stack".to_owned();
        vec![Failure { logical_id: self.name, resource_type, reason }]
    }
}

/// What is cancelled because something else failed says so in these words.
fn is_consequence(reason: &str) -> bool {
    reason.is_empty()
        || reason.starts_with("Resource creation cancelled")
        || reason.starts_with("Resource update cancelled")
        || reason.starts_with("Resource deletion cancelled")
}
