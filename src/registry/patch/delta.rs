//! Where two values differ, before that is written as operations.

use super::Operation;
use crate::model::{Text, Value};
use crate::registry::pointer::Pointer;

/// A difference between two values.
pub(in crate::registry) struct Delta<'v> {
    /// Where, in the value that the operations before this one leave.
    pub(in crate::registry) path: Pointer,
    /// What was there.
    pub(in crate::registry) old: Option<&'v Value>,
    /// What is there now.
    pub(in crate::registry) new: Option<&'v Value>,
    /// Where that is in the new value.
    pub(in crate::registry) at: Pointer,
}

impl Delta<'_> {
    pub(in crate::registry) fn into_operation(self) -> Operation {
        let path = self.path;
        match (self.old, self.new) {
            (Some(_), Some(new)) => Operation::Replace { path, value: new.clone() },
            (None, new) => Operation::Add { path, value: new.cloned().unwrap_or_default() },
            (Some(_), None) => Operation::Remove { path },
        }
    }
}

/// Returns the differences. Where `is_set` says so of the path of a list, what is new in it was put
/// behind everything that is left of it (see [`pairs`]).
pub(in crate::registry) fn deltas<'v>(
    old: &'v Value,
    new: &'v Value,
    is_set: &dyn Fn(&[Text]) -> bool,
) -> Vec<Delta<'v>> {
    let mut differ = Differ { is_set, path: Vec::new(), at: Vec::new(), found: Vec::new() };
    differ.values(old, new);
    differ.found
}

struct Differ<'v, 'f> {
    is_set: &'f dyn Fn(&[Text]) -> bool,
    path: Vec<Text>,
    at: Vec<Text>,
    found: Vec<Delta<'v>>,
}

impl<'v> Differ<'v, '_> {
    fn values(&mut self, old: &'v Value, new: &'v Value) {
        match (old, new) {
            _ if old == new => {}
            (Value::Object(was), Value::Object(is)) => {
                let mut keys: Vec<&Text> =
                    was.iter().chain(is.iter()).map(|(key, _)| key).collect();
                keys.sort_unstable();
                keys.dedup();
                for key in keys {
                    self.inside(key.clone(), key.clone(), was.get(key), is.get(key));
                }
            }
            (Value::Array(was), Value::Array(is)) if (self.is_set)(&self.path) => self.set(was, is),
            (Value::Array(was), Value::Array(is)) => {
                let common = was.len().min(is.len());
                // What is taken out goes first and from the end, so that indices stay true.
                for at in (common..was.len()).rev() {
                    self.inside(number(at), number(at), Some(&was[at]), None);
                }
                for at in 0..common {
                    self.inside(number(at), number(at), Some(&was[at]), Some(&is[at]));
                }
                for (at, new) in is.iter().enumerate().skip(common) {
                    self.inside("-".into(), number(at), None, Some(new));
                }
            }
            _ => self.found(Some(old), Some(new)),
        }
    }

    fn set(&mut self, was: &'v [Value], is: &'v [Value]) {
        let (kept, gone) = pairs(was, is);
        for (to, from) in kept.iter().enumerate() {
            self.inside(number(*from), number(to), Some(&was[*from]), Some(&is[to]));
        }
        for at in gone.into_iter().rev() {
            self.inside(number(at), number(at), Some(&was[at]), None);
        }
        for (at, new) in is.iter().enumerate().skip(kept.len()) {
            self.inside("-".into(), number(at), None, Some(new));
        }
    }

    /// Goes one step in: `path` in the old value, `at` in the new one.
    fn inside(&mut self, path: Text, at: Text, old: Option<&'v Value>, new: Option<&'v Value>) {
        self.path.push(path);
        self.at.push(at);
        match (old, new) {
            (Some(old), Some(new)) => self.values(old, new),
            _ => self.found(old, new),
        }
        self.path.pop();
        self.at.pop();
    }

    fn found(&mut self, old: Option<&'v Value>, new: Option<&'v Value>) {
        let path = Pointer::from_tokens(self.path.iter().cloned());
        let at = Pointer::from_tokens(self.at.iter().cloned());
        self.found.push(Delta { path, old, new, at });
    }
}

/// Returns, for a list without an order whose second version was arranged after the first: for as
/// many elements of the second as have a counterpart in the first, the index of that; and the
/// indices of the first without a counterpart.
fn pairs(was: &[Value], is: &[Value]) -> (Vec<usize>, Vec<usize>) {
    let mut kept = Vec::new();
    let mut gone = Vec::new();
    for (at, old) in was.iter().enumerate() {
        match is.get(kept.len()) {
            Some(new) if old == new || same_key(old, new) => kept.push(at),
            _ => gone.push(at),
        }
    }
    (kept, gone)
}

/// Whether two elements are the same one by their key, as tags are.
pub(in crate::registry) fn same_key(left: &Value, right: &Value) -> bool {
    let key = |value: &Value| value.get("Key").and_then(Value::as_str).map(Text::from);
    key(left).is_some_and(|left| Some(left) == key(right))
}

fn number(at: usize) -> Text {
    at.to_string().into()
}
