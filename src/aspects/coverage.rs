//! What aspects found: one that finds nothing is probably mistyped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::declaration::{Declaration, Match, Work};
use super::read::Declarations;
use super::suggestion;
use super::tree::Tree;
use crate::model::Text;

/// What each aspect found, in one environment or in several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<Text, Covered>);

/// What an aspect found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Covered {
    /// How many resources it is about.
    pub(super) matched: usize,
    /// Whether its operations found what they look for.
    pub(super) operations: Vec<bool>,
    /// How many resources it would be about if it came to them.
    pub(super) out_of_reach: usize,
    /// How many of those are in stages that it does not enter.
    pub(super) in_stages: usize,
    /// How many resources it might be about if their class were known.
    pub(super) unknown_class: usize,
    /// What may have been meant, if it is about nothing.
    pub(super) meant: Option<String>,
    /// The names of members in the resources in which an operation found nothing.
    pub(super) members: BTreeSet<Text>,
}

/// An aspect, or a part of it, that did nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The aspect.
    pub aspect: Text,
    /// Where it was declared.
    pub origin: Text,
    /// What it did not find, as the end of a sentence.
    pub reason: String,
}

impl Coverage {
    pub(super) fn of(&mut self, declaration: &Declaration) -> &mut Covered {
        let count = match &declaration.work {
            Work::Change(operations) => operations.len(),
            Work::Look(..) => 0,
        };
        let covered = self.0.entry(declaration.id.clone()).or_default();
        covered.operations.resize(count, false);
        covered
    }

    /// Adds what was found elsewhere.
    pub fn merge(&mut self, other: Self) {
        for (id, found) in other.0 {
            let covered = self.0.entry(id).or_default();
            covered.matched += found.matched;
            covered.out_of_reach += found.out_of_reach;
            covered.in_stages += found.in_stages;
            covered.unknown_class += found.unknown_class;
            covered.meant = covered.meant.take().or(found.meant);
            covered.members.extend(found.members);
            let count = covered.operations.len().max(found.operations.len());
            covered.operations.resize(count, false);
            for (known, found) in covered.operations.iter_mut().zip(found.operations) {
                *known |= found;
            }
        }
    }

    /// Counts what aspects that found nothing would be about elsewhere.
    pub(super) fn out_of_reach<S>(&mut self, declarations: &[Arc<Declaration>], tree: &Tree<S>) {
        for declaration in declarations.iter().filter(|one| !one.is_preset) {
            let covered = self.of(declaration);
            if covered.matched > 0 {
                continue;
            }
            covered.meant = suggestion::nearest(declaration, tree);
            for node in 0..tree.nodes.len() {
                if declaration.matcher.matches(tree.around(node), true) == Match::Yes {
                    covered.out_of_reach += 1;
                    let is_in_stage = tree.around(node).any(|around| around.is_stage);
                    covered.in_stages += usize::from(is_in_stage);
                }
            }
        }
    }

    /// Returns the declared aspects that did nothing, and their operations. Built-in ones need
    /// not find anything.
    pub fn idle(&self, declarations: &Declarations) -> Vec<Idle> {
        let nothing = Covered::default();
        let mut idle = Vec::new();
        for declaration in declarations.iter().filter(|one| !one.is_preset) {
            let covered = self.0.get(&declaration.id).unwrap_or(&nothing);
            let mut tell = |reason: String| {
                let (aspect, origin) = (declaration.id.clone(), declaration.origin.clone());
                idle.push(Idle { aspect, origin, reason });
            };
            if covered.matched == 0 {
                tell(covered.why_nothing(declaration));
                continue;
            }
            if let Work::Change(operations) = &declaration.work {
                for (operation, found) in operations.iter().zip(&covered.operations) {
                    if !found {
                        let place = operation.place();
                        let meant = place
                            .and_then(|place| suggestion::nearest_place(place, &covered.members));
                        tell(format!(
                            "finds nothing to do for `{operation}` in {}{}",
                            count(
                                covered.matched,
                                "resource that it matches",
                                "resources that it matches"
                            ),
                            did_you_mean(meant.as_deref())
                        ));
                    }
                }
            }
        }
        idle
    }
}

impl Covered {
    fn why_nothing(&self, declaration: &Declaration) -> String {
        let matching = |number| count(number, "resource", "resources");
        if self.in_stages > 0 && !declaration.crosses_stages && declaration.scope.is_none() {
            let number = matching(self.in_stages);
            format!(
                "matches no resource outside of stages, but {number} in stages: \
                     `\"crossStages\": true` lets it in"
            )
        } else if self.out_of_reach > 0 && declaration.is_applied {
            let number = matching(self.out_of_reach);
            format!("was applied to none of the {number} that it matches")
        } else if self.out_of_reach > 0 {
            let number = matching(self.out_of_reach);
            let meant = did_you_mean(self.meant.as_deref());
            format!("matches no resource in its scope, but {number} elsewhere{meant}")
        } else if self.unknown_class > 0 {
            let number = matching(self.unknown_class);
            let meant = did_you_mean(self.meant.as_deref());
            format!(
                "matches by class, but the construct tree does not tell that of {number}{meant}"
            )
        } else {
            format!("matches no resource{}", did_you_mean(self.meant.as_deref()))
        }
    }
}

fn did_you_mean(meant: Option<&str>) -> String {
    meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default()
}

fn count(number: usize, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}
