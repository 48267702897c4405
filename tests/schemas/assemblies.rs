//! What is read of cloud assemblies.

use std::fs;
use std::path::{Path, PathBuf};

use cdkr::assembly::{LoadOptions, file_assets, load};
use serde_json::{Value as Json, json};

use super::schema;
use super::validate::{Properties, problems};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Every file below a directory.
fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() { files(&entry, found) } else { found.push(entry) }
    }
}

#[test]
fn every_assembly_of_the_fixtures_is_as_the_schemas_say() {
    let mut all = Vec::new();
    for directory in ["apps", "assemblies", "releases"] {
        files(&fixtures().join(directory), &mut all);
    }
    let mut counts = [0; 3];
    let kinds = [("manifest", "manifest.json"), ("tree", "tree.json"), ("assets", ".assets.json")];
    for ((name, ending), count) in kinds.iter().zip(&mut counts) {
        let schema = schema(name);
        let own = all.iter().filter(|file| file.to_str().unwrap().ends_with(ending));
        for file in own {
            let value: Json = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
            let found = problems(&schema, &value, Properties::AsSaid);
            assert!(found.is_empty(), "{}: {found:#?}", file.display());
            *count += 1;
        }
    }
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}

/// Whether an assembly with a manifest, and a file that it names, is read.
fn reads(manifest: &Json, file: (&str, &Json)) -> Result<(), String> {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, value: &Json| {
        fs::write(directory.path().join(name), value.to_string()).unwrap();
    };
    write("manifest.json", manifest);
    write("t.json", &json!({"Resources": {}}));
    write(file.0, file.1);
    let assembly = load(directory.path(), &LoadOptions::default()).map_err(|e| e.to_string())?;
    if let Some(warning) = assembly.warnings.first() {
        return Err(warning.clone());
    }
    let assets = file_assets(directory.path(), &LoadOptions::default());
    assets.map(drop).map_err(|error| error.to_string())
}

#[track_caller]
fn agree(schema: &Json, value: &Json, is_good: bool, read: &Result<(), String>) {
    let found = problems(schema, value, Properties::AsSaid);
    assert_eq!(found.is_empty(), is_good, "the schema of {value}: {found:?}");
    assert_eq!(read.is_ok(), is_good, "the program with {value}: {read:?}");
}

#[test]
fn a_manifest_is_taken_as_the_schema_says() {
    let schema = schema("manifest");
    let with = |artifact: Json| json!({"version": "55.0.0", "artifacts": {"A": artifact}});
    let stack = |more: Json| {
        let mut artifact = json!({"type": "aws:cloudformation:stack", "environment": "aws://1/r",
            "properties": {"templateFile": "t.json"}});
        for (key, value) in more.as_object().unwrap() {
            artifact[key] = value.clone();
        }
        with(artifact)
    };
    for (manifest, is_good) in [
        (json!({"version": "0.36.0"}), true),
        (json!({"version": "55.1.0", "artifacts": null, "unheard": "of"}), true),
        (
            json!({"version": "36.0.0", "missing": [{"key": "k", "provider": "p", "props": {}}]}),
            true,
        ),
        (with(json!({"type": "none", "properties": 3})), true),
        (stack(json!({"dependencies": [], "displayName": "S/A", "what": {}})), true),
        (
            stack(json!({"properties": {"templateFile": "t.json", "tags": {"a": "b"}, "new": 1}})),
            true,
        ),
        (json!({}), false),
        (json!({"version": 55}), false),
        (json!({"version": "latest"}), false),
        (json!({"version": "1.0.0", "artifacts": []}), false),
        (json!({"version": "1.0.0", "missing": [{}]}), false),
        (with(json!({})), false),
        (with(json!({"type": "cdk:tree"})), false),
        (with(json!({"type": "cdk:asset-manifest", "properties": {}})), false),
        (with(json!({"type": "cdk:cloud-assembly", "properties": {"displayName": "S"}})), false),
        (stack(json!({"environment": null})), false),
        (stack(json!({"properties": {}})), false),
        (stack(json!({"properties": {"templateFile": "t.json", "tags": {"a": 1}}})), false),
        (stack(json!({"dependencies": "A"})), false),
    ] {
        let read = reads(&manifest, ("unused.json", &json!({})));
        agree(&schema, &manifest, is_good, &read);
    }
}

#[test]
fn an_asset_manifest_is_taken_as_the_schema_says() {
    let schema = schema("assets");
    let manifest = json!({"version": "55.0.0", "artifacts": {"A.assets":
        {"type": "cdk:asset-manifest", "properties": {"file": "a.json"}}}});
    let file = |source: Json, to: Json| json!({"version": "55.0.0", "files": {"1": {"source": source, "destinations": {"d": to}}}});
    let there = json!({"bucketName": "b", "objectKey": "k"});
    let path = json!({"path": "t.json", "packaging": "file"});
    for (assets, is_good) in [
        (json!({}), true),
        (json!({"files": {}, "dockerImages": {}, "more": 1}), true),
        (file(path.clone(), there.clone()), true),
        (file(json!({"executable": ["make", "it"]}), there.clone()), true),
        (json!({"files": []}), false),
        (file(json!({"path": 1}), there.clone()), false),
        (file(path.clone(), json!({"bucketName": "b"})), false),
        (file(path, json!({"objectKey": "k"})), false),
        (file(json!({"executable": "make it"}), there), false),
    ] {
        agree(&schema, &assets, is_good, &reads(&manifest, ("a.json", &assets)));
    }
}

#[test]
fn a_tree_is_taken_as_the_schema_says() {
    let schema = schema("tree");
    let manifest = json!({"version": "55.0.0", "artifacts": {"Tree":
        {"type": "cdk:tree", "properties": {"file": "tree.json"}}}});
    for (tree, is_good) in [
        (json!({"tree": {}}), true),
        (json!({"version": "tree-0.1", "tree": {"id": "App", "path": "", "more": 1}}), true),
        (json!({"tree": {"children": {"A": {"path": "A", "attributes": {}}}}}), true),
        (json!({"tree": {"children": [{"path": "A", "children": []}]}}), true),
        (json!({}), false),
        (json!({"tree": []}), false),
        (json!({"tree": {"path": 1}}), false),
        (json!({"tree": {"children": {"A": 1}}}), false),
        (json!({"tree": {"children": ["A"]}}), false),
        (json!({"tree": {"attributes": 1}}), false),
    ] {
        agree(&schema, &tree, is_good, &reads(&manifest, ("tree.json", &tree)));
    }
}
