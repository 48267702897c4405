//! Which resources moved: the heart of the product.
//!
//! In: the stacks of one environment as they are deployed and as they are now, and decisions
//! that people made. Out: a [`Comparison`]. Called by `toolkit`. Pure.
//!
//! The way through this room: a [`Stack`] becomes part of a `side`, whose `scope` says what names
//! stand for; every resource body becomes a `skeleton`, from which `digest`s are combined;
//! `matching` pairs the resources of the two sides, with `classes` for those that look alike,
//! `paths` and `renaming` for what construct paths say, `loose` and `names` for names written
//! into properties, `changed` (by `similarity`) for what moved and changed; `outcome` puts the
//! answer together with `difference` and `ambiguity`. What is `rest` is offered where two are alike:
//! `candidates` finds them, `measure` compares their `bodies`, `assignment` says who belongs to
//! whom. `likely` proposes answers to questions.

mod ambiguity;
mod assignment;
mod bodies;
mod candidates;
mod changed;
mod classes;
mod comparison;
mod decisions;
mod difference;
mod digest;
mod likely;
mod loose;
mod matching;
pub mod measure;
mod names;
mod outcome;
mod paths;
mod renaming;
mod rest;
#[cfg(test)]
mod rest_tests;
mod scope;
mod side;
mod similarity;
mod skeleton;
mod support;

pub use comparison::{
    Ambiguity, Change, Comparison, Difference, Evidence, Mapping, Place, Problem, Similar, Unpaired,
};
pub use decisions::{
    DecidedPair, Decisions, FoundPair, LeftEntry, Literal, Reference, Settled, SkipEntry,
};
pub use likely::{likely, likely_constructs};
pub(crate) use names::unique_id;
// What names stand for: `analyze` reads templates by the same rules.
pub(crate) use scope::{Meaning, NodeId, Scope};
pub use skeleton::KEPT_NAMES;

use crate::model::{Environment, Location, Stack, StackName};

/// Why two sides cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// Two stacks of one side have the same name.
    #[error("two stacks of one environment are called `{0}`")]
    DuplicateStack(StackName),
    /// Resources refer to each other in a circle.
    #[error("these resources refer to each other in a circle: {}", list(.0))]
    Cycle(Vec<Location>),
    /// Exports, parameters or conditions are defined by each other without an end.
    #[error("exports, parameters or conditions are defined by each other without an end")]
    EndlessDefinition,
    /// An error in a resource.
    #[error("resource `{location}`")]
    Resource {
        /// Where.
        location: Location,
        /// What.
        source: Box<Self>,
    },
    /// A decision names something that is not there.
    #[error("{origin}: `{reference}` is not {side}")]
    UnknownDecision {
        /// What the decision names.
        reference: String,
        /// Where it was said.
        origin: String,
        /// On which side it was looked for.
        side: &'static str,
    },
    /// A decision names several resources.
    #[error("{origin}: `{reference}` names several resources: {}", list(.candidates))]
    VagueDecision {
        /// What the decision names.
        reference: String,
        /// Where it was said.
        origin: String,
        /// The resources.
        candidates: Vec<Location>,
    },
    /// A decision pairs resources of different types.
    #[error(
        "{origin}: `{source_location}` is a `{}`, but `{destination}` is a `{}`: a move cannot \
         change the type", .types.0, .types.1
    )]
    DecisionChangesType {
        /// The deployed resource.
        source_location: String,
        /// The resource as it is now.
        destination: String,
        /// Both types.
        types: Box<(String, String)>,
        /// Where it was said.
        origin: String,
    },
    /// Two decisions about the same resource.
    #[error("two decisions about `{location}`: {first}, and {second}")]
    ContradictingDecisions {
        /// The resource.
        location: Location,
        /// The first decision.
        first: String,
        /// The second decision.
        second: String,
    },
    /// A skip entry names nothing.
    #[error("{origin}: `{what}` names no resource, construct or type of this environment")]
    UnknownSkip {
        /// What the entry names.
        what: String,
        /// Where it was said.
        origin: String,
    },
}

impl CompareError {
    fn at(self, location: &Location) -> Self {
        Self::Resource { location: location.clone(), source: Box::new(self) }
    }
}

fn list(locations: &[Location]) -> String {
    let names: Vec<String> = locations.iter().map(|location| format!("`{location}`")).collect();
    names.join(", ")
}

/// Compares the stacks of one environment as they are deployed with what they are now.
///
/// # Errors
/// When a side is not well formed (a circle of references, two stacks of one name), or when a
/// decision names something that is not there, contradicts another, or would change a type.
pub fn compare(
    environment: &Environment,
    deployed: &[Stack],
    local: &[Stack],
    decisions: &Decisions,
) -> Result<Comparison, CompareError> {
    let folds = deployed.iter().chain(local).any(|stack| stack.is_returned);
    let (old, new) = std::thread::scope(|scope| {
        let literal = decisions.literal;
        let old = scope.spawn(move || side::Side::new(environment, deployed, (folds, literal)));
        let new = side::Side::new(environment, local, (folds, literal));
        let old = old.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok::<_, CompareError>((old?, new?))
    })?;
    let (mut old, mut new) = (old, new);
    let used = old.exclude(&decisions.skip).into_iter().zip(new.exclude(&decisions.skip));
    if let Some((entry, _)) = decisions.skip.iter().zip(used).find(|(_, (old, new))| !old && !new) {
        return Err(CompareError::UnknownSkip {
            what: entry.what.clone(),
            origin: entry.origin.clone(),
        });
    }
    old.leave(&decisions.left)?;
    old.settle(&decisions.settled.deployed, &decisions.settled.origin);
    new.settle(&decisions.settled.local, &decisions.settled.origin);
    let decided = decisions::resolve(&old, &new, &decisions.pairs)?;
    let found = decisions::found(&old, &new, &decisions.found);
    let answer = |decided, decisions: &Decisions| {
        let found = found.clone();
        let matching = matching::Matching::run(&old, &new, decided, decisions.only, found)?;
        outcome::comparison(environment, &matching, decisions)
    };
    let further = if decisions.only {
        let freely = Decisions { strict: decisions.strict, ..Decisions::default() };
        Some(answer(decided.clone(), &freely)?)
    } else {
        None
    };
    let mut comparison = answer(decided, decisions)?;
    if let Some(further) = further {
        let others = decisions::not_allowed(&comparison, &further);
        comparison.problems.extend(others);
    }
    let notes = decisions.notes.iter().map(|note| Problem { message: note.clone() });
    comparison.problems.extend(notes);
    Ok(comparison)
}
