//! Deploys stacks as they are in an assembly.
//!
//! In: an assembly, which deployments of which of its stacks ([`Stage`]), and the way to AWS. Out:
//! what became of each stack, with its outputs. Called by `toolkit`, which checks the bootstrap
//! stacks ([`check_bootstrap`]), publishes everything ([`publish_assets`]) and only then has stacks
//! changed ([`deploy_stacks`]), each after those that it needs. Nothing here knows of moves:
//! whoever calls has decided them.

mod archive;
mod assets;
mod bootstrap;
mod by_set;
mod command;
mod directly;
mod driver;
mod error;
mod files;
mod follow;
mod images;
mod login;
mod options;
mod order;
mod preview;
mod stack;
mod stage;
mod staging;
mod wait;
mod watch;

use std::collections::BTreeMap;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::watch::Receiver;

pub use archive::{ArchiveError, pack};
pub use assets::AssetError;
pub use bootstrap::check_bootstrap;
pub use command::CommandError;
pub use error::{DeployError, StackError};
pub use options::DeployOptions;
pub use order::{Circle, Order};
pub use preview::{Danger, PlannedStack};
pub use stage::Stage;
pub use staging::{StagingBucket, staging_bucket};

use crate::assembly::{Assembly, AssemblyStack, FileAsset, ImageAsset};
use crate::aws::{Aws, ChangeSetChange};
use crate::event::{Event, Host, StackOutcome};
use crate::model::Environment;
use driver::Deployment;

/// How the names of change sets begin, unless somebody names them.
pub const CHANGE_SET_PREFIX: &str = "cdkr-deploy-";

/// Looks at a change set before it is executed. What would happen in nested stacks is there, too,
/// as `Nested/LogicalId`, as far as CloudFormation says it; a nested stack without a
/// `change_set_id` was not looked into. Returns the reasons why it must not happen.
pub type Judge<'a> =
    dyn Fn(&AssemblyStack, &[ChangeSetChange]) -> Result<(), Vec<String>> + Send + Sync + 'a;

/// What is to be deployed.
#[derive(Clone)]
pub struct DeployRequest<'a> {
    /// The assembly.
    pub assembly: &'a Assembly,
    /// The deployments ([`Stage::of`] makes ordinary ones).
    pub stages: Vec<Stage<'a>>,
    /// Its file assets; those that no stack of a stage needs are left out.
    pub files: &'a [FileAsset],
    /// Its container images; those that no stack of a stage needs are left out.
    pub images: &'a [ImageAsset],
    /// How.
    pub options: DeployOptions,
    /// Looks at every change set before it is executed or left for others. Not asked where there
    /// is none: for a stack that is unchanged, and (mostly) with
    /// [`Method::Direct`](crate::settings::Method::Direct).
    pub judge: Option<&'a Judge<'a>>,
}

impl std::fmt::Debug for DeployRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { stages, options, .. } = self;
        let mut debug = f.debug_struct("DeployRequest");
        debug.field("stages", stages).field("options", options).finish_non_exhaustive()
    }
}

/// What became of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is new.
    Created,
    /// It was there, and is now as it was to be.
    Updated,
    /// It was there as it was to be.
    Unchanged,
    /// A change set waits for somebody to execute it.
    Prepared {
        /// The name of the change set.
        name: String,
        /// Its ARN.
        arn: String,
    },
}

/// A stack that was deployed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployedStack {
    /// The position of the stage.
    pub stage: usize,
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
    /// What was to be deleted when the stack had changed, but could not be: it stays in the
    /// account and belongs to no stack any more.
    pub left: Vec<Failure>,
}

/// What was deployed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deployed {
    /// The stages that were done, in the order of their ends.
    pub stacks: Vec<DeployedStack>,
}

/// A resource that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The stack; a nested one is `Parent/Nested`.
    pub stack: String,
    /// The resource.
    pub logical_id: String,
    /// Its type.
    pub resource_type: String,
    /// Its physical ID, if it is known.
    pub physical_id: Option<String>,
    /// Why.
    pub reason: String,
}

/// Publishes everything that the stacks of the stages need, files and images, as far as it is not
/// there yet. No stack is touched.
///
/// # Errors
/// The first asset that cannot be published; or what would stop [`deploy_stacks`] before its
/// first change.
pub async fn publish_assets(
    aws: &Aws,
    request: &DeployRequest<'_>,
    host: &dyn Host,
    cancel: Option<&Receiver<bool>>,
) -> Result<(), DeployError> {
    checked(request)?;
    let mut places = Vec::new();
    for stage in &request.stages {
        let environment = aws.resolve(&stage.stack.environment).await?;
        places.push((stage.stack.hierarchical_id.as_str(), environment));
    }
    let places: Vec<_> = places.iter().map(|(id, environment)| (*id, environment)).collect();
    let all = assets::publications(request.files, request.images, &places)?;
    assets::publish(aws, &all, &request.options, host, cancel).await?;
    Ok(())
}

/// Carries out the stages, each after those that it waits for, as many at once as the options
/// say. Publishes nothing. After the first failure no further stage is begun; those under way are
/// finished.
///
/// # Errors
/// When stages wait for each other or an option fits no stack (then no stack was changed), or when
/// a stack cannot be deployed: the error tells what became of the others.
pub async fn deploy_stacks(
    aws: &Aws,
    request: &DeployRequest<'_>,
    host: &dyn Host,
    cancel: Option<&Receiver<bool>>,
) -> Result<Deployed, DeployError> {
    let order = checked(request)?;
    let mut environments = Vec::new();
    for stage in &request.stages {
        environments.push(aws.resolve(&stage.stack.environment).await?);
    }
    let environments = &environments;
    in_order(order, request, cancel, |at| {
        let place = (at, &environments[at]);
        Box::pin(async move {
            let stage = &request.stages[at];
            host.tell(&Event::Deploying {
                environment: place.1.clone(),
                stack: stage.stack.stack.name.clone(),
                title: stage.title.clone(),
            });
            let done = match Deployment::open(aws, request, place, host, cancel).await {
                Ok(deployment) => deployment.deploy().await,
                Err(error) => Err(error),
            };
            host.tell(&Event::Deployed {
                environment: place.1.clone(),
                stack: stage.stack.stack.name.clone(),
                outcome: outcome(done.as_ref()),
            });
            done
        })
    })
    .await
}

/// Checks what can be checked without asking anybody.
fn checked(request: &DeployRequest<'_>) -> Result<Order<usize>, DeployError> {
    let order = stage::order(&request.stages)?;
    let schema = request.assembly.schema_major;
    options::check_parameters(&request.stages, &request.options, schema)?;
    Ok(order)
}

fn outcome(done: Result<&DeployedStack, &StackError>) -> StackOutcome {
    match done.map(|stack| &stack.outcome) {
        Ok(Outcome::Created) => StackOutcome::Created,
        Ok(Outcome::Updated) => StackOutcome::Updated,
        Ok(Outcome::Unchanged) => StackOutcome::Unchanged,
        Ok(Outcome::Prepared { .. }) => StackOutcome::Prepared,
        Err(_) => StackOutcome::Failed,
    }
}

/// Carries out each stage as soon as those that it waits for are done.
async fn in_order<F: Future<Output = Result<DeployedStack, StackError>>>(
    mut order: Order<usize>,
    request: &DeployRequest<'_>,
    cancel: Option<&Receiver<bool>>,
    deploy: impl Fn(usize) -> F,
) -> Result<Deployed, DeployError> {
    let id = |at: usize| request.stages[at].stack.hierarchical_id.clone();
    let (mut deployed, mut failed, mut stages_failed) = (Vec::new(), Vec::new(), Vec::new());
    let mut running = FuturesUnordered::new();
    loop {
        let is_cancelled = cancel.is_some_and(|cancel| *cancel.borrow());
        if failed.is_empty() && !is_cancelled {
            for at in order.ready() {
                if running.len() >= request.options.concurrency.max(1) {
                    break;
                }
                order.begin(&at);
                let deployment = deploy(at);
                running.push(async move { (at, deployment.await) });
            }
        }
        let Some((at, result)) = running.next().await else { break };
        match result {
            Ok(stack) => {
                order.done(&at);
                deployed.push(stack);
            }
            Err(error) => {
                failed.push((id(at), error));
                stages_failed.push(at);
            }
        }
    }
    let stages_not_begun = order.waiting();
    let not_begun = stages_not_begun.iter().map(|at| id(*at)).collect();
    match (failed.is_empty(), stages_not_begun.is_empty()) {
        (false, _) => Err(DeployError::Stacks {
            deployed,
            failed,
            stages_failed,
            not_begun,
            stages_not_begun,
        }),
        (true, false) => Err(DeployError::Cancelled { deployed, not_begun, stages_not_begun }),
        (true, true) => Ok(Deployed { stacks: deployed }),
    }
}
