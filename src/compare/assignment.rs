//! Who belongs to whom, if everybody may have one partner: the assignment of the best total, and
//! in it only what is clearly better than every other assignment.

use std::collections::BTreeMap;

/// Components with more members on one side than this are not solved: what is each other's clear
/// best is all that they give. A row of the matrix fits in the bits of a word.
const LARGEST: usize = 64;

/// A possible pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) left: usize,
    pub(super) right: usize,
    /// What the pair is worth; more than zero.
    pub(super) worth: i64,
    /// Whether the pair may be chosen. One that may not can still cast doubt on others.
    pub(super) may_be_chosen: bool,
}

/// Returns the pairs that belong to the best assignment even if every other pair were worth
/// `margin` more: so there is no doubt on either side. Each member is in one pair at most. The answer
/// depends neither on the order of the edges nor on which side is called left.
pub(super) fn clear_pairs(edges: &[Edge], margin: i64) -> Vec<(usize, usize)> {
    let mut chosen = Vec::new();
    for component in components(edges) {
        let component = Component::new(component);
        if component.left.len() > LARGEST || component.right.len() > LARGEST {
            chosen.extend(clear_best(&component.edges, margin));
        } else {
            chosen.extend(component.robust(margin));
        }
    }
    chosen.sort_unstable();
    chosen
}

/// Returns the edges of each connected part.
fn components(edges: &[Edge]) -> Vec<Vec<Edge>> {
    let lefts = edges.iter().map(|edge| edge.left + 1).max().unwrap_or(0);
    let rights = edges.iter().map(|edge| edge.right + 1).max().unwrap_or(0);
    let mut parents: Vec<usize> = (0..lefts + rights).collect();
    for edge in edges {
        let (left, right) = (root(&mut parents, edge.left), root(&mut parents, lefts + edge.right));
        parents[left.max(right)] = left.min(right);
    }
    let mut parts: BTreeMap<usize, Vec<Edge>> = BTreeMap::new();
    for edge in edges {
        parts.entry(root(&mut parents, edge.left)).or_default().push(*edge);
    }
    parts.into_values().collect()
}

fn root(parents: &mut [usize], mut at: usize) -> usize {
    while parents[at] != at {
        parents[at] = parents[parents[at]];
        at = parents[at];
    }
    at
}

/// Returns the pairs that are better by a margin than all others of both their members.
fn clear_best(edges: &[Edge], margin: i64) -> Vec<(usize, usize)> {
    // The best and the second best, by member.
    let mut best: BTreeMap<(bool, usize), (i64, i64)> = BTreeMap::new();
    let members = |edge: &Edge| [(false, edge.left), (true, edge.right)];
    for edge in edges {
        for member in members(edge) {
            let (first, second) = best.entry(member).or_default();
            if edge.worth > *first {
                (*first, *second) = (edge.worth, *first);
            } else {
                *second = edge.worth.max(*second);
            }
        }
    }
    let is_clear = |edge: &&Edge| {
        edge.may_be_chosen
            && members(edge).iter().all(|member| {
                let (first, second) = best[member];
                edge.worth == first && (second == 0 || first - second > margin)
            })
    };
    edges.iter().filter(is_clear).map(|edge| (edge.left, edge.right)).collect()
}

/// A connected part with its members.
struct Component {
    left: Vec<usize>,
    right: Vec<usize>,
    edges: Vec<Edge>,
}

/// What a pair of members is worth; nothing, if they are no pair.
type Matrix = Vec<Vec<i64>>;

impl Component {
    fn new(edges: Vec<Edge>) -> Self {
        let members = |of: fn(&Edge) -> usize| {
            let mut members: Vec<usize> = edges.iter().map(of).collect();
            members.sort_unstable();
            members.dedup();
            members
        };
        Self { left: members(|edge| edge.left), right: members(|edge| edge.right), edges }
    }

    fn matrix(&self, worth: impl Fn(&Edge, usize, usize) -> i64) -> Matrix {
        let size = self.left.len().max(self.right.len());
        let mut matrix = vec![vec![0; size]; size];
        for edge in &self.edges {
            let row = self.left.partition_point(|member| *member < edge.left);
            let column = self.right.partition_point(|member| *member < edge.right);
            matrix[row][column] = worth(edge, row, column);
        }
        matrix
    }

    fn robust(&self, margin: i64) -> Vec<(usize, usize)> {
        let core = in_every_best(&self.matrix(
            |edge, _, _| {
                if edge.may_be_chosen { edge.worth } else { 0 }
            },
        ));
        let doubted =
            self.matrix(
                |edge, row, column| {
                    if core[row] == Some(column) { edge.worth } else { edge.worth + margin }
                },
            );
        in_every_best(&doubted)
            .into_iter()
            .enumerate()
            .filter_map(|(row, column)| {
                let column = column.filter(|column| core[row] == Some(*column))?;
                Some((self.left[row], self.right[column]))
            })
            .collect()
    }
}

/// Returns for each row the column that it has in every assignment of the best total, if it is
/// worth something.
fn in_every_best(worth: &Matrix) -> Vec<Option<usize>> {
    let size = worth.len();
    let Solution { rows, row_prices, column_prices } = solve(worth);
    let mut owner = vec![0; size];
    for (row, column) in rows.iter().enumerate() {
        owner[*column] = row;
    }
    // Another best assignment differs from this one by circles, in which each row takes the column
    // of the next one at no loss.
    let mut reach: Vec<u64> = (0..size)
        .map(|row| {
            let takes = |column: &usize| {
                rows[row] != *column
                    && row_prices[row] + column_prices[*column] == -worth[row][*column]
            };
            (0..size).filter(takes).fold(0, |bits, column| bits | 1 << owner[column])
        })
        .collect();
    for via in 0..size {
        for from in 0..size {
            if reach[from] >> via & 1 == 1 {
                reach[from] |= reach[via];
            }
        }
    }
    (0..size)
        .map(|row| {
            let column = rows[row];
            (worth[row][column] > 0 && reach[row] >> row & 1 == 0).then_some(column)
        })
        .collect()
}

/// The column of each row, and prices such that no pair costs less than its row and column, and
/// the chosen ones exactly that.
struct Solution {
    rows: Vec<usize>,
    row_prices: Vec<i64>,
    column_prices: Vec<i64>,
}

/// Solves the assignment problem for the largest total: the Hungarian method, row by row with
/// shortest augmenting paths.
fn solve(worth: &Matrix) -> Solution {
    let size = worth.len();
    let mut row_prices = vec![0; size];
    let mut column_prices = vec![0; size + 1];
    // The last column stands for the start of a path.
    let mut owner: Vec<Option<usize>> = vec![None; size + 1];
    for row in 0..size {
        owner[size] = Some(row);
        let mut column = size;
        let mut distance = vec![i64::MAX; size];
        let mut came_from = vec![size; size];
        let mut visited = vec![false; size + 1];
        while let Some(at) = owner[column] {
            visited[column] = true;
            let (mut step, mut next) = (i64::MAX, size);
            for other in (0..size).filter(|other| !visited[*other]) {
                let cost = -worth[at][other] - row_prices[at] - column_prices[other];
                if cost < distance[other] {
                    distance[other] = cost;
                    came_from[other] = column;
                }
                if distance[other] < step {
                    (step, next) = (distance[other], other);
                }
            }
            for other in 0..=size {
                if visited[other] {
                    if let Some(owner) = owner[other] {
                        row_prices[owner] += step;
                    }
                    column_prices[other] -= step;
                } else {
                    distance[other] -= step;
                }
            }
            column = next;
        }
        while column != size {
            let previous = came_from[column];
            owner[column] = owner[previous];
            column = previous;
        }
        owner[size] = None;
    }
    let mut rows = vec![0; size];
    for (column, owner) in owner.iter().enumerate() {
        if let Some(row) = owner {
            rows[*row] = column;
        }
    }
    column_prices.truncate(size);
    Solution { rows, row_prices, column_prices }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(pairs: &[(usize, usize, i64)]) -> Vec<Edge> {
        let edge = |&(left, right, worth)| Edge { left, right, worth, may_be_chosen: true };
        pairs.iter().map(edge).collect()
    }

    fn clear(pairs: &[(usize, usize, i64)]) -> Vec<(usize, usize)> {
        let forward = clear_pairs(&edges(pairs), 5);
        let turned: Vec<_> =
            pairs.iter().rev().map(|&(left, right, worth)| (right, left, worth)).collect();
        let mut backward: Vec<_> = clear_pairs(&edges(&turned), 5)
            .into_iter()
            .map(|(left, right)| (right, left))
            .collect();
        backward.sort_unstable();
        assert_eq!(forward, backward, "the other way round it is the inverse");
        forward
    }

    #[test]
    fn what_stands_alone_is_clear() {
        assert_eq!(clear(&[(0, 0, 1), (3, 2, 9)]), [(0, 0), (3, 2)]);
    }

    #[test]
    fn the_best_total_beats_the_best_pair() {
        // The most alike first would give (0, 0), and leave 30 for the others.
        assert_eq!(clear(&[(0, 0, 90), (0, 1, 80), (1, 0, 85), (1, 1, 30)]), [(0, 1), (1, 0)]);
    }

    #[test]
    fn two_who_are_as_good_are_not_told_apart() {
        assert_eq!(clear(&[(0, 0, 90), (0, 1, 88)]), []);
        assert_eq!(clear(&[(0, 0, 90), (0, 1, 80)]), [(0, 0)]);
        assert_eq!(clear(&[(0, 0, 90), (0, 1, 88), (1, 0, 88), (1, 1, 90)]), []);
        assert_eq!(clear(&[(0, 0, 90), (0, 1, 80), (1, 0, 80), (1, 1, 90)]), [(0, 0), (1, 1)]);
    }

    #[test]
    fn doubt_about_some_leaves_others_clear() {
        let pairs = [(0, 0, 90), (0, 1, 40), (1, 1, 90), (1, 2, 89), (2, 0, 20)];
        assert_eq!(clear(&pairs), [(0, 0)]);
    }

    #[test]
    fn many_small_doubts_do_not_add_up_to_certainty() {
        let circle: Vec<_> =
            (0..20).flat_map(|at| [(at, at, 50), (at, (at + 1) % 20, 49)]).collect();
        assert_eq!(clear(&circle), []);
    }

    #[test]
    fn what_may_not_be_chosen_still_casts_doubt() {
        let mut pairs = edges(&[(0, 0, 90), (0, 1, 89)]);
        pairs[1].may_be_chosen = false;
        assert_eq!(clear_pairs(&pairs, 5), []);
        pairs[1].worth = 50;
        assert_eq!(clear_pairs(&pairs, 5), [(0, 0)]);
    }

    #[test]
    fn in_a_large_crowd_only_the_clear_best_of_both_belong_together() {
        let mut pairs: Vec<_> =
            (0..100).flat_map(|at| [(at, at, 90), (at, (at + 1) % 100, 50)]).collect();
        assert_eq!(clear(&pairs).len(), 100);
        pairs.push((0, 99, 89));
        let found = clear(&pairs);
        assert_eq!(found.len(), 98);
        assert!(!found.contains(&(0, 0)) && !found.contains(&(99, 99)));
    }

    #[test]
    fn small_problems_are_solved_as_by_trying_everything() {
        let mut state = 7_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let size = usize::try_from(1 + next(5)).unwrap();
            let mut worth = vec![vec![0; size]; size];
            for cell in worth.iter_mut().flatten() {
                *cell = i64::try_from(next(6)).unwrap();
            }
            let mut best = (0, Vec::new());
            all(&worth, &mut Vec::new(), &mut best);
            let expected: Vec<Option<usize>> = (0..size)
                .map(|row| {
                    let column = best.1[0][row];
                    let always = best.1.iter().all(|columns| columns[row] == column);
                    (always && worth[row][column] > 0).then_some(column)
                })
                .collect();
            assert_eq!(in_every_best(&worth), expected, "{worth:?}");
        }
    }

    /// Collects all assignments of the best total.
    fn all(worth: &Matrix, columns: &mut Vec<usize>, best: &mut (i64, Vec<Vec<usize>>)) {
        if columns.len() == worth.len() {
            let total = columns.iter().enumerate().map(|(row, column)| worth[row][*column]).sum();
            if best.1.is_empty() || total > best.0 {
                *best = (total, Vec::new());
            }
            if total == best.0 {
                best.1.push(columns.clone());
            }
            return;
        }
        for column in 0..worth.len() {
            if !columns.contains(&column) {
                columns.push(column);
                all(worth, columns, best);
                columns.pop();
            }
        }
    }
}
