//! Deploying releases to the embedded CloudFormation, and what exists there afterwards.

#![expect(unreachable_pub, reason = "a part of a test")]

use std::collections::BTreeMap;

use cdkr::assembly::Assembly;
use cdkr::toolkit::local;
use serde_json::Value as Json;

use super::fixtures::groups;
use super::program::{Place, text};

/// What exists: `Stack.LogicalId` → the physical ID and the number of the creation. Left out are
/// nested stacks themselves and the framework's own metadata.
pub type Things = BTreeMap<String, (String, u64)>;

pub fn things(place: &Place) -> Things {
    let mut found = Things::new();
    for stack in local::list(&place.path().join(".cdkr/local")).unwrap() {
        for (resource, physical) in stack.resources {
            let Some(physical) = physical else { continue };
            if resource.resource_type != "AWS::CDK::Metadata" {
                let at = format!("{}.{}", stack.info.name, resource.logical_id);
                found.insert(at, (resource.physical_id, physical.generation));
            }
        }
    }
    found
}

/// Deploys an assembly without some of its stacks; returns what moved, and whether it is still
/// the same.
pub fn deploy(place: &Place, assembly: &Assembly, without: &[&str]) -> Vec<(String, String, bool)> {
    let mut moved = Vec::new();
    for group in groups(assembly, without) {
        let app = assembly.directory.join(&group.directory);
        let app = app.to_str().unwrap();
        let mut arguments = vec!["deploy", "--local", "--require-approval", "never"];
        arguments.extend(["--output", "json", "--app", app]);
        arguments.extend(group.patterns.iter().map(String::as_str));
        let output = place.run(&arguments);
        assert!(output.status.success(), "{app}: {}", text(&output.stderr));
        let said = text(&output.stdout);
        let last: Json = serde_json::from_str(said.lines().last().unwrap()).unwrap();
        assert_eq!(last["event"], "finished", "{app}: {last}");
        let end = |one: &Json, key: &str| one[key].as_str().unwrap().to_owned();
        moved.extend(last["moved"].as_array().unwrap().iter().map(|one| {
            (end(one, "source"), end(one, "destination"), one["same"].as_bool().unwrap())
        }));
    }
    moved
}
