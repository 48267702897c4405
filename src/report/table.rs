//! The rendering for a terminal, after RFC 0162.

use super::text::{self, paint};
use super::{Style, ambiguity, aspects, deployment, explain, moves};
use crate::aspects::Influence;
use crate::compare::Comparison;

/// Renders comparisons for a terminal. Colours are in the text as escape sequences, to be taken
/// out where they are not wanted; the text makes sense without them. What aspects had to do with
/// it is part of the explanations.
pub fn table(environments: &[Comparison], influences: &[Influence], style: Style) -> String {
    rendered(environments, influences, style, true)
}

/// Renders what moved for a terminal, as [`table`] does, without what a deployment does besides.
pub fn moved(environments: &[Comparison], influences: &[Influence], style: Style) -> String {
    rendered(environments, influences, style, false)
}

/// Renders what only a person can decide: what cannot be told apart, and what is merely similar.
pub fn questions(environments: &[Comparison], style: Style) -> String {
    let several = environments.len() > 1;
    let mut blocks: Vec<String> = Vec::new();
    for comparison in environments {
        if several {
            let environment = comparison.environment.to_string();
            blocks.push(paint::heading(text::plain(&environment)));
        }
        blocks.extend(ambiguity::ambiguities(comparison, style));
        blocks.extend(deployment::similar(&comparison.similar, style));
    }
    blocks.join("\n\n") + "\n"
}

fn rendered(
    environments: &[Comparison],
    influences: &[Influence],
    style: Style,
    with_rest: bool,
) -> String {
    let several = environments.len() > 1;
    let mut blocks: Vec<String> = Vec::new();
    for comparison in environments {
        if several {
            let environment = comparison.environment.to_string();
            blocks.push(paint::heading(text::plain(&environment)));
        }
        let influence = aspects::of(influences, comparison);
        blocks.extend(environment(comparison, influence, style, with_rest));
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

fn environment(
    comparison: &Comparison,
    influence: Option<&Influence>,
    style: Style,
    with_rest: bool,
) -> Vec<String> {
    let mut blocks = Vec::new();
    if comparison.mappings.is_empty() && comparison.ambiguous.is_empty() {
        blocks.push(NOTHING.to_owned());
    }
    blocks.extend(moves::moves(&comparison.mappings, style));
    blocks.extend(ambiguity::ambiguities(comparison, style));
    blocks.extend(deployment::similar(&comparison.similar, style));
    if with_rest {
        blocks.extend(deployment::rest(comparison, style));
    }
    if style.explain {
        blocks.extend(explain::explanations(comparison, influence, style));
    }
    blocks
}
