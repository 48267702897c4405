//! From two schemas to their differences.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use super::{Difference, Rule};

/// What says nothing about documents, or is followed from where it is used.
const NOTES: [&str; 8] =
    ["$schema", "$id", "$comment", "title", "description", "examples", "default", "$defs"];
/// What is compared by itself.
const KNOWN: [&str; 15] = [
    "$ref",
    "type",
    "enum",
    "const",
    "pattern",
    "minimum",
    "maximum",
    "properties",
    "required",
    "items",
    "additionalProperties",
    "propertyNames",
    "anyOf",
    "oneOf",
    "allOf",
];

pub(super) fn differences(old: &Json, new: &Json) -> Vec<Difference> {
    let mut walk = Walk { old_root: old, new_root: new, seen: BTreeSet::new(), found: Vec::new() };
    walk.schemas(old, new, "");
    walk.found
}

struct Walk<'a> {
    old_root: &'a Json,
    new_root: &'a Json,
    /// The pairs of schemas by reference that were compared, as they are written: definitions may
    /// contain themselves, and what has changed in one is told once.
    seen: BTreeSet<(String, String)>,
    found: Vec<Difference>,
}

/// A schema with its references replaced by what they name.
struct Resolved<'a> {
    /// The rules; of several that are said together, of each.
    rules: Vec<&'a Map<String, Json>>,
    /// `false`: nothing is allowed.
    is_closed: bool,
}

/// Follows references; one that names nothing has no rules.
fn resolved<'a>(root: &'a Json, schema: &'a Json) -> Resolved<'a> {
    let mut found = Resolved { rules: Vec::new(), is_closed: schema == &Json::Bool(false) };
    let mut next = schema.as_object();
    while let Some(rules) = next {
        found.rules.push(rules);
        let name = rules.get("$ref").and_then(Json::as_str);
        next = name.and_then(|name| root.pointer(name.strip_prefix('#')?)?.as_object());
        // A circle of nothing but references says nothing.
        if next.is_some_and(|next| found.rules.iter().any(|known| std::ptr::eq(*known, next))) {
            break;
        }
    }
    found
}

impl<'a> Resolved<'a> {
    fn get(&self, key: &str) -> Option<&'a Json> {
        self.rules.iter().find_map(|rules| rules.get(key))
    }

    fn names(&self, key: &str) -> BTreeSet<&'a str> {
        let list = self.rules.iter().filter_map(|rules| rules.get(key)?.as_array());
        list.flatten().filter_map(Json::as_str).collect()
    }

    fn members(&self) -> impl Iterator<Item = (&'a String, &'a Json)> {
        let all = self.rules.iter().filter_map(|rules| rules.get("properties")?.as_object());
        all.flatten()
    }

    fn member(&self, name: &str) -> Option<&'a Json> {
        self.members().find(|(other, _)| *other == name).map(|(_, schema)| schema)
    }

    fn types(&self) -> Option<BTreeSet<&'a str>> {
        match self.get("type")? {
            Json::Array(all) => Some(all.iter().filter_map(Json::as_str).collect()),
            one => Some(one.as_str().into_iter().collect()),
        }
    }

    /// The values that are allowed, if they are told one by one.
    fn values(&self) -> Option<Vec<&'a Json>> {
        match (self.get("const"), self.get("enum").and_then(Json::as_array)) {
            (Some(one), _) => Some(vec![one]),
            (None, Some(all)) => Some(all.iter().collect()),
            (None, None) => None,
        }
    }
}

impl<'a> Walk<'a> {
    fn say(&mut self, at: &str, rule: Rule, what: impl Into<String>) {
        self.found.push(Difference { at: at.to_owned(), rule, what: what.into() });
    }

    fn schemas(&mut self, old: &'a Json, new: &'a Json, at: &str) {
        let refers = old.get("$ref").or_else(|| new.get("$ref")).is_some();
        if refers && !self.seen.insert((old.to_string(), new.to_string())) {
            return;
        }
        let (old, new) = (resolved(self.old_root, old), resolved(self.new_root, new));
        match (old.is_closed, new.is_closed) {
            (false, true) => return self.say(at, Rule::Removed, "must not be there any more"),
            (true, false) => return self.say(at, Rule::Addition, "may be there now"),
            _ => {}
        }
        self.types(&old, &new, at);
        self.values(&old, &new, at);
        self.bounds(&old, &new, at);
        self.members(&old, &new, at);
        for (key, below) in
            [("items", "[]"), ("additionalProperties", ".*"), ("propertyNames", " (a name)")]
        {
            self.part((old.get(key), new.get(key)), &format!("{at}{below}"));
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            let list = |of: &Resolved<'a>| of.get(key).and_then(Json::as_array).map(Vec::as_slice);
            self.alternatives(list(&old), list(&new), key == "allOf", at);
        }
        self.others(&old, &new, at);
    }

    fn types(&mut self, old: &Resolved<'_>, new: &Resolved<'_>, at: &str) {
        let text = |types: Option<BTreeSet<&str>>| match types {
            None => "anything".to_owned(),
            Some(types) => types.into_iter().collect::<Vec<_>>().join(" or "),
        };
        if old.types() != new.types() {
            self.say(
                at,
                Rule::Type,
                format!("was {}, is {}", text(old.types()), text(new.types())),
            );
        }
    }

    fn values(&mut self, old: &Resolved<'_>, new: &Resolved<'_>, at: &str) {
        // The version is what a change has to raise.
        let is_version = at == "version" || at.ends_with(".version");
        if is_version && old.get("const").is_some() && new.get("const").is_some() {
            return;
        }
        match (old.values(), new.values()) {
            (Some(was), Some(is)) => {
                for value in was.iter().filter(|value| !is.contains(value)) {
                    self.say(at, Rule::Removed, format!("the value {value}"));
                }
                for value in is.iter().filter(|value| !was.contains(value)) {
                    self.say(at, Rule::Addition, format!("the value {value}"));
                }
            }
            (None, Some(_)) => self.say(at, Rule::Type, "only certain values are allowed now"),
            (Some(_), None) => self.say(at, Rule::Addition, "any value is allowed now"),
            (None, None) => {}
        }
    }

    /// Patterns and bounds of numbers.
    fn bounds(&mut self, old: &Resolved<'_>, new: &Resolved<'_>, at: &str) {
        for key in ["pattern", "minimum", "maximum"] {
            let (was, is) = (old.get(key), new.get(key));
            if was == is {
                continue;
            }
            let wider = match (was, is) {
                (_, None) => true,
                (Some(was), Some(is)) => match (key, was.as_f64(), is.as_f64()) {
                    ("minimum", Some(was), Some(is)) => is < was,
                    ("maximum", Some(was), Some(is)) => is > was,
                    _ => false,
                },
                (None, Some(_)) => false,
            };
            let text = |value: Option<&Json>| value.map_or("none".to_owned(), Json::to_string);
            let rule = if wider { Rule::Addition } else { Rule::Type };
            self.say(at, rule, format!("{key} was {}, is {}", text(was), text(is)));
        }
    }

    fn members(&mut self, old: &Resolved<'a>, new: &Resolved<'a>, at: &str) {
        let below =
            |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
        let (must, needs) = (old.names("required"), new.names("required"));
        for (name, schema) in old.members() {
            match new.member(name) {
                Some(now) => self.schemas(schema, now, &below(name)),
                None => {
                    let mut others = new
                        .members()
                        .filter(|(other, now)| old.member(other).is_none() && *now == schema);
                    let what = match (others.next(), others.next()) {
                        (Some((other, _)), None) => format!("perhaps it is `{other}` now"),
                        _ => "it was there".to_owned(),
                    };
                    self.say(&below(name), Rule::Removed, what);
                }
            }
        }
        for (name, _) in new.members().filter(|(name, _)| old.member(name).is_none()) {
            if !needs.contains(name.as_str()) {
                self.say(&below(name), Rule::Addition, "it is new");
            }
        }
        for name in needs.difference(&must) {
            let (rule, what) = match old.member(name) {
                Some(_) => (Rule::Required, "could be left out"),
                None => (Rule::NewRequired, "it is new"),
            };
            self.say(&below(name), rule, what);
        }
        for name in must.difference(&needs).filter(|name| new.member(name).is_some()) {
            self.say(&below(name), Rule::Addition, "may be left out now");
        }
    }

    /// A schema that one of them may not have: then everything is allowed.
    fn part(&mut self, (old, new): (Option<&'a Json>, Option<&'a Json>), at: &str) {
        let all = &Json::Bool(true);
        match (old.unwrap_or(all), new.unwrap_or(all)) {
            (was, is) if was == is && was.is_boolean() => {}
            (_, is) if is == all => self.say(at, Rule::Addition, "anything is allowed now"),
            (was, is) if was == all && is == &Json::Bool(false) => {
                self.say(at, Rule::Removed, "what is not described is not allowed any more");
            }
            (was, is) => self.schemas(was, is, at),
        }
    }

    /// Alternatives, in whichever order; for `allOf` what has to be true together.
    fn alternatives(
        &mut self,
        old: Option<&'a [Json]>,
        new: Option<&'a [Json]>,
        all: bool,
        at: &str,
    ) {
        let (fewer, more) =
            if all { (Rule::Addition, Rule::Type) } else { (Rule::Removed, Rule::Addition) };
        let (old, new) = match (old, new) {
            (None, None) => return,
            (None, Some(_)) => {
                return self.say(at, Rule::Type, "only certain forms are allowed now");
            }
            (Some(_), None) => return self.say(at, Rule::Addition, "any form is allowed now"),
            (Some(old), Some(new)) => (old, new),
        };
        let mut free: Vec<&Json> = new.iter().collect();
        for was in old {
            // The nearest one: with the fewest differences that matter, then with the fewest.
            let trials = free.iter().enumerate().map(|(position, is)| {
                let mut trial = Walk { seen: self.seen.clone(), found: Vec::new(), ..*self };
                trial.schemas(was, is, at);
                let broken = trial.found.iter().filter(|one| one.rule != Rule::Addition).count();
                (broken, trial.found.len(), position)
            });
            match trials.min() {
                Some((.., position)) => {
                    let is = free.remove(position);
                    self.schemas(was, is, at);
                }
                None => self.say(at, fewer, "a form of it"),
            }
        }
        for _ in free {
            self.say(at, more, "a form of it");
        }
    }

    /// Whatever is not known here must not change.
    fn others(&mut self, old: &Resolved<'_>, new: &Resolved<'_>, at: &str) {
        let keys = old.rules.iter().chain(&new.rules).flat_map(|rules| rules.keys());
        let others: BTreeSet<&String> = keys
            .filter(|key| !KNOWN.contains(&key.as_str()) && !NOTES.contains(&key.as_str()))
            .collect();
        for key in others {
            if old.get(key) != new.get(key) {
                self.say(at, Rule::Unknown, format!("`{key}` has changed"));
            }
        }
    }
}
