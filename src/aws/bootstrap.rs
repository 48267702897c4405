//! What an environment offers: the version of its bootstrap stack, and stack refactoring.

use super::access::Aws;
use super::error::{AwsError, Cause};
use super::roles::{Purpose, Roles, fill_in};
use crate::model::Environment;
use crate::registry;

/// The name of the bootstrap stack where nobody says otherwise (CDK CLI).
pub const TOOLKIT_STACK: &str = "CDKToolkit";
/// The output of the bootstrap stack that says its version (CDK bootstrap template).
const VERSION_OUTPUT: &str = "BootstrapVersion";

/// Whether CloudFormation offers stack refactoring in a region, as far as is known.
pub fn supports_refactoring(region: &str) -> bool {
    !registry::lacks_refactoring(region)
}

impl Aws {
    /// Returns the version of the bootstrap stack; nothing if the environment is not
    /// bootstrapped. `parameter` is the SSM parameter that the assembly names (placeholders are
    /// filled in); without it, or where it cannot be read, the output of the bootstrap stack
    /// counts.
    ///
    /// # Errors
    /// When AWS refuses both, or what it says is no number.
    pub async fn bootstrap_version(
        &self,
        environment: &Environment,
        roles: &Roles,
        parameter: Option<&str>,
        toolkit_stack: &str,
    ) -> Result<Option<u64>, AwsError> {
        let session = self.session(environment, roles, Purpose::Read).await?;
        let environment = session.environment();
        if let Some(parameter) = parameter {
            let name = fill_in(parameter, environment);
            let answer = session
                .ssm()
                .call("GetParameter", None, |sdk| sdk.get_parameter().name(&name).send());
            match answer.await {
                Ok(answer) => {
                    let value = answer.parameter.and_then(|parameter| parameter.value);
                    return number(environment, value.unwrap_or_default(), &name).map(Some);
                }
                Err(error) if is_not_to_be_had(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let Some(mut stack) = session.detail(toolkit_stack).await? else { return Ok(None) };
        let Some(version) = stack.outputs.remove(VERSION_OUTPUT) else { return Ok(None) };
        let place = format!("output {VERSION_OUTPUT} of stack {toolkit_stack}");
        number(environment, version.to_string(), &place).map(Some)
    }
}

fn is_not_to_be_had(error: &AwsError) -> bool {
    error.code() == Some("ParameterNotFound") || error.cause() == Some(Cause::Denied)
}

fn number(environment: &Environment, found: String, place: &str) -> Result<u64, AwsError> {
    found.trim().parse().map_err(|_| AwsError::BootstrapVersion {
        environment: environment.clone(),
        found,
        place: place.to_owned(),
    })
}
