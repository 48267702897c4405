//! The command line: one file per command.
//!
//! In: arguments. Out: the answer on the standard output, everything else on the standard error
//! stream, and an exit code. Called by `main`. Nothing else prints.

mod aspects;
mod completions;
mod contract;
mod deciding;
mod deploy;
mod diff;
mod drift;
mod failure;
mod history;
mod host;
mod local;
mod refactor;
mod runs;
mod schema;
mod shared;
mod terminal;
mod version;
mod work;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

pub use contract::contract;
use failure::Failure;
use terminal::Terminal;

/// Deploy AWS CDK apps, and move the resources that merely moved in place of replacing them
#[derive(Debug, Parser)]
#[command(name = "cdkr", version, propagate_version = true, disable_help_subcommand = true)]
#[command(after_help = "\
Exit codes:
  0    done, or nothing to do
  1    failed
  2    wrong usage, or nobody there to answer a question
  3    some resources cannot be told apart, data would be lost, or an aspect forbids it; nothing
       was changed, unless the message says what was
  4    refactor --dry-run --check: some resources moved;
       history record --check: the app is not as the log says;
       diff --fail-on: there is a change of that risk;
       drift --check: something has drifted;
       schema check: a promise is broken
  130  interrupted")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Deploy(Box<deploy::DeployArgs>),
    Diff(Box<diff::DiffArgs>),
    Refactor(Box<refactor::RefactorArgs>),
    Drift(Box<drift::DriftArgs>),
    Resume(runs::ResumeArgs),
    Revert(runs::RevertArgs),
    History(history::HistoryCommand),
    Aspects(aspects::AspectsCommand),
    Local(local::LocalCommand),
    Completions(completions::CompletionsArgs),
    Schema(schema::SchemaArgs),
}

/// What a command comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    /// Done, or nothing to do.
    Done,
    /// `--check` found questions.
    Ambiguous,
    /// `--check` found moves, or a state that is not recorded; `--fail-on` found a change; a schema
    /// breaks a promise.
    Moves,
}

impl Exit {
    /// The exit code.
    fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Ambiguous => failure::STOPPED,
            Self::Moves => 4,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Runs the program with the given arguments, the program's name first.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if version::is_asked_for(&arguments) {
        return match Terminal::new(true).answer(&version::in_full()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => Failure::from(error).exit_code(),
        };
    }
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => return refused(&error),
    };
    let (result, mut terminal) = match arguments.command {
        Command::Deploy(arguments) => {
            let mut terminal = Terminal::new(arguments.no_color());
            (deploy::run(&arguments, &mut terminal), terminal)
        }
        Command::Diff(arguments) => {
            let mut terminal = Terminal::new(arguments.no_color);
            (diff::run(&arguments, &mut terminal), terminal)
        }
        Command::Refactor(arguments) => {
            let mut terminal = Terminal::new(arguments.no_color);
            (refactor::run(&arguments, &mut terminal), terminal)
        }
        Command::Drift(arguments) => {
            let mut terminal = Terminal::new(arguments.no_color);
            (drift::run(&arguments, &mut terminal), terminal)
        }
        Command::Resume(arguments) => {
            let mut terminal = Terminal::new(arguments.no_color());
            (runs::resume(&arguments, &mut terminal), terminal)
        }
        Command::Revert(arguments) => {
            let mut terminal = Terminal::new(arguments.no_color());
            (runs::revert(&arguments, &mut terminal), terminal)
        }
        Command::History(arguments) => {
            let mut terminal = Terminal::new(arguments.no_color());
            (history::run(&arguments, &mut terminal), terminal)
        }
        Command::Aspects(arguments) => {
            let mut terminal = Terminal::new(false);
            (aspects::run(&arguments, &mut terminal), terminal)
        }
        Command::Local(arguments) => {
            let mut terminal = Terminal::new(false);
            (local::run(&arguments, &mut terminal), terminal)
        }
        Command::Completions(arguments) => {
            let mut terminal = Terminal::new(false);
            (completions::run(&arguments, &mut terminal), terminal)
        }
        Command::Schema(arguments) => {
            let mut terminal = Terminal::new(false);
            (schema::run(&arguments, &mut terminal), terminal)
        }
    };
    match result {
        Ok(exit) => exit.into(),
        // Whoever read our answer has seen enough.
        Err(Failure::Reader) => ExitCode::SUCCESS,
        Err(failure) => {
            terminal.failure(&failure);
            failure.exit_code()
        }
    }
}

/// Shows help where it was asked for, or what is wrong with the arguments.
fn refused(error: &clap::Error) -> ExitCode {
    // When nobody listens there is nobody to tell.
    error.print().ok();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
        _ => ExitCode::from(failure::USAGE),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_arguments_are_well_formed() {
        Arguments::command().debug_assert();
    }
}
