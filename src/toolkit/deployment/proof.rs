//! Whether what moved is still the same after the deployment.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Error;
use super::super::carry_out::Carried;
use super::prepare::Deployment;
use crate::aws::{Depth, ReadRequest, Roles, Wanted};
use crate::event::Silent;
use crate::model::{DeployedEnvironment, Environment, Location};
use crate::run::{self, Kept};

/// What became of every resource that moved, by environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof(pub Vec<(Environment, Vec<Kept>)>);

impl Proof {
    /// Returns how many resources are still the same.
    pub fn same(&self) -> usize {
        self.0.iter().flat_map(|(_, all)| all).filter(|one| one.is_same()).count()
    }

    /// Returns those that are not.
    pub fn others(&self) -> impl Iterator<Item = (&Environment, &Kept)> {
        let all = self
            .0
            .iter()
            .flat_map(|(environment, all)| all.iter().map(move |one| (environment, one)));
        all.filter(|(_, one)| !one.is_same())
    }
}

/// Looks up every resource that moved, and writes into the journals what it finds. That it cannot
/// be looked up is a note: what was to be done is done.
pub(super) async fn prove(deployment: &Deployment, carried: &[Carried]) -> (Proof, Vec<String>) {
    let (mut proof, mut notes) = (Proof::default(), Vec::new());
    for one in carried {
        let read = Box::pin(read(deployment, one)).await;
        let found = match read {
            Ok(deployed) => kept(one, &deployed),
            Err(error) => {
                notes.push(format!(
                    "{}: whether the moved resources are still the same could not be looked up: \
                     {error}",
                    one.environment
                ));
                continue;
            }
        };
        if let Some(journal) = &one.done.journal
            && let Err(error) = run::note_kept(journal, found.clone())
        {
            notes.push(format!("the journal does not say that nothing was replaced: {error}"));
        }
        proof.0.push((one.environment.clone(), found));
    }
    (proof, notes)
}

async fn read(deployment: &Deployment, carried: &Carried) -> Result<DeployedEnvironment, Error> {
    let Some(connection) = &deployment.prepared.connection else {
        let environment = carried.environment.clone();
        return Ok(DeployedEnvironment { environment, stacks: Vec::new(), empty: Vec::new() });
    };
    let roles =
        deployment.prepared.plans.iter().find(|one| one.plan.environment() == carried.environment);
    let roles = roles.map_or_else(Roles::default, |one| one.roles.clone());
    let names: BTreeSet<String> = carried
        .plan
        .net_moves()
        .into_iter()
        .filter_map(|one| one.destination.parse::<Location>().ok())
        .map(|place| root(place.stack.as_str()).to_owned())
        .collect();
    let request = ReadRequest {
        environment: carried.environment.clone(),
        stacks: names.into_iter().map(|name| Wanted { name, roles: roles.clone() }).collect(),
        additional: Vec::new(),
        depth: Depth::Complete,
        wait: None,
        accepts_failed: false,
    };
    Ok(connection.aws.read(&request, &Silent).await?.deployed)
}

fn kept(carried: &Carried, deployed: &DeployedEnvironment) -> Vec<Kept> {
    let moves = carried.plan.net_moves();
    let places: BTreeMap<&str, &str> =
        moves.iter().map(|one| (&*one.source, &*one.destination)).collect();
    let each = moves.iter().map(|one| {
        let place = one.destination.parse::<Location>().ok().map(|place| {
            let stack = now(place.stack.as_str(), &places);
            Location::new(&stack, place.logical_id.as_str())
        });
        let after = place.as_ref().and_then(|place| {
            let stack = deployed.stacks.iter().find(|stack| stack.stack.name == place.stack)?;
            stack.resources.get(place.logical_id.as_str())?.physical_id.clone()
        });
        Kept {
            resource_type: one.resource_type.clone(),
            source: one.source.clone(),
            destination: place.map_or_else(|| one.destination.clone(), |place| place.to_string()),
            before: one.physical_id.clone(),
            after: after.map(|id| id.to_string()),
        }
    });
    each.collect()
}

/// The name of a stack after the moves: a nested one is called after the resource that makes it.
fn now(stack: &str, places: &BTreeMap<&str, &str>) -> String {
    let Some((parent, id)) = stack.rsplit_once('/') else { return stack.to_owned() };
    let moved = places.get(format!("{parent}.{id}").as_str());
    let (parent, id) = moved.and_then(|place| place.split_once('.')).unwrap_or((parent, id));
    format!("{}/{id}", now(parent, places))
}

fn root(stack: &str) -> &str {
    stack.split_once('/').map_or(stack, |(root, _)| root)
}
