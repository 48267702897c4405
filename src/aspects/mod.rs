//! Aspects: priority-ordered passes over the construct tree (RFC 0648).
//!
//! In: the construct tree of an app with both sides of an environment, and what people declared
//! under `refactor` in `cdk.json`. Out: a comparison in which what they hold for unimportant does
//! not count, and what they forbid. Called by `toolkit`, and by programs that use the library.
//! Pure. This room stands above `compare`, whose answer aspects judge.
//!
//! - The engine: an [`Aspect`] is added to a construct of a [`Tree`] through [`Aspects::of`] and
//!   visits it and what is below, by [`Priority`], until nothing changes. Rules, limits and
//!   messages are those of the framework; `invoke` says where ours differ.
//! - The declared ones: [`Declarations::parse`] reads and checks them, [`parse_ignore`] reads
//!   `--ignore`, [`presets`] lists what is built in.
//! - Aspects that change things edit *views* of both sides ([`views`]), never a stack that is
//!   planned or deployed; [`compare()`] compares with them, where they have a bearing on anything
//!   (`bearing`). Aspects that only look judge the result ([`check()`]); an [`Influence`] says what
//!   both had to do with it. Whatever finds nothing at all is told ([`Coverage::idle`]).

mod assets;
mod attach;
mod bearing;
mod check;
mod compare;
mod constructs;
mod coverage;
mod declaration;
mod edits;
mod error;
mod influence;
mod invoke;
mod operation;
mod pattern;
mod presets;
mod priority;
mod read;
mod read_values;
mod read_work;
mod shorthand;
mod suggestion;
mod text;
mod tree;
mod view;

pub use check::{CheckRequest, Checked, Replacement, Violation, check};
pub use compare::{Compared, Hidden, Sides, Thanks, compare};
pub use coverage::{Coverage, Idle};
pub use declaration::{Declaration, Leaving, Level, Matcher, Meaning, Operation, Rule, Work};
pub use error::{DeclareError, DeclareErrors};
pub use influence::Influence;
pub use invoke::{InvokeError, Invoked, Mode};
pub use pattern::{PathPattern, PropertyPattern};
pub use presets::{Preset, presets};
pub use priority::{NotFinite, Priority};
pub use read::{Declarations, ReadFile};
pub use shorthand::parse_ignore;
pub use tree::{Applied, Aspect, Aspects, Construct, Tree, TreeError, Visit};
pub use view::{Edit, Side, ViewRequest, Views, views};

use crate::compare::CompareError;

/// Why aspects could not do their work.
#[derive(Debug, thiserror::Error)]
pub enum AspectError {
    /// They cannot be invoked in their order, or without an end.
    #[error(transparent)]
    Invoke(#[from] InvokeError),
    /// The construct tree does not hold together.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The two sides cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
}

#[cfg(test)]
mod invoke_tests;
#[cfg(test)]
mod read_tests;
#[cfg(test)]
mod view_tests;
