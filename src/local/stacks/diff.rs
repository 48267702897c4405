//! What differs between the properties of a resource before and after.

use crate::local::evaluate::same;
use crate::local::record::Json;
use crate::registry::lookup;

/// A place at which two values differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The path, its segments separated by `/`.
    pub(crate) path: String,
    pub(crate) before: Option<Json>,
    pub(crate) after: Option<Json>,
}

/// What a change of properties does to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effect {
    Update,
    /// A replacement in some cases; the emulator takes the others.
    Conditional,
    Replace,
}

/// Returns every place at which two values differ, down to scalars.
pub(crate) fn differences(before: &Json, after: &Json) -> Vec<Difference> {
    let mut found = Vec::new();
    walk("", Some(before), Some(after), &mut found);
    found
}

fn walk(path: &str, before: Option<&Json>, after: Option<&Json>, found: &mut Vec<Difference>) {
    if let (Some(before), Some(after)) = (before, after)
        && same(before, after)
    {
        return;
    }
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}/{key}") };
    let members = |value: Option<&Json>| value.and_then(Json::as_object).cloned();
    match (members(before), members(after)) {
        (Some(old), Some(new)) => {
            for (key, value) in &old {
                walk(&below(key), Some(value), new.get(key), found);
            }
            for (key, value) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
                walk(&below(key), None, Some(value), found);
            }
            return;
        }
        // What comes or goes as a whole does so member by member.
        (None, Some(new)) if before.is_none() && !new.is_empty() => {
            new.iter().for_each(|(key, value)| walk(&below(key), None, Some(value), found));
            return;
        }
        (Some(old), None) if after.is_none() && !old.is_empty() => {
            old.iter().for_each(|(key, value)| walk(&below(key), Some(value), None, found));
            return;
        }
        _ => {}
    }
    if let (Some(Json::Array(old)), Some(Json::Array(new))) = (before, after)
        && old.len() == new.len()
    {
        for (at, (old, new)) in old.iter().zip(new).enumerate() {
            walk(&below(&at.to_string()), Some(old), Some(new), found);
        }
        return;
    }
    found.push(Difference {
        path: path.to_owned(),
        before: before.cloned(),
        after: after.cloned(),
    });
}

/// Returns what a change at a path does to a resource of a type.
pub(crate) fn effect(resource_type: &str, path: &str) -> Effect {
    let Some(info) = lookup(resource_type) else { return Effect::Update };
    let handlers = info.handlers();
    let never_updated = !handlers.is_empty() && !handlers.contains('u');
    if never_updated || info.is_create_only(path) {
        Effect::Replace
    } else if info.is_conditionally_create_only(path) {
        Effect::Conditional
    } else {
        Effect::Update
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn paths(before: &Json, after: &Json) -> Vec<String> {
        differences(before, after).into_iter().map(|difference| difference.path).collect()
    }

    #[test]
    fn differences_are_found_where_they_are() {
        let before = json!({"A": 1, "B": {"C": [1, {"D": 2}]}, "E": "x"});
        let after = json!({"A": "1", "B": {"C": [1, {"D": 3}]}, "F": {"G": {"H": 1}}});
        assert_eq!(paths(&before, &after), ["B/C/1/D", "E", "F/G/H"]);
        assert_eq!(paths(&json!({"L": [1]}), &json!({"L": [1, 2]})), ["L"]);
    }

    #[test]
    fn the_registry_decides_about_replacement() {
        assert_eq!(effect("AWS::EC2::SecurityGroup", "GroupDescription"), Effect::Replace);
        assert_eq!(effect("AWS::EC2::SecurityGroup", "Tags"), Effect::Update);
        assert_eq!(effect("AWS::Lambda::Permission", "Action"), Effect::Replace);
        assert_eq!(effect("AWS::DynamoDB::Table", "KeySchema"), Effect::Conditional);
        assert_eq!(effect("Custom::X", "Any"), Effect::Update);
    }
}
