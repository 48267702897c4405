//! How the events of a log follow each other.

use super::error::Problem;
use super::hash::EventHash;
use super::log::Log;

impl Log {
    /// Returns the events that an event follows from, itself included, each after its parents;
    /// none if it is not in the log.
    pub fn ancestors(&self, hash: EventHash) -> Vec<EventHash> {
        let Some(at) = self.position(hash) else { return Vec::new() };
        let marked = self.marked(at);
        let ancestors = self.entries().iter().zip(marked).filter(|(_, is_marked)| *is_marked);
        ancestors.map(|(entry, _)| entry.hash).collect()
    }

    /// Returns the log of an event and all that it follows from; `None` if it is not there.
    pub fn up_to(&self, hash: EventHash) -> Option<Self> {
        let marked = self.marked(self.position(hash)?);
        let mut log = Self::default();
        for (entry, _) in self.entries().iter().zip(marked).filter(|(_, is_marked)| *is_marked) {
            // Its parents are there, and it was checked when it came into this log.
            log.append(entry.event.clone()).ok()?;
        }
        Some(log)
    }

    /// Whether every event of this log is in the other one too: what an environment went through
    /// is the beginning of what the repository knows.
    pub fn is_prefix_of(&self, other: &Self) -> bool {
        self.entries().iter().all(|entry| other.contains(entry.hash))
    }

    /// Returns the events of both logs, those of this one first.
    ///
    /// # Errors
    /// When the logs began separately.
    pub(super) fn united(&self, other: &Self) -> Result<Self, Problem> {
        let mut united = self.clone();
        for entry in other.entries().iter().filter(|entry| !self.contains(entry.hash)) {
            united.append(entry.event.clone())?;
        }
        Ok(united)
    }

    /// Returns the lowest common ancestors of two events: those from which both follow, and that
    /// are before no other such event. Several if branches were merged crosswise, none if an
    /// event is not in the log.
    pub fn lowest_common_ancestors(&self, a: EventHash, b: EventHash) -> Vec<EventHash> {
        let (Some(a), Some(b)) = (self.position(a), self.position(b)) else { return Vec::new() };
        let hash = |at: usize| self.entries()[at].hash;
        self.lowest(a, b).into_iter().map(hash).collect()
    }

    /// The events that one follows from, itself included.
    pub(super) fn marked(&self, at: usize) -> Vec<bool> {
        let mut marked = vec![false; self.entries().len()];
        marked[at] = true;
        for at in (0..=at).rev().filter(|at| *at < self.entries().len()) {
            if marked[at] {
                self.entries()[at].parents.iter().for_each(|parent| marked[*parent] = true);
            }
        }
        marked
    }

    /// Whether `later` follows from `earlier`, or is the same.
    pub(super) fn is_ancestor(&self, earlier: usize, later: usize) -> bool {
        earlier <= later && self.marked(later)[earlier]
    }

    fn lowest(&self, a: usize, b: usize) -> Vec<usize> {
        let (of_a, of_b) = (self.marked(a), self.marked(b));
        let mut is_common: Vec<bool> = of_a.iter().zip(of_b).map(|(a, b)| *a && b).collect();
        // Every common ancestor is before its children; what is above a common one is none.
        let mut found = Vec::new();
        for at in (0..is_common.len()).rev() {
            if !is_common[at] {
                continue;
            }
            found.push(at);
            let above = self.marked(at);
            is_common.iter_mut().zip(above).for_each(|(common, above)| *common &= !above);
        }
        found.reverse();
        found
    }

    /// The lowest common ancestors of two events if there are several, sorted. Then no state is
    /// the one before all differences, and names cannot be carried over from one to the other.
    pub(super) fn crosswise(&self, a: usize, b: usize) -> Option<Vec<EventHash>> {
        let lowest = self.lowest(a, b);
        let mut ancestors: Vec<EventHash> =
            lowest.iter().map(|at| self.entries()[*at].hash).collect();
        ancestors.sort_unstable();
        (ancestors.len() > 1).then_some(ancestors)
    }

    /// The lowest common ancestor of two events that are not [`Log::crosswise`]. There is always
    /// one, since a log has one beginning.
    pub(super) fn base(&self, a: usize, b: usize) -> usize {
        self.lowest(a, b).first().copied().unwrap_or(0)
    }
}
