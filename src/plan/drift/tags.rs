//! Tags that are on a resource although its template does not have them.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Object, Text, Value};
use crate::registry::{Pointer, lookup};

/// Where the tags of a type are, below its properties.
fn places(resource_type: &str) -> BTreeSet<Pointer> {
    let known = lookup(resource_type).and_then(crate::registry::TypeInfo::tag_property);
    let paths = known.into_iter().chain(["Tags"]);
    paths.map(|path| Pointer::from_tokens(path.split('/'))).collect()
}

/// Returns a state without the tags of CloudFormation and of other services (`aws:…`), and without
/// those of the stack, as far as they are as the stack has them and the template does not set them.
pub(super) fn without_foreign(
    resource_type: &str,
    state: &Value,
    declared: Option<&Value>,
    of_stack: &BTreeMap<Text, Text>,
) -> Value {
    let mut state = state.clone();
    for place in places(resource_type) {
        let set: BTreeSet<Text> = declared
            .and_then(|declared| place.of(declared))
            .map(|tags| pairs(tags).into_iter().map(|(key, _)| key).collect())
            .unwrap_or_default();
        let is_foreign = |key: &str, value: Option<&str>| {
            key.starts_with("aws:")
                || !set.contains(key)
                    && of_stack.get(key).map(Text::as_str).is_some_and(|own| value == Some(own))
        };
        edit(&mut state, &place, &|tags| strip(tags, &is_foreign));
    }
    state
}

/// The keys and values of tags, in whatever form a type has them.
fn pairs(tags: &Value) -> Vec<(Text, Option<Text>)> {
    let text = |value: &Value| value.as_str().map(Text::from);
    match tags {
        Value::Array(items) => items
            .iter()
            .filter_map(|tag| Some((text(key_of(tag)?)?, value_of(tag).and_then(text))))
            .collect(),
        Value::Object(members) => {
            members.iter().map(|(key, value)| (key.clone(), text(value))).collect()
        }
        _ => Vec::new(),
    }
}

fn key_of(tag: &Value) -> Option<&Value> {
    ["Key", "TagKey", "key"].iter().find_map(|name| tag.get(name))
}

fn value_of(tag: &Value) -> Option<&Value> {
    ["Value", "TagValue", "value"].iter().find_map(|name| tag.get(name))
}

/// Takes foreign tags out. Returns whether nothing else is left.
fn strip(tags: &mut Value, is_foreign: &dyn Fn(&str, Option<&str>) -> bool) -> bool {
    match tags {
        Value::Array(items) => {
            let before = items.len();
            items.retain(|tag| {
                let key = key_of(tag).and_then(Value::as_str);
                !key.is_some_and(|key| is_foreign(key, value_of(tag).and_then(Value::as_str)))
            });
            items.is_empty() && before > 0
        }
        Value::Object(members) => {
            let before = members.len();
            let kept = members.iter().filter(|(key, value)| !is_foreign(key, value.as_str()));
            let kept: Object = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
            *members = kept;
            members.is_empty() && before > 0
        }
        _ => false,
    }
}

/// Changes what is at a place; it is taken out if `change` says so.
fn edit(value: &mut Value, place: &Pointer, change: &dyn Fn(&mut Value) -> bool) {
    let tokens: Vec<&str> = place.tokens().collect();
    let Some((last, outer)) = tokens.split_last() else { return };
    let mut at = value;
    for token in outer {
        let Value::Object(members) = at else { return };
        let Some(inner) = members.get_mut(token) else { return };
        at = inner;
    }
    let Value::Object(members) = at else { return };
    if members.get_mut(last).is_some_and(change) {
        members.remove(last);
    }
}
