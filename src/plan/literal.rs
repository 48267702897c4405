//! Names that are expressions: what they come to in a stack.

use crate::model::{Environment, Object, Value};
use crate::template::{Intrinsic, Segment, parse_sub};

/// Where an expression stands.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) environment: &'a Environment,
    /// The name of the stack as CloudFormation has it.
    pub(super) stack_name: &'a str,
    /// Values of parameters, as far as they are known.
    pub(super) parameter: &'a dyn Fn(&str) -> Option<String>,
}

impl Context<'_> {
    /// Returns the text that an expression comes to, if nothing but texts, parameters and pseudo
    /// parameters of known value take part.
    pub(super) fn evaluate(&self, value: &Value) -> Option<String> {
        let object = match value {
            Value::String(text) => return Some(text.to_string()),
            Value::Object(object) => object,
            _ => return None,
        };
        match Intrinsic::of(object) {
            Some(Intrinsic::Ref(name)) => self.name(name),
            Some(Intrinsic::Sub(text, variables)) => self.sub(text, variables),
            _ => self.join(object),
        }
    }

    fn name(&self, name: &str) -> Option<String> {
        match name {
            "AWS::StackName" => Some(self.stack_name.to_owned()),
            "AWS::Region" => Some(self.environment.region.to_string()),
            "AWS::AccountId" => Some(self.environment.account.to_string()),
            _ => (self.parameter)(name),
        }
    }

    fn sub(&self, text: &str, variables: Option<&Object>) -> Option<String> {
        let mut whole = String::new();
        for segment in parse_sub(text).ok()? {
            match segment {
                Segment::Literal(literal) => whole.push_str(literal),
                Segment::Variable(name) => match variables.and_then(|given| given.get(name)) {
                    Some(value) => whole.push_str(&self.evaluate(value)?),
                    None => whole.push_str(&self.name(name)?),
                },
            }
        }
        Some(whole)
    }

    fn join(&self, object: &Object) -> Option<String> {
        let (key, argument) = object.single()?;
        let [separator, Value::Array(parts)] = argument.as_array()? else { return None };
        let separator = separator.as_str().filter(|_| key == "Fn::Join")?;
        let parts: Option<Vec<String>> = parts.iter().map(|part| self.evaluate(part)).collect();
        Some(parts?.join(separator))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::json;

    fn evaluate(text: &str) -> Option<String> {
        let environment = Environment::new("111111111111", "us-east-1");
        let parameter = |name: &str| (name == "P").then(|| "p".to_owned());
        let context =
            Context { environment: &environment, stack_name: "Web", parameter: &parameter };
        context.evaluate(&json::parse(text).unwrap())
    }

    #[test]
    fn the_name_of_an_export_may_be_put_together() {
        assert_eq!(evaluate(r#""a""#).unwrap(), "a");
        assert_eq!(evaluate(r#"{"Fn::Sub":"${AWS::StackName}:x"}"#).unwrap(), "Web:x");
        let join =
            r#"{"Fn::Join":["-",[{"Ref":"AWS::Region"},{"Fn::Sub":["${V}",{"V":{"Ref":"P"}}]}]]}"#;
        assert_eq!(evaluate(join).unwrap(), "us-east-1-p");
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        assert_eq!(evaluate(r#"{"Ref":"Unknown"}"#), None);
        assert_eq!(evaluate(r#"{"Fn::GetAtt":["X","Arn"]}"#), None);
        assert_eq!(evaluate(r#"{"Fn::Select":[0,["a"]]}"#), None);
    }
}
