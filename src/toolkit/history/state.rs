//! The state of an app as a history knows it, and back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::error::HistoryError;
use super::store::Templates;
use crate::assembly::{Assembly, AssemblyStack, StackProperties};
use crate::compare::{Comparison, Evidence};
use crate::event::Host;
use crate::history::{Decided, EventHash, Move, Refactor, Snapshot, StackKey, StackRecord};
use crate::model::{Location, Stack, StackName};
use crate::report;
use crate::settings::{Scope, Settings};
use crate::toolkit::sources::{self, APP};
use crate::toolkit::{Error, context, require_context};

/// Returns the state that an assembly would bring about: all of its stacks, nested ones under
/// the names that the model gives them.
///
/// # Errors
/// When two stacks have one name in one environment.
pub fn snapshot_of(stacks: &[AssemblyStack]) -> Result<Snapshot, HistoryError> {
    let mut seen = BTreeSet::new();
    let mut records = Vec::new();
    for (key, stack) in keyed(stacks) {
        if !seen.insert(key.clone()) {
            return Err(HistoryError::SameStack(key));
        }
        records.push((key, StackRecord::of(stack)));
    }
    Ok(Snapshot::new(records))
}

/// The stacks of an assembly with their keys.
fn keyed(stacks: &[AssemblyStack]) -> impl Iterator<Item = (StackKey, &Stack)> {
    stacks.iter().flat_map(|stack| {
        let scope = Scope::of(&stack.environment);
        stack.all().map(move |one| (StackKey { name: one.name.clone(), scope: scope.clone() }, one))
    })
}

/// The templates of an assembly of which the state is known.
pub(super) fn templates_of(stacks: &[AssemblyStack], state: &Snapshot) -> Templates {
    let mut templates = Templates::default();
    for (key, stack) in keyed(stacks) {
        if let Some(record) = state.stack(&key) {
            templates.insert(key, stack.template.clone(), record.template.clone());
        }
    }
    templates
}

/// An assembly of nothing but templates.
pub(super) fn assembly_of(templates: &Templates) -> Assembly {
    let mut nested: BTreeMap<(StackName, Scope), Vec<Stack>> = BTreeMap::new();
    let mut outer = Vec::new();
    for (key, template) in templates.iter() {
        let mut stack = Stack::new(key.name.as_str(), template.clone());
        match key.name.as_str().split_once('/') {
            None => outer.push((key, stack)),
            Some((root, _)) => {
                let parent = key.name.as_str().rsplit_once('/');
                stack.parent = parent.map(|(stack, id)| Location::new(stack, id));
                nested.entry((root.into(), key.scope.clone())).or_default().push(stack);
            }
        }
    }
    let stacks = outer.into_iter().map(|(key, stack)| AssemblyStack {
        artifact_id: key.name.to_string(),
        hierarchical_id: key.name.to_string(),
        environment: key.scope.environment(),
        nested: nested.remove(&(key.name.clone(), key.scope.clone())).unwrap_or_default(),
        stack,
        top_level: true,
        tags: BTreeMap::new(),
        dependencies: Vec::new(),
        do_not_refactor: Vec::new(),
        construct_path: None,
        properties: StackProperties::default(),
    });
    Assembly {
        directory: PathBuf::new(),
        version: String::new(),
        schema_major: u64::MAX,
        stacks: stacks.collect(),
        missing: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Synthesizes the app. Nothing is asked of an account unless the app lacks context: everybody
/// who records a state gets the same one.
pub(super) async fn synthesized(settings: &Settings, host: &dyn Host) -> Result<Assembly, Error> {
    let directory = sources::app(settings, None, host)?;
    let assembly = sources::read(APP, &directory, settings)?;
    let assembly = context::complete(settings, None, None, assembly, host).await?;
    require_context(&assembly)?;
    Ok(assembly)
}

/// The stacks without the values of their parameters. A history has templates only, and a value
/// that one side does not know would look like a change.
pub(super) fn without_values(mut assembly: Assembly) -> Assembly {
    for stack in &mut assembly.stacks {
        stack.stack.parameters.clear();
        stack.nested.iter_mut().for_each(|nested| nested.parameters.clear());
    }
    assembly
}

/// What a comparison has found, as a history keeps it; `None` if nothing moved.
pub(super) fn refactor(comparison: &Comparison, parent: Option<EventHash>) -> Option<Refactor> {
    let moved = comparison.mappings.iter().map(|mapping| Move {
        source: mapping.source.location.clone(),
        destination: mapping.destination.location.clone(),
        decided: match &mapping.evidence {
            Evidence::Decision(origin) => Decided::Stated(origin.clone()),
            evidence => Decided::Detected(report::evidence_kind(evidence).to_owned()),
        },
    });
    let moves: Vec<Move> = moved.filter(|it| it.source != it.destination).collect();
    let scope = Scope::of(&comparison.environment);
    (!moves.is_empty()).then_some(Refactor { scope, parent, moves })
}
