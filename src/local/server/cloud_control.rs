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
    let (identifier, properties) = region.resource_state(resource_type, id)?;
    Ok(json!({
        "TypeName": resource_type,
        "ResourceDescription": {
            "Identifier": identifier,
            "Properties": properties.to_string(),
        },
    }))
}
