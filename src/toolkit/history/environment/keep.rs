//! Writes down what was done in an environment.
//!
//! What is written is what is there: the stacks are read again, and a move counts if the resource
//! is at its new name. Others may write at the same time; whoever comes second reads again and
//! adds to what it finds. That nothing can be written is a note, never a failure: the next run
//! sees by the state of the stacks where the environment stands.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::super::load_log;
use super::bucket;
use super::follow::{Followed, stacks};
use crate::aws::{Depth, ReadRequest, Wait, Wanted, now};
use crate::event::{Event, Host, Silent};
use crate::history::{Arrival, Log, StackRecord, arrived};
use crate::model::{DeployedEnvironment, Environment, Location, StackName};
use crate::plan::{self, Move};
use crate::run;
use crate::settings::Place;
use crate::toolkit::Error;
use crate::toolkit::account::{self, Connection};

/// How often is tried to be faster than others.
const ATTEMPTS: u32 = 20;
/// The pause before the second attempt; each further one is longer.
const PAUSE: Duration = Duration::from_millis(40);

/// How long what still goes on in a stack is waited for.
const PATIENCE: Duration = Duration::from_mins(2);

/// What was done in an environment.
#[derive(Clone, Debug, Default)]
pub(in crate::toolkit) struct Doing {
    /// Moves that were made, or taken back.
    pub(in crate::toolkit) moved: Vec<Move>,
    /// The outermost stacks that may have changed.
    pub(in crate::toolkit) touched: BTreeSet<String>,
    /// Whether all stacks of the app in the environment were deployed.
    pub(in crate::toolkit) is_complete: bool,
}

impl Doing {
    /// What moves have done, whose stacks are touched as well.
    pub(in crate::toolkit) fn of(moved: Vec<Move>, touched: BTreeSet<String>) -> Self {
        let mut doing = Self { moved, touched, is_complete: false };
        let ends = doing.moved.iter().flat_map(|one| [&one.source, &one.destination]);
        let names = ends.filter_map(|place| place.parse::<Location>().ok());
        let names: Vec<String> = names.map(|place| root(place.stack.as_str()).to_owned()).collect();
        doing.touched.extend(names);
        doing.touched = doing.touched.iter().map(|name| root(name).to_owned()).collect();
        doing
    }
}

fn root(stack: &str) -> &str {
    stack.split_once('/').map_or(stack, |(root, _)| root)
}

/// What was written before a use case has come to its end. Unless somebody else has written since,
/// it makes way for what is written then.
#[derive(Clone, Debug)]
pub(in crate::toolkit) struct Provisional {
    /// The log to which it was added.
    base: Log,
    /// What tells the log from any later one.
    tag: String,
}

/// Writes into the log of an environment what was done there, in place of what is `provisional`.
/// Returns what was written, if anything was.
pub(in crate::toolkit) async fn keep(
    connection: &Connection,
    followed: &Followed,
    doing: &Doing,
    provisional: Option<&Provisional>,
    host: &dyn Host,
) -> Option<Provisional> {
    match Box::pin(try_to_keep(connection, followed, doing, provisional)).await {
        Ok(written) => written,
        Err(error) => {
            let text = not_kept(&followed.environment, &*error);
            host.tell(&Event::Note { text });
            None
        }
    }
}

fn not_kept(environment: &Environment, error: &dyn std::error::Error) -> String {
    let mut text =
        format!("{environment}: the log of the environment does not say what was done: {error}");
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    format!(
        "{text}. The next run sees by the state of the stacks where the environment stands, but \
         not if that state has recurred with names exchanged: mend it before the next deployment"
    )
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

async fn try_to_keep(
    connection: &Connection,
    followed: &Followed,
    doing: &Doing,
    provisional: Option<&Provisional>,
) -> Result<Option<Provisional>, Failure> {
    let Followed { environment, repository, stored, log, .. } = followed;
    let Some(place) = &stored.bucket else { return Ok(None) };
    for attempt in 0..ATTEMPTS {
        let read = bucket::read(connection, environment, repository, place.clone()).await;
        let found = read.map_err(Box::new)??;
        let base = match provisional {
            Some(own) if found.tag.as_ref() == Some(&own.tag) => &own.base,
            // What explains the environment explains it as long as nobody else has written.
            _ if found.tag == stored.tag => log,
            _ => &found.log,
        };
        let looked = look(connection, followed, base, doing).await?;
        let (kept, moves) = (kept_ids(&looked.found), made(&doing.moved, &looked.found));
        let time = now();
        let arrival = Arrival {
            environment,
            at: &time,
            stacks: &looked.records,
            moves: &moves,
            kept: &kept,
            is_complete: doing.is_complete,
        };
        let next = arrived(base, repository, &arrival)?;
        let tag = found.tag.as_deref();
        if next == found.log {
            return Ok(None);
        }
        if let Some(tag) = bucket::write(connection, repository, place, &next, tag).await? {
            return Ok(Some(Provisional { base: base.clone(), tag }));
        }
        // Not all at the same time again.
        let own = Duration::from_millis(u64::from(std::process::id() % 17) * 5);
        tokio::time::sleep(PAUSE * (attempt + 1) + own).await;
    }
    Err(format!("others wrote it at the same time, {ATTEMPTS} times").into())
}

/// Stacks as they are now.
struct Looked {
    found: DeployedEnvironment,
    records: BTreeMap<StackName, Option<StackRecord>>,
}

async fn look(
    connection: &Connection,
    followed: &Followed,
    base: &Log,
    doing: &Doing,
) -> Result<Looked, Failure> {
    let Followed { environment, roles, .. } = followed;
    let (logged, wanted) = (stacks(base, environment), stacks(&followed.repository, environment));
    let known = logged.keys().chain(wanted.keys());
    let is_first = base.events().next().is_none();
    let mut names = doing.touched.clone();
    if doing.is_complete || is_first {
        names.extend(known.clone().map(|name| root(name.as_str()).to_owned()));
    }
    let wanted = names.iter().map(|name| Wanted { name: name.clone(), roles: roles.clone() });
    let request = ReadRequest {
        environment: environment.clone(),
        stacks: wanted.collect(),
        additional: Vec::new(),
        depth: if doing.moved.is_empty() { Depth::Comparison } else { Depth::Complete },
        wait: Some(Wait { interval: PATIENCE / 100, limit: PATIENCE }),
        accepts_failed: true,
    };
    let found = Box::pin(connection.aws.read(&request, &Silent)).await?.deployed;
    let mut records: BTreeMap<StackName, Option<StackRecord>> = BTreeMap::new();
    for name in known.filter(|name| names.contains(root(name.as_str()))) {
        records.insert((*name).clone(), None);
    }
    for stack in &found.stacks {
        let mut stack = stack.stack.clone();
        plan::as_the_app_says(&mut stack.template);
        records.insert(stack.name.clone(), Some(StackRecord::of(&stack)));
    }
    Ok(Looked { found, records })
}

/// Resources whose logical IDs were kept: what the app calls them, and what they are called.
fn kept_ids(found: &DeployedEnvironment) -> Vec<(Location, Location)> {
    let kept = found.stacks.iter().flat_map(|stack| {
        let name = stack.stack.name.as_str();
        let ids = plan::kept_ids(&stack.stack.template).into_iter();
        ids.map(move |(new, old)| (Location::new(name, &new), Location::new(name, &old)))
    });
    kept.collect()
}

/// The moves, in either direction, whose resources are where they lead.
fn made(moves: &[Move], found: &DeployedEnvironment) -> Vec<(Location, Location)> {
    let resource = |place: &Location| {
        let stack = found.stacks.iter().find(|stack| stack.stack.name == place.stack)?;
        stack.resources.get(place.logical_id.as_str())
    };
    let is_at = |one: &Move, place: &Location, other: &Location| match (
        &one.physical_id,
        resource(place),
    ) {
        (_, None) => false,
        (Some(id), Some(now)) => now.physical_id.as_deref() == Some(id.as_str()),
        (None, Some(now)) => {
            now.resource_type.as_str() == one.resource_type.as_str() && resource(other).is_none()
        }
    };
    let mut made = Vec::new();
    for one in moves {
        let ends = one.source.parse::<Location>().ok().zip(one.destination.parse().ok());
        let Some((source, destination)) = ends else { continue };
        if is_at(one, &destination, &source) {
            made.push((source, destination));
        } else if is_at(one, &source, &destination) {
            made.push((destination, source));
        }
    }
    made
}

/// Writes into the log of an environment what a run has done, or what was undone of it. Without
/// what was known when it was planned the logs are read again. Returns what [`keep`] does.
pub(in crate::toolkit) async fn keep_run(
    place: &Place,
    journal: &Path,
    followed: Option<&Followed>,
    host: &dyn Host,
) -> Option<Provisional> {
    let (origin, past) = (run::origin(journal).ok()?, run::past(journal).ok()?);
    let touched = past.sent.keys().chain(past.before.keys()).cloned().collect();
    let doing = Doing::of(past.moves, touched);
    let known = async {
        let repository = if place.history { load_log(&place.project)? } else { None };
        let Some(repository) = repository else { return Ok(None) };
        let connection = account::connect(&place.account).await?;
        let followed = match followed {
            Some(followed) => Some(followed.clone()),
            None => known(place, &connection, repository, &origin).await?,
        };
        Ok::<_, Error>(followed.map(|followed| (connection, followed)))
    };
    match Box::pin(known).await {
        Ok(known) => {
            let (connection, followed) = known?;
            keep(&connection, &followed, &doing, None, host).await
        }
        Err(error) => {
            host.tell(&Event::Note { text: not_kept(&origin.environment, &error) });
            None
        }
    }
}

/// What is known of an environment without a look at the app; `None` if there is no place for its
/// log.
async fn known(
    place: &Place,
    connection: &Connection,
    repository: Log,
    origin: &run::Origin,
) -> Result<Option<Followed>, Error> {
    let run::Origin { environment, roles, .. } = origin;
    let bucket = bucket::find(place, connection, environment, roles).await?;
    let stored = bucket::read(connection, environment, &repository, bucket).await?.ok();
    Ok(stored.map(|stored| Followed::unread(environment, Arc::new(repository), stored, roles)))
}
