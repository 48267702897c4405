//! Reading values of a kind, and noting what is wrong with them.

use super::error::{DeclareError, closest, list};
use super::read::Reader;
use crate::model::{Object, Text, Value};

/// Kinds of values, with what is wrong where they are others.
impl Reader {
    pub(super) fn object<'v>(&mut self, at: &str, value: &'v Value) -> Option<&'v Object> {
        let object = value.as_object();
        if object.is_none() {
            self.wrong_kind(at, "an object", value);
        }
        object
    }

    pub(super) fn array<'v>(&mut self, at: &str, value: &'v Value) -> &'v [Value] {
        value.as_array().unwrap_or_else(|| {
            self.wrong_kind(at, "a list", value);
            &[]
        })
    }

    pub(super) fn text<'v>(&mut self, at: &str, value: &'v Value) -> Option<&'v str> {
        let text = value.as_str();
        if text.is_none() {
            self.wrong_kind(at, "a text", value);
        }
        text
    }

    pub(super) fn word(&mut self, at: &str, key: &str, value: Option<&Value>) -> Option<Text> {
        self.text(&format!("{at}: {key}"), value?).map(Text::from)
    }

    pub(super) fn flag(&mut self, at: &str, key: &str, value: Option<&Value>) -> Option<bool> {
        match value? {
            Value::Bool(flag) => Some(*flag),
            other => {
                self.wrong_kind(&format!("{at}: {key}"), "true or false", other);
                None
            }
        }
    }

    /// Reads a list of texts, or a single one.
    pub(super) fn texts(&mut self, at: &str, value: Option<&Value>) -> Vec<String> {
        match value {
            None => Vec::new(),
            Some(Value::String(text)) => vec![text.to_string()],
            Some(value) => {
                let items = self.array(at, value);
                items.iter().filter_map(|item| self.text(at, item).map(str::to_owned)).collect()
            }
        }
    }

    pub(super) fn known_keys(&mut self, at: &str, object: &Object, known: &[&str]) {
        for (key, _) in object.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
            self.unknown_key(at, key, known);
        }
    }

    pub(super) fn unknown_key(&mut self, at: &str, key: &str, known: &[&str]) {
        self.errors.push(DeclareError::UnknownKey {
            at: at.to_owned(),
            key: key.to_owned(),
            suggestion: closest(key, known.iter().copied()),
            known: list(known.iter().copied()),
        });
    }

    pub(super) fn unknown_word(
        &mut self,
        at: &str,
        value: &str,
        what: &'static str,
        known: &[&str],
    ) {
        self.errors.push(DeclareError::UnknownWord {
            at: at.to_owned(),
            value: value.to_owned(),
            what,
            suggestion: closest(value, known.iter().copied()),
            known: list(known.iter().copied()),
        });
    }

    pub(super) fn wrong_kind(&mut self, at: &str, expected: &'static str, value: &Value) {
        let found = match value {
            Value::String(text) => format!("`{text}`"),
            Value::Number(number) => number.to_string(),
            other => other.kind().to_owned(),
        };
        self.errors.push(DeclareError::WrongKind { at: at.to_owned(), expected, found });
    }

    pub(super) fn missing(&mut self, at: &str, what: &'static str) {
        self.errors.push(DeclareError::Missing { at: at.to_owned(), what });
    }

    pub(super) fn pattern(&mut self, at: &str, pattern: &str, message: String) {
        let (at, pattern) = (at.to_owned(), pattern.to_owned());
        self.errors.push(DeclareError::Pattern { at, pattern, message });
    }

    pub(super) fn contradiction(&mut self, at: &str, message: impl Into<String>) {
        self.errors
            .push(DeclareError::Contradiction { at: at.to_owned(), message: message.into() });
    }
}
