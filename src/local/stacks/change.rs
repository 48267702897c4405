//! What a change set says of a resource.

use serde::{Deserialize, Serialize};

use super::diff::{Difference, Effect, effect};
use crate::local::record::{Json, Resource};
use crate::local::resources::UNKNOWN;

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
    /// For a nested stack: the ARN of its own change set, if it was asked for.
    #[serde(default)]
    pub change_set_id: Option<String>,
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

impl ResourceChange {
    /// Whether it is a change of the deletion policy and of nothing else, which CloudFormation
    /// only makes along with others.
    pub(crate) fn is_only_a_deletion_policy(&self) -> bool {
        self.action == "Modify" && self.scope == ["DeletionPolicy"]
    }
}

/// What happens to a thing by its policy.
pub(super) fn policy(policy: Option<&str>, prefix: &str) -> String {
    match policy {
        Some("Retain" | "RetainExceptOnCreate") => format!("{prefix}Retain"),
        Some("Snapshot") => format!("{prefix}Snapshot"),
        _ => format!("{prefix}Delete"),
    }
}

/// Describes the change of a resource; `None` if there is none.
pub(super) fn describe(
    before: &Resource,
    wanted: &Resource,
    differing: &[Difference],
    tags: bool,
) -> Option<ResourceChange> {
    let mut details: Vec<Detail> =
        differing.iter().map(|difference| detail(&before.resource_type, difference)).collect();
    let mut attribute = |name: &str, differs: bool| {
        if differs {
            details.push(Detail {
                attribute: name.to_owned(),
                requires_recreation: "Never".to_owned(),
                evaluation: "Static".to_owned(),
                change_type: "Modify".to_owned(),
                ..Detail::default()
            });
        }
    };
    let (old, new) = (&before.attributes, &wanted.attributes);
    attribute("Metadata", old.metadata != new.metadata);
    attribute("DeletionPolicy", old.deletion_policy != new.deletion_policy);
    attribute("UpdateReplacePolicy", old.update_replace_policy != new.update_replace_policy);
    attribute("CreationPolicy", old.other.get("CreationPolicy") != new.other.get("CreationPolicy"));
    attribute("UpdatePolicy", old.other.get("UpdatePolicy") != new.other.get("UpdatePolicy"));
    attribute("Tags", tags);
    if details.is_empty() {
        return None;
    }
    let worst = differing.iter().map(|d| effect(&before.resource_type, &d.path)).max();
    // Whether a create-only property changes is not known if its value is not.
    let certain = differing.iter().any(|d| {
        effect(&before.resource_type, &d.path) == Effect::Replace && !is_unknown(d.after.as_ref())
    });
    let replacement = match worst {
        Some(Effect::Replace) if certain => "True",
        Some(Effect::Replace | Effect::Conditional) => "Conditional",
        _ => "False",
    };
    let mut scope: Vec<String> = details.iter().map(|detail| detail.attribute.clone()).collect();
    scope.dedup();
    let replaced = replacement != "False";
    Some(ResourceChange {
        action: "Modify".to_owned(),
        logical_id: before.logical_id.clone(),
        physical_id: Some(before.physical_id.clone()),
        resource_type: before.resource_type.clone(),
        replacement: Some(replacement.to_owned()),
        scope,
        policy_action: replaced.then(|| policy(new.update_replace_policy.as_deref(), "ReplaceAnd")),
        details,
        change_set_id: None,
    })
}

fn is_unknown(value: Option<&Json>) -> bool {
    value.is_some_and(|value| value.to_string().contains(UNKNOWN))
}

fn detail(resource_type: &str, difference: &Difference) -> Detail {
    let text = |value: &Option<Json>| value.as_ref().map(crate::local::evaluate::text);
    let recreation = match effect(resource_type, &difference.path) {
        Effect::Update => "Never",
        Effect::Conditional => "Conditionally",
        Effect::Replace => "Always",
    };
    Detail {
        attribute: "Properties".to_owned(),
        name: difference.path.split('/').next().map(str::to_owned),
        path: Some(format!("/Properties/{}", difference.path)),
        requires_recreation: recreation.to_owned(),
        evaluation: if is_unknown(difference.after.as_ref()) { "Dynamic" } else { "Static" }
            .to_owned(),
        change_type: match (&difference.before, &difference.after) {
            (None, _) => "Add",
            (_, None) => "Remove",
            _ => "Modify",
        }
        .to_owned(),
        before: text(&difference.before),
        after: text(&difference.after),
    }
}
