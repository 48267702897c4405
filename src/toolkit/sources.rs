//! The two sides of a comparison: the app as it is now, from its cloud assembly, and the app as
//! it is deployed, from another assembly or from the account.

use std::path::{Path, PathBuf};
use std::{panic, thread};

use super::Error;
use super::account::{self, Connection};
use super::context;
use super::history::{self, Histories};
use crate::assembly::{self, Assembly, LoadOptions};
use crate::event::{Event, Host};
use crate::model::{DeployedEnvironment, Environment, Text, Value};
use crate::settings::{App, Setting, Settings};
use crate::template::json;

/// The flags that name the two sides.
pub(super) const APP: &str = "--app";
pub(super) const AGAINST: &str = "--against";

/// The app as it is deployed, and as it is now.
pub(super) struct Sources {
    pub(super) deployed: Deployed,
    /// The environments of its stacks are those of the deployed side: from an account, none is
    /// left open.
    pub(super) local: Assembly,
    /// The logs of the environments, if there is a history that decides.
    pub(super) histories: Option<Histories>,
}

/// The app as it is deployed.
pub(super) enum Deployed {
    /// A cloud assembly stands for it.
    Assembly(Assembly),
    /// It was read from the account.
    Account(Account),
}

/// What was read from the account.
pub(super) struct Account {
    /// By account and region.
    pub(super) environments: Vec<DeployedEnvironment>,
    /// What may be wrong.
    pub(super) warnings: Vec<String>,
    /// How to reach it again.
    pub(super) connection: Connection,
}

/// Reads both sides, running the app if it has to be run.
pub(super) async fn load(settings: &Settings, host: &dyn Host) -> Result<Sources, Error> {
    if let Some(against) = &settings.against {
        return assemblies(settings, against, host).await;
    }
    let connection = account::connect(&settings.account).await?;
    let default = match &settings.app.value {
        App::Command(_) => connection.default_environment().await,
        App::Directory(_) => None,
    };
    let default = default.as_ref().map(|(account, region)| (account.as_str(), region.as_str()));
    let directory = app(settings, default, host)?;
    let local = read(APP, &directory, settings)?;
    let mut local = context::complete(settings, default, Some(&connection), local, host).await?;
    let repository = history::declared(settings, &local)?;
    account::resolve(&connection, &mut local).await?;
    let histories = match repository {
        Some(log) => Some(Histories::open(log, &connection, settings, &local).await?),
        None => None,
    };
    let further = |environment: &Environment| {
        histories.as_ref().map(|histories| histories.stacks(environment)).unwrap_or_default()
    };
    let read = account::read(&connection, settings, &local, &further, host);
    let (environments, warnings) = read.await?;
    let deployed = Deployed::Account(Account { environments, warnings, connection });
    Ok(Sources { deployed, local, histories })
}

/// Reads both assemblies at the same time. The account is asked for nothing but context that the
/// app lacks.
async fn assemblies(
    settings: &Settings,
    against: &Setting<PathBuf>,
    host: &dyn Host,
) -> Result<Sources, Error> {
    let (deployed, local) = thread::scope(|scope| {
        let local =
            scope.spawn(|| app(settings, None, host).and_then(|dir| read(APP, &dir, settings)));
        let deployed = read(AGAINST, &against.value, settings);
        (deployed, local.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
    });
    let deployed = Deployed::Assembly(deployed?);
    let local = context::complete(settings, None, None, local?, host).await?;
    Ok(Sources { deployed, local, histories: None })
}

/// Reads an assembly.
pub(super) fn read(
    flag: &'static str,
    directory: &Path,
    settings: &Settings,
) -> Result<Assembly, Error> {
    let options = LoadOptions { ignore_schema_version: settings.ignore_schema_version };
    assembly::load(directory, &options)
        .map_err(|source| Error::Assembly { flag, source: Box::new(source) })
}

/// The directory of the app's assembly. An app that is run is told the default account and
/// region, if they are known.
pub(super) fn app(
    settings: &Settings,
    default: Option<(&str, &str)>,
    host: &dyn Host,
) -> Result<PathBuf, Error> {
    let command = match &settings.app.value {
        App::Directory(directory) => return Ok(directory.clone()),
        App::Command(command) => command,
    };
    host.tell(&Event::Synthesizing { command: command.clone() });
    let context = settings
        .context
        .iter()
        .map(|(key, value)| (Text::from(key.as_str()), converted(value)))
        .collect();
    let app = assembly::App {
        output: settings.output.value.clone(),
        context,
        account: default.map(|(account, _)| account.to_owned()),
        region: default.map(|(_, region)| region.to_owned()),
        ..assembly::App::new(command, &settings.project)
    };
    app.synthesize().map_err(|source| Error::App {
        origin: settings.app.origin.to_string(),
        command: command.clone(),
        source: Box::new(source),
    })
}

/// A value of the context as templates have it.
fn converted(value: &serde_json::Value) -> Value {
    // What was read as JSON is written as JSON.
    json::parse(&value.to_string()).unwrap_or_default()
}
