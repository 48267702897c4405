//! Policy documents, wherever they stand in the properties of a resource.

use super::resolve::text;
use super::statement::Statement;
use crate::model::{Object, Text, Value};
use crate::template::json;

/// Properties that hold a policy document, or nothing.
const DOCUMENTS: [&str; 8] = [
    "AccessPolicies",
    "AssumeRolePolicyDocument",
    "FileSystemPolicy",
    "InlinePolicy",
    "KeyPolicy",
    "PolicyDocument",
    "RepositoryPolicyText",
    "ResourcePolicy",
];

/// How deep texts may hold JSON that holds texts with JSON.
const DEEPEST: usize = 4;

/// Whether a property can hold a policy document. References in it are not replaced yet.
pub(super) fn may_hold_document(name: &str, value: &Value) -> bool {
    DOCUMENTS.contains(&name) || mentions_statement(value)
}

fn mentions_statement(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("Statement"),
        Value::Array(items) => items.iter().any(mentions_statement),
        Value::Object(object) => object.iter().any(|(key, value)| {
            key == "Statement" || DOCUMENTS.contains(&key.as_str()) || mentions_statement(value)
        }),
        _ => false,
    }
}

/// Returns the policy documents in properties without references: the path of each, without
/// indices, and its statements.
pub(super) fn documents(properties: &Object) -> Vec<(String, Vec<Statement>)> {
    let mut found = Vec::new();
    for (name, value) in properties.iter() {
        find(value, name, DEEPEST, &mut found);
    }
    found
}

fn find(value: &Value, path: &str, depth: usize, found: &mut Vec<(String, Vec<Statement>)>) {
    let name = path.rsplit('.').next().unwrap_or_default();
    match value {
        Value::Object(object) if is_function(object) && may_hold_document(name, value) => {
            found.push((path.to_owned(), vec![Statement::unknown(value)]));
        }
        Value::Object(object) if is_document(name, object) => {
            let statements = match object.get("Statement") {
                Some(Value::Array(statements)) => statements.iter().map(Statement::read).collect(),
                Some(one) => vec![Statement::read(one)],
                None => Vec::new(),
            };
            found.push((path.to_owned(), statements));
        }
        Value::Object(object) => {
            for (key, value) in object.iter() {
                find(value, &format!("{path}.{key}"), depth, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| find(item, path, depth, found)),
        Value::String(text) if text.contains("Statement") || DOCUMENTS.contains(&name) => {
            let inner = json::parse(text).ok().filter(|_| depth > 0);
            match inner {
                Some(inner @ Value::Object(_)) => find(&inner, path, depth - 1, found),
                // A text that is no JSON only because of what CloudFormation will put into it.
                _ if DOCUMENTS.contains(&name) || text.trim_start().starts_with('{') => {
                    found.push((path.to_owned(), vec![Statement::unknown(value)]));
                }
                _ => {}
            }
        }
        _ => {}
    }
}

fn is_function(object: &Object) -> bool {
    object.single().is_some_and(|(key, _)| key.starts_with("Fn::"))
}

/// Whether an object is a policy document: a firewall's rules have statements as well.
fn is_document(name: &str, object: &Object) -> bool {
    let has_effect = |statement: &Value| statement.get("Effect").is_some();
    let of_policies = match object.get("Statement") {
        Some(Value::Array(statements)) => statements.iter().any(has_effect),
        Some(one) => has_effect(one),
        None => return false,
    };
    let version = object.get("Version").map(text);
    of_policies || DOCUMENTS.contains(&name) || version.is_some_and(|text| text.starts_with("20"))
}

/// Returns the statement that a permission of a function or a layer adds to its policy
/// (`AddPermission`, "Using resource-based policies").
pub(super) fn permission(properties: &Object) -> Value {
    let get = |key: &str| properties.get(key).cloned();
    let principal = get("Principal").unwrap_or_default();
    let kind = if text(&principal).ends_with(".amazonaws.com") { "Service" } else { "AWS" };
    let conditions = [
        ("SourceArn", "ArnLike", "aws:SourceArn"),
        ("SourceAccount", "StringEquals", "aws:SourceAccount"),
        ("PrincipalOrgID", "StringEquals", "aws:PrincipalOrgID"),
        ("OrganizationId", "StringEquals", "aws:PrincipalOrgID"),
        ("EventSourceToken", "StringEquals", "lambda:EventSourceToken"),
        ("FunctionUrlAuthType", "StringEquals", "lambda:FunctionUrlAuthType"),
        ("InvokedViaFunctionUrl", "Bool", "lambda:InvokedViaFunctionUrl"),
    ];
    let mut operators = Object::new();
    for (property, operator, key) in conditions {
        let Some(value) = get(property) else { continue };
        let mut keys = match operators.remove(operator) {
            Some(Value::Object(keys)) => keys,
            _ => Object::new(),
        };
        keys.insert(key.into(), value);
        operators.insert(operator.into(), Value::Object(keys));
    }
    statement([
        ("Action", get("Action")),
        ("Resource", get("FunctionName").or_else(|| get("LayerVersionArn"))),
        ("Principal", Some(object([(kind, Some(principal))]))),
        ("Condition", (!operators.is_empty()).then_some(Value::Object(operators))),
    ])
}

/// Returns the statement of a policy of an event bus, which can be written in two ways.
pub(super) fn event_bus(properties: &Object) -> Value {
    let get = |key: &str| properties.get(key).cloned();
    if let Some(statement) = get("Statement") {
        return statement;
    }
    let condition = get("Condition").map(|condition| {
        let part = |key: &str| condition.get(key).cloned();
        let key = part("Key").map(|key| text(&key)).unwrap_or_default();
        let operator = part("Type").map(|kind| text(&kind)).unwrap_or_default();
        object([(operator.as_str(), Some(object([(key.as_str(), part("Value"))])))])
    });
    statement([
        ("Action", get("Action")),
        ("Resource", get("EventBusName")),
        ("Principal", Some(object([("AWS", get("Principal"))]))),
        ("Condition", condition),
    ])
}

fn statement(members: [(&str, Option<Value>); 4]) -> Value {
    let allow = [("Effect", Some(Value::from("Allow")))];
    let members = allow.into_iter().chain(members);
    Value::Object(members.filter_map(|(key, value)| Some((Text::from(key), value?))).collect())
}

fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    let members = members.into_iter().filter_map(|(key, value)| Some((Text::from(key), value?)));
    Value::Object(members.collect())
}
