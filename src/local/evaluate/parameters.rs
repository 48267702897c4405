//! The values of a template's parameters: what was given, what was there before, defaults.

use std::collections::BTreeMap;

use super::functions::text;
use crate::local::error::{Answer, ServiceError};
use crate::local::record::{Json, Parameter};
use crate::model::{Object, Template, Value};
use crate::template::json;

/// A parameter as a request gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParameterInput {
    /// The name.
    pub key: String,
    /// The value, unless the previous one is to be used.
    pub value: Option<String>,
    /// Whether the previous value is to be used.
    pub use_previous: bool,
}

/// Returns the value of `Ref` of a parameter: a list for the types that are lists.
pub(super) fn value(parameter: &Parameter) -> Json {
    let text = parameter.resolved.as_ref().unwrap_or(&parameter.value);
    let declared = &parameter.parameter_type;
    if declared.contains("List<") || declared == "CommaDelimitedList" || declared.ends_with("List>")
    {
        if text.is_empty() {
            return Json::Array(Vec::new());
        }
        return text.split(',').map(|item| Json::from(item.trim())).collect();
    }
    Json::from(text.as_str())
}

/// Finds the value of every parameter that a template declares.
///
/// `before` holds the values of the stack that is updated; `stored` reads a parameter of the
/// parameter store.
pub(crate) fn resolve(
    template: &Template,
    given: &[ParameterInput],
    before: &BTreeMap<String, Parameter>,
    stored: &dyn Fn(&str) -> Answer<Option<String>>,
) -> Answer<BTreeMap<String, Parameter>> {
    let nothing = Object::new();
    let declared = template.section("Parameters").unwrap_or(&nothing);
    let unknown: Vec<&str> = given
        .iter()
        .map(|input| input.key.as_str())
        .filter(|key| !declared.contains_key(key))
        .collect();
    if !unknown.is_empty() {
        return Err(ServiceError::validation(format!(
            "Parameters: [{}] do not exist in the template",
            unknown.join(", ")
        )));
    }
    let (mut found, mut missing) = (BTreeMap::new(), Vec::new());
    for (name, declaration) in declared.iter() {
        match pick(name, declaration, given, before)? {
            None => missing.push(name.as_str()),
            Some(value) => {
                found.insert(name.to_string(), complete(name, declaration, value, stored)?);
            }
        }
    }
    if missing.is_empty() {
        return Ok(found);
    }
    Err(ServiceError::validation(format!("Parameters: [{}] must have values", missing.join(", "))))
}

fn pick(
    name: &str,
    declaration: &Value,
    given: &[ParameterInput],
    before: &BTreeMap<String, Parameter>,
) -> Answer<Option<String>> {
    let default = || declaration.get("Default").map(scalar);
    match given.iter().find(|input| input.key == name) {
        Some(input) if input.use_previous => match before.get(name) {
            Some(previous) => Ok(Some(previous.value.clone())),
            None => Err(ServiceError::validation(format!(
                "Invalid input for parameter key {name}. Cannot specify usePreviousValue as true \
                 for a parameter key not in the previous template"
            ))),
        },
        Some(input) => Ok(input.value.clone().or_else(default)),
        None => Ok(default()),
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Array(items) => items.iter().map(scalar).collect::<Vec<_>>().join(","),
        other => json::to_compact(other),
    }
}

fn complete(
    name: &str,
    declaration: &Value,
    value: String,
    stored: &dyn Fn(&str) -> Answer<Option<String>>,
) -> Answer<Parameter> {
    let parameter_type = declaration.get("Type").and_then(Value::as_str).unwrap_or("String");
    constraints(name, declaration, parameter_type, &value)?;
    let mut resolved = None;
    if parameter_type.starts_with("AWS::SSM::Parameter::Value<") {
        resolved = stored(&value)?;
        if resolved.is_none() {
            return Err(ServiceError::validation(format!(
                "Unable to fetch parameters [{value}] from parameter store for this account."
            )));
        }
    }
    let no_echo = declaration.get("NoEcho").is_some_and(|flag| scalar(flag) == "true");
    Ok(Parameter { value, resolved, no_echo, parameter_type: parameter_type.to_owned() })
}

/// `AllowedPattern` is not enforced: it is a Java regular expression.
fn constraints(name: &str, declaration: &Value, kind: &str, value: &str) -> Answer<()> {
    let explained = |text: String| {
        let own = declaration.get("ConstraintDescription").and_then(Value::as_str);
        let text =
            own.map_or(text, |own| format!("Parameter {name} failed to satisfy constraint: {own}"));
        Err(ServiceError::validation(text))
    };
    if let Some(allowed) = declaration.get("AllowedValues").and_then(Value::as_array) {
        let items: Vec<&str> = if kind == "CommaDelimitedList" {
            value.split(',').map(str::trim).collect()
        } else {
            vec![value]
        };
        if items.iter().any(|item| !allowed.iter().any(|other| scalar(other) == *item)) {
            let list: Vec<String> = allowed.iter().map(scalar).collect();
            return explained(format!(
                "Parameter '{name}' must be one of AllowedValues [{}]",
                list.join(", ")
            ));
        }
    }
    let limit =
        |key: &str| declaration.get(key).and_then(|limit| scalar(limit).parse::<f64>().ok());
    if kind == "Number" || kind == "List<Number>" {
        for item in value.split(',') {
            let Ok(number) = item.trim().parse::<f64>() else {
                return explained(format!("Parameter '{name}' must be a number"));
            };
            if limit("MinValue").is_some_and(|least| number < least) {
                return explained(format!(
                    "Parameter '{name}' must be a number not less than {}",
                    text_of(declaration, "MinValue")
                ));
            }
            if limit("MaxValue").is_some_and(|most| number > most) {
                return explained(format!(
                    "Parameter '{name}' must be a number not greater than {}",
                    text_of(declaration, "MaxValue")
                ));
            }
        }
    }
    let length = u32::try_from(value.chars().count()).map_or(f64::MAX, f64::from);
    if limit("MinLength").is_some_and(|least| length < least) {
        let least = text_of(declaration, "MinLength");
        return explained(format!("Parameter '{name}' must contain at least {least} characters"));
    }
    if limit("MaxLength").is_some_and(|most| length > most) {
        let most = text_of(declaration, "MaxLength");
        return explained(format!("Parameter '{name}' must contain at most {most} characters"));
    }
    Ok(())
}

fn text_of(declaration: &Value, key: &str) -> String {
    declaration.get(key).map(scalar).unwrap_or_default()
}

/// Returns the parameters that a nested stack gets from the properties of its resource.
pub(crate) fn of_nested(properties: &Json) -> Vec<ParameterInput> {
    let given = properties.get("Parameters").and_then(Json::as_object);
    let input = |(key, value): (&String, &Json)| ParameterInput {
        key: key.clone(),
        value: Some(text(value)),
        use_previous: false,
    };
    given.into_iter().flatten().map(input).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::templates::parse;

    fn given(key: &str, value: &str) -> ParameterInput {
        ParameterInput { key: key.into(), value: Some(value.into()), use_previous: false }
    }

    fn run(declared: &str, given: &[ParameterInput]) -> Answer<BTreeMap<String, Parameter>> {
        let template = parse(&format!(r#"{{"Parameters":{declared}}}"#)).unwrap();
        let before = BTreeMap::from([(
            "Old".to_owned(),
            Parameter { value: "was".to_owned(), ..Parameter::default() },
        )]);
        let stored = |name: &str| Ok((name == "/v").then(|| "32".to_owned()));
        resolve(&template, given, &before, &stored)
    }

    fn refusal(declared: &str, given: &[ParameterInput]) -> String {
        run(declared, given).unwrap_err().message
    }

    #[test]
    fn values_come_from_the_request_the_stack_before_or_the_default() {
        let previous = ParameterInput { key: "Old".into(), value: None, use_previous: true };
        let found = run(
            r#"{"A":{"Type":"String"},"B":{"Type":"Number","Default":5},"Old":{"Type":"String"}}"#,
            &[given("A", "x"), previous.clone()],
        )
        .unwrap();
        assert_eq!(found["A"].value, "x");
        assert_eq!(found["B"].value, "5");
        assert_eq!(found["Old"].value, "was");
        let previous = ParameterInput { key: "A".into(), ..previous };
        assert!(refusal(r#"{"A":{"Type":"String"}}"#, &[previous]).contains("usePreviousValue"));
    }

    #[test]
    fn missing_and_unknown_parameters_are_named() {
        assert_eq!(
            refusal(r#"{"A":{"Type":"String"},"B":{"Type":"String"}}"#, &[]),
            "Parameters: [A, B] must have values"
        );
        assert_eq!(
            refusal("{}", &[given("X", "")]),
            "Parameters: [X] do not exist in the template"
        );
    }

    #[test]
    fn constraints_are_enforced() {
        let one = |declaration: &str, value: &str| {
            refusal(&format!(r#"{{"A":{declaration}}}"#), &[given("A", value)])
        };
        assert!(one(r#"{"Type":"String","AllowedValues":["a"]}"#, "b").contains("AllowedValues"));
        assert_eq!(one(r#"{"Type":"Number"}"#, "x"), "Parameter 'A' must be a number");
        assert!(one(r#"{"Type":"Number","MinValue":3}"#, "2").contains("not less than 3"));
        assert!(one(r#"{"Type":"String","MinLength":3}"#, "ab").contains("at least 3"));
        assert!(
            one(r#"{"Type":"String","MaxLength":"1","ConstraintDescription":"short"}"#, "ab")
                .ends_with("failed to satisfy constraint: short")
        );
    }

    #[test]
    fn parameters_of_the_parameter_store_are_looked_up() {
        let declared = |name: &str| {
            format!(r#"{{"A":{{"Type":"AWS::SSM::Parameter::Value<String>","Default":"{name}"}}}}"#)
        };
        let found = run(&declared("/v"), &[]).unwrap();
        assert_eq!(value(&found["A"]), "32");
        assert_eq!(
            refusal(&declared("/no"), &[]),
            "Unable to fetch parameters [/no] from parameter store for this account."
        );
    }

    #[test]
    fn lists_are_lists() {
        let parameter = |parameter_type: &str, value: &str| Parameter {
            value: value.to_owned(),
            parameter_type: parameter_type.to_owned(),
            ..Parameter::default()
        };
        assert_eq!(value(&parameter("CommaDelimitedList", "a, b")), serde_json::json!(["a", "b"]));
        assert_eq!(
            value(&parameter("List<AWS::EC2::Subnet::Id>", "s-1")),
            serde_json::json!(["s-1"])
        );
        assert_eq!(value(&parameter("String", "a,b")), "a,b");
    }
}
