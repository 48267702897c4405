//! Plans of random refactorings with known truth, carried out by the embedded CloudFormation.
//!
//! `PROPERTY_SEED` and `PROPERTY_CASES` repeat a run, as in `tests/properties.rs`. The recipe of
//! a failure is printed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::print_stdout, reason = "the seed and the tally of a run are to be seen")]

mod carry;
mod generate;
#[path = "local/mod.rs"]
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use carry::{Runner, Things, deployed_from, planned, same, sent, things};
use cdkr::aws::{Access, Aws, Endpoint, Identity, Roles};
use cdkr::event::Silent;
use cdkr::local::server::{self, ServeOptions};
use cdkr::local::{
    Ambient, Cloud, CreateStack, Delays, DeleteStack, Options, TemplateSource, TemplateStage,
    UpdateStack,
};
use cdkr::model::{DeployedEnvironment, Environment, Object, Stack, Value};
use cdkr::plan::{Move, Past, reverse};
use cdkr::run::{self, RunOptions};
use cdkr::template::{self, json};
use generate::build::{AppRecipe, ResourceRecipe, app};
use generate::model::{App, Prop};
use generate::refactor::{Op, ops, refactor};
use generate::render::render;
use proptest::prop_oneof;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use world::{World, capabilities, world};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Nested templates get addresses in a bucket.
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

fn stacks(mut stacks: Vec<Stack>) -> Vec<Stack> {
    for stack in &mut stacks {
        let value = addressed(&Value::Object(stack.template.sections.clone()));
        stack.template = template::check(value).unwrap();
        // A nested stack may have nothing in it yet, which nobody can deploy.
        if let Some(Value::Object(resources)) = stack.template.sections.get_mut("Resources")
            && resources.is_empty()
        {
            let keep =
                template::function_call("Type", "AWS::CloudFormation::WaitConditionHandle".into());
            resources.insert("Keep".into(), keep);
        }
    }
    stacks
}

fn text(stack: &Stack) -> String {
    json::to_template(&Value::Object(stack.template.sections.clone()))
}

/// Puts the templates of nested stacks where those that make them look for them.
fn stage(world: &World, stacks: &[Stack]) {
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

/// The values of the parameters of a stack.
fn parameters(stack: &Stack) -> Vec<cdkr::local::ParameterInput> {
    let declared = stack.template.section("Parameters").into_iter().flat_map(Object::iter);
    declared
        .filter_map(|(name, _)| Some((name, stack.parameters.get(name)?)))
        .map(|(name, value)| cdkr::local::ParameterInput {
            key: name.to_string(),
            value: Some(value.to_string()),
            use_previous: false,
        })
        .collect()
}

/// Creates a stack; `false` if that does not work.
fn deploy_one(world: &World, stack: &Stack) -> bool {
    let name = stack.name.as_str();
    world.cloud.put_object("templates", name, text(stack).as_bytes()).unwrap();
    let url = format!("https://templates.s3.amazonaws.com/{name}");
    let created = world.region().create_stack(&CreateStack {
        name: name.to_owned(),
        template: TemplateSource::url(&url),
        capabilities: capabilities(),
        parameters: parameters(stack),
        ..CreateStack::default()
    });
    let done = created.is_ok() && world.status(name) == "CREATE_COMPLETE";
    if !done && created.is_ok() {
        let delete = cdkr::local::DeleteStack {
            name: name.to_owned(),
            ..cdkr::local::DeleteStack::default()
        };
        world.region().delete_stack(&delete).unwrap();
    }
    done
}

/// Deploys stacks in whatever order works; `false` if none does.
fn deploy(world: &World, stacks: &[Stack]) -> bool {
    stage(world, stacks);
    let mut open: Vec<&Stack> = stacks.iter().filter(|stack| stack.parent.is_none()).collect();
    while !open.is_empty() {
        let before = open.len();
        open.retain(|stack| !deploy_one(world, stack));
        if open.len() == before {
            return false;
        }
    }
    true
}

/// Updates a stack; `false` if that does not work.
fn update_one(world: &World, stack: &Stack) -> bool {
    let name = stack.name.as_str();
    world.cloud.put_object("templates", name, text(stack).as_bytes()).unwrap();
    let updated = world.region().update_stack(&UpdateStack {
        name: name.to_owned(),
        template: TemplateSource::url(&format!("https://templates.s3.amazonaws.com/{name}")),
        capabilities: capabilities(),
        parameters: parameters(stack),
        ..UpdateStack::default()
    });
    world.clock.advance(10_000);
    match updated {
        Ok(_) => world.status(name) == "UPDATE_COMPLETE",
        Err(error) => error.message == "No updates are to be performed.",
    }
}

/// A stack with the exports that it has, as far as what they publish is still there: others may
/// import them until they are updated.
fn with_exports(world: &World, stack: &Stack) -> Stack {
    let region = world.region();
    let body =
        region.get_template(Some(stack.name.as_str()), None, TemplateStage::Original).unwrap();
    let now = template::parse(body.as_bytes()).unwrap();
    let mut merged = stack.clone();
    let mut outputs = stack.template.section("Outputs").cloned().unwrap_or_default();
    for (key, output) in now.section("Outputs").into_iter().flat_map(Object::iter) {
        let target = output.get("Value").and_then(template::as_reference);
        let is_there = target.is_some_and(|(id, _)| stack.template.resource(id).is_some());
        if is_there && !outputs.contains_key(key) {
            outputs.insert(key.clone(), output.clone());
        }
    }
    merged.template.sections.insert("Outputs".into(), Value::Object(outputs));
    merged
}

/// Updates or creates stacks in whatever order works, the last ones first or the first ones, and
/// takes exports away in the end; `false` if no order works.
fn redeploy(world: &World, stacks: &[Stack], last_first: bool) -> bool {
    stage(world, stacks);
    let mut open: Vec<&Stack> = stacks.iter().filter(|stack| stack.parent.is_none()).collect();
    if last_first {
        open.reverse();
    }
    let all = open.clone();
    let exists = |stack: &Stack| world.region().stack_exists(stack.name.as_str()).unwrap();
    while !open.is_empty() {
        let before = open.len();
        open.retain(|stack| {
            if exists(stack) {
                !update_one(world, stack) && !update_one(world, &with_exports(world, stack))
            } else {
                !deploy_one(world, stack)
            }
        });
        if open.len() == before {
            return false;
        }
    }
    all.into_iter().rev().all(|stack| update_one(world, stack))
}

/// The inline policies of stacks: which of them exist.
fn policies(world: &World, stacks: &DeployedEnvironment) -> BTreeMap<String, bool> {
    let kind = "AWS::IAM::Policy";
    let mut found = BTreeMap::new();
    for stack in &stacks.stacks {
        for (id, resource) in
            stack.resources.iter().filter(|(_, one)| one.resource_type.as_str() == kind)
        {
            let physical = resource.physical_id.as_deref().unwrap();
            let exists = world.region().physical_resource(kind, physical).unwrap().is_some();
            found.insert(format!("{}.{id} {physical}", stack.stack.name), exists);
        }
    }
    found
}

/// The app with a role more, of which two inline policies are and all others, by names of their
/// own: wherever they go, they are the same policies.
fn with_policies(recipe: &AppRecipe) -> App {
    let mut recipe = recipe.clone();
    let plain = |kind: u8, home: u8| ResourceRecipe {
        kind,
        home,
        parts: Vec::new(),
        depends_on: Vec::new(),
        condition: None,
        twin_of: None,
    };
    // A role, and policies.
    recipe.resources.insert(0, plain(2, 0));
    recipe.resources.extend([plain(3, 0), plain(3, 1)]);
    let mut app = recipe.build();
    for (key, resource) in &mut app.resources {
        if resource.kind == "AWS::IAM::Policy" {
            resource.properties.insert("PolicyName".into(), Prop::Text(format!("policy-{key}")));
        }
    }
    app
}

/// After the moves the app is deployed, and whatever it does not have any more is deleted: no
/// inline policy that the app has is lost by that.
fn deployed_afterwards((app, ops, reuse): &(AppRecipe, Vec<Op>, bool), tally: &mut Tally) {
    let environment = Environment::new("111111111111", "us-east-1");
    let before = with_policies(app);
    let after = refactor(&before, ops, *reuse);
    let (old, local) = (stacks(render(&before).stacks), stacks(render(&after).stacks));
    let world = world();
    if !deploy(&world, &old) {
        tally.not_deployable += 1;
        return;
    }
    let deployed = deployed_from(&world.region(), &environment);
    // AWS has no stack all of whose resources are off.
    if deployed.stacks.iter().any(|stack| stack.resources.is_empty()) {
        tally.not_deployable += 1;
        return;
    }
    let (_, plan) = planned(&deployed, &local);
    tally.cases += 1;
    if plan.is_refused() {
        tally.refused += 1;
        return;
    }
    Runner::new(&world.cloud, &world.clock, &environment).run(&plan);
    if !redeploy(&world, &local, *reuse) {
        tally.not_deployable += 1;
        return;
    }
    tally.moved += plan.moves().count();
    tally.batches += plan.retained().len();
    let is_local = |name: &str| local.iter().any(|stack| stack.name.as_str() == name);
    for stack in &deployed_from(&world.region(), &environment).stacks {
        let name = stack.stack.name.as_str();
        if stack.stack.parent.is_none() && !is_local(name) {
            let delete = DeleteStack { name: name.to_owned(), ..DeleteStack::default() };
            world.region().delete_stack(&delete).unwrap();
            world.clock.advance(10_000);
        }
    }
    let end = policies(&world, &deployed_from(&world.region(), &environment));
    let lost: Vec<&String> = end.iter().filter(|(_, exists)| !**exists).map(|(id, _)| id).collect();
    assert!(lost.is_empty(), "{lost:?}\n{:#?}", plan.staying);
}

fn marks(things: &Things) -> Vec<((String, String), u64, u64)> {
    things.iter().map(|(key, (made, updated, _))| (key.clone(), *made, *updated)).collect()
}

/// All ways to write an attribute, or the name of an export, are one.
fn normal(value: &Value) -> Value {
    let import =
        value.as_object().and_then(Object::single).filter(|(key, _)| *key == "Fn::ImportValue");
    if let Some((_, name)) = import {
        return template::function_call("Fn::ImportValue", plain(name));
    }
    if let Some(Value::Object(arguments)) = value.get("Fn::GetStackOutput") {
        let mut arguments = arguments.clone();
        arguments.remove("Region");
        return template::function_call("Fn::GetStackOutput", Value::Object(arguments));
    }
    match value {
        Value::Array(items) => Value::Array(items.iter().map(normal).collect()),
        Value::Object(object) => match template::as_reference(value) {
            Some((name, attribute)) => template::reference(name, attribute),
            None => Value::Object(
                object.iter().map(|(key, value)| (key.clone(), normal(value))).collect::<Object>(),
            ),
        },
        other => other.clone(),
    }
}

/// `Fn::Sub` and `Fn::Join` of nothing but texts.
fn plain(name: &Value) -> Value {
    let joined = name.get("Fn::Join").and_then(Value::as_array).map(|parts| {
        let texts = parts[1].as_array().unwrap().iter().map(|part| part.as_str().unwrap());
        Value::from(texts.collect::<Vec<_>>().join(parts[0].as_str().unwrap()).as_str())
    });
    joined.or_else(|| name.get("Fn::Sub").cloned()).unwrap_or_else(|| name.clone())
}

#[derive(Default)]
struct Tally {
    cases: usize,
    moved: usize,
    refused: usize,
    not_deployable: usize,
    batches: usize,
}

fn carried_out((app, ops, reuse): &(AppRecipe, Vec<Op>, bool), tally: &mut Tally) {
    let environment = Environment::new("111111111111", "us-east-1");
    let before = app.build();
    let after = refactor(&before, ops, *reuse);
    let (old, local) = (stacks(render(&before).stacks), stacks(render(&after).stacks));
    let world = world();
    if !deploy(&world, &old) {
        tally.not_deployable += 1;
        return;
    }
    let deployed = deployed_from(&world.region(), &environment);
    let was = things(&world.region(), &deployed);
    let (_, plan) = planned(&deployed, &local);
    tally.cases += 1;
    if plan.is_refused() {
        tally.refused += 1;
        return;
    }
    let mut runner = Runner::new(&world.cloud, &world.clock, &environment);
    runner.run(&plan);
    let now = deployed_from(&world.region(), &environment);
    assert_eq!(marks(&was), marks(&things(&world.region(), &now)));
    let (_, again) = planned(&now, &local);
    // With the moved ones out of the way a comparison may see more than before, but never
    // something else in what has moved.
    let made: Vec<Move> = plan.moves().cloned().collect();
    let arrived: BTreeSet<String> =
        plan.net_moves().into_iter().map(|each| each.destination).collect();
    assert!(!again.moves().any(|each| arrived.contains(&each.source)), "{:#?}", again.net_moves());
    tally.moved += made.len();
    tally.batches += plan.steps.len();
    let before: Vec<Stack> = deployed.stacks.iter().map(|stack| stack.stack.clone()).collect();
    let back = reverse(
        &now,
        &made,
        Past { before: &before, sent: &sent(&plan), retained: &plan.retained() },
    );
    runner.run(&back);
    let end = deployed_from(&world.region(), &environment);
    assert_eq!(marks(&was), marks(&things(&world.region(), &end)));
    let of = |stacks: &[cdkr::model::DeployedStack]| -> BTreeMap<String, Value> {
        let value = |stack: &Stack| normal(&Value::Object(stack.template.sections.clone()));
        stacks.iter().map(|stack| (stack.id.to_string(), value(&stack.stack))).collect()
    };
    let found = of(&end.stacks);
    for (id, expected) in of(&deployed.stacks) {
        // What a stack was given beforehand stays: a refactor cannot take it away.
        for (section, expected) in expected.as_object().unwrap().iter() {
            let found = found[&id].get(section).cloned().unwrap_or_default();
            if ["Resources", "Outputs"].contains(&section.as_str()) {
                same(expected, &found, &format!("{section} of {id}"));
            } else {
                let all = expected.as_object().unwrap().iter();
                all.for_each(|(name, value)| assert_eq!(found.get(name), Some(value)));
            }
        }
    }
}

/// The text of every template, by ARN.
fn bodies(deployed: &DeployedEnvironment) -> BTreeMap<String, String> {
    deployed.stacks.iter().map(|stack| (stack.id.to_string(), stack.body.to_string())).collect()
}

/// The same by the room `run`, over the wire, and undone with the templates from before.
fn carried_out_over_the_wire((app, ops, reuse): &(AppRecipe, Vec<Op>, bool), tally: &mut Tally) {
    let environment = Environment::new("111111111111", "us-east-1");
    let before = app.build();
    let after = refactor(&before, ops, *reuse);
    let (old, local) = (stacks(render(&before).stacks), stacks(render(&after).stacks));
    let world = world();
    if !deploy(&world, &old) {
        tally.not_deployable += 1;
        return;
    }
    let deployed = deployed_from(&world.region(), &environment);
    let was = things(&world.region(), &deployed);
    let (_, plan) = planned(&deployed, &local);
    tally.cases += 1;
    if plan.is_refused() {
        tally.refused += 1;
        return;
    }
    // The clock of the world stands still; this one goes on.
    let delays = Delays { refactor_settle: 5, ..Delays::default() };
    let options = Options { delays, ..Options::default() };
    let cloud = Cloud::open(world.cloud.root(), Ambient::system(), options).unwrap();
    let server = server::start(cloud, &ServeOptions::default()).unwrap();
    let region = server.cloud().region(&environment);
    let endpoint = Endpoint {
        url: server.url().to_owned(),
        identity: Identity::Anyone("111111111111".to_owned()),
    };
    let directory = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let aws = Aws::connect(Access { endpoint: Some(endpoint), ..Access::default() }).await;
        let options = RunOptions { interval: Duration::from_millis(3), ..RunOptions::default() };
        let runner = run::Runner::new(&aws, Roles::default(), &Silent, options);
        let done = Box::pin(runner.run(&plan, directory.path())).await;
        let done = done.unwrap_or_else(|error| panic!("{error}: {plan:#?}"));
        let now = deployed_from(&region, &environment);
        assert_eq!(marks(&was), marks(&things(&region, &now)));
        if let Some(journal) = done.journal {
            Box::pin(runner.revert(&journal)).await.unwrap();
        }
    });
    let end = deployed_from(&region, &environment);
    assert_eq!(was, things(&region, &end), "every thing is in its place again");
    assert_eq!(bodies(&deployed), bodies(&end), "every template is as it was, byte for byte");
    tally.moved += plan.moves().count();
    tally.batches += plan.steps.len();
}

#[test]
fn every_random_refactoring_is_carried_out_and_undone() {
    property(40, carried_out);
}

#[test]
fn no_inline_policy_is_lost_by_the_deployment_after_a_random_refactoring() {
    property(60, deployed_afterwards);
}

#[test]
fn every_random_refactoring_is_carried_out_over_the_wire_and_undone_byte_for_byte() {
    property(20, carried_out_over_the_wire);
}

fn property(cases: u32, check: fn(&(AppRecipe, Vec<Op>, bool), &mut Tally)) {
    let seed = number("PROPERTY_SEED").unwrap_or(1);
    let cases =
        number("PROPERTY_CASES").and_then(|cases| u32::try_from(cases).ok()).unwrap_or(cases);
    println!("PROPERTY_SEED={seed} PROPERTY_CASES={cases}");
    let tally = std::cell::RefCell::new(Tally::default());
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_iters: number("PROPERTY_SHRINK")
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(200),
        ..Config::default()
    };
    let recipe = (app(1), prop_oneof![ops(true), ops(false)], proptest::bool::weighted(0.3));
    let result = TestRunner::new(config).run(&recipe, |recipe| {
        check(&recipe, &mut tally.borrow_mut());
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}\nPROPERTY_SEED={seed} PROPERTY_CASES={cases} repeats this");
    }
    let tally = tally.into_inner();
    println!(
        "{} cases, {} moves in {} steps, {} refused, {} could not be deployed",
        tally.cases, tally.moved, tally.batches, tally.refused, tally.not_deployable
    );
    assert!(tally.moved > 0);
}
