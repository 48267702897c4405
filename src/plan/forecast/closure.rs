//! What a piece of a deployed template needs to stand in another one.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Object, Template, Text, Value};
use crate::template::{self, Reference};

const RESOURCES: &str = "Resources";
const PARAMETERS: &str = "Parameters";
const CONDITIONS: &str = "Conditions";
const MAPPINGS: &str = "Mappings";

/// Definitions that go from a deployed template into that of the app.
pub(super) struct Closure<'t> {
    deployed: &'t Template,
    app: &'t Template,
    definitions: BTreeMap<(&'static str, Text), Value>,
    outputs: BTreeMap<Text, Value>,
    seen: BTreeSet<(&'static str, Text)>,
    /// Resources of the app that something refers to that was taken over.
    pub(super) shared: BTreeSet<Text>,
}

impl<'t> Closure<'t> {
    pub(super) fn new(deployed: &'t Template, app: &'t Template) -> Self {
        Self {
            deployed,
            app,
            definitions: BTreeMap::new(),
            outputs: BTreeMap::new(),
            seen: BTreeSet::new(),
            shared: BTreeSet::new(),
        }
    }

    /// Takes over an output under a key, with everything that it needs and that the app lacks.
    ///
    /// # Errors
    /// What is something else in the app, as the end of a sentence; then nothing is taken over.
    pub(super) fn output(&mut self, key: Text, output: Value) -> Result<(), String> {
        let before = (self.definitions.clone(), self.seen.clone(), self.shared.clone());
        if let Err(reason) = self.need(&output) {
            (self.definitions, self.seen, self.shared) = before;
            return Err(reason);
        }
        self.outputs.insert(key, output);
        Ok(())
    }

    fn need(&mut self, output: &Value) -> Result<(), String> {
        let mut open = vec![output.clone()];
        while let Some(value) = open.pop() {
            let mut wanted: Vec<(&'static str, Text)> = Vec::new();
            if let Some(name) = value.get("Condition").and_then(Value::as_str) {
                wanted.push((CONDITIONS, name.into()));
            }
            template::visit(&value, &mut |found| match found {
                Reference::Name(name, _) | Reference::Computed(name, _) => {
                    wanted.push((RESOURCES, name.into()));
                }
                Reference::Condition(name) => wanted.push((CONDITIONS, name.into())),
                Reference::Mapping(name) => wanted.push((MAPPINGS, name.into())),
                Reference::Import(_) | Reference::StackOutput(..) => {}
            });
            for (section, name) in wanted {
                if !self.seen.insert((section, name.clone())) {
                    continue;
                }
                let added = match section {
                    RESOURCES => self.name(name)?,
                    _ => self.definition(section, name)?,
                };
                open.extend(added);
            }
        }
        Ok(())
    }

    /// Takes over what a `Ref` names: a resource or a parameter.
    fn name(&mut self, name: Text) -> Result<Option<Value>, String> {
        let there = |template: &Template, section: &str| {
            template.section(section).and_then(|all| all.get(&name)).cloned()
        };
        let is_resource = self.deployed.resource(&name).is_some();
        if name.starts_with("AWS::") {
            return Ok(None);
        }
        let (own, other) =
            if is_resource { (RESOURCES, PARAMETERS) } else { (PARAMETERS, RESOURCES) };
        if there(self.app, other).is_some() {
            return Err(format!("`{name}` is something else in the app"));
        }
        if there(self.app, own).is_some() {
            if is_resource {
                self.shared.insert(name);
            }
            return Ok(None);
        }
        let Some(definition) = there(self.deployed, own) else { return Ok(None) };
        self.definitions.insert((own, name), definition.clone());
        Ok(Some(definition).filter(|_| is_resource))
    }

    fn definition(&mut self, section: &'static str, name: Text) -> Result<Option<Value>, String> {
        let get =
            |template: &Template| template.section(section).and_then(|all| all.get(&name)).cloned();
        let Some(definition) = get(self.deployed) else { return Ok(None) };
        if let Some(own) = get(self.app) {
            if own != definition {
                let what = if section == CONDITIONS { "condition" } else { "mapping" };
                return Err(format!("the {what} `{name}` is another one in the app"));
            }
            // What it is made of may be another one.
            return Ok(Some(definition));
        }
        self.definitions.insert((section, name), definition.clone());
        Ok(Some(definition))
    }

    /// Tells of every value that is taken over.
    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.definitions.values().chain(self.outputs.values())
    }

    /// Returns the resources that are taken over.
    pub(super) fn resources(&self) -> impl Iterator<Item = (&Text, &Value)> {
        let own = self.definitions.iter().filter(|((section, _), _)| *section == RESOURCES);
        own.map(|((_, name), value)| (name, value))
    }

    /// Returns the template of the app with all that is taken over.
    pub(super) fn template(&self) -> Template {
        let mut template = self.app.clone();
        let mut put = |section: &str, name: &Text, value: Value| {
            if !template.sections.contains_key(section) {
                template.sections.insert(section.into(), Value::Object(Object::new()));
            }
            if let Some(Value::Object(all)) = template.sections.get_mut(section) {
                all.insert(name.clone(), value);
            }
        };
        for ((section, name), value) in &self.definitions {
            put(section, name, self.without_absent(value));
        }
        for (key, value) in &self.outputs {
            put("Outputs", key, value.clone());
        }
        template
    }

    /// `DependsOn` names only what is there: it makes no difference to a resource that exists.
    fn without_absent(&self, body: &Value) -> Value {
        let (Value::Object(body), Some(depends_on)) = (body, body.get("DependsOn")) else {
            return body.clone();
        };
        let names = match depends_on {
            Value::Array(items) => items.clone(),
            one => vec![one.clone()],
        };
        let is_there = |name: &Value| {
            name.as_str().is_some_and(|name| {
                self.app.resource(name).is_some()
                    || self.definitions.contains_key(&(RESOURCES, name.into()))
            })
        };
        let mut changed = body.clone();
        let kept: Vec<Value> = names.iter().filter(|name| is_there(name)).cloned().collect();
        if kept.len() < names.len() {
            changed.insert("DependsOn".into(), Value::Array(kept));
        }
        Value::Object(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{json, parse};

    fn taken(deployed: &str, app: &str, key: &str) -> Result<String, String> {
        let (deployed, app) = (parse(deployed.as_bytes()).unwrap(), parse(app.as_bytes()).unwrap());
        let output = deployed.section("Outputs").unwrap().get(key).unwrap().clone();
        let mut closure = Closure::new(&deployed, &app);
        closure.output(key.into(), output)?;
        Ok(json::to_compact(&Value::Object(closure.template().sections)))
    }

    const DEPLOYED: &str = r#"{"Parameters":{"P":{"Type":"String"}},
        "Conditions":{"C":{"Fn::Equals":[{"Ref":"P"},"x"]}},
        "Mappings":{"M":{"a":{"b":"c"}}},
        "Resources":{"Q":{"Type":"T","Condition":"C","DependsOn":["K","Z"],
            "Properties":{"X":{"Fn::GetAtt":["K","Arn"]},"Y":{"Fn::FindInMap":["M","a","b"]}}},
            "K":{"Type":"T"},"Z":{"Type":"T"}},
        "Outputs":{"O":{"Value":{"Ref":"Q"},"Export":{"Name":"n"}}}}"#;

    #[test]
    fn an_output_brings_everything_that_it_needs_and_nothing_else() {
        let found = taken(DEPLOYED, r#"{"Resources":{"W":{"Type":"T"}}}"#, "O").unwrap();
        assert_eq!(
            found,
            r#"{"Resources":{"W":{"Type":"T"},"K":{"Type":"T"},"Q":{"Type":"T","Condition":"C","DependsOn":["K"],"Properties":{"X":{"Fn::GetAtt":["K","Arn"]},"Y":{"Fn::FindInMap":["M","a","b"]}}}},"Conditions":{"C":{"Fn::Equals":[{"Ref":"P"},"x"]}},"Mappings":{"M":{"a":{"b":"c"}}},"Parameters":{"P":{"Type":"String"}},"Outputs":{"O":{"Value":{"Ref":"Q"},"Export":{"Name":"n"}}}}"#
        );
    }

    #[test]
    fn what_the_app_has_is_not_taken_over() {
        let app = r#"{"Resources":{"Q":{"Type":"T","Properties":{"New":1}}}}"#;
        let found = taken(DEPLOYED, app, "O").unwrap();
        assert!(found.starts_with(&app[..app.len() - 1]), "{found}");
        assert!(!found.contains(r#""K""#), "{found}");
    }

    #[test]
    fn what_means_something_else_in_the_app_is_in_the_way() {
        let app = r#"{"Conditions":{"C":{"Fn::Equals":[1,2]}},"Resources":{"W":{"Type":"T"}}}"#;
        let reason = taken(DEPLOYED, app, "O").unwrap_err();
        assert_eq!(reason, "the condition `C` is another one in the app");
        let app = r#"{"Parameters":{"Q":{"Type":"String"}},"Resources":{}}"#;
        let reason = taken(DEPLOYED, app, "O").unwrap_err();
        assert_eq!(reason, "`Q` is something else in the app");
    }
}
