//! The events of a log as a graph, newest first, as `git log --graph` draws it.

use super::HistoryView;
use super::log::{parents, summary};
use crate::history::{EventHash, Log};
use crate::report::text::{paint, plain};

/// Renders the events of a log with lines between each and those before it.
pub fn graph(log: &Log, view: &HistoryView) -> String {
    let heads: Vec<EventHash> = log.heads().iter().map(|head| head.event).collect();
    let mut out = String::new();
    let mut lanes: Vec<EventHash> = Vec::new();
    let limit = view.limit.unwrap_or(usize::MAX);
    for (hash, event) in log.events().rev().take(limit) {
        let lane = lanes.iter().position(|waiting| *waiting == hash).unwrap_or_else(|| {
            lanes.push(hash);
            lanes.len() - 1
        });
        // Branches that began here come together.
        while let Some(other) = (lane + 1..lanes.len()).find(|at| lanes[*at] == hash) {
            push(&mut out, &joining(lanes.len(), lane, other), "");
            lanes.remove(other);
        }
        let node: String =
            (0..lanes.len()).map(|at| if at == lane { "* " } else { "| " }).collect();
        let mark = if heads.contains(&hash) { " (head)" } else { "" };
        let fades = !view.concerns(event);
        let what =
            if fades { "(nothing in this environment)".to_owned() } else { summary(log, event) };
        let text = format!("{}  {}  {what}{mark}", paint::change(hash.short()), plain(&event.at));
        push(&mut out, &node, &text);
        match parents(log, event)[..] {
            [] => {
                lanes.remove(lane);
            }
            [parent] => lanes[lane] = parent,
            [ref first @ .., last] => {
                lanes[lane] = first[0];
                lanes.insert(lane + 1, last);
                push(&mut out, &parting(lanes.len(), lane), "");
            }
        }
    }
    if out.is_empty() { "No events.\n".to_owned() } else { out }
}

fn push(out: &mut String, drawing: &str, text: &str) {
    let line = format!("{drawing}{text}");
    out.push_str(line.trim_end());
    out.push('\n');
}

/// The row in which a lane ends in one further left, and those right of it move up.
fn joining(lanes: usize, into: usize, from: usize) -> String {
    let mut row = vec![' '; lanes * 2];
    for at in 0..lanes {
        if at < from {
            row[at * 2] = '|';
        } else {
            row[at * 2 - 1] = '/';
        }
    }
    let gaps = row.iter_mut().take(from * 2 - 1).skip(into * 2 + 1).step_by(2);
    gaps.for_each(|gap| *gap = '_');
    row.into_iter().collect()
}

/// The row in which a lane parts in two, and those right of it make room.
fn parting(lanes: usize, lane: usize) -> String {
    let mut row = vec![' '; lanes * 2];
    for at in 0..lanes {
        if at <= lane {
            row[at * 2] = '|';
        } else {
            row[at * 2 - 1] = '\\';
        }
    }
    row.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Event, What};

    /// Draws events, each by its name and with those before it: `A(), B(A), C(A)`.
    fn drawn(events: &str) -> String {
        let mut log = Log::default();
        let mut names: Vec<(String, EventHash)> = Vec::new();
        for word in events.split(", ") {
            let (name, parents) = word.trim_end_matches(')').split_once('(').unwrap();
            let of = |name: &str| names.iter().find(|(other, _)| other == name).unwrap().1;
            let mut parents: Vec<EventHash> = parents.split_whitespace().map(of).collect();
            parents.sort();
            let event = Event {
                parents,
                at: name.into(),
                same_as: None,
                toward: None,
                what: What::default(),
            };
            names.push((name.to_owned(), log.append(event).unwrap()));
        }
        let text = graph(&log, &HistoryView::default());
        let text = anstream::adapter::strip_str(&text).to_string();
        let line = |line: &str| {
            // The first one is the event itself, the others are those that it merges.
            let all =
                names.iter().filter_map(|(name, hash)| Some((line.find(&hash.short())?, name)));
            let known = all.min();
            known.map_or_else(|| line.to_owned(), |(at, name)| format!("{}{name}", &line[..at]))
        };
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn branches_come_together_where_they_began() {
        let expected = ["* D", "| * C", "| | * B", "|/ /", "|/", "* A"];
        assert_eq!(drawn("A(), B(A), C(A), D(A)"), expected.join("\n"));
    }

    #[test]
    fn a_branch_goes_around_another_one() {
        let expected = ["* D", "| * C", "| | * E", "|_|/", "* | A", "|/", "* R"];
        assert_eq!(drawn("R(), A(R), E(A), C(R), D(A)"), expected.join("\n"));
    }

    #[test]
    fn a_merge_parts_in_two_and_makes_room_for_that() {
        let found = drawn("R(), A(R), B(R), M(A B), N(R), O(M)");
        let lines: Vec<&str> = found.lines().collect();
        assert_eq!(lines[..4], ["* O", "| * N", "* | M", "|\\ \\"], "{found}");
        assert_eq!(lines.last(), Some(&"* R"), "{found}");
    }
}
