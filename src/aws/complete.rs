//! The rest of what a plan needs, for stacks that were read for a comparison only.

use futures_util::future::try_join_all;

use super::access::Aws;
use super::error::AwsError;
use super::gaps::Gaps;
use super::roles::{Purpose, Roles};
use crate::model::{DeployedEnvironment, StackName};

impl Aws {
    /// Reads physical IDs, stack policies and importers of some stacks that were read with
    /// [`Depth::Comparison`](super::Depth::Comparison), by their ARNs. Returns warnings, a
    /// sentence each.
    ///
    /// # Errors
    /// When AWS refuses; then nothing is changed in `deployed`.
    pub async fn complete(
        &self,
        deployed: &mut DeployedEnvironment,
        stacks: &[StackName],
        roles: &Roles,
    ) -> Result<Vec<String>, AwsError> {
        let session = self.session(&deployed.environment, roles, Purpose::Read).await?;
        let (session, gaps) = (&session, Gaps::default());
        let wanted = deployed.stacks.iter().filter(|stack| stacks.contains(&stack.stack.name));
        let asked = wanted.map(async |stack| {
            let (id, name) = (stack.id.as_str(), &stack.stack.name);
            let answers = tokio::try_join!(
                session.resources(id),
                gaps.policy(session, id, name),
                gaps.importers(session, name, stack.exports.clone())
            )?;
            Ok::<_, AwsError>((name.clone(), answers))
        });
        let answers = try_join_all(asked).await?;
        for (name, (resources, policy, exports)) in answers {
            let same = |stack: &&mut crate::model::DeployedStack| stack.stack.name == name;
            if let Some(stack) = deployed.stacks.iter_mut().find(same) {
                stack.resources = resources;
                stack.has_policy = policy.is_some_and(|policy| policy.is_attached);
                stack.exports = exports;
            }
        }
        Ok(gaps.sentences())
    }
}
