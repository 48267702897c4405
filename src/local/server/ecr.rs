//! ECR, as far as image assets look at it: every repository exists, and is empty.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::local::error::{Answer, ServiceError};
use crate::local::evaluate::partition;
use crate::local::record::Json;
use crate::local::state::Region;

/// How long a token for the registry holds.
const TOKEN_SECONDS: u64 = 12 * 60 * 60;

/// Carries out an operation.
pub(super) fn answer(region: &Region<'_>, action: &str, body: &Json) -> Answer<Json> {
    match action {
        "DescribeRepositories" => Ok(repositories(region, body)),
        "DescribeImages" => Err(no_image(region, body)),
        "ListImages" => Ok(json!({ "imageIds": [] })),
        "GetAuthorizationToken" => Ok(json!({ "authorizationData": [{
            "authorizationToken": STANDARD.encode("AWS:local"),
            "expiresAt": region.cloud.ambient.now_ms() / 1000 + TOKEN_SECONDS,
            "proxyEndpoint": format!("https://{}", registry(region)),
        }] })),
        _ => Err(ServiceError::unknown_operation(action)),
    }
}

fn registry(region: &Region<'_>) -> String {
    let environment = region.environment();
    let (_, suffix) = partition(&environment.region);
    format!("{}.dkr.ecr.{}.{suffix}", environment.account, environment.region)
}

fn repositories(region: &Region<'_>, body: &Json) -> Json {
    let environment = region.environment();
    let (partition, _) = partition(&environment.region);
    let names = body["repositoryNames"].as_array().into_iter().flatten();
    let repositories: Vec<Json> = names
        .filter_map(Json::as_str)
        .map(|name| {
            json!({
                "registryId": environment.account.as_str(),
                "repositoryArn": format!(
                    "arn:{partition}:ecr:{}:{}:repository/{name}",
                    environment.region, environment.account
                ),
                "repositoryName": name,
                "repositoryUri": format!("{}/{name}", registry(region)),
                "imageTagMutability": "IMMUTABLE",
                "imageScanningConfiguration": { "scanOnPush": false },
            })
        })
        .collect();
    json!({ "repositories": repositories })
}

fn no_image(region: &Region<'_>, body: &Json) -> ServiceError {
    let id = &body["imageIds"][0];
    let part = |member: &str| id[member].as_str().unwrap_or("null").to_owned();
    ServiceError::new(
        "ImageNotFoundException",
        400,
        format!(
            "The image with imageId {{imageDigest:'{}', imageTag:'{}'}} does not exist within the \
             repository with name '{}' in the registry with id '{}'",
            part("imageDigest"),
            part("imageTag"),
            body["repositoryName"].as_str().unwrap_or_default(),
            region.environment().account
        ),
    )
}
