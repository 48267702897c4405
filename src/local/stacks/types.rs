//! What the registry of resource types says.

use crate::local::error::{Answer, ServiceError};
use crate::local::state::Region;
use crate::registry::lookup;

/// A resource type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeDescription {
    /// The name.
    pub name: String,
    /// The ARN.
    pub arn: String,
    /// `FULLY_MUTABLE`, `IMMUTABLE` or `NON_PROVISIONABLE`.
    pub provisioning_type: String,
}

/// Returns how resources of a type can be provisioned, if the type is known.
pub(crate) fn provisioning_type(resource_type: &str) -> Option<&'static str> {
    let info = lookup(resource_type)?;
    let has = |handler: char| info.handlers().contains(handler);
    Some(if info.fully_mutable() {
        "FULLY_MUTABLE"
    } else if has('c') && has('r') && has('d') {
        "IMMUTABLE"
    } else {
        "NON_PROVISIONABLE"
    })
}

impl Region<'_> {
    /// Describes a resource type.
    ///
    /// # Errors
    /// `TypeNotFoundException`.
    pub fn describe_type(&self, name: &str) -> Answer<TypeDescription> {
        self.read(|tx| {
            let provisioning_type = provisioning_type(name).ok_or_else(|| {
                let message = format!("The type '{name}' cannot be found.");
                ServiceError::new("TypeNotFoundException", 404, message)
            })?;
            let (partition, _) = crate::local::evaluate::partition(&tx.environment.region);
            let dashed = name.replace("::", "-");
            Ok(TypeDescription {
                name: name.to_owned(),
                arn: format!(
                    "arn:{partition}:cloudformation:{}::type/resource/{dashed}",
                    tx.environment.region
                ),
                provisioning_type: provisioning_type.to_owned(),
            })
        })
    }
}
