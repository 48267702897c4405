//! Deploying: find what moved, move it, deploy, and put everything back if that fails (RFC 0162).
//!
//! [`prepare_deployment`] looks at everything and changes nothing; [`Deployment::outlook`] tells
//! what would happen with and without the moves; [`carry_out_deployment`] does what somebody has
//! agreed to. In between whoever calls shows and asks.

mod carry;
mod checks;
mod failure;
mod outlook;
mod prepare;
mod proof;
mod stages;
mod targets;

pub use carry::carry_out_deployment;
pub use failure::{DeploymentFailed, Undone};
pub use outlook::{Choice, Outlook};
pub use prepare::{Deployment, prepare_deployment};
pub use proof::Proof;
pub use targets::Joined;

use super::{Carried, Error};
use crate::deploy::DeployedStack;

/// A deployment that has ended well.
#[derive(Debug)]
pub struct Finished {
    /// The moves, by environment.
    pub carried: Vec<Carried>,
    /// The stacks, in the order of their ends.
    pub stacks: Vec<DeployedStack>,
    /// Whether every moved resource is still the same.
    pub proof: Proof,
    /// What somebody should know, or do next.
    pub notes: Vec<String>,
    /// Why the outputs are not written.
    pub unwritten: Option<Box<Error>>,
}
