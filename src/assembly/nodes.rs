//! The constructs of an app, from the tree and from the metadata.

use std::collections::HashMap;

use super::load::Pending;
use super::metadata::Entry;
use crate::model::{ConstructPath, TreeNode};

/// Returns every construct once. What the tree says goes before what the metadata of the stacks
/// say; a stage is what has a nested assembly, or a class that says so.
pub(super) fn merged(
    tree: Vec<TreeNode>,
    stacks: &[Pending],
    stages: &[Option<&str>],
) -> Vec<TreeNode> {
    let mut nodes = Nodes::default();
    let has_tree = !tree.is_empty();
    for node in tree {
        let known = nodes.at(&node.path);
        known.class = known.class.take().or(node.class);
        known.logical_id = known.logical_id.take().or(node.logical_id);
        known.is_stage |= node.is_stage;
    }
    for stack in stacks {
        for (path, entry) in stack.metadata.entries() {
            if let Entry::LogicalId(id) = entry {
                let known = nodes.at(&path.into());
                known.logical_id.get_or_insert_with(|| id.as_str().into());
            }
        }
    }
    for stage in stages.iter().flatten() {
        // What a manifest calls a stage need not be a path in very old assemblies.
        if !has_tree || nodes.by_path.contains_key(*stage) {
            nodes.at(&(*stage).into()).is_stage = true;
        }
    }
    nodes.list
}

#[derive(Default)]
struct Nodes {
    list: Vec<TreeNode>,
    by_path: HashMap<ConstructPath, usize>,
}

impl Nodes {
    fn at(&mut self, path: &ConstructPath) -> &mut TreeNode {
        let next = self.list.len();
        let at = *self.by_path.entry(path.clone()).or_insert(next);
        if at == next {
            self.list.push(TreeNode::new(path.as_str()));
        }
        &mut self.list[at]
    }
}
