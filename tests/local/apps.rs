//! Real apps: every template of the fixtures is deployed, before and after its change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cdkr::local::{CreateStack, TemplateSource, UpdateStack};
use serde_json::Value as Json;

use crate::world::*;

fn apps() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/apps");
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn read(file: &Path) -> Json {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

/// Puts the file assets of an assembly where its templates look for them.
fn stage(world: &World, directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let file = entry.unwrap().path();
        if !file.to_str().unwrap().ends_with(".assets.json") {
            continue;
        }
        for asset in read(&file)["files"].as_object().unwrap().values() {
            let source = directory.join(asset["source"]["path"].as_str().unwrap());
            let Ok(bytes) = std::fs::read(source) else { continue };
            for destination in asset["destinations"].as_object().unwrap().values() {
                let member = |key: &str| destination[key].as_str().unwrap();
                world.cloud.put_object(member("bucketName"), member("objectKey"), &bytes).unwrap();
            }
        }
    }
}

/// The stacks of an assembly: name, environment, template, in an order in which they deploy.
fn stacks(directory: &Path) -> Vec<(String, cdkr::model::Environment, String)> {
    let manifest = read(&directory.join("manifest.json"));
    let artifacts = manifest["artifacts"].as_object().unwrap();
    let (mut found, mut placed) = (Vec::new(), BTreeSet::new());
    for (id, artifact) in artifacts {
        if artifact["type"] == "cdk:cloud-assembly" {
            found.extend(stacks(
                &directory.join(artifact["properties"]["directoryName"].as_str().unwrap()),
            ));
            placed.insert(id);
        }
    }
    let is_stack = |id: &str| artifacts[id]["type"] == "aws:cloudformation:stack";
    while let Some((id, artifact)) = artifacts.iter().find(|(id, artifact)| {
        let needs = artifact["dependencies"].as_array().into_iter().flatten();
        let ready = needs
            .map(|need| need.as_str().unwrap())
            .all(|need| !is_stack(need) || placed.contains(&need.to_owned()));
        is_stack(id) && !placed.contains(id) && ready
    }) {
        placed.insert(id);
        let properties = &artifact["properties"];
        let name = properties["stackName"].as_str().unwrap_or(id).to_owned();
        let environment: cdkr::model::Environment =
            artifact["environment"].as_str().unwrap().parse().unwrap();
        let environment = if environment.is_agnostic() {
            cdkr::model::Environment::new("111111111111", "us-east-1")
        } else {
            environment
        };
        let template =
            std::fs::read_to_string(directory.join(properties["templateFile"].as_str().unwrap()))
                .unwrap();
        found.push((name, environment, template));
    }
    found
}

fn deploy(world: &World, directory: &Path) -> Vec<String> {
    stage(world, directory);
    let mut trouble = Vec::new();
    for (name, environment, text) in stacks(directory) {
        let region = world.cloud.region(&environment);
        world.cloud.put_object("templates", &name, text.as_bytes()).unwrap();
        let template = TemplateSource::url(&format!("https://templates.s3.amazonaws.com/{name}"));
        let result = if region.stack_exists(&name).unwrap() {
            let capabilities = capabilities();
            region.update_stack(&UpdateStack {
                name: name.clone(),
                template,
                capabilities,
                ..UpdateStack::default()
            })
        } else {
            let capabilities = capabilities();
            region.create_stack(&CreateStack {
                name: name.clone(),
                template,
                capabilities,
                ..CreateStack::default()
            })
        };
        match result {
            Err(error) if error.message == "No updates are to be performed." => continue,
            Err(error) => trouble.push(format!("{name}: {error}")),
            Ok(_) => {}
        }
        let status =
            region.describe_stacks(Some(&name), None).unwrap().items[0].info.status.clone();
        if !["CREATE_COMPLETE", "UPDATE_COMPLETE"].contains(&status.as_str()) {
            let events = region.describe_stack_events(&name, None).unwrap().items;
            let failed: Vec<_> = events
                .iter()
                .filter(|event| {
                    event.status.contains("FAILED") || event.status.contains("ROLLBACK_IN")
                })
                .map(|event| format!("{} {:?}", event.logical_id, event.reason))
                .collect();
            trouble.push(format!("{name}: {status} {failed:?}"));
        }
    }
    trouble
}

#[test]
fn every_app_of_the_fixtures_is_deployed() {
    for app in apps() {
        let world = world();
        let before = app.join("before");
        assert_eq!(deploy(&world, &before), Vec::<String>::new(), "{}", app.display());
        assert_eq!(deploy(&world, &before), Vec::<String>::new(), "{}: again", app.display());
    }
}

/// Gives new logical IDs to resources and to everything that refers to them.
fn rename(value: &Json, new: &dyn Fn(&str) -> String) -> Json {
    let named = |value: &Json| value.as_str().map_or_else(|| value.clone(), |id| new(id).into());
    match value {
        Json::Array(items) => items.iter().map(|item| rename(item, new)).collect(),
        Json::Object(members) => members
            .iter()
            .map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    ("Ref", _) => named(value),
                    ("DependsOn", Json::Array(ids)) => ids.iter().map(named).collect(),
                    ("DependsOn", _) => named(value),
                    ("Fn::GetAtt", Json::Array(parts)) => {
                        [&[named(&parts[0])], &parts[1..]].concat().into()
                    }
                    ("Resources", Json::Object(all)) if members.contains_key("Parameters") => {
                        all.iter().map(|(id, body)| (new(id), rename(body, new))).collect()
                    }
                    _ => rename(value, new),
                };
                (key.clone(), value)
            })
            .collect(),
        other => other.clone(),
    }
}

/// The strongest rename of all: everything that can move gets another logical ID.
#[test]
fn every_resource_of_every_app_is_renamed_and_nothing_is_touched() {
    let mut moved = 0;
    for app in apps() {
        let world = world();
        assert_eq!(deploy(&world, &app.join("before")), Vec::<String>::new());
        for (name, environment, text) in stacks(&app.join("before")) {
            let region = world.cloud.region(&environment);
            let template: Json = serde_json::from_str(&text).unwrap();
            let movable = |id: &str| {
                let kind = template["Resources"][id]["Type"].as_str();
                kind.is_some_and(|kind| cdkr::registry::refactor_block(kind).is_none())
            };
            let new = |id: &str| if movable(id) { format!("New{id}") } else { id.to_owned() };
            let renamed = rename(&template, &new).to_string();
            let ids: Vec<&String> = template["Resources"]
                .as_object()
                .unwrap()
                .keys()
                .filter(|id| movable(id))
                .collect();
            if ids.is_empty() {
                continue;
            }
            let thing = |id: &str| {
                let found = region.describe_stack_resource(&name, id).unwrap().resource;
                region.physical_resource(&found.resource_type, &found.physical_id).unwrap()
            };
            let before: Vec<_> = ids.iter().map(|id| thing(id)).collect();
            let mappings: Vec<String> =
                ids.iter().map(|id| format!("{name}.{id}>{name}.{}", new(id))).collect();
            let mappings: Vec<&str> = mappings.iter().map(String::as_str).collect();
            world.cloud.put_object("templates", "new", renamed.as_bytes()).unwrap();
            let mut request = refactor(&[(&name, "")], &mappings);
            request.definitions[0].template =
                TemplateSource::url("https://templates.s3.amazonaws.com/new");
            let id = region.create_stack_refactor(&request).unwrap();
            let info = region.describe_stack_refactor(&id).unwrap();
            assert_eq!(
                info.status,
                "CREATE_COMPLETE",
                "{}: {:?}",
                app.display(),
                info.status_reason
            );
            region.execute_stack_refactor(&id).unwrap();
            world.clock.advance(10_000);
            for (id, before) in ids.iter().zip(before) {
                let after = thing(&new(id));
                let marker = |thing: &Option<cdkr::local::Physical>| {
                    thing
                        .as_ref()
                        .map(|thing| (thing.physical_id.clone(), thing.generation, thing.updates))
                };
                assert_eq!(marker(&after), marker(&before));
                moved += 1;
            }
            let update = UpdateStack {
                name: name.clone(),
                template: TemplateSource::url("https://templates.s3.amazonaws.com/new"),
                capabilities: capabilities(),
                ..UpdateStack::default()
            };
            assert_eq!(message(region.update_stack(&update)), "No updates are to be performed.");
        }
    }
    assert!(moved > 150, "{moved}");
}
