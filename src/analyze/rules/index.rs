//! What is looked up in a graph to answer queries.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::condition::{Step, number};
use super::query::ChangeKind;
use crate::analyze::model::{
    ComponentId, ComponentKind, Graph, Operation, OperationId, OperationKind, PropertyChange,
    RelationshipKind, Side,
};
use crate::model::{Text, Value};
use crate::registry::Segment;

/// A component of a side.
pub(super) type Own = (Side, ComponentId);

/// A graph with what is looked up in it.
pub(super) struct Index<'g> {
    pub(super) graph: &'g Graph,
    pub(super) operations: HashMap<Own, Vec<OperationId>>,
    /// Who refers to whom, and with which property.
    pub(super) references: HashMap<Own, Vec<(&'g [Segment], ComponentId)>>,
    pub(super) referrers: HashMap<Own, Vec<(&'g [Segment], ComponentId)>>,
    pub(super) outer: HashMap<Own, Vec<ComponentId>>,
    pub(super) inner: HashMap<Own, Vec<ComponentId>>,
    pub(super) components: HashMap<(Option<ComponentKind>, Option<Text>), Vec<Own>>,
}

impl<'g> Index<'g> {
    pub(super) fn new(graph: &'g Graph) -> Self {
        let mut index = Self {
            graph,
            operations: HashMap::default(),
            references: HashMap::default(),
            referrers: HashMap::default(),
            outer: HashMap::default(),
            inner: HashMap::default(),
            components: HashMap::default(),
        };
        for (id, operation) in graph.operations.iter().enumerate() {
            for side in [Side::Before, Side::After] {
                if let Some(component) = operation.on(side) {
                    index.operations.entry((side, component)).or_default().push(id);
                }
            }
        }
        for side in [Side::Before, Side::After] {
            for relationship in &graph.side(side).relationships {
                let (source, target) = (relationship.source, relationship.target);
                match &relationship.kind {
                    RelationshipKind::Dependency { path, .. } => {
                        index.references.entry((side, source)).or_default().push((path, target));
                        index.referrers.entry((side, target)).or_default().push((path, source));
                    }
                    RelationshipKind::Structural => {
                        index.inner.entry((side, source)).or_default().push(target);
                        index.outer.entry((side, target)).or_default().push(source);
                    }
                }
            }
            for (id, component) in graph.side(side).components.iter().enumerate() {
                let (kind, subtype) = (Some(component.kind), component.subtype.clone());
                let mut keys = vec![(None, None), (kind, None)];
                if subtype.is_some() {
                    keys.extend([(None, subtype.clone()), (kind, subtype)]);
                }
                for key in keys {
                    index.components.entry(key).or_default().push((side, id));
                }
            }
        }
        index
    }

    pub(super) fn body(&self, (side, id): Own) -> &'g Value {
        &self.graph.side(side).components[id].body
    }
}

pub(super) fn components(operation: &Operation) -> Vec<Own> {
    let sides = [Side::Before, Side::After].into_iter();
    sides.filter_map(|side| Some((side, operation.on(side)?))).collect()
}

pub(super) fn kinds(operation: &Operation) -> (ChangeKind, Option<PropertyChange>) {
    match &operation.kind {
        OperationKind::Insert => (ChangeKind::Insert, None),
        OperationKind::Remove => (ChangeKind::Remove, None),
        OperationKind::Replace => (ChangeKind::Replace, None),
        OperationKind::Rename => (ChangeKind::Rename, None),
        OperationKind::Move => (ChangeKind::Move, None),
        OperationKind::Property { change, .. } => (ChangeKind::Update, Some(*change)),
    }
}

/// Follows the steps of a path as far as there are values.
pub(super) fn expand<'v>(
    value: &'v Value,
    path: Vec<Segment>,
    steps: &[Step],
    found: &mut Vec<(Vec<Segment>, &'v Value)>,
) {
    let Some((step, rest)) = steps.split_first() else {
        found.push((path, value));
        return;
    };
    let mut follow = |segment: Segment, value: &'v Value| {
        let path = path.iter().cloned().chain([segment]).collect();
        expand(value, path, rest, found);
    };
    match (value, step) {
        (Value::Object(object), Step::Key(key)) => {
            if let Some(value) = object.get(key) {
                follow(Segment::Key(key.clone()), value);
            }
        }
        (Value::Array(items), Step::Key(key)) => {
            if let Some((at, value)) = key.parse().ok().and_then(|at| Some((at, items.get(at)?))) {
                follow(Segment::Index(at), value);
            }
        }
        (Value::Object(object), Step::Any) => {
            object.iter().for_each(|(key, value)| follow(Segment::Key(key.clone()), value));
        }
        (Value::Array(items), Step::Any) => {
            let items = items.iter().enumerate();
            items.for_each(|(at, value)| follow(Segment::Index(at), value));
        }
        _ => {}
    }
}

/// The text of a scalar, equal for what CloudFormation does not tell apart.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.to_string()),
        Value::Number(text) => number(text.as_str()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// All that is around a component, or in it.
pub(super) fn reach(from: Own, next: &HashMap<Own, Vec<ComponentId>>) -> Vec<Own> {
    let mut seen: HashSet<Own> = HashSet::default();
    let mut found: Vec<Own> = Vec::new();
    let mut open = vec![from];
    while let Some(here) = open.pop() {
        for id in next.get(&here).into_iter().flatten() {
            let there = (here.0, *id);
            if seen.insert(there) {
                found.push(there);
                open.push(there);
            }
        }
    }
    found
}
