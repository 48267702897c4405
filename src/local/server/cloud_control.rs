//! Cloud Control: the properties of what exists.

use serde_json::json;

use crate::local::error::{Answer, ServiceError};
use crate::local::record::Json;
use crate::local::state::Region;

/// Carries out an operation.
pub(super) fn answer(region: &Region<'_>, action: &str, body: &Json) -> Answer<Json> {
    match action {
        "GetResource" => get(region, body),
        _ => Err(ServiceError::unknown_operation(action)),
    }
}

fn get(region: &Region<'_>, body: &Json) -> Answer<Json> {
    let member = |name: &str| {
        body[name].as_str().filter(|text| !text.is_empty()).ok_or_else(|| {
            let message = format!("{name} must be specified");
            ServiceError::new("ValidationException", 400, message)
        })
    };
    let (resource_type, id) = (member("TypeName")?, member("Identifier")?);
    region.describe_type(resource_type)?;
    let found = region.physical_resource(resource_type, id)?.ok_or_else(|| {
        let message =
            format!("Resource of type '{resource_type}' with identifier '{id}' was not found.");
        ServiceError::new("ResourceNotFoundException", 400, message)
    })?;
    Ok(json!({
        "TypeName": resource_type,
        "ResourceDescription": {
            "Identifier": found.physical_id,
            "Properties": found.properties.to_string(),
        },
    }))
}
