//! Pairs the resources of the two sides, strongest evidence first (design, section 4.3).
//!
//! Every step takes its pairs out of the pool and pairs only what it can justify. A pair is a
//! fixed point: what refers to it is compared by who it is, not by what it contains, so that one
//! changed property does not hide the moves of everything that refers to it.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::classes::{Class, Classes};
use super::comparison::Evidence;
use super::digest::Digest;
use super::loose::{Loose, Strength};
use super::paths;
use super::renaming::Renaming;
use super::scope::NodeId;
use super::side::Side;
use super::{CompareError, changed, support};
use crate::model::Value;
use crate::registry;

/// Two resources that are the same.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) old: NodeId,
    pub(super) new: NodeId,
    /// `None`: it stayed where it is.
    pub(super) evidence: Option<Evidence>,
    /// The contents are equal only after names that follow the paths of constructs.
    pub(super) by_names: bool,
}

/// The state of the matching.
pub(super) struct Matching<'s, 'a> {
    pub(super) old: &'s Side<'a>,
    pub(super) new: &'s Side<'a>,
    pub(super) pairs: Vec<Pair>,
    /// The number of the pair that a resource belongs to, for both sides.
    pub(super) old_pair: Vec<Option<usize>>,
    pub(super) new_pair: Vec<Option<usize>>,
    pub(super) renaming: Renaming<'a>,
    /// The digests of both sides before anything was matched by content.
    pub(super) first_old_digests: Vec<Digest>,
    pub(super) first_new_digests: Vec<Digest>,
    /// Resources that exchanged their contents with others.
    pub(super) swapped: Vec<NodeId>,
    /// Nothing is matched by evidence.
    only_decided: bool,
}

impl<'s, 'a> Matching<'s, 'a> {
    /// Pairs everything that the evidence decides, or nothing but what people decided and what
    /// stays where it is.
    pub(super) fn run(
        old: &'s Side<'a>,
        new: &'s Side<'a>,
        decided: Vec<(NodeId, NodeId, String)>,
        only_decided: bool,
        found: Vec<Pair>,
    ) -> Result<Self, CompareError> {
        let mut this = Self {
            old,
            new,
            pairs: Vec::new(),
            old_pair: vec![None; old.nodes.len()],
            new_pair: vec![None; new.nodes.len()],
            renaming: Renaming::default(),
            first_old_digests: Vec::new(),
            first_new_digests: Vec::new(),
            swapped: Vec::new(),
            only_decided,
        };
        for (source, destination, origin) in decided {
            this.take(source, destination, Some(Evidence::Decision(origin)), false);
        }
        for Pair { old, new, evidence, by_names } in found {
            if this.old_pair[old as usize].is_none() && this.new_pair[new as usize].is_none() {
                this.take(old, new, evidence, by_names);
            }
        }
        this.by_physical_id();
        this.stay_in_place();
        loop {
            this.inside_nested_stacks();
            if !this.has_candidates() {
                break;
            }
            if this.by_any_content()? {
                continue;
            }
            let found = changed::moved_and_changed(&this);
            if found.is_empty() {
                break;
            }
            for (old, new, evidence) in found {
                this.take(old, new, Some(evidence), false);
            }
        }
        Ok(this)
    }

    /// Returns who a deployed resource is now.
    pub(super) fn partner_of_old(&self, id: NodeId) -> Option<NodeId> {
        self.old_pair[id as usize].map(|pair| self.pairs[pair].new)
    }

    /// Whether a resource of one of the sides may still be matched.
    pub(super) fn is_free(&self, is_new: bool, id: NodeId) -> bool {
        let (side, pair) =
            if is_new { (self.new, &self.new_pair) } else { (self.old, &self.old_pair) };
        !self.only_decided && pair[id as usize].is_none() && side.node(id).excluded.is_none()
    }

    /// Returns the deployed resources that may still be matched.
    pub(super) fn free_old(&self) -> impl Iterator<Item = NodeId> {
        self.old.ids().filter(|id| self.is_free(false, *id))
    }

    /// Returns the resources as they are now that may still be matched.
    pub(super) fn free_new(&self) -> impl Iterator<Item = NodeId> {
        self.new.ids().filter(|id| self.is_free(true, *id))
    }

    /// Whether there are resources of one type on both sides that may still be matched.
    pub(super) fn has_candidates(&self) -> bool {
        let kinds: HashSet<&str> = self.free_old().map(|id| self.old.node(id).kind).collect();
        !kinds.is_empty() && self.free_new().any(|id| kinds.contains(self.new.node(id).kind))
    }

    fn take(&mut self, old: NodeId, new: NodeId, evidence: Option<Evidence>, by_names: bool) {
        let number = self.pairs.len();
        self.old_pair[old as usize] = Some(number);
        self.new_pair[new as usize] = Some(number);
        if let (Some(old), Some(new)) = (self.old.node(old).path, self.new.node(new).path)
            && old != new
        {
            self.renaming.learn(old, new);
        }
        self.pairs.push(Pair { old, new, evidence, by_names });
    }

    /// Returns the exact digests of both sides, pairs by their identity.
    pub(super) fn digests(&self) -> (Vec<Digest>, Vec<Digest>) {
        let of = |side: &Side<'_>, pair: &[Option<usize>]| {
            side.digests(|id| Some(&side.node(id).skeleton), pair)
        };
        if !self.pairs.is_empty() {
            return (of(self.old, &self.old_pair), of(self.new, &self.new_pair));
        }
        // The first time there is much to do.
        std::thread::scope(|scope| {
            let old = scope.spawn(|| of(self.old, &self.old_pair));
            let new = of(self.new, &self.new_pair);
            (old.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), new)
        })
    }

    /// Same location, same type: unmoved, unless contents were exchanged. A resource whose exact
    /// content is elsewhere now, while another's exact content came here, was swapped: content
    /// decides.
    fn stay_in_place(&mut self) {
        let (old_digests, new_digests) = self.digests();
        let stacks: Vec<Option<usize>> = (0..self.old.scope.stacks.len())
            .map(|stack| self.new.stack(self.old.scope.stacks[stack].stack.name.as_str()))
            .collect();
        let mut in_place = Vec::new();
        let mut doubtful = Vec::new();
        for old in self.old.ids().filter(|id| self.old_pair[*id as usize].is_none()) {
            let node = self.old.node(old);
            let there =
                stacks[node.stack].and_then(|stack| self.new.in_stack(stack, node.logical_id));
            let Some(new) = there else { continue };
            if self.new_pair[new as usize].is_some()
                || self.old.node(old).kind != self.new.node(new).kind
            {
                continue;
            }
            let may_move = self.is_free(false, old) && self.is_free(true, new);
            if !may_move || old_digests[old as usize] == new_digests[new as usize] {
                in_place.push((old, new));
            } else {
                doubtful.push((old, new));
            }
        }
        let mut fixed_old = vec![false; self.old.nodes.len()];
        let mut fixed_new = vec![false; self.new.nodes.len()];
        for &(old, new) in &in_place {
            fixed_old[old as usize] = true;
            fixed_new[new as usize] = true;
        }
        let mut old_pool: HashMap<Digest, usize> = HashMap::default();
        for id in self.free_old().filter(|id| !fixed_old[*id as usize]) {
            *old_pool.entry(old_digests[id as usize]).or_default() += 1;
        }
        let mut new_pool: HashMap<Digest, usize> = HashMap::default();
        for id in self.free_new().filter(|id| !fixed_new[*id as usize]) {
            *new_pool.entry(new_digests[id as usize]).or_default() += 1;
        }
        loop {
            let before = doubtful.len();
            doubtful.retain(|&(old, new)| {
                let (was, is) = (&old_digests[old as usize], &new_digests[new as usize]);
                let count = |pool: &HashMap<Digest, usize>, digest| {
                    pool.get(digest).copied().unwrap_or_default()
                };
                if count(&new_pool, was) > 0 && count(&old_pool, is) > 0 {
                    return true;
                }
                in_place.push((old, new));
                for (pool, digest) in [(&mut old_pool, was), (&mut new_pool, is)] {
                    if let Some(count) = pool.get_mut(digest) {
                        *count = count.saturating_sub(1);
                    }
                }
                false
            });
            if doubtful.len() == before {
                break;
            }
        }
        self.first_old_digests = old_digests;
        self.first_new_digests = new_digests;
        self.swapped = doubtful.into_iter().map(|(old, _)| old).collect();
        in_place.sort_unstable();
        for (old, new) in in_place {
            self.take(old, new, None, false);
        }
    }

    /// Equal literal values of all properties that make up the physical ID: certain even when
    /// other properties changed.
    fn by_physical_id(&mut self) {
        let mut identifiers: Identifiers<'_> = HashMap::default();
        let mut sources: HashMap<(&str, Vec<&str>), Vec<NodeId>> = HashMap::default();
        for id in self.free_old() {
            if let Some((_, values)) = physical_id(self.old, id, &mut identifiers) {
                sources.entry((self.old.node(id).kind, values)).or_default().push(id);
            }
        }
        let mut found: HashMap<NodeId, Vec<(NodeId, Vec<&str>)>> = HashMap::default();
        for id in self.free_new() {
            let Some((properties, values)) = physical_id(self.new, id, &mut identifiers) else {
                continue;
            };
            if let Some([source]) =
                sources.get(&(self.new.node(id).kind, values)).map(Vec::as_slice)
            {
                found.entry(*source).or_default().push((id, properties));
            }
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_unstable_by_key(|(source, _)| *source);
        for (source, destinations) in found {
            if let [(destination, properties)] = destinations.as_slice() {
                let properties = properties.iter().map(|name| (*name).to_owned()).collect();
                let stayed = self.old.location(source) == self.new.location(*destination);
                let evidence = (!stayed).then_some(Evidence::PhysicalId(properties));
                self.take(source, *destination, evidence, false);
            }
        }
    }

    /// What is in a nested stack stays in it when the nested stack itself is mapped.
    fn inside_nested_stacks(&mut self) {
        let mut at = 0;
        while at < self.pairs.len() {
            let Pair { old, new, .. } = self.pairs[at];
            at += 1;
            if self.old.node(old).children.is_empty() {
                continue;
            }
            let now: HashMap<(&str, &str), NodeId> = self
                .new
                .node(new)
                .children
                .iter()
                .map(|id| ((self.new.node(*id).logical_id.as_str(), self.new.node(*id).kind), *id))
                .collect();
            for child in self.old.node(old).children.clone() {
                let node = self.old.node(child);
                let Some(&same) = now.get(&(node.logical_id.as_str(), node.kind)) else { continue };
                if self.old_pair[child as usize].is_none() && self.new_pair[same as usize].is_none()
                {
                    self.take(child, same, Some(Evidence::NestedStack), false);
                }
            }
        }
    }

    /// Pairs by content, the strongest evidence first; stops at the first success, which may
    /// strengthen what comes before. What paths say is weaker than what weak digests say: a
    /// construct that was moved into another one says nothing about its former siblings.
    fn by_any_content(&mut self) -> Result<bool, CompareError> {
        // Nothing stops here: equal contents stay equal, a second run could find nothing more.
        let exact = self.by_content(None, false)?;
        for (strength, with_paths) in [
            (Some(Strength::Names), false),
            (None, true),
            (Some(Strength::Names), true),
            (Some(Strength::Ids), true),
            (Some(Strength::WithoutPolicies), true),
        ] {
            if !self.has_candidates() {
                break;
            }
            if strength.is_some() && self.old.scope.literal.names {
                continue;
            }
            if self.by_content(strength, with_paths)? {
                return Ok(true);
            }
        }
        Ok(exact)
    }

    /// Pairs resources of equal digests: exact ones, or, with a strength, weak ones with a proof
    /// that what differs follows from the renaming.
    fn by_content(
        &mut self,
        strength: Option<Strength>,
        with_paths: bool,
    ) -> Result<bool, CompareError> {
        let loose = match strength {
            Some(strength) => match Loose::read(self, strength)? {
                Some(loose) => Some(loose),
                None => return Ok(false),
            },
            None => None,
        };
        let (old_digests, new_digests) = match &loose {
            Some(loose) => loose.digests(self),
            None => self.digests(),
        };
        let (old, new) = (self.old, self.new);
        let mut classes = Classes::new((old, &old_digests), (new, &new_digests), |is_new, id| {
            self.is_free(is_new, id)
        });
        let groups = classes.open();
        let before = self.pairs.len();
        let pairs = classes.open().iter().filter_map(Class::pair).collect();
        self.accept(&mut classes, loose.as_ref(), with(pairs, &Evidence::Digest));
        loop {
            classes.refine();
            let refined = classes.open();
            let pairs = support::by_structure(self, &classes, &groups, &refined);
            self.accept(&mut classes, loose.as_ref(), with(pairs, &Evidence::Structure));
            if !with_paths {
                break;
            }
            let open: Vec<Class> =
                refined.iter().chain(&groups).map(|class| self.still_free(class)).collect();
            let steps: [paths::Step; 3] =
                [paths::by_renaming, paths::by_logical_id, paths::by_relative_path];
            let mut accepted = 0;
            for step in steps {
                let mut seen = HashSet::default();
                let proposals: Vec<_> = open
                    .iter()
                    .filter(|class| class.has_both())
                    .flat_map(|class| step(self, class))
                    .filter(|(old, new, _)| seen.insert((false, *old)) & seen.insert((true, *new)))
                    .collect();
                accepted = self.accept(&mut classes, loose.as_ref(), proposals);
                if accepted > 0 {
                    break;
                }
            }
            if accepted == 0 {
                break;
            }
        }
        Ok(self.pairs.len() > before)
    }

    /// Returns what of a class may still be matched.
    pub(super) fn still_free(&self, class: &Class) -> Class {
        let keep = |is_new, ids: &[NodeId]| {
            ids.iter().copied().filter(|id| self.is_free(is_new, *id)).collect()
        };
        Class { old: keep(false, &class.old), new: keep(true, &class.new) }
    }

    /// Takes the proposals, weak ones only as far as they can be proven. A proven pair supports
    /// the proof of others, but never its own. Returns how many were taken.
    fn accept(
        &mut self,
        classes: &mut Classes<'s, 'a>,
        loose: Option<&Loose<'_>>,
        mut proposals: Vec<(NodeId, NodeId, Evidence)>,
    ) -> usize {
        proposals.retain(|(old, new, _)| self.is_free(false, *old) && self.is_free(true, *new));
        let before = self.pairs.len();
        loop {
            let count = self.pairs.len();
            let mut open = Vec::new();
            for (old, new, evidence) in proposals {
                if loose.is_none_or(|loose| loose.proves(self, old, new)) {
                    self.take(old, new, Some(evidence), loose.is_some());
                    classes.settle(old, new);
                } else {
                    open.push((old, new, evidence));
                }
            }
            proposals = open;
            if proposals.is_empty() || self.pairs.len() == count {
                break;
            }
        }
        self.pairs.len() - before
    }
}

fn with(pairs: Vec<(NodeId, NodeId)>, evidence: &Evidence) -> Vec<(NodeId, NodeId, Evidence)> {
    pairs.into_iter().map(|(old, new)| (old, new, evidence.clone())).collect()
}

/// The properties that make up the physical ID, by resource type, if they can be set.
type Identifiers<'a> = HashMap<&'a str, Option<Vec<&'static str>>>;

/// Returns the properties that make up the physical ID and their values, if all are literal.
fn physical_id<'a>(
    side: &Side<'a>,
    id: NodeId,
    identifiers: &mut Identifiers<'a>,
) -> Option<(Vec<&'static str>, Vec<&'a str>)> {
    let node = side.node(id);
    let names = identifiers
        .entry(node.kind)
        .or_insert_with(|| registry::lookup(node.kind)?.settable_identifier())
        .as_ref()?;
    let properties = node.body.get("Properties")?;
    let values: Option<Vec<&str>> = names
        .iter()
        .map(|name| {
            let mut segments = name.split('/');
            let first = properties.get(segments.next()?)?;
            segments.try_fold(first, |value, segment| value.get(segment)).and_then(Value::as_str)
        })
        .collect();
    let values = values.filter(|values| !values.is_empty())?;
    Some((names.clone(), values))
}
