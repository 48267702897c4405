//! What the registry of resource types says.

use serde_json::{Map, json};

use crate::local::error::{Answer, ServiceError};
use crate::local::record::Json;
use crate::local::state::Region;
use crate::registry::{TypeInfo, lookup};

/// A resource type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeDescription {
    /// The name.
    pub name: String,
    /// The ARN.
    pub arn: String,
    /// `FULLY_MUTABLE`, `IMMUTABLE` or `NON_PROVISIONABLE`.
    pub provisioning_type: String,
    /// What is known of its properties, in the form of a schema of the registry. The properties
    /// themselves are not described.
    pub schema: Json,
}

/// Returns what the table knows of a type as a schema of the registry.
fn schema(info: TypeInfo) -> Json {
    let paths = |paths: &mut dyn Iterator<Item = &'static str>| -> Vec<String> {
        paths.map(|path| format!("/properties/{path}")).collect()
    };
    let names = [('c', "create"), ('r', "read"), ('u', "update"), ('d', "delete"), ('l', "list")];
    let handlers = names.iter().filter(|(initial, _)| info.handlers().contains(*initial));
    let handlers: Map<String, Json> =
        handlers.map(|(_, name)| ((*name).to_owned(), json!({}))).collect();
    let mut schema = json!({
        "typeName": info.name(),
        "properties": {},
        "primaryIdentifier": paths(&mut info.primary_identifier()),
        "createOnlyProperties": paths(&mut info.create_only()),
        "conditionalCreateOnlyProperties": paths(&mut info.conditionally_create_only()),
        "readOnlyProperties": paths(&mut info.read_only()),
        "writeOnlyProperties": paths(&mut info.write_only()),
        "handlers": handlers,
    });
    if let Some(tags) = info.tag_property() {
        schema["tagging"] = json!({"taggable": true, "tagProperty": format!("/properties/{tags}")});
    }
    schema
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
                schema: lookup(name).map(schema).unwrap_or_default(),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Schema;
    use crate::template::json::parse;

    #[test]
    fn a_schema_says_what_the_table_says() {
        for name in ["AWS::SQS::Queue", "AWS::Lambda::Function", "AWS::EC2::VPCGatewayAttachment"] {
            let text = schema(lookup(name).unwrap()).to_string();
            assert_eq!(Schema::of(name), Some(Schema::from_registry(&parse(&text).unwrap())));
        }
    }
}
