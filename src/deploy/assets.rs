//! Publishes assets: which of them, where, and how many at once.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::sync::watch;

use super::archive::ArchiveError;
use super::command::CommandError;
use super::files::Upload;
use super::images::{Image, Registries};
use super::options::DeployOptions;
use crate::assembly::{FileAsset, FileDestination, ImageAsset, ImageDestination};
use crate::aws::{Aws, AwsError, Cause, Role, RoleOptions, RoleOptionsError, Roles, fill_in};
use crate::event::{AssetKind, AssetStatus, Event, Host};
use crate::model::Environment;

/// Why an asset is not where templates look for it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssetError {
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
    /// The registry does not take it.
    #[error("image {id} cannot be pushed to the repository `{repository}`: {error}{}", advice(.environment, .error))]
    Registry {
        /// The key in the asset manifest.
        id: String,
        /// The repository.
        repository: String,
        /// The account and region.
        environment: Environment,
        /// Why.
        error: Box<AwsError>,
    },
    /// There is no such repository.
    #[error(
        "image {id}: there is no repository `{repository}` in {environment}. Is the environment \
         bootstrapped? `cdk bootstrap {environment}` makes it. No stack was changed."
    )]
    NoRepository {
        /// The key in the asset manifest.
        id: String,
        /// The repository.
        repository: String,
        /// The account and region.
        environment: Environment,
    },
    /// A tool that builds or pushes it has failed.
    #[error("asset {id}: {error} No stack was changed.")]
    Command {
        /// The key in the asset manifest.
        id: String,
        /// What has failed.
        error: Box<CommandError>,
    },
    /// The deployment was stopped before everything was published.
    #[error("stopped before all assets were published: no stack was changed")]
    Cancelled,
}

fn advice(environment: &Environment, error: &AwsError) -> String {
    let by_bootstrap = matches!(error.cause(), Some(Cause::Denied))
        || matches!(error.code(), Some("NoSuchBucket" | "NotFound" | "PermanentRedirect"));
    if by_bootstrap {
        format!(
            " Is the environment bootstrapped in this account? `cdk bootstrap {environment}` \
             makes what assets need. No stack was changed."
        )
    } else {
        " No stack was changed.".to_owned()
    }
}

/// What has to be published.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Publications {
    uploads: Vec<Upload>,
    images: Vec<Image>,
}

/// Lists what has to be published for stacks: hierarchical ID and environment, with nothing left
/// open. Each place appears once.
///
/// # Errors
/// When an option of a role cannot be honoured.
pub(super) fn publications(
    files: &[FileAsset],
    images: &[ImageAsset],
    stacks: &[(&str, &Environment)],
) -> Result<Publications, AssetError> {
    let needs = |needed: &[String]| -> Vec<&Environment> {
        let selected = stacks.iter().filter(|(id, _)| needed.iter().any(|stack| stack == id));
        selected.map(|(_, environment)| *environment).collect()
    };
    let (mut uploads, mut pushed) = (BTreeMap::new(), BTreeMap::new());
    for asset in files {
        for environment in needs(&asset.stacks) {
            for destination in &asset.destinations {
                let place = place_of(destination, environment, &asset.id)?;
                let upload = Upload::new(asset, destination, place);
                uploads.entry(upload.key()).or_insert(upload);
            }
        }
    }
    for asset in images {
        for environment in needs(&asset.stacks) {
            // An image is built once and goes to all of its places.
            let image = pushed.entry(&asset.id).or_insert_with(|| Image::new(asset));
            for destination in &asset.destinations {
                let place = place_of(destination, environment, &asset.id)?;
                image.add(destination, place);
            }
        }
    }
    let images = pushed.into_values().filter(Image::goes_somewhere);
    Ok(Publications { uploads: uploads.into_values().collect(), images: images.collect() })
}

/// Where an asset goes, and who may put it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) environment: Environment,
    pub(super) roles: Roles,
}

/// What destinations of files and images have in common.
pub(super) trait Destination {
    fn region(&self) -> Option<&String>;
    fn role(&self) -> (Option<&String>, Option<&String>, &BTreeMap<String, serde_json::Value>);
}

impl Destination for FileDestination {
    fn region(&self) -> Option<&String> {
        self.region.as_ref()
    }

    fn role(&self) -> (Option<&String>, Option<&String>, &BTreeMap<String, serde_json::Value>) {
        let external_id = self.assume_role_external_id.as_ref();
        (self.assume_role_arn.as_ref(), external_id, &self.assume_role_options)
    }
}

impl Destination for ImageDestination {
    fn region(&self) -> Option<&String> {
        self.region.as_ref()
    }

    fn role(&self) -> (Option<&String>, Option<&String>, &BTreeMap<String, serde_json::Value>) {
        let external_id = self.assume_role_external_id.as_ref();
        (self.assume_role_arn.as_ref(), external_id, &self.assume_role_options)
    }
}

/// Placeholders mean the place of the asset (cdk-assets, `replaceAwsPlaceholders`).
pub(super) fn place_of(
    destination: &impl Destination,
    stack: &Environment,
    id: &str,
) -> Result<Place, AssetError> {
    let region = destination.region().map(|region| fill_in(region, stack));
    let region = region.unwrap_or_else(|| stack.region.to_string());
    let environment = Environment::new(&stack.account, &region);
    let (arn, external_id, options) = destination.role();
    let options = RoleOptions::from_json(options)
        .map_err(|error| AssetError::Role { id: id.to_owned(), error })?;
    let deploy = arn.map(|arn| Role {
        arn: fill_in(arn, &environment),
        external_id: external_id.cloned(),
        options,
    });
    Ok(Place { environment, roles: Roles { deploy, ..Roles::default() } })
}

/// Tells how far the publication is.
pub(super) struct Progress<'a> {
    pub(super) host: &'a dyn Host,
    done: AtomicUsize,
    of: usize,
}

impl Progress<'_> {
    pub(super) fn tell(
        &self,
        environment: &Environment,
        (id, kind): (&str, AssetKind),
        status: AssetStatus,
    ) {
        let is_done = matches!(status, AssetStatus::Exists | AssetStatus::Published { .. });
        let before = self.done.fetch_add(usize::from(is_done), Ordering::Relaxed);
        self.host.tell(&Event::Asset {
            environment: environment.clone(),
            id: id.to_owned(),
            kind,
            status,
            done: before + usize::from(is_done),
            of: self.of,
        });
    }
}

/// Publishes what is not there yet, a few at a time. A request to stop ends it at once.
///
/// # Errors
/// The first that cannot be published; those under way are given up.
pub(super) async fn publish(
    aws: &Aws,
    all: &Publications,
    options: &DeployOptions,
    host: &dyn Host,
    cancel: Option<&watch::Receiver<bool>>,
) -> Result<(), AssetError> {
    let of = all.uploads.len() + all.images.iter().map(Image::places).sum::<usize>();
    let progress = &Progress { host, done: AtomicUsize::new(0), of };
    let registries = &Registries::new(aws, options);
    let uploads = all.uploads.iter().map(|upload| Box::pin(upload.publish(aws, progress)));
    let images = all.images.iter().map(|image| Box::pin(image.publish(aws, registries, progress)));
    let uploads = stream::iter(uploads).buffer_unordered(options.upload_concurrency.max(1));
    let images = stream::iter(images).buffer_unordered(options.image_concurrency.max(1));
    let work = async {
        // Images push what others may build on: files are quick, and fail early.
        uploads.try_collect::<()>().await?;
        images.try_collect::<()>().await
    };
    let Some(mut cancel) = cancel.cloned() else { return work.await };
    tokio::select! {
        biased;
        // An error means that nobody is there any more to ask.
        Ok(_) = cancel.wait_for(|stop| *stop) => Err(AssetError::Cancelled),
        result = work => result,
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
            unknown_packaging: None,
            destinations: vec![FileDestination {
                bucket_name: "cdk-${AWS::AccountId}-${AWS::Region}".to_owned(),
                object_key: "abc.zip".to_owned(),
                region: None,
                assume_role_arn: Some("arn:${AWS::Partition}:role/${AWS::Region}".to_owned()),
                assume_role_external_id: None,
                assume_role_options: BTreeMap::new(),
            }],
            stacks: stacks.iter().map(|&stack| stack.to_owned()).collect(),
            ..FileAsset::default()
        }
    }

    #[test]
    fn an_asset_of_two_stacks_is_uploaded_once_for_each_environment() {
        let (here, there) =
            (Environment::new("1", "eu-west-1"), Environment::new("1", "cn-north-1"));
        let stacks = [("A", &here), ("B", &here), ("C", &there), ("D", &there)];
        let found = publications(&[asset(&["A", "B", "C"]), asset(&["A"])], &[], &stacks);
        let found = found.unwrap().uploads;
        let buckets: Vec<_> = found.iter().map(|upload| upload.bucket.as_str()).collect();
        assert_eq!(buckets, ["cdk-1-cn-north-1", "cdk-1-eu-west-1"]);
        let role = found[0].place.roles.deploy.as_ref().unwrap();
        assert_eq!(role.arn, "arn:aws-cn:role/cn-north-1");
        assert_eq!(found[0].content_type(), "application/zip");
    }

    #[test]
    fn what_only_other_stacks_need_is_not_published() {
        let here = Environment::new("1", "eu-west-1");
        let all = publications(&[asset(&["B"])], &[image(&["B"])], &[("A", &here)]).unwrap();
        assert_eq!(all, Publications::default());
    }

    #[test]
    fn an_image_is_built_once_for_all_of_its_places() {
        let (here, there) =
            (Environment::new("1", "eu-west-1"), Environment::new("1", "us-east-1"));
        let stacks = [("A", &here), ("B", &here), ("C", &there)];
        let all = publications(&[], &[image(&["A", "B", "C"]), image(&["A"])], &stacks).unwrap();
        assert_eq!(all.images.len(), 1);
        assert_eq!(all.images[0].places(), 2);
    }

    fn image(stacks: &[&str]) -> ImageAsset {
        let to = ImageDestination {
            repository_name: "repo-${AWS::Region}".to_owned(),
            image_tag: "tag".to_owned(),
            ..ImageDestination::default()
        };
        let stacks = stacks.iter().map(|&stack| stack.to_owned()).collect();
        ImageAsset { id: "img".to_owned(), destinations: vec![to], stacks, ..ImageAsset::default() }
    }
}
