//! JSON text ⇄ [`Value`], numbers digit for digit.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::TemplateError;
use crate::model::{Number, Object, Text, Value};

/// The only key of the map by which `serde_json` hands over a number as text.
const NUMBER_TOKEN: &str = "$serde_json::private::Number";

/// Reads one JSON value from a text.
///
/// # Errors
/// When the text is not JSON (line and column are named) or is nested deeper than 128 levels,
/// which CloudFormation does not accept either.
pub fn parse(text: &str) -> Result<Value, TemplateError> {
    serde_json::from_str::<Read>(text)
        .map(|read| read.0)
        .map_err(|error| TemplateError::Json(error.to_string()))
}

/// Writes a value as indented JSON.
pub fn to_pretty(value: &Value) -> String {
    // Writing to a string cannot fail, and every key is a string.
    serde_json::to_string_pretty(&Written(value)).unwrap_or_default()
}

/// Writes a value as the CDK writes templates: JSON, indented by one blank for each level.
pub fn to_template(value: &Value) -> String {
    let mut bytes = Vec::new();
    let style = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, style);
    // Writing to a vector cannot fail, every key is a string, and what is written is UTF-8.
    match Written(value).serialize(&mut serializer) {
        Ok(()) => String::from_utf8(bytes).unwrap_or_default(),
        Err(_) => String::new(),
    }
}

/// Writes a value as JSON on one line.
pub fn to_compact(value: &Value) -> String {
    // Writing to a string cannot fail, and every key is a string.
    serde_json::to_string(&Written(value)).unwrap_or_default()
}

/// A value to be written through `serde`.
pub struct Written<'a>(pub &'a Value);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(flag) => serializer.serialize_bool(*flag),
            Value::Number(number) => match number.as_str().parse::<serde_json::Number>() {
                Ok(number) => number.serialize(serializer),
                Err(_) => serializer.serialize_str(number.as_str()),
            },
            Value::String(text) => serializer.serialize_str(text),
            Value::Array(items) => serializer.collect_seq(items.iter().map(Written)),
            Value::Object(object) => {
                let mut map = serializer.serialize_map(Some(object.len()))?;
                for (key, value) in object.iter() {
                    map.serialize_entry(key.as_str(), &Written(value))?;
                }
                map.end()
            }
        }
    }
}

/// A value as it is read through `serde`.
struct Read(Value);

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor).map(Self)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(Number::from_text(&number.to_string())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(Number::from_text(&number.to_string())))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(Number::from_text(&number.to_string())))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Read(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Vec::new();
        while let Some(Key(key)) = map.next_key()? {
            if members.is_empty() && key == NUMBER_TOKEN {
                let NumberText(text) = map.next_value()?;
                return Ok(Value::Number(Number::from_text(&text)));
            }
            let Read(value) = map.next_value()?;
            members.push((key, value));
        }
        Object::from_unique(members)
            .map(Value::Object)
            .map_err(|key| serde::de::Error::custom(format!("the key `{key}` is given twice")))
    }
}

/// The key of a member, short ones without an allocation.
struct Key(Text);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl Visitor<'_> for KeyVisitor {
            type Value = Key;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_str<E>(self, text: &str) -> Result<Key, E> {
                Ok(Key(text.into()))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

struct NumberText(String);

impl<'de> Deserialize<'de> for NumberText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_reads_back_as_it_is_written() {
        let text = r#"{"b":[1,2.50,1e+400,123456789012345678901234567890,-0],"a":{"x":null,"y":true,"z":"é\n"}}"#;
        let value = parse(text).unwrap();
        assert_eq!(to_compact(&value), text);
    }

    #[test]
    fn a_text_that_is_not_json_is_refused_with_its_place() {
        let error = parse("{\"a\":\n 1,}").unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }

    #[test]
    fn a_key_that_is_given_twice_is_refused_with_its_place() {
        let error = parse("{\"A\":1,\n\"A\":2}").unwrap_err().to_string();
        assert!(error.contains("`A` is given twice") && error.contains("line 2"), "{error}");
    }

    #[test]
    fn nesting_of_ten_thousand_levels_is_refused_without_a_crash() {
        let text = "[".repeat(10_000) + &"]".repeat(10_000);
        assert!(parse(&text).unwrap_err().to_string().contains("recursion limit"));
    }

    #[test]
    fn a_million_keys_are_read() {
        let members: Vec<String> = (0..1_000_000).map(|n| format!("\"k{n}\":0")).collect();
        let value = parse(&format!("{{{}}}", members.join(","))).unwrap();
        assert_eq!(value.as_object().map(Object::len), Some(1_000_000));
    }
}
