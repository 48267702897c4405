//! The plan: which steps turn the deployed stacks into those in which every moved resource has
//! its new place.
//!
//! In: what is deployed, the stacks as they are now, and the mappings between them. Out: a
//! [`Plan`], a value that can be shown, saved and carried out. Called by `toolkit`; carried out
//! by `run`. Pure: it reads no account and changes nothing.

mod steps;

pub use steps::{
    Action, Batch, BatchStack, Change, Finding, Move, Plan, Purpose, Severity, Staying, Step,
    body_digest,
};
