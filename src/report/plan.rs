//! What a plan does, for people.

use std::fmt::Write as _;
use std::path::Path;

use super::text::{count, grid, paint, plain};
use crate::model::Environment;
use crate::plan::{Action, Batch, Change, Finding, Plan, Purpose, Severity, Staying};

/// Renders a plan for a terminal: its steps, what stays, and what has to be known. Nothing if
/// there is nothing to say.
pub(super) fn blocks(plan: &Plan) -> Vec<String> {
    let mut blocks = Vec::new();
    blocks.extend(steps(plan));
    blocks.extend(staying(&plan.staying));
    blocks.extend(findings(&plan.findings));
    blocks
}

/// Renders plans for a terminal, one after the other.
pub fn plans(plans: &[Plan]) -> String {
    let several = plans.len() > 1;
    let mut all = Vec::new();
    for plan in plans {
        let blocks = blocks(plan);
        if several && !blocks.is_empty() {
            all.push(paint::heading(plan.environment()));
        }
        all.extend(blocks);
    }
    if all.is_empty() { String::new() } else { all.join("\n\n") + "\n" }
}

/// Renders plans that stand for themselves: what moves, and how.
pub fn planned(plans: &[Plan]) -> String {
    let moves: Vec<Vec<String>> = plans
        .iter()
        .flat_map(Plan::net_moves)
        .map(|one| [one.resource_type, one.source, one.destination])
        .map(|row| row.iter().map(|cell| plain(cell).into_owned()).collect())
        .collect();
    if moves.is_empty() {
        return format!("Nothing to refactor.\n{}", self::plans(plans));
    }
    let heading = paint::heading("The following resources are to be moved:");
    let table = grid(&["Resource Type", "Old Logical ID", "New Logical ID"], moves);
    format!("{heading}\n\n{table}\n\n{}", self::plans(plans))
}

fn steps(plan: &Plan) -> Option<String> {
    if plan.steps.is_empty() {
        return None;
    }
    let mut lines =
        vec![paint::heading(format!("Steps in {}: {}", plan.environment(), plan.steps.len()))];
    for (at, step) in plan.steps.iter().enumerate() {
        let what = match &step.action {
            Action::Change(change) => changed(change),
            Action::Refactor(batch) => refactored(batch),
        };
        lines.push(format!("  {}. {what}", at + 1));
    }
    Some(lines.join("\n"))
}

fn changed(change: &Change) -> String {
    let stack = plain(&change.stack).into_owned();
    match change.purpose {
        Purpose::Create => format!(
            "create stack {stack} with a filler, since it needs sections that a refactor cannot \
             create"
        ),
        Purpose::Prepare => format!(
            "add to stack {stack} the sections that something needs which moves into it, and a \
             filler"
        ),
        Purpose::Fill => {
            format!("give stack {stack} a filler, since it would become empty")
        }
        Purpose::RemoveFiller => format!("take the filler out of stack {stack}"),
        Purpose::Retain => format!(
            "let stack {stack} retain {}, so that it does not delete what the deployment makes \
             anew",
            plain(&change.retained.join(", "))
        ),
        Purpose::Release => {
            format!(
                "take the retention of {} back in stack {stack}",
                plain(&change.retained.join(", "))
            )
        }
    }
}

fn refactored(batch: &Batch) -> String {
    let stacks = batch.stacks.iter().map(|stack| {
        let new = if stack.id.is_none() && stack.before.is_none() { " (new)" } else { "" };
        format!("{}{new}", plain(&stack.name))
    });
    let stacks: Vec<String> = stacks.collect();
    let mut text = format!("refactor {}", stacks.join(", "));
    let moves = batch.moves.len();
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        ": {} {}",
        count(moves, "resource"),
        if moves == 1 { "moves" } else { "move" }
    );
    text
}

/// What stays, each kind of it once: a construct may have dozens of the same.
fn staying(staying: &[Staying]) -> Option<String> {
    if staying.is_empty() {
        return None;
    }
    let mut kinds: Vec<(&Staying, Vec<&Staying>)> = Vec::new();
    for one in staying {
        let is_same = |other: &Staying| {
            !one.dangerous
                && (&one.resource_type, &one.reason, &one.consequence, one.dangerous)
                    == (&other.resource_type, &other.reason, &other.consequence, other.dangerous)
        };
        match kinds.iter_mut().find(|(other, _)| is_same(other)) {
            Some((_, all)) => all.push(one),
            None => kinds.push((one, vec![one])),
        }
    }
    let mut lines = vec![paint::heading("Cannot be moved, the deployment will replace it:")];
    for (first, all) in kinds {
        let what = match all.len() {
            1 => format!("{} → {}", plain(&first.source), plain(&first.destination)),
            count => format!("{count} resources"),
        };
        lines.push(format!("  {}  {what}", plain(&first.resource_type)));
        lines.push(format!("    {}", plain(&first.reason)));
        let consequence = plain(&first.consequence);
        lines.push(if first.dangerous {
            format!("    {}", paint::loss(format!("dangerous: {consequence}")))
        } else {
            format!("    {consequence}")
        });
    }
    Some(lines.join("\n"))
}

fn findings(findings: &[Finding]) -> Option<String> {
    if findings.is_empty() {
        return None;
    }
    let lines: Vec<String> = findings.iter().map(finding).collect();
    Some(lines.join("\n"))
}

/// Renders a finding: what is the matter where, and what to do about it.
pub fn finding(finding: &Finding) -> String {
    let word = match finding.severity {
        Severity::Note => paint::gain("note"),
        Severity::Warning => paint::change("warning"),
        Severity::Error => paint::loss("error"),
    };
    let place = match &finding.resource {
        Some(resource) => format!("{}.{resource}", finding.stack),
        None => finding.stack.clone(),
    };
    let mut text = format!("{word}: {}: {}", plain(&place), plain(&finding.message));
    if !finding.remedy.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {}", plain(&finding.remedy));
    }
    text
}

/// Says what was carried out in an environment.
pub fn carried(environment: &Environment, moves: usize, journal: Option<&Path>) -> String {
    let (resources, verb) = (count(moves, "resource"), if moves == 1 { "was" } else { "were" });
    let mut text = format!("{environment}: {resources} {verb} moved.");
    if let Some(journal) = journal {
        let shown = journal.display().to_string();
        // Writing to a string cannot fail.
        let _ = write!(text, " `cdkr revert` undoes it; the journal is {}", plain(&shown));
    }
    text + "\n"
}

/// Says the same to a program, in one line: the member `event` is `done`.
pub fn carried_json(environment: &Environment, moves: usize, journal: Option<&Path>) -> String {
    let line = serde_json::json!({
        "event": "done",
        "version": 1,
        "account": environment.account.as_str(),
        "region": environment.region.as_str(),
        "moves": moves,
        "journal": journal.map(|journal| journal.display().to_string()),
    });
    super::json::escaped(&line.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{HandOver, Step};
    use crate::report::{Style, json};

    #[test]
    fn what_is_retained_and_what_cannot_exist_twice_is_shown_in_every_form() {
        let change = Change {
            stack: "Old".to_owned(),
            id: None,
            purpose: Purpose::Retain,
            before: None,
            template: "{}".to_owned(),
            parameters: Vec::new(),
            capabilities: Vec::new(),
            retained: vec!["Policy".to_owned()],
        };
        let staying = Staying {
            resource_type: "AWS::Route53::RecordSet".to_owned(),
            source: "Old.Record".to_owned(),
            destination: "New.Record".to_owned(),
            reason: "is on a list".to_owned(),
            consequence: "The deployment fails.".to_owned(),
            dangerous: false,
            hand_over: HandOver::Exclusive,
            physical_id: Some("a.example.com".to_owned()),
            names: [("Name".to_owned(), "a.example.com".to_owned())].into(),
        };
        let plan = Plan {
            account: "1".to_owned(),
            region: "r".to_owned(),
            steps: vec![Step { after: Vec::new(), action: Action::Change(change) }],
            staying: vec![staying],
            findings: Vec::new(),
        };
        let table = plans(std::slice::from_ref(&plan));
        assert!(table.contains("1. let stack Old retain Policy, so that it does not delete"));
        assert!(table.contains("The deployment fails."));
        let text = json(&[], &[], std::slice::from_ref(&plan), Style::default());
        let found: serde_json::Value = serde_json::from_str(&text).unwrap();
        let plan_wire = &found["environments"][0]["plan"];
        assert_eq!(plan_wire["steps"][0]["purpose"], "retain");
        assert_eq!(plan_wire["steps"][0]["retained"][0], "Policy");
        assert_eq!(plan_wire["staying"][0]["handOver"], "exclusive");
        assert_eq!(plan_wire["staying"][0]["names"]["Name"], "a.example.com");
    }
}
