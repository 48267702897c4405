//! Templates with differences that mean nothing to CloudFormation: what the built-in aspects hide.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use cdkr::model::{Number, Object, Stack, Value};
use cdkr::template;

/// Numbers that look random, of which each place has its own: the same property of two resources
/// of one type is written otherwise in both or in none, as by another release of the framework.
/// Twins stay twins.
struct Dice {
    seed: u64,
    place: Vec<String>,
}

impl Dice {
    fn roll(&self, at: usize) -> usize {
        let mut hasher = DefaultHasher::new();
        (self.seed, &self.place, at).hash(&mut hasher);
        usize::try_from(hasher.finish() >> 40).unwrap()
    }

    fn shuffle<T>(&self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.roll(at) % (at + 1));
        }
    }

    /// Changes the members of an object, each at its own place.
    fn inside(&mut self, object: &mut Object, mut change: impl FnMut(&mut Value, &mut Self)) {
        for (key, value) in object.iter_mut() {
            self.place.push(key.to_string());
            change(value, self);
            self.place.pop();
        }
    }
}

/// Writes numbers and booleans as strings and the other way round, policies in another order, the
/// places of assets and the addresses of nested templates as another release of the framework
/// would.
pub fn harmless(stacks: &[Stack], seed: u64) -> Vec<Stack> {
    let changed = |stack: &Stack| {
        let mut sections = stack.template.sections.clone();
        if let Some(Value::Object(resources)) = sections.get_mut("Resources") {
            for (_, resource) in resources.iter_mut() {
                let kind = resource.get("Type").and_then(Value::as_str).unwrap_or_default();
                let kind = kind.to_owned();
                let Value::Object(body) = resource else { continue };
                if let Some(properties) = body.get_mut("Properties") {
                    let mut dice = Dice { seed, place: vec![kind.clone()] };
                    scalars(properties, &mut dice);
                    policies(properties, &mut dice);
                    places(properties);
                    if let Value::Object(properties) = properties
                        && kind == "AWS::CloudFormation::Stack"
                    {
                        properties.insert("TemplateURL".into(), Value::from("https://elsewhere/t"));
                    }
                }
            }
        }
        Stack { template: template::check(Value::Object(sections)).unwrap(), ..stack.clone() }
    };
    stacks.iter().map(changed).collect()
}

fn scalars(value: &mut Value, dice: &mut Dice) {
    let other = match value {
        Value::Bool(flag) => Some(Value::from(if *flag { "true" } else { "false" })),
        Value::Number(number) => Some(Value::from(number.as_str())),
        Value::String(text) if text == "true" || text == "false" => {
            Some(Value::Bool(text == "true"))
        }
        // As JSON writes it: others have no number of their own.
        Value::String(text) if text.parse::<u32>().is_ok_and(|it| it.to_string() == **text) => {
            Some(Value::Number(Number::from_text(text)))
        }
        _ => None,
    };
    if let Some(other) = other.filter(|_| dice.roll(0).is_multiple_of(2)) {
        *value = other;
        return;
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| scalars(item, dice)),
        // What functions take are numbers of elements, and texts.
        Value::Object(object) if is_plain(object) => dice.inside(object, scalars),
        _ => {}
    }
}

fn is_plain(object: &Object) -> bool {
    object.single().is_none_or(|(key, _)| key != "Ref" && !key.starts_with("Fn::"))
}

fn policies(value: &mut Value, dice: &mut Dice) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| policies(item, dice)),
        Value::Object(object) => {
            if let Some(Value::Array(statements)) = object.get_mut("Statement") {
                dice.shuffle(statements);
                for statement in statements {
                    let Value::Object(statement) = statement else { continue };
                    for list in ["Action", "NotAction", "Resource", "NotResource"] {
                        if let Some(Value::Array(items)) = statement.get_mut(list) {
                            dice.shuffle(items);
                        }
                    }
                }
            }
            dice.inside(object, policies);
        }
        _ => {}
    }
}

fn places(value: &mut Value) {
    match value {
        Value::String(text) if text.contains("-assets-") => {
            for kind in ["assets-", "container-assets-"] {
                let (was, is) = (format!("cdk-hnb659fds-{kind}"), format!("cdk-other-{kind}"));
                *text = text.replace(&was, &is).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(places),
        Value::Object(object) => object.iter_mut().for_each(|(_, inner)| places(inner)),
        _ => {}
    }
}
