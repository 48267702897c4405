//! Deploys stacks as they are in an assembly.
//!
//! In: an assembly, which of its stacks, and the way to AWS. Out: what became of each stack, with
//! its outputs. Called by `toolkit`. Assets first, then stacks by change sets, each after those
//! that it needs. Nothing here knows of moves: whoever calls has decided them.

mod archive;
mod order;

pub use archive::{ArchiveError, pack};
pub use order::{Circle, Order};
