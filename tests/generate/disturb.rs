//! Templates in another order, and with what does not belong there.

use cdkr::model::{Number, Object, Stack, Value};
use cdkr::template;
use proptest::collection::vec;
use proptest::prelude::*;

/// Reorders whatever has no order.
fn shuffle(value: &Value, order: &mut u64, key: &str) -> Value {
    let mut next = || {
        *order =
            order.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *order >> 33
    };
    match value {
        Value::Object(object) => {
            let mut members: Vec<_> =
                object.iter().map(|(key, value)| (next(), key.clone(), value)).collect();
            members.sort_by_key(|(number, _, _)| *number);
            let members = members.into_iter().map(|(_, key, value)| {
                let value = shuffle(value, order, &key);
                (key, value)
            });
            Value::Object(members.collect::<Object>())
        }
        Value::Array(items) => {
            let mut items: Vec<_> = items.iter().map(|item| (next(), item)).collect();
            if matches!(key, "DependsOn" | "Tags") {
                items.sort_by_key(|(number, _)| *number);
            }
            Value::Array(items.into_iter().map(|(_, item)| shuffle(item, order, "")).collect())
        }
        Value::String(_) if key == "DependsOn" && next() % 2 == 0 => {
            Value::Array(vec![value.clone()])
        }
        other => other.clone(),
    }
}

pub fn shuffled(stacks: &[Stack], order: &mut u64) -> Vec<Stack> {
    let mut stacks: Vec<Stack> = stacks
        .iter()
        .map(|stack| {
            let sections = Value::Object(stack.template.sections.clone());
            let template = template::check(shuffle(&sections, order, "")).unwrap();
            Stack { template, ..stack.clone() }
        })
        .collect();
    stacks.sort_by_key(|stack| {
        stack
            .name
            .as_str()
            .bytes()
            .fold(*order, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    });
    stacks
}

/// Values that do not belong where they stand.
pub fn junk() -> impl Strategy<Value = Value> {
    let words = [
        "",
        "Ref",
        "Fn::Sub",
        "${",
        "${A.B}",
        "${!x",
        "A",
        "AWS::Region",
        "Type",
        "Default",
        "/",
        "Condition",
        "Outputs.X",
        "é\u{1}",
        "Resources",
        "00000000",
        "orders1A2B3C4D",
    ];
    let keys = [
        "Ref",
        "Fn::GetAtt",
        "Fn::Sub",
        "Fn::If",
        "Fn::FindInMap",
        "Fn::ImportValue",
        "Fn::Join",
        "Fn::GetStackOutput",
        "Condition",
        "DependsOn",
        "Properties",
        "Metadata",
        "Type",
        "Value",
        "Export",
        "Name",
        "Parameters",
        "StackName",
        "OutputName",
        "aws:cdk:path",
        "Tags",
        "Key",
        "Fn::ForEach::X",
        "A",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(|n| Value::Number(Number::from_text(&n.to_string()))),
        proptest::sample::select(words.to_vec()).prop_map(Value::from),
        "\\PC{0,12}".prop_map(|text| Value::from(text.as_str())),
        // As deep as text is read.
        (1..100_usize).prop_map(|depth| {
            (0..depth).fold(Value::Null, |inner, _| Value::Array(vec![inner]))
        }),
    ];
    leaf.prop_recursive(5, 24, 4, move |inner| {
        let key = proptest::sample::select(keys.to_vec());
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((key, inner), 0..4).prop_map(|members| {
                let members = members.into_iter().map(|(key, value)| (key.into(), value));
                Value::Object(members.collect())
            }),
        ]
    })
}

/// Puts a value in the place of one that is there; `at` chooses which.
pub fn replace(value: &mut Value, at: &mut usize, junk: &Value) {
    if *at == 0 {
        *value = junk.clone();
        *at = usize::MAX;
        return;
    }
    *at = at.saturating_sub(1);
    match value {
        Value::Object(object) => {
            object.iter_mut().for_each(|(_, inner)| replace(inner, at, junk));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| replace(inner, at, junk)),
        _ => {}
    }
}

pub fn size(value: &Value) -> usize {
    match value {
        Value::Object(object) => 1 + object.iter().map(|(_, inner)| size(inner)).sum::<usize>(),
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        _ => 1,
    }
}
