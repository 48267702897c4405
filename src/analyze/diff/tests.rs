//! The vectors of the original, and what it promises but does not do.

use super::*;
use crate::analyze::model::{Certainty, PropertyChange, dotted};
use crate::template::{check, json};

fn stack(template: &Value) -> Stack {
    Stack::new("Stack", check(template.clone()).unwrap())
}

fn components(graph: &Graph, operation: &Operation) -> String {
    let name =
        |side: Side| operation.on(side).map(|id| graph.side(side).components[id].name.to_string());
    format!("{}>{}", name(Side::Before).unwrap_or_default(), name(Side::After).unwrap_or_default())
}

fn name(operation: &Operation) -> &'static str {
    match &operation.kind {
        OperationKind::Insert => "INSERT",
        OperationKind::Remove => "REMOVE",
        OperationKind::Replace => "REPLACE",
        OperationKind::Rename => "RENAME",
        OperationKind::Move => "MOVE",
        OperationKind::Property { .. } => "UPDATE",
    }
}

/// An operation with what is in it.
fn shown(graph: &Graph, id: OperationId) -> String {
    let operation = &graph.operations[id];
    let mut text = match &operation.kind {
        OperationKind::Property { change, old, new } => {
            let name = match change {
                PropertyChange::Insert => "INSERT",
                PropertyChange::Remove => "REMOVE",
                PropertyChange::Update => "UPDATE",
                PropertyChange::Move => "RENAME",
            };
            let path = |path: &Option<_>| path.as_ref().map(|path: &Vec<_>| dotted(path));
            let (old, new) = (path(old).unwrap_or_default(), path(new).unwrap_or_default());
            let mut inner: Vec<_> = operation.inner.iter().map(|id| shown(graph, *id)).collect();
            inner.sort();
            format!("{name} {old}>{new} [{}]", inner.join(", "))
        }
        _ => format!("{} {}", name(operation), components(graph, operation)),
    };
    if operation.certainty == Certainty::Possible {
        text += " perhaps";
    }
    if let Some(cause) = operation.cause {
        let cause = &graph.operations[cause];
        return format!("{text} because of {} {}", name(cause), components(graph, cause));
    }
    text
}

fn all(graph: &Graph) -> Vec<String> {
    let outermost = (0..graph.operations.len()).filter(|id| graph.operations[*id].outer.is_none());
    let mut shown: Vec<_> = outermost.map(|id| shown(graph, id)).collect();
    shown.sort();
    shown
}

/// An operation of a vector in the same form.
fn expected(operation: &Value) -> String {
    let text = |key: &str| operation.get(key).and_then(Value::as_str).unwrap_or_default();
    let list = |key: &str| operation.get(key).and_then(Value::as_array).unwrap_or_default();
    let path = |key: &str| {
        let step =
            |step: &Value| step.as_str().map_or_else(|| json::to_compact(step), str::to_owned);
        list(key).iter().map(step).collect::<Vec<_>>().join(".")
    };
    let mut shown = if let [before, after] = list("comp") {
        let name = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        format!("{} {}>{}", text("opType"), name(before), name(after))
    } else {
        let mut inner: Vec<_> = list("inner").iter().map(expected).collect();
        inner.sort();
        format!("{} {}>{} [{}]", text("propOp"), path("p1"), path("p2"), inner.join(", "))
    };
    if text("certainty") == "Partial" {
        shown += " perhaps";
    }
    if let Some((cause, components)) = text("cause").split_once(':') {
        let names = [("Update", "UPDATE"), ("Rename", "RENAME"), ("Replace", "REPLACE")];
        let cause = names.iter().find(|(name, _)| cause.starts_with(name)).unwrap().1;
        return format!("{shown} because of {cause} {components}");
    }
    shown
}

#[test]
fn the_vectors_hold_with_what_the_original_promises_but_does_not_do() {
    let vectors = json::parse(include_str!("../../../fixtures/vectors/c2a-diff.json")).unwrap();
    let cases = vectors.as_array().unwrap();
    assert_eq!(cases.len(), 15);
    for case in cases {
        let get = |key: &str| case.get(key).unwrap();
        let graph = diff(&[stack(get("before"))], &[stack(get("after"))], Joining::Contents);
        let mut expected: Vec<_> = get("engine").as_array().unwrap().iter().map(expected).collect();
        let more = case.get("more").and_then(Value::as_array).unwrap_or_default();
        expected.extend(more.iter().filter_map(Value::as_str).map(str::to_owned));
        expected.sort();
        assert_eq!(all(&graph), expected, "{:?}", get("name"));
    }
}

fn template(text: &str) -> Value {
    json::parse(text).unwrap()
}

#[test]
fn a_replacement_spreads_through_everything_that_cannot_be_changed() {
    let before = r#"{"Resources":{
        "A":{"Type":"AWS::S3::Bucket","Properties":{"BucketName":"one"}},
        "P":{"Type":"AWS::S3::BucketPolicy","Properties":{"Bucket":{"Ref":"A"}}},
        "F":{"Type":"AWS::Lambda::Function","Properties":{"Environment":{"Variables":{"B":{"Fn::Sub":"s3://${A}/x"}}}}},
        "T":{"Type":"AWS::SNS::Topic","DependsOn":"A"}}}"#;
    let after = before.replace("one", "two");
    let graph = diff(&[stack(&template(before))], &[stack(&template(&after))], Joining::Contents);
    let all = all(&graph);
    for expected in [
        "REPLACE A>A because of UPDATE A>A",
        "REPLACE P>P because of UPDATE P>P",
        "UPDATE Properties.Bucket>Properties.Bucket [] because of REPLACE A>A",
        "UPDATE Properties.Environment.Variables.B>Properties.Environment.Variables.B [] because of REPLACE A>A",
    ] {
        assert!(all.iter().any(|shown| shown == expected), "{expected}: {all:#?}");
    }
    assert_eq!(all.len(), 5, "an order alone changes nothing: {all:#?}");
}

#[test]
fn references_that_lead_back_to_their_start_come_to_an_end() {
    let before = r#"{"Resources":{
        "A":{"Type":"AWS::S3::BucketPolicy","Properties":{"Bucket":{"Ref":"B"},"X":1}},
        "B":{"Type":"AWS::S3::BucketPolicy","Properties":{"Bucket":{"Ref":"A"}}}}}"#;
    let after = before.replace(r#"{"Ref":"B"}"#, r#"["literal",{"Ref":"B"}]"#);
    let graph = diff(&[stack(&template(before))], &[stack(&template(&after))], Joining::Contents);
    let replaced = graph.operations.iter().filter(|one| one.kind == OperationKind::Replace);
    assert_eq!(replaced.count(), 2);
}
