//! What the stacks look like at a point in time, and what differs between two.

use std::collections::BTreeMap;

use super::log::{LISTED, lines, resources};
use super::{HistoryView, place_of, stack};
use crate::history::{Changes, EventHash, ResourceRecord, Snapshot, StackDifference, StackKey};
use crate::model::LogicalId;
use crate::report::text::{self, count, paint, plain};
use crate::settings::Scope;

/// Names of constructs that only say that they are the thing itself.
const ITSELF: [&str; 2] = ["Resource", "Default"];

/// Renders stacks with the constructs in them, as trees.
pub fn snapshot(snapshot: &Snapshot, view: &HistoryView) -> String {
    let blocks: Vec<String> = snapshot
        .stacks()
        .filter(|(key, _)| view.has(key))
        .map(|(key, record)| {
            let mut rows = Vec::new();
            let mut root = Node::default();
            let skipped = common(&record.resources);
            for (id, resource) in &record.resources {
                root.add(skipped, id, resource);
            }
            root.draw("", &mut rows);
            let number = count(record.resources.len(), "resource");
            let mut block = vec![format!("{}  {number}", paint::heading(stack(key)))];
            block.extend(text::columns(&rows));
            lines(block)
        })
        .collect();
    if blocks.is_empty() { "No stacks.\n".to_owned() } else { blocks.join("\n") }
}

/// A construct with those in it.
#[derive(Default)]
struct Node<'a> {
    inside: BTreeMap<&'a str, Self>,
    resource: Option<(&'a LogicalId, &'a ResourceRecord)>,
    /// Resources whose construct is not known.
    loose: Vec<(&'a LogicalId, &'a ResourceRecord)>,
}

impl<'a> Node<'a> {
    /// Adds a resource, of whose path the first components are those of the stack itself.
    fn add(&mut self, skipped: usize, id: &'a LogicalId, resource: &'a ResourceRecord) {
        let Some(path) = &resource.path else { return self.loose.push((id, resource)) };
        let mut node = self;
        for component in path.components().skip(skipped) {
            node = node.inside.entry(component).or_default();
        }
        if node.resource.is_none() {
            node.resource = Some((id, resource));
        } else {
            node.loose.push((id, resource));
        }
    }

    /// The resource that a construct is.
    fn own(&self) -> Option<(&'a LogicalId, &'a ResourceRecord)> {
        let only = ITSELF.iter().find_map(|name| {
            let inside = self.inside.get(name)?;
            inside.inside.is_empty().then_some(inside.resource?)
        });
        self.resource.or(only)
    }

    fn draw(&self, indent: &str, rows: &mut Vec<Vec<String>>) {
        let hides_itself = self.resource.is_none() && self.own().is_some();
        let shown = self.inside.iter().filter(|(name, node)| {
            let is_own = hides_itself && ITSELF.contains(name) && node.inside.is_empty();
            // At the top nobody stands for the stack.
            !is_own || indent.is_empty()
        });
        let shown: Vec<_> = shown.collect();
        let last = shown.len() + self.loose.len();
        for (at, (name, node)) in shown.into_iter().enumerate() {
            let (branch, further) = corner(at + 1 == last);
            let label = format!("{indent}{branch}{}", plain(name));
            rows.push(row(label, node.own()));
            node.draw(&format!("{indent}{further}"), rows);
        }
        for (at, (id, resource)) in self.loose.iter().enumerate() {
            let (branch, _) = corner(last - self.loose.len() + at + 1 == last);
            rows.push(row(format!("{indent}{branch}·"), Some((id, resource))));
        }
    }
}

fn row(label: String, own: Option<(&LogicalId, &ResourceRecord)>) -> Vec<String> {
    let mut row = vec![label];
    if let Some((id, resource)) = own {
        row.push(plain(resource.resource_type.as_str()).into_owned());
        row.push(plain(id.as_str()).into_owned());
    }
    row
}

fn corner(is_last: bool) -> (&'static str, &'static str) {
    if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") }
}

/// How many components all paths begin with: those of the stack. The last component is always
/// that of a resource.
fn common(resources: &BTreeMap<LogicalId, ResourceRecord>) -> usize {
    let mut paths = resources.values().filter_map(|resource| resource.path.as_ref());
    let Some(first) = paths.next() else { return 0 };
    let first: Vec<&str> = first.components().collect();
    let mut same = first.len().saturating_sub(1).min(1);
    if resources.len() > 1 {
        same = first.len().saturating_sub(1);
        for path in paths {
            let equal = path.components().zip(&first).take_while(|(a, b)| a == *b).count();
            same = same.min(equal).min(path.components().count().saturating_sub(1));
        }
    }
    same
}

/// Renders what became of the stacks between two events.
pub fn difference(
    changes: &Changes,
    (from, to): (EventHash, EventHash),
    view: &HistoryView,
) -> String {
    let mut out = Vec::new();
    out.push(match changes.events {
        Some(events) => {
            format!("{} → {}  {}", from.short(), to.short(), count(events, "event"))
        }
        None => format!(
            "{} → {}  neither follows from the other: by name only, moves are not known",
            from.short(),
            to.short()
        ),
    });
    let moves = moved(changes, view);
    if !moves.is_empty() {
        out.push(String::new());
        out.extend(moves);
    }
    out.extend(stacks(&changes.difference, view));
    if out.len() == 1 {
        out.push("The stacks are the same.".to_owned());
    }
    lines(out)
}

/// What moved, by environment.
pub(super) fn moved(changes: &Changes, view: &HistoryView) -> Vec<String> {
    let mut scopes: BTreeMap<&Scope, Vec<Vec<String>>> = BTreeMap::new();
    for moved in &changes.moved {
        if !view.has(&moved.source.0) && !view.has(&moved.destination.0) {
            continue;
        }
        let events: Vec<String> = moved.events.iter().map(EventHash::short).collect();
        let name =
            |(key, id): &(StackKey, LogicalId)| plain(&format!("{}.{id}", key.name)).into_owned();
        scopes.entry(&moved.destination.0.scope).or_default().push(vec![
            format!("    {}", plain(moved.resource_type.as_str())),
            name(&moved.source),
            format!("→ {}", name(&moved.destination)),
            format!("({})", events.join(", ")),
        ]);
    }
    let mut out = Vec::new();
    for (scope, rows) in scopes {
        out.push(paint::heading(format!("Moved{}", place_of(scope))));
        out.extend(text::columns(&rows));
    }
    out
}

pub(super) fn stacks(
    difference: &crate::history::SnapshotDifference,
    view: &HistoryView,
) -> Vec<String> {
    let mut out = Vec::new();
    let head = |out: &mut Vec<String>, mark: String, key: &StackKey, remark: &str| {
        out.push(String::new());
        out.push(format!("{mark} {}{remark}", paint::heading(stack(key))));
    };
    for (key, record) in difference.created.iter().filter(|(key, _)| view.has(key)) {
        head(&mut out, paint::gain("+"), key, "");
        out.extend(resources(&record.resources, "+", view));
    }
    for (key, one) in difference.updated.iter().filter(|(key, _)| view.has(key)) {
        let StackDifference { added, removed, changed, .. } = one;
        let is_bare = added.is_empty() && removed.is_empty() && changed.is_empty();
        let remark = if is_bare { "  the template differs" } else { "" };
        head(&mut out, paint::change("~"), key, remark);
        out.extend(resources(added, "+", view));
        let now = changed.iter().map(|(id, (_, now))| (id.clone(), now.clone())).collect();
        out.extend(resources(&now, "~", view));
        out.extend(resources(removed, "-", view));
    }
    for (key, record) in difference.deleted.iter().filter(|(key, _)| view.has(key)) {
        head(&mut out, paint::loss("-"), key, "");
        out.extend(resources(&record.resources, "-", view));
    }
    out
}

/// Renders how an app differs from the last state of a log.
pub fn checked(
    head: Option<EventHash>,
    difference: &crate::history::SnapshotDifference,
    misplaced: &[StackKey],
) -> String {
    let mut out = Vec::new();
    match head {
        None => out.push("Nothing was recorded yet.".to_owned()),
        Some(head) if *difference != crate::history::SnapshotDifference::default() => {
            out.push(format!("The app is not as the log says, which ends with {}:", head.short()));
        }
        Some(_) => {}
    }
    if head.is_some() {
        let view = HistoryView { resources: Some(LISTED), ..HistoryView::default() };
        out.extend(stacks(difference, &view));
    }
    for key in misplaced {
        out.push(format!("The template of {} is not in cdkr.history/.", stack(key)));
    }
    if out.is_empty() {
        return "The app is as the log says.\n".to_owned();
    }
    out.push(String::new());
    out.push(format!("To record it: {}", paint::command("cdkr history record")));
    lines(out)
}
