//! Carries out a deployment: assets, moves, stacks, and the proof that nothing was replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::carry_out::{Cancel, Carried, Progress, carry_out_with, interval, keep_moves};
use super::super::drift::{self, Before};
use super::super::history::{self, Doing, Followed, Provisional};
use super::super::planning::{Prepared, Refusals};
use super::super::{Error, files};
use super::failure::{self, DeploymentFailed};
use super::outlook::{Choice, Outlook};
use super::prepare::Deployment;
use super::{Finished, proof, stages::stages};
use crate::assembly::{self, AssemblyStack, LoadOptions};
use crate::aws::ChangeSetChange;
use crate::deploy::{
    self, DeployError, DeployOptions, DeployRequest, Deployed, DeployedStack, Outcome,
};
use crate::event::{Event, Host};
use crate::model::Environment;
use crate::plan::{Allowed, PlannedChange, judge};
use crate::report;
use crate::settings::{Deploying, Method};

/// Carries out a deployment as somebody has agreed to it: publishes assets, moves resources if the
/// outlook says so, and deploys the stacks. If that fails and is rolled back, the moves of the
/// stacks that are not deployed are taken back.
///
/// # Errors
/// What happened to which stack, what was taken back, and what to do next.
pub async fn carry_out_deployment(
    deployment: Deployment,
    outlook: Outlook,
    host: &dyn Host,
    cancel: &Cancel,
) -> Result<Finished, Error> {
    let work = Work::new(deployment, outlook, host, cancel)?;
    Box::pin(work.carry_out()).await
}

struct Work<'a> {
    deployment: Deployment,
    outlook: Outlook,
    files: Vec<assembly::FileAsset>,
    images: Vec<assembly::ImageAsset>,
    host: &'a dyn Host,
    cancel: &'a Cancel,
}

/// Whether an asset can be published; if not, that is told.
fn is_known(asset: &assembly::FileAsset, host: &dyn Host) -> bool {
    let Some(packaging) = &asset.unknown_packaging else { return true };
    let text = format!(
        "asset {}: the packaging `{packaging}` is not known: it is taken to be published already",
        asset.id
    );
    host.tell(&Event::Note { text });
    false
}

impl<'a> Work<'a> {
    fn new(
        deployment: Deployment,
        outlook: Outlook,
        host: &'a dyn Host,
        cancel: &'a Cancel,
    ) -> Result<Self, Error> {
        let directory = &deployment.assembly.directory;
        let options =
            LoadOptions { ignore_schema_version: deployment.settings.ignore_schema_version };
        let read = |error| Error::Assembly { flag: "--app", source: Box::new(error) };
        let mut files = assembly::file_assets(directory, &options).map_err(read)?;
        files.retain(|asset| is_known(asset, host));
        let images = assembly::image_assets(directory, &options).map_err(read)?;
        Ok(Self { deployment, outlook, files, images, host, cancel })
    }

    async fn carry_out(mut self) -> Result<Finished, Error> {
        if let Some(file) = &self.deployment.deploying.outputs_file {
            files::check_writable(file)
                .map_err(|error| Error::Outputs { file: file.clone(), error })?;
        }
        self.publish().await?;
        let histories = self.deployment.prepared.histories();
        let place = self.deployment.settings.place();
        let before = self.before_moves().await?;
        let (carried, moved) = self.move_resources().await?;
        let moved = match (moved, before) {
            (Ok(()), Some(before)) => Box::pin(self.verify(&before, &carried)).await,
            (moved, _) => moved,
        };
        if let Err(error) = moved {
            let undone =
                failure::take_back_all(&self.deployment, &carried, &error, self.host, self.cancel);
            let undone = Box::pin(undone).await;
            Box::pin(keep_moves(&place, &histories, &carried, Some(&error), self.host)).await;
            return Err(DeploymentFailed::moving(error, undone).into());
        }
        // Whoever is killed from now on has moved the resources.
        let kept = Box::pin(keep_moves(&place, &histories, &carried, None, self.host)).await;
        match Box::pin(self.deploy()).await? {
            Ok(deployed) => {
                Box::pin(self.keep_state((&histories, &kept), &carried, true)).await;
                self.finish(carried, deployed).await
            }
            Err(error) => {
                let undone = if self.takes_back(&error) {
                    let left = failure::not_deployed(&self.deployment, &error);
                    Box::pin(failure::take_back(
                        &self.deployment,
                        &carried,
                        &left,
                        self.host,
                        self.cancel,
                    ))
                    .await
                } else {
                    failure::kept(&carried)
                };
                if !error.is_cancelled() && !error.goes_on() {
                    Box::pin(self.keep_state((&histories, &kept), &carried, false)).await;
                }
                let unwritten = self.write_outputs(error.deployed()).err();
                Err(DeploymentFailed::deploying(error, undone, unwritten).into())
            }
        }
    }

    /// Assets come first: a build that fails must not leave resources half-way between two apps.
    async fn publish(&self) -> Result<(), Error> {
        let request = self.request(None);
        let Some(connection) = &self.deployment.prepared.connection else { return Ok(()) };
        let toolkit_stack = &self.deployment.settings.account.toolkit_stack_name.value;
        let checked = deploy::check_bootstrap(&connection.aws, &request, toolkit_stack, self.host);
        let checked = Box::pin(checked).await;
        checked.map_err(DeploymentFailed::early)?;
        let published =
            deploy::publish_assets(&connection.aws, &request, self.host, Some(self.cancel));
        Box::pin(published).await.map_err(DeploymentFailed::early)?;
        Ok(())
    }

    /// Reads what is going to move, if that is to be verified.
    async fn before_moves(&self) -> Result<Option<Before>, Error> {
        let Deployment { prepared, settings, deploying, .. } = &self.deployment;
        let moves = self.outlook.choice == Choice::Move && prepared.has_steps();
        if !moves || !deploying.verify {
            return Ok(None);
        }
        let before = drift::before(prepared, &settings.account, self.host);
        Ok(Some(Box::pin(before).await?))
    }

    /// Fails if what was moved is not what it was.
    async fn verify(&self, before: &Before, carried: &[Carried]) -> Result<(), Error> {
        let Some(connection) = &self.deployment.prepared.connection else { return Ok(()) };
        let verified = drift::after(before, connection, carried, self.host).await?;
        if verified.iter().any(|one| one.changed().next().is_some()) {
            return Err(Error::Altered(verified));
        }
        for line in verified.iter().flat_map(report::verified_lines) {
            self.host.tell(&Event::Note { text: line });
        }
        Ok(())
    }

    /// Carries out the plans. What was prepared is then what was carried out.
    async fn move_resources(&mut self) -> Result<(Vec<Carried>, Result<(), Error>), Error> {
        let place = self.deployment.settings.place();
        let choice = self.outlook.choice;
        let mut prepared = std::mem::replace(&mut self.deployment.prepared, Prepared::nothing());
        if choice == Choice::Replace {
            prepared.plans = std::mem::take(&mut self.deployment.standing);
        }
        if !prepared.has_steps() {
            if choice == Choice::Replace {
                self.deployment.standing.clone_from(&prepared.plans);
            }
            self.deployment.prepared = prepared;
            return Ok((Vec::new(), Ok(())));
        }
        let (deployment, outlook, host) = (&self.deployment, &self.outlook, self.host);
        let again = async |refusals: &Refusals| {
            if choice == Choice::Replace {
                return Ok(None);
            }
            let again = Box::pin(deployment.again(refusals, host)).await?;
            check_outlook(deployment, outlook, &again)?;
            Ok(Some(again.prepared))
        };
        let Progress { carried, result } =
            Box::pin(carry_out_with(&place, prepared, again, host, self.cancel)).await;
        match result {
            Ok(prepared) => {
                if choice == Choice::Replace {
                    self.deployment.standing.clone_from(&prepared.plans);
                }
                self.deployment.prepared = prepared;
                let mut outlook = self.deployment.outlook(choice)?;
                outlook.allowed.clone_from(&self.outlook.allowed);
                outlook.consented.clone_from(&self.outlook.consented);
                self.outlook = outlook;
                Ok((carried, Ok(())))
            }
            Err(error) => Ok((carried, Err(error))),
        }
    }

    async fn deploy(&self) -> Result<Result<Deployed, DeployError>, Error> {
        let Some(connection) = &self.deployment.prepared.connection else {
            return Ok(Ok(Deployed::default()));
        };
        let judge = |stack: &AssemblyStack, changes: &[ChangeSetChange]| {
            let name = stack.stack.name.as_str();
            let nothing = Allowed::default();
            let allowed = self.outlook.allowed.get(&stack.environment).unwrap_or(&nothing);
            let judged = changes.iter().flat_map(|change| {
                let (stack, change) = planned(name, change);
                judge(&stack, &[change], allowed)
            });
            let reasons: Vec<String> = judged.collect();
            if reasons.is_empty() { Ok(()) } else { Err(reasons) }
        };
        let request = self.request(Some(&judge));
        let deployed =
            deploy::deploy_stacks(&connection.aws, &request, self.host, Some(self.cancel));
        Ok(Box::pin(deployed).await)
    }

    fn request<'r>(&'r self, judge: Option<&'r deploy::Judge<'r>>) -> DeployRequest<'r> {
        DeployRequest {
            assembly: &self.deployment.assembly,
            stages: stages(&self.deployment, &self.outlook),
            files: &self.files,
            images: &self.images,
            options: options(&self.deployment),
            judge,
        }
    }

    async fn finish(self, carried: Vec<Carried>, deployed: Deployed) -> Result<Finished, Error> {
        let unwritten = self.write_outputs(&deployed.stacks).err().map(Box::new);
        let (proof, mut notes) = Box::pin(proof::prove(&self.deployment, &carried)).await;
        notes.extend(self.left_behind(&carried));
        let stacks = each_once(deployed.stacks);
        Ok(Finished { carried, stacks, proof, notes, unwritten })
    }

    /// Writes into the logs of the environments what was done there, in place of what was written
    /// after the moves.
    async fn keep_state(
        &self,
        (histories, kept): (
            &BTreeMap<Environment, Arc<Followed>>,
            &BTreeMap<Environment, Provisional>,
        ),
        carried: &[Carried],
        has_succeeded: bool,
    ) {
        let Some(connection) = &self.deployment.prepared.connection else { return };
        for (environment, followed) in histories {
            let mut mine = self.deployment.stacks().filter(|it| it.environment == *environment);
            let touched: BTreeSet<String> =
                mine.by_ref().map(|stack| stack.stack.name.to_string()).collect();
            if touched.is_empty() {
                continue;
            }
            let mut app = self.deployment.assembly.stacks.iter();
            let is_all = app.all(|stack| {
                stack.environment != *environment || touched.contains(stack.stack.name.as_str())
            });
            let is_executed = self.deployment.deploying.method != Method::PrepareChangeSet;
            let own = carried.iter().filter(|one| one.environment == *environment);
            let moves = own.flat_map(|one| one.plan.net_moves()).collect();
            let mut doing = Doing::of(moves, touched);
            doing.is_complete = has_succeeded && is_all && is_executed;
            let kept = kept.get(environment);
            Box::pin(history::keep(connection, followed, &doing, kept, self.host)).await;
        }
    }

    /// Whether moves are taken back: not from under a deployment that goes on.
    fn takes_back(&self, error: &DeployError) -> bool {
        self.deployment.deploying.rollback && !error.is_cancelled() && !error.goes_on()
    }

    /// Stacks that resources have left and that the app does not have any more.
    fn left_behind(&self, carried: &[Carried]) -> Vec<String> {
        let mut left: BTreeSet<(String, String)> = BTreeSet::new();
        for one in carried {
            for each in one.plan.net_moves() {
                let stack = each.source.split_once('.').map_or("", |(stack, _)| stack);
                let stack = stack.split_once('/').map_or(stack, |(root, _)| root);
                let mut app = self.deployment.assembly.stacks.iter();
                let is_in_app = app.any(|other| {
                    other.environment == one.environment && other.stack.name.as_str() == stack
                });
                if !is_in_app {
                    left.insert((one.environment.to_string(), stack.to_owned()));
                }
            }
        }
        let note = |(environment, stack): (String, String)| {
            format!(
                "{environment}: stack {stack} is not in the app any more. `cdkr` deletes no stack: \
                 look at what is left in it, then delete it"
            )
        };
        left.into_iter().map(note).collect()
    }

    /// Writes the outputs of stacks that are deployed, by name of stack and key.
    fn write_outputs(&self, stacks: &[DeployedStack]) -> Result<(), Error> {
        let Some(file) = &self.deployment.deploying.outputs_file else { return Ok(()) };
        let outputs: serde_json::Map<String, serde_json::Value> = stacks
            .iter()
            .filter(|stack| !stack.outputs.is_empty())
            .map(|stack| (stack.name.clone(), serde_json::json!(stack.outputs)))
            .collect();
        // Texts can always be written.
        let text = serde_json::to_string_pretty(&outputs).unwrap_or_default() + "\n";
        files::write(file, text.as_bytes())
            .map_err(|error| Error::Outputs { file: file.clone(), error })
    }
}

/// Every stack once, in the order of their ends: one that was deployed in two stages is as the
/// second has left it.
fn each_once(stages: Vec<DeployedStack>) -> Vec<DeployedStack> {
    let mut stacks: Vec<DeployedStack> = Vec::new();
    for mut stage in stages {
        if let Some(at) = stacks.iter().position(|stack| stack.id == stage.id) {
            let first = stacks.remove(at);
            if stage.outcome == Outcome::Unchanged || first.outcome == Outcome::Created {
                stage.outcome = first.outcome;
            }
            stage.left.splice(0..0, first.left);
        }
        stacks.push(stage);
    }
    stacks
}

/// What is planned again may lose nothing that nobody has agreed to lose.
fn check_outlook(before: &Deployment, agreed: &Outlook, again: &Deployment) -> Result<(), Error> {
    debug_assert_eq!(before.targets.ids, again.targets.ids);
    let outlook = again.outlook(Choice::Move)?;
    if let Some(danger) = outlook.dangers.iter().find(|one| !agreed.consented.contains(one)) {
        return Err(Error::NewDanger(Box::new(danger.clone())));
    }
    match outlook.refusals().next() {
        Some((environment, finding)) => Err(Error::NewRefusal {
            environment: environment.clone(),
            finding: format!("{}: {} {}", finding.stack, finding.message, finding.remedy),
        }),
        None => Ok(()),
    }
}

/// A change as the forecast knows it, with the stack that it is in.
fn planned(root: &str, change: &ChangeSetChange) -> (String, PlannedChange) {
    let (stack, logical_id) = match change.logical_id.rsplit_once('/') {
        Some((nested, id)) => (format!("{root}/{nested}"), id),
        None => (root.to_owned(), change.logical_id.as_str()),
    };
    let planned = PlannedChange {
        action: change.action.clone(),
        logical_id: logical_id.to_owned(),
        resource_type: change.resource_type.clone(),
        physical_id: Some(change.physical_id.clone()).filter(|id| !id.is_empty()),
        replacement: change.replacement.clone(),
        policy_action: change.policy_action.clone(),
    };
    (stack, planned)
}

fn options(deployment: &Deployment) -> DeployOptions {
    let Deploying { method, change_set_name, .. } = &deployment.deploying;
    let deploying = &deployment.deploying;
    let account = &deployment.settings.account;
    let default = DeployOptions::default();
    DeployOptions {
        interval: interval(account).unwrap_or(default.interval),
        limit: account.wait_limit.unwrap_or(default.limit),
        concurrency: deploying.concurrency,
        role_arn: deploying.role_arn.clone(),
        force: deploying.force,
        rollback: deploying.rollback,
        method: *method,
        change_set_name: change_set_name.clone(),
        parameters: given(deploying),
        use_previous_parameters: deploying.previous_parameters,
        tags: deploying.tags.clone(),
        notification_arns: deploying.notification_arns.clone(),
        ..default
    }
}

/// Values of parameters by stack, as they were typed; without a stack under an empty name.
fn given(deploying: &Deploying) -> std::collections::BTreeMap<String, Vec<(String, String)>> {
    let mut found = std::collections::BTreeMap::<String, Vec<(String, String)>>::new();
    for parameter in &deploying.parameters {
        let stack = parameter.stack.clone().unwrap_or_default();
        found.entry(stack).or_default().push((parameter.key.clone(), parameter.value.clone()));
    }
    found
}
