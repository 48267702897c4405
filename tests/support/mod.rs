//! Reads the committed corpus of constructs (`fixtures/corpus`, see `fixtures/README.md`).

#![expect(clippy::unwrap_used, reason = "a broken fixture fails the test")]
#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    reason = "each test uses its part of this"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use cdkr::compare::{Comparison, Decisions, compare};
use cdkr::model::{Environment, Location, Object, Stack, Value};
use cdkr::template;

/// One situation of a construct: the stacks of an app, and all constructs in the order of
/// creation.
pub struct Variant {
    pub stacks: Vec<Stack>,
    pub constructs: Vec<String>,
}

impl Construct {
    /// Returns two variants, if this construct has both.
    pub fn situation(&self, before: &str, after: &str) -> Option<(&Variant, &Variant)> {
        Some((self.variants.get(before)?, self.variants.get(after)?))
    }
}

/// A construct in all its situations.
pub struct Construct {
    pub name: String,
    pub variants: BTreeMap<String, Variant>,
}

pub fn environment() -> Environment {
    Environment::new("111111111111", "us-east-1")
}

/// Reads all constructs, or those that the environment variable `CORPUS` names.
pub fn corpus() -> Vec<Construct> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/corpus");
    let only = std::env::var("CORPUS").ok();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
        .into_iter()
        .filter(|file| {
            let stem = file.file_stem().unwrap().to_str().unwrap();
            only.as_ref().is_none_or(|only| only.split(',').any(|name| name == stem))
        })
        .map(|file| {
            let text = std::fs::read_to_string(&file).unwrap();
            let value = template::json::parse(&text).unwrap();
            let variants = value.get("variants").unwrap().as_object().unwrap();
            Construct {
                name: file.file_stem().unwrap().to_str().unwrap().to_owned(),
                variants: variants.iter().map(|(name, v)| (name.to_string(), variant(v))).collect(),
            }
        })
        .collect()
}

fn variant(value: &Value) -> Variant {
    let object = |key: &str| value.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
    let nested = object("nested");
    let constructs: Vec<String> = value
        .get("constructs")
        .and_then(Value::as_array)
        .unwrap()
        .iter()
        .map(|path| path.as_str().unwrap().to_owned())
        .collect();
    let mut stacks = Vec::new();
    for (name, body) in object("stacks").iter() {
        let mut stack = Stack::new(name, template::check(body.clone()).unwrap());
        stack.constructs = constructs
            .iter()
            .filter(|path| path.split('/').next() == Some(name))
            .map(|path| path.as_str().into())
            .collect();
        push_nested(stack, &nested, &mut stacks);
    }
    Variant { stacks, constructs }
}

fn push_nested(stack: Stack, nested: &Object, stacks: &mut Vec<Stack>) {
    let mut children = Vec::new();
    for (id, body) in stack.template.resources() {
        let file = body.get("Metadata").and_then(|metadata| metadata.get("aws:asset:path"));
        let Some(template) = file.and_then(Value::as_str).and_then(|file| nested.get(file)) else {
            continue;
        };
        let name = format!("{}/{id}", stack.name);
        let mut child = Stack::new(&name, template::check(template.clone()).unwrap());
        child.parent = Some(Location::new(stack.name.as_str(), id));
        children.push(child);
    }
    stacks.push(stack);
    for child in children {
        push_nested(child, nested, stacks);
    }
}

impl Variant {
    /// Every resource with a path: path → location and type.
    pub fn resources(&self) -> BTreeMap<String, Vec<(Location, String)>> {
        let mut resources: BTreeMap<String, Vec<(Location, String)>> = BTreeMap::new();
        for stack in &self.stacks {
            for (id, body) in stack.template.resources() {
                let kind = body.get("Type").and_then(Value::as_str).unwrap().to_owned();
                let path = body.get("Metadata").and_then(|metadata| metadata.get("aws:cdk:path"));
                if let Some(path) = path.and_then(Value::as_str) {
                    let location = Location::new(stack.name.as_str(), id);
                    resources.entry(path.to_owned()).or_default().push((location, kind));
                }
            }
        }
        resources
    }

    /// The constructs that count for the truth by position.
    fn rows(&self) -> Vec<&str> {
        let helper = |path: &str| {
            let parts: Vec<&str> = path.split('/').collect();
            let moved = ["Parent", "Box"];
            parts.len() == 1
                || parts[1] == "Keep"
                || (parts.len() == 2 && moved.contains(&parts[1]))
        };
        self.constructs.iter().map(String::as_str).filter(|path| !helper(path)).collect()
    }
}

/// Where every resource of `before` is in `after`: old location → new location, with the type.
pub fn truth(before: &Variant, after: &Variant) -> BTreeMap<Location, (Location, String)> {
    let (was, is) = (before.rows(), after.rows());
    assert_eq!(was.len(), is.len());
    let mut renamed: BTreeMap<&str, &str> = was.into_iter().zip(is).collect();
    for path in &before.constructs {
        renamed.entry(path).or_insert(path);
    }
    let (old, new) = (before.resources(), after.resources());
    let mut truth = BTreeMap::new();
    for (path, resources) in &old {
        let Some(there) = renamed.get(path.as_str()).and_then(|path| new.get(*path)) else {
            continue;
        };
        if let ([(from, kind)], [(to, _)]) = (resources.as_slice(), there.as_slice()) {
            truth.insert(from.clone(), (to.clone(), kind.clone()));
        }
    }
    truth
}

pub fn compare_variants(before: &Variant, after: &Variant) -> Comparison {
    compare(&environment(), &before.stacks, &after.stacks, &Decisions::default()).unwrap()
}

/// How a comparison relates to the truth.
#[derive(Default, Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub right: usize,
    pub wrong: Vec<String>,
    pub missing: Vec<String>,
}

/// Compares the mappings with the truth. What is in a nested stack that moves with it has not
/// moved.
pub fn judge(comparison: &Comparison, truth: &BTreeMap<Location, (Location, String)>) -> Verdict {
    let mut verdict = Verdict::default();
    let mut mapped = BTreeSet::new();
    for mapping in &comparison.mappings {
        mapped.insert(mapping.source.location.clone());
        match truth.get(&mapping.source.location) {
            Some((to, _)) if *to == mapping.destination.location => verdict.right += 1,
            other => verdict.wrong.push(format!(
                "{} -> {} (true: {:?}, {:?})",
                mapping.source.location, mapping.destination.location, other, mapping.evidence
            )),
        }
    }
    let replaced = ["AWS::Lambda::Version", "AWS::ApiGateway::Deployment", "AWS::CDK::Metadata"];
    let nested = |location: &Location| location.stack.as_str().contains('/');
    for (from, (to, kind)) in truth {
        let stays = from == to
            || replaced.contains(&kind.as_str())
            || (nested(from) && nested(to) && from.logical_id == to.logical_id);
        if !stays && !mapped.contains(from) {
            verdict.missing.push(format!("{kind} {from} -> {to}"));
        }
    }
    verdict
}
