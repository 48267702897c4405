//! The logs of environments, in their staging buckets.
//!
//! `bucket` finds, reads and writes the log of an environment; `follow` tells what it and the log of
//! the repository decide about the environment; `keep` writes down what was done there.

mod bucket;
mod error;
mod follow;
mod keep;

pub use bucket::environment_log;
pub use error::FollowError;

pub(in crate::toolkit) use bucket::{Histories, declared};
pub(in crate::toolkit) use follow::Followed;
pub(in crate::toolkit) use keep::{Doing, Provisional, keep, keep_run};
