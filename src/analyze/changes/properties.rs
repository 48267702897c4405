//! The properties of a component that change.

use std::collections::{BTreeMap, BTreeSet};

use super::PropertyReport;
use super::causes::Causes;
use crate::analyze::model::{
    Certainty, Component, ComponentKind, Graph, Mark, Operation, OperationId, OperationKind, Path,
    PropertyChange, Side, dotted,
};
use crate::analyze::rules::Verdict;
use crate::model::Value;
use crate::registry::{Replacement, Segment, replacement};

/// What is looked up to describe properties.
pub(super) struct Properties<'a> {
    graph: &'a Graph,
    verdicts: &'a BTreeMap<OperationId, Verdict>,
}

impl<'a> Properties<'a> {
    pub(super) fn new(graph: &'a Graph, verdicts: &'a BTreeMap<OperationId, Verdict>) -> Self {
        Self { graph, verdicts }
    }

    /// Describes the properties that operations change, in the order of their paths.
    pub(super) fn of(
        &self,
        operations: &[OperationId],
        component: Option<&Component>,
    ) -> Vec<PropertyReport> {
        let Some(component) = component else { return Vec::new() };
        let shifted = self.shifted(operations);
        let mut found: Vec<PropertyReport> = Vec::new();
        // What follows from several replacements is one change.
        let mut seen: BTreeSet<(Option<Path>, Option<Path>)> = BTreeSet::new();
        for id in operations {
            let operation = &self.graph.operations[*id];
            let OperationKind::Property { change, old, new } = &operation.kind else { continue };
            let is_leaf = operation.inner.is_empty() && !shifted.contains(id);
            if is_leaf && seen.insert((old.clone(), new.clone())) {
                found.push(self.describe(*id, operation, *change, component));
            }
        }
        found
    }

    fn describe(
        &self,
        id: OperationId,
        operation: &Operation,
        change: PropertyChange,
        component: &Component,
    ) -> PropertyReport {
        let path = |side: Side| operation.property(side).map(|path| dotted(path));
        let value = |side: Side| -> Option<Value> {
            let component = self.graph.side(side).components.get(operation.on(side)?)?;
            let path = operation.property(side)?;
            Some(without_secrets(component.value(path)?, component, path))
        };
        let (old_path, new_path) = (path(Side::Before), path(Side::After));
        let verdict = self.verdicts.get(&id);
        PropertyReport {
            change,
            old: value(Side::Before),
            new: value(Side::After),
            name_only: operation.marks.contains(&Mark::RepeatsNames),
            replaces: replaces(operation, component),
            cause: Causes::new(self.graph).of_property(operation),
            risk: verdict.map(|verdict| verdict.risk).unwrap_or_default(),
            broadens_permissions: operation.marks.contains(&Mark::BroadensPermissions),
            old_path,
            new_path,
        }
    }

    /// Elements of lists that only have another index since others came or went before them.
    fn shifted(&self, operations: &[OperationId]) -> BTreeSet<OperationId> {
        let mut lists: BTreeMap<Option<OperationId>, Vec<(usize, usize, OperationId)>> =
            BTreeMap::new();
        for id in operations {
            let operation = &self.graph.operations[*id];
            let OperationKind::Property { change: PropertyChange::Move, old, new } =
                &operation.kind
            else {
                continue;
            };
            let index = |path: &Option<Path>| match path.as_deref().and_then(<[_]>::last) {
                Some(Segment::Index(at)) => Some(*at),
                _ => None,
            };
            if let (Some(was), Some(is)) = (index(old), index(new)) {
                lists.entry(operation.outer).or_default().push((was, is, *id));
            }
        }
        let mut found = BTreeSet::new();
        for elements in lists.values_mut() {
            elements.sort_unstable();
            // In the same order as before, and not one in the place of another.
            if elements.is_sorted_by_key(|(_, is, _)| *is) {
                found.extend(elements.iter().map(|(.., id)| *id));
            }
        }
        found
    }
}

/// Shown in place of what nobody should read.
const HIDDEN: &str = "****";

/// How the names of properties end that hold secrets.
const SECRETS: [&str; 6] =
    ["authtoken", "oauthtoken", "passphrase", "password", "privatekey", "secretstring"];

/// Returns a value without what nobody should read: the defaults of parameters that CloudFormation
/// does not show either, and texts of properties that are called like a secret.
fn without_secrets(value: &Value, component: &Component, path: &Path) -> Value {
    let no_echo = component.body.get("NoEcho");
    let is_secret = component.kind == ComponentKind::Parameter
        && no_echo.is_some_and(|flag| !matches!(flag, Value::Bool(false)));
    let is_named = path.iter().any(|segment| match segment {
        Segment::Key(key) => is_secret_name(key),
        Segment::Index(_) => false,
    });
    hidden(value, is_secret || is_named)
}

fn is_secret_name(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    SECRETS.iter().any(|end| key.ends_with(end))
}

fn hidden(value: &Value, is_secret: bool) -> Value {
    match value {
        // What is resolved when it is deployed is no secret itself.
        Value::String(text) if is_secret && !text.contains("{{resolve:") => Value::from(HIDDEN),
        Value::Number(_) | Value::Bool(_) if is_secret => Value::from(HIDDEN),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| hidden(item, is_secret)).collect())
        }
        Value::Object(object) => {
            // The names that intrinsic functions take are no secrets.
            let is_function = object.len() == 1
                && object.iter().all(|(key, _)| key == "Ref" || key.starts_with("Fn::"));
            let members = object.iter().map(|(key, value)| {
                let is_secret = (is_secret && !is_function) || is_secret_name(key);
                (key.clone(), hidden(value, is_secret))
            });
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}

/// Whether the change of a property replaces its resource.
fn replaces(operation: &Operation, component: &Component) -> Option<Certainty> {
    if component.kind != ComponentKind::Resource {
        return None;
    }
    let subtype = component.subtype.as_deref().unwrap_or_default();
    let below = |path: &Path| {
        let dotted = dotted(path);
        dotted.strip_prefix("Properties.").map(|rest| rest.replace('.', "/"))
    };
    let paths = [Side::Before, Side::After].into_iter().filter_map(|side| operation.property(side));
    let worst = paths.filter_map(below).map(|path| replacement(subtype, &path)).max();
    match worst {
        None | Some(Replacement::Never) => None,
        Some(Replacement::Sometimes) => Some(Certainty::Possible),
        Some(Replacement::Always) => Some(operation.certainty),
    }
}
