//! Which permissions change, and which of them become broader.
//!
//! In: the stacks of an environment in two states. Out: [`PermissionChange`]s. Each state is read
//! into a list of grants (`collect`, with `documents` for policies, `network` for security
//! groups, `exposure` for settings), with every reference replaced by what it denotes
//! (`resolve`). Grants that both states have cancel out, wherever they are written; what is left
//! was added or removed, and broadens unless the other state is known to cover it (`statement`).

mod collect;
mod documents;
mod exposure;
mod judge;
mod network;
mod resolve;
mod statement;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rustc_hash::FxHashMap as HashMap;

use crate::compare::{NodeId, Scope};
use crate::model::{Environment, Stack};
use collect::{Fact, Grant, Place, State, collect};
use judge::Judge;

/// A permission that is in one of two states only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PermissionChange {
    /// The stack in whose template it is written.
    pub stack: String,
    /// The resource in whose properties it is written.
    pub logical_id: String,
    /// The type of that resource.
    pub resource_type: String,
    /// What kind of permission it is.
    pub kind: PermissionKind,
    /// Whether it comes or goes. One that changes does both.
    pub added: bool,
    /// Whether more may be done afterwards than before, as far as that can be told: what cannot
    /// be compared counts as broader.
    pub broadens: bool,
    /// What it says, as the cells of a row in a table: see [`PermissionKind`]. A cell may have
    /// several lines. References are written `${Stack.LogicalId}` or
    /// `${Stack.LogicalId.Attribute}`.
    pub text: Vec<String>,
}

/// Kinds of permissions, each with the cells of its [`text`](PermissionChange::text).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PermissionKind {
    /// A statement of a policy, or the permission of a function: effect, actions, resources,
    /// principals, conditions.
    Statement,
    /// A managed policy that is attached: to whom, the policy.
    ManagedPolicy,
    /// A managed policy that limits: whom, the policy.
    PermissionsBoundary,
    /// A user in a group: the user, the group.
    Membership,
    /// A permission set that is assigned: the set, to whom, for what.
    Assignment,
    /// A rule of a security group: the group, direction, protocol and ports, peer.
    SecurityGroupRule,
    /// A setting that can make something public: the resource, the setting, its value.
    PublicAccess,
}

/// Returns every change of permissions between two states of the stacks of one environment,
/// sorted by kind and place. `before` are the deployed stacks, after the moves; `now` are those
/// of the app. Nested stacks are included, values of parameters as far as they are known.
///
/// Statements that stand in another place, order or spelling than before, or that others cover
/// together, do not broaden anything. A permission of a new resource does.
pub fn permissions(before: &[Stack], now: &[Stack]) -> Vec<PermissionChange> {
    // Account and region are the same in both states: they need not be known.
    let environment = Environment::new("unknown-account", "unknown-region");
    let folds = before.iter().chain(now).any(|stack| stack.is_returned);
    let before = read(&environment, before, "before", folds);
    let now = read(&environment, now, "now", folds);
    let mut changes = grants(&before, &now);
    changes.extend(settings(&before, &now));
    changes.sort_by(|left, right| place(left).cmp(&place(right)));
    changes
}

fn place(change: &PermissionChange) -> (PermissionKind, &str, &str, bool, &[String]) {
    (change.kind, &change.stack, &change.logical_id, change.added, &change.text)
}

fn read(environment: &Environment, stacks: &[Stack], state: &'static str, folds: bool) -> State {
    let stacks: Vec<&Stack> = stacks.iter().collect();
    let resources = stacks.iter().map(|stack| {
        let ids = stack.template.resources().map(|(id, _)| id.as_str());
        (0..).zip(ids).map(|(number, id): (NodeId, _)| (id, number)).collect::<HashMap<_, _>>()
    });
    let scope = Scope::new((environment, folds), &stacks, resources.collect());
    collect(&scope, state, folds)
}

fn grants(before: &State, now: &State) -> Vec<PermissionChange> {
    let mut pools: BTreeMap<String, (Vec<&Grant>, Vec<&Grant>)> = BTreeMap::new();
    for grant in &before.grants {
        pools.entry(grant.key()).or_default().0.push(grant);
    }
    for grant in &now.grants {
        pools.entry(grant.key()).or_default().1.push(grant);
    }
    let judge = Judge::new(before, now);
    let mut changes = Vec::new();
    for (old, new) in pools.into_values() {
        let (removed, added) = cancel(old, new);
        // What a new resource has by itself is not a permission that somebody wrote.
        let removed = removed.into_iter().filter(|one| !one.implied || now.holds(&one.place));
        let added = added.into_iter().filter(|one| !one.implied || before.holds(&one.place));
        // What is retained stays in force when it leaves its template.
        let removed = removed.filter(|one| now.holds(&one.place) || !before.retains(&one.place));
        changes.extend(removed.map(|one| one.change(false, judge.broadens_by_removal(one))));
        changes.extend(added.map(|one| one.change(true, judge.broadens_by_addition(one))));
    }
    changes
}

/// Takes out as many grants on both sides as there are on one, those in the same place first.
fn cancel<'g>(old: Vec<&'g Grant>, mut new: Vec<&'g Grant>) -> (Vec<&'g Grant>, Vec<&'g Grant>) {
    let mut left = Vec::new();
    for grant in old {
        match new.iter().position(|other| other.place == grant.place) {
            Some(at) => drop(new.swap_remove(at)),
            None => left.push(grant),
        }
    }
    let both = left.len().min(new.len());
    (left.split_off(both), new.split_off(both))
}

fn settings(before: &State, now: &State) -> Vec<PermissionChange> {
    let mut changes = Vec::new();
    let change = |(place, name): &(Place, String), value: String, added: bool| {
        let own = place.own();
        PermissionChange {
            broadens: added,
            ..place.change(PermissionKind::PublicAccess, added, vec![own, name.clone(), value])
        }
    };
    for (key, setting) in &now.settings {
        if exposure::is_looser(before.settings.get(key), setting) {
            changes.push(change(key, exposure::shown(setting), true));
        }
    }
    for (key, setting) in &before.settings {
        let later = now.settings.get(key);
        let is_open = matches!(setting, exposure::Setting::Open(_));
        if is_open && later != Some(setting) && !(later.is_none() && before.retains(&key.0)) {
            changes.push(change(key, exposure::shown(setting), false));
        }
    }
    changes
}

impl Place {
    /// `${Stack.LogicalId}` of the resource.
    fn own(&self) -> String {
        format!("${{{}.{}}}", self.stack, self.logical_id)
    }

    fn change(&self, kind: PermissionKind, added: bool, text: Vec<String>) -> PermissionChange {
        PermissionChange {
            stack: self.stack.clone(),
            logical_id: self.logical_id.clone(),
            resource_type: self.resource_type.clone(),
            kind,
            added,
            broadens: false,
            text,
        }
    }
}

impl State {
    /// Whether there is a resource in this place.
    fn holds(&self, place: &Place) -> bool {
        self.resources.contains_key(&place.own())
    }

    /// Whether the resource in this place stays in the account when it leaves its template.
    fn retains(&self, place: &Place) -> bool {
        self.resources.get(&place.own()).is_some_and(|resource| resource.is_retained)
    }
}

impl Grant {
    /// Returns a text that is equal for grants that permit the same, wherever they are written.
    fn key(&self) -> String {
        let fact = match &self.fact {
            Fact::Statement(statement) => statement.key(),
            Fact::Rule(rule) => rule.key(),
            other => format!("{other:?}"),
        };
        format!("{:?}", (&self.holder, &self.scope, &self.when, fact))
    }

    fn change(&self, added: bool, broadens: bool) -> PermissionChange {
        let holder = || self.holder.clone();
        let (kind, mut text) = match &self.fact {
            Fact::Statement(statement) => (PermissionKind::Statement, self.statement(statement)),
            Fact::Attached(policy) => {
                (PermissionKind::ManagedPolicy, vec![holder(), policy.clone()])
            }
            Fact::Boundary(policy) => {
                (PermissionKind::PermissionsBoundary, vec![holder(), policy.clone()])
            }
            Fact::Member(group) => (PermissionKind::Membership, vec![holder(), group.clone()]),
            Fact::Assigned(principal, target) => {
                (PermissionKind::Assignment, vec![holder(), principal.clone(), target.clone()])
            }
            Fact::Rule(rule) => {
                let cells = rule.cells();
                (
                    PermissionKind::SecurityGroupRule,
                    std::iter::once(holder()).chain(cells).collect(),
                )
            }
        };
        if let Some(last) = text.last_mut() {
            for condition in &self.when {
                let line = if last.is_empty() { "" } else { "\n" };
                // Writing to a string cannot fail.
                let _ = write!(last, "{line}(if {condition})");
            }
        }
        PermissionChange { broadens, ..self.place.change(kind, added, text) }
    }

    /// The cells of a statement. Where it does not say to whom or for what it is, its holder does.
    fn statement(&self, statement: &statement::Statement) -> Vec<String> {
        let mut cells = statement.cells();
        let is_known = statement.effect != statement::Effect::Unknown;
        let (missing, cell) = if self.scope == collect::IDENTITY {
            (statement.principals.is_none(), 3)
        } else {
            (statement.resources.is_none(), 2)
        };
        if missing || !is_known {
            let is_principal = cell == 3 && is_known;
            cells[cell] =
                if is_principal { format!("AWS:{}", self.holder) } else { self.holder.clone() };
        }
        cells
    }
}
