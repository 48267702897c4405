//! What a run has done, for whoever plans the way back from the templates as they are now.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::Problem;
use super::journal::{Task, read};
use super::state::State;
use crate::model::Location;
use crate::plan::{Move, Plan, Purpose};

/// What a run has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// The plan.
    pub plan: Plan,
    /// The moves of the steps that are done, in their order. A resource may move twice.
    pub moves: Vec<Move>,
    /// The templates as CloudFormation gave them back before the run, by stack.
    pub before: BTreeMap<String, String>,
    /// The templates that were sent last, by stack.
    pub sent: BTreeMap<String, String>,
    /// The places of the resources that were retained.
    pub retained: Vec<Location>,
}

/// Returns what a run has done, from its journal.
///
/// # Errors
/// When the journal cannot be read.
pub fn past(journal: &Path) -> Result<Past, Problem> {
    let lines = read(journal)?;
    let state = State::of(&lines).map_err(|message| Problem::Malformed { message })?;
    let mut past = Past {
        plan: state.begin.plan.clone(),
        moves: Vec::new(),
        before: BTreeMap::new(),
        sent: BTreeMap::new(),
        retained: Vec::new(),
    };
    for step in 0..state.begin.steps() {
        let (Some(before), Some(task)) = (state.before(step), state.begin.task(step)) else {
            continue;
        };
        match task {
            Task::Refactor(batch) => past.moves.extend(batch.moves.iter().cloned()),
            Task::Change(change) if change.purpose == Purpose::Retain => {
                past.retained.extend(change.places());
            }
            Task::Change(_) | Task::Delete(_) => {}
        }
        for stack in before {
            if let Some(body) = &stack.body {
                past.before.entry(stack.name.clone()).or_insert_with(|| body.clone());
            }
        }
        for (stack, template) in task.templates() {
            past.sent.insert(stack.to_owned(), template.to_owned());
        }
    }
    Ok(past)
}
