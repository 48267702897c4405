//! The account as the deployed side.

use std::collections::{BTreeMap, BTreeSet};

use super::Error;
use super::carry_out::interval;
use super::local::{self, LOCAL_ACCOUNT, LOCAL_REGION};
use crate::assembly::{Assembly, StackProperties};
use crate::aws::{
    Access, Aws, Depth, Endpoint, Identity, ReadRequest, Role, RoleOptions, RoleOptionsError,
    Roles, Wait, Wanted, supports_refactoring,
};
use crate::event::Host;
use crate::local::server::Running;
use crate::model::{DeployedEnvironment, Environment, StackName};
use crate::settings::{Account, Settings};

/// The bootstrap version from which on the roles may refactor (CDK CLI 2.1015.0).
const BOOTSTRAP_VERSION: u64 = 28;

type RoleJson = BTreeMap<String, serde_json::Value>;

/// The way to an account.
pub(super) struct Connection {
    pub(super) aws: Aws,
    /// The embedded CloudFormation runs for as long as it is needed.
    _running: Option<Running>,
}

/// Finds the way to the accounts of the app: AWS, or the embedded CloudFormation.
///
/// # Errors
/// When nothing was seeded in the directory of the embedded CloudFormation, unless it may be made;
/// or when it cannot listen.
pub(super) async fn connect(account: &Account) -> Result<Connection, Error> {
    let running = match &account.local {
        Some(directory) => {
            let directory = &directory.value;
            let open = if account.creates_local { local::open } else { local::open_existing };
            Some(local::serve(open(directory)?, 0)?)
        }
        None => None,
    };
    let endpoint = running.as_ref().map(|running| Endpoint {
        url: running.url().to_owned(),
        identity: Identity::Anyone(LOCAL_ACCOUNT.to_owned()),
    });
    let region = account.region.as_ref().map(|region| region.value.clone());
    let region = region.or_else(|| endpoint.is_some().then(|| LOCAL_REGION.to_owned()));
    let access = Access {
        profile: account.profile.as_ref().map(|profile| profile.value.clone()),
        region,
        role_arn: account.role_arn.as_ref().map(|role| role.value.clone()),
        concurrency: account.concurrency,
        endpoint,
    };
    Ok(Connection { aws: Aws::connect(access).await, _running: running })
}

impl Connection {
    /// Returns the account and the region of stacks that leave them open, if they are known. An
    /// app that names its environments needs none.
    pub(super) async fn default_environment(&self) -> Option<(String, String)> {
        let open = Environment::new("unknown-account", "unknown-region");
        let environment = self.aws.resolve(&open).await.ok()?;
        Some((environment.account.to_string(), environment.region.to_string()))
    }
}

/// Fills in what the app leaves open in the environments of its stacks.
///
/// # Errors
/// When nobody says which account and region are meant.
pub(super) async fn resolve(connection: &Connection, local: &mut Assembly) -> Result<(), Error> {
    for stack in &mut local.stacks {
        stack.environment = connection.aws.resolve(&stack.environment).await?;
    }
    Ok(())
}

/// Reads what is deployed of the stacks of an assembly, whose environments are filled in, and
/// `further` stacks, as far as they are there.
///
/// # Errors
/// When an account cannot be reached or read, when an additional stack is nowhere, or when a stack
/// is in no state to be built on.
pub(super) async fn read(
    connection: &Connection,
    settings: &Settings,
    local: &Assembly,
    further: &dyn Fn(&Environment) -> BTreeSet<String>,
    host: &dyn Host,
) -> Result<(Vec<DeployedEnvironment>, Vec<String>), Error> {
    let mut wanted: BTreeMap<Environment, Vec<Wanted>> = BTreeMap::new();
    for stack in &local.stacks {
        let name = stack.stack.name.to_string();
        let roles = roles(&stack.properties)?;
        wanted.entry(stack.environment.clone()).or_default().push(Wanted { name, roles });
    }
    let additional = &settings.account.additional_stacks;
    let reads = wanted.into_iter().map(|(environment, mut stacks)| {
        let roles = stacks.first().map(|first| first.roles.clone()).unwrap_or_default();
        for name in further(&environment).iter().chain(additional) {
            if !stacks.iter().any(|stack| stack.name == *name) {
                stacks.push(Wanted { name: name.clone(), roles: roles.clone() });
            }
        }
        let request = ReadRequest {
            environment,
            stacks,
            additional: Vec::new(),
            depth: Depth::Comparison,
            wait: settings.account.wait.then(|| wait(&settings.account)),
            accepts_failed: settings.account.accepts_failed,
        };
        async move { connection.aws.read(&request, host).await }
    });
    let (mut environments, mut warnings) = (Vec::new(), Vec::new());
    for read in futures_util::future::join_all(reads).await {
        let read = read?;
        environments.push(read.deployed);
        warnings.extend(read.warnings);
    }
    // It need not be in every environment of the app, but in one.
    let is_there = |name: &&String| environments.iter().any(|one| has(one, name));
    if let Some(missing) = additional.iter().find(|name| !is_there(name)) {
        return Err(Error::NoAdditionalStack(missing.clone()));
    }
    Ok((environments, warnings))
}

/// How stacks are waited for in which something is going on.
pub(super) fn wait(account: &Account) -> Wait {
    let default = Wait::default();
    Wait {
        interval: interval(account).unwrap_or(default.interval),
        limit: account.wait_limit.unwrap_or(default.limit),
    }
}

fn has(environment: &DeployedEnvironment, name: &str) -> bool {
    environment.stacks.iter().any(|stack| stack.stack.name.as_str() == name)
        || environment.empty.iter().any(|(stack, _)| stack.as_str() == name)
}

/// Reads of the stacks that moves touch what only matters then, and returns what stands in the
/// way of moving there: one sentence each.
///
/// # Errors
/// When AWS refuses.
pub(super) async fn obstacles(
    connection: &Connection,
    settings: &Settings,
    deployed: &mut DeployedEnvironment,
    touched: &[StackName],
    properties: &BTreeMap<StackName, StackProperties>,
) -> Result<Vec<String>, Error> {
    let environment = deployed.environment.clone();
    let first = touched.iter().find_map(|name| properties.get(name));
    let first = first.or_else(|| properties.values().next());
    let roles = first.map(roles).transpose()?.unwrap_or_default();
    let parameter = first.and_then(|stack| stack.bootstrap_version_parameter.as_deref());
    let toolkit_stack = &settings.account.toolkit_stack_name.value;
    let version = connection.aws.bootstrap_version(&environment, &roles, parameter, toolkit_stack);
    let (version, completed) =
        futures_util::future::join(version, connection.aws.complete(deployed, touched, &roles))
            .await;
    let mut found = completed?;
    if !supports_refactoring(&environment.region) {
        found.push(format!(
            "{environment}: CloudFormation does not offer stack refactoring in this region: \
             nothing can be moved there"
        ));
    }
    match version {
        Ok(Some(version)) if version < BOOTSTRAP_VERSION => found.push(format!(
            "{environment}: the bootstrap stack has version {version}, but its roles may refactor \
             from version {BOOTSTRAP_VERSION} on: `cdk bootstrap {environment}` updates it"
        )),
        // An environment that is not bootstrapped is worked in with one's own credentials.
        Ok(_) => {}
        Err(error) => found.push(format!(
            "{environment}: the version of the bootstrap stack is not known: {error}"
        )),
    }
    for stack in deployed.stacks.iter().filter(|stack| stack.has_policy) {
        if touched.contains(&stack.stack.name) {
            found.push(format!(
                "{environment}: stack {} has a stack policy: CloudFormation does not refactor it, \
                 whatever the policy says",
                stack.stack.name
            ));
        }
    }
    Ok(found)
}

/// The roles that the manifest names for a stack.
pub(super) fn roles(properties: &StackProperties) -> Result<Roles, Error> {
    let role = |arn: &str, external_id: &Option<String>, options: &RoleJson| {
        Ok::<_, RoleOptionsError>(Role {
            arn: arn.to_owned(),
            external_id: external_id.clone(),
            options: RoleOptions::from_json(options)?,
        })
    };
    let lookup = properties.lookup_role.as_ref();
    let lookup = lookup.map(|lookup| role(&lookup.arn, &lookup.external_id, &lookup.options));
    let deploy = properties
        .assume_role_arn
        .as_ref()
        .map(|arn| role(arn, &properties.assume_role_external_id, &properties.assume_role_options));
    Ok(Roles { lookup: lookup.transpose()?, deploy: deploy.transpose()? })
}
