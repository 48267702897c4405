//! The parameter store: the bootstrap version, and whatever somebody puts there.

use serde_json::json;

use crate::local::error::{Answer, ServiceError};
use crate::local::record::Json;
use crate::local::state::Region;

/// Carries out an operation.
pub(super) fn answer(region: &Region<'_>, action: &str, body: &Json) -> Answer<Json> {
    match action {
        "GetParameter" => {
            let name = name(need(body, "Name")?);
            let value = region.get_parameter(name)?;
            Ok(json!({ "Parameter": parameter(region, name, &value) }))
        }
        "GetParameters" => get_all(region, body),
        "PutParameter" => put(region, body),
        "DeleteParameter" => {
            let name = name(need(body, "Name")?);
            region.get_parameter(name)?;
            region.put_parameter(name, None)?;
            Ok(json!({}))
        }
        _ => Err(ServiceError::unknown_operation(action)),
    }
}

fn need<'b>(body: &'b Json, member: &str) -> Answer<&'b str> {
    body[member].as_str().ok_or_else(|| {
        ServiceError::new(
            "ValidationException",
            400,
            format!(
                "1 validation error detected: Value null at '{}' failed to satisfy constraint: \
                 Member must not be null",
                super::form::camel(member)
            ),
        )
    })
}

/// The name in an ARN, or the name itself.
fn name(name_or_arn: &str) -> &str {
    match name_or_arn.split_once(":parameter/") {
        Some((_, rest)) if name_or_arn.starts_with("arn:") => {
            // Names with slashes start with one, which the ARN does not repeat.
            let start = name_or_arn.len() - rest.len();
            if rest.contains('/') { &name_or_arn[start - 1..] } else { rest }
        }
        _ => name_or_arn,
    }
}

fn parameter(region: &Region<'_>, name: &str, value: &str) -> Json {
    let environment = region.environment();
    let (partition, _) = crate::local::evaluate::partition(&environment.region);
    let path = name.strip_prefix('/').unwrap_or(name);
    json!({
        "ARN": format!(
            "arn:{partition}:ssm:{}:{}:parameter/{path}",
            environment.region, environment.account
        ),
        "DataType": "text",
        "LastModifiedDate": region.cloud.ambient.now_ms() / 1000,
        "Name": name,
        "Type": "String",
        "Value": value,
        "Version": 1,
    })
}

fn get_all(region: &Region<'_>, body: &Json) -> Answer<Json> {
    let (mut found, mut invalid) = (Vec::new(), Vec::new());
    for wanted in body["Names"].as_array().into_iter().flatten().filter_map(Json::as_str) {
        match region.get_parameter(name(wanted)) {
            Ok(value) => found.push(parameter(region, name(wanted), &value)),
            Err(error) if error.code == "ParameterNotFound" => invalid.push(wanted),
            Err(error) => return Err(error),
        }
    }
    Ok(json!({ "Parameters": found, "InvalidParameters": invalid }))
}

fn put(region: &Region<'_>, body: &Json) -> Answer<Json> {
    let name = name(need(body, "Name")?);
    let value = need(body, "Value")?;
    if body["Overwrite"] != Json::Bool(true) && region.get_parameter(name).is_ok() {
        return Err(ServiceError::new(
            "ParameterAlreadyExists",
            400,
            "The parameter already exists. To overwrite this value, set the overwrite option in \
             the request to true.",
        ));
    }
    region.put_parameter(name, Some(value))?;
    Ok(json!({ "Tier": "Standard", "Version": 1 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_named_by_name_or_arn() {
        assert_eq!(name("/a/b"), "/a/b");
        assert_eq!(name("arn:aws:ssm:r:1:parameter/a/b"), "/a/b");
        assert_eq!(name("arn:aws:ssm:r:1:parameter/a"), "a");
    }
}
