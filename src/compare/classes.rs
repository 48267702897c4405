//! Classes of resources that look alike, split by who refers to them and what they refer to.
//!
//! Colour refinement over both sides at once: resources of one class stay together only as long
//! as equal classes of resources refer to them through the same doors and they refer to equal
//! classes. Matched resources have a colour of their own each, so that they tell apart what is
//! around them. The result is the coarsest stable partition, whatever the order of the work.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap as HashMap;

use super::digest::Digest;
use super::scope::NodeId;
use super::side::{DEPENDS_ON, Side};

/// Free resources of both sides that nothing tells apart, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) old: Vec<NodeId>,
    pub(super) new: Vec<NodeId>,
}

impl Class {
    /// Whether there are candidates on both sides.
    pub(super) fn has_both(&self) -> bool {
        !self.old.is_empty() && !self.new.is_empty()
    }

    /// Returns the pair if there is one candidate on each side.
    pub(super) fn pair(&self) -> Option<(NodeId, NodeId)> {
        match (self.old.as_slice(), self.new.as_slice()) {
            ([old], [new]) => Some((*old, *new)),
            _ => None,
        }
    }
}

type Colour = u32;

/// A resource of either side: those of the new side are numbered after those of the old one.
type Member = u32;

/// The partition, and how to refine it.
pub(super) struct Classes<'s, 'a> {
    old: &'s Side<'a>,
    new: &'s Side<'a>,
    colours: Vec<Colour>,
    next_colour: Colour,
    /// Members of the classes that have free candidates on both sides.
    open: BTreeMap<Colour, BTreeSet<Member>>,
    /// Members whose surroundings have changed since they were last looked at.
    dirty: BTreeSet<Member>,
}

impl<'s, 'a> Classes<'s, 'a> {
    /// Makes classes of equal digests. `is_free` says who may still be matched.
    pub(super) fn new(
        (old, old_digests): (&'s Side<'a>, &[Digest]),
        (new, new_digests): (&'s Side<'a>, &[Digest]),
        is_free: impl Fn(bool, NodeId) -> bool,
    ) -> Self {
        let mut by_digest: HashMap<&Digest, Colour> = HashMap::default();
        let mut colours = Vec::with_capacity(old_digests.len() + new_digests.len());
        for digest in old_digests.iter().chain(new_digests) {
            let next = Colour::try_from(by_digest.len()).unwrap_or(Colour::MAX);
            colours.push(*by_digest.entry(digest).or_insert(next));
        }
        let next_colour = Colour::try_from(by_digest.len()).unwrap_or(Colour::MAX);
        let mut this =
            Self { old, new, colours, next_colour, open: BTreeMap::new(), dirty: BTreeSet::new() };
        let mut members: HashMap<Colour, Vec<Member>> = HashMap::default();
        for id in old.ids().filter(|id| is_free(false, *id)) {
            members.entry(this.colours[id as usize]).or_default().push(id);
        }
        for id in new.ids().filter(|id| is_free(true, *id)) {
            let member = this.member(true, id);
            members.entry(this.colours[member as usize]).or_default().push(member);
        }
        for (colour, members) in members {
            let first_new = members.iter().any(|member| this.is_new(*member));
            if first_new && members.iter().any(|member| !this.is_new(*member)) {
                this.open.insert(colour, members.into_iter().collect());
            }
        }
        this
    }

    /// Returns the classes that have candidates on both sides.
    pub(super) fn open(&self) -> Vec<Class> {
        self.open.values().map(|members| self.class(members)).filter(Class::has_both).collect()
    }

    /// Whether every part into which a class was split has as many members on one side as on the
    /// other.
    pub(super) fn is_balanced(&self, class: &Class) -> bool {
        let mut counts: HashMap<Colour, i64> = HashMap::default();
        for (is_new, ids, step) in [(false, &class.old, 1), (true, &class.new, -1)] {
            for id in ids {
                let colour = self.colours[self.member(is_new, *id) as usize];
                *counts.entry(colour).or_default() += step;
            }
        }
        counts.values().all(|count| *count == 0)
    }

    /// Gives a pair a colour of its own: whatever is around it may be told apart by it.
    pub(super) fn settle(&mut self, old: NodeId, new: NodeId) {
        let pair = [self.member(false, old), self.member(true, new)];
        let colour = self.fresh();
        for member in pair {
            if let Some(members) = self.open.get_mut(&self.colours[member as usize]) {
                members.remove(&member);
            }
            self.colours[member as usize] = colour;
        }
        for member in pair {
            self.touch_around(member);
        }
    }

    /// Splits the classes as far as the structure tells their members apart.
    pub(super) fn refine(&mut self) {
        for members in self.open.values().filter(|members| members.len() > 2) {
            self.dirty.extend(members);
        }
        while !self.dirty.is_empty() {
            let mut by_colour: BTreeMap<Colour, Vec<Member>> = BTreeMap::new();
            for member in std::mem::take(&mut self.dirty) {
                by_colour.entry(self.colours[member as usize]).or_default().push(member);
            }
            let mut moved = Vec::new();
            let splits: Vec<_> = by_colour
                .into_iter()
                .map(|(colour, members)| (colour, self.groups(colour, &members)))
                .collect();
            for (colour, groups) in splits {
                for group in groups {
                    let fresh = self.fresh();
                    for member in &group {
                        self.colours[*member as usize] = fresh;
                        if let Some(members) = self.open.get_mut(&colour) {
                            members.remove(member);
                        }
                    }
                    moved.extend(&group);
                    self.open.insert(fresh, group.into_iter().collect());
                }
            }
            for member in moved {
                self.touch_around(member);
            }
        }
        let is_new = |member: &Member| *member as usize >= self.old.nodes.len();
        self.open.retain(|_, members| members.iter().any(is_new) && !members.iter().all(is_new));
    }

    /// Returns those of the given members of a class that have to leave it, by what they have
    /// in common.
    fn groups(&self, colour: Colour, members: &[Member]) -> Vec<Vec<Member>> {
        let Some(all) = self.open.get(&colour) else { return Vec::new() };
        if all.len() <= 2 {
            return Vec::new();
        }
        let mut groups: BTreeMap<Vec<u64>, Vec<Member>> = BTreeMap::new();
        for member in members {
            groups.entry(self.signature(*member)).or_default().push(*member);
        }
        let mut groups: Vec<Vec<Member>> = groups.into_values().collect();
        if members.len() == all.len() {
            // All were looked at: one group may keep the colour. The partition is the same
            // whichever it is.
            let largest = (0..groups.len()).max_by_key(|at| groups[*at].len());
            if let Some(largest) = largest {
                groups.swap_remove(largest);
            }
        }
        groups
    }

    /// What a member's surroundings look like.
    fn signature(&self, member: Member) -> Vec<u64> {
        let is_new = self.is_new(member);
        let (side, id) = self.split(member);
        let colour = |id: NodeId| u64::from(self.colours[self.member(is_new, id) as usize]);
        let mut signature: Vec<u64> = side
            .referrers(id)
            .iter()
            .filter(|(referrer, _)| !side.node(*referrer).is_provider)
            .map(|(referrer, place)| {
                (colour(*referrer) ^ place.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            })
            .collect();
        signature.sort_unstable();
        signature.push(u64::MAX);
        let node = side.node(id);
        signature.extend(node.skeleton.slots.iter().map(|slot| colour(slot.target)));
        for set in [&node.skeleton.depends_on, &node.children] {
            signature.push(u64::MAX - DEPENDS_ON);
            let from = signature.len();
            signature.extend(set.iter().map(|target| colour(*target)));
            signature[from..].sort_unstable();
        }
        signature
    }

    /// Marks the open neighbours of a member that has changed its colour.
    fn touch_around(&mut self, member: Member) {
        let is_new = self.is_new(member);
        let (side, id) = self.split(member);
        let referrers = side.referrers(id).iter().map(|(referrer, _)| *referrer);
        // What a provider refers to does not count by it, see `signature`.
        let targets = side.targets(id).filter(|_| !side.node(id).is_provider);
        let neighbours: Vec<NodeId> = referrers.chain(targets).collect();
        for neighbour in neighbours {
            let neighbour = self.member(is_new, neighbour);
            let members = self.open.get(&self.colours[neighbour as usize]);
            if members.is_some_and(|members| members.len() > 2 && members.contains(&neighbour)) {
                self.dirty.insert(neighbour);
            }
        }
    }

    fn class(&self, members: &BTreeSet<Member>) -> Class {
        let mut class = Class::default();
        for member in members {
            let (_, id) = self.split(*member);
            if self.is_new(*member) { class.new.push(id) } else { class.old.push(id) }
        }
        class
    }

    fn fresh(&mut self) -> Colour {
        self.next_colour += 1;
        self.next_colour - 1
    }

    fn is_new(&self, member: Member) -> bool {
        member as usize >= self.old.nodes.len()
    }

    fn member(&self, is_new: bool, id: NodeId) -> Member {
        if is_new { id + Member::try_from(self.old.nodes.len()).unwrap_or(Member::MAX) } else { id }
    }

    fn split(&self, member: Member) -> (&'s Side<'a>, NodeId) {
        match member.checked_sub(Member::try_from(self.old.nodes.len()).unwrap_or(Member::MAX)) {
            Some(id) => (self.new, id),
            None => (self.old, member),
        }
    }
}
