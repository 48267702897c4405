//! The staging bucket, for templates that are too long for a request.

use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::primitives::ByteStream;

use crate::aws::{AwsError, Session};
use crate::model::Environment;

/// The longest template that a request takes, in bytes (CloudFormation quotas).
pub const MOST_INLINE_BYTES: usize = 51_200;

/// How long an attempt to upload a file may take: assets are up to 5 GB (S3, `PutObject`).
const LONGEST_UPLOAD: Duration = Duration::from_hours(1);

/// Where CloudFormation finds a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateAt {
    /// In the request.
    Body(String),
    /// In a bucket.
    Url(String),
}

/// Why a file is not in its bucket.
#[derive(Debug, thiserror::Error)]
pub enum PutError {
    /// The file cannot be read.
    #[error("`{}`: {error}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The service or the network refuses.
    #[error(transparent)]
    Aws(#[from] AwsError),
}

impl Session {
    /// Checks that a bucket exists, can be reached and belongs to the account of this session.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn check_bucket(&self, bucket: &str) -> Result<(), AwsError> {
        let owner = self.environment().account.as_str();
        Box::pin(self.s3().call("HeadBucket", None, |sdk| {
            sdk.head_bucket().bucket(bucket).expected_bucket_owner(owner).send()
        }))
        .await?;
        Ok(())
    }

    /// Whether there is an object in a bucket of the account of this session.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn has_object(&self, bucket: &str, key: &str) -> Result<bool, AwsError> {
        let owner = self.environment().account.as_str();
        let answer = Box::pin(self.s3().call("HeadObject", None, |sdk| {
            sdk.head_object().bucket(bucket).key(key).expected_bucket_owner(owner).send()
        }))
        .await;
        match answer {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.code(), Some("NotFound" | "NoSuchKey")) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Puts a file into a bucket of the account of this session.
    ///
    /// # Errors
    /// When the file cannot be read, or what the service or the network says.
    pub async fn put_file(
        &self,
        bucket: &str,
        key: &str,
        content_type: &str,
        file: &Path,
    ) -> Result<(), PutError> {
        let owner = self.environment().account.as_str();
        let body = ByteStream::from_path(file).await.map_err(|error| PutError::File {
            path: file.to_owned(),
            error: std::io::Error::other(error),
        })?;
        let patience = TimeoutConfig::builder().operation_attempt_timeout(LONGEST_UPLOAD).build();
        let patient = aws_sdk_s3::config::Builder::default().timeout_config(patience);
        Box::pin(self.s3().call("PutObject", None, |sdk| {
            sdk.put_object()
                .bucket(bucket)
                .key(key)
                .expected_bucket_owner(owner)
                .content_type(content_type)
                .body(body)
                .customize()
                .config_override(patient)
                .send()
        }))
        .await?;
        Ok(())
    }

    /// Puts a template into a bucket of the account of this session.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn put_template(&self, bucket: &str, key: &str, body: &str) -> Result<(), AwsError> {
        let owner = self.environment().account.as_str();
        Box::pin(self.s3().call("PutObject", None, |sdk| {
            sdk.put_object()
                .bucket(bucket)
                .key(key)
                .expected_bucket_owner(owner)
                .content_type("application/json")
                .body(ByteStream::from(body.as_bytes().to_vec()))
                .send()
        }))
        .await?;
        Ok(())
    }
}

/// A text in a bucket, and what tells it from any later one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredText {
    /// The text.
    pub text: String,
    /// The entity tag.
    pub tag: String,
}

impl Session {
    /// Returns the text of an object in a bucket of the account of this session; `None` if there
    /// is none.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn get_text(&self, bucket: &str, key: &str) -> Result<Option<StoredText>, AwsError> {
        let owner = self.environment().account.as_str();
        let answer = Box::pin(self.s3().call("GetObject", None, |sdk| {
            sdk.get_object().bucket(bucket).key(key).expected_bucket_owner(owner).send()
        }))
        .await;
        let object = match answer {
            Ok(object) => object,
            Err(error) if error.code() == Some("NoSuchKey") => return Ok(None),
            Err(error) => return Err(error),
        };
        let lacks = |what| AwsError::Incomplete { call: self.s3().named("GetObject", None), what };
        let tag = object.e_tag.ok_or_else(|| lacks("entity tag"))?;
        let bytes = object.body.collect().await.map_err(|_| lacks("body that ends"))?;
        let text = String::from_utf8(bytes.to_vec()).map_err(|_| lacks("text"))?;
        Ok(Some(StoredText { text, tag }))
    }

    /// Puts a text into a bucket of the account of this session, if nobody has done so since it
    /// was read: `read` is the entity tag from then, `None` if there was no such object. Returns
    /// the entity tag that it has now; `None` if somebody has.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn put_text_after(
        &self,
        bucket: &str,
        key: &str,
        text: &str,
        read: Option<&str>,
    ) -> Result<Option<String>, AwsError> {
        let owner = self.environment().account.as_str();
        let answer = Box::pin(self.s3().call("PutObject", None, |sdk| {
            sdk.put_object()
                .bucket(bucket)
                .key(key)
                .expected_bucket_owner(owner)
                .content_type("application/jsonl")
                .set_if_match(read.map(str::to_owned))
                .set_if_none_match(read.is_none().then(|| "*".to_owned()))
                .body(ByteStream::from(text.as_bytes().to_vec()))
                .send()
        }))
        .await;
        match answer {
            Ok(answer) => Ok(Some(answer.e_tag.unwrap_or_default())),
            // The last one: it was there when it was read, and somebody has taken it away.
            Err(error)
                if matches!(
                    error.code(),
                    Some("PreconditionFailed" | "ConditionalRequestConflict" | "NoSuchKey")
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Returns the URL by which CloudFormation finds an object of a staging bucket.
pub fn staged_url(environment: &Environment, bucket: &str, key: &str) -> String {
    let region = environment.region.as_str();
    let suffix = match region {
        region if region.starts_with("cn-") => "amazonaws.com.cn",
        region if region.starts_with("us-iso-") => "c2s.ic.gov",
        region if region.starts_with("us-isob-") => "sc2s.sgov.gov",
        region if region.starts_with("eu-isoe-") => "cloud.adc-e.uk",
        region if region.starts_with("us-isof-") => "csp.hci.ic.gov",
        region if region.starts_with("eusc-") => "amazonaws.eu",
        _ => "amazonaws.com",
    };
    // A dot in a bucket's name does not fit the certificate of the host.
    if bucket.contains('.') {
        format!("https://s3.{region}.{suffix}/{bucket}/{key}")
    } else {
        format!("https://{bucket}.s3.{region}.{suffix}/{key}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_template_fits_the_partition_and_the_name_of_the_bucket() {
        let url = |region, bucket| staged_url(&Environment::new("1", region), bucket, "k.json");
        assert_eq!(url("eu-west-1", "b"), "https://b.s3.eu-west-1.amazonaws.com/k.json");
        assert_eq!(url("cn-north-1", "b"), "https://b.s3.cn-north-1.amazonaws.com.cn/k.json");
        assert_eq!(url("eu-west-1", "a.b"), "https://s3.eu-west-1.amazonaws.com/a.b/k.json");
    }
}
