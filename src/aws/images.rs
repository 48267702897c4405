//! The registry of container images (ECR).

use std::fmt;

use aws_sdk_ecr::types::ImageIdentifier;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{AwsError, Session};

/// What a registry wants to hear from whoever pushes.
#[derive(Clone, PartialEq, Eq)]
pub struct RegistryLogin {
    /// The host name.
    pub registry: String,
    /// The user.
    pub user: String,
    /// A token that is valid for some hours. Never to be shown.
    pub password: String,
}

impl fmt::Debug for RegistryLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryLogin").field("registry", &self.registry).finish_non_exhaustive()
    }
}

impl Session {
    /// Returns the address of a repository, without a tag; `None` if there is none of this name.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn repository(&self, name: &str) -> Result<Option<String>, AwsError> {
        let answer = Box::pin(self.ecr().call("DescribeRepositories", None, |sdk| {
            sdk.describe_repositories().repository_names(name).send()
        }))
        .await;
        match answer {
            Ok(found) => {
                let first = found.repositories.unwrap_or_default().into_iter().next();
                Ok(first.and_then(|repository| repository.repository_uri))
            }
            Err(error) if error.code() == Some("RepositoryNotFoundException") => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether there is an image with a tag in a repository.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn has_image(&self, repository: &str, tag: &str) -> Result<bool, AwsError> {
        let answer = Box::pin(self.ecr().call("DescribeImages", None, |sdk| {
            let image = ImageIdentifier::builder().image_tag(tag).build();
            sdk.describe_images().repository_name(repository).image_ids(image).send()
        }))
        .await;
        match answer {
            Ok(_) => Ok(true),
            Err(error) if error.code() == Some("ImageNotFoundException") => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Notes that there is an image in a repository, without pushing one: for the embedded server,
    /// whose registry takes no layers.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn register_image(
        &self,
        repository: &str,
        tag: &str,
        manifest: &str,
    ) -> Result<(), AwsError> {
        let answer = Box::pin(self.ecr().call("PutImage", None, |sdk| {
            let call = sdk.put_image().repository_name(repository);
            call.image_tag(tag).image_manifest(manifest).send()
        }))
        .await;
        match answer {
            Err(error) if error.code() != Some("ImageAlreadyExistsException") => Err(error),
            _ => Ok(()),
        }
    }

    /// Asks for a login to the registry of the account.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn registry_login(&self) -> Result<RegistryLogin, AwsError> {
        let client = self.ecr();
        let answer = Box::pin(
            client.call("GetAuthorizationToken", None, |sdk| sdk.get_authorization_token().send()),
        )
        .await?;
        let incomplete =
            |what| AwsError::Incomplete { call: client.named("GetAuthorizationToken", None), what };
        let data = answer.authorization_data.unwrap_or_default().into_iter().next();
        let data = data.ok_or_else(|| incomplete("authorization data"))?;
        let token = data.authorization_token.and_then(|token| STANDARD.decode(token).ok());
        let token = token.and_then(|token| String::from_utf8(token).ok());
        let pair = token.as_ref().and_then(|token| token.split_once(':'));
        let (user, password) = pair.ok_or_else(|| incomplete("token"))?;
        let endpoint = data.proxy_endpoint.ok_or_else(|| incomplete("registry"))?;
        let registry = endpoint.trim_start_matches("https://").trim_start_matches("http://");
        Ok(RegistryLogin {
            registry: registry.trim_end_matches('/').to_owned(),
            user: user.to_owned(),
            password: password.to_owned(),
        })
    }
}
