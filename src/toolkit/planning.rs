//! From what moved to the steps that move it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::join_all;

use super::Error;
use super::account::{Connection, roles};
use super::aspects::Judging;
use super::detect::{Basis, Detection, Outcome, Sides, detect};
use super::history::Followed;
use super::types;
use crate::assembly::StackProperties;
use crate::aws::{Role, Roles};
use crate::compare::Comparison;
use crate::event::Host;
use crate::model::{Environment, StackName, StackOptions};
use crate::plan::{self, Choices, Finding, Plan, Refused, Severity};
use crate::settings::Settings;

/// The directory of our records, in the directory of the project.
const RECORDS: &str = ".cdkr";

/// Where our records are kept, as people would write it.
pub(super) fn records(project: &Path) -> PathBuf {
    if project == Path::new(".") { PathBuf::from(RECORDS) } else { project.join(RECORDS) }
}

/// What was found, and what is to be done about it.
pub struct Prepared {
    /// The moves.
    pub outcome: Outcome,
    /// A plan for every environment in which something moves. Without an account there are none.
    pub plans: Vec<Planned>,
    pub(super) connection: Option<Connection>,
    /// Both sides of every environment.
    pub(super) environments: Vec<(Environment, Sides)>,
    pub(super) basis: Basis,
    /// The aspects that judge what was found.
    pub(super) aspects: Judging,
}

/// The plan of an environment, and who carries it out.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The steps.
    pub plan: Plan,
    pub(super) roles: Roles,
    /// What new stacks get besides their templates, by name.
    pub(super) new_stacks: BTreeMap<String, StackOptions>,
}

impl Prepared {
    /// What says that nothing is to be done.
    pub(super) fn nothing() -> Self {
        Self {
            outcome: Outcome::default(),
            plans: Vec::new(),
            connection: None,
            environments: Vec::new(),
            basis: Basis::default(),
            aspects: Judging::default(),
        }
    }

    /// Returns what the plans were made from.
    pub(super) fn into_detection(self) -> Detection {
        let Self { outcome, connection, environments, basis, aspects, .. } = self;
        Detection { outcome, environments, connection, basis, aspects }
    }

    /// Plans how to move what was found, without what the service refused in a preview.
    ///
    /// # Errors
    /// When a role of the assembly cannot be assumed as it should.
    pub(super) async fn of(
        settings: &Settings,
        detection: Detection,
        refused: &Refusals,
    ) -> Result<Self, Error> {
        let Detection { mut outcome, environments, connection, basis, aspects } = detection;
        let mut plans = Vec::new();
        if let Some(connection) = &connection {
            let moving = environments.iter().filter_map(|(environment, sides)| {
                let of = |one: &&Comparison| one.environment == *environment;
                let comparison = outcome.environments.iter().find(of)?;
                (!comparison.mappings.is_empty()).then_some((comparison, sides))
            });
            let all = moving.map(|(comparison, sides)| {
                let refused = refused.get(&comparison.environment).cloned().unwrap_or_default();
                planned(settings, connection, comparison, sides, refused)
            });
            let mut warnings = Vec::new();
            for one in join_all(all).await {
                if let Some((planned, more)) = one? {
                    warnings.extend(more);
                    plans.push(planned);
                }
            }
            outcome.warnings.extend(warnings);
        }
        Ok(Self { outcome, plans, connection, environments, basis, aspects })
    }

    /// Plans what is to be done if nothing is moved: what the deployment makes anew may still have
    /// to be handed over.
    ///
    /// # Errors
    /// When a role of the assembly cannot be assumed as it should.
    pub(super) async fn standing_still(&self, settings: &Settings) -> Result<Vec<Planned>, Error> {
        let mappings = self.outcome.environments.iter().flat_map(|one| &one.mappings);
        let types: BTreeSet<String> = mappings.map(|one| one.resource_type.to_string()).collect();
        let mut settings = settings.clone();
        settings.assume_fixed.extend(types);
        let mut plans = Vec::new();
        for comparison in &self.outcome.environments {
            let sides = self.environments.iter().find(|one| one.0 == comparison.environment);
            if let (Some(connection), Some((_, sides))) = (&self.connection, sides)
                && !comparison.mappings.is_empty()
            {
                let refused = BTreeMap::new();
                let planned = planned(&settings, connection, comparison, sides, refused).await?;
                plans.extend(planned.map(|(planned, _)| planned));
            }
        }
        Ok(plans)
    }

    /// Returns what the history says of the environments.
    pub(super) fn histories(&self) -> BTreeMap<Environment, Arc<Followed>> {
        let known = self.environments.iter().filter_map(|(environment, sides)| {
            Some((environment.clone(), Arc::clone(sides.history.as_ref()?)))
        });
        known.collect()
    }

    /// Whether there is anything to carry out.
    pub fn has_steps(&self) -> bool {
        self.plans.iter().any(|one| !one.plan.steps.is_empty())
    }

    /// What forbids that the plans are carried out.
    pub fn refusals(&self) -> impl Iterator<Item = &Finding> {
        let all = self.plans.iter().flat_map(|one| &one.plan.findings);
        all.filter(|finding| finding.severity == Severity::Error)
    }

    /// Returns the plans.
    pub fn plans(&self) -> Vec<Plan> {
        self.plans.iter().map(|one| one.plan.clone()).collect()
    }
}

/// Finds what moved, and plans how to move it. Changes nothing.
///
/// # Errors
/// When an assembly or an account cannot be read, a selection or a decision fits nothing, or a
/// template cannot be compared.
pub async fn prepare(settings: &Settings, host: &dyn Host) -> Result<Prepared, Error> {
    Box::pin(prepare_without(settings, &BTreeMap::new(), host)).await
}

/// What the service refused to move, by environment, with its words.
pub(super) type Refusals = BTreeMap<Environment, BTreeMap<Refused, String>>;

/// Prepares as [`prepare`] does, without what the service refused in a preview.
pub(super) async fn prepare_without(
    settings: &Settings,
    refused: &Refusals,
    host: &dyn Host,
) -> Result<Prepared, Error> {
    let detection = Box::pin(detect(settings, host)).await?;
    Box::pin(Prepared::of(settings, detection, refused)).await?.foresee()
}

/// The plan of an environment, with what may be wrong with it; `None` if it was not read from an
/// account.
async fn planned(
    settings: &Settings,
    connection: &Connection,
    comparison: &Comparison,
    sides: &Sides,
    refused: BTreeMap<Refused, String>,
) -> Result<Option<(Planned, Vec<String>)>, Error> {
    let Some(deployed) = &sides.account else { return Ok(None) };
    let (roles, conflict) = writer(settings, comparison, sides)?;
    let mut choices = Choices { refused, ..choices(settings) };
    let open = plan::uncertain_types(comparison, &choices);
    let records = records(&settings.project);
    let asked = types::described(&connection.aws, &comparison.environment, &roles, &open, &records);
    let (described, warnings) = asked.await;
    choices.described = described;
    let mut plan = plan::plan(deployed, &sides.local, comparison, &choices);
    plan.findings.extend(conflict.filter(|_| !plan.steps.is_empty()));
    let new_stacks = new_stacks(sides);
    Ok(Some((Planned { plan, roles, new_stacks }, warnings)))
}

fn choices(settings: &Settings) -> Choices {
    let types = |names: &[String]| names.iter().map(|name| name.as_str().into()).collect();
    Choices {
        assume_refactorable: types(&settings.assume_refactorable),
        assume_fixed: types(&settings.assume_fixed),
        ..Choices::default()
    }
}

/// What the app says of stacks that are not deployed, by name.
fn new_stacks(sides: &Sides) -> BTreeMap<String, StackOptions> {
    let is_deployed = |name: &StackName| sides.deployed.iter().any(|stack| stack.name == *name);
    let new = sides.properties.iter().filter(|(name, _)| !is_deployed(name));
    let options = |properties: &StackProperties| StackOptions {
        notification_arns: properties
            .notification_arns
            .iter()
            .flatten()
            .map(|arn| arn.as_str().into())
            .collect(),
        role_arn: properties.execution_role_arn.as_deref().map(Into::into),
        termination_protection: properties.termination_protection.unwrap_or_default(),
        ..StackOptions::default()
    };
    new.map(|(name, properties)| (name.to_string(), options(properties))).collect()
}

/// Who refactors: the role that all stacks between which something moves name to deploy with. A
/// refactor has one caller, so that several are a conflict.
fn writer(
    settings: &Settings,
    comparison: &Comparison,
    sides: &Sides,
) -> Result<(Roles, Option<Finding>), Error> {
    let ends = comparison.mappings.iter().flat_map(|one| [&one.source, &one.destination]);
    let touched: BTreeSet<&str> = ends.map(|place| root(&place.location.stack)).collect();
    let mut found: Vec<(&str, Roles)> = Vec::new();
    for name in &touched {
        if let Some(properties) = sides.properties.get(*name) {
            found.push((name, roles(properties)?));
        }
    }
    let arn = |roles: &Roles| roles.deploy.as_ref().map(|role: &Role| role.arn.clone());
    let first = found.first().map(|(_, roles)| roles.clone()).unwrap_or_default();
    let other = found.iter().find(|(_, roles)| arn(roles) != arn(&first));
    let conflict = other.filter(|_| settings.account.role_arn.is_none()).map(|(name, roles)| {
        let named = |roles| arn(roles).unwrap_or_else(|| "no role".to_owned());
        Finding {
            severity: Severity::Error,
            stack: (*name).to_owned(),
            resource: None,
            message: format!(
                "The stack names {} to deploy with, another one {}: a refactor has one caller",
                named(roles),
                named(&first)
            ),
            remedy: "Name the role that may change all of them: `--role-arn ARN`.".to_owned(),
        }
    });
    Ok((first, conflict))
}

/// The stack at the top: `Parent/Nested` belongs to `Parent`.
fn root(stack: &StackName) -> &str {
    let name = stack.as_str();
    name.split_once('/').map_or(name, |(root, _)| root)
}
