//! Whether what aspects change in the views can tell a comparison anything.
//!
//! A change that is made to both sides in the same way tells nothing: `30` everywhere written
//! `"30"` makes no two resources more alike than they are. It has a bearing only where different
//! values of the two sides become one, in resources about which something is open, or in the two
//! ends of a pair that differs. The common case is that nothing has, and then one comparison is
//! all that is needed.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::constructs::kind;
use super::declaration::{Declaration, Work};
use super::operation::{self, Types, nameless};
use super::view::{Edit, Side, Views};
use crate::compare::Comparison;
use crate::model::{Location, Object, Stack, StackName, Text, Value};

/// What a comparison leaves to be told.
pub(super) struct Open<'c> {
    /// Resources whose partner is not known.
    free: BTreeSet<(Side, &'c Location)>,
    /// Pairs that differ: deployed, and as they are now.
    pairs: Vec<(&'c Location, &'c Location)>,
}

impl<'c> Open<'c> {
    pub(super) fn of(first: &'c Comparison) -> Self {
        let mut free = BTreeSet::new();
        for (side, unpaired) in [(Side::Deployed, &first.removed), (Side::Local, &first.added)] {
            let found = unpaired.iter().filter(|one| one.excluded.is_none());
            free.extend(found.map(|one| (side, &one.place.location)));
        }
        for one in &first.ambiguous {
            free.extend(one.sources.iter().map(|place| (Side::Deployed, &place.location)));
            free.extend(one.destinations.iter().map(|place| (Side::Local, &place.location)));
        }
        for one in &first.similar {
            free.insert((Side::Deployed, &one.source.location));
            free.insert((Side::Local, &one.destination.location));
        }
        // With a single side nothing can be found.
        if !(free.iter().any(|it| it.0 == Side::Deployed)
            && free.iter().any(|it| it.0 == Side::Local))
        {
            free.clear();
        }
        let moved = first.mappings.iter().filter(|one| !one.changes.is_empty());
        let moved = moved.map(|one| (&one.source.location, &one.destination.location));
        let changed = first.changed.iter().map(|one| (&one.place.location, &one.place.location));
        Self { free, pairs: moved.chain(changed).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.free.is_empty() && self.pairs.is_empty()
    }

    /// All that it is about.
    fn all(&self) -> BTreeSet<(Side, &'c Location)> {
        let ends = self.pairs.iter();
        let ends = ends.flat_map(|(old, new)| [(Side::Deployed, *old), (Side::Local, *new)]);
        self.free.iter().copied().chain(ends).collect()
    }

    /// Whether what was changed in views has a bearing on it.
    pub(super) fn is_told_by(&self, views: &Views) -> bool {
        let mut edits: HashMap<(Side, &Location), Vec<&Edit>> = HashMap::new();
        for edit in &views.edits {
            edits.entry((edit.side, &edit.location)).or_default().push(edit);
        }
        let deployed = Bodies::new(&views.deployed);
        let local = Bodies::new(&views.local);
        let seen = self.all().into_iter().filter_map(|(side, location)| {
            let bodies = if side == Side::Deployed { &deployed } else { &local };
            let (body, types) = bodies.get(location)?;
            let edits = edits.get(&(side, location)).cloned().unwrap_or_default();
            Some(((side, location), Seen::new(body.clone(), &edits, types)))
        });
        self.tells(&seen.collect())
    }

    /// Whether aspects that are about all resources of a type, wherever they are, have a bearing
    /// on it. Nothing else of the stacks is looked at.
    pub(super) fn is_told_by_types(
        &self,
        aspects: &[Arc<Declaration>],
        deployed: &[Stack],
        local: &[Stack],
    ) -> bool {
        let (deployed, local) = (Bodies::new(deployed), Bodies::new(local));
        let mut ordered = aspects.to_vec();
        ordered.sort_by_key(|one| one.priority);
        let seen = self.all().into_iter().filter_map(|(side, location)| {
            let bodies = if side == Side::Deployed { &deployed } else { &local };
            let (body, types) = bodies.get(location)?;
            let mut body = body.clone();
            let resource_type = kind(&body);
            let mut edits = Vec::new();
            for declaration in ordered.iter().filter(|one| one.is_about(&resource_type)) {
                let Work::Change(operations) = &declaration.work else { continue };
                for operation in operations {
                    let done = operation::apply(operation, &mut body, types);
                    let aspect = &declaration.id;
                    edits.extend(done.changes.into_iter().map(|(property, before, after)| Edit {
                        aspect: aspect.clone(),
                        side,
                        location: location.clone(),
                        property,
                        before,
                        after,
                    }));
                }
            }
            let edits: Vec<&Edit> = edits.iter().collect();
            Some(((side, location), Seen::new(body, &edits, types)))
        });
        self.tells(&seen.collect())
    }

    fn tells(&self, seen: &BTreeMap<(Side, &Location), Seen<'_>>) -> bool {
        let mut by_kind: BTreeMap<&str, Vec<(Side, &Seen<'_>)>> = BTreeMap::new();
        for key in &self.free {
            if let Some(one) = seen.get(key) {
                by_kind.entry(one.kind.as_str()).or_default().push((key.0, one));
            }
        }
        by_kind.values().any(|all| become_one(all))
            || self.pairs.iter().any(|(old, new)| {
                let ends = (seen.get(&(Side::Deployed, *old)), seen.get(&(Side::Local, *new)));
                let (Some(old), Some(new)) = ends else { return false };
                become_one(&[(Side::Deployed, old), (Side::Local, new)])
            })
    }
}

/// The resources of stacks by location. Types are only found out for stacks that are asked for.
struct Bodies<'s> {
    stacks: HashMap<&'s StackName, (&'s Stack, OnceCell<Types>)>,
}

impl<'s> Bodies<'s> {
    fn new(stacks: &'s [Stack]) -> Self {
        let by_name = |stack: &'s Stack| (&stack.name, (stack, OnceCell::new()));
        Self { stacks: stacks.iter().map(by_name).collect() }
    }

    fn get(&self, location: &Location) -> Option<(&'s Object, &Types)> {
        let (stack, types) = self.stacks.get(&location.stack)?;
        let body = stack.template.resource(location.logical_id.as_str())?;
        Some((body, types.get_or_init(|| operation::types(stack))))
    }
}

/// A resource as aspects leave it.
struct Seen<'s> {
    kind: Text,
    /// What was changed: for each property, without positions in lists, the values before and
    /// after, without names.
    edits: BTreeMap<String, Vec<(Written, Written)>>,
    /// All values in the view, by property without positions in lists; only those of properties
    /// that were changed in some resource are ever asked for.
    body: Object,
    types: &'s Types,
}

/// A value as text; `None`: there is none.
type Written = Option<String>;

impl<'s> Seen<'s> {
    fn new(body: Object, edits: &[&Edit], types: &'s Types) -> Self {
        let mut by_property: BTreeMap<String, Vec<(Written, Written)>> = BTreeMap::new();
        for edit in edits {
            let write = |value: &Option<Value>| value.as_ref().map(|it| nameless(it, types));
            let pair = (write(&edit.before), write(&edit.after));
            by_property.entry(without_positions(&edit.property)).or_default().push(pair);
        }
        Self { kind: kind(&body).as_str().into(), edits: by_property, body, types }
    }
}

/// Whether different values of the two sides become one in resources of one type.
fn become_one(all: &[(Side, &Seen<'_>)]) -> bool {
    let changed: BTreeSet<&str> =
        all.iter().flat_map(|(_, one)| one.edits.keys().map(String::as_str)).collect();
    if changed.is_empty() {
        return false;
    }
    // For each property and value after: the values before, of each side.
    let mut origins: HashMap<(&str, Written), [BTreeSet<Written>; 2]> = HashMap::new();
    for (side, one) in all {
        let side = usize::from(*side == Side::Local);
        let mut values: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (key, value) in one.body.iter() {
            collect(value, key, &changed, one.types, &mut values);
        }
        for property in &changed {
            let none = Vec::new();
            let edits = one.edits.get(*property).unwrap_or(&none);
            let mut left = values.remove(property).unwrap_or_default();
            for (before, after) in edits {
                if let Some(at) = left.iter().position(|value| Some(value) == after.as_ref()) {
                    left.swap_remove(at);
                }
                let origin = origins.entry((property, after.clone())).or_default();
                origin[side].insert(before.clone());
            }
            let mut untouched: Vec<Written> = left.into_iter().map(Some).collect();
            // Of the items of a list some may be gone, and the others be there.
            if property.ends_with(".*") || (untouched.is_empty() && edits.is_empty()) {
                untouched.push(None);
            }
            for value in untouched {
                let origin = origins.entry((property, value.clone())).or_default();
                origin[side].insert(value);
            }
        }
    }
    origins.values().any(|[old, new]| old.iter().any(|was| new.iter().any(|is| was != is)))
}

/// Collects the values at wanted properties.
fn collect<'w>(
    value: &Value,
    property: &str,
    wanted: &BTreeSet<&'w str>,
    types: &Types,
    into: &mut BTreeMap<&'w str, Vec<String>>,
) {
    if let Some(known) = wanted.get(property) {
        into.entry(known).or_default().push(nameless(value, types));
    }
    match value {
        Value::Array(items) => {
            for item in items {
                collect(item, &format!("{property}.*"), wanted, types, into);
            }
        }
        Value::Object(object) => {
            for (key, value) in object.iter() {
                collect(value, &format!("{property}.{key}"), wanted, types, into);
            }
        }
        _ => {}
    }
}

/// Returns the name of a property with `*` in place of each position in a list.
fn without_positions(property: &str) -> String {
    let part = |part: &str| {
        let is_position = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if is_position { "*".to_owned() } else { part.to_owned() }
    };
    property.split('.').map(part).collect::<Vec<_>>().join(".")
}
