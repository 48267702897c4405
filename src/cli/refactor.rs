//! `cdkr refactor`

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::failure::Failure;
use super::host::TerminalHost;
use super::shared::{AccountArgs, AppArgs, CallerArgs, DecisionArgs};
use super::terminal::Terminal;
use super::work::{Cancelling, block_on};
use super::{Exit, deciding};
use crate::event::{Host as _, Question};
use crate::plan::drift::Verification;
use crate::report::{self, Style};
use crate::settings::{Place, Settings, Surroundings, Typed};
use crate::toolkit::{self, Deciding, Outcome, Prepared, Subjects};

/// Move the resources that moved since the app was deployed
///
/// Compares what is deployed with the app as it is now, finds the resources that are the same
/// under another logical ID or in another stack, and moves them with CloudFormation's stack
/// refactoring, so that the next deployment does not replace them. With `--dry-run` it changes
/// nothing.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct RefactorArgs {
    /// Stacks to report and to refactor, as patterns (`Stage/*`, `**`); without any, all of them
    ///
    /// Environments are compared as a whole nevertheless, since a resource may have come from
    /// any stack.
    stacks: Vec<String>,

    /// Only show what would be done
    #[arg(long)]
    dry_run: bool,

    /// Do not ask
    #[arg(short, long, visible_alias = "force")]
    yes: bool,

    #[command(flatten)]
    app: AppArgs,

    /// Take what is deployed from a cloud assembly, in place of the account
    #[arg(long, value_name = "DIRECTORY", requires = "dry_run", conflicts_with_all = ["local", "profile", "additional_stacks", "wait"])]
    against: Option<PathBuf>,

    #[command(flatten)]
    account: AccountArgs,

    #[command(flatten)]
    caller: CallerArgs,

    /// Save the plan to a file, and carry out nothing
    #[arg(long, value_name = "FILE", help_heading = "Plan", conflicts_with = "against")]
    plan: Option<PathBuf>,

    /// Carry out exactly the plan of this file
    ///
    /// The app is not looked at. If a stack was changed since the plan was made, nothing is done.
    #[arg(long, value_name = "FILE", help_heading = "Plan", conflicts_with_all = ["plan", "app", "against", "stacks", "map", "override_file", "refactor_file", "skip_file", "additional_stacks"])]
    plan_file: Option<PathBuf>,

    /// Read every resource that moves before and after, through Cloud Control, and fail if it is not
    /// what it was
    ///
    /// What was moved stays moved: `cdkr revert` moves it back. Costs a request for each resource
    /// and side.
    #[arg(long, help_heading = "Plan", conflicts_with_all = ["dry_run", "plan"])]
    verify: bool,

    /// Write the templates that would be sent to this directory, for review
    #[arg(long, value_name = "DIRECTORY", help_heading = "Plan", conflicts_with = "against")]
    show_templates: Option<PathBuf>,

    /// Say that CloudFormation can move resources of this type
    #[arg(long, value_name = "TYPE", help_heading = "Plan")]
    assume_refactorable: Vec<String>,

    /// Say that CloudFormation cannot move resources of this type
    #[arg(long, value_name = "TYPE", help_heading = "Plan")]
    assume_fixed: Vec<String>,

    /// Move back what a file of decisions says: from the second place to the first
    ///
    /// The file has the form of `--override-file`, with account and region. `cdkr revert` undoes a
    /// run of this project and needs no file.
    #[arg(long, value_name = "FILE", help_heading = "Plan", conflicts_with_all = ["plan_file", "app", "against", "stacks", "map", "override_file", "refactor_file", "skip_file"])]
    revert: Option<PathBuf>,

    /// Move what is certain in spite of resources that cannot be told apart
    #[arg(long, help_heading = "Decisions")]
    ignore_ambiguous_refactoring: bool,

    #[command(flatten)]
    decisions: DecisionArgs,

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
  What moved since the app of cdk.json was deployed, and then move it:
    cdkr refactor --dry-run
    cdkr refactor
  The same in a pipeline, where nobody can answer:
    cdkr refactor --yes --ci
  The same, with the state of the resources checked before and after:
    cdkr refactor --yes --verify
  Have the plan reviewed, then carry out exactly that:
    cdkr refactor --plan plan.json --show-templates templates
    cdkr refactor --plan-file plan.json --yes
  What moved since the assembly in release/ was deployed, without an account:
    cdkr refactor --dry-run --app cdk.out --against release
  The same, with the app of cdk.json synthesized first, for two stacks:
    cdkr refactor --dry-run --against release Web Api
  In a pull request: fail if a resource moved or cannot be told from another:
    cdkr refactor --dry-run --against main --check
  Decide what the evidence does not:
    cdkr refactor --dry-run --against release --map Web.Queue1A2B3C4D:Web.Jobs5E6F7A8B
  Decide it at the terminal, once, for every environment and pipeline after this one:
    cdkr refactor --write-decisions

Exit codes:
  0    done, or nothing to do; with --dry-run whatever was found
  1    failed, or somebody said to stop; the message says what was changed. With --verify also if
       a resource is not what it was before it was moved
  2    wrong usage, or nobody there to answer a question
  3    some resources cannot be told apart, and nobody was there to decide: nothing was changed
       (with --dry-run only if --check); or an aspect forbids it
  4    with --dry-run --check: some resources moved
  130  interrupted";

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
    terminal.ci = arguments.ci;
    terminal.together = arguments.ci && arguments.output == Form::Table;
    let surroundings = Surroundings::of_process();
    let typed = arguments.typed();
    let host = terminal.host();
    let host = if arguments.output == Form::Json { host.for_programs() } else { host };
    let place = Place::resolve(&typed, &surroundings)?;
    if let Some(journal) = toolkit::interrupted_run(&place)? {
        let error = toolkit::Error::Interrupted { journal };
        if !arguments.only_shows() {
            return Err(error.into());
        }
        terminal.warning(&error.to_string());
    }
    let kept_in = arguments.decisions.kept_in(&typed, &surroundings);
    deciding::check(kept_in.as_deref())?;
    let (prepared, settings) = arguments.prepare(&place, &typed, &surroundings, terminal)?;
    for warning in &prepared.outcome.warnings {
        terminal.warning(warning);
    }
    for note in &prepared.outcome.notes {
        terminal.note(note);
    }
    if let Some(directory) = &arguments.show_templates {
        let written = toolkit::write_templates(&prepared.plans(), directory)?;
        terminal.note(&format!("{written} templates are in {}", directory.display()));
    }
    let subjects = settings.as_ref().and_then(|one| arguments.asks(&prepared, one, &host));
    terminal.answer(&arguments.render(&prepared, subjects.is_some()))?;
    if arguments.dry_run && arguments.plan.is_none() {
        prepared.outcome.allowed()?;
        let check = arguments.check;
        return Ok(if check { verdict(&prepared.outcome) } else { Exit::Done });
    }
    let (prepared, settings) = match (settings, subjects) {
        (Some(settings), Some(subjects)) => {
            let known = prepared.outcome.warnings.clone();
            let work = prepared.decide(&settings, subjects, arguments.style(true), &host);
            let Deciding::Settled(settled) = block_on(work)? else {
                return Err(deciding::stopped());
            };
            host.clear();
            deciding::keep(kept_in.as_deref(), &settled.decided, terminal)?;
            let more = |text: &&String| !known.contains(text);
            for warning in settled.found.outcome.warnings.iter().filter(more) {
                terminal.warning(warning);
            }
            terminal.answer(&arguments.render(&settled.found, true))?;
            (settled.found, Some(settled.settings))
        }
        (settings, _) => {
            deciding::keep(kept_in.as_deref(), &[], terminal)?;
            (prepared, settings)
        }
    };
    prepared.outcome.allowed()?;
    if let Some(stop) = arguments.stop(&prepared, settings.as_ref(), terminal)? {
        return Ok(stop);
    }
    if let Some(file) = &arguments.plan {
        toolkit::save_plan(&prepared, file)?;
        terminal.note(&format!("the plan is in {}", file.display()));
        return Ok(Exit::Done);
    }
    arguments.carry_out(&place, settings.as_ref(), prepared, &host, terminal)
}

impl RefactorArgs {
    /// Whether nothing is changed whatever is found.
    fn only_shows(&self) -> bool {
        self.dry_run || self.plan.is_some()
    }

    /// Whether what is to be done comes from a file and not from the app.
    fn is_from_file(&self) -> bool {
        self.plan_file.is_some() || self.revert.is_some()
    }

    /// What somebody is asked about, if anybody is.
    fn asks(
        &self,
        prepared: &Prepared,
        settings: &Settings,
        host: &TerminalHost,
    ) -> Option<Subjects> {
        let only_shows = self.dry_run && self.plan.is_none();
        let subjects =
            Subjects { ambiguous: !settings.ignore_ambiguous_refactoring.value, similar: true };
        let asks = !only_shows && !self.yes && host.is_interactive();
        (asks && prepared.outcome.has_questions(subjects)).then_some(subjects)
    }

    /// Finds what is to be done, with the settings if they say so and not a file.
    fn prepare(
        &self,
        place: &Place,
        typed: &Typed,
        surroundings: &Surroundings,
        terminal: &Terminal,
    ) -> Result<(Prepared, Option<Settings>), Failure> {
        let host = terminal.host();
        let (prepared, settings) = if let Some(file) = &self.plan_file {
            (block_on(toolkit::prepare_file(place, file)), None)
        } else if let Some(file) = &self.revert {
            (block_on(toolkit::prepare_reversal(place, file, &host)), None)
        } else {
            let settings = Settings::resolve(typed, surroundings)?;
            (block_on(toolkit::prepare(&settings, &host)), Some(settings))
        };
        host.clear();
        Ok((prepared?, settings))
    }

    /// Stops what cannot, or must not, be carried out.
    fn stop(
        &self,
        prepared: &Prepared,
        settings: Option<&Settings>,
        terminal: &mut Terminal,
    ) -> Result<Option<Exit>, Failure> {
        let ignored = settings.is_some_and(|one| one.ignore_ambiguous_refactoring.value);
        if prepared.outcome.ambiguities() > 0 && !ignored {
            terminal.note(
                "nothing was changed: decide what cannot be told apart, or move the rest with \
                 --ignore-ambiguous-refactoring",
            );
            return Ok(Some(Exit::Ambiguous));
        }
        if prepared.refusals().next().is_some() {
            return Err(Failure::PlanRefused);
        }
        let nothing = !prepared.has_steps() && self.plan.is_none();
        Ok(nothing.then_some(Exit::Done))
    }

    /// Asks, and carries out what was prepared.
    fn carry_out(
        &self,
        place: &Place,
        settings: Option<&Settings>,
        prepared: Prepared,
        host: &TerminalHost,
        terminal: &mut Terminal,
    ) -> Result<Exit, Failure> {
        if !self.yes && !confirmed(host)? {
            terminal.note("nothing was changed");
            return Ok(Exit::Done);
        }
        let cancel = Cancelling::start();
        let receiver = cancel.receiver();
        let result = if self.verify {
            let work = toolkit::carry_out_verified(place, settings, prepared, host, receiver);
            cancel.block_on(work).map(|(carried, verified)| (carried, Some(verified)))
        } else {
            let work = toolkit::carry_out(place, settings, prepared, host, receiver);
            cancel.block_on(work).map(|carried| (carried, None))
        };
        host.clear();
        let (carried, verified) = result?;
        for one in carried {
            let moves = one.moves();
            let done = report::carried(&one.environment, moves, one.done.journal.as_deref());
            match self.output {
                Form::Json => terminal.answer(
                    &(report::carried_json(&one.environment, moves, one.done.journal.as_deref())
                        + "\n"),
                )?,
                Form::Table | Form::Markdown => terminal.answer(&done)?,
            }
        }
        let Some(verified) = verified else { return Ok(Exit::Done) };
        self.say_verified(
            &verified.map_err(|error| Failure::NotVerified(Box::new(error)))?,
            terminal,
        )
    }

    /// Says what became of the resources, and fails if one of them is not what it was.
    fn say_verified(
        &self,
        verified: &[Verification],
        terminal: &mut Terminal,
    ) -> Result<Exit, Failure> {
        for one in verified {
            terminal.answer(&match self.output {
                Form::Json => report::verified_json(one) + "\n",
                Form::Table | Form::Markdown => report::verified(one, self.style(false)),
            })?;
        }
        match verified.iter().map(|one| one.changed().count()).sum() {
            0 => Ok(Exit::Done),
            changed => Err(Failure::Altered(changed)),
        }
    }

    /// `asks`: questions follow.
    fn style(&self, asks: bool) -> Style {
        Style { paths: self.paths, explain: self.explain, verbose: self.verbose, asks }
    }

    fn typed(&self) -> Typed {
        Typed {
            against: self.against.clone(),
            stacks: self.stacks.clone(),
            assume_refactorable: self.assume_refactorable.clone(),
            assume_fixed: self.assume_fixed.clone(),
            ignore_ambiguous_refactoring: self.ignore_ambiguous_refactoring,
            explain: self.explain,
            ..self.decisions.fill(self.caller.fill(self.account.fill(self.app.typed())))
        }
    }

    fn render(&self, prepared: &Prepared, asks: bool) -> String {
        let style = self.style(asks);
        let Outcome { environments: found, influences, .. } = &prepared.outcome;
        let plans = prepared.plans();
        match self.output {
            Form::Table if self.is_from_file() => report::planned(&plans),
            Form::Table => {
                let (table, plans) =
                    (report::table(found, influences, style), report::plans(&plans));
                if plans.is_empty() { table } else { format!("{table}\n{plans}") }
            }
            // Lines follow, unless nothing is going to happen.
            Form::Json if !self.only_shows() => {
                report::found_line(found, influences, &plans, style) + "\n"
            }
            Form::Json => report::json(found, influences, &plans, style),
            Form::Markdown => report::markdown(found, influences, &plans, style),
        }
    }
}

/// Asks whether to go on.
fn confirmed(host: &TerminalHost) -> Result<bool, Failure> {
    let question = Question {
        help: Vec::new(),
        text: "Move these resources?".to_owned(),
        choices: vec!["Yes, move them".to_owned(), "No, change nothing".to_owned()],
        default: 1,
        flag: "--yes".to_owned(),
    };
    Ok(host.ask(&question)? == 0)
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
