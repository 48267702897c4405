//! `cdkr schema`

use std::fmt::Write as _;
use std::fs;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value as Json;

use super::Exit;
use super::failure::Failure;
use super::terminal::Terminal;
use crate::report::plain;
use crate::toolkit::schema::{Check, check_schema};

/// Print the JSON Schema of a file that cdkr reads or writes, or list them
///
/// Editors complete and check a file by its schema (JSON Schema 2020-12). A file of decisions may
/// name it: {"$schema": "./override-file.json", "environments": []}
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  cdkr schema
  cdkr schema override-file > override-file.json
  cdkr schema check released/history.json history")]
pub(super) struct SchemaArgs {
    #[command(subcommand)]
    command: Option<SchemaCommand>,

    /// The file; without it, all are listed
    #[arg(value_enum)]
    name: Option<Name>,
}

#[derive(Debug, Subcommand)]
enum SchemaCommand {
    Check(CheckArgs),
}

/// Tell what a schema breaks of what an older one promised
///
/// The rules of RFC 0111: nothing is removed or renamed, no type changes, nothing that could be
/// left out has to be given, and nothing new has to be. Whatever else changes needs a new version
/// of the documents, which a schema says as the constant of `version`. Exits with 4 if it finds
/// something.
#[derive(Args, Debug)]
struct CheckArgs {
    /// The older schema: a file, or a name from the list of `cdkr schema`
    old: String,

    /// The newer one
    new: String,

    /// Accept what is only added without a new version
    ///
    /// For documents whose readers pass over what they do not know.
    #[arg(long)]
    additions: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Decisions: cdkr.decisions.json, --override-file
    OverrideFile,
    /// The moves that are allowed: --refactor-file
    RefactorFile,
    /// What is left where it is: --skip-file
    SkipFile,
    /// The keys of cdk.json that are read
    CdkJson,
    /// The answer of refactor --output json
    Comparison,
    /// A line of cdkr.history.jsonl
    History,
    /// The answer of diff --output json
    Diff,
    /// The answers of history … --output json
    HistoryAnswer,
    /// A line of the answer of refactor --yes or deploy --output json
    Events,
    /// The answer of local ls and local show --output json
    Local,
    /// A plan: refactor --plan, --plan-file
    Plan,
    /// A line of a journal of .cdkr/runs
    Journal,
    /// What is read of manifest.json of a cloud assembly
    Manifest,
    /// What is read of an asset manifest of a cloud assembly
    Assets,
    /// What is read of tree.json of a cloud assembly
    Tree,
    /// The answer of drift --output json
    Drift,
}

impl Name {
    fn schema(self) -> &'static str {
        match self {
            // Both have the same form.
            Self::OverrideFile | Self::RefactorFile => {
                include_str!("../../data/schemas/override-file.json")
            }
            Self::SkipFile => include_str!("../../data/schemas/skip-file.json"),
            Self::CdkJson => include_str!("../../data/schemas/cdk-json.json"),
            Self::Comparison => include_str!("../../data/schemas/comparison.json"),
            Self::History => include_str!("../../data/schemas/history.json"),
            Self::Diff => include_str!("../../data/schemas/diff.json"),
            Self::HistoryAnswer => include_str!("../../data/schemas/history-answer.json"),
            Self::Events => include_str!("../../data/schemas/events.json"),
            Self::Local => include_str!("../../data/schemas/local.json"),
            Self::Plan => include_str!("../../data/schemas/plan.json"),
            Self::Journal => include_str!("../../data/schemas/journal.json"),
            Self::Manifest => include_str!("../../data/schemas/manifest.json"),
            Self::Assets => include_str!("../../data/schemas/assets.json"),
            Self::Tree => include_str!("../../data/schemas/tree.json"),
            Self::Drift => include_str!("../../data/schemas/drift.json"),
        }
    }
}

pub(super) fn run(arguments: &SchemaArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    if let Some(SchemaCommand::Check(arguments)) = &arguments.command {
        return check(arguments, terminal);
    }
    let answer = match arguments.name {
        Some(name) => name.schema().to_owned(),
        None => list(),
    };
    terminal.answer(&answer)?;
    Ok(Exit::Done)
}

fn check(arguments: &CheckArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let check = check_schema(&read(&arguments.old)?, &read(&arguments.new)?);
    let mut text = String::new();
    for one in &check.differences {
        let at = if one.at.is_empty() { "the document" } else { &one.at };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}: {}: {}", plain(at), one.rule, plain(&one.what));
    }
    let breaks = check.broken().count();
    let verdict = match breaks {
        0 if check.differences.is_empty() => "Nothing has changed.".to_owned(),
        0 if arguments.additions || !check.lacks_version() => "Nothing is broken.".to_owned(),
        0 => format!("Any change is a new version: {}.", versions(&check)),
        1 => "1 promise is broken.".to_owned(),
        count => format!("{count} promises are broken."),
    };
    let is_good = breaks == 0 && (arguments.additions || !check.lacks_version());
    terminal.answer(&format!("{text}{verdict}\n"))?;
    Ok(if is_good { Exit::Done } else { Exit::Moves })
}

fn versions(check: &Check) -> String {
    match check.versions {
        (Some(was), Some(is)) if was == is => format!("`version` is still {is}"),
        (Some(was), Some(is)) => format!("`version` was {was}, is {is}"),
        _ => "the schema says none (a `version` that is a constant)".to_owned(),
    }
}

/// Reads a schema: one of ours by its name, else a file.
fn read(name: &str) -> Result<Json, Failure> {
    let text = match Name::from_str(name, false) {
        Ok(name) => name.schema().to_owned(),
        Err(_) => fs::read_to_string(name).map_err(|error| failed(name, &error))?,
    };
    serde_json::from_str(&text).map_err(|error| failed(name, &error))
}

fn failed(name: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::Stopped(format!("cannot read the schema `{name}`: {error}"))
}

fn list() -> String {
    let values = Name::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    values.fold(String::new(), |mut text, value| {
        let help = value.get_help().map(ToString::to_string).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:<14}  {help}", value.get_name());
        text
    })
}
