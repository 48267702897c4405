//! The table of moved and renamed resources, and what has to be said about single rows of it.

use std::fmt::Write as _;

use super::Style;
use super::text::{self, count, map_options, name, paint, plain, properties};
use crate::compare::{Mapping, Place};

/// Why an indistinct mapping is marked.
pub(super) const INDISTINCT: &str = "indistinct: the two are equal, but nothing distinctive supports that they are the same; \
                                     --strict makes it a question, --map or --skip-file decides it";

/// Renders the mappings of one environment; no blocks if there are none.
pub(super) fn moves(mappings: &[Mapping], style: Style) -> Vec<String> {
    if mappings.is_empty() {
        return Vec::new();
    }
    let mut footnotes = Footnotes::default();
    let header = if style.paths {
        ["Resource Type", "Old Construct Path", "New Construct Path"]
    } else {
        ["Resource Type", "Old Logical ID", "New Logical ID"]
    };
    let rows = mappings.iter().map(|mapping| {
        let marks = footnotes.marks(remarks(mapping, style));
        vec![
            plain(mapping.resource_type.as_str()).into_owned(),
            name(&mapping.source, style),
            name(&mapping.destination, style) + &marks,
        ]
    });
    let table = text::grid(&header, rows.collect::<Vec<_>>());
    let mut blocks = vec![paint::heading("The following resources were moved or renamed:"), table];
    blocks.extend(footnotes.render());
    blocks.extend(changes(mappings, style));
    blocks.extend(stayed(mappings, style));
    blocks
}

/// What a reader must know of one row.
pub(super) fn remarks(mapping: &Mapping, style: Style) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(why) = &mapping.blocked {
        remarks.push(format!("{}: the deployment will recreate it", plain(why)));
    }
    let replaces: Vec<_> = mapping.changes.iter().filter(|change| change.replaces).collect();
    if !replaces.is_empty() {
        remarks.push(format!(
            "the deployment will replace it in spite of the move: {} cannot be changed in place",
            properties(replaces.into_iter(), style)
        ));
    }
    if mapping.indistinct {
        remarks.push(INDISTINCT.to_owned());
    }
    remarks
}

/// Remarks below a table, each of them once, in the order of their first use.
#[derive(Default)]
struct Footnotes(Vec<String>);

impl Footnotes {
    /// The marks to put next to a name, ` [1] [2]`.
    fn marks(&mut self, remarks: Vec<String>) -> String {
        let mut marks = String::new();
        for remark in remarks {
            let known = self.0.iter().position(|other| *other == remark);
            let number = known.unwrap_or_else(|| {
                self.0.push(remark);
                self.0.len() - 1
            });
            // Writing to a string cannot fail.
            let _ = write!(marks, " [{}]", number + 1);
        }
        marks
    }

    fn render(self) -> Option<String> {
        let lines: Vec<_> = self
            .0
            .into_iter()
            .enumerate()
            .map(|(at, remark)| format!("{} {remark}", paint::change(format!("[{}]", at + 1))))
            .collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// Which of the moved resources change as well.
fn changes(mappings: &[Mapping], style: Style) -> Option<String> {
    let real = |mapping: &&Mapping| mapping.changes.iter().any(|change| !change.name_only);
    let changed: Vec<_> = mappings.iter().filter(real).collect();
    let renamed =
        mappings.iter().filter(|mapping| !mapping.changes.is_empty()).count() - changed.len();
    let mut lines = Vec::new();
    if !changed.is_empty() {
        lines.push(format!("{} of them also {}:", changed.len(), verb(changed.len())));
        let rows: Vec<_> = changed
            .iter()
            .take(style.limit())
            .map(|mapping| {
                let real = mapping.changes.iter().filter(|change| !change.name_only);
                vec![format!("  ~ {}", name(&mapping.destination, style)), properties(real, style)]
            })
            .collect();
        lines.extend(text::columns(&rows));
        lines.extend(more(changed.len(), style));
    }
    if renamed > 0 {
        lines.push(format!(
            "{renamed} of them {} only where properties repeat a name.",
            verb(renamed)
        ));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn verb(number: usize) -> &'static str {
    if number == 1 { "changes" } else { "change" }
}

/// The line that says how much of a list is not shown.
pub(super) fn more(total: usize, style: Style) -> Option<String> {
    let hidden = total.saturating_sub(style.limit());
    (hidden > 0).then(|| format!("  … and {hidden} more (--verbose lists them)"))
}

/// Deployed resources of equal content that were taken to have stayed.
fn stayed(mappings: &[Mapping], style: Style) -> Option<String> {
    let with: Vec<_> =
        mappings.iter().filter(|mapping| !mapping.identical_stayed.is_empty()).collect();
    let mut lines: Vec<_> = with
        .iter()
        .take(style.limit())
        .map(|mapping| {
            // At least one, or it would not have passed the filter.
            let stayed = Place { location: mapping.identical_stayed[0].clone(), path: None };
            let others = mapping.identical_stayed.len() - 1;
            let others = if others == 0 {
                String::new()
            } else {
                format!(" and {}", count(others, "other"))
            };
            let options = map_options(
                &[(&mapping.source, &stayed), (&stayed, &mapping.destination)],
                Style { paths: false, ..style },
            );
            format!(
                "note: {}{others} has the same content as {} and was taken to have stayed; if it \
                 moved instead: {}",
                name(&stayed, style),
                name(&mapping.source, style),
                paint::command(options)
            )
        })
        .collect();
    lines.extend(more(with.len(), style));
    (!lines.is_empty()).then(|| lines.join("\n"))
}
