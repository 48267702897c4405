//! How alike two values are: the measure of C2A, the change analyzer for CDK apps.
//!
//! Every part of a value has a similarity from 0 to 1 and a weight; a whole is as alike as its
//! parts are on the average, by their weights. Keys that only one side has are matched against
//! each other, and lists are sets. The measure only scores: whether two values are the same is
//! decided by their equality.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::model::Value;

/// Parts have to be more alike than this to stand for each other.
pub(super) const MATCHED_ABOVE: f64 = 0.5;

/// Lists, and sets of keys, are matched part by part up to this product of their leaves (those
/// aside that are equal): beyond it, parts that are not equal count as different. It bounds the
/// work for one pair of bodies, and templates made by people stay far below.
const MOST_LEAF_PAIRS: f64 = 250_000.0;

/// How alike two values are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similarity {
    /// From 0 (nothing in common) to 1. Different values may have 1: lists in another order,
    /// members under another key, texts of the same pairs of characters.
    pub score: f64,
    /// How much there was to compare: 2 for each pair of scalars and 1 for each common key, 1 for
    /// each scalar without a counterpart.
    pub weight: f64,
    /// There is no difference at all.
    pub equal: bool,
}

/// Returns how alike two values are.
pub fn similarity(left: &Value, right: &Value) -> Similarity {
    let Part { score, weight } = compare(&Node::of(left), &Node::of(right));
    Similarity { score, weight, equal: left == right }
}

/// A value, prepared to be compared with many others.
#[derive(Debug)]
pub(super) struct Node<'v> {
    /// Of the whole content; the order of keys and lists does not count.
    pub(super) hash: u64,
    /// How many scalars there are.
    leaves: f64,
    /// The weight of a comparison with an equal value.
    weight: f64,
    pub(super) kind: Kind<'v>,
}

/// What kind of value a node stands for.
#[derive(Debug)]
pub(super) enum Kind<'v> {
    /// A scalar that is equal to another or not.
    Scalar,
    /// What a resource points at: equal to another or not, and seldom so by chance.
    Target,
    /// A text, by its pairs of UTF-16 code units, sorted. Two texts with equal masks differ at most
    /// in names of constructs.
    Text { pairs: Box<[u32]>, mask: Option<u64> },
    /// A list, as a set.
    List(Vec<Node<'v>>),
    /// An object, sorted by key.
    Record(Vec<(&'v str, Node<'v>)>),
}

/// Similarity and weight of a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) score: f64,
    pub(super) weight: f64,
}

fn hashed(tag: &str, content: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    tag.hash(&mut hasher);
    content.hash(&mut hasher);
    hasher.finish()
}

impl<'v> Node<'v> {
    /// Prepares a value as it is written.
    pub(super) fn of(value: &'v Value) -> Self {
        match value {
            Value::Null => Self::scalar("null", ""),
            Value::Bool(flag) => Self::scalar("bool", if *flag { "true" } else { "false" }),
            Value::Number(number) => Self::scalar("number", number.as_str()),
            Value::String(text) => Self::text(text, None),
            Value::Array(items) => Self::list(items.iter().map(Self::of).collect()),
            Value::Object(object) => {
                Self::record(object.iter().map(|(key, value)| (key.as_str(), Self::of(value))))
            }
        }
    }

    /// A scalar other than a text.
    pub(super) fn scalar(kind: &str, text: &str) -> Self {
        Self { hash: hashed(kind, text), leaves: 1.0, weight: 2.0, kind: Kind::Scalar }
    }

    /// Something that is equal or not: what the bytes identify. `is_target` says that it is or has
    /// a resource in it.
    pub(super) fn opaque(identity: &[u8], is_target: bool) -> Self {
        let kind = if is_target { Kind::Target } else { Kind::Scalar };
        Self { hash: hashed("opaque", identity), leaves: 1.0, weight: 2.0, kind }
    }

    /// A text, and the text with marks in the place of names of constructs, if it has any.
    pub(super) fn text(text: &str, masked: Option<&str>) -> Self {
        let units: Vec<u16> = text.encode_utf16().collect();
        let mut pairs: Box<[u32]> =
            units.windows(2).map(|pair| (u32::from(pair[0]) << 16) | u32::from(pair[1])).collect();
        pairs.sort_unstable();
        let mask = masked.map(|masked| hashed("mask", masked));
        let kind = Kind::Text { pairs, mask };
        Self { hash: hashed("text", text), leaves: 1.0, weight: 2.0, kind }
    }

    pub(super) fn list(items: Vec<Self>) -> Self {
        let mut hashes: Vec<u64> = items.iter().map(|item| item.hash).collect();
        hashes.sort_unstable();
        Self {
            hash: hashed("list", hashes),
            leaves: items.iter().map(|item| item.leaves).sum(),
            weight: items.iter().map(|item| item.weight).sum(),
            kind: Kind::List(items),
        }
    }

    pub(super) fn record(members: impl Iterator<Item = (&'v str, Self)>) -> Self {
        let mut members: Vec<_> = members.collect();
        members.sort_by_key(|(key, _)| *key);
        let hashes: Vec<_> = members.iter().map(|(key, member)| (*key, member.hash)).collect();
        Self {
            hash: hashed("record", hashes),
            leaves: members.iter().map(|(_, member)| member.leaves).sum(),
            weight: members.iter().map(|(_, member)| member.weight + 1.0).sum(),
            kind: Kind::Record(members),
        }
    }
}

/// Returns how alike two prepared values are. The same for both directions.
pub(super) fn compare(left: &Node<'_>, right: &Node<'_>) -> Part {
    if left.hash == right.hash {
        return Part { score: 1.0, weight: left.weight };
    }
    match (&left.kind, &right.kind) {
        (Kind::Text { pairs, mask }, Kind::Text { pairs: other, mask: theirs }) => {
            if mask.is_some() && mask == theirs {
                // The names may follow from a renaming: that speaks neither for nor against.
                return Part { score: 1.0, weight: 0.0 };
            }
            Part { score: dice(pairs, other), weight: 2.0 }
        }
        (Kind::Record(left), Kind::Record(right)) => records(left, right),
        (Kind::List(left), Kind::List(right)) => {
            let mut total = Total::default();
            total.match_up(left.iter().collect(), right.iter().collect());
            total.part()
        }
        (Kind::Record(_) | Kind::List(_), _) | (_, Kind::Record(_) | Kind::List(_)) => {
            Part { score: 0.0, weight: left.leaves + right.leaves }
        }
        _ => Part { score: 0.0, weight: 2.0 },
    }
}

/// The Dice coefficient of two sorted multisets of pairs. Different texts of less than two units
/// have nothing in common.
fn dice(left: &[u32], right: &[u32]) -> f64 {
    if left.is_empty() || right.is_empty() {
        return 0.0;
    }
    let (mut at, mut common, mut total) = (0, 0.0, 0.0);
    for pair in left {
        while at < right.len() && right[at] < *pair {
            at += 1;
        }
        if right.get(at) == Some(pair) {
            common += 1.0;
            at += 1;
        }
        total += 1.0;
    }
    total += right.iter().map(|_| 1.0).sum::<f64>();
    2.0 * common / total
}

fn records(left: &[(&str, Node<'_>)], right: &[(&str, Node<'_>)]) -> Part {
    let mut total = Total::default();
    let (mut left_only, mut right_only) = (Vec::new(), Vec::new());
    let (mut from, mut to) = (left.iter().peekable(), right.iter().peekable());
    loop {
        let order = match (from.peek(), to.peek()) {
            (Some((was, _)), Some((is, _))) => was.cmp(is),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => break,
        };
        let was = if order.is_le() { from.next() } else { None };
        let is = if order.is_ge() { to.next() } else { None };
        match (was, is) {
            (Some((_, was)), Some((_, is))) => {
                let Part { score, weight } = compare(was, is);
                // The key itself counts one, and always agrees.
                let score = score + (1.0 - score) / (weight + 1.0);
                total.add(Part { score, weight: weight + 1.0 });
            }
            (was, is) => {
                left_only.extend(was.map(|(_, node)| node));
                right_only.extend(is.map(|(_, node)| node));
            }
        }
    }
    total.match_up(left_only, right_only);
    total.part()
}

/// The sum over the parts of a whole.
#[derive(Default)]
struct Total {
    alike: f64,
    weight: f64,
}

impl Total {
    fn add(&mut self, part: Part) {
        self.alike += part.score * part.weight;
        self.weight += part.weight;
    }

    fn part(&self) -> Part {
        let score = if self.weight > 0.0 { self.alike / self.weight } else { 1.0 };
        Part { score, weight: self.weight }
    }

    /// Adds parts of two sets: first those that are equal, then pairs from the most alike on, then
    /// what is left. Whatever is equally alike is taken in an order that depends on contents only.
    fn match_up(&mut self, mut left: Vec<&Node<'_>>, mut right: Vec<&Node<'_>>) {
        left.sort_unstable_by_key(|node| node.hash);
        right.sort_unstable_by_key(|node| node.hash);
        let (left, right) = self.take_equal(&left, &right);
        let leaves = |nodes: &[&Node<'_>]| nodes.iter().map(|node| node.leaves).sum::<f64>();
        let mut pairs = Vec::new();
        if leaves(&left) * leaves(&right) <= MOST_LEAF_PAIRS {
            for (from, was) in left.iter().enumerate() {
                for (to, is) in right.iter().enumerate() {
                    let part = compare(was, is);
                    if part.score > MATCHED_ABOVE {
                        pairs.push((part, from, to));
                    }
                }
            }
        }
        pairs.sort_by(|(part, from, to), (other, other_from, other_to)| {
            let content = |from: usize, to: usize| {
                let (was, is) = (left[from].hash, right[to].hash);
                (was.min(is), was.max(is))
            };
            let by_score = other.score.total_cmp(&part.score);
            by_score
                .then(other.weight.total_cmp(&part.weight))
                .then_with(|| content(*from, *to).cmp(&content(*other_from, *other_to)))
        });
        let (mut left_taken, mut right_taken) = (vec![false; left.len()], vec![false; right.len()]);
        for (part, from, to) in pairs {
            if !left_taken[from] && !right_taken[to] {
                left_taken[from] = true;
                right_taken[to] = true;
                self.add(part);
            }
        }
        let left = left.iter().zip(&left_taken);
        for (node, _) in left.chain(right.iter().zip(&right_taken)).filter(|(_, taken)| !**taken) {
            self.add(Part { score: 0.0, weight: node.leaves });
        }
    }

    /// Adds what is equal in two sets, sorted by their contents; returns the rest of both.
    fn take_equal<'n, 'v>(
        &mut self,
        left: &[&'n Node<'v>],
        right: &[&'n Node<'v>],
    ) -> (Vec<&'n Node<'v>>, Vec<&'n Node<'v>>) {
        let (mut left_rest, mut right_rest) = (Vec::new(), Vec::new());
        let mut at = 0;
        for node in left {
            while at < right.len() && right[at].hash < node.hash {
                right_rest.push(right[at]);
                at += 1;
            }
            if right.get(at).is_some_and(|other| other.hash == node.hash) {
                self.add(Part { score: 1.0, weight: node.weight });
                at += 1;
            } else {
                left_rest.push(*node);
            }
        }
        right_rest.extend(&right[at..]);
        (left_rest, right_rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::json;

    fn measured(left: &str, right: &str) -> Similarity {
        similarity(&json::parse(left).unwrap(), &json::parse(right).unwrap())
    }

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-12
    }

    #[test]
    fn the_measure_is_that_of_c2a() {
        let text = include_str!("../../fixtures/vectors/c2a-measure.json");
        let vectors = json::parse(text).unwrap();
        let number = |row: &Value, key: &str| -> f64 {
            let Some(Value::Number(number)) = row.get(key) else { panic!("a number") };
            number.as_str().parse().unwrap()
        };
        let rows = vectors.get("rows").unwrap().as_array().unwrap();
        assert_eq!(rows.len(), 21);
        for row in rows {
            let name = row.get("name").unwrap().as_str().unwrap();
            let (before, after) = (row.get("before").unwrap(), row.get("after").unwrap());
            for (left, right) in [(before, after), (after, before)] {
                let found = similarity(left, right);
                assert!(close(found.score, number(row, "similarity")), "{name}: {found:?}");
                assert!(close(found.weight, number(row, "weight")), "{name}: {found:?}");
                let is_quirk = row
                    .get("note")
                    .and_then(Value::as_str)
                    .is_some_and(|note| note.starts_with("QUIRK"));
                // The engine loses differences: what is not equal differs, whatever the score.
                let differs = is_quirk || row.get("operation") == Some(&Value::Bool(true));
                assert_eq!(found.equal, !differs, "{name}");
            }
        }
    }

    #[test]
    fn the_numbers_of_the_documentation_hold_as_well() {
        let half = measured(r#"{"a":{"b":"string","c":"string"},"d":"abcde"}"#, {
            r#"{"a":{"b":"string","c":"string"},"d":"abcxy"}"#
        });
        assert!(close(half.score, 0.9) && close(half.weight, 10.0), "{half:?}");
        let moved = measured(r#"["xx","aa","bb"]"#, r#"["xx","bb","aa"]"#);
        assert!(close(moved.score, 1.0) && close(moved.weight, 6.0) && !moved.equal);
        let inserted = measured(r#"{"a":"one"}"#, r#"{"a":"one","b":"two"}"#);
        assert!(close(inserted.score, 0.75) && close(inserted.weight, 4.0));
    }

    #[test]
    fn texts_that_collide_are_alike_but_not_equal() {
        let found = measured(r#""aabaa""#, r#""abaaa""#);
        assert!(close(found.score, 1.0) && !found.equal);
    }

    #[test]
    fn characters_beyond_the_basic_plane_count_as_two() {
        let found = measured(r#""😀""#, r#""😁""#);
        assert!(close(found.score, 0.0));
        assert!(close(measured(r#""a😀""#, r#""a😁""#).score, 0.5));
    }

    #[test]
    fn what_is_equal_is_matched_first_even_among_collisions() {
        let found = measured(r#"["aabaa","abaaa"]"#, r#"["abaaa","aabaa"]"#);
        assert!(close(found.score, 1.0) && close(found.weight, 4.0));
    }

    #[test]
    fn the_order_of_keys_and_lists_does_not_count() {
        let left = r#"{"a":[{"k":"one","v":1},{"k":"two","v":2}],"x":"abc","y":"abd"}"#;
        let right = r#"{"p":"abe","q":"abf","a":[{"k":"twice","v":2},{"k":"ones","v":1}]}"#;
        let turned = r#"{"a":[{"v":1,"k":"ones"},{"v":2,"k":"twice"}],"q":"abf","p":"abe"}"#;
        let (found, other) = (measured(left, right), measured(turned, left));
        assert_eq!((found.score, found.weight), (other.score, other.weight));
    }

    #[test]
    fn long_lists_without_anything_in_common_are_not_matched_part_by_part() {
        let list = |prefix: &str| {
            let items: Vec<String> = (0..2_000).map(|n| format!("\"{prefix}{n}\"")).collect();
            format!("[{}]", items.join(","))
        };
        let found = measured(&list("left"), &list("lefty"));
        assert!(close(found.score, 0.0) && close(found.weight, 4_000.0));
        assert!(close(measured(&list("a"), &list("a")).score, 1.0));
    }

    #[test]
    fn names_that_may_follow_from_a_renaming_say_nothing() {
        let (left, right) =
            (Node::text("App/Old/Queue", Some("P")), Node::text("App/New/Queue", Some("P")));
        let part = compare(&left, &right);
        assert!(close(part.weight, 0.0) && close(part.score, 1.0));
    }
}
