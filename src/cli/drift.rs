//! `cdkr drift`

use clap::{Args, ValueEnum};

use super::Exit;
use super::failure::Failure;
use super::shared::{AccountArgs, AppArgs, CallerArgs};
use super::terminal::Terminal;
use super::work::block_on;
use crate::report::{self, Style};
use crate::settings::{Place, Settings, SettingsError, Surroundings, Typed};
use crate::toolkit::{self, Drifts};

/// Show what was changed behind CloudFormation's back
///
/// Compares the templates as they are deployed with the state of their resources, which is read
/// through Cloud Control (`GetResource`), and shows what would put right what differs, as a JSON
/// patch. Changes nothing. Only what a template declares is compared: services add defaults. Values
/// that are not known are left out and counted; secrets (dynamic references, `NoEcho` parameters)
/// are neither compared nor shown.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct DriftArgs {
    /// Stacks, as patterns (`Stage/*`, `**`) or by the names that CloudFormation has for them;
    /// without any, all of the app
    ///
    /// Where there is no app, stacks have to be named: they are looked for in the account and
    /// region of the credentials.
    stacks: Vec<String>,

    /// Look at this resource only: `Stack.LogicalId`, with wildcards
    #[arg(long, value_name = "STACK.LOGICAL-ID")]
    resource: Vec<String>,

    #[command(flatten)]
    app: AppArgs,

    #[command(flatten)]
    account: AccountArgs,

    #[command(flatten)]
    caller: CallerArgs,

    /// Exit with 4 if something has drifted
    #[arg(long, help_heading = "Output")]
    check: bool,

    /// The form of the answer
    #[arg(long, value_enum, default_value_t, value_name = "FORM", help_heading = "Output")]
    output: Form,

    /// Show long lists in full, and what was not compared
    #[arg(short, long, conflicts_with = "quiet", help_heading = "Output")]
    verbose: bool,

    /// Leave out warnings and notes
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,

    /// Write warnings and notes to the standard output too (with `--output table`)
    #[arg(long, help_heading = "Output")]
    ci: bool,

    /// Use no colours (`NO_COLOR` and `CLICOLOR_FORCE` are heeded as well)
    #[arg(long, help_heading = "Output")]
    pub(super) no_color: bool,
}

const AFTER_HELP: &str = "\
Examples:
  What was changed by hand in the stacks of the app:
    cdkr drift
  In a pipeline: fail if something was
    cdkr drift --check --ci
  Two stacks, without their app:
    cdkr drift Shop-Data Shop-Web --profile production --region eu-west-1
  One kind of resources:
    cdkr drift --resource 'Shop-Data.*Table*'

Exit codes:
  0    done, whatever was found; with --check: nothing has drifted of what can be verified
  1    failed
  2    wrong usage
  4    with --check: something has drifted, or was deleted";

/// The form of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Text for a terminal
    #[default]
    Table,
    /// One JSON document
    Json,
    /// Markdown for a comment or an issue
    Markdown,
}

pub(super) fn run(arguments: &DriftArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    terminal.quiet = arguments.quiet;
    terminal.ci = arguments.ci;
    terminal.together = arguments.ci && arguments.output == Form::Table;
    let found = arguments.look(terminal)?;
    for warning in &found.warnings {
        terminal.warning(warning);
    }
    for note in &found.notes {
        terminal.note(note);
    }
    let style = Style { verbose: arguments.verbose, ..Style::default() };
    terminal.answer(&match arguments.output {
        Form::Table => report::drift(&found.environments, style),
        Form::Json => report::drift_json(&found.environments),
        Form::Markdown => report::drift_markdown(&found.environments, style),
    })?;
    let has_drifted = found.has_drifted();
    if has_drifted && !arguments.check {
        terminal.note(
            "a deployment puts nothing of this right unless it changes the same resources: \
             CloudFormation compares templates",
        );
    }
    Ok(if has_drifted && arguments.check { Exit::Moves } else { Exit::Done })
}

impl DriftArgs {
    fn look(&self, terminal: &Terminal) -> Result<Drifts, Failure> {
        let surroundings = Surroundings::of_process();
        let typed = self.typed();
        let host = terminal.host();
        let found = match Settings::resolve(&typed, &surroundings) {
            Err(SettingsError::NoApp) if !self.stacks.is_empty() => {
                let place = Place::resolve(&typed, &surroundings)?;
                let work = toolkit::drift_of_stacks(&place, &self.stacks, &self.resource, &host);
                block_on(work)
            }
            settings => block_on(toolkit::drift(&settings?, &self.resource, &host)),
        };
        host.clear();
        found
    }

    fn typed(&self) -> Typed {
        let typed = self.caller.fill(self.account.fill(self.app.typed()));
        Typed { stacks: self.stacks.clone(), ..typed }
    }
}
