//! Words for what was found: pure renderings of a comparison.
//!
//! In: [`Comparison`](crate::compare::Comparison)s and a [`Style`]. Out: a text, for a terminal
//! ([`table`]), for programs ([`json`]), for a pull request ([`markdown`]) or for a browser
//! ([`html`]). Called by `cli`.
//!
//! Names and values come from templates that anybody may have written: whatever a terminal would
//! take for a command is spelt out before it gets into a text.

mod ambiguity;
mod asking;
mod aspects;
mod changes;
mod deployment;
mod drift;
mod events;
mod explain;
mod history;
mod html;
mod json;
mod local;
mod markdown;
mod moves;
mod outlook;
mod permissions;
mod plan;
mod table;
mod text;

pub(crate) use ambiguity::{constructs as question_constructs, groups as ambiguity_groups};
pub use asking::{Candidate, Known, Which, same};
pub use aspects::{thanks, violation};
pub use changes::{
    CHANGES_MARKER, COMMENT_LIMIT, changes, changes_json, changes_markdown, risks_json, spoken,
    with_action,
};
pub use drift::{drift, drift_json, drift_markdown, verified, verified_json, verified_lines};
pub use events::{event_json, event_line};
pub use explain::{code as evidence_kind, sentence as evidence};
pub use history::{
    HistoryView, checked, checked_json, difference, difference_json, event, events_json, graph,
    log, recorded_json, snapshot, snapshot_json,
};
pub use html::html;
pub use json::{found_line, json};
pub use local::{local_stack, local_stacks, local_stacks_json};
pub use markdown::markdown;
pub use outlook::{dangers, deployed, deployed_json, failed_json, kept, outlook, outlook_json};
pub use permissions::{permissions, permissions_json};
pub use plan::{carried, carried_json, finding, planned, plans};
pub use table::{moved, questions, table};
pub use text::{count, plain, squeezed, wrapped};

#[cfg(test)]
mod tests;

/// What a reader wants to see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub struct Style {
    /// Construct paths instead of locations, where there are any.
    pub paths: bool,
    /// Why each mapping was made, and what the nearest candidate of the others is.
    pub explain: bool,
    /// Lists at full length.
    pub verbose: bool,
    /// Questions follow: how to decide without being asked is left out.
    pub asks: bool,
}

impl Style {
    /// How many entries of a list are shown.
    fn limit(self) -> usize {
        if self.verbose { usize::MAX } else { 10 }
    }
}
