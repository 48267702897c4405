//! Why: a sentence for each mapping, and the nearest candidate of what was added or removed.

use std::collections::{BTreeMap, BTreeSet};

use super::text::{self, count, name, paint, plain};
use super::{Style, ambiguity, aspects, moves};
use crate::aspects::Influence;
use crate::compare::{Ambiguity, Comparison, Difference, Evidence, Mapping, Place, Unpaired};
use crate::model::{ConstructPath, Text};

/// Renders all reasons of one environment.
pub(super) fn explanations(
    comparison: &Comparison,
    influence: Option<&Influence>,
    style: Style,
) -> Vec<String> {
    let mut blocks = Vec::new();
    if !comparison.mappings.is_empty() {
        blocks.push(paint::heading("Why these were taken for the same:"));
        blocks.extend(comparison.mappings.iter().map(|one| mapping(one, influence, style)));
    }
    if !comparison.ambiguous.is_empty() {
        blocks.push(paint::heading("Why these were not decided:"));
        let groups = ambiguity::groups(&comparison.ambiguous);
        blocks.extend(groups.into_iter().flatten().map(undecided));
    }
    let mut shown = BTreeSet::new();
    for (heading, list, side) in [
        ("Why these count as added:", &comparison.added, Side::Added),
        ("Why these count as removed:", &comparison.removed, Side::Removed),
    ] {
        if !list.is_empty() {
            blocks.push(paint::heading(heading));
            blocks.extend(list.iter().map(|one| unpaired(one, side, &mut shown, style)));
        }
    }
    blocks.extend(influence.into_iter().flat_map(|one| aspects::hidden(one, comparison, style)));
    blocks
}

fn mapping(mapping: &Mapping, influence: Option<&Influence>, style: Style) -> String {
    let mut lines = vec![format!(
        "{}  {} → {}",
        plain(mapping.resource_type.as_str()),
        name(&mapping.source, style),
        name(&mapping.destination, style)
    )];
    lines.push(format!("  {}", sentence(mapping)));
    let location = &mapping.destination.location;
    lines.extend(aspects::owed(influence, location).map(|owed| format!("  {owed}")));
    if let (Some(old), Some(new)) = (&mapping.source.path, &mapping.destination.path)
        && !style.paths
    {
        lines.push(format!("  {}", renaming(old, new)));
    }
    lines.extend(moves::remarks(mapping, style).into_iter().map(|remark| format!("  {remark}")));
    if !mapping.changes.is_empty() {
        lines.push("  after the move the deployment changes:".to_owned());
        let hidden = influence.map(|one| one.hidden_in(location)).unwrap_or_default();
        lines.extend(differences(&mapping.changes, &hidden));
    }
    lines.join("\n")
}

/// Says why two resources are taken for the same.
pub fn sentence(mapping: &Mapping) -> String {
    let evidence = evidence(&mapping.evidence);
    if mapping.by_names {
        format!("{evidence} (equal but for names that follow from the renaming of constructs)")
    } else if mapping.evidence == Evidence::Digest && !mapping.changes.is_empty() {
        format!("{evidence}, but for the changes below")
    } else {
        evidence
    }
}

/// Says what a kind of evidence is.
pub(super) fn evidence(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Decision(origin) => format!("decided by {}", plain(origin)),
        Evidence::PhysicalId(properties) => format!(
            "equal values of what makes up the physical ID: {}",
            plain(&properties.join(", "))
        ),
        Evidence::Digest => "the only two of equal content".to_owned(),
        Evidence::Structure => "of several with equal content, the only two with the same \
                                surroundings"
            .to_owned(),
        Evidence::Path(old, new) => format!(
            "of several with equal content, the only two on the path that follows from {}",
            renaming(old, new)
        ),
        Evidence::LogicalId => {
            "of several with equal content, the only two with this logical ID".to_owned()
        }
        Evidence::RelativePath(old, new) => format!(
            "of several with equal content, the only two with equal paths below {} and {}",
            plain(old.as_str()),
            plain(new.as_str())
        ),
        Evidence::MovedAndChanged { from, to, proven, of } => format!(
            "changed, but {proven} of {} of the construct {} moved with equal content",
            count(*of, "resource"),
            renaming(from, to)
        ),
        Evidence::NestedStack => {
            "the same logical ID in a nested stack that is itself the same".to_owned()
        }
    }
}

/// The name of a kind of evidence in the JSON form.
pub fn code(evidence: &Evidence) -> &'static str {
    match evidence {
        Evidence::Decision(_) => "decision",
        Evidence::PhysicalId(_) => "physical-id",
        Evidence::Digest => "digest",
        Evidence::Structure => "structure",
        Evidence::Path(..) => "path",
        Evidence::LogicalId => "logical-id",
        Evidence::RelativePath(..) => "relative-path",
        Evidence::MovedAndChanged { .. } => "moved-and-changed",
        Evidence::NestedStack => "nested-stack",
    }
}

fn renaming(old: &ConstructPath, new: &ConstructPath) -> String {
    format!("{} → {}", plain(old.as_str()), plain(new.as_str()))
}

fn undecided(one: &Ambiguity) -> String {
    let kind = plain(one.resource_type.as_str());
    if let ([source], [destination]) = (&*one.sources, &*one.destinations) {
        return format!(
            "{kind}: {} and {} are equal, but nothing distinctive supports that they are the same",
            plain(&source.location.to_string()),
            plain(&destination.location.to_string())
        );
    }
    format!(
        "{kind}: {} and {} of the app have equal content, and nothing that refers to them, no path \
         and no name tells them apart",
        count(one.sources.len(), "deployed resource"),
        count(one.destinations.len(), "resource"),
    )
}

/// On which side a resource is that has no counterpart on the other one.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Added,
    Removed,
}

/// Pairs of a removed and an added resource whose differences were shown already.
type Shown<'a> = BTreeSet<(&'a Place, &'a Place)>;

fn unpaired<'a>(one: &'a Unpaired, side: Side, shown: &mut Shown<'a>, style: Style) -> String {
    let other = if side == Side::Added { "deployed" } else { "new" };
    let mut lines =
        vec![format!("{}  {}", plain(one.resource_type.as_str()), name(&one.place, style))];
    if let Some(why) = &one.excluded {
        lines.push(format!("  not considered: {}", plain(why)));
    }
    match &one.nearest {
        Some((place, what)) => {
            let pair = if side == Side::Added { (place, &one.place) } else { (&one.place, place) };
            let new = shown.insert(pair);
            let differs = match (what.is_empty(), new) {
                (true, _) => "which is equal",
                (false, true) => "which differs in",
                (false, false) => "which differs as shown above",
            };
            lines.push(format!("  nearest {other} one: {}, {differs}", name(place, style)));
            if new {
                lines.extend(differences(what, &BTreeMap::new()));
            }
        }
        None if one.excluded.is_none() => {
            lines.push(format!(
                "  every {other} resource of this type is matched already, or there is none"
            ));
        }
        None => {}
    }
    lines.join("\n")
}

/// `hidden`: the aspects that hid a difference, by property.
fn differences(differences: &[Difference], hidden: &BTreeMap<&str, &[Text]>) -> Vec<String> {
    let line = |difference: &Difference| {
        let (old, new) = text::values(difference);
        let mut line = format!("    {}: {old} → {new}", plain(&difference.property));
        if difference.name_only {
            line.push_str(" (repeats a name)");
        }
        if difference.replaces {
            line.push_str(" (replaces the resource)");
        }
        if let Some(by) = hidden.get(difference.property.as_str()) {
            line.push_str(&plain(&format!(" (hidden by {})", aspects::names(by))));
        }
        line
    };
    differences.iter().map(line).collect()
}
