//! Dangers as cards. What is said of many in the same words is said once.

use rustc_hash::FxHashMap as HashMap;

use super::danger::Entry;
use super::markup::Markup;
use super::{changes, permissions, words};
use crate::analyze::{ComponentChange, PropertyReport, Risk};
use crate::report::text::both;

/// So many cards of a list are shown before the rest is folded up, and so many lines of a card.
const CARDS: usize = 12;
const LINES: usize = 6;
/// Longest value that a card shows.
const VALUE_WIDTH: usize = 40;

/// Writes a list of dangers. `names_environment`: there are several.
pub(super) fn cards(out: &mut Markup, entries: &[&Entry<'_>], names_environment: bool) {
    let mut cards: Vec<Vec<&Entry<'_>>> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::default();
    for entry in entries {
        let at = *known.entry(key(entry)).or_insert_with(|| {
            cards.push(Vec::new());
            cards.len() - 1
        });
        cards[at].push(entry);
    }
    // What the others are there for as well comes first.
    cards.sort_by_key(|card| std::cmp::Reverse(card.len()));
    limited(out, &cards, (CARDS, "dangers"), |out, card| {
        out.raw("<li>");
        match card[..] {
            [one] if one.permission.is_none() => single(out, one, names_environment),
            [one, ..] if one.permission.is_some() => permission(out, card, names_environment),
            _ => several(out, card, names_environment),
        }
        out.raw("</li>");
    });
}

/// A text that is equal for what belongs on one card: permissions that are written in the same
/// resource, and changes of which the same is said.
fn key(entry: &Entry<'_>) -> String {
    match (entry.permission, entry.change) {
        (Some(_), Some((number, _))) => number.to_string(),
        (Some(permission), None) => {
            let environment = &entry.part.environment.environment;
            format!("{environment} {} {}", permission.stack, permission.logical_id)
        }
        (None, Some((_, change))) => {
            let rule = change.danger.is_none().then_some(&change.rule);
            format!("{:?}", (words::effect(change), &change.danger, &change.causes, rule))
        }
        (None, None) => String::new(),
    }
}

/// Writes a list of which the first entries are in sight.
fn limited<T>(
    out: &mut Markup,
    all: &[T],
    (limit, class): (usize, &'static str),
    mut write: impl FnMut(&mut Markup, &T),
) {
    // One more is as good as the line that says so.
    let shown = if all.len() <= limit + 1 { all.len() } else { limit };
    let mut list = |out: &mut Markup, some: &[T]| {
        out.raw("<ul class=\"").raw(class).raw("\">");
        for one in some {
            write(out, one);
        }
        out.raw("</ul>");
    };
    list(out, &all[..shown]);
    if shown < all.len() {
        out.raw("<details class=\"rest\"><summary>").number(all.len() - shown);
        out.raw(" more</summary>");
        list(out, &all[shown..]);
        out.raw("</details>");
    }
}

fn single(out: &mut Markup, entry: &Entry<'_>, names_environment: bool) {
    who(out, entry, true, names_environment);
    if let Some((_, change)) = entry.change {
        reasons(out, change, change.physical_id.as_deref());
        if change.danger.is_none() {
            properties(out, change);
        }
    }
}

fn permission(out: &mut Markup, card: &[&Entry<'_>], names_environment: bool) {
    if let Some(first) = card.first() {
        who(out, first, true, names_environment);
        if let Some((_, change)) = first.change {
            changes::causes(out, &change.causes);
        }
    }
    limited(out, card, (LINES, "perm"), |out, entry| {
        out.raw("<li>");
        if let Some(permission) = entry.permission {
            permissions::line(out, permission);
        }
        out.raw("</li>");
    });
}

fn several(out: &mut Markup, card: &[&Entry<'_>], names_environment: bool) {
    let changes: Vec<&ComponentChange> =
        card.iter().filter_map(|entry| entry.change).map(|(_, change)| change).collect();
    let Some(first) = changes.first() else { return };
    out.raw("<span class=\"s\">").raw(words::sign(first)).raw("</span> <b>");
    out.number(changes.len()).raw(" ").raw(words::effect(first)).raw("</b> <span class=\"t\">");
    let mut types: Vec<(String, usize)> = Vec::new();
    for change in &changes {
        let kind = words::kind(change);
        match types.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, number)) => *number += 1,
            None => types.push((kind, 1)),
        }
    }
    for (at, (kind, number)) in types.iter().enumerate() {
        out.raw(if at == 0 { "" } else { ", " }).number(*number).raw(" × ").text(kind);
    }
    out.raw("</span>");
    reasons(out, first, None);
    limited(out, card, (LINES, "who"), |out, entry| {
        out.raw("<li>");
        who(out, entry, false, names_environment);
        if let Some(id) = entry.change.and_then(|(_, change)| change.physical_id.as_ref()) {
            out.raw(" <span class=\"q\">").text(id).raw("</span>");
        }
        out.raw("</li>");
    });
}

/// Writes what it is about.
fn who(out: &mut Markup, entry: &Entry<'_>, says_effect: bool, names_environment: bool) {
    if let Some((number, change)) = entry.change {
        if says_effect {
            out.raw("<span class=\"s\">").raw(words::sign(change)).raw("</span> ");
        }
        out.raw("<a href=\"#c").number(number).raw("\">");
        if says_effect {
            out.raw("<b>").raw(words::effect(change)).raw("</b> ");
        }
        out.code(change.place().map_or("", words::name)).raw("</a> <span class=\"t\">");
        out.text(&words::kind(change)).raw("</span>");
        words::origin(out, change);
    } else if let Some(permission) = entry.permission {
        out.code(&format!("{}.{}", permission.stack, permission.logical_id));
        out.raw(" <span class=\"t\">").text(&permission.resource_type).raw("</span>");
    }
    if names_environment {
        let environment = &entry.part.environment.environment;
        out.raw(" <span class=\"q\">").text(&environment.to_string()).raw("</span>");
    }
}

/// Writes which properties are dangerous, the first few of them.
fn properties(out: &mut Markup, change: &ComponentChange) {
    let is_high = |one: &&PropertyReport| one.broadens_permissions || one.risk == Risk::High;
    let high: Vec<&PropertyReport> = change.properties.iter().filter(is_high).collect();
    let shown = high.len().min(LINES);
    for (at, one) in high[..shown].iter().enumerate() {
        out.raw(if at == 0 { "<p class=\"why\">" } else { ", " }).code(one.path());
        let (old, new) = both(one.old.as_ref(), one.new.as_ref(), VALUE_WIDTH);
        if one.old.is_some() && one.new.is_some() && old != new {
            out.raw(" ").code(&old).raw(" → ").code(&new);
        }
    }
    if shown < high.len() {
        out.raw(" and ").number(high.len() - shown).raw(" more");
    }
    if shown > 0 {
        out.raw("</p>");
    }
}

fn reasons(out: &mut Markup, change: &ComponentChange, id: Option<&str>) {
    if let Some(danger) = &change.danger {
        out.raw("<p class=\"danger\">").text(danger);
        if let Some(id) = id {
            out.raw(" Physical ID: ").code(id).raw(".");
        }
        out.raw("</p>");
    }
    changes::causes(out, &change.causes);
    if let (None, Some(rule)) = (&change.danger, &change.rule) {
        out.raw("<p class=\"why\">Rule: ").text(rule).raw("</p>");
    }
}
