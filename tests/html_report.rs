//! The page of a change report: what is in its markup, that nothing gets into it that does not
//! belong there, and, where there is a browser, how it works (`tests/browser/check.mjs`).

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]
#![expect(clippy::print_stderr, reason = "a test says why it is skipped")]

#[path = "html_report/browser.rs"]
mod browser;
#[path = "html_report/samples.rs"]
mod samples;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cdkr::analyze::{ChangePlace, ChangeReport};
use cdkr::report::{html, plain};
use sha2::{Digest as _, Sha256};

/// The elements without an end.
const VOID: [&str; 2] = ["meta", "link"];

/// A tag of a page.
struct Tag<'p> {
    name: &'p str,
    attributes: Vec<(&'p str, &'p str)>,
    is_end: bool,
}

/// Reads a page as strictly as if it were XML: every `<` begins a tag, every tag is closed by its
/// own end, every attribute is quoted and is given once, and `&` begins one of the five references
/// that we write. Returns the tags; the texts of style and scripts are left out.
fn read(page: &str) -> Vec<Tag<'_>> {
    let mut rest = page.strip_prefix("<!DOCTYPE html>\n").unwrap();
    let mut open: Vec<&str> = Vec::new();
    let mut tags: Vec<Tag<'_>> = Vec::new();
    while let Some(at) = rest.find('<') {
        check_text(&rest[..at]);
        rest = &rest[at + 1..];
        let end = rest.find('>').unwrap();
        let (inside, after) = (&rest[..end], &rest[end + 1..]);
        rest = after;
        if let Some(name) = inside.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "an element ends inside of another one");
            tags.push(Tag { name, attributes: Vec::new(), is_end: true });
            continue;
        }
        let (name, attributes) = inside.split_once(' ').unwrap_or((inside, ""));
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()), "<{inside}>");
        let attributes = read_attributes(attributes.trim_end_matches('/'));
        if !VOID.contains(&name) {
            open.push(name);
        }
        if ["style", "script"].contains(&name) {
            let end = rest.find(&format!("</{name}")).unwrap();
            rest = &rest[end..];
        }
        tags.push(Tag { name, attributes, is_end: false });
    }
    assert_eq!(rest, "\n");
    assert!(open.is_empty(), "{open:?}");
    tags
}

fn read_attributes(text: &str) -> Vec<(&str, &str)> {
    let mut rest = text;
    let mut found: Vec<(&str, &str)> = Vec::new();
    while !rest.trim().is_empty() {
        rest = rest.trim_start();
        let name_ends = rest.find([' ', '=']).unwrap_or(rest.len());
        let name = &rest[..name_ends];
        rest = &rest[name_ends..];
        let mut value = "";
        if let Some(quoted) = rest.strip_prefix("=\"") {
            let end = quoted.find('"').unwrap();
            value = &quoted[..end];
            rest = &quoted[end + 1..];
        }
        check_text(value);
        assert!(found.iter().all(|(other, _)| *other != name), "{name} is given twice");
        assert!(!name.starts_with("on") && name != "style", "{name}");
        found.push((name, value));
    }
    found
}

fn check_text(text: &str) {
    for (at, _) in text.match_indices('&') {
        let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];
        assert!(known.iter().any(|one| text[at..].starts_with(one)), "{}", &text[at..]);
    }
    let hostile = |c: char| plain(&c.to_string()).len() > c.len_utf8() && c != '\n';
    assert!(!text.contains(hostile), "{text:?}");
}

/// A text as it stands in markup.
fn escaped(text: &str) -> String {
    let text = plain(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

fn places(report: &ChangeReport) -> Vec<&ChangePlace> {
    let mut all = Vec::new();
    for environment in &report.environments {
        for change in &environment.changes {
            all.extend(change.before.iter().chain(&change.after));
        }
        all.extend(environment.unchanged.iter().map(|(_, place)| place));
    }
    all
}

/// The part of a page that is read without the script.
fn markup(page: &str) -> &str {
    let from = page.find("<body>").unwrap();
    &page[from..page.find("<script").unwrap()]
}

#[test]
fn every_page_is_well_formed_and_names_each_element_once() {
    for report in [
        samples::shop(),
        samples::calm(),
        samples::hostile(),
        samples::large(500, 40),
        ChangeReport::default(),
    ] {
        let page = html(&report, "Shop <production> & \"others\"");
        let tags = read(&page);
        let mut ids: Vec<&str> = tags
            .iter()
            .flat_map(|tag| &tag.attributes)
            .filter(|(name, _)| *name == "id")
            .map(|(_, id)| *id)
            .collect();
        let number = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), number);
        for (_, target) in tags
            .iter()
            .filter(|tag| tag.name == "a" && !tag.is_end)
            .flat_map(|tag| &tag.attributes)
            .filter(|(name, _)| *name == "href")
        {
            let id = target.strip_prefix('#').unwrap();
            assert!(ids.binary_search(&id).is_ok(), "nothing is at {target}");
        }
    }
}

#[test]
fn every_resource_is_in_the_markup() {
    for report in [samples::shop(), samples::hostile(), samples::large(5000, 40)] {
        let page = html(&report, "Shop");
        let markup = markup(&page);
        // Searching for each of five thousand places from the start would take its time.
        let words: std::collections::HashSet<&str> =
            markup.split(['<', '>', '.', ' ', '\n']).collect();
        for place in places(&report) {
            let id = escaped(&place.logical_id);
            assert!(words.contains(&*id) || markup.contains(&id), "{place:?}");
        }
    }
}

#[test]
fn what_a_template_says_is_text_and_nothing_else() {
    let report = samples::hostile();
    let page = html(&report, samples::HOSTILE[1]);
    let names: Vec<&str> =
        read(&page).iter().filter(|tag| !tag.is_end).map(|tag| tag.name).collect();
    assert!(!names.contains(&"img") && !names.contains(&"i"));
    assert_eq!(names.iter().filter(|name| **name == "script").count(), 2);
    for text in samples::HOSTILE {
        assert!(markup(&page).contains(&escaped(text)), "{text:?}");
    }
}

#[test]
fn the_policy_lets_only_the_page_itself_be_carried_out() {
    let page = html(&samples::shop(), "Shop");
    let policy = read(&page)
        .into_iter()
        .flat_map(|tag| tag.attributes)
        .find(|(name, value)| *name == "content" && value.starts_with("default-src"))
        .unwrap()
        .1
        .replace("&#39;", "'");
    let between = |start: &str, end: &str| {
        let from = page.rfind(start).unwrap() + start.len();
        &page[from..from + page[from..].find(end).unwrap()]
    };
    let digest = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    assert_eq!(
        policy,
        format!(
            "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; style-src {}; \
             script-src {}",
            digest(between("<style>", "</style>")),
            digest(between("<script type=\"module\">", "</script>"))
        )
    );
    // The name of a namespace is no address that anything is fetched from.
    let page = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!page.contains("http://") && !page.contains("https://"));
}

#[test]
fn a_small_page_reads_well_without_its_script() {
    let page = html(&samples::shop(), "Shop, production");
    // One line for each block: the snapshot is for people.
    let mut text = markup(&page).to_owned();
    for block in [
        "<section",
        "<h2",
        "<h3",
        "<details",
        "<ul",
        "<li",
        "<p",
        "<dl",
        "<table",
        "<tr",
        "</section>",
    ] {
        text = text.replace(block, &format!("\n{block}"));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn the_same_report_is_the_same_page() {
    let page = || html(&samples::large(1000, 40), "Large");
    assert_eq!(page(), page());
}

#[test]
fn pages_work_in_a_browser() {
    let Some(browser) = browser::found() else { return };
    browser.check(&[
        ("small", html(&samples::shop(), "Shop, production")),
        ("hostile", html(&samples::hostile(), samples::HOSTILE[0])),
        ("calm", html(&samples::calm(), "Shop, production")),
        ("large", html(&samples::large(5000, 40), "Five thousand resources")),
    ]);
}
