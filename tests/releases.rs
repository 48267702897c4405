//! Old apps, new apps (RFC 0111): one app by many releases of the framework is read, compared and
//! deployed, and an upgrade of the framework alone moves and replaces nothing.
//!
//! What is expected is in `fixtures/releases/expected.json`; `INSTA_UPDATE=always` writes it anew.
//! What is known not to work is in `exclusions.json` beside it.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "releases/deployed.rs"]
mod deployed;
#[path = "releases/exclusions.rs"]
mod exclusions;
#[path = "releases/fixtures.rs"]
mod fixtures;
mod program;
#[path = "releases/table.rs"]
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;

use cdkr::assembly::{Assembly, AssemblyStack};
use deployed::{Things, deploy, things};
use exclusions::{excluded, exclusions};
use fixtures::{Release, all_stacks, directory, groups, moves, releases};
use program::{Place, text};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// What is seen of a release. Every list is sorted.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    /// The version of the manifest.
    schema: String,
    synthesizer: String,
    /// The stacks of the app, nested ones included, and their resources.
    stacks: Vec<String>,
    resources: usize,
    /// What a dry run finds.
    moves: Vec<String>,
    /// The stacks that are deployed, by the assembly that they are deployed from.
    deployed: BTreeMap<String, Vec<String>>,
    /// The release before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    upgraded_from: Option<String>,
    /// What the upgrade changes in place, and how.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    changed: BTreeMap<String, Vec<String>>,
    /// What the upgrade adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    added: Vec<String>,
}

/// Does something for every release, several at a time: most of the time is spent waiting.
fn for_each<T: Send>(all: &[Release], work: impl Fn(&Release) -> T + Sync) -> Vec<(String, T)> {
    let (next, found) = (Mutex::new(all.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some(release) = next.lock().unwrap().next() else { return };
                    let seen = work(release);
                    found.lock().unwrap().push((release.name(), seen));
                }
            });
        }
    });
    found.into_inner().unwrap()
}

/// The answer of a dry run that compares two assemblies, for the one environment.
fn compared(before: &Path, after: &Path) -> Json {
    let (before, after) = (before.to_str().unwrap(), after.to_str().unwrap());
    let arguments =
        ["refactor", "--dry-run", "--output", "json", "--app", after, "--against", before];
    let mut answer = Place::new().json(&arguments);
    let environments = answer["environments"].as_array_mut().unwrap();
    assert_eq!(environments.len(), 1, "{environments:?}");
    environments.remove(0)
}

fn list<'a>(environment: &'a Json, name: &str) -> &'a [Json] {
    environment[name].as_array().unwrap()
}

fn place_of(end: &Json) -> String {
    format!("{}.{}", end["stack"].as_str().unwrap(), end["logicalId"].as_str().unwrap())
}

/// The moves of a comparison. There is nothing that it leaves to somebody, or cannot do.
fn found(environment: &Json, what: &str) -> BTreeSet<(String, String)> {
    for nothing in ["ambiguous", "similar", "problems", "removed"] {
        assert_eq!(list(environment, nothing), [] as [Json; 0], "{what}: {nothing}");
    }
    let mappings = list(environment, "mappings").iter();
    let end = |mapping: &Json, end: &str| place_of(&mapping[end]);
    mappings
        .map(|mapping| {
            assert_eq!(mapping["blocked"], Json::Null, "{what}: {mapping}");
            (end(mapping, "source"), end(mapping, "destination"))
        })
        .collect()
}

/// An upgrade: nothing moves, nothing goes away, nothing is replaced. What changes, and is new.
fn upgrade(
    before: &Release,
    after: &Release,
    side: &str,
) -> (BTreeMap<String, Vec<String>>, Vec<String>) {
    let what = format!("{} → {}", before.name(), after.name());
    let environment = compared(&before.path(side), &after.path(side));
    assert_eq!(found(&environment, &what), BTreeSet::new(), "{what}");
    let texts = |list: &Json| -> Vec<String> {
        list.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
    };
    let changed = list(&environment, "changed").iter().map(|change| {
        assert_eq!(change["replaces"], serde_json::json!([]), "{what}: {change}");
        (place_of(change), texts(&change["properties"]))
    });
    (changed.collect(), list(&environment, "added").iter().map(place_of).collect())
}

fn seen(release: &Release, all: &[Release]) -> Seen {
    let (name, exclusions) = (release.name(), exclusions());
    let without = excluded(&exclusions, release);
    let before = read(release, "before");
    let after = read(release, "after");
    let expected = moves(&before, &after, &release.renames());
    let environment = compared(&before.directory, &after.directory);
    assert_eq!(found(&environment, &name), expected, "{name}: a dry run");
    assert_eq!(list(&environment, "added"), [] as [Json; 0], "{name}: added");
    moved_and_the_same(release, &before, &after, &expected);
    let (upgraded_from, (changed, added)) = match release.predecessor(all) {
        None => (None, Default::default()),
        Some(older) => (Some(older.name()), upgrade(&older, release, "same")),
    };
    let group = |group: fixtures::Group| {
        let (directory, mut patterns) = (group.directory, group.patterns);
        patterns.sort();
        (directory.to_str().unwrap().to_owned(), patterns)
    };
    Seen {
        schema: after.version.clone(),
        synthesizer: synthesizer(&after).to_owned(),
        stacks: all_stacks(&after).map(|stack| stack.name.to_string()).collect(),
        resources: all_stacks(&after).map(|stack| stack.template.resources().count()).sum(),
        moves: expected.iter().map(|(from, to)| format!("{from} -> {to}")).collect(),
        deployed: groups(&after, &without).into_iter().map(group).collect(),
        upgraded_from,
        changed,
        added,
    }
}

/// The modern synthesizer says where its templates are.
fn synthesizer(assembly: &Assembly) -> &'static str {
    let modern = |stack: &AssemblyStack| stack.properties.template_asset_url.is_some();
    if assembly.stacks.iter().all(modern) { "modern" } else { "legacy" }
}

/// Reads an assembly; nothing of it is left out.
fn read(release: &Release, side: &str) -> Assembly {
    let assembly = release.load(side);
    assert_eq!(assembly.warnings, Vec::<String>::new(), "{} {side}", release.name());
    assembly
}

/// Deploys the app, and the app with what moved: all of it still is the same.
fn moved_and_the_same(
    release: &Release,
    before: &Assembly,
    after: &Assembly,
    expected: &BTreeSet<(String, String)>,
) {
    let (name, exclusions, place) = (release.name(), exclusions(), Place::new());
    let without = excluded(&exclusions, release);
    assert_eq!(deploy(&place, before, &without), []);
    let was = things(&place);
    let moved = deploy(&place, after, &without);
    assert!(moved.iter().all(|(.., same)| *same), "{name}: {moved:?}");
    let is_excluded =
        |at: &String| without.iter().any(|stack| at.split(['.', '/']).next() == Some(stack));
    let here: BTreeSet<(String, String)> =
        expected.iter().filter(|(from, _)| !is_excluded(from)).cloned().collect();
    let moved: BTreeSet<(String, String)> =
        moved.into_iter().map(|(from, to, _)| (from, to)).collect();
    assert_eq!(moved, here, "{name}: a deployment");
    let expected: Things = was
        .into_iter()
        .map(|(at, thing)| {
            let to = here.iter().find(|(from, _)| *from == at).map(|(_, to)| to.clone());
            (to.unwrap_or(at), thing)
        })
        .collect();
    assert_eq!(things(&place), expected, "{name}: what exists after the deployment");
}

#[test]
fn every_release_is_read_compared_and_deployed_as_expected() {
    let all = releases();
    let seen: BTreeMap<String, Seen> =
        for_each(&all, |release| seen(release, &all)).into_iter().collect();
    let file = directory().join("expected.json");
    if std::env::var("INSTA_UPDATE").is_ok_and(|mode| mode == "always") {
        std::fs::write(&file, serde_json::to_string_pretty(&seen).unwrap() + "\n").unwrap();
    }
    let (seen, expected) = (serde_json::to_value(&seen), serde_json::to_value(expected()));
    let mut different = Vec::new();
    differences("", &expected.unwrap(), &seen.unwrap(), &mut different);
    assert!(
        different.is_empty(),
        "{}\n\nINSTA_UPDATE=always cargo test --test releases writes down what is seen",
        different.join("\n")
    );
    let numbers: BTreeSet<String> = all.iter().map(Release::number).collect();
    assert!(numbers.contains("0.38.0") && numbers.contains("2.276.0"), "{numbers:?}");
}

/// What differs, by place.
fn differences(at: &str, expected: &Json, seen: &Json, found: &mut Vec<String>) {
    match (expected, seen) {
        (Json::Object(old), Json::Object(new)) => {
            let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for key in keys {
                let of = |object: &serde_json::Map<String, Json>| object.get(key).cloned();
                let (old, new) = (of(old).unwrap_or_default(), of(new).unwrap_or_default());
                differences(&format!("{at} {key}"), &old, &new, found);
            }
        }
        _ if expected == seen => {}
        _ => found.push(format!("{at}: expected {expected}, seen {seen}")),
    }
}

fn expected() -> BTreeMap<String, Seen> {
    let text = std::fs::read_to_string(directory().join("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// From one release to the next, without anything else: the number of creation says that nothing
/// was replaced.
#[test]
fn an_app_is_upgraded_from_release_to_release_and_keeps_what_it_has() {
    let all = releases();
    std::thread::scope(|scope| {
        for language in ["js", "python"] {
            let plain = |one: &&Release| one.variant.is_none() && one.language == language;
            let line: Vec<&Release> = all.iter().filter(plain).collect();
            scope.spawn(move || upgraded(&line));
        }
        // Over many releases at once.
        for jump in [
            ["js-0.38.0", "js-2.276.0"],
            ["js-1.204.0", "js-2.276.0"],
            ["js-2.276.0", "js-1.204.0"],
        ] {
            scope.spawn(move || upgraded(&jump.map(Release::of).iter().collect::<Vec<_>>()));
        }
    });
}

fn upgraded(line: &[&Release]) {
    let place = Place::new();
    assert_eq!(deploy(&place, &line[0].load("same"), &[]), []);
    let first = things(&place);
    for release in &line[1..] {
        assert_eq!(deploy(&place, &release.load("same"), &[]), [], "{}", release.name());
        assert_eq!(things(&place), first, "{}", release.name());
    }
}

#[test]
fn an_upgrade_over_many_releases_moves_and_replaces_nothing() {
    for (before, after, side) in [
        // Legacy synthesizer to modern one; with nested stacks, whose templates are assets.
        ("js-1.204.0", "js-2.276.0", "before"),
        ("js-1.204.0", "js-2.276.0", "after"),
        ("python-1.204.0", "python-2.275.0", "before"),
        ("js-1.20.0", "js-2.276.0", "before"),
        ("js-0.38.0", "js-2.276.0", "before"),
        ("js-0.38.0", "js-2.276.0", "same"),
        // From one language to the other.
        ("js-1.204.0", "python-2.275.0", "same"),
    ] {
        drop(upgrade(&Release::of(before), &Release::of(after), side));
    }
}

#[test]
fn what_moves_in_an_upgrade_is_found_all_the_same() {
    for (before, after) in [
        ("js-1.204.0", "js-2.276.0"),
        ("python-1.204.0", "python-2.275.0"),
        ("js-0.38.0", "js-2.276.0"),
        ("js-2.0.0", "js-2.276.0-flags"),
    ] {
        let (old, new) = (Release::of(before), Release::of(after));
        let expected = moves(&old.load("before"), &new.load("after"), &old.renames());
        let environment = compared(&old.path("before"), &new.path("after"));
        assert_eq!(found(&environment, before), expected, "{before} → {after}");
        assert!(expected.len() >= 3, "{expected:?}");
    }
}

/// With the framework exchanged and the app refactored at the same time.
#[test]
fn what_moves_in_an_upgrade_is_still_the_same() {
    let (old, new) = (Release::of("js-1.204.0"), Release::of("js-2.276.0"));
    let (before, after, place) = (old.load("before"), new.load("after"), Place::new());
    deploy(&place, &before, &["Parts"]);
    let was = things(&place);
    let moved = deploy(&place, &after, &["Parts"]);
    assert_eq!(moved.len(), 4, "{moved:?}");
    let is = things(&place);
    for (from, to, same) in moved {
        assert!(same && was[&from] == is[&to], "{from} → {to}");
    }
}

#[test]
fn an_exclusion_says_why_and_is_still_needed() {
    let all = releases();
    for exclusion in exclusions() {
        let name = &exclusion.stack;
        assert!(exclusion.justification.len() > 40, "{name}: say why");
        assert!(!exclusion.releases.is_empty(), "{name}: say where");
        let own: Vec<Release> =
            exclusion.releases.iter().map(|release| Release::of(release)).collect();
        assert!(own.iter().all(|release| all.contains(release)), "{name}: {own:?}");
        for_each(&own, |release| {
            let place = Place::new();
            let app = release.path("before");
            let app = app.to_str().unwrap();
            let arguments =
                ["deploy", name, "--local", "--require-approval", "never", "--app", app];
            let output = place.run(&arguments);
            let release = release.name();
            assert!(
                !output.status.success(),
                "{name} of {release} can be deployed: take it out of exclusions.json"
            );
            let said = text(&output.stderr);
            assert!(said.contains(&exclusion.says), "{name} of {release}: {said}");
        });
    }
}

const MARK: &str = "<!-- releases -->\n";

#[test]
fn the_readme_says_what_is_supported() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let parts: Vec<&str> = text.split(MARK).collect();
    let [before, _, after] = parts.as_slice() else {
        panic!("README.md has the table between two lines {MARK}")
    };
    let present = format!("{before}{MARK}{}{MARK}{after}", table::table(&expected()));
    if std::env::var("INSTA_UPDATE").is_ok_and(|mode| mode == "always") {
        std::fs::write(&path, &present).unwrap();
        return;
    }
    assert!(text == present, "INSTA_UPDATE=always cargo test --test releases brings it up to date");
}
