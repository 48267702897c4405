//! Deploys stacks as they are in an assembly.
//!
//! In: an assembly, which of its stacks, and the way to AWS. Out: what became of each stack, with
//! its outputs. Called by `toolkit`. Assets first, then stacks by change sets, each after those
//! that it needs. Nothing here knows of moves: whoever calls has decided them.

mod archive;
mod assets;
mod driver;
mod error;
mod order;
mod preview;
mod stack;
mod watch;

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::watch::Receiver;

pub use archive::{ArchiveError, pack};
pub use assets::AssetError;
pub use error::{DeployError, StackError};
pub use order::{Circle, Order};
pub use preview::{Danger, PlannedStack};

use crate::assembly::{Assembly, AssemblyStack, FileAsset, ImageAsset};
use crate::aws::Aws;
use crate::event::Host;
use crate::model::Environment;
use driver::Deployment;

/// What is to be deployed.
#[derive(Clone, Debug)]
pub struct DeployRequest<'a> {
    /// The assembly.
    pub assembly: &'a Assembly,
    /// Which of its stacks.
    pub stacks: Vec<&'a AssemblyStack>,
    /// Its file assets; those that no selected stack needs are left out.
    pub files: &'a [FileAsset],
    /// Its container images; one that a selected stack needs is an error.
    pub images: &'a [ImageAsset],
    /// How.
    pub options: DeployOptions,
}

/// How stacks are deployed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployOptions {
    /// The pause between two looks at something that goes on.
    pub interval: Duration,
    /// The longest time for anything that goes on.
    pub limit: Duration,
    /// How many stacks are deployed at once.
    pub concurrency: usize,
    /// How many assets are uploaded at once.
    pub upload_concurrency: usize,
    /// The role that CloudFormation works with, instead of the one that the assembly names.
    pub role_arn: Option<String>,
    /// Whether a change set is made even where nothing seems to have changed.
    pub force: bool,
    /// Whether a failure is rolled back.
    pub rollback: bool,
}

impl Default for DeployOptions {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(3),
            // Databases and distributions take long; nothing is lost by waiting.
            limit: Duration::from_hours(6),
            concurrency: 1,
            upload_concurrency: 8,
            role_arn: None,
            force: false,
            rollback: true,
        }
    }
}

/// What became of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is new.
    Created,
    /// It was there, and is now as the assembly has it.
    Updated,
    /// It was there as the assembly has it.
    Unchanged,
}

/// A stack that was deployed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployedStack {
    /// The hierarchical ID.
    pub id: String,
    /// The account and region.
    pub environment: Environment,
    /// The name.
    pub name: String,
    /// The ARN.
    pub arn: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Values of outputs, by key.
    pub outputs: BTreeMap<String, String>,
}

/// What was deployed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deployed {
    /// The stacks, in the order of their ends.
    pub stacks: Vec<DeployedStack>,
}

/// A resource that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The resource.
    pub logical_id: String,
    /// Its type.
    pub resource_type: String,
    /// Why.
    pub reason: String,
}

/// Deploys stacks: their assets first, then each stack after those that it needs. After the first
/// failure no further stack is begun; those under way are finished.
///
/// # Errors
/// When stacks wait for each other, when an asset cannot be published (then no stack was
/// changed), or when a stack cannot be deployed: the error tells what became of the others.
pub async fn deploy_stacks(
    aws: &Aws,
    request: &DeployRequest<'_>,
    host: &dyn Host,
    cancel: Option<&Receiver<bool>>,
) -> Result<Deployed, DeployError> {
    let order = Order::of(&request.stacks, &request.assembly.stacks)?;
    let mut stacks: BTreeMap<&str, (&AssemblyStack, Environment)> = BTreeMap::new();
    for stack in &request.stacks {
        let environment = aws.resolve(&stack.environment).await?;
        stacks.insert(&stack.hierarchical_id, (stack, environment));
    }
    let places: Vec<_> = stacks.iter().map(|(id, (_, environment))| (*id, environment)).collect();
    let uploads = assets::uploads(request.files, request.images, &places)?;
    let at_once = request.options.upload_concurrency;
    assets::publish(aws, &uploads, at_once, host, cancel).await?;
    in_order(order, request.options.concurrency, cancel, |id| {
        let (stack, environment) = &stacks[id];
        let options = &request.options;
        Box::pin(async move {
            let deployment =
                Deployment::open(aws, stack, environment, options, host, cancel).await?;
            deployment.deploy().await
        })
    })
    .await
}

/// Deploys each stack as soon as those that it needs are deployed.
async fn in_order<F: Future<Output = Result<DeployedStack, StackError>>>(
    mut order: Order,
    concurrency: usize,
    cancel: Option<&Receiver<bool>>,
    deploy: impl Fn(&str) -> F,
) -> Result<Deployed, DeployError> {
    let (mut deployed, mut failed) = (Vec::new(), Vec::new());
    let mut running = FuturesUnordered::new();
    loop {
        let is_cancelled = cancel.is_some_and(|cancel| *cancel.borrow());
        if failed.is_empty() && !is_cancelled {
            for id in order.ready() {
                if running.len() >= concurrency.max(1) {
                    break;
                }
                order.begin(&id);
                let deployment = deploy(&id);
                running.push(async move { (id, deployment.await) });
            }
        }
        let Some((id, result)) = running.next().await else { break };
        match result {
            Ok(stack) => {
                order.done(&id);
                deployed.push(stack);
            }
            Err(error) => failed.push((id, error)),
        }
    }
    let not_begun = order.waiting();
    match (failed.is_empty(), not_begun.is_empty()) {
        (false, _) => Err(DeployError::Stacks { deployed, failed, not_begun }),
        (true, false) => Err(DeployError::Cancelled { deployed, not_begun }),
        (true, true) => Ok(Deployed { stacks: deployed }),
    }
}
