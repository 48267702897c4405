//! From a graph to what people read.

use std::collections::{BTreeMap, BTreeSet};

use super::causes::Causes;
use super::fates::{Fate, FateKind, Fates};
use super::properties::Properties;
use super::{
    ChangeEffect, ComponentChange, EnvironmentReport, Place, PropertyReport, StackFate, StackReport,
};
use crate::analyze::diff::Nested;
use crate::analyze::model::{
    Certainty, Component, ComponentId, ComponentKind, Graph, Mark, Operation, OperationId,
    OperationKind, Side,
};
use crate::analyze::permissions::PermissionChange;
use crate::analyze::rules::{Action, Risk, Rules, Verdict};
use crate::analyze::{Joining, diff, mark_losses, mark_names, mark_permissions, mark_templates};
use crate::compare::Comparison;
use crate::model::{Location, Stack, Text, Value};

/// What a report is made of.
#[derive(Debug)]
pub struct ReportRequest<'a> {
    /// The stacks that are deployed, before any move.
    pub before: &'a [Stack],
    /// The stacks of the app.
    pub after: &'a [Stack],
    /// The comparison of the two, of all stacks of the environment. A mapping that is `blocked` is
    /// a resource that the deployment makes anew.
    pub comparison: &'a Comparison,
    /// What the forecast says; `None` if there is none. Then what happens is what templates say.
    pub fates: Option<&'a Fates>,
    /// Permissions that come or go.
    pub permissions: Vec<PermissionChange>,
    /// The rules that say what is dangerous.
    pub rules: &'a Rules,
    /// The root stacks that are reported; `None`: all.
    pub selected: Option<&'a BTreeSet<Text>>,
    /// Words for the evidence of mappings, by the new place.
    pub evidence: &'a BTreeMap<Location, String>,
    /// Whether what the CDK writes for itself is reported: `AWS::CDK::Metadata`, its condition,
    /// and the parameter with the bootstrap version.
    pub strict: bool,
}

/// Returns what a deployment does in one environment, and how dangerous that is.
pub fn change_report(request: &ReportRequest<'_>) -> EnvironmentReport {
    let mut graph = diff(request.before, request.after, Joining::Comparison(request.comparison));
    if let Some(fates) = request.fates {
        fates.settle(&mut graph);
        let dangerous = fates.by_place.iter().filter(|(_, fate)| fate.danger.is_some());
        mark_losses(&mut graph, &dangerous.map(|(place, _)| place.clone()).collect());
    }
    mark_names(&mut graph, request.comparison);
    mark_templates(&mut graph);
    mark_permissions(&mut graph, &request.permissions);
    let verdicts = request.rules.judge(&graph);
    Builder::new(request, &graph, &verdicts).report()
}

/// What is looked up to describe the components.
struct Builder<'a> {
    request: &'a ReportRequest<'a>,
    graph: &'a Graph,
    verdicts: &'a BTreeMap<OperationId, Verdict>,
    /// The operations of each component: of the new side, and of what goes.
    of_new: BTreeMap<ComponentId, Vec<OperationId>>,
    of_gone: BTreeMap<ComponentId, Vec<OperationId>>,
    properties: Properties<'a>,
    blocked: BTreeMap<&'a Location, &'a str>,
    /// The stacks of the app.
    local: BTreeSet<&'a str>,
}

impl<'a> Builder<'a> {
    fn new(
        request: &'a ReportRequest<'a>,
        graph: &'a Graph,
        verdicts: &'a BTreeMap<OperationId, Verdict>,
    ) -> Self {
        let mut of_new: BTreeMap<ComponentId, Vec<OperationId>> = BTreeMap::new();
        let mut of_gone: BTreeMap<ComponentId, Vec<OperationId>> = BTreeMap::new();
        for (id, operation) in graph.operations.iter().enumerate() {
            match (operation.before, operation.after) {
                (_, Some(after)) => of_new.entry(after).or_default().push(id),
                (Some(before), None) => of_gone.entry(before).or_default().push(id),
                (None, None) => {}
            }
        }
        let mappings = request.comparison.mappings.iter();
        let blocked =
            mappings.filter_map(|one| Some((&one.destination.location, one.blocked.as_deref()?)));
        Self {
            request,
            graph,
            verdicts,
            of_new,
            of_gone,
            properties: Properties::new(graph, verdicts),
            blocked: blocked.collect(),
            local: request.after.iter().map(|stack| stack.name.as_str()).collect(),
        }
    }

    fn report(self) -> EnvironmentReport {
        let mut changes = Vec::new();
        let mut unchanged = Vec::new();
        for (id, component) in self.graph.after.components.iter().enumerate() {
            let before = self.graph.joined.get(id).copied().flatten();
            if !self.is_wanted(before, Some(id)) {
                continue;
            }
            let operations = self.of_new.get(&id).map(Vec::as_slice).unwrap_or_default();
            match self.change(before, Some(id), operations) {
                Some(change) => changes.push(change),
                None if component.kind == ComponentKind::Resource => {
                    unchanged
                        .push((component.subtype.clone().unwrap_or_default(), place(component)));
                }
                None => {}
            }
        }
        for (id, operations) in &self.of_gone {
            let component = &self.graph.before.components[*id];
            if !self.is_wanted(Some(*id), None) {
                continue;
            }
            // A nested stack that the app does not have any more is deleted with its parent's next
            // deployment; a root stack stays.
            if self.local.contains(root(&component.stack)) {
                changes.extend(self.change(Some(*id), None, operations));
            } else if component.kind == ComponentKind::Resource {
                unchanged.push((component.subtype.clone().unwrap_or_default(), place(component)));
            }
        }
        let order = |change: &ComponentChange| {
            (
                change.place().map(|place| place.stack.clone()),
                change.kind != ComponentKind::Resource,
            )
        };
        changes.sort_by_key(order);
        unchanged.sort_by(|(_, one), (_, other)| one.stack.cmp(&other.stack));
        let permissions = self.request.permissions.iter();
        let permissions = permissions.filter(|one| self.is_selected(&one.stack));
        EnvironmentReport {
            environment: self.request.comparison.environment.clone(),
            stacks: self.stacks(),
            changes,
            unchanged,
            permissions: permissions.cloned().collect(),
        }
    }

    fn stacks(&self) -> Vec<StackReport> {
        let mut found: BTreeMap<&Text, StackReport> = BTreeMap::new();
        let names = |side: Side| {
            let components = self.graph.side(side).components.iter();
            components.filter(|component| component.kind == ComponentKind::Stack)
        };
        let deployed: BTreeSet<&Text> = names(Side::Before).map(|stack| &stack.name).collect();
        let nested = Nested::of(self.request.comparison);
        for stack in names(Side::Before).chain(names(Side::After)) {
            let is_local = self.local.contains(stack.name.as_str());
            if !is_local && nested.is_renamed(&stack.name) {
                continue;
            }
            let was = Text::from(nested.old(&stack.name));
            let fate = match (deployed.contains(&was), is_local) {
                (false, _) => StackFate::New,
                (true, true) => StackFate::Kept,
                (true, false)
                    if stack.name.contains('/') && self.local.contains(root(&stack.name)) =>
                {
                    StackFate::Removed
                }
                (true, false) => StackFate::Left,
            };
            if self.is_selected(&stack.name) {
                let report = StackReport { name: stack.name.clone(), fate, resources: (0, 0) };
                found.insert(&stack.name, report);
            }
        }
        for side in [Side::Before, Side::After] {
            for component in &self.graph.side(side).components {
                let is_counted =
                    component.kind == ComponentKind::Resource && !self.is_own(component);
                if let Some(stack) = found.get_mut(&component.stack).filter(|_| is_counted) {
                    match side {
                        Side::Before => stack.resources.0 += 1,
                        Side::After => stack.resources.1 += 1,
                    }
                }
            }
        }
        found.into_values().collect()
    }

    /// Whether a component is reported at all.
    fn is_wanted(&self, before: Option<ComponentId>, after: Option<ComponentId>) -> bool {
        let before = before.map(|id| &self.graph.before.components[id]);
        let after = after.map(|id| &self.graph.after.components[id]);
        let sides = [before, after];
        let mut components = sides.iter().flatten();
        components.clone().any(|component| self.is_selected(&component.stack))
            && !components.all(|component| self.is_own(component))
    }

    fn is_selected(&self, stack: &str) -> bool {
        self.request.selected.is_none_or(|selected| selected.contains(root(stack)))
    }

    /// Whether it is what the CDK writes for itself.
    fn is_own(&self, component: &Component) -> bool {
        let is_own = match component.kind {
            ComponentKind::Resource => component.subtype.as_deref() == Some("AWS::CDK::Metadata"),
            ComponentKind::Condition => component.name == "CDKMetadataAvailable",
            ComponentKind::Parameter => component.name == "BootstrapVersion",
            _ => false,
        };
        is_own && !self.request.strict
    }

    /// Describes what happens to a component; `None` if nothing does.
    fn change(
        &self,
        before: Option<ComponentId>,
        after: Option<ComponentId>,
        operations: &[OperationId],
    ) -> Option<ComponentChange> {
        let was = before.map(|id| &self.graph.before.components[id]);
        let is = after.map(|id| &self.graph.after.components[id]);
        let component = is.or(was)?;
        let fate = self.fate(component, was.is_some());
        let spoken = operations.iter().any(|id| self.verdicts.contains_key(id));
        let is_part = matches!(component.kind, ComponentKind::Stack | ComponentKind::Construct);
        if (operations.is_empty() && fate.is_none()) || (is_part && !spoken) {
            return None;
        }
        let mut properties = self.properties.of(operations, is.or(was));
        if self.foretells(component) {
            properties.retain(|one| !is_unmoved(one) || fate.is_some_and(|fate| says(fate, one)));
        }
        let (effect, certainty) = self.effect((was, is), operations, fate, &properties);
        let location = Location::new(&component.stack, &component.name);
        let moved = was.zip(is).is_some_and(|(was, is)| place(was).differs(&place(is)));
        if effect == ChangeEffect::Nothing && !moved && properties.is_empty() {
            return None;
        }
        let is_replaced = matches!(effect, ChangeEffect::Replace | ChangeEffect::Recreate);
        if !is_replaced {
            for one in &mut properties {
                one.replaces = None;
            }
        }
        let (risk, verdict) = self.risk(operations);
        let action = self.action(operations);
        let causes = if is_replaced {
            let blocked = self.blocked.get(&location).copied();
            Causes::new(self.graph).of(operations, blocked, fate)
        } else if effect == ChangeEffect::Update && properties.is_empty() {
            let properties = fate.into_iter().flat_map(|fate| &fate.properties);
            properties.map(|path| format!("`{path}` comes to another value")).collect()
        } else {
            Vec::new()
        };
        // What cannot be moved leaves its place.
        let gone = self.request.fates.filter(|_| self.blocked.contains_key(&location));
        let gone = gone.zip(was).and_then(|(fates, was)| fates.of(&was.stack, &was.name));
        let danger = fate.into_iter().chain(gone).find_map(|fate| fate.danger.clone());
        // A rule that speaks of the loss itself has the last word on it.
        let is_judged = verdict.is_some()
            && operations
                .iter()
                .any(|id| self.graph.operations[*id].marks.contains(&Mark::LosesData));
        let physical = fate.into_iter().chain(gone).find_map(|fate| fate.physical_id.clone());
        Some(ComponentChange {
            kind: component.kind,
            subtype: component.subtype.clone(),
            before: was.map(place),
            after: is.map(place),
            physical_id: physical.filter(|_| was.is_some()),
            effect,
            certainty,
            evidence: self.request.evidence.get(&location).filter(|_| moved).cloned(),
            // What is lost is dangerous, whoever finds it out.
            risk: if danger.is_some() && !is_judged { Risk::High } else { risk },
            rule: verdict.map(|verdict| verdict.rule.clone()),
            action,
            danger,
            causes,
            properties,
        })
    }

    fn fate(&self, component: &Component, is_deployed: bool) -> Option<&'a Fate> {
        let fates = self.request.fates.filter(|_| component.kind == ComponentKind::Resource)?;
        let fate = fates.of(&component.stack, &component.name)?;
        // Another resource may leave the place to which this one moves.
        let leaves = matches!(fate.kind, FateKind::Remove | FateKind::Retain);
        (is_deployed || !leaves).then_some(fate)
    }

    /// Whether a forecast says everything that happens to a component.
    fn foretells(&self, component: &Component) -> bool {
        let is_resource = component.kind == ComponentKind::Resource;
        self.request.fates.is_some_and(|fates| is_resource && fates.covers(&component.stack))
    }

    /// Returns what happens, apart from a move, and whether that is certain.
    fn effect(
        &self,
        (was, is): (Option<&Component>, Option<&Component>),
        operations: &[OperationId],
        fate: Option<&Fate>,
        properties: &[PropertyReport],
    ) -> (ChangeEffect, Certainty) {
        let certain = Certainty::Certain;
        let (was, is) = match (was, is) {
            (Some(was), Some(is)) => (was, is),
            (None, _) => return (ChangeEffect::Add, certain),
            (Some(was), None) => {
                let policy = was.body.get("DeletionPolicy").and_then(Value::as_str);
                let is_kept = fate.map_or_else(
                    || matches!(policy, Some("Retain" | "RetainExceptOnCreate")),
                    |fate| fate.kind == FateKind::Retain,
                );
                let is_resource = was.kind == ComponentKind::Resource;
                let effect = if is_kept && is_resource {
                    ChangeEffect::Retain
                } else {
                    ChangeEffect::Remove
                };
                return (effect, certain);
            }
        };
        let location = Location::new(&is.stack, &is.name);
        if self.blocked.contains_key(&location) && place(was).differs(&place(is)) {
            return (ChangeEffect::Recreate, certain);
        }
        let replaced = operations.iter().map(|id| &self.graph.operations[*id]);
        let replaced = replaced.filter(|one| one.kind == OperationKind::Replace);
        if is.kind == ComponentKind::Resource
            && let Some(certainty) = replaced.map(|one| one.certainty).max()
        {
            return (ChangeEffect::Replace, certainty);
        }
        let known = self.foretells(is);
        let effect = match (known, fate.map(|fate| fate.kind)) {
            // A condition decides that it is there, or not any more.
            (true, Some(FateKind::Add)) => ChangeEffect::Add,
            (true, Some(FateKind::Remove)) => ChangeEffect::Remove,
            (true, Some(FateKind::Retain)) => ChangeEffect::Retain,
            (true, Some(FateKind::Update)) => ChangeEffect::Update,
            (_, _) if properties.is_empty() => ChangeEffect::Nothing,
            // The forecast does not follow what is only possible.
            (true, _) if properties.iter().any(may_follow) => {
                return (ChangeEffect::Update, Certainty::Possible);
            }
            (true, _) => ChangeEffect::TemplateOnly,
            (false, _) if is.kind != ComponentKind::Resource => ChangeEffect::Update,
            (false, _) if properties.iter().all(is_for_templates) => ChangeEffect::TemplateOnly,
            (false, _) => ChangeEffect::Update,
        };
        (effect, certain)
    }

    /// Returns what is to be done about a component: it is rejected if anything of it is, and approved
    /// if everything that is of high risk is.
    fn action(&self, operations: &[OperationId]) -> Option<Action> {
        let verdicts: Vec<&Verdict> =
            operations.iter().filter_map(|id| self.verdicts.get(id)).collect();
        let has = |action: Action| verdicts.iter().any(|one| one.action == Some(action));
        if has(Action::Reject) {
            return Some(Action::Reject);
        }
        let mut risky = verdicts.iter().filter(|one| one.risk == Risk::High);
        if has(Action::Approve) && risky.all(|one| one.action == Some(Action::Approve)) {
            return Some(Action::Approve);
        }
        has(Action::None).then_some(Action::None)
    }

    /// Returns the worst that rules say of operations, and who says it. What merely contains other
    /// operations is as dangerous as they are.
    fn risk(&self, operations: &[OperationId]) -> (Risk, Option<&'a Verdict>) {
        let leaf = |id: &&OperationId| {
            let operation: &Operation = &self.graph.operations[**id];
            operation.inner.is_empty()
        };
        let mut worst: Option<(Risk, Option<&Verdict>)> = None;
        for id in operations.iter().filter(leaf) {
            let verdict = self.verdicts.get(id);
            let risk = verdict.map(|verdict| verdict.risk).unwrap_or_default();
            if worst.is_none_or(|(known, _)| risk > known) {
                worst = Some((risk, verdict));
            }
        }
        worst.unwrap_or_default()
    }
}

/// The stack at the top: `Parent/Nested` belongs to `Parent`.
fn root(stack: &str) -> &str {
    stack.split_once('/').map_or(stack, |(root, _)| root)
}

/// Whether a property is written as before, and no replacement changes what it comes to: it refers
/// to something that is declared in another way, such as a parameter. Whether its value changes is
/// for the forecast to say.
fn is_unmoved(property: &PropertyReport) -> bool {
    property.cause.is_none()
        && property.old == property.new
        && property.old_path == property.new_path
}

/// Whether a forecast names a property, what it is in, or what is in it.
fn says(fate: &Fate, property: &PropertyReport) -> bool {
    let is_in = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let path = property.path();
    fate.properties.iter().any(|one| is_in(one, path) || is_in(path, one))
}

/// Whether a property refers, as before, to something that may be another one afterwards.
fn may_follow(property: &PropertyReport) -> bool {
    property.cause.is_some() && property.old == property.new && !is_for_templates(property)
}

/// Whether CloudFormation does nothing when the property changes: it is about the template.
fn is_for_templates(property: &PropertyReport) -> bool {
    let first = property.path().split('.').next().unwrap_or_default();
    matches!(first, "Metadata" | "DependsOn" | "DeletionPolicy" | "UpdateReplacePolicy")
}

fn place(component: &Component) -> Place {
    Place {
        stack: component.stack.clone(),
        logical_id: component.name.clone(),
        path: component.path.clone(),
    }
}

impl Place {
    /// Whether it is another place, whatever the construct paths.
    pub(super) fn differs(&self, other: &Self) -> bool {
        (&self.stack, &self.logical_id) != (&other.stack, &other.logical_id)
    }
}
