//! `cdkr history record` and `cdkr history merge`

use std::path::PathBuf;

use clap::Args;

use super::super::Exit;
use super::super::deciding;
use super::super::failure::Failure;
use super::super::shared::{AppArgs, DecisionArgs};
use super::super::terminal::Terminal;
use super::super::work::block_on;
use super::Form;
use crate::history::EventHash;
use crate::registry;
use crate::report::{self, HistoryView, Style, count};
use crate::settings::{Settings, Surroundings, Typed};
use crate::toolkit::history::{self, HISTORY_FILE, Recorded, Recording, TEMPLATES};
use crate::toolkit::{Outcome, Subjects};

/// Record the state of the app: what its resources were called before, and what they are called
///
/// Synthesizes the app, compares it with the last state of the log, and adds an event with every
/// resource that moved. Nothing is asked of an account, unless the app lacks context. The first
/// call begins the log. If nothing has changed, nothing is written.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  After the app was changed:
    cdkr history record
    git add cdkr.history.jsonl cdkr.history
  Say what the evidence does not:
    cdkr history record --map Web.Queue1A2B3C4D:Web.Jobs5E6F7A8B
  Begin the log with what was released last, so that moves since then are in it:
    cdkr history record --against release/cdk.out
  In a hook or a pipeline:
    cdkr history record --check

Exit codes:
  0    recorded, or nothing to record
  1    failed; nothing was recorded
  2    wrong usage
  3    some resources cannot be told apart, or hold data and are merely alike: nothing was recorded
  4    --check: the app is not as the log says")]
pub(super) struct RecordArgs {
    #[command(flatten)]
    app: AppArgs,

    /// Take the templates of the log's last state from a cloud assembly, not from cdkr.history/
    ///
    /// It has to be exactly that state. If there is no log yet, it begins with this assembly.
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "check")]
    against: Option<PathBuf>,

    #[command(flatten)]
    decisions: DecisionArgs,

    /// Record as removed and added what holds data and is merely alike
    ///
    /// Without this it is a question, since a log is believed: whatever it calls removed and added
    /// is not looked for again.
    #[arg(long, help_heading = "Decisions")]
    leave_similar: bool,

    /// Record nothing, and exit with 4 if the app is not as the log says
    #[arg(long, help_heading = "Output")]
    check: bool,

    #[command(flatten)]
    output: OutputArgs,
}

/// Merge the branches of the log, after Git has merged the app
///
/// Synthesizes the merged app and adds the event in which the branches meet: each takes over what
/// the other has moved. What the merged app calls otherwise than both branches is found by its
/// contents. With a file, that log is merged into the one of the project.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  After `git merge`:
    cdkr history merge
    git add cdkr.history.jsonl cdkr.history
  The branches call one resource by two names; the merged app has the second one:
    cdkr history merge --map Web.OrdersA:Web.OrdersB

Exit codes:
  0    merged, or nothing to merge
  1    failed, or the branches contradict each other; nothing was merged
  2    wrong usage
  3    some resources cannot be told apart, or hold data and are merely alike: nothing was merged")]
pub(super) struct MergeArgs {
    /// Another log: a branch's, or an environment's
    file: Option<PathBuf>,

    #[command(flatten)]
    app: AppArgs,

    #[command(flatten)]
    decisions: DecisionArgs,

    /// Take for removed and added what holds data and is merely alike
    #[arg(long, help_heading = "Decisions")]
    leave_similar: bool,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
struct OutputArgs {
    /// Say why
    #[arg(long)]
    explain: bool,

    /// Show construct paths instead of logical IDs
    #[arg(long)]
    paths: bool,

    /// The form of the answer
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    output: Form,

    /// Show long lists in full
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,

    /// Leave out warnings and notes, and with `--check` that all is well
    #[arg(short, long)]
    quiet: bool,

    /// Draw and ask nothing
    #[arg(long)]
    ci: bool,

    /// Use no colours (`NO_COLOR` and `CLICOLOR_FORCE` are heeded as well)
    #[arg(long)]
    no_color: bool,
}

/// What to do about what is merely alike.
const ALIKE: &str = "decide what holds data and is merely alike, with --map; or say with \
                     --leave-similar that all of it is removed and added";

impl OutputArgs {
    fn style(&self) -> Style {
        Style { paths: self.paths, explain: self.explain, verbose: self.verbose, asks: false }
    }

    fn is_json(&self) -> bool {
        self.output == Form::Json
    }

    /// Shows what was found: a table, or JSON.
    fn found(&self, outcome: &Outcome) -> String {
        if self.is_json() {
            report::json(&outcome.environments, &outcome.influences, &[], self.style())
        } else {
            report::moved(&outcome.environments, &outcome.influences, self.style())
        }
    }
}

impl RecordArgs {
    pub(super) fn no_color(&self) -> bool {
        self.output.no_color
    }
}

impl MergeArgs {
    pub(super) fn no_color(&self) -> bool {
        self.output.no_color
    }
}

fn settings(
    app: &AppArgs,
    decisions: &DecisionArgs,
    output: &OutputArgs,
    against: Option<&PathBuf>,
    terminal: &mut Terminal,
) -> Result<Settings, Failure> {
    terminal.quiet = output.quiet;
    terminal.ci = output.ci;
    let typed = decisions.fill(app.typed());
    let typed = Typed { against: against.cloned(), explain: output.explain, ..typed };
    Ok(Settings::resolve(&typed, &Surroundings::of_process())?)
}

pub(super) fn record(arguments: &RecordArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let RecordArgs { app, against, decisions, leave_similar, check, output } = arguments;
    let settings = settings(app, decisions, output, against.as_ref(), terminal)?;
    let host = terminal.host();
    if *check {
        let checked = block_on(history::check(&settings, &host));
        host.clear();
        return told(&checked?, output, terminal);
    }
    let recording = block_on(history::prepare_record(&settings, &host));
    host.clear();
    let recording = recording?;
    warn(&recording.outcome, terminal);
    let recording = asked(recording, &settings, (app, decisions), output, terminal)?;
    if recording.outcome.ambiguities() > 0 {
        terminal.answer(&output.found(&recording.outcome))?;
        terminal.note("nothing was recorded: decide what cannot be told apart");
        return Ok(Exit::Ambiguous);
    }
    if !leave_similar && recording.has_alike() {
        terminal.answer(&output.found(&recording.outcome))?;
        terminal.note(&format!("nothing was recorded: {ALIKE}"));
        return Ok(Exit::Ambiguous);
    }
    let found = has_moves(&recording.outcome).then(|| output.found(&recording.outcome));
    let gone = gone(&recording.outcome);
    let recorded = recording.record(&history::now())?;
    if output.is_json() {
        terminal.answer(&report::recorded_json(&recorded.log, &recorded.events))?;
        return Ok(Exit::Done);
    }
    if let Some(found) = found {
        terminal.answer(&found)?;
    }
    for lost in &gone {
        terminal.warning(lost);
    }
    terminal.answer(&said(&recorded))?;
    if !recorded.events.is_empty() {
        terminal.note(&format!("commit it with the app: git add {HISTORY_FILE} {TEMPLATES}"));
    }
    Ok(Exit::Done)
}

/// Asks about what is open, if somebody is there to answer.
fn asked(
    recording: Recording,
    settings: &Settings,
    (app, decisions): (&AppArgs, &DecisionArgs),
    output: &OutputArgs,
    terminal: &mut Terminal,
) -> Result<Recording, Failure> {
    let subjects = Subjects { ambiguous: true, similar: true };
    let host = terminal.host();
    let asks = host.is_interactive() && !output.is_json();
    if !asks || !recording.outcome.has_questions(subjects) {
        return Ok(recording);
    }
    let kept_in = decisions.kept_in(&app.typed(), &Surroundings::of_process());
    deciding::check(kept_in.as_deref())?;
    let style = Style { asks: true, ..output.style() };
    let Outcome { environments, influences, .. } = &recording.outcome;
    terminal.answer(&report::moved(environments, influences, style))?;
    let answered = block_on(recording.decide(settings, subjects, style, &host))?;
    host.clear();
    let Some((recording, decided)) = answered else { return Err(deciding::stopped()) };
    if kept_in.is_some() {
        deciding::keep(kept_in.as_deref(), &decided, terminal)?;
    }
    Ok(recording)
}

/// What holds data and is recorded as gone: a log is believed.
fn gone(outcome: &Outcome) -> Vec<String> {
    let removed = outcome.environments.iter().flat_map(|one| &one.removed);
    let with_data = removed.filter(|one| registry::is_stateful(one.resource_type.as_str()));
    let phrase = |one: &crate::compare::Unpaired| {
        format!("`{}` ({}) is recorded as gone", one.place.location, one.resource_type)
    };
    with_data.map(phrase).collect()
}

/// Whether there is anything to show: moves, or pairs that are offered.
fn has_moves(outcome: &Outcome) -> bool {
    outcome.environments.iter().any(|one| !one.mappings.is_empty() || !one.similar.is_empty())
}

fn warn(outcome: &Outcome, terminal: &mut Terminal) {
    for warning in &outcome.warnings {
        terminal.warning(warning);
    }
    for note in &outcome.notes {
        terminal.note(note);
    }
}

fn said(recorded: &Recorded) -> String {
    if recorded.events.is_empty() {
        let mut text = "Nothing has changed since the last event.\n".to_owned();
        if !recorded.mended.is_empty() {
            let number = count(recorded.mended.len(), "template");
            text.extend([&number, " that ", TEMPLATES, "/ lacked written again.\n"]);
        }
        return text;
    }
    let view = HistoryView { oneline: true, ..HistoryView::default() };
    let log = report::log(&recorded.log, &view);
    let of = |event: &EventHash| log.lines().find(|line| line.contains(&event.short()));
    recorded.events.iter().filter_map(of).flat_map(|line| ["recorded ", line, "\n"]).collect()
}

/// Says how the app differs from the log.
fn told(
    checked: &history::Checked,
    output: &OutputArgs,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let history::Checked { head, difference, misplaced } = checked;
    let is_recorded = checked.is_recorded();
    if is_recorded && output.quiet && !output.is_json() {
        return Ok(Exit::Done);
    }
    terminal.answer(&if output.is_json() {
        report::checked_json(*head, difference, misplaced)
    } else {
        report::checked(*head, difference, misplaced)
    })?;
    Ok(if is_recorded { Exit::Done } else { Exit::Moves })
}

pub(super) fn merge(arguments: &MergeArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let MergeArgs { file, app, decisions, leave_similar, output } = arguments;
    let settings = settings(app, decisions, output, None, terminal)?;
    let host = terminal.host();
    let at = history::now();
    let merging = block_on(history::prepare_merge(&settings, file.as_deref(), &at, &host));
    host.clear();
    let merging = merging?;
    for (head, outcome) in &merging.outcomes {
        warn(outcome, terminal);
        if has_moves(outcome) || outcome.ambiguities() > 0 {
            if !output.is_json() {
                terminal.answer(&format!("Since the branch that ends with {}:\n", head.short()))?;
                terminal.answer(&output.found(outcome))?;
            } else if merging.ambiguities() > 0 || (!leave_similar && merging.has_alike()) {
                terminal.answer(&output.found(outcome))?;
            }
        }
    }
    if merging.ambiguities() > 0 {
        terminal.note("nothing was merged: decide what cannot be told apart");
        return Ok(Exit::Ambiguous);
    }
    if !leave_similar && merging.has_alike() {
        terminal.note(&format!("nothing was merged: {ALIKE}"));
        return Ok(Exit::Ambiguous);
    }
    let branches = merging.branches;
    let merged = merging.merge()?;
    if output.is_json() {
        let events: Vec<EventHash> = merged.event.into_iter().collect();
        terminal.answer(&report::recorded_json(&merged.log, &events))?;
        return Ok(Exit::Done);
    }
    let Some(event) = merged.event else {
        terminal.answer("There is nothing to merge.\n")?;
        return Ok(Exit::Done);
    };
    let number = count(branches, "branch").replace("branchs", "branches");
    terminal.answer(&format!("{number} merged; the log ends with {}\n", event.short()))?;
    terminal.note(&format!("commit it with the app: git add {HISTORY_FILE} {TEMPLATES}"));
    Ok(Exit::Done)
}
