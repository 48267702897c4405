//! Templates that are too long for a request go through a bucket.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::Driver;
use crate::aws::{
    Aws, AwsError, MOST_INLINE_BYTES, Purpose, Role, Roles, Session, TemplateAt, staged_url,
};
use crate::run::error::Problem;
use crate::run::journal::{Begin, Task};
use crate::run::options::RunOptions;

/// A bucket that was found to be usable, and credentials that may write to it.
#[derive(Debug)]
pub(in crate::run) struct Staging {
    session: Session,
    bucket: String,
}

impl Staging {
    /// Finds the bucket if one of the templates needs it.
    pub(in crate::run) async fn find(
        aws: &Aws,
        session: &Session,
        options: &RunOptions,
        begin: &Begin,
    ) -> Result<Option<Self>, Problem> {
        let templates = (0..begin.steps()).filter_map(|step| begin.task(step));
        let longest = templates
            .flat_map(Task::templates)
            .max_by_key(|(_, template)| template.len())
            .filter(|(_, template)| template.len() > MOST_INLINE_BYTES);
        let Some((stack, template)) = longest else { return Ok(None) };
        let bucket = bucket(session, options).await?;
        let mut refused = None;
        for session in candidates(aws, session, options).await {
            match session.check_bucket(&bucket).await {
                Ok(()) => return Ok(Some(Self { session, bucket })),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        let error = refused.unwrap_or(AwsError::Incomplete {
            call: session.s3().named("HeadBucket", None),
            what: "session",
        });
        let (stack, bytes) = (stack.to_owned(), template.len());
        Err(Problem::NoBucket { stack, bytes, bucket, error: Box::new(error) })
    }
}

/// The bucket that the bootstrap stack names, else the name that `cdk bootstrap` gives it.
async fn bucket(session: &Session, options: &RunOptions) -> Result<String, AwsError> {
    let toolkit = session.describe_stack(&options.toolkit_stack).await?;
    let outputs = toolkit.map(|stack| stack.outputs).unwrap_or_default();
    let named = outputs.into_iter().find(|(key, _)| key == "BucketName");
    let environment = session.environment();
    Ok(named.map_or_else(
        || {
            let (account, region) = (&environment.account, &environment.region);
            format!("cdk-{}-assets-{account}-{region}", options.qualifier)
        },
        |(_, value)| value,
    ))
}

/// Whoever may be allowed to write: the publishing role, then the one that stacks are changed
/// with.
async fn candidates(aws: &Aws, session: &Session, options: &RunOptions) -> Vec<Session> {
    let role = options.publishing_role.clone().unwrap_or_else(|| Role {
        arn: format!(
            "arn:${{AWS::Partition}}:iam::${{AWS::AccountId}}:role/cdk-{}-file-publishing-role-\
             ${{AWS::AccountId}}-${{AWS::Region}}",
            options.qualifier
        ),
        ..Role::default()
    });
    let roles = Roles { deploy: Some(role), ..Roles::default() };
    let publishing = aws.session(session.environment(), &roles, Purpose::Write).await;
    publishing.into_iter().chain([session.clone()]).collect()
}

impl Driver<'_> {
    /// Puts a template where CloudFormation finds it. The same template goes to the same place.
    pub(super) async fn stage(&self, stack: &str, template: &str) -> Result<TemplateAt, Problem> {
        if template.len() <= MOST_INLINE_BYTES {
            return Ok(TemplateAt::Body(template.to_owned()));
        }
        let Some(staging) = &self.staging else {
            let message = format!("there is no bucket for the template of {stack}");
            return Err(Problem::Malformed { message });
        };
        let mut digest = String::new();
        for byte in Sha256::digest(template.as_bytes()) {
            // Writing to a string cannot fail.
            let _ = write!(digest, "{byte:02x}");
        }
        let key = format!("cdkr-refactor/{stack}/{digest}.json");
        let put = staging.session.put_template(&staging.bucket, &key, template);
        self.ask("PutObject", put).await?;
        Ok(TemplateAt::Url(staged_url(staging.session.environment(), &staging.bucket, &key)))
    }
}
