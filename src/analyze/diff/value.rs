//! How alike two values are, and what makes the one of the other.
//!
//! The measure is that of AWS's change analyzer (C2A): what differs weighs as much as it is long,
//! a key counts for something by itself, and strings are alike by their pairs of letters. Unlike
//! there, only equality decides whether anything changes.

use std::collections::VecDeque;
use std::fmt::Write as _;

use rustc_hash::FxHashMap as HashMap;
use smallvec::SmallVec;

use crate::analyze::model::{Path, PropertyChange};
use crate::model::{Object, Text, Value};
use crate::registry::Segment;

/// Pairs must be more alike than this.
pub(super) const ALIKE: f64 = 0.5;

/// How alike two values are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Likeness {
    /// From 0 (nothing in common) to 1 (all the same).
    pub(super) similarity: f64,
    /// How much that counts among others.
    pub(super) weight: f64,
}

/// A change of a property with the changes of what is in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) kind: PropertyChange,
    pub(super) old: Option<Path>,
    pub(super) new: Option<Path>,
    pub(super) inner: Vec<Self>,
}

impl Likeness {
    /// Of a key with its value: the key itself counts one and agrees.
    fn keyed(self) -> Self {
        let weight = self.weight + 1.0;
        Self { similarity: self.similarity + (1.0 - self.similarity) / weight, weight }
    }
}

/// The sum of parts.
#[derive(Default)]
struct Sum {
    agreed: f64,
    weight: f64,
}

impl Sum {
    fn add(&mut self, likeness: Likeness) {
        self.agreed += likeness.similarity * likeness.weight;
        self.weight += likeness.weight;
    }

    fn all(&self) -> Likeness {
        // A sum of whole numbers is zero or at least one.
        let similarity = if self.weight < 0.5 { 1.0 } else { self.agreed / self.weight };
        Likeness { similarity, weight: self.weight }
    }
}

/// More pairs than this are not compared with each other: then only what is in the same place is
/// taken for the same.
const MOST_COMPARED: usize = 400_000;

/// Compares values.
struct Values<'f> {
    /// Whether the order of the list at a path means nothing.
    is_unordered: &'f dyn Fn(&[Segment]) -> bool,
    /// Whether changes are wanted, or only how alike the values are.
    is_noting: bool,
}

/// Returns how alike two values are.
pub(super) fn likeness(old: &Value, new: &Value) -> Likeness {
    let values = Values { is_unordered: &|_| false, is_noting: false };
    values.compare(old, new, &mut Vec::new(), &mut Vec::new()).0
}

/// Returns what makes the one value of the other; `None` if they are equal.
pub(super) fn change(
    old: &Value,
    new: &Value,
    (was, is): (&[Segment], &[Segment]),
    is_unordered: &dyn Fn(&[Segment]) -> bool,
) -> Option<Change> {
    let values = Values { is_unordered, is_noting: true };
    values.compare(old, new, &mut was.to_vec(), &mut is.to_vec()).1
}

impl Values<'_> {
    fn compare(
        &self,
        old: &Value,
        new: &Value,
        was: &mut Path,
        is: &mut Path,
    ) -> (Likeness, Option<Change>) {
        let mut inner = Vec::new();
        let likeness = match (old, new) {
            (Value::Object(left), Value::Object(right)) => {
                self.objects(left, right, (was, is), &mut inner)
            }
            (Value::Array(left), Value::Array(right)) => {
                self.lists(left, right, (was, is), &mut inner)
            }
            (Value::Object(_) | Value::Array(_), _) | (_, Value::Object(_) | Value::Array(_)) => {
                let weight = leaf_weight(old) + leaf_weight(new);
                let change = Change::new(PropertyChange::Update, Some(was), Some(is));
                return (Likeness { similarity: 0.0, weight }, self.is_noting.then_some(change));
            }
            _ => {
                let similarity = match (old, new) {
                    _ if old == new => 1.0,
                    (Value::String(left), Value::String(right)) => dice(left, right),
                    _ => 0.0,
                };
                let change = Change::new(PropertyChange::Update, Some(was), Some(is));
                let change = (self.is_noting && old != new).then_some(change);
                return (Likeness { similarity, weight: 2.0 }, change);
            }
        };
        let change = (!inner.is_empty())
            .then(|| Change { inner, ..Change::new(PropertyChange::Update, Some(was), Some(is)) });
        (likeness, change)
    }

    fn objects(
        &self,
        left: &Object,
        right: &Object,
        (was, is): (&mut Path, &mut Path),
        found: &mut Vec<Change>,
    ) -> Likeness {
        let mut sum = Sum::default();
        for (key, old) in left.iter() {
            let Some(new) = right.get(key) else { continue };
            was.push(Segment::Key(key.clone()));
            is.push(Segment::Key(key.clone()));
            let (likeness, change) = self.compare(old, new, was, is);
            was.pop();
            is.pop();
            sum.add(likeness.keyed());
            found.extend(change);
        }
        let only = |from: &Object, other: &Object| -> Vec<Text> {
            let keys = from.iter().map(|(key, _)| key);
            keys.filter(|key| !other.contains_key(key)).cloned().collect()
        };
        let (old_keys, new_keys) = (only(left, right), only(right, left));
        if !(old_keys.is_empty() && new_keys.is_empty()) {
            let (old, new) = (part(left, &old_keys), part(right, &new_keys));
            self.loose(&old, &new, (was, is), &mut sum, found);
        }
        sum.all()
    }

    fn lists(
        &self,
        left: &[Value],
        right: &[Value],
        (was, is): (&mut Path, &mut Path),
        found: &mut Vec<Change>,
    ) -> Likeness {
        let mut sum = Sum::default();
        self.loose(&numbered(left), &numbered(right), (was, is), &mut sum, found);
        sum.all()
    }

    /// Pairs values whose keys do not pair them.
    fn loose(
        &self,
        left: &[(Segment, &Value)],
        right: &[(Segment, &Value)],
        (was, is): (&mut Path, &mut Path),
        sum: &mut Sum,
        found: &mut Vec<Change>,
    ) {
        let is_list = matches!(left.first().or(right.first()), Some((Segment::Index(_), _)));
        let is_unordered = is_list && self.is_noting && (self.is_unordered)(was);
        let old: Vec<&Value> = left.iter().map(|(_, value)| *value).collect();
        let new: Vec<&Value> = right.iter().map(|(_, value)| *value).collect();
        let pairs = pairs(&old, &new);
        let mut free_left = vec![true; left.len()];
        let mut free_right = vec![true; right.len()];
        for pair in &pairs {
            free_left[pair.old] = false;
            free_right[pair.new] = false;
            sum.add(pair.likeness);
            if !self.is_noting {
                continue;
            }
            let ((from, old), (to, new)) = (&left[pair.old], &right[pair.new]);
            was.push(from.clone());
            is.push(to.clone());
            let (_, change) = self.compare(old, new, was, is);
            if from == to || is_unordered {
                found.extend(change);
            } else {
                let inner = change.into_iter().collect();
                found.push(Change {
                    inner,
                    ..Change::new(PropertyChange::Move, Some(was), Some(is))
                });
            }
            was.pop();
            is.pop();
        }
        let mut alone =
            |values: &[(Segment, &Value)], free: &[bool], path: &mut Path, old: bool| {
                let free = values.iter().zip(free).filter(|(_, free)| **free);
                for ((segment, value), _) in free {
                    sum.add(Likeness { similarity: 0.0, weight: leaf_weight(value) });
                    if self.is_noting {
                        path.push(segment.clone());
                        found.push(if old {
                            Change::new(PropertyChange::Remove, Some(path), None)
                        } else {
                            Change::new(PropertyChange::Insert, None, Some(path))
                        });
                        path.pop();
                    }
                }
            };
        alone(left, &free_left, was, true);
        alone(right, &free_right, is, false);
    }
}

/// The members with these keys.
fn part<'v>(object: &'v Object, keys: &[Text]) -> Vec<(Segment, &'v Value)> {
    let member = |key: &Text| Some((Segment::Key(key.clone()), object.get(key)?));
    keys.iter().filter_map(member).collect()
}

fn numbered(items: &[Value]) -> Vec<(Segment, &Value)> {
    items.iter().enumerate().map(|(at, item)| (Segment::Index(at), item)).collect()
}

impl Change {
    fn new(kind: PropertyChange, old: Option<&Path>, new: Option<&Path>) -> Self {
        Self { kind, old: old.cloned(), new: new.cloned(), inner: Vec::new() }
    }
}

/// Two values that are taken for the same.
pub(super) struct Pair {
    pub(super) old: usize,
    pub(super) new: usize,
    pub(super) likeness: Likeness,
}

/// Pairs values that are more alike than not, the most alike first; of equally alike ones those
/// that come first. Sorted by place.
pub(super) fn pairs(old: &[&Value], new: &[&Value]) -> Vec<Pair> {
    let mut free_old = vec![true; old.len()];
    let mut free_new = vec![true; new.len()];
    let mut found = Vec::new();
    // Equal ones need no comparison with all the others.
    let mut equal: HashMap<String, VecDeque<usize>> = HashMap::default();
    for (at, value) in new.iter().enumerate() {
        equal.entry(canonical(value)).or_default().push_back(at);
    }
    for (at, value) in old.iter().enumerate() {
        let counterpart = equal.get_mut(&canonical(value)).and_then(|places| {
            // One in the same place did not move.
            let here = places.iter().position(|place| *place == at);
            here.and_then(|here| places.remove(here)).or_else(|| places.pop_front())
        });
        if let Some(counterpart) = counterpart {
            (free_old[at], free_new[counterpart]) = (false, false);
            let likeness = likeness(value, value);
            found.push(Pair { old: at, new: counterpart, likeness });
        }
    }
    let free = |free: &[bool]| -> Vec<usize> { (0..free.len()).filter(|at| free[*at]).collect() };
    let mut candidates = Vec::new();
    let (lefts, rights) = (free(&free_old), free(&free_new));
    let is_too_much = lefts.len().saturating_mul(rights.len()) > MOST_COMPARED;
    for (left, right) in lefts.iter().flat_map(|left| rights.iter().map(|right| (*left, *right))) {
        if !is_too_much || left == right {
            let likeness = likeness(old[left], new[right]);
            if likeness.similarity > ALIKE {
                candidates.push(Pair { old: left, new: right, likeness });
            }
        }
    }
    candidates.sort_by(|one, other| other.likeness.similarity.total_cmp(&one.likeness.similarity));
    for pair in candidates {
        if free_old[pair.old] && free_new[pair.new] {
            (free_old[pair.old], free_new[pair.new]) = (false, false);
            found.push(pair);
        }
    }
    found.sort_by_key(|pair| (pair.old, pair.new));
    found
}

/// A text that is the same for equal values only.
fn canonical(value: &Value) -> String {
    fn write(value: &Value, out: &mut String) {
        match value {
            Value::Object(object) => {
                let mut members: Vec<_> = object.iter().collect();
                members.sort_unstable_by_key(|(key, _)| *key);
                out.push('{');
                for (key, value) in members {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "{key:?}:");
                    write(value, out);
                    out.push(',');
                }
                out.push('}');
            }
            Value::Array(items) => {
                out.push('[');
                for item in items {
                    write(item, out);
                    out.push(',');
                }
                out.push(']');
            }
            Value::String(text) => {
                let _ = write!(out, "{text:?}");
            }
            Value::Number(number) => out.push_str(number.as_str()),
            Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
            Value::Null => out.push_str("null"),
        }
    }
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// What a value weighs that has no counterpart.
fn leaf_weight(value: &Value) -> f64 {
    match value {
        Value::Object(object) => object.iter().map(|(_, value)| leaf_weight(value)).sum(),
        Value::Array(items) => items.iter().map(leaf_weight).sum(),
        _ => 1.0,
    }
}

/// How alike two strings are: twice the pairs of letters that they share, by all that they have
/// (Dice), of UTF-16 as in the original.
fn dice(left: &str, right: &str) -> f64 {
    let units = |text: &str| text.encode_utf16().collect::<SmallVec<[u16; 32]>>();
    let (left, right) = (units(left), units(right));
    if left.len() < 2 || right.len() < 2 {
        return if left == right { 1.0 } else { 0.0 };
    }
    let (mut old, mut new) = (bigrams(&left), bigrams(&right));
    let mut shared = 0_u32;
    while let (Some(was), Some(is)) = (old.last(), new.last()) {
        let order = was.cmp(is);
        shared += u32::from(order.is_eq());
        if order.is_ge() {
            old.pop();
        }
        if order.is_le() {
            new.pop();
        }
    }
    let all = u32::try_from(left.len() + right.len() - 2).unwrap_or(u32::MAX);
    2.0 * f64::from(shared) / f64::from(all)
}

/// The pairs of letters of a text, sorted.
fn bigrams(text: &[u16]) -> SmallVec<[u32; 32]> {
    let pairs = text.windows(2).map(|pair| (u32::from(pair[0]) << 16) | u32::from(pair[1]));
    let mut pairs: SmallVec<[u32; 32]> = pairs.collect();
    pairs.sort_unstable();
    pairs
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;
