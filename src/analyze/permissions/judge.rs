//! Whether a grant that came or went lets more be done than before.

use rustc_hash::FxHashMap as HashMap;

use super::collect::{Fact, Grant, IDENTITY, State};
use super::statement::{Effect, Statement};

/// Both states, ready to be asked.
pub(super) struct Judge<'g> {
    before: Index<'g>,
    now: Index<'g>,
}

/// A state by holders.
struct Index<'g> {
    state: &'g State,
    grants: HashMap<(&'g str, &'g str), Vec<&'g Grant>>,
    /// Who has a managed policy of these stacks.
    attached: HashMap<&'g str, Vec<&'g str>>,
}

impl<'g> Index<'g> {
    fn new(state: &'g State) -> Self {
        let mut grants: HashMap<_, Vec<_>> = HashMap::default();
        let mut attached: HashMap<_, Vec<_>> = HashMap::default();
        for grant in &state.grants {
            let of_holder = (grant.holder.as_str(), grant.scope.as_str());
            grants.entry(of_holder).or_default().push(grant);
            if let Fact::Attached(policy) = &grant.fact {
                attached.entry(policy.as_str()).or_default().push(grant.holder.as_str());
            }
        }
        Self { state, grants, attached }
    }

    fn of(&self, holder: &str, scope: &str) -> impl Iterator<Item = &'g Grant> + use<'g> {
        let found = self.grants.get(&(holder, scope)).cloned();
        found.unwrap_or_default().into_iter()
    }

    /// All that the policies of a holder say, attached ones of these stacks included.
    fn effective(&self, holder: &str, scope: &str) -> Vec<&'g Grant> {
        let mut all: Vec<&Grant> = self.of(holder, scope).collect();
        let own = all.len();
        for at in 0..own {
            if let Fact::Attached(policy) = &all[at].fact {
                // A policy that is attached under a condition counts under that condition only.
                let is_certain = all[at].when.is_empty();
                all.extend(self.of(policy, IDENTITY).filter(|_| is_certain));
            }
        }
        all
    }

    fn has(&self, resource: &str) -> bool {
        self.state.resources.contains_key(resource)
    }

    /// Whether a statement is covered by what a holder has here.
    fn covers(&self, holder: &str, grant: &Grant, statement: &Statement) -> bool {
        let all = self.effective(holder, &grant.scope);
        let others: Vec<&Statement> = all
            .iter()
            // It must exist whenever the other does.
            .filter(|other| other.when.is_subset(&grant.when))
            .filter_map(|other| match &other.fact {
                Fact::Statement(other) => Some(other),
                _ => None,
            })
            .collect();
        statement.is_covered_by(&others)
    }
}

impl<'g> Judge<'g> {
    pub(super) fn new(before: &'g State, now: &'g State) -> Self {
        Self { before: Index::new(before), now: Index::new(now) }
    }

    /// Whether more may be done since the grant came.
    pub(super) fn broadens_by_addition(&self, grant: &Grant) -> bool {
        match &grant.fact {
            Fact::Statement(statement) => match statement.effect {
                Effect::Allow => !self.was_covered(grant, statement),
                Effect::Deny => false,
                Effect::Unknown => true,
            },
            Fact::Attached(policy) => {
                !self.now.has(policy)
                    || self.now.of(policy, IDENTITY).any(|inner| match &inner.fact {
                        Fact::Statement(statement) => match statement.effect {
                            Effect::Allow => !self.before.covers(&grant.holder, inner, statement),
                            Effect::Deny => false,
                            Effect::Unknown => true,
                        },
                        _ => false,
                    })
            }
            Fact::Boundary(_) => false,
            Fact::Rule(rule) => {
                let before = self.before.of(&grant.holder, &grant.scope);
                rule.reaches_anybody()
                    && !before.into_iter().any(|other| match &other.fact {
                        Fact::Rule(other_rule) => {
                            other_rule.covers(rule) && other.when.is_subset(&grant.when)
                        }
                        _ => false,
                    })
            }
            Fact::Member(_) | Fact::Assigned(..) => true,
        }
    }

    /// Whether more may be done since the grant went.
    pub(super) fn broadens_by_removal(&self, grant: &Grant) -> bool {
        if self.is_gone(&grant.holder) {
            return false;
        }
        match &grant.fact {
            Fact::Statement(statement) => {
                statement.effect != Effect::Allow
                    && !self.now.covers(&grant.holder, grant, statement)
            }
            Fact::Attached(policy) if self.before.has(policy) => {
                self.before.of(policy, IDENTITY).any(|inner| match &inner.fact {
                    Fact::Statement(statement) => {
                        statement.effect != Effect::Allow
                            && !self.now.covers(&grant.holder, inner, statement)
                    }
                    _ => false,
                })
            }
            Fact::Attached(policy) => may_deny(policy),
            Fact::Member(group) if self.before.has(group) => {
                self.before.effective(group, IDENTITY).iter().any(|inner| match &inner.fact {
                    Fact::Statement(statement) => statement.effect != Effect::Allow,
                    Fact::Attached(policy) => !self.before.has(policy) && may_deny(policy),
                    _ => false,
                })
            }
            Fact::Boundary(_) | Fact::Member(_) => true,
            Fact::Rule(_) | Fact::Assigned(..) => false,
        }
    }

    /// Whether an allowing statement says nothing new. That of a managed policy that is new says
    /// nothing new if all who have the policy had the permission already.
    fn was_covered(&self, grant: &Grant, statement: &Statement) -> bool {
        if self.before.covers(&grant.holder, grant, statement) {
            return true;
        }
        let is_new_policy = grant.scope == IDENTITY
            && grant.place.resource_type == "AWS::IAM::ManagedPolicy"
            && !self.before.has(&grant.holder);
        let holders = self.now.attached.get(grant.holder.as_str()).filter(|_| is_new_policy);
        holders.is_some_and(|holders| {
            holders.iter().all(|holder| self.before.covers(holder, grant, statement))
        })
    }

    /// Whether somebody's permissions mean nothing any more, because the resource is deleted.
    fn is_gone(&self, holder: &str) -> bool {
        let before = self.before.state.resources.get(holder);
        before.is_some_and(|resource| !resource.is_retained) && !self.now.has(holder)
    }
}

/// Whether a managed policy from outside of the stacks may deny something. Those of AWS that do
/// say so in their names.
fn may_deny(policy: &str) -> bool {
    let of_aws = policy.contains(":iam::aws:policy/");
    !of_aws || policy.contains("Deny") || policy.contains("Quarantine")
}
