//! Reading declared aspects: `refactor` in `cdk.json`.
//!
//! Everything that is wrong is told at once. A word that means nothing is never passed over:
//! whoever wrote it counts on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::declaration::{Declaration, Level, Matcher, Work};
use super::error::{DeclareError, DeclareErrors};
use super::pattern::PathPattern;
use super::presets::{DEPENDS_ON, NAMES, PREFIX, is_part_of_comparison, presets, switch_off};
use super::priority::Priority;
use crate::compare::Literal;
use crate::model::{Object, Text, Value, edit_distance};

/// The aspects of a run, checked: those that are built in and those that were declared.
#[derive(Clone, Debug)]
pub struct Declarations {
    pub(super) list: Vec<Arc<Declaration>>,
    /// What is switched off of the comparison itself.
    pub(super) literal: Literal,
}

/// Reads a file that `use` names.
pub type ReadFile<'f> = &'f dyn Fn(&str) -> Result<Value, String>;

impl Default for Declarations {
    /// What is built in.
    fn default() -> Self {
        let list = presets().into_iter().filter_map(|preset| preset.declaration).collect();
        Self { list, literal: Literal::default() }
    }
}

impl Declarations {
    /// Returns nothing at all but what is part of the comparison itself.
    pub fn none() -> Self {
        Self { list: Vec::new(), literal: Literal::default() }
    }

    /// Returns all of them, built-in ones first, then in the order in which they were declared.
    pub fn iter(&self) -> impl Iterator<Item = &Declaration> {
        self.list.iter().map(AsRef::as_ref)
    }

    /// Whether an aspect is there and switched on.
    pub fn has(&self, name: &str) -> bool {
        match name {
            DEPENDS_ON => !self.literal.depends_on,
            NAMES => !self.literal.names,
            _ => self.iter().any(|one| one.id == name),
        }
    }

    /// Adds one that was given for a single run.
    pub fn push(&mut self, declaration: Declaration) {
        self.list.push(Arc::new(declaration));
    }

    /// Reads the value of `refactor` in `cdk.json`: `aspects`, `use` and `overrides`. Other keys
    /// belong to somebody else, unless one of these was meant.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(refactor: &Value, files: ReadFile<'_>) -> Result<Self, DeclareErrors> {
        let mut reader = Reader { errors: Vec::new(), found: Vec::new() };
        let mut this = Self::default();
        if let Some(object) = reader.object("refactor", refactor) {
            reader.refactor(object, files, &mut this);
        }
        if reader.errors.is_empty() { Ok(this) } else { Err(DeclareErrors(reader.errors)) }
    }
}

/// The keys of `refactor`.
const SECTIONS: [&str; 3] = ["aspects", "use", "overrides"];
/// The keys of an aspect.
const KEYS: [&str; 12] = [
    "id",
    "kind",
    "priority",
    "scope",
    "crossStages",
    "match",
    "do",
    "forbid",
    "require",
    "limit",
    "level",
    "apply",
];

/// What is read so far, and what is wrong.
pub(super) struct Reader {
    pub(super) errors: Vec<DeclareError>,
    found: Vec<Declaration>,
}

/// What an aspect is called in messages, before it is known what it is called.
struct Origin<'o> {
    file: Option<&'o str>,
    number: usize,
}

impl Origin<'_> {
    fn text(&self) -> String {
        match self.file {
            None => format!("refactor.aspects[{}]", self.number),
            Some(file) => format!("{file}, aspects[{}]", self.number),
        }
    }
}

impl Reader {
    fn refactor(&mut self, object: &Object, files: ReadFile<'_>, into: &mut Declarations) {
        for (key, _) in object.iter().filter(|(key, _)| !SECTIONS.contains(&key.as_str())) {
            if SECTIONS.iter().any(|section| edit_distance(key, section) <= 2) {
                self.unknown_key("refactor", key, &SECTIONS);
            }
        }
        for name in self.texts("refactor.use", object.get("use")) {
            self.used(&name, files);
        }
        if let Some(aspects) = object.get("aspects") {
            self.aspects(None, "refactor.aspects", aspects);
        }
        let overrides =
            object.get("overrides").and_then(|it| self.object("refactor.overrides", it));
        self.refuse_duplicates();
        let known: Vec<Text> = into.iter().chain(&self.found).map(|it| it.id.clone()).collect();
        self.check_applied(&known);
        into.list.extend(std::mem::take(&mut self.found).into_iter().map(Arc::new));
        if let Some(overrides) = overrides {
            self.overrides(overrides, &known, into);
        }
    }

    fn used(&mut self, name: &str, files: ReadFile<'_>) {
        let at = "refactor.use";
        if name.starts_with(PREFIX) {
            let presets = presets();
            let names: Vec<&str> = presets.iter().map(|preset| preset.name).collect();
            if !names.contains(&name) {
                self.unknown_word(at, name, "aspect that is built in", &names);
            }
            return;
        }
        match files(name) {
            Err(message) => {
                let (at, file) = (at.to_owned(), name.to_owned());
                self.errors.push(DeclareError::File { at, file, message });
            }
            Ok(Value::Object(object)) => {
                self.known_keys(name, &object, &["aspects"]);
                match object.get("aspects") {
                    Some(aspects) => self.aspects(Some(name), name, aspects),
                    None => self.missing(name, "the list `aspects`"),
                }
            }
            Ok(other) => self.aspects(Some(name), name, &other),
        }
    }

    fn aspects(&mut self, file: Option<&str>, at: &str, value: &Value) {
        for (number, aspect) in self.array(at, value).iter().enumerate() {
            let origin = Origin { file, number };
            let place = origin.text();
            if let Some(object) = self.object(&place, aspect)
                && let Some(declaration) = self.aspect(&place, object)
            {
                self.found.push(declaration);
            }
        }
    }

    fn aspect(&mut self, origin: &str, object: &Object) -> Option<Declaration> {
        let id = object.get("id").and_then(|id| self.text(&format!("{origin}.id"), id));
        let at = id.map_or_else(|| origin.to_owned(), |id| format!("aspect `{id}`"));
        if id.is_none() && object.get("id").is_none() {
            self.missing(&at, "its name, `id`");
        }
        if let Some(id) = id.filter(|id| id.is_empty() || id.starts_with(PREFIX)) {
            let message = format!("`{id}` cannot be its name: that is for what is built in");
            self.contradiction(origin, message);
        }
        self.known_keys(&at, object, &KEYS);
        let is_looking = ["forbid", "require", "limit"].iter().any(|key| object.contains_key(key));
        let kind = self.kind(&at, object);
        let changes = kind.unwrap_or(!is_looking);
        let work = if changes {
            for key in ["forbid", "require", "limit", "level"] {
                if object.contains_key(key) {
                    let message =
                        format!("`{key}` is for aspects that look, `\"kind\": \"readonly\"`");
                    self.contradiction(&at, message);
                }
            }
            self.operations(&at, object.get("do"))
        } else {
            if object.contains_key("do") {
                self.contradiction(
                    &at,
                    "`do` is for aspects that change, `\"kind\": \"mutating\"`",
                );
            }
            self.rules(&at, object)
        };
        let applies = self.texts(&format!("{at}: apply"), object.get("apply"));
        let is_empty = match &work {
            Work::Change(operations) => operations.is_empty(),
            Work::Look(rules, _) => rules.is_empty(),
        };
        let has_work =
            ["do", "forbid", "require", "limit"].iter().any(|it| object.contains_key(it));
        if is_empty && applies.is_empty() && !has_work {
            self.missing(&at, "what it does: `do`, `forbid`, `require`, `limit` or `apply`");
        }
        let named = match (kind, changes) {
            (Some(true), _) => Priority::MUTATING,
            (_, false) => Priority::READ_ONLY,
            (None | Some(false), true) => Priority::DEFAULT,
        };
        let priority = object.get("priority").and_then(|it| self.priority(&at, it, changes));
        Some(Declaration {
            id: id?.into(),
            origin: origin.into(),
            priority: priority.unwrap_or(named),
            scope: self.path(&at, "scope", object.get("scope")),
            crosses_stages: self
                .flag(&at, "crossStages", object.get("crossStages"))
                .unwrap_or(false),
            matcher: self.matcher(&at, object.get("match")),
            work,
            applies: applies.into_iter().map(Text::from).collect(),
            is_applied: false,
            is_preset: false,
        })
    }

    /// Whether an aspect changes things, if it says so.
    fn kind(&mut self, at: &str, object: &Object) -> Option<bool> {
        let kind = self.text(&format!("{at}: kind"), object.get("kind")?)?;
        match kind {
            "mutating" => Some(true),
            "readonly" | "read-only" => Some(false),
            other => {
                self.unknown_word(at, other, "kind of aspect", &["mutating", "readonly"]);
                None
            }
        }
    }

    fn priority(&mut self, at: &str, value: &Value, changes: bool) -> Option<Priority> {
        let number = match value {
            Value::Number(number) => number.as_str().parse::<u32>().ok(),
            _ => None,
        };
        let Some(number) = number else {
            self.wrong_kind(&format!("{at}: priority"), "a whole number from 0 on", value);
            return None;
        };
        let priority = Priority::from(number);
        if changes && priority.is_read_only() {
            let message = format!(
                "an aspect that changes things needs a priority below 1000, where those begin that \
                 only look, not {number}"
            );
            self.contradiction(at, message);
        } else if !changes && !priority.is_read_only() {
            let message = format!(
                "an aspect that only looks needs a priority of 1000 or more, when all changes are \
                 done, not {number}"
            );
            self.contradiction(at, message);
        }
        Some(priority)
    }

    fn matcher(&mut self, at: &str, value: Option<&Value>) -> Matcher {
        let at = format!("{at}: match");
        let Some(object) = value.and_then(|value| self.object(&at, value)) else {
            return Matcher::default();
        };
        self.known_keys(&at, object, &["path", "type", "class", "stateful"]);
        if object.is_empty() {
            self.missing(&at, "`path`, `type`, `class` or `stateful`");
        }
        Matcher {
            path: self.path(&at, "path", object.get("path")),
            resource_type: self.word(&at, "type", object.get("type")),
            class: self.word(&at, "class", object.get("class")),
            stateful: self.flag(&at, "stateful", object.get("stateful")),
        }
    }

    fn refuse_duplicates(&mut self) {
        let mut seen: BTreeMap<&Text, &Text> = BTreeMap::new();
        let mut twice = Vec::new();
        for declaration in &self.found {
            if let Some(first) = seen.insert(&declaration.id, &declaration.origin) {
                twice.push(DeclareError::Duplicate {
                    id: declaration.id.to_string(),
                    first: first.to_string(),
                    second: declaration.origin.to_string(),
                });
            }
        }
        self.errors.extend(twice);
    }

    /// Checks the names in `apply`, and marks what they name.
    fn check_applied(&mut self, known: &[Text]) {
        let names: Vec<&str> = known.iter().map(Text::as_str).collect();
        let edges: Vec<(String, bool, Text)> = self
            .found
            .iter()
            .flat_map(|one| {
                let at = format!("aspect `{}`: apply", one.id);
                one.applies.iter().map(move |name| (at.clone(), one.is_changing(), name.clone()))
            })
            .collect();
        for (at, changes, name) in edges {
            match self.found.iter_mut().find(|other| other.id == name) {
                Some(other) if other.is_changing() != changes => {
                    let message = format!(
                        "`{name}` is of the other kind: what changes and what looks are separate \
                         passes"
                    );
                    self.contradiction(&at, message);
                }
                // One with a scope of its own is there anyway.
                Some(other) => other.is_applied = other.scope.is_none(),
                None if names.contains(&name.as_str()) => {}
                None => self.unknown_word(&at, &name, "aspect", &names),
            }
        }
    }

    fn overrides(&mut self, overrides: &Object, known: &[Text], into: &mut Declarations) {
        for (name, value) in overrides.iter() {
            let at = format!("refactor.overrides: `{name}`");
            if is_part_of_comparison(name) {
                self.switch(&at, name, value, into);
                continue;
            }
            let Some(target) = into.list.iter_mut().find(|one| one.id == *name) else {
                let names: Vec<&str> = known.iter().map(Text::as_str).collect();
                self.unknown_word("refactor.overrides", name, "aspect", &names);
                continue;
            };
            let Some(object) = self.object(&at, value) else { continue };
            self.known_keys(&at, object, &["priority", "enabled", "level"]);
            let mut changed = Declaration::clone(target);
            if let Some(value) = object.get("priority") {
                let priority = self.priority(&at, value, target.is_changing());
                changed.priority = priority.unwrap_or(changed.priority);
            }
            if let Some(value) = object.get("level") {
                let level = self.level(&at, value);
                match &mut changed.work {
                    Work::Look(_, old) => *old = level,
                    Work::Change(_) => {
                        self.contradiction(&at, "only aspects that look have a `level`");
                    }
                }
            }
            *target = Arc::new(changed);
            if self.flag(&at, "enabled", object.get("enabled")) == Some(false) {
                into.list.retain(|one| one.id != *name);
                switch_off(name, &mut into.literal);
            }
        }
    }

    /// Switches a part of the comparison, which has nothing else to override.
    fn switch(&mut self, at: &str, name: &str, value: &Value, into: &mut Declarations) {
        let Some(object) = self.object(at, value) else { return };
        if object.contains_key("priority") {
            self.contradiction(at, "it is part of the comparison itself and has no priority");
        }
        self.known_keys(at, object, &["enabled", "priority"]);
        if self.flag(at, "enabled", object.get("enabled")) == Some(false) {
            switch_off(name, &mut into.literal);
        }
    }

    pub(super) fn level(&mut self, at: &str, value: &Value) -> Level {
        match self.text(&format!("{at}: level"), value) {
            Some("warning") => Level::Warning,
            Some("info") => Level::Info,
            Some("error") | None => Level::Error,
            Some(other) => {
                self.unknown_word(at, other, "level", &["error", "warning", "info"]);
                Level::Error
            }
        }
    }

    fn path(&mut self, at: &str, key: &str, value: Option<&Value>) -> Option<PathPattern> {
        let at = format!("{at}: {key}");
        let text = self.text(&at, value?)?;
        match PathPattern::new(text) {
            Ok(pattern) => Some(pattern),
            Err(message) => {
                self.pattern(&at, text, message);
                None
            }
        }
    }
}
