//! Events, one below the other.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{HistoryView, stack};
use crate::history::{
    Decided, Event, EventHash, Log, Move, ResourceRecord, Snapshot, StackKey, StackUpdate, What,
};
use crate::model::{Location, LogicalId};
use crate::report::text::{self, count, paint, plain};

/// How many moves of an event are listed.
const LISTED: usize = 10;

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
                    summary(event) + mark,
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
                let _ = write!(block, "\n{word}  {}", shorts(&event.parents));
            }
            let mut rest = vec![summary(event)];
            rest.extend(moves(&event.what, LISTED).into_iter().map(|line| format!("  {line}")));
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
        out.push(format!("{word}  {}", shorts(&event.parents)));
    }
    if let Some(same) = &event.same_as {
        out.push(format!("again   the state of {}", same.short()));
    }
    let empty = Snapshot::default();
    let before = event.parents.first().and_then(|parent| log.snapshot(*parent)).unwrap_or(&empty);
    let what = &event.what;
    if !what.refactors.is_empty() {
        out.push(String::new());
        out.push(paint::heading("Moved"));
        out.extend(moves(what, usize::MAX).into_iter().map(|line| format!("  {line}")));
    }
    for (key, record) in &what.creates {
        out.push(String::new());
        out.push(format!("{} {}", paint::gain("+"), paint::heading(stack(key))));
        out.extend(resources(&record.resources, "+"));
    }
    for (key, update) in &what.updates {
        out.push(String::new());
        out.push(format!("{} {}", paint::change("~"), paint::heading(stack(key))));
        out.extend(updated(key, update, before));
    }
    for key in &what.deletes {
        out.push(String::new());
        out.push(format!("{} {}", paint::loss("-"), paint::heading(stack(key))));
        out.extend(before.stack(key).iter().flat_map(|it| resources(&it.resources, "-")));
    }
    lines(out)
}

fn heading(hash: EventHash, event: &Event, is_head: bool) -> String {
    let mark = if is_head { " (head)" } else { "" };
    format!("{}  {}{mark}", paint::change(format!("event {}", hash.short())), plain(&event.at))
}

fn updated(key: &StackKey, update: &StackUpdate, before: &Snapshot) -> Vec<String> {
    let empty = BTreeMap::new();
    let old = before.stack(key).map_or(&empty, |record| &record.resources);
    let split = |is_old: bool| -> BTreeMap<LogicalId, ResourceRecord> {
        let of = update.resources.iter().filter(|(id, _)| old.contains_key(*id) == is_old);
        of.map(|(id, one)| (id.clone(), one.clone())).collect()
    };
    let gone = old.iter().filter(|(id, _)| update.removed.contains(*id));
    let gone = gone.map(|(id, one)| (id.clone(), one.clone())).collect();
    let mut lines = resources(&split(false), "+");
    lines.extend(resources(&split(true), "~"));
    lines.extend(resources(&gone, "-"));
    if lines.is_empty() {
        lines.push("    the template alone has changed".to_owned());
    }
    lines
}

/// Resources with type and path, a line each.
pub(super) fn resources(all: &BTreeMap<LogicalId, ResourceRecord>, mark: &str) -> Vec<String> {
    let row = |(id, one): (&LogicalId, &ResourceRecord)| {
        vec![
            format!("    {mark} {}", plain(one.resource_type.as_str())),
            plain(id.as_str()).into_owned(),
            one.path.as_ref().map(|path| plain(path.as_str()).into_owned()).unwrap_or_default(),
        ]
    };
    text::columns(&all.iter().map(row).collect::<Vec<_>>())
}

/// What an event comes to, in a line.
pub(super) fn summary(event: &Event) -> String {
    let what = &event.what;
    let mut parts = Vec::new();
    if event.parents.len() == 2 {
        parts.push(format!("merge of {}", shorts(&event.parents)));
    }
    let moved: BTreeSet<(&Location, &Location)> =
        all_moves(what).map(|one| (&one.source, &one.destination)).collect();
    if !moved.is_empty() {
        parts.push(format!("{} moved", count(moved.len(), "resource")));
    }
    let list = |word: &str, keys: Vec<&StackKey>| {
        let names: Vec<String> = keys.iter().take(4).map(|key| stack(key)).collect();
        let more = keys.len().saturating_sub(names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!keys.is_empty()).then(|| format!("{word} {}{more}", names.join(", ")))
    };
    parts.extend(list("created", what.creates.keys().collect()));
    parts.extend(list("updated", what.updates.keys().collect()));
    parts.extend(list("deleted", what.deletes.iter().collect()));
    if let Some(same) = &event.same_as {
        parts.push(format!("the state of {} again", same.short()));
    }
    if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") }
}

fn all_moves(what: &What) -> impl Iterator<Item = &Move> {
    what.refactors.iter().flat_map(|refactor| &refactor.moves)
}

/// `Web.Old → Web.New  (structure)`, the first few of them.
fn moves(what: &What, limit: usize) -> Vec<String> {
    let mut rows = Vec::new();
    for refactor in &what.refactors {
        for one in &refactor.moves {
            let mut why = match &one.decided {
                Decided::Detected(evidence) => format!("detected: {}", plain(evidence)),
                Decided::Stated(origin) => format!("stated by {}", plain(origin)),
                Decided::Recorded => "recorded before".to_owned(),
            };
            if !refactor.scope.is_everywhere() {
                let _ = write!(why, ", {}", plain(&refactor.scope.to_string()));
            }
            if let Some(parent) = &refactor.parent {
                let _ = write!(why, ", seen from {}", parent.short());
            }
            rows.push(vec![
                plain(&one.source.to_string()).into_owned(),
                format!("→ {}", plain(&one.destination.to_string())),
                format!("({why})"),
            ]);
        }
    }
    let more = rows.len().saturating_sub(limit);
    rows.truncate(limit);
    let mut lines = text::columns(&rows);
    if more > 0 {
        lines.push(format!("… and {more} more; `cdkr history show` lists them"));
    }
    lines
}

fn shorts(events: &[EventHash]) -> String {
    events.iter().map(EventHash::short).collect::<Vec<_>>().join(" and ")
}

pub(super) fn lines(lines: Vec<String>) -> String {
    lines.into_iter().map(|line| line + "\n").collect()
}
