//! The vectors of the original.

use super::*;
use crate::analyze::model::dotted;
use crate::template::json;

/// The change as a text: kind, paths, what is in it.
fn shown(change: &Change) -> String {
    let path = |path: &Option<Path>| path.as_deref().map(dotted).unwrap_or_default();
    let mut inner: Vec<_> = change.inner.iter().map(shown).collect();
    inner.sort();
    format!("{:?} {}>{} [{}]", change.kind, path(&change.old), path(&change.new), inner.join(", "))
}

/// The same of a vector.
fn expected(operation: &Value) -> String {
    let text = |key: &str| operation.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = match text("propOp") {
        "INSERT" => "Insert",
        "REMOVE" => "Remove",
        "RENAME" => "Move",
        _ => "Update",
    };
    let path = |key: &str| {
        let steps = operation.get(key).and_then(Value::as_array).unwrap_or_default().iter();
        let step = |step: &Value| match step {
            Value::String(text) => text.to_string(),
            other => json::to_compact(other),
        };
        steps.map(step).collect::<Vec<_>>().join(".")
    };
    let inner = operation.get("inner").and_then(Value::as_array).unwrap_or_default();
    let mut inner: Vec<_> = inner.iter().map(expected).collect();
    inner.sort();
    format!("{name} {}>{} [{}]", path("p1"), path("p2"), inner.join(", "))
}

#[test]
fn the_vectors_hold_but_where_the_original_loses_an_operation() {
    let vectors = include_str!("../../../fixtures/vectors/c2a-similarity.json");
    let vectors = json::parse(vectors).unwrap();
    let cases = vectors.as_array().unwrap();
    assert_eq!(cases.len(), 21);
    for case in cases {
        let get = |key: &str| case.get(key).unwrap_or_else(|| panic!("{key} in {case:?}"));
        let name = get("name").as_str().unwrap();
        let (old, new) = (get("before"), get("after"));
        let found = likeness(old, new);
        let number = |key: &str| -> f64 {
            json::to_compact(get("engine").get(key).unwrap()).parse().unwrap()
        };
        assert!((found.similarity - number("similarity")).abs() < 1e-9, "{name}: {found:?}");
        assert!((found.weight - number("weight")).abs() < 1e-9, "{name}: {found:?}");
        let change = change(old, new, (&[], &[]), &|_| false).as_ref().map(shown);
        let engine = get("engine").get("operation").map(expected);
        let ours = case.get("ours").map_or(engine, |ours| ours.as_str().map(str::to_owned));
        assert_eq!(change, ours, "{name}");
    }
}

#[test]
fn the_order_of_a_list_without_one_does_not_change() {
    let (old, new) =
        (json::parse(r#"["aa","bb"]"#).unwrap(), json::parse(r#"["bb","aa"]"#).unwrap());
    assert_eq!(change(&old, &new, (&[], &[]), &|_| true), None);
}
