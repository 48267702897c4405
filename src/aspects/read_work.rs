//! Reading what an aspect does: `do`, `forbid`, `require`, `limit`.

use super::declaration::{Leaving, Level, Meaning, Operation, Rule, Work};
use super::pattern::PropertyPattern;
use super::read::Reader;
use crate::model::{Object, Text, Value};

/// The operations, each with the keys that may stand beside it.
const OPERATIONS: [(&str, &[&str]); 11] = [
    ("ignore", &["where"]),
    ("sort", &["by"]),
    ("set", &[]),
    ("json", &[]),
    ("yaml", &[]),
    ("whitespace", &[]),
    ("stripPrefix", &["prefix"]),
    ("scalars", &[]),
    ("replace", &["with"]),
    ("assets", &[]),
    ("ignoreTags", &[]),
];

impl Reader {
    pub(super) fn operations(&mut self, at: &str, value: Option<&Value>) -> Work {
        let items = value.map_or(&[][..], |value| self.array(&format!("{at}: do"), value));
        let mut operations = Vec::new();
        for (number, item) in items.iter().enumerate() {
            let at = format!("{at}: do[{number}]");
            if let Some(object) = self.object(&at, item) {
                self.operation(&at, object, &mut operations);
            }
        }
        Work::Change(operations)
    }

    fn operation(&mut self, at: &str, object: &Object, into: &mut Vec<Operation>) {
        let named: Vec<_> =
            OPERATIONS.iter().filter(|(name, _)| object.contains_key(name)).collect();
        let [(name, others)] = named.as_slice() else {
            if named.is_empty() {
                let names = OPERATIONS.map(|(name, _)| name);
                match object.iter().next() {
                    Some((key, _)) => self.unknown_key(at, key, &names),
                    None => self.missing(at, "an operation"),
                }
            } else {
                let names: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
                let message = format!("`{}` are operations of their own", names.join("` and `"));
                self.contradiction(at, message);
            }
            return;
        };
        let known: Vec<&str> = std::iter::once(*name).chain(others.iter().copied()).collect();
        self.known_keys(at, object, &known);
        let Some(value) = object.get(name) else { return };
        match *name {
            "assets" => self.assets(at, value, into),
            "ignoreTags" => {
                let keys = self.texts(&format!("{at}: ignoreTags"), Some(value));
                into.push(Operation::Tags(keys.into_iter().map(Text::from).collect()));
            }
            _ => {
                let Some(place) = self.property(&format!("{at}: {name}"), value) else { return };
                into.extend(self.at_place(at, name, place, object));
            }
        }
    }

    fn at_place(
        &mut self,
        at: &str,
        name: &str,
        place: PropertyPattern,
        object: &Object,
    ) -> Option<Operation> {
        Some(match name {
            "ignore" => {
                let members =
                    object.get("where").map(|it| self.object(&format!("{at}: where"), it));
                Operation::Ignore(place, members.flatten().cloned())
            }
            "sort" => {
                let by = object.get("by").and_then(|by| self.text(&format!("{at}: by"), by));
                Operation::Unordered { place, by: by.map(Text::from), is_set: false }
            }
            "set" => Operation::Unordered { place, by: None, is_set: true },
            "json" => Operation::Text(place, Meaning::Json),
            "yaml" => Operation::Text(place, Meaning::Yaml),
            "whitespace" => Operation::Text(place, Meaning::Whitespace),
            "scalars" => Operation::Scalars(place),
            "replace" => match object.get("with") {
                Some(with) => Operation::Replace(place, with.clone()),
                None => {
                    self.missing(at, "`with`");
                    return None;
                }
            },
            _ => match object.get("prefix") {
                Some(prefix) => {
                    let prefix = self.text(&format!("{at}: prefix"), prefix)?;
                    Operation::StripPrefix(place, prefix.into())
                }
                None => {
                    self.missing(at, "`prefix`");
                    return None;
                }
            },
        })
    }

    fn assets(&mut self, at: &str, value: &Value, into: &mut Vec<Operation>) {
        for what in self.texts(&format!("{at}: assets"), Some(value)) {
            match what.as_str() {
                "hashes" => into.push(Operation::Assets { hashes: true }),
                "places" => into.push(Operation::Assets { hashes: false }),
                "metadata" => into.push(Operation::AssetMetadata),
                other => {
                    let known = ["hashes", "places", "metadata"];
                    self.unknown_word(at, other, "part of an asset", &known);
                }
            }
        }
    }

    fn property(&mut self, at: &str, value: &Value) -> Option<PropertyPattern> {
        let text = self.text(at, value)?;
        PropertyPattern::new(text).map_err(|message| self.pattern(at, text, message)).ok()
    }

    pub(super) fn rules(&mut self, at: &str, object: &Object) -> Work {
        let mut rules = Vec::new();
        if let Some(forbid) = object.get("forbid") {
            self.forbid(&format!("{at}: forbid"), forbid, &mut rules);
        }
        if let Some(require) = object.get("require") {
            self.require(&format!("{at}: require"), require, &mut rules);
        }
        if let Some(limit) = object.get("limit") {
            self.limit(&format!("{at}: limit"), limit, &mut rules);
        }
        let level = object.get("level").map_or(Level::Error, |level| self.level(at, level));
        Work::Look(rules, level)
    }

    fn forbid(&mut self, at: &str, value: &Value, into: &mut Vec<Rule>) {
        let Some(object) = self.object(at, value) else { return };
        self.known_keys(at, object, &["operation", "crossStack", "outOf"]);
        let crosses = self.flag(at, "crossStack", object.get("crossStack")).unwrap_or(false);
        let out_of = self.texts(&format!("{at}: outOf"), object.get("outOf"));
        let leaving = match (crosses, out_of.is_empty()) {
            (_, false) => Leaving::Stacks(out_of.into_iter().map(Text::from).collect()),
            (true, true) => Leaving::Stack,
            (false, true) => Leaving::Place,
        };
        let mut operations = self.texts(&format!("{at}: operation"), object.get("operation"));
        if operations.is_empty() && leaving != Leaving::Place {
            operations.push("move".to_owned());
        }
        if operations.is_empty() {
            self.missing(at, "what is forbidden: `operation`, `crossStack` or `outOf`");
        }
        let has_moves = operations.iter().any(|it| it == "move");
        if leaving != Leaving::Place && !has_moves {
            self.contradiction(at, "`crossStack` and `outOf` are about the operation `move`");
        }
        for operation in operations {
            match operation.as_str() {
                "move" => into.push(Rule::ForbidMove(leaving.clone())),
                "replace" => into.push(Rule::ForbidReplacement),
                other => self.unknown_word(at, other, "operation", &["move", "replace"]),
            }
        }
    }

    /// `{"/DeletionPolicy": ["Retain"], "decision": true}`.
    fn require(&mut self, at: &str, value: &Value, into: &mut Vec<Rule>) {
        let Some(object) = self.object(at, value) else { return };
        if object.is_empty() {
            self.missing(at, "what is required");
        }
        for (key, value) in object.iter() {
            match key.strip_prefix('/').unwrap_or(key) {
                attribute @ ("DeletionPolicy" | "UpdateReplacePolicy") => {
                    let values = self.texts(&format!("{at}: {key}"), Some(value));
                    for value in &values {
                        let known = ["Retain", "RetainExceptOnCreate", "Snapshot", "Delete"];
                        if !known.contains(&value.as_str()) {
                            self.unknown_word(at, value, "value of a deletion policy", &known);
                        }
                    }
                    let values = values.into_iter().map(Text::from).collect();
                    into.push(Rule::Require(attribute.into(), values));
                }
                "decision" => match value {
                    Value::Bool(true) => into.push(Rule::RequireDecision),
                    other => self.wrong_kind(&format!("{at}: decision"), "true", other),
                },
                _ => {
                    let known = ["/DeletionPolicy", "/UpdateReplacePolicy", "decision"];
                    self.unknown_key(at, key, &known);
                }
            }
        }
    }

    fn limit(&mut self, at: &str, value: &Value, into: &mut Vec<Rule>) {
        let Some(object) = self.object(at, value) else { return };
        self.known_keys(at, object, &["moves"]);
        let number = match object.get("moves") {
            Some(Value::Number(number)) => number.as_str().parse().ok(),
            _ => None,
        };
        match (number, object.get("moves")) {
            (Some(number), _) => into.push(Rule::Limit(number)),
            (None, Some(other)) => {
                self.wrong_kind(&format!("{at}: moves"), "a whole number from 0 on", other);
            }
            (None, None) => self.missing(at, "`moves`"),
        }
    }
}
