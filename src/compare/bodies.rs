//! Bodies of resources, prepared to be measured: references replaced by what they point at, so
//! that a resource is compared together with what is around it.

use super::CompareError;
use super::difference::View;
use super::measure::Node;
use super::names::Finder;
use super::scope::NodeId;
use super::skeleton::is_ours;
use crate::model::{Object, Text, Value};
use crate::template::{Intrinsic, Segment, parse_sub};

/// Prepares the bodies of one side.
pub(super) struct Bodies<'v, 's, 'a> {
    pub(super) view: &'v View<'s, 'a>,
    /// Finds names of constructs, whose changes should not count.
    pub(super) finder: Option<&'v Finder<'v>>,
}

impl<'a> Bodies<'_, '_, 'a> {
    /// Prepares the bodies of some resources.
    pub(super) fn resources(&self, ids: &[NodeId]) -> Result<Vec<Node<'a>>, CompareError> {
        ids.iter().map(|id| self.resource(*id)).collect()
    }

    /// Prepares the body of a resource. Neither the type counts, which is the same anyway, nor
    /// what is to become of the resource when it leaves its template, nor who serves it.
    fn resource(&self, id: NodeId) -> Result<Node<'a>, CompareError> {
        let node = self.view.side.node(id);
        let nested = self.view.side.scope.nested(node.stack, node.logical_id).is_some();
        let mut members = Vec::new();
        if let Some(properties) = node.body.get("Properties").and_then(Value::as_object) {
            for (key, value) in properties.iter() {
                let counts = match key.as_str() {
                    "ServiceToken" => !matches!(value, Value::Object(_)),
                    "TemplateURL" | "Parameters" => !nested,
                    _ => true,
                };
                if counts {
                    members.push((key.as_str(), self.value(node.stack, value)?));
                }
            }
        }
        for (key, value) in node.body.iter() {
            match (key.as_str(), value) {
                (
                    "Type" | "Properties" | "DependsOn" | "DeletionPolicy" | "UpdateReplacePolicy",
                    _,
                ) => {}
                ("Metadata", Value::Object(metadata)) => {
                    let counts = |key: &str| !key.starts_with("aws:") && !is_ours(key);
                    let mut own = Vec::new();
                    for (key, value) in metadata.iter().filter(|(key, _)| counts(key)) {
                        own.push((key.as_str(), self.value(node.stack, value)?));
                    }
                    if !own.is_empty() {
                        members.push(("Metadata", Node::record(own.into_iter())));
                    }
                }
                ("Condition", Value::String(_)) => {
                    let as_function =
                        call("Fn::If", Value::Array(vec![value.clone(), Value::Null]));
                    members.push(("Condition", self.opaque(node.stack, &as_function)?));
                }
                (key, value) => members.push((key, self.value(node.stack, value)?)),
            }
        }
        if !node.skeleton.depends_on.is_empty() {
            let targets = &node.skeleton.depends_on;
            let target = |id: &NodeId| Node::opaque(&self.view.digests[*id as usize], true);
            members.push(("DependsOn", Node::list(targets.iter().map(target).collect())));
        }
        Ok(Node::record(members.into_iter()))
    }

    fn value(&self, stack: usize, value: &'a Value) -> Result<Node<'a>, CompareError> {
        match value {
            Value::String(text) => Ok(self.text(text)),
            Value::Array(items) => self.list(stack, items),
            Value::Object(object) => match Intrinsic::of(object) {
                None => {
                    let mut members = Vec::new();
                    for (key, value) in object.iter() {
                        members.push((key.as_str(), self.value(stack, value)?));
                    }
                    Ok(Node::record(members.into_iter()))
                }
                Some(Intrinsic::Sub(text, own)) => self.sub(stack, text, own),
                Some(Intrinsic::If(condition, branches)) => {
                    let condition = Value::Array(vec![condition.into(), Value::Null]);
                    let condition = self.opaque(stack, &call("Fn::If", condition))?;
                    let mut members = vec![("if", condition)];
                    for (key, branch) in ["then", "else"].into_iter().zip(branches) {
                        members.push((key, self.value(stack, branch)?));
                    }
                    Ok(Node::record([("Fn::If", Node::record(members.into_iter()))].into_iter()))
                }
                Some(_) => self.opaque(stack, value),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(Node::of(value)),
        }
    }

    fn list(&self, stack: usize, items: &'a [Value]) -> Result<Node<'a>, CompareError> {
        let items: Result<Vec<_>, _> = items.iter().map(|item| self.value(stack, item)).collect();
        Ok(Node::list(items?))
    }

    fn text(&self, text: &str) -> Node<'a> {
        let masked = self.finder.and_then(|finder| finder.mask(text, &mut Vec::new()));
        Node::text(text, masked.as_deref())
    }

    /// A text with references in it: its pieces.
    fn sub(
        &self,
        stack: usize,
        text: &'a str,
        own: Option<&'a Object>,
    ) -> Result<Node<'a>, CompareError> {
        let Ok(segments) = parse_sub(text) else { return Ok(self.text(text)) };
        let mut pieces = Vec::new();
        for segment in segments {
            pieces.push(match segment {
                Segment::Literal(literal) => self.text(literal),
                Segment::Variable(name) => match own.and_then(|own| own.get(name)) {
                    Some(value) => self.value(stack, value)?,
                    None => {
                        let function = if name.contains('.') { "Fn::GetAtt" } else { "Ref" };
                        self.opaque(stack, &call(function, name.into()))?
                    }
                },
            });
        }
        Ok(Node::record([("Fn::Sub", Node::list(pieces))].into_iter()))
    }

    fn opaque(&self, stack: usize, value: &Value) -> Result<Node<'a>, CompareError> {
        let (digest, has_targets) = self.view.read(stack, value)?;
        Ok(Node::opaque(&digest, has_targets))
    }
}

fn call(function: &str, argument: Value) -> Value {
    Value::Object([(Text::from(function), argument)].into_iter().collect())
}
