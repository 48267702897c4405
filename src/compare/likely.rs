//! Which answers to a question construct paths make likely. Only to be proposed to a person: a name
//! is no evidence.

use std::collections::BTreeMap;

use super::assignment::{Edge, clear_pairs};
use super::comparison::{Ambiguity, Place};
use crate::model::ConstructPath;

/// The likeness of equal names.
const WHOLE: i64 = 1_000;

/// A name that is not equal is at most this much alike.
const NOT_EQUAL: i64 = 900;

/// A proposal has to be this much better than any other.
const CLEARLY_BETTER: i64 = 30;

/// Up to so many names on each side are all compared with each other.
const MOST_COMPARED: usize = 64;

/// Returns which sources and destinations of a question are likely the same, going by their
/// construct paths (by stack and logical ID where they have none): pairs of indices into `sources`
/// and `destinations`, the most likely first, each index in one pair at most. Empty where names tell
/// nothing. For proposals only.
pub fn likely(ambiguity: &Ambiguity) -> Vec<(usize, usize)> {
    let names = |places: &[Place]| places.iter().map(Name::of_place).collect::<Vec<_>>();
    propose(&names(&ambiguity.sources), &names(&ambiguity.destinations))
}

/// Returns which constructs of a question are likely the same: pairs of indices into `old` and
/// `new`, as [`likely`] does for resources.
pub fn likely_constructs(old: &[ConstructPath], new: &[ConstructPath]) -> Vec<(usize, usize)> {
    let names = |paths: &[ConstructPath]| {
        paths.iter().map(|path| Name::new(path.components())).collect::<Vec<_>>()
    };
    propose(&names(old), &names(new))
}

/// The components of a path.
struct Name {
    parts: Vec<Part>,
}

/// A component of a path.
struct Part {
    text: String,
    /// Its words in small letters, sorted: `ordersQueue2` is `2`, `orders`, `queue`.
    words: Vec<String>,
    /// Its pairs of characters, sorted.
    pairs: Vec<(char, char)>,
}

impl Name {
    fn new<'p>(components: impl Iterator<Item = &'p str>) -> Self {
        Self { parts: components.filter(|id| !is_no_name(id)).map(Part::new).collect() }
    }

    fn of_place(place: &Place) -> Self {
        match &place.path {
            Some(path) => Self::new(path.components()),
            None => {
                let id = place.location.logical_id.as_str();
                Self::new([place.location.stack.as_str(), without_hash(id)].into_iter())
            }
        }
    }

    /// Returns how alike two paths are: the components of the one that stand in the other in the
    /// same order, or something like them.
    fn likeness(&self, other: &Self) -> i64 {
        let mut row = vec![0; other.parts.len() + 1];
        for part in &self.parts {
            let mut diagonal = 0;
            for (at, theirs) in other.parts.iter().enumerate() {
                let both = diagonal + part.likeness(theirs);
                diagonal = row[at + 1];
                row[at + 1] = both.max(row[at + 1]).max(row[at]);
            }
        }
        let count = i64::try_from(self.parts.len() + other.parts.len()).unwrap_or(i64::MAX);
        2 * row[other.parts.len()] / count.max(1)
    }
}

/// Ids that say nothing: those of the main part of a construct.
fn is_no_name(id: &str) -> bool {
    matches!(id, "Resource" | "Default")
}

/// Returns a logical ID without the hash at its end, if it has one.
fn without_hash(logical_id: &str) -> &str {
    let is_hash_digit = |b: u8| b.is_ascii_digit() || (b'A'..=b'F').contains(&b);
    match logical_id.len().checked_sub(8).and_then(|at| logical_id.split_at_checked(at)) {
        Some((name, hash)) if !name.is_empty() && hash.bytes().all(is_hash_digit) => name,
        _ => logical_id,
    }
}

impl Part {
    fn new(id: &str) -> Self {
        let small: Vec<char> = id.chars().flat_map(char::to_lowercase).collect();
        let mut pairs: Vec<_> = small.windows(2).map(|pair| (pair[0], pair[1])).collect();
        pairs.sort_unstable();
        Self { text: id.to_owned(), words: words(id), pairs }
    }

    fn likeness(&self, other: &Self) -> i64 {
        if self.text == other.text {
            return WHOLE;
        }
        let words = shared(&self.words, &other.words);
        words.max(shared(&self.pairs, &other.pairs)) * NOT_EQUAL / WHOLE
    }
}

/// Splits an id into words: at changes from small to capital letters, between letters and digits,
/// and at everything else.
fn words(id: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last: Option<char> = None;
    for c in id.chars() {
        let joins = last.is_some_and(|last| {
            last.is_alphanumeric()
                && last.is_numeric() == c.is_numeric()
                && !(last.is_lowercase() && c.is_uppercase())
        });
        if c.is_alphanumeric() {
            if !joins {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(c.to_lowercase());
            }
        }
        last = Some(c);
    }
    words.sort_unstable();
    words
}

/// Returns the Dice coefficient of two sorted multisets.
fn shared<T: Ord>(left: &[T], right: &[T]) -> i64 {
    let (mut at, mut common) = (0, 0);
    for item in left {
        while at < right.len() && right[at] < *item {
            at += 1;
        }
        if right.get(at) == Some(item) {
            common += 1;
            at += 1;
        }
    }
    let count = i64::try_from(left.len() + right.len()).unwrap_or(i64::MAX);
    2 * common * WHOLE / count.max(1)
}

fn propose(old: &[Name], new: &[Name]) -> Vec<(usize, usize)> {
    let mut pairs = if old.len() <= MOST_COMPARED && new.len() <= MOST_COMPARED {
        by_likeness(old, new)
    } else {
        by_words(old, new)
    };
    pairs.sort_by_cached_key(|(left, right)| (-old[*left].likeness(&new[*right]), *left));
    pairs
}

/// Proposes what belongs to the best assignment by likeness, without a doubt.
fn by_likeness(old: &[Name], new: &[Name]) -> Vec<(usize, usize)> {
    let mut edges = Vec::with_capacity(old.len() * new.len());
    for (left, was) in old.iter().enumerate() {
        for (right, is) in new.iter().enumerate() {
            let worth = was.likeness(is) + 1;
            edges.push(Edge { left, right, worth, may_be_chosen: true });
        }
    }
    clear_pairs(&edges, CLEARLY_BETTER)
}

/// Proposes those who share a word that nobody else has on their sides, if all such words agree.
fn by_words(old: &[Name], new: &[Name]) -> Vec<(usize, usize)> {
    let (old_words, new_words) = (holders(old), holders(new));
    let mut votes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut back: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (word, holder) in &old_words {
        if let (Some(left), Some(Some(right))) = (holder, new_words.get(word)) {
            votes.entry(*left).or_default().push(*right);
            back.entry(*right).or_default().push(*left);
        }
    }
    let agrees = |votes: &[usize]| votes.iter().all(|vote| *vote == votes[0]);
    votes
        .into_iter()
        .filter(|(_, rights)| agrees(rights) && agrees(&back[&rights[0]]))
        .map(|(left, rights)| (left, rights[0]))
        .collect()
}

/// Returns for each word and each component who has it, if nobody else does.
fn holders(names: &[Name]) -> BTreeMap<&str, Option<usize>> {
    let mut holders: BTreeMap<&str, Option<usize>> = BTreeMap::new();
    for (at, name) in names.iter().enumerate() {
        let words = name.parts.iter().flat_map(|part| &part.words);
        for word in words.chain(name.parts.iter().map(|part| &part.text)) {
            holders
                .entry(word)
                .and_modify(|holder| *holder = holder.filter(|other| *other == at))
                .or_insert(Some(at));
        }
    }
    holders
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Location;

    fn constructs(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
        let paths = |paths: &[&str]| -> Vec<ConstructPath> {
            paths.iter().map(|path| (*path).into()).collect()
        };
        likely_constructs(&paths(old), &paths(new))
    }

    #[test]
    fn constructs_that_keep_a_part_of_their_name_are_proposed() {
        let old = ["Shop/OrdersA", "Shop/OrdersB"];
        assert_eq!(constructs(&old, &["Shop/PurchasesB", "Shop/PurchasesA"]), [(0, 1), (1, 0)]);
        assert_eq!(constructs(&old, &["Shop/Eu/OrdersB", "Shop/Eu/OrdersA"]), [(0, 1), (1, 0)]);
    }

    #[test]
    fn the_most_likely_comes_first() {
        let old = ["Shop/PaymentQueue", "Shop/OrderTable"];
        let new = ["Web/Orders/Table", "Shop/Billing/PaymentQueue"];
        assert_eq!(constructs(&old, &new), [(0, 1), (1, 0)]);
    }

    #[test]
    fn names_that_tell_nothing_propose_nothing() {
        assert_eq!(constructs(&["App/Left", "App/Right"], &["App/Xyz", "App/Uvw"]), []);
        assert_eq!(constructs(&["App/Q1"], &["App/Q2", "App/Q3"]), []);
        assert_eq!(constructs(&[], &["App/Q2"]), []);
    }

    #[test]
    fn resources_without_paths_go_by_their_logical_ids() {
        let place = |id: &str| Place { location: Location::new("App", id), path: None };
        let ambiguity = Ambiguity {
            resource_type: "AWS::SQS::Queue".into(),
            sources: vec![place("Orders0BB1A2C3"), place("Payments1234ABCD")],
            destinations: vec![place("PaymentsQueueFFFF0000"), place("OrdersQueue00001111")],
            group: 0,
            constructs: (Vec::new(), Vec::new()),
            referrers: (Vec::new(), Vec::new()),
        };
        assert_eq!(likely(&ambiguity), [(1, 0), (0, 1)]);
    }

    #[test]
    fn among_very_many_a_word_that_only_one_has_is_enough() {
        let old: Vec<String> = (0..500).map(|n| format!("App/Worker{n}/Queue")).collect();
        let new: Vec<String> = (0..400).rev().map(|n| format!("App/Jobs/Service{n}/Q")).collect();
        let text = |paths: &[String]| -> Vec<ConstructPath> {
            paths.iter().map(|path| path.as_str().into()).collect()
        };
        let found = likely_constructs(&text(&old), &text(&new));
        assert_eq!(found.len(), 400);
        assert!(found.iter().all(|(left, right)| left + right == 399));
    }

    #[test]
    fn ids_are_split_into_words() {
        assert_eq!(words("ordersQueue2"), ["2", "orders", "queue"]);
        assert_eq!(words("HTTP-api_v2"), ["2", "api", "http", "v"]);
    }
}
