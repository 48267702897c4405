//! What change sets say of resources.

use aws_sdk_cloudformation::types::{ResourceChange, ResourceChangeDetail};

use super::text;

/// What a change set would do to a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSetChange {
    /// `Add`, `Modify`, `Remove`, `Import` or `Dynamic`.
    pub action: String,
    /// The resource; in a nested stack `Nested/LogicalId`.
    pub logical_id: String,
    /// Its physical ID; empty for one that is to be created.
    pub physical_id: String,
    /// Its type.
    pub resource_type: String,
    /// For `Modify`: `True`, `False` or `Conditional`; else empty.
    pub replacement: String,
    /// What happens to a thing that is removed or replaced: `Delete`, `Retain`, `Snapshot`,
    /// `ReplaceAndDelete`, `ReplaceAndRetain`, `ReplaceAndSnapshot`; empty if nothing is, or if it
    /// is not said.
    pub policy_action: String,
    /// For `Modify`: `Properties`, `Metadata`, `Tags`, `DeletionPolicy`…
    pub scope: Vec<String>,
    /// What of it changes.
    pub details: Vec<ChangeDetail>,
    /// For a nested stack: the ARN of its own change set, if it has one.
    pub change_set_id: Option<String>,
}

/// A change of a part of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeDetail {
    /// `Properties`, `Metadata`, `Tags`…
    pub attribute: String,
    /// The property at the top; empty if it is not a property.
    pub name: String,
    /// The whole path, such as `/Properties/Tags/0/Value`.
    pub path: Option<String>,
    /// `Never`, `Conditionally` or `Always`.
    pub requires_recreation: String,
    /// `Static`, or `Dynamic` if the new value is only known while the stack changes.
    pub evaluation: String,
    /// What brings it about: a parameter, a resource or an attribute of one (`Key.Arn`); empty
    /// for a change of the template itself.
    pub causing_entity: String,
}

/// Reads a change.
pub(super) fn change(change: ResourceChange) -> ChangeSetChange {
    ChangeSetChange {
        action: text(change.action.as_ref()),
        replacement: text(change.replacement.as_ref()),
        policy_action: text(change.policy_action.as_ref()),
        scope: change.scope.unwrap_or_default().iter().map(|it| it.as_str().to_owned()).collect(),
        details: change.details.unwrap_or_default().into_iter().map(detail).collect(),
        logical_id: change.logical_resource_id.unwrap_or_default(),
        physical_id: change.physical_resource_id.unwrap_or_default(),
        resource_type: change.resource_type.unwrap_or_default(),
        change_set_id: change.change_set_id,
    }
}

fn detail(detail: ResourceChangeDetail) -> ChangeDetail {
    let mut read = ChangeDetail {
        evaluation: text(detail.evaluation.as_ref()),
        causing_entity: detail.causing_entity.unwrap_or_default(),
        ..ChangeDetail::default()
    };
    if let Some(target) = detail.target {
        read.attribute = text(target.attribute.as_ref());
        read.requires_recreation = text(target.requires_recreation.as_ref());
        read.name = target.name.unwrap_or_default();
        read.path = target.path;
    }
    read
}
