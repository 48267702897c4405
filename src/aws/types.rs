//! What CloudFormation says of resource types.

use aws_sdk_cloudformation::types::{ProvisioningType, RegistryType};

use super::access::Aws;
use super::error::AwsError;
use super::roles::{Purpose, Roles};
use crate::model::{Environment, ResourceType};

impl Aws {
    /// Returns whether a type is fully mutable in an environment, which it must be for a stack
    /// refactor to move it (CloudFormation user guide, "Stack refactoring"); `None` if
    /// CloudFormation does not know the type or does not say.
    ///
    /// # Errors
    /// When AWS refuses.
    pub async fn is_fully_mutable(
        &self,
        environment: &Environment,
        roles: &Roles,
        resource_type: &ResourceType,
    ) -> Result<Option<bool>, AwsError> {
        let session = self.session(environment, roles, Purpose::Read).await?;
        let name = resource_type.as_str();
        let asked = session.cloudformation().call("DescribeType", None, |sdk| {
            sdk.describe_type().r#type(RegistryType::Resource).type_name(name).send()
        });
        match asked.await {
            Ok(answer) => Ok(answer.provisioning_type.and_then(|kind| match kind {
                ProvisioningType::FullyMutable => Some(true),
                ProvisioningType::Immutable | ProvisioningType::NonProvisionable => Some(false),
                _ => None,
            })),
            Err(error) if error.code() == Some("TypeNotFoundException") => Ok(None),
            Err(error) => Err(error),
        }
    }
}
