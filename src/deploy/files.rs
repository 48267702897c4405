//! Files and directories that are uploaded to a bucket.

use std::path::{Path, PathBuf};

use super::archive::pack;
use super::assets::{AssetError, Place, Progress};
use super::command::Command;
use crate::assembly::{FileAsset, FileDestination};
use crate::aws::{Aws, AwsError, Purpose, PutError, fill_in};
use crate::event::{AssetKind, AssetStatus};

/// A file that has to be somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Upload {
    /// The key in the asset manifest.
    id: String,
    source: Source,
    is_zip: bool,
    pub(super) place: Place,
    pub(super) bucket: String,
    key: String,
}

/// Where the file comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// A file, or a directory that is packed.
    Path(PathBuf),
    /// A command makes it and says its path.
    Command(Vec<String>),
}

/// A file that is ready to be uploaded.
enum Ready {
    File(PathBuf),
    /// Deleted when it is dropped.
    Archive(tempfile::NamedTempFile),
}

impl Ready {
    fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Archive(file) => file.path(),
        }
    }
}

impl Upload {
    pub(super) fn new(asset: &FileAsset, to: &FileDestination, place: Place) -> Self {
        let source = asset.source.clone().map(Source::Path);
        Self {
            id: asset.id.clone(),
            source: source.unwrap_or_else(|| Source::Command(asset.command.clone())),
            is_zip: asset.is_zip,
            bucket: fill_in(&to.bucket_name, &place.environment),
            key: fill_in(&to.object_key, &place.environment),
            place,
        }
    }

    /// What is equal for uploads to the same place.
    pub(super) fn key(&self) -> (crate::model::Environment, String, String) {
        (self.place.environment.clone(), self.bucket.clone(), self.key.clone())
    }

    /// Uploads the file unless it is there.
    ///
    /// # Errors
    /// When it cannot be read, made or uploaded.
    pub(super) async fn publish(
        &self,
        aws: &Aws,
        progress: &Progress<'_>,
    ) -> Result<(), AssetError> {
        let id = || self.id.clone();
        let refused = |error: AwsError| AssetError::Bucket {
            id: id(),
            bucket: self.bucket.clone(),
            environment: self.place.environment.clone(),
            error: Box::new(error),
        };
        let tell = |status| {
            progress.tell(&self.place.environment, (&self.id, AssetKind::File), status);
        };
        let session = aws.session(&self.place.environment, &self.place.roles, Purpose::Write).await;
        let session = session.map_err(refused)?;
        if session.has_object(&self.bucket, &self.key).await.map_err(refused)? {
            tell(AssetStatus::Exists);
            return Ok(());
        }
        let ready = self.ready(progress, &tell).await?;
        let bytes = std::fs::metadata(ready.path()).ok().map(|it| it.len());
        tell(AssetStatus::Publishing { bytes });
        let kind = self.content_type();
        let put = session.put_file(&self.bucket, &self.key, kind, ready.path()).await;
        put.map_err(|error| match error {
            PutError::File { path, error } => AssetError::Source { id: id(), path, error },
            PutError::Aws(error) => refused(error),
        })?;
        tell(AssetStatus::Published { bytes });
        Ok(())
    }

    async fn ready(
        &self,
        progress: &Progress<'_>,
        tell: &impl Fn(AssetStatus),
    ) -> Result<Ready, AssetError> {
        match &self.source {
            Source::Path(path) if self.is_zip && path.is_dir() => {
                Ok(Ready::Archive(self.packed(path)?))
            }
            Source::Path(path) => Ok(Ready::File(path.clone())),
            Source::Command(words) => {
                tell(AssetStatus::Building);
                // It runs where we run (cdk-assets).
                let said = Command::of(words, &self.id, progress.host).said().await;
                let failed = |error| AssetError::Command { id: self.id.clone(), error };
                Ok(Ready::File(PathBuf::from(said.map_err(failed)?)))
            }
        }
    }

    fn packed(&self, directory: &Path) -> Result<tempfile::NamedTempFile, AssetError> {
        let kept = |error| AssetError::Temporary { id: self.id.clone(), error };
        let file = tempfile::NamedTempFile::new().map_err(kept)?;
        pack(directory, file.as_file().try_clone().map_err(kept)?)
            .map_err(|error| AssetError::Archive { id: self.id.clone(), error })?;
        Ok(file)
    }

    /// The content type of the object, by the name of the file as far as it matters for what reads
    /// assets.
    pub(super) fn content_type(&self) -> &'static str {
        let name = match &self.source {
            // Made by a command: an archive (cdk-assets).
            Source::Command(_) => Path::new("asset.zip"),
            _ if self.is_zip => Path::new("asset.zip"),
            Source::Path(path) => path,
        };
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
}
