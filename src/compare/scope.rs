//! What the names in templates stand for: the stacks of one side with everything that can be
//! referred to.

use rustc_hash::FxHashMap as HashMap;

use super::decisions::Literal;
use crate::model::{Environment, Object, Stack, Text, Value};
use crate::template::{Intrinsic, Segment, parse_sub};

/// Number of a resource on its side, in the order of stacks and logical IDs.
pub(crate) type NodeId = u32;

/// A stack with its names.
pub(crate) struct StackScope<'a> {
    pub(crate) stack: &'a Stack,
    pub(super) resources: HashMap<&'a str, NodeId>,
    parameters: Option<&'a Object>,
    conditions: Option<&'a Object>,
    mappings: Option<&'a Object>,
    outputs: Option<&'a Object>,
    /// For a nested stack: the parent's number, and what the parent passes as parameters.
    parent: Option<(usize, Option<&'a Object>)>,
    /// Nested stacks by the logical ID of the resource that makes them.
    nested: HashMap<&'a str, usize>,
}

/// All stacks of one side.
pub(crate) struct Scope<'a> {
    pub(crate) stacks: Vec<StackScope<'a>>,
    /// Characters outside ASCII are not known on one of the sides.
    pub(super) folds: bool,
    /// What counts though it need not.
    pub(super) literal: Literal,
    environment: &'a Environment,
    by_name: HashMap<&'a str, usize>,
    exports: HashMap<String, (usize, &'a Value)>,
}

/// What a name in a template stands for.
pub(crate) enum Meaning<'a> {
    /// A pseudo parameter.
    Pseudo,
    /// A resource.
    Resource(NodeId),
    /// A parameter, with its declaration and its value, if that is known.
    Parameter(&'a Value, Option<&'a Text>),
    /// A parameter of a nested stack: the number of the parent and the value that it passes.
    Passed(usize, &'a Value),
    /// Nothing that the template defines.
    Nothing,
}

impl<'a> Scope<'a> {
    /// Indexes the stacks; `resources` says which resources count and how they are numbered.
    pub(crate) fn new(
        (environment, folds): (&'a Environment, bool),
        stacks: &[&'a Stack],
        resources: Vec<HashMap<&'a str, NodeId>>,
    ) -> Self {
        let by_name: HashMap<_, _> =
            stacks.iter().enumerate().map(|(at, stack)| (stack.name.as_str(), at)).collect();
        let mut scopes: Vec<_> = stacks
            .iter()
            .zip(resources)
            .map(|(stack, resources)| StackScope {
                stack,
                resources,
                parameters: stack.template.section("Parameters"),
                conditions: stack.template.section("Conditions"),
                mappings: stack.template.section("Mappings"),
                outputs: stack.template.section("Outputs"),
                parent: None,
                nested: HashMap::default(),
            })
            .collect();
        for (at, stack) in stacks.iter().enumerate() {
            let Some(location) = &stack.parent else { continue };
            let Some(&parent) = by_name.get(location.stack.as_str()) else { continue };
            let passed = stacks[parent]
                .template
                .resource(location.logical_id.as_str())
                .and_then(|body| body.get("Properties")?.get("Parameters")?.as_object());
            scopes[at].parent = Some((parent, passed));
            scopes[parent].nested.insert(location.logical_id.as_str(), at);
        }
        let mut scope = Self {
            stacks: scopes,
            folds,
            literal: Literal::default(),
            environment,
            by_name,
            exports: HashMap::default(),
        };
        scope.index_exports();
        scope
    }

    fn index_exports(&mut self) {
        let mut exports: HashMap<String, Option<(usize, &Value)>> = HashMap::default();
        for (at, stack) in self.stacks.iter().enumerate() {
            for (_, output) in stack.outputs.into_iter().flat_map(Object::iter) {
                let Some(name) = output.get("Export").and_then(|export| export.get("Name")) else {
                    continue;
                };
                if let (Some(name), Some(value)) = (self.evaluate(at, name), output.get("Value")) {
                    // A name that two stacks export names neither of them.
                    let export = Some((at, value));
                    exports.entry(name).and_modify(|other| *other = None).or_insert(export);
                }
            }
        }
        self.exports =
            exports.into_iter().filter_map(|(name, export)| Some((name, export?))).collect();
    }

    /// Returns what a `Ref` or the first part of a `Fn::GetAtt` in a stack stands for.
    pub(crate) fn meaning(&self, stack: usize, name: &str) -> Meaning<'a> {
        let scope = &self.stacks[stack];
        if name.starts_with("AWS::") {
            return Meaning::Pseudo;
        }
        if let Some(&node) = scope.resources.get(name) {
            return Meaning::Resource(node);
        }
        if let Some((parent, Some(passed))) = scope.parent
            && let Some(value) = passed.get(name)
        {
            return Meaning::Passed(parent, value);
        }
        match scope.parameters.and_then(|parameters| parameters.get(name)) {
            Some(declaration) => Meaning::Parameter(declaration, scope.stack.parameters.get(name)),
            None => Meaning::Nothing,
        }
    }

    /// Returns the definition of a condition of a stack.
    pub(crate) fn condition(&self, stack: usize, name: &str) -> Option<&'a Value> {
        self.stacks[stack].conditions?.get(name)
    }

    /// Returns the definition of a mapping of a stack.
    pub(crate) fn mapping(&self, stack: usize, name: &str) -> Option<&'a Value> {
        self.stacks[stack].mappings?.get(name)
    }

    /// Returns the nested stack that a resource makes, if its template is known.
    pub(crate) fn nested(&self, stack: usize, logical_id: &str) -> Option<usize> {
        let nested = &self.stacks[stack].nested;
        if nested.is_empty() { None } else { nested.get(logical_id).copied() }
    }

    /// Returns where an output is defined and its value, for `Outputs.Key` of a nested stack.
    pub(crate) fn output(&self, stack: usize, key: &str) -> Option<(usize, &'a Value)> {
        Some((stack, self.stacks[stack].outputs?.get(key)?.get("Value")?))
    }

    /// Returns where an export is defined and its value.
    pub(crate) fn export(&self, stack: usize, name: &Value) -> Option<(usize, &'a Value)> {
        self.exports.get(&self.evaluate(stack, name)?).copied()
    }

    /// Returns where the output that a `Fn::GetStackOutput` names is defined and its value, if
    /// it is in this environment.
    pub(crate) fn stack_output(
        &self,
        stack: usize,
        arguments: &Object,
    ) -> Option<(usize, &'a Value)> {
        if arguments.contains_key("RoleArn") {
            return None;
        }
        if let Some(region) = arguments.get("Region") {
            let region = self.evaluate(stack, region)?;
            if region != self.environment.region && region != "${AWS::Region}" {
                return None;
            }
        }
        let name = self.evaluate(stack, arguments.get("StackName")?)?;
        self.output(*self.by_name.get(name.as_str())?, arguments.get("OutputName")?.as_str()?)
    }

    /// Returns the text that a value comes to: account, region and partition stay as `${…}` where
    /// they are open, since they are the same everywhere in an environment. `None` for values that
    /// are no text or that only CloudFormation knows.
    pub(super) fn evaluate(&self, stack: usize, value: &Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text.to_string()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Object(object) => match Intrinsic::of(object) {
                Some(Intrinsic::Ref(name)) => self.evaluate_name(stack, name),
                Some(Intrinsic::Sub(text, variables)) => self.evaluate_sub(stack, text, variables),
                _ => self.evaluate_join(stack, object),
            },
            Value::Null | Value::Array(_) => None,
        }
    }

    fn evaluate_name(&self, stack: usize, name: &str) -> Option<String> {
        Some(match name {
            "AWS::StackName" => self.stacks[stack].stack.name.to_string(),
            "AWS::Region" if self.environment.region != "unknown-region" => {
                self.environment.region.to_string()
            }
            "AWS::AccountId" if self.environment.account != "unknown-account" => {
                self.environment.account.to_string()
            }
            "AWS::Region" | "AWS::AccountId" | "AWS::Partition" | "AWS::URLSuffix" => {
                format!("${{{name}}}")
            }
            _ => match self.meaning(stack, name) {
                Meaning::Parameter(_, Some(value)) => value.to_string(),
                _ => return None,
            },
        })
    }

    fn evaluate_sub(&self, stack: usize, text: &str, variables: Option<&Object>) -> Option<String> {
        let mut result = String::new();
        for segment in parse_sub(text).ok()? {
            match segment {
                Segment::Literal(literal) => result.push_str(literal),
                Segment::Variable(name) => match variables.and_then(|own| own.get(name)) {
                    Some(value) => result.push_str(&self.evaluate(stack, value)?),
                    None => result.push_str(&self.evaluate_name(stack, name)?),
                },
            }
        }
        Some(result)
    }

    fn evaluate_join(&self, stack: usize, object: &Object) -> Option<String> {
        let ("Fn::Join", Value::Array(arguments)) =
            object.single().map(|(k, v)| (k.as_str(), v))?
        else {
            return None;
        };
        let [Value::String(delimiter), Value::Array(parts)] = arguments.as_slice() else {
            return None;
        };
        let parts: Option<Vec<String>> =
            parts.iter().map(|part| self.evaluate(stack, part)).collect();
        Some(parts?.join(delimiter.as_str()))
    }
}
