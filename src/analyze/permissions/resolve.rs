//! Values with every reference replaced by what it denotes.
//!
//! A reference to a resource becomes `${Stack.LogicalId}` or `${Stack.LogicalId.Attribute}`, so
//! that a `Ref`, a `Fn::GetAtt`, a parameter of a nested stack and an import of the same thing
//! are one text. What only CloudFormation can compute stays as JSON, with the definitions of
//! the conditions and mappings in it in the place of their names.

use crate::compare::{Meaning, Scope};
use crate::model::{Object, Text, Value};
use crate::template::json::to_compact;
use crate::template::{Attribute, Intrinsic, Segment, parse_sub};

/// How many definitions may be read in for one property: enough for every real template, and a
/// bound for hostile ones.
const MOST_EXPANSIONS: u32 = 20_000;

/// How deep exports, parameters and conditions may stand for each other.
const DEEPEST_EXPANSION: u32 = 60;

/// Attributes that give the same as `Ref` (CloudFormation resource reference, "Return values").
const SAME_AS_REF: [(&str, &str); 6] = [
    ("AWS::EC2::SecurityGroup", "GroupId"),
    ("AWS::IAM::ManagedPolicy", "PolicyArn"),
    ("AWS::KMS::Key", "KeyId"),
    ("AWS::SNS::Topic", "TopicArn"),
    ("AWS::SQS::Queue", "QueueUrl"),
    ("AWS::SecretsManager::Secret", "Id"),
];

/// Replaces the references of one state.
pub(super) struct Resolver<'s, 'a> {
    scope: &'s Scope<'a>,
    /// What the state is called: no text with an endless definition may equal one of the other.
    state: &'static str,
    /// Characters outside ASCII are not known in one of the states.
    folds: bool,
    expansions: u32,
    depth: u32,
    in_condition: bool,
}

impl<'s, 'a> Resolver<'s, 'a> {
    pub(super) fn new(scope: &'s Scope<'a>, state: &'static str, folds: bool) -> Self {
        Self { scope, state, folds, expansions: 0, depth: 0, in_condition: false }
    }

    /// Returns a value of a stack without references; null where it comes to `AWS::NoValue`.
    pub(super) fn resolve(&mut self, stack: usize, value: &Value) -> Value {
        self.expansions = 0;
        self.value(stack, value).unwrap_or(Value::Null)
    }

    /// Returns the definition of a condition as one text.
    pub(super) fn condition(&mut self, stack: usize, name: &str) -> String {
        self.expansions = 0;
        text(&self.definition(stack, name))
    }

    fn value(&mut self, stack: usize, value: &Value) -> Option<Value> {
        Some(match value {
            Value::String(text) => Value::String(self.fold(text)),
            Value::Array(items) => {
                Value::Array(items.iter().filter_map(|item| self.value(stack, item)).collect())
            }
            Value::Object(object) => return self.object(stack, object),
            other => other.clone(),
        })
    }

    fn object(&mut self, stack: usize, object: &Object) -> Option<Value> {
        match Intrinsic::of(object) {
            Some(Intrinsic::Ref(name)) => self.reference(stack, name),
            Some(Intrinsic::GetAtt(resource, attribute)) => {
                self.attribute(stack, resource, attribute)
            }
            Some(Intrinsic::Sub(text, variables)) => Some(self.sub(stack, text, variables)),
            Some(Intrinsic::If(condition, branches)) => self.choice(stack, condition, branches),
            Some(Intrinsic::FindInMap(map, keys)) => Some(self.lookup(stack, map, keys)),
            Some(Intrinsic::ImportValue(name)) => match self.scope.export(stack, name) {
                Some((home, value)) => self.enter(|inner| inner.value(home, value)),
                None => {
                    let name = self.value(stack, name).unwrap_or_default();
                    Some(token(&format!("import {}", text(&name))))
                }
            },
            Some(Intrinsic::GetStackOutput(_, _, arguments)) => {
                match self.scope.stack_output(stack, arguments) {
                    Some((home, value)) => self.enter(|inner| inner.value(home, value)),
                    None => Some(self.members(stack, object)),
                }
            }
            None => Some(self.plain(stack, object)),
        }
    }

    /// An ordinary object, or a function that only combines its arguments.
    fn plain(&mut self, stack: usize, object: &Object) -> Value {
        if self.in_condition
            && let Some(("Condition", Value::String(name))) =
                object.single().map(|(key, value)| (key.as_str(), value))
        {
            return self.definition(stack, name);
        }
        let resolved = self.members(stack, object);
        let Some((key, Value::Array(arguments))) = resolved.as_object().and_then(Object::single)
        else {
            return resolved;
        };
        match (key.as_str(), arguments.as_slice()) {
            ("Fn::Join", [Value::String(delimiter), Value::Array(parts)]) => {
                let parts: Vec<String> = parts.iter().map(embedded).collect();
                Value::from(parts.join(delimiter).as_str())
            }
            ("Fn::Select", [at, Value::Array(items)]) => {
                let found = text(at).parse::<usize>().ok().and_then(|at| items.get(at)).cloned();
                found.unwrap_or(resolved)
            }
            _ => resolved,
        }
    }

    /// The members of an object, sorted by key, so that equal objects are equal texts.
    fn members(&mut self, stack: usize, object: &Object) -> Value {
        let mut members: Vec<(Text, Value)> = object
            .iter()
            .filter_map(|(key, value)| Some((self.fold(key), self.value(stack, value)?)))
            .collect();
        members.sort_by(|left, right| left.0.cmp(&right.0));
        Value::Object(members.into_iter().collect())
    }

    fn reference(&mut self, stack: usize, name: &str) -> Option<Value> {
        let home = &self.scope.stacks[stack].stack;
        match self.scope.meaning(stack, name) {
            Meaning::Pseudo => match name {
                "AWS::NoValue" => None,
                "AWS::StackName" if home.parent.is_none() => Some(Value::from(home.name.as_str())),
                "AWS::StackName" | "AWS::StackId" | "AWS::NotificationARNs" => {
                    Some(token(&format!("{}.{name}", home.name)))
                }
                _ => Some(token(name)),
            },
            Meaning::Resource(_) => Some(token(&format!("{}.{name}", home.name))),
            Meaning::Passed(parent, value) => {
                let value = self.enter(|inner| inner.value(parent, value))?;
                let declared = home.template.section("Parameters").and_then(|all| all.get(name));
                Some(declared.map_or(value.clone(), |declared| parameter(declared, value)))
            }
            // A value that the stack does not show is not shown here either.
            Meaning::Parameter(declaration, _) if is_hidden(declaration) => {
                Some(token(&format!("{}.{name}", home.name)))
            }
            Meaning::Parameter(declaration, Some(value)) => {
                let value = Value::String(self.fold(value));
                Some(parameter(declaration, value))
            }
            Meaning::Parameter(declaration, None) => Some(match declaration.get("Default") {
                Some(default) => token(&format!("{}.{name}={}", home.name, text(default))),
                None => token(&format!("{}.{name}", home.name)),
            }),
            Meaning::Nothing => Some(token(&format!("{}.{name}?", home.name))),
        }
    }

    fn attribute(
        &mut self,
        stack: usize,
        resource: &str,
        attribute: Attribute<'_>,
    ) -> Option<Value> {
        let home = &self.scope.stacks[stack].stack;
        let name = match attribute {
            Attribute::Name(name) => name.to_owned(),
            Attribute::Computed(value) => {
                let value = self.value(stack, value).unwrap_or_default();
                embedded(&value)
            }
        };
        if let (Some(nested), Some(key)) =
            (self.scope.nested(stack, resource), name.strip_prefix("Outputs."))
            && let Some((home, value)) = self.scope.output(nested, key)
        {
            return self.enter(|inner| inner.value(home, value));
        }
        let kind = home.template.resource(resource).and_then(|body| body.get("Type")?.as_str());
        Some(if kind.is_some_and(|kind| SAME_AS_REF.contains(&(kind, name.as_str()))) {
            token(&format!("{}.{resource}", home.name))
        } else {
            token(&format!("{}.{resource}.{name}", home.name))
        })
    }

    fn sub(&mut self, stack: usize, template: &str, variables: Option<&Object>) -> Value {
        let Ok(segments) = parse_sub(template) else { return Value::from(template) };
        let mut result = String::new();
        for segment in segments {
            let value = match segment {
                Segment::Literal(literal) => Some(Value::String(self.fold(literal))),
                Segment::Variable(name) => match variables.and_then(|own| own.get(name)) {
                    Some(value) => self.value(stack, value),
                    None => match name.split_once('.') {
                        Some((resource, name)) => {
                            self.attribute(stack, resource, Attribute::Name(name))
                        }
                        None => self.reference(stack, name),
                    },
                },
            };
            result.push_str(&value.as_ref().map(embedded).unwrap_or_default());
        }
        Value::from(result.as_str())
    }

    fn choice(&mut self, stack: usize, condition: &str, branches: &[Value]) -> Option<Value> {
        let values: Vec<Option<Value>> =
            branches.iter().map(|branch| self.value(stack, branch)).collect();
        if let [left, right] = values.as_slice()
            && left == right
        {
            return left.clone();
        }
        let mut arguments = vec![self.definition(stack, condition)];
        arguments.extend(values.into_iter().map(Option::unwrap_or_default));
        Some(function("Fn::If", arguments))
    }

    fn definition(&mut self, stack: usize, name: &str) -> Value {
        let Some(definition) = self.scope.condition(stack, name) else { return Value::from(name) };
        let outer = std::mem::replace(&mut self.in_condition, true);
        let value = self.enter(|inner| inner.value(stack, definition)).unwrap_or_default();
        self.in_condition = outer;
        value
    }

    fn lookup(&mut self, stack: usize, map: &str, keys: &[Value]) -> Value {
        let keys: Vec<Value> =
            keys.iter().map(|key| self.value(stack, key).unwrap_or_default()).collect();
        let definition = self.scope.mapping(stack, map);
        if let (Some(definition), [Value::String(first), Value::String(second)]) =
            (definition, keys.as_slice())
            && let Some(found) = definition.get(first).and_then(|row| row.get(second))
        {
            return self.value(stack, found).unwrap_or_default();
        }
        let definition = definition.and_then(|definition| self.value(stack, definition));
        let mut arguments = vec![definition.unwrap_or_else(|| Value::from(map))];
        arguments.extend(keys);
        function("Fn::FindInMap", arguments)
    }

    /// Goes on with a definition in another place. One that never ends differs from everything in
    /// the other state: what is not known counts as changed.
    fn enter(&mut self, read: impl FnOnce(&mut Self) -> Option<Value>) -> Option<Value> {
        self.expansions += 1;
        if self.expansions > MOST_EXPANSIONS || self.depth >= DEEPEST_EXPANSION {
            return Some(token(&format!("endless definition, {}", self.state)));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn fold(&self, text: &str) -> Text {
        if self.folds && !text.is_ascii() {
            return text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
        }
        text.into()
    }
}

/// Returns a value as text: a string as it is, everything else as JSON.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        other => to_compact(other),
    }
}

/// A value as part of a longer text: JSON stands in `${…}`.
fn embedded(value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => format!("${{{}}}", to_compact(value)),
        other => text(other),
    }
}

/// Whether a text contains something that only CloudFormation can compute.
pub(super) fn is_open(text: &str) -> bool {
    text.starts_with(['{', '[']) || text.contains("${{") || text.contains("${[")
}

fn token(name: &str) -> Value {
    Value::from(format!("${{{name}}}").as_str())
}

fn function(name: &str, arguments: Vec<Value>) -> Value {
    Value::Object([(Text::from(name), Value::Array(arguments))].into_iter().collect())
}

fn is_hidden(declaration: &Value) -> bool {
    declaration.get("NoEcho").is_some_and(|hidden| text(hidden) == "true")
}

/// What a `Ref` to a parameter with this value gives: a list for lists, and what is kept under
/// the name that the value is for parameters in the parameter store.
fn parameter(declaration: &Value, value: Value) -> Value {
    let kind = declaration.get("Type").and_then(Value::as_str).unwrap_or_default();
    let Value::String(text) = &value else { return value };
    if kind.starts_with("AWS::SSM::Parameter::Value<") {
        return Value::from(format!("{{{{resolve:ssm:{text}}}}}").as_str());
    }
    if kind == "CommaDelimitedList" || kind.starts_with("List<") {
        return Value::Array(text.split(',').map(|item| Value::from(item.trim())).collect());
    }
    value
}
