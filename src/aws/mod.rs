//! AWS: who we are there, and our calls.
//!
//! In: how to reach AWS ([`Access`]), environments and the roles that the assembly names for
//! them. Out: a [`Session`] per environment with clients that retry, bound their number of
//! requests and translate errors; and what is deployed. Called by `run`, `deploy` and `toolkit`.
//! The only room that names the SDK.

mod access;
mod bootstrap;
mod call;
mod changes;
mod client;
mod complete;
mod credentials;
mod error;
mod facts;
mod gaps;
mod images;
mod listing;
mod lookups;
mod nested;
mod read;
mod reading;
mod roles;
mod session;
mod state;
mod types;
mod wait;

pub use access::{Access, Aws, Caller, Endpoint, Identity};
pub use bootstrap::{TOOLKIT_STACK, supports_refactoring};
pub use changes::{
    ChangeDetail, ChangeSetChange, ChangeSetMeans, ChangeSetRequest, ChangeSetState,
    MOST_INLINE_BYTES, PutError, RefactorAction, RefactorRequest, RefactorState, StackEvent,
    StackState, StoredText, TemplateAt, change_set_means, now, staged_url,
};
pub use client::Client;
pub use error::{AwsError, Call, CallError, Cause};
pub use images::RegistryLogin;
pub use lookups::{Found, Lookup, LookupError, LookupProblem, can_look_up};
pub use read::{Depth, Read, ReadRequest, Wanted};
pub use roles::{Purpose, Role, RoleOptions, RoleOptionsError, Roles, fill_in};
pub use session::Session;
pub use state::{ResourceRequest, ResourceState};
pub use wait::Wait;
