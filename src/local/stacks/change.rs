//! What a change set says of a resource.

use serde::{Deserialize, Serialize};

/// A change of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceChange {
    /// `Add`, `Modify`, `Remove` or `Import`.
    pub action: String,
    /// The key in the template.
    pub logical_id: String,
    /// The physical ID, unless it is to be created.
    pub physical_id: Option<String>,
    /// The type.
    pub resource_type: String,
    /// For `Modify`: `True`, `False` or `Conditional`.
    pub replacement: Option<String>,
    /// For `Modify`: `Properties`, `Metadata`, `Tags`, `DeletionPolicy`…
    pub scope: Vec<String>,
    /// What happens to a thing that is removed or replaced: `Delete`, `Retain`, `Snapshot`,
    /// `ReplaceAndDelete`, `ReplaceAndRetain`, `ReplaceAndSnapshot`.
    pub policy_action: Option<String>,
    /// What of it changes.
    pub details: Vec<Detail>,
}

/// A change of a part of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    /// `Properties`, `Metadata`, `Tags`…
    pub attribute: String,
    /// The property at the top, for `Properties`.
    pub name: Option<String>,
    /// The whole path, such as `/Properties/Tags/0/Value`.
    pub path: Option<String>,
    /// `Never`, `Conditionally` or `Always`.
    pub requires_recreation: String,
    /// `Static`, or `Dynamic` if the new value is only known afterwards.
    pub evaluation: String,
    /// `Add`, `Modify` or `Remove`.
    pub change_type: String,
    /// The value before.
    pub before: Option<String>,
    /// The value after.
    pub after: Option<String>,
}
