//! `fixtures/releases`: the releases, and what is true of each.

#![expect(unreachable_pub, reason = "a part of a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cdkr::assembly::{self, Assembly, AssemblyStack, LoadOptions};
use cdkr::model::{Stack, Value};
use serde_json::Value as Json;

/// The first major version of the schema whose stages are selected by pattern.
const SELECTS_STAGES: u64 = 10;

/// A release of the framework.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// `js` or `python`.
    pub language: String,
    /// Its version.
    pub version: Vec<u32>,
    /// How the app was synthesized, unless as the release does by itself.
    pub variant: Option<String>,
}

pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/releases")
}

/// All releases: by language and version, a variant after the release itself.
pub fn releases() -> Vec<Release> {
    let entries = std::fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap());
    let names = entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name());
    let mut all: Vec<Release> = names.map(|name| Release::of(name.to_str().unwrap())).collect();
    all.sort();
    all
}

impl Release {
    pub fn of(name: &str) -> Self {
        let mut parts = name.splitn(3, '-');
        let language = parts.next().unwrap().to_owned();
        let version = parts.next().unwrap().split('.').map(|part| part.parse().unwrap()).collect();
        Self { language, version, variant: parts.next().map(str::to_owned) }
    }

    pub fn name(&self) -> String {
        let variant = self.variant.as_ref().map(|name| format!("-{name}")).unwrap_or_default();
        format!("{}-{}{variant}", self.language, self.number())
    }

    pub fn number(&self) -> String {
        let parts: Vec<String> = self.version.iter().map(ToString::to_string).collect();
        parts.join(".")
    }

    pub fn path(&self, side: &str) -> PathBuf {
        directory().join(self.name()).join(side)
    }

    pub fn load(&self, side: &str) -> Assembly {
        let path = self.path(side);
        let loaded = assembly::load(&path, &LoadOptions::default());
        loaded.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The release that an app comes from: the one before it in this language, for a variant the
    /// release itself.
    pub fn predecessor(&self, all: &[Self]) -> Option<Self> {
        let mut plain =
            all.iter().filter(|one| one.language == self.language && one.variant.is_none());
        let older = |one: &&Self| match self.variant {
            Some(_) => one.version == self.version,
            None => one.version < self.version,
        };
        plain.rfind(older).cloned()
    }

    /// What `truth.json` says: construct paths before, and afterwards.
    pub fn renames(&self) -> Vec<(String, String)> {
        let text = std::fs::read_to_string(directory().join(self.name()).join("truth.json"));
        let truth: Json = serde_json::from_str(&text.unwrap()).unwrap();
        let text = |rename: &Json, key: &str| rename[key].as_str().unwrap().to_owned();
        let renames = truth["renames"].as_array().unwrap().iter();
        renames.map(|rename| (text(rename, "from"), text(rename, "to"))).collect()
    }
}

/// Where resources are: construct path → `Stack.LogicalId`.
pub fn places<'a>(stacks: impl Iterator<Item = &'a Stack>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for stack in stacks {
        for (id, body) in stack.template.resources() {
            let path = body.get("Metadata").and_then(|metadata| metadata.get("aws:cdk:path"));
            if let Some(path) = path.and_then(Value::as_str) {
                found.insert(path.to_owned(), format!("{}.{id}", stack.name));
            }
        }
    }
    found
}

pub fn all_stacks(assembly: &Assembly) -> impl Iterator<Item = &Stack> {
    assembly.stacks.iter().flat_map(AssemblyStack::all)
}

/// What has to be found from one assembly to another: the places of what was renamed.
pub fn moves(
    before: &Assembly,
    after: &Assembly,
    renames: &[(String, String)],
) -> BTreeSet<(String, String)> {
    let (old, new) = (places(all_stacks(before)), places(all_stacks(after)));
    let mut expected = BTreeSet::new();
    for (path, from) in &old {
        let image = renames.iter().find_map(|(was, is)| {
            let rest = path.strip_prefix(was.as_str()).filter(|rest| rest.starts_with('/'))?;
            Some(format!("{is}{rest}"))
        });
        if let Some(to) = image.and_then(|image| new.get(&image)) {
            expected.insert((from.clone(), to.clone()));
        }
    }
    expected
}

/// Stacks that are deployed by one call: their assembly, and how to name them.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    /// Below the directory of the app; empty for the app itself.
    pub directory: PathBuf,
    pub patterns: Vec<String>,
}

/// How all stacks but some are deployed. Before schema 10 the stacks of a stage cannot be
/// selected: the assembly of the stage is an app of its own.
pub fn groups(assembly: &Assembly, without: &[&str]) -> Vec<Group> {
    let by_directory = |stack: &AssemblyStack| {
        let file = stack.properties.template_file.strip_prefix(&assembly.directory).unwrap();
        let stage = assembly.schema_major < SELECTS_STAGES;
        if stage { file.parent().unwrap().to_owned() } else { PathBuf::new() }
    };
    let mut found: Vec<Group> = Vec::new();
    for stack in &assembly.stacks {
        if without.contains(&stack.stack.name.as_str()) {
            continue;
        }
        let (directory, pattern) = (by_directory(stack), stack.hierarchical_id.clone());
        match found.iter_mut().find(|group| group.directory == directory) {
            Some(group) => group.patterns.push(pattern),
            None => found.push(Group { directory, patterns: vec![pattern] }),
        }
    }
    if without.is_empty() {
        for group in &mut found {
            group.patterns = vec!["**".to_owned()];
        }
    }
    found
}
