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
