//! Single changes with all that there is to say of them. Changes of which all is the same but the
//! place share a block.

use std::collections::BTreeMap;

use super::permits::Permits;
use super::phrase::Phrase;
use super::words;
use crate::analyze::model::{Certainty, PropertyChange};
use crate::analyze::{
    Action, ChangeEffect, ComponentChange, EnvironmentReport, Happens, PropertyReport, Risk,
};
use crate::model::Value;
use crate::report::Style;

/// Longest value that is shown where not everything is asked for.
const VALUE_WIDTH: usize = 80;
/// What the built-in rule says of what is lost (`data/default-rules.yaml`): less than the change
/// says of itself.
const IS_LOST: &str = "data or an identity is lost";

/// Changes of which all is the same but the place.
pub(super) struct Block<'r> {
    pub(super) happens: Happens,
    /// The type.
    pub(super) component: Phrase,
    /// Where they are, each with its physical ID.
    pub(super) places: Vec<Phrase>,
    /// What is said of each of them.
    pub(super) says: Says<'r>,
}

/// What is said of a change, besides what happens and where.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Says<'r> {
    pub(super) danger: Option<&'r str>,
    /// Why it is of its risk, if a rule says so, and what is to be done.
    pub(super) reason: Option<Phrase>,
    /// Why it is taken for the same in spite of another place.
    pub(super) evidence: Option<&'r str>,
    /// What is permitted more than before, unless properties say it.
    pub(super) permits: Vec<Phrase>,
    /// The nearest first.
    pub(super) causes: &'r [String],
    pub(super) properties: Vec<Line>,
    /// How many properties are not shown.
    pub(super) more: usize,
}

/// What happens to a property.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Line {
    pub(super) sign: &'static str,
    pub(super) path: Phrase,
    /// On one line.
    pub(super) values: Phrase,
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
    pub(super) remarks: Phrase,
}

/// Returns blocks for some of the changes, in the order of their first ones.
pub(super) fn blocks<'r>(
    report: &'r EnvironmentReport,
    members: &[usize],
    style: Style,
) -> Vec<Block<'r>> {
    let mut known: BTreeMap<(Happens, Phrase, Says<'r>), (usize, Vec<Phrase>)> = BTreeMap::new();
    let permits = Permits::of(report);
    for (number, member) in members.iter().enumerate() {
        let Some(change) = report.changes.get(*member) else { continue };
        let component = words::component(change.kind, change.subtype.as_ref());
        let key = (Happens::of(change), component, says(change, &permits, style));
        let entry = known.entry(key).or_insert_with(|| (number, Vec::new()));
        entry.1.push(words::place(change, style));
    }
    let mut blocks: Vec<(usize, Block<'r>)> = known
        .into_iter()
        .map(|((happens, component, says), (first, places))| {
            (first, Block { happens, component, places, says })
        })
        .collect();
    blocks.sort_by_key(|(first, _)| *first);
    blocks.into_iter().map(|(_, block)| block).collect()
}

fn says<'r>(change: &'r ComponentChange, permits: &Permits<'_>, style: Style) -> Says<'r> {
    let shown = properties(change, style);
    let is_told = shown.iter().any(|one| one.broadens_permissions);
    Says {
        danger: change.danger.as_deref(),
        reason: reason(change),
        evidence: change.evidence.as_deref().filter(|_| style.verbose || style.explain),
        permits: if is_told { Vec::new() } else { permits.lines(change) },
        causes: &change.causes,
        more: change.properties.len() - shown.len(),
        properties: shown.into_iter().map(|one| line(one, change, style)).collect(),
    }
}

fn reason(change: &ComponentChange) -> Option<Phrase> {
    let action = match change.action {
        Some(Action::Approve) => "approved",
        Some(Action::Reject) => "rejected",
        Some(Action::None) | None => "",
    };
    // That it is of high risk says the heading above it.
    let is_known = change.risk == Risk::High;
    let rule = change.rule.as_ref();
    let rule = rule.filter(|rule| !is_known || change.danger.is_none() || *rule != IS_LOST);
    let rule = rule.map(|rule| Phrase::default().prose(rule)).unwrap_or_default();
    let phrase = match (rule.is_empty(), action.is_empty()) {
        (true, true) => return None,
        (_, true) => rule,
        (true, false) => Phrase::default().words(action),
        (false, false) => rule.words(&format!(" ({action})")),
    };
    if is_known {
        return Some(phrase);
    }
    let risk = words::risk(change.risk).to_lowercase();
    Some(Phrase::default().words(&format!("{risk}: ")).and(phrase))
}

/// The properties that are shown: all of them if the reader wants so, else what is dangerous or
/// replaces, and as much of the rest as a list may be long.
fn properties(change: &ComponentChange, style: Style) -> Vec<&PropertyReport> {
    let is_new = matches!(change.effect, ChangeEffect::Add | ChangeEffect::Remove);
    let is_grave = |one: &PropertyReport| {
        one.replaces.is_some() || one.risk == Risk::High || one.broadens_permissions
    };
    let mut left = if is_new { 0 } else { style.limit() };
    let mut shown = Vec::new();
    for one in &change.properties {
        if style.verbose || is_grave(one) {
            shown.push(one);
        } else if left > 0 && (!one.name_only || change.properties.len() <= style.limit()) {
            left -= 1;
            shown.push(one);
        }
    }
    shown
}

fn line(property: &PropertyReport, change: &ComponentChange, style: Style) -> Line {
    let width = if style.verbose { usize::MAX } else { VALUE_WIDTH };
    let (old, new) = (property.old.as_ref(), property.new.as_ref());
    let is_shown = property.change != PropertyChange::Move && old != new;
    let (old_text, new_text) = crate::report::text::both(old, new, width);
    let text = |value: Option<&Value>, text: String| value.filter(|_| is_shown).map(|_| text);
    Line {
        sign: words::property_sign(property.change),
        path: words::path(property),
        values: words::values(property.change, old, new, width),
        old: text(old, old_text),
        new: text(new, new_text),
        remarks: words::remarks(property, change),
    }
}

impl Block<'_> {
    /// Whether something is or may be lost.
    pub(super) fn is_loss(&self) -> bool {
        use ChangeEffect::{Recreate, Remove, Replace};
        let takes = matches!(self.happens.effect, Replace | Recreate | Remove);
        self.says.danger.is_some() || takes && self.happens.certainty == Certainty::Certain
    }

    /// The first line: sign, how many of which type, and what happens to them.
    pub(super) fn heading(&self, number: usize) -> (String, Phrase) {
        let number = match number {
            1 => String::new(),
            number => format!("{number} × "),
        };
        let heading = Phrase::default().words(&number).and(self.component.clone());
        (self.happens.sign(), heading.words(&format!(", {}", self.happens.words())))
    }
}
