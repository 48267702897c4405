//! `cdkr resume` and `cdkr revert`

use std::path::{Path, PathBuf};

use clap::Args;

use super::Exit;
use super::failure::Failure;
use super::shared::{AccountArgs, CallerArgs};
use super::terminal::Terminal;
use super::work::Cancelling;
use crate::event::{Host as _, Question};
use crate::report;
use crate::run::Done;
use crate::settings::{Place, Surroundings, Typed};
use crate::toolkit;

/// Continue a run that was interrupted
///
/// Looks into the journal and asks CloudFormation where things stand, and does the rest. Nothing
/// is done twice.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  The run that was interrupted:
    cdkr resume
  A certain one:
    cdkr resume .cdkr/runs/20261121T084739Z-111111111111-us-east-1.jsonl")]
pub(super) struct ResumeArgs {
    /// The journal of the run; without it, the only one that was interrupted
    journal: Option<PathBuf>,
    #[command(flatten)]
    common: CommonArgs,
}

/// Undo a run: move its resources back
///
/// Steps are undone in reverse order, with the templates from before.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  The latest run:
    cdkr revert
  A certain one, in a pipeline:
    cdkr revert --yes .cdkr/runs/20261121T084739Z-111111111111-us-east-1.jsonl")]
pub(super) struct RevertArgs {
    /// The journal of the run; without it, the latest one that is not undone
    journal: Option<PathBuf>,
    /// Do not ask
    #[arg(short, long, visible_alias = "force")]
    yes: bool,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args, Debug)]
struct CommonArgs {
    #[command(flatten)]
    account: AccountArgs,
    #[command(flatten)]
    caller: CallerArgs,
    /// Only say what fails
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
    /// Draw and ask nothing
    #[arg(long, help_heading = "Output")]
    ci: bool,
    /// Use no colours (`NO_COLOR` and `CLICOLOR_FORCE` are heeded as well)
    #[arg(long, help_heading = "Output")]
    no_color: bool,
}

impl ResumeArgs {
    pub(super) fn no_color(&self) -> bool {
        self.common.no_color
    }
}

impl RevertArgs {
    pub(super) fn no_color(&self) -> bool {
        self.common.no_color
    }
}

impl CommonArgs {
    fn place(&self, terminal: &mut Terminal) -> Result<Place, Failure> {
        terminal.quiet = self.quiet;
        terminal.ci = self.ci;
        let typed = self.caller.fill(self.account.fill(Typed::default()));
        Ok(Place::resolve(&typed, &Surroundings::of_process())?)
    }
}

pub(super) fn resume(arguments: &ResumeArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let place = arguments.common.place(terminal)?;
    let journal = match &arguments.journal {
        Some(journal) => journal.clone(),
        None => toolkit::interrupted(&place)?,
    };
    let host = terminal.host();
    let cancel = Cancelling::start();
    let done = cancel.block_on(toolkit::resume(&place, &journal, &host, cancel.receiver()));
    host.clear();
    said(terminal, "done", &done?, &journal)
}

pub(super) fn revert(arguments: &RevertArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let place = arguments.common.place(terminal)?;
    let journal = match &arguments.journal {
        Some(journal) => journal.clone(),
        None => toolkit::latest(&place)?.path,
    };
    let host = terminal.host();
    if !arguments.yes {
        let question = Question {
            help: Vec::new(),
            text: format!("Undo the run of {}?", journal.display()),
            choices: vec![
                "Yes, move its resources back".to_owned(),
                "No, change nothing".to_owned(),
            ],
            default: 1,
            flag: "--yes".to_owned(),
        };
        if host.ask(&question)? != 0 {
            terminal.note("nothing was changed");
            return Ok(Exit::Done);
        }
    }
    let cancel = Cancelling::start();
    let done = cancel.block_on(toolkit::revert(&place, &journal, &host, cancel.receiver()));
    host.clear();
    let exit = said(terminal, "undone", &done?, &journal)?;
    if let Ok(other) = toolkit::latest(&place) {
        terminal.note(&format!(
            "an earlier run can be undone as well, by `cdkr revert {}`",
            other.path.display()
        ));
    }
    Ok(exit)
}

fn said(terminal: &mut Terminal, word: &str, done: &Done, journal: &Path) -> Result<Exit, Failure> {
    let shown = report::plain(&journal.display().to_string()).into_owned();
    let steps = report::count(done.steps, "step");
    terminal.answer(&format!("{steps} {word}: {shown}\n"))?;
    Ok(Exit::Done)
}
