//! Many changes at once: a row for all that have much in common.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::phrase::Phrase;
use super::words;
use crate::analyze::model::{Certainty, PropertyChange};
use crate::analyze::{
    Aspect, ChangeEffect, Common, ComponentChange, EnvironmentReport, Group, Happens, Risk,
};
use crate::report::Style;
use crate::report::text::squeezed;

/// Longest value that is shown.
const VALUE_WIDTH: usize = 40;
/// Longest name of a place that is shown.
const NAME_WIDTH: usize = 50;
/// Longest name of one of two places.
const PAIR_WIDTH: usize = 40;
/// How many places are named.
const NAMED: usize = 2;
/// How many properties are named.
const PATHS: usize = 3;

/// What happens to many. What stands in the row around it is not said again.
pub(super) struct Row {
    /// How far in it stands: 0 for a type.
    pub(super) depth: usize,
    /// How many components it is about.
    pub(super) number: usize,
    /// Their type.
    pub(super) component: Phrase,
    /// `[~]` and the like.
    pub(super) sign: String,
    pub(super) what: Phrase,
    /// Where; nothing if rows follow that say it.
    pub(super) places: Phrase,
}

/// Returns the rows of the groups of one risk.
pub(super) fn rows(report: &EnvironmentReport, groups: &[Group], style: Style) -> Vec<Row> {
    let mut rows = Vec::new();
    for group in groups {
        let place = Around { depth: 0, happens: None, members: &[] };
        add(report, group, place, style, &mut rows);
    }
    rows
}

/// What the rows around a row have said.
#[derive(Clone, Copy)]
struct Around<'g> {
    depth: usize,
    happens: Option<Happens>,
    /// Those of which the places are shown.
    members: &'g [usize],
}

fn add(
    report: &EnvironmentReport,
    group: &Group,
    around: Around<'_>,
    style: Style,
    rows: &mut Vec<Row>,
) {
    let Around { depth, mut happens, members } = around;
    let is_known = members == group.members;
    let mut row = Row {
        depth,
        number: if is_known { 0 } else { group.members.len() },
        component: Phrase::default(),
        sign: String::new(),
        what: Phrase::default(),
        places: Phrase::default(),
    };
    for common in &group.common {
        match common {
            Common::Component(kind, subtype) => {
                row.component = words::component(*kind, subtype.as_ref());
            }
            Common::Happens(what) => {
                happens = Some(*what);
                row.sign = what.sign();
            }
            _ => {}
        }
    }
    row.what = what(&group.common, happens);
    let is_same = |inner: &Group| inner.members == group.members;
    let is_shown = group.inner.iter().all(is_same);
    if is_shown && !is_known {
        row.places = places(report, &group.members, style);
    }
    rows.push(row);
    let shown = group.inner.len().min(style.limit());
    for inner in &group.inner[..shown] {
        let members = if is_shown { &group.members[..] } else { &[] };
        add(report, inner, Around { depth: depth + 1, happens, members }, style, rows);
    }
    if shown < group.inner.len() {
        rows.push(Row {
            depth: depth + 1,
            number: 0,
            component: Phrase::default(),
            sign: String::new(),
            what: Phrase::default().words(&format!("… and {} more", group.inner.len() - shown)),
            places: Phrase::default(),
        });
    }
}

/// What is said of a group: the effect, unless it is clear from what follows; property and values;
/// the cause.
fn what(common: &[Common], happens: Option<Happens>) -> Phrase {
    let change = happens.and_then(|happens| happens.property);
    let (change, is_name) = change.unwrap_or((PropertyChange::Update, false));
    let is_replaced = happens.is_some_and(|happens| {
        let takes = matches!(happens.effect, ChangeEffect::Replace | ChangeEffect::Recreate);
        takes && happens.certainty == Certainty::Certain
    });
    let mut effect = Phrase::default();
    let mut property = Phrase::default();
    let mut value = Phrase::default();
    let mut remarks = Vec::new();
    for one in common {
        match one {
            Common::Risk(_) | Common::Component(..) => {}
            Common::Happens(happens) => effect = Phrase::default().words(&happens.words()),
            Common::Causes(causes) if causes.is_empty() => {
                remarks.push(Phrase::default().words("without a cause"));
            }
            Common::Causes(causes) => remarks.push(because(causes)),
            Common::Properties { paths, replaces, risk } => {
                property = self::paths(paths, change);
                // What replaces it for certain is all that is said of what is replaced.
                let certainty = happens.map_or(Certainty::Certain, |happens| happens.certainty);
                let replaces = replaces.filter(|_| !is_replaced);
                remarks.push(words::replaces(replaces.map(|one| words::at_most(one, certainty))));
                if *risk == Risk::High {
                    remarks.push(Phrase::default().words("high risk"));
                }
            }
            Common::Values(old, new) if old == new => {}
            Common::Values(old, new) => {
                value = words::values(change, old.as_ref(), new.as_ref(), VALUE_WIDTH);
            }
            Common::Various(Aspect::Values) => {
                remarks.push(Phrase::default().words("various values"));
            }
            Common::Various(Aspect::Causes) => {
                remarks.push(Phrase::default().words("for various reasons"));
            }
        }
    }
    let is_update = happens.is_some_and(|happens| happens.effect == ChangeEffect::Update);
    if is_update && !property.is_empty() {
        effect = Phrase::default();
    }
    if is_name && common.iter().any(|one| matches!(one, Common::Happens(_))) {
        remarks.insert(0, Phrase::default().words("only the name"));
    }
    let remarks = Phrase::joined(remarks, ", ");
    let line = Phrase::joined([effect, property, value], ": ");
    match (line.is_empty(), remarks.is_empty()) {
        (_, true) => line,
        (true, false) => remarks,
        (false, false) => line.words(" (").and(remarks).words(")"),
    }
}

fn because(causes: &[String]) -> Phrase {
    let all = causes.iter().map(|cause| Phrase::default().prose(cause));
    Phrase::default().words("because ").and(Phrase::joined(all, ", since "))
}

fn paths(paths: &[String], change: PropertyChange) -> Phrase {
    let sign = match change {
        PropertyChange::Update => String::new(),
        other => format!("{} ", words::property_sign(other)),
    };
    let shown = paths.iter().take(PATHS).map(|path| Phrase::default().code(path.as_str()));
    let phrase = Phrase::default().words(&sign).and(Phrase::joined(shown, ", "));
    match paths.len().saturating_sub(PATHS) {
        0 => phrase,
        more => phrase.words(&format!(" and {more} more")),
    }
}

/// Where components are: the first of them, or between which stacks they move.
fn places(report: &EnvironmentReport, members: &[usize], style: Style) -> Phrase {
    let all: Vec<&ComponentChange> =
        members.iter().filter_map(|member| report.changes.get(*member)).collect();
    let is_moved = all.first().is_some_and(|change| change.has_another_place());
    if is_moved && all.len() > 1 {
        return between(&all);
    }
    let named = all.iter().take(NAMED).map(|change| short(change, style));
    let phrase = Phrase::joined(named, ", ");
    match all.len().saturating_sub(NAMED) {
        0 => phrase,
        more => phrase.words(&format!(" and {more} more")),
    }
}

fn short(change: &ComponentChange, style: Style) -> Phrase {
    let is_pair = change.has_another_place();
    let width = if is_pair { PAIR_WIDTH } else { NAME_WIDTH };
    let code = |text: &str| Phrase::default().code(squeezed(text, width));
    match (&change.before, &change.after) {
        (Some(before), Some(after)) if is_pair => {
            code(&words::name(before, style)).words(" → ").and(code(&words::name(after, style)))
        }
        _ => change.place().map(|place| code(&words::name(place, style))).unwrap_or_default(),
    }
}

/// `Old → New (5), within New (2)`, the most first.
fn between(changes: &[&ComponentChange]) -> Phrase {
    let mut ways: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for change in changes {
        if let (Some(before), Some(after)) = (&change.before, &change.after) {
            *ways.entry((&before.stack, &after.stack)).or_default() += 1;
        }
    }
    let mut ways: Vec<_> = ways.into_iter().collect();
    ways.sort_by_key(|(_, number)| Reverse(*number));
    let stack = |stack: &str| Phrase::default().code(squeezed(stack, NAME_WIDTH));
    let shown = ways.iter().take(PATHS).map(|((from, to), number)| {
        let way = if from == to {
            Phrase::default().words("within ").and(stack(from))
        } else {
            stack(from).words(" → ").and(stack(to))
        };
        way.words(&format!(" ({number})"))
    });
    let phrase = Phrase::joined(shown, ", ");
    let more: usize = ways.iter().skip(PATHS).map(|(_, number)| number).sum();
    match more {
        0 => phrase,
        more => phrase.words(&format!(" and {more} more")),
    }
}
