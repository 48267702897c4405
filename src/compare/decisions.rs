//! What people decided, and what the comparison may not touch.

use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeSet;
use std::fmt;

use super::CompareError;
use super::comparison::{Comparison, Evidence, Problem};
use super::matching::Pair;
use super::scope::NodeId;
use super::side::Side;
use crate::model::{ConstructPath, Location, Pattern};
use crate::registry;

/// What people decided about one environment.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    /// Resources that are the same.
    pub pairs: Vec<DecidedPair>,
    /// Pairs that an earlier comparison of the same resources found. They are no decisions: each
    /// counts for as much as its evidence.
    pub found: Vec<FoundPair>,
    /// Resources that are never matched.
    pub skip: Vec<SkipEntry>,
    /// Deployed resources that are nothing that exists now. One that is not deployed (any more)
    /// says nothing.
    pub left: Vec<LeftEntry>,
    /// Whether the pairs are all that may move: whatever else the evidence finds is told, and
    /// stays unmatched.
    pub only: bool,
    /// What the reader should know about the decisions themselves.
    pub notes: Vec<String>,
    /// Resources of which it is known what became of them.
    pub settled: Settled,
    /// Mappings that nothing distinctive supports become questions.
    pub strict: bool,
    /// Look for the nearest candidate of everything that was added or removed.
    pub explain: bool,
    /// What counts though it need not.
    pub literal: Literal,
}

/// What is taken literally, though CloudFormation or the framework mean nothing by it. By default
/// nothing is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub struct Literal {
    /// Names that follow from the paths of constructs: with another name it is another content.
    pub names: bool,
    /// Numbers and booleans: `30` is not `"30"`.
    pub scalars: bool,
    /// Metadata that say where assets are.
    pub assets: bool,
    /// The order of `DependsOn`.
    pub depends_on: bool,
}

/// "This deployed resource is now that one."
#[derive(Clone, Debug)]
pub struct DecidedPair {
    /// The deployed resource.
    pub source: Reference,
    /// The resource as it is now.
    pub destination: Reference,
    /// Where it was said: a flag, a file.
    pub origin: String,
}

/// A pair that an earlier comparison of the same resources found.
#[derive(Clone, Debug)]
pub struct FoundPair {
    /// Where the resource is deployed.
    pub source: Location,
    /// Where it is now.
    pub destination: Location,
    /// What justified the pair; `None`: it is where it was, or in a nested stack that moved.
    pub evidence: Option<Evidence>,
    /// The contents were equal but for names that follow from the renaming of constructs.
    pub by_names: bool,
}

/// A resource, or several, that are never matched.
#[derive(Clone, Debug)]
pub struct SkipEntry {
    /// A location, a construct path (then everything below it too), a resource type, or a
    /// pattern of any of these.
    pub what: String,
    /// Where it was said.
    pub origin: String,
}

impl SkipEntry {
    /// Whether the entry is about a resource at a location, of a type, with a path.
    pub fn is_about(&self, location: &str, kind: &str, path: Option<&str>) -> bool {
        let Ok(Some(pattern)) = Pattern::parse(&self.what) else {
            return location == self.what
                || kind == self.what
                || path.is_some_and(|path| is_within(path, &self.what));
        };
        let matches = |name: &str| pattern.captures(name).is_some();
        matches(location) || matches(kind) || path.is_some_and(matches)
    }
}

/// Resources of which it is known what became of them: what is not in a decided pair stays where
/// it is, was deleted or is new. Evidence does not match them, and nobody is asked about them. A
/// location at which there is nothing says nothing.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    /// Deployed resources.
    pub deployed: BTreeSet<Location>,
    /// Resources as they are now.
    pub local: BTreeSet<Location>,
    /// Who knows it.
    pub origin: String,
}

/// "This deployed resource is nothing that exists now": it is left to be replaced, and nobody is
/// asked about it again.
#[derive(Clone, Debug)]
pub struct LeftEntry {
    /// The deployed resource.
    pub resource: Reference,
    /// Where it was said: a person at the terminal, a file.
    pub origin: String,
}

/// How a decision names a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// By stack and logical ID.
    Location(Location),
    /// By construct path.
    Path(ConstructPath),
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Location(location) => location.fmt(f),
            Self::Path(path) => path.fmt(f),
        }
    }
}

impl Side<'_> {
    /// Returns the resource that a decision names: at a location, or with exactly this path, or
    /// the default child of the construct with this path.
    fn find(&self, reference: &Reference) -> Vec<NodeId> {
        match reference {
            Reference::Location(location) => self.at(location).into_iter().collect(),
            Reference::Path(path) => {
                let with = |path: &str| -> Vec<NodeId> {
                    self.ids().filter(|id| self.node(*id).path == Some(path)).collect()
                };
                let exact = with(path.as_str());
                if !exact.is_empty() {
                    return exact;
                }
                let mut found = with(&format!("{path}/Resource"));
                found.extend(with(&format!("{path}/Default")));
                found
            }
        }
    }

    fn find_one(
        &self,
        reference: &Reference,
        origin: &str,
        deployed: bool,
    ) -> Result<NodeId, CompareError> {
        match self.find(reference).as_slice() {
            [id] => Ok(*id),
            [] => Err(CompareError::UnknownDecision {
                reference: reference.to_string(),
                origin: origin.to_owned(),
                side: if deployed { "deployed" } else { "in the app as it is now" },
            }),
            several => Err(CompareError::VagueDecision {
                reference: reference.to_string(),
                origin: origin.to_owned(),
                candidates: several.iter().map(|id| self.location(*id)).collect(),
            }),
        }
    }

    /// Marks what is never matched: what is made to be replaced, what the app marks, and what
    /// the skip entries name. Returns which entries named something.
    pub(super) fn exclude(&mut self, skip: &[SkipEntry]) -> Vec<bool> {
        let mut used = vec![false; skip.len()];
        let mut replaceable: HashMap<&str, bool> = HashMap::default();
        for id in self.ids() {
            let node = self.node(id);
            let made_to_be_replaced = *replaceable
                .entry(node.kind)
                .or_insert_with(|| registry::made_to_be_replaced(node.kind));
            let mut reason = if made_to_be_replaced {
                Some(format!("every `{}` is made to be replaced", node.kind))
            } else {
                node.mark.map(|key| format!("the app marks it with `{key}`"))
            };
            let mut skipped_by = None;
            let location = if skip.is_empty() { None } else { Some(self.location(id).to_string()) };
            for (entry, used) in skip.iter().zip(&mut used) {
                let named =
                    location.as_ref().is_some_and(|at| entry.is_about(at, node.kind, node.path));
                if named {
                    *used = true;
                    reason.get_or_insert_with(|| format!("excluded by {}", entry.origin));
                    // A decision about one resource goes before an entry about many.
                    if location.as_ref() == Some(&entry.what) || node.path == Some(&entry.what) {
                        skipped_by = Some(entry.origin.clone());
                    }
                }
            }
            self.nodes[id as usize].excluded = reason;
            self.nodes[id as usize].skipped_by = skipped_by;
        }
        used
    }
}

impl Side<'_> {
    /// Marks deployed resources that somebody has left to be replaced.
    ///
    /// # Errors
    /// When an entry names several resources.
    pub(super) fn leave(&mut self, left: &[LeftEntry]) -> Result<(), CompareError> {
        for LeftEntry { resource, origin } in left {
            match self.find(resource).as_slice() {
                [] => {}
                [id] => {
                    let node = &mut self.nodes[*id as usize];
                    node.excluded = Some(format!("left to be replaced: {origin}"));
                    node.skipped_by = Some(origin.clone());
                }
                several => {
                    return Err(CompareError::VagueDecision {
                        reference: resource.to_string(),
                        origin: origin.clone(),
                        candidates: several.iter().map(|id| self.location(*id)).collect(),
                    });
                }
            }
        }
        Ok(())
    }
}

/// Returns what the evidence finds besides the only moves that are allowed.
pub(super) fn not_allowed(allowed: &Comparison, found: &Comparison) -> Vec<Problem> {
    let is_allowed = |source: &Location| {
        allowed.mappings.iter().any(|mapping| mapping.source.location == *source)
    };
    let others = found
        .mappings
        .iter()
        .filter(|mapping| mapping.blocked.is_none() && !is_allowed(&mapping.source.location));
    let problem = |from: &Location, to: &Location| Problem {
        message: format!(
            "`{from}` seems to have moved to `{to}`, which is not among the moves that are \
             allowed: a deployment replaces it, unless you allow it with --map {from}:{to}"
        ),
    };
    others.map(|mapping| problem(&mapping.source.location, &mapping.destination.location)).collect()
}

impl Side<'_> {
    /// Marks what evidence does not match since it is known what became of it.
    pub(super) fn settle(&mut self, settled: &BTreeSet<Location>, origin: &str) {
        for id in settled.iter().filter_map(|location| self.at(location)).collect::<Vec<_>>() {
            let excluded = &mut self.nodes[id as usize].excluded;
            excluded.get_or_insert_with(|| format!("settled by {origin}"));
        }
    }
}

/// Returns what an earlier comparison found, as resources; what is not there any more is left out.
pub(super) fn found(old: &Side<'_>, new: &Side<'_>, found: &[FoundPair]) -> Vec<Pair> {
    let pair = |one: &FoundPair| {
        let (source, destination) = (old.at(&one.source)?, new.at(&one.destination)?);
        let is_possible = old.node(source).kind == new.node(destination).kind;
        is_possible.then(|| Pair {
            old: source,
            new: destination,
            evidence: one.evidence.clone(),
            by_names: one.by_names,
        })
    };
    found.iter().filter_map(pair).collect()
}

/// Whether a path is that of a construct, or below it.
fn is_within(path: &str, construct: &str) -> bool {
    path.strip_prefix(construct).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Checks the decided pairs and returns them as resources, with where they were decided.
pub(super) fn resolve(
    old: &Side<'_>,
    new: &Side<'_>,
    pairs: &[DecidedPair],
) -> Result<Vec<(NodeId, NodeId, String)>, CompareError> {
    let mut resolved: Vec<(NodeId, NodeId, String)> = Vec::new();
    let mut sources: HashMap<NodeId, &DecidedPair> = HashMap::default();
    let mut destinations: HashMap<NodeId, &DecidedPair> = HashMap::default();
    for pair in pairs {
        let source = old.find_one(&pair.source, &pair.origin, true)?;
        let destination = new.find_one(&pair.destination, &pair.origin, false)?;
        let (old_kind, new_kind) = (old.node(source).kind, new.node(destination).kind);
        if old_kind != new_kind {
            return Err(CompareError::DecisionChangesType {
                source_location: old.location(source).to_string(),
                destination: new.location(destination).to_string(),
                types: Box::new((old_kind.to_owned(), new_kind.to_owned())),
                origin: pair.origin.clone(),
            });
        }
        if resolved.iter().any(|(a, b, _)| (*a, *b) == (source, destination)) {
            continue;
        }
        for (side, id) in [(old, source), (new, destination)] {
            if let Some(skipped) = &side.node(id).skipped_by {
                return Err(CompareError::ContradictingDecisions {
                    location: side.location(id),
                    first: format!("never to be matched ({skipped})"),
                    second: format!("{} → {} ({})", pair.source, pair.destination, pair.origin),
                });
            }
        }
        for (earlier, location) in [
            (sources.insert(source, pair), old.location(source)),
            (destinations.insert(destination, pair), new.location(destination)),
        ] {
            if let Some(earlier) = earlier {
                return Err(CompareError::ContradictingDecisions {
                    location,
                    first: format!(
                        "{} → {} ({})",
                        earlier.source, earlier.destination, earlier.origin
                    ),
                    second: format!("{} → {} ({})", pair.source, pair.destination, pair.origin),
                });
            }
        }
        resolved.push((source, destination, pair.origin.clone()));
    }
    Ok(resolved)
}
