//! The form for a comment on a pull request.

use super::text::{self, map_options, plain};
use super::{Style, ambiguity, aspects, deployment, moves};
use crate::aspects::{Influence, Level};
use crate::compare::{Comparison, Mapping, Place, Unpaired};
use crate::plan::{Plan, Severity};

/// Renders comparisons, what aspects had to do with them, and the plans for them, as Markdown.
pub fn markdown(
    environments: &[Comparison],
    influences: &[Influence],
    plans: &[Plan],
    style: Style,
) -> String {
    let several = environments.len() > 1;
    let mut blocks = Vec::new();
    for comparison in environments {
        if several {
            blocks.push(format!("## {}", code(&comparison.environment.to_string())));
        }
        let influence = aspects::of(influences, comparison);
        blocks.extend(environment(comparison, influence, style));
        let of = |plan: &&Plan| plan.environment() == comparison.environment;
        blocks.extend(plans.iter().find(of).into_iter().flat_map(planned));
    }
    if blocks.is_empty() {
        blocks.push("Nothing to refactor.".to_owned());
    }
    blocks.join("\n\n") + "\n"
}

fn environment(
    comparison: &Comparison,
    influence: Option<&Influence>,
    style: Style,
) -> Vec<String> {
    let mut blocks = Vec::new();
    if comparison.mappings.is_empty() && comparison.ambiguous.is_empty() {
        blocks.push("Nothing to refactor.".to_owned());
    }
    blocks.extend(moved(&comparison.mappings, influence, style));
    blocks.extend(ambiguous(comparison, style));
    blocks.extend(rest(comparison, style));
    blocks.extend(influence.and_then(violations));
    blocks.extend(influence.filter(|_| style.explain).and_then(hidden));
    blocks
}

fn moved(mappings: &[Mapping], influence: Option<&Influence>, style: Style) -> Vec<String> {
    if mappings.is_empty() {
        return Vec::new();
    }
    let kind = if style.paths { "Construct Path" } else { "Logical ID" };
    let header = format!("| Resource Type | Old {kind} | New {kind} | |");
    let mut lines = vec![header, "|---|---|---|---|".to_owned()];
    lines.extend(mappings.iter().map(|mapping| {
        let mut remarks = moves::remarks(mapping, style);
        remarks.extend(aspects::owed(influence, &mapping.destination.location));
        format!(
            "| {} | {} | {} | {} |",
            code(mapping.resource_type.as_str()),
            code(&text::name(&mapping.source, style)),
            code(&text::name(&mapping.destination, style)),
            words(&remarks.join("; "))
        )
    }));
    vec!["**The following resources were moved or renamed:**".to_owned(), lines.join("\n")]
}

/// What aspects say against it.
fn violations(influence: &Influence) -> Option<String> {
    if influence.violations.is_empty() {
        return None;
    }
    let mut lines = vec!["**What aspects say of it:**".to_owned(), String::new()];
    lines.extend(influence.violations.iter().map(|one| {
        let word = match one.level {
            Level::Info => "note",
            Level::Warning => "warning",
            Level::Error => "**error**",
        };
        format!(
            "- {word}: {}: {} {}",
            code(&one.aspect),
            code(&one.location.to_string()),
            words(&one.reason)
        )
    }));
    Some(lines.join("\n"))
}

/// The differences that aspects hid.
fn hidden(influence: &Influence) -> Option<String> {
    if influence.hidden.is_empty() {
        return None;
    }
    let mut lines =
        vec!["**What aspects hide, and the deployment changes:**".to_owned(), String::new()];
    lines.extend(influence.hidden.iter().map(|one| {
        let by: Vec<String> = one.aspects.iter().map(|name| code(name)).collect();
        let property = code(&one.difference.property);
        format!("- {} {property}: {}", code(&one.location.to_string()), by.join(", "))
    }));
    Some(lines.join("\n"))
}

/// What stays and what has to be known; the steps are of no interest to a reviewer.
fn planned(plan: &Plan) -> Vec<String> {
    let mut blocks = Vec::new();
    if !plan.staying.is_empty() {
        let mut lines =
            vec!["**Cannot be moved, the deployment will replace it:**".to_owned(), String::new()];
        lines.extend(plan.staying.iter().map(|one| {
            let danger = if one.dangerous { "**dangerous:** " } else { "" };
            format!(
                "- {} {} → {}: {}; {danger}{}",
                code(&one.resource_type),
                code(&one.source),
                code(&one.destination),
                words(&one.reason),
                words(&one.consequence)
            )
        }));
        blocks.push(lines.join("\n"));
    }
    if !plan.findings.is_empty() {
        let lines = plan.findings.iter().map(|finding| {
            let word = match finding.severity {
                Severity::Note => "note",
                Severity::Warning => "warning",
                Severity::Error => "**error**",
            };
            let place = finding.resource.as_ref().map_or_else(
                || finding.stack.clone(),
                |resource| format!("{}.{resource}", finding.stack),
            );
            format!(
                "- {word}: {}: {} {}",
                code(&place),
                words(&finding.message),
                words(&finding.remedy)
            )
        });
        blocks.push(lines.collect::<Vec<_>>().join("\n"));
    }
    blocks
}

fn ambiguous(comparison: &Comparison, style: Style) -> Vec<String> {
    if comparison.ambiguous.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec!["**Ambiguous Resource Name Changes**".to_owned()];
    for group in ambiguity::groups(&comparison.ambiguous) {
        let (old, new) = match ambiguity::constructs(&group) {
            Some((old, new)) => (
                cell(old.iter().map(|path| ambiguity::construct(path, ambiguity::sources(&group)))),
                cell(
                    new.iter()
                        .map(|path| ambiguity::construct(path, ambiguity::destinations(&group))),
                ),
            ),
            None => (
                cell(ambiguity::sources(&group).into_iter().map(|one| text::name(one, style))),
                cell(ambiguity::destinations(&group).into_iter().map(|one| text::name(one, style))),
            ),
        };
        blocks.push(format!("| | Resource |\n|---|---|\n| - | {old} |\n| + | {new} |"));
        let options = ambiguity::pairing(&group);
        let options =
            options.iter().map(|pair| format!("- {}", code(&map_options(&[*pair], style))));
        let options: Vec<String> = options.collect();
        blocks.push(format!("To decide, for example:\n{}", options.join("\n")));
    }
    blocks
}

fn rest(comparison: &Comparison, style: Style) -> Option<String> {
    let (added, removed) = (&comparison.added, &comparison.removed);
    let changed = &comparison.changed;
    let counts = deployment::summary(added.len(), removed.len(), changed.len())?;
    let mut lines = vec![format!("**A deployment would still {counts}:**"), String::new()];
    let mut list = |verb: &str, names: Vec<String>| {
        let shown = names.len().min(style.limit());
        lines.extend(names[..shown].iter().map(|name| format!("- {verb} {name}")));
        if shown < names.len() {
            lines.push(format!("- {verb} {} more", names.len() - shown));
        }
    };
    let named =
        |kind: &str, place: &Place| format!("{} ({})", code(&text::name(place, style)), code(kind));
    let unpaired = |list: &[Unpaired]| -> Vec<String> {
        list.iter().map(|one| named(one.resource_type.as_str(), &one.place)).collect()
    };
    list("add", unpaired(added));
    list("remove", unpaired(removed));
    list(
        "change",
        changed.iter().map(|one| named(one.resource_type.as_str(), &one.place)).collect(),
    );
    Some(lines.join("\n"))
}

fn cell(names: impl Iterator<Item = String>) -> String {
    names.map(|name| code(&name)).collect::<Vec<_>>().join("<br>")
}

/// A name as code inside of a table cell. Backquotes end code whatever is before them, and a bar
/// ends the cell; names of resources contain neither.
pub(super) fn code(text: &str) -> String {
    format!("`{}`", plain(text).replace('`', "'").replace('|', "\\|"))
}

/// Words of ours with names of others in them.
pub(super) fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}
