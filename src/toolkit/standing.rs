//! What still stands of what files say: what was carried out is done, what goes round in a circle
//! or meets something else is an error.

use std::collections::{BTreeMap, HashSet};

use super::chains::{Book, Excluded, Held, Resolved, Status};
use super::decisions::DecisionError;
use crate::settings::{Named, Said};

impl Book<'_, '_> {
    /// Takes what files say, unless it was carried out or something is in the way.
    pub(super) fn accept(
        &self,
        found: BTreeMap<usize, Held>,
        is_excluded: &Excluded<'_>,
        resolved: &mut Resolved,
    ) -> Result<(), DecisionError> {
        let is_pattern =
            |held: &Held| held.by.iter().any(|number| self.entries[*number].is_pattern());
        let mut open = BTreeMap::new();
        for (source, held) in found {
            if is_pattern(&held) && self.is_passed_over(&held, is_excluded) {
                resolved.settle(&held.by);
            } else {
                open.insert(source, held);
            }
        }
        self.check_circles(&open)?;
        for held in self.carried_out(&mut open, resolved) {
            resolved.settle(&held.by);
            let is_told = |number: &usize| {
                self.entries[*number].said == Said::File && !self.entries[*number].is_pattern()
            };
            if !held.by.iter().all(is_told) {
                continue;
            }
            resolved.notes.push(format!(
                "{}: `{}` → `{}` is taken to be carried out, for both are deployed and both are \
                 in the app",
                self.origins(&held.by),
                self.deployed.resources[held.source].text,
                self.local.resources[held.destination].text
            ));
        }
        let now = resolved.pairs.clone();
        for held in open.values() {
            let there = self.here(held.destination).filter(|there| *there != held.source);
            let is_free = there.is_none_or(|there| Self::goes_on(there, held, &open, resolved));
            let comes_again = self.local.one(&self.deployed.resources[held.source].text);
            let is_record = held.by.iter().all(|one| self.entries[*one].said == Said::Record);
            // Somebody says now that what is there stays.
            let stays = now
                .iter()
                .any(|one| Some(one.source) == there && one.destination == held.destination);
            if there.is_none() || (is_free && comes_again.is_none_or(|at| at == held.destination)) {
                resolved.pairs.push(held.clone());
            } else if stays || (!is_free && is_pattern(held)) {
                resolved.settle(&held.by);
            } else if !is_free && !is_record {
                resolved.pairs.push(held.clone());
            } else {
                return Err(DecisionError::Occupied {
                    source_name: self.deployed.resources[held.source].text.clone(),
                    destination: self.local.resources[held.destination].text.clone(),
                    origin: self.origins(&held.by),
                });
            }
        }
        Ok(())
    }

    /// Takes out what was carried out already: both names are deployed, both are in the app, and
    /// what is at the second one stays there.
    fn carried_out(&self, open: &mut BTreeMap<usize, Held>, resolved: &Resolved) -> Vec<Held> {
        let mut done = Vec::new();
        loop {
            let is_done = |held: &&Held| {
                let there = self.here(held.destination).filter(|there| *there != held.source);
                there.is_some_and(|there| !Self::goes_on(there, held, open, resolved))
                    && self.local.one(&self.deployed.resources[held.source].text).is_some()
            };
            let Some(source) = open.values().find(is_done).map(|held| held.source) else {
                return done;
            };
            done.extend(open.remove(&source));
        }
    }

    /// Whether what is deployed at the destination of a pair leaves it.
    fn goes_on(
        there: usize,
        held: &Held,
        open: &BTreeMap<usize, Held>,
        resolved: &Resolved,
    ) -> bool {
        let moves = |other: &Held| other.source == there && other.destination != held.destination;
        open.get(&there).is_some_and(moves)
            || resolved.pairs.iter().any(moves)
            || resolved.left.iter().any(|(source, _)| *source == there)
    }

    /// What goes round in a circle would go round again with every run.
    fn check_circles(&self, open: &BTreeMap<usize, Held>) -> Result<(), DecisionError> {
        for start in open.keys() {
            let (mut at, mut names, mut by) = (*start, Vec::new(), Vec::new());
            while let Some(held) = open.get(&at).filter(|_| names.len() <= open.len()) {
                names.push(self.deployed.resources[at].text.as_str());
                by.extend(held.by.iter().copied());
                let Some(next) = self.here(held.destination).filter(|next| *next != at) else {
                    break;
                };
                at = next;
                if at == *start {
                    names.push(names[0]);
                    let origin = self.origins(&by);
                    return Err(DecisionError::Circle { names: names.join(" → "), origin });
                }
            }
        }
        Ok(())
    }

    /// What is deployed at the place of a resource of the app.
    fn here(&self, destination: usize) -> Option<usize> {
        self.deployed.one(&self.local.resources[destination].text)
    }

    /// Entries without wildcards go before those with.
    pub(super) fn drop_less_exact(&self, pairs: &mut Vec<Held>) {
        let is_exact =
            |held: &Held| held.by.iter().all(|number| !self.entries[*number].is_pattern());
        let exact: HashSet<usize> =
            pairs.iter().filter(|held| is_exact(held)).map(|held| held.destination).collect();
        pairs.retain(|held| is_exact(held) || !exact.contains(&held.destination));
    }

    pub(super) fn status(&self, number: usize, is_fine: bool, is_matched: bool) -> Status {
        let entry = &self.entries[number];
        let mut status = Status {
            is_fine: is_fine || entry.destination.is_none(),
            source_is_deployed: is_matched || !self.deployed.find(&entry.text).is_empty(),
            destination_is_local: false,
            stack_is_deployed: false,
            anything_is_deployed: !self.deployed.resources.is_empty(),
        };
        if let Named::Pattern(pattern) = entry.source {
            let all = self.deployed.resources.iter().enumerate();
            let mut matched = all.filter(|(_, one)| one.is_named_by(pattern)).peekable();
            status.source_is_deployed |= matched.peek().is_some();
            // Every one of them has an entry of its own.
            status.is_fine |= status.source_is_deployed
                && matched.all(|(at, _)| self.by_deployed.contains_key(&at));
        }
        let Some((named, text)) = &entry.destination else { return status };
        if !status.is_fine && !status.source_is_deployed {
            status.stack_is_deployed = self.deployed.has_stack_of(&entry.text);
        }
        if let Named::Pattern(pattern) = named {
            let all = self.local.resources.iter();
            let mut there = all.filter(|one| one.is_named_by(pattern)).peekable();
            status.destination_is_local = there.peek().is_some();
            status.is_fine |= !status.source_is_deployed
                && there.any(|one| self.deployed.one(&one.text).is_some());
            return status;
        }
        let first = self.spot(text.clone());
        status.destination_is_local = !self.local.find(text).is_empty();
        let rest = self.walk(first.clone()).map(|walk| walk.spots).unwrap_or_default();
        for spot in std::iter::once(&first).chain(&rest) {
            status.destination_is_local |= spot.local.is_some();
            let is_known = spot.local.is_some() || !rest.is_empty() || !entry.is_now();
            let is_done = spot.deployed.is_some() && is_known;
            status.is_fine |= !status.source_is_deployed && is_done;
        }
        status
    }
}
