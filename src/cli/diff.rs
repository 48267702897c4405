//! `cdkr diff`

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Exit;
use super::failure::Failure;
use super::shared::{AccountArgs, AppArgs, CallerArgs, DecisionArgs, ReportArgs};
use super::terminal::Terminal;
use super::work::block_on;
use crate::analyze::Risk;
use crate::compare::Comparison;
use crate::plan::Severity;
use crate::report::{self, Style};
use crate::settings::{Deploying, Settings, Surroundings, Typed, TypedDeploying};
use crate::toolkit::{self, Differences};

/// Show what a deployment would do, and how dangerous it is
///
/// What moved is shown as moved, as `cdkr deploy` would do it. What is replaced is shown with its
/// cause, and every change with its risk, as built-in rules and those of `--rules` say. Changes
/// nothing.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct DiffArgs {
    /// Stacks to report, as patterns (`Stage/*`, `**`); without any, all of them
    stacks: Vec<String>,

    #[command(flatten)]
    app: AppArgs,

    /// Take what is deployed from a cloud assembly, in place of the account
    ///
    /// Physical IDs and values that only the account knows are missing then.
    #[arg(long, value_name = "DIRECTORY", conflicts_with_all = ["local", "profile", "additional_stacks", "wait"])]
    against: Option<PathBuf>,

    #[command(flatten)]
    account: AccountArgs,

    #[command(flatten)]
    caller: CallerArgs,

    #[command(flatten)]
    decisions: DecisionArgs,

    #[command(flatten)]
    report: ReportArgs,

    /// Exit with 4 if there is a change of this risk
    #[arg(long, value_enum, value_name = "RISK", num_args = 0..=1, require_equals = true, default_missing_value = "high", help_heading = "Risk")]
    fail_on: Option<FailOn>,

    /// The same as `--fail-on=any`
    #[arg(long, conflicts_with = "fail_on", help_heading = "Risk")]
    fail: bool,

    /// Show what the CDK writes for itself: its metadata and the bootstrap version
    #[arg(long, help_heading = "Output")]
    metadata: bool,

    /// The form of the answer
    #[arg(long, value_enum, default_value_t, value_name = "FORM", help_heading = "Output")]
    output: Form,

    /// Show every resource, with old and new values
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
  What would `cdkr deploy` do?
    cdkr diff
  Since the assembly in release/ was deployed, without an account:
    cdkr diff --app cdk.out --against release
  A page with everything, to look at in a browser:
    cdkr diff --report changes.html
  A comment on a pull request, that fails if something dangerous is in it:
    cdkr diff --against main --output markdown --fail-on=high > comment.md
  With rules of the team:
    cdkr diff --rules risks.yaml --fail-on=unknown

Risk:
  high     data is lost, permissions become broader, or a rule says so
  unknown  no rule says anything
  low      a rule says so: what merely moves, or repeats a new name

Exit codes:
  0    done, whatever was found
  1    failed
  2    wrong usage
  3    an aspect forbids what was found
  4    with --fail-on: there is a change of that risk or of a higher one, permissions become broader,
       or the change cannot be deployed at all
  130  interrupted";

/// The form of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Text for a terminal
    #[default]
    Table,
    /// One JSON document
    Json,
    /// Markdown for a comment on a pull request
    Markdown,
}

/// Which changes are failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Those of high risk
    High,
    /// Those of high or unknown risk
    Unknown,
    /// All of them
    Any,
}

pub(super) fn run(arguments: &DiffArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    terminal.quiet = arguments.quiet;
    terminal.ci = arguments.ci;
    terminal.together = arguments.ci && arguments.output == Form::Table;
    let rules = arguments.report.rules()?;
    arguments.report.check()?;
    let surroundings = Surroundings::of_process();
    let settings = Settings::resolve(&arguments.typed(), &surroundings)?;
    let deploying = Deploying::resolve(&TypedDeploying::default(), &surroundings)?;
    let host = terminal.host();
    let host = if arguments.output == Form::Json { host.for_programs() } else { host };
    let found = block_on(toolkit::diff(&settings, &deploying, &rules, arguments.metadata, &host));
    host.clear();
    let found = found?;
    for warning in &found.outcome.warnings {
        terminal.warning(warning);
    }
    for note in &found.outcome.notes {
        terminal.note(note);
    }
    terminal.answer(&arguments.render(&found))?;
    arguments.report.write(&found.report, terminal)?;
    found.outcome.allowed()?;
    Ok(if arguments.fails(&found) { Exit::Moves } else { Exit::Done })
}

impl DiffArgs {
    fn typed(&self) -> Typed {
        Typed {
            against: self.against.clone(),
            stacks: self.stacks.clone(),
            ..self.decisions.fill(self.caller.fill(self.account.fill(self.app.typed())))
        }
    }

    fn style(&self) -> Style {
        Style { verbose: self.verbose, ..Style::default() }
    }

    fn render(&self, found: &Differences) -> String {
        match self.output {
            Form::Json => report::changes_json(&found.report),
            Form::Markdown => report::changes_markdown(&found.report, report::COMMENT_LIMIT),
            Form::Table => {
                let mut blocks = vec![report::changes(&found.report, self.style())];
                let open = open(&found.outcome.environments);
                if !open.is_empty() {
                    blocks.push(report::questions(&open, self.style()));
                }
                let findings: Vec<_> =
                    found.findings.iter().map(|(_, one)| report::finding(one)).collect();
                if !findings.is_empty() {
                    blocks.push(findings.join("\n") + "\n");
                }
                blocks.join("\n")
            }
        }
    }

    fn fails(&self, found: &Differences) -> bool {
        let least = match self.fail_on {
            None if !self.fail => return false,
            None | Some(FailOn::Any) => Risk::Low,
            Some(FailOn::Unknown) => Risk::Unknown,
            Some(FailOn::High) => Risk::High,
        };
        let environments = &found.report.environments;
        let mut changes = environments.iter().flat_map(|one| &one.changes);
        let mut permissions = environments.iter().flat_map(|one| &one.permissions);
        let mut findings = found.findings.iter().map(|(_, finding)| finding.severity);
        changes.any(|change| change.risk >= least)
            || permissions.any(|permission| permission.broadens)
            || findings.any(|severity| severity == Severity::Error)
    }
}

/// What only a person can decide: until then it counts as removed and added.
fn open(environments: &[Comparison]) -> Vec<Comparison> {
    let is_open = |one: &&Comparison| !one.ambiguous.is_empty() || !one.similar.is_empty();
    environments.iter().filter(is_open).cloned().collect()
}
