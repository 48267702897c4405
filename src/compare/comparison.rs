//! What a comparison answers.

use crate::model::{ConstructPath, Environment, Location, ResourceType, Value};
use crate::registry::Replacement;

/// What is known of one environment. All lists are sorted by location; nothing in them depends
/// on the order of keys, resources or stacks in the input.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The account and region.
    pub environment: Environment,
    /// Resources that are the same under another name.
    pub mappings: Vec<Mapping>,
    /// Resources that the evidence does not tell apart.
    pub ambiguous: Vec<Ambiguity>,
    /// Pairs that are alike but not enough so to be taken.
    pub similar: Vec<Similar>,
    /// Resources that only exist now: a deployment creates them.
    pub added: Vec<Unpaired>,
    /// Resources that are only deployed: a deployment deletes them.
    pub removed: Vec<Unpaired>,
    /// Resources that stay where they are and that a deployment changes.
    pub changed: Vec<Change>,
    /// How many resources are the same in the same place.
    pub unchanged: usize,
    /// What the reader should know besides.
    pub problems: Vec<Problem>,
}

/// A resource's location with the path of its construct, if it carries one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Stack and logical ID.
    pub location: Location,
    /// `Metadata["aws:cdk:path"]`.
    pub path: Option<ConstructPath>,
}

/// A deployed resource and the place where it is now.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// The type, equal on both sides.
    pub resource_type: ResourceType,
    /// Where it is deployed.
    pub source: Place,
    /// Where it is now.
    pub destination: Place,
    /// What justifies the mapping.
    pub evidence: Evidence,
    /// The contents are equal but for names that follow from the renaming of constructs.
    pub by_names: bool,
    /// Properties that the deployment will change after the move.
    pub changes: Vec<Difference>,
    /// Nothing distinctive supports the mapping: the two are equal, and that is all.
    pub indistinct: bool,
    /// Deployed resources of equal content that stay where they are (RFC 0162's "X, Y become Y,
    /// Z"): a decision can say that one of them moved instead.
    pub identical_stayed: Vec<Location>,
    /// Why CloudFormation cannot move it, as the end of a sentence that starts with the resource:
    /// then the deployment recreates it.
    pub blocked: Option<String>,
}

/// Why two resources are taken for the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Somebody said so; where it was said.
    Decision(String),
    /// Equal literal values of all properties that make up the physical ID.
    PhysicalId(Vec<String>),
    /// The only two of equal content.
    Digest,
    /// Of several with equal content, the only two that the same resources refer to in the same
    /// way.
    Structure,
    /// Of several with equal content, the only two on the path that a renamed construct gives:
    /// old and new path of that construct.
    Path(ConstructPath, ConstructPath),
    /// Of several with equal content, the only two with this logical ID.
    LogicalId,
    /// Of several with equal content, the only two with equal paths below these common ancestors.
    RelativePath(ConstructPath, ConstructPath),
    /// Changed, but on the path of a renamed construct most of which moved unchanged: old and
    /// new path of that construct, and how many of how many resources prove it.
    MovedAndChanged {
        /// Old path of the construct.
        from: ConstructPath,
        /// New path of the construct.
        to: ConstructPath,
        /// How many of its resources are mapped by their content.
        proven: usize,
        /// How many resources it has.
        of: usize,
    },
    /// The same logical ID in a nested stack that is itself mapped.
    NestedStack,
}

/// A property that differs between the two sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Dotted path from the resource's body: `Properties.Tags.0.Value`, `DeletionPolicy`.
    pub property: String,
    /// The deployed value; `None` if it is not there.
    pub old: Option<Value>,
    /// The new value; `None` if it is not there.
    pub new: Option<Value>,
    /// The difference merely repeats a new name of a construct.
    pub name_only: bool,
    /// CloudFormation replaces the resource when this property changes.
    pub replaces: bool,
}

/// Sources and destinations of equal evidence.
#[derive(Clone, Debug)]
pub struct Ambiguity {
    /// The type of all of them.
    pub resource_type: ResourceType,
    /// The deployed candidates.
    pub sources: Vec<Place>,
    /// The candidates now.
    pub destinations: Vec<Place>,
    /// Ambiguities with the same number are one question about constructs.
    pub group: usize,
    /// The constructs that the question is about: deployed paths, and paths now. Empty if the
    /// resources carry no paths.
    pub constructs: (Vec<ConstructPath>, Vec<ConstructPath>),
    /// Who refers to each of the sources, and to each of the destinations, so that a person can
    /// tell them apart: at most five each, sorted, those that refer to all of them only if nobody
    /// else does.
    pub referrers: (Vec<Vec<Location>>, Vec<Vec<Location>>),
}

/// A pair that is offered, never taken without consent.
#[derive(Clone, Debug)]
pub struct Similar {
    /// The type, equal on both sides.
    pub resource_type: ResourceType,
    /// The deployed one.
    pub source: Place,
    /// The one that exists now.
    pub destination: Place,
    /// From 0 (nothing in common) to 100 (all the same), in percent, rounded down: the measure of
    /// [`measure`](super::measure) over the bodies, references by what they point at.
    pub score: u8,
    /// What differs.
    pub differences: Vec<Difference>,
}

impl Similar {
    /// Returns what the deployment would do to the resource if the pair were taken: the worst that
    /// one of the differences does ([`Difference::effect`]).
    pub fn effect(&self) -> Replacement {
        let effects = self.differences.iter().map(|one| one.effect(&self.resource_type));
        effects.max().unwrap_or(Replacement::Never)
    }
}

/// A resource without a counterpart.
#[derive(Clone, Debug)]
pub struct Unpaired {
    /// Its type.
    pub resource_type: ResourceType,
    /// Where it is.
    pub place: Place,
    /// The most alike unpaired resource of the other side, if there is one, and what differs.
    pub nearest: Option<(Place, Vec<Difference>)>,
    /// Why it was not even considered, if so: made to be replaced, or excluded.
    pub excluded: Option<String>,
}

/// A resource that stays in place and changes.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its type.
    pub resource_type: ResourceType,
    /// Where it is, on the side as it is now.
    pub place: Place,
    /// What differs.
    pub differences: Vec<Difference>,
}

/// Something that the reader should know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// A sentence.
    pub message: String,
}
