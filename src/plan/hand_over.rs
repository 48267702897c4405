//! Resources that stay and that the deployment makes anew: what becomes of the thing that both
//! definitions mean, when the old stack deletes its own.
//!
//! Logical IDs do not contain the stack, so that an inline policy that goes to another stack has
//! the same name on the same role there. The new stack writes over it, without a word, and the
//! old one deletes it afterwards. So the old one is told to retain it before it leaves its
//! template. What cannot be made while the old one exists cannot be handed over: that is said.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap as HashMap;

use super::same::{Sameness, Side, Sides};
use super::steps::{Finding, HandOver, Severity, Staying};
use super::wishes::{Counterparts, Sources, Wishes};
use super::world::{At, Spot, World};
use crate::model::{Location, Object, ResourceType, Text, Value};
use crate::registry::{self, Clash, Identity, Key};

/// Old definitions that are to be retained, by stack.
pub(super) type Retained = BTreeMap<At, BTreeSet<Text>>;

/// Decides for everything that stays how it is handed over.
pub(super) fn decide(
    world: &World,
    sources: &Sources<'_>,
    parts: &Counterparts<'_>,
    wishes: &mut Wishes,
) {
    let moves = std::mem::take(&mut wishes.moves);
    let sides = Sides::new(world, sources, parts, &moves);
    let (mut retained, mut findings) = (Retained::new(), Vec::new());
    for staying in &mut wishes.staying {
        let Some((from, goal)) = places(world, staying) else { continue };
        staying.physical_id = sides.physical_id(&from).map(str::to_owned);
        let meeting = Meeting { world, sides: &sides, from: &from, goal: &goal };
        let Some(Identity { clash, by }) = registry::identity(&staying.resource_type) else {
            continue;
        };
        let Some(sameness) = meeting.take_place(staying, &by) else { continue };
        match (clash, sameness) {
            (_, Sameness::Different) => {}
            (Clash::Overwrites, _) => {
                staying.hand_over = HandOver::Retained;
                let consequence = match by {
                    Key::All => {
                        "The deployment creates it anew; the old stack is told not to delete its \
                         own, since nobody knows what else that would take away."
                    }
                    Key::Properties { .. } => {
                        "The deployment writes over it, and the old stack is told to leave it \
                         alone: at no moment is it missing."
                    }
                };
                consequence.clone_into(&mut staying.consequence);
                if !is_retained(world.resource(&from)) {
                    retained.entry(from.0).or_default().insert(from.1.clone());
                }
            }
            (Clash::Excludes, Sameness::Same) => {
                staying.hand_over = HandOver::Exclusive;
                "The deployment fails: a new one cannot be created while the old one exists."
                    .clone_into(&mut staying.consequence);
                findings.push(refusal(staying, &goal));
            }
            (Clash::Excludes, Sameness::Unknown) => findings.push(doubt(staying, &goal)),
        }
    }
    for (from, to) in meetings_of_others(world, sources, &sides) {
        if !is_retained(world.resource(&from)) {
            findings.push(note(world, &from, &to));
            retained.entry(from.0).or_default().insert(from.1);
        }
    }
    wishes.retained = retained;
    wishes.findings.extend(findings);
    wishes.moves = moves;
}

/// Definitions that nothing pairs, or nothing yet, of which one writes over what the other one
/// deletes. Here only what is certain counts: otherwise any two of a type would meet.
fn meetings_of_others(
    world: &World,
    sources: &Sources<'_>,
    sides: &Sides<'_>,
) -> Vec<(Spot, Location)> {
    let comparison = sources.comparison;
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for one in &comparison.removed {
        old.push((&one.resource_type, &one.place.location));
    }
    for one in &comparison.added {
        new.push((&one.resource_type, &one.place.location));
    }
    for group in &comparison.ambiguous {
        old.extend(group.sources.iter().map(|place| (&group.resource_type, &place.location)));
        new.extend(group.destinations.iter().map(|place| (&group.resource_type, &place.location)));
    }
    let key = |resource_type: &ResourceType| {
        let identity = registry::identity(resource_type.as_str())?;
        (identity.clash == Clash::Overwrites).then_some(identity.by)
    };
    let mut known: HashMap<(&str, String), &Location> = HashMap::default();
    for (resource_type, place) in new {
        let Some((by, side)) = key(resource_type).zip(sides.local(place.stack.as_str())) else {
            continue;
        };
        let body = sides.resource(side, place.logical_id.as_str());
        for name in body.map(|body| keys(sides, side, body, &by)).unwrap_or_default() {
            known.insert((resource_type.as_str(), name), place);
        }
    }
    let mut found = Vec::new();
    for (resource_type, place) in old {
        let Some((by, at)) = key(resource_type).zip(world.at(place.stack.as_str())) else {
            continue;
        };
        let from = (at, Text::from(place.logical_id.as_str()));
        let is_there =
            |body: &&Object| !world.absent.contains(&from) && is_deleted(sides, &from, body);
        let body = world.resource(&from).filter(is_there);
        let names = body.map(|body| keys(sides, Side::Deployed(at), body, &by)).unwrap_or_default();
        let mut meets = names.into_iter();
        let met = meets.find_map(|name| known.get(&(resource_type.as_str(), name)));
        found.extend(met.map(|to| (from, (*to).clone())));
    }
    found
}

/// Whether a deployment deletes a definition. Where another resource has its logical ID, that is
/// changed in place; a stack that is not in the app any more will be deleted by somebody.
fn is_deleted(sides: &Sides<'_>, from: &Spot, old: &Object) -> bool {
    let local = sides.local_of(from.0).and_then(|stack| stack.template.resource(&from.1));
    local.is_none_or(|local| local.get("Type") != old.get("Type"))
}

/// What a definition is the definition of, in texts that are equal for one thing; none if a part
/// of it is not known.
fn keys(sides: &Sides<'_>, side: Side, body: &Object, by: &Key) -> Vec<String> {
    let value_of = |path: &str| {
        let mut segments = path.split('/');
        let first = properties(body)?.get(segments.next()?)?;
        segments.try_fold(first, |value, segment| value.get(segment))
    };
    let (values, members) = match by {
        Key::All => {
            let about = about(properties(body));
            return sides.look(side, &Value::Object(about)).key().into_iter().collect();
        }
        Key::Properties { values, members } => (values, members),
    };
    let mut name = String::new();
    for part in values {
        match value_of(part.path).map(|value| sides.look(side, value).key()) {
            Some(Some(text)) => name.push_str(&text),
            None if part.optional => {}
            Some(None) | None => return Vec::new(),
        }
        name.push('\n');
    }
    if members.is_empty() {
        return vec![name];
    }
    let lists = members.iter().filter_map(|path| Some((*path, value_of(path)?)));
    let each = lists.flat_map(|(path, value)| {
        let keys = sides.members(side, value).into_iter().filter_map(|one| one.key());
        keys.map(move |key| (path, key))
    });
    each.map(|(path, key)| format!("{name}{path} {key}")).collect()
}

/// What a custom resource is about: its properties without its provider.
fn about(properties: Option<&Object>) -> Object {
    let all = properties.into_iter().flat_map(Object::iter);
    let kept = all.filter(|(name, _)| *name != "ServiceToken");
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Where a resource stays, and where the app has it now.
fn places(world: &World, staying: &Staying) -> Option<(Spot, Location)> {
    let source: Location = staying.source.parse().ok()?;
    let from = (world.at(source.stack.as_str())?, Text::from(source.logical_id.as_str()));
    // What is in the template only has nothing that could be deleted.
    let exists = !world.absent.contains(&from);
    Some((from, staying.destination.parse().ok()?)).filter(|_| exists)
}

/// An old and a new definition.
struct Meeting<'a> {
    world: &'a World,
    sides: &'a Sides<'a>,
    from: &'a Spot,
    goal: &'a Location,
}

impl Meeting<'_> {
    /// Returns whether both are one thing; `None` if they never meet. Notes by which names they
    /// are known.
    fn take_place(&self, staying: &mut Staying, by: &Key) -> Option<Sameness> {
        let old = self.world.resource(self.from)?;
        let new_side = self.sides.local(self.goal.stack.as_str())?;
        let new = self.sides.resource(new_side, self.goal.logical_id.as_str())?;
        let pair = Pair { sides: self.sides, new_side, old: properties(old), new: properties(new) };
        let sameness = match by {
            Key::All => pair.as_a_whole(self.from.0),
            Key::Properties { values, members } => {
                let mut sameness = Sameness::Same;
                for part in values {
                    let one = pair.value(self.from.0, part.path, part.optional, staying);
                    sameness = worse(sameness, one);
                }
                if !members.is_empty() {
                    sameness = worse(sameness, pair.meet(self.from.0, members));
                }
                sameness
            }
        };
        is_deleted(self.sides, self.from, old).then_some(sameness)
    }
}

fn properties(body: &Object) -> Option<&Object> {
    body.get("Properties").and_then(Value::as_object)
}

/// The worse of two answers: one part that differs is enough.
fn worse(one: Sameness, other: Sameness) -> Sameness {
    match (one, other) {
        (Sameness::Different, _) | (_, Sameness::Different) => Sameness::Different,
        (Sameness::Unknown, _) | (_, Sameness::Unknown) => Sameness::Unknown,
        (Sameness::Same, Sameness::Same) => Sameness::Same,
    }
}

/// The properties of both.
struct Pair<'a> {
    sides: &'a Sides<'a>,
    new_side: Side,
    old: Option<&'a Object>,
    new: Option<&'a Object>,
}

impl<'a> Pair<'a> {
    fn both(&self, path: &str) -> (Option<&'a Value>, Option<&'a Value>) {
        let of = |properties: Option<&'a Object>| {
            let mut segments = path.split('/');
            let first = properties?.get(segments.next()?)?;
            segments.try_fold(first, |value, segment| value.get(segment))
        };
        (of(self.old), of(self.new))
    }

    fn value(&self, at: At, path: &str, optional: bool, staying: &mut Staying) -> Sameness {
        match self.both(path) {
            (Some(old), Some(new)) => {
                let old = self.sides.look(Side::Deployed(at), old);
                let name = old.text();
                staying.names.extend(name.map(|name| (path.to_owned(), name)));
                self.sides.compare(&old, &self.sides.look(self.new_side, new))
            }
            (None, None) if optional => Sameness::Same,
            // Left out on one side, it may still be the default that the other one spells out.
            (None, Some(_)) | (Some(_), None) if optional => Sameness::Unknown,
            _ => Sameness::Different,
        }
    }

    /// Whether lists share a member.
    fn meet(&self, at: At, paths: &[&str]) -> Sameness {
        let mut best = Sameness::Different;
        for path in paths {
            let (Some(old), Some(new)) = self.both(path) else { continue };
            let old = self.sides.members(Side::Deployed(at), old);
            let new = self.sides.members(self.new_side, new);
            for (old, new) in old.iter().flat_map(|old| new.iter().map(move |new| (old, new))) {
                best = match (best, self.sides.compare(old, new)) {
                    (Sameness::Same, _) | (_, Sameness::Same) => Sameness::Same,
                    (Sameness::Unknown, _) | (_, Sameness::Unknown) => Sameness::Unknown,
                    _ => Sameness::Different,
                };
            }
        }
        best
    }

    /// What a custom resource deletes is not known. It is another thing only if everything that
    /// it is about goes away with the old one: then it has to clean up behind itself.
    fn as_a_whole(&self, at: At) -> Sameness {
        let seen = self.sides.look(Side::Deployed(at), &Value::Object(about(self.old)));
        if seen.is_of_others() { Sameness::Different } else { Sameness::Unknown }
    }
}

/// Whether the deletion of a definition leaves the thing alone already.
fn is_retained(body: Option<&Object>) -> bool {
    let policy = body.and_then(|body| body.get("DeletionPolicy")).and_then(Value::as_str);
    matches!(policy, Some("Retain" | "RetainExceptOnCreate"))
}

fn names(staying: &Staying) -> String {
    let names = staying.names.iter().map(|(path, name)| format!("{path} `{name}`"));
    let names: Vec<String> = names.collect();
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

/// The stack that has the old definition.
fn old_stack(staying: &Staying) -> &str {
    staying.source.rsplit_once('.').map_or(staying.source.as_str(), |(stack, _)| stack)
}

fn note(world: &World, from: &Spot, to: &Location) -> Finding {
    let place = world.location(from);
    Finding {
        severity: Severity::Note,
        stack: place.stack.to_string(),
        resource: Some(place.logical_id.to_string()),
        message: format!(
            "`{place}` is retained, since `{to}` writes over it before it would be deleted."
        ),
        remedy: String::new(),
    }
}

fn refusal(staying: &Staying, goal: &Location) -> Finding {
    let stack = old_stack(staying);
    let remedy = if stack == goal.stack.as_str() {
        format!(
            "Keep its logical ID (`overrideLogicalId`), or take it out of the app for one \
             deployment of {stack}: it is missing until the next."
        )
    } else {
        format!(
            "Keep it in {stack}, or deploy {stack} without it first: it is missing until {} is \
             deployed.",
            goal.stack
        )
    };
    Finding {
        severity: Severity::Warning,
        stack: goal.stack.to_string(),
        resource: Some(goal.logical_id.to_string()),
        message: format!(
            "The deployment cannot create `{goal}` while `{}` exists: both are the same {}{}.",
            staying.source,
            staying.resource_type,
            names(staying)
        ),
        remedy,
    }
}

fn doubt(staying: &Staying, goal: &Location) -> Finding {
    Finding {
        severity: Severity::Warning,
        stack: goal.stack.to_string(),
        resource: Some(goal.logical_id.to_string()),
        message: format!(
            "`{goal}` and `{}` may be the same {}{}; if they are, the deployment cannot create the \
             new one while the old one exists.",
            staying.source,
            staying.resource_type,
            names(staying)
        ),
        remedy: "Look what they come to, and give the new one another name if they are one."
            .to_owned(),
    }
}
