//! The one reading of intrinsic functions: an object is one only if it is the object's single
//! key (CloudFormation user guide, "Intrinsic function reference").

use crate::model::{Object, Value};

/// The attribute of a `Fn::GetAtt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute<'a> {
    /// A name, possibly with dots: `Arn`, `Outputs.QueueArn`.
    Name(&'a str),
    /// Given by another function; CloudFormation allows `Ref` here.
    Computed(&'a Value),
}

/// A view of an object that is an intrinsic function with references in it. Functions that only
/// combine their arguments (`Fn::Join`, `Fn::Select`…) are ordinary objects here: references in
/// them are found by walking on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intrinsic<'a> {
    /// `Ref`: a resource, a parameter or a pseudo parameter.
    Ref(&'a str),
    /// `Fn::GetAtt`, as a list or as a text with a dot.
    GetAtt(&'a str, Attribute<'a>),
    /// `Fn::Sub`, as a text or as a list of the text and its own variables.
    Sub(&'a str, Option<&'a Object>),
    /// `Fn::If`: a condition's name and the values for true and false.
    If(&'a str, &'a [Value]),
    /// `Fn::FindInMap`: the map's name and the arguments after it.
    FindInMap(&'a str, &'a [Value]),
    /// `Fn::ImportValue`: the export's name, which may be computed.
    ImportValue(&'a Value),
    /// `Fn::GetStackOutput`: another stack's name and the key of one of its outputs; the whole
    /// argument comes third, since `Region` and `RoleArn` may stand in it too.
    GetStackOutput(&'a Value, &'a str, &'a Object),
}

impl<'a> Intrinsic<'a> {
    /// Reads an object as a function. Returns `None` for ordinary objects, and for functions
    /// with malformed arguments, which are then compared as they are written.
    pub fn of(object: &'a Object) -> Option<Self> {
        let (key, argument) = object.single()?;
        Some(match (key.as_str(), argument) {
            ("Ref", Value::String(name)) => Self::Ref(name),
            ("Fn::GetAtt", Value::String(text)) => {
                let (resource, attribute) = text.split_once('.')?;
                Self::GetAtt(resource, Attribute::Name(attribute))
            }
            ("Fn::GetAtt", Value::Array(items)) => match items.as_slice() {
                [Value::String(resource), Value::String(attribute)] => {
                    Self::GetAtt(resource, Attribute::Name(attribute))
                }
                [Value::String(resource), computed @ Value::Object(_)] => {
                    Self::GetAtt(resource, Attribute::Computed(computed))
                }
                _ => return None,
            },
            ("Fn::Sub", Value::String(text)) => Self::Sub(text, None),
            ("Fn::Sub", Value::Array(items)) => match items.as_slice() {
                [Value::String(text)] => Self::Sub(text, None),
                [Value::String(text), Value::Object(variables)] => Self::Sub(text, Some(variables)),
                _ => return None,
            },
            ("Fn::If", Value::Array(items)) => match items.as_slice() {
                [Value::String(condition), branches @ ..] => Self::If(condition, branches),
                _ => return None,
            },
            ("Fn::FindInMap", Value::Array(items)) => match items.as_slice() {
                [Value::String(map), keys @ ..] => Self::FindInMap(map, keys),
                _ => return None,
            },
            ("Fn::ImportValue", name) => Self::ImportValue(name),
            ("Fn::GetStackOutput", Value::Object(arguments)) => Self::GetStackOutput(
                arguments.get("StackName")?,
                arguments.get("OutputName")?.as_str()?,
                arguments,
            ),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::json;

    fn read(text: &str, check: impl Fn(Option<Intrinsic<'_>>)) {
        let value = json::parse(text).unwrap();
        check(Intrinsic::of(value.as_object().unwrap()));
    }

    #[test]
    fn an_object_with_a_second_key_is_no_function() {
        read(r#"{"Ref":"main","Repo":"x"}"#, |found| assert_eq!(found, None));
    }

    #[test]
    fn an_attribute_is_the_same_as_text_and_as_list() {
        for text in
            [r#"{"Fn::GetAtt":"X.Endpoint.Port"}"#, r#"{"Fn::GetAtt":["X","Endpoint.Port"]}"#]
        {
            read(text, |found| {
                assert_eq!(found, Some(Intrinsic::GetAtt("X", Attribute::Name("Endpoint.Port"))));
            });
        }
    }

    #[test]
    fn a_ref_to_something_that_is_not_a_name_is_no_function() {
        read(r#"{"Ref":{"a":1}}"#, |found| assert_eq!(found, None));
    }
}
