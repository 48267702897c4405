//! `cdkr schema`

use std::fmt::Write as _;

use clap::{Args, ValueEnum};

use super::Exit;
use super::failure::Failure;
use super::terminal::Terminal;

/// Print the JSON Schema of a file that cdkr reads or writes, or list them
///
/// Editors complete and check a file by its schema (JSON Schema 2020-12). A file of decisions may
/// name it: {"$schema": "./override-file.json", "environments": []}
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cdkr schema
  cdkr schema override-file > override-file.json")]
pub(super) struct SchemaArgs {
    /// The file; without it, all are listed
    #[arg(value_enum)]
    name: Option<Name>,
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
        }
    }
}

pub(super) fn run(arguments: &SchemaArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let answer = match arguments.name {
        Some(name) => name.schema().to_owned(),
        None => list(),
    };
    terminal.answer(&answer)?;
    Ok(Exit::Done)
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
