//! Rule files read into queries.

use super::condition::{self, Operator, Origin, Step, Term, is_name, number};
use super::query::{
    ChangeFilter, ChangeKind, Comparand, ComponentFilter, Condition, Effect, Operand, Query,
    Selector, Variable,
};
use super::source::{Content, Node, Place};
use super::{Action, Risk, RuleError};
use crate::analyze::model::{Certainty, ComponentKind, Mark, PropertyChange, Side};

/// More names than this one rule with all rules around it may not have.
const MOST_NAMES: usize = 64;

type Result<T> = std::result::Result<T, RuleError>;
type Members = [(String, Place, Node)];

/// Reads a file.
pub(super) fn rules(file: &Node) -> Result<Vec<Query>> {
    let mut queries = Vec::new();
    for rule in list(file, "a rule file")? {
        Scope::default().rule(rule, &mut queries)?;
    }
    Ok(queries)
}

fn error<T>(place: Place, message: impl std::fmt::Display) -> Result<T> {
    Err(RuleError::new(place, message))
}

fn list<'n>(node: &'n Node, what: &str) -> Result<&'n [Node]> {
    match &node.content {
        Content::List(items) => Ok(items),
        other => error(node.place, format_args!("{what} must be a list, this is {}", other.kind())),
    }
}

fn map<'n>(node: &'n Node, what: &str) -> Result<&'n Members> {
    match &node.content {
        Content::Map(members) => Ok(members),
        other => {
            error(node.place, format_args!("{what} must be an object, this is {}", other.kind()))
        }
    }
}

fn text<'n>(node: &'n Node, what: &str) -> Result<&'n str> {
    match &node.content {
        Content::Text { text, .. } => Ok(text),
        other => error(node.place, format_args!("{what} must be a text, this is {}", other.kind())),
    }
}

fn origin(node: &Node) -> Origin {
    match &node.content {
        Content::Text { starts: Some(place), .. } => Origin { place: *place, is_exact: true },
        _ => Origin { place: node.place, is_exact: false },
    }
}

fn get<'n>(members: &'n Members, key: &str) -> Option<&'n Node> {
    members.iter().find(|(name, ..)| name == key).map(|(.., node)| node)
}

/// Refuses keys that mean nothing.
fn only(members: &Members, known: &[&str], what: &str) -> Result<()> {
    match members.iter().find(|(key, ..)| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some((key, place, _)) => {
            let known = known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
            error(*place, format_args!("{what} has no `{key}`: it may have {known}"))
        }
    }
}

/// One of a few texts.
fn one_of<T: Copy>(node: &Node, what: &str, known: &[(&str, T)]) -> Result<T> {
    let found = text(node, what)?;
    let value = known.iter().find(|(name, _)| *name == found).map(|(_, value)| *value);
    value.map_or_else(
        || {
            let known: Vec<_> = known.iter().map(|(name, _)| format!("`{name}`")).collect();
            let known = known.join(", ");
            error(node.place, format_args!("`{found}` is no {what}: it must be one of {known}"))
        },
        Ok,
    )
}

/// What is known where a rule stands.
#[derive(Clone, Default)]
struct Scope {
    /// Names, the innermost last.
    names: Vec<(String, Variable)>,
    selectors: Vec<Selector>,
    conditions: Vec<Condition>,
    /// The description of the innermost rule that has one.
    description: Option<String>,
}

impl Scope {
    fn rule(mut self, node: &Node, queries: &mut Vec<Query>) -> Result<()> {
        let members = map(node, "a rule")?;
        only(members, &["description", "let", "where", "then", "effect"], "a rule")?;
        if let Some(description) = get(members, "description") {
            self.description = Some(text(description, "a description")?.to_owned());
        }
        if let Some(names) = get(members, "let") {
            for (name, place, selector) in map(names, "`let`")? {
                self.name(name, *place, selector)?;
            }
        }
        if let Some(conditions) = get(members, "where") {
            self.conditions(conditions)?;
        }
        let (effect, then) = (get(members, "effect"), get(members, "then"));
        if effect.is_none() && then.is_none() {
            return error(node.place, "the rule has neither `effect` nor `then`");
        }
        if let Some(effect) = effect {
            queries.push(self.effect(effect, node.place)?);
        }
        for rule in then.map_or(Ok(&[][..]), |then| list(then, "`then`"))? {
            self.clone().rule(rule, queries)?;
        }
        Ok(())
    }

    fn name(&mut self, name: &str, place: Place, node: &Node) -> Result<()> {
        if !is_name(name) || matches!(name, "true" | "false") {
            return error(
                place,
                format_args!(
                    "`{name}` is no name: a name is made of letters, digits, `_` and `-`, and begins \
                     with a letter or `_`"
                ),
            );
        }
        if self.selectors.len() == MOST_NAMES {
            return error(place, format_args!("a rule cannot have more than {MOST_NAMES} names"));
        }
        let (selector, conditions) = self.selector(node)?;
        let variable = self.selectors.len();
        let is_value = matches!(selector, Selector::Value(_));
        self.selectors.push(selector);
        self.names.push((name.to_owned(), variable));
        if is_value {
            self.conditions.push(Condition::Within(variable));
        }
        conditions.map_or(Ok(()), |conditions| self.conditions(conditions))
    }

    /// Reads what a name stands for; returns the conditions that come with it unread, since they
    /// may use the name.
    fn selector<'n>(&self, node: &'n Node) -> Result<(Selector, Option<&'n Node>)> {
        if let Content::Text { .. } = node.content {
            return Ok((self.value(node)?, None));
        }
        let members = map(node, "what a name stands for")?;
        let conditions = get(members, "where");
        let kind = members.iter().find_map(|(key, _, node)| {
            let kinds = ComponentKind::NAMES.iter();
            kinds.into_iter().find(|(name, _)| name == key).map(|(name, kind)| (*name, *kind, node))
        });
        let selector = if let Some(change) = get(members, "change") {
            only(members, &["change", "where"], "a change")?;
            Selector::Change(change_filter(change)?)
        } else if let Some(path) = get(members, "fromPath") {
            only(members, &["fromPath", "where"], "a value")?;
            text(path, "`fromPath`")?;
            self.value(path)?
        } else if let Some(component) = get(members, "component") {
            only(members, &["component", "where"], "a component")?;
            let inner = map(component, "`component`")?;
            only(inner, &["type", "subtype", "name"], "`component`")?;
            Selector::Component(component_filter(inner)?)
        } else if let Some((name, kind, subtype)) = kind {
            only(members, &[name, "name", "where"], &format!("`{name}`"))?;
            let subtype = Some(text(subtype, "a type")?.to_owned()).filter(|text| text != "*");
            let filter = component_filter(members)?;
            Selector::Component(ComponentFilter { kind: Some(kind), subtype, ..filter })
        } else if get(members, "type").or_else(|| get(members, "subtype")).is_some() {
            only(members, &["type", "subtype", "name", "where"], "a component")?;
            Selector::Component(component_filter(members)?)
        } else {
            let place = members.first().map_or(node.place, |(_, place, _)| *place);
            return error(
                place,
                "a name stands for a `change`, a `component`, a `Resource` (or `Parameter`, \
                 `Output`, …), or a path from another name",
            );
        };
        Ok((selector, conditions))
    }

    fn value(&self, node: &Node) -> Result<Selector> {
        let origin = origin(node);
        let (name, steps) = condition::path(text(node, "a path")?, origin)?;
        let operand = self.operand(&name, &steps, origin.place)?;
        let is_empty = operand.steps.is_empty() && operand.side.is_none();
        if is_empty {
            return error(origin.place, format_args!("`{name}` needs a path to be another thing"));
        }
        Ok(Selector::Value(operand))
    }

    fn operand(&self, name: &str, steps: &[Step], place: Place) -> Result<Operand> {
        let known = self.names.iter().rev().find(|(known, _)| known == name);
        let Some((_, variable)) = known else {
            let names: Vec<_> = self.names.iter().map(|(name, _)| format!("`{name}`")).collect();
            let known = if names.is_empty() {
                "no name is given here".to_owned()
            } else {
                format!("known here: {}", names.join(", "))
            };
            return error(place, format_args!("the name `{name}` stands for nothing ({known})"));
        };
        let variable = *variable;
        let (side, steps) = match (&self.selectors[variable], steps.split_first()) {
            (Selector::Change(_), Some((Step::Key(key), rest))) => match key.as_str() {
                "old" => (Some(Side::Before), rest),
                "new" => (Some(Side::After), rest),
                _ => {
                    let message = format!("a change has `old` and `new`, but no `{key}`");
                    return error(place, message);
                }
            },
            (Selector::Change(_), Some((Step::Any, _))) => {
                return error(place, "a change has `old` and `new`, which must be named");
            }
            _ => (None, steps),
        };
        Ok(Operand { variable, side, steps: steps.to_vec() })
    }

    fn conditions(&mut self, node: &Node) -> Result<()> {
        if let Content::List(items) = &node.content {
            return items.iter().try_for_each(|item| self.condition(item));
        }
        self.condition(node)
    }

    fn condition(&mut self, node: &Node) -> Result<()> {
        let written = condition::condition(text(node, "a condition")?, origin(node))?;
        let (operator, place) = written.operator;
        let (left, right) = (written.left, written.right);
        let condition = match operator {
            Operator::Equals => self.equals(left, right, place)?,
            Operator::AppliesTo => {
                let change = self.path(left, "a change")?;
                if !self.is_change(&change.0) {
                    return error(change.1, "the left side of `appliesTo` must be a change");
                }
                let target = self.path(right, "a component or a property")?;
                if matches!(self.selectors[target.0.variable], Selector::Change(_)) {
                    return error(target.1, "a change applies to a component or a property");
                }
                Condition::Applies(change.0.variable, target.0)
            }
            Operator::RefersTo => self.refers(left, right)?,
            Operator::ReferredToBy => self.refers(right, left)?,
            Operator::Contains => self.contains(left, right)?,
            Operator::ContainedIn => self.contains(right, left)?,
        };
        self.conditions.push(condition);
        Ok(())
    }

    fn path(&self, (term, place): (Term, Place), what: &str) -> Result<(Operand, Place)> {
        match term {
            Term::Path { name, steps } => Ok((self.operand(&name, &steps, place)?, place)),
            _ => error(place, format_args!("{what} must be a name, not a value")),
        }
    }

    fn is_change(&self, operand: &Operand) -> bool {
        operand.side.is_none() && matches!(self.selectors[operand.variable], Selector::Change(_))
    }

    fn is_component(&self, operand: &Operand) -> bool {
        operand.steps.is_empty()
            && matches!(self.selectors[operand.variable], Selector::Component(_))
    }

    fn refers(&self, from: (Term, Place), to: (Term, Place)) -> Result<Condition> {
        let from = self.path(from, "what refers")?;
        if matches!(self.selectors[from.0.variable], Selector::Change(_)) {
            return error(from.1, "what refers must be a component or a property, not a change");
        }
        let to = self.path(to, "what is referred to")?;
        if !self.is_component(&to.0) {
            return error(to.1, "what is referred to must be a component, without a path");
        }
        Ok(Condition::Refers(from.0, to.0.variable))
    }

    fn contains(&self, outer: (Term, Place), inner: (Term, Place)) -> Result<Condition> {
        let both = [self.path(outer, "a component")?, self.path(inner, "a component")?];
        match both.iter().find(|(operand, _)| !self.is_component(operand)) {
            Some((_, place)) => error(*place, "only components contain each other, without a path"),
            None => Ok(Condition::Contains(both[0].0.variable, both[1].0.variable)),
        }
    }

    fn equals(
        &self,
        left: (Term, Place),
        right: (Term, Place),
        operator: Place,
    ) -> Result<Condition> {
        let left = self.comparand(left)?;
        let right = self.comparand(right)?;
        let thing = |comparand: &(Comparand, Place)| match &comparand.0 {
            Comparand::Values(operand) => {
                let whole = self.is_component(operand) || self.is_change(operand);
                whole.then_some(operand.variable)
            }
            _ => None,
        };
        match (thing(&left), thing(&right)) {
            (Some(left), Some(right)) => Ok(Condition::Same(left, right)),
            (Some(_), None) => error(left.1, "this needs a path to be compared with a value"),
            (None, Some(_)) => error(right.1, "this needs a path to be compared with a value"),
            (None, None) => {
                let values = |comparand: &Comparand| matches!(comparand, Comparand::Values(_));
                if !values(&left.0) && !values(&right.0) {
                    return error(operator, "one side of `==` must be a name with a path");
                }
                Ok(Condition::Equals(left.0, right.0))
            }
        }
    }

    fn comparand(&self, (term, place): (Term, Place)) -> Result<(Comparand, Place)> {
        let comparand = match term {
            Term::Literal(literal) => Comparand::Literal(literal),
            Term::Anything => Comparand::Anything,
            Term::Path { name, steps } => Comparand::Values(self.operand(&name, &steps, place)?),
        };
        Ok((comparand, place))
    }

    fn effect(&self, node: &Node, rule: Place) -> Result<Query> {
        let members = map(node, "an effect")?;
        only(members, &["risk", "action", "target"], "an effect")?;
        let risks = [("low", Risk::Low), ("high", Risk::High), ("unknown", Risk::Unknown)];
        let risk = get(members, "risk").map(|node| one_of(node, "risk", &risks)).transpose()?;
        let actions =
            [("approve", Action::Approve), ("reject", Action::Reject), ("none", Action::None)];
        let action = get(members, "action").map(|node| one_of(node, "action", &actions));
        let action = action.transpose()?;
        if risk.is_none() && action.is_none() {
            return error(node.place, "an effect has a `risk` or an `action`, or both");
        }
        let (name, place) = match get(members, "target") {
            Some(target) => (text(target, "a target")?, origin(target).place),
            None if self.names.iter().any(|(name, _)| name == "change") => ("change", node.place),
            None => {
                let message =
                    "the effect has no `target`, and there is no `change` that it could be for";
                return error(node.place, message);
            }
        };
        let target = self.operand(name, &[], place)?;
        if !self.is_change(&target) {
            return error(place, format_args!("an effect is for a change, and `{name}` is none"));
        }
        Ok(Query {
            rule: self.description.clone().unwrap_or_else(|| format!("the rule at {rule}")),
            selectors: self.selectors.clone(),
            conditions: self.conditions.clone(),
            target: target.variable,
            effect: Effect { risk, action },
        })
    }
}

fn change_filter(node: &Node) -> Result<ChangeFilter> {
    let members = map(node, "`change`")?;
    let marks = [
        ("broadensPermissions", Mark::BroadensPermissions),
        ("losesData", Mark::LosesData),
        ("repeatsNames", Mark::RepeatsNames),
        ("templateOnly", Mark::TemplateOnly),
    ];
    let names = marks.iter().map(|(name, _)| *name);
    let known: Vec<&str> =
        ["type", "propertyOperationType", "certainty"].into_iter().chain(names).collect();
    only(members, &known, "a change")?;
    let kinds = [
        ("INSERT", ChangeKind::Insert),
        ("REMOVE", ChangeKind::Remove),
        ("REPLACE", ChangeKind::Replace),
        ("RENAME", ChangeKind::Rename),
        ("MOVE", ChangeKind::Move),
        ("UPDATE", ChangeKind::Update),
    ];
    let properties = [
        ("INSERT", PropertyChange::Insert),
        ("REMOVE", PropertyChange::Remove),
        ("UPDATE", PropertyChange::Update),
        ("RENAME", PropertyChange::Move),
    ];
    let certainties = [("Absolute", Certainty::Certain), ("Partial", Certainty::Possible)];
    let mut filter = ChangeFilter {
        kind: get(members, "type")
            .map(|node| one_of(node, "type of a change", &kinds))
            .transpose()?,
        property: get(members, "propertyOperationType")
            .map(|node| one_of(node, "type of a change of a property", &properties))
            .transpose()?,
        certainty: get(members, "certainty")
            .map(|node| one_of(node, "certainty", &certainties))
            .transpose()?,
        marks: Vec::new(),
    };
    for (name, mark) in marks {
        match get(members, name).map(|node| (node.place, &node.content)) {
            None => {}
            Some((_, Content::Bool(flag))) => filter.marks.push((mark, *flag)),
            Some((place, _)) => return error(place, format_args!("`{name}` is true or false")),
        }
    }
    Ok(filter)
}

fn component_filter(members: &Members) -> Result<ComponentFilter> {
    let mut kinds = ComponentKind::NAMES.to_vec();
    // As the original calls them.
    kinds.push(("CDK Construct", ComponentKind::Construct));
    let kind = get(members, "type").map(|node| one_of(node, "type of a component", &kinds));
    let text_of = |key: &str| -> Result<Option<String>> {
        let Some(node) = get(members, key) else { return Ok(None) };
        match &node.content {
            // A name may look like a number.
            Content::Number(text) if number(text).is_some() => Ok(Some(text.clone())),
            _ => Ok(Some(text(node, key)?.to_owned())),
        }
    };
    Ok(ComponentFilter {
        kind: kind.transpose()?,
        subtype: text_of("subtype")?,
        name: text_of("name")?,
    })
}
