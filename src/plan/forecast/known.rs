//! What deployed templates say of resources, as plain values: what a deployment would set.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::evaluate::{Reader, Site, Unchanged, Universe};
use super::symbol::{Piece, Symbol, Thing};
use crate::model::{DeployedEnvironment, Object, Text, Value};
use crate::registry::Pointer;

/// What CloudFormation puts values of other services in the place of.
const DYNAMIC: &str = "{{resolve:";

/// The properties that a resource is meant to have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::plan) struct Properties {
    /// What is known of them.
    pub(in crate::plan) value: Value,
    /// Left out, since their values are not known. Indices are those of the evaluated lists.
    pub(in crate::plan) unknown: Vec<Pointer>,
    /// Left out, since they hold something that nobody may see.
    pub(in crate::plan) secret: Vec<Pointer>,
}

/// Gives an attribute of a resource, named by stack and logical ID, if it is known; `Ref` is what
/// `Ref` gives where that is not the physical ID.
pub(in crate::plan) type Attributes<'a> = dyn Fn(&str, &str, &str) -> Option<Value> + 'a;

/// Evaluates deployed templates.
pub(in crate::plan) struct Templates<'a> {
    universe: Universe<'a>,
}

impl<'a> Templates<'a> {
    pub(in crate::plan) fn new(deployed: &'a DeployedEnvironment) -> Self {
        let sites = deployed.stacks.iter();
        let sites = sites.map(|now| (Site::new(&now.stack, Some(now)), now.stack.parent.as_ref()));
        Self { universe: Universe::new(&deployed.environment, sites.collect(), false) }
    }

    /// Returns what a template says of the properties of a resource; nothing if it has no such
    /// resource.
    pub(in crate::plan) fn properties(
        &self,
        stack: &str,
        id: &str,
        attributes: &Attributes<'_>,
    ) -> Properties {
        let nothing =
            || Properties { value: Value::Object(Object::new()), ..Properties::default() };
        let Some(at) = self.universe.at(stack) else { return nothing() };
        let Some(body) = self.universe.properties(at, id) else { return nothing() };
        let reader = Reader::new(&self.universe, &Unchanged).guarded();
        let mut plain = Plain { attributes, unknown: Vec::new(), secret: Vec::new() };
        let symbol = reader.value(at, body).unwrap_or(Symbol::Map([].into()));
        let value = match plain.value(&symbol, &mut Vec::new()) {
            Found::Known(value @ Value::Object(_)) => value,
            _ => Value::Object(Object::new()),
        };
        Properties { value, unknown: plain.unknown, secret: plain.secret }
    }

    /// Returns the text that a template gives a property of a resource, if it is known.
    pub(in crate::plan) fn output(
        &self,
        stack: &str,
        key: &str,
    ) -> Option<(String, String, String)> {
        let at = self.universe.at(stack)?;
        let value = self.universe.output(at, key)?.get("Value")?;
        let reader = Reader::new(&self.universe, &Unchanged).guarded();
        match reader.value(at, value)? {
            Symbol::Text(pieces) => match pieces.as_slice() {
                [Piece::Of(Thing { stack, id, .. }, Some(attribute))] => {
                    Some((stack.to_string(), id.to_string(), attribute.to_string()))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// What a symbol comes to.
enum Found {
    Known(Value),
    Unknown,
    Secret,
}

struct Plain<'a> {
    attributes: &'a Attributes<'a>,
    unknown: Vec<Pointer>,
    secret: Vec<Pointer>,
}

impl Plain<'_> {
    /// Returns the value of a symbol, without the members of objects that are not known. A list is
    /// known if all of its elements are something.
    fn value(&mut self, symbol: &Symbol, path: &mut Vec<Text>) -> Found {
        let found = match symbol {
            Symbol::Null => Found::Known(Value::Null),
            Symbol::Text(pieces) => self.text(pieces),
            Symbol::List(items) => return self.list(items, path),
            Symbol::Map(members) => {
                let mut object = Object::new();
                for (key, member) in members {
                    path.push(key.clone());
                    if let Found::Known(value) = self.value(member, path) {
                        object.insert(key.clone(), value);
                    }
                    path.pop();
                }
                return Found::Known(Value::Object(object));
            }
        };
        self.noted(found, path)
    }

    fn noted(&mut self, found: Found, path: &[Text]) -> Found {
        let at = || Pointer::from_tokens(path.iter().cloned());
        match found {
            Found::Known(_) => {}
            Found::Unknown => self.unknown.push(at()),
            Found::Secret => self.secret.push(at()),
        }
        found
    }

    fn list(&mut self, items: &[Symbol], path: &mut Vec<Text>) -> Found {
        let before = (self.unknown.len(), self.secret.len());
        let mut values = Vec::with_capacity(items.len());
        let mut worst = None;
        for (at, item) in items.iter().enumerate() {
            path.push(at.to_string().into());
            match (self.value(item, path), &worst) {
                (Found::Known(value), _) => values.push(value),
                (Found::Unknown, Some(Found::Secret)) => {}
                (found, _) => worst = Some(found),
            }
            path.pop();
        }
        match worst {
            None => Found::Known(Value::Array(values)),
            // Without one of its elements a list cannot be compared: it is left out as a whole.
            Some(worst) => {
                let hides = matches!(worst, Found::Secret) || self.secret.len() > before.1;
                self.unknown.truncate(before.0);
                self.secret.truncate(before.1);
                self.noted(if hides { Found::Secret } else { Found::Unknown }, path)
            }
        }
    }

    fn text(&self, pieces: &[Piece]) -> Found {
        if let [piece] = pieces {
            return self.piece(piece);
        }
        let mut text = String::new();
        let mut is_open = false;
        for piece in pieces {
            match self.piece(piece) {
                Found::Known(value) => match scalar(&value) {
                    Some(piece) => text.push_str(&piece),
                    None => is_open = true,
                },
                Found::Unknown => is_open = true,
                Found::Secret => return Found::Secret,
            }
        }
        // The reference may be put together.
        match (text.contains(DYNAMIC), is_open) {
            (true, _) => Found::Secret,
            (false, true) => Found::Unknown,
            (false, false) => Found::Known(Value::String(text.as_str().into())),
        }
    }

    fn piece(&self, piece: &Piece) -> Found {
        let known = |value: Option<Value>| value.map_or(Found::Unknown, Found::Known);
        match piece {
            Piece::Literal(text) if text.contains(DYNAMIC) => Found::Secret,
            Piece::Literal(text) => Found::Known(Value::String(text.as_str().into())),
            // A physical ID of several parts is not what `Ref` gives.
            Piece::Of(Thing { stack, id, physical, .. }, None) => known(
                physical
                    .clone()
                    .filter(|id| !id.contains('|'))
                    .map(Value::String)
                    .or_else(|| (self.attributes)(stack, id, "Ref")),
            ),
            Piece::Of(thing, Some(attribute)) => {
                known((self.attributes)(&thing.stack, &thing.id, attribute))
            }
            Piece::Call(name, _) if name == "hidden" => Found::Secret,
            Piece::Call(name, arguments) => self.call(name, arguments),
        }
    }

    /// Works a function out whose arguments have become known.
    fn call(&self, name: &str, arguments: &[Symbol]) -> Found {
        let mut inner = Plain { unknown: Vec::new(), secret: Vec::new(), ..*self };
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match inner.value(argument, &mut Vec::new()) {
                Found::Known(value) => values.push(value),
                other => return other,
            }
        }
        if !inner.secret.is_empty() {
            return Found::Secret;
        }
        if !inner.unknown.is_empty() {
            return Found::Unknown;
        }
        let [argument] = values.as_slice() else { return Found::Unknown };
        result(name, argument).map_or(Found::Unknown, Found::Known)
    }
}

/// Returns what a function comes to. What depends on more than its argument does not come to
/// anything.
fn result(name: &str, argument: &Value) -> Option<Value> {
    let items = argument.as_array().unwrap_or_default();
    match (name, items) {
        ("Fn::Base64", _) => {
            Some(Value::String(STANDARD.encode(scalar(argument)?.as_bytes()).into()))
        }
        ("Fn::Split", [separator, text]) => {
            let (separator, text) = (separator.as_str()?, text.as_str()?);
            let parts = text.split(separator).map(|part| Value::String(part.into()));
            (!separator.is_empty()).then(|| Value::Array(parts.collect()))
        }
        ("Fn::Select", [at, Value::Array(items)]) => {
            items.get(scalar(at)?.parse::<usize>().ok()?).cloned()
        }
        ("Fn::Join", [separator, Value::Array(items)]) => {
            let texts = items.iter().map(scalar).collect::<Option<Vec<_>>>()?;
            Some(Value::String(texts.join(separator.as_str()?).into()))
        }
        _ => None,
    }
}

/// The text of a scalar.
fn scalar(value: &Value) -> Option<String> {
    Some(match value {
        Value::String(text) => text.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Null => String::new(),
        Value::Array(_) | Value::Object(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::{
        DeployedResource, DeployedStack, Environment, Stack, StackOptions, StackStatus,
    };
    use crate::template::{self, json};

    const TEMPLATE: &str = r#"{
        "Parameters": {"Password": {"Type": "String", "NoEcho": true}},
        "Resources": {
            "Q": {"Type": "AWS::SQS::Queue", "Properties": {}},
            "F": {"Type": "AWS::Lambda::Function", "Properties": {
                "MemorySize": 128,
                "Role": {"Fn::GetAtt": ["R", "Arn"]},
                "Environment": {"Variables": {
                    "URL": {"Ref": "Q"},
                    "ARN": {"Fn::GetAtt": ["Q", "Arn"]},
                    "NAME": {"Fn::Select": [5, {"Fn::Split": [":", {"Fn::GetAtt": ["Q", "Arn"]}]}]},
                    "PASSWORD": {"Fn::Sub": "x${Password}"},
                    "TOKEN": "{{resolve:secretsmanager:token}}",
                    "BUILT": {"Fn::Join": ["", ["{{resolve:ssm:", {"Ref": "Q"}, "}}"]]},
                    "CODED": {"Fn::Base64": {"Ref": "Password"}},
                    "DATA": {"Fn::Base64": "a"}
                }},
                "Layers": ["one", {"Fn::GetAtt": ["R", "Arn"]}],
                "Secrets": [{"Name": "n", "Value": "{{resolve:ssm-secure:x}}"}, {"Ref": "AWS::NoValue"}]
            }},
            "R": {"Type": "AWS::IAM::Role", "Properties": {}}
        },
        "Outputs": {"A": {"Value": {"Fn::GetAtt": ["R", "Arn"]}}}
    }"#;

    fn deployed() -> DeployedEnvironment {
        let mut stack = Stack::new("Shop", template::parse(TEMPLATE.as_bytes()).unwrap());
        stack.parameters = BTreeMap::from([("Password".into(), "****".into())]);
        let resource = |kind: &str, id: &str| DeployedResource {
            resource_type: kind.into(),
            physical_id: Some(id.into()),
            status: "CREATE_COMPLETE".into(),
            changed_at: None,
        };
        let stack = DeployedStack {
            id: "arn:aws:cloudformation:eu-west-1:1:stack/Shop/1".into(),
            status: StackStatus("CREATE_COMPLETE".into()),
            stack,
            body: Text::default(),
            resources: BTreeMap::from([
                ("Q".into(), resource("AWS::SQS::Queue", "https://q")),
                ("F".into(), resource("AWS::Lambda::Function", "f")),
                ("R".into(), resource("AWS::IAM::Role", "r")),
            ]),
            exports: Vec::new(),
            outputs: BTreeMap::new(),
            has_policy: false,
            options: StackOptions::default(),
        };
        let environment = Environment::new("111111111111", "eu-west-1");
        DeployedEnvironment { environment, stacks: vec![stack], empty: Vec::new() }
    }

    fn texts(pointers: &[Pointer]) -> Vec<String> {
        pointers.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn references_are_resolved_and_what_is_open_or_secret_is_left_out() {
        let deployed = deployed();
        let known = |_: &str, id: &str, name: &str| {
            ((id, name) == ("Q", "Arn")).then(|| Value::from("arn:aws:sqs:eu-west-1:1:q"))
        };
        let found = Templates::new(&deployed).properties("Shop", "F", &known);
        assert_eq!(
            json::to_compact(&found.value),
            r#"{"Environment":{"Variables":{"ARN":"arn:aws:sqs:eu-west-1:1:q","DATA":"YQ==","NAME":"q","URL":"https://q"}},"MemorySize":"128","Secrets":[{"Name":"n"}]}"#
        );
        assert_eq!(texts(&found.unknown), ["/Layers", "/Role"]);
        assert_eq!(
            texts(&found.secret),
            [
                "/Environment/Variables/BUILT",
                "/Environment/Variables/CODED",
                "/Environment/Variables/PASSWORD",
                "/Environment/Variables/TOKEN",
                "/Secrets/0/Value",
            ]
        );
    }

    #[test]
    fn an_output_names_the_attribute_that_it_shows() {
        let deployed = deployed();
        let found = Templates::new(&deployed).output("Shop", "A");
        assert_eq!(found, Some(("Shop".to_owned(), "R".to_owned(), "Arn".to_owned())));
    }
}
