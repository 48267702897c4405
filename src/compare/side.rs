//! One side of the comparison as a graph: resources, what they refer to, who refers to them.

use rustc_hash::FxHashMap as HashMap;

use super::CompareError;
use super::decisions::Literal;
use super::digest::{Digest, combine, identity};
use super::names::unique_id;
use super::scope::{NodeId, Scope};
use super::skeleton::{Reading, Skeleton, Walker};
use crate::model::{Environment, Location, Object, Stack, Text, Value};

/// Made by the CDK for its own statistics; a deployment manages it by itself.
const CDK_METADATA: &str = "AWS::CDK::Metadata";

/// The place of a `DependsOn` among the doors through which one resource refers to another.
pub(super) const DEPENDS_ON: u64 = 1;

/// A resource.
pub(super) struct Node<'a> {
    pub(super) stack: usize,
    pub(super) logical_id: &'a Text,
    pub(super) body: &'a Object,
    pub(super) kind: &'a str,
    pub(super) path: Option<&'a str>,
    pub(super) skeleton: Skeleton,
    /// The resources of the nested stack that this one makes.
    pub(super) children: Vec<NodeId>,
    /// Serves custom resources, or belongs to something that does.
    pub(super) is_provider: bool,
    /// The metadata key by which the app says that it is made to be replaced.
    pub(super) mark: Option<&'static str>,
    /// Why it is never matched, if so.
    pub(super) excluded: Option<String>,
    /// The skip entry that names it: where it was said.
    pub(super) skipped_by: Option<String>,
}

/// All resources of one side, ordered by stack name and logical ID.
pub(super) struct Side<'a> {
    pub(super) scope: Scope<'a>,
    pub(super) nodes: Vec<Node<'a>>,
    /// For each resource who refers to it, and through which door.
    referrers: Referrers,
    /// How many components the path of each stack's construct has.
    pub(super) stack_components: Vec<usize>,
    /// The resources, each after all that it refers to.
    order: Vec<NodeId>,
}

impl<'a> Side<'a> {
    /// Reads the stacks of one side.
    pub(super) fn new(
        environment: &'a Environment,
        stacks: &'a [Stack],
        (folds, literal): (bool, Literal),
    ) -> Result<Self, CompareError> {
        let mut stacks: Vec<&Stack> = stacks.iter().collect();
        stacks.sort_by(|left, right| left.name.cmp(&right.name));
        if let Some(pair) = stacks.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(CompareError::DuplicateStack(pair[0].name.clone()));
        }
        let mut listed: Vec<(usize, &'a Text, &'a Object)> = Vec::new();
        let mut resources = Vec::with_capacity(stacks.len());
        for (at, stack) in stacks.iter().enumerate() {
            let mut own: Vec<_> = stack
                .template
                .resources()
                .filter(|(_, body)| kind_of(body) != CDK_METADATA)
                .collect();
            own.sort_unstable_by_key(|(id, _)| *id);
            let mut index = HashMap::with_capacity_and_hasher(own.len(), rustc_hash::FxBuildHasher);
            for (id, body) in own {
                index.insert(id.as_str(), number(listed.len()));
                listed.push((at, id, body));
            }
            resources.push(index);
        }
        let mut scope = Scope::new((environment, folds), &stacks, resources);
        scope.literal = literal;
        let mut nodes = Vec::with_capacity(listed.len());
        let mut walker = Walker::new(&scope, Reading::Exact);
        for (stack, logical_id, body) in listed {
            let skeleton = walker.resource(stack, logical_id, body).map_err(|error| {
                error.at(&Location::new(scope.stacks[stack].stack.name.as_str(), logical_id))
            })?;
            nodes.push(Node {
                stack,
                logical_id,
                body,
                kind: kind_of(body),
                path: path_of(body),
                mark: mark_of(body),
                skeleton,
                children: scope.children(stack, logical_id),
                is_provider: false,
                excluded: None,
                skipped_by: None,
            });
        }
        let referrers = Referrers::new(&nodes);
        let stack_components = (0..stacks.len()).map(|at| stack_components(&nodes, at)).collect();
        let mut side = Self { scope, nodes, referrers, stack_components, order: Vec::new() };
        side.order = side.dependency_order()?;
        side.mark_providers();
        Ok(side)
    }

    /// Returns the resource with this number.
    pub(super) fn node(&self, id: NodeId) -> &Node<'a> {
        &self.nodes[id as usize]
    }

    /// Returns the numbers of all resources.
    pub(super) fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        0..number(self.nodes.len())
    }

    /// Returns where a resource is.
    pub(super) fn location(&self, id: NodeId) -> Location {
        let node = self.node(id);
        Location::new(self.stack_name(id), node.logical_id)
    }

    /// Returns the name of a resource's stack.
    pub(super) fn stack_name(&self, id: NodeId) -> &'a str {
        self.scope.stacks[self.node(id).stack].stack.name.as_str()
    }

    /// Returns the resource at a location.
    pub(super) fn at(&self, location: &Location) -> Option<NodeId> {
        self.in_stack(self.stack(location.stack.as_str())?, location.logical_id.as_str())
    }

    /// Returns the number of the stack with a name.
    pub(super) fn stack(&self, name: &str) -> Option<usize> {
        self.scope.stacks.binary_search_by(|scope| scope.stack.name.as_str().cmp(name)).ok()
    }

    /// Returns the resource with a logical ID in a stack.
    pub(super) fn in_stack(&self, stack: usize, logical_id: &str) -> Option<NodeId> {
        self.scope.stacks[stack].resources.get(logical_id).copied()
    }

    /// Returns the digest of every resource, given its skeleton (exact or loose; `None` if it
    /// was not walked) and the number of its pair, if it has one already.
    pub(super) fn digests<'s>(
        &self,
        skeleton: impl Fn(NodeId) -> Option<&'s Skeleton>,
        pair: &[Option<usize>],
    ) -> Vec<Digest> {
        let mut digests = vec![[0; 32]; self.nodes.len()];
        for &id in &self.order {
            digests[id as usize] = match (pair[id as usize], skeleton(id)) {
                (Some(pair), _) => identity(pair),
                (None, Some(skeleton)) => self.combine(id, skeleton, &digests),
                // Not walked in this reading: nothing else can be equal to it.
                (None, None) => self.combine(id, &self.node(id).skeleton, &digests),
            };
        }
        digests
    }

    /// Returns the digest of a resource's content, given the digests of the others.
    pub(super) fn combine(&self, id: NodeId, skeleton: &Skeleton, digests: &[Digest]) -> Digest {
        let of = |id: &NodeId| digests[*id as usize];
        let mut depends_on: Vec<Digest> = skeleton.depends_on.iter().map(of).collect();
        let mut children: Vec<Digest> = self.node(id).children.iter().map(of).collect();
        let references = skeleton.slots.iter().map(|slot| of(&slot.target));
        if self.scope.literal.depends_on {
            let all = references.chain(std::mem::take(&mut depends_on));
            return combine(&skeleton.hash, all, &mut [], &mut children);
        }
        combine(&skeleton.hash, references, &mut depends_on, &mut children)
    }

    /// Returns who refers to a resource, and through which doors.
    pub(super) fn referrers(&self, id: NodeId) -> &[(NodeId, u64)] {
        let Referrers { starts, all } = &self.referrers;
        &all[starts[id as usize]..starts[id as usize + 1]]
    }

    /// Returns all resources that one refers to.
    pub(super) fn targets(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        let node = self.node(id);
        let slots = node.skeleton.slots.iter().map(|slot| slot.target);
        slots.chain(node.skeleton.depends_on.iter().copied()).chain(node.children.iter().copied())
    }

    /// Orders the resources so that each comes after all that it refers to.
    fn dependency_order(&self) -> Result<Vec<NodeId>, CompareError> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; self.nodes.len()];
        let mut order = Vec::with_capacity(self.nodes.len());
        for root in self.ids() {
            if marks[root as usize] != Mark::New {
                continue;
            }
            marks[root as usize] = Mark::Open;
            let mut path: Vec<(NodeId, Vec<NodeId>)> = vec![(root, self.targets(root).collect())];
            while let Some((id, pending)) = path.last_mut() {
                let Some(next) = pending.pop() else {
                    marks[*id as usize] = Mark::Done;
                    order.push(*id);
                    path.pop();
                    continue;
                };
                match marks[next as usize] {
                    Mark::Done => {}
                    Mark::New => {
                        marks[next as usize] = Mark::Open;
                        path.push((next, self.targets(next).collect()));
                    }
                    Mark::Open => {
                        let start = path.iter().position(|(id, _)| *id == next).unwrap_or(0);
                        let members = path[start..].iter().map(|(id, _)| self.location(*id));
                        return Err(CompareError::Cycle(members.collect()));
                    }
                }
            }
        }
        Ok(order)
    }

    /// Marks what is in a `ServiceToken`, the roles of that, and the policies of those roles.
    fn mark_providers(&mut self) {
        let mut providers: Vec<NodeId> = Vec::new();
        for node in &self.nodes {
            providers.extend(&node.skeleton.service_tokens);
        }
        providers.sort_unstable();
        providers.dedup();
        let roles: Vec<NodeId> = providers
            .iter()
            .flat_map(|id| self.targets(*id))
            .filter(|id| self.node(*id).kind == "AWS::IAM::Role")
            .collect();
        let policies: Vec<NodeId> = roles
            .iter()
            .flat_map(|role| self.referrers(*role))
            .map(|(id, _)| *id)
            .filter(|id| self.node(*id).kind == "AWS::IAM::Policy")
            .collect();
        for id in providers.into_iter().chain(roles).chain(policies) {
            self.nodes[id as usize].is_provider = true;
        }
    }
}

impl Scope<'_> {
    fn children(&self, stack: usize, logical_id: &str) -> Vec<NodeId> {
        let Some(nested) = self.nested(stack, logical_id) else { return Vec::new() };
        let mut children: Vec<NodeId> = self.stacks[nested].resources.values().copied().collect();
        children.sort_unstable();
        children
    }
}

/// Resources are counted in 32 bits: four thousand million are more than any environment holds,
/// and more than fit in memory as text.
fn number(count: usize) -> NodeId {
    NodeId::try_from(count).unwrap_or(NodeId::MAX)
}

fn kind_of(body: &Object) -> &str {
    body.get("Type").and_then(Value::as_str).unwrap_or_default()
}

/// Keys that mark what is made to be replaced: the framework writes the first one.
const MARKS: [&str; 2] = ["aws:cdk:do-not-refactor", "aws:cdk:skip-refactor"];

fn mark_of(body: &Object) -> Option<&'static str> {
    let metadata = body.get("Metadata")?;
    MARKS
        .into_iter()
        .find(|key| metadata.get(key).is_some_and(|value| *value != Value::Bool(false)))
}

fn path_of(body: &Object) -> Option<&str> {
    body.get("Metadata")?.get("aws:cdk:path")?.as_str()
}

/// Who refers to each resource, one after the other.
struct Referrers {
    /// Where the referrers of a resource start; one more at the end.
    starts: Vec<usize>,
    all: Vec<(NodeId, u64)>,
}

impl Referrers {
    fn new(nodes: &[Node<'_>]) -> Self {
        let mut references = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            let slots = node.skeleton.slots.iter().map(|slot| (slot.target, slot.place));
            let depends_on = node.skeleton.depends_on.iter().map(|target| (*target, DEPENDS_ON));
            let from = number(at);
            references.extend(slots.chain(depends_on).map(|(to, place)| (to, from, place)));
        }
        let mut starts = vec![0; nodes.len() + 1];
        for (to, ..) in &references {
            starts[*to as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut all = vec![(0, 0); references.len()];
        for (to, from, place) in references {
            all[next[to as usize]] = (from, place);
            next[to as usize] += 1;
        }
        Self { starts, all }
    }
}

/// Returns how many components of the construct paths in a stack belong to the stack itself: a
/// logical ID is made of those that follow. Stacks inside of stages have more than one.
fn stack_components(nodes: &[Node<'_>], stack: usize) -> usize {
    let with_path = nodes.iter().filter(|node| node.stack == stack && node.path.is_some());
    for node in with_path.take(20) {
        let components: Vec<&str> = node.path.unwrap_or_default().split('/').collect();
        let fits = |count: &usize| unique_id(&components[*count..]) == node.logical_id.as_str();
        if let Some(count) = (1..components.len()).find(fits) {
            return count;
        }
    }
    1
}
