//! `cdkr completions`

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::failure::Failure;
use super::terminal::Terminal;
use super::{Arguments, Exit};

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cdkr completions bash > /etc/bash_completion.d/cdkr
  cdkr completions zsh > \"${fpath[1]}/_cdkr\"
  cdkr completions fish > ~/.config/fish/completions/cdkr.fish")]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(super) fn run(arguments: &CompletionsArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "cdkr", &mut script);
    terminal.answer(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
