//! Which constructs belong to which stack.

use std::collections::{BTreeSet, HashMap};

use super::load::Pending;
use super::metadata::Entry;
use crate::model::ConstructPath;

/// A stack, nested or not, that takes the constructs below its own.
pub(super) struct Owner<'a> {
    /// The path of its construct.
    pub path: Option<&'a str>,
    /// The position of the stack that it is, or in which it is nested.
    pub stack: usize,
}

/// Returns the path of a stack's own construct. Since schema 12 it is the display name; before,
/// it has to be inferred from the metadata.
pub(super) fn stack_path(
    stack: &Pending,
    stage: Option<&str>,
    tree: &BTreeSet<String>,
) -> Option<String> {
    if let Some(name) = &stack.display_name
        && (tree.is_empty() || tree.contains(name))
    {
        return Some(name.clone());
    }
    let template = stack.properties.template_file.as_deref();
    let own = stack.metadata.entries().find(|(_, entry)| match entry {
        Entry::StackTags(_) | Entry::Asset { .. } => true,
        Entry::TemplateFile(file) => Some(file.as_str()) == template,
        _ => false,
    });
    if let Some((path, _)) = own {
        return Some(path.to_owned());
    }
    let first = stack.metadata.paths().next()?;
    let by_name = ancestors(first).find(|path| {
        let joined = path.replace('/', "-");
        joined == stack.artifact_id || joined == stack.name
    });
    // Stacks usually stand directly below the app or the stage.
    let depth = stage.map_or(0, |stage| stage.split('/').count());
    let path =
        by_name.or_else(|| ancestors(first).find(|path| path.split('/').count() == depth + 1));
    path.map(str::to_owned).or_else(|| stack.display_name.clone())
}

/// Returns a path and those of its ancestors, the path itself first.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(parent, _)| parent))
}

/// Gives every construct to the innermost stack that it is below. Stacks of which the tree
/// knows nothing take the constructs that their metadata mentions.
pub(super) fn distribute(
    owners: &[Owner<'_>],
    tree: BTreeSet<String>,
    stacks: &[Pending],
) -> Vec<Vec<ConstructPath>> {
    let mut by_path: HashMap<&str, usize> = HashMap::new();
    for (at, owner) in owners.iter().enumerate() {
        if let Some(path) = owner.path {
            by_path.entry(path).or_insert(at);
        }
    }
    let owner_of = |path: &str| ancestors(path).skip(1).find_map(|a| by_path.get(a).copied());
    let mut owned: Vec<Vec<ConstructPath>> = owners.iter().map(|_| Vec::new()).collect();
    let mut in_tree = vec![false; stacks.len()];
    for path in tree {
        if let Some(at) = owner_of(&path) {
            owned[at].push(path.as_str().into());
            in_tree[owners[at].stack] = true;
        }
    }
    for (stack, known) in stacks.iter().zip(in_tree) {
        let paths = if known { None } else { Some(stack.metadata.paths()) };
        for path in paths.into_iter().flatten() {
            if let Some(at) = owner_of(path) {
                owned[at].push(path.into());
            }
        }
    }
    owned
}
