//! How to reach AWS, and who we are there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_config::default_provider::region::DefaultRegionChain;
use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{AppName, BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_sdk_cloudformation::config::SharedCredentialsProvider;
use aws_sdk_cloudformation::config::retry::{RetryPartition, TokenBucket};
use tokio::sync::{OnceCell, Semaphore};

use super::call::translate;
use super::credentials::RoleProvider;
use super::error::{AwsError, Call, Cause};
use super::roles::{Purpose, Role, Roles};
use super::session::{Identified, Limits, Session};
use crate::model::{Environment, Text};

/// How long it may take to reach a service.
const CONNECT: Duration = Duration::from_secs(5);
/// How long one attempt of a call may take.
const ATTEMPT: Duration = Duration::from_mins(1);
/// How often a call is attempted that is throttled or meets a failure that passes.
const ATTEMPTS: u32 = 10;
/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// Where STS is asked who we are if no region is set.
const STS_REGION: &str = "us-east-1";

/// How to reach AWS.
#[derive(Clone, Debug)]
pub struct Access {
    /// The profile (`--profile`); `None`: what the environment says.
    pub profile: Option<String>,
    /// The region of environment-agnostic stacks (`--region`); `None`: what the environment or
    /// the profile says.
    pub region: Option<String>,
    /// The role that takes the place of the one that stacks name to deploy with
    /// (`cdkr refactor --role-arn`). Not the role that CloudFormation works with
    /// (`cdkr deploy --role-arn`): that one is part of a change set.
    pub role_arn: Option<String>,
    /// How many requests are under way at once.
    pub concurrency: usize,
    /// Another AWS than the real one.
    pub endpoint: Option<Endpoint>,
}

impl Default for Access {
    fn default() -> Self {
        Self { profile: None, region: None, role_arn: None, concurrency: 20, endpoint: None }
    }
}

/// An AWS that is not the real one: the embedded server, an emulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Where every service answers.
    pub url: String,
    /// Who we are there. No other source of credentials is asked.
    pub identity: Identity,
}

/// Who we are at an [`Endpoint`]. The access key is the account number, which is how the
/// embedded server tells accounts apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Whoever is needed: every environment gets credentials of its own account. Agnostic
    /// environments belong to this account.
    Anyone(String),
    /// This account only.
    Account(String),
}

impl Identity {
    fn account(&self) -> &str {
        match self {
            Self::Anyone(account) | Self::Account(account) => account,
        }
    }
}

/// Who makes the calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The account number.
    pub account: Text,
    /// The user or the session of a role.
    pub arn: Text,
}

/// The way to AWS. Cheap to clone; clones share credentials, clients and the bound on requests.
#[derive(Clone)]
pub struct Aws(Arc<Inner>);

type Key = (Environment, Vec<Role>);

struct Inner {
    access: Access,
    base: SdkConfig,
    gate: Arc<Semaphore>,
    caller: OnceCell<Caller>,
    sessions: Mutex<HashMap<Key, Arc<OnceCell<Session>>>>,
    partitions: Mutex<HashMap<Environment, RetryPartition>>,
}

impl std::fmt::Debug for Aws {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Aws").field("access", &self.0.access).finish_non_exhaustive()
    }
}

impl Aws {
    /// Finds out how to sign requests: the profile, then the standard chain of the SDKs
    /// (environment, SSO, process, container, instance). Nothing is asked of AWS yet, and
    /// missing credentials show only when they are needed.
    pub async fn connect(access: Access) -> Self {
        let base = match &access.endpoint {
            Some(endpoint) => local(endpoint, access.region.as_deref()),
            None => standard(&access).await,
        };
        // A semaphore takes less than `usize::MAX`; more than this makes no difference.
        let places = access.concurrency.clamp(1, 10_000);
        Self(Arc::new(Inner {
            access,
            base,
            gate: Arc::new(Semaphore::new(places)),
            caller: OnceCell::new(),
            sessions: Mutex::default(),
            partitions: Mutex::default(),
        }))
    }

    /// Returns how AWS is reached.
    pub fn access(&self) -> &Access {
        &self.0.access
    }

    /// Returns who the base credentials belong to. Asked once.
    ///
    /// # Errors
    /// When there are no credentials, or AWS does not accept them.
    pub async fn caller(&self) -> Result<&Caller, AwsError> {
        self.0.caller.get_or_try_init(|| self.ask_caller()).await
    }

    async fn ask_caller(&self) -> Result<Caller, AwsError> {
        let region = self.0.base.region().map_or(STS_REGION, Region::as_ref).to_owned();
        let environment = Environment::new("unknown-account", &region);
        let call = Call { operation: "GetCallerIdentity", environment, stack: None };
        let config = self.0.base.to_builder().region(Region::new(region)).build();
        let _place = self.0.gate.acquire().await;
        let request = aws_sdk_sts::Client::new(&config).get_caller_identity();
        let answer = request.send().await.map_err(|error| translate(call.clone(), &error))?;
        match (answer.account, answer.arn) {
            (Some(account), arn) => {
                Ok(Caller { account: account.into(), arn: arn.unwrap_or_default().into() })
            }
            _ => Err(AwsError::Incomplete { call, what: "account" }),
        }
    }

    /// Returns the environment with what it leaves open filled in: the account of the base
    /// credentials, and the region that is set.
    ///
    /// # Errors
    /// When no region is set, or AWS does not say who we are.
    pub async fn resolve(&self, environment: &Environment) -> Result<Environment, AwsError> {
        let mut resolved = environment.clone();
        if environment.region == "unknown-region" {
            let region = self.0.base.region().ok_or(AwsError::NoRegion)?;
            resolved.region = region.as_ref().into();
        }
        if environment.account == "unknown-account" {
            resolved.account = match &self.0.access.endpoint {
                Some(endpoint) => endpoint.identity.account().into(),
                None => self.caller().await?.account.clone(),
            };
        }
        Ok(resolved)
    }

    /// Returns a session in an environment with the first role that can be assumed: for reading
    /// the lookup role, then the one to deploy with; for writing only the latter. If none can be
    /// assumed but the base credentials belong to the account, they are taken
    /// ([`Session::warnings`] says so). Sessions are kept: asking again costs nothing.
    ///
    /// # Errors
    /// When no credentials lead to the account.
    pub async fn session(
        &self,
        environment: &Environment,
        roles: &Roles,
        purpose: Purpose,
    ) -> Result<Session, AwsError> {
        let environment = self.resolve(environment).await?;
        let chain = roles.chain(purpose, self.0.access.role_arn.as_deref(), &environment);
        let cell = {
            let sessions = &self.0.sessions;
            let mut sessions = sessions.lock().unwrap_or_else(PoisonError::into_inner);
            sessions.entry((environment.clone(), chain.clone())).or_default().clone()
        };
        cell.get_or_try_init(|| self.open(environment, chain)).await.cloned()
    }

    async fn open(&self, environment: Environment, chain: Vec<Role>) -> Result<Session, AwsError> {
        let base = self.base(&environment);
        let mut refused = Vec::new();
        for role in chain {
            let arn = role.arn.clone();
            let provider = RoleProvider {
                client: aws_sdk_sts::Client::new(&base),
                environment: environment.clone(),
                role,
                cached: tokio::sync::Mutex::default(),
            };
            match provider.credentials().await {
                Ok(_) => {
                    let provider = SharedCredentialsProvider::new(provider);
                    let config = base.to_builder().credentials_provider(provider).build();
                    let warnings = refused.iter().map(|refusal| passed_over(refusal, &arn));
                    let warnings = warnings.collect();
                    return Ok(self.wrap(environment, &config, Some(arn), warnings));
                }
                Err(error) if is_about_the_role(&error) => refused.push((arn, reason(&error))),
                Err(error) => return Err(error),
            }
        }
        let account = self.base_account(&environment).await?;
        if account != environment.account {
            let account = account.to_string();
            return Err(AwsError::WrongAccount { environment, account, refused });
        }
        let instead = format!("the current credentials, which belong to account {account}");
        let warnings = refused.iter().map(|refusal| passed_over(refusal, &instead)).collect();
        Ok(self.wrap(environment, &base, None, warnings))
    }

    fn wrap(
        &self,
        environment: Environment,
        config: &SdkConfig,
        role: Option<String>,
        warnings: Vec<String>,
    ) -> Session {
        let partition = {
            let partitions = &self.0.partitions;
            let mut partitions = partitions.lock().unwrap_or_else(PoisonError::into_inner);
            partitions.entry(environment.clone()).or_insert_with(|| partition(&environment)).clone()
        };
        let pause = retries(self.0.access.endpoint.is_some()).initial_backoff();
        let limits = Limits { partition, gate: Arc::clone(&self.0.gate), pause };
        Session::new(config, &limits, Identified { environment, role, warnings })
    }

    /// The configuration with the base credentials, in the region of an environment.
    fn base(&self, environment: &Environment) -> SdkConfig {
        let region = Region::new(environment.region.to_string());
        let mut config = self.0.base.to_builder().region(region);
        if let Some(Identity::Anyone(_)) = self.0.access.endpoint.as_ref().map(|at| &at.identity) {
            config = config.credentials_provider(keys_of(&environment.account));
        }
        config.build()
    }

    async fn base_account(&self, environment: &Environment) -> Result<Text, AwsError> {
        match self.0.access.endpoint.as_ref().map(|endpoint| &endpoint.identity) {
            Some(Identity::Anyone(_)) => Ok(environment.account.clone()),
            Some(Identity::Account(account)) => Ok(account.as_str().into()),
            None => Ok(self.caller().await?.account.clone()),
        }
    }
}

fn passed_over((role, reason): &(String, String), instead: &str) -> String {
    format!("the role {role} cannot be assumed, going on with {instead}: {reason}")
}

/// Whether another role could fare better: not if the credentials or the network are at fault.
fn is_about_the_role(error: &AwsError) -> bool {
    matches!(error.cause(), Some(Cause::Denied | Cause::Refused))
}

fn reason(error: &AwsError) -> String {
    match error.call() {
        Some(call) => {
            let code = call.code.as_deref().unwrap_or("no code");
            format!("{} ({code}).", call.message.trim().trim_end_matches('.'))
        }
        None => error.to_string(),
    }
}

/// A bucket of its own for each account and region, which is what AWS counts requests by. What
/// bounds the attempts is their number and the rate limiter, not a quota of retries: a large
/// account is throttled often without being lost.
fn partition(environment: &Environment) -> RetryPartition {
    RetryPartition::custom(environment.to_string()).token_bucket(TokenBucket::unlimited()).build()
}

/// A call keeps its place among the requests while it waits to be repeated, so that fewer run at
/// once the more are throttled. The SDK's own rate limiter is left out: after a handful of
/// throttled requests it lets through less than one in ten seconds.
fn retries(local: bool) -> RetryConfig {
    let retries = RetryConfig::standard().with_max_attempts(ATTEMPTS);
    if local {
        // Nobody else suffers.
        retries
            .with_initial_backoff(Duration::from_millis(20))
            .with_max_backoff(Duration::from_millis(500))
    } else {
        retries.with_max_backoff(LONGEST_PAUSE)
    }
}

fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder().connect_timeout(CONNECT).operation_attempt_timeout(ATTEMPT).build()
}

fn app_name() -> Option<AppName> {
    AppName::new(concat!("cdkr-", env!("CARGO_PKG_VERSION"))).ok()
}

async fn standard(access: &Access) -> SdkConfig {
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .retry_config(retries(false))
        .timeout_config(timeouts());
    if let Some(name) = app_name() {
        loader = loader.app_name(name);
    }
    let mut region = access.region.clone().map(Region::new);
    if let Some(profile) = &access.profile {
        // The standard chain would prefer keys in the environment to the profile that is named,
        // and take other credentials if there is no such profile.
        if region.is_none() {
            let chain = DefaultRegionChain::builder().profile_name(profile).build();
            region = chain.region().await;
        }
        let provider = ProfileFileCredentialsProvider::builder()
            .profile_name(profile)
            .configure(&ProviderConfig::default().with_region(region.clone()))
            .build();
        loader = loader.profile_name(profile).credentials_provider(provider);
    }
    if let Some(region) = region {
        loader = loader.region(region);
    }
    loader.load().await
}

/// Built by hand, so that neither files nor the environment nor the instance are asked.
fn local(endpoint: &Endpoint, region: Option<&str>) -> SdkConfig {
    let mut config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(&endpoint.url)
        .region(Region::new(region.unwrap_or(STS_REGION).to_owned()))
        .credentials_provider(keys_of(endpoint.identity.account()))
        .retry_config(retries(true))
        .timeout_config(timeouts());
    config.set_app_name(app_name());
    config.build()
}

fn keys_of(account: &str) -> SharedCredentialsProvider {
    SharedCredentialsProvider::new(Credentials::new(account, "local", None, None, "endpoint"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(identity: Identity) -> Access {
        let url = "http://127.0.0.1:9".to_owned();
        Access { endpoint: Some(Endpoint { url, identity }), ..Access::default() }
    }

    #[tokio::test]
    async fn an_open_environment_is_filled_in_and_a_known_one_stays() {
        let aws = Aws::connect(Access {
            region: Some("eu-west-1".to_owned()),
            ..at(Identity::Anyone("111111111111".to_owned()))
        })
        .await;
        let open = Environment::new("unknown-account", "unknown-region");
        let resolved = aws.resolve(&open).await.unwrap();
        assert_eq!(resolved, Environment::new("111111111111", "eu-west-1"));
        let known = Environment::new("222222222222", "us-east-1");
        assert_eq!(aws.resolve(&known).await.unwrap(), known);
    }

    #[tokio::test]
    async fn credentials_of_another_account_are_refused_with_both_accounts() {
        let aws = Aws::connect(at(Identity::Account("111111111111".to_owned()))).await;
        let environment = Environment::new("222222222222", "us-east-1");
        let error = aws.session(&environment, &Roles::default(), Purpose::Read).await.unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with(
                "aws://222222222222/us-east-1 needs credentials for account 222222222222, but \
                 the current ones are for account 111111111111."
            ),
            "{text}"
        );
    }
}
