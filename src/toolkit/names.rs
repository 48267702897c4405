//! What the resources of one side of an environment are called.

use std::collections::HashMap;

use crate::model::{Location, Pattern, Stack, closest};

/// Made by the CDK for its own statistics; nobody names it.
const CDK_METADATA: &str = "AWS::CDK::Metadata";

/// A resource with its names.
pub(super) struct Resource<'a> {
    pub(super) location: Location,
    /// The location as it is written.
    pub(super) text: String,
    pub(super) kind: &'a str,
    pub(super) path: Option<&'a str>,
}

impl Resource<'_> {
    /// Whether a pattern matches one of the names.
    pub(super) fn is_named_by(&self, pattern: &Pattern) -> bool {
        pattern.captures(&self.text).is_some()
            || self.path.is_some_and(|path| pattern.captures(path).is_some())
    }
}

/// The resources of one side by their names.
pub(super) struct Names<'a> {
    pub(super) resources: Vec<Resource<'a>>,
    by_location: HashMap<String, usize>,
    by_path: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Names<'a> {
    pub(super) fn new(stacks: &'a [Stack]) -> Self {
        let mut names =
            Self { resources: Vec::new(), by_location: HashMap::new(), by_path: HashMap::new() };
        for stack in stacks {
            for (id, body) in stack.template.resources() {
                let kind = body.get("Type").and_then(|kind| kind.as_str()).unwrap_or_default();
                if kind == CDK_METADATA {
                    continue;
                }
                let path = body.get("Metadata").and_then(|metadata| metadata.get("aws:cdk:path"));
                let path = path.and_then(|path| path.as_str());
                let location = Location::new(stack.name.as_str(), id);
                let (at, text) = (names.resources.len(), location.to_string());
                names.by_location.insert(text.clone(), at);
                if let Some(path) = path {
                    names.by_path.entry(path).or_default().push(at);
                }
                names.resources.push(Resource { location, text, kind, path });
            }
        }
        names
    }

    /// Returns what a location or a path names: with a path exactly the resource that has it, or
    /// the default child of the construct.
    pub(super) fn find(&self, name: &str) -> Vec<usize> {
        if let Some(at) = self.by_location.get(name) {
            return vec![*at];
        }
        if let Some(found) = self.by_path.get(name) {
            return found.clone();
        }
        let children = ["Resource", "Default"].map(|child| format!("{name}/{child}"));
        children
            .iter()
            .filter_map(|path| self.by_path.get(path.as_str()))
            .flatten()
            .copied()
            .collect()
    }

    /// Returns the resource that a name means, if it is one.
    pub(super) fn one(&self, name: &str) -> Option<usize> {
        match self.find(name).as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }

    /// Whether a name is that of a construct with resources in it.
    pub(super) fn is_construct(&self, name: &str) -> bool {
        let is_below =
            |path: &str| path.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
        self.by_path.keys().any(|path| is_below(path))
    }

    /// Whether anything is there of the stack that a name begins with.
    pub(super) fn has_stack_of(&self, name: &str) -> bool {
        let stack = name.split_once('.').map_or(name, |(stack, _)| stack);
        let first = name.split('/').next().unwrap_or(name);
        self.resources.iter().any(|one| {
            let root = one.path.and_then(|path| path.split('/').next());
            one.location.stack.as_str() == stack || root == Some(first)
        })
    }

    /// Returns the name that somebody may have meant.
    pub(super) fn closest(&self, name: &str) -> Option<String> {
        let locations = self.resources.iter().map(|one| one.text.as_str());
        let paths = self.resources.iter().filter_map(|one| one.path).flat_map(|path| {
            let construct =
                path.strip_suffix("/Resource").or_else(|| path.strip_suffix("/Default"));
            [construct.unwrap_or(path), path]
        });
        let found = if name.contains('/') {
            closest(name, paths.chain(locations))
        } else {
            closest(name, locations)
        };
        found.map(str::to_owned)
    }
}
