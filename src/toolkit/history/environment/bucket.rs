//! The log of an environment, in its staging bucket.
//!
//! The name of the object has the hash of the first event of the app's log, which no two apps have
//! in common, so that several apps in one environment do not meet. Who publishes the app's assets
//! reads and writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::{HISTORY_FILE, load_log, snapshot_of};
use super::FollowError;
use crate::assembly::{self, Assembly, LoadOptions};
use crate::aws::{AwsError, Cause, Purpose, Role, Roles, Session};
use crate::deploy::{StagingBucket, staging_bucket};
use crate::history::{Log, Snapshot, diff};
use crate::model::Environment;
use crate::settings::{Place, Settings};
use crate::toolkit::Error;
use crate::toolkit::account::{self, Connection};
use crate::toolkit::carry_out::qualifier;
use crate::toolkit::files;
use crate::toolkit::planning::records;

/// The directory in which it is kept where logs are, in that of our records.
const PLACES: &str = "history";

/// The log of an environment as it was read.
#[derive(Clone, Debug, Default)]
pub(in crate::toolkit) struct Stored {
    /// Where it is; `None` if there is no place for it.
    pub(super) bucket: Option<StagingBucket>,
    /// What it says; empty if there is none.
    pub(super) log: Log,
    /// What tells it from any later one.
    pub(super) tag: Option<String>,
}

/// The log of the repository with those of the environments of an app.
pub(in crate::toolkit) struct Histories {
    pub(super) repository: Arc<Log>,
    pub(super) environments: BTreeMap<Environment, Stored>,
    /// What somebody should know.
    pub(in crate::toolkit) notes: Vec<String>,
}

/// Returns the log of the repository if it decides: if there is one and nobody has turned it off.
/// To be called before what the app leaves open in its environments is filled in.
///
/// # Errors
/// When the log cannot be followed, or the app is not as its last event says.
pub(in crate::toolkit) fn declared(
    settings: &Settings,
    app: &Assembly,
) -> Result<Option<Log>, Error> {
    if !settings.history {
        return Ok(None);
    }
    let Some(log) = load_log(&settings.project)? else { return Ok(None) };
    let file = settings.project.join(HISTORY_FILE);
    let head = log.head().map_err(|source| FollowError::Log { file: file.clone(), source })?;
    let Some(recorded) = head.and_then(|head| log.snapshot(head)) else { return Ok(None) };
    let differences = differences(recorded, &snapshot_of(&app.stacks));
    if differences.is_empty() {
        return Ok(Some(log));
    }
    Err(FollowError::NotRecorded { file, differences }.into())
}

/// What differs between two states, a phrase for each stack.
fn differences(recorded: &Snapshot, now: &Snapshot) -> Vec<String> {
    let found = diff(recorded, now);
    let new = found.created.keys().map(|key| format!("stack {key} is new"));
    let gone = found.deleted.keys().map(|key| format!("stack {key} is not there any more"));
    let other = found.updated.keys().map(|key| format!("stack {key} is another"));
    new.chain(gone).chain(other).collect()
}

impl Histories {
    /// Reads the logs of all environments of an app.
    ///
    /// # Errors
    /// When the manifest of the assets cannot be read, the network fails, or a log is malformed.
    pub(in crate::toolkit) async fn open(
        repository: Log,
        connection: &Connection,
        settings: &Settings,
        app: &Assembly,
    ) -> Result<Self, Error> {
        let options = LoadOptions { ignore_schema_version: settings.ignore_schema_version };
        let files = assembly::file_assets(&app.directory, &options)
            .map_err(|error| Error::Assembly { flag: "--app", source: Box::new(error) })?;
        let all: BTreeSet<&Environment> = app.stacks.iter().map(|it| &it.environment).collect();
        let (mut environments, mut notes) = (BTreeMap::new(), Vec::new());
        for environment in all {
            let stacks = app.stacks.iter().filter(|stack| stack.environment == *environment);
            let bucket = staging_bucket(stacks, &files, environment).ok().flatten();
            let stored = match bucket {
                None => Err("the assembly names no bucket for the templates of its stacks".into()),
                Some(bucket) => read(connection, environment, &repository, bucket).await?,
            };
            let stored = stored.unwrap_or_else(|reason: String| {
                notes.push(format!(
                    "{environment}: there is no log of this environment, since {reason}; the \
                     state of its stacks says where it stands"
                ));
                Stored::default()
            });
            if let Some(bucket) = &stored.bucket {
                remember(&settings.place(), environment, bucket);
            }
            environments.insert(environment.clone(), stored);
        }
        Ok(Self { repository: Arc::new(repository), environments, notes })
    }

    /// Returns the outermost stacks that an environment has, or may have, whether the app still
    /// has them or not.
    pub(in crate::toolkit) fn stacks(&self, environment: &Environment) -> BTreeSet<String> {
        let log = self.environments.get(environment).map(|stored| &stored.log);
        let log = log.filter(|log| log.events().next().is_some());
        let states: Vec<&Snapshot> = match log {
            Some(log) => {
                let head = log.head().ok().flatten();
                head.and_then(|head| log.snapshot(head)).into_iter().collect()
            }
            None => {
                let events = self.repository.events();
                events.filter_map(|(hash, _)| self.repository.snapshot(hash)).collect()
            }
        };
        let keys = states.into_iter().flat_map(Snapshot::stacks).map(|(key, _)| key);
        let mine = keys.filter(|key| key.scope.contains(environment));
        mine.map(|key| key.name.to_string()).filter(|name| !name.contains('/')).collect()
    }
}

/// The name of the object.
fn key(repository: &Log) -> Option<String> {
    let (first, _) = repository.events().next()?;
    Some(format!("cdkr/history/{first}.jsonl"))
}

/// Reads the log of an environment, or says why there is no place for it.
pub(super) async fn read(
    connection: &Connection,
    environment: &Environment,
    repository: &Log,
    bucket: StagingBucket,
) -> Result<Result<Stored, String>, Error> {
    let Some(key) = key(repository) else { return Ok(Ok(Stored::default())) };
    let answer = async { session(connection, &bucket).await?.get_text(&bucket.bucket, &key).await };
    let found = match answer.await {
        Ok(found) => found,
        Err(error) if is_no_place(&error) => return Ok(Err(error.to_string())),
        Err(error) => return Err(error.into()),
    };
    let Some(found) = found else {
        return Ok(Ok(Stored { bucket: Some(bucket), ..Stored::default() }));
    };
    let log = Log::parse(found.text.as_bytes()).map_err(|source| {
        let place = format!("s3://{}/{key}", bucket.bucket);
        FollowError::Environment { environment: environment.clone(), place, source }
    })?;
    Ok(Ok(Stored { bucket: Some(bucket), log, tag: Some(found.tag) }))
}

/// Whether there is no bucket, or none that we may use: then there is no log, and nobody is kept
/// from working.
fn is_no_place(error: &AwsError) -> bool {
    matches!(error.cause(), Some(Cause::Denied))
        || matches!(error.code(), Some("NoSuchBucket" | "PermanentRedirect"))
        || matches!(error, AwsError::WrongAccount { .. })
}

/// Writes the log of an environment if it is still as it was read. Returns what tells it from any
/// later one; `None` if somebody else has written.
pub(super) async fn write(
    connection: &Connection,
    repository: &Log,
    bucket: &StagingBucket,
    log: &Log,
    read: Option<&str>,
) -> Result<Option<String>, AwsError> {
    let Some(key) = key(repository) else { return Ok(None) };
    let session = session(connection, bucket).await?;
    session.put_text_after(&bucket.bucket, &key, &log.render(), read).await
}

async fn session(connection: &Connection, bucket: &StagingBucket) -> Result<Session, AwsError> {
    connection.aws.session(&bucket.environment, &bucket.roles, Purpose::Write).await
}

/// Where a log is, as it is kept for those who do not look at the app.
#[derive(Serialize, Deserialize)]
struct Remembered {
    account: String,
    region: String,
    bucket: String,
    roles: Roles,
}

fn memory(place: &Place, environment: &Environment) -> PathBuf {
    let name = format!("{}-{}.json", environment.account, environment.region);
    records(&place.project).join(PLACES).join(name)
}

/// Keeps where a log is. Without it the usual place is looked at.
fn remember(place: &Place, environment: &Environment, bucket: &StagingBucket) {
    let remembered = Remembered {
        account: bucket.environment.account.to_string(),
        region: bucket.environment.region.to_string(),
        bucket: bucket.bucket.clone(),
        roles: bucket.roles.clone(),
    };
    let file = memory(place, environment);
    let text = serde_json::to_string(&remembered).unwrap_or_default();
    if fs::read_to_string(&file).ok().as_deref() == Some(&text) {
        return;
    }
    let kept = files::write_private(&file, text.as_bytes());
    // Who cannot write here cannot move anything either, and is told so then.
    drop(kept.and_then(|()| files::keep_out_of_git(&records(&place.project))));
}

/// Returns where the log of an environment is: where it was the last time, or else where the
/// bootstrap stack says that assets are.
pub(super) async fn find(
    place: &Place,
    connection: &Connection,
    environment: &Environment,
    roles: &Roles,
) -> Result<StagingBucket, Error> {
    let remembered = fs::read_to_string(memory(place, environment)).ok();
    let remembered = remembered.and_then(|text| serde_json::from_str::<Remembered>(&text).ok());
    if let Some(Remembered { account, region, bucket, roles }) = remembered {
        return Ok(StagingBucket {
            environment: Environment::new(&account, &region),
            bucket,
            roles,
        });
    }
    let session = connection.aws.session(environment, roles, Purpose::Read).await?;
    let toolkit = session.describe_stack(&place.account.toolkit_stack_name.value).await?;
    let mut outputs = toolkit.into_iter().flat_map(|stack| stack.outputs);
    let named = outputs.find(|(key, _)| key == "BucketName").map(|(_, value)| value);
    let qualifier = qualifier(roles).unwrap_or_else(|| "hnb659fds".to_owned());
    let Environment { account, region } = environment;
    let bucket = named.unwrap_or_else(|| format!("cdk-{qualifier}-assets-{account}-{region}"));
    let arn = format!(
        "arn:${{AWS::Partition}}:iam::{account}:role/cdk-{qualifier}-file-publishing-role-\
         {account}-{region}"
    );
    let deploy = Some(Role { arn, ..Role::default() });
    let roles = Roles { deploy, ..Roles::default() };
    Ok(StagingBucket { environment: environment.clone(), bucket, roles })
}

/// Returns the log of an environment; an empty one if nothing was deployed there with the history
/// of this app.
///
/// # Errors
/// When the app has no history, when AWS cannot be reached, or when the log is malformed.
pub async fn environment_log(place: &Place, environment: &Environment) -> Result<Log, Error> {
    let lacks = |reason: String| FollowError::NoLog { environment: environment.clone(), reason };
    let repository = load_log(&place.project)?
        .ok_or_else(|| lacks(format!("the app has no history: there is no `{HISTORY_FILE}`")))?;
    let connection = account::connect(&place.account).await?;
    let bucket = find(place, &connection, environment, &Roles::default()).await?;
    let stored = read(&connection, environment, &repository, bucket).await?;
    Ok(stored.map_err(lacks)?.log)
}
