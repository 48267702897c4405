//! What an app asks: the properties of an entry of `missing`, by their kinds.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::Lookup;
use super::error::LookupProblem;
use crate::model::Value;
use crate::template::json;

/// The properties of a query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query<'a> {
    props: &'a BTreeMap<String, Json>,
}

impl<'a> Query<'a> {
    pub(super) fn new(lookup: &Lookup<'a>) -> Self {
        Self { props: lookup.props }
    }

    /// Returns a property that is there; `null` is nothing, as in JavaScript.
    fn some(self, name: &str) -> Option<&'a Json> {
        self.props.get(name).filter(|value| !value.is_null())
    }

    /// Returns a text, or nothing.
    pub(super) fn optional_text(self, name: &str) -> Result<Option<&'a str>, LookupProblem> {
        let text = |value: &'a Json| value.as_str().ok_or_else(|| wrong(name, "is no text"));
        self.some(name).map(text).transpose()
    }

    /// Returns a text that has to be there.
    pub(super) fn text(self, name: &str) -> Result<&'a str, LookupProblem> {
        self.optional_text(name)?.ok_or_else(|| wrong(name, "is missing"))
    }

    /// Returns a switch, or nothing.
    pub(super) fn flag(self, name: &str) -> Result<Option<bool>, LookupProblem> {
        let flag = |value: &Json| value.as_bool().ok_or_else(|| wrong(name, "is no boolean"));
        self.some(name).map(flag).transpose()
    }

    /// Returns a list of texts; nothing is an empty one.
    pub(super) fn texts(self, name: &str) -> Result<Vec<String>, LookupProblem> {
        let Some(value) = self.some(name) else { return Ok(Vec::new()) };
        all_texts(value).ok_or_else(|| wrong(name, "is no list of texts"))
    }

    /// Returns the members of an object; nothing is an empty one.
    pub(super) fn members(self, name: &str) -> Result<BTreeMap<String, Json>, LookupProblem> {
        let Some(value) = self.some(name) else { return Ok(BTreeMap::new()) };
        let members = value.as_object().ok_or_else(|| wrong(name, "is no object"))?;
        Ok(members.clone().into_iter().collect())
    }

    /// Returns an object of texts or of lists of texts, as EC2 wants its filters.
    pub(super) fn filters(self, name: &str) -> Result<Vec<(String, Vec<String>)>, LookupProblem> {
        let filter = |(key, value): (String, Json)| {
            let values = match &value {
                Json::String(text) => Some(vec![text.clone()]),
                list => all_texts(list),
            };
            let values = values.ok_or_else(|| wrong(name, "has a filter that is no text"))?;
            Ok((key, values))
        };
        self.members(name)?.into_iter().map(filter).collect()
    }

    /// Returns what the app takes in place of something that is not there.
    pub(super) fn instead_of(self, problem: &LookupProblem) -> Option<Value> {
        let ignored = self.props.get("ignoreErrorOnMissingContext") == Some(&Json::Bool(true));
        let is_missing = matches!(problem, LookupProblem::NotFound { .. });
        let dummy = self.props.get("dummyValue").filter(|_| ignored && is_missing)?;
        // What was read as JSON is written as JSON.
        json::parse(&dummy.to_string()).ok()
    }
}

fn all_texts(value: &Json) -> Option<Vec<String>> {
    let text = |value: &Json| value.as_str().map(str::to_owned);
    value.as_array()?.iter().map(text).collect()
}

fn wrong(property: &str, what: &'static str) -> LookupProblem {
    LookupProblem::Query { property: property.to_owned(), what }
}

/// Shows filters as errors name them.
pub(super) fn shown(filters: &[(String, Vec<String>)]) -> String {
    let one = |(name, values): &(String, Vec<String>)| format!("{name} = {}", values.join(" or "));
    filters.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Environment;

    fn props(text: &str) -> BTreeMap<String, Json> {
        serde_json::from_str(text).unwrap()
    }

    fn missing() -> LookupProblem {
        let environment = Environment::new("111111111111", "eu-west-1");
        LookupProblem::NotFound { environment, what: "SSM parameter `/x`".to_owned() }
    }

    #[test]
    fn the_dummy_value_stands_for_what_need_not_be_there_and_for_nothing_else() {
        let with = |text: &str, problem: &LookupProblem| {
            Query { props: &props(text) }.instead_of(problem).map(|value| json::to_compact(&value))
        };
        let both = r#"{"ignoreErrorOnMissingContext": true, "dummyValue": {"b": 1, "a": 1.50}}"#;
        assert_eq!(with(both, &missing()).unwrap(), r#"{"a":1.50,"b":1}"#);
        assert_eq!(with(r#"{"dummyValue": "x"}"#, &missing()), None);
        assert_eq!(with(r#"{"ignoreErrorOnMissingContext": true}"#, &missing()), None);
        assert_eq!(with(both, &wrong("a", "is missing")), None);
    }

    #[test]
    fn a_query_of_another_shape_is_refused_with_the_property() {
        let props = props(r#"{"account": 1, "owners": ["a", 2], "region": null}"#);
        let query = Query { props: &props };
        let text = |problem: LookupProblem| problem.to_string();
        assert_eq!(
            text(query.text("account").unwrap_err()),
            "`account` in the query of the app is no text"
        );
        assert_eq!(
            text(query.text("region").unwrap_err()),
            "`region` in the query of the app is missing"
        );
        assert!(text(query.texts("owners").unwrap_err()).contains("no list of texts"));
    }
}
