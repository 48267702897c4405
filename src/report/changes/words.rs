//! What happens, in words.

use super::phrase::Phrase;
use crate::analyze::model::{Certainty, ComponentKind, PropertyChange};
use crate::analyze::{
    ChangeEffect, ChangePlace, ComponentChange, EnvironmentReport, Happens, PropertyReport, Risk,
};
use crate::model::{Text, Value};
use crate::report::Style;
use crate::report::text::{both, count};

impl Happens {
    pub(super) fn of(change: &ComponentChange) -> Self {
        Self {
            effect: change.effect,
            moved: change.is_moved(),
            certainty: change.certainty,
            property: None,
        }
    }

    /// The mark of what happens: `[≡]` it is moved, `[±?]` it may be replaced.
    pub(super) fn sign(self) -> String {
        let moved = if self.moved { "≡" } else { "" };
        let effect = match self.effect {
            ChangeEffect::Nothing if self.moved => "",
            ChangeEffect::Nothing => "=",
            ChangeEffect::TemplateOnly => "·",
            ChangeEffect::Add => "+",
            ChangeEffect::Update => "~",
            ChangeEffect::Replace | ChangeEffect::Recreate => "±",
            ChangeEffect::Retain => "↷",
            ChangeEffect::Remove => "-",
        };
        let perhaps = if self.certainty == Certainty::Possible { "?" } else { "" };
        format!("[{moved}{effect}{perhaps}]")
    }

    /// What happens: `replaced`, `moved, may be updated`.
    pub(super) fn words(self) -> String {
        let (certain, possible) = match self.effect {
            ChangeEffect::Nothing if self.moved => return "moved".to_owned(),
            ChangeEffect::Nothing => return "unchanged".to_owned(),
            ChangeEffect::TemplateOnly => {
                ("changed in the template only", "may be changed in the template only")
            }
            ChangeEffect::Add => ("added", "may be added"),
            ChangeEffect::Update => ("updated", "may be updated"),
            ChangeEffect::Replace => ("replaced", "may be replaced"),
            ChangeEffect::Recreate => ("made anew under its new name", "may be made anew"),
            ChangeEffect::Retain => {
                ("leaves its stack, stays in the account", "may leave its stack")
            }
            ChangeEffect::Remove => ("removed", "may be removed"),
        };
        match (self.moved, self.certainty) {
            (false, Certainty::Certain) => certain.to_owned(),
            (false, Certainty::Possible) => possible.to_owned(),
            (true, Certainty::Certain) => format!("moved and {certain}"),
            (true, Certainty::Possible) => format!("moved, {possible}"),
        }
    }
}

/// What a component is: its type, or its kind and type.
pub(super) fn component(kind: ComponentKind, subtype: Option<&Text>) -> Phrase {
    match (kind, subtype) {
        (ComponentKind::Resource, Some(subtype)) => Phrase::default().code(subtype.as_str()),
        (_, Some(subtype)) => Phrase::default().words(&format!("{kind} ")).code(subtype.as_str()),
        (_, None) => Phrase::default().words(&kind.to_string()),
    }
}

/// What a place is called: `Stack.LogicalId`, or the construct path.
pub(super) fn name(place: &ChangePlace, style: Style) -> String {
    match &place.path {
        Some(path) if style.paths => path.to_string(),
        _ => format!("{}.{}", place.stack, place.logical_id),
    }
}

/// Where a component is, `Old.Id → New.Id` if it is moved, with its physical ID.
pub(super) fn place(change: &ComponentChange, style: Style) -> Phrase {
    let phrase = Phrase::default();
    let phrase = match (&change.before, &change.after) {
        (Some(before), Some(after)) if change.has_another_place() => {
            phrase.code(name(before, style)).words(" → ").code(name(after, style))
        }
        _ => match change.place() {
            Some(place) => phrase.code(name(place, style)),
            None => phrase.words("(unknown place)"),
        },
    };
    match &change.physical_id {
        Some(id) => phrase.words(" (").code(id.as_str()).words(")"),
        None => phrase,
    }
}

/// Old and new value: `1 → 2`; one of them if the other one is not there, or they are the same.
pub(super) fn values(
    change: PropertyChange,
    old: Option<&Value>,
    new: Option<&Value>,
    width: usize,
) -> Phrase {
    let (old_text, new_text) = both(old, new, width);
    let phrase = Phrase::default();
    match (old, new) {
        (None, None) => phrase,
        (Some(old), Some(new)) if old == new => phrase.code(new_text),
        // Where it stands is what changes; what is in it is told by other changes.
        _ if change == PropertyChange::Move => phrase,
        (None, Some(_)) => phrase.code(new_text),
        (Some(_), None) => phrase.words("was ").code(old_text),
        (Some(_), Some(_)) => phrase.code(old_text).words(" → ").code(new_text),
    }
}

/// The mark of what happens to a property.
pub(super) fn property_sign(change: PropertyChange) -> &'static str {
    match change {
        PropertyChange::Insert => "+",
        PropertyChange::Remove => "-",
        PropertyChange::Update => "~",
        PropertyChange::Move => "→",
    }
}

/// The path of a property; both of one that moves.
pub(super) fn path(property: &PropertyReport) -> Phrase {
    match (&property.old_path, &property.new_path) {
        (Some(old), Some(new)) if old != new => {
            Phrase::default().code(old.as_str()).words(" → ").code(new.as_str())
        }
        _ => Phrase::default().code(property.path()),
    }
}

/// What is to be known of the change of a property besides its values. What its component follows
/// from is not said again.
pub(super) fn remarks(property: &PropertyReport, change: &ComponentChange) -> Phrase {
    let words = |is: bool, words: &str| {
        if is { Phrase::default().words(words) } else { Phrase::default() }
    };
    let cause = property.cause.as_ref().filter(|cause| !change.causes.contains(cause));
    let certainty = |one: Certainty| at_most(one, change.certainty);
    Phrase::joined(
        [
            replaces(property.replaces.map(certainty)),
            words(property.broadens_permissions, "broadens permissions"),
            words(property.risk == Risk::High && !property.broadens_permissions, "high risk"),
            words(property.name_only, "only the name"),
            cause.map(|cause| Phrase::default().words("because ").prose(cause)).unwrap_or_default(),
        ],
        ", ",
    )
}

/// Returns a certainty that is no greater than another one: what a property would do to its
/// resource is only possible if it is not certain that the property changes.
pub(super) fn at_most(one: Certainty, other: Certainty) -> Certainty {
    if other == Certainty::Possible { other } else { one }
}

/// What the change of a property does to its resource.
pub(super) fn replaces(certainty: Option<Certainty>) -> Phrase {
    Phrase::default().words(match certainty {
        None => "",
        Some(Certainty::Certain) => "replaces it",
        Some(Certainty::Possible) => "may replace it",
    })
}

/// The risk as a heading.
pub(super) fn risk(risk: Risk) -> &'static str {
    match risk {
        Risk::High => "High risk",
        Risk::Unknown => "Unknown risk",
        Risk::Low => "Low risk",
    }
}

/// How often something happens to resources.
struct Counted {
    noun: &'static str,
    is: fn(&ComponentChange) -> bool,
}

const COUNTED: [Counted; 8] = [
    Counted { noun: "move", is: ComponentChange::is_moved },
    Counted { noun: "addition", is: |change| change.effect == ChangeEffect::Add },
    Counted { noun: "update", is: |change| change.effect == ChangeEffect::Update },
    Counted { noun: "template-only change", is: |one| one.effect == ChangeEffect::TemplateOnly },
    Counted { noun: "replacement", is: |change| is_replaced(change, Certainty::Certain) },
    Counted { noun: "possible replacement", is: |change| is_replaced(change, Certainty::Possible) },
    Counted { noun: "removal", is: |change| change.effect == ChangeEffect::Remove },
    Counted { noun: "retained resource", is: |change| change.effect == ChangeEffect::Retain },
];

fn is_replaced(change: &ComponentChange, certainty: Certainty) -> bool {
    let is_replaced = matches!(change.effect, ChangeEffect::Replace | ChangeEffect::Recreate);
    is_replaced && change.certainty == certainty
}

/// Says how much happens: `12 stacks: 3 moves, 1 replacement (high risk); 40 resources unchanged`.
/// In parts, between which a line may be broken.
pub(super) fn summary(report: &EnvironmentReport) -> Vec<String> {
    let mut parts = Vec::new();
    let resources: Vec<&ComponentChange> =
        report.changes.iter().filter(|one| one.kind == ComponentKind::Resource).collect();
    for Counted { noun, is } in COUNTED {
        let all: Vec<_> = resources.iter().filter(|one| is(one)).collect();
        // What else happens to a moved resource is counted, with its risk, as that.
        let of_itself =
            |one: &ComponentChange| noun != "move" || one.effect == ChangeEffect::Nothing;
        let high = all.iter().filter(|one| one.risk == Risk::High && of_itself(one)).count();
        parts.extend(counted(all.len(), high, noun));
    }
    for (_, kind) in ComponentKind::NAMES {
        if kind != ComponentKind::Resource {
            let all = report.changes.iter().filter(|one| one.kind == kind);
            let high = all.clone().filter(|one| one.risk == Risk::High).count();
            parts.extend(counted(all.count(), high, &kind.to_string().to_lowercase()));
        }
    }
    if parts.is_empty() {
        parts.push("nothing changes".to_owned());
    }
    let unchanged = report.unchanged.len();
    if unchanged > 0 {
        parts.push(format!("{} unchanged", count(unchanged, "resource")));
    }
    let last = parts.len() - 1;
    for (at, part) in parts.iter_mut().enumerate() {
        part.push_str(match at {
            _ if at == last => "",
            _ if at + 1 == last && unchanged > 0 => ";",
            _ => ",",
        });
    }
    parts.insert(0, format!("{}:", count(report.stacks.len(), "stack")));
    parts
}

fn counted(number: usize, high: usize, noun: &str) -> Option<String> {
    let risk = match high {
        0 => String::new(),
        _ if high == number => " (high risk)".to_owned(),
        _ => format!(" ({high} of high risk)"),
    };
    (number > 0).then(|| format!("{}{risk}", count(number, noun)))
}
