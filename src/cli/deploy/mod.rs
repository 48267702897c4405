//! `cdkr deploy`

mod arguments;
mod questions;

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::deciding::stopped;
use super::failure::Failure;
use super::host::TerminalHost;
use super::terminal::Terminal;
use super::work::{Cancelling, block_on};
use super::{Exit, deciding};
use crate::analyze::{Action, ChangeReport, Rules};
use crate::report;
use crate::settings::{Approval, Deploying, Method, Place, Settings, Surroundings};
use crate::toolkit::{self, Choice, Deciding, Deployment, Finished, Outlook};
use arguments::Form;
use questions::Answer;

pub(super) use arguments::DeployArgs;

pub(super) fn run(arguments: &DeployArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    terminal.quiet = arguments.quiet;
    terminal.ci = arguments.ci;
    terminal.together = arguments.ci && arguments.output == Form::Table;
    let surroundings = Surroundings::of_process();
    let typed = arguments.typed();
    let place = Place::resolve(&typed, &surroundings)?;
    if let Some(journal) = toolkit::interrupted_run(&place)? {
        return Err(toolkit::Error::Interrupted { journal }.into());
    }
    let settings = Settings::resolve(&typed, &surroundings)?;
    let deploying = Deploying::resolve(&arguments.deploying(), &surroundings)?;
    let rules = arguments.report.rules()?;
    arguments.report.check()?;
    let kept_in = arguments.kept_in(&surroundings);
    deciding::check(kept_in.as_deref())?;
    let host = terminal.host();
    let host = if arguments.output == Form::Json { host.for_programs() } else { host };
    let prepared = block_on(toolkit::prepare_deployment(&settings, &deploying, &host));
    host.clear();
    let deployment = prepared?;
    let said = BTreeSet::new();
    Flow {
        arguments,
        settings: &settings,
        deploying: &deploying,
        host: &host,
        terminal,
        said,
        kept_in,
        rules,
    }
    .go(deployment)
}

/// The way from what was found to what is deployed.
struct Flow<'a> {
    arguments: &'a DeployArgs,
    settings: &'a Settings,
    deploying: &'a Deploying,
    host: &'a TerminalHost,
    terminal: &'a mut Terminal,
    /// Warnings and notes that need not be repeated.
    said: BTreeSet<String>,
    /// Where decisions are kept, if they are to be.
    kept_in: Option<PathBuf>,
    /// What says how dangerous changes are.
    rules: Rules,
}

impl Flow<'_> {
    fn go(mut self, deployment: Deployment) -> Result<Exit, Failure> {
        let deployment = self.decide(deployment)?;
        let ignores = self.settings.ignore_ambiguous_refactoring.value;
        let outcome = &deployment.prepared.outcome;
        if outcome.ambiguities() > 0 && !ignores {
            match questions::ambiguity(self.host)? {
                Answer::Yes => {}
                Answer::No => return Err(stopped()),
                Answer::Nobody => {
                    self.terminal.note(
                        "nothing was changed: decide what cannot be told apart with --map, or go \
                         on with --ignore-ambiguous-refactoring, which replaces it",
                    );
                    return Ok(Exit::Ambiguous);
                }
            }
        }
        let choice = match outcome.moves() {
            0 => Choice::Move,
            _ => questions::moves(self.deploying, self.host)?.ok_or_else(stopped)?,
        };
        if self.deploying.method == Method::PrepareChangeSet && deployment.has_steps(choice) {
            return Err(Failure::Stopped(
                "stopped: nothing was changed. Change sets can only be prepared when nothing has \
                 to be moved or handed over first: `cdkr refactor` does that"
                    .to_owned(),
            ));
        }
        let mut outlook = deployment.outlook(choice)?;
        deployment.allowed(&outlook)?;
        if choice == Choice::Replace && self.arguments.output == Form::Table {
            self.terminal.answer(&report::plans(&deployment.steps(choice)))?;
        }
        if deployment.is_refused(choice) {
            return Err(Failure::PlanRefused);
        }
        let changes = deployment.changes(&outlook, &self.rules);
        self.say_what_would_happen(&outlook, &changes)?;
        self.arguments.report.write(&changes, self.terminal)?;
        if outlook.refusals().next().is_some() {
            return Err(Failure::PlanRefused);
        }
        self.reject(&changes)?;
        if !outlook.dangers.is_empty() {
            match questions::loss(self.host)? {
                Answer::Yes => outlook.allow_dangers(),
                Answer::No => return Err(stopped()),
                Answer::Nobody => return Err(Failure::Loss),
            }
        }
        self.approve(&outlook, &changes)?;
        let cancel = Cancelling::start();
        let work = toolkit::carry_out_deployment(deployment, outlook, self.host, cancel.receiver());
        let finished = cancel.block_on(work);
        self.host.clear();
        let finished = match finished {
            Ok(finished) => finished,
            Err(failure) => {
                if self.arguments.output == Form::Json {
                    let line = report::failed_json(&failure.chain()).to_string();
                    self.terminal.answer(&(line + "\n"))?;
                }
                return Err(failure);
            }
        };
        self.say_what_was_done(&finished)?;
        match finished.unwritten {
            Some(error) => Err((*error).into()),
            None => Ok(Exit::Done),
        }
    }

    /// Shows what was found, asks about what is open, and shows what follows from the answers.
    fn decide(&mut self, deployment: Deployment) -> Result<Deployment, Failure> {
        let outcome = &deployment.prepared.outcome;
        let subjects = questions::subjects(outcome, self.settings, self.deploying, self.host);
        self.say_what_was_found(&deployment, subjects.is_some())?;
        let file = self.kept_in.clone();
        let Some(subjects) = subjects else {
            deciding::keep(file.as_deref(), &[], self.terminal)?;
            return Ok(deployment);
        };
        let work = deployment.decide(subjects, self.arguments.style(true), self.host);
        let Deciding::Settled(settled) = block_on(work)? else {
            return Err(stopped());
        };
        self.host.clear();
        deciding::keep(file.as_deref(), &settled.decided, self.terminal)?;
        self.say_what_was_found(&settled.found, true)?;
        Ok(settled.found)
    }

    /// `asks`: questions follow, or were answered.
    fn say_what_was_found(&mut self, deployment: &Deployment, asks: bool) -> Result<(), Failure> {
        // The outlook of the moves.
        let outlook = deployment.outlook(Choice::Move)?;
        let prepared = &deployment.prepared;
        for warning in &prepared.outcome.warnings {
            if self.said.insert(warning.clone()) {
                self.terminal.warning(warning);
            }
        }
        for joined in deployment.joined() {
            self.note(format!("{} is deployed as well: {}", joined.stack, joined.reason));
        }
        for note in &prepared.outcome.notes {
            self.note(note.clone());
        }
        let new: Vec<&str> = outlook
            .stacks
            .iter()
            .filter(|stack| !stack.exists)
            .map(|stack| stack.id.as_str())
            .collect();
        if !new.is_empty() && self.settings.account.additional_stacks.is_empty() {
            self.note(format!(
                "{} {} new. If something in it comes from a stack that the app does not have any \
                 more, name that stack: --additional-stack-name",
                new.join(", "),
                if new.len() == 1 { "is" } else { "are" }
            ));
        }
        let plans = outlook.shown(prepared.plans());
        let (found, influences) = (&prepared.outcome.environments, &prepared.outcome.influences);
        let style = self.arguments.style(asks);
        if self.arguments.output == Form::Json {
            self.terminal.answer(&(report::found_line(found, influences, &plans, style) + "\n"))?;
            return Ok(());
        }
        let anything = found.iter().any(|one| {
            !one.mappings.is_empty() || !one.ambiguous.is_empty() || !one.similar.is_empty()
        });
        if anything {
            self.terminal.answer(&report::moved(found, influences, style))?;
            let plans = report::plans(&plans);
            let plans = if plans.is_empty() { plans } else { format!("\n{plans}") };
            self.terminal.answer(&format!("{plans}\n"))?;
        }
        Ok(())
    }

    /// Says once what the reader should know.
    fn note(&mut self, text: String) {
        if !self.said.contains(&text) {
            self.terminal.note(&text);
            self.said.insert(text);
        }
    }

    fn say_what_would_happen(
        &mut self,
        outlook: &Outlook,
        changes: &ChangeReport,
    ) -> Result<(), Failure> {
        if self.arguments.output == Form::Json {
            let Outlook { stacks, dangers, findings, broadening, .. } = outlook;
            let line = report::outlook_json(stacks, dangers, findings, broadening, changes);
            self.terminal.answer(&format!("{line}\n"))?;
            return Ok(());
        }
        let style = self.arguments.style(false);
        let text = report::outlook(&outlook.stacks, &outlook.findings, style);
        self.terminal.answer(&text)?;
        for (environment, changes) in &outlook.broadening {
            let text = report::permissions(environment, changes);
            self.terminal.answer(&format!("\n{text}"))?;
        }
        if !outlook.dangers.is_empty() {
            self.terminal.answer(&format!("\n{}", report::dangers(&outlook.dangers)))?;
        }
        Ok(())
    }

    /// Stops what a rule rejects.
    fn reject(&mut self, changes: &ChangeReport) -> Result<(), Failure> {
        let rejected = report::with_action(changes, Action::Reject);
        if rejected.is_empty() {
            return Ok(());
        }
        if self.arguments.output == Form::Table {
            self.terminal.answer(&format!("\n{}", report::spoken("Rejected:", &rejected)))?;
        }
        Err(Failure::Rejected(rejected.len()))
    }

    fn approve(&mut self, outlook: &Outlook, changes: &ChangeReport) -> Result<(), Failure> {
        let risks = questions::to_be_approved(outlook, changes);
        let asks = self.deploying.require_approval.value != Approval::Never;
        if asks && !risks.changes.is_empty() && self.arguments.output == Form::Table {
            let text = report::spoken("Of high risk:", &risks.changes);
            self.terminal.answer(&format!("\n{text}"))?;
        }
        if questions::approval(self.deploying, &risks, self.host)? {
            return Ok(());
        }
        Err(stopped())
    }

    fn say_what_was_done(&mut self, finished: &Finished) -> Result<(), Failure> {
        for note in &finished.notes {
            self.terminal.note(note);
        }
        if self.arguments.output == Form::Json {
            let line = report::deployed_json(&finished.stacks, &finished.proof.0).to_string();
            self.terminal.answer(&(line + "\n"))?;
            return Ok(());
        }
        self.terminal.answer(&report::deployed(&finished.stacks, self.arguments.style(false)))?;
        for (environment, kept) in &finished.proof.0 {
            let carried = finished.carried.iter().find(|one| one.environment == *environment);
            let journal = carried.and_then(|one| one.done.journal.as_deref());
            self.terminal.answer(&report::kept(environment, kept, journal))?;
        }
        Ok(())
    }
}
