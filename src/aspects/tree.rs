//! The construct tree with the aspects that are applied to it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::priority::Priority;
use crate::model::{ConstructPath, Location, ResourceType, Text};

/// Something that is done at every construct of a scope. `S` is what the aspects of a tree work
/// on.
pub trait Aspect<S>: Send + Sync {
    /// What people know the aspect by.
    fn name(&self) -> &str;

    /// Visits a construct. More constructs and aspects may be added meanwhile.
    fn visit(&self, visit: &mut Visit<'_, S>);
}

/// A construct as aspects see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Construct {
    /// Where it is, without the root, whose own path is empty.
    pub path: ConstructPath,
    /// The class that the framework knows it by, if the tree says so.
    pub class: Option<Text>,
    /// Its resource, if it has one, with the type.
    pub resource: Option<(Location, ResourceType)>,
    /// Whether it is a stage: aspects from without do not come in.
    pub is_stage: bool,
}

impl Construct {
    /// Returns a construct of which only the path is known.
    pub fn new(path: &str) -> Self {
        Self { path: path.into(), class: None, resource: None, is_stage: false }
    }
}

/// An aspect at the construct to which it was added.
pub(super) struct Application<S> {
    pub(super) node: usize,
    pub(super) aspect: Arc<dyn Aspect<S>>,
    pub(super) priority: Priority,
}

pub(super) struct Node {
    pub(super) construct: Construct,
    pub(super) parent: Option<usize>,
    pub(super) children: Vec<usize>,
    /// The applications of this construct in the order in which they were added.
    pub(super) applied: Vec<usize>,
    /// The applications that have visited it, in that order.
    pub(super) invoked: Vec<usize>,
}

/// A construct tree. The path of its root is the prefix of all others: empty for an app.
pub struct Tree<S> {
    pub(super) nodes: Vec<Node>,
    pub(super) by_path: HashMap<ConstructPath, usize>,
    pub(super) applications: Vec<Application<S>>,
    /// Counts the changes to the set of applications.
    pub(super) revision: u64,
}

/// Why a tree cannot be changed so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// The path is not below the root.
    #[error("the construct `{path}` is not below `{root}`")]
    Outside {
        /// The path.
        path: ConstructPath,
        /// The path of the root.
        root: ConstructPath,
    },
    /// There is no such construct.
    #[error("there is no construct `{0}`")]
    UnknownConstruct(ConstructPath),
    /// The aspect is not applied to this construct.
    #[error("the aspect `{aspect}` is not applied to `{construct}`")]
    UnknownAspect {
        /// Its name.
        aspect: String,
        /// The construct.
        construct: ConstructPath,
    },
    /// The framework says so in these words.
    #[error("Priority must be a non-negative number")]
    NegativePriority,
}

impl<S> Tree<S> {
    /// Returns a tree of nothing but a root.
    pub fn new(root: &str) -> Self {
        let mut tree = Self {
            nodes: Vec::new(),
            by_path: HashMap::new(),
            applications: Vec::new(),
            revision: 0,
        };
        tree.push(Construct::new(root), None);
        tree
    }

    fn push(&mut self, construct: Construct, parent: Option<usize>) -> usize {
        let at = self.nodes.len();
        self.by_path.insert(construct.path.clone(), at);
        let (children, applied, invoked) = (Vec::new(), Vec::new(), Vec::new());
        self.nodes.push(Node { construct, parent, children, applied, invoked });
        if let Some(parent) = parent {
            self.nodes[parent].children.push(at);
        }
        at
    }

    /// Adds a construct behind its siblings, and the ones around it that are missing. One that
    /// is there already learns what it did not know.
    ///
    /// # Errors
    /// When its path is not below the root.
    pub fn add(&mut self, construct: Construct) -> Result<(), TreeError> {
        let at = self.ensure(&construct.path)?;
        let known = &mut self.nodes[at].construct;
        known.class = known.class.take().or(construct.class);
        known.resource = known.resource.take().or(construct.resource);
        known.is_stage |= construct.is_stage;
        Ok(())
    }

    /// Returns the number of a construct, adding it and those around it if necessary.
    fn ensure(&mut self, path: &ConstructPath) -> Result<usize, TreeError> {
        let mut missing = Vec::new();
        let mut rest = path.as_str();
        let mut at = loop {
            if let Some(at) = self.by_path.get(rest) {
                break *at;
            }
            missing.push(rest);
            rest = match rest.rsplit_once('/') {
                Some((parent, _)) => parent,
                None if rest.is_empty() => return Err(self.outside(path)),
                None => "",
            };
        };
        for path in missing.into_iter().rev() {
            at = self.push(Construct::new(path), Some(at));
        }
        Ok(at)
    }

    fn outside(&self, path: &ConstructPath) -> TreeError {
        TreeError::Outside { path: path.clone(), root: self.nodes[0].construct.path.clone() }
    }

    /// Returns a construct.
    pub fn construct(&self, path: &str) -> Option<&Construct> {
        self.by_path.get(path).map(|at| &self.nodes[*at].construct)
    }

    /// Returns all constructs in the order in which they were added.
    pub fn constructs(&self) -> impl Iterator<Item = &Construct> {
        self.nodes.iter().map(|node| &node.construct)
    }

    /// Returns the construct of this number and those around it, the innermost first.
    pub(super) fn around(&self, node: usize) -> impl Iterator<Item = &Construct> {
        std::iter::successors(Some(node), |at| self.nodes[*at].parent)
            .map(|at| &self.nodes[at].construct)
    }
}

impl<S> fmt::Debug for Tree<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.constructs().map(|construct| &construct.path)).finish()
    }
}

/// The aspects of one construct.
pub struct Aspects<'t, S> {
    tree: &'t mut Tree<S>,
    node: usize,
}

/// An aspect that is applied to a construct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The name of the aspect.
    pub aspect: String,
    /// Its priority.
    pub priority: Priority,
    /// The construct to which it was added.
    pub construct: ConstructPath,
}

impl<'t, S> Aspects<'t, S> {
    /// Returns the aspects of the construct at a path.
    ///
    /// # Errors
    /// When there is no such construct.
    pub fn of(tree: &'t mut Tree<S>, path: &str) -> Result<Self, TreeError> {
        match tree.by_path.get(path) {
            Some(&node) => Ok(Self { tree, node }),
            None => Err(TreeError::UnknownConstruct(path.into())),
        }
    }

    /// Adds an aspect; without a priority it is [`Priority::DEFAULT`]. The same one with the same
    /// priority is not added twice.
    pub fn add(&mut self, aspect: Arc<dyn Aspect<S>>, priority: Option<Priority>) -> &mut Self {
        let priority = priority.unwrap_or(Priority::DEFAULT);
        let applications = &self.tree.applications;
        let is_there = self.tree.nodes[self.node].applied.iter().any(|at| {
            applications[*at].priority == priority && is_same(&applications[*at].aspect, &aspect)
        });
        if !is_there {
            let at = applications.len();
            self.tree.applications.push(Application { node: self.node, aspect, priority });
            self.tree.nodes[self.node].applied.push(at);
            self.tree.revision += 1;
        }
        self
    }

    /// Returns what was added to this construct, in that order.
    pub fn applied(&self) -> Vec<Applied> {
        let node = &self.tree.nodes[self.node];
        let applied = |at: &usize| {
            let application = &self.tree.applications[*at];
            Applied {
                aspect: application.aspect.name().to_owned(),
                priority: application.priority,
                construct: node.construct.path.clone(),
            }
        };
        node.applied.iter().map(applied).collect()
    }

    /// Gives another priority to the aspects of this name, whoever added them.
    ///
    /// # Errors
    /// When the priority is negative, or no aspect of this name was added to this construct.
    pub fn set_priority(
        &mut self,
        aspect: &str,
        priority: Priority,
    ) -> Result<&mut Self, TreeError> {
        if priority.is_negative() {
            return Err(TreeError::NegativePriority);
        }
        let node = &self.tree.nodes[self.node];
        let mut found = false;
        for at in &node.applied {
            let application = &mut self.tree.applications[*at];
            if application.aspect.name() == aspect {
                application.priority = priority;
                found = true;
            }
        }
        if !found {
            let (aspect, construct) = (aspect.to_owned(), node.construct.path.clone());
            return Err(TreeError::UnknownAspect { aspect, construct });
        }
        self.tree.revision += 1;
        Ok(self)
    }
}

/// Whether two are one and the same aspect, not just equal ones.
pub(super) fn is_same<S>(left: &Arc<dyn Aspect<S>>, right: &Arc<dyn Aspect<S>>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(left), Arc::as_ptr(right))
}

/// A visit of an aspect to a construct.
pub struct Visit<'t, S> {
    /// What the aspects of the tree work on.
    pub state: &'t mut S,
    pub(super) tree: &'t mut Tree<S>,
    pub(super) node: usize,
}

impl<S> Visit<'_, S> {
    /// Returns the construct that is visited.
    pub fn construct(&self) -> &Construct {
        &self.tree.nodes[self.node].construct
    }

    /// Returns the construct that is visited and those around it, the innermost first.
    pub fn around(&self) -> impl Iterator<Item = &Construct> {
        self.tree.around(self.node)
    }

    /// Returns the tree, to be asked or changed.
    pub fn tree(&mut self) -> &mut Tree<S> {
        self.tree
    }
}
