//! The tables of resources that the evidence does not tell apart, after RFC 0162, and the options
//! by which a reader decides.

use std::collections::BTreeMap;

use super::Style;
use super::moves::more;
use super::text::{self, count, map_options, name, paint, plain};
use crate::compare::{Ambiguity, Place};
use crate::model::ConstructPath;

/// Renders the ambiguities of one environment; no blocks if there are none.
pub(super) fn ambiguities(ambiguous: &[Ambiguity], style: Style) -> Vec<String> {
    if ambiguous.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![paint::heading("Ambiguous Resource Name Changes")];
    for group in groups(ambiguous) {
        let tables: Vec<String> = match constructs(&group) {
            Some((old, new)) => vec![sides(
                old.iter().map(|path| construct(path, sources(&group))),
                new.iter().map(|path| construct(path, destinations(&group))),
                style,
            )],
            None => group
                .iter()
                .map(|ambiguity| {
                    sides(
                        ambiguity.sources.iter().map(|place| name(place, style)),
                        ambiguity.destinations.iter().map(|place| name(place, style)),
                        style,
                    )
                })
                .collect(),
        };
        blocks.extend(tables);
        if let Some((source, destination)) = example(&group) {
            blocks.push(format!(
                "To decide, name one that is the same, for example: {}",
                paint::command(map_options(&[(source, destination)], style))
            ));
        }
    }
    blocks.push("One decision may settle others; --override-file takes many at once.".to_owned());
    blocks
}

/// Ambiguities that are one question, in the order of their first one.
pub(super) fn groups(ambiguous: &[Ambiguity]) -> Vec<Vec<&Ambiguity>> {
    let mut order: Vec<usize> = Vec::new();
    let mut by_number: BTreeMap<usize, Vec<&Ambiguity>> = BTreeMap::new();
    for ambiguity in ambiguous {
        let members = by_number.entry(ambiguity.group).or_default();
        if members.is_empty() {
            order.push(ambiguity.group);
        }
        members.push(ambiguity);
    }
    order.iter().filter_map(|number| by_number.remove(number)).collect()
}

/// The constructs that a question is about, if it is about constructs and not about a resource.
pub(super) fn constructs<'a>(
    group: &[&'a Ambiguity],
) -> Option<(&'a [ConstructPath], &'a [ConstructPath])> {
    let (old, new) = &group.first()?.constructs;
    (group.len() > 1 && !old.is_empty() && !new.is_empty()).then_some((old, new))
}

/// The deployed candidates of a group.
pub(super) fn sources<'a>(group: &[&'a Ambiguity]) -> Vec<&'a Place> {
    group.iter().flat_map(|ambiguity| &ambiguity.sources).collect()
}

/// The present candidates of a group.
pub(super) fn destinations<'a>(group: &[&'a Ambiguity]) -> Vec<&'a Place> {
    group.iter().flat_map(|ambiguity| &ambiguity.destinations).collect()
}

/// `Stack/Orders/** (40 resources)`
pub(super) fn construct(path: &ConstructPath, places: Vec<&Place>) -> String {
    let inside =
        |place: &&Place| place.path.as_ref().is_some_and(|other| other.is_within(path.as_str()));
    let number = places.into_iter().filter(inside).count();
    format!("{}/** ({})", plain(path.as_str()), count(number, "resource"))
}

fn sides(
    old: impl Iterator<Item = String>,
    new: impl Iterator<Item = String>,
    style: Style,
) -> String {
    let cell = |names: Vec<String>| {
        let shown = names.len().min(style.limit());
        let mut lines = names[..shown].to_vec();
        lines.extend(more(names.len(), style).map(|line| line.trim_start().to_owned()));
        lines.join("\n")
    };
    text::grid(
        &["", "Resource"],
        [vec!["-".to_owned(), cell(old.collect())], vec!["+".to_owned(), cell(new.collect())]],
    )
}

/// A pair that a reader could decide on: of two constructs, resources in the same place.
pub(super) fn example<'a>(group: &[&'a Ambiguity]) -> Option<(&'a Place, &'a Place)> {
    let first = group.first()?;
    let source = first.sources.first()?;
    let within = |place: &Place, constructs: &[ConstructPath]| {
        let path = place.path.as_ref()?;
        let inside = constructs.iter().find(|construct| path.is_within(construct.as_str()))?;
        Some(path.as_str()[inside.as_str().len()..].to_owned())
    };
    let relative = within(source, &first.constructs.0);
    let alike = first.destinations.iter().find(|destination| {
        relative.is_some() && within(destination, &first.constructs.1) == relative
    });
    Some((source, alike.or(first.destinations.first())?))
}
