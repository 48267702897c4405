//! An expression in a form in which every reference is the resource that it means.

use crate::model::Value;
use crate::template::{self, json};

/// The keys of what has no form in a template.
pub(super) const THING: &str = "Cdkr::Thing";
const JOINED: &str = "Cdkr::Joined";
const OPEN: &str = "Cdkr::Open";

/// An expression in the common form.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    pub(super) value: Value,
    /// A part of it is not known.
    pub(super) is_open: bool,
    /// A function is left in it.
    pub(super) is_computed: bool,
    /// How many references are in it to what is there before and after the deployment.
    pub(super) kept: usize,
    /// How many are to what only one side of it has.
    pub(super) others: usize,
}

impl Seen {
    pub(super) fn literal(text: &str) -> Self {
        Self { value: Value::from(text), ..Self::default() }
    }

    pub(super) fn open() -> Self {
        Self { value: Value::from(OPEN), is_open: true, ..Self::default() }
    }

    /// Takes a part in; returns its value.
    pub(super) fn take(&mut self, part: Self) -> Value {
        self.is_open |= part.is_open;
        self.is_computed |= part.is_computed;
        self.kept += part.kept;
        self.others += part.others;
        part.value
    }

    /// Parts one after the other; texts that meet are one.
    pub(super) fn joined(parts: Vec<Self>) -> Self {
        let (mut whole, mut values) = (Self::default(), Vec::new());
        for part in parts {
            let value = whole.take(part);
            let flat = match value.get(JOINED) {
                Some(Value::Array(items)) => items.clone(),
                _ => vec![value],
            };
            for value in flat {
                match (values.last_mut(), value) {
                    (Some(Value::String(last)), Value::String(text)) => last.push_str(&text),
                    (_, Value::String(text)) if text.is_empty() => {}
                    (_, value) => values.push(value),
                }
            }
        }
        let value = match values.len() {
            0 => Value::from(""),
            1 => values.remove(0),
            _ => template::function_call(JOINED, Value::Array(values)),
        };
        Self { value, ..whole }
    }

    /// The text that it is, if it is one.
    pub(super) fn text(&self) -> Option<String> {
        self.value.as_str().filter(|_| self.is_literal()).map(str::to_owned)
    }

    /// A text that is equal for what is the same; `None` if a part of it is not known, or is not
    /// there on both sides.
    pub(super) fn key(&self) -> Option<String> {
        (!self.is_open && self.others == 0).then(|| json::to_compact(&self.value))
    }

    pub(super) fn is_literal(&self) -> bool {
        !self.is_open && !self.is_computed && self.kept + self.others == 0
    }

    /// The place of the thing that it is, if it is nothing but its `Ref`.
    pub(super) fn thing(&self) -> Option<&str> {
        match self.value.get(THING)?.as_array()? {
            [place, Value::Null] => place.as_str().filter(|_| !self.is_open),
            _ => None,
        }
    }

    /// Whether it refers to things, none of which is there before and after.
    pub(super) fn is_of_others(&self) -> bool {
        self.others > 0 && self.kept == 0
    }
}
