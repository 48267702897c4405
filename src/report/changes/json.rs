//! The form for programs: a public contract with a version, described by
//! `data/schemas/diff.json`. Its types are its own, so that a change inside cannot change what
//! others read.

use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::analyze::model::{Certainty, ComponentKind, PropertyChange};
use crate::analyze::{
    Action, ChangeEffect, ChangePlace, ChangeReport, ComponentChange, EnvironmentReport,
    PropertyReport, Risk, StackFate, StackReport,
};
use crate::report::json::escaped;
use crate::report::permissions_json;
use crate::template::json::Written;

/// The version of the contract: raised when a field goes away or changes its meaning.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct ReportWire<'a> {
    version: u32,
    environments: Vec<EnvironmentWire<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<RemarkWire<'a>>,
}

#[derive(Serialize)]
struct RemarkWire<'a> {
    account: &'a str,
    region: &'a str,
    severity: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct EnvironmentWire<'a> {
    account: &'a str,
    region: &'a str,
    /// The highest of the changes; nothing if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    risk: Option<&'static str>,
    stacks: Vec<StackWire<'a>>,
    changes: Vec<ChangeWire<'a>>,
    unchanged: Vec<UnchangedWire<'a>>,
    permissions: Json,
}

#[derive(Serialize)]
struct StackWire<'a> {
    name: &'a str,
    fate: &'static str,
    before: usize,
    after: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlaceWire<'a> {
    stack: &'a str,
    logical_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
}

#[derive(Serialize)]
struct UnchangedWire<'a> {
    r#type: &'a str,
    #[serde(flatten)]
    place: PlaceWire<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangeWire<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<PlaceWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<PlaceWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    physical_id: Option<&'a str>,
    effect: &'static str,
    certain: bool,
    moved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<&'a str>,
    risk: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    danger: Option<&'a str>,
    causes: &'a [String],
    properties: Vec<PropertyWire<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PropertyWire<'a> {
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<Written<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<Written<'a>>,
    name_only: bool,
    replaces: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a str>,
    risk: &'static str,
    broadens_permissions: bool,
}

/// Renders what a deployment will do for programs: one JSON document, always complete.
pub fn changes_json(report: &ChangeReport) -> String {
    let environments = report.environments.iter().map(environment).collect();
    let remarks = report.remarks.iter().map(|one| RemarkWire {
        account: &one.environment.account,
        region: &one.environment.region,
        severity: if one.is_error { "error" } else { "warning" },
        text: &one.text,
    });
    let report = ReportWire { version: VERSION, environments, remarks: remarks.collect() };
    // All keys are strings, and writing to a string cannot fail.
    let text = serde_json::to_string_pretty(&report).unwrap_or_default();
    escaped(&text) + "\n"
}

fn environment(report: &EnvironmentReport) -> EnvironmentWire<'_> {
    let mut permissions = permissions_json(&report.environment, &report.permissions);
    EnvironmentWire {
        account: &report.environment.account,
        region: &report.environment.region,
        risk: report.changes.iter().map(|change| change.risk).max().map(risk),
        stacks: report.stacks.iter().map(stack).collect(),
        changes: report.changes.iter().map(change).collect(),
        unchanged: report
            .unchanged
            .iter()
            .map(|(subtype, one)| UnchangedWire { r#type: subtype, place: place(one) })
            .collect(),
        permissions: permissions["changes"].take(),
    }
}

fn stack(stack: &StackReport) -> StackWire<'_> {
    let (before, after) = stack.resources;
    let fate = match stack.fate {
        StackFate::New => "new",
        StackFate::Kept => "kept",
        StackFate::Left => "left",
        StackFate::Removed => "removed",
    };
    StackWire { name: &stack.name, fate, before, after }
}

fn place(place: &ChangePlace) -> PlaceWire<'_> {
    PlaceWire { stack: &place.stack, logical_id: &place.logical_id, path: place.path.as_deref() }
}

fn change(change: &ComponentChange) -> ChangeWire<'_> {
    ChangeWire {
        kind: kind(change.kind),
        r#type: change.subtype.as_deref(),
        before: change.before.as_ref().map(place),
        after: change.after.as_ref().map(place),
        physical_id: change.physical_id.as_deref(),
        effect: effect(change.effect),
        certain: change.certainty == Certainty::Certain,
        moved: change.is_moved(),
        evidence: change.evidence.as_deref(),
        risk: risk(change.risk),
        rule: change.rule.as_deref(),
        action: change.action.map(action),
        danger: change.danger.as_deref(),
        causes: &change.causes,
        properties: change.properties.iter().map(property).collect(),
    }
}

fn property(property: &PropertyReport) -> PropertyWire<'_> {
    PropertyWire {
        change: match property.change {
            PropertyChange::Insert => "insert",
            PropertyChange::Remove => "remove",
            PropertyChange::Update => "update",
            PropertyChange::Move => "move",
        },
        old_path: property.old_path.as_deref(),
        new_path: property.new_path.as_deref(),
        old: property.old.as_ref().map(Written),
        new: property.new.as_ref().map(Written),
        name_only: property.name_only,
        replaces: match property.replaces {
            None => "no",
            Some(Certainty::Possible) => "possibly",
            Some(Certainty::Certain) => "yes",
        },
        cause: property.cause.as_deref(),
        risk: risk(property.risk),
        broadens_permissions: property.broadens_permissions,
    }
}

fn kind(kind: ComponentKind) -> &'static str {
    match kind {
        ComponentKind::Stack => "stack",
        ComponentKind::Construct => "construct",
        ComponentKind::Resource => "resource",
        ComponentKind::Parameter => "parameter",
        ComponentKind::Output => "output",
        ComponentKind::Condition => "condition",
        ComponentKind::Mapping => "mapping",
    }
}

fn effect(effect: ChangeEffect) -> &'static str {
    match effect {
        ChangeEffect::Nothing => "nothing",
        ChangeEffect::TemplateOnly => "templateOnly",
        ChangeEffect::Add => "add",
        ChangeEffect::Update => "update",
        ChangeEffect::Replace => "replace",
        ChangeEffect::Recreate => "recreate",
        ChangeEffect::Retain => "retain",
        ChangeEffect::Remove => "remove",
    }
}

fn risk(risk: Risk) -> &'static str {
    match risk {
        Risk::Low => "low",
        Risk::Unknown => "unknown",
        Risk::High => "high",
    }
}

/// Returns the changes of high risk, and those of which a rule says what is to be done, as a JSON
/// value.
pub fn risks_json(report: &ChangeReport) -> Json {
    let mut found = Vec::new();
    for one in &report.environments {
        let spoken =
            one.changes.iter().filter(|each| each.risk == Risk::High || each.action.is_some());
        found.extend(spoken.map(|each| {
            let place = each.place();
            let place = place.map(|place| format!("{}.{}", place.stack, place.logical_id));
            json!({"account": one.environment.account, "region": one.environment.region,
                "resource": place.unwrap_or_default(), "type": each.subtype,
                "risk": risk(each.risk), "rule": each.rule,
                "action": each.action.map(action)})
        }));
    }
    Json::Array(found)
}

fn action(action: Action) -> &'static str {
    match action {
        Action::Approve => "approve",
        Action::Reject => "reject",
        Action::None => "none",
    }
}
