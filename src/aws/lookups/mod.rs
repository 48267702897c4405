//! Look-ups: what an app wants to know of an account while it is synthesized.
//!
//! In: an entry of `missing` in the manifest of a cloud assembly. Out: the value that the app
//! looks for in its context, in the shape that the construct library reads (the context providers
//! of the CDK CLI). Called by `toolkit`. A file for each provider; everything here only reads.

mod ami;
mod error;
mod hosted_zone;
mod query;
mod security_group;
mod ssm;
mod subnets;
mod vpc;
mod zones;

use std::collections::BTreeMap;

use serde_json::Value as Json;

pub use error::{LookupError, LookupProblem};

use super::access::Aws;
use super::roles::{Purpose, Role, RoleOptions, Roles};
use super::session::Session;
use crate::model::{Environment, Object, Text, Value};
use query::Query;

/// What is looked up: an entry of `missing` (cloud assembly schema, `MissingContext`).
#[derive(Clone, Copy, Debug)]
pub struct Lookup<'a> {
    /// The key of the context.
    pub key: &'a str,
    /// Who knows the value, such as `vpc-provider`.
    pub provider: &'a str,
    /// What the provider has to be told.
    pub props: &'a BTreeMap<String, Json>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The value for the context.
    pub value: Value,
    /// Which roles could not be assumed, and what was done instead: a sentence each.
    pub warnings: Vec<String>,
}

/// The providers that are here (cloud assembly schema, `ContextProvider`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Provider {
    AvailabilityZones,
    Ssm,
    Ami,
    HostedZone,
    Vpc,
    SecurityGroup,
}

impl Provider {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "availability-zones" => Self::AvailabilityZones,
            "ssm" => Self::Ssm,
            "ami" => Self::Ami,
            "hosted-zone" => Self::HostedZone,
            "vpc-provider" => Self::Vpc,
            "security-group" => Self::SecurityGroup,
            _ => return None,
        })
    }
}

/// Whether values of a provider can be looked up here.
pub fn can_look_up(provider: &str) -> bool {
    Provider::of(provider).is_some()
}

impl Aws {
    /// Looks a value up, with the role that the app names for it, else with the base credentials.
    ///
    /// What is not there is the dummy value of the app, if the app says that it need not be there
    /// (`ignoreErrorOnMissingContext`).
    ///
    /// # Errors
    /// When the provider is not known, what it is told has the wrong shape, AWS refuses, or what
    /// is looked for is not there or there several times.
    pub async fn look_up(&self, lookup: &Lookup<'_>) -> Result<Found, LookupError> {
        let failed = |problem| LookupError { key: lookup.key.to_owned(), problem };
        let provider = Provider::of(lookup.provider)
            .ok_or_else(|| failed(LookupProblem::Provider(lookup.provider.to_owned())))?;
        let query = Query::new(lookup);
        let session = self.session_of(&query).await.map_err(failed)?;
        let warnings = session.warnings().to_vec();
        match answer(provider, &session, &query).await {
            Ok(value) => Ok(Found { value, warnings }),
            Err(problem) => match query.instead_of(&problem) {
                Some(value) => Ok(Found { value, warnings }),
                None => Err(failed(problem)),
            },
        }
    }

    async fn session_of(&self, query: &Query<'_>) -> Result<Session, LookupProblem> {
        let environment = Environment::new(query.text("account")?, query.text("region")?);
        let lookup = match query.optional_text("lookupRoleArn")? {
            Some(arn) => Some(Role {
                arn: arn.to_owned(),
                external_id: query.optional_text("lookupRoleExternalId")?.map(str::to_owned),
                options: RoleOptions::from_json(&query.members("assumeRoleAdditionalOptions")?)?,
            }),
            None => None,
        };
        let roles = Roles { lookup, deploy: None };
        Ok(self.session(&environment, &roles, Purpose::Read).await?)
    }
}

async fn answer(
    provider: Provider,
    session: &Session,
    query: &Query<'_>,
) -> Result<Value, LookupProblem> {
    match provider {
        Provider::AvailabilityZones => zones::look_up(session).await,
        Provider::Ssm => ssm::look_up(session, query).await,
        Provider::Ami => ami::look_up(session, query).await,
        Provider::HostedZone => hosted_zone::look_up(session, query).await,
        Provider::Vpc => vpc::look_up(session, query).await,
        Provider::SecurityGroup => security_group::look_up(session, query).await,
    }
}

/// An object of its members, in this order.
fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let members = members.into_iter().map(|(name, value)| (Text::from(name), value));
    Value::Object(members.collect::<Object>())
}

/// A list of texts.
fn list<'a>(texts: impl IntoIterator<Item = &'a str>) -> Value {
    Value::Array(texts.into_iter().map(Value::from).collect())
}
