//! The deployments that a request consists of.

use std::collections::{BTreeMap, BTreeSet};

use super::order::{Circle, Order};
use crate::assembly::{Assembly, AssemblyStack};

/// One deployment of one stack. A stack may have two, such as first with an export kept for its
/// importers, then without; `after` has to say which of them comes first.
#[derive(Clone, Debug)]
pub struct Stage<'a> {
    /// The stack.
    pub stack: &'a AssemblyStack,
    /// Sent in place of the template of the app.
    pub template: Option<String>,
    /// Positions of the stages that have to be done before.
    pub after: Vec<usize>,
    /// What is special about it, for people; `None` for an ordinary deployment.
    pub title: Option<String>,
}

impl<'a> Stage<'a> {
    /// Returns an ordinary deployment for each of the stacks, each after those that its stack
    /// needs; in such an order that nothing comes before what it needs. What a stack needs by way
    /// of a stack that is not among them counts as well.
    ///
    /// # Errors
    /// When stacks wait for each other.
    pub fn of(stacks: &[&'a AssemblyStack], assembly: &Assembly) -> Result<Vec<Self>, Circle> {
        let order = Order::of(stacks, &assembly.stacks)?;
        let sorted = order.clone().sorted();
        let places: BTreeMap<&str, usize> =
            sorted.iter().enumerate().map(|(at, id)| (id.as_str(), at)).collect();
        let by_id: BTreeMap<&str, &'a AssemblyStack> =
            stacks.iter().map(|stack| (stack.hierarchical_id.as_str(), *stack)).collect();
        let stage = |id: &String| {
            let after = order.needs(id).filter_map(|need| places.get(need.as_str()).copied());
            let after = after.collect();
            Some(Self { stack: by_id.get(id.as_str())?, template: None, after, title: None })
        };
        Ok(sorted.iter().filter_map(stage).collect())
    }
}

/// Orders stages by what each has to wait for.
///
/// # Errors
/// When stages wait for each other, or for one that is not there.
pub(super) fn order(stages: &[Stage<'_>]) -> Result<Order<usize>, Circle> {
    let waiting = stages.iter().enumerate().map(|(at, stage)| {
        let needs: BTreeSet<usize> = stage.after.iter().copied().collect();
        (at, needs)
    });
    let name = |at: usize| stages.get(at).map(|it| it.stack.hierarchical_id.clone());
    Order::new(waiting.collect())
        .map_err(|circle| Circle(circle.into_iter().filter_map(name).collect()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::assembly::StackProperties;
    use crate::model::{Environment, Stack, Template};

    pub(crate) fn stack(id: &str, needs: &[&str]) -> AssemblyStack {
        AssemblyStack {
            artifact_id: id.to_owned(),
            hierarchical_id: id.to_owned(),
            environment: Environment::new("1", "eu-west-1"),
            stack: Stack::new(id, Template::default()),
            nested: Vec::new(),
            top_level: true,
            tags: BTreeMap::new(),
            dependencies: needs.iter().map(|&need| need.to_owned()).collect(),
            do_not_refactor: Vec::new(),
            construct_path: None,
            properties: StackProperties::default(),
        }
    }

    fn assembly(stacks: Vec<AssemblyStack>) -> Assembly {
        Assembly {
            directory: std::path::PathBuf::new(),
            version: String::new(),
            schema_major: 0,
            stacks,
            missing: Vec::new(),
            constructs: Vec::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn stages_wait_for_those_of_the_stacks_that_theirs_needs() {
        let all = assembly(vec![stack("A", &["B"]), stack("B", &["C"]), stack("C", &[])]);
        let selected = [&all.stacks[0], &all.stacks[2]];
        let stages = Stage::of(&selected, &all).unwrap();
        let ids: Vec<_> = stages.iter().map(|it| it.stack.hierarchical_id.as_str()).collect();
        assert_eq!(ids, ["C", "A"]);
        assert_eq!(stages[1].after, [0]);
        assert_eq!(stages[0].after, Vec::<usize>::new());
    }

    #[test]
    fn stages_that_wait_for_each_other_or_for_nothing_that_is_there_are_refused() {
        let (a, b) = (stack("A", &[]), stack("B", &[]));
        let stage = |stack, after: &[usize]| Stage {
            stack,
            template: None,
            after: after.to_vec(),
            title: None,
        };
        let circle = order(&[stage(&a, &[1]), stage(&b, &[0])]).unwrap_err();
        assert_eq!(circle.0, ["A", "B"]);
        assert!(order(&[stage(&a, &[7])]).is_err());
        assert_eq!(order(&[stage(&a, &[1]), stage(&a, &[])]).unwrap().sorted(), [1, 0]);
    }
}
