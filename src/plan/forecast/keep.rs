//! Names that stay as they are deployed, since to change them would replace a resource.
//!
//! The choice is recorded in the template itself: `Metadata["cdkr:kept-names"]` of the resource
//! holds, for each property that keeps its deployed value, the value that the app had for it then.
//! As long as the app says the same, the next deployment keeps the deployed value again.

use std::collections::{BTreeMap, BTreeSet};

use super::ForecastRequest;
use super::pair::{Pair, names_in};
use super::symbol::{Kind, Leaf, difference};
use crate::compare::{Comparison, Difference, KEPT_NAMES};
use crate::model::{Object, Template, Text, Value};
use crate::plan::steps::{Finding, Severity};
use crate::registry::{self, Replacement};
use crate::template::Intrinsic;

/// Puts the values of the app back in the place of the deployed ones that were kept for their
/// names, and takes the record out: so a deployed template is to be compared with that of the app.
pub fn as_the_app_says(template: &mut Template) {
    let Some(Value::Object(resources)) = template.sections.get_mut("Resources") else { return };
    for (_, body) in resources.iter_mut() {
        let Value::Object(body) = body else { continue };
        let Some(Value::Object(metadata)) = body.get_mut("Metadata") else { continue };
        let record = metadata.remove(KEPT_NAMES);
        if record.is_some() && metadata.is_empty() {
            body.remove("Metadata");
        }
        let (Some(Value::Object(record)), Some(Value::Object(properties))) =
            (record, body.get_mut("Properties"))
        else {
            continue;
        };
        for (name, value) in record.iter() {
            properties.insert(name.clone(), value.clone());
        }
    }
}

/// Templates with kept names, by stack.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) templates: BTreeMap<String, Template>,
    pub(super) findings: Vec<Finding>,
}

/// A resource on both sides.
struct Resource<'p> {
    old: (usize, &'p Object),
    new: (usize, &'p Object),
    id: &'p Text,
}

/// Decides which resources keep deployed names.
pub(super) fn keep(pair: &Pair<'_>, request: &ForecastRequest<'_>) -> Kept {
    let mut kept = Kept::default();
    for (at, site) in pair.new.sites.iter().enumerate().filter(|(_, site)| site.is_deployed) {
        let Some(old) = pair.old.at(site.name) else { continue };
        for (id, body) in site.template.resources() {
            let was = pair.old.sites[old].template.resource(id);
            let Some(was) = was.filter(|was| was.get("Type") == body.get("Type")) else { continue };
            let resource = Resource { old: (old, was), new: (at, body), id };
            keep_one(pair, request, &resource, &mut kept);
        }
    }
    kept
}

fn keep_one(
    pair: &Pair<'_>,
    request: &ForecastRequest<'_>,
    resource: &Resource<'_>,
    kept: &mut Kept,
) {
    let Resource { old: (old, was), new: (at, body), id } = *resource;
    let (record, now) = (was.get("Metadata").and_then(|data| data.get(KEPT_NAMES)), record_of(was));
    let site = &pair.new.sites[at];
    if (request.comparison.is_none() && record.is_none()) || !pair.exists(at, id) {
        return;
    }
    let kind = body.get("Type").and_then(Value::as_str).unwrap_or_default();
    let leaves = pair.leaves(resource.old, resource.new);
    let replacing = |leaf: &&Leaf| registry::replacement(kind, &leaf.path) != Replacement::Never;
    let properties: BTreeSet<&str> = leaves
        .iter()
        .filter(replacing)
        .map(|leaf| leaf.path.split('/').next().unwrap_or_default())
        .collect();
    let is_recorded = |name: &str| {
        let before = now.and_then(|record| pair.before().value(old, record.get(name)?));
        let app = body.get("Properties").and_then(|all| pair.after().value(at, all.get(name)?));
        before.zip(app).is_some_and(|(before, app)| difference(&before, &app).is_none())
    };
    let follows =
        |name: &str| request.comparison.is_some_and(|all| is_by_names(all, site.name, id, name));
    let (names, others): (Vec<&str>, Vec<&str>) =
        properties.into_iter().partition(|name| is_recorded(name) || follows(name));
    // What is replaced for another reason gets the names that the app has.
    let is_replaced = others.iter().any(|name| {
        let own = |leaf: &&Leaf| leaf.path.split('/').next() == Some(name);
        leaves.iter().filter(own).any(|leaf| {
            matches!(leaf.kind, Kind::Certain | Kind::Fresh(_))
                && registry::replacement(kind, &leaf.path) == Replacement::Always
        })
    });
    if names.is_empty() || is_replaced {
        return;
    }
    if !request.keep_names && !names.iter().all(|name| is_recorded(name)) {
        kept.findings.push(could_be_kept((site.name, id), &names));
        return;
    }
    if site.parent.is_some() {
        kept.findings.push(not_kept(
            (site.name, id),
            "it is in a nested stack, whose template is an asset of the app",
        ));
        return;
    }
    match overlaid(pair, resource, &names) {
        Some(changed) => {
            let template = kept.templates.entry(site.name.to_owned());
            let template = template.or_insert_with(|| site.template.clone());
            if let Some(Value::Object(resources)) = template.sections.get_mut("Resources") {
                resources.insert(id.clone(), Value::Object(changed));
            }
        }
        None => kept.findings.push(not_kept(
            (site.name, id),
            "its deployed name is made of something that is not there any more",
        )),
    }
}

fn record_of(body: &Object) -> Option<&Object> {
    body.get("Metadata")?.get(KEPT_NAMES)?.as_object()
}

/// Whether all that differs in a property follows from new names of constructs.
fn is_by_names(comparison: &Comparison, stack: &str, id: &str, property: &str) -> bool {
    let is_here = |place: &crate::compare::Place| {
        place.location.stack.as_str() == stack && place.location.logical_id.as_str() == id
    };
    let moved = comparison.mappings.iter().filter(|mapping| is_here(&mapping.destination));
    let changed = comparison.changed.iter().filter(|change| is_here(&change.place));
    let all = moved.flat_map(|mapping| &mapping.changes);
    let all = all.chain(changed.flat_map(|change| &change.differences));
    let own = |difference: &&Difference| {
        let path = difference.property.strip_prefix("Properties.");
        path.is_some_and(|path| path.split('.').next() == Some(property))
    };
    let own: Vec<&Difference> = all.filter(own).collect();
    !own.is_empty() && own.iter().all(|difference| difference.name_only)
}

/// The body of the app with deployed values, and the record of it.
fn overlaid(pair: &Pair<'_>, resource: &Resource<'_>, names: &[&str]) -> Option<Object> {
    let Resource { old: (old, was), new: (at, body), .. } = *resource;
    let mut changed = body.clone();
    let (mut properties, mut record) =
        (body.get("Properties")?.as_object()?.clone(), Object::new());
    for name in names {
        let deployed = was.get("Properties")?.get(name)?;
        let own = properties.get(name)?.clone();
        properties.insert(Text::from(*name), merged(pair, (old, deployed), (at, &own))?);
        record.insert(Text::from(*name), own);
    }
    let mut metadata = body.get("Metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    metadata.insert(KEPT_NAMES.into(), Value::Object(record));
    changed.insert("Properties".into(), Value::Object(properties));
    changed.insert("Metadata".into(), Value::Object(metadata));
    Some(changed)
}

/// The value of the app, with deployed values where the two differ.
fn merged(pair: &Pair<'_>, old: (usize, &Value), new: (usize, &Value)) -> Option<Value> {
    let was = pair.before().value(old.0, old.1)?;
    if difference(&was, &pair.after().value(new.0, new.1)?).is_none() {
        return Some(new.1.clone());
    }
    let is_plain = |object: &Object| Intrinsic::of(object).is_none() && !is_function(object);
    match (old.1, new.1) {
        (Value::Array(was), Value::Array(is)) if was.len() == is.len() => {
            let items = was.iter().zip(is);
            let items = items.map(|(was, is)| merged(pair, (old.0, was), (new.0, is)));
            Some(Value::Array(items.collect::<Option<_>>()?))
        }
        (Value::Object(was), Value::Object(is))
            if is_plain(was) && is_plain(is) && was.len() == is.len() =>
        {
            let member = |(key, is): (&Text, &Value)| {
                Some((key.clone(), merged(pair, (old.0, was.get(key)?), (new.0, is))?))
            };
            Some(Value::Object(is.iter().map(member).collect::<Option<_>>()?))
        }
        (was, _) => is_usable(pair, (old.0, was), new.0).then(|| was.clone()),
    }
}

fn is_function(object: &Object) -> bool {
    object.single().is_some_and(|(key, _)| key == "Ref" || key.starts_with("Fn::"))
}

/// Whether a deployed value can be sent in the template of the app: everything that it names is
/// the same there, and all of its characters are known.
fn is_usable(pair: &Pair<'_>, old: (usize, &Value), new: usize) -> bool {
    let text = crate::template::json::to_compact(old.1);
    let is_returned = pair.old.sites[old.0].now.is_some_and(|now| now.stack.is_returned);
    if is_returned && text.contains('?') {
        return false;
    }
    let holder: Object = [(Text::from("Value"), old.1.clone())].into_iter().collect();
    let template = pair.new.sites[new].template;
    let declares = |name: &str| {
        let parameters = template.section("Parameters");
        parameters.is_some_and(|all| all.contains_key(name)) || template.resource(name).is_some()
    };
    if !names_in(&holder).iter().all(|name| name.starts_with("AWS::") || declares(name)) {
        return false;
    }
    let (was, is) = (pair.before().value(old.0, old.1), pair.after().value(new, old.1));
    was.zip(is).is_some_and(|(was, is)| difference(&was, &is).is_none())
}

fn could_be_kept((stack, id): (&str, &str), names: &[&str]) -> Finding {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    Finding {
        severity: Severity::Note,
        stack: stack.to_owned(),
        resource: Some(id.to_owned()),
        message: format!(
            "Nothing replaces `{stack}.{id}` but new names of constructs in {}.",
            names.join(", ")
        ),
        remedy: "Deploy with --keep-names to keep the resource, and the names that it has."
            .to_owned(),
    }
}

fn not_kept((stack, id): (&str, &str), why: &str) -> Finding {
    Finding {
        severity: Severity::Warning,
        stack: stack.to_owned(),
        resource: Some(id.to_owned()),
        message: format!("`{stack}.{id}` cannot keep the name that it is deployed with: {why}."),
        remedy: "Give the name in the app the text that is deployed.".to_owned(),
    }
}
