//! What it takes to bring a resource from its state to what is wanted of it.
//!
//! [`update`] is for a state that was read from the service, [`judge`] for two versions of a
//! definition. Neither is ever sent to a service: resources of a stack are changed by its
//! CloudFormation only. The patches explain what a deployment does, and show drift.

use super::flatten::flatten;
use super::patch::Operation;
use super::patch::delta::{Delta, deltas, same_key};
use super::pointer::Pointer;
use super::schema::Schema;
use crate::model::{Object, Text, Value};

/// What the absence of a property means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Whatever is not declared stays as it is: nothing is removed but elements of lists that are
    /// declared. Right for drift, since services add defaults.
    Declared,
    /// What is absent is removed, unless it is the service that assigns it or nobody can change it.
    Full,
}

/// What an operation means for the resource; the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The resource is changed where it is.
    InPlace,
    /// The state does not show the property, so nobody can say whether there is a change at all.
    CannotBeVerified,
    /// In some cases another resource takes its place.
    MayReplace,
    /// Another resource takes its place.
    Replaces,
    /// The service assigns the property: a deployment that sets it fails.
    CannotBeSet,
}

/// An operation with what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The operation.
    pub operation: Operation,
    /// What it means.
    pub verdict: Verdict,
}

/// What it takes to bring a resource to what is wanted of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The state that is aimed at: what is wanted, and what is carried over from the state.
    pub target: Value,
    /// What makes it of the state.
    pub operations: Vec<Judged>,
}

impl Update {
    /// Returns the worst verdict; `None` if there is nothing to do.
    pub fn verdict(&self) -> Option<Verdict> {
        self.operations.iter().map(|judged| judged.verdict).max()
    }
}

/// Returns the patch that brings a resource from its state to what is wanted of it.
///
/// Both are properties, `state` as the service returns them, `wanted` with all references resolved.
/// Carried over from the state are values that the service assigns and values that cannot be
/// changed, where nothing is wanted in their place; what cannot be read nor changed once it is
/// there; the spelling of scalars that CloudFormation does not tell apart (`"30"`, 30); and the
/// order of lists that have none.
pub fn update(state: &Value, wanted: &Value, schema: &Schema, mode: Mode) -> Update {
    let carrier = Carrier { schema, mode };
    let mut path = Vec::new();
    let wanted = carrier.arrange(state, wanted, &mut path);
    let target = carrier.carry(state, &wanted, &mut path);
    let is_set = |path: &[Text]| schema.is_unordered(path);
    let deltas = deltas(state, &target, &is_set);
    let operations = deltas.into_iter().map(|delta| judged(delta, &wanted, schema)).collect();
    Update { target, operations }
}

/// Returns the patch between two versions of a definition's properties, with what each operation
/// means.
pub fn judge(before: &Value, after: &Value, schema: &Schema) -> Vec<Judged> {
    let carrier = Carrier { schema, mode: Mode::Full };
    let after = carrier.arrange(before, after, &mut Vec::new());
    let is_set = |path: &[Text]| schema.is_unordered(path);
    let deltas = deltas(before, &after, &is_set);
    deltas.into_iter().map(|delta| judged(delta, &after, schema)).collect()
}

/// Judges a difference by every leaf of it that differs. `wanted` says what was asked for and what
/// was merely carried over.
fn judged(delta: Delta<'_>, wanted: &Value, schema: &Schema) -> Judged {
    let old = leaves(delta.old, &delta.path);
    let new = leaves(delta.new, &delta.at);
    let mut worst = Verdict::InPlace;
    for (path, value) in &new {
        let before = delta.old.and_then(|old| relative(path, &delta.at).of(old));
        if before == Some(value) {
            continue;
        }
        let is_wanted = Pointer::from_tokens(path.iter().cloned()).of(wanted) == Some(value);
        let verdict = match schema.is_read_only(path) {
            true if is_wanted => Verdict::CannotBeSet,
            true => Verdict::InPlace,
            false => change(path, before.is_some(), schema),
        };
        worst = worst.max(verdict);
    }
    for (path, value) in &old {
        let after = delta.new.and_then(|new| relative(path, &delta.path).of(new));
        if after != Some(value) && !schema.is_read_only(path) {
            worst = worst.max(change(path, true, schema));
        }
    }
    Judged { operation: delta.into_operation(), verdict: worst }
}

/// What the change of a leaf means that the service does not assign.
fn change(path: &[Text], was_there: bool, schema: &Schema) -> Verdict {
    if schema.is_unknown() {
        Verdict::MayReplace
    } else if schema.is_write_only(path) && !was_there {
        Verdict::CannotBeVerified
    } else if schema.is_create_only(path) || schema.is_never_updated() {
        Verdict::Replaces
    } else if schema.is_conditionally_create_only(path) {
        Verdict::MayReplace
    } else if schema.is_write_only(path) {
        Verdict::CannotBeVerified
    } else {
        Verdict::InPlace
    }
}

/// The leaves of a value that may be there, with their paths from the outermost value.
fn leaves(value: Option<&Value>, at: &Pointer) -> Vec<(Vec<Text>, Value)> {
    let leaves = value.map(flatten).unwrap_or_default().into_iter();
    let path = |inner: &Pointer| at.tokens().chain(inner.tokens()).map(Text::from).collect();
    leaves.map(|leaf| (path(&leaf.pointer()), leaf.value)).collect()
}

/// The part of a path below a pointer that it begins with.
fn relative(path: &[Text], from: &Pointer) -> Pointer {
    Pointer::from_tokens(path.iter().skip(from.tokens().len()).cloned())
}

struct Carrier<'s> {
    schema: &'s Schema,
    mode: Mode,
}

impl Carrier<'_> {
    /// Returns what is wanted, lists without an order arranged after those of the state: what is
    /// there first, in its order, then what is new.
    fn arrange(&self, state: &Value, wanted: &Value, path: &mut Vec<Text>) -> Value {
        match (state, wanted) {
            (Value::Object(state), Value::Object(wanted)) => {
                let member = |(key, value): (&Text, &Value)| {
                    path.push(key.clone());
                    let value = match state.get(key) {
                        Some(state) => self.arrange(state, value, path),
                        None => value.clone(),
                    };
                    path.pop();
                    (key.clone(), value)
                };
                Value::Object(wanted.iter().map(member).collect())
            }
            (Value::Array(state), Value::Array(wanted)) => {
                let is_set = self.schema.is_unordered(path);
                let mut found: Vec<(Option<usize>, Value)> = Vec::with_capacity(wanted.len());
                for (counterpart, value) in align(state, wanted, is_set).into_iter().zip(wanted) {
                    path.push("*".into());
                    let value = match counterpart {
                        Some(at) => self.arrange(&state[at], value, path),
                        None => value.clone(),
                    };
                    path.pop();
                    found.push((counterpart, value));
                }
                if is_set {
                    found.sort_by_key(|(counterpart, _)| counterpart.unwrap_or(usize::MAX));
                }
                Value::Array(found.into_iter().map(|(_, value)| value).collect())
            }
            (_, wanted) => wanted.clone(),
        }
    }

    /// Returns what is wanted with what has to be kept of the state.
    fn carry(&self, state: &Value, wanted: &Value, path: &mut Vec<Text>) -> Value {
        if self.schema.is_write_only(path) && self.schema.is_create_only(path) {
            return state.clone();
        }
        match (state, wanted) {
            (Value::Object(state), Value::Object(wanted)) => {
                let mut members = Object::new();
                for (key, value) in wanted.iter() {
                    path.push(key.clone());
                    let value = match state.get(key) {
                        Some(state) => self.carry(state, value, path),
                        None => value.clone(),
                    };
                    path.pop();
                    members.insert(key.clone(), value);
                }
                for (key, value) in state.iter().filter(|(key, _)| !wanted.contains_key(key)) {
                    path.push(key.clone());
                    if let Some(kept) = self.kept(value, path) {
                        members.insert(key.clone(), kept);
                    }
                    path.pop();
                }
                Value::Object(members)
            }
            (Value::Array(state), Value::Array(wanted)) => {
                let is_set = self.schema.is_unordered(path);
                let counterparts = align(state, wanted, is_set);
                let element = |(counterpart, value): (Option<usize>, &Value)| {
                    path.push("*".into());
                    let value = match counterpart {
                        Some(at) => self.carry(&state[at], value, path),
                        None => value.clone(),
                    };
                    path.pop();
                    value
                };
                Value::Array(counterparts.into_iter().zip(wanted).map(element).collect())
            }
            (state, wanted) if same_scalar(state, wanted) => state.clone(),
            (_, wanted) => wanted.clone(),
        }
    }

    /// Returns what is kept of a value that is not wanted.
    fn kept(&self, state: &Value, path: &mut Vec<Text>) -> Option<Value> {
        let is_fixed = self.schema.is_read_only(path) || self.schema.is_create_only(path);
        if self.mode == Mode::Declared || is_fixed {
            return Some(state.clone());
        }
        match state {
            Value::Object(object) => {
                let mut members = Object::new();
                for (key, value) in object.iter() {
                    path.push(key.clone());
                    if let Some(kept) = self.kept(value, path) {
                        members.insert(key.clone(), kept);
                    }
                    path.pop();
                }
                (!members.is_empty()).then_some(Value::Object(members))
            }
            // Parts of elements mean nothing without the rest.
            Value::Array(items) if !items.is_empty() => {
                path.push("*".into());
                let is_whole =
                    items.iter().all(|item| self.kept(item, path).as_ref() == Some(item));
                path.pop();
                is_whole.then(|| state.clone())
            }
            _ => None,
        }
    }
}

/// Returns for each element that is wanted the index of the one in the state that it stands for:
/// one that has all that is wanted, in the same place or in another; in lists without an order one
/// with the same key; in other lists of the same length the one in the same place.
fn align(state: &[Value], wanted: &[Value], is_set: bool) -> Vec<Option<usize>> {
    let mut found: Vec<Option<usize>> = vec![None; wanted.len()];
    let mut is_free = vec![true; state.len()];
    let mut pair = |fits: &dyn Fn(usize, &Value) -> Option<usize>, is_free: &mut Vec<bool>| {
        for (at, value) in wanted.iter().enumerate() {
            if found[at].is_some() {
                continue;
            }
            if let Some(counterpart) = fits(at, value).filter(|counterpart| is_free[*counterpart]) {
                found[at] = Some(counterpart);
                is_free[counterpart] = false;
            }
        }
    };
    let in_place = |at: usize| (at < state.len()).then_some(at);
    pair(&|at, value| in_place(at).filter(|at| has_all(&state[*at], value)), &mut is_free);
    for (at, there) in state.iter().enumerate() {
        let fits = |_, value: &Value| has_all(there, value).then_some(at);
        pair(&fits, &mut is_free);
    }
    if is_set {
        for (at, there) in state.iter().enumerate() {
            let fits = |_, value: &Value| same_key(there, value).then_some(at);
            pair(&fits, &mut is_free);
        }
    } else if state.len() == wanted.len() {
        pair(&|at, _| in_place(at), &mut is_free);
    }
    found
}

/// Whether a state has all that is wanted.
fn has_all(state: &Value, wanted: &Value) -> bool {
    match (state, wanted) {
        (Value::Object(state), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, wanted)| state.get(key).is_some_and(|state| has_all(state, wanted))),
        (Value::Array(state), Value::Array(wanted)) => {
            state.len() == wanted.len()
                && state.iter().zip(wanted).all(|(state, wanted)| has_all(state, wanted))
        }
        (state, wanted) => state == wanted || same_scalar(state, wanted),
    }
}

/// Whether two scalars are the same to CloudFormation, which reads `"30"` as 30 and `"true"` as
/// true.
fn same_scalar(left: &Value, right: &Value) -> bool {
    fn text(value: &Value) -> Option<&str> {
        match value {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.as_str()),
            Value::Bool(flag) => Some(if *flag { "true" } else { "false" }),
            _ => None,
        }
    }
    text(left).is_some_and(|left| Some(left) == text(right))
}

#[cfg(test)]
mod tests;
