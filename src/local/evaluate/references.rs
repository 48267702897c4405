//! Who refers to whom inside a template: what must exist, and the order of creation.

use std::collections::{BTreeMap, BTreeSet};

use crate::local::error::{Answer, ServiceError};
use crate::model::{Object, Template, Value};
use crate::template::{Segment, parse_sub};

/// What a value names.
#[derive(Default)]
struct Found {
    /// By `Ref` and in the text of `Fn::Sub`: resources or parameters.
    refs: BTreeSet<String>,
    /// By `Fn::GetAtt`, and with an attribute in `Fn::Sub`: resources.
    attributes: BTreeSet<String>,
    /// By `Fn::If`.
    conditions: BTreeSet<String>,
}

impl Found {
    fn walk(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.walk(item)),
            Value::Object(object) => {
                if let Some((key, argument)) = object.single() {
                    self.function(key, argument);
                }
                object.iter().for_each(|(_, value)| self.walk(value));
            }
            _ => {}
        }
    }

    fn function(&mut self, key: &str, argument: &Value) {
        let first = argument.as_array().and_then(<[Value]>::first).and_then(Value::as_str);
        match (key, argument.as_str().or(first)) {
            ("Ref", Some(name)) => drop(self.refs.insert(name.to_owned())),
            ("Fn::GetAtt", Some(text)) => {
                let resource = text.split('.').next().unwrap_or(text);
                self.attributes.insert(resource.to_owned());
            }
            ("Fn::If", Some(name)) => drop(self.conditions.insert(name.to_owned())),
            ("Fn::Sub", Some(text)) => {
                let own = argument.as_array().and_then(|items| items.get(1)?.as_object());
                self.text(text, own);
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str, own: Option<&Object>) {
        for segment in parse_sub(text).unwrap_or_default() {
            match segment {
                Segment::Variable(name) if own.is_some_and(|own| own.contains_key(name)) => {}
                Segment::Variable(name) => match name.split_once('.') {
                    Some((resource, _)) => drop(self.attributes.insert(resource.to_owned())),
                    None => drop(self.refs.insert(name.to_owned())),
                },
                Segment::Literal(_) => {}
            }
        }
    }
}

/// The keys of a resource's body in which references count.
const REFERRING: &[&str] = &["Properties", "Metadata", "UpdatePolicy", "CreationPolicy"];

fn of_resource(body: &Object) -> Found {
    let mut found = Found::default();
    for value in REFERRING.iter().filter_map(|key| body.get(key)) {
        found.walk(value);
    }
    found
}

/// Returns the logical IDs in `DependsOn`.
pub(crate) fn depends_on(body: &Object) -> Vec<&str> {
    match body.get("DependsOn") {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Returns the logical IDs that a resource needs before it can be made, sorted.
pub(crate) fn needs(template: &Template, body: &Object) -> BTreeSet<String> {
    let found = of_resource(body);
    let explicit = depends_on(body).into_iter().map(str::to_owned);
    let all = found.refs.into_iter().chain(found.attributes).chain(explicit);
    all.filter(|id| template.resource(id).is_some()).collect()
}

/// Checks that everything that is referred to is there, and that there is an order.
pub(crate) fn check(template: &Template) -> Answer<()> {
    let mut dangling = BTreeSet::new();
    let is_name = |name: &String| {
        name.starts_with("AWS::")
            || template.resource(name).is_some()
            || template.section("Parameters").is_some_and(|all| all.contains_key(name))
    };
    for (_, body) in template.resources() {
        let found = of_resource(body);
        dangling.extend(found.refs.into_iter().filter(|name| !is_name(name)));
        let missing = depends_on(body).into_iter().filter(|id| template.resource(id).is_none());
        dangling.extend(missing.map(str::to_owned));
        undefined_attribute(template, &found.attributes)?;
        let own = body.get("Condition").and_then(Value::as_str).map(str::to_owned);
        undefined_condition(template, found.conditions.into_iter().chain(own), "Resources")?;
    }
    refuse(dangling, "Resources")?;
    let mut dangling = BTreeSet::new();
    for (_, output) in template.section("Outputs").into_iter().flat_map(Object::iter) {
        let mut found = Found::default();
        found.walk(output);
        dangling.extend(found.refs.into_iter().filter(|name| !is_name(name)));
        undefined_attribute(template, &found.attributes)?;
        let own = output.get("Condition").and_then(Value::as_str).map(str::to_owned);
        undefined_condition(template, found.conditions.into_iter().chain(own), "Outputs")?;
    }
    refuse(dangling, "Outputs")?;
    order(template).map(drop)
}

fn refuse(dangling: BTreeSet<String>, block: &str) -> Answer<()> {
    if dangling.is_empty() {
        return Ok(());
    }
    let list = dangling.into_iter().collect::<Vec<_>>().join(", ");
    Err(ServiceError::validation(format!(
        "Template format error: Unresolved resource dependencies [{list}] in the {block} block of \
         the template"
    )))
}

fn undefined_attribute(template: &Template, names: &BTreeSet<String>) -> Answer<()> {
    match names.iter().find(|name| template.resource(name).is_none()) {
        None => Ok(()),
        Some(name) => Err(ServiceError::validation(format!(
            "Template error: instance of Fn::GetAtt references undefined resource {name}"
        ))),
    }
}

fn undefined_condition(
    template: &Template,
    mut names: impl Iterator<Item = String>,
    block: &str,
) -> Answer<()> {
    let known = template.section("Conditions");
    match names.find(|name| !known.is_some_and(|known| known.contains_key(name))) {
        None => Ok(()),
        Some(name) => Err(ServiceError::validation(format!(
            "Template format error: Unresolved condition dependency {name} in the {block} block \
             of the template"
        ))),
    }
}

/// Returns all logical IDs, each after what it needs, otherwise in the order of the text.
pub(crate) fn order(template: &Template) -> Answer<Vec<String>> {
    let mut needed: BTreeMap<&str, usize> = BTreeMap::new();
    let mut needers: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut place: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, (id, body)) in template.resources().enumerate() {
        let needs = needs(template, body);
        place.insert(id, at);
        needed.insert(id, needs.len());
        for other in needs {
            needers.entry(other).or_default().push(id);
        }
    }
    let free = needed.iter().filter(|(_, count)| **count == 0);
    let mut ready: BTreeSet<(usize, &str)> = free.map(|(id, _)| (place[id], *id)).collect();
    let mut order = Vec::with_capacity(place.len());
    while let Some((_, id)) = ready.pop_first() {
        order.push(id.to_owned());
        for needer in needers.get(id).into_iter().flatten() {
            if let Some(count) = needed.get_mut(needer) {
                *count -= 1;
                if *count == 0 {
                    ready.insert((place[needer], needer));
                }
            }
        }
    }
    if order.len() == place.len() {
        return Ok(order);
    }
    let placed: BTreeSet<&str> = order.iter().map(String::as_str).collect();
    let left = place.keys().filter(|id| !placed.contains(*id)).map(|id| (*id).to_owned());
    let list = cycle(left.collect(), &needers).into_iter().collect::<Vec<_>>().join(", ");
    Err(ServiceError::validation(format!("Circular dependency between resources: [{list}]")))
}

/// Takes away what merely needs a cycle without being needed by it.
fn cycle(mut left: BTreeSet<String>, needers: &BTreeMap<String, Vec<&str>>) -> BTreeSet<String> {
    loop {
        let needed = |id: &String| {
            needers.get(id).into_iter().flatten().any(|needer| left.contains(*needer))
        };
        let kept: BTreeSet<String> = left.iter().filter(|id| needed(id)).cloned().collect();
        if kept.len() == left.len() {
            return left;
        }
        left = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::templates::parse;

    fn refusal(text: &str) -> String {
        check(&parse(text).unwrap()).unwrap_err().message
    }

    #[test]
    fn resources_come_after_what_they_need_in_any_form() {
        let text = r#"{"Resources":{
            "E":{"Type":"T","DependsOn":"D"},
            "D":{"Type":"T","Properties":{"X":{"Fn::Sub":["${C}${own}",{"own":1}]}}},
            "C":{"Type":"T","Properties":{"X":{"Fn::Sub":"${B.Arn} ${!Z}"}}},
            "B":{"Type":"T","Properties":{"X":{"Fn::GetAtt":["A","Arn"]}}},
            "A":{"Type":"T"}}}"#;
        assert_eq!(order(&parse(text).unwrap()).unwrap(), ["A", "B", "C", "D", "E"]);
    }

    #[test]
    fn only_the_members_of_a_cycle_are_named() {
        let text = r#"{"Resources":{
            "A":{"Type":"T","Properties":{"X":{"Ref":"B"}}},
            "B":{"Type":"T","DependsOn":["A","Z"]},
            "C":{"Type":"T","DependsOn":"A"},"Z":{"Type":"T"}}}"#;
        assert_eq!(refusal(text), "Circular dependency between resources: [A, B]");
    }

    #[test]
    fn references_to_nothing_are_refused_with_the_texts_of_cloudformation() {
        let body = |properties: &str| {
            format!(r#"{{"Resources":{{"A":{{"Type":"T","Properties":{properties}}}}}}}"#)
        };
        assert_eq!(
            refusal(&body(r#"{"X":{"Ref":"No"},"Y":{"Fn::Sub":"${Nor}"}}"#)),
            "Template format error: Unresolved resource dependencies [No, Nor] in the Resources \
             block of the template"
        );
        assert_eq!(
            refusal(&body(r#"{"X":{"Fn::GetAtt":"No.Arn"}}"#)),
            "Template error: instance of Fn::GetAtt references undefined resource No"
        );
        assert_eq!(
            refusal(&body(r#"{"X":{"Fn::If":["No",1,2]}}"#)),
            "Template format error: Unresolved condition dependency No in the Resources block of \
             the template"
        );
        assert_eq!(
            refusal(r#"{"Resources":{"A":{"Type":"T"}},"Outputs":{"O":{"Value":{"Ref":"No"}}}}"#),
            "Template format error: Unresolved resource dependencies [No] in the Outputs block of \
             the template"
        );
    }
}
