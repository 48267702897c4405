//! What happens by itself: operations whose time has come go on, before every request.

use super::error::Answer;
use super::state::{Task, Tx};
use super::{change_set, refactor, stacks};

/// No chain of operations is longer, unless something starts itself again and again.
const MOST_STEPS: usize = 100_000;

/// Lets everything happen that is due. Each thing happens at the time at which it was due.
pub(crate) fn advance(tx: &mut Tx<'_>) -> Answer<()> {
    let now = tx.now;
    for _ in 0..MOST_STEPS {
        let Some(due) = tx.take_due()? else { break };
        tx.now = due.at_ms;
        match due.task {
            Task::Stack(id) => stacks::phases::step(tx, &id)?,
            Task::ChangeSet(id) => change_set::step(tx, &id)?,
            Task::Refactor(id) => refactor::step(tx, &id)?,
        }
    }
    tx.now = now;
    Ok(())
}
