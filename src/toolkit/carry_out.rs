//! Carrying out what was prepared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::history::{self, Followed, Provisional};
use super::planning::{Prepared, Refusals, prepare_without, records};
use super::{Error, drift, files};
use crate::aws::Roles;
use crate::event::{Event, Host};
use crate::model::{Environment, StackOptions};
use crate::plan::drift::Verification;
use crate::plan::{Action, Plan, Refused};
use crate::run::{Done, JournalError, Problem, RunError, RunOptions, RunState, Runner, runs};
use crate::settings::{Account, Place, Settings};

/// The directory of journals, in that of our records.
const RUNS: &str = "runs";
/// The pause between two looks at the embedded CloudFormation.
const LOCAL_INTERVAL: Duration = Duration::from_millis(50);

/// Becomes `true` when a run is to stop at the next safe point.
pub type Cancel = watch::Receiver<bool>;

/// A run that has ended well.
#[derive(Clone, Debug)]
pub struct Carried {
    /// The account and region.
    pub environment: Environment,
    /// What was carried out.
    pub plan: Plan,
    /// Its journal and its stacks.
    pub done: Done,
}

/// How far it was carried out.
pub(super) struct Progress {
    /// The runs that have ended well.
    pub(super) carried: Vec<Carried>,
    /// What was carried out in the end, or why it has stopped.
    pub(super) result: Result<Prepared, Error>,
}

/// Carries out what was prepared, one environment after the other. When CloudFormation refuses a
/// type in a preview, which changes nothing, the plan is made again without it, from the settings
/// if there are any.
///
/// # Errors
/// When a plan is refused or fails, or an earlier run was interrupted. Environments after the one
/// that fails are not begun.
pub async fn carry_out(
    place: &Place,
    settings: Option<&Settings>,
    prepared: Prepared,
    host: &dyn Host,
    cancel: &Cancel,
) -> Result<Vec<Carried>, Error> {
    let Progress { carried, result } =
        Box::pin(carry_out_all(place, settings, prepared, host, cancel)).await;
    result.map(|_| carried)
}

/// Carries out what was prepared as [`carry_out`] does, and reads the state of every resource that
/// moves before and after it: nothing of it may have changed but the tags of CloudFormation.
///
/// # Errors
/// As [`carry_out`], and when an account cannot be read. A resource that is not what it was is no
/// error here.
pub async fn carry_out_verified(
    place: &Place,
    settings: Option<&Settings>,
    prepared: Prepared,
    host: &dyn Host,
    cancel: &Cancel,
) -> Result<(Vec<Carried>, Result<Vec<Verification>, Error>), Error> {
    let before = Box::pin(drift::before(&prepared, &place.account, host)).await?;
    let Progress { carried, result } =
        Box::pin(carry_out_all(place, settings, prepared, host, cancel)).await;
    let prepared = result?;
    let verified = match &prepared.connection {
        Some(connection) => Box::pin(drift::after(&before, connection, &carried, host)).await,
        None => Ok(Vec::new()),
    };
    Ok((carried, verified))
}

async fn carry_out_all(
    place: &Place,
    settings: Option<&Settings>,
    prepared: Prepared,
    host: &dyn Host,
    cancel: &Cancel,
) -> Progress {
    let again = async |refusals: &Refusals| match settings {
        Some(settings) => {
            let again = Box::pin(prepare_without(settings, refusals, host)).await?;
            // What the service does not move may be what must not be replaced.
            again.outcome.allowed()?;
            Ok(Some(again))
        }
        None => Ok(None),
    };
    let histories = prepared.histories();
    let progress = Box::pin(carry_out_with(place, prepared, again, host, cancel)).await;
    let Progress { carried, result } = &progress;
    Box::pin(keep_moves(place, &histories, carried, result.as_ref().err(), host)).await;
    progress
}

/// Writes into the logs of the environments what runs have done, also one that has failed. Returns
/// what was written.
pub(super) async fn keep_moves(
    place: &Place,
    histories: &BTreeMap<Environment, Arc<Followed>>,
    carried: &[Carried],
    error: Option<&Error>,
    host: &dyn Host,
) -> BTreeMap<Environment, Provisional> {
    let runs =
        carried.iter().filter_map(|one| Some((&one.environment, one.done.journal.as_ref()?)));
    let failed = match error {
        // Whoever has stopped it does not want to wait, and has to continue or to undo it.
        Some(Error::Run { environment, source }) if source.done > 0 && !source.is_cancelled() => {
            source.journal.as_ref().map(|journal| (environment, journal))
        }
        _ => None,
    };
    let mut kept = BTreeMap::new();
    for (environment, journal) in runs.chain(failed) {
        let followed = histories.get(environment).map(|followed| &**followed);
        let written = Box::pin(history::keep_run(place, journal, followed, host)).await;
        kept.extend(written.map(|written| (environment.clone(), written)));
    }
    kept
}

/// Carries out what was prepared as [`carry_out`] does; `again` prepares it without what the
/// service refuses, or not at all.
pub(super) async fn carry_out_with(
    place: &Place,
    prepared: Prepared,
    again: impl AsyncFn(&Refusals) -> Result<Option<Prepared>, Error>,
    host: &dyn Host,
    cancel: &Cancel,
) -> Progress {
    let directory = journals(&place.project);
    let mut work = Work { place, host, cancel, directory, carried: Vec::new() };
    let result = work.all(prepared, again).await;
    Progress { carried: work.carried, result }
}

fn planning_again(refused: &Failed, name: &str, words: &str) -> String {
    format!(
        "{}: CloudFormation does not move {name} ({}). The preview of step {} changed nothing; \
         planning again without the type",
        refused.environment,
        words.trim_end_matches('.'),
        refused.error.done + 1
    )
}

/// The moves of all plans: environment, old and new place.
fn moves(prepared: &Prepared) -> BTreeSet<(String, String, String)> {
    let all = prepared.plans.iter().flat_map(|one| {
        let environment = one.plan.environment().to_string();
        let moves = one.plan.net_moves().into_iter();
        moves.map(move |each| (environment.clone(), each.source, each.destination))
    });
    all.collect()
}

/// What is planned again may do less than what somebody has agreed to, and nothing else.
fn check_confirmed(confirmed: &Prepared, again: &Prepared) -> Result<(), Error> {
    let (before, now) = (moves(confirmed), moves(again));
    if let Some((environment, source, destination)) = now.difference(&before).next() {
        let (source, destination) = (source.clone(), destination.clone());
        return Err(Error::NotConfirmed {
            environment: environment.clone(),
            source_name: source,
            destination,
        });
    }
    if again.outcome.ambiguities() > confirmed.outcome.ambiguities() {
        return Err(Error::NewQuestions);
    }
    Ok(())
}

/// What stays now and was to move before, a sentence each.
fn newly_staying(confirmed: &Prepared, again: &Prepared) -> Vec<String> {
    let known: BTreeSet<&str> = confirmed
        .plans
        .iter()
        .flat_map(|one| &one.plan.staying)
        .map(|staying| staying.source.as_str())
        .collect();
    let now = again.plans.iter().flat_map(|one| &one.plan.staying);
    now.filter(|staying| !known.contains(staying.source.as_str()))
        .map(|staying| {
            let danger = if staying.dangerous { " Dangerous:" } else { "" };
            format!("{} stays.{danger} {}", staying.source, staying.consequence)
        })
        .collect()
}

/// What goes on.
struct Work<'a> {
    place: &'a Place,
    host: &'a dyn Host,
    cancel: &'a Cancel,
    /// Where journals are kept.
    directory: PathBuf,
    carried: Vec<Carried>,
}

/// A run that CloudFormation has refused.
struct Failed {
    environment: Environment,
    error: RunError,
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        let Failed { environment, error } = failed;
        Self::Run { environment, source: Box::new(error) }
    }
}

impl Work<'_> {
    async fn all(
        &mut self,
        mut prepared: Prepared,
        again: impl AsyncFn(&Refusals) -> Result<Option<Prepared>, Error>,
    ) -> Result<Prepared, Error> {
        if let Some(journal) = interrupted_run(self.place)? {
            return Err(Error::Interrupted { journal });
        }
        let path = records(&self.place.project);
        files::keep_out_of_git(&path).map_err(|error| JournalError::Io { path, error })?;
        let mut refusals = Refusals::new();
        // Ends, since every turn leaves out a type that the turns before it did not.
        loop {
            let Some(refused) = self.attempt(&prepared).await? else { return Ok(prepared) };
            let Some((name, words)) = refused_type(&refused.error) else {
                return Err(refused.into());
            };
            let known = refusals.entry(refused.environment.clone()).or_default();
            if known.insert(Refused::Type(name.as_str().into()), words.clone()).is_some() {
                return Err(refused.into());
            }
            let note = planning_again(&refused, &name, &words);
            let Some(next) = again(&refusals).await? else { return Err(refused.into()) };
            self.host.tell(&Event::Note { text: note });
            let confirmed = std::mem::replace(&mut prepared, next);
            check_confirmed(&confirmed, &prepared)?;
            for staying in newly_staying(&confirmed, &prepared) {
                self.host.tell(&Event::Note { text: staying });
            }
        }
    }

    /// Carries out the plans of environments that are not done yet. Returns the first that
    /// CloudFormation refuses for a type in it.
    async fn attempt(&mut self, prepared: &Prepared) -> Result<Option<Failed>, Error> {
        let Some(connection) = &prepared.connection else { return Ok(None) };
        for planned in &prepared.plans {
            let environment = planned.plan.environment();
            let is_done = self.carried.iter().any(|other| other.environment == environment);
            if is_done || planned.plan.steps.is_empty() {
                continue;
            }
            let options = RunOptions {
                new_stacks: planned.new_stacks.clone(),
                ..options(&self.place.account, &planned.roles, self.cancel)
            };
            let runner = Runner::new(&connection.aws, planned.roles.clone(), self.host, options);
            match Box::pin(runner.run(&planned.plan, &self.directory)).await {
                Ok(done) => {
                    let plan = planned.plan.clone();
                    self.carried.push(Carried { environment, plan, done });
                }
                Err(error) => {
                    let failed = Failed { environment, error };
                    return match refused_type(&failed.error) {
                        Some(_) => Ok(Some(failed)),
                        None => Err(failed.into()),
                    };
                }
            }
        }
        Ok(None)
    }
}

impl Carried {
    /// Returns how many resources were moved.
    pub fn moves(&self) -> usize {
        let moves = self.plan.steps.iter().map(|step| match &step.action {
            Action::Refactor(batch) => batch.moves.len(),
            Action::Change(_) => 0,
        });
        moves.sum()
    }
}

/// A type that the service refuses, and its words.
type RefusedType = (String, String);

fn refused_type(error: &RunError) -> Option<RefusedType> {
    let Problem::Refused(reason) = &*error.problem else { return None };
    let name = reason.resource_type.clone().filter(|_| reason.is_about_type)?;
    Some((name, reason.text.clone()))
}

/// Returns the journal of a run that was interrupted. It may have left half of its moves: whoever
/// plans over it would plan from a state that nobody wanted.
///
/// # Errors
/// When the directory of journals cannot be read.
pub fn interrupted_run(place: &Place) -> Result<Option<PathBuf>, Error> {
    let runs = runs(&journals(&place.project))?;
    let interrupted = runs.into_iter().find(|run| run.state == RunState::Interrupted);
    Ok(interrupted.map(|run| run.path))
}

/// Where journals are kept.
pub(super) fn journals(project: &Path) -> PathBuf {
    records(project).join(RUNS)
}

pub(super) fn options(account: &Account, roles: &Roles, cancel: &Cancel) -> RunOptions {
    let default = RunOptions::default();
    RunOptions {
        interval: interval(account).unwrap_or(default.interval),
        limit: account.wait_limit.unwrap_or(default.limit),
        toolkit_stack: account.toolkit_stack_name.value.clone(),
        qualifier: qualifier(roles).unwrap_or(default.qualifier),
        cancel: Some(cancel.clone()),
        new_stacks: BTreeMap::<String, StackOptions>::new(),
        ..RunOptions::default()
    }
}

/// The pause between two looks at something that goes on, if it is not the usual one.
pub(super) fn interval(account: &Account) -> Option<Duration> {
    account.poll_interval.or(account.local.as_ref().map(|_| LOCAL_INTERVAL))
}

/// The qualifier of the bootstrap resources, as the role to deploy with shows it:
/// `cdk-QUALIFIER-deploy-role-…`.
pub(super) fn qualifier(roles: &Roles) -> Option<String> {
    let (_, name) = roles.deploy.as_ref()?.arn.rsplit_once('/')?;
    let (qualifier, _) = name.strip_prefix("cdk-")?.split_once("-deploy-role-")?;
    Some(qualifier.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::Role;

    #[test]
    fn the_qualifier_of_the_bootstrap_is_that_of_the_role_to_deploy_with() {
        let named = |arn: &str| {
            let role = Role { arn: arn.to_owned(), ..Role::default() };
            qualifier(&Roles { deploy: Some(role), ..Roles::default() })
        };
        let arn = "arn:aws:iam::111111111111:role/cdk-mine-deploy-role-111111111111-eu-west-1";
        assert_eq!(named(arn), Some("mine".to_owned()));
        assert_eq!(named("arn:aws:iam::111111111111:role/ci"), None);
        assert_eq!(qualifier(&Roles::default()), None);
    }
}
