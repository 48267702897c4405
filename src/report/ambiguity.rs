//! The tables of resources that the evidence does not tell apart, after RFC 0162, and the options
//! by which a reader decides.

use std::collections::BTreeMap;

use super::Style;
use super::json::escaped;
use super::moves::more;
use super::text::{self, count, map_options, name, paint, plain};
use crate::compare::{self, Ambiguity, Comparison, Place};
use crate::model::ConstructPath;

/// Renders the ambiguities of one environment; no blocks if there are none.
pub(super) fn ambiguities(comparison: &Comparison, style: Style) -> Vec<String> {
    let ambiguous = &comparison.ambiguous;
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
        if !style.asks {
            blocks.push(options(&pairing(&group), style));
        }
    }
    if !style.asks {
        blocks.push(format!(
            "The same for --override-file; null in place of a name leaves the first to be \
             replaced:\n{}",
            entries(comparison)
        ));
    }
    blocks
}

/// The flags that decide a question as an example does.
fn options(pairs: &[(&Place, &Place)], style: Style) -> String {
    let flag = |pair| format!("  {}", paint::command(map_options(&[pair], style)));
    let flags: Vec<String> = pairs.iter().copied().map(flag).collect();
    format!("To decide, say which is which, for example:\n{}", flags.join("\n"))
}

/// The entries of an override file that decide all questions of an environment as the examples do.
fn entries(comparison: &Comparison) -> String {
    let groups = groups(&comparison.ambiguous);
    let pairs: Vec<_> = groups.iter().flat_map(|group| pairing(group)).collect();
    let names: serde_json::Map<String, serde_json::Value> = pairs
        .iter()
        .map(|(old, new)| (old.location.to_string(), new.location.to_string().into()))
        .collect();
    let environment = &comparison.environment;
    let file = serde_json::json!({"environments": [{
        "account": &*environment.account, "region": &*environment.region, "resources": names,
    }]});
    // Texts can always be written.
    escaped(&serde_json::to_string_pretty(&file).unwrap_or_default())
}

/// Pairs that would decide a question as a whole: what names make likely first, then in the order
/// of the candidates. Of constructs, a pair of resources at the same place in each.
pub(super) fn pairing<'a>(group: &[&'a Ambiguity]) -> Vec<(&'a Place, &'a Place)> {
    if let Some((old, new)) = constructs(group) {
        let within = |place: &Place, construct: &ConstructPath| {
            let path = place.path.as_ref().filter(|path| path.is_within(construct.as_str()))?;
            Some(path.as_str()[construct.as_str().len()..].to_owned())
        };
        let pair = |(from, to): (usize, usize)| {
            group.iter().find_map(|one| {
                let (source, at) = one
                    .sources
                    .iter()
                    .find_map(|source| Some((source, within(source, &old[from])?)))?;
                let same = |other: &&Place| within(other, &new[to]).as_ref() == Some(&at);
                Some((source, one.destinations.iter().find(same)?))
            })
        };
        let likely = compare::likely_constructs(old, new);
        let pairs: Vec<_> =
            complete(likely, old.len(), new.len()).into_iter().filter_map(pair).collect();
        if !pairs.is_empty() {
            return pairs;
        }
    }
    let of = |one: &&'a Ambiguity| {
        let (sources, destinations) = (&one.sources, &one.destinations);
        let all = complete(compare::likely(one), sources.len(), destinations.len());
        all.into_iter().map(|(from, to)| (&sources[from], &destinations[to])).collect::<Vec<_>>()
    };
    group.iter().flat_map(of).collect()
}

/// Pairs of indices with what is in none of them paired in its order, sorted.
fn complete(mut pairs: Vec<(usize, usize)>, old: usize, new: usize) -> Vec<(usize, usize)> {
    let free_old: Vec<_> = (0..old).filter(|at| !pairs.iter().any(|pair| pair.0 == *at)).collect();
    let free_new: Vec<_> = (0..new).filter(|at| !pairs.iter().any(|pair| pair.1 == *at)).collect();
    pairs.extend(free_old.into_iter().zip(free_new));
    pairs.sort_unstable();
    pairs
}

/// Ambiguities that are one question, in the order of their first one.
pub(crate) fn groups(ambiguous: &[Ambiguity]) -> Vec<Vec<&Ambiguity>> {
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
pub(crate) fn constructs<'a>(
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
