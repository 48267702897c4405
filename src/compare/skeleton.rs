//! One walk over a body: its byte stream with a slot for each reference.
//!
//! The same walk reads a body *exactly*, for the digest, or *loosely*, for the weak digest: then
//! names that the CDK generates become tokens, and what CloudFormation does not tell apart
//! (`"30"` and `30`, no and empty metadata) is equal. The order of tags counts in neither reading:
//! it has no meaning anywhere.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use smallvec::SmallVec;

use super::CompareError;
use super::digest::{Digest, Stream, Tag};
use super::names::{Finder, Token};
use super::scope::{Meaning, NodeId, Scope};
use crate::model::{Object, Text, Value};
use crate::template::{Attribute, Intrinsic, Segment, parse_sub};

/// How many times definitions in other places may be read in for one resource: enough for every
/// real template, and a bound for hostile ones.
const MOST_EXPANSIONS: u32 = 20_000;

/// How deep exports, parameters and conditions may stand for each other.
const DEEPEST_EXPANSION: u32 = 60;

/// A reference to a resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) target: NodeId,
    /// Hash of the property path without array indices, the kind of reference and the attribute:
    /// through which door the target is referred to.
    pub(super) place: u64,
}

/// What a walk over a body gives.
pub(super) struct Skeleton {
    /// The hash of the stream.
    pub(super) hash: Digest,
    /// The references in the order of the stream.
    pub(super) slots: Vec<Slot>,
    /// Resources in `DependsOn`, each once.
    pub(super) depends_on: Vec<NodeId>,
    /// Resources that serve as `ServiceToken`: they do not count for the digest.
    pub(super) service_tokens: Vec<NodeId>,
    /// Names in the order of the stream; only in a loose walk.
    pub(super) tokens: Vec<Token>,
    /// A pseudo parameter in the body whose value is another one in another stack.
    pub(super) own_stack: Option<&'static str>,
}

/// How bodies are read.
#[derive(Clone, Copy)]
pub(super) enum Reading<'n> {
    Exact,
    Loose(&'n Finder<'n>),
    /// Loose, and without what is to become of the resource when it leaves its template.
    LooseWithoutPolicies(&'n Finder<'n>),
}

/// The key in the metadata of a resource under which a deployment records names that it has kept
/// (`plan::forecast`). It is ours, not the app's.
pub const KEPT_NAMES: &str = "cdkr:kept-names";

/// Whether a key of the metadata of a resource is ours, and says nothing of the resource.
pub(super) fn is_ours(key: &str) -> bool {
    key.starts_with("cdkr:")
}

/// Pseudo parameters whose values are others in another stack.
const OF_THE_STACK: [&str; 3] = ["AWS::StackName", "AWS::StackId", "AWS::NotificationARNs"];

/// A walk under way.
pub(super) struct Walker<'s, 'a> {
    scope: &'s Scope<'a>,
    reading: Reading<'s>,
    stream: Stream,
    slots: Vec<Slot>,
    service_tokens: Vec<NodeId>,
    tokens: Vec<Token>,
    expansions: u32,
    depth: u32,
    /// The stack of the body.
    home: usize,
    own_stack: Option<&'static str>,
    /// Conditions hold no resources that count: references in them are constants.
    in_definition: bool,
}

/// The members of an object, to be sorted.
type Members<'v> = SmallVec<[(&'v Text, &'v Value); 12]>;

/// Sorts members by their keys. Mostly they are sorted already: the CDK writes them so.
fn sort_by_key(members: &mut [(&Text, &Value)]) {
    if !members.is_sorted_by_key(|(key, _)| *key) {
        members.sort_unstable_by_key(|(key, _)| *key);
    }
}

/// Mixes a part into the hash of a property path.
fn mix(place: u64, part: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(place);
    part.hash(&mut hasher);
    hasher.finish()
}

impl<'s, 'a> Walker<'s, 'a> {
    pub(super) fn new(scope: &'s Scope<'a>, reading: Reading<'s>) -> Self {
        Self {
            scope,
            reading,
            stream: Stream { bytes: Vec::new(), folds: scope.folds },
            slots: Vec::new(),
            service_tokens: Vec::new(),
            tokens: Vec::new(),
            expansions: 0,
            depth: 0,
            home: 0,
            own_stack: None,
            in_definition: false,
        }
    }

    /// Walks over the body of a resource.
    pub(super) fn resource(
        &mut self,
        stack: usize,
        logical_id: &str,
        body: &Object,
    ) -> Result<Skeleton, CompareError> {
        self.restart(stack);
        let nested = self.scope.nested(stack, logical_id).is_some();
        let mut depends_on = Vec::new();
        let mut keys: Members<'_> = body.iter().collect();
        sort_by_key(&mut keys);
        for (key, value) in keys {
            let place = mix(0, key);
            match (key.as_str(), value) {
                ("DependsOn", _) => depends_on = self.depends_on(stack, value),
                ("DeletionPolicy" | "UpdateReplacePolicy", _)
                    if matches!(self.reading, Reading::LooseWithoutPolicies(_)) => {}
                ("Condition", Value::String(name)) => {
                    self.stream.tag(Tag::Attribute);
                    self.stream.text(key);
                    self.condition(stack, name)?;
                }
                ("Metadata", Value::Object(metadata)) => self.metadata(stack, metadata, nested)?,
                ("Properties", Value::Object(properties)) => {
                    self.properties(stack, properties, place, nested)?;
                }
                _ => {
                    self.stream.tag(Tag::Attribute);
                    self.stream.text(key);
                    self.value(stack, value, place)?;
                }
            }
        }
        Ok(self.finish(depends_on))
    }

    /// Walks over any value of a template.
    pub(super) fn part(&mut self, stack: usize, value: &Value) -> Result<Skeleton, CompareError> {
        self.restart(stack);
        self.value(stack, value, 0)?;
        Ok(self.finish(Vec::new()))
    }

    fn restart(&mut self, stack: usize) {
        self.stream.bytes.clear();
        self.expansions = 0;
        self.depth = 0;
        self.home = stack;
        self.own_stack = None;
        self.in_definition = false;
    }

    fn finish(&mut self, depends_on: Vec<NodeId>) -> Skeleton {
        Skeleton {
            hash: self.stream.digest(),
            slots: std::mem::take(&mut self.slots),
            depends_on,
            service_tokens: std::mem::take(&mut self.service_tokens),
            tokens: std::mem::take(&mut self.tokens),
            own_stack: self.own_stack,
        }
    }

    fn is_loose(&self) -> bool {
        !matches!(self.reading, Reading::Exact)
    }

    /// Whether numbers and booleans are texts.
    fn spells(&self) -> bool {
        self.is_loose() && !self.scope.literal.scalars
    }

    /// A `DependsOn` is a set; a name that is no resource stays as text.
    fn depends_on(&mut self, stack: usize, value: &Value) -> Vec<NodeId> {
        let names = match value {
            Value::String(name) => vec![name],
            Value::Array(items) => items
                .iter()
                .filter_map(|item| if let Value::String(name) = item { Some(name) } else { None })
                .collect(),
            _ => Vec::new(),
        };
        let mut targets = Vec::new();
        let mut unknown = Vec::new();
        for name in names {
            match self.scope.meaning(stack, name) {
                Meaning::Resource(target) => targets.push(target),
                _ => unknown.push(name),
            }
        }
        if !self.scope.literal.depends_on {
            targets.sort_unstable();
        }
        targets.dedup();
        unknown.sort_unstable();
        for name in unknown {
            self.stream.tag(Tag::Unresolved);
            self.text(name);
        }
        targets
    }

    /// Metadata without the construct path. For a nested stack, and always in a loose walk, the
    /// place of assets does not count either: it depends on where the app was synthesized.
    fn metadata(
        &mut self,
        stack: usize,
        metadata: &Object,
        nested: bool,
    ) -> Result<(), CompareError> {
        let skip_assets = nested || (self.is_loose() && !self.scope.literal.assets);
        let counts = |key: &str| {
            key != "aws:cdk:path"
                && !(skip_assets && key.starts_with("aws:asset:"))
                && key != "aws:cdk:do-not-refactor"
                && key != "aws:cdk:skip-refactor"
                && !is_ours(key)
        };
        let mut members: Members<'_> = metadata.iter().filter(|(key, _)| counts(key)).collect();
        if members.is_empty() {
            return Ok(());
        }
        sort_by_key(&mut members);
        self.stream.tag(Tag::Attribute);
        self.stream.text("Metadata");
        self.members(stack, &members, mix(0, "Metadata"))
    }

    /// Properties; those of a nested stack without what is compared inside of it.
    fn properties(
        &mut self,
        stack: usize,
        properties: &Object,
        place: u64,
        nested: bool,
    ) -> Result<(), CompareError> {
        let mut members: Members<'_> = properties
            .iter()
            .filter(|(key, _)| !(nested && matches!(key.as_str(), "TemplateURL" | "Parameters")))
            .collect();
        if members.is_empty() {
            return Ok(());
        }
        sort_by_key(&mut members);
        self.stream.tag(Tag::Attribute);
        self.stream.text("Properties");
        self.stream.tag(Tag::Object);
        self.stream.count(members.len());
        for (key, value) in members {
            self.stream.text(key);
            if key == "ServiceToken" && matches!(value, Value::Object(_)) {
                self.service_token(stack, value)?;
            } else {
                self.value(stack, value, mix(place, key))?;
            }
        }
        Ok(())
    }

    /// A custom resource is the same whichever copy of its provider serves it.
    fn service_token(&mut self, stack: usize, value: &Value) -> Result<(), CompareError> {
        let (bytes, slots, tokens) = (self.stream.bytes.len(), self.slots.len(), self.tokens.len());
        self.value(stack, value, 0)?;
        if self.slots.len() > slots {
            self.service_tokens.extend(self.slots.drain(slots..).map(|slot| slot.target));
            self.stream.bytes.truncate(bytes);
            self.tokens.truncate(tokens);
            self.stream.tag(Tag::ServiceToken);
        }
        Ok(())
    }

    fn members(
        &mut self,
        stack: usize,
        members: &[(&Text, &Value)],
        place: u64,
    ) -> Result<(), CompareError> {
        self.stream.tag(Tag::Object);
        self.stream.count(members.len());
        for (key, value) in members {
            self.stream.text(key);
            self.value(stack, value, mix(place, key))?;
        }
        Ok(())
    }

    fn value(&mut self, stack: usize, value: &Value, place: u64) -> Result<(), CompareError> {
        match value {
            Value::Null => self.stream.tag(Tag::Null),
            Value::Bool(flag) if self.spells() => {
                self.literal(if *flag { "true" } else { "false" });
            }
            Value::Bool(flag) => self.stream.tag(if *flag { Tag::True } else { Tag::False }),
            Value::Number(number) if self.spells() => self.literal(number.as_str()),
            Value::Number(number) => {
                self.stream.tag(Tag::Number);
                self.stream.text(number.as_str());
            }
            Value::String(text) => self.literal(text),
            Value::Array(items) => self.array(stack, items, place)?,
            Value::Object(object) => match Intrinsic::of(object) {
                Some(intrinsic) => self.intrinsic(stack, intrinsic, object, place)?,
                None => {
                    let mut members: Members<'_> = object.iter().collect();
                    sort_by_key(&mut members);
                    self.members(stack, &members, place)?;
                }
            },
        }
        Ok(())
    }

    fn literal(&mut self, text: &str) {
        self.stream.tag(Tag::Text);
        self.text(text);
    }

    fn text(&mut self, text: &str) {
        match self.reading {
            Reading::Exact => self.stream.text(text),
            Reading::Loose(finder) | Reading::LooseWithoutPolicies(finder) => {
                match finder.mask(text, &mut self.tokens) {
                    Some(masked) => {
                        self.stream.tag(Tag::Name);
                        self.stream.text(&masked);
                    }
                    None => self.stream.text(text),
                }
            }
        }
    }

    fn array(&mut self, stack: usize, items: &[Value], place: u64) -> Result<(), CompareError> {
        if is_tag_list(items) {
            return self.set(stack, items, place);
        }
        self.stream.tag(Tag::Array);
        self.stream.count(items.len());
        for item in items {
            self.value(stack, item, place)?;
        }
        Ok(())
    }

    /// A list whose order does not matter: its elements sorted by their own streams; where names
    /// are all that differs, by those.
    fn set(&mut self, stack: usize, items: &[Value], place: u64) -> Result<(), CompareError> {
        let start = self.stream.bytes.len();
        let mut pieces = Vec::with_capacity(items.len());
        for item in items {
            let (slots, tokens) = (self.slots.len(), self.tokens.len());
            self.value(stack, item, place)?;
            let bytes = self.stream.bytes.split_off(start);
            pieces.push((bytes, self.slots.split_off(slots), self.tokens.split_off(tokens)));
        }
        let names = |tokens: &[Token]| -> Vec<String> {
            tokens.iter().map(|token| token.text.clone()).collect()
        };
        pieces.sort_by(|(left, _, left_tokens), (right, _, right_tokens)| {
            left.cmp(right).then_with(|| names(left_tokens).cmp(&names(right_tokens)))
        });
        self.stream.tag(Tag::Set);
        self.stream.count(pieces.len());
        for (bytes, slots, tokens) in pieces {
            self.stream.bytes.extend(bytes);
            self.slots.extend(slots);
            self.tokens.extend(tokens);
        }
        Ok(())
    }

    fn intrinsic(
        &mut self,
        stack: usize,
        intrinsic: Intrinsic<'_>,
        object: &Object,
        place: u64,
    ) -> Result<(), CompareError> {
        match intrinsic {
            Intrinsic::Ref(name) => self.name(stack, name, None, place),
            Intrinsic::GetAtt(name, attribute) => self.name(stack, name, Some(attribute), place),
            Intrinsic::Sub(text, own) => self.sub(stack, text, own, place),
            Intrinsic::If(condition, branches) => {
                self.stream.tag(Tag::If);
                self.condition(stack, condition)?;
                self.array(stack, branches, mix(place, "Fn::If"))
            }
            Intrinsic::FindInMap(map, keys) => {
                self.stream.tag(Tag::FindInMap);
                match self.scope.mapping(stack, map) {
                    Some(definition) => self.expand(stack, definition, 0, true)?,
                    None => self.unresolved(map),
                }
                self.array(stack, keys, mix(place, "Fn::FindInMap"))
            }
            Intrinsic::ImportValue(name) => match self.scope.export(stack, name) {
                Some((producer, value)) => self.expand(producer, value, place, false),
                None => {
                    self.stream.tag(Tag::Import);
                    match self.scope.evaluate(stack, name) {
                        Some(text) => self.text(&text),
                        None => self.value(stack, name, place)?,
                    }
                    Ok(())
                }
            },
            Intrinsic::GetStackOutput(..) => match self.stack_output(stack, object) {
                Some((producer, value)) => self.expand(producer, value, place, false),
                None => {
                    self.stream.tag(Tag::StackOutput);
                    let mut members: Members<'_> = object.iter().collect();
                    sort_by_key(&mut members);
                    self.members(stack, &members, place)
                }
            },
        }
    }

    fn stack_output(&self, stack: usize, object: &Object) -> Option<(usize, &'a Value)> {
        self.scope.stack_output(stack, object.single()?.1.as_object()?)
    }

    /// `Ref` or `Fn::GetAtt` (with an attribute), wherever they stand.
    fn name(
        &mut self,
        stack: usize,
        name: &str,
        attribute: Option<Attribute<'_>>,
        place: u64,
    ) -> Result<(), CompareError> {
        if let Some(Attribute::Name(path)) = attribute
            && let Some(key) = path.strip_prefix("Outputs.")
            && let Some(nested) = self.scope.nested(stack, name)
            && let Some((nested, value)) = self.scope.output(nested, key)
        {
            return self.expand(nested, value, place, false);
        }
        match self.scope.meaning(stack, name) {
            Meaning::Pseudo => {
                self.stream.tag(Tag::Pseudo);
                self.stream.text(name);
                let of_the_stack = OF_THE_STACK.into_iter().find(|pseudo| *pseudo == name);
                if stack == self.home {
                    self.own_stack = self.own_stack.or(of_the_stack);
                } else if of_the_stack.is_some() {
                    // What another stack hands over is the name of that one.
                    let scope: &'s Scope<'a> = self.scope;
                    self.literal(scope.stacks[stack].stack.name.as_str());
                }
                Ok(())
            }
            Meaning::Passed(parent, value) => self.expand(parent, value, place, false),
            Meaning::Resource(target) => {
                let place = self.reference(stack, attribute, place)?;
                if !self.in_definition {
                    self.slots.push(Slot { target, place });
                }
                Ok(())
            }
            Meaning::Parameter(declaration, value) => {
                self.stream.tag(Tag::Parameter);
                self.expand(stack, declaration, 0, true)?;
                // Two parameters that are declared alike may have different values: without the
                // value it is the name that tells them apart.
                match value {
                    Some(value) => self.literal(value),
                    None => {
                        self.unresolved(name);
                        // Without a default each stack was given a value of its own.
                        if declaration.get("Default").is_none() {
                            let scope: &'s Scope<'a> = self.scope;
                            self.literal(scope.stacks[stack].stack.name.as_str());
                        }
                    }
                }
                Ok(())
            }
            Meaning::Nothing => {
                let _place = self.reference(stack, attribute, place)?;
                self.unresolved(name);
                Ok(())
            }
        }
    }

    /// Writes the kind of a reference; returns the hash of its place.
    fn reference(
        &mut self,
        stack: usize,
        attribute: Option<Attribute<'_>>,
        place: u64,
    ) -> Result<u64, CompareError> {
        match attribute {
            None => {
                self.stream.tag(Tag::Ref);
                Ok(mix(place, "Ref"))
            }
            Some(Attribute::Name(name)) => {
                self.stream.tag(Tag::GetAtt);
                self.literal(name);
                Ok(mix(mix(place, "Fn::GetAtt"), name))
            }
            Some(Attribute::Computed(value)) => {
                self.stream.tag(Tag::GetAtt);
                self.value(stack, value, place)?;
                Ok(mix(place, "Fn::GetAtt"))
            }
        }
    }

    fn unresolved(&mut self, name: &str) {
        self.stream.tag(Tag::Unresolved);
        self.text(name);
    }

    fn sub(
        &mut self,
        stack: usize,
        text: &str,
        own: Option<&Object>,
        place: u64,
    ) -> Result<(), CompareError> {
        self.stream.tag(Tag::Sub);
        let Ok(segments) = parse_sub(text) else {
            self.literal(text);
            return Ok(());
        };
        self.stream.count(segments.len());
        for segment in segments {
            match segment {
                Segment::Literal(literal) => self.literal(literal),
                Segment::Variable(name) => match own.and_then(|own| own.get(name)) {
                    Some(value) => self.value(stack, value, place)?,
                    None => match name.split_once('.') {
                        Some((resource, attribute)) => {
                            self.name(stack, resource, Some(Attribute::Name(attribute)), place)?;
                        }
                        None => self.name(stack, name, None, place)?,
                    },
                },
            }
        }
        Ok(())
    }

    /// A condition counts by its definition: the CDK derives its name from a path.
    fn condition(&mut self, stack: usize, name: &str) -> Result<(), CompareError> {
        self.stream.tag(Tag::Condition);
        match self.scope.condition(stack, name) {
            Some(definition) => self.expand_condition(stack, definition),
            None => {
                self.unresolved(name);
                Ok(())
            }
        }
    }

    fn expand_condition(&mut self, stack: usize, value: &Value) -> Result<(), CompareError> {
        self.enter()?;
        let outer = std::mem::replace(&mut self.in_definition, true);
        let result = self.condition_value(stack, value);
        self.in_definition = outer;
        self.depth -= 1;
        result
    }

    /// In a definition of a condition `{"Condition": "Name"}` is a reference.
    fn condition_value(&mut self, stack: usize, value: &Value) -> Result<(), CompareError> {
        match value.as_object().and_then(Object::single) {
            Some((key, Value::String(name))) if key == "Condition" => self.condition(stack, name),
            Some((key, Value::Array(items)))
                if matches!(key.as_str(), "Fn::And" | "Fn::Or" | "Fn::Not" | "Fn::Equals") =>
            {
                self.stream.tag(Tag::Object);
                self.stream.text(key);
                self.stream.count(items.len());
                for item in items {
                    self.condition_value(stack, item)?;
                }
                Ok(())
            }
            _ => self.value(stack, value, 0),
        }
    }

    /// Reads a definition in another place in: an export's value, a passed parameter, a mapping.
    fn expand(
        &mut self,
        stack: usize,
        value: &Value,
        place: u64,
        definition: bool,
    ) -> Result<(), CompareError> {
        self.enter()?;
        let outer = self.in_definition;
        self.in_definition |= definition;
        let result = self.value(stack, value, place);
        self.in_definition = outer;
        self.depth -= 1;
        result
    }

    fn enter(&mut self) -> Result<(), CompareError> {
        self.expansions += 1;
        self.depth += 1;
        if self.expansions > MOST_EXPANSIONS || self.depth > DEEPEST_EXPANSION {
            return Err(CompareError::EndlessDefinition);
        }
        Ok(())
    }
}

/// Whether a list is one of tags, whose order CloudFormation does not regard.
pub(super) fn is_tag_list(items: &[Value]) -> bool {
    !items.is_empty()
        && items.iter().all(|item| {
            item.as_object().is_some_and(|tag| {
                tag.contains_key("Key")
                    && tag.contains_key("Value")
                    && tag.len() <= 3
                    && (tag.len() == 2 || tag.contains_key("PropagateAtLaunch"))
            })
        })
}
