//! What aspects had to do with what is told: what is owed to them, what they hide, what they say.

use super::Style;
use super::text::{self, paint, plain};
use crate::aspects::{Influence, Thanks, Violation};
use crate::compare::Comparison;
use crate::model::{Location, Text};

/// Returns what aspects had to do with an environment.
pub(super) fn of<'i>(
    influences: &'i [Influence],
    comparison: &Comparison,
) -> Option<&'i Influence> {
    influences.iter().find(|one| one.environment == comparison.environment)
}

/// Says that a mapping is owed to aspects: `only thanks to the aspect …`.
pub fn thanks(thanks: &Thanks) -> String {
    let how = if thanks.is_indirect { ", by what it refers to" } else { "" };
    format!("only thanks to {}{how}", names(&thanks.aspects))
}

/// Says what is wrong: which aspect, which construct, why.
pub fn violation(violation: &Violation) -> String {
    let Violation { aspect, construct, location, reason, .. } = violation;
    format!("aspect `{aspect}`: `{construct}` ({location}): {reason}")
}

/// `the aspects …`.
pub(super) fn names(aspects: &[Text]) -> String {
    let quoted: Vec<String> = aspects.iter().map(|name| format!("`{name}`")).collect();
    format!("the aspect{} {}", if aspects.len() == 1 { "" } else { "s" }, quoted.join(", "))
}

/// What is hidden in resources that stay where they are; what moved is explained with its changes.
pub(super) fn hidden(influence: &Influence, comparison: &Comparison, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    for change in &comparison.changed {
        let hidden = influence.hidden_in(&change.place.location);
        if !hidden.is_empty() {
            lines.push(format!(
                "  {}  {}",
                plain(change.resource_type.as_str()),
                text::name(&change.place, style)
            ));
        }
        lines.extend(hidden.into_iter().map(|(property, aspects)| {
            format!("    {}: {}", plain(property), plain(&names(aspects)))
        }));
    }
    if lines.is_empty() {
        return lines;
    }
    lines.insert(0, paint::heading("What aspects hide, and the deployment changes:"));
    vec![lines.join("\n")]
}

/// The line that follows an explanation.
pub(super) fn owed(influence: Option<&Influence>, destination: &Location) -> Option<String> {
    let found = influence?.thanks_for(destination)?;
    Some(plain(&thanks(found)).into_owned())
}
