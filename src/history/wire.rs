//! Events ⇄ lines. The form of a line: a JSON object without blanks, keys in the order of the
//! structures below, `hash` last. The hash is that of the object without `hash`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::event::{
    Decided, Event, Move, Refactor, ResourceRecord, StackKey, StackRecord, StackUpdate, What,
};
use super::hash::{EventHash, HashError};
use crate::model::{LocationError, LogicalId};
use crate::settings::Scope;

/// The version of the form that is written and read.
pub(super) const VERSION: u64 = 1;

/// What tells the version of a line whose form is not known.
#[derive(Deserialize)]
pub(super) struct Versioned {
    pub(super) version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    version: u64,
    parents: Vec<String>,
    at: String,
    #[serde(default, rename = "sameAs", skip_serializing_if = "Option::is_none")]
    same_as: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    toward: Option<String>,
    what: WhatLine,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WhatLine {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    creates: Vec<CreateLine>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    updates: Vec<UpdateLine>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    deletes: Vec<DeleteLine>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    refactors: Vec<RefactorLine>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateLine {
    stack: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    template: String,
    resources: BTreeMap<String, ResourceLine>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UpdateLine {
    stack: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    template: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    resources: BTreeMap<String, ResourceLine>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    removed: BTreeSet<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeleteLine {
    stack: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    region: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResourceLine {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RefactorLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    mappings: Vec<MoveLine>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MoveLine {
    source: String,
    destination: String,
    decided: DecidedLine,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum DecidedLine {
    Detected(String),
    Stated(String),
    Recorded,
}

/// Returns the line of an event, without a line break, and its hash.
pub(super) fn encode(event: &Event) -> (String, EventHash) {
    // Writing to a string cannot fail, and every key is a string.
    let mut text = serde_json::to_string(&line(event)).unwrap_or_default();
    let hash = EventHash::of(text.as_bytes());
    text.truncate(text.len().saturating_sub(1));
    text.push_str(&format_hash(hash));
    (text, hash)
}

/// The end of a line.
fn format_hash(hash: EventHash) -> String {
    format!(",\"hash\":\"{hash}\"}}")
}

/// Returns the event of a line, and the hash that the line states.
///
/// # Errors
/// When the line has another form: column, from 1, and what is wrong.
pub(super) fn decode(text: &str) -> Result<(Event, EventHash), (usize, String)> {
    let line: Line = serde_json::from_str(text).map_err(|error| {
        // Its own position counts from the start of the line.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        (error.column().max(1), message.to_owned())
    })?;
    let at = |part: &str| column(text, part);
    if line.version != VERSION {
        return Err((at("\"version\""), format!("there is no version {}", line.version)));
    }
    let hash =
        |text: &str| text.parse::<EventHash>().map_err(|error| (at(text), error.to_string()));
    let Some(stated) = &line.hash else {
        return Err((text.len().max(1), "`hash` is missing".to_owned()));
    };
    let parents = line.parents.iter().map(|parent| hash(parent)).collect::<Result<_, _>>()?;
    let same_as = line.same_as.as_deref().map(hash).transpose()?;
    let toward = line.toward.as_deref().map(hash).transpose()?;
    let event = Event { parents, at: line.at, same_as, toward, what: what(line.what, text)? };
    Ok((event, hash(stated)?))
}

/// The column, in characters from 1, at which a part of a line begins; 1 if it is not there.
pub(super) fn column(line: &str, part: &str) -> usize {
    line.find(part).map_or(1, |at| line[..at].chars().count() + 1)
}

fn line(event: &Event) -> Line {
    let What { creates, updates, deletes, refactors } = &event.what;
    let creates = creates.iter().map(|(key, record)| CreateLine {
        stack: key.name.to_string(),
        account: key.scope.account.clone(),
        region: key.scope.region.clone(),
        template: record.template.clone(),
        resources: record.resources.iter().map(resource_line).collect(),
    });
    let updates = updates.iter().map(|(key, update)| UpdateLine {
        stack: key.name.to_string(),
        account: key.scope.account.clone(),
        region: key.scope.region.clone(),
        template: update.template.clone(),
        resources: update.resources.iter().map(resource_line).collect(),
        removed: update.removed.iter().map(ToString::to_string).collect(),
    });
    let deletes = deletes.iter().map(|key| DeleteLine {
        stack: key.name.to_string(),
        account: key.scope.account.clone(),
        region: key.scope.region.clone(),
    });
    Line {
        version: VERSION,
        parents: event.parents.iter().map(ToString::to_string).collect(),
        at: event.at.clone(),
        same_as: event.same_as.as_ref().map(ToString::to_string),
        toward: event.toward.as_ref().map(ToString::to_string),
        what: WhatLine {
            creates: creates.collect(),
            updates: updates.collect(),
            deletes: deletes.collect(),
            refactors: refactors.iter().map(refactor_line).collect(),
        },
        hash: None,
    }
}

fn resource_line((id, record): (&LogicalId, &ResourceRecord)) -> (String, ResourceLine) {
    let kind = record.resource_type.to_string();
    (id.to_string(), ResourceLine { kind, path: record.path.as_ref().map(ToString::to_string) })
}

fn refactor_line(refactor: &Refactor) -> RefactorLine {
    let mappings = refactor.moves.iter().map(|moved| MoveLine {
        source: moved.source.to_string(),
        destination: moved.destination.to_string(),
        decided: match &moved.decided {
            Decided::Detected(evidence) => DecidedLine::Detected(evidence.clone()),
            Decided::Stated(origin) => DecidedLine::Stated(origin.clone()),
            Decided::Recorded => DecidedLine::Recorded,
        },
    });
    RefactorLine {
        account: refactor.scope.account.clone(),
        region: refactor.scope.region.clone(),
        parent: refactor.parent.as_ref().map(ToString::to_string),
        mappings: mappings.collect(),
    }
}

/// Returns the key of the stack that a structure of the wire names.
fn key(stack: &str, account: Option<String>, region: Option<String>) -> StackKey {
    StackKey { name: stack.into(), scope: Scope { account, region } }
}

fn resources(lines: BTreeMap<String, ResourceLine>) -> BTreeMap<LogicalId, ResourceRecord> {
    let records = lines.into_iter().map(|(id, line)| {
        let path = line.path.as_deref().map(Into::into);
        (id.as_str().into(), ResourceRecord { resource_type: line.kind.as_str().into(), path })
    });
    records.collect()
}

fn what(line: WhatLine, text: &str) -> Result<What, (usize, String)> {
    let creates = line.creates.into_iter().map(|create| {
        let record =
            StackRecord { template: create.template, resources: resources(create.resources) };
        (key(&create.stack, create.account, create.region), record)
    });
    let updates = line.updates.into_iter().map(|update| {
        let key = key(&update.stack, update.account, update.region);
        let removed = update.removed.iter().map(|id| id.as_str().into()).collect();
        let (template, resources) = (update.template, resources(update.resources));
        (key, StackUpdate { template, resources, removed })
    });
    let deletes = line.deletes.into_iter().map(|it| key(&it.stack, it.account, it.region));
    let refactors = line.refactors.into_iter().map(|line| refactor(line, text));
    Ok(What {
        creates: creates.collect(),
        updates: updates.collect(),
        deletes: deletes.collect(),
        refactors: refactors.collect::<Result<_, _>>()?,
    })
}

fn refactor(line: RefactorLine, text: &str) -> Result<Refactor, (usize, String)> {
    let parent = match &line.parent {
        None => None,
        Some(hash) => {
            Some(hash.parse().map_err(|error: HashError| (column(text, hash), error.to_string()))?)
        }
    };
    let location = |name: &str| {
        name.parse().map_err(|error: LocationError| (column(text, name), error.to_string()))
    };
    let moves = line.mappings.iter().map(|mapping| {
        let decided = match &mapping.decided {
            DecidedLine::Detected(evidence) => Decided::Detected(evidence.clone()),
            DecidedLine::Stated(origin) => Decided::Stated(origin.clone()),
            DecidedLine::Recorded => Decided::Recorded,
        };
        let (source, destination) = (location(&mapping.source)?, location(&mapping.destination)?);
        Ok(Move { source, destination, decided })
    });
    let scope = Scope { account: line.account, region: line.region };
    Ok(Refactor { scope, parent, moves: moves.collect::<Result<_, _>>()? })
}
