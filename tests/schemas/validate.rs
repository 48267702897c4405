//! As much of JSON Schema 2020-12 as our schemas use. A keyword that is not known here is refused,
//! so that nothing is taken to be checked that is not.

#![expect(unreachable_pub, reason = "a part of a test")]

use regex::Regex;
use serde_json::Value as Json;

/// Which members an object may have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Properties {
    /// What the schema says.
    AsSaid,
    /// Only those that the schema describes.
    All,
}

const NOTES: [&str; 5] = ["$schema", "title", "description", "$defs", "required"];
const RULES: [&str; 15] = [
    "$ref",
    "type",
    "enum",
    "const",
    "pattern",
    "minimum",
    "maximum",
    "properties",
    "items",
    "additionalProperties",
    "propertyNames",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
];

/// Checks that there is nothing in a schema that is not understood here.
pub fn check(schema: &Json) {
    let Json::Object(members) = schema else { return assert!(schema.is_boolean(), "{schema}") };
    for (key, value) in members {
        match (key.as_str(), value) {
            ("properties" | "$defs", Json::Object(all)) => all.values().for_each(check),
            ("anyOf" | "oneOf" | "allOf", Json::Array(all)) => all.iter().for_each(check),
            ("items" | "additionalProperties" | "propertyNames" | "not", one) => check(one),
            ("pattern", Json::String(pattern)) => drop(Regex::new(pattern).unwrap()),
            (key, _) => assert!(NOTES.contains(&key) || RULES.contains(&key), "{key}"),
        }
    }
}

/// Returns what is wrong with a value: the path in it, and the rule.
pub fn problems(schema: &Json, value: &Json, properties: Properties) -> Vec<String> {
    let mut found = Vec::new();
    Check { root: schema, properties }.value(schema, value, "", &mut found);
    found
}

struct Check<'a> {
    root: &'a Json,
    properties: Properties,
}

impl Check<'_> {
    fn fits(&self, schema: &Json, value: &Json) -> bool {
        let mut found = Vec::new();
        self.value(schema, value, "", &mut found);
        found.is_empty()
    }

    fn value(&self, schema: &Json, value: &Json, at: &str, found: &mut Vec<String>) {
        let Json::Object(rules) = schema else {
            if schema == &Json::Bool(false) {
                found.push(format!("{at}: must not be there"));
            }
            return;
        };
        if let Some(reference) = rules.get("$ref") {
            let name = reference.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
            self.value(&self.root["$defs"][name], value, at, found);
        }
        for (rule, said) in rules {
            if !self.holds(rule, said, value) {
                found.push(format!("{at}: {rule} {said}: {value}"));
            }
        }
        match value {
            Json::Array(items) => {
                for (number, item) in items.iter().enumerate() {
                    if let Some(schema) = rules.get("items") {
                        self.value(schema, item, &format!("{at}/{number}"), found);
                    }
                }
            }
            Json::Object(members) => {
                for (name, member) in members {
                    let at = format!("{at}/{name}");
                    if let Some(schema) = rules.get("propertyNames") {
                        self.value(schema, &Json::String(name.clone()), &at, found);
                    }
                    let described = rules.get("properties").and_then(|all| all.get(name));
                    let closed = Json::Bool(false);
                    let is_closed =
                        self.properties == Properties::All && rules.contains_key("properties");
                    let others = rules.get("additionalProperties");
                    let others = others.or(is_closed.then_some(&closed));
                    if let Some(schema) = described.or(others) {
                        self.value(schema, member, &at, found);
                    }
                }
                for name in rules.get("required").and_then(Json::as_array).into_iter().flatten() {
                    if !members.contains_key(name.as_str().unwrap()) {
                        found.push(format!("{at}: {name} is missing"));
                    }
                }
            }
            _ => {}
        }
    }

    fn holds(&self, rule: &str, said: &Json, value: &Json) -> bool {
        let fitting =
            || said.as_array().unwrap().iter().filter(|one| self.fits(one, value)).count();
        match rule {
            "type" => match said {
                Json::Array(types) => types.iter().any(|one| is_of(one.as_str().unwrap(), value)),
                one => is_of(one.as_str().unwrap(), value),
            },
            "enum" => said.as_array().unwrap().contains(value),
            "const" => said == value,
            "pattern" => value
                .as_str()
                .is_none_or(|text| Regex::new(said.as_str().unwrap()).unwrap().is_match(text)),
            "minimum" => value.as_f64().is_none_or(|number| number >= said.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= said.as_f64().unwrap()),
            "anyOf" => fitting() > 0,
            "oneOf" => fitting() == 1,
            "not" => !self.fits(said, value),
            "allOf" => fitting() == said.as_array().unwrap().len(),
            _ => true,
        }
    }
}

fn is_of(kind: &str, value: &Json) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    }
}
