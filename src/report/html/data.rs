//! What the script needs to draw trees and to filter: where everything is, and what it is. What is
//! said of it is in the markup.

use rustc_hash::FxHashMap as HashMap;
use serde_json::{Value as Json, json};

use super::groups::Part;
use super::words;
use crate::analyze::model::Certainty;
use crate::analyze::{ChangePlace, StackFate};
use crate::report::text::plain;

/// Texts, each with a number: types are repeated thousands of times.
#[derive(Default)]
struct Table {
    numbers: HashMap<String, usize>,
    texts: Vec<String>,
}

impl Table {
    fn number(&mut self, text: &str) -> usize {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        self.numbers.insert(text.to_owned(), self.texts.len());
        self.texts.push(plain(text).into_owned());
        self.texts.len() - 1
    }
}

/// Returns the data: `types`, `tags` (name, sign and word of each effect) and `environments`, each
/// with `name`, `stacks` (name and fate), `changes` and `same`.
///
/// A change, in the order of its number on the page: kind, type, effect, risk, whether it is
/// certain, whether it moved, before, after. What stays, in the order of the page: type and place.
/// A place: stack, logical ID, construct path; 0 where there is none.
pub(super) fn data(parts: &[Part<'_>]) -> Json {
    let mut types = Table::default();
    let environments: Vec<Json> = parts.iter().map(|part| environment(part, &mut types)).collect();
    json!({"types": types.texts, "tags": words::TAGS, "environments": environments})
}

fn environment(part: &Part<'_>, types: &mut Table) -> Json {
    let mut stacks = Table::default();
    let mut fates = Vec::new();
    for group in &part.groups {
        stacks.number(group.name);
        fates.push(match group.stack.map(|stack| stack.fate) {
            Some(StackFate::New) => "new",
            Some(StackFate::Left) => "left",
            Some(StackFate::Removed) => "removed",
            _ => "kept",
        });
    }
    let mut changes = Vec::new();
    for change in &part.environment.changes {
        changes.push(json!([
            change.kind.to_string(),
            types.number(&words::kind(change)),
            words::tag(change),
            words::risk(change.risk),
            u8::from(change.certainty == Certainty::Certain),
            u8::from(change.is_moved()),
            place(change.before.as_ref(), &mut stacks),
            place(change.after.as_ref(), &mut stacks),
        ]));
    }
    let mut same = Vec::new();
    for (kind, at) in part.groups.iter().flat_map(|group| &group.unchanged) {
        same.push(json!([types.number(kind), place(Some(at), &mut stacks)]));
    }
    fates.resize(stacks.texts.len(), "kept");
    let stacks: Vec<_> = stacks.texts.into_iter().zip(fates).collect();
    json!({"name": plain(&part.environment.environment.to_string()), "stacks": stacks,
        "changes": changes, "same": same})
}

fn place(place: Option<&ChangePlace>, stacks: &mut Table) -> Json {
    let Some(place) = place else { return json!(0) };
    let path = place.path.as_deref().map_or_else(|| json!(0), |path| json!(plain(path)));
    json!([stacks.number(&place.stack), plain(&place.logical_id), path])
}
