//! Looks at everything that a deployment depends on, and changes nothing.

use std::collections::BTreeMap;

use super::super::context::require_context;
use super::super::deciding::{self, Decided, Deciding, Settled, Subjects};
use super::super::detect::{Detection, Sides};
use super::super::foresight;
use super::super::parameters::Previous;
use super::super::planning::{Planned, Prepared, Refusals};
use super::super::sources::{self, Sources};
use super::super::{Error, account};
use super::checks;
use super::outlook::{Choice, Outlook};
use super::targets::{Joined, Targets, asked_for};
use crate::assembly::{Assembly, AssemblyStack};
use crate::event::Host;
use crate::model::{Environment, Object, Stack, StackName, Text};
use crate::plan::Plan;
use crate::report::Style;
use crate::settings::{Account, App, Deploying, Origin, Parameter, Setting, Settings};

/// What is to be deployed, compared with what is deployed, with the plans of the moves.
pub struct Deployment {
    /// The moves between the stacks that are deployed, and the plans to carry them out.
    pub prepared: Prepared,
    /// What is carried out if nothing is to be moved.
    pub(super) standing: Vec<Planned>,
    pub(super) settings: Settings,
    pub(super) deploying: Deploying,
    pub(super) assembly: Assembly,
    pub(super) targets: Targets,
}

impl Deployment {
    /// Returns the stacks that are deployed, as people see them, in the order of the app.
    pub fn stacks(&self) -> impl Iterator<Item = &AssemblyStack> {
        self.assembly.stacks.iter().filter(|stack| self.targets.has(stack))
    }

    /// Returns those of them that nobody named, with the reason.
    pub fn joined(&self) -> &[Joined] {
        &self.targets.joined
    }

    /// Returns what `deploy` was asked to do.
    pub fn deploying(&self) -> &Deploying {
        &self.deploying
    }

    /// Returns the plans of a choice.
    pub(super) fn plans(&self, choice: Choice) -> &[Planned] {
        match choice {
            Choice::Move => &self.prepared.plans,
            Choice::Replace => &self.standing,
        }
    }

    /// Returns what is carried out before stacks are deployed.
    pub fn steps(&self, choice: Choice) -> Vec<Plan> {
        self.plans(choice).iter().map(|one| one.plan.clone()).collect()
    }

    /// Whether anything is carried out before stacks are deployed.
    pub fn has_steps(&self, choice: Choice) -> bool {
        self.plans(choice).iter().any(|one| !one.plan.steps.is_empty())
    }

    /// Whether something forbids that the plans of a choice are carried out. Where nothing is to
    /// be moved, a plan without steps forbids nothing.
    pub fn is_refused(&self, choice: Choice) -> bool {
        let mut plans = self.plans(choice).iter().map(|one| &one.plan);
        plans.any(|plan| plan.is_refused() && (choice == Choice::Move || !plan.steps.is_empty()))
    }

    /// Judges what the deployment would replace, where an aspect forbids it.
    ///
    /// # Errors
    /// When the aspects cannot be invoked, or an entry of `--allow-replacement` is malformed.
    fn foresee(mut self) -> Result<Self, Error> {
        if !self.prepared.aspects.wants_forecasts() {
            return Ok(self);
        }
        for forecast in &self.outlook(Choice::Move)?.forecasts {
            let Prepared { aspects, environments, plans, outcome, .. } = &mut self.prepared;
            let mut plans = plans.iter().map(|one| &one.plan);
            let plan = plans.find(|one| one.environment() == forecast.environment);
            let sides = environments.iter().find(|(other, _)| *other == forecast.environment);
            if let Some((_, sides)) = sides {
                foresight::judge(aspects, (forecast, plan), sides, outcome)?;
            }
        }
        Ok(self)
    }

    /// Stops what aspects forbid if a choice is made: those that forbid replacements forbid as well
    /// that nothing is moved.
    ///
    /// # Errors
    /// The violations, if one of them is an error.
    pub fn allowed(&self, outlook: &Outlook) -> Result<(), Error> {
        let Prepared { aspects, outcome, .. } = &self.prepared;
        if outlook.choice == Choice::Move || !aspects.wants_forecasts() {
            return Ok(());
        }
        let mut outcome = outcome.clone();
        for forecast in &outlook.forecasts {
            if let Some(sides) = self.sides(&forecast.environment) {
                foresight::judge_unmoved(aspects, forecast, sides, &mut outcome)?;
            }
        }
        outcome.allowed()
    }

    pub(super) fn sides(&self, environment: &Environment) -> Option<&Sides> {
        let found = self.prepared.environments.iter().find(|(other, _)| other == environment);
        found.map(|(_, sides)| sides)
    }
}

/// Synthesizes the app, reads what is deployed, finds what moved and plans how to move it.
/// Changes nothing.
///
/// # Errors
/// When an assembly or an account cannot be read, a selection, a parameter or a decision fits
/// nothing, or a template cannot be compared.
pub async fn prepare_deployment(
    settings: &Settings,
    deploying: &Deploying,
    host: &dyn Host,
) -> Result<Deployment, Error> {
    let settings = Settings {
        // A new embedded CloudFormation is as good as one in which nothing is deployed; the role is
        // that of CloudFormation here, not ours; and what an earlier deployment has begun goes on
        // by itself, so that it is waited for.
        account: Account {
            creates_local: true,
            // Whoever does not roll back goes on from what has failed.
            accepts_failed: !deploying.rollback,
            role_arn: None,
            wait: true,
            ..settings.account.clone()
        },
        ..settings.clone()
    };
    Box::pin(prepare(settings, deploying, &Refusals::new(), host)).await
}

impl Deployment {
    /// Asks about what is open, and prepares again with the answers: what was decided may bring in
    /// stacks in which other questions are open.
    ///
    /// # Errors
    /// When nobody answers, or the answers contradict other decisions; and as for
    /// [`prepare_deployment`].
    pub async fn decide(
        mut self,
        mut subjects: Subjects,
        style: Style,
        host: &dyn Host,
    ) -> Result<Deciding<Self>, Error> {
        let mut all: BTreeMap<Environment, Decided> = BTreeMap::new();
        while self.prepared.outcome.has_questions(subjects) {
            let Self { prepared, settings, deploying, assembly, .. } = self;
            let detection = prepared.into_detection();
            let asked = deciding::decide(detection, &settings, subjects, style, host);
            let settled = match Box::pin(asked).await? {
                Deciding::Stopped => return Ok(Deciding::Stopped),
                Deciding::Settled(settled) => settled,
            };
            let is_new = !settled.decided.is_empty();
            for (environment, decided) in settled.decided {
                all.entry(environment).or_default().extend(decided);
            }
            subjects = settled.subjects;
            let (mut detection, settings) = (settled.found, settled.settings);
            detection.compare_all(&settings)?;
            let refused = Refusals::new();
            let again = from_detection(settings, &deploying, assembly, detection, &refused);
            self = Box::pin(again).await?;
            if !is_new {
                break;
            }
        }
        let settings = self.settings.clone();
        let decided = all.into_iter().collect();
        let settled = Settled { found: self, settings, decided, subjects };
        Ok(Deciding::Settled(Box::new(settled)))
    }

    /// Prepares the same again from the same assembly, without what the service refused.
    ///
    /// # Errors
    /// As for [`prepare_deployment`].
    pub(super) async fn again(&self, refused: &Refusals, host: &dyn Host) -> Result<Self, Error> {
        let app = App::Directory(self.assembly.directory.clone());
        let settings = Settings {
            app: Setting { value: app, origin: Origin::Default },
            ..self.settings.clone()
        };
        Box::pin(prepare(settings, &self.deploying, refused, host)).await
    }
}

async fn prepare(
    settings: Settings,
    deploying: &Deploying,
    refused: &Refusals,
    host: &dyn Host,
) -> Result<Deployment, Error> {
    let mut sources = sources::load(&settings, host).await?;
    require_context(&sources.local)?;
    asked_for(&sources.local, &settings.stacks, deploying.all)?;
    give_parameters(&mut sources, &deploying.parameters)?;
    let assembly = sources.local.clone();
    let kept = if deploying.previous_parameters { Previous::Kept } else { Previous::Forgotten };
    let detection = Detection::of(&settings, sources, kept)?;
    Box::pin(from_detection(settings, deploying, assembly, detection, refused)).await
}

/// Prepares what follows from a comparison of whole environments.
async fn from_detection(
    settings: Settings,
    deploying: &Deploying,
    assembly: Assembly,
    mut detection: Detection,
    refused: &Refusals,
) -> Result<Deployment, Error> {
    let asked = asked_for(&assembly, &settings.stacks, deploying.all)?;
    let comparisons = &detection.outcome.environments;
    let targets = Targets::around(&asked, &assembly, comparisons, deploying);
    checks::check(&targets, &assembly, &detection.environments, deploying)?;
    let selection = targets.selection(&assembly);
    detection.check_history(&selection)?;
    detection.narrow(selection)?;
    detection.outcome.allowed_before_forecast()?;
    detection.find_obstacles(&settings).await?;
    find_importers(&targets, &assembly, &mut detection).await?;
    let prepared = Box::pin(Prepared::of(&settings, detection, refused)).await?;
    let standing = Box::pin(prepared.standing_still(&settings)).await?;
    let deploying = deploying.clone();
    let deployment = Deployment { prepared, standing, settings, deploying, assembly, targets };
    let deployment = deployment.foresee()?;
    deployment.prepared.outcome.allowed()?;
    Ok(deployment)
}

/// Gives parameters the values that were typed.
fn give_parameters(sources: &mut Sources, given: &[Parameter]) -> Result<(), Error> {
    // What is given for one stack counts more than what is given for all, as in the deployment.
    let (all, one): (Vec<_>, Vec<_>) = given.iter().partition(|given| given.stack.is_none());
    for parameter in all.into_iter().chain(one) {
        let mut used = false;
        for stack in &mut sources.local.stacks {
            let named = parameter.stack.as_deref();
            let is_meant = named.is_none_or(|name| {
                stack.hierarchical_id == name || stack.stack.name.as_str() == name
            });
            let declared = stack.stack.template.section("Parameters");
            if is_meant && declared.is_some_and(|declared| declared.get(&parameter.key).is_some()) {
                let key = Text::from(parameter.key.as_str());
                stack.stack.parameters.insert(key, parameter.value.as_str().into());
                used = true;
            }
        }
        if !used {
            return Err(Error::UnusedParameter {
                key: parameter.key.clone(),
                stack: parameter.stack.clone(),
            });
        }
    }
    Ok(())
}

/// Reads who imports from stacks that export something that the app's templates do not have any
/// more.
async fn find_importers(
    targets: &Targets,
    assembly: &Assembly,
    detection: &mut Detection,
) -> Result<(), Error> {
    let Some(connection) = &detection.connection else { return Ok(()) };
    let mut concerned: BTreeMap<&Environment, Vec<&StackName>> = BTreeMap::new();
    for stack in assembly.stacks.iter().filter(|stack| targets.has(stack)) {
        concerned.entry(&stack.environment).or_default().push(&stack.stack.name);
    }
    for (environment, sides) in &mut detection.environments {
        let Some(names) = concerned.get(environment) else { continue };
        let Some(deployed) = &mut sides.account else { continue };
        let loses = |name: &&&StackName| {
            let before = deployed.stacks.iter().find(|stack| stack.stack.name == ***name);
            let now = sides.local.iter().find(|stack| stack.name == ***name);
            before.zip(now).is_some_and(|(before, now)| loses_exports(&before.stack, now))
        };
        let losing: Vec<StackName> = names.iter().filter(loses).copied().cloned().collect();
        let Some(first) = losing.first() else { continue };
        let roles = sides.properties.get(first).map(account::roles).transpose()?;
        let roles = roles.unwrap_or_default();
        let warnings = connection.aws.complete(deployed, &losing, &roles).await?;
        detection.outcome.warnings.extend(warnings);
    }
    Ok(())
}

/// Whether a stack exports something that it will not export in the same words.
fn loses_exports(before: &Stack, now: &Stack) -> bool {
    let now = now.template.section("Outputs");
    let before = before.template.section("Outputs").into_iter().flat_map(Object::iter);
    let mut exporting = before.filter(|(_, output)| output.get("Export").is_some());
    exporting.any(|(key, output)| now.and_then(|now| now.get(key)) != Some(output))
}
