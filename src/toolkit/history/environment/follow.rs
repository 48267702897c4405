//! What the logs decide about an environment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::FollowError;
use super::bucket::{Histories, Stored};
use crate::aws::Roles;
use crate::compare::{self, Comparison, DecidedPair, Evidence, Reference, Settled};
use crate::history::{
    Advance, EventHash, Log, Mapping, Snapshot, StackRecord, recurring, replay, standing,
};
use crate::model::{Environment, Location, ResourceType, StackName};
use crate::registry;
use crate::toolkit::Error;
use crate::toolkit::account;
use crate::toolkit::detect::Sides;

/// Who says what the log says.
const ORIGIN: &str = crate::toolkit::history::HISTORY_FILE;

/// What the logs decide about an environment.
#[derive(Clone, Debug)]
pub(in crate::toolkit) struct Followed {
    pub(super) environment: Environment,
    pub(super) repository: Arc<Log>,
    pub(super) stored: Stored,
    /// The log that explains the environment, which may not be the one that is stored.
    pub(super) log: Log,
    /// The roles of the app's stacks there.
    pub(super) roles: Roles,
    /// Moves.
    pub(in crate::toolkit) pairs: Vec<DecidedPair>,
    /// What is known besides.
    pub(in crate::toolkit) settled: Settled,
    /// Deployed resources that hold data and that no event of this repository has: another checkout
    /// has moved or created them.
    strangers: BTreeSet<Location>,
    /// Stacks that somebody else has changed and in which resources are to move, with what is the
    /// matter, and between which stacks these moves are.
    contested: Vec<(String, BTreeSet<StackName>)>,
}

/// The stacks of an environment by their names.
type Stacks<'a> = BTreeMap<&'a StackName, &'a StackRecord>;

impl Histories {
    /// Finds out where an environment stands and what has to be moved there. Takes stacks out of
    /// `sides` that were only read because the environment might have them.
    ///
    /// # Errors
    /// When the environment may not, or cannot safely, be brought to the state of the app.
    pub(in crate::toolkit) fn follow(
        &self,
        environment: &Environment,
        sides: &mut Sides,
        additional: &[String],
        warnings: &mut Vec<String>,
    ) -> Result<Option<Followed>, Error> {
        let Some(stored) = self.environments.get(environment) else { return Ok(None) };
        let repository = &self.repository;
        let actual = self.actual(environment, stored, sides);
        let is_new = stored.log.events().next().is_none();
        let is_as_logged = !is_new && {
            let there: BTreeMap<&StackName, &StackRecord> = actual.iter().collect();
            stacks(&stored.log, environment) == there
        };
        let found = (!is_as_logged)
            .then(|| standing(&stored.log, repository, environment, &actual, ""))
            .flatten();
        let log = found.as_ref().map_or_else(|| stored.log.clone(), |found| found.log.clone());
        if let Some(found) = &found
            && !is_new
        {
            warnings.push(format!(
                "{environment} is not as its log says: something was deployed there without it. \
                 {} the state of the event {}, and that is where it goes on from",
                if found.is_whole { "It has" } else { "Stacks have" },
                found.event.short()
            ));
        }
        drop_strangers(&log, environment, sides, additional);
        let roles = sides.properties.values().next().map(account::roles).transpose()?;
        let roles = roles.unwrap_or_default();
        let mut followed =
            Followed::unread(environment, Arc::clone(repository), stored.clone(), &roles);
        followed.log = log;
        let unclear = (!is_as_logged && found.is_none())
            .then(|| recurring(&stored.log, repository, environment, &actual))
            .flatten();
        if let Some((one, other)) = unclear {
            let phrase = format!(
                "its stacks are as at the events {} and {}, between which resources have exchanged \
                 their names",
                one.short(),
                other.short()
            );
            followed.contested.push((phrase, actual.keys().cloned().collect()));
            return Ok(Some(followed));
        }
        if followed.log.events().next().is_none() {
            if !actual.is_empty() {
                warnings.push(format!(
                    "{environment} has no log yet, and its stacks have the state of no event: the \
                     evidence decides, and its log begins with this deployment"
                ));
            }
            return Ok(Some(followed));
        }
        let refused = |source| {
            Error::from(FollowError::Replay {
                environment: environment.clone(),
                source: Box::new(source),
            })
        };
        let advance = replay(&followed.log, repository, environment).map_err(refused)?;
        advance.permitted().map_err(refused)?;
        let mappings = match &advance {
            Advance::Forward { mappings, .. } | Advance::Back { mappings, .. } => &mappings[..],
            _ => &[],
        };
        if !is_as_logged && found.is_none() {
            followed.contested = behind(&followed.log, environment, &actual, mappings, warnings);
        }
        followed.decide(mappings, &actual);
        Ok(Some(followed))
    }

    /// The stacks of the environment that either log knows, as they are deployed.
    fn actual(
        &self,
        environment: &Environment,
        stored: &Stored,
        sides: &Sides,
    ) -> BTreeMap<StackName, StackRecord> {
        let logs = [&*self.repository, &stored.log];
        let states = logs
            .into_iter()
            .flat_map(|log| log.events().filter_map(move |(hash, _)| log.snapshot(hash)));
        let keys = states.flat_map(Snapshot::stacks).map(|(key, _)| key);
        let known: BTreeSet<&StackName> =
            keys.filter(|key| key.scope.contains(environment)).map(|key| &key.name).collect();
        let deployed = sides.deployed.iter().filter(|stack| known.contains(&stack.name));
        deployed.map(|stack| (stack.name.clone(), StackRecord::of(stack))).collect()
    }
}

/// Takes out stacks that neither the app has nor the environment, nor somebody has named.
fn drop_strangers(log: &Log, environment: &Environment, sides: &mut Sides, named: &[String]) {
    let own = stacks(log, environment);
    let is_known = |name: &StackName| {
        let root = name.as_str().split_once('/').map_or(name.as_str(), |(root, _)| root);
        own.keys().any(|own| own.as_str() == root)
            || sides.local.iter().any(|stack| stack.name.as_str() == root)
            || named.iter().any(|named| named == root)
    };
    sides.deployed.retain(|stack| is_known(&stack.name));
    if let Some(account) = &mut sides.account {
        account.stacks.retain(|stack| is_known(&stack.stack.name));
    }
}

/// Tells of stacks that are not as the log says. Returns those in which resources are to move,
/// unless their resources are those of the log, or everything has moved there already.
fn behind(
    log: &Log,
    environment: &Environment,
    actual: &BTreeMap<StackName, StackRecord>,
    mappings: &[Mapping],
    warnings: &mut Vec<String>,
) -> Vec<(String, BTreeSet<StackName>)> {
    let logged = stacks(log, environment);
    let names: BTreeSet<&StackName> = logged.keys().copied().chain(actual.keys()).collect();
    let kind = |location: &Location| {
        let resources = &actual.get(&location.stack)?.resources;
        Some(&resources.get(&location.logical_id)?.resource_type)
    };
    let is_done = |it: &Mapping| {
        kind(&it.source) != Some(&it.resource_type)
            && kind(&it.destination) == Some(&it.resource_type)
    };
    let open: Vec<&Mapping> = mappings.iter().filter(|it| !is_done(it)).collect();
    let (mut told, mut contested) = (Vec::new(), Vec::new());
    for name in names {
        let phrase = match (logged.get(name), actual.get(name)) {
            (Some(was), Some(is)) if *was == is => continue,
            (Some(was), Some(is)) if types(was) == types(is) => {
                told.push(format!("stack {name} has another template"));
                continue;
            }
            // What is not there can neither be moved nor lost.
            (Some(_), None) => {
                told.push(format!("stack {name} is not there any more"));
                continue;
            }
            (Some(was), Some(is)) => format!("stack {name} has {}", difference(was, is)),
            (None, _) => format!("stack {name} was not there"),
        };
        told.push(phrase.clone());
        let ends = open.iter().map(|it| [&it.source.stack, &it.destination.stack]);
        let ends: BTreeSet<StackName> =
            ends.filter(|ends| ends.contains(&name)).flatten().cloned().collect();
        if !ends.is_empty() {
            contested.push((phrase, ends));
        }
    }
    if !told.is_empty() {
        warnings
            .push(format!("{environment} was changed behind its log's back: {}", told.join("; ")));
    }
    contested
}

/// What names and types say of a stack.
fn types(record: &StackRecord) -> BTreeMap<&str, &str> {
    let all = record.resources.iter();
    all.map(|(id, resource)| (id.as_str(), resource.resource_type.as_str())).collect()
}

/// Which resources a stack has and has not, compared with the log.
fn difference(was: &StackRecord, is: &StackRecord) -> String {
    let (old, new) = (types(was), types(is));
    let only = |one: &BTreeMap<&str, &str>, other: &BTreeMap<&str, &str>| {
        let own = one.iter().filter(|(id, kind)| other.get(*id) != Some(*kind));
        own.map(|(id, _)| format!("`{id}`")).collect::<Vec<_>>()
    };
    let (more, less) = (only(&new, &old), only(&old, &new));
    match (more.is_empty(), less.is_empty()) {
        (false, true) => format!("{} besides", more.join(", ")),
        (true, false) => format!("no {} any more", less.join(", ")),
        _ => format!("{} in place of {}", more.join(", "), less.join(", ")),
    }
}

/// The stacks of an environment at the last event of a log.
pub(super) fn stacks<'a>(log: &'a Log, environment: &Environment) -> Stacks<'a> {
    let head = log.head().ok().flatten();
    let all = head.and_then(|head| log.snapshot(head)).into_iter().flat_map(Snapshot::stacks);
    let mine = all.filter(|(key, _)| key.scope.contains(environment));
    mine.map(|(key, record)| (&key.name, record)).collect()
}

fn origin(events: &[EventHash]) -> String {
    let hashes: Vec<String> = events.iter().map(EventHash::short).collect();
    match hashes.len() {
        0 => ORIGIN.to_owned(),
        1 => format!("{ORIGIN}, event {}", hashes[0]),
        _ => format!("{ORIGIN}, events {}", hashes.join(", ")),
    }
}

impl Followed {
    /// What is known of an environment without a look at it.
    pub(super) fn unread(
        environment: &Environment,
        repository: Arc<Log>,
        stored: Stored,
        roles: &Roles,
    ) -> Self {
        Self {
            environment: environment.clone(),
            repository,
            log: stored.log.clone(),
            stored,
            roles: roles.clone(),
            pairs: Vec::new(),
            settled: Settled::default(),
            strangers: BTreeSet::new(),
            contested: Vec::new(),
        }
    }

    /// Refuses to work with stacks that somebody else has changed and in which resources are to
    /// move.
    ///
    /// # Errors
    /// When one of these stacks is meant.
    pub(in crate::toolkit) fn check(
        &self,
        is_meant: impl Fn(&Environment, &StackName) -> bool,
    ) -> Result<(), Error> {
        let is_root_meant = |name: &StackName| {
            let root = name.as_str().split_once('/').map_or(name.as_str(), |(root, _)| root);
            is_meant(&self.environment, &StackName::from(root))
        };
        let mine = self.contested.iter().filter(|(_, ends)| ends.iter().any(is_root_meant));
        let stacks: Vec<String> = mine.map(|(phrase, _)| phrase.clone()).collect();
        if stacks.is_empty() {
            return Ok(());
        }
        let environment = self.environment.clone();
        Err(FollowError::ChangedBehind { environment, stacks }.into())
    }

    /// Whether the log knows what the environment's resources were called.
    pub(in crate::toolkit) fn covers(&self) -> bool {
        self.log.events().next().is_some()
    }

    /// Refuses decisions of people that the log denies: it would not know of them afterwards, and
    /// take the resource for another one.
    ///
    /// # Errors
    /// When there is such a decision.
    pub(in crate::toolkit) fn check_decided(
        &self,
        comparison: &Comparison,
        only: bool,
    ) -> Result<(), Error> {
        let environment = || self.environment.clone();
        if !self.covers() {
            return Ok(());
        }
        if only {
            return Err(FollowError::AllowList { environment: environment() }.into());
        }
        let known = |location: &Location| Reference::Location(location.clone());
        let is_known = |mapping: &&compare::Mapping| {
            // Of a stranger the log says nothing that could be denied.
            if self.strangers.contains(&mapping.source.location) {
                return true;
            }
            let (source, destination) =
                (known(&mapping.source.location), known(&mapping.destination.location));
            self.pairs.iter().any(|one| one.source == source && one.destination == destination)
        };
        let decided = comparison
            .mappings
            .iter()
            .filter(|one| matches!(one.evidence, Evidence::Decision(_)) && !is_known(one));
        let phrase = |one: &compare::Mapping| {
            let (source, destination) = (&one.source.location, &one.destination.location);
            let Evidence::Decision(origin) = &one.evidence else { return String::new() };
            format!("`{source}` is `{destination}` now, as {origin} does")
        };
        let moves: Vec<String> = decided.map(phrase).collect();
        if moves.is_empty() {
            return Ok(());
        }
        Err(FollowError::Denied { environment: environment(), moves }.into())
    }

    /// The strangers among deployed resources, with their types: only the evidence can tell what
    /// they are.
    fn strangers(&self, now: &Stacks<'_>) -> BTreeMap<Location, ResourceType> {
        // What is deployed is mostly in the newest.
        let events = self.repository.events().rev();
        let states: Vec<&Snapshot> =
            events.filter_map(|(hash, _)| self.repository.snapshot(hash)).collect();
        let mut found = BTreeMap::new();
        for (name, record) in now {
            for (id, resource) in &record.resources {
                let location = Location { stack: (*name).clone(), logical_id: id.clone() };
                let kind = &resource.resource_type;
                let has_it = |state: &&Snapshot| {
                    let there = state.resource(&self.environment, &location);
                    there.is_some_and(|there| there.resource_type == *kind)
                };
                if registry::is_stateful(kind.as_str()) && !states.iter().any(has_it) {
                    found.insert(location, kind.clone());
                }
            }
        }
        found
    }

    /// Decides what is in a stack of its own. The log does not say what moves along with a nested
    /// stack; the evidence does.
    fn decide(&mut self, mappings: &[Mapping], actual: &BTreeMap<StackName, StackRecord>) {
        let (now, goal) =
            (stacks(&self.log, &self.environment), stacks(&self.repository, &self.environment));
        let kind = |stacks: &Stacks<'_>, location: &Location| {
            let record = stacks.get(&location.stack)?;
            Some(record.resources.get(&location.logical_id)?.resource_type.clone())
        };
        let deployed: Stacks<'_> = actual.iter().collect();
        let is_deployed = |location: &Location| kind(&deployed, location).is_some();
        let sources: BTreeMap<&Location, &Mapping> =
            mappings.iter().map(|mapping| (&mapping.source, mapping)).collect();
        let destinations: BTreeMap<&Location, &Mapping> =
            mappings.iter().map(|mapping| (&mapping.destination, mapping)).collect();
        let mut pairs = Vec::new();
        for mapping in mappings {
            let is_there = kind(&deployed, &mapping.source).as_ref()
                == Some(&mapping.resource_type)
                && kind(&goal, &mapping.destination).as_ref() == Some(&mapping.resource_type);
            // What is not there any more was deleted behind the log's back.
            if is_there {
                pairs.push(DecidedPair {
                    source: Reference::Location(mapping.source.clone()),
                    destination: Reference::Location(mapping.destination.clone()),
                    origin: origin(&mapping.events),
                });
            }
        }
        let mut settled = Settled { origin: ORIGIN.to_owned(), ..Settled::default() };
        let outermost = |stacks: &Stacks<'_>| -> Vec<Location> {
            let own = stacks.iter().filter(|(name, _)| !name.as_str().contains('/'));
            let all = own.flat_map(|(name, record)| {
                let id = |id| Location { stack: (*name).clone(), logical_id: id };
                record.resources.keys().cloned().map(id)
            });
            all.collect()
        };
        let strangers = self.strangers(&now);
        for location in outermost(&now) {
            if !sources.contains_key(&location) && !strangers.contains_key(&location) {
                settled.deployed.insert(location);
            }
        }
        for location in outermost(&goal) {
            let before = match destinations.get(&location) {
                Some(mapping) => Some(&mapping.source),
                None => (kind(&now, &location) == kind(&goal, &location)
                    && !sources.contains_key(&location))
                .then_some(&location),
            };
            // What should be there and is not may be called otherwise.
            let may_be_stranger = before.is_none()
                && strangers.values().any(|other| kind(&goal, &location).as_ref() == Some(other));
            let is_settled = before.is_none_or(is_deployed) && !may_be_stranger;
            if is_settled && !destinations.contains_key(&location) {
                settled.local.insert(location);
            }
        }
        self.pairs = pairs;
        self.settled = settled;
        self.strangers = strangers.into_keys().collect();
    }
}
