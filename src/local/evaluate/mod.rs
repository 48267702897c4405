//! Templates with values instead of functions.
//!
//! In: a template, the values of its parameters, and a [`World`] that answers for resources,
//! exports and other stacks. Out: JSON, or the text with which CloudFormation refuses.

mod functions;
pub(crate) mod parameters;
pub(crate) mod references;

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::record::{Json, Parameter};
use crate::model::{Environment, Object, Template, Value};
use crate::template::{Segment, parse_sub};

/// What a template refers to outside of itself.
pub(crate) trait World {
    /// The value of `Ref` of a resource.
    fn reference(&self, logical_id: &str) -> Result<Json, String>;
    /// The value of an attribute of a resource.
    fn attribute(&self, logical_id: &str, attribute: &str) -> Result<Json, String>;
    /// The value of an export.
    fn import(&self, name: &str) -> Result<Json, String>;
    /// The value of an output of another stack of this account.
    fn stack_output(&self, stack: &str, region: Option<&str>, output: &str)
    -> Result<Json, String>;
}

/// The values of pseudo parameters.
#[derive(Clone, Debug)]
pub(crate) struct Pseudo {
    pub(crate) environment: Environment,
    pub(crate) stack_name: String,
    pub(crate) stack_id: String,
    pub(crate) notification_arns: Vec<String>,
}

/// Returns the partition of a region and the domain of its services.
pub(crate) fn partition(region: &str) -> (&'static str, &'static str) {
    if region.starts_with("cn-") {
        ("aws-cn", "amazonaws.com.cn")
    } else if region.starts_with("us-gov-") {
        ("aws-us-gov", "amazonaws.com")
    } else {
        ("aws", "amazonaws.com")
    }
}

impl Pseudo {
    fn get(&self, name: &str) -> Option<Json> {
        let (partition, suffix) = partition(&self.environment.region);
        Some(match name {
            "AWS::AccountId" => self.environment.account.as_str().into(),
            "AWS::Region" => self.environment.region.as_str().into(),
            "AWS::Partition" => partition.into(),
            "AWS::URLSuffix" => suffix.into(),
            "AWS::StackName" => self.stack_name.as_str().into(),
            "AWS::StackId" => self.stack_id.as_str().into(),
            "AWS::NotificationARNs" => self.notification_arns.clone().into(),
            _ => return None,
        })
    }
}

/// A template with the values that it is evaluated with.
pub(crate) struct Scope<'a> {
    template: &'a Template,
    parameters: &'a BTreeMap<String, Parameter>,
    pseudo: Pseudo,
    /// Conditions already evaluated; `None` while one is being evaluated.
    conditions: RefCell<BTreeMap<String, Option<bool>>>,
}

/// No resources, exports or stacks: what conditions see.
struct Nowhere;

impl World for Nowhere {
    fn reference(&self, id: &str) -> Result<Json, String> {
        Err(unresolved_condition(id))
    }
    fn attribute(&self, id: &str, _: &str) -> Result<Json, String> {
        Err(unresolved_condition(id))
    }
    fn import(&self, _: &str) -> Result<Json, String> {
        Err("Template error: Cannot use Fn::ImportValue in Conditions.".to_owned())
    }
    fn stack_output(&self, _: &str, _: Option<&str>, _: &str) -> Result<Json, String> {
        Err("Template error: Cannot use Fn::GetStackOutput in Conditions.".to_owned())
    }
}

fn unresolved_condition(id: &str) -> String {
    format!(
        "Template format error: Unresolved dependencies [{id}]. Cannot reference resources in the \
         Conditions block of the template"
    )
}

impl<'a> Scope<'a> {
    pub(crate) fn new(
        template: &'a Template,
        parameters: &'a BTreeMap<String, Parameter>,
        pseudo: Pseudo,
    ) -> Self {
        Self { template, parameters, pseudo, conditions: RefCell::default() }
    }

    /// Whether the resource or output with this body is there at all.
    pub(crate) fn is_active(&self, body: &Object) -> Result<bool, String> {
        body.get("Condition").and_then(Value::as_str).map_or(Ok(true), |name| self.condition(name))
    }

    /// Evaluates a condition by name.
    pub(crate) fn condition(&self, name: &str) -> Result<bool, String> {
        match self.conditions.borrow().get(name) {
            Some(Some(known)) => return Ok(*known),
            Some(None) => {
                return Err(format!(
                    "Template format error: Circular dependency in conditions: [{name}]"
                ));
            }
            None => {}
        }
        let definition = self.template.section("Conditions").and_then(|all| all.get(name));
        let definition = definition.ok_or_else(|| {
            format!(
                "Template format error: Unresolved condition dependency {name} in the Conditions \
                 block of the template"
            )
        })?;
        self.conditions.borrow_mut().insert(name.to_owned(), None);
        let value = self.truth(definition)?;
        self.conditions.borrow_mut().insert(name.to_owned(), Some(value));
        Ok(value)
    }

    fn truth(&self, value: &Value) -> Result<bool, String> {
        let single = value.as_object().and_then(Object::single);
        let items = single.and_then(|(_, argument)| argument.as_array()).unwrap_or_default();
        let malformed = || {
            "Template error: every Conditions member must be a boolean function of conditions"
                .to_owned()
        };
        match (single.map(|(key, _)| key.as_str()), items) {
            (Some("Fn::Equals"), [left, right]) => {
                let (left, right) = (self.plain(left)?, self.plain(right)?);
                Ok(functions::same(&left, &right))
            }
            (Some("Fn::Not"), [only]) => Ok(!self.truth(only)?),
            (Some("Fn::And"), [_, _, ..]) => {
                items.iter().try_fold(true, |all, item| Ok(self.truth(item)? && all))
            }
            (Some("Fn::Or"), [_, _, ..]) => {
                items.iter().try_fold(false, |any, item| Ok(self.truth(item)? || any))
            }
            (Some("Condition"), _) => {
                let name = single.and_then(|(_, name)| name.as_str()).ok_or_else(malformed)?;
                self.condition(name)
            }
            _ => Err(malformed()),
        }
    }

    /// Evaluates a value that refers to no resource.
    fn plain(&self, value: &Value) -> Result<Json, String> {
        Ok(self.value(value, &Nowhere)?.unwrap_or(Json::Null))
    }

    /// Evaluates a value; `None` is `AWS::NoValue`.
    pub(crate) fn value(&self, value: &Value, world: &dyn World) -> Result<Option<Json>, String> {
        Ok(Some(match value {
            Value::Null => Json::Null,
            Value::Bool(flag) => Json::Bool(*flag),
            Value::Number(number) => match number.as_str().parse::<serde_json::Number>() {
                Ok(number) => Json::Number(number),
                Err(_) => Json::from(number.as_str()),
            },
            Value::String(text) => Json::from(text.as_str()),
            Value::Array(items) => {
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    list.extend(self.value(item, world)?);
                }
                Json::Array(list)
            }
            Value::Object(object) => match object.single() {
                Some((key, argument)) if key == "Ref" || key.starts_with("Fn::") => {
                    return self.function(key, argument, world);
                }
                _ => self.object(object, world)?,
            },
        }))
    }

    fn object(&self, object: &Object, world: &dyn World) -> Result<Json, String> {
        let mut members = serde_json::Map::new();
        for (key, value) in object.iter() {
            if let Some(value) = self.value(value, world)? {
                members.insert(key.to_string(), value);
            }
        }
        Ok(Json::Object(members))
    }

    fn function(
        &self,
        key: &str,
        argument: &Value,
        world: &dyn World,
    ) -> Result<Option<Json>, String> {
        let items = argument.as_array().unwrap_or_default();
        Ok(Some(match (key, items) {
            ("Ref", _) => match argument.as_str() {
                Some("AWS::NoValue") => return Ok(None),
                Some(name) => self.reference(name, world)?,
                None => return Err("Template format error: [Ref] must be a string".to_owned()),
            },
            ("Fn::If", [Value::String(name), yes, no]) => {
                let branch = if self.condition(name)? { yes } else { no };
                return self.value(branch, world);
            }
            ("Fn::GetAtt", _) => self.attribute(argument, world)?,
            ("Fn::Sub", _) => self.substitute(argument, world)?.into(),
            ("Fn::FindInMap", [map, first, second, rest @ ..]) => {
                self.find_in_map([map, first, second], rest.first(), world)?
            }
            ("Fn::ImportValue", _) => world.import(&self.text(argument, world)?)?,
            ("Fn::GetStackOutput", _) => self.stack_output(argument, world)?,
            ("Fn::Transform", _) => {
                return Err(
                    "Fn::Transform is not supported by the embedded CloudFormation".to_owned()
                );
            }
            ("Fn::GetAZs", _) => {
                let region = self.text(argument, world)?;
                let region = if region.is_empty() {
                    self.pseudo.environment.region.to_string()
                } else {
                    region
                };
                functions::zones(&region)
            }
            _ => {
                let argument = self.value(argument, world)?.unwrap_or(Json::Null);
                functions::call(key, &argument)?
            }
        }))
    }

    fn reference(&self, name: &str, world: &dyn World) -> Result<Json, String> {
        if let Some(value) = self.pseudo.get(name) {
            return Ok(value);
        }
        match self.parameters.get(name) {
            Some(parameter) => Ok(parameters::value(parameter)),
            None => world.reference(name),
        }
    }

    fn attribute(&self, argument: &Value, world: &dyn World) -> Result<Json, String> {
        match argument {
            Value::String(text) => match text.split_once('.') {
                Some((id, attribute)) => world.attribute(id, attribute),
                None => Err(functions::malformed("Fn::GetAtt")),
            },
            Value::Array(items) => match items.as_slice() {
                [Value::String(id), attribute] => {
                    world.attribute(id, &self.text(attribute, world)?)
                }
                _ => Err(functions::malformed("Fn::GetAtt")),
            },
            _ => Err(functions::malformed("Fn::GetAtt")),
        }
    }

    fn substitute(&self, argument: &Value, world: &dyn World) -> Result<String, String> {
        let nothing = Object::new();
        let (text, own) = match argument {
            Value::String(text) => (text, &nothing),
            Value::Array(items) => match items.as_slice() {
                [Value::String(text)] => (text, &nothing),
                [Value::String(text), Value::Object(own)] => (text, own),
                _ => return Err(functions::malformed("Fn::Sub")),
            },
            _ => return Err(functions::malformed("Fn::Sub")),
        };
        let mut out = String::with_capacity(text.len());
        for segment in parse_sub(text).map_err(|error| format!("Template error: {error}"))? {
            match segment {
                Segment::Literal(literal) => out.push_str(literal),
                Segment::Variable(name) => match (own.get(name), name.split_once('.')) {
                    (Some(value), _) => out.push_str(&self.text(value, world)?),
                    (None, Some((id, attribute))) => {
                        out.push_str(&functions::text(&world.attribute(id, attribute)?));
                    }
                    (None, None) => {
                        out.push_str(&functions::text(&self.reference(name, world)?));
                    }
                },
            }
        }
        Ok(out)
    }

    fn find_in_map(
        &self,
        keys: [&Value; 3],
        default: Option<&Value>,
        world: &dyn World,
    ) -> Result<Json, String> {
        let mut path = Vec::with_capacity(3);
        for key in keys {
            path.push(self.text(key, world)?);
        }
        let map = self.template.section("Mappings").and_then(|maps| maps.get(&path[0]));
        let found = map.and_then(|map| map.get(&path[1])).and_then(|map| map.get(&path[2]));
        match (found, default.and_then(|default| default.get("DefaultValue"))) {
            (Some(value), _) | (None, Some(value)) => {
                Ok(self.value(value, world)?.unwrap_or(Json::Null))
            }
            (None, None) => {
                Err(format!("Template error: Unable to get mapping for {}", path.join("::")))
            }
        }
    }

    fn stack_output(&self, argument: &Value, world: &dyn World) -> Result<Json, String> {
        let member = |key: &str| -> Result<Option<String>, String> {
            argument.get(key).map(|value| self.text(value, world)).transpose()
        };
        match (member("StackName")?, member("OutputName")?) {
            (Some(stack), Some(output)) => {
                world.stack_output(&stack, member("Region")?.as_deref(), &output)
            }
            _ => Err(functions::malformed("Fn::GetStackOutput")),
        }
    }

    /// Evaluates a value that must be a text.
    pub(crate) fn text(&self, value: &Value, world: &dyn World) -> Result<String, String> {
        let value = self.value(value, world)?;
        Ok(functions::text(&value.unwrap_or(Json::String(String::new()))))
    }
}

pub(crate) use functions::{same, text, zones};

#[cfg(test)]
mod tests;
