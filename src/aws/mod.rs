//! AWS: who we are there, and our calls.
//!
//! In: how to reach AWS ([`Access`]), environments and the roles that the assembly names for
//! them. Out: a [`Session`] per environment with clients that retry, bound their number of
//! requests and translate errors; and what is deployed. Called by `run`, `deploy` and `toolkit`.
//! The only room that names the SDK.

mod access;
mod call;
mod changes;
mod client;
mod credentials;
mod error;
mod roles;
mod session;

pub use access::{Access, Aws, Caller, Endpoint, Identity};
pub use changes::{
    ChangeSetChange, ChangeSetRequest, ChangeSetState, MOST_INLINE_BYTES, RefactorAction,
    RefactorRequest, RefactorState, StackEvent, StackState, TemplateAt, now, staged_url,
};
pub use client::Client;
pub use error::{AwsError, Call, CallError, Cause};
pub use roles::{Purpose, Role, RoleOptions, RoleOptionsError, Roles};
pub use session::Session;
