//! What follows from what happens: a property that cannot be changed replaces its resource, and a
//! resource that is replaced changes every property that refers to it.

use std::collections::VecDeque;

use rustc_hash::FxHashMap as HashMap;

use super::{Pairs, Renamed, below_properties};
use crate::analyze::model::{
    Certainty, ComponentId, ComponentKind, Graph, Operation, OperationId, OperationKind, Path,
    PropertyChange, RelationshipKind, Side,
};
use crate::model::Text;
use crate::registry::{Replacement, Schema, Segment};

/// Adds what follows, each with its cause, until nothing new follows.
pub(super) fn propagate(graph: &mut Graph, pairs: &Pairs, renamed: &[Renamed]) {
    let mut spread = Spread {
        referrers: referrers(graph),
        replaced: HashMap::default(),
        updated: HashMap::default(),
        schemas: HashMap::default(),
        open: VecDeque::new(),
        pairs,
    };
    for Renamed { operation, .. } in renamed.iter().filter(|renamed| renamed.is_replaced) {
        spread.replace(graph, *operation, Certainty::Certain);
    }
    for id in 0..graph.operations.len() {
        spread.property(graph, id);
    }
    while let Some(replace) = spread.open.pop_front() {
        spread.refer(graph, replace);
    }
}

/// A property that refers to a component: whose, and which.
type Referrer = (ComponentId, Path);

/// The properties of the new side that refer to each component.
fn referrers(graph: &Graph) -> HashMap<ComponentId, Vec<Referrer>> {
    let mut found: HashMap<ComponentId, Vec<Referrer>> = HashMap::default();
    for relationship in &graph.after.relationships {
        let RelationshipKind::Dependency { path, .. } = &relationship.kind else { continue };
        // An order and a condition do not change with what they name.
        let first = match path.first() {
            Some(Segment::Key(key)) => key.as_str(),
            _ => "",
        };
        if !matches!(first, "DependsOn" | "Condition") {
            let referrer = (relationship.source, path.clone());
            found.entry(relationship.target).or_default().push(referrer);
        }
    }
    found
}

struct Spread<'p> {
    referrers: HashMap<ComponentId, Vec<Referrer>>,
    /// The operation that replaces a component.
    replaced: HashMap<ComponentId, OperationId>,
    schemas: HashMap<Text, Option<Schema>>,
    /// The changes that follow from a replacement, by that and the property.
    updated: HashMap<(OperationId, Referrer), OperationId>,
    /// Replacements whose consequences are not known yet.
    open: VecDeque<OperationId>,
    pairs: &'p Pairs,
}

impl Spread<'_> {
    /// Says what the change of a property does to its component.
    fn property(&mut self, graph: &mut Graph, id: OperationId) {
        let operation = &graph.operations[id];
        if !operation.inner.is_empty() || !matches!(operation.kind, OperationKind::Property { .. })
        {
            return;
        }
        let is_resource = graph.component(operation).map(|component| component.kind);
        if is_resource != Some(ComponentKind::Resource) {
            return;
        }
        let subtype = graph.component(operation).and_then(|component| component.subtype.clone());
        let subtype = subtype.unwrap_or_default();
        let paths = [Side::Before, Side::After].map(|side| operation.property(side).cloned());
        let worst = paths
            .iter()
            .flatten()
            .filter_map(|path| below_properties(path))
            .map(|path| self.effect(&subtype, &path))
            .max();
        let certainty = match worst {
            None | Some(Replacement::Never) => return,
            Some(Replacement::Sometimes) => Certainty::Possible,
            Some(Replacement::Always) => Certainty::Certain,
        };
        let certainty = certainty.min(graph.operations[id].certainty);
        self.replace(graph, id, certainty);
    }

    fn effect(&mut self, subtype: &Text, path: &[Text]) -> Replacement {
        let schema = self.schemas.entry(subtype.clone()).or_insert_with(|| Schema::of(subtype));
        // Of other types nothing is known; the handler of a custom resource decides by itself.
        let Some(schema) = schema else { return Replacement::Never };
        if schema.is_never_updated() || schema.is_create_only(path) {
            Replacement::Always
        } else if schema.is_conditionally_create_only(path) {
            Replacement::Sometimes
        } else {
            Replacement::Never
        }
    }

    /// Notes that a component is replaced, unless that is known, and as certain, already.
    fn replace(&mut self, graph: &mut Graph, cause: OperationId, certainty: Certainty) {
        let Operation { before, after, .. } = graph.operations[cause];
        let Some(component) = after else { return };
        if let Some(known) = self.replaced.get(&component).copied() {
            if graph.operations[known].certainty < certainty {
                let operation = &mut graph.operations[known];
                (operation.certainty, operation.cause) = (certainty, Some(cause));
                self.open.push_back(known);
            }
            return;
        }
        let operation = Operation::new(OperationKind::Replace, before, after);
        let id = graph.add(Operation { certainty, cause: Some(cause), ..operation });
        self.replaced.insert(component, id);
        self.open.push_back(id);
    }

    /// Changes what refers to a component that is replaced.
    fn refer(&mut self, graph: &mut Graph, replace: OperationId) {
        let Operation { after, certainty, .. } = graph.operations[replace];
        let referrers = after.and_then(|id| self.referrers.get(&id)).cloned().unwrap_or_default();
        for (referrer, path) in referrers {
            // What is new refers to it for the first time.
            let Some(before) = self.pairs.to_before.get(&referrer).copied() else { continue };
            let key = (replace, (referrer, path.clone()));
            let known = self.updated.get(&key).copied();
            let id = known.unwrap_or_else(|| {
                let same = graph.before.components[before].value(&path).is_some();
                let kind = OperationKind::Property {
                    change: PropertyChange::Update,
                    old: same.then(|| path.clone()),
                    new: Some(path.clone()),
                };
                let operation = Operation::new(kind, Some(before), Some(referrer));
                graph.add(Operation { cause: Some(replace), ..operation })
            });
            self.updated.insert(key, id);
            graph.operations[id].certainty = certainty;
            self.property(graph, id);
        }
    }
}
