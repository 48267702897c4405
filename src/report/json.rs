//! The form for programs: a public contract with a version. Its types are its own, so that a
//! change inside cannot change what others read.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::{Style, aspects, explain, text};
use crate::aspects::{Influence, Level, Thanks};
use crate::compare::{
    Ambiguity, Change, Comparison, Difference, Mapping, Place, Similar, Unpaired,
};
use crate::model::{ConstructPath, Location, Text};
use crate::plan::{Action, Finding, Move, Plan, Purpose, Staying};
use crate::template::json::Written;

/// The version of the contract: raised when a field goes away or changes its meaning.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    environments: Vec<EnvironmentWire<'a>>,
}

#[derive(Serialize)]
struct EnvironmentWire<'a> {
    account: &'a str,
    region: &'a str,
    mappings: Vec<MappingWire<'a>>,
    ambiguous: Vec<AmbiguityWire<'a>>,
    similar: Vec<SimilarWire<'a>>,
    decide: Vec<DecideWire<'a>>,
    added: Vec<UnpairedWire<'a>>,
    removed: Vec<UnpairedWire<'a>>,
    changed: Vec<ChangeWire<'a>>,
    unchanged: usize,
    problems: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aspects: Option<AspectsWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<PlanWire<'a>>,
}

/// What aspects hid, and which of their rules do not hold.
#[derive(Serialize)]
struct AspectsWire<'a> {
    hidden: Vec<HiddenWire<'a>>,
    violations: Vec<ViolationWire<'a>>,
}

#[derive(Serialize)]
struct HiddenWire<'a> {
    #[serde(flatten)]
    place: PlaceWire<'a>,
    property: &'a str,
    aspects: &'a [Text],
}

#[derive(Serialize)]
struct ViolationWire<'a> {
    aspect: &'a str,
    level: &'static str,
    #[serde(flatten)]
    place: PlaceWire<'a>,
    reason: &'a str,
}

/// To which aspects a mapping is owed.
#[derive(Serialize)]
struct ThanksWire<'a> {
    aspects: &'a [Text],
    indirect: bool,
}

#[derive(Serialize)]
struct PlanWire<'a> {
    steps: Vec<StepWire<'a>>,
    staying: &'a [Staying],
    findings: &'a [Finding],
}

#[derive(Serialize)]
struct StepWire<'a> {
    after: &'a [usize],
    kind: &'static str,
    stacks: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    purpose: Option<Purpose>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    retained: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    moves: &'a [Move],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlaceWire<'a> {
    stack: &'a str,
    logical_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MappingWire<'a> {
    r#type: &'a str,
    source: PlaceWire<'a>,
    destination: PlaceWire<'a>,
    evidence: &'static str,
    by_names: bool,
    changes: Vec<&'a str>,
    replaces: Vec<&'a str>,
    blocked: Option<&'a str>,
    indistinct: bool,
    identical_stayed: Vec<PlaceWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thanks_to: Option<ThanksWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<Vec<DifferenceWire<'a>>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DifferenceWire<'a> {
    property: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<Written<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<Written<'a>>,
    name_only: bool,
    replaces: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    hidden_by: &'a [Text],
}

#[derive(Serialize)]
struct AmbiguityWire<'a> {
    r#type: &'a str,
    sources: Vec<PlaceWire<'a>>,
    destinations: Vec<PlaceWire<'a>>,
    group: usize,
    constructs: ConstructsWire<'a>,
}

#[derive(Serialize)]
struct ConstructsWire<'a> {
    sources: Vec<&'a str>,
    destinations: Vec<&'a str>,
}

#[derive(Serialize)]
struct SimilarWire<'a> {
    r#type: &'a str,
    source: PlaceWire<'a>,
    destination: PlaceWire<'a>,
    score: u8,
    changes: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<Vec<DifferenceWire<'a>>>,
}

/// How a question could be decided: an example for `ambiguous`, the only pair for `similar`.
#[derive(Serialize)]
struct DecideWire<'a> {
    about: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<usize>,
    r#type: &'a str,
    /// What `--map` takes.
    map: Vec<String>,
    /// What an override file takes as `resources` of the environment.
    resources: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct UnpairedWire<'a> {
    r#type: &'a str,
    #[serde(flatten)]
    place: PlaceWire<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    excluded: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<NearestWire<'a>>,
}

#[derive(Serialize)]
struct NearestWire<'a> {
    #[serde(flatten)]
    place: PlaceWire<'a>,
    differences: Vec<DifferenceWire<'a>>,
}

#[derive(Serialize)]
struct ChangeWire<'a> {
    r#type: &'a str,
    #[serde(flatten)]
    place: PlaceWire<'a>,
    properties: Vec<&'a str>,
    replaces: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<Vec<DifferenceWire<'a>>>,
}

/// Renders comparisons for programs: one JSON document, always complete, with the reasons and the
/// values only if the style asks for explanations. Plans stand with their environments, without
/// the templates; so does what aspects had to do with them.
pub fn json(
    environments: &[Comparison],
    influences: &[Influence],
    plans: &[Plan],
    style: Style,
) -> String {
    let of = |one: &Comparison| plans.iter().find(|plan| plan.environment() == one.environment);
    let with_plan = |one| {
        let influence = aspects::of(influences, one);
        EnvironmentWire { plan: of(one).map(plan), ..environment(one, influence, style) }
    };
    let mut environments: Vec<EnvironmentWire<'_>> = environments.iter().map(with_plan).collect();
    if environments.is_empty() {
        // A plan from a file stands for itself.
        environments.extend(plans.iter().map(alone));
    }
    let report = Report { version: VERSION, environments };
    // All keys are strings, and writing to a string cannot fail.
    let text = serde_json::to_string_pretty(&report).unwrap_or_default();
    escaped(&text) + "\n"
}

/// Renders the same as one line, the first of those that tell a program what happens: the member
/// `event` is `found`.
pub fn found_line(
    environments: &[Comparison],
    influences: &[Influence],
    plans: &[Plan],
    style: Style,
) -> String {
    let text = json(environments, influences, plans, style);
    // What was written as JSON a moment ago is JSON.
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    document["event"] = "found".into();
    escaped(&document.to_string())
}

/// Escapes what JSON lets through but a terminal would obey. Outside of strings there is nothing
/// but ASCII, and inside of them the writer has escaped what is below the blank.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && text::is_hostile(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

fn environment<'a>(
    comparison: &'a Comparison,
    influence: Option<&'a Influence>,
    style: Style,
) -> EnvironmentWire<'a> {
    let told = influence.filter(|one| !one.hidden.is_empty() || !one.violations.is_empty());
    EnvironmentWire {
        account: &comparison.environment.account,
        region: &comparison.environment.region,
        mappings: comparison.mappings.iter().map(|one| mapping(one, influence, style)).collect(),
        ambiguous: comparison.ambiguous.iter().map(ambiguity).collect(),
        similar: comparison.similar.iter().map(|one| similar(one, style)).collect(),
        decide: decide(comparison),
        added: comparison.added.iter().map(|one| unpaired(one, style)).collect(),
        removed: comparison.removed.iter().map(|one| unpaired(one, style)).collect(),
        changed: comparison.changed.iter().map(|one| change(one, influence, style)).collect(),
        unchanged: comparison.unchanged,
        problems: comparison.problems.iter().map(|problem| problem.message.as_str()).collect(),
        aspects: told.map(told_by_aspects),
        plan: None,
    }
}

fn told_by_aspects(influence: &Influence) -> AspectsWire<'_> {
    let hidden = influence.hidden.iter().map(|one| HiddenWire {
        place: location(&one.location),
        property: &one.difference.property,
        aspects: &one.aspects,
    });
    let violations = influence.violations.iter().map(|one| ViolationWire {
        aspect: &one.aspect,
        level: match one.level {
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
        },
        place: PlaceWire { path: Some(one.construct.as_str()), ..location(&one.location) },
        reason: &one.reason,
    });
    AspectsWire { hidden: hidden.collect(), violations: violations.collect() }
}

/// An environment of which nothing is known but the plan.
fn alone(plan: &Plan) -> EnvironmentWire<'_> {
    EnvironmentWire {
        account: &plan.account,
        region: &plan.region,
        mappings: Vec::new(),
        ambiguous: Vec::new(),
        similar: Vec::new(),
        decide: Vec::new(),
        added: Vec::new(),
        removed: Vec::new(),
        changed: Vec::new(),
        unchanged: 0,
        problems: Vec::new(),
        aspects: None,
        plan: Some(self::plan(plan)),
    }
}

fn plan(plan: &Plan) -> PlanWire<'_> {
    let steps = plan.steps.iter().map(|step| match &step.action {
        Action::Change(change) => StepWire {
            after: &step.after,
            kind: "change",
            stacks: vec![&change.stack],
            purpose: Some(change.purpose),
            retained: &change.retained,
            moves: &[],
        },
        Action::Refactor(batch) => StepWire {
            after: &step.after,
            kind: "refactor",
            stacks: batch.stacks.iter().map(|stack| stack.name.as_str()).collect(),
            purpose: None,
            retained: &[],
            moves: &batch.moves,
        },
    });
    PlanWire { steps: steps.collect(), staying: &plan.staying, findings: &plan.findings }
}

fn mapping<'a>(
    mapping: &'a Mapping,
    influence: Option<&'a Influence>,
    style: Style,
) -> MappingWire<'a> {
    let at = &mapping.destination.location;
    let thanks = |one: &'a Thanks| ThanksWire { aspects: &one.aspects, indirect: one.is_indirect };
    MappingWire {
        r#type: mapping.resource_type.as_str(),
        source: place(&mapping.source),
        destination: place(&mapping.destination),
        evidence: explain::code(&mapping.evidence),
        by_names: mapping.by_names,
        changes: paths(&mapping.changes),
        replaces: replacing(&mapping.changes),
        blocked: mapping.blocked.as_deref(),
        indistinct: mapping.indistinct,
        identical_stayed: mapping.identical_stayed.iter().map(location).collect(),
        thanks_to: influence.and_then(|one| one.thanks_for(at)).map(thanks),
        explanation: style.explain.then(|| explain::sentence(mapping)),
        differences: changes(&mapping.changes, influence, at, style),
    }
}

fn ambiguity(ambiguity: &Ambiguity) -> AmbiguityWire<'_> {
    let (old, new) = &ambiguity.constructs;
    AmbiguityWire {
        r#type: ambiguity.resource_type.as_str(),
        sources: ambiguity.sources.iter().map(place).collect(),
        destinations: ambiguity.destinations.iter().map(place).collect(),
        group: ambiguity.group,
        constructs: ConstructsWire {
            sources: old.iter().map(ConstructPath::as_str).collect(),
            destinations: new.iter().map(ConstructPath::as_str).collect(),
        },
    }
}

fn similar(similar: &Similar, style: Style) -> SimilarWire<'_> {
    SimilarWire {
        r#type: similar.resource_type.as_str(),
        source: place(&similar.source),
        destination: place(&similar.destination),
        score: similar.score,
        changes: paths(&similar.differences),
        differences: differences(&similar.differences, style),
    }
}

fn decide(comparison: &Comparison) -> Vec<DecideWire<'_>> {
    let wire = |about, group, kind, pairs: &[(&Place, &Place)]| {
        let names =
            |(old, new): &(&Place, &Place)| (old.location.to_string(), new.location.to_string());
        DecideWire {
            about,
            group,
            r#type: kind,
            map: pairs.iter().map(names).map(|(old, new)| format!("{old}:{new}")).collect(),
            resources: pairs.iter().map(names).collect(),
        }
    };
    let groups = super::ambiguity::groups(&comparison.ambiguous).into_iter();
    let ambiguous = groups.filter_map(|group| {
        let first = group.first()?;
        let pairs = super::ambiguity::pairing(&group);
        Some(wire("ambiguous", Some(first.group), first.resource_type.as_str(), &pairs))
    });
    let similar = comparison.similar.iter().map(|one| {
        let pair = [(&one.source, &one.destination)];
        wire("similar", None, one.resource_type.as_str(), &pair)
    });
    ambiguous.chain(similar).collect()
}

fn unpaired(unpaired: &Unpaired, style: Style) -> UnpairedWire<'_> {
    let nearest = unpaired.nearest.as_ref().filter(|_| style.explain);
    UnpairedWire {
        r#type: unpaired.resource_type.as_str(),
        place: place(&unpaired.place),
        excluded: unpaired.excluded.as_deref(),
        nearest: nearest.map(|(other, what)| NearestWire {
            place: place(other),
            differences: what.iter().map(difference).collect(),
        }),
    }
}

fn change<'a>(
    change: &'a Change,
    influence: Option<&'a Influence>,
    style: Style,
) -> ChangeWire<'a> {
    let at = &change.place.location;
    ChangeWire {
        r#type: change.resource_type.as_str(),
        place: place(&change.place),
        properties: paths(&change.differences),
        replaces: replacing(&change.differences),
        differences: changes(&change.differences, influence, at, style),
    }
}

fn place(place: &Place) -> PlaceWire<'_> {
    PlaceWire { path: place.path.as_ref().map(ConstructPath::as_str), ..location(&place.location) }
}

fn location(location: &Location) -> PlaceWire<'_> {
    PlaceWire {
        stack: location.stack.as_str(),
        logical_id: location.logical_id.as_str(),
        path: None,
    }
}

fn paths(differences: &[Difference]) -> Vec<&str> {
    differences.iter().map(|difference| difference.property.as_str()).collect()
}

fn replacing(differences: &[Difference]) -> Vec<&str> {
    let replacing = differences.iter().filter(|difference| difference.replaces);
    replacing.map(|difference| difference.property.as_str()).collect()
}

fn differences(differences: &[Difference], style: Style) -> Option<Vec<DifferenceWire<'_>>> {
    style.explain.then(|| differences.iter().map(difference).collect())
}

/// The same with the aspects that hid them: those of a resource that is on both sides.
fn changes<'a>(
    changes: &'a [Difference],
    influence: Option<&'a Influence>,
    at: &Location,
    style: Style,
) -> Option<Vec<DifferenceWire<'a>>> {
    let mut wires = differences(changes, style)?;
    let hidden = influence.map(|one| one.hidden_in(at)).unwrap_or_default();
    for wire in &mut wires {
        wire.hidden_by = hidden.get(wire.property).copied().unwrap_or_default();
    }
    Some(wires)
}

fn difference(difference: &Difference) -> DifferenceWire<'_> {
    DifferenceWire {
        property: &difference.property,
        old: difference.old.as_ref().map(Written),
        new: difference.new.as_ref().map(Written),
        name_only: difference.name_only,
        replaces: difference.replaces,
        hidden_by: &[],
    }
}
