//! Events, one below the other.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::snapshot::{moved, stacks};
use super::{HistoryView, place_of, stack};
use crate::history::{
    Changes, Decided, Event, EventHash, Log, Move, ResourceRecord, Snapshot, StackKey, What,
    changes, diff,
};
use crate::model::{Location, LogicalId};
use crate::report::text::{self, count, paint, plain};

/// How many moves or resources are listed where nobody asked for all of them.
pub(super) const LISTED: usize = 10;

/// Renders the events of a log, newest first.
pub fn log(log: &Log, view: &HistoryView) -> String {
    let heads: BTreeSet<EventHash> = log.heads().iter().map(|head| head.event).collect();
    if view.oneline {
        let rows: Vec<Vec<String>> = view
            .events(log)
            .map(|(hash, event)| {
                let mark = if heads.contains(&hash) { " (head)" } else { "" };
                vec![
                    paint::change(hash.short()),
                    plain(&event.at).into_owned(),
                    summary(log, event) + mark,
                ]
            })
            .collect();
        return lines(text::columns(&rows));
    }
    let blocks: Vec<String> = view
        .events(log)
        .map(|(hash, event)| {
            let mut block = heading(hash, event, heads.contains(&hash));
            if !event.parents.is_empty() {
                let word = if event.parents.len() == 2 { "merges" } else { "after " };
                let _ = write!(block, "\n{word}  {}", shorts(&parents(log, event)));
            }
            let mut rest = vec![summary(log, event)];
            rest.extend(moves(&event.what, LISTED));
            for line in rest {
                // Writing to a string cannot fail.
                let _ = write!(block, "\n  {line}");
            }
            block
        })
        .collect();
    if blocks.is_empty() { "No events.\n".to_owned() } else { blocks.join("\n\n") + "\n" }
}

/// Renders an event in full.
pub fn event(log: &Log, hash: EventHash) -> String {
    let Some(event) = log.event(hash) else { return String::new() };
    let is_head = log.heads().iter().any(|head| head.event == hash);
    let mut out = vec![heading(hash, event, is_head)];
    out.push(format!("hash    {hash}"));
    if !event.parents.is_empty() {
        let word = if event.parents.len() == 2 { "merges" } else { "after " };
        out.push(format!("{word}  {}", shorts(&parents(log, event))));
    }
    if let Some(same) = &event.same_as {
        out.push(format!("again   the state of {}", same.short()));
    }
    let own = moves(&event.what, usize::MAX);
    if !own.is_empty() {
        out.push(String::new());
        out.extend(own);
    }
    let empty = Snapshot::default();
    let after = log.snapshot(hash).unwrap_or(&empty);
    if event.parents.is_empty() {
        out.extend(stacks(&diff(&empty, after), &HistoryView::default()));
    }
    for parent in &parents(log, event) {
        let found = changes(log, *parent, hash).unwrap_or_else(|_| Changes {
            difference: diff(log.snapshot(*parent).unwrap_or(&empty), after),
            ..Changes::default()
        });
        if event.parents.len() > 1 {
            out.push(String::new());
            out.push(paint::heading(format!("Since {}", parent.short())));
            out.extend(moved(&found, &HistoryView::default()));
        }
        out.extend(stacks(&found.difference, &HistoryView::default()));
    }
    lines(out)
}

fn heading(hash: EventHash, event: &Event, is_head: bool) -> String {
    let mark = if is_head { " (head)" } else { "" };
    format!("{}  {}{mark}", paint::change(format!("event {}", hash.short())), plain(&event.at))
}

/// The first resources with type and path, a line each.
pub(super) fn resources(
    all: &BTreeMap<LogicalId, ResourceRecord>,
    mark: &str,
    view: &HistoryView,
) -> Vec<String> {
    let row = |(id, one): (&LogicalId, &ResourceRecord)| {
        vec![
            format!("    {mark} {}", plain(one.resource_type.as_str())),
            plain(id.as_str()).into_owned(),
            one.path.as_ref().map(|path| plain(path.as_str()).into_owned()).unwrap_or_default(),
        ]
    };
    let shown = view.resources.unwrap_or(usize::MAX).min(all.len());
    let mut lines = text::columns(&all.iter().take(shown).map(row).collect::<Vec<_>>());
    if shown < all.len() {
        lines.push(format!("    {mark} … and {} more", all.len() - shown));
    }
    lines
}

/// What an event comes to, in a line.
pub(super) fn summary(log: &Log, event: &Event) -> String {
    let what = &event.what;
    let mut parts = Vec::new();
    if event.parents.len() == 2 {
        parts.push(format!("merge of {}", shorts(&parents(log, event))));
    }
    let moved: BTreeSet<(&Location, &Location)> =
        all_moves(what).map(|one| (&one.source, &one.destination)).collect();
    if !moved.is_empty() {
        parts.push(format!("{} moved", count(moved.len(), "resource")));
    }
    let all = what.creates.keys().chain(what.updates.keys()).chain(&what.deletes);
    let all: Vec<&StackKey> = all.collect();
    let name = |key: &StackKey| {
        let is_alone = all.iter().filter(|other| other.name == key.name).count() == 1;
        if is_alone { plain(key.name.as_str()).into_owned() } else { stack(key) }
    };
    let list = |word: &str, keys: Vec<&StackKey>| {
        let names: Vec<String> = keys.iter().take(4).map(|key| name(key)).collect();
        let more = keys.len().saturating_sub(names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!keys.is_empty()).then(|| format!("{word} {}{more}", names.join(", ")))
    };
    // What a merge says of stacks is told against one of its branches, whichever that is.
    if event.parents.len() < 2 {
        parts.extend(list("created", what.creates.keys().collect()));
        parts.extend(list("updated", what.updates.keys().collect()));
        parts.extend(list("deleted", what.deletes.iter().collect()));
    }
    if let Some(same) = &event.same_as {
        parts.push(format!("the state of {} again", same.short()));
    }
    if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") }
}

fn all_moves(what: &What) -> impl Iterator<Item = &Move> {
    what.refactors.iter().flat_map(|refactor| &refactor.moves)
}

/// What moved, by environment: `Web.Old → Web.New  (detected: structure)`, the first few of them.
fn moves(what: &What, limit: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut left = limit;
    for refactor in &what.refactors {
        let since = refactor.parent.map(|parent| format!(" since {}", parent.short()));
        let scope = place_of(&refactor.scope);
        out.push(paint::heading(format!("Moved{scope}{}", since.unwrap_or_default())));
        let rows: Vec<Vec<String>> = refactor.moves.iter().take(left).map(move_row).collect();
        left -= rows.len();
        out.extend(text::columns(&rows));
        let more = refactor.moves.len() - rows.len();
        if more > 0 {
            out.push(format!("    … and {more} more; `cdkr history show` lists them"));
        }
    }
    out
}

fn move_row(one: &Move) -> Vec<String> {
    let why = match &one.decided {
        Decided::Detected(evidence) => format!("detected: {}", plain(evidence)),
        Decided::Stated(origin) => format!("stated by {}", plain(origin)),
        Decided::Recorded => "recorded before".to_owned(),
    };
    vec![
        format!("    {}", plain(&one.source.to_string())),
        format!("→ {}", plain(&one.destination.to_string())),
        format!("({why})"),
    ]
}

fn shorts(events: &[EventHash]) -> String {
    events.iter().map(EventHash::short).collect::<Vec<_>>().join(" and ")
}

/// The events before an event, in the order of the log: our branch first.
pub(super) fn parents(log: &Log, event: &Event) -> Vec<EventHash> {
    if event.parents.len() < 2 {
        return event.parents.clone();
    }
    let all = log.events().map(|(hash, _)| hash);
    all.filter(|hash| event.parents.contains(hash)).collect()
}

pub(super) fn lines(lines: Vec<String>) -> String {
    lines.into_iter().map(|line| line + "\n").collect()
}
