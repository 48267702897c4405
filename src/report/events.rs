//! What happens while we work, a line for each event.

use serde_json::{Value as Json, json};

use super::text::plain;
use crate::event::{Event, MoveStatus, Remote};
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
        Event::Note { text } => text.clone(),
        #[expect(unreachable_patterns, reason = "events may be added")]
        _ => return None,
    };
    Some(plain(&text).into_owned())
}

/// The time of the day of a timestamp of AWS: `2026-11-21T08:47:39.123Z`.
fn time(at: &str) -> &str {
    at.split_once('T').and_then(|(_, time)| time.get(..8)).unwrap_or(at)
}

/// Renders an event as one line of JSON, without the line's end; nothing for what is of no use to
/// a program.
pub fn event_json(event: &Event) -> Option<String> {
    let place = |environment: &Environment| {
        (environment.account.as_str().to_owned(), environment.region.as_str().to_owned())
    };
    let (name, environment, mut members): (&str, Option<&Environment>, Json) = match event {
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
                Remote::Asset => "asset",
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

fn move_status(status: MoveStatus) -> &'static str {
    match status {
        MoveStatus::InProgress => "IN_PROGRESS",
        MoveStatus::Complete => "COMPLETE",
        MoveStatus::Failed => "FAILED",
    }
}
