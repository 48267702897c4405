//! The values that the new templates have, evaluated together: outputs and imports of the stacks
//! of a refactor see each other.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::judge::{Party, Refusal};
use crate::local::evaluate::Scope;
use crate::local::exports::{Export, Index};
use crate::local::record::{Json, Output, Resource};
use crate::local::stacks::engine::{self, NESTED};
use crate::local::stacks::pseudo;
use crate::local::stacks::surroundings::Surroundings;
use crate::local::state::Tx;
use crate::local::templates::given_back;

/// A stack as it is to be.
pub(super) struct Evaluated {
    /// What the new template says of each resource; not yet with physical IDs.
    pub(super) resources: BTreeMap<String, Resource>,
    pub(super) outputs: Vec<Output>,
    pub(super) imports: BTreeSet<String>,
}

fn scope<'p>(tx: &Tx<'_>, party: &'p Party) -> Scope<'p> {
    Scope::new(&party.new, &party.input.parameters, pseudo(tx, &party.stack, &party.input))
}

/// Returns for each party the resources of its new template that are there at all.
pub(super) fn active(tx: &Tx<'_>, parties: &[Party]) -> Result<Vec<BTreeSet<String>>, Refusal> {
    let mut all = Vec::new();
    for party in parties {
        let scope = scope(tx, party);
        let mut ids = BTreeSet::new();
        for (id, body) in party.new.resources() {
            if scope.is_active(body).map_err(|reason| Refusal::of(&party.stack, reason))? {
                ids.insert(id.to_string());
            }
        }
        all.push(ids);
    }
    Ok(all)
}

/// Evaluates the new templates over the deployed resources that stand behind their logical IDs.
pub(super) fn evaluate(
    tx: &Tx<'_>,
    parties: &[Party],
    occupants: &[BTreeMap<String, Resource>],
    index: &Index,
) -> Result<Vec<Evaluated>, Refusal> {
    let (index, outputs) = outputs(tx, parties, occupants, index)?;
    let mut all = Vec::new();
    for (at, party) in parties.iter().enumerate() {
        let refuse = |reason: String| Refusal::of(&party.stack, reason);
        let scope = scope(tx, party);
        let imports = RefCell::default();
        let world = Surroundings {
            tx,
            resources: &occupants[at],
            index: &index,
            outputs: &outputs,
            imports: &imports,
        };
        let mut resources = BTreeMap::new();
        for id in occupants[at].keys() {
            let new = engine::evaluate(&party.new, &scope, &world, id).map_err(refuse)?;
            resources.insert(id.clone(), new);
        }
        let outputs = engine::outputs(&party.new, &scope, &world).map_err(refuse)?;
        all.push(Evaluated { resources, outputs, imports: imports.into_inner() });
    }
    Ok(all)
}

type Outputs = BTreeMap<String, Vec<Output>>;

/// Evaluates all outputs, again and again until none changes: one may import another.
fn outputs(
    tx: &Tx<'_>,
    parties: &[Party],
    occupants: &[BTreeMap<String, Resource>],
    index: &Index,
) -> Result<(Index, Outputs), Refusal> {
    let mut index = index.clone();
    let is_party = |id: &str| parties.iter().any(|party| party.stack.info.id == id);
    index.exports.retain(|_, export| !is_party(&export.stack_id));
    let mut outputs = Outputs::new();
    // A chain of imports is not longer than there are stacks.
    for _ in 0..=2 * parties.len() {
        let mut failure = None;
        let before = (index.clone(), outputs.clone());
        for (at, party) in parties.iter().enumerate() {
            let imports = RefCell::default();
            let world = Surroundings {
                tx,
                resources: &occupants[at],
                index: &index,
                outputs: &outputs,
                imports: &imports,
            };
            match engine::outputs(&party.new, &scope(tx, party), &world) {
                Err(reason) => failure = Some(Refusal::of(&party.stack, reason)),
                Ok(found) => {
                    publish(party, &found, &mut index)?;
                    outputs.insert(party.stack.info.id.clone(), found);
                }
            }
        }
        if before == (index.clone(), outputs.clone()) {
            return failure.map_or(Ok((index, outputs)), Err);
        }
    }
    // [I] Outputs that never settle depend on each other.
    Err(Refusal::bare("Circular dependency between the outputs of the stacks"))
}

fn publish(party: &Party, outputs: &[Output], index: &mut Index) -> Result<(), Refusal> {
    let id = &party.stack.info.id;
    for output in outputs {
        let Some(name) = &output.export else { continue };
        if let Some(other) = index.exports.get(name).filter(|other| other.stack_id != *id) {
            let owner = crate::local::stacks::name_part(&other.stack_id);
            let reason = format!("Export with name {name} is already exported by stack {owner}");
            return Err(Refusal::of(&party.stack, reason));
        }
        let (name, value, stack_id) = (name.clone(), output.value.clone(), id.clone());
        index.exports.insert(name.clone(), Export { name, value, stack_id });
    }
    Ok(())
}

/// Refuses to take an export from a stack that is no party, or to change it under its feet. [I]
pub(super) fn check_exports(
    parties: &[Party],
    results: &[Evaluated],
    index: &Index,
) -> Result<(), Refusal> {
    let new: BTreeMap<&str, &str> = results
        .iter()
        .flat_map(|result| &result.outputs)
        .filter_map(|output| Some((output.export.as_deref()?, output.value.as_str())))
        .collect();
    for party in parties {
        let own = index.exports.values().filter(|each| each.stack_id == party.stack.info.id);
        for export in own {
            let is_party = |name: &&String| parties.iter().any(|p| p.stack.info.name == **name);
            let users = index.imports.get(&export.name);
            let users: Vec<&String> =
                users.into_iter().flatten().filter(|name| !is_party(name)).collect();
            let Some(user) = users.first() else { continue };
            let reason = match new.get(export.name.as_str()) {
                Some(value) if *value == export.value => continue,
                Some(_) => {
                    format!("Cannot update export {} as it is in use by {user}", export.name)
                }
                None => {
                    format!("Export {} cannot be deleted as it is in use by {user}", export.name)
                }
            };
            return Err(Refusal::of(&party.stack, reason));
        }
    }
    Ok(())
}

/// A value with its characters outside of ASCII as CloudFormation gives them back.
pub(super) fn ascii(value: &Json) -> Json {
    match value {
        Json::String(text) => given_back(text).into(),
        Json::Array(items) => items.iter().map(ascii).collect(),
        Json::Object(members) => {
            members.iter().map(|(key, value)| (given_back(key), ascii(value))).collect()
        }
        other => other.clone(),
    }
}

/// The metadata of a resource without what may differ.
pub(super) fn without_path(metadata: &Json) -> Json {
    let mut metadata = ascii(metadata);
    if let Json::Object(members) = &mut metadata {
        members.remove("aws:cdk:path");
        if members.is_empty() {
            return Json::Null;
        }
    }
    metadata
}

/// Whether a resource is a nested stack.
pub(super) fn is_nested(resource: &Resource) -> bool {
    resource.resource_type == NESTED
}
