//! What the embedded CloudFormation holds.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::text::{columns, count, plain};
use crate::local::{StackView, iso8601};

/// Renders stacks as a list, one line for each.
pub fn local_stacks(stacks: &[StackView]) -> String {
    let rows = stacks.iter().map(|stack| {
        let changed = stack.info.updated_ms.unwrap_or(stack.info.created_ms);
        [
            stack.environment.to_string(),
            stack.info.name.clone(),
            stack.info.status.clone(),
            count(stack.resources.len(), "resource"),
            iso8601(changed),
        ]
    });
    let text = lines(rows);
    if text.is_empty() { "There are no stacks.\n".to_owned() } else { text }
}

/// Renders a stack with its resources and outputs; of several environments one after the other.
pub fn local_stack(stacks: &[StackView]) -> String {
    let blocks: Vec<String> = stacks.iter().map(one).collect();
    blocks.join("\n")
}

fn one(stack: &StackView) -> String {
    let info = &stack.info;
    let mut out = format!("{} in {}  {}\n", plain(&info.name), stack.environment, info.status);
    if let Some(reason) = &info.status_reason {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {}", plain(reason));
    }
    let _ = writeln!(out, "  {}", plain(&info.id));
    let rows = stack.resources.iter().map(|(resource, physical)| {
        let marker = match physical {
            Some(physical) => format!("#{}", physical.generation),
            None => "(gone)".to_owned(),
        };
        [
            resource.logical_id.clone(),
            resource.resource_type.clone(),
            marker,
            resource.status.clone(),
            resource.physical_id.clone(),
        ]
    });
    let _ = write!(out, "\n{}", lines(rows));
    if !info.outputs.is_empty() {
        let rows = info.outputs.iter().map(|output| {
            let export = output.export.as_deref();
            let export = export.map(|name| format!("export {name}")).unwrap_or_default();
            [output.key.clone(), output.value.clone(), export]
        });
        let _ = write!(out, "\n{}", lines(rows));
    }
    out
}

/// Renders stacks as one JSON document (`version` 1), with their resources and outputs if they
/// are wanted.
pub fn local_stacks_json(stacks: &[StackView], in_full: bool) -> String {
    let stacks: Vec<Json> = stacks.iter().map(|stack| document(stack, in_full)).collect();
    // A document of texts and numbers can always be written.
    let text = serde_json::to_string_pretty(&json!({"version": 1, "stacks": stacks}));
    text.unwrap_or_default() + "\n"
}

fn document(stack: &StackView, in_full: bool) -> Json {
    let info = &stack.info;
    let mut document = json!({
        "account": stack.environment.account.as_str(),
        "region": stack.environment.region.as_str(),
        "name": info.name,
        "id": info.id,
        "status": info.status,
        "statusReason": info.status_reason,
        "created": iso8601(info.created_ms),
        "updated": info.updated_ms.map(iso8601),
    });
    if in_full {
        let resources = stack.resources.iter().map(|(resource, physical)| {
            json!({
                "logicalId": resource.logical_id,
                "type": resource.resource_type,
                "physicalId": resource.physical_id,
                "status": resource.status,
                "generation": physical.as_ref().map(|physical| physical.generation),
                "properties": physical.as_ref().map(|physical| &physical.properties),
            })
        });
        document["resources"] = resources.collect();
        let outputs = info.outputs.iter().map(
            |output| json!({"key": output.key, "value": output.value, "export": output.export}),
        );
        document["outputs"] = outputs.collect();
    } else {
        document["resources"] = stack.resources.len().into();
    }
    document
}

/// Rows in columns, each on a line of its own.
fn lines<const N: usize>(rows: impl Iterator<Item = [String; N]>) -> String {
    let cells = |row: [String; N]| row.iter().map(|cell| plain(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = rows.map(cells).collect();
    columns(&rows).into_iter().map(|line| line + "\n").collect()
}
