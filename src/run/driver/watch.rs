//! Tells what happens in stacks while they are changed.

use std::collections::{BTreeMap, BTreeSet};

use super::Driver;
use crate::aws::StackEvent;
use crate::event::{Event, MoveStatus};
use crate::plan::Move;
use crate::run::error::Problem;

/// What was told already.
pub(super) struct Watch<'m> {
    /// Name and ARN.
    stacks: Vec<(String, String)>,
    /// The newest event that was told, or was there before, by ARN.
    known: BTreeMap<String, String>,
    moves: &'m [Move],
    /// The sources of resources that have arrived.
    arrived: BTreeSet<&'m str>,
    /// What went wrong, oldest first.
    pub(super) failures: Vec<String>,
}

impl<'m> Watch<'m> {
    /// Watches stacks from what was known on.
    pub(super) fn new(
        stacks: Vec<(String, String)>,
        known: BTreeMap<String, String>,
        moves: &'m [Move],
    ) -> Self {
        Self { stacks, known, moves, arrived: BTreeSet::new(), failures: Vec::new() }
    }

    /// Tells what has happened since the last look. Nothing depends on it: an answer that does
    /// not come is left out.
    pub(super) async fn look(&mut self, driver: &Driver<'_>) -> Result<(), Problem> {
        for (name, id) in self.stacks.clone() {
            let known = self.known.get(&id).cloned();
            let events = driver.session.events_since(&id, known.as_deref());
            let Ok(events) = driver.call("DescribeStackEvents", events).await? else { continue };
            for event in events {
                self.known.insert(id.clone(), event.id.clone());
                self.tell(driver, &name, event);
            }
        }
        Ok(())
    }

    fn tell(&mut self, driver: &Driver<'_>, stack: &str, event: StackEvent) {
        if event.status.ends_with("_FAILED") && !event.reason.is_empty() {
            self.failures.push(format!("{}: {}", event.logical_id, event.reason));
        }
        let place = format!("{stack}.{}", event.logical_id);
        let moves = self.moves;
        let status = match event.status.as_str() {
            "IMPORT_IN_PROGRESS" => Some(MoveStatus::InProgress),
            "IMPORT_COMPLETE" => Some(MoveStatus::Complete),
            status if status.starts_with("IMPORT_") => Some(MoveStatus::Failed),
            _ => None,
        };
        let arriving = moves.iter().find(|each| each.destination == place);
        if let (Some(each), Some(status)) = (arriving, status) {
            self.tell_move(driver, each, status, Some(&event));
            return;
        }
        // The other end of the same move.
        let leaving = moves.iter().any(|each| each.source == place);
        if leaving && matches!(event.status.as_str(), "EXPORT_IN_PROGRESS" | "EXPORT_COMPLETE") {
            return;
        }
        driver.host.tell(&Event::Stack {
            environment: driver.environment(),
            stack: stack.into(),
            at: event.at,
            logical_id: event.logical_id,
            resource_type: event.resource_type,
            status: event.status,
            reason: Some(event.reason).filter(|reason| !reason.is_empty()),
        });
    }

    fn tell_move(
        &mut self,
        driver: &Driver<'_>,
        each: &'m Move,
        status: MoveStatus,
        event: Option<&StackEvent>,
    ) {
        if status == MoveStatus::Complete {
            self.arrived.insert(&each.source);
        }
        driver.host.tell(&Event::Moving {
            environment: driver.environment(),
            done: self.arrived.len(),
            of: self.moves.len(),
            at: event.map(|event| event.at.clone()),
            status,
            resource_type: each.resource_type.clone(),
            source: each.source.clone(),
            destination: each.destination.clone(),
            reason: event.map(|event| event.reason.clone()).filter(|reason| !reason.is_empty()),
        });
    }

    /// Everything has moved: tells so of those whose events never came.
    pub(super) fn complete(&mut self, driver: &Driver<'_>) {
        for each in self.moves {
            if !self.arrived.contains(each.source.as_str()) {
                self.tell_move(driver, each, MoveStatus::Complete, None);
            }
        }
    }
}
