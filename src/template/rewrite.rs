//! References in expressions: found, and replaced by others.

use super::intrinsic::{Attribute, Intrinsic};
use super::sub::{Segment, parse_sub};
use crate::model::{Object, Text, Value};

/// How a variable of `Fn::Sub` begins that stands for something which `Fn::Sub` cannot name in
/// its text. Such a variable goes away when its value can be named again.
const OWN_VARIABLE: &str = "Cdkr";

/// A place in an expression at which something is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference<'a> {
    /// `Ref` of a name (a resource, a parameter or a pseudo parameter), or an attribute of a
    /// resource; in the text of `Fn::Sub`, too.
    Name(&'a str, Option<&'a str>),
    /// `Fn::GetAtt` whose attribute is given by another function.
    Computed(&'a str, &'a Value),
    /// `Fn::ImportValue`: the name of the export, which may be an expression.
    Import(&'a Value),
    /// `Fn::GetStackOutput`: the name of the stack, the key of the output, all arguments.
    StackOutput(&'a Value, &'a str, &'a Object),
    /// The condition of `Fn::If`, or of `{"Condition": …}`.
    Condition(&'a str),
    /// The mapping of `Fn::FindInMap`.
    Mapping(&'a str),
}

/// Returns `Ref` of a name, or `Fn::GetAtt` of an attribute.
pub fn reference(name: &str, attribute: Option<&str>) -> Value {
    let (function, argument) = match attribute {
        None => ("Ref", Value::from(name)),
        Some(attribute) => {
            ("Fn::GetAtt", Value::Array(vec![Value::from(name), Value::from(attribute)]))
        }
    };
    function_call(function, argument)
}

/// Returns an object with one key.
pub fn function_call(function: &str, argument: Value) -> Value {
    Value::Object(Object::from_iter([(Text::from(function), argument)]))
}

/// Returns the name and the attribute of an expression that is a reference and nothing else.
pub fn as_reference(value: &Value) -> Option<(&str, Option<&str>)> {
    match Intrinsic::of(value.as_object()?)? {
        Intrinsic::Ref(name) => Some((name, None)),
        Intrinsic::GetAtt(name, Attribute::Name(attribute)) => Some((name, Some(attribute))),
        Intrinsic::Sub(text, variables) => match parse_sub(text).ok()?.as_slice() {
            [Segment::Variable(variable)] if variables.is_none() => Some(variable_parts(variable)),
            _ => None,
        },
        _ => None,
    }
}

fn variable_parts(variable: &str) -> (&str, Option<&str>) {
    match variable.split_once('.') {
        Some((name, attribute)) => (name, Some(attribute)),
        None => (variable, None),
    }
}

/// Tells of every reference in a value, in the order of the text.
pub fn visit<'v>(value: &'v Value, tell: &mut dyn FnMut(Reference<'v>)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| visit(item, tell)),
        Value::Object(object) => visit_object(object, tell),
        _ => {}
    }
}

fn visit_object<'v>(object: &'v Object, tell: &mut dyn FnMut(Reference<'v>)) {
    match Intrinsic::of(object) {
        Some(Intrinsic::Ref(name)) => tell(Reference::Name(name, None)),
        Some(Intrinsic::GetAtt(name, Attribute::Name(attribute))) => {
            tell(Reference::Name(name, Some(attribute)));
        }
        Some(Intrinsic::GetAtt(name, Attribute::Computed(value))) => {
            tell(Reference::Computed(name, value));
            visit(value, tell);
        }
        Some(Intrinsic::Sub(text, variables)) => {
            for segment in parse_sub(text).unwrap_or_default() {
                let Segment::Variable(variable) = segment else { continue };
                if variables.is_none_or(|variables| !variables.contains_key(variable)) {
                    let (name, attribute) = variable_parts(variable);
                    tell(Reference::Name(name, attribute));
                }
            }
            for (_, value) in variables.into_iter().flat_map(Object::iter) {
                visit(value, tell);
            }
        }
        Some(Intrinsic::ImportValue(name)) => {
            tell(Reference::Import(name));
            visit(name, tell);
        }
        Some(Intrinsic::GetStackOutput(stack, key, arguments)) => {
            tell(Reference::StackOutput(stack, key, arguments));
            arguments.iter().for_each(|(_, value)| visit(value, tell));
        }
        Some(Intrinsic::If(condition, branches)) => {
            tell(Reference::Condition(condition));
            for branch in branches {
                visit(branch, tell);
            }
        }
        Some(Intrinsic::FindInMap(map, keys)) => {
            tell(Reference::Mapping(map));
            for key in keys {
                visit(key, tell);
            }
        }
        None => {
            if let Some((key, Value::String(name))) = object.single()
                && key == "Condition"
            {
                tell(Reference::Condition(name));
            }
            object.iter().for_each(|(_, value)| visit(value, tell));
        }
    }
}

/// Returns a value in which references are replaced, all at once. `replace` returns what is to
/// stand in place of a reference, or `None` if it stays. What is put in is not looked at again.
///
/// In the text of `Fn::Sub`, a reference by another reference is written in place; anything else
/// becomes a variable of the `Fn::Sub`. A `Fn::GetAtt` that is written as a text stays one.
pub fn rewrite(value: &Value, replace: &mut dyn FnMut(Reference<'_>) -> Option<Value>) -> Value {
    match value {
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| rewrite(item, replace)).collect())
        }
        Value::Object(object) => rewrite_object(value, object, replace),
        other => other.clone(),
    }
}

fn rewrite_object(
    value: &Value,
    object: &Object,
    replace: &mut dyn FnMut(Reference<'_>) -> Option<Value>,
) -> Value {
    let whole = match Intrinsic::of(object) {
        Some(Intrinsic::Ref(name)) => replace(Reference::Name(name, None)),
        Some(Intrinsic::GetAtt(name, Attribute::Name(attribute))) => {
            let put = replace(Reference::Name(name, Some(attribute)));
            let is_text = object.single().is_some_and(|(_, argument)| argument.as_str().is_some());
            if is_text { put.map(in_one_text) } else { put }
        }
        Some(Intrinsic::GetAtt(name, Attribute::Computed(computed))) => {
            replace(Reference::Computed(name, computed))
        }
        Some(Intrinsic::Sub(text, variables)) => {
            return rewrite_sub(value, text, variables, replace);
        }
        Some(Intrinsic::ImportValue(name)) => replace(Reference::Import(name)),
        Some(Intrinsic::GetStackOutput(stack, key, arguments)) => {
            replace(Reference::StackOutput(stack, key, arguments))
        }
        Some(Intrinsic::If(..) | Intrinsic::FindInMap(..)) | None => None,
    };
    whole.unwrap_or_else(|| {
        let member = |(key, value): (&Text, &Value)| (key.clone(), rewrite(value, replace));
        Value::Object(object.iter().map(member).collect())
    })
}

/// `["X", "Arn"]` as `X.Arn`.
fn in_one_text(value: Value) -> Value {
    match as_reference(&value) {
        Some((name, Some(attribute))) => {
            let text = format!("{name}.{attribute}");
            function_call("Fn::GetAtt", Value::from(text.as_str()))
        }
        _ => value,
    }
}

fn rewrite_sub(
    value: &Value,
    text: &str,
    variables: Option<&Object>,
    replace: &mut dyn FnMut(Reference<'_>) -> Option<Value>,
) -> Value {
    let Ok(segments) = parse_sub(text) else { return value.clone() };
    let mut kept: Object = variables
        .into_iter()
        .flat_map(Object::iter)
        .map(|(name, value)| (name.clone(), rewrite(value, replace)))
        .collect();
    let mut written = String::with_capacity(text.len());
    let mut inlined = Vec::new();
    for segment in segments {
        match segment {
            Segment::Literal("${") => written.push_str("${!"),
            Segment::Literal(literal) => written.push_str(literal),
            Segment::Variable(variable) if kept.contains_key(variable) => {
                let own = variable.starts_with(OWN_VARIABLE);
                match kept.get(variable).filter(|_| own).and_then(as_reference) {
                    Some((name, attribute)) => {
                        push_variable(&mut written, name, attribute);
                        inlined.push(variable);
                    }
                    None => push_variable(&mut written, variable, None),
                }
            }
            Segment::Variable(variable) => {
                let (name, attribute) = variable_parts(variable);
                match replace(Reference::Name(name, attribute)) {
                    None => push_variable(&mut written, name, attribute),
                    Some(put) => match as_reference(&put) {
                        Some((name, attribute)) => push_variable(&mut written, name, attribute),
                        None => {
                            let name = own_variable(&kept, name, attribute, &put);
                            push_variable(&mut written, &name, None);
                            kept.insert(name, put);
                        }
                    },
                }
            }
        }
    }
    for name in inlined {
        kept.remove(name);
    }
    let argument = if kept.is_empty() {
        Value::from(written.as_str())
    } else {
        Value::Array(vec![Value::from(written.as_str()), Value::Object(kept)])
    };
    function_call("Fn::Sub", argument)
}

fn push_variable(text: &mut String, name: &str, attribute: Option<&str>) {
    text.push_str("${");
    text.push_str(name);
    if let Some(attribute) = attribute {
        text.push('.');
        text.push_str(attribute);
    }
    text.push('}');
}

/// A name that no variable has yet, or one that has this very value.
fn own_variable(variables: &Object, name: &str, attribute: Option<&str>, put: &Value) -> Text {
    let attribute = attribute.unwrap_or_default().chars().filter(char::is_ascii_alphanumeric);
    let mut candidate = format!("{OWN_VARIABLE}{name}{}", attribute.collect::<String>());
    while variables.get(&candidate).is_some_and(|other| other != put) {
        candidate.push('X');
    }
    candidate.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::json;

    fn parsed(text: &str) -> Value {
        json::parse(text).unwrap()
    }

    /// X becomes Y, Y becomes X, and Z an import.
    fn swap(text: &str) -> String {
        let rewritten = rewrite(&parsed(text), &mut |found| match found {
            Reference::Name("X", attribute) => Some(reference("Y", attribute)),
            Reference::Name("Y", attribute) => Some(reference("X", attribute)),
            Reference::Name("Z", _) => Some(function_call("Fn::ImportValue", Value::from("z"))),
            Reference::Import(name) if name.as_str() == Some("back") => {
                Some(reference("B", Some("Arn")))
            }
            _ => None,
        });
        json::to_compact(&rewritten)
    }

    #[test]
    fn two_names_are_swapped_at_once_in_every_kind_of_reference() {
        assert_eq!(
            swap(
                r#"{"a":{"Ref":"X"},"b":{"Fn::GetAtt":["Y","Arn"]},"c":[{"Fn::GetAtt":"X.A.B"}],"d":{"Fn::Sub":"${X}-${Y.Arn}-${!X}-${AWS::Region}"}}"#
            ),
            r#"{"a":{"Ref":"Y"},"b":{"Fn::GetAtt":["X","Arn"]},"c":[{"Fn::GetAtt":"Y.A.B"}],"d":{"Fn::Sub":"${Y}-${X.Arn}-${!X}-${AWS::Region}"}}"#
        );
    }

    #[test]
    fn an_object_with_a_second_key_is_no_reference() {
        let text = r#"{"Ref":"X","Repo":"x"}"#;
        assert_eq!(swap(text), text);
    }

    #[test]
    fn a_variable_of_sub_hides_a_resource_of_that_name() {
        assert_eq!(
            swap(r#"{"Fn::Sub":["${X}${Y}",{"X":{"Ref":"X"}}]}"#),
            r#"{"Fn::Sub":["${X}${X}",{"X":{"Ref":"Y"}}]}"#
        );
    }

    #[test]
    fn what_sub_cannot_name_becomes_a_variable_and_is_named_again_afterwards() {
        let there = swap(r#"{"Fn::Sub":"a-${Z.Arn}-${Z.Arn}"}"#);
        assert_eq!(
            there,
            r#"{"Fn::Sub":["a-${CdkrZArn}-${CdkrZArn}",{"CdkrZArn":{"Fn::ImportValue":"z"}}]}"#
        );
        assert_eq!(
            swap(&there.replace("\"z\"", "\"back\"")),
            r#"{"Fn::Sub":"a-${B.Arn}-${B.Arn}"}"#
        );
    }

    #[test]
    fn a_text_that_sub_cannot_read_stays() {
        let text = r#"{"Fn::Sub":"${X"}"#;
        assert_eq!(swap(text), text);
    }

    #[test]
    fn every_kind_of_reference_is_told_of() {
        let value = parsed(
            r#"[{"Fn::If":["C",{"Ref":"A"},{"Fn::FindInMap":["M","a","b"]}]},{"Fn::Sub":["${B.Arn}${V}",{"V":{"Fn::ImportValue":{"Ref":"P"}}}]},{"Fn::GetStackOutput":{"StackName":"S","OutputName":"O"}},{"Condition":"D"}]"#,
        );
        let mut found = Vec::new();
        visit(&value, &mut |reference| found.push(reference));
        let computed = parsed(r#"{"Ref":"P"}"#);
        let stack = Value::from("S");
        let arguments = parsed(r#"{"StackName":"S","OutputName":"O"}"#);
        assert_eq!(
            found,
            [
                Reference::Condition("C"),
                Reference::Name("A", None),
                Reference::Mapping("M"),
                Reference::Name("B", Some("Arn")),
                Reference::Import(&computed),
                Reference::Name("P", None),
                Reference::StackOutput(&stack, "O", arguments.as_object().unwrap()),
                Reference::Condition("D"),
            ]
        );
    }

    #[test]
    fn a_sub_of_nothing_but_a_name_is_that_reference() {
        assert_eq!(as_reference(&parsed(r#"{"Fn::Sub":"${X.Arn}"}"#)), Some(("X", Some("Arn"))));
        assert_eq!(as_reference(&parsed(r#"{"Fn::Sub":"${X}/"}"#)), None);
    }
}
