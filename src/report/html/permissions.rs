//! Permissions that come or go, in tables.

use super::markup::Markup;
use crate::analyze::PermissionChange;
use crate::report::permissions::{LAYOUTS, Layout};
use crate::report::text::count;

/// Writes a table for each kind of permissions, folded up.
pub(super) fn tables(out: &mut Markup, changes: &[PermissionChange]) {
    if changes.is_empty() {
        return;
    }
    let broader = changes.iter().filter(|change| change.broadens).count();
    out.raw("<details class=\"stack perms\"><summary><h4>Permissions</h4> <span class=\"q\">");
    out.text(&count(changes.len(), "change")).raw("</span>");
    if broader > 0 {
        out.raw(" <span class=\"g high\">! ").number(broader).raw(" may permit more than before");
        out.raw("</span>");
    }
    out.raw("</summary>");
    for layout in LAYOUTS {
        let rows = changes.iter().filter(|change| change.kind == layout.kind);
        table(out, layout, &rows.collect::<Vec<_>>());
    }
    out.raw("</details>");
}

fn table(out: &mut Markup, layout: &Layout, rows: &[&PermissionChange]) {
    if rows.is_empty() {
        return;
    }
    out.raw("<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"").raw(layout.title);
    out.raw("\"><table><caption>").raw(layout.title).raw("</caption><thead><tr>");
    out.raw("<th scope=\"col\">Change</th>");
    for column in layout.columns {
        out.raw("<th scope=\"col\">").raw(column).raw("</th>");
    }
    out.raw("<th scope=\"col\">Written In</th></tr></thead><tbody>");
    for row in rows {
        out.raw("<tr><td>").raw(if row.added { "+ added" } else { "− removed" });
        if row.broadens {
            out.raw(" <span class=\"g high\">! broader</span>");
        }
        out.raw("</td>");
        for cell in &row.text {
            out.raw("<td>").lines(cell).raw("</td>");
        }
        out.raw("<td>").text(&format!("{}.{}", row.stack, row.logical_id)).raw("</td></tr>");
    }
    out.raw("</tbody></table></div>");
}

/// Writes a permission as one line: what comes or goes, cell by cell.
pub(super) fn line(out: &mut Markup, change: &PermissionChange) {
    let Some(layout) = LAYOUTS.iter().find(|layout| layout.kind == change.kind) else { return };
    out.raw("<span class=\"k\">").raw(if change.added { "comes" } else { "goes" });
    out.raw("</span>");
    for (column, cell) in layout.columns.iter().zip(&change.text) {
        if cell.is_empty() {
            continue;
        }
        out.raw(" <span class=\"k\">").raw(column).raw("</span> ");
        out.code(&cell.replace('\n', ", "));
    }
}
