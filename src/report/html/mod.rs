//! The change report as one page for a browser.
//!
//! In: a [`ChangeReport`]. Out: an HTML file that needs nothing else: no network, and no script to
//! be read. Everything is in the markup once, what is dangerous first, the rest folded up
//! (`changes`). The script (`page.js`) searches and filters that markup, and draws the construct
//! trees before and after (`trees.js`) from a list of places (`data`).
//!
//! Names and values come from templates that anybody may have written. `markup` lets nothing in
//! that is not escaped; should something get through all the same, the policy in the head of the
//! page allows no script and no style but these two, by their digests, and no connection at all.

mod cards;
mod changes;
mod danger;
mod data;
mod groups;
mod markup;
mod permissions;
mod values;
mod words;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::text::count;
use crate::analyze::ChangeReport;
use danger::Dangers;
use groups::Part;
use markup::Markup;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str =
    concat!(include_str!("model.js"), include_str!("trees.js"), include_str!("page.js"));

/// Renders a change report as a page: one self-contained HTML file, readable without JavaScript.
/// `title` is its heading and the title of its window.
pub fn html(report: &ChangeReport, title: &str) -> String {
    let parts = groups::parts(report);
    let dangers = Dangers::of(&parts);
    let mut out = Markup::default();
    head(&mut out, title);
    out.raw("<body><a class=\"skip\" href=\"#changes\">Skip to all changes</a>\n");
    out.raw("<header><div><h1>").text(title).raw("</h1><p class=\"q\">");
    out.text(&extent(&parts)).raw("</p></div></header>\n<main>");
    danger::verdict(&mut out, &parts, &dangers);
    remarks(&mut out, report);
    danger::section(&mut out, &parts, &dangers);
    out.raw("\n<section id=\"changes\" aria-labelledby=\"changes-title\">");
    out.raw("<h2 id=\"changes-title\">All changes</h2><div id=\"list\">");
    changes::changes(&mut out, &parts);
    if parts.is_empty() {
        out.raw("<p>There is nothing to deploy.</p>");
    }
    out.raw("</div></section></main>\n<footer><p>");
    out.raw("Made by cdkr. ± replaced · − removed · ↷ let go: stays in the account without a ");
    out.raw("stack · + added · ~ updated · ≡ moved · “template only”: CloudFormation does not ");
    out.raw("touch it. “High risk”: a rule says that somebody must look at it.</p></footer>\n");
    out.raw("<script type=\"application/json\" id=\"data\">").data(&data::data(&parts));
    out.raw("</script>\n<script type=\"module\">").raw(SCRIPT).raw("</script>\n</body></html>\n");
    out.into_string()
}

fn head(out: &mut Markup, title: &str) {
    let digest = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    out.raw("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n");
    out.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ");
    out.raw("img-src data:; base-uri 'none'; form-action 'none'; style-src ");
    out.text(&digest(STYLE)).raw("; script-src ").text(&digest(SCRIPT)).raw("\"/>\n");
    out.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n");
    out.raw("<meta name=\"color-scheme\" content=\"light dark\"/>\n");
    out.raw("<meta name=\"referrer\" content=\"no-referrer\"/>\n");
    out.raw("<link rel=\"icon\" href=\"data:,\"/>\n<title>").text(title).raw("</title>\n");
    out.raw("<style>").raw(STYLE).raw("</style></head>\n");
}

/// What has to be known besides the changes.
fn remarks(out: &mut Markup, report: &ChangeReport) {
    if report.remarks.is_empty() {
        return;
    }
    out.raw("<section aria-labelledby=\"remarks\"><h2 id=\"remarks\">To be known</h2><ul>");
    for remark in &report.remarks {
        let word = if remark.is_error { "Cannot be deployed" } else { "Note" };
        out.raw("<li><strong>").raw(word).raw(":</strong> ").text(&remark.text).raw("</li>");
    }
    out.raw("</ul></section>\n");
}

/// How much the report is about.
fn extent(parts: &[Part<'_>]) -> String {
    let stacks: usize = parts.iter().map(|part| part.groups.len()).sum();
    let resources: usize = parts.iter().map(|part| words::resources(part.environment)).sum();
    let environments = match parts {
        [one] => one.environment.environment.to_string(),
        _ => count(parts.len(), "environment"),
    };
    format!("{environments} · {} · {}", count(stacks, "stack"), count(resources, "resource"))
}
