//! Aspects as people declare them.

use std::fmt;

use super::pattern::{PathPattern, PropertyPattern, matches_text};
use super::priority::Priority;
use super::tree::Construct;
use crate::model::{ConstructPath, Object, ResourceType, Text, Value};
use crate::registry;

/// An aspect that somebody declared, or that is built in.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// What people know it by.
    pub id: Text,
    /// Where it was declared.
    pub origin: Text,
    /// When it is invoked.
    pub priority: Priority,
    /// The constructs to which it is added; `None`: the root. What is below inherits it.
    pub scope: Option<PathPattern>,
    /// It goes into the stages below its scope, too.
    pub crosses_stages: bool,
    /// Which of the constructs that it visits it is about.
    pub matcher: Matcher,
    /// What it does there.
    pub work: Work,
    /// Names of aspects that it adds to the constructs that it is about.
    pub applies: Vec<Text>,
    /// Only other aspects add it.
    pub is_applied: bool,
    /// One that is built in need not find anything.
    pub is_preset: bool,
}

/// What an aspect does.
#[derive(Clone, Debug)]
pub enum Work {
    /// It changes what is compared, never what is deployed.
    Change(Vec<Operation>),
    /// It judges what was found.
    Look(Vec<Rule>, Level),
}

/// Which constructs an aspect is about. All that is given has to hold.
#[derive(Clone, Debug, Default)]
pub struct Matcher {
    /// Their paths.
    pub path: Option<PathPattern>,
    /// The types of their resources; `*` stands for any characters.
    pub resource_type: Option<Text>,
    /// The class of the construct or of one around it; `*` stands for any characters.
    pub class: Option<Text>,
    /// Whether their resources hold data or an identity.
    pub stateful: Option<bool>,
}

/// Whether an aspect is about a construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    Yes,
    No,
    /// It would depend on the class, which nobody knows.
    Unknown,
}

/// What is done to the view of a resource.
#[derive(Clone, Debug)]
pub enum Operation {
    /// These places are not there, or only those that are objects with these members.
    Ignore(PropertyPattern, Option<Object>),
    /// The order of these lists does not count; `repeats`: nor does how often something stands in
    /// them. Sorted by one member of their objects, or by everything.
    Unordered {
        /// The lists.
        place: PropertyPattern,
        /// The member.
        by: Option<Text>,
        /// Repetitions do not count either.
        is_set: bool,
    },
    /// These texts are compared by what they mean.
    Text(PropertyPattern, Meaning),
    /// These texts begin without this prefix.
    StripPrefix(PropertyPattern, Text),
    /// Numbers and booleans below these places are texts.
    Scalars(PropertyPattern),
    /// These places hold this value.
    Replace(PropertyPattern, Value),
    /// The buckets and repositories of assets are the same; with `hashes`, so are their hashes.
    Assets {
        /// What is in the assets does not count either.
        hashes: bool,
    },
    /// The metadata that say where an asset was are not there.
    AssetMetadata,
    /// Tags with these keys are not there; `*` stands for any characters.
    Tags(Vec<Text>),
}

/// What a text is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Words, with any white space between them.
    Whitespace,
}

/// What may not be, or has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// No move; of all of them, those that leave their stack, or a stack of one of these names
    /// (`*` stands for any characters).
    ForbidMove(Leaving),
    /// No replacement.
    ForbidReplacement,
    /// At most so many moves.
    Limit(usize),
    /// What moves has one of these values at an attribute, `DeletionPolicy` or
    /// `UpdateReplacePolicy`.
    Require(Text, Vec<Text>),
    /// What moves was decided by a person.
    RequireDecision,
}

/// Which moves are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// All.
    Place,
    /// Those to another stack.
    Stack,
    /// Those out of stacks with one of these names.
    Stacks(Vec<Text>),
}

/// How bad a violation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Good to know.
    Info,
    /// It should be looked at.
    Warning,
    /// Nothing is done.
    Error,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

impl Matcher {
    /// Says whether the innermost of these constructs, given from the inside to the outside, is
    /// meant. `is_class_known`: the tree tells of this construct.
    pub(super) fn matches<'c>(
        &self,
        around: impl Iterator<Item = &'c Construct>,
        is_class_known: bool,
    ) -> Match {
        self.judge(around, is_class_known, None)
    }

    /// The same for a construct of the app, whose resource had another path before.
    pub(super) fn matches_or_did<'c>(
        &self,
        around: impl Iterator<Item = &'c Construct>,
        before: Option<&ConstructPath>,
    ) -> Match {
        let around: Vec<&Construct> = around.collect();
        let is_class_known = around.first().is_some_and(|one| one.class.is_some());
        self.judge(around.into_iter(), is_class_known, before)
    }

    fn judge<'c>(
        &self,
        around: impl Iterator<Item = &'c Construct>,
        is_class_known: bool,
        before: Option<&ConstructPath>,
    ) -> Match {
        let mut around = around.peekable();
        let Some(construct) = around.peek() else { return Match::No };
        let Some((_, kind)) = &construct.resource else { return Match::No };
        let path = |wanted: &PathPattern| {
            wanted.is_match(construct.path.as_str())
                || before.is_some_and(|before| wanted.is_match(before.as_str()))
        };
        if !(self.path.as_ref().is_none_or(path)
            && self.resource_type.as_ref().is_none_or(|it| matches_text(it, kind.as_str()))
            && self.stateful.is_none_or(|it| registry::is_stateful(kind.as_str()) == it))
        {
            return Match::No;
        }
        let Some(class) = &self.class else { return Match::Yes };
        let is_of = |construct: &Construct| {
            construct.class.as_ref().is_some_and(|it| matches_text(class, it))
        };
        if around.any(is_of) {
            Match::Yes
        } else if is_class_known {
            Match::No
        } else {
            Match::Unknown
        }
    }
}

impl Declaration {
    /// Whether it changes what is compared.
    pub fn is_changing(&self) -> bool {
        matches!(self.work, Work::Change(_))
    }

    /// Whether it is about resources of a type, if it asks for nothing but the type.
    pub(super) fn is_about(&self, kind: &ResourceType) -> bool {
        self.matcher.resource_type.as_ref().is_none_or(|it| matches_text(it, kind.as_str()))
    }

    /// Whether it is added to the construct at a path, if not to the root.
    pub(super) fn is_added_to(&self, path: &ConstructPath) -> bool {
        self.scope.as_ref().is_some_and(|scope| scope.is_match(path.as_str()))
    }
}

impl Operation {
    /// Returns the place that it is about, if it is about one.
    pub(super) fn place(&self) -> Option<&PropertyPattern> {
        match self {
            Self::Ignore(place, _)
            | Self::Unordered { place, .. }
            | Self::Text(place, _)
            | Self::StripPrefix(place, _)
            | Self::Scalars(place)
            | Self::Replace(place, _) => Some(place),
            Self::Assets { .. } | Self::AssetMetadata | Self::Tags(_) => None,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ignore(place, None) => write!(f, "ignore {place}"),
            Self::Ignore(place, Some(_)) => write!(f, "ignore some of {place}"),
            Self::Unordered { place, is_set: true, .. } => write!(f, "{place} is a set"),
            Self::Unordered { place, .. } => write!(f, "the order of {place} does not count"),
            Self::Text(place, Meaning::Json) => write!(f, "{place} is JSON"),
            Self::Text(place, Meaning::Yaml) => write!(f, "{place} is YAML"),
            Self::Text(place, Meaning::Whitespace) => {
                write!(f, "white space in {place} does not count")
            }
            Self::StripPrefix(place, prefix) => write!(f, "{place} without `{prefix}`"),
            Self::Scalars(place) => write!(f, "numbers in {place} are texts"),
            Self::Replace(place, _) => write!(f, "{place} is always the same"),
            Self::Assets { hashes: true } => f.write_str("ignore hashes and places of assets"),
            Self::Assets { hashes: false } => f.write_str("ignore places of assets"),
            Self::AssetMetadata => f.write_str("ignore metadata of assets"),
            Self::Tags(keys) => write!(f, "ignore the tags {}", keys.join(", ")),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ForbidMove(Leaving::Place) => f.write_str("no move"),
            Self::ForbidMove(Leaving::Stack) => f.write_str("no move to another stack"),
            Self::ForbidMove(Leaving::Stacks(names)) => {
                write!(f, "no move out of {}", names.join(", "))
            }
            Self::ForbidReplacement => f.write_str("no replacement"),
            Self::Limit(most) => write!(f, "at most {most} moves"),
            Self::Require(attribute, values) => {
                write!(f, "what moves has {attribute} {}", values.join(" or "))
            }
            Self::RequireDecision => f.write_str("moves are decided by a person"),
        }
    }
}
