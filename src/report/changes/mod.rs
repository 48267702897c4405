//! What a deployment will do, and how dangerous it is: for a terminal, a pull request and
//! programs.
//!
//! In: a [`ChangeReport`](crate::analyze::ChangeReport). Out: a text. `phrase` holds words of ours
//! and of templates apart, `words` says what happens in them, `blocks` says it of single changes
//! and `rows` of many at once; `text` and `markdown` put that on a page, `json` stands alone.

mod blocks;
mod json;
mod markdown;
mod phrase;
mod rows;
mod spoken;
mod text;
mod words;

pub use json::changes_json;
pub use markdown::{CHANGES_MARKER, COMMENT_LIMIT, changes_markdown};
pub use spoken::{spoken, with_action};
pub use text::changes;

use crate::analyze::{ComponentChange, Risk};

/// Whether a change is shown in full wherever changes are shown.
fn is_dangerous(change: &ComponentChange) -> bool {
    change.risk == Risk::High || change.danger.is_some()
}

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;
