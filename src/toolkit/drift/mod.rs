//! Whether what is deployed still is as its templates say. Reads, and changes nothing.

mod states;
mod verify;

use std::collections::BTreeMap;

use super::Error;
use super::account::{self, Connection};
use super::{context, sources};
use crate::assembly::{Assembly, SelectError};
use crate::aws::{Depth, ReadRequest, Roles, Wanted};
use crate::event::Host;
use crate::model::{DeployedEnvironment, Environment, Pattern, PatternError};
use crate::plan::drift::{
    Checked, Declarations, Drift, LeftOut, Standing, States, Subject, compare, schema,
};
use crate::registry::Schema;
use crate::settings::{Account, App, Place, Settings};
use states::{Asked, Asking, standing};

pub(super) use verify::{Before, after, before};

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Drifts {
    /// By account and region.
    pub environments: Vec<Drift>,
    /// What may be wrong with the result.
    pub warnings: Vec<String>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

impl Drifts {
    /// Whether a resource is not as it is declared.
    pub fn has_drifted(&self) -> bool {
        self.environments.iter().any(|one| one.drifted().next().is_some())
    }
}

/// Why drift cannot be looked for.
#[derive(Debug, thiserror::Error)]
pub enum DriftError {
    /// A stack that was named is not there.
    #[error("there is no stack `{0}` in {1}")]
    NoStack(String, Environment),
    /// A pattern of resources is malformed.
    #[error("`--resource {pattern}`: {error}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        error: PatternError,
    },
    /// A pattern of resources fits nothing.
    #[error("`--resource {0}`: no such resource is deployed in the stacks that are looked at")]
    NoResource(String),
}

/// Compares the deployed templates of the app's stacks with the state of their resources.
/// `resources` are patterns of `Stack.LogicalId`; without any, all are looked at.
///
/// # Errors
/// When the app or an account cannot be read, or a pattern fits nothing. A resource that cannot
/// be read is no error.
pub async fn drift(
    settings: &Settings,
    resources: &[String],
    host: &dyn Host,
) -> Result<Drifts, Error> {
    let filter = Filter::new(resources)?;
    let connection = account::connect(&settings.account).await?;
    let default = match &settings.app.value {
        App::Command(_) => connection.default_environment().await,
        App::Directory(_) => None,
    };
    let default = default.as_ref().map(|(account, region)| (account.as_str(), region.as_str()));
    let directory = sources::app(settings, default, host)?;
    let local = sources::read(sources::APP, &directory, settings)?;
    let mut local = context::complete(settings, default, Some(&connection), local, host).await?;
    account::resolve(&connection, &mut local).await?;
    let wanted = wanted(&local, &settings.stacks, &settings.account.additional_stacks)?;
    check(&connection, &settings.account, wanted, &filter, host).await
}

/// Compares as [`drift`] does, for stacks that are known by their names, without an app: those of
/// the account and region of the credentials.
///
/// # Errors
/// As [`drift`].
pub async fn drift_of_stacks(
    place: &Place,
    stacks: &[String],
    resources: &[String],
    host: &dyn Host,
) -> Result<Drifts, Error> {
    let filter = Filter::new(resources)?;
    let connection = account::connect(&place.account).await?;
    let open = Environment::new("unknown-account", "unknown-region");
    let environment = connection.aws.resolve(&open).await?;
    let named =
        stacks.iter().chain(&place.account.additional_stacks).map(|name| Target::named(name));
    let wanted = BTreeMap::from([(environment, named.collect())]);
    check(&connection, &place.account, wanted, &filter, host).await
}

/// A stack to look at.
struct Target {
    wanted: Wanted,
    /// Whether somebody has named it, so that it has to be there.
    is_named: bool,
}

impl Target {
    fn named(name: &str) -> Self {
        let wanted = Wanted { name: name.to_owned(), roles: Roles::default() };
        Self { wanted, is_named: true }
    }
}

type Targets = BTreeMap<Environment, Vec<Target>>;

/// The stacks of the app that patterns select. A name that the app does not know is that of a
/// stack that it had once.
fn wanted(local: &Assembly, patterns: &[String], additional: &[String]) -> Result<Targets, Error> {
    let mut targets = Targets::new();
    let mut known: Vec<String> = Vec::new();
    let mut former: Vec<&String> = additional.iter().collect();
    for pattern in patterns {
        match local.select(std::slice::from_ref(pattern)) {
            Ok(_) => known.push(pattern.clone()),
            Err(SelectError::NoMatch { .. }) if !pattern.contains(['*', '?', '/', '[']) => {
                former.push(pattern);
            }
            Err(error) => return Err(Box::new(error).into()),
        }
    }
    let selected = if patterns.is_empty() || !known.is_empty() {
        local.select(&known).map_err(Box::new)?
    } else {
        Vec::new()
    };
    for stack in selected {
        let name = stack.stack.name.to_string();
        let roles = account::roles(&stack.properties)?;
        let target = Target { wanted: Wanted { name, roles }, is_named: false };
        targets.entry(stack.environment.clone()).or_default().push(target);
    }
    // Where the app has its stacks, with the roles that it uses there.
    for stack in local.stacks.iter().filter(|_| !former.is_empty()) {
        let all = targets.entry(stack.environment.clone()).or_default();
        for name in &former {
            if !all.iter().any(|target| target.wanted.name == **name) {
                let mut target = Target::named(name);
                target.wanted.roles = account::roles(&stack.properties)?;
                all.push(target);
            }
        }
    }
    Ok(targets)
}

/// Which resources are looked at.
struct Filter(Vec<(String, Option<Pattern>)>);

impl Filter {
    fn new(patterns: &[String]) -> Result<Self, DriftError> {
        let read = |text: &String| match Pattern::parse(text) {
            Ok(pattern) => Ok((text.clone(), pattern)),
            Err(error) => Err(DriftError::Pattern { pattern: text.clone(), error }),
        };
        Ok(Self(patterns.iter().map(read).collect::<Result<_, _>>()?))
    }

    fn takes(&self, subject: &Subject) -> bool {
        let name = subject.location.to_string();
        self.0.is_empty() || self.0.iter().any(|one| fits(one, &name))
    }

    /// Fails if a pattern fits nothing of all that was found.
    fn check(&self, found: &[Drift]) -> Result<(), DriftError> {
        let all = found.iter().flat_map(|one| &one.resources);
        let names: Vec<String> = all.map(|one| one.subject.location.to_string()).collect();
        let is_idle = |one: &&(String, Option<Pattern>)| !names.iter().any(|name| fits(one, name));
        match self.0.iter().find(is_idle) {
            Some((text, _)) => Err(DriftError::NoResource(text.clone())),
            None => Ok(()),
        }
    }
}

fn fits((text, pattern): &(String, Option<Pattern>), name: &str) -> bool {
    match pattern {
        Some(pattern) => pattern.captures(name).is_some(),
        None => text == name,
    }
}

async fn check(
    connection: &Connection,
    account: &Account,
    targets: Targets,
    filter: &Filter,
    host: &dyn Host,
) -> Result<Drifts, Error> {
    let mut drifts = Drifts::default();
    let mut missing: BTreeMap<String, Option<Environment>> = BTreeMap::new();
    for (environment, targets) in targets {
        let stacks: Vec<Wanted> = targets.iter().map(|target| target.wanted.clone()).collect();
        let roles = stacks.first().map(|first| first.roles.clone()).unwrap_or_default();
        let (deployed, warnings) =
            read(connection, account, environment.clone(), stacks, host).await?;
        drifts.warnings.extend(warnings);
        for Target { wanted, is_named } in &targets {
            let has = deployed.stacks.iter().any(|one| one.stack.name.as_str() == wanted.name);
            match (has, is_named) {
                (true, true) => drop(missing.insert(wanted.name.clone(), None)),
                (true, false) => {}
                (false, true) => {
                    missing.entry(wanted.name.clone()).or_insert_with(|| Some(environment.clone()));
                }
                (false, false) => drifts
                    .notes
                    .push(format!("{environment}: stack {} is not deployed", wanted.name)),
            }
        }
        let asking = Asking { aws: &connection.aws, roles: &roles, host };
        drifts.environments.push(of_environment(&deployed, filter, &asking).await?);
    }
    // A stack that somebody named need not be in every environment, but in one.
    for (name, environment) in missing {
        if let Some(environment) = environment {
            return Err(DriftError::NoStack(name, environment).into());
        }
    }
    filter.check(&drifts.environments)?;
    Ok(drifts)
}

/// Reads stacks with their resources.
async fn read(
    connection: &Connection,
    account: &Account,
    environment: Environment,
    stacks: Vec<Wanted>,
    host: &dyn Host,
) -> Result<(DeployedEnvironment, Vec<String>), Error> {
    let request = ReadRequest {
        environment,
        stacks,
        additional: Vec::new(),
        depth: Depth::Resources,
        wait: account.wait.then(|| account::wait(account)),
        accepts_failed: true,
    };
    let read = connection.aws.read(&request, host).await?;
    Ok((read.deployed, read.warnings))
}

async fn of_environment(
    deployed: &DeployedEnvironment,
    filter: &Filter,
    asking: &Asking<'_>,
) -> Result<Drift, Error> {
    let declarations = Declarations::new(deployed);
    let subjects: Vec<Subject> =
        declarations.subjects().into_iter().filter(|one| filter.takes(one)).collect();
    let environment = deployed.environment.clone();
    let (asked, states) = asking.states(&environment, &declarations, &subjects).await?;
    let mut resources = Vec::with_capacity(subjects.len());
    for (subject, asked) in subjects.into_iter().zip(&asked) {
        let known = schema(&subject.resource_type);
        resources.push(checked(subject, asked, &declarations, &states, &known));
    }
    refine(&mut resources, &asked, &declarations, &states, asking).await;
    Ok(Drift { environment, resources })
}

fn checked(
    subject: Subject,
    asked: &Asked,
    declarations: &Declarations<'_>,
    states: &States,
    known: &Schema,
) -> Checked {
    let (standing, left_out) = match (states.get(&subject.location), standing(asked)) {
        (Some(state), None) => {
            let declared = declarations.declared(&subject, states);
            compare(&subject.resource_type, state, &declared, known)
        }
        (_, standing) => (standing.unwrap_or(Standing::Gone), LeftOut::default()),
    };
    Checked { subject, standing, left_out }
}

/// Looks again at what seems to have drifted, with the schemas that the registry has: it knows which
/// lists have no order, and types that are newer than the table. Without them the table counts.
async fn refine(
    resources: &mut [Checked],
    asked: &[Asked],
    declarations: &Declarations<'_>,
    states: &States,
    asking: &Asking<'_>,
) {
    let environment = declarations.environment();
    let mut schemas: BTreeMap<String, Option<Schema>> = BTreeMap::new();
    for (one, asked) in resources.iter_mut().zip(asked) {
        if !matches!(one.standing, Standing::Drifted(_)) {
            continue;
        }
        let name = one.subject.resource_type.to_string();
        if !schemas.contains_key(&name) {
            let schema = asking.aws.type_schema(environment, asking.roles, &name).await;
            let schema = schema.ok().flatten().map(|schema| Schema::from_registry(&schema));
            schemas.insert(name.clone(), schema);
        }
        if let Some(Some(known)) = schemas.get(&name) {
            *one = checked(one.subject.clone(), asked, declarations, states, known);
        }
    }
}
