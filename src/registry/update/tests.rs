//! The vectors of another implementation of the idea, and what they do not cover.

use super::*;
use crate::registry::patch::apply;
use crate::registry::samples;
use crate::registry::samples::json;

fn value(text: &str) -> Value {
    json::parse(text).unwrap()
}

/// The operations as `op path value verdict`.
fn shown(operations: &[Judged]) -> Vec<String> {
    let shown = |judged: &Judged| {
        let written = judged.operation.to_value();
        let value = written.get("value").map(json::to_compact).unwrap_or_default();
        let name = written.get("op").and_then(Value::as_str).unwrap_or_default();
        let text = format!("{name} {} {value}", judged.operation.path());
        format!("{} ({:?})", text.trim_end(), judged.verdict)
    };
    operations.iter().map(shown).collect()
}

fn updated(mode: Mode, schema: &str, state: &str, wanted: &str) -> Vec<String> {
    let (state, wanted) = (value(state), value(wanted));
    let update = update(&state, &wanted, &Schema::from_registry(&value(schema)), mode);
    let patch: Vec<_> = update.operations.iter().map(|judged| judged.operation.clone()).collect();
    assert_eq!(apply(&patch, &state).unwrap(), update.target);
    shown(&update.operations)
}

#[test]
fn the_vectors_hold_but_where_they_lose_something() {
    let vectors = value(include_str!("../../../fixtures/vectors/radius-patch.json"));
    let cases = vectors.get("patch").and_then(Value::as_array).unwrap();
    assert_eq!(cases.len(), 21);
    for case in cases {
        let name = case.get("name").and_then(Value::as_str).unwrap();
        let get = |key: &str| case.get(key).unwrap();
        let schema = Schema::from_registry(get("schema"));
        let (state, wanted) = (get("current"), get("desired"));
        for (mode, theirs, ours) in
            [(Mode::Full, "adrEra_2023", "full"), (Mode::Declared, "head_2026_04", "declared")]
        {
            let update = update(state, wanted, &schema, mode);
            let patch: Vec<_> =
                update.operations.iter().map(|judged| judged.operation.clone()).collect();
            assert_eq!(apply(&patch, state).unwrap(), update.target, "{name}");
            let written = Value::Array(patch.iter().map(Operation::to_value).collect());
            let expected = case.get(ours).unwrap_or_else(|| get(theirs));
            assert_eq!(&written, expected, "{name} {ours}");
            let verdict = case.get("verdict").map_or_else(
                || update.operations.iter().all(|judged| judged.verdict == Verdict::InPlace),
                |expected| {
                    let verdict = update.verdict().map(|verdict| format!("{verdict:?}"));
                    verdict.as_deref() == expected.as_str()
                },
            );
            assert!(verdict, "{name} {ours}: {:?}", shown(&update.operations));
        }
    }
}

#[test]
fn every_verdict_is_given_where_it_belongs() {
    let schema = r#"{
        "createOnlyProperties": ["/properties/Name", "/properties/Rules/*/Id", "/properties/Box"],
        "conditionalCreateOnlyProperties": ["/properties/Size"],
        "readOnlyProperties": ["/properties/Arn"],
        "writeOnlyProperties": ["/properties/Password", "/properties/Box"]
    }"#;
    let one = |state: &str, wanted: &str| updated(Mode::Full, schema, state, wanted).join(", ");
    assert_eq!(one(r#"{"A":1}"#, r#"{"A":2}"#), "replace /A 2 (InPlace)");
    assert_eq!(one(r#"{"Name":"a"}"#, r#"{"Name":"b"}"#), r#"replace /Name "b" (Replaces)"#);
    assert_eq!(one("{}", r#"{"Name":"b"}"#), r#"add /Name "b" (Replaces)"#);
    assert_eq!(one(r#"{"Size":1}"#, "{}"), "remove /Size (MayReplace)");
    assert_eq!(one("{}", r#"{"Arn":"x"}"#), r#"add /Arn "x" (CannotBeSet)"#);
    assert_eq!(one("{}", r#"{"Password":"x"}"#), r#"add /Password "x" (CannotBeVerified)"#);
    assert_eq!(
        one("{}", r#"{"Box":1}"#),
        "add /Box 1 (CannotBeVerified)",
        "a state never shows it, so it is no reason to expect a replacement"
    );
    assert_eq!(
        one(r#"{"Rules":[{"Id":1}]}"#, r#"{"Rules":[{"Id":1},{"Id":2,"P":3}]}"#),
        r#"add /Rules/- {"Id":2,"P":3} (Replaces)"#,
        "the worst of all that is added counts"
    );
    let verdict = |before: &str, after: &str| {
        shown(&judge(&value(before), &value(after), &Schema::from_registry(&value(schema))))
    };
    assert_eq!(verdict(r#"{"Box":1}"#, r#"{"Box":2}"#), ["replace /Box 2 (Replaces)"]);
    let handlers = r#"{"handlers":{"create":{},"delete":{}}}"#;
    assert_eq!(
        updated(Mode::Full, handlers, r#"{"A":1}"#, r#"{"A":2}"#),
        ["replace /A 2 (Replaces)"]
    );
    let unknown = judge(&value(r#"{"A":1}"#), &value(r#"{"A":2}"#), &Schema::unknown());
    assert_eq!(shown(&unknown), ["replace /A 2 (MayReplace)"]);
}

#[test]
fn what_the_service_assigns_is_kept_wherever_it_is() {
    let schema = r#"{"readOnlyProperties": ["/properties/Endpoint/Address", "/properties/L/*/Arn",
        "/properties/Map/*/Id", "/properties/Ids/*"]}"#;
    let state = r#"{"Endpoint":{"Address":"a","Port":1},"L":[{"N":"x","Arn":"1"},{"N":"y","Arn":"2"}],
        "Map":{"k/1":{"Id":7,"V":1}},"Ids":["a","b"],"Other":[{"Id":1}]}"#;
    assert_eq!(
        updated(Mode::Full, schema, state, r#"{"L":[{"N":"y"},{"N":"x"}],"Map":{"k/1":{"V":2}}}"#),
        [
            "remove /Endpoint/Port (InPlace)",
            r#"replace /L/0/Arn "2" (InPlace)"#,
            r#"replace /L/0/N "y" (InPlace)"#,
            r#"replace /L/1/Arn "1" (InPlace)"#,
            r#"replace /L/1/N "x" (InPlace)"#,
            "replace /Map/k~11/V 2 (InPlace)",
            "remove /Other (InPlace)",
        ]
    );
    let none: [&str; 0] = [];
    assert_eq!(updated(Mode::Full, schema, r#"{"L":[{"Arn":"1"}]}"#, "{}"), none);
    assert_eq!(
        updated(Mode::Full, schema, r#"{"L":[{"Arn":"1","N":2}]}"#, "{}"),
        ["remove /L (InPlace)"],
        "parts of elements mean nothing without the rest"
    );
}

#[test]
fn a_list_without_an_order_is_no_different_in_another_one() {
    let schema = r#"{"tagging": {"tagProperty": "/properties/Tags"}}"#;
    let tags = |tags: &[(&str, &str)]| {
        let tags = tags.iter().map(|(key, v)| format!(r#"{{"Key":"{key}","Value":"{v}"}}"#));
        format!(r#"{{"Tags":[{}]}}"#, tags.collect::<Vec<_>>().join(","))
    };
    let both = |before: &[(&str, &str)], after: &[(&str, &str)]| {
        updated(Mode::Declared, schema, &tags(before), &tags(after))
    };
    let none: [&str; 0] = [];
    assert_eq!(both(&[("a", "1"), ("b", "2")], &[("b", "2"), ("a", "1")]), none);
    assert_eq!(both(&[("a", "1"), ("b", "2")], &[("b", "2")]), ["remove /Tags/0 (InPlace)"]);
    assert_eq!(
        both(&[("a", "1"), ("b", "2"), ("c", "3")], &[("d", "4"), ("c", "5"), ("a", "1")]),
        [
            r#"replace /Tags/2/Value "5" (InPlace)"#,
            "remove /Tags/1 (InPlace)",
            r#"add /Tags/- {"Key":"d","Value":"4"} (InPlace)"#,
        ]
    );
}

#[test]
fn what_is_not_declared_is_no_drift() {
    let state = r#"{"A":1,"Default":{"x":1},"L":[{"N":"x","Extra":1}],"E":{}}"#;
    let none: [&str; 0] = [];
    assert_eq!(updated(Mode::Declared, "{}", state, r#"{"A":"1","L":[{"N":"x"}]}"#), none);
    assert_eq!(
        updated(Mode::Declared, "{}", state, r#"{"A":2,"L":[]}"#),
        ["replace /A 2 (InPlace)", "remove /L/0 (InPlace)"]
    );
}

proptest::proptest! {
    #[test]
    fn a_patch_leads_to_its_target(
        state in samples::values(),
        wanted in samples::values(),
        full in proptest::bool::ANY,
    ) {
        let schema = Schema::from_registry(&value(r#"{
            "createOnlyProperties": ["/properties/a/*/b", "/properties/0"],
            "readOnlyProperties": ["/properties/b", "/properties/Key/*"],
            "writeOnlyProperties": ["/properties/0", "/properties/a~1b"],
            "properties": {"a": {"insertionOrder": false}, "": {"insertionOrder": false}}
        }"#));
        let mode = if full { Mode::Full } else { Mode::Declared };
        let update = update(&state, &wanted, &schema, mode);
        let patch: Vec<_> =
            update.operations.iter().map(|judged| judged.operation.clone()).collect();
        proptest::prop_assert_eq!(apply(&patch, &state).unwrap(), update.target.clone());
        let nothing = super::update(&update.target, &update.target, &schema, mode);
        proptest::prop_assert_eq!(nothing.operations, vec![]);
    }
}
