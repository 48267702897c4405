//! From what was foreseen to what is deployed in which order.

use std::collections::{BTreeMap, BTreeSet};

use super::outlook::Outlook;
use super::prepare::Deployment;
use crate::assembly::AssemblyStack;
use crate::deploy::Stage;
use crate::model::Value;
use crate::plan::{self, HandOver, StackForecast};
use crate::settings::Method;
use crate::template;

/// The stages of a stack: the first has all that the app wants, the last only that.
#[derive(Clone, Copy)]
struct Pair {
    first: usize,
    last: usize,
}

/// Returns the stages of a deployment. A stack whose exports are still imported is deployed twice:
/// with them, and, after those that import them now, without.
pub(super) fn stages<'a>(deployment: &'a Deployment, outlook: &Outlook) -> Vec<Stage<'a>> {
    let forecast = |stack: &AssemblyStack| -> Option<&StackForecast> {
        let of = |one: &&crate::plan::Forecast| one.environment == stack.environment;
        let found = outlook.forecasts.iter().find(of)?;
        found.stacks.iter().find(|one| one.name == stack.stack.name.as_str())
    };
    let mut stages: Vec<Stage<'a>> = Vec::new();
    let mut pairs: BTreeMap<&str, Pair> = BTreeMap::new();
    for stack in deployment.stacks() {
        let first = stages.len();
        let mut parts = parts(forecast(stack));
        guard(deployment, outlook, stack, &mut parts);
        if deployment.deploying.method == Method::PrepareChangeSet {
            // The second would have to wait until somebody has executed the first.
            parts.truncate(1);
        }
        stages.extend(parts.into_iter().map(|Part { template, title }| Stage {
            stack,
            template,
            after: Vec::new(),
            title,
        }));
        pairs.insert(&stack.hierarchical_id, Pair { first, last: stages.len() - 1 });
    }
    let needs = needs(deployment);
    for (id, pair) in &pairs {
        let mut before: BTreeSet<usize> = BTreeSet::new();
        for needed in needs.get(id).into_iter().flatten() {
            // All that the app wants is there after the first stage.
            before.extend(pairs.get(needed).map(|needed| needed.first));
        }
        stages[pair.first].after = before.into_iter().collect();
    }
    for stack in deployment.stacks() {
        let pair = pairs[&*stack.hierarchical_id];
        if pair.first == pair.last {
            continue;
        }
        let Some(holding) = forecast(stack).and_then(|one| one.holding.as_ref()) else {
            stages[pair.last].after = vec![pair.first];
            continue;
        };
        let importers = deployment.stacks().filter_map(|other| {
            let name = other.stack.name.as_str();
            if other.environment != stack.environment || !holding.until.contains(name) {
                return None;
            }
            let importer = pairs[&*other.hierarchical_id];
            // An importer that holds something itself may let go with its last stage only.
            let lets_go_late = holding.until_released.contains(name);
            Some(if lets_go_late { importer.last } else { importer.first })
        });
        stages[pair.last].after = importers.chain([pair.first]).collect();
    }
    stages
}

/// One template of a stack.
struct Part {
    /// In place of that of the app.
    template: Option<String>,
    title: Option<String>,
}

/// The templates of a stack, one after the other.
fn parts(forecast: Option<&StackForecast>) -> Vec<Part> {
    let holding = forecast.and_then(|one| one.holding.as_ref());
    let mut parts = Vec::new();
    if let Some(holding) = holding {
        let names: Vec<&str> = holding.exports.iter().map(|one| &*one.name).collect();
        let title = format!("keeps the exports {} for those that import them", names.join(", "));
        parts.push(Part { template: Some(holding.template.clone()), title: Some(title) });
    }
    if holding.is_none_or(|holding| !holding.until.is_empty()) {
        let title = holding.map(|_| "without the exports that nobody imports any more");
        let template = forecast.and_then(|one| one.template.clone());
        parts.push(Part { template, title: title.map(str::to_owned) });
    }
    parts
}

/// Sees to it that the first template of a stack takes nothing away again if it fails.
fn guard(deployment: &Deployment, outlook: &Outlook, stack: &AssemblyStack, parts: &mut Vec<Part>) {
    let name = stack.stack.name.as_str();
    let plans = deployment.plans(outlook.choice).iter().map(|one| &one.plan);
    let own = plans.filter(|plan| plan.environment() == stack.environment);
    let ids: BTreeSet<String> = own
        .flat_map(|plan| &plan.staying)
        .filter(|staying| staying.hand_over == HandOver::Retained)
        .filter_map(|staying| staying.destination.split_once('.'))
        .filter(|(destination, _)| *destination == name)
        .map(|(_, id)| id.to_owned())
        .collect();
    let Some(first) = parts.first_mut().filter(|_| !ids.is_empty()) else { return };
    let sent = first.template.as_ref().map(|text| template::parse(text.as_bytes()));
    let base = match sent {
        Some(Ok(template)) => template,
        Some(Err(_)) => return,
        None => stack.stack.template.clone(),
    };
    let Some(guarded) = plan::guarded(&base, &ids) else { return };
    let guarded = template::json::to_template(&Value::Object(guarded.sections));
    if parts.len() > 1 {
        parts[0].template = Some(guarded);
    } else {
        let title = "keeps what it takes over if it fails".to_owned();
        parts.insert(0, Part { template: Some(guarded), title: Some(title) });
    }
}

/// For each stack those that it needs, directly or by way of others, by hierarchical ID.
fn needs(deployment: &Deployment) -> BTreeMap<&str, BTreeSet<&str>> {
    let all = &deployment.assembly.stacks;
    let by_id: BTreeMap<&str, &AssemblyStack> =
        all.iter().map(|stack| (&*stack.hierarchical_id, stack)).collect();
    let mut found = BTreeMap::new();
    for stack in all {
        let (mut seen, mut open) = (BTreeSet::new(), vec![stack]);
        while let Some(next) = open.pop() {
            for id in &next.dependencies {
                if let Some(needed) = by_id.get(&**id)
                    && seen.insert(&*needed.hierarchical_id)
                {
                    open.push(needed);
                }
            }
        }
        found.insert(&*stack.hierarchical_id, seen);
    }
    found
}
