//! Assemblies of many releases of the framework, and assemblies that nobody should write.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cdkr::assembly::{Assembly, AssemblyStack, LoadOptions, load};
use cdkr::model::Stack;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/assemblies").join(name)
}

fn loaded(name: &str) -> Assembly {
    load(&fixture(name), &LoadOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn stack<'a>(assembly: &'a Assembly, name: &str) -> &'a AssemblyStack {
    let found = assembly.stacks.iter().find(|stack| stack.stack.name.as_str() == name);
    found.unwrap_or_else(|| panic!("no stack {name}"))
}

fn resources(stack: &Stack) -> Vec<&str> {
    let mut ids: Vec<_> = stack.template.resources().map(|(id, _)| id.as_str()).collect();
    ids.sort_unstable();
    ids
}

fn constructs(stack: &Stack) -> Vec<&str> {
    stack.constructs.iter().map(cdkr::model::ConstructPath::as_str).collect()
}

const WITH_STAGES: [&str; 7] = [
    "v1-1.50.0",
    "v1-1.110.0-newstyle",
    "v1-1.204.0",
    "v2-2.0.0",
    "v2-2.130.0",
    "v2-2.220.0",
    "v2-2.276.0",
];

#[test]
fn every_release_gives_the_same_stacks() {
    for name in ["v0-0.38.0", "v1-1.20.0"].iter().chain(&WITH_STAGES) {
        let assembly = loaded(name);
        assert_eq!(assembly.warnings, Vec::<String>::new(), "{name}");
        let producer = stack(&assembly, "prod-stack");
        assert_eq!(producer.environment.to_string(), "aws://111111111111/eu-west-1");
        assert_eq!(producer.tags, BTreeMap::from([("team".to_owned(), "core".to_owned())]));
        assert!(producer.top_level);
        let consumer = stack(&assembly, "Consumer");
        assert_eq!(consumer.dependencies, [producer.hierarchical_id.as_str()], "{name}");
        assert_eq!(resources(&consumer.stack), ["GroupDlq46A8E21A"], "{name}");
        assert!(stack(&assembly, "Agnostic").environment.is_agnostic());
        for (stack, path) in [(producer, "Producer"), (consumer, "Consumer")] {
            let found = stack.construct_path.as_ref().map(cdkr::model::ConstructPath::as_str);
            assert_eq!(found, Some(path), "{name}");
        }
        assert!(constructs(&consumer.stack).contains(&"Consumer/Group/Dlq/Resource"), "{name}");
    }
}

#[test]
fn stages_and_nested_stacks_are_found_in_every_release() {
    for name in WITH_STAGES {
        let assembly = loaded(name);
        let beta = stack(&assembly, "Beta-Producer");
        assert!(!beta.top_level);
        for (stack, path) in [(beta, "Beta/Producer"), (stack(&assembly, "prod-stack"), "Producer")]
        {
            let id = "InnerNestedStackInnerNestedStackResource745E041B";
            let [inner] = stack.nested.as_slice() else { panic!("{name}: {:?}", stack.nested) };
            assert_eq!(inner.name.as_str(), format!("{}/{id}", stack.stack.name));
            let parent = inner.parent.as_ref().unwrap();
            assert_eq!(parent.to_string(), format!("{}.{id}", stack.stack.name));
            assert_eq!(resources(inner), ["InnerQ82B0D214"], "{name}");
            assert_eq!(
                constructs(inner),
                [format!("{path}/Inner/InnerQ"), format!("{path}/Inner/InnerQ/Resource")],
                "{name}"
            );
            let own = constructs(&stack.stack);
            assert!(own.contains(&format!("{path}/Inner").as_str()), "{name}: {own:?}");
            assert!(!own.contains(&format!("{path}/Inner/InnerQ").as_str()), "{name}");
            assert!(!own.contains(&path), "{name}");
        }
    }
}

#[test]
fn the_display_name_is_what_patterns_match() {
    let assembly = loaded("v2-2.276.0");
    let ids: Vec<_> = assembly.stacks.iter().map(|stack| stack.hierarchical_id.as_str()).collect();
    assert_eq!(ids, ["Agnostic", "Consumer", "Producer", "Beta/Producer"]);
    assert_eq!(stack(&assembly, "prod-stack").label(), "Producer (prod-stack)");
    assert_eq!(assembly.version, "55.0.0");
}

#[test]
fn the_properties_of_a_stack_are_read() {
    let assembly = loaded("v2-2.276.0");
    let properties = &stack(&assembly, "prod-stack").properties;
    assert_eq!(properties.termination_protection, Some(true));
    assert_eq!(properties.requires_bootstrap_version, Some(6));
    assert_eq!(
        properties.bootstrap_version_parameter.as_deref(),
        Some("/cdk-bootstrap/hnb659fds/version")
    );
    let role = properties.lookup_role.as_ref().unwrap();
    assert!(role.arn.starts_with("arn:${AWS::Partition}:iam::"));
    assert_eq!(role.requires_bootstrap_version, Some(8));
    assert!(properties.template_asset_url.as_deref().unwrap().starts_with("s3://"));
}

#[test]
fn a_tree_in_several_files_is_put_together() {
    let assembly = loaded("v2-2.276.0-forest");
    let [only] = assembly.stacks.as_slice() else { panic!() };
    let found = constructs(&only.stack);
    for path in ["S/A", "S/A/1", "S/B/3", "S/BootstrapVersion"] {
        assert!(found.contains(&path), "{path}");
    }
    assert!(assembly.warnings.is_empty());
}

#[test]
fn without_a_tree_the_constructs_of_the_metadata_are_known() {
    let assembly = loaded("v0-0.38.0");
    let found = constructs(&stack(&assembly, "Consumer").stack);
    assert_eq!(found, ["Consumer/BucketArn", "Consumer/Group/Dlq/Resource", "Consumer/Par"]);
}

/// An assembly of given files, loaded.
fn made(files: &[(&str, &str)]) -> (tempfile::TempDir, Result<Assembly, String>) {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let result = load(directory.path(), &LoadOptions::default()).map_err(|e| e.to_string());
    (directory, result)
}

fn manifest(artifacts: &str) -> String {
    format!(r#"{{"version":"55.0.0","artifacts":{{{artifacts}}}}}"#)
}

fn stack_artifact(id: &str, more: &str) -> String {
    format!(
        r#""{id}":{{"type":"aws:cloudformation:stack","environment":"aws://1/eu-west-1",
           "properties":{{"templateFile":"t.json"{more}}}}}"#
    )
}

fn error_of(files: &[(&str, &str)]) -> String {
    let (directory, result) = made(files);
    let error = result.expect_err("no error");
    error.replace(&directory.path().display().to_string(), "DIR")
}

#[test]
fn a_directory_that_is_no_assembly_is_refused() {
    let missing = load(Path::new("/nowhere/at/all"), &LoadOptions::default()).unwrap_err();
    assert_eq!(missing.to_string(), "directory `/nowhere/at/all` does not exist");
    assert_eq!(
        error_of(&[("other.json", "{}")]),
        "`DIR` has no `manifest.json`: is it a cloud assembly? (`cdk synth` writes one)"
    );
    let file = fixture("README.md");
    assert!(load(&file, &LoadOptions::default()).unwrap_err().to_string().contains("not a dir"));
}

#[test]
fn malformed_manifests_are_named() {
    let cases = [
        ("{\"version\"", "`DIR/manifest.json` is not JSON: "),
        ("", "`DIR/manifest.json` is not JSON: "),
        ("[]", "Invalid assembly manifest:\n`DIR/manifest.json`: "),
        (r#"{"artifacts":{}}"#, "Invalid semver string: \"\" (`version` in `DIR/manifest.json`)"),
        (r#"{"version":"99.0.0"}"#, "Cloud assembly schema version mismatch: "),
        (r#"{"version":"55.0.0","artifacts":{"A":null}}"#, "Invalid assembly manifest:\n"),
    ];
    for (text, expected) in cases {
        let error = error_of(&[("manifest.json", text)]);
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    let deep = format!(r#"{{"version":"55.0.0","artifacts":{}"#, r#"{"a":"#.repeat(10_000));
    assert!(error_of(&[("manifest.json", &deep)]).contains("DIR/manifest.json"));
    let deep = manifest(&format!(
        r#""A":{{"type":"none","properties":{}1{}}}"#,
        r#"{"a":"#.repeat(10_000),
        "}".repeat(10_000)
    ));
    assert!(error_of(&[("manifest.json", &deep)]).contains("recursion limit"));
}

#[test]
fn malformed_artifacts_are_named() {
    let cases = [
        (
            r#""A":{"type":"aws:cloudformation:stack","environment":"aws://1/x","properties":{}}"#,
            "Missing \"templateFile\" property",
        ),
        (
            r#""A":{"type":"aws:cloudformation:stack","properties":{"templateFile":"t.json"}}"#,
            "Missing environment",
        ),
        (
            r#""A":{"type":"aws:cloudformation:stack","environment":"here","properties":{"templateFile":"t.json"}}"#,
            "Unable to parse environment specification \"here\". Expected format: aws://account/region",
        ),
        (
            r#""A":{"type":"aws:cloudformation:stack","environment":"aws://1/x","properties":{"templateFile":7}}"#,
            "expected a string",
        ),
        (
            r#""A":{"type":"none","dependencies":["B"]}"#,
            "Artifact A depends on non-existing artifact B",
        ),
        (r#""A":{"type":"cdk:tree"}"#, "Missing \"file\" property"),
        (r#""A":{"type":"cdk:asset-manifest"}"#, "Missing \"file\" property"),
        (
            r#""A":{"type":"cdk:tree","properties":{"file":"a"}},"B":{"type":"cdk:tree","properties":{"file":"a"}}"#,
            "Multiple artifacts of type cdk:tree found in manifest",
        ),
        (r#""A":{"type":"cdk:cloud-assembly","properties":{}}"#, "directoryName"),
        (
            r#""A":{"type":"cdk:cloud-assembly","properties":{"directoryName":"none"}}"#,
            "does not exist",
        ),
        (
            r#""A":{"type":"cdk:cloud-assembly","properties":{"directoryName":"t.json"}}"#,
            "not a directory",
        ),
        (
            r#""A":{"type":"cdk:cloud-assembly","properties":{"directoryName":"sub"}}"#,
            "`DIR/sub` has no",
        ),
        (
            r#""A":{"type":"aws:cloudformation:stack","environment":"aws://1/x","properties":{"templateFile":"t.json","assumeRoleAdditionalOptions":{"RoleArn":"x"}}}"#,
            "RoleArn is not allowed inside 'assumeRoleAdditionalOptions'",
        ),
    ];
    for (artifacts, expected) in cases {
        let files = [("manifest.json", &*manifest(artifacts)), ("t.json", "{}"), ("sub/x", "")];
        let error = error_of(&files);
        assert!(error.contains(expected), "{artifacts}: {error}");
        assert!(error.contains("DIR"), "{error}");
    }
}

#[test]
fn paths_that_leave_the_assembly_are_refused() {
    for path in ["../t.json", "/etc/hostname", "a/../../t.json"] {
        let cases = [
            stack_artifact("A", "").replace("t.json", path),
            stack_artifact("A", "").replace(
                r#""properties""#,
                &format!(r#""additionalMetadataFile":"{path}","properties""#),
            ),
            format!(
                r#""A":{{"type":"cdk:cloud-assembly","properties":{{"directoryName":"{path}"}}}}"#
            ),
            format!(r#""A":{{"type":"cdk:tree","properties":{{"file":"{path}"}}}}"#),
        ];
        for artifacts in cases {
            let error = error_of(&[("manifest.json", &manifest(&artifacts)), ("t.json", "{}")]);
            assert!(error.contains("leaves the cloud assembly"), "{artifacts}: {error}");
            assert!(error.contains(path) && error.contains("artifact `A`"), "{error}");
        }
    }
    let template = r#"{"Resources":{"N":{"Type":"AWS::CloudFormation::Stack",
        "Metadata":{"aws:asset:path":"../secret.json"}}}}"#;
    let files = [("manifest.json", &*manifest(&stack_artifact("A", ""))), ("t.json", template)];
    assert_eq!(
        error_of(&files),
        "the template of nested stack `A/N` is `../secret.json`, which leaves the cloud assembly \
         (in `DIR/t.json`)"
    );
}

#[test]
fn malformed_templates_are_named_with_their_stack() {
    for (text, expected) in [
        (r#"{"Resources":{"B":null}}"#, "resource `B` must be an object, it is null"),
        (r#"{"Resources":{"B":{"#, "not valid JSON"),
        (&"[".repeat(10_000), "not valid"),
    ] {
        let files = [("manifest.json", &*manifest(&stack_artifact("A", ""))), ("t.json", text)];
        let error = error_of(&files);
        assert!(error.starts_with("template `DIR/t.json` of stack `A`: "), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    let error = error_of(&[("manifest.json", &manifest(&stack_artifact("A", "")))]);
    assert!(
        error.contains("`templateFile` of artifact `A` is `t.json`, which does not"),
        "{error}"
    );
}

#[test]
fn two_stacks_of_one_name_in_one_environment_are_refused() {
    let twice = format!(
        "{},{}",
        stack_artifact("A", r#","stackName":"same""#),
        stack_artifact("B", r#","stackName":"same""#)
    );
    assert_eq!(
        error_of(&[("manifest.json", &manifest(&twice)), ("t.json", "{}")]),
        "stacks `A` and `B` have the same name `same` in aws://1/eu-west-1"
    );
}

#[test]
fn an_assembly_that_contains_itself_is_refused() {
    for name in [".", "sub/.."] {
        let artifacts = format!(
            r#""A":{{"type":"cdk:cloud-assembly","properties":{{"directoryName":"{name}"}}}}"#
        );
        let error = error_of(&[("manifest.json", &manifest(&artifacts)), ("sub/x", "")]);
        assert!(error.contains("an assembly that was read already"), "{error}");
    }
}

#[test]
fn a_nested_stack_that_contains_itself_is_refused() {
    let template = |file: &str| {
        format!(
            r#"{{"Resources":{{"N":{{"Type":"AWS::CloudFormation::Stack",
                "Metadata":{{"aws:asset:path":"{file}"}}}}}}}}"#
        )
    };
    let files = [
        ("manifest.json", &*manifest(&stack_artifact("A", ""))),
        ("t.json", &template("u.json")),
        ("u.json", &template("./t.json")),
    ];
    let error = error_of(&files);
    assert!(
        error.contains("nested stack `A/N/N`") && error.contains("which contains it"),
        "{error}"
    );
}

#[test]
fn an_explosion_of_nested_stacks_ends_in_an_error() {
    let twice = |file: &str| {
        let nested = format!(
            r#"{{"Type":"AWS::CloudFormation::Stack","Metadata":{{"aws:asset:path":"{file}"}}}}"#
        );
        format!(r#"{{"Resources":{{"A":{nested},"B":{nested}}}}}"#)
    };
    let mut files = vec![("manifest.json".to_owned(), manifest(&stack_artifact("S", "")))];
    files.push(("t.json".into(), twice("0.json")));
    files.extend((0..30).map(|n| (format!("{n}.json"), twice(&format!("{}.json", n + 1)))));
    files.push(("30.json".into(), "{}".into()));
    let files: Vec<_> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    assert!(error_of(&files).contains("too many nested stacks below `S`"));
}

#[test]
fn nested_stacks_in_nested_stacks_are_found_parents_first() {
    let nested = |ids: &[(&str, &str)]| {
        let resources: Vec<_> = ids
            .iter()
            .map(|(id, file)| {
                format!(
                    r#""{id}":{{"Type":"AWS::CloudFormation::Stack","Metadata":{{"aws:asset:path":"{file}"}}}}"#
                )
            })
            .collect();
        format!(r#"{{"Resources":{{{}}}}}"#, resources.join(","))
    };
    let (_directory, result) = made(&[
        ("manifest.json", &manifest(&stack_artifact("S", ""))),
        ("t.json", &nested(&[("A", "a.json"), ("B", "b.json")])),
        ("a.json", &nested(&[("X", "b.json"), ("Y", "lost.json")])),
        ("b.json", r#"{"Resources":{"R":{"Type":"T"}}}"#),
    ]);
    let assembly = result.unwrap();
    let names: Vec<_> = assembly.stacks[0].nested.iter().map(|s| s.name.to_string()).collect();
    assert_eq!(names, ["S/A", "S/B", "S/A/X"]);
    assert_eq!(
        assembly.warnings,
        ["nested stack `S/A/Y` is left out: its template is not in the assembly"]
    );
}

#[test]
fn unknown_artifact_types_give_one_warning_each() {
    let (_directory, result) = made(&[(
        "manifest.json",
        &manifest(
            r#""A":{"type":"cdk:new","properties":{"tags":5}},"B":{"type":"cdk:new"},
               "C":{"type":"none","dependencies":["A"]}"#,
        ),
    )]);
    assert_eq!(result.unwrap().warnings, ["artifacts of the unknown type `cdk:new` are skipped"]);
}

#[test]
fn a_broken_or_missing_tree_does_no_harm() {
    let tree = r#","Tree":{"type":"cdk:tree","properties":{"file":"tree.json"}}"#;
    let manifest = manifest(&(stack_artifact("A", "") + tree));
    let (_directory, result) = made(&[("manifest.json", &manifest), ("t.json", "{}")]);
    assert!(result.unwrap().warnings.is_empty());
    let (_directory, result) =
        made(&[("manifest.json", &manifest), ("t.json", "{}"), ("tree.json", "{")]);
    let warnings = result.unwrap().warnings;
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("tree.json"), "{}", warnings[0]);
}

#[test]
fn a_newer_schema_is_read_on_demand_with_a_warning() {
    let (directory, result) = made(&[("manifest.json", r#"{"version":"99.1.0"}"#)]);
    assert!(result.is_err());
    let options = LoadOptions { ignore_schema_version: true };
    let assembly = load(directory.path(), &options).unwrap();
    assert_eq!(assembly.schema_major, 99);
    assert!(assembly.warnings[0].contains("schema version 99.1.0"));
}

#[test]
fn missing_context_is_listed_once() {
    let (_directory, result) = made(&[(
        "manifest.json",
        r#"{"version":"55.0.0","missing":[{"key":"a","provider":"p","props":{}},{"key":"a"},{"key":"b"}]}"#,
    )]);
    let assembly = result.unwrap();
    assert_eq!(assembly.missing_keys(), ["a", "b"]);
    assert_eq!(assembly.missing[0].provider, "p");
}

#[test]
fn stages_in_stages_depend_on_what_their_stage_depends_on() {
    let stage = |id: &str, dependencies: &str| {
        format!(
            r#""{id}":{{"type":"cdk:cloud-assembly","dependencies":[{dependencies}],
               "properties":{{"directoryName":"{id}"}}}}"#
        )
    };
    let inner = format!("{},{}", stage("C", ""), stack_artifact("SB", ""));
    let (_directory, result) = made(&[
        ("manifest.json", &manifest(&[stage("A", ""), stage("B", r#""A""#)].join(","))),
        ("A/manifest.json", &manifest(&stack_artifact("SA", ""))),
        ("A/t.json", "{}"),
        ("B/manifest.json", &manifest(&inner)),
        ("B/t.json", "{}"),
        ("B/C/manifest.json", &manifest(&stack_artifact("SC", "").replace("t.json", "../t.json"))),
    ]);
    let assembly = result.unwrap();
    let dependencies: Vec<_> = assembly
        .stacks
        .iter()
        .map(|stack| (stack.hierarchical_id.as_str(), stack.dependencies.join(",")))
        .collect();
    assert_eq!(
        dependencies,
        [("SA", ""), ("SB", "SA"), ("SC", "SA")].map(|(a, b)| (a, b.to_owned()))
    );
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(200))]

    #[test]
    fn a_damaged_manifest_never_makes_the_reader_crash(
        at in 0..20_000_usize,
        byte in proptest::num::u8::ANY,
        cut in proptest::bool::ANY,
    ) {
        let original = fixture("v1-1.50.0");
        let directory = tempfile::tempdir().unwrap();
        for name in ["prod-stack", "Consumer", "Agnostic"] {
            let file = format!("{name}.template.json");
            fs::copy(original.join(&file), directory.path().join(&file)).unwrap();
        }
        let mut text = fs::read(original.join("manifest.json")).unwrap();
        let at = at % text.len();
        text[at] = byte;
        if cut {
            text.truncate(at);
        }
        fs::write(directory.path().join("manifest.json"), text).unwrap();
        // Either way is fine, as long as there is an answer.
        drop(load(directory.path(), &LoadOptions::default()));
    }
}
