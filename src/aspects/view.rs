//! What is compared: the stacks of both sides as the aspects that change things leave them.
//!
//! The stacks themselves stay as they are: they are what is planned and deployed. Resources that
//! are known to be the same (they are where they were, or the comparison without aspects found
//! them) are treated alike on both sides, after what is known of them in the app as it is now: an
//! aspect for `Prod/**` must not set apart what moved into `Prod`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::AspectError;
use super::attach::{Bound, attach};
use super::constructs;
use super::coverage::Coverage;
use super::declaration::{Declaration, Match, Operation, Work};
use super::invoke::Mode;
use super::operation::{self, Types};
use super::read::Declarations;
use super::suggestion;
use super::tree::{Aspect, Tree, Visit};
use crate::model::{
    ConstructPath, Location, ResourceType, Stack, StackName, Text, TreeNode, Value,
};
use crate::registry;

/// What a view is made of.
#[derive(Clone, Copy, Debug)]
pub struct ViewRequest<'a> {
    /// The aspects.
    pub aspects: &'a Declarations,
    /// The construct tree of the app as it is now.
    pub constructs: &'a [TreeNode],
    /// The stacks of an environment as they are deployed.
    pub deployed: &'a [Stack],
    /// The stacks as they are now.
    pub local: &'a [Stack],
    /// Which resources are known to be the same: deployed, and as they are now.
    pub settled: &'a [(Location, Location)],
}

/// One of the two sides of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// What is deployed.
    Deployed,
    /// What the app is now.
    Local,
}

/// What an aspect changed in a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The aspect.
    pub aspect: Text,
    /// The side.
    pub side: Side,
    /// The resource.
    pub location: Location,
    /// The property, as differences name it: `Properties.Tags.0`.
    pub property: String,
    /// What was there before; `None`: nothing.
    pub before: Option<Value>,
    /// What is there in the view; `None`: nothing.
    pub after: Option<Value>,
}

/// Both sides as they are to be compared.
#[derive(Clone, Debug)]
pub struct Views {
    /// What is deployed, in the order of the stacks.
    pub deployed: Vec<Stack>,
    /// What the app is now, in the order of the stacks.
    pub local: Vec<Stack>,
    /// What was changed where, in the order of the changes.
    pub edits: Vec<Edit>,
    /// What the aspects found at all.
    pub coverage: Coverage,
    /// What people should know: sentences.
    pub notes: Vec<String>,
}

/// Returns both sides as the aspects that change things leave them. Read-only ones are not
/// invoked.
///
/// # Errors
/// When the aspects cannot be invoked in their order, or without an end.
pub fn views(request: &ViewRequest<'_>) -> Result<Views, AspectError> {
    let changing: Vec<Arc<Declaration>> =
        request.aspects.list.iter().filter(|one| one.is_changing()).cloned().collect();
    let mut settled: HashMap<&Location, &Location> = HashMap::new();
    settled.extend(request.settled.iter().map(|(old, new)| (old, new)));
    let mut local = Changing::new(Side::Local, request, request.local);
    local.not_free = request.settled.iter().map(|(_, new)| new.clone()).collect();
    let mut tree = constructs::of_app(request.constructs, request.local)?;
    local.run(&mut tree, &changing)?;
    local.coverage.out_of_reach(&changing, &tree);

    let mut deployed = Changing::new(Side::Deployed, request, request.deployed);
    deployed.not_free = settled.keys().map(|old| (*old).clone()).collect();
    deployed.classes = std::mem::take(&mut local.classes);
    deployed
        .run(&mut constructs::of_templates(request.constructs, request.deployed)?, &changing)?;
    for (old, new) in request.settled {
        for declaration in local.applied.get(new).into_iter().flatten() {
            deployed.change(declaration, old);
        }
    }
    let mut edits = local.edits;
    edits.extend(deployed.edits);
    let mut coverage = local.coverage;
    coverage.merge(deployed.coverage);
    let mut notes: BTreeSet<String> = local.notes;
    notes.extend(deployed.notes);
    Ok(Views {
        deployed: deployed.stacks,
        local: local.stacks,
        edits,
        coverage,
        notes: notes.into_iter().collect(),
    })
}

/// What aspects that change things work on: one side.
struct Changing {
    side: Side,
    stacks: Vec<Stack>,
    positions: HashMap<StackName, usize>,
    types: Vec<Types>,
    /// The constructs whose class the tree tells.
    with_class: HashSet<ConstructPath>,
    /// Resources whose partner is known.
    not_free: HashSet<Location>,
    /// For each aspect and type how many of the free resources of the app are of its class, and
    /// how many are not.
    classes: BTreeMap<(Text, ResourceType), (usize, usize)>,
    /// The aspects that changed a resource, in their order.
    applied: BTreeMap<Location, Vec<Arc<Declaration>>>,
    bound: Option<Arc<Bound<Self>>>,
    edits: Vec<Edit>,
    coverage: Coverage,
    notes: BTreeSet<String>,
    /// What came up during the visits.
    failed: Option<AspectError>,
}

/// A declared aspect that changes things.
struct Changer(Arc<Declaration>);

impl Aspect<Changing> for Changer {
    fn name(&self) -> &str {
        &self.0.id
    }

    fn visit(&self, visit: &mut Visit<'_, Changing>) {
        let construct = visit.construct();
        let Some((location, kind)) = construct.resource.clone() else { return };
        let path = construct.path.clone();
        let is_deployed = visit.state.side == Side::Deployed;
        let is_free = !visit.state.not_free.contains(&location);
        if is_deployed && !is_free {
            return;
        }
        let is_class_known = visit.state.with_class.contains(&path);
        let matched = self.0.matcher.matches(visit.around(), is_class_known);
        if !visit.state.is_meant(&self.0, matched, &kind, is_free) {
            return;
        }
        visit.state.change(&self.0, &location);
        let bound = visit.state.bound.clone();
        for name in &self.0.applies {
            if let Some(bound) = &bound
                && let Err(error) = bound.apply(visit.tree(), name, path.as_str())
            {
                visit.state.failed.get_or_insert(error.into());
            }
        }
    }
}

impl Changing {
    fn new(side: Side, request: &ViewRequest<'_>, stacks: &[Stack]) -> Self {
        let with_class = request.constructs.iter().filter(|node| node.class.is_some());
        Self {
            side,
            stacks: stacks.to_vec(),
            positions: stacks.iter().enumerate().map(|(at, one)| (one.name.clone(), at)).collect(),
            types: stacks.iter().map(operation::types).collect(),
            with_class: with_class.map(|node| node.path.clone()).collect(),
            not_free: HashSet::new(),
            classes: BTreeMap::new(),
            applied: BTreeMap::new(),
            bound: None,
            edits: Vec::new(),
            coverage: Coverage::default(),
            notes: BTreeSet::new(),
            failed: None,
        }
    }

    fn run(
        &mut self,
        tree: &mut Tree<Self>,
        changing: &[Arc<Declaration>],
    ) -> Result<(), AspectError> {
        let bound = Bound::new(changing.iter().cloned(), |one| Arc::new(Changer(one)));
        attach(tree, &bound, changing)?;
        self.bound = Some(Arc::new(bound));
        tree.invoke(self, Mode::LookLast)?;
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Whether an aspect is about a resource. Of what is only deployed nobody knows the class: it
    /// is taken for what all resources of its type are that came into the app, if they agree.
    fn is_meant(
        &mut self,
        declaration: &Declaration,
        matched: Match,
        kind: &ResourceType,
        is_free: bool,
    ) -> bool {
        let key = (declaration.id.clone(), kind.clone());
        if self.side == Side::Local && is_free && declaration.matcher.class.is_some() {
            let count = self.classes.entry(key.clone()).or_default();
            match matched {
                Match::Yes => count.0 += 1,
                Match::No | Match::Unknown => count.1 += 1,
            }
        }
        match matched {
            Match::Yes => true,
            Match::No => false,
            Match::Unknown if self.side == Side::Local => {
                self.coverage.of(declaration).unknown_class += 1;
                false
            }
            Match::Unknown => match self.classes.get(&key) {
                Some((1.., 0)) => true,
                Some((yes @ 1.., no)) => {
                    self.notes.insert(format!(
                        "the aspect `{}` leaves deployed resources of type `{kind}` alone that are \
                         not where they were: of those that are new in the app {yes} are of its \
                         class and {no} are not, and templates do not tell classes",
                        declaration.id
                    ));
                    false
                }
                _ => false,
            },
        }
    }

    /// Does to the view of a resource what an aspect declares.
    fn change(&mut self, declaration: &Arc<Declaration>, location: &Location) {
        let Work::Change(operations) = &declaration.work else { return };
        let Some(&at) = self.positions.get(&location.stack) else { return };
        let resources = self.stacks[at].template.sections.get_mut("Resources");
        let Some(Value::Object(resources)) = resources else { return };
        let Some(Value::Object(body)) = resources.get_mut(location.logical_id.as_str()) else {
            return;
        };
        let kind = constructs::kind(body);
        let covered = self.coverage.of(declaration);
        covered.matched += 1;
        for (number, operation) in operations.iter().enumerate() {
            let done = operation::apply(operation, body, &self.types[at]);
            covered.operations[number] |= done.found;
            if !covered.operations[number] && !declaration.is_preset {
                suggestion::member_names(body, &mut covered.members);
            }
            for (property, before, after) in done.changes {
                if hides(operation) && is_create_only(&kind, &property) {
                    self.notes.insert(format!(
                        "the aspect `{}` hides `{property}` of `{kind}`: a deployment that changes \
                         it replaces the resource",
                        declaration.id
                    ));
                }
                let (aspect, side) = (declaration.id.clone(), self.side);
                let location = location.clone();
                self.edits.push(Edit { aspect, side, location, property, before, after });
            }
        }
        self.applied.entry(location.clone()).or_default().push(Arc::clone(declaration));
    }
}

/// Whether an operation hides differences that a deployment would see.
fn hides(operation: &Operation) -> bool {
    matches!(operation, Operation::Ignore(..) | Operation::Replace(..) | Operation::StripPrefix(..))
}

fn is_create_only(kind: &ResourceType, property: &str) -> bool {
    property.strip_prefix("Properties.").is_some_and(|path| {
        registry::lookup(kind.as_str())
            .is_some_and(|known| known.is_create_only(&path.replace('.', "/")))
    })
}
