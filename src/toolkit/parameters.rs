//! Values that parameters will have.
//!
//! A deployment gives those that the app sets; every other parameter keeps the value that it has
//! in the stack, or takes its default (as the CDK CLI does). Where what is deployed was read from
//! an account, the values of the stacks as they are now follow from that; otherwise every
//! resource that refers to a parameter would look changed. A deployment that keeps no values
//! (`--no-previous-parameters`) lets what nobody gives take its default.

use std::collections::BTreeMap;

use super::detect::Sides;
use crate::model::{Stack, StackName, Text, Value};

/// What becomes of parameters that nobody gives a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Previous {
    /// They keep the values that they have.
    Kept,
    /// They take their defaults. In nested stacks they keep their values all the same: only their
    /// parents say something of them.
    Forgotten,
}

/// Fills in the values of parameters of the stacks as they are now, if the deployed side came
/// from an account.
pub(super) fn complete(sides: &mut Sides, kept: Previous) {
    if sides.account.is_none() {
        return;
    }
    let deployed: BTreeMap<&StackName, &Stack> =
        sides.deployed.iter().map(|stack| (&stack.name, stack)).collect();
    for stack in &mut sides.local {
        let given = sides.properties.get(&stack.name).map(|one| &one.parameters);
        let is_nested = stack.name.as_str().contains('/');
        let keeps = kept == Previous::Kept || is_nested;
        let before = deployed.get(&stack.name).copied().filter(|_| keeps);
        let Some(declared) = stack.template.section("Parameters") else { continue };
        let mut values = BTreeMap::new();
        for (name, declaration) in declared.iter() {
            let known = stack.parameters.get(name).cloned();
            let given = given.and_then(|given| given.get(name.as_str())).map(Text::from);
            let previous = before.and_then(|before| previous(before, name, declaration));
            let value = known.or(given).or(previous).or_else(|| default(declaration));
            values.extend(value.map(|value| (name.clone(), value)));
        }
        stack.parameters = values;
    }
}

/// The value that a parameter has in the deployed stack, if it is declared there with the same
/// type.
fn previous(before: &Stack, name: &Text, declaration: &Value) -> Option<Text> {
    let there = before.template.section("Parameters")?.get(name)?;
    let kind =
        |declaration: &Value| declaration.as_object()?.get("Type")?.as_str().map(str::to_owned);
    if kind(there) != kind(declaration) {
        return None;
    }
    before.parameters.get(name).cloned()
}

/// The default, unless it is the name of a value that is kept elsewhere.
fn default(declaration: &Value) -> Option<Text> {
    let declaration = declaration.as_object()?;
    if declaration.get("Type")?.as_str()?.starts_with("AWS::SSM::Parameter::") {
        return None;
    }
    match declaration.get("Default")? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string().as_str().into()),
        Value::Bool(flag) => Some(if *flag { "true".into() } else { "false".into() }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeployedEnvironment, Environment};
    use crate::template;

    fn stack(parameters: &str) -> Stack {
        let text = format!(r#"{{"Parameters": {{{parameters}}}, "Resources": {{}}}}"#);
        Stack::new("A", template::parse(text.as_bytes()).unwrap())
    }

    fn completed(deployed: Stack, local: Stack, kept: Previous) -> BTreeMap<Text, Text> {
        let environment = Environment::new("111111111111", "eu-west-1");
        let account = DeployedEnvironment { environment, stacks: Vec::new(), empty: Vec::new() };
        let mut sides = Sides {
            deployed: vec![deployed],
            local: vec![local],
            account: Some(account),
            ..Sides::default()
        };
        complete(&mut sides, kept);
        sides.local.remove(0).parameters
    }

    #[test]
    fn a_parameter_keeps_the_value_that_it_has_and_a_new_one_takes_its_default() {
        let mut deployed = stack(r#""Kept": {"Type": "String", "Default": "d"}"#);
        deployed.parameters.insert("Kept".into(), "mine".into());
        let local = stack(
            r#""Kept": {"Type": "String", "Default": "d"}, "New": {"Type": "Number", "Default": 5}"#,
        );
        let found = completed(deployed, local, Previous::Kept);
        assert_eq!(found.get("Kept").map(Text::as_str), Some("mine"));
        assert_eq!(found.get("New").map(Text::as_str), Some("5"));
    }

    #[test]
    fn a_value_that_is_hidden_or_of_another_type_is_not_made_up() {
        let mut deployed = stack(r#""Was": {"Type": "Number"}, "Secret": {"Type": "String"}"#);
        deployed.parameters.insert("Was".into(), "5".into());
        let local = stack(r#""Was": {"Type": "String"}, "Secret": {"Type": "String"}"#);
        assert!(completed(deployed, local, Previous::Kept).is_empty());
    }

    #[test]
    fn without_previous_values_a_parameter_takes_its_default_unless_a_parent_gives_it() {
        let declared = r#""Was": {"Type": "String", "Default": "d"}, "Bare": {"Type": "String"}"#;
        let mut deployed = stack(declared);
        deployed.parameters.insert("Was".into(), "mine".into());
        deployed.parameters.insert("Bare".into(), "mine".into());
        let found = completed(deployed.clone(), stack(declared), Previous::Forgotten);
        assert_eq!(found.get("Was").map(Text::as_str), Some("d"));
        assert_eq!(found.get("Bare"), None);
        let mut local = stack(declared);
        (deployed.name, local.name) = ("A/Nested".into(), "A/Nested".into());
        let found = completed(deployed, local, Previous::Forgotten);
        assert_eq!(found.get("Was").map(Text::as_str), Some("mine"));
    }
}
