//! Which resources of one type are worth measuring against each other: those that share features
//! which few others have. No pair is looked at that has none in common.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap as HashMap, FxHasher};

use super::measure::{Kind, Node, Part, compare};

/// A feature that more resources of the other side than this have leads to none of them.
const MOST_HOLDERS: usize = 200;

/// How many holders of features are looked at for one resource, the rarest features first.
const MOST_VISITED: usize = 1_000;

/// How many resources are measured against one.
const MOST_CANDIDATES: usize = 16;

/// Of how many common features of a resource every two and three count as a feature, too: each says
/// little, together they may say who it is.
const MOST_COMBINED: usize = 8;

/// A text of this length is hardly equal to another by chance.
const TELLING_LENGTH: usize = 8;

/// So many equal values at the same place are hardly chance either.
const TELLING_COUNT: usize = 2;

/// A value at a place in a body.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Feature {
    hash: u64,
    is_telling: bool,
}

/// A resource with what it contains.
struct Profile<'n, 'v> {
    body: &'n Node<'v>,
    /// Sorted; a feature that is there twice stands there twice.
    features: Vec<Feature>,
}

/// Two resources that were measured, by their numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) left: usize,
    pub(super) right: usize,
    /// What the measure says, from 0 to 1.
    pub(super) score: f64,
    /// The share of features that they have in common, from 0 to [`WHOLE`]; the fewer others have a
    /// feature, the more it counts, and what all have does not count.
    pub(super) overlap: i64,
    /// They have more in common than chance would give them.
    pub(super) is_supported: bool,
}

/// One, in the units of shares.
pub(super) const WHOLE: i64 = 1_000_000;

/// Measures the resources of one type that may be the same. Pairs are sorted by their numbers.
pub(super) fn measured(left: &[Node<'_>], right: &[Node<'_>]) -> Vec<Measured> {
    if left.is_empty() || right.is_empty() {
        return Vec::new();
    }
    let profiles = |bodies| -> Vec<Profile<'_, '_>> { iter_profiles(bodies).collect() };
    let (left, right) = (profiles(left), profiles(right));
    let commonness = Commonness::new(&left, &right);
    let search = Search::new(&left, &right, &commonness);
    let mut pairs = Vec::new();
    for at in 0..left.len() {
        pairs.extend(search.nearest(false, at).into_iter().map(|other| (at, other)));
    }
    for at in 0..right.len() {
        pairs.extend(search.nearest(true, at).into_iter().map(|other| (other, at)));
    }
    pairs.sort_unstable();
    pairs.dedup();
    let measure = |(at, other): (usize, usize)| {
        let (was, is) = (&left[at], &right[other]);
        let Part { score, .. } = compare(was.body, is.body);
        let (common, telling) = in_common(&was.features, &is.features);
        Measured {
            left: at,
            right: other,
            score,
            overlap: commonness.overlap(&was.features, &is.features),
            is_supported: telling || common >= TELLING_COUNT,
        }
    };
    pairs.into_iter().map(measure).collect()
}

fn iter_profiles<'n, 'v>(bodies: &'n [Node<'v>]) -> impl Iterator<Item = Profile<'n, 'v>> {
    bodies.iter().map(|body| {
        let mut features = Vec::new();
        collect(body, 0, &mut features);
        features.sort_unstable();
        Profile { body, features }
    })
}

fn mix(place: u64, part: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(place);
    part.hash(&mut hasher);
    hasher.finish()
}

fn collect(node: &Node<'_>, place: u64, features: &mut Vec<Feature>) {
    let is_telling = match &node.kind {
        Kind::Record(members) => {
            for (key, member) in members {
                collect(member, mix(place, key), features);
            }
            return;
        }
        Kind::List(items) => {
            for item in items {
                collect(item, mix(place, 0), features);
            }
            return;
        }
        Kind::Scalar => false,
        Kind::Target => true,
        // Pairs of characters: one less than there are characters.
        Kind::Text { pairs, .. } => pairs.len() + 1 >= TELLING_LENGTH,
    };
    features.push(Feature { hash: mix(place, node.hash), is_telling });
}

/// How many features two resources have in common, and whether one of them is telling.
fn in_common(left: &[Feature], right: &[Feature]) -> (usize, bool) {
    let (mut at, mut common, mut telling) = (0, 0, false);
    for feature in left {
        while at < right.len() && right[at] < *feature {
            at += 1;
        }
        if right.get(at) == Some(feature) {
            common += 1;
            telling |= feature.is_telling;
            at += 1;
        }
    }
    (common, telling)
}

fn distinct(features: &[Feature]) -> impl Iterator<Item = u64> {
    let repeats = |at: usize| at > 0 && features[at - 1].hash == features[at].hash;
    features
        .iter()
        .enumerate()
        .filter(move |(at, _)| !repeats(*at))
        .map(|(_, feature)| feature.hash)
}

/// How many resources of both sides have each feature.
struct Commonness {
    counts: HashMap<u64, usize>,
    total: usize,
}

impl Commonness {
    fn new(left: &[Profile<'_, '_>], right: &[Profile<'_, '_>]) -> Self {
        let mut counts: HashMap<u64, usize> = HashMap::default();
        for profile in left.iter().chain(right) {
            for feature in distinct(&profile.features) {
                *counts.entry(feature).or_default() += 1;
            }
        }
        Self { counts, total: left.len() + right.len() }
    }

    fn count(&self, feature: u64) -> usize {
        self.counts.get(&feature).copied().unwrap_or_default()
    }

    fn overlap(&self, left: &[Feature], right: &[Feature]) -> i64 {
        let weigh = |feature| weight(self.count(feature), self.total);
        let (mut common, mut all) = (0, 0);
        let mut others = distinct(right).peekable();
        for feature in distinct(left) {
            while others.peek().is_some_and(|other| *other < feature) {
                all += others.next().map_or(0, weigh);
            }
            all += weigh(feature);
            if others.peek() == Some(&feature) {
                common += weigh(feature);
            }
        }
        all += others.map(weigh).sum::<i64>();
        if all == 0 { 0 } else { 2 * common * WHOLE / all }
    }
}

/// What a feature that so many of all resources have says, in 64ths of a bit.
fn weight(count: usize, total: usize) -> i64 {
    let float = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let bits = ((float(total) + 1.0) / float(count.max(1))).log2();
    #[expect(clippy::cast_possible_truncation, reason = "at most 32 bits, a small number")]
    {
        (bits * 64.0).round() as i64
    }
}

/// Finds resources of the other side through the features that they share.
struct Search {
    left: Vec<Vec<u64>>,
    right: Vec<Vec<u64>>,
    /// Who has a feature, on both sides, unless they are too many.
    holders: HashMap<u64, [Vec<usize>; 2]>,
    total: usize,
}

impl Search {
    fn new(left: &[Profile<'_, '_>], right: &[Profile<'_, '_>], commonness: &Commonness) -> Self {
        let keys = |profiles: &[Profile<'_, '_>]| -> Vec<Vec<u64>> {
            profiles.iter().map(|profile| search_keys(&profile.features, commonness)).collect()
        };
        let (left, right) = (keys(left), keys(right));
        let mut holders: HashMap<u64, [Vec<usize>; 2]> = HashMap::default();
        for (side, keys) in [&left, &right].into_iter().enumerate() {
            for (at, keys) in keys.iter().enumerate() {
                for key in keys {
                    let holders = &mut holders.entry(*key).or_default()[side];
                    if holders.len() <= MOST_HOLDERS {
                        holders.push(at);
                    }
                }
            }
        }
        Self { left, right, holders, total: commonness.total }
    }

    /// Returns the resources of the other side that share the rarest features with one, those that
    /// share most of them, in no order. Where the limit would cut between equals, none of these.
    fn nearest(&self, is_right: bool, at: usize) -> Vec<usize> {
        let keys = if is_right { &self.right[at] } else { &self.left[at] };
        let other = usize::from(!is_right);
        let mut found: Vec<(usize, u64)> = keys
            .iter()
            .map(|key| (self.holders[key][other].len(), *key))
            .filter(|(count, _)| (1..=MOST_HOLDERS).contains(count))
            .collect();
        found.sort_unstable();
        let mut shared: HashMap<usize, i64> = HashMap::default();
        let mut visited = 0;
        for equals in found.chunk_by(|one, next| one.0 == next.0) {
            visited += equals.len() * equals[0].0;
            if visited > MOST_VISITED && !shared.is_empty() {
                break;
            }
            for (_, key) in equals {
                let [left, right] = &self.holders[key];
                let says = weight(left.len() + right.len(), self.total);
                for holder in &self.holders[key][other] {
                    *shared.entry(*holder).or_default() += says;
                }
            }
        }
        let mut shared: Vec<(i64, usize)> =
            shared.into_iter().map(|(at, says)| (says, at)).collect();
        shared.sort_unstable_by(|left, right| right.cmp(left));
        if let Some((next, _)) = shared.get(MOST_CANDIDATES) {
            let next = *next;
            shared.retain(|(says, _)| *says > next);
        }
        shared.into_iter().map(|(_, at)| at).collect()
    }
}

/// Returns by what a resource is looked up: its features, and combinations of those that too many
/// have to look at all of them.
fn search_keys(features: &[Feature], commonness: &Commonness) -> Vec<u64> {
    let mut keys: Vec<u64> = distinct(features).collect();
    let mut common: Vec<(usize, u64)> = keys
        .iter()
        .map(|key| (commonness.count(*key), *key))
        .filter(|(count, _)| (2 * MOST_HOLDERS..=commonness.total / 2).contains(count))
        .collect();
    common.sort_unstable();
    common.truncate(MOST_COMBINED);
    for (at, (_, first)) in common.iter().enumerate() {
        for (next, (_, second)) in common.iter().enumerate().skip(at + 1) {
            // The sum does not depend on the order.
            let both = first.wrapping_add(*second);
            keys.push(mix(both, 2));
            for (_, third) in &common[next + 1..] {
                keys.push(mix(both.wrapping_add(*third), 3));
            }
        }
    }
    keys
}
