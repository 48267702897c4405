//! All fixture pairs, deployed before → after without moves: the forecast is what happens.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cdkr::assembly::{self, AssemblyStack, LoadOptions};
use cdkr::local::{ChangeSetType, CreateChangeSet, Region, TemplateSource, UpdateStack};
use cdkr::model::{DeployedEnvironment, DeployedStack, Environment, Export, Object, Stack, Value};
use cdkr::plan::{
    Effect, EffectKind, Forecast, ForecastRequest, Severity, StackForecast, after, forecast,
};
use cdkr::template::json;
use serde_json::Value as Json;

use crate::carry::{Runner, planned};
use crate::deployment::{App, deploy, now, previous};
use crate::world::{World, capabilities, world};

fn apps() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/apps");
    let mut apps: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    apps.sort();
    apps
}

/// Puts the file assets of an assembly where its templates look for them.
fn stage(world: &World, directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let file = entry.unwrap().path();
        if file.is_dir() && file.join("manifest.json").exists() {
            stage(world, &file);
        }
        if !file.to_str().unwrap().ends_with(".assets.json") {
            continue;
        }
        let assets: Json = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
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

/// Parameters have their defaults.
fn with_defaults(mut stack: Stack) -> Stack {
    for (name, declaration) in
        stack.template.section("Parameters").into_iter().flat_map(Object::iter)
    {
        if let Some(value) = declaration.get("Default").and_then(|value| value.as_str()) {
            stack.parameters.insert(name.clone(), value.into());
        }
    }
    stack
}

/// The stacks of an assembly by environment.
fn load(directory: &Path) -> BTreeMap<Environment, App> {
    let all = assembly::load(directory, &LoadOptions::default()).unwrap().stacks;
    let by_id: BTreeMap<&str, &AssemblyStack> =
        all.iter().map(|stack| (&*stack.hierarchical_id, stack)).collect();
    let mut found: BTreeMap<Environment, App> = BTreeMap::new();
    for stack in &all {
        let environment = if stack.environment.is_agnostic() {
            Environment::new("111111111111", "us-east-1")
        } else {
            stack.environment.clone()
        };
        let app = found.entry(environment.clone()).or_insert_with(|| App {
            environment,
            stacks: Vec::new(),
            needs: BTreeMap::new(),
        });
        let mut open: Vec<&str> = stack.dependencies.iter().map(String::as_str).collect();
        let mut needs = BTreeSet::new();
        while let Some(id) = open.pop() {
            let Some(other) = by_id.get(id) else { continue };
            if other.environment == stack.environment && needs.insert(other.stack.name.to_string())
            {
                open.extend(other.dependencies.iter().map(String::as_str));
            }
        }
        app.needs.insert(stack.stack.name.to_string(), needs);
        app.stacks.extend(stack.all().cloned().map(with_defaults));
    }
    found
}

/// What a change set says, in the words of a forecast. What changes nothing but metadata is left
/// out.
fn change_set(
    region: &Region<'_>,
    name: &str,
    text: &str,
) -> Result<BTreeMap<String, &'static str>, String> {
    let exists = region.stack_exists(name).unwrap();
    let set = region
        .create_change_set(&CreateChangeSet {
            name: "forecast".to_owned(),
            kind: if exists { ChangeSetType::Update } else { ChangeSetType::Create },
            update: UpdateStack {
                name: name.to_owned(),
                template: TemplateSource::url(&format!(
                    "https://templates.s3.amazonaws.com/{name}-change"
                )),
                parameters: if exists { previous(region, name, text) } else { Vec::new() },
                capabilities: capabilities(),
                ..UpdateStack::default()
            },
            description: None,
        })
        .unwrap();
    let detail = region.describe_change_set(None, &set.id, None).unwrap();
    let changes = detail.info.changes.into_iter().filter_map(|change| {
        let what = match (change.action.as_str(), change.replacement.as_deref()) {
            ("Add", _) => "add",
            ("Remove", _) if change.policy_action.as_deref() == Some("Retain") => "retain",
            ("Remove", _) => "remove",
            (_, Some("True")) => "replace",
            (_, Some("Conditional")) => "perhaps replace",
            _ if change.scope == ["Metadata"] => return None,
            _ => "update",
        };
        Some((change.logical_id, what))
    });
    let changes = changes.collect();
    let reason = detail.info.status_reason.unwrap_or_default();
    let is_refused = detail.info.status == "FAILED" && !reason.contains("didn't contain changes");
    region.delete_change_set(None, &set.id).unwrap();
    if !exists {
        let delete = cdkr::local::DeleteStack {
            name: name.to_owned(),
            ..cdkr::local::DeleteStack::default()
        };
        region.delete_stack(&delete).unwrap();
    }
    if is_refused { Err(reason) } else { Ok(changes) }
}

fn foretold(effect: &Effect) -> &'static str {
    match effect.kind {
        EffectKind::Add => "add",
        EffectKind::Update { .. } => "update",
        EffectKind::Replace { certain: true, .. } => "replace",
        EffectKind::Replace { certain: false, .. } => "perhaps replace",
        EffectKind::Remove => "remove",
        EffectKind::Retain => "retain",
    }
}

/// Every resource: where it is, its physical ID and how often it was updated.
fn resources(
    world: &World,
    now: &DeployedEnvironment,
) -> BTreeMap<(String, String), (String, u64)> {
    let region = world.cloud.region(&now.environment);
    let mut found = BTreeMap::new();
    for stack in &now.stacks {
        for (id, resource) in &stack.resources {
            let physical = resource.physical_id.clone().unwrap().to_string();
            let thing =
                region.physical_resource(resource.resource_type.as_str(), &physical).unwrap();
            let updates = thing.map_or(0, |thing| thing.updates * 1_000_000 + thing.generation);
            found.insert((stack.stack.name.to_string(), id.to_string()), (physical, updates));
        }
    }
    found
}

type Told = BTreeMap<String, usize>;

/// Deploys an app as is foretold, and holds every change set against that.
pub(crate) fn held_against(
    (world, name, app): (&World, &str, &App),
    request: &ForecastRequest<'_>,
    told: &mut Told,
) -> Result<Forecast, String> {
    let was = resources(world, request.now);
    let forecast = forecast(request);
    let region = world.cloud.region(&app.environment);
    let mut check = |stack: &StackForecast, text: &str| {
        let key = format!("{}-change", stack.name);
        world.cloud.put_object("templates", &key, text.as_bytes()).unwrap();
        let Ok(mut said) = change_set(&region, &stack.name, text) else {
            *told.entry("refused".to_owned()).or_insert(0) += 1;
            return;
        };
        let own: Vec<&Effect> =
            stack.effects.iter().filter(|effect| effect.stack == stack.name).collect();
        let is_chained = own.iter().any(|effect| {
            matches!(effect.kind, EffectKind::Replace { certain: false, cause: Some(_), .. })
        });
        for effect in &own {
            *told.entry(foretold(effect).to_owned()).or_insert(0) += 1;
            // A change set only follows what is certain, not the second link of a chain.
            let id = &effect.logical_id;
            let link = said.get(id).copied();
            match &effect.kind {
                EffectKind::Replace { certain: false, cause: Some(_), .. } => {
                    assert!(
                        matches!(link, None | Some("perhaps replace" | "update")),
                        "{name}.{id}"
                    );
                    said.insert(id.clone(), "perhaps replace");
                }
                EffectKind::Update { .. } if link.is_none() && is_chained => {
                    said.insert(id.clone(), "update");
                }
                _ => {}
            }
        }
        // A change set does not know what a nested stack will hand over: the forecast does.
        let body: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        said.retain(|id, what| {
            let is_foretold = own.iter().any(|effect| effect.logical_id == *id);
            let reads_nested = body["Resources"][id].to_string().contains("\"Outputs.");
            is_foretold || *what != "update" || !reads_nested
        });
        let own: BTreeMap<String, &str> =
            own.iter().map(|effect| (effect.logical_id.clone(), foretold(effect))).collect();
        assert_eq!(own, said, "{name}, {}: {:#?}", stack.name, stack.effects);
    };
    deploy(world, app, &forecast, &mut check)?;
    let held = forecast.stacks.iter().filter(|stack| stack.holding.is_some()).count();
    *told.entry("held".to_owned()).or_insert(0) += held;
    let is = resources(world, &now(world, &app.environment));
    happened(name, &was, &is, &forecast.stacks);
    Ok(forecast)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// The world in which the apps of a fixture are deployed as they were.
fn seeded(path: &Path) -> World {
    let world = world();
    stage(&world, &path.join("before"));
    stage(&world, &path.join("after"));
    for (_, app) in load(&path.join("before")) {
        let forecast = app.forecast(&now(&world, &app.environment));
        deploy(&world, &app, &forecast, &mut |_, _| {}).unwrap();
        finished(&world, &app, path);
    }
    world
}

fn finished(world: &World, app: &App, path: &Path) {
    let again = app.forecast(&now(world, &app.environment));
    let effects: Vec<&Effect> = again.stacks.iter().flat_map(|stack| &stack.effects).collect();
    assert!(effects.is_empty(), "{}: {effects:#?}", path.display());
    assert!(again.findings.is_empty(), "{}: {:#?}", path.display(), again.findings);
}

#[test]
fn what_a_change_set_says_is_foretold_for_every_fixture() {
    let mut told = Told::new();
    for path in apps() {
        let world = seeded(&path);
        for (_, app) in load(&path.join("after")) {
            let (now, selected) = (now(&world, &app.environment), app.roots());
            let request = app.request(&now, &selected);
            let name = name_of(&path);
            let forecast = held_against((&world, &name, &app), &request, &mut told)
                .unwrap_or_else(|why| panic!("{name}: {why}"));
            let errors = forecast.findings.iter().filter(|each| each.severity == Severity::Error);
            assert_eq!(errors.count(), 0, "{name}: {:#?}", forecast.findings);
            finished(&world, &app, &path);
        }
    }
    println!("{told:?}");
    assert!(told["add"] > 50 && told["remove"] > 50 && told["update"] > 5, "{told:?}");
    assert!(told["held"] > 2, "{told:?}");
}

#[test]
fn what_a_change_set_says_after_the_moves_is_foretold_for_every_fixture() {
    let mut told = Told::new();
    for path in apps() {
        let (world, name) = (seeded(&path), name_of(&path));
        for (environment, app) in load(&path.join("after")) {
            let deployed = now(&world, &environment);
            let (comparison, plan) = planned(&deployed, &app.stacks);
            if plan.is_refused() {
                continue;
            }
            let foretold = after(&deployed, &plan);
            Runner::new(&world.cloud, &world.clock, &environment).run(&plan);
            let now = now(&world, &environment);
            same_stacks(&foretold, &now);
            let selected = app.roots();
            let request = ForecastRequest {
                comparison: Some(&comparison),
                staying: &plan.staying,
                ..app.request(&now, &selected)
            };
            // What cannot move and has a fixed name is there twice for a while.
            match held_against((&world, &name, &app), &request, &mut told) {
                Err(why) if why.contains("already exists") && !plan.staying.is_empty() => {}
                result => drop(result.unwrap_or_else(|why| panic!("{name}: {why}"))),
            }
        }
    }
    println!("{told:?}");
    assert!(told.get("refused").is_none_or(|refused| *refused < 3), "{told:?}");
    assert!(told["replace"] > 3 && told["perhaps replace"] > 1, "{told:?}");
}

/// What was foretold of the moves is what they have left.
pub(crate) fn same_stacks(foretold: &DeployedEnvironment, now: &DeployedEnvironment) {
    let of = |all: &DeployedEnvironment| -> BTreeMap<String, DeployedStack> {
        all.stacks.iter().map(|one| (one.stack.name.to_string(), one.clone())).collect()
    };
    let (foretold, now) = (of(foretold), of(now));
    assert_eq!(foretold.keys().collect::<Vec<_>>(), now.keys().collect::<Vec<_>>());
    for (name, foretold) in foretold {
        let now = &now[&name];
        let folded = |stack: &DeployedStack| {
            let value = Value::Object(stack.stack.template.sections.clone());
            let text = json::to_compact(&value);
            text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect::<String>()
        };
        assert_eq!(folded(&foretold), folded(now), "{name}");
        assert_eq!(foretold.stack.parent, now.stack.parent, "{name}");
        let names = |stack: &DeployedStack| -> Vec<(String, Vec<String>)> {
            let users =
                |export: &Export| export.importers.iter().map(ToString::to_string).collect();
            let mut all: Vec<_> =
                stack.exports.iter().map(|one| (one.name.to_string(), users(one))).collect();
            all.sort();
            all
        };
        assert_eq!(names(&foretold), names(now), "{name}");
        assert_eq!(
            foretold.outputs.keys().filter(|key| !now.outputs.contains_key(*key)).count(),
            0,
            "{name}"
        );
        let physical = |stack: &DeployedStack| -> BTreeMap<String, Option<String>> {
            let own = stack.resources.iter();
            let own = own.filter(|(id, _)| !id.starts_with("Cdkr"));
            own.map(|(id, one)| (id.to_string(), one.physical_id.as_ref().map(ToString::to_string)))
                .collect()
        };
        assert_eq!(physical(&foretold), physical(now), "{name}");
    }
}

/// What has happened is what was foretold.
fn happened(
    name: &str,
    was: &BTreeMap<(String, String), (String, u64)>,
    is: &BTreeMap<(String, String), (String, u64)>,
    stacks: &[StackForecast],
) {
    let effects: BTreeMap<(String, String), &Effect> = stacks
        .iter()
        .flat_map(|stack| &stack.effects)
        .map(|effect| ((effect.stack.clone(), effect.logical_id.clone()), effect))
        .collect();
    let deployed: BTreeSet<&str> = stacks.iter().map(|stack| stack.name.as_str()).collect();
    let retained: Vec<String> = effects
        .values()
        .filter(|effect| effect.kind == EffectKind::Retain)
        .map(|effect| format!("{}/{}", effect.stack, effect.logical_id))
        .collect();
    let root = |place: &(String, String)| place.0.split('/').next().unwrap().to_owned();
    for place in was.keys().chain(is.keys()).filter(|place| deployed.contains(&*root(place))) {
        let kind = effects.get(place).map(|effect| &effect.kind);
        let context = || format!("{name}: {place:?} {kind:?}");
        match (was.get(place), is.get(place)) {
            (None, _) => assert_eq!(kind, Some(&EffectKind::Add), "{}", context()),
            // What is in a nested stack that is retained stays with it.
            (_, None) if retained.iter().any(|stack| place.0.starts_with(stack)) => {}
            (_, None) => {
                assert!(
                    matches!(kind, Some(EffectKind::Remove | EffectKind::Retain)),
                    "{}",
                    context()
                );
            }
            (Some(was), Some(is)) if was.0 != is.0 => {
                assert!(matches!(kind, Some(EffectKind::Replace { .. })), "{}", context());
            }
            (Some(was), Some(is)) => {
                let may_stay = match kind {
                    Some(EffectKind::Update { properties }) => {
                        // Every new version of a function has the number 1 here.
                        let counts =
                            |p: &String| p.starts_with("Properties.") && !p.ends_with("Version");
                        let is_touched = properties.iter().any(counts);
                        was.1 != is.1 || !is_touched || is.1 == 0
                    }
                    Some(EffectKind::Replace { certain, cause, .. }) => !certain && cause.is_none(),
                    // What is nested changes without a thing of its own.
                    _ => was.1 == is.1,
                };
                assert!(may_stay, "{} {was:?} {is:?}", context());
            }
        }
    }
}
