//! What a refactor may not change in a template besides resources.

use super::judge::{Party, Refusal};
use crate::model::{Object, Value};
use crate::template::{Segment, parse_sub};

/// Checks what a stack must fulfil to take part, and its sections.
pub(super) fn check(party: &Party) -> Result<(), Refusal> {
    let refuse = |reason: String| Err(Refusal::of(&party.stack, reason));
    if party.stack.policy.is_some() {
        // [I] The text: AWS documents only that it is refused.
        return refuse("Stack Refactor does not support stacks with a stack policy.".to_owned());
    }
    if party.created {
        let present = |section: &&str| party.new.section(section).is_some_and(|s| !s.is_empty());
        // [I] That parameters are refused, too: the client of AWS strips them.
        let found: Vec<&str> =
            ["Conditions", "Parameters", "Rules"].into_iter().filter(present).collect();
        if !found.is_empty() {
            return refuse(format!(
                "Following template sections are not allowed when creating a stack while \
                 refactoring: {}",
                found.join(", ")
            ));
        }
        return Ok(());
    }
    let nothing = Object::new();
    let old = party.old.section("Parameters").unwrap_or(&nothing);
    let new = party.new.section("Parameters").unwrap_or(&nothing);
    if old.iter().any(|(name, _)| !new.contains_key(name)) {
        return refuse(
            "Parameter values specified for a template which does not require them".to_owned(),
        );
    }
    for section in ["Parameters", "Conditions", "Mappings"] {
        let old = party.old.section(section).unwrap_or(&nothing);
        let new = party.new.section(section).unwrap_or(&nothing);
        if old != new {
            // [I] The text: AWS documents only that it is refused.
            return refuse(format!(
                "Following template sections are not allowed to change while refactoring: {section}"
            ));
        }
    }
    Ok(())
}

/// Whether a value refers to a name by `Ref` or in the text of `Fn::Sub`.
pub(super) fn names(value: &Value, name: &str) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| names(item, name)),
        Value::Object(object) => {
            let here = match object.single() {
                Some((key, Value::String(text))) if key == "Ref" => text == name,
                Some((key, argument)) if key == "Fn::Sub" => {
                    let first = argument.as_array().and_then(<[Value]>::first);
                    let text = argument.as_str().or_else(|| first.and_then(Value::as_str));
                    let segments = text.and_then(|text| parse_sub(text).ok()).unwrap_or_default();
                    segments.contains(&Segment::Variable(name))
                }
                _ => false,
            };
            here || object.iter().any(|(_, value)| names(value, name))
        }
        _ => false,
    }
}
