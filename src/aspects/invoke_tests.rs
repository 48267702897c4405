use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::*;
use crate::model::ConstructPath;

const VECTORS: &str = include_str!("../../fixtures/vectors/aspects-trace.json");

/// Where an aspect does something, and what: at most once, since it visits each construct once.
type Script = (String, Deed);

#[derive(Clone)]
enum Deed {
    AddNode(String),
    AddAspect(String, String, Option<Priority>),
}

struct Scripted {
    name: String,
    script: Option<Script>,
}

impl Aspect<Vec<String>> for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn visit(&self, visit: &mut Visit<'_, Vec<String>>) {
        let path = visit.construct().path.to_string();
        visit.state.push(format!("{}@{path}", self.name));
        let Some((_, deed)) = self.script.as_ref().filter(|(on, _)| *on == path) else { return };
        match deed {
            Deed::AddNode(path) => visit.tree().add(Construct::new(path)).unwrap(),
            Deed::AddAspect(name, at, priority) => {
                let aspect = Arc::new(Self { name: name.clone(), script: None });
                Aspects::of(visit.tree(), at).unwrap().add(aspect, *priority);
            }
        }
    }
}

fn priority(json: &Json) -> Option<Priority> {
    json.as_f64().map(|number| Priority::try_from(number).unwrap())
}

fn texts(json: &Json) -> Vec<String> {
    json.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn script(json: &Json) -> Option<Script> {
    let deed = match (json["addNode"].as_str(), &json["addAspect"]) {
        (Some(path), _) => Deed::AddNode(path.to_owned()),
        (None, Json::Array(parts)) => Deed::AddAspect(
            parts[0].as_str().unwrap().to_owned(),
            parts[1].as_str().unwrap().to_owned(),
            priority(&parts[2]),
        ),
        _ => return None,
    };
    Some((json["on"].as_str()?.to_owned(), deed))
}

fn tree(paths: &[String]) -> Tree<Vec<String>> {
    let mut tree = Tree::new(&paths[0]);
    for path in paths {
        tree.add(Construct::new(path)).unwrap();
    }
    tree
}

#[test]
fn the_traces_of_the_framework_hold() {
    let vectors: Json = serde_json::from_str(VECTORS).unwrap();
    let vectors = vectors["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 15);
    // One has no tree: it has a test of its own below.
    for vector in vectors.iter().filter(|vector| vector["tree"].is_array()) {
        let name = vector["name"].as_str().unwrap();
        let mut tree = tree(&texts(&vector["tree"]));
        let mut instances: HashMap<String, Arc<Scripted>> = HashMap::new();
        for entry in vector["aspects"].as_array().unwrap() {
            let named = entry[0].as_str().unwrap().to_owned();
            let script = script(&entry[3]);
            let aspect = instances
                .entry(named.clone())
                .or_insert_with(|| Arc::new(Scripted { name: named, script }));
            let aspect: Arc<dyn Aspect<_>> = Arc::<Scripted>::clone(aspect);
            Aspects::of(&mut tree, entry[1].as_str().unwrap())
                .unwrap()
                .add(aspect, priority(&entry[2]));
        }
        for entry in vector["override"].as_array().into_iter().flatten() {
            let mut aspects = Aspects::of(&mut tree, entry[1].as_str().unwrap()).unwrap();
            aspects.set_priority(entry[0].as_str().unwrap(), priority(&entry[2]).unwrap()).unwrap();
        }
        let mode =
            if vector["stabilization"] == false { Mode::SinglePass } else { Mode::PerConstruct };
        let mut trace = Vec::new();
        let result = tree.invoke(&mut trace, mode);
        assert_eq!(trace, texts(&vector["trace"]), "{name}");
        let error = result.as_ref().err().map(ToString::to_string);
        assert_eq!(error.as_deref(), vector["error"].as_str(), "{name}");
        if let Some(warning) = vector["warning"].as_str() {
            assert!(result.unwrap().warnings[0].starts_with(warning), "{name}");
        }
    }
}

/// Adds another one of its kind at each visit, a number of times.
struct Chain {
    left: usize,
}

impl Aspect<Vec<String>> for Chain {
    fn name(&self) -> &'static str {
        "Chain"
    }

    fn visit(&self, visit: &mut Visit<'_, Vec<String>>) {
        if self.left > 0 {
            let next = Arc::new(Self { left: self.left - 1 });
            Aspects::of(visit.tree(), "R").unwrap().add(next, None);
        }
    }
}

#[test]
fn a_hundred_and_one_passes_are_enough_and_one_more_is_a_loop() {
    let run = |length: usize| {
        let mut tree = Tree::new("R");
        let first = Arc::new(Chain { left: length - 1 });
        Aspects::of(&mut tree, "R").unwrap().add(first, None);
        tree.invoke(&mut Vec::new(), Mode::PerConstruct)
    };
    let invoked = run(101).unwrap();
    assert_eq!((invoked.visits, invoked.passes), (101, 101));
    let error = run(102).unwrap_err();
    assert_eq!(
        error.to_string(),
        "We have detected a possible infinite loop while invoking Aspects. Please check your \
         Aspects and verify there is no configuration that would cause infinite Aspect or Node \
         creation."
    );
}

fn named(name: &str) -> Arc<dyn Aspect<Vec<String>>> {
    Arc::new(Scripted { name: name.to_owned(), script: None })
}

fn paths(list: &[&str]) -> Vec<String> {
    list.iter().map(|path| (*path).to_owned()).collect()
}

#[test]
fn a_validator_above_sees_what_a_mutator_below_has_done() {
    let mut tree = tree(&paths(&["", "S", "S/A"]));
    Aspects::of(&mut tree, "").unwrap().add(named("look"), Some(Priority::READ_ONLY));
    Aspects::of(&mut tree, "S/A").unwrap().add(named("change"), Some(Priority::MUTATING));
    let mut trace = Vec::new();
    tree.invoke(&mut trace, Mode::LookLast).unwrap();
    assert_eq!(trace, ["change@S/A", "look@", "look@S", "look@S/A"]);
}

#[test]
fn a_validator_that_adds_a_mutator_is_refused_and_both_are_named() {
    let mut tree = tree(&paths(&["R", "R/C"]));
    let deed = Deed::AddAspect("late".into(), "R/C".into(), Some(Priority::MUTATING));
    let look = Arc::new(Scripted { name: "look".into(), script: Some(("R".into(), deed)) });
    Aspects::of(&mut tree, "R").unwrap().add(look, Some(Priority::READ_ONLY));
    let error = tree.invoke(&mut Vec::new(), Mode::LookLast).unwrap_err().to_string();
    assert!(error.contains("Aspect late with priority 200 on node R/C"), "{error}");
    assert!(error.contains("Aspect look with priority 1000"), "{error}");
}

#[test]
fn aspects_stay_out_of_stages_and_those_of_a_stage_stay_in() {
    let mut tree = tree(&paths(&["", "P/S/A", "T"]));
    tree.add(Construct { is_stage: true, ..Construct::new("P") }).unwrap();
    Aspects::of(&mut tree, "").unwrap().add(named("app"), None);
    Aspects::of(&mut tree, "P").unwrap().add(named("stage"), None);
    let mut trace = Vec::new();
    tree.invoke(&mut trace, Mode::LookLast).unwrap();
    assert_eq!(trace, ["stage@P", "stage@P/S", "stage@P/S/A", "app@", "app@T"]);
}

#[test]
fn what_is_added_to_a_stage_from_without_is_visited_too() {
    let mut tree = tree(&paths(&["", "P/S"]));
    tree.add(Construct { is_stage: true, ..Construct::new("P") }).unwrap();
    let deed = Deed::AddAspect("late".into(), "P".into(), None);
    let outer = Arc::new(Scripted { name: "outer".into(), script: Some((String::new(), deed)) });
    Aspects::of(&mut tree, "").unwrap().add(outer, None);
    let mut trace = Vec::new();
    tree.invoke(&mut trace, Mode::LookLast).unwrap();
    assert_eq!(trace, ["outer@", "late@P", "late@P/S"]);
}

#[test]
fn what_is_applied_can_be_asked_and_a_negative_priority_is_refused() {
    let mut tree = tree(&paths(&["R"]));
    let mut aspects = Aspects::of(&mut tree, "R").unwrap();
    let x = named("x");
    aspects.add(Arc::clone(&x), None).add(x, None).add(named("y"), Some(Priority::from(7)));
    let applied: Vec<_> =
        aspects.applied().iter().map(|one| format!("{} {}", one.aspect, one.priority)).collect();
    assert_eq!(applied, ["x 500", "y 7"]);
    let negative = Priority::try_from(-1.0).unwrap();
    assert_eq!(aspects.set_priority("x", negative).err(), Some(TreeError::NegativePriority));
    assert!(aspects.set_priority("z", Priority::from(1)).is_err());
    assert!(Aspects::of(&mut tree, "R/None").is_err());
}

#[test]
fn a_tree_of_ten_thousand_levels_is_walked() {
    let mut tree = tree(&["a".to_owned(), vec!["a"; 10_000].join("/")]);
    let root = tree_root(&tree);
    Aspects::of(&mut tree, &root).unwrap().add(named("x"), None);
    assert_eq!(tree.invoke(&mut Vec::new(), Mode::LookLast).unwrap().visits, tree.nodes.len());
}

fn tree_root(tree: &Tree<Vec<String>>) -> String {
    tree.constructs().next().unwrap().path.to_string()
}

/// The properties that the framework's own tests fuzz.
mod properties {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    struct Plan {
        /// The parent of every node but the root, by number; those who are stages.
        nodes: Vec<(usize, bool)>,
        /// Node and priority of every aspect, and what it does on which node.
        aspects: Vec<(usize, u32, Option<Doing>)>,
    }

    /// On which node an aspect does what.
    type Doing = (usize, Act);

    #[derive(Clone, Debug)]
    enum Act {
        AddNode(usize),
        AddAspect(usize, u32),
    }

    fn plans() -> impl Strategy<Value = Plan> {
        let nodes = prop::collection::vec((0..20_usize, prop::bool::weighted(0.1)), 1..12);
        let act = prop_oneof![
            (0..20_usize).prop_map(Act::AddNode),
            (0..20_usize, 0..6_u32).prop_map(|(at, priority)| Act::AddAspect(at, priority)),
        ];
        let aspect = (0..20_usize, 0..6_u32, prop::option::of((0..20_usize, act)));
        (nodes, prop::collection::vec(aspect, 1..6))
            .prop_map(|(nodes, aspects)| Plan { nodes, aspects })
    }

    struct Built {
        tree: Tree<Vec<String>>,
        paths: Vec<String>,
        stages: Vec<bool>,
        /// The node of every aspect.
        at: Vec<usize>,
    }

    /// Twelve priorities apart, so that some come to look only.
    fn spread(priority: u32) -> Priority {
        Priority::from(priority * 250)
    }

    fn build(plan: &Plan, acting: bool) -> Built {
        let mut paths = vec!["R".to_owned()];
        let mut stages = vec![false];
        for (number, (parent, stage)) in plan.nodes.iter().enumerate() {
            paths.push(format!("{}/n{number}", paths[parent % paths.len()]));
            stages.push(*stage);
        }
        let mut tree = super::tree(&paths);
        for (path, is_stage) in paths.iter().zip(&stages) {
            tree.add(Construct { is_stage: *is_stage, ..Construct::new(path) }).unwrap();
        }
        let path = |number: usize| paths[number % paths.len()].clone();
        let mut at = Vec::new();
        for (number, (node, priority, act)) in plan.aspects.iter().enumerate() {
            let script = act.as_ref().filter(|_| acting).map(|(on, act)| {
                let deed = match act {
                    Act::AddNode(parent) => Deed::AddNode(format!("{}/new{number}", path(*parent))),
                    Act::AddAspect(node, priority) => Deed::AddAspect(
                        format!("added{number}"),
                        path(*node),
                        Some(spread(*priority)),
                    ),
                };
                (path(*on), deed)
            });
            let aspect = Arc::new(Scripted { name: format!("a{number}"), script });
            Aspects::of(&mut tree, &path(*node)).unwrap().add(aspect, Some(spread(*priority)));
            at.push(node % paths.len());
        }
        Built { tree, paths, stages, at }
    }

    /// Whether aspects of one construct come to another.
    fn reaches(from: &str, to: &str, stages: &[&str]) -> bool {
        let within = |path: &str, of: &str| ConstructPath::from(path).is_within(of);
        within(to, from)
            && !stages
                .iter()
                .any(|stage| within(to, stage) && within(stage, from) && *stage != from)
    }

    proptest! {
        #[test]
        fn no_aspect_visits_a_construct_twice(plan in plans()) {
            for mode in [Mode::LookLast, Mode::PerConstruct, Mode::SinglePass] {
                let mut built = build(&plan, true);
                let mut trace = Vec::new();
                // It may end with an error: until then it holds as well.
                let _result = built.tree.invoke(&mut trace, mode);
                let mut once = trace.clone();
                once.sort();
                once.dedup();
                prop_assert_eq!(once.len(), trace.len(), "{:?}", mode);
            }
        }

        #[test]
        fn even_in_a_single_pass_every_initial_aspect_reaches_every_initial_construct(
            plan in plans(),
        ) {
            let mut built = build(&plan, true);
            let mut trace = Vec::new();
            built.tree.invoke(&mut trace, Mode::SinglePass).unwrap();
            let stages: Vec<&str> = built
                .paths
                .iter()
                .zip(&built.stages)
                .filter(|(_, is_stage)| **is_stage)
                .map(|(path, _)| path.as_str())
                .collect();
            for (number, at) in built.at.iter().enumerate() {
                for path in &built.paths {
                    let visit = format!("a{number}@{path}");
                    let expected = reaches(&built.paths[*at], path, &stages);
                    prop_assert_eq!(expected, trace.contains(&visit), "{}", visit);
                }
            }
        }

        #[test]
        fn every_aspect_reaches_every_construct_of_its_scope(plan in plans()) {
            for mode in [Mode::LookLast, Mode::PerConstruct] {
                let mut built = build(&plan, true);
                let mut trace = Vec::new();
                if built.tree.invoke(&mut trace, mode).is_err() {
                    continue;
                }
                let nodes: Vec<&Construct> = built.tree.constructs().collect();
                let stages: Vec<&str> =
                    nodes.iter().filter(|node| node.is_stage).map(|node| node.path.as_str()).collect();
                for application in &built.tree.applications {
                    let from = built.tree.nodes[application.node].construct.path.as_str();
                    for node in &nodes {
                        let visit = format!("{}@{}", application.aspect.name(), node.path);
                        let expected = reaches(from, node.path.as_str(), &stages);
                        prop_assert_eq!(expected, trace.contains(&visit), "{}", visit);
                    }
                }
            }
        }

        #[test]
        fn lower_priorities_go_first_and_inherited_aspects_before_local_ones(plan in plans()) {
            let mut built = build(&plan, false);
            let mut trace = Vec::new();
            built.tree.invoke(&mut trace, Mode::PerConstruct).unwrap();
            prop_assert!(!built.stages[0]);
            for (number, path) in built.paths.iter().enumerate() {
                let here: Vec<usize> = trace
                    .iter()
                    .filter_map(|visit| visit.split_once('@').filter(|(_, at)| at == path))
                    .map(|(name, _)| name[1..].parse().unwrap())
                    .collect();
                for pair in here.windows(2) {
                    let (first, second) = (plan.aspects[pair[0]].1, plan.aspects[pair[1]].1);
                    prop_assert!(first <= second);
                    if first == second {
                        prop_assert!(
                            built.at[pair[0]] != number || built.at[pair[1]] == number
                        );
                    }
                }
            }
        }

        #[test]
        fn everything_that_changes_is_done_before_anything_that_looks(plan in plans()) {
            let mut built = build(&plan, false);
            let mut trace = Vec::new();
            built.tree.invoke(&mut trace, Mode::LookLast).unwrap();
            let looks: Vec<bool> = trace
                .iter()
                .map(|visit| {
                    let number: usize = visit[1..visit.find('@').unwrap()].parse().unwrap();
                    spread(plan.aspects[number].1).is_read_only()
                })
                .collect();
            prop_assert!(looks.is_sorted());
        }
    }
}
