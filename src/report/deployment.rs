//! What a deployment would do besides the moves, and pairs that a reader might take.

use super::Style;
use super::moves::more;
use super::text::{self, count, map_options, name, paint, plain, properties};
use crate::compare::{Change, Comparison, Similar, Unpaired};

/// Renders pairs that are alike, but not enough so to be taken.
pub(super) fn similar(pairs: &[Similar], style: Style) -> Option<String> {
    if pairs.is_empty() {
        return None;
    }
    let mut lines = vec![paint::heading("Alike, but not enough so to be taken for the same:")];
    for pair in pairs.iter().take(style.limit()) {
        lines.push(format!(
            "  {}  {} → {}  {} % alike",
            plain(pair.resource_type.as_str()),
            name(&pair.source, style),
            name(&pair.destination, style),
            pair.score
        ));
        if !pair.differences.is_empty() {
            let what = properties(pair.differences.iter(), style);
            lines.push(format!("    differs in {what}"));
        }
        if !style.asks {
            let option = map_options(&[(&pair.source, &pair.destination)], style);
            lines.push(format!("    to take it: {}", paint::command(option)));
        }
    }
    lines.extend(more(pairs.len(), style));
    Some(lines.join("\n"))
}

/// Renders what is left for a deployment.
pub(super) fn rest(comparison: &Comparison, style: Style) -> Option<String> {
    let (added, removed) = (&comparison.added, &comparison.removed);
    let changed = &comparison.changed;
    let counts = summary(added.len(), removed.len(), changed.len())?;
    let mut lines = vec![paint::heading(format!("A deployment would still {counts}:"))];
    let gained = added.iter().map(|one| unpaired('+', one, style));
    lines.extend(list(gained, style).into_iter().map(paint::gain));
    let lost = removed.iter().map(|one| unpaired('-', one, style));
    lines.extend(list(lost, style).into_iter().map(paint::loss));
    let other = changed.iter().map(|one| change(one, style));
    lines.extend(list(other, style).into_iter().map(paint::change));
    Some(lines.join("\n"))
}

fn list(rows: impl ExactSizeIterator<Item = Vec<String>>, style: Style) -> Vec<String> {
    let total = rows.len();
    let mut lines = text::columns(&rows.take(style.limit()).collect::<Vec<_>>());
    lines.extend(more(total, style));
    lines
}

/// `add 2 resources, remove 1 and change 3`; nothing if there is nothing to do.
pub(super) fn summary(added: usize, removed: usize, changed: usize) -> Option<String> {
    let parts: Vec<_> = [("add", added), ("remove", removed), ("change", changed)]
        .into_iter()
        .filter(|(_, number)| *number > 0)
        .enumerate()
        .map(|(at, (verb, number))| match at {
            0 => format!("{verb} {}", count(number, "resource")),
            _ => format!("{verb} {number}"),
        })
        .collect();
    match parts.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        [first @ .., last] => Some(format!("{} and {last}", first.join(", "))),
    }
}

fn unpaired(sign: char, one: &Unpaired, style: Style) -> Vec<String> {
    let mut row =
        vec![format!("  {sign} {}", plain(one.resource_type.as_str())), name(&one.place, style)];
    row.extend(one.excluded.as_ref().map(|why| format!("({})", plain(why))));
    row
}

fn change(one: &Change, style: Style) -> Vec<String> {
    let mut what = properties(one.differences.iter(), style);
    if one.differences.iter().any(|difference| difference.replaces) {
        what.push_str(" (replaces it)");
    }
    vec![format!("  ~ {}", plain(one.resource_type.as_str())), name(&one.place, style), what]
}
