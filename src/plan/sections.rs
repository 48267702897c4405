//! Parameters, conditions and mappings that a resource takes along.
//!
//! A refactor cannot add them. What the new stack of a resource lacks is added to it beforehand
//! by an ordinary change, with the definition and the value that it has in the old stack: nothing
//! in the new stack uses it yet, so that nothing changes there. What the new stack has under the
//! same name but with another definition or value cannot be helped.

use std::collections::{BTreeMap, BTreeSet};

use super::world::Site;
use crate::model::{Object, Template, Text, Value};
use crate::template::{self, Reference};

const PARAMETERS: &str = "Parameters";
const CONDITIONS: &str = "Conditions";
const MAPPINGS: &str = "Mappings";

/// How a value that is not shown looks.
const HIDDEN: &str = "****";

/// What is to be added to a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Additions {
    /// Definitions by section and name.
    pub(super) definitions: BTreeMap<(&'static str, Text), Value>,
    /// Values of added parameters.
    pub(super) values: BTreeMap<Text, Text>,
}

/// Why a resource cannot take its surroundings along: a sentence, and a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Obstacle {
    pub(super) message: String,
    pub(super) remedy: String,
}

/// Returns the sections that a resource uses, directly or by way of conditions: names by section.
fn used(template: &Template, body: &Object) -> BTreeSet<(&'static str, Text)> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&Value> = body.iter().map(|(_, value)| value).collect();
    let condition = body.get("Condition").and_then(Value::as_str);
    let mut names: Vec<(&'static str, &str)> =
        condition.map(|name| (CONDITIONS, name)).into_iter().collect();
    loop {
        while let Some(value) = open.pop() {
            template::visit(value, &mut |reference| match reference {
                Reference::Name(name, None) => names.push((PARAMETERS, name)),
                Reference::Condition(name) => names.push((CONDITIONS, name)),
                Reference::Mapping(name) => names.push((MAPPINGS, name)),
                _ => {}
            });
        }
        for (section, name) in names.drain(..) {
            let definition = template.section(section).and_then(|section| section.get(name));
            if let Some(definition) = definition
                && found.insert((section, Text::from(name)))
                && section == CONDITIONS
            {
                open.push(definition);
            }
        }
        if open.is_empty() {
            return found;
        }
    }
}

fn value(site: &Site, name: &str) -> Option<Text> {
    let default = || {
        let value = site.template.section(PARAMETERS)?.get(name)?.get("Default")?;
        match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.as_str().into()),
            Value::Bool(flag) => Some(flag.to_string().into()),
            _ => None,
        }
    };
    site.parameters.get(name).cloned().or_else(default)
}

impl Additions {
    /// Adds what a resource needs that goes from one stack to another, but for parameters that
    /// become references there.
    ///
    /// # Errors
    /// When the other stack has something else under one of the names, or when a value is hidden.
    pub(super) fn extend(
        &mut self,
        from: &Site,
        to: &Site,
        body: &Object,
        becomes_local: &dyn Fn(&str) -> bool,
    ) -> Result<(), Obstacle> {
        let mut added = self.clone();
        for (section, name) in used(&from.template, body) {
            if section == PARAMETERS && becomes_local(&name) {
                continue;
            }
            added.add(from, to, section, name)?;
        }
        *self = added;
        Ok(())
    }

    fn add(
        &mut self,
        from: &Site,
        to: &Site,
        section: &'static str,
        name: Text,
    ) -> Result<(), Obstacle> {
        let Some(definition) = from.template.section(section).and_then(|all| all.get(&name)) else {
            return Ok(());
        };
        let is_parameter = section == PARAMETERS;
        let old_value = value(from, &name).filter(|_| is_parameter);
        let key = (section, name);
        let there = to.template.section(section).and_then(|all| all.get(&key.1));
        let (other, other_value) = match there {
            Some(other) => (Some(other), value(to, &key.1).filter(|_| is_parameter)),
            None => (
                self.definitions.get(&key),
                self.values.get(&key.1).filter(|_| is_parameter).cloned(),
            ),
        };
        let hidden = old_value.as_deref() == Some(HIDDEN);
        let Some(other) = other else {
            if is_parameter && hidden {
                return Err(hidden_value(from, to, &key.1));
            }
            if let Some(old_value) = old_value {
                self.values.insert(key.1.clone(), old_value);
            }
            self.definitions.insert(key, definition.clone());
            return Ok(());
        };
        let same = if is_parameter {
            // Two hidden values may be equal; CloudFormation compares them in the preview.
            definition.get("Type") == other.get("Type") && old_value == other_value
        } else {
            folded(definition) == folded(other)
        };
        if same { Ok(()) } else { Err(differs(from, to, section, &key.1)) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// Returns a template with the additions.
    pub(super) fn added_to(&self, template: &Template) -> Template {
        let mut sections = template.sections.clone();
        for ((section, name), definition) in &self.definitions {
            let mut own = template.section(section).cloned().unwrap_or_default();
            if let Some(Value::Object(current)) = sections.get(section) {
                own.clone_from(current);
            }
            own.insert(name.clone(), definition.clone());
            sections.insert(Text::from(*section), Value::Object(own));
        }
        Template { sections }
    }
}

/// A value as CloudFormation gives it back.
fn folded(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            Value::String(text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(folded).collect()),
        Value::Object(object) => {
            Value::Object(object.iter().map(|(key, value)| (key.clone(), folded(value))).collect())
        }
        other => other.clone(),
    }
}

fn hidden_value(from: &Site, to: &Site, name: &str) -> Obstacle {
    Obstacle {
        message: format!(
            "it uses the parameter `{name}`, which {} does not have, and whose value in {} is \
             hidden",
            to.name, from.name
        ),
        remedy: format!("Deploy {} with the parameter `{name}` first.", to.name),
    }
}

fn differs(from: &Site, to: &Site, section: &str, name: &str) -> Obstacle {
    let what = match section {
        PARAMETERS => "parameter",
        CONDITIONS => "condition",
        _ => "mapping",
    };
    Obstacle {
        message: format!(
            "it uses the {what} `{name}`, which is not the same in {} as in {}",
            to.name, from.name
        ),
        remedy: format!(
            "Deploy {} with the {what} `{name}` as it is in {} first.",
            to.name, from.name
        ),
    }
}
