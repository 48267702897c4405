//! Characters that CloudFormation does not give back: it returns `?` for every one outside of
//! ASCII. To send that again would be a change, so the stacks as they are to be tell what stood
//! there.

use rustc_hash::FxHashMap as HashMap;

use super::steps::{Finding, Severity};
use crate::compare::Comparison;
use crate::model::{
    DeployedEnvironment, DeployedStack, Location, Object, Stack, Template, Text, Value,
};

/// A text with a `?` of which nothing tells what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Doubt {
    pub(super) stack: String,
    resource: Option<String>,
    /// Dotted path of the first such text.
    path: String,
}

impl Doubt {
    pub(super) fn finding(&self) -> Finding {
        let whose = match &self.resource {
            Some(id) => format!("`{}.{id}`", self.stack),
            None => format!("the template of {}", self.stack),
        };
        // CloudFormation refuses to change a resource in a refactor, but not an output.
        let is_output = self.path.starts_with("Outputs.") && !self.path.ends_with(".Description");
        let (severity, remedy) = if is_output {
            (
                Severity::Error,
                "Give the output in the app the text that it has in the stack, or deploy the change \
                 of it first.",
            )
        } else {
            (Severity::Warning, "If the preview refuses the resource for that, leave it out.")
        };
        Finding {
            severity,
            stack: self.stack.clone(),
            resource: self.resource.clone(),
            message: format!(
                "`{}` of {whose} has a `?` that may stand for a character outside of ASCII, which \
                 CloudFormation does not give back.",
                self.path
            ),
            remedy: remedy.to_owned(),
        }
    }
}

/// Returns the deployed templates with their characters, in the order of the stacks, and what is
/// not known.
pub(super) fn restore(
    deployed: &DeployedEnvironment,
    local: &[Stack],
    comparison: &Comparison,
) -> (Vec<Template>, Vec<Doubt>) {
    let by_name: HashMap<&str, &Stack> =
        local.iter().map(|stack| (stack.name.as_str(), stack)).collect();
    let images: HashMap<&Location, &Location> = comparison
        .mappings
        .iter()
        .map(|mapping| (&mapping.source.location, &mapping.destination.location))
        .collect();
    let mut doubts = Vec::new();
    let mut templates = Vec::new();
    for deployed in &deployed.stacks {
        let stack = &deployed.stack;
        if !stack.is_returned {
            templates.push(stack.template.clone());
            continue;
        }
        let counterpart = by_name.get(stack.name.as_str()).map(|stack| &stack.template.sections);
        let image = |id: &str| {
            let here = Location::new(stack.name.as_str(), id);
            let place = images.get(&here).copied().unwrap_or(&here);
            by_name.get(place.stack.as_str())?.template.resource(place.logical_id.as_str())
        };
        let mut sections = Object::new();
        for (name, section) in stack.template.sections.iter() {
            let mut found = Vec::new();
            let restored = match section {
                Value::Object(resources) if name == "Resources" => {
                    let restored = resources.iter().map(|(id, body)| {
                        let mut found = Vec::new();
                        let body = match body {
                            Value::Object(body) => {
                                Value::Object(object(body, image(id), "", &mut found))
                            }
                            other => other.clone(),
                        };
                        doubts.extend(found.into_iter().next().map(|path| Doubt {
                            stack: stack.name.to_string(),
                            resource: Some(id.to_string()),
                            path,
                        }));
                        (id.clone(), body)
                    });
                    Value::Object(restored.collect())
                }
                Value::Object(outputs) if name == "Outputs" => {
                    let known = Value::Object(with_known_values(outputs, deployed));
                    let local = counterpart.and_then(|all| all.get(name));
                    let mut open = Vec::new();
                    let restored = value(&known, local, name, &mut open);
                    // What has been read of the stack needs no counterpart.
                    found.extend(open.into_iter().filter(|path| !is_known(path, deployed)));
                    restored
                }
                other => value(other, counterpart.and_then(|all| all.get(name)), name, &mut found),
            };
            let all = if name == "Outputs" { found.len() } else { 1 };
            doubts.extend(found.into_iter().take(all).map(|path| Doubt {
                stack: stack.name.to_string(),
                resource: None,
                path,
            }));
            sections.insert(name.clone(), restored);
        }
        templates.push(Template { sections });
    }
    (templates, doubts)
}

/// Outputs whose literal values are those that the stack says that it has: these come back as
/// they are.
fn with_known_values(outputs: &Object, deployed: &DeployedStack) -> Object {
    let known = |key: &Text, output: &Value| -> Option<Value> {
        let mut output = output.as_object()?.clone();
        let text = output.get("Value")?.as_str()?;
        let actual = deployed.outputs.get(key).filter(|actual| folds_to(actual, text))?;
        output.insert("Value".into(), Value::String(actual.clone()));
        Some(Value::Object(output))
    };
    let restored = outputs
        .iter()
        .map(|(key, output)| (key.clone(), known(key, output).unwrap_or(output.clone())));
    restored.collect()
}

/// Whether a path is that of an output's value that the stack says itself.
fn is_known(path: &str, deployed: &DeployedStack) -> bool {
    let key = path.strip_prefix("Outputs.").and_then(|rest| rest.strip_suffix(".Value"));
    let body = deployed.stack.template.section("Outputs");
    key.and_then(|key| {
        let text = body?.get(key)?.get("Value")?.as_str()?;
        Some(folds_to(deployed.outputs.get(key)?, text))
    })
    .unwrap_or(false)
}

fn value(deployed: &Value, local: Option<&Value>, path: &str, doubts: &mut Vec<String>) -> Value {
    match deployed {
        Value::String(text) if text.contains('?') => match local {
            Some(Value::String(other)) if folds_to(other, text) => Value::String(other.clone()),
            _ => {
                doubts.push(path.to_owned());
                deployed.clone()
            }
        },
        Value::Array(items) => {
            let others = local.and_then(Value::as_array);
            let restored = items.iter().enumerate().map(|(at, item)| {
                let other = others.and_then(|others| others.get(at));
                value(item, other, &format!("{path}.{at}"), doubts)
            });
            Value::Array(restored.collect())
        }
        Value::Object(members) => {
            Value::Object(object(members, local.and_then(Value::as_object), path, doubts))
        }
        other => other.clone(),
    }
}

fn object(
    deployed: &Object,
    local: Option<&Object>,
    path: &str,
    doubts: &mut Vec<String>,
) -> Object {
    let mut restored = Object::new();
    for (key, member) in deployed.iter() {
        let below = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
        let mut own = key.clone();
        if key.contains('?') {
            let other =
                local.and_then(|local| local.iter().find(|(other, _)| folds_to(other, key)));
            match other {
                Some((other, _)) => own.clone_from(other),
                None => doubts.push(below.clone()),
            }
        }
        let other = local.and_then(|local| local.get(&own));
        restored.insert(own, value(member, other, &below, doubts));
    }
    restored
}

/// Whether a text is given back as another.
fn folds_to(text: &Text, returned: &str) -> bool {
    let mut returned = returned.chars();
    text.chars().all(|c| returned.next() == Some(if c.is_ascii() { c } else { '?' }))
        && returned.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::json;

    #[test]
    fn a_text_is_only_restored_from_its_own_place() {
        let parse = |text: &str| json::parse(text).unwrap();
        let deployed = parse(r#"{"a":["Gr??e","why?"],"b":"?","T?r":{"c":"?x"}}"#);
        let local = parse(r#"{"a":["Größe","why?"],"b":"other","Tür":{"c":"éx"}}"#);
        let mut doubts = Vec::new();
        let restored = value(&deployed, Some(&local), "", &mut doubts);
        assert_eq!(
            json::to_compact(&restored),
            r#"{"a":["Größe","why?"],"b":"?","Tür":{"c":"éx"}}"#
        );
        assert_eq!(doubts, ["b"]);
    }
}
