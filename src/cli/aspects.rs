//! `cdkr aspects`

use clap::{Args, Subcommand};

use super::Exit;
use super::failure::Failure;
use super::terminal::Terminal;
use crate::settings::{Settings, Surroundings, Typed};
use crate::toolkit;

/// Show what the comparison is told not to look at, and what is forbidden
#[derive(Args, Debug)]
pub(super) struct AspectsCommand {
    #[command(subcommand)]
    command: Aspects,
}

#[derive(Debug, Subcommand)]
enum Aspects {
    List(ListArgs),
}

/// List the aspects that are built in and those of cdk.json, and check the latter
#[derive(Args, Debug)]
#[command(after_help = "\
An aspect of cdk.json that changes what is compared, one that forbids, and a built-in one that is
switched off:
  \"refactor\": {
    \"aspects\": [
      {\"id\": \"tags\", \"do\": [{\"ignoreTags\": [\"git-sha\"]}]},
      {\"id\": \"databases\", \"match\": {\"type\": \"AWS::RDS::*\"}, \"forbid\": {\"operation\": [\"move\"]}}
    ],
    \"overrides\": {\"builtin:numbers-in-strings\": {\"enabled\": false}}
  }")]
struct ListArgs {
    /// Also this one, as other commands take it
    #[arg(long, value_name = "KIND:TYPE:PATH")]
    ignore: Vec<String>,
}

pub(super) fn run(command: &AspectsCommand, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let Aspects::List(arguments) = &command.command;
    // The app is not looked at, and need not be known.
    let typed =
        Typed { app: Some(".".to_owned()), ignore: arguments.ignore.clone(), ..Typed::default() };
    let settings = Settings::resolve(&typed, &Surroundings::of_process())?;
    let mut answer = Vec::new();
    for aspect in toolkit::list_aspects(&settings)? {
        let when = match (aspect.is_on, aspect.priority) {
            (false, _) => "off".to_owned(),
            (true, None) => "on".to_owned(),
            (true, Some(priority)) => format!("priority {priority}"),
        };
        answer.push(format!(
            "{} ({when}; {})\n  {}: {}\n",
            aspect.name, aspect.origin, aspect.about, aspect.does
        ));
    }
    terminal.answer(&answer.concat())?;
    Ok(Exit::Done)
}
