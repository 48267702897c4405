//! ECR, as far as image assets look at it: every repository exists; of images it knows that they
//! were put there, layers are not taken.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sha2::{Digest as _, Sha256};

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
        "DescribeImages" => images(region, body),
        "ListImages" => {
            let found = region.images(repository(body))?;
            let ids = found.iter().map(|(tag, digest)| id(tag, digest));
            Ok(json!({ "imageIds": ids.collect::<Vec<_>>() }))
        }
        "PutImage" => put(region, body),
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

fn repository(body: &Json) -> &str {
    body["repositoryName"].as_str().unwrap_or_default()
}

fn id(tag: &str, digest: &str) -> Json {
    json!({ "imageDigest": digest, "imageTag": tag })
}

/// Describes the images that are asked for, or all.
fn images(region: &Region<'_>, body: &Json) -> Answer<Json> {
    let found = region.images(repository(body))?;
    let detail = |tag: &str, digest: &str| {
        json!({
            "registryId": region.environment().account.as_str(),
            "repositoryName": repository(body),
            "imageDigest": digest,
            "imageTags": [tag],
        })
    };
    let Some(wanted) = body["imageIds"].as_array() else {
        let all: Vec<Json> = found.iter().map(|(tag, digest)| detail(tag, digest)).collect();
        return Ok(json!({ "imageDetails": all }));
    };
    let mut details = Vec::new();
    for wanted in wanted {
        let is_meant = |(tag, digest): &(&String, &String)| {
            wanted["imageTag"].as_str().is_none_or(|wanted| wanted == *tag)
                && wanted["imageDigest"].as_str().is_none_or(|wanted| wanted == *digest)
        };
        match found.iter().find(is_meant) {
            Some((tag, digest)) => details.push(detail(tag, digest)),
            None => return Err(no_image(region, body, wanted)),
        }
    }
    Ok(json!({ "imageDetails": details }))
}

fn put(region: &Region<'_>, body: &Json) -> Answer<Json> {
    let member = |name: &str| {
        body[name].as_str().filter(|text| !text.is_empty()).ok_or_else(|| {
            let text = format!(
                "Invalid parameter at '{name}' failed to satisfy constraint: 'must not be null'"
            );
            ServiceError::new("InvalidParameterException", 400, text)
        })
    };
    let (name, manifest) = (member("repositoryName")?, member("imageManifest")?);
    // Without a tag an image is known by its digest only.
    let tag = body["imageTag"].as_str().unwrap_or_default();
    let hash = Sha256::digest(manifest.as_bytes());
    let digest = hash.iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"));
    if !region.put_image(name, tag, &digest)? {
        let text = format!(
            "Image with digest '{digest}' and tag '{tag}' already exists in the repository with \
             name '{name}' in registry with id '{}'",
            region.environment().account
        );
        return Err(ServiceError::new("ImageAlreadyExistsException", 400, text));
    }
    Ok(json!({ "image": {
        "registryId": region.environment().account.as_str(),
        "repositoryName": name,
        "imageId": id(tag, &digest),
        "imageManifest": manifest,
    } }))
}

fn no_image(region: &Region<'_>, body: &Json, id: &Json) -> ServiceError {
    let part = |member: &str| id[member].as_str().unwrap_or("null").to_owned();
    ServiceError::new(
        "ImageNotFoundException",
        400,
        format!(
            "The image with imageId {{imageDigest:'{}', imageTag:'{}'}} does not exist within the \
             repository with name '{}' in the registry with id '{}'",
            part("imageDigest"),
            part("imageTag"),
            repository(body),
            region.environment().account
        ),
    )
}
