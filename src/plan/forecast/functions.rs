//! What functions and conditions come to, as far as their arguments are known.

use super::evaluate::{Reader, Unchanged};
use super::symbol::{Piece, Symbol, joined};
use crate::model::{Object, Value};
use crate::template::{Segment, parse_sub};

impl Reader<'_, '_> {
    pub(super) fn sub(&self, site: usize, argument: &Value) -> Symbol {
        let nothing = Object::new();
        let (text, own) = match argument {
            Value::String(text) => (text, &nothing),
            Value::Array(items) => match items.as_slice() {
                [Value::String(text)] => (text, &nothing),
                [Value::String(text), Value::Object(own)] => (text, own),
                _ => return self.unknown(site, "Fn::Sub", argument),
            },
            _ => return self.unknown(site, "Fn::Sub", argument),
        };
        let Ok(segments) = parse_sub(text) else {
            return self.unknown(site, "Fn::Sub", argument);
        };
        let mut pieces = Vec::new();
        for segment in segments {
            let symbol = match segment {
                Segment::Literal(literal) => Some(self.literal(literal)),
                Segment::Variable(name) => match (own.get(name), name.split_once('.')) {
                    (Some(value), _) => self.value(site, value),
                    (None, Some((id, attribute))) => Some(self.attribute(site, id, attribute)),
                    (None, None) => self.name(site, name),
                },
            };
            pieces.extend(symbol.unwrap_or(Symbol::Null).pieces());
        }
        Symbol::Text(joined(pieces.into_iter()))
    }

    pub(super) fn join(
        &self,
        site: usize,
        argument: &Value,
        separator: &Value,
        list: &Value,
    ) -> Symbol {
        let (separator, list) = (self.value(site, separator), self.value(site, list));
        let separator = separator.as_ref().and_then(Symbol::known);
        let (Some(separator), Some(Symbol::List(items))) = (separator, list) else {
            return self.unknown(site, "Fn::Join", argument);
        };
        let mut pieces = Vec::new();
        for (at, item) in items.into_iter().enumerate() {
            if at > 0 {
                pieces.push(Piece::Literal(separator.to_owned()));
            }
            pieces.extend(item.pieces());
        }
        Symbol::Text(joined(pieces.into_iter()))
    }

    pub(super) fn select(
        &self,
        site: usize,
        argument: &Value,
        index: &Value,
        list: &Value,
    ) -> Symbol {
        let index = self.value(site, index);
        let at = index.as_ref().and_then(Symbol::known).and_then(|text| text.parse::<usize>().ok());
        match (at, self.value(site, list)) {
            (Some(at), Some(Symbol::List(mut items))) if at < items.len() => items.swap_remove(at),
            _ => self.unknown(site, "Fn::Select", argument),
        }
    }

    pub(super) fn split(
        &self,
        site: usize,
        argument: &Value,
        separator: &Value,
        text: &Value,
    ) -> Symbol {
        let (separator, text) = (self.value(site, separator), self.value(site, text));
        let known = separator.as_ref().and_then(Symbol::known);
        match known.zip(text.as_ref().and_then(Symbol::known)) {
            Some((separator, text)) if !separator.is_empty() => {
                Symbol::List(text.split(separator).map(|item| self.literal(item)).collect())
            }
            _ => self.unknown(site, "Fn::Split", argument),
        }
    }

    pub(super) fn find_in_map(
        &self,
        site: usize,
        map: &Value,
        rest: &[Value],
        argument: &Value,
    ) -> Symbol {
        let mut found = self.universe.sites[site].template.sections.get("Mappings");
        for key in std::iter::once(map).chain(rest.iter().take(2)) {
            let key = self.value(site, key);
            let Some(key) = key.as_ref().and_then(Symbol::known) else {
                return self.unknown(site, "Fn::FindInMap", argument);
            };
            found = found.and_then(|found| found.get(key));
        }
        let found = found.or_else(|| rest.get(2)?.get("DefaultValue"));
        found
            .and_then(|found| self.value(site, found))
            .unwrap_or_else(|| self.unknown(site, "Fn::FindInMap", argument))
    }

    /// What an export comes to, given its name.
    pub(super) fn import(&self, name: Symbol) -> Option<Symbol> {
        let found = name.known().and_then(|known| self.exported(known));
        found.or_else(|| Some(Symbol::call("Fn::ImportValue", vec![name])))
    }

    fn exported(&self, name: &str) -> Option<Symbol> {
        if let [(site, key)] = self.universe.exporters(name) {
            let value = self.universe.output(*site, key)?.get("Value")?;
            return self.deeper(|| self.value(*site, value));
        }
        if let Some(before) = self.before {
            return Reader::new(before, &Unchanged).exported(name);
        }
        let exports = self.universe.sites.iter().filter_map(|site| site.now);
        let mut exports = exports.flat_map(|now| &now.exports);
        exports.find(|export| export.name == name).map(|export| self.literal(&export.value))
    }

    /// The stack and the key that `Fn::GetStackOutput` names, if it is one of this environment.
    pub(super) fn stack_output_of<'v>(
        &self,
        site: usize,
        argument: &'v Value,
    ) -> Option<(usize, &'v str)> {
        let text = |key: &str| {
            let value = self.value(site, argument.get(key)?)?;
            value.known().map(str::to_owned)
        };
        if argument.get("RoleArn").is_some() {
            return None;
        }
        let is_elsewhere = argument.get("Region").is_some_and(|_| {
            text("Region").as_deref() != Some(self.universe.environment.region.as_str())
        });
        let stack = text("StackName").filter(|_| !is_elsewhere)?;
        Some((self.universe.at_own_name(&stack)?, argument.get("OutputName")?.as_str()?))
    }

    pub(super) fn stack_output(&self, site: usize, argument: &Value) -> Option<Symbol> {
        let found = self.stack_output_of(site, argument).and_then(|(at, key)| {
            match self.universe.output(at, key) {
                Some(output) => self.deeper(|| self.value(at, output.get("Value")?)),
                None => {
                    let before = self.before?;
                    let at = before.at(self.universe.sites[at].name)?;
                    let value = before.output(at, key)?.get("Value")?;
                    Reader::new(before, &Unchanged).value(at, value)
                }
            }
        });
        found.or_else(|| Some(self.unknown(site, "Fn::GetStackOutput", argument)))
    }

    /// Whether a resource or an output with this body is there at all; `None` if nobody knows.
    pub(super) fn is_active(&self, site: usize, body: &Object) -> Option<bool> {
        match body.get("Condition").and_then(Value::as_str) {
            Some(name) => self.condition(site, name),
            None => Some(true),
        }
    }

    /// Whether a condition is met; `None` if nobody knows.
    pub(super) fn condition(&self, site: usize, name: &str) -> Option<bool> {
        let definition = self.universe.sites[site].template.section("Conditions")?.get(name)?;
        let truth = self.deeper(|| {
            self.truth(site, definition)
                .map(|truth| Symbol::literal(if truth { "true" } else { "false" }))
        })?;
        truth.known().and_then(|text| text.parse().ok())
    }

    fn truth(&self, site: usize, value: &Value) -> Option<bool> {
        let (key, argument) = value.as_object()?.single()?;
        let items = argument.as_array().unwrap_or_default();
        match (key.as_str(), items) {
            ("Fn::Equals", [left, right]) => {
                let (left, right) = (self.value(site, left)?, self.value(site, right)?);
                match (left.known(), right.known()) {
                    (Some(left), Some(right)) => Some(left == right),
                    _ => (left == right).then_some(true),
                }
            }
            ("Fn::Not", [only]) => self.truth(site, only).map(|truth| !truth),
            ("Fn::And", _) => self.all(site, items, true),
            ("Fn::Or", _) => self.all(site, items, false),
            ("Condition", _) => self.condition(site, argument.as_str()?),
            _ => None,
        }
    }

    /// `wanted` if all items are that; the opposite as soon as one is.
    fn all(&self, site: usize, items: &[Value], wanted: bool) -> Option<bool> {
        let found: Vec<Option<bool>> = items.iter().map(|item| self.truth(site, item)).collect();
        if found.contains(&Some(!wanted)) {
            Some(!wanted)
        } else {
            found.iter().all(Option::is_some).then_some(wanted)
        }
    }

    /// A condition whose outcome is open: the same definition has the same outcome.
    pub(super) fn definition(&self, site: usize, name: &str) -> Symbol {
        let conditions = self.universe.sites[site].template.section("Conditions");
        let definition = conditions.and_then(|all| all.get(name));
        let symbol = definition.and_then(|value| self.deeper(|| self.expanded(site, value)));
        symbol.unwrap_or_else(|| self.literal(name))
    }

    fn expanded(&self, site: usize, value: &Value) -> Option<Symbol> {
        match value.as_object().and_then(Object::single) {
            Some((key, Value::String(name))) if key == "Condition" => {
                Some(self.definition(site, name))
            }
            Some((key, Value::Array(items))) if key != "Fn::Equals" => {
                let items = items.iter().filter_map(|item| self.expanded(site, item)).collect();
                Some(Symbol::call(key, items))
            }
            _ => self.value(site, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::evaluate::{Site, Universe};
    use super::*;
    use crate::model::{Environment, Stack};
    use crate::template;

    fn evaluate(template: &str, value: &str) -> Option<Symbol> {
        let environment = Environment::new("111111111111", "eu-west-1");
        let mut stack = Stack::new("Shop", template::parse(template.as_bytes()).unwrap());
        stack.parameters = BTreeMap::from([("P".into(), "p".into()), ("S".into(), "****".into())]);
        let universe = Universe::new(&environment, vec![(Site::new(&stack, None), None)], false);
        let value = template::json::parse(value).unwrap();
        Reader::new(&universe, &Unchanged).value(0, &value)
    }

    const TEMPLATE: &str = r#"{"Parameters":{"P":{"Type":"String"},"S":{"Type":"String"},
        "L":{"Type":"CommaDelimitedList","Default":"a, b"}},
        "Mappings":{"M":{"eu-west-1":{"k":[1,2]}}},
        "Conditions":{"IsP":{"Fn::Equals":[{"Ref":"P"},"p"]},
            "Open":{"Fn::Equals":[{"Ref":"S"},"x"]},
            "Both":{"Fn::And":[{"Condition":"Open"},{"Fn::Not":[{"Condition":"IsP"}]}]}},
        "Resources":{"Q":{"Type":"AWS::SQS::Queue","Properties":{"QueueName":"q"}}}}"#;

    fn known(value: &str) -> Option<String> {
        evaluate(TEMPLATE, value)?.known().map(str::to_owned)
    }

    #[test]
    fn what_is_known_is_worked_out() {
        for (value, expected) in [
            (r#"{"Fn::Sub":"${AWS::StackName}-${P}"}"#, "Shop-p"),
            (
                r#"{"Fn::Join":["-",[{"Ref":"AWS::Region"},{"Ref":"AWS::NoValue"},30]]}"#,
                "eu-west-1-30",
            ),
            (r#"{"Fn::Select":[1,{"Ref":"L"}]}"#, "b"),
            (r#"{"Fn::Select":["0",{"Fn::Split":["/","x/y"]}]}"#, "x"),
            (r#"{"Fn::If":["IsP","yes","no"]}"#, "yes"),
            (r#"{"Fn::If":["Both","yes","no"]}"#, "no"),
            (r#"{"Fn::Select":[0,{"Fn::FindInMap":["M",{"Ref":"AWS::Region"},"k"]}]}"#, "1"),
            (r#"{"Fn::GetAtt":["Q","QueueName"]}"#, "q"),
        ] {
            assert_eq!(known(value).as_deref(), Some(expected), "{value}");
        }
    }

    #[test]
    fn what_is_open_stays_a_function_that_equals_itself_only() {
        let open = [
            r#"{"Ref":"Q"}"#,
            r#"{"Fn::GetAtt":["Q","Arn"]}"#,
            r#"{"Ref":"S"}"#,
            r#"{"Fn::If":["Open",1,2]}"#,
            r#"{"Fn::ImportValue":"else"}"#,
            r#"{"Fn::GetAZs":""}"#,
        ];
        for (at, one) in open.iter().enumerate() {
            assert_eq!(known(one), None, "{one}");
            for (other_at, other) in open.iter().enumerate() {
                let same = evaluate(TEMPLATE, one) == evaluate(TEMPLATE, other);
                assert_eq!(same, at == other_at, "{one} {other}");
            }
        }
    }
}
