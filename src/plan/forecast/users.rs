//! Who uses which outputs of other stacks.

use std::collections::{BTreeMap, BTreeSet};

use super::evaluate::{Reader, Universe, export_name};
use super::pair::Pair;
use crate::model::{Object, Text, Value};
use crate::template::{self, Reference};

/// An output as others know it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Output {
    /// By the name of its export.
    Export(String),
    /// By the name of its stack and its key.
    Read {
        /// The stack, as it is called here.
        stack: String,
        /// The key.
        key: String,
    },
}

impl Output {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Export(name) => name,
            Self::Read { key, .. } => key,
        }
    }

    /// As the beginning of a sentence.
    pub(super) fn described(&self) -> String {
        match self {
            Self::Export(name) => format!("The export `{name}`"),
            Self::Read { key, .. } => format!("The output `{key}`"),
        }
    }
}

/// Outputs and those that use them.
pub(super) struct Users {
    /// The names of the stacks that use an output now, as CloudFormation has them.
    now: BTreeMap<Output, BTreeSet<String>>,
    /// What each deployed stack publishes, with the key.
    published: Vec<BTreeMap<Output, Text>>,
    /// What each stack of the new side uses.
    new: Vec<BTreeSet<Output>>,
}

impl Users {
    pub(super) fn new(pair: &Pair<'_>) -> Self {
        let mut now: BTreeMap<Output, BTreeSet<String>> = BTreeMap::new();
        let mut published = Vec::new();
        for (at, site) in pair.old.sites.iter().enumerate() {
            let user = site.own_name().unwrap_or(site.name);
            for output in uses_of(&pair.before(), at) {
                now.entry(output).or_default().insert(user.to_owned());
            }
            for export in site.now.into_iter().flat_map(|now| &now.exports) {
                let importers = export.importers.iter().map(ToString::to_string);
                now.entry(Output::Export(export.name.to_string())).or_default().extend(importers);
            }
            published.push(published_by(&pair.old, &pair.before(), at));
        }
        let sites = 0..pair.new.sites.len();
        let new = sites.map(|at| uses_of(&pair.after(), at).into_iter().collect()).collect();
        Self { now, published, new }
    }

    /// Returns the outputs of a deployed stack that somebody uses, sorted.
    pub(super) fn outputs_of(&self, old: usize) -> Vec<Output> {
        self.published[old]
            .keys()
            .filter(|output| self.now.contains_key(*output))
            .cloned()
            .collect()
    }

    /// Returns the stacks that use an output, by the names that CloudFormation has for them.
    pub(super) fn of(&self, output: &Output) -> &BTreeSet<String> {
        static NOBODY: BTreeSet<String> = BTreeSet::new();
        self.now.get(output).unwrap_or(&NOBODY)
    }

    /// Returns the key of the output by which a deployed stack exports a name.
    pub(super) fn key_of(&self, old: usize, name: &str) -> Option<&Text> {
        self.published[old].get(&Output::Export(name.to_owned()))
    }

    /// Whether a stack of the new side uses an output.
    pub(super) fn new_uses(&self, at: usize, output: &Output) -> bool {
        self.new[at].contains(output)
    }

    /// Returns what a piece of a deployed template uses of other stacks.
    #[expect(clippy::unused_self, reason = "belongs to the users")]
    pub(super) fn uses_in(&self, pair: &Pair<'_>, old: usize, value: &Value) -> Vec<Output> {
        uses(&pair.before(), old, value)
    }
}

/// What a stack uses of others. What is not there for its condition uses nothing.
fn uses_of(reader: &Reader<'_, '_>, at: usize) -> Vec<Output> {
    let template = reader.universe.sites[at].template;
    let sections = ["Resources", "Outputs"].into_iter().filter_map(|name| template.section(name));
    let bodies = sections.flat_map(Object::iter).map(|(_, body)| body);
    let is_there = |body: &&Value| {
        body.as_object().is_none_or(|body| reader.is_active(at, body) != Some(false))
    };
    bodies.filter(is_there).flat_map(|body| uses(reader, at, body)).collect()
}

fn uses(reader: &Reader<'_, '_>, at: usize, value: &Value) -> Vec<Output> {
    let mut found = Vec::new();
    template::visit(value, &mut |reference| match reference {
        Reference::Import(name) => {
            let name = reader.value(at, name);
            let name = name.as_ref().and_then(|name| name.known().map(str::to_owned));
            found.extend(name.map(Output::Export));
        }
        Reference::StackOutput(_, _, arguments) => {
            let arguments = Value::Object(arguments.clone());
            if let Some((stack, key)) = reader.stack_output_of(at, &arguments) {
                let stack = reader.universe.sites[stack].name.to_owned();
                found.push(Output::Read { stack, key: key.to_owned() });
            }
        }
        _ => {}
    });
    found
}

/// Returns the names that a stack imports.
pub(super) fn imports_of(reader: &Reader<'_, '_>, at: usize) -> Vec<String> {
    let all = uses_of(reader, at);
    let names = all.into_iter().filter_map(|output| match output {
        Output::Export(name) => Some(name),
        Output::Read { .. } => None,
    });
    names.collect()
}

/// What a deployed stack publishes. Every output can be read.
fn published_by(
    universe: &Universe<'_>,
    reader: &Reader<'_, '_>,
    at: usize,
) -> BTreeMap<Output, Text> {
    let site = &universe.sites[at];
    let mut published = BTreeMap::new();
    for (key, output) in site.template.section("Outputs").into_iter().flat_map(Object::iter) {
        let body = output.as_object();
        if body.is_none_or(|body| reader.is_active(at, body) == Some(false)) {
            continue;
        }
        let read = Output::Read { stack: site.name.to_owned(), key: key.to_string() };
        published.insert(read, key.clone());
        let name = export_name(reader, at, output);
        published.extend(name.map(|name| (Output::Export(name), key.clone())));
    }
    published
}
