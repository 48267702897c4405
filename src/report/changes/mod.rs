//! What a deployment will do, and how dangerous it is: for a terminal, a pull request and
//! programs.
//!
//! In: a [`ChangeReport`](crate::analyze::ChangeReport). Out: a text. `phrase` holds words of ours
//! and of templates apart, `words` says what happens in them, `blocks` says it of single changes
//! and `rows` of many at once; `text` and `markdown` put that on a page, `json` stands alone.

mod blocks;
mod json;
mod markdown;
mod moves;
mod permits;
mod phrase;
mod rows;
mod spoken;
mod text;
mod words;

pub use json::{changes_json, risks_json};
pub use markdown::{CHANGES_MARKER, COMMENT_LIMIT, changes_markdown};
pub use spoken::{spoken, with_action};
pub use text::changes;

use crate::analyze::model::{Certainty, ComponentKind};
use crate::analyze::{ChangeEffect, ComponentChange, EnvironmentReport, Risk};

/// Whether a resource moves, and that is all that happens to it.
fn only_moves(change: &ComponentChange) -> bool {
    let is_resource = change.kind == ComponentKind::Resource;
    is_resource && change.is_moved() && change.effect == ChangeEffect::Nothing
}

/// Whether a change is shown in full wherever changes are shown.
fn is_dangerous(change: &ComponentChange) -> bool {
    change.risk == Risk::High || change.danger.is_some()
}

/// The dangerous changes under their headings: places in the list of changes, the gravest first:
/// what is lost, what may be lost, the others. What is lost is said even if a rule calls it
/// harmless.
fn dangers(report: &EnvironmentReport) -> [(&'static str, Vec<usize>); 2] {
    let changes = || report.changes.iter().enumerate().filter(|(_, one)| is_dangerous(one));
    let (high, allowed): (Vec<_>, Vec<_>) = changes().partition(|(_, one)| one.risk == Risk::High);
    let members = |mut all: Vec<(usize, &ComponentChange)>| {
        all.sort_by_key(|(_, one)| (one.danger.is_none(), one.certainty == Certainty::Possible));
        all.into_iter().map(|(member, _)| member).collect()
    };
    [(words::risk(Risk::High), members(high)), ("Lost, at no high risk", members(allowed))]
}

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;
