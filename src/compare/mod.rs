//! Which resources moved: the heart of the product.
//!
//! In: the stacks of one environment as they are deployed and as they are now, and decisions
//! that people made. Out: a [`Comparison`]. Called by `toolkit`. Pure.

mod comparison;

pub use comparison::{
    Ambiguity, Change, Comparison, Difference, Evidence, Mapping, Place, Problem, Similar, Unpaired,
};
