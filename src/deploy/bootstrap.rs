//! Whether environments are bootstrapped as their stacks need it.

use std::collections::{BTreeMap, BTreeSet};

use super::driver::roles;
use super::{DeployError, DeployRequest, Stage};
use crate::aws::{Aws, Role, RoleOptions, Roles};
use crate::event::Host;
use crate::model::Environment;

/// What an environment has to offer.
struct Need {
    version: u64,
    /// Who needs it: stacks by hierarchical ID, assets by ID.
    of: BTreeSet<String>,
    roles: Roles,
}

/// Where the version stands: the environment, and the SSM parameter that the assembly names.
type Place = (Environment, Option<String>);

/// Checks that each environment is bootstrapped in the version that its stacks and assets need
/// (`requiresBootstrapStackVersion`). Nothing is changed. An app that needs no version is not
/// asked for one.
///
/// # Errors
/// The first environment whose bootstrap stack is missing or too old; or what AWS says when it is
/// asked.
pub async fn check_bootstrap(
    aws: &Aws,
    request: &DeployRequest<'_>,
    toolkit_stack: &str,
    _: &dyn Host,
) -> Result<(), DeployError> {
    for ((environment, parameter), need) in needs(aws, request).await? {
        let Need { version: needed, of, roles } = need;
        let found = aws
            .bootstrap_version(&environment, &roles, parameter.as_deref(), toolkit_stack)
            .await?;
        let of = of.into_iter().collect();
        let (toolkit_stack, least) = (toolkit_stack.to_owned(), needed);
        match found {
            Some(found) if found < needed => {
                return Err(DeployError::OldBootstrap { environment, least, found, of });
            }
            None => {
                return Err(DeployError::NoBootstrap { environment, least, toolkit_stack, of });
            }
            Some(_) => {}
        }
    }
    Ok(())
}

async fn needs(
    aws: &Aws,
    request: &DeployRequest<'_>,
) -> Result<BTreeMap<Place, Need>, DeployError> {
    let mut needs: BTreeMap<Place, Need> = BTreeMap::new();
    for stage in &request.stages {
        let (stack, properties) = (stage.stack, &stage.stack.properties);
        let environment = aws.resolve(&stack.environment).await?;
        let id = &stack.hierarchical_id;
        let parameter = properties.bootstrap_version_parameter.as_ref();
        let of_stack = (id, properties.requires_bootstrap_version, parameter);
        let files = request.files.iter().filter(|asset| asset.stacks.contains(id));
        let files = files.map(|asset| (&asset.id, &asset.bootstrap));
        let images = request.images.iter().filter(|asset| asset.stacks.contains(id));
        let images = images.map(|asset| (&asset.id, &asset.bootstrap));
        let assets = files.chain(images);
        let assets = assets.map(|(id, needed)| (id, needed.version, needed.parameter.as_ref()));
        for (of, version, parameter) in assets.chain([of_stack]) {
            let Some(version) = version else { continue };
            let place = (environment.clone(), parameter.cloned());
            let need = needs.entry(place).or_insert_with(|| Need {
                version: 0,
                of: BTreeSet::new(),
                roles: Roles::default(),
            });
            if version > need.version {
                need.version = version;
                need.of.clear();
            }
            if version == need.version {
                need.of.insert(of.clone());
            }
            need.roles = reading_roles(stage)?;
        }
    }
    Ok(needs)
}

/// Who may look: the role to look things up with, then the one to deploy with.
fn reading_roles(stage: &Stage<'_>) -> Result<Roles, DeployError> {
    let properties = &stage.stack.properties;
    let stack = || stage.stack.hierarchical_id.clone();
    let failed = |error| DeployError::Role { stack: stack(), error };
    let mut found = roles(properties).map_err(failed)?;
    if let Some(lookup) = &properties.lookup_role {
        found.lookup = Some(Role {
            arn: lookup.arn.clone(),
            external_id: lookup.external_id.clone(),
            options: RoleOptions::from_json(&lookup.options).map_err(failed)?,
        });
    }
    Ok(found)
}
