//! What happens while we work, a line for each event.

use serde_json::{Value as Json, json};

use super::text::plain;
use crate::event::{AssetKind, AssetStatus, Event, MoveStatus, Remote, StackOutcome};
use crate::model::Environment;

/// Renders an event as a line for people; nothing for what only matters while it is drawn.
pub fn event_line(event: &Event) -> Option<String> {
    let text = match event {
        Event::Synthesizing { .. } | Event::Reading { .. } | Event::Remote { .. } => return None,
        Event::Waiting { environment, stack, status } => {
            format!("{environment}: waiting for stack {stack} ({status})")
        }
        Event::StepStarted { environment, step, of, title } => {
            format!("{environment}: step {step} of {of}: {title}")
        }
        Event::StepDone { .. } => return None,
        Event::Moving {
            done, of, at, status, resource_type, source, destination, reason, ..
        } => {
            let at = at.as_deref().map_or("", time);
            let why = reason.as_ref().map(|reason| format!(" | {reason}")).unwrap_or_default();
            format!(
                "{done:>width$}/{of} | {at:>8} | {:<20} | {resource_type} | {source} | {destination}{why}",
                status.as_str(),
                width = of.to_string().len()
            )
        }
        Event::Stack { stack, at, logical_id, resource_type, status, reason, .. } => {
            let why = reason.as_ref().map(|reason| format!(" | {reason}")).unwrap_or_default();
            format!("{stack} | {} | {status} | {resource_type} | {logical_id}{why}", time(at))
        }
        Event::Deploying { environment, stack, title } => {
            let title = title.as_ref().map(|title| format!(" ({title})")).unwrap_or_default();
            format!("{environment}: deploying {stack}{title}")
        }
        Event::Deployed { environment, stack, outcome } => {
            let outcome = match outcome {
                StackOutcome::Created => "created",
                StackOutcome::Updated => "updated",
                StackOutcome::Unchanged => "no changes",
                StackOutcome::Prepared => "a change set is prepared",
                StackOutcome::Failed => "not deployed",
            };
            format!("{environment}: {stack}: {outcome}")
        }
        Event::Asset { environment, id, kind, status, done, of } => {
            let status = asset_status(*status)?;
            let kind = match kind {
                AssetKind::File => "asset",
                AssetKind::Image => "image",
            };
            format!("{environment}: {kind} {}: {status} ({done}/{of})", short(id))
        }
        Event::Output { id, line } => format!("{}: {line}", short(id)),
        Event::Note { text } => text.clone(),
        #[expect(unreachable_patterns, reason = "events may be added")]
        _ => return None,
    };
    Some(plain(&text).into_owned())
}

/// What people see of an asset; nothing of what was there already.
fn asset_status(status: AssetStatus) -> Option<String> {
    let sized = |text: &str, bytes: Option<u64>| match bytes {
        Some(bytes) => format!("{text}, {}", size(bytes)),
        None => text.to_owned(),
    };
    Some(match status {
        AssetStatus::Exists => return None,
        AssetStatus::Building => "building".to_owned(),
        AssetStatus::Publishing { bytes } => sized("publishing", bytes),
        AssetStatus::Published { bytes } => sized("published", bytes),
    })
}

/// A number of bytes, in four digits or less up to the largest unit.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 3] = ["kB", "MB", "GB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut tenths = bytes / 100;
    let mut unit = 0;
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1000;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// The ID of an asset is a digest: its beginning tells it from the others.
fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

/// The time of the day of a timestamp of AWS: `2026-11-21T08:47:39.123Z`.
fn time(at: &str) -> &str {
    at.split_once('T').and_then(|(_, time)| time.get(..8)).unwrap_or(at)
}

/// The name of an event, where it happens, and what else is told of it.
type Told<'a> = (&'static str, Option<&'a Environment>, Json);

/// Renders an event as one line of JSON, without the line's end; nothing for what is of no use to
/// a program.
pub fn event_json(event: &Event) -> Option<String> {
    let place = |environment: &Environment| {
        (environment.account.as_str().to_owned(), environment.region.as_str().to_owned())
    };
    let (name, environment, mut members): Told<'_> = match event {
        Event::Synthesizing { .. } | Event::Reading { .. } => return None,
        Event::Waiting { environment, stack, status } => (
            "waiting",
            Some(environment),
            json!({"stack": stack.as_str(), "status": status.0.as_str()}),
        ),
        Event::StepStarted { environment, step, of, title } => {
            ("step", Some(environment), json!({"step": step, "of": of, "title": title}))
        }
        Event::StepDone { environment, step, of } => {
            ("stepDone", Some(environment), json!({"step": step, "of": of}))
        }
        Event::Remote { environment, what, id, status } => {
            let what = match what {
                Remote::Refactor => "refactor",
                Remote::ChangeSet => "changeSet",
                Remote::Deletion => "deletion",
            };
            ("remote", Some(environment), json!({"what": what, "id": id, "status": status}))
        }
        Event::Moving {
            environment,
            done,
            of,
            at,
            status,
            resource_type,
            source,
            destination,
            reason,
        } => (
            "moving",
            Some(environment),
            json!({
                "done": done, "of": of, "at": at, "status": move_status(*status),
                "type": resource_type, "source": source, "destination": destination,
                "reason": reason,
            }),
        ),
        Event::Stack { environment, stack, at, logical_id, resource_type, status, reason } => (
            "stack",
            Some(environment),
            json!({
                "stack": stack.as_str(), "at": at, "logicalId": logical_id,
                "type": resource_type, "status": status, "reason": reason,
            }),
        ),
        Event::Deploying { .. }
        | Event::Deployed { .. }
        | Event::Asset { .. }
        | Event::Output { .. } => deployment_json(event)?,
        Event::Note { text } => ("note", None, json!({"text": text})),
        #[expect(unreachable_patterns, reason = "events may be added")]
        _ => return None,
    };
    members["event"] = name.into();
    if let Some((account, region)) = environment.map(place) {
        members["account"] = account.into();
        members["region"] = region.into();
    }
    Some(super::json::escaped(&members.to_string()))
}

/// What is told of assets and of stacks as a whole.
fn deployment_json(event: &Event) -> Option<Told<'_>> {
    Some(match event {
        Event::Deploying { environment, stack, title } => {
            ("deploying", Some(environment), json!({"stack": stack.as_str(), "title": title}))
        }
        Event::Deployed { environment, stack, outcome } => (
            "deployed",
            Some(environment),
            json!({"stack": stack.as_str(), "outcome": stack_outcome(*outcome)}),
        ),
        Event::Asset { environment, id, kind, status, done, of } => {
            ("asset", Some(environment), asset(id, *kind, *status, (*done, *of)))
        }
        Event::Output { id, line } => ("output", None, json!({"asset": id, "line": line})),
        _ => return None,
    })
}

fn move_status(status: MoveStatus) -> &'static str {
    match status {
        MoveStatus::InProgress => "IN_PROGRESS",
        MoveStatus::Complete => "COMPLETE",
        MoveStatus::Failed => "FAILED",
    }
}

fn stack_outcome(outcome: StackOutcome) -> &'static str {
    match outcome {
        StackOutcome::Created => "CREATED",
        StackOutcome::Updated => "UPDATED",
        StackOutcome::Unchanged => "UNCHANGED",
        StackOutcome::Prepared => "PREPARED",
        StackOutcome::Failed => "FAILED",
    }
}

fn asset(id: &str, kind: AssetKind, status: AssetStatus, (done, of): (usize, usize)) -> Json {
    let kind = match kind {
        AssetKind::File => "file",
        AssetKind::Image => "image",
    };
    let (status, bytes) = match status {
        AssetStatus::Exists => ("EXISTS", None),
        AssetStatus::Building => ("BUILDING", None),
        AssetStatus::Publishing { bytes } => ("PUBLISHING", bytes),
        AssetStatus::Published { bytes } => ("PUBLISHED", bytes),
    };
    json!({"id": id, "kind": kind, "status": status, "bytes": bytes, "done": done, "of": of})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment() -> Vec<Event> {
        let environment = Environment::new("111111111111", "eu-west-1");
        let asset = |kind, status, done| Event::Asset {
            environment: environment.clone(),
            id: "0123456789abcdef".to_owned(),
            kind,
            status,
            done,
            of: 2,
        };
        let deployed = |outcome| Event::Deployed {
            environment: environment.clone(),
            stack: "Web".into(),
            outcome,
        };
        vec![
            asset(AssetKind::File, AssetStatus::Exists, 1),
            asset(AssetKind::Image, AssetStatus::Building, 1),
            Event::Output {
                id: "0123456789abcdef".to_owned(),
                line: "\u{1b}[31mstep 1".to_owned(),
            },
            asset(AssetKind::File, AssetStatus::Publishing { bytes: Some(12_345_678) }, 1),
            asset(AssetKind::Image, AssetStatus::Published { bytes: None }, 2),
            Event::Deploying {
                environment: environment.clone(),
                stack: "Web".into(),
                title: Some("what others import is kept".to_owned()),
            },
            Event::Deploying { environment: environment.clone(), stack: "Db".into(), title: None },
            deployed(StackOutcome::Created),
            deployed(StackOutcome::Unchanged),
            deployed(StackOutcome::Prepared),
            deployed(StackOutcome::Failed),
        ]
    }

    #[test]
    fn people_see_what_is_published_and_deployed_and_not_what_was_there() {
        let lines: Vec<String> = deployment().iter().filter_map(event_line).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn programs_see_everything_that_happens_in_a_deployment() {
        let lines: Vec<String> = deployment().iter().filter_map(event_json).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn sizes_have_at_most_four_digits() {
        let sizes = [0, 999, 1_000, 51_200, 999_949, 1_000_000, 5_000_000_000, u64::MAX].map(size);
        assert_eq!(sizes[..5], ["0 B", "999 B", "1.0 kB", "51.2 kB", "999.9 kB"]);
        assert_eq!(sizes[5..7], ["1.0 MB", "5.0 GB"]);
    }
}
