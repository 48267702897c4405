//! Puts file assets where templates look for them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::sync::watch;

use super::archive::{ArchiveError, pack};
use crate::assembly::{FileAsset, FileDestination, ImageAsset};
use crate::aws::{
    Aws, AwsError, Cause, Purpose, PutError, Role, RoleOptions, RoleOptionsError, Roles, fill_in,
};
use crate::event::{Event, Host, Remote};
use crate::model::Environment;

/// Why an asset is not where templates look for it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssetError {
    /// Images are built and pushed by tools that are not called yet.
    #[error(
        "asset {id}: container images cannot be published yet. Publish it with `cdk-assets`, or \
         deploy {} with `cdk deploy`. Nothing was changed.", .stacks.join(", ")
    )]
    Image {
        /// The key in the asset manifest.
        id: String,
        /// The stacks that need it.
        stacks: Vec<String>,
    },
    /// A command would make the file.
    #[error(
        "asset {0} is made by a command of its own, which is not supported. Nothing was changed."
    )]
    Executable(String),
    /// An option of the publishing role cannot be honoured.
    #[error("asset {id}: {error}")]
    Role {
        /// The key in the asset manifest.
        id: String,
        /// Why.
        error: RoleOptionsError,
    },
    /// A directory cannot be packed.
    #[error("asset {id}: {error}")]
    Archive {
        /// The key in the asset manifest.
        id: String,
        /// Why.
        error: ArchiveError,
    },
    /// There is no room for the archive, or it cannot be read again.
    #[error("asset {id}: the archive cannot be kept: {error}")]
    Temporary {
        /// The key in the asset manifest.
        id: String,
        /// What the system says.
        error: io::Error,
    },
    /// The source cannot be read.
    #[error("asset {id}: `{}`: {error}", .path.display())]
    Source {
        /// The key in the asset manifest.
        id: String,
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The bucket does not take it.
    #[error("asset {id} cannot be put into the bucket `{bucket}`: {error}{}", advice(.environment, .error))]
    Bucket {
        /// The key in the asset manifest.
        id: String,
        /// The bucket.
        bucket: String,
        /// The account and region.
        environment: Environment,
        /// Why.
        error: Box<AwsError>,
    },
    /// The deployment was stopped before everything was uploaded.
    #[error("stopped before all assets were uploaded: no stack was changed")]
    Cancelled,
}

fn advice(environment: &Environment, error: &AwsError) -> String {
    let by_bootstrap = matches!(error.cause(), Some(Cause::Denied))
        || matches!(error.code(), Some("NoSuchBucket" | "NotFound" | "PermanentRedirect"));
    if by_bootstrap {
        format!(
            " Is the environment bootstrapped, and the bucket in this account? \
             `cdk bootstrap {environment}` makes it. No stack was changed."
        )
    } else {
        " No stack was changed.".to_owned()
    }
}

/// A file that has to be somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Upload {
    /// The key in the asset manifest.
    id: String,
    source: PathBuf,
    is_zip: bool,
    environment: Environment,
    bucket: String,
    key: String,
    roles: Roles,
}

/// Lists what has to be uploaded for stacks: hierarchical ID and environment, with nothing left
/// open. Each place appears once.
///
/// # Errors
/// When a stack needs an asset that cannot be published.
pub(super) fn uploads(
    files: &[FileAsset],
    images: &[ImageAsset],
    stacks: &[(&str, &Environment)],
) -> Result<Vec<Upload>, AssetError> {
    let needs = |needed: &[String]| -> Vec<&Environment> {
        let selected = stacks.iter().filter(|(id, _)| needed.iter().any(|stack| stack == id));
        selected.map(|(_, environment)| *environment).collect()
    };
    if let Some(image) = images.iter().find(|image| !needs(&image.stacks).is_empty()) {
        let ImageAsset { id, stacks } = image.clone();
        return Err(AssetError::Image { id, stacks });
    }
    let mut found = BTreeMap::new();
    for asset in files {
        for environment in needs(&asset.stacks) {
            let source = asset.source.as_ref();
            let source = source.ok_or_else(|| AssetError::Executable(asset.id.clone()))?;
            for destination in &asset.destinations {
                let upload = upload(asset, source, destination, environment)?;
                let place = (upload.environment.clone(), upload.bucket.clone(), upload.key.clone());
                found.entry(place).or_insert(upload);
            }
        }
    }
    Ok(found.into_values().collect())
}

fn upload(
    asset: &FileAsset,
    source: &Path,
    destination: &FileDestination,
    environment: &Environment,
) -> Result<Upload, AssetError> {
    let region = destination.region.as_ref().map(|region| fill_in(region, environment));
    let region = region.unwrap_or_else(|| environment.region.to_string());
    let place = Environment::new(&environment.account, &region);
    let failed = |error| AssetError::Role { id: asset.id.clone(), error };
    let options = RoleOptions::from_json(&destination.assume_role_options).map_err(failed)?;
    // Placeholders mean the place of the asset (cdk-assets, `replaceAwsPlaceholders`).
    let role = destination.assume_role_arn.as_ref().map(|arn| Role {
        arn: fill_in(arn, &place),
        external_id: destination.assume_role_external_id.clone(),
        options,
    });
    Ok(Upload {
        id: asset.id.clone(),
        source: source.to_owned(),
        is_zip: asset.is_zip,
        bucket: fill_in(&destination.bucket_name, &place),
        key: fill_in(&destination.object_key, &place),
        environment: place,
        roles: Roles { deploy: role, ..Roles::default() },
    })
}

/// Uploads what is not there yet, a few at a time.
///
/// # Errors
/// The first that cannot be uploaded; no further one is begun.
pub(super) async fn publish(
    aws: &Aws,
    uploads: &[Upload],
    concurrency: usize,
    host: &dyn Host,
    cancel: Option<&watch::Receiver<bool>>,
) -> Result<(), AssetError> {
    let each = uploads.iter().map(|upload| async move {
        if cancel.is_some_and(|cancel| *cancel.borrow()) {
            return Err(AssetError::Cancelled);
        }
        Box::pin(publish_one(aws, upload, host)).await
    });
    stream::iter(each).buffer_unordered(concurrency.max(1)).try_collect().await
}

async fn publish_one(aws: &Aws, upload: &Upload, host: &dyn Host) -> Result<(), AssetError> {
    let id = || upload.id.clone();
    let refused = |error: AwsError| AssetError::Bucket {
        id: id(),
        bucket: upload.bucket.clone(),
        environment: upload.environment.clone(),
        error: Box::new(error),
    };
    let session = aws.session(&upload.environment, &upload.roles, Purpose::Write).await;
    let session = session.map_err(refused)?;
    let (bucket, key) = (upload.bucket.as_str(), upload.key.as_str());
    let exists = session.has_object(bucket, key).await.map_err(refused)?;
    if !exists {
        // Deleted when it is dropped.
        let archive =
            if upload.is_zip && upload.source.is_dir() { Some(packed(upload)?) } else { None };
        let file = archive.as_ref().map_or(upload.source.as_path(), tempfile::NamedTempFile::path);
        let put = session.put_file(bucket, key, content_type(upload), file).await;
        put.map_err(|error| match error {
            PutError::File { path, error } => AssetError::Source { id: id(), path, error },
            PutError::Aws(error) => refused(error),
        })?;
    }
    host.tell(&Event::Remote {
        environment: upload.environment.clone(),
        what: Remote::Asset,
        id: id(),
        status: if exists { "EXISTS" } else { "UPLOADED" }.to_owned(),
    });
    Ok(())
}

fn packed(upload: &Upload) -> Result<tempfile::NamedTempFile, AssetError> {
    let kept = |error| AssetError::Temporary { id: upload.id.clone(), error };
    let file = tempfile::NamedTempFile::new().map_err(kept)?;
    pack(&upload.source, file.as_file().try_clone().map_err(kept)?)
        .map_err(|error| AssetError::Archive { id: upload.id.clone(), error })?;
    Ok(file)
}

/// The content type of the object, by the name of the file as far as it matters for what reads
/// assets.
fn content_type(upload: &Upload) -> &'static str {
    let name = if upload.is_zip { Path::new("asset.zip") } else { upload.source.as_path() };
    let extension = name.extension().and_then(|it| it.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "zip" | "jar" => "application/zip",
        "json" => "application/json",
        "yaml" | "yml" => "text/yaml",
        "js" | "mjs" | "cjs" => "text/javascript",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "txt" | "md" | "graphql" => "text/plain",
        "xml" => "application/xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asset(stacks: &[&str]) -> FileAsset {
        FileAsset {
            id: "abc".to_owned(),
            source: Some(PathBuf::from("asset.abc")),
            is_zip: true,
            destinations: vec![FileDestination {
                bucket_name: "cdk-${AWS::AccountId}-${AWS::Region}".to_owned(),
                object_key: "abc.zip".to_owned(),
                region: None,
                assume_role_arn: Some("arn:${AWS::Partition}:role/${AWS::Region}".to_owned()),
                assume_role_external_id: None,
                assume_role_options: BTreeMap::new(),
            }],
            stacks: stacks.iter().map(|&stack| stack.to_owned()).collect(),
        }
    }

    #[test]
    fn an_asset_of_two_stacks_is_uploaded_once_for_each_environment() {
        let (here, there) =
            (Environment::new("1", "eu-west-1"), Environment::new("1", "cn-north-1"));
        let stacks = [("A", &here), ("B", &here), ("C", &there), ("D", &there)];
        let found = uploads(&[asset(&["A", "B", "C"]), asset(&["A"])], &[], &stacks).unwrap();
        let buckets: Vec<_> = found.iter().map(|upload| upload.bucket.as_str()).collect();
        assert_eq!(buckets, ["cdk-1-cn-north-1", "cdk-1-eu-west-1"]);
        let role = found[0].roles.deploy.as_ref().unwrap();
        assert_eq!(role.arn, "arn:aws-cn:role/cn-north-1");
        assert_eq!(content_type(&found[0]), "application/zip");
    }

    #[test]
    fn what_only_other_stacks_need_is_not_uploaded() {
        let here = Environment::new("1", "eu-west-1");
        let image = ImageAsset { id: "i".to_owned(), stacks: vec!["B".to_owned()] };
        assert_eq!(uploads(&[asset(&["B"])], &[image], &[("A", &here)]).unwrap(), []);
    }

    #[test]
    fn a_container_image_is_refused_before_anything_is_uploaded() {
        let here = Environment::new("1", "eu-west-1");
        let image = ImageAsset { id: "img".to_owned(), stacks: vec!["A".to_owned()] };
        let error = uploads(&[asset(&["A"])], &[image], &[("A", &here)]).unwrap_err();
        assert!(error.to_string().starts_with("asset img: container images"), "{error}");
    }
}
