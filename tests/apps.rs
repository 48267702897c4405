//! The small real apps of `fixtures/apps`: the mapping equals the truth of each.

#![expect(clippy::unwrap_used, reason = "a broken fixture fails the test")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cdkr::assembly::{self, LoadOptions};
use cdkr::compare::{Comparison, Decisions, compare};
use cdkr::model::{Environment, Location, Stack, Value};
use cdkr::template::json;

type Environments = BTreeMap<Environment, Vec<Stack>>;

fn apps() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/apps");
    let mut apps: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    apps.sort();
    apps
}

fn environments(assembly: &Path) -> Environments {
    let mut environments = Environments::new();
    for stack in assembly::load(assembly, &LoadOptions::default()).unwrap().stacks {
        let stacks = environments.entry(stack.environment.clone()).or_default();
        stacks.extend(stack.all().cloned());
    }
    environments
}

/// What `truth.json` says about construct paths.
struct Truth {
    renames: Vec<(String, String)>,
    removed: Vec<String>,
    added: Vec<String>,
    /// Nothing in the environment decides about these.
    undecided: Vec<String>,
}

impl Truth {
    fn read(app: &Path) -> Self {
        let text = std::fs::read_to_string(app.join("truth.json")).unwrap();
        let value = json::parse(&text).unwrap();
        let list = |key: &str| value.get(key).and_then(Value::as_array).unwrap_or(&[]).to_vec();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Self {
            renames: list("renames")
                .iter()
                .map(|r| (text(r.get("from").unwrap()), text(r.get("to").unwrap())))
                .collect(),
            removed: list("removed").iter().map(text).collect(),
            added: list("added").iter().map(text).collect(),
            undecided: list("indistinguishable")
                .iter()
                .flat_map(|group| group.as_array().unwrap().iter().map(text))
                .chain(list("elsewhere").iter().map(text))
                .collect(),
        }
    }

    fn is_below(path: &str, prefixes: &[String]) -> bool {
        prefixes.iter().any(|prefix| {
            path.strip_prefix(prefix.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Where a construct is afterwards; `None` if it is gone.
    fn image(&self, path: &str) -> Option<String> {
        if Self::is_below(path, &self.removed) {
            return None;
        }
        self.renames
            .iter()
            .filter_map(|(from, to)| {
                let rest = path.strip_prefix(from.as_str())?;
                (rest.is_empty() || rest.starts_with('/'))
                    .then(|| (from.len(), format!("{to}{rest}")))
            })
            .max()
            .map_or_else(|| Some(path.to_owned()), |(_, image)| Some(image))
    }
}

/// Path → location and type of every resource with a path that can be matched at all.
fn resources(stacks: &[Stack]) -> BTreeMap<String, (Location, String)> {
    let mut resources = BTreeMap::new();
    for stack in stacks {
        for (id, body) in stack.template.resources() {
            let kind = body.get("Type").and_then(Value::as_str).unwrap();
            let path = body.get("Metadata").and_then(|metadata| metadata.get("aws:cdk:path"));
            let made_to_be_replaced =
                ["AWS::Lambda::Version", "AWS::ApiGateway::Deployment", "AWS::CDK::Metadata"];
            if let Some(path) = path.and_then(Value::as_str)
                && !made_to_be_replaced.contains(&kind)
            {
                let location = Location::new(stack.name.as_str(), id);
                resources.insert(path.to_owned(), (location, kind.to_owned()));
            }
        }
    }
    resources
}

/// The mappings that the truth asks for: what moved, but not what merely is in a nested stack
/// that moved.
fn expected(truth: &Truth, old: &[Stack], new: &[Stack]) -> BTreeSet<(Location, Location)> {
    let now = resources(new);
    let nested = |location: &Location| location.stack.as_str().contains('/');
    resources(old)
        .into_iter()
        .filter(|(path, _)| !Truth::is_below(path, &truth.undecided))
        .filter_map(|(path, (from, _))| Some((from, now.get(&truth.image(&path)?)?.0.clone())))
        .filter(|(from, to)| from != to)
        .filter(|(from, to)| !(nested(from) && nested(to) && from.logical_id == to.logical_id))
        .collect()
}

fn mapped(comparison: &Comparison) -> BTreeSet<(Location, Location)> {
    let pairs = comparison.mappings.iter();
    pairs.map(|m| (m.source.location.clone(), m.destination.location.clone())).collect()
}

#[test]
fn the_mappings_of_every_app_equal_the_truth() {
    let mut total = 0;
    for app in apps() {
        let truth = Truth::read(&app);
        let (before, after) = (environments(&app.join("before")), environments(&app.join("after")));
        for (environment, old) in &before {
            let empty = Vec::new();
            let new = after.get(environment).unwrap_or(&empty);
            let comparison = compare(environment, old, new, &Decisions::default()).unwrap();
            let expected = expected(&truth, old, new);
            let name = app.file_name().unwrap().to_string_lossy().into_owned();
            let (certain, doubtful): (BTreeSet<_>, BTreeSet<_>) =
                mapped(&comparison).into_iter().partition(|pair| expected.contains(pair));
            assert_eq!(certain, expected, "{name} in {environment}");
            for (from, to) in doubtful {
                let path = resources(old).into_iter().find(|(_, (at, _))| *at == from).unwrap().0;
                let image = truth.image(&path);
                let image = image.and_then(|image| Some(resources(new).get(&image)?.0.clone()));
                // What was removed here and added there with equal content is a move by RFC
                // 0162; that nothing else supports it is marked.
                let mut mappings = comparison.mappings.iter();
                let is_marked = mappings.any(|m| m.source.location == from && m.indistinct);
                if Truth::is_below(&path, &truth.removed) && is_marked {
                    continue;
                }
                assert!(
                    Truth::is_below(&path, &truth.undecided) && image == Some(to.clone()),
                    "{name}: {from} -> {to}: {comparison:#?}"
                );
            }
            total += expected.len();
            let asked = comparison.ambiguous.iter().flat_map(|question| &question.sources);
            for place in asked {
                let path = place.path.as_ref().unwrap().as_str();
                assert!(
                    Truth::is_below(path, &truth.undecided),
                    "{name}: {path} is asked for although the evidence decides"
                );
            }
            for unpaired in comparison.added.iter().filter(|unpaired| unpaired.excluded.is_none()) {
                let path = unpaired.place.path.as_ref().unwrap().as_str();
                let undecided: Vec<String> =
                    truth.undecided.iter().filter_map(|path| truth.image(path)).collect();
                assert!(
                    Truth::is_below(path, &truth.added) || Truth::is_below(path, &undecided),
                    "{name}: {path} was not added"
                );
            }
        }
    }
    assert!(total > 150, "{total} mappings");
}

#[test]
fn a_pure_refactoring_changes_nothing_but_names() {
    for name in ["wrap", "move", "rfc-0162", "vpc", "strong-references", "weak-references"] {
        let app = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/apps").join(name);
        let (before, after) = (environments(&app.join("before")), environments(&app.join("after")));
        for (environment, old) in &before {
            let new = &after[environment];
            let comparison = compare(environment, old, new, &Decisions::default()).unwrap();
            let changes = comparison.mappings.iter().flat_map(|mapping| &mapping.changes);
            let changes = changes.chain(comparison.changed.iter().flat_map(|c| &c.differences));
            for change in changes {
                assert!(change.name_only, "{name}: {change:?}");
            }
        }
    }
}
