//! What happens between two sides.
//!
//! In: the stacks of both sides, and how they are joined. Out: a [`Graph`] with the operations of
//! components and properties ([`value`] compares definitions), and what follows from them
//! ([`propagate`]).

mod nested;
mod propagate;
mod value;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap as HashMap;

use super::model::{
    Component, ComponentId, ComponentKind, Graph, Operation, OperationId, OperationKind,
    PropertyChange, Side,
};
use super::read::read;
use crate::compare::{Comparison, Difference};
use crate::model::{Location, Stack, Text, Value};
use crate::registry::{Schema, Segment};
use crate::template::{self, Reference};
pub(in crate::analyze) use nested::Nested;
use value::Change;

/// What says which resources of the two sides are the same.
#[derive(Clone, Copy, Debug)]
pub enum Joining<'a> {
    /// Names and contents: what has the same name, or else what is most alike, as long as it is
    /// more alike than not. A new name is a new resource to CloudFormation, so what is renamed is
    /// replaced.
    Contents,
    /// A comparison, whose mappings are carried out as moves. Everything but resources is joined by
    /// names and contents.
    Comparison(&'a Comparison),
}

/// Returns what happens between two sides, and what follows from that. The order of operations is
/// that of the components of the new side, then that of what goes.
pub fn diff(before: &[Stack], after: &[Stack], joining: Joining<'_>) -> Graph {
    let graph = Graph { before: read(before), after: read(after), ..Graph::default() };
    let mut differ = Differ {
        graph,
        schemas: HashMap::default(),
        mapped: BTreeMap::new(),
        renamed: HashMap::default(),
    };
    let pairs = differ.pairs(joining);
    let joined = 0..differ.graph.after.components.len();
    differ.graph.joined = joined.map(|after| pairs.to_before.get(&after).copied()).collect();
    let mut operations = Vec::new();
    differ.operations(&pairs, joining, &mut operations);
    propagate::propagate(&mut differ.graph, &pairs, &operations);
    differ.graph
}

/// The components of both sides that are the same.
#[derive(Debug, Default)]
pub(in crate::analyze) struct Pairs {
    pub(in crate::analyze) to_after: HashMap<ComponentId, ComponentId>,
    pub(in crate::analyze) to_before: HashMap<ComponentId, ComponentId>,
}

impl Pairs {
    fn add(&mut self, before: ComponentId, after: ComponentId) {
        self.to_after.insert(before, after);
        self.to_before.insert(after, before);
    }
}

/// A new name, and whether that means another resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analyze) struct Renamed {
    pub(in crate::analyze) operation: OperationId,
    pub(in crate::analyze) is_replaced: bool,
}

struct Differ {
    graph: Graph,
    schemas: HashMap<Text, Option<Schema>>,
    /// What the comparison maps, by the new place, and whether CloudFormation cannot move it.
    mapped: BTreeMap<Location, bool>,
    /// Deployed definitions in which resources have the names that they have now.
    renamed: HashMap<ComponentId, Value>,
}

impl Differ {
    fn pairs(&mut self, joining: Joining<'_>) -> Pairs {
        let mut pairs = Pairs::default();
        if let Joining::Comparison(comparison) = joining {
            self.join(comparison, &mut pairs);
            self.rename_references(&pairs);
        }
        let mut groups: BTreeMap<(ComponentKind, Option<Text>), [Vec<ComponentId>; 2]> =
            BTreeMap::new();
        let is_joined = |component: &Component| {
            matches!(joining, Joining::Comparison(_)) && component.kind == ComponentKind::Resource
        };
        for (at, side) in [Side::Before, Side::After].into_iter().enumerate() {
            for (id, component) in self.graph.side(side).components.iter().enumerate() {
                if !is_joined(component) {
                    let key = (component.kind, component.subtype.clone());
                    groups.entry(key).or_default()[at].push(id);
                }
            }
        }
        for [old, new] in groups.values() {
            self.pair_group(old, new, &mut pairs);
        }
        pairs
    }

    /// Takes what a comparison says: mappings, and everything else that has not gone or come.
    fn join(&mut self, comparison: &Comparison, pairs: &mut Pairs) {
        let index = |components: &[Component]| -> HashMap<Location, ComponentId> {
            let resources = components.iter().enumerate();
            let resources = resources.filter(|(_, one)| one.kind == ComponentKind::Resource);
            resources.map(|(id, one)| (Location::new(&one.stack, &one.name), id)).collect()
        };
        let old = index(&self.graph.before.components);
        let new = index(&self.graph.after.components);
        let mut is_taken: HashMap<ComponentId, bool> = HashMap::default();
        for mapping in &comparison.mappings {
            let places = (&mapping.source.location, &mapping.destination.location);
            if let (Some(before), Some(after)) = (old.get(places.0), new.get(places.1)) {
                pairs.add(*before, *after);
                self.mapped.insert(places.1.clone(), mapping.blocked.is_some());
            }
        }
        for place in comparison.removed.iter().map(|unpaired| &unpaired.place.location) {
            is_taken.extend(old.get(place).map(|id| (*id, true)));
        }
        let added: std::collections::BTreeSet<&Location> =
            comparison.added.iter().map(|unpaired| &unpaired.place.location).collect();
        let similar = comparison.similar.iter().map(|similar| &similar.source.location);
        let ambiguous = comparison.ambiguous.iter().flat_map(|ambiguity| &ambiguity.sources);
        for place in similar.chain(ambiguous.map(|place| &place.location)) {
            is_taken.extend(old.get(place).map(|id| (*id, true)));
        }
        let nested = Nested::of(comparison);
        for (location, after) in &new {
            let was =
                Location::new(&nested.old(location.stack.as_str()), location.logical_id.as_str());
            let Some(before) = old.get(&was) else { continue };
            let same_type = self.graph.before.components[*before].subtype
                == self.graph.after.components[*after].subtype;
            let is_free = !pairs.to_before.contains_key(after)
                && !pairs.to_after.contains_key(before)
                && !is_taken.contains_key(before)
                && !added.contains(location);
            if same_type && is_free {
                pairs.add(*before, *after);
            }
        }
    }

    /// Notes how outputs read with the new names of resources: what merely repeats them is no
    /// change.
    fn rename_references(&mut self, pairs: &Pairs) {
        let components = &self.graph.before.components;
        let named: HashMap<(&str, &str), ComponentId> = components
            .iter()
            .enumerate()
            .filter(|(_, one)| one.kind == ComponentKind::Resource)
            .map(|(id, one)| ((one.stack.as_str(), one.name.as_str()), id))
            .collect();
        let new_name = |stack: &Text, name: &str| {
            let after = pairs.to_after.get(named.get(&(stack.as_str(), name))?)?;
            let after = &self.graph.after.components[*after];
            (after.stack == *stack && after.name != name).then_some(&after.name)
        };
        let outputs = components.iter().enumerate();
        for (id, output) in outputs.filter(|(_, one)| one.kind == ComponentKind::Output) {
            let body = template::rewrite(&output.body, &mut |found| match found {
                Reference::Name(name, attribute) => {
                    let name = new_name(&output.stack, name)?;
                    Some(template::reference(name, attribute))
                }
                _ => None,
            });
            if body != output.body {
                self.renamed.insert(id, body);
            }
        }
    }

    /// Returns a definition as it is compared.
    fn body(&self, side: Side, id: ComponentId) -> &Value {
        let renamed = (side == Side::Before).then(|| self.renamed.get(&id)).flatten();
        renamed.unwrap_or_else(|| &self.graph.side(side).components[id].body)
    }

    /// Pairs components of one kind and type: first those with the same name, then the rest.
    fn pair_group(&self, old: &[ComponentId], new: &[ComponentId], pairs: &mut Pairs) {
        let body = |side: Side, id: ComponentId| self.body(side, id);
        let mut by_name: HashMap<(&Text, &Text), [Vec<ComponentId>; 2]> = HashMap::default();
        let mut names = Vec::new();
        for (at, (side, ids)) in [(Side::Before, old), (Side::After, new)].into_iter().enumerate() {
            for id in ids {
                let component = &self.graph.side(side).components[*id];
                let name = (&component.stack, component.path.as_ref().unwrap_or(&component.name));
                let name = if component.kind == ComponentKind::Construct {
                    name
                } else {
                    (name.0, &component.name)
                };
                let entry = by_name.entry(name).or_insert_with(|| {
                    names.push(name);
                    Default::default()
                });
                entry[at].push(*id);
            }
        }
        for name in names {
            if let [old, new] = &by_name[&name]
                && let ([before], [after]) = (old.as_slice(), new.as_slice())
            {
                let (was, is) = (body(Side::Before, *before), body(Side::After, *after));
                if was == is || value::likeness(was, is).similarity > value::ALIKE {
                    pairs.add(*before, *after);
                }
            }
        }
        let free = |ids: &[ComponentId], taken: &HashMap<ComponentId, ComponentId>| {
            ids.iter().filter(|id| !taken.contains_key(id)).copied().collect::<Vec<_>>()
        };
        let (old, new) = (free(old, &pairs.to_after), free(new, &pairs.to_before));
        // Constructs and stacks have nothing by which they could be told apart.
        let has_body = old.iter().all(|id| *body(Side::Before, *id) != Value::Null);
        if !has_body {
            return;
        }
        let bodies = |side, ids: &[ComponentId]| -> Vec<&Value> {
            ids.iter().map(|id| body(side, *id)).collect()
        };
        for pair in value::pairs(&bodies(Side::Before, &old), &bodies(Side::After, &new)) {
            pairs.add(old[pair.old], new[pair.new]);
        }
    }

    /// Lists what happens to components, and to the properties of those that stay. Notes new names.
    fn operations(&mut self, pairs: &Pairs, joining: Joining<'_>, renamed: &mut Vec<Renamed>) {
        let differences = match joining {
            Joining::Contents => HashMap::default(),
            Joining::Comparison(comparison) => differences(comparison),
        };
        for after in 0..self.graph.after.components.len() {
            let Some(before) = pairs.to_before.get(&after).copied() else {
                self.graph.add(Operation::new(OperationKind::Insert, None, Some(after)));
                continue;
            };
            renamed.extend(self.renamed(before, after, joining));
            let changes = self.changes(before, after, joining, &differences);
            for change in changes {
                self.note(&change, None, (before, after));
            }
        }
        for before in 0..self.graph.before.components.len() {
            if !pairs.to_after.contains_key(&before) {
                self.graph.add(Operation::new(OperationKind::Remove, Some(before), None));
            }
        }
    }

    fn renamed(
        &mut self,
        before: ComponentId,
        after: ComponentId,
        joining: Joining<'_>,
    ) -> Option<Renamed> {
        let (was, is) =
            (&self.graph.before.components[before], &self.graph.after.components[after]);
        let kind = if was.stack != is.stack {
            OperationKind::Move
        } else if was.name != is.name {
            OperationKind::Rename
        } else {
            return None;
        };
        let blocked = self.mapped.get(&Location::new(&is.stack, &is.name));
        let is_replaced = match joining {
            Joining::Contents => is.kind != ComponentKind::Construct,
            Joining::Comparison(_) => blocked.copied().unwrap_or(false),
        };
        let operation = self.graph.add(Operation::new(kind, Some(before), Some(after)));
        Some(Renamed { operation, is_replaced })
    }

    fn changes(
        &mut self,
        before: ComponentId,
        after: ComponentId,
        joining: Joining<'_>,
        differences: &HashMap<Location, Vec<&Difference>>,
    ) -> Vec<Change> {
        let is = &self.graph.after.components[after];
        let subtype = is.subtype.clone().unwrap_or_default();
        if is.kind == ComponentKind::Resource {
            self.schemas.entry(subtype.clone()).or_insert_with(|| Schema::of(&subtype));
        }
        let schema = self.schemas.get(&subtype).and_then(Option::as_ref);
        let is_unordered = |path: &[Segment]| {
            schema
                .zip(below_properties(path))
                .is_some_and(|(schema, path)| schema.is_unordered(&path))
        };
        let was = &self.graph.before.components[before];
        let is = &self.graph.after.components[after];
        let of_comparison =
            is.kind == ComponentKind::Resource && matches!(joining, Joining::Comparison(_));
        if !of_comparison {
            let (was, is) = (self.body(Side::Before, before), self.body(Side::After, after));
            return value::change(was, is, (&[], &[]), &is_unordered).into_iter().collect();
        }
        let found = differences.get(&Location::new(&is.stack, &is.name));
        let found = found.map(Vec::as_slice).unwrap_or_default();
        found.iter().filter_map(|one| of_difference(one, was, is, &is_unordered)).collect()
    }

    fn note(
        &mut self,
        change: &Change,
        outer: Option<OperationId>,
        (before, after): (ComponentId, ComponentId),
    ) {
        let Change { kind, old, new, inner } = change;
        let kind = OperationKind::Property { change: *kind, old: old.clone(), new: new.clone() };
        let operation = Operation::new(kind, Some(before), Some(after));
        let id = self.graph.add(Operation { outer, ..operation });
        for change in inner {
            self.note(change, Some(id), (before, after));
        }
    }
}

/// The differences of a comparison, by the new place of the resource.
fn differences(comparison: &Comparison) -> HashMap<Location, Vec<&Difference>> {
    let moved = comparison
        .mappings
        .iter()
        .map(|mapping| (mapping.destination.location.clone(), mapping.changes.iter().collect()));
    let changed = comparison
        .changed
        .iter()
        .map(|change| (change.place.location.clone(), change.differences.iter().collect()));
    moved.chain(changed).collect()
}

/// Returns the change that a difference is, with what is in it.
fn of_difference(
    difference: &Difference,
    was: &Component,
    is: &Component,
    is_unordered: &dyn Fn(&[Segment]) -> bool,
) -> Option<Change> {
    let (old, new) = (difference.old.as_ref(), difference.new.as_ref());
    let new_path = path_of(&difference.property, &is.body, &was.body);
    let old_path = path_of(&difference.property, &was.body, &is.body);
    Some(match (old, new) {
        (Some(old), Some(new)) => {
            let plain = Change {
                kind: PropertyChange::Update,
                old: Some(old_path.clone()),
                new: Some(new_path.clone()),
                inner: Vec::new(),
            };
            value::change(old, new, (&old_path, &new_path), is_unordered).unwrap_or(plain)
        }
        (None, Some(_)) => Change {
            kind: PropertyChange::Insert,
            old: None,
            new: Some(new_path),
            inner: Vec::new(),
        },
        (Some(_), None) => Change {
            kind: PropertyChange::Remove,
            old: Some(old_path),
            new: None,
            inner: Vec::new(),
        },
        (None, None) => return None,
    })
}

/// Reads a dotted path with the help of the value that it leads into: keys may contain dots.
/// Where it leads nowhere, with that of the other side.
fn path_of(dotted: &str, value: &Value, other: &Value) -> Vec<Segment> {
    walk(dotted, value)
        .or_else(|| walk(dotted, other))
        .unwrap_or_else(|| dotted.split('.').map(|key| Segment::Key(key.into())).collect())
}

fn walk(dotted: &str, value: &Value) -> Option<Vec<Segment>> {
    let ends = dotted.match_indices('.').map(|(at, _)| at).chain([dotted.len()]);
    for end in ends {
        let (head, rest) = (&dotted[..end], dotted.get(end + 1..));
        let (segment, inner) = match value {
            Value::Object(object) => match object.get(head) {
                Some(inner) => (Segment::Key(head.into()), inner),
                None => continue,
            },
            Value::Array(items) => {
                let at: usize = head.parse().ok()?;
                (Segment::Index(at), items.get(at)?)
            }
            _ => return None,
        };
        match rest {
            None => return Some(vec![segment]),
            Some(rest) => {
                if let Some(found) = walk(rest, inner) {
                    return Some([vec![segment], found].concat());
                }
            }
        }
    }
    None
}

/// The keys and indices below `Properties`.
fn below_properties(path: &[Segment]) -> Option<Vec<Text>> {
    let (first, rest) = path.split_first()?;
    let text = |segment: &Segment| match segment {
        Segment::Key(key) => key.clone(),
        Segment::Index(at) => Text::from(at.to_string()),
    };
    (*first == Segment::Key("Properties".into())).then(|| rest.iter().map(text).collect())
}

#[cfg(test)]
mod tests;
