//! The bodies of the query protocol: `A.B.member.1.C=value`, read as a tree.

use std::collections::BTreeMap;

use crate::local::error::{Answer, ServiceError};

/// No request of AWS goes deeper; a deeper one would only exhaust the stack of a thread.
const DEEPEST: usize = 24;

/// A member of a request: a value, or members of its own.
#[derive(Debug, Default)]
pub(super) struct Form {
    value: Option<String>,
    members: BTreeMap<String, Self>,
}

impl Form {
    /// Reads a body. The order of members does not matter.
    pub(super) fn parse(text: &[u8]) -> Answer<Self> {
        let mut root = Self::default();
        for (key, value) in form_urlencoded::parse(text) {
            if key.split('.').count() > DEEPEST {
                let message = format!("The member {key} is nested too deeply");
                return Err(ServiceError::new("MalformedInput", 400, message));
            }
            let mut form = &mut root;
            for part in key.split('.') {
                form = form.members.entry(part.to_owned()).or_default();
            }
            form.value = Some(value.into_owned());
        }
        Ok(root)
    }

    /// Returns the value of a member.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name)?.value.as_deref()
    }

    /// Returns the value of a member.
    pub(super) fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    /// Returns a member with members of its own.
    pub(super) fn inside(&self, name: &str) -> Option<&Self> {
        self.members.get(name)
    }

    /// Returns the value of a member that must be there and must not be empty.
    pub(super) fn need(&self, name: &str) -> Answer<&str> {
        self.need_at("", name)
    }

    /// The same for a member of a member; `path` is what errors put in front of its name.
    pub(super) fn need_at(&self, path: &str, name: &str) -> Answer<&str> {
        match self.text(name) {
            Some("") => Err(ServiceError::constraint(
                "",
                &format!("{path}{}", camel(name)),
                "Member must have length greater than or equal to 1",
            )),
            Some(text) => Ok(text),
            None => Err(missing(&format!("{path}{}", camel(name)))),
        }
    }

    /// Returns a boolean; without one, `None`.
    pub(super) fn flag(&self, name: &str) -> Answer<Option<bool>> {
        match self.text(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => Err(malformed(other, "Boolean")),
        }
    }

    /// Returns a number that must lie in a range.
    pub(super) fn number(&self, name: &str, least: usize, most: usize) -> Answer<Option<usize>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number: usize = text.parse().map_err(|_| malformed(text, "Integer"))?;
        let member = camel(name);
        if number < least {
            let rule = format!("Member must have value greater than or equal to {least}");
            return Err(ServiceError::constraint(text, &member, &rule));
        }
        if number > most {
            let rule = format!("Member must have value less than or equal to {most}");
            return Err(ServiceError::constraint(text, &member, &rule));
        }
        Ok(Some(number))
    }

    /// Returns a value that must be one of a few.
    pub(super) fn choice(&self, name: &str, choices: &[&str]) -> Answer<Option<&str>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        if choices.contains(&text) {
            return Ok(Some(text));
        }
        let rule = format!("Member must satisfy enum value set: [{}]", choices.join(", "));
        Err(ServiceError::constraint(text, &camel(name), &rule))
    }

    /// Returns what the next page is asked for with.
    pub(super) fn token(&self) -> Answer<Option<&str>> {
        match self.text("NextToken") {
            None => Ok(None),
            Some(_) => self.need("NextToken").map(Some),
        }
    }

    /// Returns a list of EC2, in the order of its numbers: `Name.1`, `Name.2`…, with no `member`
    /// between. One that was not given is empty.
    pub(super) fn numbered(&self, name: &str) -> Vec<&Self> {
        self.members.get(name).map(Self::by_number).unwrap_or_default()
    }

    /// Returns such a list of texts.
    pub(super) fn numbered_texts(&self, name: &str) -> Vec<String> {
        let text = |item: &Self| item.value.clone().unwrap_or_default();
        self.numbered(name).into_iter().map(text).collect()
    }

    fn by_number(&self) -> Vec<&Self> {
        let numbered = self.members.iter();
        let mut items: Vec<(usize, &Self)> =
            numbered.filter_map(|(number, item)| Some((number.parse().ok()?, item))).collect();
        items.sort_by_key(|(number, _)| *number);
        items.into_iter().map(|(_, item)| item).collect()
    }

    /// Returns a list, in the order of its numbers; `None` if it was not given at all. A bare
    /// `Name=` is an empty list.
    pub(super) fn list(&self, name: &str) -> Option<Vec<&Self>> {
        let list = self.members.get(name)?;
        Some(list.members.get("member").map(Self::by_number).unwrap_or_default())
    }

    /// Returns a list of texts.
    pub(super) fn texts(&self, name: &str) -> Option<Vec<String>> {
        let items = self.list(name)?;
        Some(items.into_iter().map(|item| item.value.clone().unwrap_or_default()).collect())
    }

    /// Returns a list of texts each of which must be one of a few.
    pub(super) fn choices(&self, name: &str, choices: &[&str]) -> Answer<Vec<String>> {
        let given = self.texts(name).unwrap_or_default();
        if given.iter().all(|text| choices.contains(&text.as_str())) {
            return Ok(given);
        }
        let rule = format!(
            "Member must satisfy constraint: [Member must satisfy enum value set: [{}]]",
            choices.join(", ")
        );
        Err(ServiceError::constraint(&format!("[{}]", given.join(", ")), &camel(name), &rule))
    }

    /// Returns a list of pairs of `Key` and `Value`, such as tags.
    pub(super) fn pairs(&self, name: &str) -> Answer<Option<BTreeMap<String, String>>> {
        let Some(items) = self.list(name) else { return Ok(None) };
        let mut pairs = BTreeMap::new();
        for (at, item) in items.into_iter().enumerate() {
            let path = format!("{}.{}.member.", camel(name), at + 1);
            let key = item.need_at(&path, "Key")?.to_owned();
            let value = item.text("Value").ok_or_else(|| missing(&format!("{path}value")))?;
            pairs.insert(key, value.to_owned());
        }
        Ok(Some(pairs))
    }
}

fn malformed(text: &str, wanted: &str) -> ServiceError {
    let message = format!("Value '{text}' is not a valid {wanted}");
    ServiceError::new("MalformedInput", 400, message)
}

fn missing(member: &str) -> ServiceError {
    ServiceError::validation(format!(
        "1 validation error detected: Value null at '{member}' failed to satisfy constraint: \
         Member must not be null"
    ))
}

/// `StackName` as errors name it: `stackName`; `TemplateURL`: `templateURL`.
pub(super) fn camel(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_lists_and_empty_lists_are_understood() {
        let form = Form::parse(
            b"Action=X&L.member.2.Key=b&L.member.10.Key=c&L.member.1.Key=a&E=&S.T=%7B%22%C3%A9%22+%7D",
        )
        .unwrap();
        let keys: Vec<_> =
            form.list("L").unwrap().iter().map(|item| item.text("Key").unwrap()).collect();
        assert_eq!(keys, ["a", "b", "c"]);
        assert_eq!(form.list("E").map(|list| list.len()), Some(0));
        assert!(form.list("Z").is_none());
        assert_eq!(form.inside("S").unwrap().text("T"), Some("{\"é\" }"));
    }

    #[test]
    fn what_is_missing_is_named_as_aws_names_it() {
        let form = Form::parse(b"Empty=&Max=0").unwrap();
        assert_eq!(
            form.need("StackName").unwrap_err().message,
            "1 validation error detected: Value null at 'stackName' failed to satisfy constraint: \
             Member must not be null"
        );
        assert!(form.need("Empty").unwrap_err().message.contains("Value '' at 'empty'"));
        assert!(form.number("Max", 1, 100).unwrap_err().message.contains("Value '0' at 'max'"));
        assert!(form.choice("Empty", &["A"]).unwrap_err().message.contains("enum value set: [A]"));
        let deep = format!("{}=x", "a.".repeat(100));
        assert_eq!(Form::parse(deep.as_bytes()).unwrap_err().code, "MalformedInput");
    }
}
