//! From what was foreseen to what is deployed in which order.

use std::collections::{BTreeMap, BTreeSet};

use super::outlook::Outlook;
use super::prepare::Deployment;
use crate::assembly::AssemblyStack;
use crate::deploy::Stage;
use crate::plan::StackForecast;

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
        let known = forecast(stack);
        let holding = known.and_then(|one| one.holding.as_ref());
        let app = known.and_then(|one| one.template.clone());
        let first = stages.len();
        if let Some(holding) = holding {
            let names: Vec<&str> = holding.exports.iter().map(|one| &*one.name).collect();
            let title =
                format!("keeps the exports {} for those that import them", names.join(", "));
            let template = Some(holding.template.clone());
            stages.push(Stage { stack, template, after: Vec::new(), title: Some(title) });
        }
        if holding.is_none_or(|holding| !holding.until.is_empty()) {
            let title = holding.map(|_| "without the exports that nobody imports any more");
            let title = title.map(str::to_owned);
            stages.push(Stage { stack, template: app, after: Vec::new(), title });
        }
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
        let Some(holding) = forecast(stack).and_then(|one| one.holding.as_ref()) else { continue };
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
