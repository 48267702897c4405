//! The state of an app as a history knows it, and back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::repository_error::RepositoryError;
use super::store::Templates;
use crate::assembly::{Assembly, AssemblyStack, StackProperties};
use crate::compare::{Comparison, Evidence};
use crate::event::Host;
use crate::history::{Decided, EventHash, Move, Refactor, Snapshot, StackKey, StackRecord};
use crate::model::{Environment, Location, Stack, StackName};
use crate::report;
use crate::settings::{Scope, Settings};
use crate::toolkit::detect::Sides;
use crate::toolkit::sources::{self, APP};
use crate::toolkit::{Error, context, require_context};

/// The type of a nested stack.
const STACK: &str = "AWS::CloudFormation::Stack";

/// Returns the state that an assembly would bring about: all of its stacks, nested ones under
/// the names that the model gives them.
pub fn snapshot_of(stacks: &[AssemblyStack]) -> Snapshot {
    Snapshot::new(keyed(stacks).map(|(key, stack)| (key, StackRecord::of(stack))))
}

/// The state that an assembly would bring about.
///
/// # Errors
/// When two stacks have one name in one environment.
pub(super) fn state_of(stacks: &[AssemblyStack]) -> Result<Snapshot, RepositoryError> {
    let mut seen = BTreeSet::new();
    match keyed(stacks).map(|(key, _)| key).find(|key| !seen.insert(key.clone())) {
        Some(key) => Err(RepositoryError::SameStack(key)),
        None => Ok(snapshot_of(stacks)),
    }
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
        constructs: Vec::new(),
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

/// Puts the stacks of an earlier state into the environments in which the app has them now: an
/// account or a region that an app begins to name, or names no more, is no other stack.
pub(super) fn aligned(mut earlier: Assembly, app: &Assembly) -> Assembly {
    let may_be =
        |a: &Environment, b: &Environment| Scope::of(a).contains(b) || Scope::of(b).contains(a);
    let environments: BTreeSet<&Environment> =
        app.stacks.iter().map(|stack| &stack.environment).collect();
    let mut taken: BTreeSet<(StackName, Environment)> = BTreeSet::new();
    let key = |stack: &AssemblyStack| (stack.stack.name.clone(), stack.environment.clone());
    taken.extend(earlier.stacks.iter().map(key));
    let mut stacks = Vec::new();
    for stack in std::mem::take(&mut earlier.stacks) {
        let same_name = app.stacks.iter().filter(|other| other.stack.name == stack.stack.name);
        let mut places: BTreeSet<&Environment> = same_name.map(|one| &one.environment).collect();
        if places.is_empty() && !environments.contains(&stack.environment) {
            places.clone_from(&environments);
        }
        if places.contains(&stack.environment) {
            stacks.push(stack);
            continue;
        }
        places.retain(|place| may_be(&stack.environment, place));
        let mut is_placed = false;
        for place in places {
            if taken.insert((stack.stack.name.clone(), place.clone())) {
                stacks.push(AssemblyStack { environment: place.clone(), ..stack.clone() });
                is_placed = true;
            }
        }
        if !is_placed {
            stacks.push(stack);
        }
    }
    Assembly { stacks, ..earlier }
}

/// What is in a nested stack that moved, and has kept its logical ID. For CloudFormation it did
/// not move; for a history it did, since a nested stack is called by its place.
pub(super) fn moved_inside(comparison: &Comparison, sides: &Sides) -> Vec<Move> {
    let mappings = &comparison.mappings;
    let sources: BTreeSet<&Location> = mappings.iter().map(|one| &one.source.location).collect();
    let destinations: BTreeSet<&Location> =
        mappings.iter().map(|one| &one.destination.location).collect();
    let ends = mappings.iter().filter(|one| one.resource_type.as_str() == STACK);
    let mut open: Vec<(Location, Location)> =
        ends.map(|one| (one.source.location.clone(), one.destination.location.clone())).collect();
    let mut moves = Vec::new();
    while let Some((old, new)) = open.pop() {
        let of = |stacks: &[Stack], at: &Location| {
            stacks
                .iter()
                .find(|stack| stack.parent.as_ref() == Some(at))
                .map(|stack| (stack.name.clone(), StackRecord::of(stack).resources))
        };
        let (Some((from, before)), Some((to, after))) =
            (of(&sides.deployed, &old), of(&sides.local, &new))
        else {
            continue;
        };
        for (id, was) in before {
            let source = Location { stack: from.clone(), logical_id: id.clone() };
            let destination = Location { stack: to.clone(), logical_id: id.clone() };
            let is_same = after.get(&id).is_some_and(|is| is.resource_type == was.resource_type);
            if !is_same || sources.contains(&source) || destinations.contains(&destination) {
                continue;
            }
            if was.resource_type.as_str() == STACK {
                open.push((source.clone(), destination.clone()));
            }
            if source != destination {
                let evidence = report::evidence_kind(&Evidence::NestedStack).to_owned();
                moves.push(Move { source, destination, decided: Decided::Detected(evidence) });
            }
        }
    }
    moves
}

/// What a comparison has found, as a history keeps it; `None` if nothing moved.
pub(super) fn refactor(
    comparison: &Comparison,
    inside: &[Move],
    parent: Option<EventHash>,
) -> Option<Refactor> {
    let moved = comparison.mappings.iter().map(|mapping| Move {
        source: mapping.source.location.clone(),
        destination: mapping.destination.location.clone(),
        decided: match &mapping.evidence {
            Evidence::Decision(origin) => Decided::Stated(origin.clone()),
            evidence => Decided::Detected(report::evidence_kind(evidence).to_owned()),
        },
    });
    let moved = moved.filter(|it| it.source != it.destination);
    let mut moves: Vec<Move> = moved.chain(inside.iter().cloned()).collect();
    moves.sort();
    let scope = Scope::of(&comparison.environment);
    (!moves.is_empty()).then_some(Refactor { scope, parent, moves })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::template_digest;
    use crate::template;

    fn stacks(text: &str) -> Assembly {
        let mut templates = Templates::default();
        for word in text.split_whitespace() {
            let (name, account) = word.split_once('@').unwrap_or((word, ""));
            let account = (!account.is_empty()).then(|| account.to_owned());
            let scope = Scope { account, region: None };
            let body = template::parse(b"{\"Resources\": {\"A\": {\"Type\": \"T\"}}}").unwrap();
            let digest = template_digest(&body);
            templates.insert(StackKey { name: name.into(), scope }, body, digest);
        }
        assembly_of(&templates)
    }

    fn names(assembly: &Assembly) -> Vec<String> {
        let mut names: Vec<String> = keyed(&assembly.stacks)
            .map(|(key, stack)| {
                let parent = stack.parent.as_ref().map(|parent| format!(" in {parent}"));
                let account = key.scope.account.clone().map(|account| format!("@{account}"));
                format!("{}{}{}", key.name, account.unwrap_or_default(), parent.unwrap_or_default())
            })
            .collect();
        names.sort();
        names
    }

    #[test]
    fn nested_stacks_find_their_parents_again() {
        let assembly = stacks("Web Web/Inner Web/Inner/Most Api");
        assert_eq!(assembly.stacks.len(), 2);
        let expected = ["Api", "Web", "Web/Inner in Web.Inner", "Web/Inner/Most in Web/Inner.Most"];
        assert_eq!(names(&assembly), expected);
    }

    #[test]
    fn an_account_that_an_app_begins_to_name_is_no_other_stack() {
        for (earlier, app, expected) in [
            ("Web", "Web@1", "Web@1"),
            ("Web", "Web@1 Web@2", "Web@1 Web@2"),
            ("Web@1", "Web", "Web"),
            ("Web Api", "Web@1 Api", "Api Web@1"),
            ("Old", "New@1", "Old@1"),
            ("Old@1", "New@2", "Old@1"),
            ("Web@1 Web@2", "Web@2", "Web@1 Web@2"),
            ("Web Web@1", "Web@1", "Web Web@1"),
            ("Old Web@1", "New Web@1", "Old Web@1"),
        ] {
            let found = names(&aligned(stacks(earlier), &stacks(app))).join(" ");
            assert_eq!(found, expected, "{earlier} → {app}");
        }
    }
}
