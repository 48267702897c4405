//! Values for tests.

use proptest::prelude::*;

use crate::model::{Number, Value};

/// Makes values with all that makes a way into them hard to write: keys with slashes, tildes and
/// digits, nothing, and what is empty.
pub(super) fn values() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec!["a", "b", "Key", "0", "1", "-", "", "a/b", "~", "~1", "*"]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-2..3).prop_map(|n: i32| Value::Number(Number::from_text(&n.to_string()))),
        prop::sample::select(vec!["", "x", "y", "1", "true"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let members = (key.clone().prop_map(Into::into), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::Array),
            prop::collection::vec(members, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// JSON for tests: the reader and writer of templates belong to another room of the same floor.
pub(super) mod json {
    use crate::model::{Number, Text, Value};

    /// Reads a value; keys come in the order of their bytes.
    pub(in crate::registry) fn parse(text: &str) -> serde_json::Result<Value> {
        serde_json::from_str(text).map(of)
    }

    fn of(value: serde_json::Value) -> Value {
        use serde_json::Value as Json;
        match value {
            Json::Null => Value::Null,
            Json::Bool(flag) => Value::Bool(flag),
            Json::Number(number) => Value::Number(Number::from_text(&number.to_string())),
            Json::String(text) => Value::String(text.into()),
            Json::Array(items) => Value::Array(items.into_iter().map(of).collect()),
            Json::Object(members) => {
                let members = members.into_iter().map(|(key, value)| (key.into(), of(value)));
                Value::Object(members.collect())
            }
        }
    }

    /// Writes a value on one line, keys in their order.
    pub(in crate::registry) fn to_compact(value: &Value) -> String {
        let text = |text: &str| serde_json::Value::from(text).to_string();
        match value {
            Value::Null => "null".to_owned(),
            Value::Bool(flag) => flag.to_string(),
            Value::Number(number) => number.to_string(),
            Value::String(string) => text(string),
            Value::Array(items) => {
                format!("[{}]", items.iter().map(to_compact).collect::<Vec<_>>().join(","))
            }
            Value::Object(object) => {
                let member =
                    |(key, value): (&Text, &Value)| format!("{}:{}", text(key), to_compact(value));
                format!("{{{}}}", object.iter().map(member).collect::<Vec<_>>().join(","))
            }
        }
    }
}
