//! Everything that changes, by environment and stack, folded up.

use super::groups::{Group, Part};
use super::markup::Markup;
use super::{permissions, values, words};
use crate::analyze::model::{Certainty, PropertyChange};
use crate::analyze::{ChangePlace, ComponentChange, PropertyReport, Risk};
use crate::report::text::count;

/// With no more changes than this the stacks are open from the start.
const OPEN: usize = 40;

/// Writes all environments.
pub(super) fn changes(out: &mut Markup, parts: &[Part<'_>]) {
    let number: usize = parts.iter().map(|part| part.environment.changes.len()).sum();
    for part in parts {
        out.raw("<section class=\"env\"><h3>");
        out.text(&part.environment.environment.to_string()).raw("</h3>");
        permissions::tables(out, &part.environment.permissions);
        for group in &part.groups {
            stack(out, part, group, number <= OPEN);
        }
        out.raw("</section>");
    }
}

fn stack(out: &mut Markup, part: &Part<'_>, group: &Group<'_>, is_open: bool) {
    out.raw("<details class=\"stack\"");
    if is_open && !group.changes.is_empty() {
        out.raw(" open");
    }
    let name = if group.name.is_empty() { "(no stack)" } else { group.name };
    out.raw("><summary><h4>").text(name).raw("</h4>");
    if let Some(stack) = group.stack {
        if let Some(fate) = words::fate(stack.fate) {
            out.raw(" <span class=\"g\">").text(fate).raw("</span>");
        }
        let (before, after) = stack.resources;
        out.raw(" <span class=\"q\">");
        if before == after {
            out.text(&count(after, "resource"));
        } else {
            out.number(before).raw(" → ").text(&count(after, "resource"));
        }
        out.raw("</span>");
    }
    let changes: Vec<&ComponentChange> =
        group.changes.iter().map(|at| &part.environment.changes[*at]).collect();
    counts(out, &changes);
    out.raw("</summary>");
    for at in &group.changes {
        let (number, change) = part.change(*at);
        component(out, number, change);
    }
    unchanged(out, group);
    out.raw("</details>");
}

/// Writes how many of what there is.
pub(super) fn counts(out: &mut Markup, changes: &[&ComponentChange]) {
    let high = changes.iter().filter(|change| change.risk == Risk::High).count();
    if high > 0 {
        out.raw(" <span class=\"g high\">! ").number(high).raw(" high risk</span>");
    }
    for (tag, sign, word) in words::TAGS {
        // A component that is moved and changed counts as both.
        let number = changes
            .iter()
            .filter(|change| words::tag(change) == tag || (tag == "move" && change.is_moved()))
            .count();
        if number > 0 {
            out.raw(" <span class=\"g\">").text(sign).raw(" ").number(number).raw(" ");
            out.text(word).raw("</span>");
        }
    }
    if changes.is_empty() {
        out.raw(" <span class=\"q\">nothing changes</span>");
    }
}

fn component(out: &mut Markup, number: usize, change: &ComponentChange) {
    out.raw("<details class=\"c ").raw(words::tag(change)).raw("\"><summary><span class=\"s\">");
    out.raw(words::sign(change)).raw("</span> <b>").raw(words::effect(change)).raw("</b> ");
    out.code(change.place().map_or("", words::name))
        .raw(" <span class=\"t\">")
        .text(&words::kind(change));
    out.raw("</span>");
    match change.risk {
        Risk::High => out.raw(" <span class=\"g high\">! high risk</span>"),
        Risk::Low => out.raw(" <span class=\"g low\">low risk</span>"),
        Risk::Unknown => out,
    };
    words::origin(out, change);
    out.raw("</summary><div class=\"b\" id=\"c").number(number).raw("\">");
    reasons(out, change);
    facts(out, change);
    properties(out, &change.properties);
    out.raw("</div></details>");
}

/// Writes what is lost, and why it happens.
fn reasons(out: &mut Markup, change: &ComponentChange) {
    if let Some(danger) = &change.danger {
        out.raw("<p class=\"danger\">").text(danger).raw("</p>");
    }
    causes(out, &change.causes);
}

/// Writes causes, the nearest first.
pub(super) fn causes(out: &mut Markup, causes: &[String]) {
    for (at, cause) in causes.iter().enumerate() {
        out.raw(if at == 0 { "<p class=\"why\">because " } else { ", because " });
        quoted(out, cause);
    }
    if !causes.is_empty() {
        out.raw("</p>");
    }
}

/// Writes a text of ours in which names stand between backquotes.
pub(super) fn quoted(out: &mut Markup, text: &str) {
    for (at, part) in text.split('`').enumerate() {
        if at % 2 == 1 {
            out.code(part);
        } else {
            out.text(part);
        }
    }
}

fn facts(out: &mut Markup, change: &ComponentChange) {
    out.raw("<dl>");
    match (&change.before, &change.after) {
        (Some(before), Some(after)) if before == after => place(out, "Place", after),
        (before, after) => {
            if let Some(before) = before {
                place(out, "Before", before);
            }
            if let Some(after) = after {
                place(out, "After", after);
            }
        }
    }
    if let Some(id) = &change.physical_id {
        out.raw("<dt>Physical ID</dt><dd>").code(id).raw("</dd>");
    }
    if let Some(evidence) = &change.evidence {
        out.raw("<dt>The same because of</dt><dd>");
        quoted(out, evidence);
        out.raw("</dd>");
    }
    if let Some(rule) = &change.rule {
        out.raw("<dt>Rule</dt><dd>").text(rule).raw("</dd>");
    }
    if let Some(action) = change.action.and_then(words::action) {
        out.raw("<dt>Verdict</dt><dd>").raw(action).raw(" by the rule</dd>");
    }
    out.raw("</dl>");
}

fn place(out: &mut Markup, title: &'static str, place: &ChangePlace) {
    out.raw("<dt>").raw(title).raw("</dt><dd>").code(&words::location(place));
    if let Some(path) = &place.path {
        out.raw(" <span class=\"q\">").text(path).raw("</span>");
    }
    out.raw("</dd>");
}

fn properties(out: &mut Markup, all: &[PropertyReport]) {
    let (names, others): (Vec<_>, Vec<_>) = all.iter().partition(|one| one.name_only);
    list(out, &others);
    if !names.is_empty() {
        out.raw("<details><summary>").text(&several(names.len()));
        out.raw(" merely the new name of a construct</summary>");
        list(out, &names);
        out.raw("</details>");
    }
}

fn several(number: usize) -> String {
    if number == 1 { "1 property repeats".into() } else { format!("{number} properties repeat") }
}

fn list(out: &mut Markup, properties: &[&PropertyReport]) {
    if properties.is_empty() {
        return;
    }
    out.raw("<ul class=\"p\">");
    for one in properties {
        property(out, one);
    }
    out.raw("</ul>");
}

fn property(out: &mut Markup, one: &PropertyReport) {
    out.raw("<li>");
    out.raw(match one.change {
        PropertyChange::Insert => "+ ",
        PropertyChange::Remove => "− ",
        PropertyChange::Update => "~ ",
        PropertyChange::Move => "≡ ",
    });
    match (&one.old_path, &one.new_path) {
        (Some(old), Some(new)) if old != new => {
            out.code(old).raw(" → ").code(new);
        }
        _ => {
            out.code(one.path());
        }
    }
    match one.replaces {
        Some(Certainty::Certain) => {
            out.raw(" <span class=\"g rp\">± replaces the resource</span>");
        }
        Some(Certainty::Possible) => {
            out.raw(" <span class=\"g rp\">± may replace the resource</span>");
        }
        None => {}
    }
    if one.broadens_permissions {
        out.raw(" <span class=\"g high\">! broadens permissions</span>");
    } else if one.risk == Risk::High {
        out.raw(" <span class=\"g high\">! high risk</span>");
    } else if one.risk == Risk::Low {
        out.raw(" <span class=\"g low\">low risk</span>");
    }
    if let Some(cause) = &one.cause {
        out.raw(" <span class=\"q\">because ");
        quoted(out, cause);
        out.raw("</span>");
    }
    values::difference(out, one.old.as_ref(), one.new.as_ref());
    out.raw("</li>");
}

fn unchanged(out: &mut Markup, group: &Group<'_>) {
    if group.unchanged.is_empty() {
        return;
    }
    out.raw("<details class=\"same\"><summary>");
    out.text(&count(group.unchanged.len(), "unchanged resource"));
    out.raw("</summary><ul>");
    for (kind, place) in &group.unchanged {
        out.raw("<li>").code(words::name(place)).raw(" <span class=\"t\">").text(kind);
        out.raw("</span>");
        if place.path.is_some() {
            out.raw(" <span class=\"q\">").text(&place.logical_id).raw("</span>");
        }
        out.raw("</li>");
    }
    out.raw("</ul></details>");
}
