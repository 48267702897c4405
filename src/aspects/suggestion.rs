//! What may have been meant by a declaration that finds nothing: the nearest name that there is.

use std::collections::BTreeSet;

use super::declaration::Declaration;
use super::pattern::{PathPattern, PropertyPattern};
use super::tree::Tree;
use crate::model::{Object, Text, Value, closest};
use crate::registry;

/// Returns what an aspect that matches nothing in a tree may have meant: the first of its scope,
/// path, type and class that nothing there is called, with the nearest name.
pub(super) fn nearest<S>(declaration: &Declaration, tree: &Tree<S>) -> Option<String> {
    let matcher = &declaration.matcher;
    let scope = declaration.scope.as_ref().and_then(|scope| path(scope, tree));
    scope
        .or_else(|| matcher.path.as_ref().and_then(|wanted| path(wanted, tree)))
        .or_else(|| matcher.resource_type.as_ref().and_then(|wanted| resource_type(wanted, tree)))
        .or_else(|| matcher.class.as_ref().and_then(|wanted| class(wanted, tree)))
}

/// Corrects the first component of a path that no path has.
fn path<S>(wanted: &PathPattern, tree: &Tree<S>) -> Option<String> {
    let paths = tree.constructs().map(|one| one.path.as_str());
    let known: BTreeSet<&str> = paths.flat_map(|path| path.split('/')).collect();
    let is_literal = |part: &&str| !part.contains(['*', '?', '[', '{']);
    let wrong = wanted.as_str().split('/').filter(is_literal).find(|part| !known.contains(part))?;
    let meant = closest(wrong, known.into_iter().filter(|part| !part.is_empty()))?;
    let corrected = |part| if part == wrong { meant } else { part };
    Some(wanted.as_str().split('/').map(corrected).collect::<Vec<_>>().join("/"))
}

/// Corrects a type that no resource has, if CloudFormation does not know it either.
fn resource_type<S>(wanted: &str, tree: &Tree<S>) -> Option<String> {
    let here = tree.constructs().filter_map(|one| Some(one.resource.as_ref()?.1.as_str()));
    let here: BTreeSet<&str> = here.collect();
    match wanted.split_once('*') {
        None if here.contains(wanted) || registry::lookup(wanted).is_some() => None,
        None => closest(wanted, here.into_iter())
            .or_else(|| closest(wanted, registry::type_names()))
            .map(str::to_owned),
        // `AWS::RDS::*`: the services.
        Some((start, "")) => {
            let service = start.strip_suffix("::")?;
            let services = |kind: &'static str| kind.rsplit_once("::").map(|it| it.0);
            let known: BTreeSet<&str> = registry::type_names().filter_map(services).collect();
            let own = here.iter().filter_map(|kind| kind.rsplit_once("::").map(|it| it.0));
            let own: BTreeSet<&str> = own.collect();
            if own.contains(service) || known.contains(service) {
                return None;
            }
            let meant = closest(service, own.into_iter());
            meant.or_else(|| closest(service, known.into_iter())).map(|it| format!("{it}::*"))
        }
        Some(_) => None,
    }
}

/// Corrects a class that no construct has.
fn class<S>(wanted: &str, tree: &Tree<S>) -> Option<String> {
    let classes: BTreeSet<&str> =
        tree.constructs().filter_map(|one| one.class.as_deref()).collect();
    let is_known = wanted.contains('*') || classes.contains(wanted);
    if is_known { None } else { closest(wanted, classes.into_iter()).map(str::to_owned) }
}

/// Collects the names of all members in a body.
pub(super) fn member_names(body: &Object, into: &mut BTreeSet<Text>) {
    fn inside(value: &Value, into: &mut BTreeSet<Text>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| inside(item, into)),
            Value::Object(object) => member_names(object, into),
            _ => {}
        }
    }
    for (key, value) in body.iter() {
        if !into.contains(key) {
            into.insert(key.clone());
        }
        inside(value, into);
    }
}

/// Corrects the first part of a place that no resource has of those which an aspect matched.
pub(super) fn nearest_place(wanted: &PropertyPattern, known: &BTreeSet<Text>) -> Option<String> {
    let mut parts = wanted.parts().to_vec();
    let is_literal =
        |part: &Text| !part.contains('*') && !part.bytes().all(|byte| byte.is_ascii_digit());
    // The first part is an attribute of resources, and was checked.
    let at = (1..parts.len()).find(|at| is_literal(&parts[*at]) && !known.contains(&parts[*at]))?;
    parts[at] = closest(&parts[at], known.iter().map(Text::as_str))?.into();
    Some(PropertyPattern::of_parts(parts).to_string())
}
