//! What a forecast says of resources, put into the graph: where the forecast knows what becomes of
//! a resource, it has the last word on replacements, since it works out what values come to.

use std::collections::{BTreeMap, BTreeSet};

use crate::analyze::model::{
    Certainty, ComponentId, ComponentKind, Graph, Operation, OperationId, OperationKind,
};
use crate::model::{Location, Text};

/// What becomes of a resource, as a forecast says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// What happens.
    pub kind: FateKind,
    /// The physical ID before, if there is one.
    pub physical_id: Option<Text>,
    /// What is lost, if data or an identity is lost: one sentence.
    pub danger: Option<String>,
    /// The properties that change, or that replace it, with dots from its definition.
    pub properties: Vec<String>,
    /// What else makes it so, if it is replaced: "`Shop.Bucket` is replaced".
    pub cause: Option<String>,
}

/// What becomes of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FateKind {
    /// It is created.
    Add,
    /// It is changed where it is.
    Update,
    /// Another one takes its place.
    Replace(Certainty),
    /// It is deleted.
    Remove,
    /// It leaves its template and stays in the account.
    Retain,
}

/// What is known of the future.
#[derive(Clone, Debug, Default)]
pub struct Fates {
    /// By the place after the moves. A resource that is missing is not touched.
    pub by_place: BTreeMap<Location, Fate>,
    /// The stacks that the forecast is about, with all that are nested in them. Of the others
    /// nothing is known.
    pub stacks: BTreeSet<Text>,
}

impl Fates {
    /// Whether the forecast is about a stack, or about the one in which it is nested.
    pub(super) fn covers(&self, stack: &str) -> bool {
        self.stacks.contains(stack.split_once('/').map_or(stack, |(root, _)| root))
    }

    /// Returns what becomes of a resource.
    pub(super) fn of(&self, stack: &Text, logical_id: &Text) -> Option<&Fate> {
        self.by_place.get(&Location::new(stack, logical_id))
    }

    /// Takes replacements out of the graph that the forecast denies, with what follows from them,
    /// and adds those that it says and the graph does not know.
    pub(super) fn settle(&self, graph: &mut Graph) {
        let mut is_gone = vec![false; graph.operations.len()];
        let mut known: BTreeMap<ComponentId, OperationId> = BTreeMap::new();
        for (id, operation) in graph.operations.iter().enumerate() {
            let Some(after) = operation.after else { continue };
            let component = &graph.after.components[after];
            let is_replaced = operation.kind == OperationKind::Replace;
            if !is_replaced || component.kind != ComponentKind::Resource {
                continue;
            }
            let fate = self.of(&component.stack, &component.name).map(|fate| fate.kind);
            let is_denied = self.covers(&component.stack)
                && !matches!(fate, Some(FateKind::Replace(_) | FateKind::Add));
            is_gone[id] = is_denied;
            known.insert(after, id);
        }
        // What follows from what does not happen does not happen.
        loop {
            let follows = |operation: &Operation| operation.cause.is_some_and(|id| is_gone[id]);
            let more = graph.operations.iter().enumerate();
            let more: Vec<OperationId> = more
                .filter(|(id, operation)| !is_gone[*id] && follows(operation))
                .map(|(id, _)| id)
                .collect();
            if more.is_empty() {
                break;
            }
            for id in more {
                is_gone[id] = true;
            }
        }
        self.say(graph, &known, &mut is_gone);
        retain(graph, &is_gone);
    }

    /// Notes the replacements that the forecast knows.
    fn say(
        &self,
        graph: &mut Graph,
        known: &BTreeMap<ComponentId, OperationId>,
        is_gone: &mut Vec<bool>,
    ) {
        for (after, component) in graph.after.components.iter().enumerate() {
            let fate = self.of(&component.stack, &component.name);
            let Some(FateKind::Replace(certainty)) = fate.map(|fate| fate.kind) else { continue };
            if component.kind != ComponentKind::Resource {
                continue;
            }
            if let Some(id) = known.get(&after) {
                is_gone[*id] = false;
                graph.operations[*id].certainty = certainty;
                let cause = graph.operations[*id].cause;
                graph.operations[*id].cause = cause.filter(|cause| !is_gone[*cause]);
            } else {
                let before = graph.joined.get(after).copied().flatten();
                let operation = Operation::new(OperationKind::Replace, before, Some(after));
                graph.operations.push(Operation { certainty, ..operation });
                is_gone.push(false);
            }
        }
    }
}

/// Takes operations out of a graph.
fn retain(graph: &mut Graph, is_gone: &[bool]) {
    let mut next = 0;
    let new: Vec<Option<OperationId>> = is_gone
        .iter()
        .map(|gone| {
            next += usize::from(!gone);
            (!gone).then(|| next - 1)
        })
        .collect();
    let at = |id: OperationId| new.get(id).copied().flatten();
    let all = std::mem::take(&mut graph.operations).into_iter().zip(is_gone);
    graph.operations = all
        .filter(|(_, gone)| !**gone)
        .map(|(operation, _)| Operation {
            cause: operation.cause.and_then(at),
            outer: operation.outer.and_then(at),
            inner: operation.inner.iter().copied().filter_map(at).collect(),
            ..operation
        })
        .collect();
}
