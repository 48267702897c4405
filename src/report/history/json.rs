//! Histories for programs. The types are those of the contract, not those of the room.

use serde::Serialize;

use super::HistoryView;
use crate::history::{
    Changes, Decided, Event, EventHash, Log, Moved, Refactor, ResourceRecord, Snapshot,
    SnapshotDifference, StackKey, StackRecord,
};
use crate::model::LogicalId;

/// The version of the contract: raised when a field goes away or changes its meaning.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct EventsWire {
    version: u32,
    events: Vec<EventWire>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EventWire {
    hash: String,
    parents: Vec<String>,
    at: String,
    head: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    same_as: Option<String>,
    created: Vec<StackWire>,
    updated: Vec<StackWire>,
    deleted: Vec<StackWire>,
    moves: Vec<MoveWire>,
}

#[derive(Serialize, Default)]
struct StackWire {
    stack: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<Vec<ResourceWire>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    added: Vec<ResourceWire>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changed: Vec<ResourceWire>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    removed: Vec<ResourceWire>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceWire {
    logical_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MoveWire {
    source: PlaceWire,
    destination: PlaceWire,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stated: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlaceWire {
    stack: String,
    logical_id: String,
}

#[derive(Serialize)]
struct SnapshotWire {
    version: u32,
    event: String,
    stacks: Vec<StackWire>,
}

#[derive(Serialize)]
struct DifferenceWire {
    version: u32,
    from: String,
    to: String,
    events: Option<usize>,
    moves: Vec<MoveWire>,
    created: Vec<StackWire>,
    updated: Vec<StackWire>,
    deleted: Vec<StackWire>,
}

#[derive(Serialize)]
struct CheckedWire {
    version: u32,
    head: Option<String>,
    recorded: bool,
    created: Vec<StackWire>,
    updated: Vec<StackWire>,
    deleted: Vec<StackWire>,
    misplaced: Vec<StackWire>,
}

#[derive(Serialize)]
struct RecordedWire {
    version: u32,
    head: Option<String>,
    recorded: Vec<EventWire>,
}

/// Renders events, newest first.
pub fn events_json(log: &Log, view: &HistoryView, only: Option<EventHash>) -> String {
    let shown = view.events(log).filter(|(hash, _)| only.is_none_or(|only| only == *hash));
    let events = shown.map(|(hash, one)| event(log, hash, one)).collect();
    written(&EventsWire { version: VERSION, events })
}

/// Renders what was recorded: the new events, oldest first.
pub fn recorded_json(log: &Log, events: &[EventHash]) -> String {
    let recorded = events.iter().filter_map(|hash| Some(event(log, *hash, log.event(*hash)?)));
    let head = log.head().ok().flatten().map(|head| head.to_string());
    written(&RecordedWire { version: VERSION, head, recorded: recorded.collect() })
}

/// Renders stacks at an event.
pub fn snapshot_json(snapshot: &Snapshot, event: EventHash, view: &HistoryView) -> String {
    let shown = snapshot.stacks().filter(|(key, _)| view.has(key));
    let stacks = shown.map(|(key, record)| whole(key, record)).collect();
    written(&SnapshotWire { version: VERSION, event: event.to_string(), stacks })
}

/// Renders what became of the stacks between two events.
pub fn difference_json(
    changes: &Changes,
    (from, to): (EventHash, EventHash),
    view: &HistoryView,
) -> String {
    let shown = |moved: &&Moved| view.has(&moved.source.0) || view.has(&moved.destination.0);
    let moves = changes.moved.iter().filter(shown).map(|moved| MoveWire {
        source: place(&moved.source),
        destination: place(&moved.destination),
        r#type: Some(moved.resource_type.to_string()),
        account: moved.destination.0.scope.account.clone(),
        region: moved.destination.0.scope.region.clone(),
        parent: None,
        detected: None,
        stated: None,
        events: moved.events.iter().map(ToString::to_string).collect(),
    });
    let (created, updated, deleted) = parts(&changes.difference, view);
    written(&DifferenceWire {
        version: VERSION,
        from: from.to_string(),
        to: to.to_string(),
        events: changes.events,
        moves: moves.collect(),
        created,
        updated,
        deleted,
    })
}

/// Renders how an app differs from the last state of a log.
pub fn checked_json(
    head: Option<EventHash>,
    difference: &SnapshotDifference,
    misplaced: &[StackKey],
) -> String {
    let is_same = *difference == SnapshotDifference::default() && misplaced.is_empty();
    let (created, updated, deleted) = parts(difference, &HistoryView::default());
    written(&CheckedWire {
        version: VERSION,
        head: head.map(|head| head.to_string()),
        recorded: head.is_some() && is_same,
        created,
        updated,
        deleted,
        misplaced: misplaced.iter().map(named).collect(),
    })
}

fn written(wire: &impl Serialize) -> String {
    // Writing to a string cannot fail, and every key is a string.
    serde_json::to_string_pretty(wire).unwrap_or_default() + "\n"
}

fn event(log: &Log, hash: EventHash, event: &Event) -> EventWire {
    let what = &event.what;
    let empty = Snapshot::default();
    let before = event.parents.first().and_then(|parent| log.snapshot(*parent)).unwrap_or(&empty);
    let updated = what.updates.iter().map(|(key, update)| {
        let old = before.stack(key);
        let is_old = |id: &&LogicalId| old.is_some_and(|old| old.resources.contains_key(*id));
        let of = |wanted: bool| {
            let all = update.resources.iter().filter(|(id, _)| is_old(id) == wanted);
            all.map(resource).collect()
        };
        let removed = update.removed.iter().map(|id| {
            let known = old.and_then(|old| old.resources.get(id));
            known.map_or_else(|| bare(id), |known| resource((id, known)))
        });
        StackWire {
            template: Some(update.template.clone()),
            added: of(false),
            changed: of(true),
            removed: removed.collect(),
            ..named(key)
        }
    });
    EventWire {
        hash: hash.to_string(),
        parents: event.parents.iter().map(ToString::to_string).collect(),
        at: event.at.clone(),
        head: log.heads().iter().any(|head| head.event == hash),
        same_as: event.same_as.as_ref().map(ToString::to_string),
        created: what.creates.iter().map(|(key, record)| whole(key, record)).collect(),
        updated: updated.collect(),
        deleted: what.deletes.iter().map(named).collect(),
        moves: what.refactors.iter().flat_map(moves).collect(),
    }
}

fn moves(refactor: &Refactor) -> impl Iterator<Item = MoveWire> {
    refactor.moves.iter().map(|one| {
        let (detected, stated) = match &one.decided {
            Decided::Detected(evidence) => (Some(evidence.clone()), None),
            Decided::Stated(origin) => (None, Some(origin.clone())),
            Decided::Recorded => (None, None),
        };
        let wire = |at: &crate::model::Location| PlaceWire {
            stack: at.stack.to_string(),
            logical_id: at.logical_id.to_string(),
        };
        MoveWire {
            source: wire(&one.source),
            destination: wire(&one.destination),
            r#type: None,
            account: refactor.scope.account.clone(),
            region: refactor.scope.region.clone(),
            parent: refactor.parent.as_ref().map(ToString::to_string),
            detected,
            stated,
            events: Vec::new(),
        }
    })
}

type Parts = (Vec<StackWire>, Vec<StackWire>, Vec<StackWire>);

fn parts(difference: &SnapshotDifference, view: &HistoryView) -> Parts {
    let SnapshotDifference { created, deleted, updated } = difference;
    let all = |stacks: &std::collections::BTreeMap<StackKey, StackRecord>| {
        let shown = stacks.iter().filter(|(key, _)| view.has(key));
        shown.map(|(key, record)| whole(key, record)).collect()
    };
    let updated = updated.iter().filter(|(key, _)| view.has(key)).map(|(key, one)| StackWire {
        template: Some(one.templates.1.clone()),
        added: one.added.iter().map(resource).collect(),
        changed: one.changed.iter().map(|(id, (_, now))| resource((id, now))).collect(),
        removed: one.removed.iter().map(resource).collect(),
        ..named(key)
    });
    (all(created), updated.collect(), all(deleted))
}

fn whole(key: &StackKey, record: &StackRecord) -> StackWire {
    StackWire {
        template: Some(record.template.clone()),
        resources: Some(record.resources.iter().map(resource).collect()),
        ..named(key)
    }
}

fn named(key: &StackKey) -> StackWire {
    StackWire {
        stack: key.name.to_string(),
        account: key.scope.account.clone(),
        region: key.scope.region.clone(),
        ..StackWire::default()
    }
}

fn place((key, id): &(StackKey, LogicalId)) -> PlaceWire {
    PlaceWire { stack: key.name.to_string(), logical_id: id.to_string() }
}

fn resource((id, record): (&LogicalId, &ResourceRecord)) -> ResourceWire {
    ResourceWire {
        r#type: Some(record.resource_type.to_string()),
        path: record.path.as_ref().map(ToString::to_string),
        ..bare(id)
    }
}

fn bare(id: &LogicalId) -> ResourceWire {
    ResourceWire { logical_id: id.to_string(), r#type: None, path: None }
}
