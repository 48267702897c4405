//! How resources stand, against their templates and after a move.

mod json;
mod markdown;

use std::collections::BTreeMap;

use super::Style;
use super::text::{columns, count, paint, plain, shorten};
use crate::model::{Environment, Value};
use crate::plan::drift::{
    Checked, Divergence, DivergenceKind, Drift, Standing, Unverified, Verification,
};
use crate::registry::{Pointer, Verdict};
use crate::template::json::to_compact;

pub use json::{drift_json, verified_json};
pub use markdown::drift_markdown;

/// Longest value that is shown.
const VALUE_WIDTH: usize = 60;
/// In the place of values that nobody may see.
const HIDDEN: &str = "differs; hidden, since it holds a secret";

/// Renders how resources stand for a terminal: what has drifted, with what would put it right, what
/// nobody can say, and how many are as they are declared.
pub fn drift(environments: &[Drift], style: Style) -> String {
    let blocks: Vec<String> = environments.iter().map(|one| environment(one, style)).collect();
    if blocks.is_empty() { "There are no stacks.\n".to_owned() } else { blocks.join("\n") }
}

fn environment(drift: &Drift, style: Style) -> String {
    let place = drift.environment.to_string();
    let heading = format!("{}: {}", plain(&place), summary(&tally(drift)));
    let mut lines = vec![paint::heading(heading)];
    let drifted: Vec<&Checked> = drift.drifted().collect();
    for one in &drifted {
        let subject = &one.subject;
        lines.push(String::new());
        lines.push(format!(
            "{}  {}  {}",
            plain(&subject.location.to_string()),
            plain(subject.resource_type.as_str()),
            plain(&subject.physical_id)
        ));
        lines.extend(standing(&one.standing, row).into_iter().map(|(line, paint)| paint(line)));
    }
    lines.extend(unverified(drift, style));
    lines.extend(left_out(drift, style));
    lines.join("\n") + "\n"
}

/// How many resources stand how.
#[derive(Default)]
struct Tally {
    all: usize,
    in_sync: usize,
    drifted: usize,
    gone: usize,
    unverified: usize,
}

fn tally(drift: &Drift) -> Tally {
    let mut tally = Tally::default();
    for one in &drift.resources {
        tally.all += 1;
        *match one.standing {
            Standing::InSync => &mut tally.in_sync,
            Standing::Drifted(_) => &mut tally.drifted,
            Standing::Gone => &mut tally.gone,
            Standing::Unverified(_) => &mut tally.unverified,
        } += 1;
    }
    tally
}

fn summary(tally: &Tally) -> String {
    let parts = [
        (tally.drifted, "drifted"),
        (tally.gone, "deleted"),
        (tally.in_sync, "in sync"),
        (tally.unverified, "cannot be verified"),
    ];
    let parts = parts.iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> = parts.map(|(number, word)| format!("{number} {word}")).collect();
    let all = count(tally.all, "resource");
    if parts.is_empty() { all } else { format!("{all}: {}", parts.join(", ")) }
}

/// What is not as it should be of a resource, a line for each difference.
fn standing(standing: &Standing, row: fn(&Divergence) -> Vec<String>) -> Vec<Painted> {
    match standing {
        Standing::InSync | Standing::Unverified(_) => Vec::new(),
        Standing::Gone => {
            vec![("  it does not exist any more".to_owned(), |line| paint::loss(line))]
        }
        Standing::Drifted(found) => {
            let rows: Vec<Vec<String>> = found.iter().map(row).collect();
            let lines = columns(&rows).into_iter().zip(found);
            lines.map(|(line, one)| (format!("  {line}"), colour(one))).collect()
        }
    }
}

fn colour(one: &Divergence) -> fn(String) -> String {
    match one.kind {
        DivergenceKind::Add => |line| paint::gain(line),
        DivergenceKind::Remove => |line| paint::loss(line),
        DivergenceKind::Replace => |line| paint::change(line),
    }
}

/// A difference between what is there and what is declared.
fn row(one: &Divergence) -> Vec<String> {
    let sign = match one.kind {
        DivergenceKind::Add => "+",
        DivergenceKind::Remove => "-",
        DivergenceKind::Replace => "~",
    };
    let (current, declared) = (value(one.current.as_ref()), value(one.declared.as_ref()));
    let values = match one.kind {
        _ if one.is_hidden => HIDDEN.to_owned(),
        DivergenceKind::Remove => format!("{current}, not declared"),
        _ => format!("{current}, declared {declared}"),
    };
    let path = plain(&one.path.to_string()).into_owned();
    vec![sign.to_owned(), path, values, format!("({})", verdict(one.verdict))]
}

/// A difference between what is there and what was there.
fn altered(one: &Divergence) -> Vec<String> {
    let sign = match one.kind {
        DivergenceKind::Add => "-",
        DivergenceKind::Remove => "+",
        DivergenceKind::Replace => "~",
    };
    let values = if one.is_hidden {
        HIDDEN.to_owned()
    } else {
        format!("was {}, is {}", value(one.declared.as_ref()), value(one.current.as_ref()))
    };
    vec![sign.to_owned(), plain(&one.path.to_string()).into_owned(), values]
}

fn value(value: Option<&Value>) -> String {
    let shown = |value| shorten(&plain(&to_compact(value)), VALUE_WIDTH);
    value.map_or_else(|| "absent".to_owned(), shown)
}

/// What it would mean to put something right.
fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::InPlace => "in place",
        Verdict::CannotBeVerified => "cannot be verified",
        Verdict::MayReplace => "may replace",
        Verdict::Replaces => "replaces",
        Verdict::CannotBeSet => "assigned by the service",
    }
}

/// What nobody can say anything of, by reason.
fn unverified(drift: &Drift, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    for (reason, names) in reasons(drift) {
        if lines.is_empty() {
            lines.push(String::new());
            lines.push(paint::heading("Cannot be verified:"));
        }
        lines.push(format!("  {}: {}", plain(&reason), listed(names, style)));
    }
    lines
}

/// Why nobody can say how resources stand, with their names.
fn reasons(drift: &Drift) -> BTreeMap<String, Vec<String>> {
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in &drift.resources {
        if let Standing::Unverified(why) = &one.standing {
            let kind = &one.subject.resource_type;
            let name = match why {
                Unverified::Unsupported => kind.to_string(),
                _ => format!("{} ({kind})", one.subject.location),
            };
            reasons.entry(why.to_string()).or_default().push(name);
        }
    }
    reasons
}

/// Names, each once with the number of its occurrences, the first few of them.
fn listed(names: Vec<String>, style: Style) -> String {
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for name in names {
        *counted.entry(name).or_default() += 1;
    }
    let shown = counted.iter().take(style.limit()).map(|(name, number)| match number {
        1 => plain(name).into_owned(),
        _ => format!("{} × {number}", plain(name)),
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    match counted.len().saturating_sub(style.limit()) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// What was not compared of the resources that were.
fn left_out(drift: &Drift, style: Style) -> Vec<String> {
    type Of = fn(&Checked) -> &[Pointer];
    let kinds: [(&str, &str, Of); 3] = [
        ("its value is not known", "their values are not known", |one| &one.left_out.unknown),
        ("it holds a secret", "they hold secrets", |one| &one.left_out.secret),
        ("the service does not give it back", "the service does not give them back", |one| {
            &one.left_out.unreadable
        }),
    ];
    let mut lines = Vec::new();
    for (why_it, why_they, of) in kinds {
        let paths: Vec<String> = drift
            .resources
            .iter()
            .flat_map(|one| {
                let place = one.subject.location.to_string();
                of(one).iter().map(move |path| format!("{place}{path}"))
            })
            .collect();
        if paths.is_empty() {
            continue;
        }
        if lines.is_empty() {
            lines.push(String::new());
        }
        let (counted, why) = match paths.len() {
            1 => ("1 property was".to_owned(), why_it),
            number => (format!("{number} properties were"), why_they),
        };
        let shown =
            if style.verbose { format!(": {}", listed(paths, style)) } else { String::new() };
        lines.push(format!("{counted} not compared, since {why}{shown}"));
    }
    lines
}

/// Renders what became of resources that were moved in an environment: how many are what they were,
/// and those that are not, or of which nobody can say; all of them if the style is verbose.
pub fn verified(verification: &Verification, style: Style) -> String {
    let (heading, lines) = verified_parts(verification, style);
    let lines: Vec<String> = lines.into_iter().map(|(line, paint)| paint(line)).collect();
    [vec![paint::heading(heading)], lines].concat().join("\n") + "\n"
}

/// Renders the same as lines without colours.
pub fn verified_lines(verification: &Verification) -> Vec<String> {
    let (heading, lines) = verified_parts(verification, Style::default());
    [vec![heading], lines.into_iter().map(|(line, _)| line).collect()].concat()
}

/// A line, and how it is painted.
type Painted = (String, fn(String) -> String);

fn verified_parts(verification: &Verification, style: Style) -> (String, Vec<Painted>) {
    let Verification { environment, moves } = verification;
    let same = moves.iter().filter(|one| one.standing == Standing::InSync).count();
    let plainly: fn(String) -> String = |line| line;
    let mut lines: Vec<Painted> = Vec::new();
    for one in moves {
        let what = match &one.standing {
            Standing::InSync if !style.verbose => continue,
            Standing::InSync => "unchanged".to_owned(),
            Standing::Gone => "gone".to_owned(),
            Standing::Drifted(_) => "CHANGED".to_owned(),
            Standing::Unverified(why) => format!("not verified: {why}"),
        };
        let [source, destination, kind, what] =
            [&*one.source, &*one.destination, one.resource_type.as_str(), &*what].map(plain);
        lines.push((format!("  {source} → {destination}  {kind}  {what}"), plainly));
        let inner = standing(&one.standing, altered).into_iter();
        lines.extend(inner.map(|(line, paint)| (format!("  {line}"), paint)));
    }
    (heading(environment, same, moves.len()), lines)
}

fn heading(environment: &Environment, same: usize, all: usize) -> String {
    let place = environment.to_string();
    let place = plain(&place);
    if same == all {
        let verb = if all == 1 { "is what it was" } else { "are what they were" };
        return format!("{place}: verified: {} {verb}", count(all, "moved resource"));
    }
    let verb = if same == 1 { "is what it was" } else { "are what they were" };
    format!("{place}: verified: {same} of {} {verb}", count(all, "moved resource"))
}
