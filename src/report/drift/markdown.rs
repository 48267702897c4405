//! The form for a comment on a pull request, or for an issue.

use super::{HIDDEN, listed, reasons, summary, tally, value, verdict};
use crate::plan::drift::{Checked, Divergence, DivergenceKind, Drift, Standing};
use crate::report::Style;
use crate::report::markdown::{code, words};

/// Renders how resources stand as Markdown.
pub fn drift_markdown(environments: &[Drift], style: Style) -> String {
    let mut blocks = Vec::new();
    for drift in environments {
        let place = code(&drift.environment.to_string());
        blocks.push(format!("**{place}: {}**", words(&summary(&tally(drift)))));
        blocks.extend(table(drift));
        let lines = reasons(drift).into_iter().map(|(reason, names)| {
            format!("- {}: {}", words(&reason), words(&listed(names, style)))
        });
        let lines: Vec<String> = lines.collect();
        if !lines.is_empty() {
            blocks.push(format!("Cannot be verified:\n\n{}", lines.join("\n")));
        }
    }
    if blocks.is_empty() {
        blocks.push("There are no stacks.".to_owned());
    }
    blocks.join("\n\n") + "\n"
}

fn table(drift: &Drift) -> Option<String> {
    let rows: Vec<String> = drift.drifted().flat_map(rows).collect();
    if rows.is_empty() {
        return None;
    }
    let header = "| Resource | Type | Property | Is | Declared | To put it right |\n\
                  |---|---|---|---|---|---|";
    Some(format!("{header}\n{}", rows.join("\n")))
}

fn rows(one: &Checked) -> Vec<String> {
    let place = code(&one.subject.location.to_string());
    let kind = code(one.subject.resource_type.as_str());
    match &one.standing {
        Standing::Drifted(found) => {
            found.iter().map(|one| format!("| {place} | {kind} | {} |", cells(one))).collect()
        }
        Standing::Gone => vec![format!("| {place} | {kind} | | does not exist any more | | |")],
        Standing::InSync | Standing::Unverified(_) => Vec::new(),
    }
}

fn cells(one: &Divergence) -> String {
    let path = code(&one.path.to_string());
    let verdict = words(verdict(one.verdict));
    if one.is_hidden {
        return format!("{path} | {HIDDEN} | | {verdict}");
    }
    let shown = |given: Option<&crate::model::Value>| {
        given.map_or_else(|| "absent".to_owned(), |_| code(&value(given)))
    };
    let declared = match one.kind {
        DivergenceKind::Remove => "not declared".to_owned(),
        _ => shown(one.declared.as_ref()),
    };
    format!("{path} | {} | {declared} | {verdict}", shown(one.current.as_ref()))
}
