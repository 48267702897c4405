//! What things are called on the page.

use crate::analyze::model::Certainty;
use crate::analyze::{
    Action, ChangeEffect, ChangePlace, ComponentChange, EnvironmentReport, Risk, StackFate,
};

use super::markup::Markup;

/// Names of effects, for the script and for filters: of all that can be said of a component, moves
/// included. The order is that of filters: what a reader fears comes first.
pub(super) const TAGS: [(&str, &str, &str); 8] = [
    ("replace", "±", "replaced"),
    ("remove", "−", "removed"),
    ("retain", "↷", "let go"),
    ("add", "+", "added"),
    ("update", "~", "updated"),
    ("move", "≡", "moved"),
    ("template", "·", "template only"),
    ("same", "=", "unchanged"),
];

/// The name of what happens to a component, apart from a move.
pub(super) fn tag(change: &ComponentChange) -> &'static str {
    match change.effect {
        ChangeEffect::Nothing if change.is_moved() => "move",
        ChangeEffect::Nothing | ChangeEffect::TemplateOnly => "template",
        ChangeEffect::Add => "add",
        ChangeEffect::Update => "update",
        ChangeEffect::Replace | ChangeEffect::Recreate => "replace",
        ChangeEffect::Retain => "retain",
        ChangeEffect::Remove => "remove",
    }
}

/// The sign of what happens to a component, apart from a move.
pub(super) fn sign(change: &ComponentChange) -> &'static str {
    let tag = tag(change);
    TAGS.iter().find(|(name, _, _)| *name == tag).map_or("", |(_, sign, _)| *sign)
}

/// What happens to a component, apart from a move.
pub(super) fn effect(change: &ComponentChange) -> &'static str {
    let is_certain = change.certainty == Certainty::Certain;
    match (change.effect, is_certain) {
        (ChangeEffect::Nothing, _) if change.is_moved() => "moved",
        (ChangeEffect::Nothing, _) => "another path",
        (ChangeEffect::TemplateOnly, _) => "template only",
        (ChangeEffect::Add, true) => "added",
        (ChangeEffect::Add, false) => "may be added",
        (ChangeEffect::Update, true) => "updated",
        (ChangeEffect::Update, false) => "may be updated",
        (ChangeEffect::Recreate, _) => "made anew under its new name",
        (ChangeEffect::Replace, true) => "replaced",
        (ChangeEffect::Replace, false) => "may be replaced",
        (ChangeEffect::Retain, true) => "let go",
        (ChangeEffect::Retain, false) => "may be let go",
        (ChangeEffect::Remove, true) => "removed",
        (ChangeEffect::Remove, false) => "may be removed",
    }
}

/// The name of a risk.
pub(super) fn risk(risk: Risk) -> &'static str {
    match risk {
        Risk::High => "high",
        Risk::Unknown => "unknown",
        Risk::Low => "low",
    }
}

/// What a rule wants to be done; `None`: nothing.
pub(super) fn action(action: Action) -> Option<&'static str> {
    match action {
        Action::Approve => Some("approved"),
        Action::Reject => Some("rejected"),
        Action::None => None,
    }
}

/// What becomes of a stack.
pub(super) fn fate(fate: StackFate) -> Option<&'static str> {
    match fate {
        StackFate::New => Some("new"),
        StackFate::Kept => None,
        StackFate::Left => Some("not in the app any more"),
        StackFate::Removed => Some("deleted with its parent"),
    }
}

/// The type of a component: of a resource its type, of the others what they are.
pub(super) fn kind(change: &ComponentChange) -> String {
    use crate::analyze::model::ComponentKind;
    match (&change.kind, &change.subtype) {
        (ComponentKind::Resource, Some(subtype)) => subtype.to_string(),
        (kind, Some(subtype)) => format!("{kind} ({subtype})"),
        (kind, None) => kind.to_string(),
    }
}

/// The name of a component for people: the construct path without what the CDK calls every
/// resource, or the logical ID.
pub(super) fn name(place: &ChangePlace) -> &str {
    let Some(path) = &place.path else { return &place.logical_id };
    let shorter = path.strip_suffix("/Resource").or_else(|| path.strip_suffix("/Default"));
    shorter.unwrap_or(path)
}

/// `Stack.LogicalId`
pub(super) fn location(place: &ChangePlace) -> String {
    format!("{}.{}", place.stack, place.logical_id)
}

/// Writes where a component comes from, if it moved.
pub(super) fn origin(out: &mut Markup, change: &ComponentChange) {
    let (Some(before), Some(after)) = (&change.before, &change.after) else { return };
    if !change.has_another_place() {
        return;
    }
    let word = match change.effect {
        ChangeEffect::Nothing => "from ",
        ChangeEffect::Recreate => "not moved from ",
        _ => "≡ moved from ",
    };
    out.raw(" <span class=\"g mv\">").raw(word);
    if name(before) == name(after) {
        out.code(&location(before));
    } else {
        out.code(name(before));
    }
    let begins_with_stack = name(before)
        .strip_prefix(before.stack.as_str())
        .is_some_and(|rest| rest.starts_with(['/', '.']));
    if before.stack != after.stack && !begins_with_stack && name(before) != name(after) {
        out.raw(" in ").code(&before.stack);
    }
    out.raw("</span>");
}

/// How many resources there are: the larger one of before and after.
pub(super) fn resources(environment: &EnvironmentReport) -> usize {
    let sums = environment.stacks.iter().fold((0, 0), |(before, after), stack| {
        (before + stack.resources.0, after + stack.resources.1)
    });
    sums.0.max(sums.1)
}
