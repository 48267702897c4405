//! Plans of the small real apps, carried out by the embedded CloudFormation: every moved thing
//! stays what it is, nothing else changes, and all of it can be undone.

#![expect(clippy::unwrap_used, reason = "a broken fixture fails the test")]

#[path = "local/mod.rs"]
mod world;

mod carry;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use carry::{Runner, deployed_from, planned, same, sent, things};
use cdkr::assembly::{self, LoadOptions};
use cdkr::compare::Comparison;
use cdkr::local::{CreateStack, TemplateSource};
use cdkr::model::{DeployedEnvironment, Environment, Object, Stack, Value};
use cdkr::plan::{Move, Past, reverse};
use cdkr::template::json;
use world::{World, capabilities, world};

fn apps() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/apps");
    let only = std::env::var("APP").ok();
    let mut apps: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|app| only.as_ref().is_none_or(|only| app.ends_with(only)))
        .collect();
    apps.sort();
    apps
}

fn settled(environment: &Environment) -> Environment {
    if environment.is_agnostic() {
        Environment::new("111111111111", "us-east-1")
    } else {
        environment.clone()
    }
}

/// The stacks of an assembly by environment, nested ones included, in the order of deployment.
fn environments(directory: &Path) -> BTreeMap<Environment, Vec<Stack>> {
    let mut environments: BTreeMap<Environment, Vec<Stack>> = BTreeMap::new();
    let loaded = assembly::load(directory, &LoadOptions::default()).unwrap().stacks;
    let mut open: Vec<_> = loaded.iter().collect();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    while !open.is_empty() {
        let at = open
            .iter()
            .position(|stack| {
                let is_open = |id: &String| open.iter().any(|other| other.hierarchical_id == *id);
                !stack.dependencies.iter().any(is_open)
            })
            .unwrap();
        let stack = open.remove(at);
        done.insert(&stack.hierarchical_id);
        let stacks = environments.entry(settled(&stack.environment)).or_default();
        stacks.extend(stack.all().cloned());
    }
    environments
}

/// Puts file assets where templates look for them.
fn stage(world: &World, directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().unwrap().to_string_lossy().starts_with("assembly-") {
            stage(world, &path);
        }
        if !path.to_string_lossy().ends_with(".assets.json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let assets: serde_json::Value = serde_json::from_str(&text).unwrap();
        for asset in assets["files"].as_object().unwrap().values() {
            let source = directory.join(asset["source"]["path"].as_str().unwrap());
            let Ok(bytes) = std::fs::read(source) else { continue };
            for destination in asset["destinations"].as_object().unwrap().values() {
                let member = |key: &str| destination[key].as_str().unwrap();
                world.cloud.put_object(member("bucketName"), member("objectKey"), &bytes).unwrap();
            }
        }
    }
}

fn deploy(world: &World, environment: &Environment, stacks: &[Stack]) {
    let region = world.cloud.region(environment);
    for stack in stacks.iter().filter(|stack| stack.parent.is_none()) {
        let name = stack.name.as_str();
        let text = json::to_template(&Value::Object(stack.template.sections.clone()));
        world.cloud.put_object("templates", name, text.as_bytes()).unwrap();
        region
            .create_stack(&CreateStack {
                name: name.to_owned(),
                template: TemplateSource::url(&format!(
                    "https://templates.s3.amazonaws.com/{name}"
                )),
                capabilities: capabilities(),
                ..CreateStack::default()
            })
            .unwrap();
        let info = region.describe_stacks(Some(name), None).unwrap().items.remove(0).info;
        assert_eq!(info.status, "CREATE_COMPLETE", "{name}: {:?}", info.status_reason);
    }
}

/// All templates by the ARNs of their stacks.
fn templates(deployed: &DeployedEnvironment) -> BTreeMap<String, Value> {
    let value = |stack: &Stack| Value::Object(stack.template.sections.clone());
    deployed.stacks.iter().map(|stack| (stack.id.to_string(), value(&stack.stack))).collect()
}

/// Apps in which nothing else changes.
const PURE: [&str; 6] = ["wrap", "move", "rfc-0162", "vpc", "strong-references", "weak-references"];

/// After the moves, the templates differ from the local ones by names only, and by what cannot
/// move.
fn only_names_are_left(
    app: &str,
    (first, rest): (&Comparison, &Comparison),
    now: &DeployedEnvironment,
    local: &[Stack],
) {
    for mapping in &rest.mappings {
        assert!(mapping.blocked.is_some(), "{app}: {mapping:#?}");
    }
    // That a text is a name is known as long as the construct is seen to have another one.
    let mut names = BTreeSet::new();
    for mapping in &first.mappings {
        for change in mapping.changes.iter().filter(|change| change.name_only) {
            names.insert((mapping.destination.location.clone(), change.property.clone()));
        }
    }
    for changed in &rest.changed {
        for change in &changed.differences {
            // What stays behind cannot be depended on.
            let is_lost = change.property == "DependsOn" && !rest.mappings.is_empty();
            let name = (changed.place.location.clone(), change.property.clone());
            assert!(change.name_only || is_lost || names.contains(&name), "{app}: {change:?}");
        }
    }
    let added = rest.added.iter().filter(|one| one.excluded.is_none());
    assert_eq!(added.count(), 0, "{app}: {:#?}", rest.added);
    if !rest.mappings.is_empty() {
        return;
    }
    let empty = Value::Object(Object::new());
    for stack in local {
        let there = now.stacks.iter().find(|other| other.stack.name == stack.name).unwrap();
        for section in ["Outputs", "Mappings", "Conditions"] {
            let of = |stack: &Stack| stack.template.sections.get(section).cloned();
            let (expected, found) = (of(stack), of(&there.stack));
            let (expected, found) =
                (expected.unwrap_or_else(|| empty.clone()), found.unwrap_or_else(|| empty.clone()));
            same(&expected, &found, &format!("{app}: {section} of {}", stack.name));
        }
    }
}

#[test]
fn every_app_is_moved_without_touching_a_thing_and_moved_back() {
    let mut moved = 0;
    for app in apps() {
        let name = app.file_name().unwrap().to_string_lossy().into_owned();
        let (before, after) = (environments(&app.join("before")), environments(&app.join("after")));
        let world = world();
        stage(&world, &app.join("before"));
        for (environment, old) in &before {
            deploy(&world, environment, old);
        }
        for environment in before.keys() {
            println!("{name} in {environment}");
            let region = world.cloud.region(environment);
            let local = after.get(environment).cloned().unwrap_or_default();
            let deployed = deployed_from(&region, environment);
            let was = things(&region, &deployed);
            let (first, plan) = planned(&deployed, &local);
            let mut runner = Runner::new(&world.cloud, &world.clock, environment);
            runner.run(&plan);
            let now = deployed_from(&region, environment);
            let is = things(&region, &now);
            let marks = |things: &carry::Things| -> Vec<_> {
                things.iter().map(|(key, (a, b, _))| (key.clone(), *a, *b)).collect()
            };
            assert_eq!(marks(&was), marks(&is), "{name}");
            let (rest, again) = planned(&now, &local);
            assert_eq!(again.steps, [], "{name}: {again:#?}");
            if PURE.contains(&name.as_str()) {
                only_names_are_left(&name, (&first, &rest), &now, &local);
            }
            let moves: Vec<Move> = plan.moves().cloned().collect();
            moved += moves.len();
            let stacks: Vec<Stack> =
                deployed.stacks.iter().map(|stack| stack.stack.clone()).collect();
            let back = reverse(
                &now,
                &moves,
                Past { before: &stacks, sent: &sent(&plan), retained: &plan.retained() },
            );
            runner.run(&back);
            let end = deployed_from(&region, environment);
            assert_eq!(marks(&was), marks(&things(&region, &end)), "{name}");
            let (expected, found) = (templates(&deployed), templates(&end));
            for (id, template) in &expected {
                same(template, &found[id], &format!("{name}: {id}"));
            }
        }
    }
    assert!(moved > 100 || std::env::var("APP").is_ok(), "{moved}");
}
