//! What a log says: `cdkr history log`, `show`, `graph`, `snapshot` and `diff`

use std::path::Path;

use clap::Args;

use super::super::Exit;
use super::super::failure::Failure;
use super::super::shared::LocalArgs;
use super::super::terminal::Terminal;
use super::super::work::block_on;
use super::Form;
use crate::history::{self as room, Log, Snapshot};
use crate::model::Environment;
use crate::report::{self, HistoryView};
use crate::settings::{Place, Surroundings, Typed};
use crate::toolkit::Error;
use crate::toolkit::history::{self, HISTORY_FILE, RepositoryError};

/// Show the events of the log, newest first
#[derive(Args, Debug)]
pub(super) struct LogArgs {
    /// A line for each event
    #[arg(long)]
    oneline: bool,

    /// At most so many events
    #[arg(short = 'n', long, value_name = "NUMBER")]
    max_count: Option<usize>,

    /// The lines of the log as they are, for a file that `cdkr history merge` takes
    #[arg(long, conflicts_with_all = ["oneline", "max_count", "environment"])]
    raw: bool,

    #[command(flatten)]
    common: CommonArgs,
}

/// Show an event in full
#[derive(Args, Debug)]
pub(super) struct ShowArgs {
    /// The event: `HEAD`, `HEAD~2`, the first digits of a hash
    #[arg(default_value = "HEAD")]
    revision: String,

    #[command(flatten)]
    common: CommonArgs,
}

/// Draw the events of the log with their branches and merges
///
/// This also works while a log has branched.
#[derive(Args, Debug)]
pub(super) struct GraphArgs {
    /// At most so many events
    #[arg(short = 'n', long, value_name = "NUMBER")]
    max_count: Option<usize>,

    #[command(flatten)]
    common: CommonArgs,
}

/// Show what the stacks looked like at an event
#[derive(Args, Debug)]
pub(super) struct SnapshotArgs {
    /// The event: `HEAD`, `HEAD~2`, the first digits of a hash
    #[arg(default_value = "HEAD")]
    revision: String,

    /// Only this stack
    #[arg(long, value_name = "NAME")]
    stack: Option<String>,

    #[command(flatten)]
    common: CommonArgs,
}

/// Show what became of the stacks between two events
///
/// Resources are compared by name. If one event follows from the other, those that moved in
/// between are shown as what they are, however often they moved.
#[derive(Args, Debug)]
pub(super) struct DiffArgs {
    /// The event to begin with
    #[arg(default_value = "HEAD~1")]
    from: String,

    /// The event to end with
    #[arg(default_value = "HEAD")]
    to: String,

    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args, Debug)]
struct CommonArgs {
    /// Only what concerns this environment
    #[arg(long, value_name = "ACCOUNT/REGION", value_parser = environment)]
    environment: Option<Environment>,

    /// The log of this environment, from its staging bucket, in place of that of the repository
    ///
    /// It says what is deployed there, and how it came to be.
    #[arg(long, value_name = "ACCOUNT/REGION", value_parser = environment, conflicts_with = "environment", help_heading = "Account")]
    deployed: Option<Environment>,

    #[command(flatten)]
    local: LocalArgs,

    /// The profile with the credentials
    #[arg(long, value_name = "NAME", help_heading = "Account")]
    profile: Option<String>,

    /// The form of the answer
    #[arg(long, value_enum, default_value_t, value_name = "FORM", help_heading = "Output")]
    output: Form,

    /// Use no colours (`NO_COLOR` and `CLICOLOR_FORCE` are heeded as well)
    #[arg(long, help_heading = "Output")]
    no_color: bool,
}

fn environment(text: &str) -> Result<Environment, String> {
    let text = text.strip_prefix("aws://").unwrap_or(text);
    format!("aws://{text}")
        .parse()
        .map_err(|_| "it is not of the form `111111111111/eu-west-1`".to_owned())
}

macro_rules! colours {
    ($($arguments:ty),*) => {
        $(impl $arguments {
            pub(super) fn no_color(&self) -> bool {
                self.common.no_color
            }
        })*
    };
}

colours!(LogArgs, ShowArgs, GraphArgs, SnapshotArgs, DiffArgs);

impl CommonArgs {
    fn view(&self) -> HistoryView {
        let environment = self.environment.clone().or_else(|| self.deployed.clone());
        HistoryView { environment, ..HistoryView::default() }
    }

    fn is_json(&self) -> bool {
        self.output == Form::Json
    }
}

/// The log that is meant.
fn load(common: &CommonArgs) -> Result<Log, Failure> {
    match &common.deployed {
        Some(environment) => deployed(common, environment),
        None => required(history::load_log(Path::new("."))?),
    }
}

fn deployed(common: &CommonArgs, environment: &Environment) -> Result<Log, Failure> {
    let typed = Typed {
        local: common.local.directory().cloned(),
        profile: common.profile.clone(),
        ..Typed::default()
    };
    let place = Place::resolve(&typed, &Surroundings::of_process())?;
    block_on(history::environment_log(&place, environment))
}

fn required(log: Option<Log>) -> Result<Log, Failure> {
    Ok(log.ok_or_else(|| Error::from(RepositoryError::NoLog(HISTORY_FILE.into())))?)
}

pub(super) fn log(arguments: &LogArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let log = load(&arguments.common)?;
    let LogArgs { oneline, max_count, raw, common } = arguments;
    if *raw {
        terminal.answer(&log.render())?;
        return Ok(Exit::Done);
    }
    let view = HistoryView { oneline: *oneline, limit: *max_count, ..common.view() };
    terminal.answer(&if common.is_json() {
        report::events_json(&log, &view, None)
    } else {
        report::log(&log, &view)
    })?;
    Ok(Exit::Done)
}

pub(super) fn show(arguments: &ShowArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let log = load(&arguments.common)?;
    let event = log.resolve(&arguments.revision).map_err(failed)?;
    terminal.answer(&if arguments.common.is_json() {
        report::events_json(&log, &HistoryView::default(), Some(event))
    } else {
        report::event(&log, event)
    })?;
    Ok(Exit::Done)
}

pub(super) fn graph(arguments: &GraphArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let GraphArgs { max_count, common } = arguments;
    let log = match &common.deployed {
        Some(environment) => deployed(common, environment)?,
        None => required(history::load_branches(Path::new("."))?)?,
    };
    let view = HistoryView { limit: *max_count, ..common.view() };
    terminal.answer(&if common.is_json() {
        report::events_json(&log, &view, None)
    } else {
        report::graph(&log, &view)
    })?;
    if log.heads().len() > 1 {
        terminal.warning("the log has branched; `cdkr history merge` merges the branches");
    }
    Ok(Exit::Done)
}

pub(super) fn snapshot(arguments: &SnapshotArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let log = load(&arguments.common)?;
    let event = log.resolve(&arguments.revision).map_err(failed)?;
    let mut state = log.snapshot(event).cloned().unwrap_or_default();
    if let Some(stack) = &arguments.stack {
        let all = state.stacks().map(|(key, record)| (key.clone(), record.clone()));
        let only = Snapshot::new(all.filter(|(key, _)| key.name.as_str() == stack));
        if only.stacks().next().is_none() {
            let stacks = state.stacks().map(|(key, _)| key.to_string()).collect();
            let stack = stack.clone();
            return Err(Error::from(RepositoryError::NoStack { stack, event, stacks }).into());
        }
        state = only;
    }
    let view = arguments.common.view();
    terminal.answer(&if arguments.common.is_json() {
        report::snapshot_json(&state, event, &view)
    } else {
        report::snapshot(&state, &view)
    })?;
    Ok(Exit::Done)
}

pub(super) fn diff(arguments: &DiffArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let log = load(&arguments.common)?;
    let from = log.resolve(&arguments.from).map_err(failed)?;
    let to = log.resolve(&arguments.to).map_err(failed)?;
    let changes = room::changes(&log, from, to).map_err(failed)?;
    let view = arguments.common.view();
    terminal.answer(&if arguments.common.is_json() {
        report::difference_json(&changes, (from, to), &view)
    } else {
        report::difference(&changes, (from, to), &view)
    })?;
    Ok(Exit::Done)
}

fn failed(error: impl Into<RepositoryError>) -> Failure {
    Error::from(error.into()).into()
}
