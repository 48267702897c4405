//! Which answers names make likely. For proposals only: a name is no evidence.

use crate::compare::{Ambiguity, Place};
use crate::model::ConstructPath;

/// Returns pairs of a source and a destination, as indices, that names make likely; the best
/// first, each index once.
pub(crate) fn likely(ambiguity: &Ambiguity) -> Vec<(usize, usize)> {
    let names = |places: &[Place]| -> Vec<String> {
        let name = |place: &Place| match &place.path {
            Some(path) => path.to_string(),
            None => place.location.to_string(),
        };
        places.iter().map(name).collect()
    };
    propose(&names(&ambiguity.sources), &names(&ambiguity.destinations))
}

/// Returns pairs of constructs, as indices, as [`likely`] does for resources.
pub(crate) fn likely_constructs(
    old: &[ConstructPath],
    new: &[ConstructPath],
) -> Vec<(usize, usize)> {
    let names = |paths: &[ConstructPath]| -> Vec<String> {
        paths.iter().map(ToString::to_string).collect()
    };
    propose(&names(old), &names(new))
}

/// Pairs with a component in common that none of the other names has, the longest first.
fn propose(old: &[String], new: &[String]) -> Vec<(usize, usize)> {
    let parts = |name: &String| -> Vec<String> {
        name.split(['/', '.']).filter(|part| *part != "Resource").map(str::to_owned).collect()
    };
    let old: Vec<_> = old.iter().map(parts).collect();
    let new: Vec<_> = new.iter().map(parts).collect();
    let holders = |side: &[Vec<String>], part: &String| -> Vec<usize> {
        (0..side.len()).filter(|at| side[*at].contains(part)).collect()
    };
    let mut found: Vec<(usize, usize, usize)> = Vec::new();
    for part in old.iter().flatten() {
        if let ([from], [to]) = (holders(&old, part).as_slice(), holders(&new, part).as_slice()) {
            found.push((part.len(), *from, *to));
        }
    }
    found.sort_by(|left, right| right.0.cmp(&left.0).then(left.cmp(right)));
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (_, from, to) in found {
        if !pairs.iter().any(|(old, new)| *old == from || *new == to) {
            pairs.push((from, to));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<ConstructPath> {
        names.iter().map(|name| ConstructPath::from(*name)).collect()
    }

    #[test]
    fn a_name_that_one_of_each_side_has_makes_a_pair_likely() {
        let found = likely_constructs(
            &paths(&["Shop/Old/Orders", "Shop/Old/Payments"]),
            &paths(&["Shop/New/Payments", "Shop/New/Orders"]),
        );
        assert_eq!(found, [(1, 0), (0, 1)]);
    }

    #[test]
    fn names_that_tell_nothing_propose_nothing() {
        let found = likely_constructs(&paths(&["S/A", "S/B"]), &paths(&["S/X", "S/Y"]));
        assert!(found.is_empty());
    }
}
