//! In which steps resources move.
//!
//! Moves that share no stack are independent. Where a resource goes to a place that another one
//! leaves, the other goes first: to its own place if that is free, else to a name of its own in
//! its stack. A group of more than five stacks is moved in several refactors, each of which
//! leaves valid templates, since what crosses a border in between is exported and imported.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet as HashSet;

use super::apply::Relocation;
use super::limits::MOST_STACKS;
use super::world::{At, Spot, World};
use crate::model::Text;

/// How a name begins that a resource has between two refactors.
const BETWEEN: &str = "CdkrMoving";

/// Returns the refactors, each a list of moves; every group of lists belongs together and is in
/// order.
pub(super) fn batches(world: &World, moves: &[Relocation]) -> Vec<Vec<Vec<Relocation>>> {
    let mut groups = Vec::new();
    for group in independent(moves) {
        let mut batches = Vec::new();
        for phase in phases(world, &group) {
            batches.extend(of_five(phase));
        }
        groups.push(batches);
    }
    groups
}

/// Splits moves into groups that share no stack, in the order of their first stacks.
fn independent(moves: &[Relocation]) -> Vec<Vec<Relocation>> {
    let mut leader: BTreeMap<At, At> = BTreeMap::new();
    for each in moves {
        let (from, to) = (find(&mut leader, each.from.0), find(&mut leader, each.to.0));
        leader.insert(from.max(to), from.min(to));
    }
    let mut groups: BTreeMap<At, Vec<Relocation>> = BTreeMap::new();
    for each in moves {
        let root = find(&mut leader, each.from.0);
        groups.entry(root).or_default().push(each.clone());
    }
    groups.into_values().collect()
}

/// The stack that stands for the group of another.
fn find(leader: &mut BTreeMap<At, At>, at: At) -> At {
    let mut root = at;
    while let Some(next) = leader.get(&root).copied().filter(|next| *next != root) {
        root = next;
    }
    leader.insert(at, root);
    root
}

/// Splits moves in two if some have to make way for others.
fn phases(world: &World, moves: &[Relocation]) -> Vec<Vec<Relocation>> {
    let goals: HashSet<&Spot> = moves.iter().map(|each| &each.to).collect();
    let (in_the_way, others): (Vec<&Relocation>, Vec<&Relocation>) =
        moves.iter().partition(|each| goals.contains(&each.from));
    if in_the_way.is_empty() {
        return vec![moves.to_vec()];
    }
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let mut taken: HashSet<Spot> = goals.into_iter().cloned().collect();
    for each in in_the_way {
        if world.resource(&each.to).is_none() {
            first.push(each.clone());
            continue;
        }
        let mut id = Text::from(format!("{BETWEEN}{}", each.from.1));
        let between = loop {
            let spot = (each.from.0, id.clone());
            if world.resource(&spot).is_none() && taken.insert(spot.clone()) {
                break spot;
            }
            id.push('X');
        };
        first.push(Relocation { from: each.from.clone(), to: between.clone() });
        second.push(Relocation { from: between, to: each.to.clone() });
    }
    second.extend(others.into_iter().cloned());
    second.sort();
    vec![first, second]
}

/// Splits moves into lists with at most five stacks each: always the moves that need the fewest
/// further stacks next.
fn of_five(moves: Vec<Relocation>) -> Vec<Vec<Relocation>> {
    let stacks: BTreeSet<At> = moves.iter().flat_map(|each| [each.from.0, each.to.0]).collect();
    if stacks.len() <= MOST_STACKS {
        return vec![moves];
    }
    let mut routes: BTreeMap<(At, At), Vec<Relocation>> = BTreeMap::new();
    for each in moves {
        routes.entry((each.from.0, each.to.0)).or_default().push(each);
    }
    let mut lists = Vec::new();
    while !routes.is_empty() {
        let mut stacks: BTreeSet<At> = BTreeSet::new();
        let mut list = Vec::new();
        loop {
            let more = |route: &(At, At)| {
                [route.0, route.1]
                    .into_iter()
                    .filter(|at| !stacks.contains(at))
                    .collect::<BTreeSet<_>>()
                    .len()
            };
            let next = routes.keys().copied().min_by_key(|route| (more(route), *route));
            let Some(next) = next.filter(|next| stacks.len() + more(next) <= MOST_STACKS) else {
                break;
            };
            stacks.extend([next.0, next.1]);
            list.extend(routes.remove(&next).unwrap_or_default());
        }
        list.sort();
        lists.push(list);
    }
    lists
}

/// Returns where resources end that several moves take from place to place: the first source and
/// the last destination.
pub(super) fn net<P: Clone + Ord>(moves: impl IntoIterator<Item = (P, P)>) -> BTreeMap<P, P> {
    let mut origin: BTreeMap<P, P> = BTreeMap::new();
    for (from, to) in moves {
        let first = origin.remove(&from).unwrap_or(from);
        origin.insert(to, first);
    }
    origin.into_iter().map(|(to, from)| (from, to)).filter(|(from, to)| from != to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relocation(from: (At, &str), to: (At, &str)) -> Relocation {
        Relocation { from: (from.0, from.1.into()), to: (to.0, to.1.into()) }
    }

    #[test]
    fn moves_that_share_no_stack_are_independent() {
        let moves = [
            relocation((0, "a"), (1, "a")),
            relocation((2, "b"), (2, "c")),
            relocation((1, "d"), (3, "d")),
        ];
        let groups: Vec<usize> = independent(&moves).iter().map(Vec::len).collect();
        assert_eq!(groups, [2, 1]);
    }

    #[test]
    fn no_refactor_has_more_than_five_stacks_and_no_move_is_lost() {
        let moves: Vec<Relocation> = (0..40)
            .flat_map(|at| [relocation((at, "a"), (at + 1, "a")), relocation((at, "b"), (0, "b"))])
            .collect();
        let lists = of_five(moves.clone());
        for list in &lists {
            let stacks: BTreeSet<At> =
                list.iter().flat_map(|each| [each.from.0, each.to.0]).collect();
            assert!(stacks.len() <= MOST_STACKS);
        }
        let all: BTreeSet<Relocation> = lists.into_iter().flatten().collect();
        assert_eq!(all, moves.into_iter().collect());
    }

    #[test]
    fn what_moves_twice_is_one_move_in_the_end() {
        let moves = [("x", "t"), ("y", "x"), ("t", "y"), ("a", "b"), ("b", "a")];
        let net: Vec<_> = net(moves).into_iter().collect();
        assert_eq!(net, [("x", "y"), ("y", "x")]);
    }
}
