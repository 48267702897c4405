//! What an operation does to the view of a resource.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::assets;
use super::constructs::kind;
use super::declaration::Operation;
use super::pattern::{
    Place, PropertyPattern, Step, dotted, matches_text, remove, value_at, value_at_mut,
};
use super::text;
use crate::model::{Object, Stack, Text, Value};
use crate::template::{Reference, json, rewrite};

/// What an operation did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// Whether it found what it looks for, even if it did not have to change it.
    pub(super) found: bool,
    /// What it changed: the property, and its values before and after.
    pub(super) changes: Vec<(String, Option<Value>, Option<Value>)>,
}

/// The types of the resources of a template, by logical ID.
pub(super) type Types = BTreeMap<Text, Text>;

/// Returns the types of the resources of a stack.
pub(super) fn types(stack: &Stack) -> Types {
    let kind = |(id, body): (&Text, &Object)| (id.clone(), kind(body).as_str().into());
    stack.template.resources().map(kind).collect()
}

/// Applies an operation to the body of a resource.
pub(super) fn apply(operation: &Operation, body: &mut Object, types: &Types) -> Done {
    match operation {
        Operation::Ignore(place, members) => {
            let has_members = |value: &Value| {
                members.as_ref().is_none_or(|members| {
                    members.iter().all(|(key, wanted)| value.get(key) == Some(wanted))
                })
            };
            take_out(body, &place.places(body), &has_members)
        }
        Operation::AssetMetadata => {
            let places = metadata_of_assets(body);
            take_out(body, &places, &|_| true)
        }
        Operation::Tags(keys) => {
            let places = tags(body, keys);
            take_out(body, &places, &|_| true)
        }
        Operation::Unordered { place, by, is_set } => edit(body, &place.places(body), &|value| {
            let Value::Array(items) = value else { return None };
            Some(unordered(items, by.as_deref(), *is_set, types))
        }),
        Operation::Text(place, meaning) => edit(body, &place.places(body), &|value| {
            text::change(value, &|text| text::normalised(*meaning, text))
        }),
        Operation::StripPrefix(place, prefix) => edit(body, &place.places(body), &|value| {
            text::change(value, &|text| text.strip_prefix(prefix.as_str()).map(str::to_owned))
        }),
        Operation::Scalars(place) => scalars(body, place),
        Operation::Replace(place, with) => edit(body, &place.places(body), &|_| Some(with.clone())),
        Operation::Assets { hashes } => without_assets(body, *hashes),
    }
}

/// Covers up where assets are, and names each place that was covered.
fn without_assets(body: &mut Object, hashes: bool) -> Done {
    let mut done = Done::default();
    let Some(properties) = body.get_mut("Properties") else { return done };
    let Some(after) = assets::without_places(properties, hashes) else { return done };
    done.found = true;
    let mut place = vec![Step::Key("Properties".into())];
    changed_leaves(properties, &after, &mut place, &mut done);
    *properties = after;
    done
}

/// Notes the innermost places in which two values of one shape differ.
fn changed_leaves(before: &Value, after: &Value, place: &mut Place, done: &mut Done) {
    match (before, after) {
        _ if before == after => {}
        (Value::Object(old), Value::Object(new)) if old.len() == new.len() => {
            for ((key, old), (_, new)) in old.iter().zip(new.iter()) {
                place.push(Step::Key(key.clone()));
                changed_leaves(old, new, place, done);
                place.pop();
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (at, (old, new)) in old.iter().zip(new).enumerate() {
                place.push(Step::Index(at));
                changed_leaves(old, new, place, done);
                place.pop();
            }
        }
        _ => done.changes.push((dotted(place), Some(before.clone()), Some(after.clone()))),
    }
}

/// Takes out what is at these places and fulfils a condition.
fn take_out(body: &mut Object, places: &[Place], wanted: &dyn Fn(&Value) -> bool) -> Done {
    let mut done = Done::default();
    let mut outermost: Vec<&Place> = Vec::new();
    for place in places {
        let is_wanted = value_at(body, place).is_some_and(wanted);
        // What is inside of something that goes need not go itself.
        if is_wanted && !outermost.last().is_some_and(|around| place.starts_with(around)) {
            outermost.push(place);
            done.changes.push((dotted(place), value_at(body, place).cloned(), None));
        }
    }
    done.found = !outermost.is_empty();
    // The last of a list first: places before it stay what they are.
    outermost.sort_by_key(|place| Reverse(*place));
    for place in outermost {
        remove(body, place);
    }
    done
}

/// Changes what is at these places; what comes back as `None` or unchanged is left alone.
fn edit(body: &mut Object, places: &[Place], change: &dyn Fn(&Value) -> Option<Value>) -> Done {
    let mut done = Done::default();
    for place in places {
        let Some(value) = value_at_mut(body, place) else { continue };
        let Some(after) = change(value) else { continue };
        done.found = true;
        if after != *value {
            let before = std::mem::replace(value, after.clone());
            done.changes.push((dotted(place), Some(before), Some(after)));
        }
    }
    done
}

/// Returns a list in an order that does not depend on how it was written, nor on the names of
/// what it refers to: a reference counts as the type of its target. Items that this does not tell
/// apart keep their order.
fn unordered(items: &[Value], by: Option<&str>, is_set: bool, types: &Types) -> Value {
    let mut keyed: Vec<(String, &Value)> = items
        .iter()
        .map(|item| {
            let all = nameless(item, types);
            // Everything else decides between items with an equal member.
            let first = by.and_then(|by| item.get(by)).map(|value| nameless(value, types));
            (format!("{}\n{all}", first.unwrap_or_default()), item)
        })
        .collect();
    keyed.sort_by(|left, right| left.0.cmp(&right.0));
    let mut sorted: Vec<Value> = Vec::with_capacity(items.len());
    for (_, item) in keyed {
        if !is_set || !sorted.contains(item) {
            sorted.push(item.clone());
        }
    }
    Value::Array(sorted)
}

/// Writes a value with references by the types of what they point at.
pub(super) fn nameless(value: &Value, types: &Types) -> String {
    let plain = rewrite(value, &mut |reference| match reference {
        Reference::Name(name, attribute) if !name.starts_with("AWS::") => {
            let kind = types.get(name).map_or("parameter", Text::as_str);
            let attribute = attribute.unwrap_or_default();
            Some(Value::from(format!("<{kind}.{attribute}>").as_str()))
        }
        _ => None,
    });
    json::to_compact(&text::sorted(plain))
}

fn scalars(body: &mut Object, place: &PropertyPattern) -> Done {
    let mut done = Done::default();
    for place in place.places(body) {
        let Some(value) = value_at_mut(body, &place) else { continue };
        spell(value, &mut place.clone(), &mut done);
    }
    done
}

/// Writes numbers and booleans as texts. A text that looks like one counts as found.
fn spell(value: &mut Value, place: &mut Place, done: &mut Done) {
    let after = match &*value {
        Value::Bool(flag) => Some(if *flag { "true" } else { "false" }.to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(_) => {
            done.found = true;
            None
        }
        _ => None,
    };
    if let Some(after) = after {
        let after = Value::from(after.as_str());
        let before = std::mem::replace(value, after.clone());
        done.found = true;
        done.changes.push((dotted(place), Some(before), Some(after)));
        return;
    }
    match value {
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                place.push(Step::Index(at));
                spell(item, place, done);
                place.pop();
            }
        }
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                place.push(Step::Key(key.clone()));
                spell(value, place, done);
                place.pop();
            }
        }
        _ => {}
    }
}

fn metadata_of_assets(body: &Object) -> Vec<Place> {
    let metadata = body.get("Metadata").and_then(Value::as_object);
    let keys = metadata.into_iter().flat_map(Object::iter).map(|(key, _)| key);
    keys.filter(|key| key.starts_with("aws:asset:"))
        .map(|key| vec![Step::Key("Metadata".into()), Step::Key(key.clone())])
        .collect()
}

/// The places of tags with one of these keys: items of lists with a `Key`, and members of maps,
/// in properties that are called something with `Tags`.
fn tags(body: &Object, keys: &[Text]) -> Vec<Place> {
    let mut found = Vec::new();
    if let Some(properties) = body.get("Properties") {
        tags_in(properties, keys, &mut vec![Step::Key("Properties".into())], &mut found);
    }
    found.sort();
    found
}

fn tags_in(value: &Value, keys: &[Text], place: &mut Place, found: &mut Vec<Place>) {
    let is_meant = |key: &str| keys.iter().any(|wanted| matches_text(wanted, key));
    let holds_tags = |place: &Place| matches!(place.last(), Some(Step::Key(name)) if name.ends_with("Tags") || name == "tags");
    match value {
        Value::Array(items) => {
            let tags = holds_tags(place);
            for (at, item) in items.iter().enumerate() {
                place.push(Step::Index(at));
                let key = item.get("Key").or_else(|| item.get("key")).and_then(Value::as_str);
                if tags && key.is_some_and(is_meant) {
                    found.push(place.clone());
                } else {
                    tags_in(item, keys, place, found);
                }
                place.pop();
            }
        }
        Value::Object(object) => {
            let tags = holds_tags(place);
            for (key, value) in object.iter() {
                place.push(Step::Key(key.clone()));
                if tags && is_meant(key) {
                    found.push(place.clone());
                } else {
                    tags_in(value, keys, place, found);
                }
                place.pop();
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aspects::declaration::Meaning;

    fn body(text: &str) -> Object {
        match json::parse(text).unwrap() {
            Value::Object(object) => object,
            other => panic!("{other:?}"),
        }
    }

    fn at(pattern: &str) -> PropertyPattern {
        PropertyPattern::new(pattern).unwrap()
    }

    fn run(operation: &Operation, text: &str) -> (Object, Vec<String>) {
        let mut it = body(text);
        let types = Types::from([("A".into(), "T::A::A".into()), ("B".into(), "T::B::B".into())]);
        let done = apply(operation, &mut it, &types);
        (it, done.changes.into_iter().map(|(place, ..)| place).collect())
    }

    #[test]
    fn some_items_of_a_list_are_ignored_and_the_others_stay() {
        let ignore = Operation::Ignore(at("/Properties/Tags/*"), Some(body(r#"{"Key":"sha"}"#)));
        let (after, changes) = run(
            &ignore,
            r#"{"Properties":{"Tags":[{"Key":"sha","Value":"1"},{"Key":"a"},{"Key":"sha"}]}}"#,
        );
        assert_eq!(after, body(r#"{"Properties":{"Tags":[{"Key":"a"}]}}"#));
        assert_eq!(changes, ["Properties.Tags.0", "Properties.Tags.2"]);
    }

    #[test]
    fn a_place_inside_of_an_ignored_one_is_named_once() {
        let (after, changes) = run(
            &Operation::Ignore(at("/Properties/A/**"), None),
            r#"{"Properties":{"A":{"B":1}}}"#,
        );
        assert_eq!(after, body("{}"));
        assert_eq!(changes, ["Properties.A"]);
    }

    #[test]
    fn the_order_of_a_list_does_not_depend_on_the_names_in_it() {
        let set = Operation::Unordered { place: at("L"), by: None, is_set: true };
        let (one, _) = run(&set, r#"{"Properties":{"L":[{"Ref":"B"},"x",{"Ref":"A"},"x"]}}"#);
        let (two, changes) = run(&set, r#"{"Properties":{"L":["x",{"Ref":"A"},{"Ref":"B"}]}}"#);
        assert_eq!(one, two);
        assert_eq!(changes, ["Properties.L"]);
        let sort = Operation::Unordered { place: at("L"), by: None, is_set: false };
        let (kept, _) = run(&sort, r#"{"Properties":{"L":["b","a","b"]}}"#);
        assert_eq!(kept, body(r#"{"Properties":{"L":["a","b","b"]}}"#));
    }

    #[test]
    fn numbers_and_booleans_are_texts_and_the_type_stays() {
        let (after, changes) = run(
            &Operation::Scalars(at("/Properties/**")),
            r#"{"Type":"X","Properties":{"A":30,"B":[true,"x"]}}"#,
        );
        assert_eq!(after, body(r#"{"Type":"X","Properties":{"A":"30","B":["true","x"]}}"#));
        assert_eq!(changes, ["Properties.A", "Properties.B.0"]);
    }

    #[test]
    fn tags_are_ignored_in_lists_and_in_maps() {
        let tags = Operation::Tags(vec!["git-*".into()]);
        let (after, changes) = run(
            &tags,
            r#"{"Properties":{"Tags":[{"Key":"git-sha","Value":"1"}],"HostedZoneTags":{"git-x":1,"b":2},
                "Other":{"git-x":1}}}"#,
        );
        assert_eq!(after, body(r#"{"Properties":{"HostedZoneTags":{"b":2},"Other":{"git-x":1}}}"#));
        assert_eq!(changes, ["Properties.HostedZoneTags.git-x", "Properties.Tags.0"]);
    }

    #[test]
    fn a_prefix_is_stripped_and_a_value_replaced() {
        let strip = Operation::StripPrefix(at("Name"), "dev-".into());
        let (after, _) = run(&strip, r#"{"Properties":{"Name":"dev-a"}}"#);
        assert_eq!(after, body(r#"{"Properties":{"Name":"a"}}"#));
        let replace = Operation::Replace(at("Name"), Value::from("x"));
        let (after, _) = run(&replace, r#"{"Properties":{"Name":{"Ref":"A"}}}"#);
        assert_eq!(after, body(r#"{"Properties":{"Name":"x"}}"#));
    }

    #[test]
    fn metadata_of_assets_go_and_a_text_that_is_normal_is_found_but_not_changed() {
        let (after, _) = run(
            &Operation::AssetMetadata,
            r#"{"Metadata":{"aws:asset:path":"a","aws:cdk:path":"b"}}"#,
        );
        assert_eq!(after, body(r#"{"Metadata":{"aws:cdk:path":"b"}}"#));
        let mut it = body(r#"{"Properties":{"D":"{\"a\":1}"}}"#);
        let done = apply(&Operation::Text(at("D"), Meaning::Json), &mut it, &Types::new());
        assert!(done.found && done.changes.is_empty());
    }
}
