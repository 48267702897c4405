//! Random refactorings: whatever moves leave behind, the deployment as foretold never meets an
//! export that is in use, and every change set says what was foretold.

use std::collections::{BTreeMap, BTreeSet};

use cdkr::model::{Environment, Stack, Value};
use cdkr::plan::{ForecastRequest, Severity, after, body_digest};
use cdkr::template::{self, json};
use proptest::prop_oneof;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use crate::carry::{Runner, planned};
use crate::deployment::{App, now, send};
use crate::fixtures::{held_against, same_stacks};
use crate::generate::build::{AppRecipe, app};
use crate::generate::refactor::{Op, ops, refactor};
use crate::generate::render::render;
use crate::world::{World, world};

/// Nested templates get addresses in a bucket, and a stack without resources gets one.
fn deployable(mut stacks: Vec<Stack>) -> Vec<Stack> {
    fn addressed(value: &Value) -> Value {
        match value {
            Value::String(text) => match text.strip_prefix("https://assets/") {
                Some(key) => Value::from(format!("https://nested.s3.amazonaws.com/{key}").as_str()),
                None => value.clone(),
            },
            Value::Array(items) => Value::Array(items.iter().map(addressed).collect()),
            Value::Object(object) => Value::Object(
                object.iter().map(|(key, value)| (key.clone(), addressed(value))).collect(),
            ),
            other => other.clone(),
        }
    }
    for stack in &mut stacks {
        let value = addressed(&Value::Object(stack.template.sections.clone()));
        stack.template = template::check(value).unwrap();
        if let Some(Value::Object(resources)) = stack.template.sections.get_mut("Resources")
            && resources.is_empty()
        {
            let keep =
                template::function_call("Type", "AWS::CloudFormation::WaitConditionHandle".into());
            resources.insert("Keep".into(), keep);
        }
        // Parameters have the values that are given here, whoever deploys.
        if let Some(Value::Object(parameters)) = stack.template.sections.get_mut("Parameters") {
            for (name, declaration) in parameters.iter_mut() {
                if let (Some(value), Value::Object(declaration)) =
                    (stack.parameters.get(name), declaration)
                {
                    declaration.insert("Default".into(), Value::String(value.clone()));
                }
            }
        }
    }
    let mut nested: Vec<usize> =
        (0..stacks.len()).filter(|at| stacks[*at].parent.is_some()).collect();
    nested.sort_by_key(|at| std::cmp::Reverse(stacks[*at].name.as_str().matches('/').count()));
    for at in nested {
        // As in real apps another template has another address.
        let digest = body_digest(&text(&stacks[at]));
        let parent = stacks[at].parent.clone().unwrap();
        let maker = stacks.iter_mut().find(|other| other.name == parent.stack).unwrap();
        let Some(Value::Object(resources)) = maker.template.sections.get_mut("Resources") else {
            continue;
        };
        if let Some(Value::Object(body)) = resources.get_mut(parent.logical_id.as_str())
            && let Some(Value::Object(properties)) = body.get_mut("Properties")
        {
            let url = properties.get("TemplateURL").and_then(Value::as_str).unwrap();
            let url = format!("{url}-{}", &digest[..12]);
            properties.insert("TemplateURL".into(), Value::from(url.as_str()));
        }
    }
    stacks
}

fn text(stack: &Stack) -> String {
    json::to_template(&Value::Object(stack.template.sections.clone()))
}

fn upload_nested(world: &World, stacks: &[Stack]) {
    for stack in stacks {
        let Some(parent) = &stack.parent else { continue };
        let maker = stacks
            .iter()
            .find(|other| other.name == parent.stack)
            .and_then(|other| other.template.resource(parent.logical_id.as_str()))
            .unwrap();
        let url = maker.get("Properties").and_then(|all| all.get("TemplateURL")).unwrap();
        let key = url.as_str().unwrap().rsplit_once('/').unwrap().1;
        world.cloud.put_object("nested", key, text(stack).as_bytes()).unwrap();
    }
}

/// Deploys stacks in whatever order works, and returns it.
fn order(world: &World, stacks: &[Stack]) -> Option<Vec<String>> {
    upload_nested(world, stacks);
    let mut order = Vec::new();
    let mut open: Vec<&Stack> = stacks.iter().filter(|stack| stack.parent.is_none()).collect();
    while !open.is_empty() {
        let before = open.len();
        open.retain(|stack| {
            let name = stack.name.as_str();
            let done = send(world, &world.region(), name, &text(stack)).is_ok();
            if done {
                order.push(name.to_owned());
            } else if world.region().stack_exists(name).unwrap() {
                let delete = cdkr::local::DeleteStack {
                    name: name.to_owned(),
                    ..cdkr::local::DeleteStack::default()
                };
                world.region().delete_stack(&delete).unwrap();
            }
            !done
        });
        if open.len() == before {
            return None;
        }
    }
    Some(order)
}

#[derive(Default)]
struct Tally {
    told: BTreeMap<String, usize>,
    deployed: usize,
    failed: BTreeMap<String, usize>,
}

fn deployed((recipe, ops, reuse, moves): &(AppRecipe, Vec<Op>, bool, bool), tally: &mut Tally) {
    let environment = Environment::new("111111111111", "us-east-1");
    let before = recipe.build();
    let is = refactor(&before, ops, *reuse);
    let old = deployable(render(&before).stacks);
    let stacks = deployable(render(&is).stacks);
    let Some(order_of_new) = order(&world(), &stacks) else { return };
    let world = world();
    if order(&world, &old).is_none() {
        return;
    }
    upload_nested(&world, &stacks);
    let needs = order_of_new.iter().enumerate().map(|(at, name)| {
        (name.clone(), order_of_new[..at].iter().cloned().collect::<BTreeSet<String>>())
    });
    let app = App { environment: environment.clone(), needs: needs.collect(), stacks };
    let deployed = now(&world, &environment);
    let (comparison, plan) = planned(&deployed, &app.stacks);
    let mut current = deployed;
    if *moves && !plan.is_refused() {
        let foretold = after(&current, &plan);
        Runner::new(&world.cloud, &world.clock, &environment).run(&plan);
        current = now(&world, &environment);
        same_stacks(&foretold, &current);
    }
    let selected = app.roots();
    let request = ForecastRequest {
        comparison: Some(&comparison),
        staying: &plan.staying,
        ..app.request(&current, &selected)
    };
    match held_against((&world, "generated", &app), &request, &mut tally.told) {
        Ok(_) => tally.deployed += 1,
        Err(why) => {
            let forecast = cdkr::plan::forecast(&request);
            let is_foretold =
                forecast.findings.iter().any(|finding| finding.severity >= Severity::Warning);
            let is_use = why.contains("in use by") || why.contains("already exported");
            assert!(is_foretold || !is_use, "{why}\n{forecast:#?}");
            let kind = if is_use {
                "use"
            } else if why.contains("already exists") {
                "name"
            } else {
                &why
            };
            *tally.failed.entry(kind.to_owned()).or_insert(0) += 1;
        }
    }
}

#[test]
fn random_refactorings_are_deployed_as_foretold() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seed = number("PROPERTY_SEED").unwrap_or(1);
    let cases = number("PROPERTY_CASES").and_then(|n| u32::try_from(n).ok()).unwrap_or(60);
    let tally = std::cell::RefCell::new(Tally::default());
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_iters: 100,
        ..Config::default()
    };
    let recipe = (
        app(1),
        prop_oneof![ops(true), ops(false)],
        proptest::bool::weighted(0.3),
        proptest::bool::weighted(0.7),
    );
    let result = TestRunner::new(config).run(&recipe, |recipe| {
        deployed(&recipe, &mut tally.borrow_mut());
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}\nPROPERTY_SEED={seed} PROPERTY_CASES={cases} repeats this");
    }
    let tally = tally.into_inner();
    println!("{} deployed, failed: {:?}, {:?}", tally.deployed, tally.failed, tally.told);
    assert!(tally.deployed > 5);
}
