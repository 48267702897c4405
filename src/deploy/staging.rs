//! Where a template goes that is not in the assembly and too long for a request.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::assets::{AssetError, Place, place_of};
use crate::assembly::{AssemblyStack, FileAsset};
use crate::aws::{
    Aws, AwsError, MOST_INLINE_BYTES, Purpose, Roles, TemplateAt, fill_in, staged_url,
};
use crate::model::Environment;

/// The staging bucket of an environment, and who may write there: what publishes the assets of the
/// app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagingBucket {
    /// Where the bucket is.
    pub environment: Environment,
    /// Its name.
    pub bucket: String,
    /// The role that publishes.
    pub roles: Roles,
}

/// Returns the staging bucket of an environment: the first one to which a template of the stacks
/// goes; `None` if none goes to a bucket that the assembly names, as with the legacy synthesizer.
///
/// # Errors
/// When an option of a role cannot be honoured.
pub fn staging_bucket<'a>(
    stacks: impl IntoIterator<Item = &'a AssemblyStack>,
    files: &[FileAsset],
    environment: &Environment,
) -> Result<Option<StagingBucket>, AssetError> {
    for stack in stacks {
        if let Some(Staging { place, bucket }) = Staging::of(stack, files, environment)? {
            let Place { environment, roles } = place;
            return Ok(Some(StagingBucket { environment, bucket, roles }));
        }
    }
    Ok(None)
}

/// The bucket in which the app's own template of the stack is, and who may write there.
pub(super) struct Staging {
    place: Place,
    bucket: String,
}

impl Staging {
    /// Finds the place among the file assets of the stack; `None` if its template is not one.
    ///
    /// # Errors
    /// When an option of its role cannot be honoured.
    pub(super) fn of(
        stack: &AssemblyStack,
        files: &[FileAsset],
        environment: &Environment,
    ) -> Result<Option<Self>, AssetError> {
        let Some(url) = &stack.properties.template_asset_url else { return Ok(None) };
        let url = fill_in(url, environment);
        for asset in files.iter().filter(|it| it.stacks.contains(&stack.hierarchical_id)) {
            for to in &asset.destinations {
                let place = place_of(to, environment, &asset.id)?;
                let bucket = fill_in(&to.bucket_name, &place.environment);
                let key = fill_in(&to.object_key, &place.environment);
                if url == format!("s3://{bucket}/{key}") {
                    return Ok(Some(Self { place, bucket }));
                }
            }
        }
        Ok(None)
    }

    /// Puts a template there. The same template goes to the same place.
    ///
    /// # Errors
    /// What the service or the network says.
    pub(super) async fn put(
        &self,
        aws: &Aws,
        stack: &str,
        body: &str,
    ) -> Result<TemplateAt, AwsError> {
        let session =
            aws.session(&self.place.environment, &self.place.roles, Purpose::Write).await?;
        let mut digest = String::new();
        for byte in Sha256::digest(body.as_bytes()) {
            // Writing to a string cannot fail.
            let _ = write!(digest, "{byte:02x}");
        }
        let key = format!("cdkr-deploy/{stack}/{digest}.json");
        session.put_template(&self.bucket, &key, body).await?;
        Ok(TemplateAt::Url(staged_url(&self.place.environment, &self.bucket, &key)))
    }
}

/// Whether a template is too long for a request.
pub(super) fn is_long(body: &str) -> bool {
    body.len() > MOST_INLINE_BYTES
}
