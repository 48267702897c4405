//! What a change means, beyond what it is.
//!
//! In: the stacks of one environment in two states. Out: the changes of permissions between them
//! ([`permissions()`]); a graph of everything that happens with what follows from it ([`diff()`]);
//! and what rules say of that ([`Rules`]). Called by `toolkit`; `report` renders what is found.
//! Pure.

mod changes;
mod diff;
mod marks;
pub mod model;
mod permissions;
mod read;
mod rules;

pub use changes::{
    Aspect, ChangeEffect, ChangeReport, Common, ComponentChange, EnvironmentReport, Fate, FateKind,
    Fates, Group, Happens, Place as ChangePlace, PropertyReport, Remark, ReportRequest, StackFate,
    StackReport, aggregate, aggregate_where, change_report,
};
pub use diff::{Joining, diff};
pub use marks::{mark_losses, mark_names, mark_permissions, mark_templates};
pub use model::Certainty;
pub use permissions::{PermissionChange, PermissionKind, permissions};
pub use rules::{Action, Place, Risk, RuleError, Rules, Verdict};
