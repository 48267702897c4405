//! What a change means, beyond what it is.
//!
//! In: the stacks of one environment in two states. Out: the changes of permissions between them
//! ([`permissions()`]). Called by `toolkit`; `report` renders what is found. Pure.

mod permissions;

pub use permissions::{PermissionChange, PermissionKind, permissions};
