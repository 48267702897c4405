use serde_json::json;

use super::*;

/// The differences of two schemas as lines.
fn lines(old: &Json, new: &Json) -> Vec<String> {
    let found = check_schema(old, new).differences;
    found.iter().map(|one| format!("{}: {}: {}", one.at, one.rule, one.what)).collect()
}

fn object(properties: &Json, required: &Json) -> Json {
    json!({"type": "object", "properties": properties, "required": required})
}

#[test]
fn what_is_the_same_or_only_described_otherwise_is_no_difference() {
    let old = object(&json!({"a": {"type": "string"}}), &json!(["a"]));
    let mut new = old.clone();
    new["title"] = "T".into();
    new["properties"]["a"]["description"] = "D".into();
    new["$defs"] = json!({"unused": {"type": "number"}});
    assert_eq!(lines(&old, &new), [] as [&str; 0]);
    let check = check_schema(&old, &new);
    assert!(!check.lacks_version() && check.broken().next().is_none());
}

#[test]
fn what_is_removed_or_renamed_is_told() {
    let old = object(&json!({"a": {"type": "string"}, "b": {"type": "null"}}), &json!([]));
    let new = object(&json!({"c": {"type": "string"}}), &json!([]));
    assert_eq!(
        lines(&old, &new),
        [
            "a: removed or renamed: perhaps it is `c` now",
            "b: removed or renamed: it was there",
            "c: added: it is new",
        ]
    );
    let old = json!({"enum": ["x", "y"]});
    assert_eq!(
        lines(&old, &json!({"enum": ["y", "z"]})),
        [": removed or renamed: the value \"x\"", ": added: the value \"z\""]
    );
    let closed = json!({"additionalProperties": false});
    assert_eq!(
        lines(&json!({}), &closed),
        [".*: removed or renamed: what is not described is not allowed any more"]
    );
    assert_eq!(lines(&closed, &json!({})), [".*: added: anything is allowed now"]);
}

#[test]
fn another_type_is_told_wherever_it_is() {
    let list = |kind: &str| json!({"type": "array", "items": {"type": kind}});
    assert_eq!(
        lines(&list("string"), &list("number")),
        ["[]: type changed: was string, is number"]
    );
    let names = |kind: &str| json!({"additionalProperties": {"type": kind}});
    assert_eq!(lines(&names("string"), &names("null")), [".*: type changed: was string, is null"]);
    let widened = json!({"type": ["string", "null"]});
    assert_eq!(
        lines(&json!({"type": "string"}), &widened),
        [": type changed: was string, is null or string"]
    );
    assert_eq!(
        lines(&json!({"pattern": "^a"}), &json!({"pattern": "^b"})),
        [": type changed: pattern was \"^a\", is \"^b\""]
    );
    let minimum = |number: u8| json!({"minimum": number});
    assert_eq!(lines(&minimum(1), &minimum(2)), [": type changed: minimum was 1, is 2"]);
    assert_eq!(lines(&minimum(2), &minimum(1)), [": added: minimum was 2, is 1"]);
}

#[test]
fn what_has_to_be_given_is_told() {
    let all = json!({"a": {}, "b": {}});
    let old = object(&all, &json!(["a"]));
    assert_eq!(
        lines(&old, &object(&all, &json!(["a", "b"]))),
        ["b: optional made required: could be left out"]
    );
    assert_eq!(lines(&old, &object(&all, &json!([]))), ["a: added: may be left out now"]);
    let new = object(&json!({"a": {}, "b": {}, "c": {}}), &json!(["a", "c"]));
    assert_eq!(lines(&old, &new), ["c: new and required: it is new"]);
}

#[test]
fn definitions_are_compared_where_they_are_used_and_may_contain_themselves() {
    let node = |kind: &str, name: &str| {
        let reference = format!("#/$defs/{name}");
        let node = json!({"properties": {
            "id": {"type": kind},
            "children": {"type": "array", "items": {"$ref": reference}},
        }});
        json!({"properties": {"tree": {"$ref": reference}}, "$defs": {name: node}})
    };
    assert_eq!(lines(&node("string", "node"), &node("string", "other")), [] as [&str; 0]);
    assert_eq!(
        lines(&node("string", "node"), &node("integer", "node")),
        ["tree.id: type changed: was string, is integer"]
    );
}

#[test]
fn what_stands_beside_a_reference_counts_as_well() {
    let with = |pattern: &str| {
        let name = json!({"$ref": "#/$defs/name"});
        let mut other = name.clone();
        other["pattern"] = pattern.into();
        json!({"properties": {"a": name, "b": other}, "$defs": {"name": {"type": "string"}}})
    };
    assert_eq!(lines(&with("^x"), &with("^x")), [] as [&str; 0]);
    assert_eq!(lines(&with("^x"), &with("^y")), ["b: type changed: pattern was \"^x\", is \"^y\""]);
}

#[test]
fn alternatives_are_compared_with_the_nearest_in_whichever_order() {
    let a = object(&json!({"a": {"type": "string"}}), &json!(["a"]));
    let b = object(&json!({"b": {"type": "number"}}), &json!(["b"]));
    let more = object(&json!({"a": {"type": "string"}, "x": {}}), &json!(["a"]));
    let any = |all: &[&Json]| json!({"oneOf": all});
    assert_eq!(lines(&any(&[&a, &b]), &any(&[&b, &a])), [] as [&str; 0]);
    assert_eq!(lines(&any(&[&a, &b]), &any(&[&b, &more])), ["x: added: it is new"]);
    assert_eq!(lines(&any(&[&a, &b]), &any(&[&a])), [": removed or renamed: a form of it"]);
    assert_eq!(lines(&any(&[&a]), &any(&[&a, &b])), [": added: a form of it"]);
    let both = |all: &[&Json]| json!({"allOf": all});
    assert_eq!(lines(&both(&[&a]), &both(&[&a, &b])), [": type changed: a form of it"]);
}

#[test]
fn what_is_not_understood_may_not_change() {
    let old = json!({"maxItems": 3});
    assert_eq!(lines(&old, &old), [] as [&str; 0]);
    assert_eq!(lines(&old, &json!({"maxItems": 4})), [": not understood: `maxItems` has changed"]);
}

#[test]
fn any_change_is_a_new_version() {
    let schema = |version: u64, properties: &[&str]| {
        let mut all = json!({"version": {"const": version}});
        for name in properties {
            all[name] = json!({});
        }
        object(&all, &json!(["version"]))
    };
    let lacks = |old: &Json, new: &Json| check_schema(old, new).lacks_version();
    assert!(!lacks(&schema(1, &[]), &schema(1, &[])));
    assert!(lacks(&schema(1, &[]), &schema(1, &["a"])));
    assert!(!lacks(&schema(1, &[]), &schema(2, &["a"])));
    assert!(lacks(&schema(2, &[]), &schema(1, &["a"])));
    assert!(lacks(&json!({}), &object(&json!({"a": {}}), &json!([]))));
    // The version alone is no difference.
    assert_eq!(lines(&schema(1, &[]), &schema(2, &[])), [] as [&str; 0]);
}
