//! The form for a comment on a pull request: as much as a comment can hold, the dangerous first.
//!
//! Everything that may be left out is a [`Unit`]. Units are taken in the order of their weight as
//! long as there is room, and put on the page in the order of the page.

use std::collections::BTreeMap;

use super::blocks::{Block, Line, blocks};
use super::moves::{Way, ways};
use super::phrase::{Phrase, fence, span};
use super::rows::{Row, rows};
use super::{dangers, is_dangerous, only_moves, words};
use crate::analyze::{
    ChangeReport, Common, ComponentChange, EnvironmentReport, Group, Happens, PermissionChange,
    StackFate, aggregate_where,
};
use crate::report::text::{count, squeezed};
use crate::report::{Style, permissions};

/// How many characters GitHub takes for a comment.
pub const COMMENT_LIMIT: usize = 65_536;

/// The first line of the Markdown, which is not shown: by it a program finds the comment that it
/// made before, to put the new text in its place.
pub const CHANGES_MARKER: &str = "<!-- cdkr:diff -->";

/// What is kept for saying what is left out.
const RESERVE: usize = 400;

/// How many places of equal dangers are one unit.
const PLACES: usize = 50;

/// How much a unit matters: the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Summary,
    Danger,
    Broader,
    Rest,
    Moves,
    Permissions,
}

/// A part of the page that is there as a whole or not at all.
struct Unit {
    weight: Weight,
    text: String,
    /// How much it is, for saying what is left out.
    number: usize,
}

/// Units under one heading, or in one box that can be opened.
struct Section {
    before: String,
    units: Vec<Unit>,
    after: &'static str,
}

/// Renders what a deployment will do as Markdown, for a comment on a pull request that is no longer
/// than `limit` characters ([`COMMENT_LIMIT`] is that of GitHub). The first line is
/// [`CHANGES_MARKER`]. What does not fit is left out, the least important first, and counted in the
/// last line; less than some 600 characters cannot be kept to. Names and values are code, so that
/// nothing in them is taken for HTML, Markdown or a mention.
pub fn changes_markdown(report: &ChangeReport, limit: usize) -> String {
    let mut title = format!("{CHANGES_MARKER}\n### What a deployment will do\n");
    title.push_str(&remarks(report));
    let mut sections: Vec<Section> = report.environments.iter().flat_map(environment).collect();
    let left = choose(&mut sections, limit.saturating_sub(length(&title) + RESERVE));
    let mut page = title;
    if report.environments.is_empty() {
        page.push_str("\nNothing changes.\n");
    }
    for section in sections.iter().filter(|section| !section.units.is_empty()) {
        page.push_str(&section.before);
        for unit in &section.units {
            page.push_str(&unit.text);
        }
        page.push_str(section.after);
    }
    page.push_str(&left_out(&left));
    page
}

/// What has to be known besides: at most ten, the errors first.
fn remarks(report: &ChangeReport) -> String {
    const MOST: usize = 10;
    let mut lines = Vec::new();
    for remark in report.remarks.iter().take(MOST) {
        let word = if remark.is_error { "**Cannot be deployed**" } else { "**Note**" };
        let text = squeezed(&remark.text, 400);
        lines.push(format!("- {word}: {}", span(&text)));
    }
    if let Some(more) = report.remarks.len().checked_sub(MOST).filter(|more| *more > 0) {
        lines.push(format!("- and {more} more"));
    }
    if lines.is_empty() { String::new() } else { format!("\n{}\n", lines.join("\n")) }
}

/// As programs count that limit it: never less than the number of characters.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Takes out what does not fit into a room. Returns how much of what that is.
fn choose(sections: &mut [Section], mut room: usize) -> BTreeMap<Weight, usize> {
    let mut order: Vec<(Weight, usize, usize)> = sections
        .iter()
        .enumerate()
        .flat_map(|(at, section)| {
            section.units.iter().enumerate().map(move |(number, unit)| (unit.weight, at, number))
        })
        .collect();
    order.sort_unstable();
    let mut taken: Vec<Vec<bool>> =
        sections.iter().map(|section| vec![false; section.units.len()]).collect();
    let mut left: BTreeMap<Weight, usize> = BTreeMap::new();
    for (weight, at, number) in order {
        let section = &sections[at];
        // A list ends where one of its entries does not fit, so that the reader knows what is left.
        if let Some(left) = left.get_mut(&weight) {
            *left += section.units[number].number;
            continue;
        }
        let around = if taken[at].contains(&true) {
            0
        } else {
            length(&section.before) + length(section.after)
        };
        let needed = around + length(&section.units[number].text);
        if needed <= room {
            room -= needed;
            taken[at][number] = true;
        } else {
            left.insert(weight, section.units[number].number);
        }
    }
    for (section, taken) in sections.iter_mut().zip(taken) {
        let mut taken = taken.into_iter();
        section.units.retain(|_| taken.next().unwrap_or_default());
    }
    left
}

fn left_out(left: &BTreeMap<Weight, usize>) -> String {
    if left.is_empty() {
        return String::new();
    }
    let parts = left.iter().map(|(weight, number)| match weight {
        Weight::Summary => count(*number, "environment"),
        Weight::Danger => format!("**{}**", count(*number, "dangerous change")),
        Weight::Broader => format!("**{} that may permit more**", count(*number, "change")),
        Weight::Rest => count(*number, "other change"),
        Weight::Moves => format!("the places of {}", count(*number, "move")),
        Weight::Permissions => format!("{} of permissions", count(*number, "other change")),
    });
    let parts: Vec<String> = parts.collect();
    format!(
        "\nA comment cannot be longer. Left out: {}. `cdkr diff --verbose` shows everything.\n",
        parts.join(", ")
    )
}

fn environment(report: &EnvironmentReport) -> Vec<Section> {
    // The places of dangerous changes are all shown, values as far as they differ.
    let style = Style::default();
    let mut sections = vec![Section {
        before: String::new(),
        units: vec![Unit { weight: Weight::Summary, text: summary(report), number: 1 }],
        after: "",
    }];
    for (heading, members) in dangers(report) {
        let units = blocks(report, &members, style).iter().flat_map(danger).collect();
        sections.push(Section { before: format!("\n**{heading}**\n\n"), units, after: "" });
    }
    let (broader, other): (Vec<_>, Vec<_>) =
        report.permissions.iter().cloned().partition(|change| change.broadens);
    sections.extend(permitted(report, &broader, Weight::Broader));
    sections.push(constructs(report, style));
    sections.extend(moves(report, style));
    // What only moves is listed there.
    let is_listed = |change: &_| is_dangerous(change) || only_moves(change);
    for group in aggregate_where(report, |_, change| !is_listed(change)) {
        sections.push(rest(report, &group, style));
    }
    sections.extend(permitted(report, &other, Weight::Permissions));
    sections
}

fn summary(report: &EnvironmentReport) -> String {
    let place = span(&report.environment.to_string());
    let mut text = format!("\n{place}: {}\n", words::summary(report).join(" "));
    for (fate, label) in [
        (StackFate::New, "new stacks"),
        (StackFate::Left, "stacks that the app does not have any more, and that stay"),
        (StackFate::Removed, "nested stacks that are deleted"),
    ] {
        let of: Vec<_> = report.stacks.iter().filter(|stack| stack.fate == fate).collect();
        let names: Vec<String> = of.iter().take(20).map(|stack| span(&stack.name)).collect();
        let more = match of.len().saturating_sub(names.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        if !names.is_empty() {
            text.extend(["- ", label, ": ", &names.join(", "), &more, "\n"]);
        }
    }
    text
}

/// A block, or several if it has too many places for one.
fn danger(block: &Block<'_>) -> Vec<Unit> {
    block.places.chunks(PLACES).map(|places| part(block, places)).collect()
}

fn part(block: &Block<'_>, places: &[Phrase]) -> Unit {
    let (sign, heading) = block.heading(places.len());
    let mut lines = vec![format!("- `{sign}` {}", heading.markdown())];
    let says = &block.says;
    match places {
        [place] => lines = vec![format!("{}: {}", lines.concat(), place.markdown())],
        all => lines.extend(all.iter().map(|place| format!("  - {}", place.markdown()))),
    }
    let prose = |text: &str| Phrase::default().prose(text).markdown();
    lines.extend(says.danger.map(|danger| format!("  - **{}**", prose(danger))));
    lines.extend(says.reason.iter().map(|reason| format!("  - {}", reason.markdown())));
    lines.extend(says.permits.iter().map(|one| format!("  - {}", one.markdown())));
    if !says.causes.is_empty() {
        let causes: Vec<String> = says.causes.iter().map(|cause| prose(cause)).collect();
        lines.push(format!("  - because {}", causes.join(", since ")));
    }
    lines.extend(says.properties.iter().map(|line| format!("  - {}", property(line))));
    if says.more > 0 {
        lines.push(format!("  - … and {} more", says.more));
    }
    let text = lines.join("\n") + "\n";
    Unit { weight: Weight::Danger, text, number: places.len() }
}

fn property(line: &Line) -> String {
    let phrase = Phrase::joined([line.path.clone(), line.values.clone()], ": ");
    let remarks = line.remarks.markdown();
    let end = if remarks.is_empty() { String::new() } else { format!(" ({remarks})") };
    format!("`{}` {}{end}", line.sign, phrase.markdown())
}

/// A box that is opened by a click on its title, which is HTML: words of ours, and numbers.
fn details(title: &str) -> String {
    format!("\n<details><summary>{title}</summary>\n\n")
}

const END: &str = "\n</details>\n";

/// The constructs that have moved.
fn constructs(report: &EnvironmentReport, style: Style) -> Section {
    let ways = ways(report);
    let line = |way: &Way<'_>| {
        let number = format!("{} × ", way.members.len());
        let line = Phrase::default().words(&number).and(way.phrase());
        let text = format!("- {}\n", line.markdown());
        Unit { weight: Weight::Moves, text, number: way.members.len() }
    };
    let mut units: Vec<Unit> = ways.iter().take(style.limit()).map(line).collect();
    if let Some(more) = ways.len().checked_sub(units.len()).filter(|more| *more > 0) {
        let text = format!("- … and {} more\n", count(more, "construct"));
        units.push(Unit { weight: Weight::Moves, text, number: 0 });
    }
    Section { before: "\n**Moved**\n\n".to_owned(), units, after: "" }
}

/// Everything that moves; what else happens to it is told with the rest.
fn moves(report: &EnvironmentReport, style: Style) -> Option<Section> {
    let is_moved = |one: &&ComponentChange| one.is_moved() && !is_dangerous(one);
    let moved: Vec<_> = report.changes.iter().filter(is_moved).collect();
    let units = moved.iter().map(|change| {
        let component = words::component(change.kind, change.subtype.as_ref());
        let line = component.words(" ").and(words::place(change, style));
        let sign = Happens::of(change).sign();
        let text = format!("- `{sign}` {}\n", line.markdown());
        Unit { weight: Weight::Moves, text, number: 1 }
    });
    let before = details(&count(moved.len(), "move"));
    (!moved.is_empty()).then(|| Section { before, units: units.collect(), after: END })
}

/// What is not dangerous, alike in one line.
fn rest(report: &EnvironmentReport, group: &Group, style: Style) -> Section {
    let risk = group.common.iter().find_map(|common| match common {
        Common::Risk(risk) => Some(words::risk(*risk)),
        _ => None,
    });
    let number = count(group.members.len(), "change");
    let title = format!("{}: {number}", risk.unwrap_or_default());
    let units = group.inner.iter().map(|group| {
        let rows = rows(report, std::slice::from_ref(group), style);
        let text = rows.iter().map(row).collect();
        Unit { weight: Weight::Rest, text, number: group.members.len() }
    });
    Section { before: details(&title), units: units.collect(), after: END }
}

fn row(row: &Row) -> String {
    let number = match row.number {
        0 => Phrase::default(),
        number => Phrase::default().words(&format!("{number} ×")),
    };
    let sign = match row.sign.as_str() {
        "" => Phrase::default(),
        sign => Phrase::default().code(sign),
    };
    let line = Phrase::joined([number, row.component.clone(), sign, row.what.clone()], " ");
    let line = Phrase::joined([line, row.places.clone()], " — ");
    format!("{}- {}\n", "  ".repeat(row.depth), line.markdown())
}

/// The tables of permissions, as a terminal shows them.
fn permitted(
    report: &EnvironmentReport,
    changes: &[PermissionChange],
    weight: Weight,
) -> Option<Section> {
    if changes.is_empty() {
        return None;
    }
    let tables = permissions(&report.environment, changes);
    let tables = anstream::adapter::strip_str(&tables).to_string();
    let fence = fence(&tables, 3);
    let which = match weight {
        Weight::Broader => "permissions that may permit more than before",
        _ => "permissions that permit no more than before",
    };
    let title = format!("{} of {which}", count(changes.len(), "change"));
    Some(Section {
        before: details(&title),
        units: vec![Unit {
            weight,
            text: format!("{fence}text\n{tables}{fence}\n"),
            number: changes.len(),
        }],
        after: END,
    })
}
