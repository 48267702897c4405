//! The way back: what undoes the steps of a run that are done. Pure.
//!
//! Every stack gets back, byte for byte, the template that it had before. That is right as long
//! as nothing has changed it since, which is checked before anything is done.

use std::collections::BTreeMap;
use std::ops::Range;

use super::journal::{Before, Begin, Deletion, Kind, Task, VERSION};
use super::rules::FILLER;
use super::state::State;
use crate::model::{Object, Text, Value};
use crate::plan::{Action, Batch, BatchStack, Change, Move, Plan, Purpose, Step, body_digest};
use crate::template;

/// Returns what undoes the steps that are done, in reverse order.
///
/// # Errors
/// A sentence about a template that cannot be read.
pub(super) fn reversal(state: &State, id: &str, reverses: &str) -> Result<Begin, String> {
    let (mut steps, mut deletions) = (Vec::new(), Vec::new());
    let sent = Sent::of(&state.begin);
    let count = state.begin.plan.steps.len();
    for step in (0..count).rev() {
        let (Some(before), Some(task)) = (state.before(step), state.begin.task(step)) else {
            continue;
        };
        match task {
            Task::Refactor(batch) => {
                refactor(state, batch, &sent.restored(before), &mut steps, &mut deletions)?;
            }
            Task::Change(each) => {
                change(state, each, &sent.restored(before), &mut steps, &mut deletions);
            }
            Task::Delete(_) => {}
        }
    }
    // One after another: that is the order in which the templates fit each other.
    let steps = steps.into_iter().enumerate();
    let steps = steps.map(|(at, action)| Step { after: (0..at).collect(), action }).collect();
    let plan = &state.begin.plan;
    Ok(Begin {
        version: VERSION,
        cdkr: env!("CARGO_PKG_VERSION").to_owned(),
        id: id.to_owned(),
        kind: Kind::Reversal,
        reverses: Some(reverses.to_owned()),
        plan: Plan {
            account: plan.account.clone(),
            region: plan.region.clone(),
            steps,
            staying: Vec::new(),
            findings: Vec::new(),
        },
        deletions,
        roles: state.begin.roles.clone(),
        new_stacks: state.begin.new_stacks.clone(),
    })
}

fn refactor(
    state: &State,
    batch: &Batch,
    before: &[Before],
    steps: &mut Vec<Action>,
    deletions: &mut Vec<Deletion>,
) -> Result<(), String> {
    let mut stacks = Vec::new();
    for sent in &batch.stacks {
        let id = state.ids.get(&sent.name).cloned();
        let old = before.iter().find(|old| old.name == sent.name).and_then(|old| old.body.clone());
        let (now, template) = match old {
            Some(body) => (body_digest(&sent.template), body),
            // The refactor has made the stack. It cannot become empty by another one.
            None => {
                let (filled, emptied) = fill(&sent.name, &sent.template)?;
                let change = Change {
                    stack: sent.name.clone(),
                    id: id.clone(),
                    purpose: Purpose::Fill,
                    before: Some(body_digest(&sent.template)),
                    template: filled.clone(),
                    parameters: Vec::new(),
                    capabilities: capabilities(),
                    retained: Vec::new(),
                };
                steps.push(Action::Change(change));
                let gone = Deletion {
                    stack: sent.name.clone(),
                    id: id.clone(),
                    before: body_digest(&emptied),
                };
                deletions.push(gone);
                (body_digest(&filled), emptied)
            }
        };
        stacks.push(BatchStack { name: sent.name.clone(), id, before: Some(now), template });
    }
    let mut moves: Vec<Move> = batch
        .moves
        .iter()
        .map(|each| Move {
            source: each.destination.clone(),
            destination: each.source.clone(),
            ..each.clone()
        })
        .collect();
    moves.sort_by(|a, b| a.source.cmp(&b.source));
    steps.push(Action::Refactor(Batch { stacks, moves }));
    Ok(())
}

fn change(
    state: &State,
    change: &Change,
    before: &[Before],
    steps: &mut Vec<Action>,
    deletions: &mut Vec<Deletion>,
) {
    let id = state.ids.get(&change.stack).cloned();
    let now = body_digest(&change.template);
    match before.first().and_then(|old| old.body.clone()) {
        None => deletions.push(Deletion { stack: change.stack.clone(), id, before: now }),
        Some(body) => steps.push(Action::Change(Change {
            stack: change.stack.clone(),
            id,
            purpose: match change.purpose {
                Purpose::RemoveFiller => Purpose::Fill,
                Purpose::Create | Purpose::Prepare | Purpose::Fill => Purpose::RemoveFiller,
                Purpose::Retain => Purpose::Release,
                Purpose::Release => Purpose::Retain,
            },
            before: Some(now),
            template: body,
            parameters: Vec::new(),
            capabilities: capabilities(),
            retained: change.retained.clone(),
        })),
    }
}

/// The text literals of the templates that were sent, by what CloudFormation gives back of them:
/// `?` for every character outside of ASCII. `None`: there are several.
struct Sent<'a>(BTreeMap<String, Option<&'a str>>);

impl<'a> Sent<'a> {
    fn of(begin: &'a Begin) -> Self {
        let mut known: BTreeMap<String, Option<&str>> = BTreeMap::new();
        let tasks = (0..begin.steps()).filter_map(|step| begin.task(step));
        for (_, template) in tasks.flat_map(Task::templates) {
            for literal in literals(template).map(|at| &template[at]) {
                let folded = literal.replace(|c: char| !c.is_ascii(), "?");
                if folded.contains('?') {
                    let entry = known.entry(folded).or_insert(Some(literal));
                    *entry = entry.filter(|other| *other == literal);
                }
            }
        }
        Self(known)
    }

    /// Returns stacks with the characters outside of ASCII that are known. What is sent without
    /// them would be a modification; the digest of the template is the same.
    fn restored(&self, stacks: &[Before]) -> Vec<Before> {
        let restored = stacks.iter().map(|stack| Before {
            body: stack.body.as_deref().map(|body| self.restore(body)),
            ..stack.clone()
        });
        restored.collect()
    }

    fn restore(&self, body: &str) -> String {
        let (mut out, mut copied) = (String::with_capacity(body.len()), 0);
        for at in literals(body) {
            if let Some(Some(original)) = self.0.get(&body[at.clone()]) {
                out.push_str(&body[copied..at.start]);
                out.push_str(original);
                copied = at.end;
            }
        }
        out.push_str(&body[copied..]);
        out
    }
}

/// Where the string literals of a JSON text are, with their quotes; none in YAML.
fn literals(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut next = if text.trim_start().starts_with('{') { 0 } else { text.len() };
    std::iter::from_fn(move || {
        let start = next + bytes[next..].iter().position(|byte| *byte == b'"')?;
        let mut end = start + 1;
        while *bytes.get(end)? != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        next = end + 1;
        Some(start..next)
    })
}

/// All of them: what is in the stack has been acknowledged when it came there.
fn capabilities() -> Vec<String> {
    ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"].map(str::to_owned).into()
}

/// Returns a template with a filler, and what is left of it when everything else has gone.
fn fill(stack: &str, body: &str) -> Result<(String, String), String> {
    let parsed = template::parse(body.as_bytes());
    let mut sections =
        parsed.map_err(|error| format!("the template of {stack}: {error}"))?.sections;
    let mut resources =
        sections.get("Resources").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut name = Text::from("CdkrFiller");
    while resources.contains_key(&name) {
        name.push('X');
    }
    let mut filler = Object::new();
    filler.insert("Type".into(), Value::String(FILLER.into()));
    resources.insert(name.clone(), Value::Object(filler.clone()));
    sections.insert("Resources".into(), Value::Object(resources));
    let filled = template::json::to_pretty(&Value::Object(sections.clone()));
    let mut left = Object::new();
    left.insert(name, Value::Object(filler));
    sections.insert("Resources".into(), Value::Object(left));
    sections.remove("Outputs");
    Ok((filled, template::json::to_pretty(&Value::Object(sections))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_cloudformation_does_not_give_back_are_taken_from_what_was_sent() {
        let mut known = BTreeMap::new();
        known.insert("\"Gr??e \\\" ?\"".to_owned(), Some("\"Größe \\\" ß\""));
        known.insert("\"?\"".to_owned(), None);
        let sent = Sent(known);
        let body = r#"{"A": "Gr??e \" ?", "B": "?", "C": "x"}"#;
        assert_eq!(sent.restore(body), r#"{"A": "Größe \" ß", "B": "?", "C": "x"}"#);
        let yaml = "A: \"?\"";
        assert_eq!(sent.restore(yaml), yaml);
    }

    #[test]
    fn a_stack_that_is_to_go_keeps_a_filler_and_nothing_that_refers_to_what_left() {
        let body = r#"{"Description":"d","Resources":{"CdkrFiller":{"Type":"T"}},
            "Outputs":{"O":{"Value":{"Ref":"CdkrFiller"}}}}"#;
        let (filled, emptied) = fill("S", body).unwrap();
        let filled: serde_json::Value = serde_json::from_str(&filled).unwrap();
        assert_eq!(filled["Resources"]["CdkrFillerX"]["Type"], FILLER);
        assert_eq!(filled["Resources"]["CdkrFiller"]["Type"], "T");
        let emptied: serde_json::Value = serde_json::from_str(&emptied).unwrap();
        assert_eq!(
            emptied,
            serde_json::json!({"Description":"d","Resources":{"CdkrFillerX":{"Type":FILLER}}})
        );
    }
}
