//! The state of resources as their services have it, through Cloud Control. Nothing but
//! `GetResource` is ever called: a resource that belongs to a stack is changed by its CloudFormation
//! only.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use aws_sdk_cloudformation::types::RegistryType;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use super::access::Aws;
use super::error::{AwsError, Cause};
use super::roles::{Purpose, Roles};
use super::session::Session;
use crate::model::{Environment, Value};
use crate::template::json;

/// How many resources are asked for at once. Cloud Control asks their services in turn, which have
/// limits of their own.
const AT_ONCE: usize = 8;

/// A resource that is to be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceRequest {
    /// The type.
    pub resource_type: String,
    /// What Cloud Control knows it by: the values of the primary identifier, joined by `|`.
    pub identifier: String,
}

/// What Cloud Control says of a resource.
#[derive(Clone, PartialEq, Eq)]
pub enum ResourceState {
    /// Its properties, numbers as they were written. They may hold secrets in plain text.
    Read(Value),
    /// There is no such resource.
    NotFound,
    /// Resources of this type cannot be read.
    Unsupported,
    /// Somebody is not allowed to read it: we, or whoever reads for us. The words of the service.
    Denied(String),
    /// Something else. The words of the service.
    Failed(String),
}

impl fmt::Debug for ResourceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(_) => f.write_str("Read(…)"),
            Self::NotFound => f.write_str("NotFound"),
            Self::Unsupported => f.write_str("Unsupported"),
            Self::Denied(text) => f.debug_tuple("Denied").field(text).finish(),
            Self::Failed(text) => f.debug_tuple("Failed").field(text).finish(),
        }
    }
}

impl Aws {
    /// Reads the state of resources, with the role that looks things up. Returns an answer for each
    /// request, in their order. `told` hears how many are done.
    ///
    /// # Errors
    /// When nobody can be asked: there are no credentials, or no connection.
    pub async fn resources(
        &self,
        environment: &Environment,
        roles: &Roles,
        requests: &[ResourceRequest],
        told: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<ResourceState>, AwsError> {
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let session = self.session(environment, roles, Purpose::Read).await?;
        let asking = Asking { session, unsupported: Mutex::default(), done: AtomicUsize::new(0) };
        let asking = &asking;
        let each = requests.iter().map(|request| async move {
            let answer = asking.one(request).await;
            told(asking.done.fetch_add(1, Ordering::Relaxed) + 1);
            answer
        });
        stream::iter(each).buffered(AT_ONCE).try_collect().await
    }

    /// Returns the schema of a type as the registry of an environment has it; `None` if it does not
    /// know the type or does not show its schema.
    ///
    /// # Errors
    /// When AWS refuses.
    pub async fn type_schema(
        &self,
        environment: &Environment,
        roles: &Roles,
        resource_type: &str,
    ) -> Result<Option<Value>, AwsError> {
        let session = self.session(environment, roles, Purpose::Read).await?;
        let asked = session.cloudformation().call("DescribeType", None, |sdk| {
            sdk.describe_type().r#type(RegistryType::Resource).type_name(resource_type).send()
        });
        match asked.await {
            Ok(answer) => Ok(answer.schema.and_then(|text| json::parse(&text).ok())),
            Err(error) if error.code() == Some("TypeNotFoundException") => Ok(None),
            Err(error) => Err(error),
        }
    }
}

struct Asking {
    session: Session,
    /// Types that need not be asked for again.
    unsupported: Mutex<BTreeSet<String>>,
    done: AtomicUsize,
}

impl Asking {
    fn unsupported(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.unsupported.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn one(&self, request: &ResourceRequest) -> Result<ResourceState, AwsError> {
        let ResourceRequest { resource_type, identifier } = request;
        if self.unsupported().contains(resource_type) {
            return Ok(ResourceState::Unsupported);
        }
        let asked = self.session.cloudcontrol().call("GetResource", None, |sdk| {
            sdk.get_resource().type_name(resource_type).identifier(identifier).send()
        });
        let error = match asked.await {
            Ok(answer) => {
                let text = answer.resource_description.and_then(|found| found.properties);
                let value = text.and_then(|text| json::parse(&text).ok());
                let unreadable = || ResourceState::Failed("the answer is no JSON".to_owned());
                return Ok(value.map_or_else(unreadable, ResourceState::Read));
            }
            Err(error) => error,
        };
        let state = state_of(&error).ok_or(error)?;
        if state == ResourceState::Unsupported {
            self.unsupported().insert(resource_type.clone());
        }
        Ok(state)
    }
}

/// What an error says of the resource; `None` if it says nothing of it.
fn state_of(error: &AwsError) -> Option<ResourceState> {
    let AwsError::Call(call) = error else { return None };
    let words = || match &call.code {
        Some(code) => format!("{} ({code})", call.message.trim().trim_end_matches('.')),
        None => call.message.clone(),
    };
    let refused_to_the_handler = || {
        let message = call.message.as_str();
        message.contains("is not authorized to perform") || message.contains("AccessDenied")
    };
    Some(match (call.code.as_deref(), call.cause) {
        (Some("ResourceNotFoundException"), _) => ResourceState::NotFound,
        (Some("UnsupportedActionException" | "TypeNotFoundException"), _) => {
            ResourceState::Unsupported
        }
        (_, Cause::Denied) => ResourceState::Denied(words()),
        (_, Cause::Refused) if refused_to_the_handler() => ResourceState::Denied(words()),
        (_, Cause::Refused | Cause::Server | Cause::Throttled | Cause::Timeout) => {
            ResourceState::Failed(words())
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::error::{Call, CallError};

    fn error(code: &str, cause: Cause, message: &str) -> AwsError {
        let environment = Environment::new("111111111111", "eu-west-1");
        let call = Call { operation: "GetResource", environment, stack: None };
        let (code, message) = (Some(code.to_owned()), message.to_owned());
        CallError { call, cause, code, message }.into()
    }

    #[test]
    fn what_is_gone_is_told_from_what_cannot_be_seen() {
        let state = |code, cause, message| state_of(&error(code, cause, message));
        assert_eq!(
            state("ResourceNotFoundException", Cause::Refused, "gone"),
            Some(ResourceState::NotFound)
        );
        for code in ["UnsupportedActionException", "TypeNotFoundException"] {
            assert_eq!(state(code, Cause::Refused, ""), Some(ResourceState::Unsupported));
        }
        for (code, cause, message) in [
            ("AccessDeniedException", Cause::Denied, "no"),
            // A service refuses whoever reads for us.
            (
                "GeneralServiceException",
                Cause::Refused,
                "User: X is not authorized to perform: sqs:GetQueueAttributes",
            ),
        ] {
            let state = state(code, cause, message);
            assert!(matches!(state, Some(ResourceState::Denied(_))), "{state:?}");
        }
        let failed = state("HandlerFailureException", Cause::Refused, "It broke.");
        assert_eq!(
            failed,
            Some(ResourceState::Failed("It broke (HandlerFailureException)".to_owned()))
        );
    }

    #[test]
    fn without_credentials_nothing_is_said_of_a_resource() {
        for cause in [Cause::Expired, Cause::NoCredentials, Cause::Invalid, Cause::Connection] {
            assert_eq!(state_of(&error("X", cause, "")), None);
        }
    }

    #[test]
    fn a_state_does_not_show_what_it_holds() {
        let state = ResourceState::Read(Value::from("secret"));
        assert_eq!(format!("{state:?}"), "Read(…)");
    }
}
