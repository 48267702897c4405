//! Orders that mean nothing.

use cdkr::compare::Comparison;
use cdkr::model::{Object, Stack, Value};

type Shuffle = fn(&[Stack]) -> Vec<Stack>;

/// Ways to write the same stacks in another order.
pub fn shuffles() -> [(&'static str, Shuffle); 4] {
    [
        ("stacks", |stacks| stacks.iter().rev().cloned().collect()),
        ("resources", |stacks| each(stacks, resources)),
        ("keys", |stacks| each(stacks, keys)),
        ("sets", |stacks| each(stacks, sets)),
    ]
}

fn each(stacks: &[Stack], shuffle: impl Fn(&Value) -> Value) -> Vec<Stack> {
    let shuffled = |stack: &Stack| {
        let mut stack = stack.clone();
        let sections = shuffle(&Value::Object(stack.template.sections));
        stack.template = cdkr::template::check(sections).unwrap();
        stack
    };
    stacks.iter().map(shuffled).collect()
}

/// The resources in another order that is not just the reverse.
fn resources(template: &Value) -> Value {
    let mut sections = template.as_object().unwrap().clone();
    if let Some(Value::Object(resources)) = sections.get("Resources") {
        let all: Vec<_> = resources.iter().collect();
        let (even, odd): (Vec<_>, Vec<_>) = all.iter().enumerate().partition(|(at, _)| at % 2 == 0);
        let mixed = odd.into_iter().chain(even.into_iter().rev());
        let mixed: Object = mixed.map(|(_, (id, body))| ((*id).clone(), (*body).clone())).collect();
        sections.insert("Resources".into(), Value::Object(mixed));
    }
    Value::Object(sections)
}

/// The keys of all objects in reverse order.
fn keys(value: &Value) -> Value {
    match value {
        Value::Object(object) => Value::Object(
            object.iter().rev().map(|(key, value)| (key.clone(), keys(value))).collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(keys).collect()),
        other => other.clone(),
    }
}

/// `DependsOn` and tags in reverse order.
fn sets(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let is_resource = object.contains_key("Type");
            let member = |key: &str, value: &Value| match value {
                Value::Array(items) if is_set(is_resource, key) => {
                    Value::Array(items.iter().rev().cloned().collect())
                }
                other => sets(other),
            };
            Value::Object(object.iter().map(|(key, v)| (key.clone(), member(key, v))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sets).collect()),
        other => other.clone(),
    }
}

fn is_set(is_resource: bool, key: &str) -> bool {
    key == "Tags" || (is_resource && key == "DependsOn")
}

/// Returns all that a comparison says as text; keys of objects, and sets, in it are sorted, and
/// tags have no places.
pub fn canonical(comparison: &Comparison) -> String {
    let mut comparison = comparison.clone();
    let of_mappings = comparison.mappings.iter_mut().map(|mapping| &mut mapping.changes);
    let of_changed = comparison.changed.iter_mut().map(|change| &mut change.differences);
    let of_similar = comparison.similar.iter_mut().map(|similar| &mut similar.differences);
    let nearest = comparison.added.iter_mut().chain(&mut comparison.removed);
    let of_nearest = nearest.filter_map(|unpaired| Some(&mut unpaired.nearest.as_mut()?.1));
    for differences in of_mappings.chain(of_changed).chain(of_similar).chain(of_nearest) {
        for difference in differences {
            let is_set = is_set(true, difference.property.rsplit('.').next().unwrap());
            difference.property = without_places(&difference.property);
            for value in [&mut difference.old, &mut difference.new].into_iter().flatten() {
                *value = sorted(value, is_set);
            }
        }
    }
    format!("{comparison:#?}")
}

/// A path without the places of tags in their list.
fn without_places(path: &str) -> String {
    let mut tags = false;
    let mut segment =
        |segment| if std::mem::replace(&mut tags, segment == "Tags") { "*" } else { segment };
    path.split('.').map(&mut segment).collect::<Vec<_>>().join(".")
}

fn sorted(value: &Value, is_a_set: bool) -> Value {
    match value {
        Value::Object(object) => {
            let is_resource = object.contains_key("Type");
            let mut members: Vec<_> = object
                .iter()
                .map(|(key, value)| (key.clone(), sorted(value, is_set(is_resource, key))))
                .collect();
            members.sort_by(|left, right| left.0.cmp(&right.0));
            Value::Object(members.into_iter().collect())
        }
        Value::Array(items) => {
            let mut items: Vec<_> = items.iter().map(|item| sorted(item, false)).collect();
            if is_a_set {
                items.sort_by_cached_key(|item| format!("{item:?}"));
            }
            Value::Array(items)
        }
        other => other.clone(),
    }
}
