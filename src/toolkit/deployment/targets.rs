//! Which stacks are deployed: those that were asked for, those that they need, and those between
//! which and them resources move.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Error;
use super::super::selection::Selection;
use crate::assembly::{Assembly, AssemblyStack};
use crate::compare::Comparison;
use crate::model::Environment;
use crate::settings::Deploying;

/// The stacks to be deployed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Targets {
    /// By hierarchical ID.
    pub(super) ids: BTreeSet<String>,
    /// Those that nobody named, with the reason.
    pub(super) joined: Vec<Joined>,
}

/// A stack that nobody named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The stack, as people see it.
    pub stack: String,
    /// Why it is deployed as well.
    pub reason: String,
}

/// Returns the stacks that were asked for. Without patterns it is the only stack of the app.
///
/// # Errors
/// When a pattern matches nothing, or nobody said which of several stacks are meant.
pub(super) fn asked_for<'a>(
    assembly: &'a Assembly,
    patterns: &[String],
    all: bool,
) -> Result<Vec<&'a AssemblyStack>, Error> {
    if !patterns.is_empty() {
        return Ok(assembly.select(patterns).map_err(Box::new)?);
    }
    // Stacks of stages are deployed by whoever names them, unless there is nothing else (as the
    // CDK CLI does).
    let outermost: Vec<_> = assembly.stacks.iter().filter(|stack| stack.top_level).collect();
    let found = if outermost.is_empty() { assembly.stacks.iter().collect() } else { outermost };
    if found.len() > 1 && !all {
        let stacks = assembly.stacks.iter().map(|stack| stack.hierarchical_id.clone()).collect();
        return Err(Error::WhichStacks { stacks });
    }
    Ok(found)
}

impl Targets {
    /// Adds to stacks what they need, and what resources move into or out of.
    pub(super) fn around(
        asked: &[&AssemblyStack],
        assembly: &Assembly,
        comparisons: &[Comparison],
        deploying: &Deploying,
    ) -> Self {
        let mut targets = Self::default();
        let mut open: Vec<(&AssemblyStack, Option<String>)> =
            asked.iter().map(|stack| (*stack, None)).collect();
        let by_id: BTreeMap<&str, &AssemblyStack> =
            assembly.stacks.iter().map(|stack| (&*stack.hierarchical_id, stack)).collect();
        let neighbours = neighbours(assembly, comparisons);
        while let Some((stack, reason)) = open.pop() {
            if !targets.ids.insert(stack.hierarchical_id.clone()) {
                continue;
            }
            if let Some(reason) = reason {
                targets.joined.push(Joined { stack: stack.label(), reason });
            }
            if deploying.exclusively {
                continue;
            }
            for id in &stack.dependencies {
                if let Some(needed) = by_id.get(&**id) {
                    open.push((needed, Some(format!("{} needs it", stack.label()))));
                }
            }
            for id in neighbours.get(&*stack.hierarchical_id).into_iter().flatten() {
                let reason = format!("resources move between it and {}", stack.label());
                open.push((by_id[id], Some(reason)));
            }
        }
        // Whoever was asked for explicitly and is needed as well was not added.
        targets.joined.retain(|one| !asked.iter().any(|stack| stack.label() == one.stack));
        targets.joined.sort_by(|left, right| left.stack.cmp(&right.stack));
        targets
    }

    /// Whether a stack is deployed.
    pub(super) fn has(&self, stack: &AssemblyStack) -> bool {
        self.ids.contains(&stack.hierarchical_id)
    }

    /// What touches these stacks.
    pub(super) fn selection(&self, assembly: &Assembly) -> Selection {
        let mine = assembly.stacks.iter().filter(|stack| self.has(stack));
        let name = |stack: &AssemblyStack| (stack.environment.clone(), stack.stack.name.clone());
        Selection::Only(mine.map(name).collect())
    }
}

/// For each stack those of the app between which and it resources move, by hierarchical ID.
fn neighbours<'a>(
    assembly: &'a Assembly,
    comparisons: &[Comparison],
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let by_name: BTreeMap<(&Environment, &str), &str> = assembly
        .stacks
        .iter()
        .map(|stack| ((&stack.environment, stack.stack.name.as_str()), &*stack.hierarchical_id))
        .collect();
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for comparison in comparisons {
        for mapping in &comparison.mappings {
            let id = |stack: &str| {
                let root = stack.split_once('/').map_or(stack, |(root, _)| root);
                by_name.get(&(&comparison.environment, root)).copied()
            };
            let source = id(mapping.source.location.stack.as_str());
            let destination = id(mapping.destination.location.stack.as_str());
            if let (Some(source), Some(destination)) = (source, destination)
                && source != destination
            {
                found.entry(source).or_default().insert(destination);
                found.entry(destination).or_default().insert(source);
            }
        }
    }
    found
}
