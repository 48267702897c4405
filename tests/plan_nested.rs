//! Plans in which resources that make nested stacks move, carried out by the embedded
//! CloudFormation and undone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod carry;
#[path = "local/mod.rs"]
mod world;

use std::collections::BTreeSet;

use carry::{Runner, deployed_from, planned, same, sent, things};
use cdkr::model::{DeployedEnvironment, Environment, Location, Stack, Value};
use cdkr::plan::{Action, Move, Past, Plan, reverse};
use cdkr::template;
use world::{World, world};

const NESTED: &str = r#"{"Resources":{"Q":{"Type":"AWS::SQS::Queue","Properties":{"DelaySeconds":7}}},
    "Outputs":{"Name":{"Value":{"Fn::GetAtt":["Q","QueueName"]}}}}"#;
const MAKER: &str = r#""N":{"Type":"AWS::CloudFormation::Stack","Properties":
    {"TemplateURL":"https://templates.s3.amazonaws.com/nested"}}"#;

fn topic(id: &str, name: &str) -> String {
    format!(r#""{id}":{{"Type":"AWS::SNS::Topic","Properties":{{"DisplayName":{name}}}}}"#)
}

fn resources(bodies: &[&str]) -> String {
    format!(r#"{{"Resources":{{{}}}}}"#, bodies.join(","))
}

/// With an output that exports what the nested stack hands out.
fn exporting(name: &str, bodies: &[&str]) -> String {
    let output = format!(
        r#""Out":{{"Value":{{"Fn::GetAtt":["N","Outputs.Name"]}},"Export":{{"Name":"{name}"}}}}"#
    );
    format!(r#"{{"Resources":{{{}}},"Outputs":{{{output}}}}}"#, bodies.join(","))
}

fn imported(name: &str) -> String {
    topic("User", &format!(r#"{{"Fn::ImportValue":"{name}"}}"#))
}

struct Case {
    world: World,
    deployed: DeployedEnvironment,
    plan: Plan,
}

impl Case {
    /// `home` is the stack in which the nested one is to be.
    fn new(deployed: &[(&str, &str)], local: &[(&str, &str)], home: &str) -> Self {
        let world = world();
        world.cloud.put_object("templates", "nested", NESTED.as_bytes()).unwrap();
        for (name, text) in deployed {
            world.deploy(name, text);
        }
        let stack =
            |name: &str, text: &str| Stack::new(name, template::parse(text.as_bytes()).unwrap());
        let mut stacks: Vec<Stack> = local.iter().map(|(name, text)| stack(name, text)).collect();
        let mut nested = stack(&format!("{home}/N"), NESTED);
        nested.parent = Some(Location::new(home, "N"));
        stacks.push(nested);
        let environment = Environment::new("111111111111", "us-east-1");
        let deployed = deployed_from(&world.region(), &environment);
        let (_, plan) = planned(&deployed, &stacks);
        Self { world, deployed, plan }
    }

    fn stacks(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        for step in &self.plan.steps {
            let Action::Refactor(batch) = &step.action else { continue };
            names.extend(batch.stacks.iter().map(|stack| stack.name.as_str()));
        }
        names
    }

    /// Carries the plan out and undoes it: nothing is touched, and in the end every template is
    /// what it was.
    fn run_and_undo(&self) -> DeployedEnvironment {
        let region = self.world.region();
        let environment = &self.deployed.environment;
        let marks = |deployed: &DeployedEnvironment| -> Vec<_> {
            let things = things(&region, deployed);
            things.into_iter().map(|(key, (made, updated, _))| (key, made, updated)).collect()
        };
        let was = marks(&self.deployed);
        let mut runner = Runner::new(&self.world.cloud, &self.world.clock, environment);
        runner.run(&self.plan);
        let now = deployed_from(&region, environment);
        assert_eq!(was, marks(&now));
        let before: Vec<Stack> =
            self.deployed.stacks.iter().map(|stack| stack.stack.clone()).collect();
        let moves: Vec<Move> = self.plan.moves().cloned().collect();
        runner.run(&reverse(
            &now,
            &moves,
            Past { before: &before, sent: &sent(&self.plan), retained: &self.plan.retained() },
        ));
        let end = deployed_from(&region, environment);
        assert_eq!(was, marks(&end));
        for stack in &self.deployed.stacks {
            let found = end.stacks.iter().find(|other| other.id == stack.id).unwrap();
            let value = |stack: &Stack| Value::Object(stack.template.sections.clone());
            same(&value(&stack.stack), &value(&found.stack), stack.stack.name.as_str());
        }
        now
    }
}

/// What the property of the resource `User` of a stack is.
fn used(now: &DeployedEnvironment, stack: &str) -> Value {
    let found = now.stacks.iter().find(|other| other.stack.name.as_str() == stack).unwrap();
    let body = found.stack.template.resource("User").unwrap();
    body.get("Properties").unwrap().get("DisplayName").unwrap().clone()
}

fn value(text: &str) -> Value {
    let template = template::parse(format!(r#"{{"Resources":{{}},"Metadata":{text}}}"#).as_bytes());
    template.unwrap().sections.get("Metadata").unwrap().clone()
}

#[test]
fn who_imports_what_a_nested_stack_hands_out_imports_it_from_its_new_parent() {
    let (a, b) = (topic("Keep", "\"a\""), topic("Keep", "\"b\""));
    let case = Case::new(
        &[
            ("A", &exporting("A:n", &[&a, MAKER])),
            ("B", &resources(&[&b])),
            ("C", &resources(&[&imported("A:n")])),
        ],
        &[
            ("A", &resources(&[&a])),
            ("B", &exporting("B:n", &[&b, MAKER])),
            ("C", &resources(&[&imported("B:n")])),
        ],
        "B",
    );
    assert_eq!(case.stacks(), BTreeSet::from(["A", "B", "C"]), "not the nested one");
    let now = case.run_and_undo();
    assert_eq!(used(&now, "C"), value(r#"{"Fn::ImportValue":"B:n"}"#));
}

#[test]
fn an_import_of_what_a_nested_stack_hands_out_becomes_an_attribute_when_both_meet() {
    let (a, b) = (topic("Keep", "\"a\""), topic("Keep", "\"b\""));
    let local = topic("User", r#"{"Fn::GetAtt":["N","Outputs.Name"]}"#);
    let case = Case::new(
        &[("A", &exporting("A:n", &[&a, MAKER])), ("B", &resources(&[&b, &imported("A:n")]))],
        &[("A", &resources(&[&a])), ("B", &resources(&[&b, &local, MAKER]))],
        "B",
    );
    let now = case.run_and_undo();
    assert_eq!(used(&now, "B"), value(r#"{"Fn::GetAtt":["N","Outputs.Name"]}"#));
}

#[test]
fn an_attribute_of_a_nested_stack_that_moved_away_is_imported_until_that_comes_back() {
    let (a, b) = (topic("Keep", "\"a\""), topic("Keep", "\"b\""));
    let local = topic("User", r#"{"Fn::GetAtt":["N","Outputs.Name"]}"#);
    let case = Case::new(
        &[("A", &resources(&[&a, &local, MAKER])), ("B", &resources(&[&b]))],
        &[("A", &resources(&[&a, &imported("B:n")])), ("B", &exporting("B:n", &[&b, MAKER]))],
        "B",
    );
    let now = case.run_and_undo();
    assert_eq!(used(&now, "A"), value(r#"{"Fn::ImportValue":"B:n"}"#));
}
