//! The rendering for a terminal, after RFC 0162.

use super::text::{self, paint};
use super::{Style, ambiguity, deployment, explain, moves};
use crate::compare::Comparison;

/// Renders comparisons for a terminal. Colours are in the text as escape sequences, to be taken
/// out where they are not wanted; the text makes sense without them.
pub fn table(environments: &[Comparison], style: Style) -> String {
    let several = environments.len() > 1;
    let mut blocks: Vec<String> = Vec::new();
    for comparison in environments {
        if several {
            let environment = comparison.environment.to_string();
            blocks.push(paint::heading(text::plain(&environment)));
        }
        blocks.extend(environment(comparison, style));
    }
    if blocks.is_empty() {
        blocks.push(NOTHING.to_owned());
    }
    let mut out = blocks.join("\n\n");
    out.push('\n');
    out
}

/// What is said when nothing moved.
const NOTHING: &str = "Nothing to refactor.";

fn environment(comparison: &Comparison, style: Style) -> Vec<String> {
    let mut blocks = Vec::new();
    if comparison.mappings.is_empty() && comparison.ambiguous.is_empty() {
        blocks.push(NOTHING.to_owned());
    }
    blocks.extend(moves::moves(&comparison.mappings, style));
    blocks.extend(ambiguity::ambiguities(&comparison.ambiguous, style));
    blocks.extend(deployment::similar(&comparison.similar, style));
    blocks.extend(deployment::rest(comparison, style));
    if style.explain {
        blocks.extend(explain::explanations(comparison, style));
    }
    blocks
}
