//! What exists behind the stacks: its state as Cloud Control tells it, and how somebody meddles with
//! it without CloudFormation.

use std::fmt::Write as _;

use serde_json::{Map, json};
use sha2::{Digest as _, Sha256};

use super::error::{Answer, ServiceError};
use super::evaluate::text;
use super::record::{Json, Physical, Stack};
use super::resources::{attribute, find, path, save};
use super::stacks;
use super::state::{Region, Tx, file_name};
use crate::model::{Environment, Text};
use crate::registry::{Schema, TypeInfo, lookup};

/// The tags that CloudFormation itself puts on resources: the name of the stack, the logical ID and
/// the ID of the stack.
pub(crate) const SYSTEM_TAGS: [&str; 3] = [
    "aws:cloudformation:stack-name",
    "aws:cloudformation:logical-id",
    "aws:cloudformation:stack-id",
];

/// Where a value of another service is to stand.
const DYNAMIC: &str = "{{resolve:";

/// Whether CloudFormation puts its tags on resources of a type. IAM resources have tags, but
/// were seen without these.
pub(crate) fn is_tagged(resource_type: &str) -> bool {
    !resource_type.starts_with("AWS::IAM::")
        && lookup(resource_type).is_some_and(|info| info.tag_property().is_some())
}

/// What somebody does to a resource without CloudFormation.
pub enum Meddling<'a> {
    /// Its properties are changed by a function; or it says why they cannot be.
    Change(&'a dyn Fn(&Json) -> Result<Json, String>),
    /// It is deleted.
    Delete,
}

impl Region<'_> {
    /// Returns what Cloud Control says of a resource: its primary identifier and its properties, as
    /// they are, without what cannot be read back and with some that the service assigns.
    ///
    /// # Errors
    /// `TypeNotFoundException`, `UnsupportedActionException`, `ResourceNotFoundException`.
    pub fn resource_state(&self, resource_type: &str, identifier: &str) -> Answer<(String, Json)> {
        self.describe_type(resource_type)?;
        let info = lookup(resource_type).filter(|info| info.handlers().contains('r'));
        let Some(info) = info else {
            let message = format!("Resource type {resource_type} does not support READ action");
            return Err(ServiceError::new("UnsupportedActionException", 400, message));
        };
        self.read(|tx| {
            let found = known_as(tx, info, identifier)?.ok_or_else(|| {
                let message = format!(
                    "Resource of type '{resource_type}' with identifier '{identifier}' was not \
                     found."
                );
                ServiceError::new("ResourceNotFoundException", 400, message)
            })?;
            Ok((identifier.to_owned(), state(tx, info, &found)?))
        })
    }

    /// Meddles with a resource of a stack. The stack does not learn of it.
    ///
    /// # Errors
    /// When there is no such stack or resource, or the change is impossible.
    pub fn meddle(&self, stack: &str, logical_id: &str, what: &Meddling<'_>) -> Answer<()> {
        self.unthrottled(|tx| {
            let resource = stacks::get(tx, stack)?.resources.get(logical_id).cloned();
            let gone = || {
                let text = format!("Resource {logical_id} does not exist for stack {stack}");
                ServiceError::validation(text)
            };
            let resource = resource.ok_or_else(gone)?;
            let (kind, id) = (&resource.resource_type, &resource.physical_id);
            let mut physical = find(tx, kind, id)?.ok_or_else(gone)?;
            match what {
                Meddling::Change(change) => {
                    physical.properties =
                        change(&physical.properties).map_err(ServiceError::validation)?;
                    save(tx, &physical)
                }
                Meddling::Delete => {
                    tx.remove(&path(kind, id));
                    Ok(())
                }
            }
        })
    }
}

/// Sets a property of something that is about to move, for a fault.
pub(crate) fn alter(physical: &mut Physical, property: &str, value: &Json) {
    if !physical.properties.is_object() {
        physical.properties = json!({});
    }
    physical.properties[property] = value.clone();
}

/// Finds what Cloud Control knows by an identifier.
fn known_as(tx: &Tx<'_>, info: TypeInfo, identifier: &str) -> Answer<Option<Physical>> {
    let is_it = |found: &Physical| self::identifier(&tx.environment, info, found) == identifier;
    // Nearly always it is the physical ID.
    if let Some(found) = find(tx, info.name(), identifier)?.filter(is_it) {
        return Ok(Some(found));
    }
    let kind = file_name(&info.name().replace("::", "."));
    for path in tx.list(&format!("resources/{kind}"))? {
        if let Some(found) = tx.get::<Physical>(&path)?.filter(is_it) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The values of the primary identifier, joined by `|`.
fn identifier(environment: &Environment, info: TypeInfo, found: &Physical) -> String {
    let parts: Vec<&str> = info.primary_identifier().collect();
    if parts.len() > 1 && found.physical_id.split('|').count() == parts.len() {
        return found.physical_id.clone();
    }
    let assigned = parts.iter().filter(|part| info.is_read_only(part)).count();
    let value = |part: &&str| {
        let set = part.split('/').try_fold(&found.properties, |value, key| value.get(key));
        match set {
            Some(value) => text(value),
            // [I] Of several parts the one that the service assigns is the physical ID.
            None if parts.len() > 1 && assigned == 1 && info.is_read_only(part) => {
                found.physical_id.clone()
            }
            None => {
                invented(environment, found, part).map(|value| text(&value)).unwrap_or_default()
            }
        }
    };
    parts.iter().map(value).collect::<Vec<_>>().join("|")
}

fn invented(environment: &Environment, found: &Physical, path: &str) -> Option<Json> {
    let Physical { resource_type, physical_id, properties, .. } = found;
    let name = path.replace('/', ".");
    attribute(environment, resource_type, physical_id, properties, &name).ok()
}

fn state(tx: &Tx<'_>, info: TypeInfo, found: &Physical) -> Answer<Json> {
    let schema = Schema::of(info.name()).unwrap_or_default();
    let mut state = readable(&found.properties, &schema, &mut Vec::new());
    if !state.is_object() {
        state = json!({});
    }
    // A few of those that are texts for sure.
    let is_plain = |name: &&str| {
        !name.contains('/') && ["Arn", "Id", "DomainName"].iter().any(|end| name.ends_with(end))
    };
    let assigned = info.read_only().filter(is_plain);
    let own = info.primary_identifier().filter(|name| !name.contains('/'));
    for name in own.chain(assigned) {
        if state.get(name).is_none()
            && let Some(value) = invented(&tx.environment, found, name)
        {
            state[name] = value;
        }
    }
    if let Some(stack) = &found.stack_id
        && is_tagged(info.name())
        && let Some(stack) = stacks::find(tx, stack)?
    {
        let place = info.tag_property().unwrap_or("Tags");
        add_tags(&mut state, place, &tags(&stack, found));
    }
    Ok(state)
}

/// The tags that CloudFormation puts on a resource: its own, and those of the stack.
fn tags(stack: &Stack, found: &Physical) -> Vec<(String, String)> {
    let logical_id = found.logical_id.clone().unwrap_or_default();
    let values = [stack.info.name.clone(), logical_id, stack.info.id.clone()];
    let system = SYSTEM_TAGS.iter().map(|key| (*key).to_owned()).zip(values);
    let of_stack = stack.input.tags.iter().map(|(key, value)| (key.clone(), value.clone()));
    system.chain(of_stack).collect()
}

/// Adds tags that are not there yet, as a list unless there are others in another form.
fn add_tags(state: &mut Json, place: &str, tags: &[(String, String)]) {
    let mut at = state;
    for key in place.split('/') {
        if !at.is_object() {
            return;
        }
        at = &mut at[key];
    }
    match at {
        Json::Object(members) => {
            for (key, value) in tags {
                members.entry(key.clone()).or_insert_with(|| value.clone().into());
            }
        }
        Json::Array(items) => add_to_list(items, tags),
        other => {
            let mut items = Vec::new();
            add_to_list(&mut items, tags);
            *other = Json::Array(items);
        }
    }
}

fn add_to_list(items: &mut Vec<Json>, tags: &[(String, String)]) {
    for (key, value) in tags {
        if !items.iter().any(|tag| tag["Key"].as_str() == Some(key)) {
            items.push(json!({"Key": key, "Value": value}));
        }
    }
}

/// Properties as a service gives them back: without those that can only be written, and with the
/// values that dynamic references stand for.
fn readable(value: &Json, schema: &Schema, at: &mut Vec<Text>) -> Json {
    match value {
        Json::Object(members) => {
            let mut kept = Map::new();
            for (key, value) in members {
                at.push(key.as_str().into());
                if !schema.is_write_only(at) {
                    kept.insert(key.clone(), readable(value, schema, at));
                }
                at.pop();
            }
            Json::Object(kept)
        }
        Json::Array(items) => {
            at.push("*".into());
            let items = items.iter().map(|item| readable(item, schema, at)).collect();
            at.pop();
            Json::Array(items)
        }
        Json::String(text) if text.contains(DYNAMIC) => resolved(text).into(),
        other => other.clone(),
    }
}

/// A text with made-up values in the place of dynamic references, always the same ones.
fn resolved(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, found)) = rest.split_once(DYNAMIC)
        && let Some((name, after)) = found.split_once("}}")
    {
        let digest = Sha256::digest(name.as_bytes());
        out.push_str(before);
        out.push_str("value-");
        for byte in digest.iter().take(4) {
            // Writing to a string cannot fail.
            let _ = write!(out, "{byte:02x}");
        }
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn physical(kind: &str, id: &str, properties: Json) -> Physical {
        let (resource_type, physical_id) = (kind.to_owned(), id.to_owned());
        Physical { resource_type, physical_id, properties, ..Physical::default() }
    }

    #[test]
    fn resources_are_known_by_the_values_of_their_primary_identifiers() {
        let here = Environment::new("111111111111", "eu-west-1");
        let arn = |rest: &str| format!("arn:aws:{rest}");
        for (kind, id, properties, expected) in [
            ("AWS::S3::Bucket", "b", json!({}), "b".to_owned()),
            (
                "AWS::Events::Rule",
                "nightly",
                json!({}),
                arn("events:eu-west-1:111111111111:rule/nightly"),
            ),
            (
                "AWS::ApiGateway::Stage",
                "r|prod",
                json!({"RestApiId": "r", "StageName": "prod"}),
                "r|prod".to_owned(),
            ),
            (
                "AWS::Lambda::Permission",
                "Shop-P-1",
                json!({"FunctionName": "f"}),
                "f|Shop-P-1".to_owned(),
            ),
        ] {
            let found = physical(kind, id, properties);
            let info = lookup(kind).unwrap();
            assert_eq!(identifier(&here, info, &found), expected, "{kind}");
        }
    }

    #[test]
    fn what_can_only_be_written_is_not_read_and_references_are_resolved() {
        let schema = Schema::of("AWS::Lambda::Function").unwrap();
        let properties = json!({
            "Code": {"S3Bucket": "b", "S3Key": "k"},
            "Environment": {"Variables": {"P": "x{{resolve:ssm:a}}y", "Q": "q"}},
        });
        let state = readable(&properties, &schema, &mut Vec::new());
        assert_eq!(state["Code"], json!({}));
        assert_eq!(state["Environment"]["Variables"]["Q"], "q");
        let resolved = state["Environment"]["Variables"]["P"].as_str().unwrap();
        assert!(resolved.starts_with("xvalue-") && resolved.ends_with('y'), "{resolved}");
    }
}
