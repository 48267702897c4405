//! What would be lost, and what somebody allowed to be lost.

use std::collections::{BTreeMap, BTreeSet};

use globset::{GlobBuilder, GlobMatcher};

use super::{Effect, EffectKind};
use crate::model::{Location, Object, Stack, Value};
use crate::registry;

/// A resource that leaves its template, or that is replaced: the body whose policy counts. On
/// removal that is the deployed one, on replacement the new one.
pub(super) struct Leaving<'a> {
    resource_type: &'a str,
    body: &'a Object,
}

impl<'a> Leaving<'a> {
    pub(super) fn new(resource_type: &'a str, body: &'a Object) -> Self {
        Self { resource_type, body }
    }

    fn policy(&self, key: &str) -> &str {
        let is_in_cluster = || {
            let properties = self.body.get("Properties");
            properties.is_some_and(|all| all.get("DBClusterIdentifier").is_some())
        };
        match self.body.get(key).and_then(Value::as_str) {
            Some(policy) => policy,
            None if registry::snapshots_by_default(self.resource_type, is_in_cluster()) => {
                "Snapshot"
            }
            None => "Delete",
        }
    }

    /// Whether it stays in the account when it leaves its template.
    pub(super) fn is_retained(&self) -> bool {
        matches!(self.policy("DeletionPolicy"), "Retain" | "RetainExceptOnCreate")
    }
}

/// Returns what is lost when a resource leaves its template; `elsewhere` is where the app has it
/// now, if it could not move there.
pub(super) fn of_removal(leaving: &Leaving<'_>, elsewhere: Option<&str>) -> Option<String> {
    if !registry::is_stateful(leaving.resource_type) {
        return None;
    }
    match (leaving.policy("DeletionPolicy"), elsewhere) {
        ("Retain" | "RetainExceptOnCreate", None) => None,
        ("Retain" | "RetainExceptOnCreate", Some(there)) => Some(format!(
            "It stays in the account, outside of any stack, and `{there}` begins empty."
        )),
        ("Snapshot", _) => Some(
            "It is deleted: what it holds is left in a snapshot, its identity is lost.".to_owned(),
        ),
        (_, Some(there)) => {
            Some(format!("It is deleted with all that it holds, and `{there}` begins empty."))
        }
        (_, None) => Some("It is deleted with all that it holds.".to_owned()),
    }
}

/// Returns what is lost when a resource is replaced.
pub(super) fn of_replacement(leaving: &Leaving<'_>, certain: bool) -> Option<String> {
    if !registry::is_stateful(leaving.resource_type) {
        return None;
    }
    let verb = if certain { "is" } else { "may be" };
    Some(match leaving.policy("UpdateReplacePolicy") {
        "Retain" => format!(
            "It {verb} replaced by an empty one; the old one stays in the account, outside of any \
             stack."
        ),
        "Snapshot" => format!(
            "It {verb} replaced by an empty one; what it holds is left in a snapshot, its \
             identity is lost."
        ),
        _ => format!("It {verb} replaced by an empty one, and all that it holds is deleted."),
    })
}

/// What a change set would do to one resource, as CloudFormation says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedChange {
    /// `Add`, `Modify`, `Remove`, `Import` or `Dynamic`.
    pub action: String,
    /// The logical ID.
    pub logical_id: String,
    /// The type.
    pub resource_type: String,
    /// The physical ID, if there is one.
    pub physical_id: Option<String>,
    /// `True`, `False` or `Conditional`; empty if it says nothing.
    pub replacement: String,
    /// `Delete`, `Retain`, `Snapshot`, `ReplaceAndDelete`, `ReplaceAndRetain` or
    /// `ReplaceAndSnapshot`; empty if it says nothing.
    pub policy_action: String,
}

/// An entry of `--allow-replacement` that is no pattern.
#[derive(Debug, thiserror::Error)]
#[error("`{entry}` is no location, construct path, resource type or pattern of these: {reason}")]
pub struct AllowedError {
    /// The entry.
    pub entry: String,
    /// What is wrong with it.
    pub reason: String,
}

/// What may be replaced or deleted although something is lost with it.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    entries: Vec<(String, Option<GlobMatcher>)>,
    /// Construct paths by location.
    paths: BTreeMap<String, BTreeSet<String>>,
    /// Locations whose loss was foreseen and agreed to.
    foreseen: BTreeSet<String>,
}

impl Allowed {
    /// Reads entries of `--allow-replacement`: `Stack.LogicalId`, a construct path, a type, or a
    /// pattern of one of them (`*` within a part, `**` across `/`).
    ///
    /// # Errors
    /// The first entry that is empty or whose pattern cannot be read.
    pub fn parse<'e>(entries: impl IntoIterator<Item = &'e str>) -> Result<Self, AllowedError> {
        let mut allowed = Self::default();
        for entry in entries {
            let error = |reason: String| AllowedError { entry: entry.to_owned(), reason };
            if entry.trim().is_empty() {
                return Err(error("it is empty".to_owned()));
            }
            let is_pattern = entry.contains(['*', '?', '[', '{']);
            let matcher = if is_pattern {
                let glob = GlobBuilder::new(entry).literal_separator(true).build();
                Some(glob.map_err(|reason| error(reason.kind().to_string()))?.compile_matcher())
            } else {
                None
            };
            allowed.entries.push((entry.to_owned(), matcher));
        }
        Ok(allowed)
    }

    /// Learns the construct paths of resources, so that entries that are paths mean something.
    /// Stacks may come from both sides.
    pub fn know<'s>(&mut self, stacks: impl IntoIterator<Item = &'s Stack>) {
        for stack in stacks {
            for (id, body) in stack.template.resources() {
                let path = body.get("Metadata").and_then(|data| data.get("aws:cdk:path"));
                if let Some(path) = path.and_then(Value::as_str) {
                    let place = Location::new(stack.name.as_str(), id).to_string();
                    self.paths.entry(place).or_default().insert(path.to_owned());
                }
            }
        }
    }

    /// Allows what an effect says, since it was foreseen and agreed to.
    pub fn foresee(&mut self, effect: &Effect) {
        self.foreseen.insert(format!("{}.{}", effect.stack, effect.logical_id));
    }

    /// Whether a resource may be replaced or deleted.
    pub fn allows(&self, stack: &str, logical_id: &str, resource_type: &str) -> bool {
        let place = format!("{stack}.{logical_id}");
        if self.foreseen.contains(&place) {
            return true;
        }
        let nothing = BTreeSet::new();
        let paths = self.paths.get(&place).unwrap_or(&nothing);
        self.entries.iter().any(|(entry, matcher)| {
            // An entry means one kind of thing: `App*` must not allow every type of AWS.
            let names: Vec<&str> = if entry.contains("::") {
                vec![resource_type]
            } else {
                [place.as_str()].into_iter().chain(paths.iter().map(String::as_str)).collect()
            };
            names.into_iter().any(|name| {
                let own = name == entry || name.strip_suffix("/Resource") == Some(entry);
                own || matcher.as_ref().is_some_and(|matcher| matcher.is_match(name))
            })
        })
    }

    /// Returns the effects that are dangerous and not allowed.
    pub fn refused<'e>(&self, effects: &'e [Effect]) -> Vec<&'e Effect> {
        let is_refused = |effect: &&Effect| {
            effect.danger.is_some()
                && !self.allows(&effect.stack, &effect.logical_id, &effect.resource_type)
        };
        effects.iter().filter(is_refused).collect()
    }
}

/// Returns what a change set would do that is dangerous and was neither foreseen nor allowed: one
/// sentence for each resource. `stack` is the name of the stack; for a nested one
/// `Parent/LogicalId`.
pub fn judge(stack: &str, changes: &[PlannedChange], allowed: &Allowed) -> Vec<String> {
    let mut reasons = Vec::new();
    for change in changes {
        let policy = change.policy_action.as_str();
        let what = match (change.action.as_str(), change.replacement.as_str()) {
            ("Remove", _) if policy == "Retain" => continue,
            ("Remove", _) => "would be deleted",
            ("Modify", "True") => "would be replaced",
            ("Modify", "Conditional") => "may be replaced",
            _ => continue,
        };
        let (id, kind) = (&change.logical_id, &change.resource_type);
        if !registry::is_stateful(kind) || allowed.allows(stack, id, kind) {
            continue;
        }
        let rest = match policy {
            "ReplaceAndRetain" => "the old one would stay in the account, outside of any stack",
            "Snapshot" | "ReplaceAndSnapshot" => "a snapshot would be all that is left",
            _ => "all that it holds would be lost",
        };
        let physical =
            change.physical_id.as_deref().map(|id| format!(", {id}")).unwrap_or_default();
        reasons.push(format!("`{stack}.{id}` ({kind}{physical}) {what}: {rest}"));
    }
    reasons
}

impl Effect {
    /// Whether the resource is not what it was afterwards: replaced or gone.
    pub fn is_loss(&self) -> bool {
        matches!(self.kind, EffectKind::Replace { .. } | EffectKind::Remove)
    }
}
