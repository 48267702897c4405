//! Histories as text and for programs.

mod graph;
mod json;
mod log;
mod snapshot;

pub use graph::graph;
pub use json::{checked_json, difference_json, events_json, recorded_json, snapshot_json};
pub use log::{event, log};
pub use snapshot::{checked, difference, snapshot};

use super::text::plain;
use crate::history::{Event, EventHash, Log, StackKey};
use crate::model::Environment;
use crate::settings::Scope;

/// What of a history is shown, and how.
#[derive(Clone, Debug, Default)]
pub struct HistoryView {
    /// What concerns this environment only.
    pub environment: Option<Environment>,
    /// At most so many events.
    pub limit: Option<usize>,
    /// A line for each event.
    pub oneline: bool,
    /// At most so many resources of a kind in each stack.
    pub resources: Option<usize>,
}

impl HistoryView {
    /// The events that are shown, newest first.
    fn events<'a>(&self, log: &'a Log) -> impl Iterator<Item = (EventHash, &'a Event)> {
        let shown = log.events().rev().filter(|(_, event)| self.concerns(event));
        shown.take(self.limit.unwrap_or(usize::MAX))
    }

    fn concerns(&self, event: &Event) -> bool {
        let Some(environment) = &self.environment else { return true };
        if event.parents.len() > 1 || event.same_as.is_some() {
            return true;
        }
        let what = &event.what;
        let keys = what.creates.keys().chain(what.updates.keys()).chain(&what.deletes);
        let scopes = keys.map(|key| &key.scope);
        let mut scopes = scopes.chain(what.refactors.iter().map(|refactor| &refactor.scope));
        scopes.any(|scope| scope.contains(environment))
    }

    fn has(&self, key: &StackKey) -> bool {
        self.environment.as_ref().is_none_or(|environment| key.scope.contains(environment))
    }
}

/// ` in aws://111111111111/eu-west-1`, or nothing.
fn place_of(scope: &Scope) -> String {
    if scope.is_everywhere() { String::new() } else { format!(" in {}", plain(&scope.to_string())) }
}

/// The name of a stack, with its environment if it has one.
fn stack(key: &StackKey) -> String {
    plain(&key.to_string()).into_owned()
}
