//! The use cases as library functions.
//!
//! In: [`Settings`](crate::settings::Settings). Out: values that say what was found, or an error
//! with what to do about it. Called by `cli`, and by programs that use the library. Prints
//! nothing.

mod account;
mod afterwards;
mod aspects;
mod carry_out;
mod chains;
mod changes;
mod context;
mod deciding;
mod decisions;
mod deployment;
mod detect;
mod diff;
mod drift;
mod error;
mod files;
mod foresight;
pub mod history;
mod leftovers;
pub mod local;
mod meddle;
mod names;
mod parameters;
mod plan_file;
mod planning;
mod reversal;
pub mod schema;
mod selection;
mod sources;
mod standing;
mod types;

pub use afterwards::{NoRun, interrupted, latest, resume, revert};
pub use aspects::{ListedAspect, list_aspects};
pub use carry_out::{Cancel, Carried, carry_out, carry_out_verified, interrupted_run};
pub use changes::{ReportFileError, RulesError, check_report_file, rules, write_report};
pub use context::require_context;
pub use deciding::{
    Decided, Deciding, KeepError, Settled, Subjects, check_decision_file, keep_decisions,
};
pub use decisions::DecisionError;
pub use deployment::{
    Choice, Deployment, DeploymentFailed, Finished, Joined, Outlook, Proof, Undone,
    carry_out_deployment, prepare_deployment,
};
pub use detect::Outcome;
pub use diff::{Differences, diff};
pub use drift::{DriftError, Drifts, drift, drift_of_stacks};
pub use error::Error;
pub use history::{FollowError, RepositoryError};
pub use plan_file::{PlanFileError, prepare_file, save_plan, write_templates};
pub use planning::{Planned, Prepared, prepare};
pub use reversal::{ReversalError, prepare_reversal};

#[cfg(test)]
mod chain_tests;
#[cfg(test)]
mod tests;
