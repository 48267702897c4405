//! The two sides of a comparison, read from cloud assemblies.

use std::path::{Path, PathBuf};
use std::{panic, thread};

use super::Error;
use crate::assembly::{self, Assembly, LoadOptions};
use crate::model::{Text, Value};
use crate::settings::{App, Settings};
use crate::template::json;

/// The flags that name the two sides.
pub(super) const APP: &str = "--app";
pub(super) const AGAINST: &str = "--against";

/// The app as it was deployed, and as it is now.
pub(super) struct Sources {
    pub(super) deployed: Assembly,
    pub(super) local: Assembly,
}

/// Reads both assemblies at the same time, running the app if it has to be run.
pub(super) fn load(settings: &Settings) -> Result<Sources, Error> {
    let (deployed, local) = thread::scope(|scope| {
        let local = scope.spawn(|| app(settings).and_then(|dir| read(APP, &dir, settings)));
        let deployed = read(AGAINST, &settings.against.value, settings);
        (deployed, local.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
    });
    Ok(Sources { deployed: deployed?, local: local? })
}

fn read(flag: &'static str, directory: &Path, settings: &Settings) -> Result<Assembly, Error> {
    let options = LoadOptions { ignore_schema_version: settings.ignore_schema_version };
    assembly::load(directory, &options)
        .map_err(|source| Error::Assembly { flag, source: Box::new(source) })
}

/// The directory of the app's assembly.
fn app(settings: &Settings) -> Result<PathBuf, Error> {
    let command = match &settings.app.value {
        App::Directory(directory) => return Ok(directory.clone()),
        App::Command(command) => command,
    };
    let context = settings
        .context
        .iter()
        .map(|(key, value)| (Text::from(key.as_str()), converted(value)))
        .collect();
    let app = assembly::App {
        output: settings.output.value.clone(),
        context,
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
