//! Reading what is deployed.
//!
//! Every stack is a future of its own, which asks for the next thing as soon as it knows what
//! that is; all share the bound on requests, so that the line is full from the first request to
//! the last. What is asked, in the least number of calls:
//!
//! - `GetTemplate` by name at once, without asking first which stacks there are: a stack that
//!   does not exist says so itself. One call a stack, however many strangers the account has.
//! - `DescribeStacks` for status, parameters, outputs and options. A stack by stack call doubles
//!   the number of requests, so from a handful of stacks on one unfiltered listing (a hundred
//!   stacks a page; `ListStacks` would give the status alone) runs beside the templates. A stack
//!   whose turn comes before the listing has reached it is described by its name, so that an
//!   account of thousands of strangers costs no more than that.
//! - Exports come with the outputs; `ListExports` would repeat them.
//! - `ListStackResources` only where the template has nested stacks, to find them, unless the
//!   physical IDs are asked for; `GetStackPolicy` and `ListImports` only by [`Depth::Complete`].

use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

use super::access::Aws;
use super::error::AwsError;
use super::gaps::Gaps;
use super::listing::Listing;
use super::reading::{Outcome, Reading, Target};
use super::roles::{Purpose, Roles};
use super::wait::Wait;
use crate::event::Host;
use crate::model::{DeployedEnvironment, Environment};

/// What is to be read of an environment.
#[derive(Clone, Debug)]
pub struct ReadRequest {
    /// The account and region; what it leaves open is filled in.
    pub environment: Environment,
    /// The stacks that the app has there. They need not be deployed.
    pub stacks: Vec<Wanted>,
    /// Stacks that the app does not have any more (`--additional-stack-name`). They have to
    /// exist. They are read with the roles of the first of `stacks`.
    pub additional: Vec<String>,
    /// How much is read of each.
    pub depth: Depth,
    /// What happens when something is going on in one of them: waited for, or an error.
    pub wait: Option<Wait>,
    /// Whether a stack is read whose last update failed and was not to be rolled back: whoever
    /// deploys again without rolling back goes on from there.
    pub accepts_failed: bool,
}

/// A stack that the app has.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// The roles that it names.
    pub roles: Roles,
}

/// How much is read of each stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// What a comparison needs: template, status, parameters, outputs, options, and the nested
    /// stacks. `resources` is empty where no stack is nested, `importers` always, and
    /// `has_policy` is false; [`Aws::complete`] reads them for the stacks that turn out to matter.
    Comparison,
    /// Also the physical IDs.
    Resources,
    /// Also what a plan needs: physical IDs, stack policies, and who imports the exports.
    Complete,
}

/// What was read.
#[derive(Clone, Debug)]
pub struct Read {
    /// The stacks.
    pub deployed: DeployedEnvironment,
    /// What could not be done as it was meant to be, a sentence each: roles, rights.
    pub warnings: Vec<String>,
}

impl Aws {
    /// Reads stacks, with the stacks that are nested in them.
    ///
    /// # Errors
    /// When an additional stack does not exist; when something is going on in a stack, or it has
    /// to be repaired (all such stacks are named); when AWS refuses.
    pub async fn read(&self, request: &ReadRequest, host: &dyn Host) -> Result<Read, AwsError> {
        let environment = self.resolve(&request.environment).await?;
        let mut targets = Vec::new();
        for wanted in &request.stacks {
            let session = self.session(&environment, &wanted.roles, Purpose::Read).await?;
            targets.push(Target { session, name: &wanted.name, required: false });
        }
        let roles = request.stacks.first().map(|first| first.roles.clone()).unwrap_or_default();
        for name in &request.additional {
            if targets.iter().any(|target| target.name == name) {
                // It is required all the same.
                targets.iter_mut().filter(|target| target.name == name).for_each(Target::require);
                continue;
            }
            let session = self.session(&environment, &roles, Purpose::Read).await?;
            targets.push(Target { session, name, required: true });
        }
        let mut warnings: Vec<String> = Vec::new();
        for warning in targets.iter().flat_map(|target| target.session.warnings()) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        // A listing that would not save calls is not made.
        let lists = targets.len() > self.access().concurrency.max(2) / 2;
        let reading = Reading {
            environment: &environment,
            host,
            depth: request.depth,
            wait: request.wait,
            accepts_failed: request.accepts_failed,
            begin: Instant::now(),
            listing: lists.then(Listing::default),
            gaps: Gaps::default(),
            known: AtomicUsize::new(targets.len()),
            done: AtomicUsize::new(0),
            notes: Mutex::default(),
        };
        let outcomes = reading.run(&targets).await?;
        warnings.extend(reading.gaps.sentences());
        warnings.extend(reading.notes.into_inner().unwrap_or_else(PoisonError::into_inner));
        let deployed = gather(environment.clone(), outcomes, request.wait)?;
        Ok(Read { deployed, warnings })
    }
}

/// Puts the stacks together, or says why they cannot be.
fn gather(
    environment: Environment,
    outcomes: Vec<Outcome>,
    wait: Option<Wait>,
) -> Result<DeployedEnvironment, AwsError> {
    let (mut stacks, mut empty) = (Vec::new(), Vec::new());
    let (mut busy, mut broken) = (Vec::new(), Vec::new());
    let mut pending = outcomes;
    while let Some(outcome) = pending.pop() {
        match outcome {
            Outcome::Missing => {}
            Outcome::Empty(name, status) => empty.push((name, status)),
            Outcome::Busy(name, status) => busy.push((name, status)),
            Outcome::Broken(name, status) => broken.push((name, status)),
            Outcome::Read(stack, nested) => {
                stacks.push(*stack);
                pending.extend(nested);
            }
        }
    }
    for list in [&mut empty, &mut busy, &mut broken] {
        list.sort();
    }
    if !broken.is_empty() {
        return Err(AwsError::Broken { environment, stacks: broken });
    }
    match wait {
        _ if busy.is_empty() => {}
        Some(Wait { limit, .. }) => {
            return Err(AwsError::StillBusy { environment, stacks: busy, waited: limit });
        }
        None => return Err(AwsError::Busy { environment, stacks: busy }),
    }
    // A nested stack sorts after its parent: its name begins with that of the parent.
    stacks.sort_by(|a, b| a.stack.name.cmp(&b.stack.name));
    Ok(DeployedEnvironment { environment, stacks, empty })
}
