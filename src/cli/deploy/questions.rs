//! What `cdkr deploy` asks.

use std::collections::BTreeSet;

use super::super::failure::Failure;
use super::super::host::TerminalHost;
use crate::analyze::{Action, ChangeReport, ComponentChange, Risk};
use crate::event::{Host as _, Question};
use crate::model::Environment;
use crate::settings::{Approval, Deploying, Refactoring, Settings};
use crate::toolkit::{Choice, Outcome, Outlook, Subjects};

/// An answer to a question of yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    No,
    /// Nobody is there.
    Nobody,
}

/// What somebody is asked about, if anybody is: not where it makes no difference.
pub(super) fn subjects(
    outcome: &Outcome,
    settings: &Settings,
    deploying: &Deploying,
    host: &TerminalHost,
) -> Option<Subjects> {
    let said = deploying.refactoring.as_ref().map(|setting| setting.value);
    let may_move = !matches!(said, Some(Refactoring::DeployWithoutRefactoring | Refactoring::Quit));
    let subjects =
        Subjects { ambiguous: !settings.ignore_ambiguous_refactoring.value, similar: true };
    let asks = may_move && !deploying.yes && host.is_interactive();
    (asks && outcome.has_questions(subjects)).then_some(subjects)
}

/// What to do about moves (RFC 0162); `None`: stop.
///
/// # Errors
/// When somebody is to be asked and nobody is there.
pub(super) fn moves(deploying: &Deploying, host: &TerminalHost) -> Result<Option<Choice>, Failure> {
    let said = deploying.refactoring.as_ref().map(|setting| setting.value);
    let decided = match said {
        None if deploying.yes || !host.is_interactive() => Refactoring::ExecuteAndDeploy,
        None => Refactoring::Ask,
        Some(said) => said,
    };
    match decided {
        Refactoring::ExecuteAndDeploy => Ok(Some(Choice::Move)),
        Refactoring::DeployWithoutRefactoring => Ok(Some(Choice::Replace)),
        Refactoring::Quit => Ok(None),
        Refactoring::Ask => {
            let question = Question {
                help: Vec::new(),
                text: "What do you want to do about the resources that moved?".to_owned(),
                choices: vec![
                    "Execute the refactor and deploy".to_owned(),
                    "Deploy without refactoring (will cause resource replacement)".to_owned(),
                    "Quit".to_owned(),
                ],
                default: 0,
                flag: "--refactoring".to_owned(),
            };
            Ok(match host.ask(&question)? {
                0 => Some(Choice::Move),
                1 => Some(Choice::Replace),
                _ => None,
            })
        }
    }
}

/// Whether to go on in spite of what cannot be told apart (RFC 0162).
pub(super) fn ambiguity(host: &TerminalHost) -> Result<Answer, Failure> {
    yes_or_no(
        host,
        "Some resources cannot be told apart. What do you want to do?",
        "Go on without them (will cause resource replacement)",
        "--ignore-ambiguous-refactoring",
    )
}

/// Whether data may be lost.
pub(super) fn loss(host: &TerminalHost) -> Result<Answer, Failure> {
    yes_or_no(
        host,
        "Data or identity would be lost, as shown. What do you want to do?",
        "Deploy nevertheless",
        "--allow-replacement",
    )
}

fn yes_or_no(host: &TerminalHost, text: &str, yes: &str, flag: &str) -> Result<Answer, Failure> {
    if !host.is_interactive() {
        return Ok(Answer::Nobody);
    }
    let question = Question {
        help: Vec::new(),
        text: text.to_owned(),
        choices: vec![yes.to_owned(), "Quit".to_owned()],
        default: 1,
        flag: flag.to_owned(),
    };
    Ok(if host.ask(&question)? == 0 { Answer::Yes } else { Answer::No })
}

/// What somebody has to approve because of its risk.
#[derive(Clone, Debug, Default)]
pub(super) struct Risks<'a> {
    /// Changes of high risk that were not shown among the permissions.
    pub(super) changes: Vec<(&'a Environment, &'a ComponentChange)>,
    /// How many permissions become broader that no rule approves.
    broader: usize,
}

/// Returns what has to be approved because of its risk: every permission that becomes broader,
/// whatever makes it so, and every change of high risk. What is lost is asked for by itself, and
/// what a rule approves is approved.
pub(super) fn to_be_approved<'a>(outlook: &Outlook, changes: &'a ChangeReport) -> Risks<'a> {
    let mut risks = Risks::default();
    let mut approved: BTreeSet<(&Environment, &str, &str)> = BTreeSet::new();
    let mut broader: BTreeSet<(&Environment, &str, &str)> = BTreeSet::new();
    for report in &changes.environments {
        for change in report.changes.iter().filter(|one| one.action == Some(Action::Approve)) {
            let places = change.before.iter().chain(&change.after);
            approved.extend(
                places.map(|place| (&report.environment, &*place.stack, &*place.logical_id)),
            );
        }
    }
    for (environment, all) in &outlook.broadening {
        for one in all {
            let place = (environment, one.stack.as_str(), one.logical_id.as_str());
            risks.broader += usize::from(!approved.contains(&place));
            broader.insert(place);
        }
    }
    for report in &changes.environments {
        for change in &report.changes {
            let is_told = change.place().is_some_and(|place| {
                broader.contains(&(&report.environment, &*place.stack, &*place.logical_id))
            });
            let is_risky = change.risk == Risk::High && change.danger.is_none();
            if is_risky && !is_told && change.action != Some(Action::Approve) {
                risks.changes.push((&report.environment, change));
            }
        }
    }
    risks
}

/// Whether the changes are approved.
///
/// # Errors
/// When somebody is to be asked and nobody is there.
pub(super) fn approval(
    deploying: &Deploying,
    risks: &Risks<'_>,
    host: &TerminalHost,
) -> Result<bool, Failure> {
    let text = match deploying.require_approval.value {
        Approval::Never => return Ok(true),
        Approval::Broadening if risks.broader == 0 && risks.changes.is_empty() => return Ok(true),
        Approval::AnyChange => "Deploy these changes?",
        Approval::Broadening if risks.broader > 0 => {
            "Permissions become broader, as shown. Deploy these changes?"
        }
        Approval::Broadening => "Some changes are of high risk, as shown. Deploy these changes?",
    };
    if deploying.yes {
        return Ok(true);
    }
    let question = Question {
        help: Vec::new(),
        text: text.to_owned(),
        choices: vec!["Yes, deploy".to_owned(), "No, change nothing".to_owned()],
        default: 1,
        flag: "--require-approval never".to_owned(),
    };
    Ok(host.ask(&question)? == 0)
}
