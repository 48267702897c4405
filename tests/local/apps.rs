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
