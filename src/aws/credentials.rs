//! Credentials of a role, from STS, for as long as they are valid.

use std::fmt;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, Result as Provided, future};
use aws_sdk_sts::types::{PolicyDescriptorType, Tag};
use tokio::sync::Mutex;

use super::call::translate;
use super::error::{AwsError, Call};
use super::roles::Role;
use crate::model::Environment;

/// Credentials are renewed this long before they expire (the margin of the AWS SDKs that renew
/// in advance).
const MARGIN: Duration = Duration::from_mins(5);

/// Assumes a role when its credentials are needed, and again before they expire.
pub(super) struct RoleProvider {
    pub client: aws_sdk_sts::Client,
    pub environment: Environment,
    pub role: Role,
    pub cached: Mutex<Option<Credentials>>,
}

impl fmt::Debug for RoleProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoleProvider").field("role", &self.role.arn).finish_non_exhaustive()
    }
}

impl RoleProvider {
    /// Returns credentials that are valid for some minutes at least.
    ///
    /// # Errors
    /// What STS says.
    pub(super) async fn credentials(&self) -> Result<Credentials, AwsError> {
        let mut cached = self.cached.lock().await;
        if let Some(credentials) = cached.as_ref().filter(|credentials| is_fresh(credentials)) {
            return Ok(credentials.clone());
        }
        let credentials = self.assume().await?;
        *cached = Some(credentials.clone());
        Ok(credentials)
    }

    async fn assume(&self) -> Result<Credentials, AwsError> {
        let call =
            Call { operation: "AssumeRole", environment: self.environment.clone(), stack: None };
        let options = &self.role.options;
        let mut request = self
            .client
            .assume_role()
            .role_arn(&self.role.arn)
            .role_session_name(session_name())
            .set_external_id(self.role.external_id.clone())
            .set_duration_seconds(options.duration_seconds)
            .set_policy(options.policy.clone())
            .set_source_identity(options.source_identity.clone());
        for (key, value) in &options.tags {
            // Cannot fail, both members are set; a tag that were left out would be refused.
            if let Ok(tag) = Tag::builder().key(key).value(value).build() {
                request = request.tags(tag).transitive_tag_keys(key);
            }
        }
        for arn in &options.policy_arns {
            request = request.policy_arns(PolicyDescriptorType::builder().arn(arn).build());
        }
        // The gate is not asked: whoever wants credentials may hold its last place.
        let answer = request.send().await.map_err(|error| translate(call.clone(), &error))?;
        let found = answer.credentials.ok_or(AwsError::Incomplete { call, what: "credentials" })?;
        let expires = SystemTime::try_from(found.expiration).ok();
        Ok(Credentials::new(
            found.access_key_id,
            found.secret_access_key,
            Some(found.session_token),
            expires,
            "AssumeRole",
        ))
    }

    async fn provide(&self) -> Provided {
        self.credentials().await.map_err(|error| match error {
            AwsError::Call(error) => CredentialsError::provider_error(*error),
            other => CredentialsError::provider_error(other),
        })
    }
}

impl ProvideCredentials for RoleProvider {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.provide())
    }
}

fn is_fresh(credentials: &Credentials) -> bool {
    credentials.expiry().is_none_or(|expiry| expiry > SystemTime::now() + MARGIN)
}

/// The name under which the role's account sees us: `cdkr-` and the user of this machine.
fn session_name() -> String {
    let user = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
    session_name_of(user.as_deref().unwrap_or("unknown"))
}

/// STS takes 2 to 64 of `[\w+=,.@-]`.
fn session_name_of(user: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c);
    let user = user.chars().map(|c| if allowed(c) { c } else { '@' });
    "cdkr-".chars().chain(user).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_names_are_what_sts_takes() {
        assert_eq!(session_name_of("ada"), "cdkr-ada");
        assert_eq!(session_name_of("CORP\\Zoë B"), "cdkr-CORP@Zo@@B");
        assert_eq!(session_name_of(&"x".repeat(99)).len(), 64);
    }

    #[test]
    fn credentials_are_renewed_before_they_expire() {
        let expiring = |seconds| {
            let expiry = SystemTime::now() + Duration::from_secs(seconds);
            Credentials::new("a", "b", None, Some(expiry), "test")
        };
        assert!(is_fresh(&expiring(3600)));
        assert!(!is_fresh(&expiring(60)));
        assert!(is_fresh(&Credentials::new("a", "b", None, None, "test")));
    }
}
