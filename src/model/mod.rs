//! The vocabulary as types: names, places, values, templates and stacks.
//!
//! Nothing comes in and nothing goes out: every other room speaks in these types. No I/O.

mod closest;
mod construct;
mod deployed;
mod environment;
mod name;
mod pattern;
mod stack;
mod value;

pub use closest::{closest, edit_distance};
pub use construct::TreeNode;
pub use deployed::{
    DeployedEnvironment, DeployedResource, DeployedStack, Export, StackOptions, StackStatus,
    StatusKind,
};
pub use environment::{Environment, EnvironmentError};
pub use name::{ConstructPath, Location, LocationError, LogicalId, ResourceType, StackName};
pub use pattern::{Pattern, PatternError};
pub use stack::{Stack, Template};
pub use value::{Number, Object, Text, Value};
