//! Policy statements in one form, and which of two allows or denies more (IAM user guide, "IAM
//! JSON policy elements reference").
//!
//! "Covers" is decided so that it is never said wrongly; where it cannot be decided, the answer
//! is no, and the change counts as one that broadens.

use std::collections::{BTreeMap, BTreeSet};

use super::resolve::{is_open, text};
use crate::model::{Object, Value};

/// Into how many single permissions a statement is taken apart at most.
const MOST_ATOMS: usize = 20_000;

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effect {
    Allow,
    Deny,
    /// The statement, or its effect, is computed by CloudFormation.
    Unknown,
}

/// A list of actions, resources or principals, or everything but those.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Items {
    pub(super) not: bool,
    /// The items as they are compared, with each as it is shown.
    items: BTreeMap<String, String>,
}

/// Values by operator and key; keys in lower case, as they are compared.
type Conditions = BTreeMap<(String, String), Values>;

/// The values of a condition.
#[derive(Clone, Debug)]
struct Values {
    /// The key as it is written.
    key: String,
    values: BTreeSet<String>,
}

/// A statement of a policy. `Sid` means nothing and is left out.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) effect: Effect,
    pub(super) actions: Option<Items>,
    pub(super) resources: Option<Items>,
    pub(super) principals: Option<Items>,
    conditions: Conditions,
    /// Whatever else is said in the statement, or all of one that is not known.
    rest: String,
}

impl Statement {
    /// Reads a statement whose references are replaced.
    pub(super) fn read(value: &Value) -> Self {
        let Some(object) = value.as_object() else { return Self::unknown(value) };
        let effect = match object.get("Effect").map(text).as_deref() {
            Some("Allow") => Effect::Allow,
            Some("Deny") => Effect::Deny,
            _ => return Self::unknown(value),
        };
        let twice =
            |name: &str| object.contains_key(name) && object.contains_key(&format!("Not{name}"));
        if ["Action", "Resource", "Principal"].into_iter().any(twice) {
            return Self::unknown(value);
        }
        let known = |key: &str| {
            let key = key.strip_prefix("Not").unwrap_or(key);
            matches!(key, "Effect" | "Sid" | "Action" | "Resource" | "Principal" | "Condition")
        };
        let rest: Object = object
            .iter()
            .filter(|(key, _)| !known(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        Self {
            effect,
            actions: Items::read(object, "Action", action),
            resources: Items::read(object, "Resource", |item| (text(item), text(item))),
            principals: principals(object),
            conditions: object.get("Condition").map(conditions).unwrap_or_default(),
            rest: if rest.is_empty() { String::new() } else { text(&Value::Object(rest)) },
        }
    }

    /// A statement of which nothing is known but its text.
    pub(super) fn unknown(value: &Value) -> Self {
        Self {
            effect: Effect::Unknown,
            actions: None,
            resources: None,
            principals: None,
            conditions: BTreeMap::new(),
            rest: text(value),
        }
    }

    /// A statement that allows everything to everybody: what holds where no policy is given.
    pub(super) fn open() -> Self {
        let any = || Some(Items { not: false, items: [("*".into(), "*".into())].into() });
        Self {
            effect: Effect::Allow,
            actions: any(),
            resources: any(),
            principals: any(),
            conditions: BTreeMap::new(),
            rest: String::new(),
        }
    }

    /// Returns a text that is equal for equal statements only.
    pub(super) fn key(&self) -> String {
        let items = |items: &Option<Items>| {
            items.as_ref().map(|items| (items.not, items.items.keys().cloned().collect::<Vec<_>>()))
        };
        let conditions = self.conditions.iter().map(|(place, values)| (place, &values.values));
        // Texts are quoted, so that no two statements run into the same text.
        format!(
            "{:?}",
            (
                self.effect,
                items(&self.actions),
                items(&self.resources),
                items(&self.principals),
                conditions.collect::<Vec<_>>(),
                &self.rest
            )
        )
    }

    /// Returns effect, actions, resources, principals and conditions, for a table.
    pub(super) fn cells(&self) -> Vec<String> {
        let items = |items: &Option<Items>| items.as_ref().map(Items::shown).unwrap_or_default();
        let conditions = self.conditions.iter().map(|((operator, _), Values { key, values })| {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            format!("{operator} {key} = {}", values.join(", ")).trim_start().to_owned()
        });
        let conditions: Vec<String> = conditions.collect();
        let effect = match self.effect {
            Effect::Allow => "Allow",
            Effect::Deny => "Deny",
            Effect::Unknown => "(computed)",
        };
        let mut actions = items(&self.actions);
        if !self.rest.is_empty() {
            actions.push_str(&self.rest);
        }
        vec![
            effect.to_owned(),
            actions,
            items(&self.resources),
            items(&self.principals),
            conditions.join("\n"),
        ]
    }

    /// Whether `others` together say of everything in this statement the same: allow it, if this
    /// allows it, and deny it, if this denies it.
    pub(super) fn is_covered_by(&self, others: &[&Self]) -> bool {
        if others.iter().any(|other| other.covers(self)) {
            return true;
        }
        let parts = [&self.actions, &self.resources, &self.principals];
        let counts = parts.map(|items| items.as_ref().map_or(1, Items::count));
        if counts.iter().product::<usize>() > MOST_ATOMS {
            return false;
        }
        let [actions, resources, principals] =
            parts.map(|items| items.as_ref().map_or(vec![None], Items::atoms));
        actions.iter().all(|action| {
            resources.iter().all(|resource| {
                principals.iter().all(|principal| {
                    let atom = Self {
                        actions: action.clone(),
                        resources: resource.clone(),
                        principals: principal.clone(),
                        ..self.clone()
                    };
                    others.iter().any(|other| other.covers(&atom))
                })
            })
        })
    }

    /// Whether this statement alone says the same of everything in the other.
    fn covers(&self, other: &Self) -> bool {
        if self.effect == Effect::Unknown || other.effect == Effect::Unknown {
            return self.key() == other.key();
        }
        self.effect == other.effect
            && self.rest == other.rest
            && covers(self.actions.as_ref(), other.actions.as_ref(), matches)
            && covers(self.resources.as_ref(), other.resources.as_ref(), matches)
            && covers(self.principals.as_ref(), other.principals.as_ref(), includes)
            && self.conditions.iter().all(|(place, values)| {
                let theirs = other.conditions.get(place);
                theirs.is_some_and(|theirs| holds_too(&place.0, &values.values, &theirs.values))
            })
    }
}

impl Items {
    fn read(
        object: &Object,
        name: &str,
        item: impl Fn(&Value) -> (String, String),
    ) -> Option<Self> {
        let (not, value) = named(object, name)?;
        let items = match value {
            Value::Array(items) => items.iter().map(item).collect(),
            one => [item(one)].into(),
        };
        Some(Self { not, items })
    }

    fn count(&self) -> usize {
        if self.not { 1 } else { self.items.len() }
    }

    fn atoms(&self) -> Vec<Option<Self>> {
        if self.not {
            return vec![Some(self.clone())];
        }
        let one = |(key, shown): (&String, &String)| Self {
            not: false,
            items: [(key.clone(), shown.clone())].into(),
        };
        self.items.iter().map(one).map(Some).collect()
    }

    fn shown(&self) -> String {
        let items: Vec<&str> = self.items.values().map(String::as_str).collect();
        let items = items.join("\n");
        if self.not { format!("all but\n{items}") } else { items }
    }
}

/// The value of `Action` or `NotAction` and the like, and whether it is the latter.
fn named<'o>(object: &'o Object, name: &str) -> Option<(bool, &'o Value)> {
    match object.get(name) {
        Some(value) => Some((false, value)),
        None => Some((true, object.get(&format!("Not{name}"))?)),
    }
}

/// Upper and lower case are the same in actions.
fn action(item: &Value) -> (String, String) {
    let shown = text(item);
    let compared = if is_open(&shown) { shown.clone() } else { shown.to_ascii_lowercase() };
    (compared, shown)
}

/// Principals as `Type:Value`. `*` and `{"AWS": "*"}` are the same ("AWS JSON policy elements:
/// Principal").
fn principals(object: &Object) -> Option<Items> {
    let (not, value) = named(object, "Principal")?;
    let mut items = BTreeMap::new();
    let mut add = |item: String| items.insert(item.clone(), item);
    match value {
        Value::Object(kinds) if kinds.iter().all(|(kind, _)| !kind.contains("::")) => {
            for (kind, value) in kinds.iter() {
                let one = std::slice::from_ref(value);
                for item in value.as_array().unwrap_or(one) {
                    let item = text(item);
                    add(if kind == "AWS" && item == "*" { item } else { format!("{kind}:{item}") });
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| drop(add(text(value)))),
        other => drop(add(text(other))),
    }
    Some(Items { not, items })
}

fn conditions(value: &Value) -> Conditions {
    let mut found = BTreeMap::new();
    let mut add = |operator: &str, key: &str, values: BTreeSet<String>| {
        // Condition keys are the same in upper and lower case.
        let mut place = (operator.to_owned(), key.to_ascii_lowercase());
        if found.contains_key(&place) {
            key.clone_into(&mut place.1);
        }
        found.insert(place, Values { key: key.to_owned(), values });
    };
    let Some(operators) = value.as_object() else {
        add("", "", [text(value)].into());
        return found;
    };
    for (operator, keys) in operators.iter() {
        let Some(keys) = keys.as_object().filter(|_| !operator.starts_with("Fn::")) else {
            add(operator, "", [text(keys)].into());
            continue;
        };
        for (key, values) in keys.iter() {
            let one = std::slice::from_ref(values);
            add(operator, key, values.as_array().unwrap_or(one).iter().map(text).collect());
        }
    }
    found
}

/// Whether a condition with `values` is met wherever one with `theirs` is. Of several values one
/// has to fit, or, where the operator is a negation, none may fit; other kinds of operators are
/// not compared.
fn holds_too(operator: &str, values: &BTreeSet<String>, theirs: &BTreeSet<String>) -> bool {
    const ANY_FITS: [&str; 8] = [
        "ArnEquals",
        "ArnLike",
        "IpAddress",
        "NumericEquals",
        "StringEquals",
        "StringEqualsIgnoreCase",
        "StringLike",
        "DateEquals",
    ];
    const NONE_FITS: [&str; 8] = [
        "ArnNotEquals",
        "ArnNotLike",
        "NotIpAddress",
        "NumericNotEquals",
        "StringNotEquals",
        "StringNotEqualsIgnoreCase",
        "StringNotLike",
        "DateNotEquals",
    ];
    let operator = operator.strip_suffix("IfExists").unwrap_or(operator);
    if values == theirs {
        return true;
    }
    // A condition that is computed may come to a list of its own.
    if values.iter().chain(theirs).any(|value| is_open(value)) {
        return false;
    }
    (ANY_FITS.contains(&operator) && !theirs.is_empty() && theirs.is_subset(values))
        || (NONE_FITS.contains(&operator) && !values.is_empty() && values.is_subset(theirs))
}

/// Whether everything in `theirs` is in `ours`.
fn covers(ours: Option<&Items>, theirs: Option<&Items>, fits: impl Fn(&str, &str) -> bool) -> bool {
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        return ours.is_none() && theirs.is_none();
    };
    if !ours.not && ours.items.contains_key("*") && fits("*", "") {
        return true;
    }
    match (ours.not, theirs.not) {
        (false, false) => theirs.items.keys().all(|b| ours.items.keys().any(|a| fits(a, b))),
        (true, true) => ours.items.keys().all(|a| theirs.items.keys().any(|b| fits(b, a))),
        _ => false,
    }
}

/// Whether a pattern fits everything that another pattern fits. `?` fits only itself here: it
/// may stand for a character that CloudFormation did not give back.
fn matches(pattern: &str, text: &str) -> bool {
    if pattern == text || pattern == "*" {
        return true;
    }
    if is_open(pattern) || pattern.contains("${*}") || pattern.contains("${?}") {
        return false;
    }
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// Whether a principal includes another. Patterns do not exist here but for `*`, which is every
/// account, everybody in it, and every service.
fn includes(principal: &str, other: &str) -> bool {
    let in_aws = |other: &str| {
        ["AWS:", "CanonicalUser:", "Service:"].into_iter().any(|kind| other.starts_with(kind))
    };
    principal == other || (principal == "*" && in_aws(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::json::parse;

    fn statement(rest: &str) -> Statement {
        Statement::read(&parse(&format!(r#"{{"Effect": "Allow", {rest}}}"#)).unwrap())
    }

    fn wider(left: &str, right: &str) -> bool {
        statement(right).is_covered_by(&[&statement(left)])
    }

    #[test]
    fn one_statement_in_two_spellings_is_one() {
        let one = statement(r#""Sid": "a", "Action": "s3:GetObject", "Resource": ["x", "y"]"#);
        let two = statement(r#""Resource": ["y", "x", "y"], "Action": ["S3:getobject"]"#);
        assert_eq!(one.key(), two.key());
    }

    #[test]
    fn patterns_cover_what_they_fit_and_nothing_else() {
        for (pattern, text) in
            [("*", "x"), ("s3:*", "s3:get*"), ("a*c*e", "abcde"), ("a*", "a*"), ("*a", "ba")]
        {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("s3:get*", "s3:*"),
            ("s3:get", "s3:*"),
            ("ab*ba", "aba"),
            ("a?", "ab"),
            ("a${*}", "a${b}"),
            ("a*${{\"Fn::If\":[]}}", "abc${{\"Fn::If\":[]}}"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn several_statements_cover_together_what_none_covers_alone() {
        let get = statement(r#""Action": "s3:Get*", "Resource": "*""#);
        let put = statement(r#""Action": "s3:Put*", "Resource": "*""#);
        let both = statement(r#""Action": ["s3:GetObject", "s3:PutObject"], "Resource": "a""#);
        assert!(both.is_covered_by(&[&get, &put]));
        assert!(!both.is_covered_by(&[&get]));
    }

    #[test]
    fn a_condition_more_narrows_and_a_condition_less_widens() {
        let bare = r#""Action": "a:b", "Resource": "*""#;
        let guarded = format!(r#"{bare}, "Condition": {{"Bool": {{"k": true}}}}"#);
        assert!(wider(bare, &guarded));
        assert!(!wider(&guarded, bare));
    }

    #[test]
    fn values_of_a_condition_narrow_or_widen_as_their_operator_says() {
        let with = |operator: &str, values: &str| {
            format!(r#""Action": "a:b", "Condition": {{"{operator}": {{"k": [{values}]}}}}"#)
        };
        let like = |values: &str| with("StringLike", values);
        assert!(wider(&like(r#""x", "y""#), &like(r#""x""#)));
        assert!(!wider(&like(r#""x""#), &like(r#""x", "y""#)));
        let unlike = |values: &str| with("StringNotEquals", values);
        assert!(wider(&unlike(r#""x""#), &unlike(r#""x", "y""#)));
        assert!(!wider(&unlike(r#""x", "y""#), &unlike(r#""x""#)));
        let all = |values: &str| with("ForAllValues:StringEquals", values);
        assert!(!wider(&all(r#""x", "y""#), &all(r#""x""#)));
    }

    #[test]
    fn all_but_few_is_more_than_all_but_many() {
        let but = |actions: &str| format!(r#""NotAction": [{actions}], "Resource": "*""#);
        assert!(wider(&but(r#""iam:*""#), &but(r#""iam:*", "s3:*""#)));
        assert!(!wider(&but(r#""iam:*", "s3:*""#), &but(r#""iam:*""#)));
        assert!(!wider(&but(r#""iam:*""#), r#""Action": "s3:*", "Resource": "*""#));
    }

    #[test]
    fn everybody_includes_an_account_but_an_account_not_everybody() {
        let to = |principal: &str| format!(r#""Action": "a:b", "Principal": {principal}"#);
        assert!(wider(&to(r#""*""#), &to(r#"{"AWS": "111111111111"}"#)));
        assert!(!wider(&to(r#"{"AWS": "111111111111"}"#), &to(r#""*""#)));
        assert_eq!(statement(&to(r#""*""#)).key(), statement(&to(r#"{"AWS": ["*"]}"#)).key());
    }
}
