//! `cdkr refactor`

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Exit;
use super::failure::Failure;
use super::shared::{AccountArgs, AppArgs};
use super::terminal::Terminal;
use crate::report::{self, Style};
use crate::settings::{Settings, SettingsError, Surroundings, Typed};
use crate::toolkit::{self, Outcome, Prepared};

/// Show the resources that moved since the app was deployed
///
/// Compares what is deployed with the app as it is now, and tells which resources are the same
/// under another logical ID or in another stack. Changes nothing.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct RefactorArgs {
    /// Stacks to report, as patterns (`Stage/*`, `**`); without any, all of them
    ///
    /// Environments are compared as a whole nevertheless, since a resource may have come from
    /// any stack.
    stacks: Vec<String>,

    /// Only show what would be done; this version does nothing else
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    app: AppArgs,

    /// Take what is deployed from a cloud assembly, in place of the account
    #[arg(long, value_name = "DIRECTORY", conflicts_with_all = ["local", "profile", "additional_stacks", "wait"])]
    against: Option<PathBuf>,

    #[command(flatten)]
    account: AccountArgs,

    /// Say that a deployed resource is now another one
    ///
    /// Both are named by location or by construct path: `Stack.Old:Stack.New` or
    /// `Stack/Old:Stack/New`.
    #[arg(long, value_name = "OLD:NEW", help_heading = "Decisions")]
    map: Vec<String>,

    /// Read such decisions from a JSON file
    ///
    /// {"environments": [{"account": "…", "region": "…", "resources": {"Stack.Old":
    /// "Stack.New"}}]}, or {"mappings": {"Stack.Old": "Stack.New"}}
    #[arg(long, value_name = "FILE", help_heading = "Decisions")]
    override_file: Option<PathBuf>,

    /// Leave alone what a JSON file lists: locations, construct paths, resource types
    #[arg(long, value_name = "FILE", help_heading = "Decisions")]
    skip_file: Option<PathBuf>,

    /// Treat indistinct mappings as ambiguous
    ///
    /// A mapping is indistinct if the two resources are equal and nothing else supports that
    /// they are the same.
    #[arg(long, help_heading = "Decisions")]
    strict: bool,

    /// Exit with 3 if something is ambiguous, else with 4 if something moved
    #[arg(long, help_heading = "Output")]
    check: bool,

    /// Say why, and which candidate was nearest to what was added or removed
    #[arg(long, help_heading = "Output")]
    explain: bool,

    /// Show construct paths instead of logical IDs
    #[arg(long, help_heading = "Output")]
    paths: bool,

    /// The form of the answer
    #[arg(long, value_enum, default_value_t, value_name = "FORM", help_heading = "Output")]
    output: Form,

    /// Show long lists in full
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

    /// Accepted for the sake of scripts written for `cdk`; does nothing
    #[arg(long, value_name = "FEATURE", hide_short_help = true)]
    unstable: Vec<String>,
}

const AFTER_HELP: &str = "\
Examples:
  What moved since the app of cdk.json was deployed:
    cdkr refactor --dry-run
  What moved since the assembly in release/ was deployed, without an account:
    cdkr refactor --dry-run --app cdk.out --against release
  The same, with the app of cdk.json synthesized first, for two stacks:
    cdkr refactor --dry-run --against release Web Api
  In a pull request: fail if a resource moved or cannot be told from another:
    cdkr refactor --dry-run --against main --check
  Decide what the evidence does not:
    cdkr refactor --dry-run --against release --map Web.Queue1A2B3C4D:Web.Jobs5E6F7A8B

Exit codes:
  0  shown, whatever was found
  1  failed
  2  wrong usage
  3  with --check: some resources cannot be told apart
  4  with --check: some resources moved";

/// The form of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Tables for a terminal
    #[default]
    Table,
    /// One JSON document
    Json,
    /// Markdown for a comment on a pull request
    Markdown,
}

pub(super) fn run(arguments: &RefactorArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    terminal.quiet = arguments.quiet;
    terminal.together = arguments.ci && arguments.output == Form::Table;
    if !arguments.dry_run {
        return Err(SettingsError::OnlyDryRun.into());
    }
    let settings = Settings::resolve(&arguments.typed(), &Surroundings::of_process())?;
    terminal.ci = arguments.ci;
    let host = terminal.host();
    let prepared = super::block_on(toolkit::prepare(&settings, &host));
    host.clear();
    let prepared = prepared?;
    let outcome = &prepared.outcome;
    for warning in &outcome.warnings {
        terminal.warning(warning);
    }
    for note in &outcome.notes {
        terminal.note(note);
    }
    terminal.answer(&arguments.render(&prepared))?;
    Ok(if arguments.check { verdict(outcome) } else { Exit::Done })
}

impl RefactorArgs {
    fn typed(&self) -> Typed {
        Typed {
            against: self.against.clone(),
            stacks: self.stacks.clone(),
            map: self.map.clone(),
            override_file: self.override_file.clone(),
            skip_file: self.skip_file.clone(),
            strict: self.strict,
            explain: self.explain,
            ..self.account.fill(self.app.typed())
        }
    }

    fn render(&self, prepared: &Prepared) -> String {
        let style = Style { paths: self.paths, explain: self.explain, verbose: self.verbose };
        let (found, plans) = (&prepared.outcome.environments, prepared.plans());
        match self.output {
            Form::Table => {
                let (table, plans) = (report::table(found, style), report::plans(&plans));
                if plans.is_empty() { table } else { format!("{table}\n{plans}") }
            }
            Form::Json => report::json(found, &plans, style),
            Form::Markdown => report::markdown(found, &plans, style),
        }
    }
}

fn verdict(outcome: &Outcome) -> Exit {
    if outcome.ambiguities() > 0 {
        Exit::Ambiguous
    } else if outcome.moves() > 0 {
        Exit::Moves
    } else {
        Exit::Done
    }
}
