//! In what order stacks are deployed: each after those that it needs.

use std::collections::{BTreeMap, BTreeSet};

use crate::assembly::AssemblyStack;

/// Stacks that wait for each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stacks {} depend on each other in a circle", .0.join(", "))]
pub struct Circle(
    /// The stacks of the circle, by hierarchical ID; each needs the one after it, the last the
    /// first.
    pub Vec<String>,
);

/// Which of several things can be done now, and which have to wait: stacks by hierarchical ID, or
/// stages by position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order<K: Ord = String> {
    /// What each of them that has not begun waits for.
    waiting: BTreeMap<K, BTreeSet<K>>,
}

impl Order {
    /// Orders the selected stacks. What a stack needs by way of a stack that is not selected
    /// counts as well: if A needs B and B needs C, C comes before A whether B is selected or not.
    ///
    /// # Errors
    /// When selected stacks wait for each other.
    pub fn of(selected: &[&AssemblyStack], all: &[AssemblyStack]) -> Result<Self, Circle> {
        let needs = all.iter().chain(selected.iter().copied());
        let needs = needs.map(|stack| (&*stack.hierarchical_id, &*stack.dependencies)).collect();
        Self::among(selected.iter().map(|stack| &*stack.hierarchical_id), &needs)
    }

    fn among<'a>(
        selected: impl Iterator<Item = &'a str>,
        needs: &BTreeMap<&'a str, &'a [String]>,
    ) -> Result<Self, Circle> {
        let selected: BTreeSet<&str> = selected.collect();
        let waiting = selected.iter().map(|id| {
            let needed = reachable(id, &selected, needs);
            ((*id).to_owned(), needed.into_iter().map(str::to_owned).collect())
        });
        Self::new(waiting.collect()).map_err(Circle)
    }
}

impl<K: Ord + Clone> Order<K> {
    /// Orders things by what each of them waits for, which has to be among them.
    ///
    /// # Errors
    /// A circle of them; each waits for the one after it, the last for the first.
    pub(super) fn new(waiting: BTreeMap<K, BTreeSet<K>>) -> Result<Self, Vec<K>> {
        let order = Self { waiting };
        order.clone().sorted_or_stuck().map_err(|stuck| stuck.circle())?;
        Ok(order)
    }

    /// Returns what has not begun and waits for nothing, sorted.
    pub fn ready(&self) -> Vec<K> {
        let ready = self.waiting.iter().filter(|(_, needs)| needs.is_empty());
        ready.map(|(id, _)| id.clone()).collect()
    }

    /// Returns what has not begun, sorted.
    pub fn waiting(&self) -> Vec<K> {
        self.waiting.keys().cloned().collect()
    }

    /// Returns what something that has not begun still waits for.
    pub(super) fn needs(&self, id: &K) -> impl Iterator<Item = &K> {
        self.waiting.get(id).into_iter().flatten()
    }

    /// Takes note that something has begun.
    pub fn begin(&mut self, id: &K) {
        self.waiting.remove(id);
    }

    /// Takes note that something is done: what needs it need not wait for it any more.
    pub fn done(&mut self, id: &K) {
        for needs in self.waiting.values_mut() {
            needs.remove(id);
        }
    }

    /// Returns everything, each after what it needs.
    pub fn sorted(self) -> Vec<K> {
        // There is no circle: it would have been refused.
        self.sorted_or_stuck().unwrap_or_default()
    }

    fn sorted_or_stuck(mut self) -> Result<Vec<K>, Self> {
        let mut sorted = Vec::new();
        while !self.waiting.is_empty() {
            let ready = self.ready();
            if ready.is_empty() {
                return Err(self);
            }
            for id in &ready {
                self.begin(id);
                self.done(id);
            }
            sorted.extend(ready);
        }
        Ok(sorted)
    }

    /// The circle among things that all wait: whoever follows what they wait for gets into it.
    fn circle(&self) -> Vec<K> {
        let mut path: Vec<&K> = Vec::new();
        let mut next = self.waiting.keys().next();
        while let Some(id) = next {
            if let Some(at) = path.iter().position(|known| *known == id) {
                path.drain(..at);
                break;
            }
            path.push(id);
            next = self.waiting.get(id).and_then(|needs| needs.iter().next());
        }
        path.into_iter().cloned().collect()
    }
}

/// The selected stacks that a stack needs, by way of any that are not selected.
fn reachable<'a>(
    id: &'a str,
    selected: &BTreeSet<&'a str>,
    needs: &BTreeMap<&'a str, &'a [String]>,
) -> BTreeSet<&'a str> {
    let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut pending = vec![id];
    while let Some(id) = pending.pop() {
        for need in needs.get(id).copied().unwrap_or_default() {
            if selected.contains(need.as_str()) {
                found.insert(need.as_str());
            } else if seen.insert(need.as_str()) {
                pending.push(need);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(selected: &[&'static str], needs: &[(&str, &[&str])]) -> Result<Order, Circle> {
        let owned: Vec<(&str, Vec<String>)> = needs
            .iter()
            .map(|(id, needs)| (*id, needs.iter().map(|need| (*need).to_owned()).collect()))
            .collect();
        let needs = owned.iter().map(|(id, needs)| (*id, needs.as_slice())).collect();
        Order::among(selected.iter().copied(), &needs)
    }

    #[test]
    fn a_stack_comes_after_those_that_it_needs() {
        let order = order(&["A", "B", "C"], &[("A", &["B"]), ("B", &["C"])]).unwrap();
        assert_eq!(order.sorted(), ["C", "B", "A"]);
    }

    #[test]
    fn what_is_needed_by_way_of_a_stack_that_is_not_selected_comes_first_too() {
        let order = order(&["A", "C"], &[("A", &["B"]), ("B", &["C"])]).unwrap();
        assert_eq!(order.sorted(), ["C", "A"]);
    }

    #[test]
    fn stacks_that_need_nothing_of_each_other_are_ready_at_once() {
        let needs: &[(&str, &[&str])] = &[("C", &["A", "B"]), ("A", &["NotSelected"])];
        let mut order = order(&["A", "B", "C"], needs).unwrap();
        assert_eq!(order.ready(), ["A", "B"]);
        order.begin(&"A".to_owned());
        order.begin(&"B".to_owned());
        order.done(&"A".to_owned());
        assert_eq!(order.ready(), Vec::<String>::new());
        order.done(&"B".to_owned());
        assert_eq!(order.ready(), ["C"]);
    }

    #[test]
    fn a_circle_is_an_error_that_names_its_stacks_and_no_other() {
        let needs: &[(&str, &[&str])] = &[("A", &["B"]), ("B", &["C"]), ("C", &["B"])];
        let circle = order(&["A", "B", "C"], needs).unwrap_err();
        assert_eq!(circle.to_string(), "the stacks B, C depend on each other in a circle");
    }

    #[test]
    fn a_circle_through_a_stack_that_is_not_selected_is_one_as_well() {
        let circle = order(&["A"], &[("A", &["B"]), ("B", &["A"])]).unwrap_err();
        assert_eq!(circle.0, ["A"]);
    }
}
