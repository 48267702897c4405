//! The form for a terminal: how much happens, what is dangerous in full, the rest at a glance.

use std::collections::BTreeSet;

use super::blocks::{Block, Line, blocks};
use super::moves::{Way, ways};
use super::rows::{Row, rows};
use super::{dangers, is_dangerous, only_moves, words};
use crate::analyze::model::PropertyChange;
use crate::analyze::{
    ChangeEffect, ChangeReport, Common, EnvironmentReport, Group, PermissionChange, StackFate,
    aggregate_where,
};
use crate::report::text::{columns, count, paint, plain, shorten, wrapped};
use crate::report::{Style, permissions};
use unicode_width::UnicodeWidthStr;

/// How wide a line may be before it is broken, where that is possible.
const LINE_WIDTH: usize = 100;
/// Two values that together are no longer stand on one line, however long it becomes.
const SHORT_WIDTH: usize = 24;
/// Longest text of a cell.
const CELL_WIDTH: usize = 130;
/// How wide a column of such cells may become.
const COLUMN_WIDTH: usize = 60;

/// Renders what a deployment will do for a terminal: how much, in each environment; what is
/// dangerous, in full; then the rest, what is alike in one line, or one by one if the style is
/// verbose. Colours are in the text as escape sequences, to be taken out where they are not wanted.
pub fn changes(report: &ChangeReport, style: Style) -> String {
    let summaries: Vec<String> = report.environments.iter().map(summary).collect();
    let mut parts = vec![summaries.join("\n")];
    let several = report.environments.len() > 1;
    for one in &report.environments {
        let found = environment(one, style);
        if several && !found.is_empty() {
            parts.push(paint::heading(plain(&one.environment.to_string())));
        }
        parts.extend(found);
    }
    let is_cut = |one: &EnvironmentReport| one.changes.iter().any(|change| !is_dangerous(change));
    if !style.verbose && report.environments.iter().any(is_cut) {
        parts.push("(--verbose lists every change with its values)".to_owned());
    }
    parts.retain(|part| !part.is_empty());
    if parts.is_empty() {
        parts.push("Nothing changes.".to_owned());
    }
    parts.join("\n\n") + "\n"
}

/// How much happens, and which stacks come and go.
fn summary(report: &EnvironmentReport) -> String {
    let place = plain(&report.environment.to_string()).into_owned();
    // A number stays on the line of what it counts.
    let parts = words::summary(report).join(" ").replace(' ', "\u{a0}");
    let parts = [",", ";", ":"]
        .iter()
        .fold(parts, |parts, end| parts.replace(&format!("{end}\u{a0}"), &format!("{end} ")));
    let lines = wrapped(&format!("{place}: {parts}"), LINE_WIDTH);
    let mut lines: Vec<String> =
        lines.into_iter().map(|line| line.replace('\u{a0}', " ")).collect();
    if let Some(first) = lines.first_mut() {
        *first = first.replacen(&place, &paint::heading(&place), 1);
    }
    for (fate, label) in [
        (StackFate::New, "new stacks"),
        (StackFate::Left, "stacks that the app does not have any more, and that stay"),
        (StackFate::Removed, "nested stacks that are deleted"),
    ] {
        let of: Vec<_> = report.stacks.iter().filter(|stack| stack.fate == fate).collect();
        if !of.is_empty() {
            let names: Vec<_> = of.iter().map(|stack| plain(&stack.name)).collect();
            lines.extend(wrapped(&format!("  {label}: {}", names.join(", ")), LINE_WIDTH));
        }
    }
    lines.join("\n")
}

fn environment(report: &EnvironmentReport, style: Style) -> Vec<String> {
    let mut parts = Vec::new();
    for (heading, members) in dangers(report) {
        if !members.is_empty() {
            let blocks = listed(&blocks(report, &members, style), style);
            parts.push(format!("{}\n{blocks}", paint::loss(heading)));
        }
    }
    let ways = if style.verbose { Vec::new() } else { ways(report) };
    if !ways.is_empty() {
        parts.push(format!("{}\n{}", paint::heading("Moved"), moved(&ways, style)));
    }
    let told: BTreeSet<usize> = ways.iter().flat_map(|way| &way.members).copied().collect();
    let is_told = |member, change: &_| only_moves(change) && told.contains(&member);
    let rest = |member, change: &_| !is_dangerous(change) && !is_told(member, change);
    for group in aggregate_where(report, rest) {
        let heading = group.common.iter().find_map(|common| match common {
            Common::Risk(risk) => Some(paint::heading(words::risk(*risk))),
            _ => None,
        });
        let lines = if style.verbose {
            listed(&blocks(report, &group.members, style), style)
        } else {
            at_a_glance(report, &group, style)
        };
        parts.push(format!("{}\n{lines}", heading.unwrap_or_default()));
    }
    parts.extend(permitted(report, style));
    parts
}

/// Constructs that have moved, with the number of their resources.
fn moved(ways: &[Way<'_>], style: Style) -> String {
    let shown = ways.len().min(style.limit());
    let number = |way: &Way<'_>| way.members.len().to_string();
    let widest = ways[..shown].iter().map(|way| number(way).len()).max().unwrap_or(1);
    let line = |way: &Way<'_>| format!("  {:>widest$} {}", number(way), way.phrase().text());
    let mut lines: Vec<String> = ways[..shown].iter().map(line).collect();
    let rest = &ways[shown..];
    if !rest.is_empty() {
        let resources = rest.iter().map(|way| way.members.len()).sum();
        let (constructs, resources) =
            (count(rest.len(), "construct"), count(resources, "resource"));
        lines.push(format!("  … and {constructs} more, with {resources}"));
    }
    lines.join("\n")
}

/// The permissions: all of them if the reader wants so, else those that permit more and are not
/// told beside a dangerous change.
fn permitted(report: &EnvironmentReport, style: Style) -> Option<String> {
    let all = &report.permissions;
    let dangerous = report.changes.iter().filter(|change| is_dangerous(change));
    let places = dangerous.flat_map(|change| change.before.iter().chain(&change.after));
    let told: BTreeSet<(&str, &str)> =
        places.map(|place| (&*place.stack, &*place.logical_id)).collect();
    let is_shown = |one: &&PermissionChange| {
        style.verbose || one.broadens && !told.contains(&(&*one.stack, &*one.logical_id))
    };
    let shown: Vec<PermissionChange> = all.iter().filter(is_shown).cloned().collect();
    let mut parts = Vec::new();
    if !shown.is_empty() {
        parts.push(permissions(&report.environment, &shown).trim_end().to_owned());
    }
    if shown.len() < all.len() {
        let broader = match all.iter().filter(|one| one.broadens).count() {
            0 => "none of which permits more".to_owned(),
            number => format!("{number} of which may permit more"),
        };
        let all = count(all.len(), "change");
        parts.push(format!("{all} of permissions, {broader} (--verbose lists them)"));
    }
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn at_a_glance(report: &EnvironmentReport, group: &Group, style: Style) -> String {
    let rows = rows(report, &group.inner, style);
    let widest = rows.iter().map(|row| row.number.to_string().len()).max().unwrap_or(1);
    let cells: Vec<Vec<String>> = rows.iter().map(|row| cells(row, widest)).collect();
    // A few wide cells do not push everything to the right.
    let wide = cells.iter().filter_map(|row| row.get(2)).map(|cell| cell.width());
    let wide = wide.filter(|width| *width <= COLUMN_WIDTH).max().unwrap_or(0);
    let (cells, signs): (Vec<Vec<String>>, Vec<Option<&Row>>) =
        cells.into_iter().zip(&rows).flat_map(|(cells, row)| lines(cells, row, wide)).unzip();
    let lines = columns(&cells).into_iter().zip(signs).map(|(line, row)| match row {
        Some(row) if !row.sign.is_empty() => line.replacen(&row.sign, &painted(row), 1),
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What happens and where as one cell, or below each other if that is too wide. The row is given
/// back with the line in which its sign is.
fn lines(mut cells: Vec<String>, row: &Row, wide: usize) -> Vec<(Vec<String>, Option<&Row>)> {
    let (Some(places), Some(what)) = (cells.pop(), cells.pop()) else { return Vec::new() };
    let is_below = what.width() > wide && !places.is_empty();
    if is_below {
        cells.push(what);
        let below = vec![String::new(), String::new(), format!("  {places}")];
        return vec![(cells, Some(row)), (below, None)];
    }
    let blanks = " ".repeat(wide.saturating_sub(what.width()) + 2);
    cells.push(if places.is_empty() { what } else { format!("{what}{blanks}{places}") });
    vec![(cells, Some(row))]
}

fn cells(row: &Row, widest: usize) -> Vec<String> {
    let indent = " ".repeat(2 + 2 * row.depth);
    let number = match row.number {
        0 => " ".repeat(widest),
        number => format!("{number:>widest$}"),
    };
    vec![
        format!("{indent}{number} {}", row.component.text()),
        row.sign.clone(),
        shorten(&row.what.text(), CELL_WIDTH),
        row.places.text(),
    ]
}

fn painted(row: &Row) -> String {
    match row.sign.chars().find(|c| "+-±~↷".contains(*c)) {
        Some('+') => paint::gain(&row.sign),
        Some('-' | '±') => paint::loss(&row.sign),
        _ => paint::change(&row.sign),
    }
}

fn listed(blocks: &[Block<'_>], style: Style) -> String {
    blocks.iter().flat_map(|one| block(one, style)).collect::<Vec<_>>().join("\n")
}

fn block(block: &Block<'_>, style: Style) -> Vec<String> {
    let (sign, heading) = block.heading(block.places.len());
    let line = format!("  {sign} {}", heading.text());
    let mut lines = vec![match block.happens.effect {
        _ if block.is_loss() => paint::loss(line),
        ChangeEffect::Add => paint::gain(line),
        _ => paint::change(line),
    }];
    let says = &block.says;
    let say = |text: String| wrapped(&format!("      {text}"), LINE_WIDTH);
    let shown = block.places.len().min(style.limit());
    lines.extend(block.places[..shown].iter().flat_map(|place| say(place.text())));
    if shown < block.places.len() {
        let more = block.places.len() - shown;
        lines.push(format!("      … and {more} more (--verbose lists them)"));
    }
    let danger = says.danger.map(|danger| say(plain(danger).into_owned()));
    lines.extend(danger.into_iter().flatten().map(paint::loss));
    lines.extend(says.reason.iter().flat_map(|reason| say(reason.text())));
    lines.extend(says.permits.iter().flat_map(|one| say(one.text())));
    for (depth, cause) in says.causes.iter().enumerate() {
        lines.extend(say(format!("{}because {}", "  ".repeat(depth), plain(cause))));
    }
    if let Some(evidence) = says.evidence {
        lines.extend(say(format!("taken for the same: {}", plain(evidence))));
    }
    lines.extend(says.properties.iter().flat_map(property));
    if says.more > 0 {
        lines.push(format!("      … and {} more (--verbose lists them)", says.more));
    }
    lines
}

fn property(line: &Line) -> Vec<String> {
    let start = format!("      {} {}", line.sign, line.path.text());
    let remarks = line.remarks.text();
    let end = if remarks.is_empty() { String::new() } else { format!(" ({remarks})") };
    let colour = |text: String| match line.sign {
        sign if sign == words::property_sign(PropertyChange::Insert) => paint::gain(text),
        sign if sign == words::property_sign(PropertyChange::Remove) => paint::loss(text),
        _ => text,
    };
    let values = line.values.text();
    if values.is_empty() {
        return vec![colour(format!("{start}{end}"))];
    }
    let whole = format!("{start}: {values}{end}");
    let (Some(old), Some(new)) = (&line.old, &line.new) else { return vec![colour(whole)] };
    let is_short = old.width() + new.width() <= SHORT_WIDTH;
    if is_short || whole.width() <= LINE_WIDTH {
        return vec![colour(whole)];
    }
    vec![
        format!("{start}{end}"),
        paint::loss(format!("          - {old}")),
        paint::gain(format!("          + {new}")),
    ]
}
