//! How much two bodies have in common, for the step of the matching that takes what moved and
//! changed. What is only offered is compared by `measure`.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::digest::Digest;
use super::scope::NodeId;
use super::side::Side;
use super::skeleton::is_ours;
use crate::model::{Object, Value};
use crate::template::{Attribute, Intrinsic};

/// What a body contains, as hashes of property paths with their values, sorted.
pub(super) type Features = Vec<u64>;

/// Returns the features of a resource; references count by what they point at.
pub(super) fn features(side: &Side<'_>, digests: &[Digest], id: NodeId) -> Features {
    let node = side.node(id);
    let mut features = Vec::new();
    for (key, value) in node.body.iter() {
        match (key.as_str(), value) {
            ("Type" | "DependsOn", _) => {}
            ("Metadata", Value::Object(metadata)) => {
                for (key, value) in
                    metadata.iter().filter(|(key, _)| !key.starts_with("aws:") && !is_ours(key))
                {
                    collect(side, digests, node.stack, value, &[key], &mut features);
                }
            }
            (key, value) => collect(side, digests, node.stack, value, &[key], &mut features),
        }
    }
    features.sort_unstable();
    features
}

fn collect(
    side: &Side<'_>,
    digests: &[Digest],
    stack: usize,
    value: &Value,
    path: &[&str],
    features: &mut Features,
) {
    let mut add = |what: &dyn Fn(&mut DefaultHasher)| {
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        what(&mut hasher);
        features.push(hasher.finish());
    };
    match value {
        Value::Null => add(&|hasher| 0.hash(hasher)),
        Value::Bool(flag) => add(&|hasher| flag.to_string().hash(hasher)),
        Value::Number(number) => add(&|hasher| number.as_str().hash(hasher)),
        Value::String(text) => add(&|hasher| text.as_str().hash(hasher)),
        Value::Array(items) => {
            for item in items {
                collect(side, digests, stack, item, path, features);
            }
        }
        Value::Object(object) => match reference(side, stack, object) {
            Some((target, attribute)) => {
                add(&|hasher| (digests[target as usize], attribute).hash(hasher));
            }
            None => {
                for (key, value) in object.iter() {
                    let mut path = path.to_vec();
                    path.push(key);
                    collect(side, digests, stack, value, &path, features);
                }
            }
        },
    }
}

fn reference<'o>(side: &Side<'_>, stack: usize, object: &'o Object) -> Option<(NodeId, &'o str)> {
    let (name, attribute) = match Intrinsic::of(object)? {
        Intrinsic::Ref(name) => (name, ""),
        Intrinsic::GetAtt(name, Attribute::Name(attribute)) => (name, attribute),
        _ => return None,
    };
    let target = *side.scope.stacks[stack].resources.get(name)?;
    Some((target, attribute))
}

/// Returns how much two bodies have in common, from 0 (nothing) to 1 (everything).
pub(super) fn score(left: &Features, right: &Features) -> f64 {
    let total = left.len() + right.len();
    if total == 0 {
        return 1.0;
    }
    let (mut at, mut common) = (0, 0);
    for feature in left {
        while at < right.len() && right[at] < *feature {
            at += 1;
        }
        if right.get(at) == Some(feature) {
            common += 1;
            at += 1;
        }
    }
    let ratio = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    2.0 * ratio(common) / ratio(total)
}
