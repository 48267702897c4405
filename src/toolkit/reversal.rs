//! Moving back what a file of decisions says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::account::{self, Connection};
use super::planning::{Planned, Prepared};
use super::{Error, Outcome};
use crate::aws::{Depth, ReadRequest, Roles, Wait, Wanted};
use crate::event::Host;
use crate::model::{DeployedEnvironment, Environment, Location};
use crate::plan::{self, Move, Past};
use crate::settings::{Named, Pair, Place, mapping_file};

/// Why a file of decisions cannot be moved back.
#[derive(Debug, thiserror::Error)]
pub enum ReversalError {
    /// It names constructs.
    #[error("{origin}: `{name}` is a construct path; to move back, name `Stack.LogicalId`")]
    Path {
        /// The name.
        name: String,
        /// The file.
        origin: String,
    },
    /// It names several resources at once.
    #[error("{origin}: `{name}` has wildcards; to move back, name every `Stack.LogicalId`")]
    Pattern {
        /// The name.
        name: String,
        /// The file.
        origin: String,
    },
    /// What is to move back is not there.
    #[error("{origin}: `{location}` is not deployed in {environment}")]
    NotDeployed {
        /// The place.
        location: Location,
        /// The account and region.
        environment: Environment,
        /// The file.
        origin: String,
    },
    /// It says nothing.
    #[error("{0}: there is nothing in it to move back")]
    Empty(String),
}

/// Plans to move back what a file of decisions says: from the second place of each pair to the
/// first. Without account or region in the file, those of the credentials are meant.
///
/// # Errors
/// When the file is malformed, when it names what is not deployed, or when AWS refuses.
pub async fn prepare_reversal(
    place: &Place,
    file: &Path,
    host: &dyn Host,
) -> Result<Prepared, Error> {
    let pairs = mapping_file(&place.project, file)?;
    if pairs.is_empty() {
        return Err(ReversalError::Empty(file.display().to_string()).into());
    }
    let connection = account::connect(&place.account).await?;
    let mut environments: BTreeMap<Environment, Vec<&Pair>> = BTreeMap::new();
    for pair in &pairs {
        let named = |part: &Option<String>, open: &str| part.clone().unwrap_or(open.to_owned());
        let open = Environment::new(
            &named(&pair.scope.account, "unknown-account"),
            &named(&pair.scope.region, "unknown-region"),
        );
        environments.entry(connection.aws.resolve(&open).await?).or_default().push(pair);
    }
    let (mut plans, mut outcome) = (Vec::new(), Outcome::default());
    for (environment, pairs) in environments {
        let planned = environment_plan(place, &connection, environment, &pairs, host);
        let (planned, warnings) = Box::pin(planned).await?;
        outcome.warnings.extend(warnings);
        plans.push(planned);
    }
    Ok(Prepared { outcome, plans, connection: Some(connection), ..Prepared::nothing() })
}

async fn environment_plan(
    place: &Place,
    connection: &Connection,
    environment: Environment,
    pairs: &[&Pair],
    host: &dyn Host,
) -> Result<(Planned, Vec<String>), Error> {
    let ends = pairs.iter().map(|pair| ends(pair)).collect::<Result<Vec<_>, _>>()?;
    let names: BTreeSet<&str> = ends
        .iter()
        .flat_map(|(source, destination)| [source.stack.as_str(), destination.stack.as_str()])
        .map(|name| name.split_once('/').map_or(name, |(root, _)| root))
        .collect();
    let wanted =
        names.iter().map(|name| Wanted { name: (*name).to_owned(), roles: Roles::default() });
    let request = ReadRequest {
        environment: environment.clone(),
        stacks: wanted.collect(),
        additional: Vec::new(),
        depth: Depth::Complete,
        wait: place.account.wait.then(Wait::default),
        accepts_failed: false,
    };
    let read = Box::pin(connection.aws.read(&request, host)).await?;
    let mut moves = Vec::new();
    for ((source, destination), pair) in ends.iter().zip(pairs) {
        let found = resource(&read.deployed, destination).ok_or_else(|| {
            let location = (*destination).clone();
            let origin = pair.origin.clone();
            ReversalError::NotDeployed { location, environment: environment.clone(), origin }
        })?;
        moves.push(Move::new(
            &found.resource_type,
            found.physical_id.as_deref(),
            source,
            destination,
        ));
    }
    let plan = plan::reverse(&read.deployed, &moves, Past::default());
    let planned = Planned { plan, roles: Roles::default(), new_stacks: BTreeMap::new() };
    Ok((planned, read.warnings))
}

fn ends(pair: &Pair) -> Result<(&Location, &Location), ReversalError> {
    Ok((location(&pair.source, &pair.origin)?, location(&pair.destination, &pair.origin)?))
}

fn location<'a>(named: &'a Named, origin: &str) -> Result<&'a Location, ReversalError> {
    match named {
        Named::Location(location) => Ok(location),
        Named::Path(path) => {
            Err(ReversalError::Path { name: path.to_string(), origin: origin.to_owned() })
        }
        Named::Pattern(pattern) => {
            Err(ReversalError::Pattern { name: pattern.to_string(), origin: origin.to_owned() })
        }
    }
}

fn resource<'a>(
    deployed: &'a DeployedEnvironment,
    location: &Location,
) -> Option<&'a crate::model::DeployedResource> {
    let stack = deployed.stacks.iter().find(|stack| stack.stack.name == location.stack)?;
    stack.resources.get(location.logical_id.as_str())
}
