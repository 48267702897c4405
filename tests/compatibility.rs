//! Old files and new ones (RFC 0111): what an older release of cdkr has written is read, what a
//! newer framework has written is read as far as it is known, and what cannot be read is refused in
//! words that people search for.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use program::{Place, app, text};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target);
        } else {
            fs::copy(&source, &target).unwrap();
        }
    }
}

/// An assembly of `fixtures/apps` with a change of a file of it.
fn changed(name: &str, file: &str, change: impl Fn(&mut Json)) -> (TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    copy(Path::new(&app(name, "before")), directory.path());
    let path = directory.path().join(file);
    let mut value: Json = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
    let app = directory.path().to_str().unwrap().to_owned();
    (directory, app)
}

fn deploy<'a>(app: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["deploy", "**", "--local", "--require-approval", "never", "--app", app][..], more].concat()
}

#[test]
fn an_assembly_of_a_newer_schema_is_refused_in_the_words_that_people_search_for() {
    let (_directory, newer) = changed("rename", "manifest.json", |manifest| {
        manifest["version"] = "99.0.0".into();
        manifest["minimumCliVersion"] = "2.3000.0".into();
    });
    let place = Place::new();
    let known = app("rename", "before");
    let dry = ["refactor", "--dry-run", "--app", &newer, "--against", &known];
    let against = ["refactor", "--dry-run", "--app", &known, "--against", &newer];
    let seed = ["local", "seed", "--app", &newer];
    for arguments in [&dry[..], &against, &seed, &deploy(&newer, &[])] {
        let error = place.err(arguments, 1);
        for words in [
            "Cloud assembly schema version mismatch: Maximum schema version supported is 55.x.x, \
             but found 99.0.0",
            "CDK CLI version 2.3000.0",
            "not compatible with the CDK library used by your application. Please upgrade",
            "--ignore-schema-version",
        ] {
            assert!(error.contains(words), "{words}: {error}");
        }
        // Nothing was made.
        assert!(!text(&place.run(&["local", "ls"]).stdout).contains("Shop"));
    }
}

#[test]
fn whoever_is_brave_reads_an_assembly_of_a_newer_schema() {
    let (directory, newer) = changed("stages", "manifest.json", |manifest| {
        manifest["version"] = "99.0.0".into();
    });
    let mut manifests = 0;
    for entry in fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()) {
        let nested = entry.join("manifest.json");
        if nested.exists() {
            let text = fs::read_to_string(&nested).unwrap().replace("55.0.0", "99.0.0");
            assert!(text.contains("99.0.0"));
            fs::write(nested, text).unwrap();
            manifests += 1;
        }
    }
    assert!(manifests > 1);
    let place = Place::new();
    let output = place.run(&deploy(&newer, &["--ignore-schema-version"]));
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("has schema version 99.0.0, newer than 55.x.x").count(), 1, "{said}");
    assert!(!place.resources().is_empty());
}

#[test]
fn a_higher_minor_version_is_read_without_a_word() {
    let (_directory, newer) = changed("rename", "manifest.json", |manifest| {
        manifest["version"] = "55.99.0".into();
    });
    let output = Place::new().run(&["local", "seed", "--app", &newer]);
    assert_eq!((output.status.success(), &*text(&output.stderr)), (true, ""));
}

#[test]
fn artifacts_of_an_unknown_type_are_skipped_with_one_warning() {
    let (_directory, newer) = changed("rename", "manifest.json", |manifest| {
        let artifacts = manifest["artifacts"].as_object_mut().unwrap();
        for (_, artifact) in artifacts.iter_mut() {
            if artifact["type"] == "aws:cloudformation:stack" {
                artifact["dependencies"].as_array_mut().unwrap().push("New1".into());
            }
        }
        for name in ["New1", "New2"] {
            let artifact = json!({"type": "cdk:hologram", "properties": {"file": 3}});
            artifacts.insert(name.to_owned(), artifact);
        }
    });
    let place = Place::new();
    let before = app("rename", "before");
    let dry = ["refactor", "--dry-run", "--app", &newer, "--against", &before];
    for arguments in [&deploy(&newer, &[])[..], &dry] {
        let output = place.run(arguments);
        let said = text(&output.stderr);
        assert!(output.status.success(), "{said}");
        let warning = "artifacts of the unknown type `cdk:hologram` are skipped";
        assert_eq!(said.matches(warning).count(), 1, "{said}");
    }
}

#[test]
fn unknown_members_and_values_are_passed_over() {
    let (_directory, newer) = changed("rename", "Shop.assets.json", |assets| {
        assets["holograms"] = json!({"a": {"source": 1}});
        let file = assets["files"].as_object().unwrap().values().next().unwrap();
        let mut other = file.clone();
        other["source"]["packaging"] = "crate".into();
        other["source"]["compression"] = "best".into();
        assets["files"]["other"] = other;
    });
    let place = Place::new();
    let output = place.run(&deploy(&newer, &[]));
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("the packaging `crate` is not known").count(), 1, "{said}");
    let (_directory, newer) = changed("rename", "manifest.json", |manifest| {
        manifest["hologram"] = json!({"a": 1});
        for (_, artifact) in manifest["artifacts"].as_object_mut().unwrap() {
            artifact["hologram"] = true.into();
            artifact["properties"]["hologram"] = json!([]);
            artifact["metadata"] = json!({"/Shop": [{"type": "aws:cdk:hologram", "data": {}}]});
        }
    });
    let output = place.run(&["local", "seed", "--app", &newer]);
    assert_eq!((output.status.success(), &*text(&output.stderr)), (true, ""));
}

/// What releases have written: `fixtures/written/VERSION`, made by `fixtures/written.sh`.
fn written() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/written");
    let mut all: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    assert!(!all.is_empty());
    all
}

/// The numbers of creation of everything that exists.
fn generations(place: &Place) -> BTreeSet<u64> {
    place.resources().values().copied().collect()
}

#[test]
fn a_plan_of_an_older_release_is_carried_out() {
    for release in written() {
        let place = Place::new();
        copy(&release.join("planned/local"), &place.path().join(".cdkr/local"));
        let plan = release.join("planned/plan.json");
        let before = generations(&place);
        let carry = ["refactor", "--local", "--yes", "--plan-file", plan.to_str().unwrap()];
        let said = place.out(&carry);
        assert!(said.contains("3 resources were moved"), "{}: {said}", release.display());
        assert_eq!(generations(&place), before);
        let after = app("rename", "after");
        let rest = place.out(&["refactor", "--local", "--app", &after]);
        assert!(rest.starts_with("Nothing to refactor."), "{}: {rest}", release.display());
    }
}

/// The state and the journal of a finished run, in a directory of their own.
fn moved(release: &Path) -> (Place, PathBuf) {
    let place = Place::new();
    for part in ["local", "runs"] {
        copy(&release.join("moved").join(part), &place.path().join(".cdkr").join(part));
    }
    let mut runs = fs::read_dir(place.path().join(".cdkr/runs")).unwrap();
    let journal = runs.next().unwrap().unwrap().path();
    (place, journal)
}

#[test]
fn a_run_of_an_older_release_is_reverted() {
    for release in written() {
        let (place, _) = moved(&release);
        let now: BTreeMap<String, u64> = place.resources();
        place.out(&["revert", "--local", "--yes"]);
        let before = place.resources();
        assert_ne!(before, now);
        assert!(before.contains_key("us-east-1 Shop.OrdersTable1F8332C7"), "{before:?}");
        assert_eq!(now.values().collect::<BTreeSet<_>>(), before.values().collect());
    }
}

/// Whoever upgrades cdkr in the middle of a run goes on with the new one.
#[test]
fn a_run_of_an_older_release_is_resumed_wherever_it_was_interrupted() {
    for release in written() {
        let (_place, journal) = moved(&release);
        let lines = fs::read_to_string(&journal).unwrap().lines().count();
        // After the last call with an effect was about to be made, or later.
        for kept in 5..lines {
            let (place, journal) = moved(&release);
            let text = fs::read_to_string(&journal).unwrap();
            let begun: String = text.split_inclusive('\n').take(kept).collect();
            fs::write(&journal, begun).unwrap();
            let before = place.resources();
            let said = place.out(&["resume", "--local"]);
            assert_eq!(place.resources(), before, "{kept} lines: {said}");
            let last = fs::read_to_string(&journal).unwrap();
            let last: Json = serde_json::from_str(last.lines().last().unwrap()).unwrap();
            assert_eq!(last["record"]["end"]["outcome"], "finished", "{kept} lines");
        }
    }
}

#[test]
fn a_history_of_an_older_release_is_followed() {
    for release in written() {
        let place = Place::new();
        copy(&release.join("recorded"), place.path());
        let log = place.out(&["history", "log"]);
        assert!(log.contains("created Shop"), "{}: {log}", release.display());
        let after = app("rename", "after");
        place.out(&["history", "record", "--check", "--app", &after]);
        place.seed(&app("rename", "before"));
        let before = generations(&place);
        place.out(&["refactor", "--local", "--yes", "--app", &after]);
        assert_eq!(generations(&place), before);
        assert!(place.resources().contains_key("us-east-1 Shop.PurchasesTable090EA98E"));
    }
}

#[test]
fn what_a_newer_release_has_written_is_refused_and_told() {
    let release = written().pop().unwrap();
    let newer = |text: &str| text.replacen(r#""version":1"#, r#""version":2"#, 1);
    let (place, journal) = moved(&release);
    fs::write(&journal, newer(&fs::read_to_string(&journal).unwrap())).unwrap();
    let journal = journal.to_str().unwrap();
    for arguments in [&["revert", journal, "--local", "--yes"][..], &["resume", journal, "--local"]]
    {
        let error = place.err(arguments, 1);
        assert!(error.contains("has version 2; this program knows versions up to 1"), "{error}");
        assert!(error.contains("Use the version of cdkr that has written it"), "{error}");
    }
    let mut plan: Json =
        serde_json::from_slice(&fs::read(release.join("planned/plan.json")).unwrap()).unwrap();
    plan["version"] = 2.into();
    plan["cdkr"] = "9.0.0".into();
    fs::write(place.path().join("plan.json"), plan.to_string()).unwrap();
    let error = place.err(&["refactor", "--local", "--yes", "--plan-file", "plan.json"], 1);
    assert!(error.contains("a plan of version 2, written by cdkr 9.0.0"), "{error}");
    assert!(error.contains("Use the version of cdkr that has written it"), "{error}");
    let history = fs::read_to_string(release.join("recorded/cdkr.history.jsonl")).unwrap();
    fs::write(place.path().join("cdkr.history.jsonl"), newer(&history)).unwrap();
    let error = place.err(&["history", "log"], 1);
    assert!(error.contains("has version 2; this program knows versions up to 1"), "{error}");
}
