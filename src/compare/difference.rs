//! What differs between the bodies of two resources that are the same.

use std::collections::BTreeMap;

use super::CompareError;
use super::comparison::Difference;
use super::digest::{Digest, combine};
use super::names::{Finder, Token};
use super::scope::NodeId;
use super::side::Side;
use super::skeleton::{Reading, Walker, is_ours, is_tag_list};
use crate::model::{Object, ResourceType, Text, Value};
use crate::registry::{self, Replacement};
use crate::template::Intrinsic;

/// One side as seen by the comparison of bodies: every matched resource has the identity of its
/// pair.
pub(super) struct View<'s, 'a> {
    pub(super) side: &'s Side<'a>,
    pub(super) digests: &'s [Digest],
}

impl View<'_, '_> {
    /// Returns the digest of a part of a template, references by what they point at, and whether
    /// it points at a resource.
    pub(super) fn read(&self, stack: usize, value: &Value) -> Result<(Digest, bool), CompareError> {
        let part = Walker::new(&self.side.scope, Reading::Exact).part(stack, value)?;
        let references = part.slots.iter().map(|slot| self.digests[slot.target as usize]);
        Ok((combine(&part.hash, references, &mut [], &mut []), !part.slots.is_empty()))
    }

    fn digest(&self, stack: usize, value: &Value) -> Result<Digest, CompareError> {
        Ok(self.read(stack, value)?.0)
    }
}

impl Difference {
    /// Returns what the change would do to a resource of this type: change it where it is, replace
    /// it, or either.
    pub fn effect(&self, resource_type: &ResourceType) -> Replacement {
        match self.property.strip_prefix("Properties.") {
            Some(path) => registry::replacement(resource_type.as_str(), &path.replace('.', "/")),
            None => Replacement::Never,
        }
    }

    /// Notes that the pair was proven by its names: whatever differs in it follows from them, but
    /// for what is to become of the resource when it leaves its template.
    pub(super) fn is_by_name(&mut self) {
        self.name_only =
            !matches!(self.property.as_str(), "DeletionPolicy" | "UpdateReplacePolicy");
    }
}

/// Finds names, and says whether a new name follows from an old one.
pub(super) struct Names<'s> {
    pub(super) finder: &'s Finder<'s>,
    pub(super) follows: &'s dyn Fn(&Token, &Token) -> bool,
}

/// Compares bodies.
pub(super) struct Differ<'s, 'a> {
    pub(super) old: View<'s, 'a>,
    pub(super) new: View<'s, 'a>,
    pub(super) names: Option<Names<'s>>,
}

impl Differ<'_, '_> {
    /// Returns the properties in which two resources differ.
    pub(super) fn differences(
        &self,
        old: NodeId,
        new: NodeId,
    ) -> Result<Vec<Difference>, CompareError> {
        let (was, is) = (self.old.side.node(old), self.new.side.node(new));
        let nested = self.old.side.scope.nested(was.stack, was.logical_id).is_some()
            && self.new.side.scope.nested(is.stack, is.logical_id).is_some();
        let mut found = Vec::new();
        let keys = union(was.body, is.body);
        for key in keys.into_iter().filter(|key| *key != "Type") {
            let pair = (was.body.get(key), is.body.get(key));
            match key.as_str() {
                "DependsOn" => self.depends_on(old, new, pair, &mut found),
                "Metadata" => {
                    let counts = |key: &str| {
                        key != "aws:cdk:path"
                            && !is_ours(key)
                            && !(nested && key.starts_with("aws:asset:"))
                    };
                    let stacks = (was.stack, is.stack);
                    let members = members(pair, counts);
                    for (key, old, new) in members {
                        self.value(stacks, &format!("Metadata.{key}"), old, new, &mut found)?;
                    }
                }
                "Properties" => {
                    let counts =
                        |key: &str| !(nested && matches!(key, "TemplateURL" | "Parameters"));
                    for (key, old, new) in members(pair, counts) {
                        let path = format!("Properties.{key}");
                        self.value((was.stack, is.stack), &path, old, new, &mut found)?;
                    }
                }
                "Condition" => self.condition((was.stack, is.stack), pair, &mut found)?,
                _ => self.value((was.stack, is.stack), key, pair.0, pair.1, &mut found)?,
            }
        }
        let kind = registry::lookup(is.kind);
        for difference in &mut found {
            difference.replaces =
                difference.property.strip_prefix("Properties.").is_some_and(|path| {
                    kind.as_ref().is_some_and(|kind| kind.is_create_only(&path.replace('.', "/")))
                });
        }
        Ok(found)
    }

    fn value(
        &self,
        stacks: (usize, usize),
        path: &str,
        old: Option<&Value>,
        new: Option<&Value>,
        found: &mut Vec<Difference>,
    ) -> Result<(), CompareError> {
        let (Some(was), Some(is)) = (old, new) else {
            found.push(difference(path, old, new, false));
            return Ok(());
        };
        if self.old.digest(stacks.0, was)? == self.new.digest(stacks.1, is)? {
            return Ok(());
        }
        match (was, is) {
            (Value::Object(left), Value::Object(right))
                if Intrinsic::of(left).is_none() && Intrinsic::of(right).is_none() =>
            {
                for (key, was, is) in members((old, new), |_| true) {
                    self.value(stacks, &format!("{path}.{key}"), was, is, found)?;
                }
            }
            (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
                for (at, was, is) in aligned(left, right) {
                    self.value(stacks, &format!("{path}.{at}"), Some(was), Some(is), found)?;
                }
            }
            _ => {
                let by_name = self.follows_from_names(stacks, was, is)?;
                found.push(difference(path, old, new, by_name));
            }
        }
        Ok(())
    }

    /// Whether two values differ in nothing but names that follow from the renaming.
    fn follows_from_names(
        &self,
        stacks: (usize, usize),
        was: &Value,
        is: &Value,
    ) -> Result<bool, CompareError> {
        let Some(Names { finder, follows }) = &self.names else { return Ok(false) };
        let read = |view: &View<'_, '_>, stack, value| -> Result<_, CompareError> {
            let part = Walker::new(&view.side.scope, Reading::Loose(finder)).part(stack, value)?;
            let references = part.slots.iter().map(|slot| view.digests[slot.target as usize]);
            Ok((combine(&part.hash, references, &mut [], &mut []), part.tokens))
        };
        let (old, old_tokens) = read(&self.old, stacks.0, was)?;
        let (new, new_tokens) = read(&self.new, stacks.1, is)?;
        Ok(old == new
            && old_tokens.len() == new_tokens.len()
            && old_tokens.iter().zip(&new_tokens).all(|(was, is)| follows(was, is)))
    }

    fn depends_on(
        &self,
        old: NodeId,
        new: NodeId,
        pair: (Option<&Value>, Option<&Value>),
        found: &mut Vec<Difference>,
    ) {
        let targets = |view: &View<'_, '_>, id: NodeId| {
            let depends_on = &view.side.node(id).skeleton.depends_on;
            let mut digests: Vec<Digest> =
                depends_on.iter().map(|target| view.digests[*target as usize]).collect();
            if !view.side.scope.literal.depends_on {
                digests.sort_unstable();
            }
            digests
        };
        if targets(&self.old, old) != targets(&self.new, new) {
            found.push(difference("DependsOn", pair.0, pair.1, false));
        }
    }

    fn condition(
        &self,
        stacks: (usize, usize),
        pair: (Option<&Value>, Option<&Value>),
        found: &mut Vec<Difference>,
    ) -> Result<(), CompareError> {
        let as_function = |value: Option<&Value>| {
            value.map(|value| {
                let branches = vec![value.clone(), Value::Null];
                let call = [(Text::from("Fn::If"), Value::Array(branches))];
                Value::Object(call.into_iter().collect())
            })
        };
        if let (Some(was), Some(is)) = (as_function(pair.0), as_function(pair.1))
            && self.old.digest(stacks.0, &was)? == self.new.digest(stacks.1, &is)?
        {
            return Ok(());
        }
        found.push(difference("Condition", pair.0, pair.1, false));
        Ok(())
    }
}

/// Whether two resources have the same content, references by what they point at.
pub(super) fn same_content(
    old: &View<'_, '_>,
    new: &View<'_, '_>,
    old_id: NodeId,
    new_id: NodeId,
) -> bool {
    let (was, is) = (old.side.node(old_id), new.side.node(new_id));
    let of = |view: &View<'_, '_>, target: NodeId| view.digests[target as usize];
    let same_set = |left: &[NodeId], right: &[NodeId], is_ordered: bool| {
        let mut left: Vec<Digest> = left.iter().map(|id| of(old, *id)).collect();
        let mut right: Vec<Digest> = right.iter().map(|id| of(new, *id)).collect();
        if !is_ordered {
            left.sort_unstable();
            right.sort_unstable();
        }
        left == right
    };
    let is_ordered = old.side.scope.literal.depends_on;
    was.skeleton.hash == is.skeleton.hash
        && was.skeleton.slots.len() == is.skeleton.slots.len()
        && was
            .skeleton
            .slots
            .iter()
            .zip(&is.skeleton.slots)
            .all(|(was, is)| of(old, was.target) == of(new, is.target))
        && same_set(&was.skeleton.depends_on, &is.skeleton.depends_on, is_ordered)
        && same_set(&was.children, &is.children, false)
}

fn difference(path: &str, old: Option<&Value>, new: Option<&Value>, name_only: bool) -> Difference {
    Difference {
        property: path.to_owned(),
        old: old.cloned(),
        new: new.cloned(),
        name_only,
        replaces: false,
    }
}

/// Returns the elements of two lists of equal length that stand for each other, with their place
/// in the second: by position, or, if both are tags with the same keys, by key.
fn aligned<'v>(left: &'v [Value], right: &'v [Value]) -> Vec<(usize, &'v Value, &'v Value)> {
    let key = |tag: &'v Value| tag.get("Key")?.as_str();
    let by_key = || {
        let mut tags: BTreeMap<&str, &Value> =
            left.iter().map(|tag| Some((key(tag)?, tag))).collect::<Option<_>>()?;
        let mut pairs = right
            .iter()
            .enumerate()
            .map(|(at, tag)| Some((at, tags.remove(key(tag)?)?, tag)))
            .collect::<Option<Vec<_>>>()?;
        pairs.sort_unstable_by_key(|(_, _, tag)| key(tag));
        Some(pairs)
    };
    let tags = is_tag_list(left) && is_tag_list(right);
    tags.then(by_key).flatten().unwrap_or_else(|| {
        left.iter().zip(right).enumerate().map(|(at, (was, is))| (at, was, is)).collect()
    })
}

/// Returns the keys of both objects, sorted.
fn union<'o>(left: &'o Object, right: &'o Object) -> Vec<&'o Text> {
    let mut keys: Vec<&Text> = left.iter().chain(right.iter()).map(|(key, _)| key).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Returns the members of two values that may be objects, by key.
fn members<'o>(
    (old, new): (Option<&'o Value>, Option<&'o Value>),
    counts: impl Fn(&str) -> bool,
) -> Vec<(&'o Text, Option<&'o Value>, Option<&'o Value>)> {
    static NONE: std::sync::LazyLock<Object> = std::sync::LazyLock::new(Object::new);
    let old = old.and_then(Value::as_object).unwrap_or(&NONE);
    let new = new.and_then(Value::as_object).unwrap_or(&NONE);
    union(old, new)
        .into_iter()
        .filter(|key| counts(key))
        .map(|key| (key, old.get(key), new.get(key)))
        .collect()
}
