//! Histories for tests, written in few words.

use std::collections::BTreeMap;

use super::{
    Decided, Event, EventHash, Log, Move, Refactor, ResourceRecord, Snapshot, StackKey, StackRecord,
};
use crate::model::{Environment, Location};
use crate::settings::Scope;

/// `Web.A:Bucket Web.B:Queue`; `Web@1.A:Bucket` for a stack of account 1. A word that begins with
/// `#` goes into the digest of every template.
pub(super) fn state(text: &str) -> Snapshot {
    let mut stacks: BTreeMap<StackKey, StackRecord> = BTreeMap::new();
    let salt = text.split_whitespace().find(|word| word.starts_with('#')).unwrap_or("#0");
    for word in text.split_whitespace().filter(|word| !word.starts_with('#')) {
        let (place, kind) = word.split_once(':').unwrap();
        let (stack, id) = place.split_once('.').unwrap();
        let (name, account) = stack.split_once('@').unwrap_or((stack, ""));
        let key = StackKey { name: name.into(), scope: scope(account) };
        let record = stacks.entry(key).or_default();
        record.template = salt.to_owned();
        let path = Some(format!("{name}/{id}").as_str().into());
        record.resources.insert(id.into(), ResourceRecord { resource_type: kind.into(), path });
    }
    Snapshot::new(stacks)
}

/// An account, or everywhere.
pub(super) fn scope(account: &str) -> Scope {
    Scope { account: (!account.is_empty()).then(|| account.to_owned()), region: None }
}

/// `Web.A>Web.B Web.C>Web.D`
pub(super) fn moves(text: &str) -> Refactor {
    let moves = text.split_whitespace().map(|word| {
        let (source, destination) = word.split_once('>').unwrap();
        let (source, destination) = (place(source), place(destination));
        Move { source, destination, decided: Decided::Detected("digest".to_owned()) }
    });
    Refactor { scope: Scope::default(), parent: None, moves: moves.collect() }
}

pub(super) fn place(text: &str) -> Location {
    text.parse().unwrap()
}

pub(super) fn environment(account: &str) -> Environment {
    Environment::new(account, "eu-west-1")
}

/// Adds an event after another one, or the first.
pub(super) fn add(
    log: &mut Log,
    after: Option<EventHash>,
    stacks: &str,
    moved: Vec<Refactor>,
) -> EventHash {
    let before = after.and_then(|hash| log.snapshot(hash)).cloned().unwrap_or_default();
    let what = before.what_leads_to(&state(stacks), moved);
    let parents = after.into_iter().collect();
    let at = format!("2026-11-21T08:00:{:02}Z", log.events().count());
    log.append(Event { parents, at, same_as: None, toward: None, what }).unwrap()
}

/// A log without branches, of states and moves: `("Web.B:Bucket", "Web.A>Web.B")`.
pub(super) fn story(events: &[(&str, &str)]) -> (Log, Vec<EventHash>) {
    let mut log = Log::default();
    let mut hashes: Vec<EventHash> = Vec::new();
    for (stacks, moved) in events {
        let hash = add(&mut log, hashes.last().copied(), stacks, vec![moves(moved)]);
        hashes.push(hash);
    }
    (log, hashes)
}
