//! Tells what happens in a stack while it is deployed, and in the stacks nested in it.

use super::Failure;
use crate::aws::{Session, StackEvent, StackState};
use crate::event::{Event, Host};

/// The type of a nested stack.
const STACK: &str = "AWS::CloudFormation::Stack";

/// What was told already of a stack and of those nested in it.
pub(super) struct Watch {
    /// Parents before their children.
    stacks: Vec<Watched>,
    failures: Vec<Failure>,
    /// Resources whose last deletion has failed.
    left: Vec<Failure>,
}

/// A stack whose events are told.
struct Watched {
    arn: String,
    /// What people call it: `Parent/Nested`.
    name: String,
    from: From,
    /// The operation has ended, as the stack itself tells.
    ended: bool,
}

/// Where the events begin that were not told yet.
enum From {
    /// After an event, which was told or was there before; `None`: at the first.
    After(Option<String>),
    /// At a time.
    At(String),
}

impl Watch {
    /// Watches a stack from an event on.
    pub(super) fn new(arn: &str, name: &str, known: Option<String>) -> Self {
        let (arn, name) = (arn.to_owned(), name.to_owned());
        let root = Watched { arn, name, from: From::After(known), ended: false };
        Self { stacks: vec![root], failures: Vec::new(), left: Vec::new() }
    }

    /// Whether the operation has ended, as the events of the outermost stack tell.
    pub(super) fn has_ended(&self) -> bool {
        self.stacks.first().is_some_and(|root| root.ended)
    }

    /// Tells what has happened since the last look. Nothing depends on it: an answer that does
    /// not come is left out.
    pub(super) async fn look(&mut self, session: &Session, host: &dyn Host) {
        let mut at = 0;
        while let Some(watched) = self.stacks.get_mut(at) {
            // The outermost stack tells whether a nested one begins anew.
            let is_over = watched.ended && at > 0;
            at += 1;
            if is_over {
                continue;
            }
            let events = match &watched.from {
                From::After(known) => session.events_since(&watched.arn, known.as_deref()).await,
                From::At(time) => session.events_from(&watched.arn, time).await,
            };
            let name = watched.name.clone();
            for event in events.unwrap_or_default() {
                watched_at(&mut self.stacks, at - 1, &event);
                self.take_note(&name, at - 1, &event);
                host.tell(&Event::Stack {
                    environment: session.environment().clone(),
                    stack: name.as_str().into(),
                    at: event.at,
                    logical_id: event.logical_id,
                    resource_type: event.resource_type,
                    status: event.status,
                    reason: Some(event.reason).filter(|reason| !reason.is_empty()),
                });
            }
        }
    }

    fn take_note(&mut self, name: &str, at: usize, event: &StackEvent) {
        if self.stacks.get(at).is_some_and(|it| it.arn == event.physical_id) {
            return;
        }
        if event.resource_type == STACK && event.physical_id.starts_with("arn:") {
            self.follow_nested(name, event);
        }
        self.take_note_of_deletion(name, event);
        if event.status.ends_with("_FAILED") && !is_consequence(&event.reason) {
            self.failures.push(failure(name, event));
        }
    }

    /// A deletion may be tried more than once: the last attempt counts.
    fn take_note_of_deletion(&mut self, name: &str, event: &StackEvent) {
        if !event.status.starts_with("DELETE_") {
            return;
        }
        let failed = failure(name, event);
        self.left.retain(|one| {
            (&one.stack, &one.logical_id, &one.physical_id)
                != (&failed.stack, &failed.logical_id, &failed.physical_id)
        });
        if event.status == "DELETE_FAILED" {
            self.left.push(failed);
        }
    }

    /// Watches a nested stack from now on if something begins in it.
    fn follow_nested(&mut self, parent: &str, event: &StackEvent) {
        let goes_on = event.status.ends_with("_IN_PROGRESS");
        if let Some(known) = self.stacks.iter_mut().find(|it| it.arn == event.physical_id) {
            known.ended &= !goes_on;
            return;
        }
        // A new stack has no other events. It may have failed before its name was told.
        let is_new = event.status.starts_with("CREATE_");
        if is_new || goes_on {
            self.stacks.push(Watched {
                arn: event.physical_id.clone(),
                name: format!("{parent}/{}", event.logical_id),
                from: if is_new { From::After(None) } else { From::At(event.at.clone()) },
                ended: false,
            });
        }
    }

    /// Returns what could not be deleted after a change that has succeeded, oldest first. If the
    /// stack tells of something that its events did not show, it is all that is known.
    pub(super) fn left(self, state: &StackState) -> Vec<Failure> {
        let name = self.stacks.into_iter().next().map(|root| root.name).unwrap_or_default();
        let left = real_causes(self.left);
        if !left.is_empty() || !state.reason.contains("could not be deleted") {
            return left;
        }
        vec![of_stack(name, state.reason.clone())]
    }

    /// Returns what failed, oldest first; if no resource says so, what the stack says. Of a
    /// nested stack what failed in it counts, not that it failed.
    pub(super) fn failures(self, state: Option<&StackState>) -> Vec<Failure> {
        let name = self.stacks.into_iter().next().map(|root| root.name).unwrap_or_default();
        let causes = real_causes(self.failures);
        let reason = state.map(|state| state.reason.clone()).unwrap_or_default();
        if !causes.is_empty() || reason.is_empty() {
            return causes;
        }
        vec![of_stack(name, reason)]
    }
}

fn failure(stack: &str, event: &StackEvent) -> Failure {
    Failure {
        stack: stack.to_owned(),
        logical_id: event.logical_id.clone(),
        resource_type: event.resource_type.clone(),
        physical_id: Some(event.physical_id.clone()).filter(|id| !id.is_empty()),
        reason: event.reason.clone(),
    }
}

/// What only the stack says.
fn of_stack(name: String, reason: String) -> Failure {
    let resource_type = STACK.to_owned();
    Failure { stack: name.clone(), logical_id: name, resource_type, physical_id: None, reason }
}

/// Takes note of an event in the stack that it is of.
fn watched_at(stacks: &mut [Watched], at: usize, event: &StackEvent) {
    let Some(watched) = stacks.get_mut(at) else { return };
    watched.from = From::After(Some(event.id.clone()));
    if event.physical_id == watched.arn {
        watched.ended = !event.status.ends_with("_IN_PROGRESS");
    }
}

/// Leaves out nested stacks in which something is known to have failed.
fn real_causes(failures: Vec<Failure>) -> Vec<Failure> {
    let has_cause = |failure: &Failure| {
        let nested = format!("{}/{}", failure.stack, failure.logical_id);
        failure.resource_type == STACK
            && failures.iter().any(|other| {
                other.stack == nested || other.stack.starts_with(&format!("{nested}/"))
            })
    };
    let keep: Vec<bool> = failures.iter().map(|failure| !has_cause(failure)).collect();
    let all = failures.into_iter().zip(keep);
    all.filter(|(_, keep)| *keep).map(|(failure, _)| failure).collect()
}

/// What is cancelled because something else failed says so in these words.
fn is_consequence(reason: &str) -> bool {
    reason.is_empty()
        || reason.starts_with("Resource creation cancelled")
        || reason.starts_with("Resource update cancelled")
        || reason.starts_with("Resource deletion cancelled")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(stack: &str, id: &str, resource_type: &str) -> Failure {
        Failure {
            stack: stack.to_owned(),
            logical_id: id.to_owned(),
            resource_type: resource_type.to_owned(),
            physical_id: None,
            reason: "why".to_owned(),
        }
    }

    #[test]
    fn a_nested_stack_is_a_cause_only_if_nothing_in_it_is() {
        let queue = failure("Web/Inner/Deep", "Queue", "AWS::SQS::Queue");
        let unread = failure("Web", "Other", STACK);
        let causes = real_causes(vec![
            queue.clone(),
            failure("Web/Inner", "Deep", STACK),
            failure("Web", "Inner", STACK),
            unread.clone(),
        ]);
        assert_eq!(causes, [queue, unread]);
    }

    #[test]
    fn what_is_deleted_at_the_second_attempt_is_not_left() {
        let mut watch = Watch::new("arn:stack", "Web", None);
        let event = |id: &str, status: &str| StackEvent {
            id: String::new(),
            at: String::new(),
            logical_id: id.to_owned(),
            physical_id: format!("{id}-1"),
            resource_type: "AWS::SQS::Queue".to_owned(),
            status: status.to_owned(),
            reason: "why".to_owned(),
        };
        for (id, status) in [
            ("First", "DELETE_FAILED"),
            ("Second", "DELETE_FAILED"),
            ("First", "DELETE_IN_PROGRESS"),
            ("Second", "DELETE_IN_PROGRESS"),
            ("First", "DELETE_COMPLETE"),
            ("Second", "DELETE_FAILED"),
        ] {
            watch.take_note("Web", 0, &event(id, status));
        }
        let left: Vec<_> = watch.left.iter().map(|one| one.physical_id.as_deref()).collect();
        assert_eq!(left, [Some("Second-1")]);
    }
}
