//! Why a value could not be looked up.

use crate::aws::error::AwsError;
use crate::aws::roles::RoleOptionsError;
use crate::model::Environment;

/// A value could not be looked up.
#[derive(Debug, thiserror::Error)]
#[error("the context `{key}` cannot be looked up: {problem}")]
pub struct LookupError {
    /// The key of the context.
    pub key: String,
    /// Why.
    pub problem: LookupProblem,
}

/// Why a value could not be looked up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LookupProblem {
    /// Nobody here knows such values.
    #[error(
        "cdkr has no look-ups of the provider `{0}`. `cdk synth` makes them and keeps the values in cdk.context.json, where cdkr finds them"
    )]
    Provider(String),
    /// The app says it in a way that is not understood.
    #[error("`{property}` in the query of the app {what}")]
    Query {
        /// The property of the query.
        property: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// AWS refuses, or cannot be reached.
    #[error(transparent)]
    Aws(#[from] AwsError),
    /// The role to look up with cannot be assumed as the app wants it.
    #[error(transparent)]
    Role(#[from] RoleOptionsError),
    /// It is not there.
    #[error("{environment} has no {what}")]
    NotFound {
        /// The account and region.
        environment: Environment,
        /// What was looked for.
        what: String,
    },
    /// It is there more than once.
    #[error("{environment} has {} of what should be one {what}: {}. Narrow the look-up of the app", .found.len(), .found.join(", "))]
    Several {
        /// The account and region.
        environment: Environment,
        /// What was looked for.
        what: String,
        /// The IDs of what is there, sorted.
        found: Vec<String>,
    },
    /// What is there does not fit what the app wants to know.
    #[error("{0}")]
    Unfit(String),
}
