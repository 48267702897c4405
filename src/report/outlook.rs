//! What a deployment would do, before it does it; and what it has done.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::text::{columns, count, paint, plain};
use super::{Style, finding, permissions_json, risks_json};
use crate::analyze::{ChangeReport, PermissionChange};
use crate::deploy::{Danger, DeployedStack, Failure, Outcome, PlannedStack};
use crate::model::Environment;
use crate::plan::{Effect, EffectKind, Finding};
use crate::run::Kept;

/// Renders what a deployment would do: the stacks with what changes in them, what has to be known.
pub fn outlook(
    stacks: &[PlannedStack],
    findings: &[(Environment, Finding)],
    style: Style,
) -> String {
    let mut blocks = Vec::new();
    let heading = paint::heading(format!("To be deployed: {}", count(stacks.len(), "stack")));
    let mut lines = vec![heading];
    for stack in stacks {
        lines.push(format!("  {}  {}", plain(&stack.id), summary(stack)));
        lines.extend(effects(&stack.effects, style));
        for id in &stack.kept {
            lines.push(format!("    keeps the logical ID {}, which cannot be moved", plain(id)));
        }
        for (export, importers) in &stack.held {
            lines.push(format!(
                "    keeps the export {} until it is not imported any more by {}",
                plain(export),
                plain(&importers.join(", "))
            ));
        }
    }
    blocks.push(lines.join("\n"));
    if !findings.is_empty() {
        let lines: Vec<_> = findings.iter().map(|(_, one)| finding(one)).collect();
        blocks.push(lines.join("\n"));
    }
    blocks.join("\n\n") + "\n"
}

fn summary(stack: &PlannedStack) -> String {
    if !stack.exists {
        return format!("new, {}", count(stack.effects.len(), "resource"));
    }
    let number = |is: fn(&EffectKind) -> bool| {
        stack.effects.iter().filter(|effect| is(&effect.kind)).count()
    };
    let parts: Vec<String> = [
        ("add", number(|kind| matches!(kind, EffectKind::Add))),
        ("change", number(|kind| matches!(kind, EffectKind::Update { .. }))),
        ("replace", number(|kind| matches!(kind, EffectKind::Replace { .. }))),
        ("remove", number(|kind| matches!(kind, EffectKind::Remove))),
        ("let go", number(|kind| matches!(kind, EffectKind::Retain))),
    ]
    .into_iter()
    .filter(|(_, number)| *number > 0)
    .map(|(word, number)| format!("{word} {number}"))
    .collect();
    if parts.is_empty() { "no change of resources".to_owned() } else { parts.join(", ") }
}

/// What is lost or may be lost is always shown, the rest as far as the reader wants to see it.
fn effects(effects: &[Effect], style: Style) -> Vec<String> {
    let is_grave = |effect: &&Effect| {
        matches!(effect.kind, EffectKind::Replace { .. } | EffectKind::Remove | EffectKind::Retain)
    };
    let shown: Vec<&Effect> =
        effects.iter().filter(|effect| style.verbose || is_grave(effect)).collect();
    let rows: Vec<Vec<String>> = shown.iter().map(|effect| row(effect)).collect();
    let lines = columns(&rows).into_iter().zip(&shown);
    lines
        .map(|(line, effect)| {
            let line = format!("  {line}");
            match &effect.kind {
                _ if effect.danger.is_some() => paint::loss(line),
                EffectKind::Add => paint::gain(line),
                EffectKind::Remove => paint::loss(line),
                _ => paint::change(line),
            }
        })
        .collect()
}

fn row(effect: &Effect) -> Vec<String> {
    let (sign, what) = match &effect.kind {
        EffectKind::Add => ("+", String::new()),
        EffectKind::Update { properties } => ("~", properties.join(", ")),
        EffectKind::Replace { certain, properties, cause } => {
            let may = if *certain { "replaced" } else { "may be replaced" };
            let why = cause.clone().unwrap_or_else(|| properties.join(", "));
            ("±", format!("{may}: {why}"))
        }
        EffectKind::Remove => ("-", String::new()),
        EffectKind::Retain => ("↷", "stays in the account without a stack".to_owned()),
    };
    vec![
        sign.to_owned(),
        plain(&effect.resource_type).into_owned(),
        plain(&format!("{}.{}", effect.stack, effect.logical_id)).into_owned(),
        plain(&what).into_owned(),
    ]
}

/// Renders what would be lost, by environment.
pub fn dangers(dangers: &[Danger]) -> String {
    let heading = "Data or identity would be lost, or the deployment would fail:";
    let mut lines = vec![paint::loss(heading)];
    let mut environment: Option<&Environment> = None;
    for danger in dangers {
        if environment != Some(&danger.environment) {
            environment = Some(&danger.environment);
            lines.push(format!("  in {}:", danger.environment));
        }
        let id = danger.physical_id.as_ref().map(|id| format!(" ({})", plain(id)));
        lines.push(format!(
            "    {}  {}{}",
            plain(&danger.resource_type),
            plain(&danger.place),
            id.unwrap_or_default()
        ));
        lines.push(format!("      {}", plain(&danger.reason)));
    }
    lines.join("\n") + "\n"
}

/// Renders stacks that are deployed, with their outputs.
pub fn deployed(stacks: &[DeployedStack], style: Style) -> String {
    let mut blocks = Vec::new();
    for stack in stacks {
        let mut lines =
            vec![format!("{}  {}", paint::heading(plain(&stack.id)), outcome(&stack.outcome))];
        for (key, value) in &stack.outputs {
            lines.push(format!("  {}.{} = {}", plain(&stack.name), plain(key), plain(value)));
        }
        for failure in &stack.left {
            lines.push(format!("  {}", paint::loss(left(failure))));
        }
        if style.verbose {
            lines.push(format!("  {}", plain(&stack.arn)));
        }
        blocks.push(lines.join("\n"));
    }
    blocks.join("\n") + "\n"
}

fn left(failure: &Failure) -> String {
    let id = failure.physical_id.as_deref().map(|id| format!(", {}", plain(id)));
    format!(
        "{} ({}{}) could not be deleted and is left in the account: {}",
        plain(&failure.logical_id),
        plain(&failure.resource_type),
        id.unwrap_or_default(),
        plain(&failure.reason)
    )
}

fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Created => "created",
        Outcome::Updated => "updated",
        Outcome::Unchanged => "unchanged",
        Outcome::Prepared { .. } => "change set prepared",
    }
}

/// Renders the proof that what moved is still the same.
pub fn kept(environment: &Environment, kept: &[Kept], journal: Option<&Path>) -> String {
    let same = kept.iter().filter(|one| one.is_same()).count();
    let mut lines = vec![format!(
        "{environment}: {} of {} moved {} the same as before{}",
        same,
        kept.len(),
        if kept.len() == 1 { "resource is" } else { "resources are" },
        journal
            .map(|path| format!(" ({})", plain(&path.display().to_string())))
            .unwrap_or_default()
    )];
    for one in kept.iter().filter(|one| !one.is_same()) {
        let id = |id: &Option<String>| {
            id.as_ref().map_or_else(|| "unknown".to_owned(), |id| plain(id).into_owned())
        };
        lines.push(format!(
            "  {}  {}: {} before, {} now",
            plain(&one.resource_type),
            plain(&one.destination),
            id(&one.before),
            id(&one.after)
        ));
    }
    lines.join("\n") + "\n"
}

/// Returns what a deployment would do as a JSON value.
pub fn outlook_json(
    stacks: &[PlannedStack],
    dangers: &[Danger],
    findings: &[(Environment, Finding)],
    permissions: &[(Environment, Vec<PermissionChange>)],
    changes: &ChangeReport,
) -> Json {
    let effect = |effect: &Effect| {
        let (kind, properties) = match &effect.kind {
            EffectKind::Add => ("add", &[][..]),
            EffectKind::Update { properties } => ("update", &properties[..]),
            EffectKind::Replace { certain: true, properties, .. } => ("replace", &properties[..]),
            EffectKind::Replace { properties, .. } => ("mayReplace", &properties[..]),
            EffectKind::Remove => ("remove", &[][..]),
            EffectKind::Retain => ("retain", &[][..]),
        };
        json!({"stack": effect.stack, "logicalId": effect.logical_id,
            "type": effect.resource_type, "physicalId": effect.physical_id, "effect": kind,
            "properties": properties, "danger": effect.danger})
    };
    let stacks: Vec<Json> = stacks
        .iter()
        .map(|stack| {
            json!({"id": stack.id, "account": stack.environment.account,
                "region": stack.environment.region, "stack": stack.name, "exists": stack.exists,
                "effects": stack.effects.iter().map(effect).collect::<Vec<_>>(),
                "keptLogicalIds": stack.kept,
                "heldExports": stack.held.iter().map(|(name, importers)|
                    json!({"name": name, "importers": importers})).collect::<Vec<_>>()})
        })
        .collect();
    let dangers: Vec<Json> = dangers
        .iter()
        .map(|one| {
            json!({"account": one.environment.account, "region": one.environment.region,
                "resource": one.place, "type": one.resource_type, "physicalId": one.physical_id,
                "reason": one.reason})
        })
        .collect();
    let findings: Vec<Json> = findings
        .iter()
        .map(|(environment, finding)| {
            json!({"account": environment.account, "region": environment.region,
                "finding": finding})
        })
        .collect();
    let permissions: Vec<Json> = permissions
        .iter()
        .map(|(environment, changes)| permissions_json(environment, changes))
        .collect();
    json!({"event": "outlook", "version": 1, "stacks": stacks, "dangers": dangers,
        "findings": findings, "permissions": permissions, "risks": risks_json(changes)})
}

/// Returns what was deployed as a JSON value.
pub fn deployed_json(stacks: &[DeployedStack], kept: &[(Environment, Vec<Kept>)]) -> Json {
    let stacks: Vec<Json> = stacks
        .iter()
        .map(|stack| {
            json!({"id": stack.id, "account": stack.environment.account,
                "region": stack.environment.region, "stack": stack.name, "arn": stack.arn,
                "outcome": outcome(&stack.outcome), "outputs": stack.outputs,
                "left": stack.left.iter().map(left).collect::<Vec<_>>()})
        })
        .collect();
    let kept: Vec<Json> = kept
        .iter()
        .flat_map(|(environment, all)| {
            all.iter().map(move |one| {
                json!({"account": environment.account, "region": environment.region,
                    "type": one.resource_type, "source": one.source,
                    "destination": one.destination, "before": one.before, "after": one.after,
                    "same": one.is_same()})
            })
        })
        .collect();
    json!({"event": "finished", "version": 1, "stacks": stacks, "moved": kept})
}

/// Returns why a deployment has failed as a JSON value: what happened, and why, one after the
/// other.
pub fn failed_json(chain: &[String]) -> Json {
    json!({"event": "failed", "version": 1, "reasons": chain})
}
