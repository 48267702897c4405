//! The context for the app: `-c`, `cdk.json`, `cdk.context.json` and `~/.cdk.json`, the first
//! that has a key winning, as in `cdk`.

use std::path::Path;

use super::project::{Project, optional};
use super::{Context, SettingsError};
use crate::model::{Object, Text, Value};

/// What was looked up earlier, next to `cdk.json`.
pub const CONTEXT_FILE: &str = "cdk.context.json";

/// Merges all sources.
pub(super) fn merge(
    typed: &[String],
    directory: &Path,
    project: &Project,
    user: &Project,
) -> Result<Context, SettingsError> {
    let mut merged = user.context.clone();
    let looked_up: Option<Context> = optional(&directory.join(CONTEXT_FILE), "context file")?;
    merged.extend(looked_up.unwrap_or_default());
    merged.extend(project.context.clone());
    for assignment in typed {
        let (key, value) = assignment
            .split_once('=')
            .filter(|(key, _)| !key.is_empty())
            .ok_or_else(|| SettingsError::ContextForm(assignment.clone()))?;
        if key.starts_with("aws:") {
            return Err(SettingsError::ContextReserved(assignment.clone()));
        }
        merged.insert(key.to_owned(), value.into());
    }
    Ok(merged)
}

/// Returns what [`CONTEXT_FILE`] holds with values that were looked up. What is there stays where
/// it is, new keys go to the end, as the CDK CLI writes the file; a key that is there already (an
/// earlier look-up that failed) gets its value.
pub fn with_looked_up(mut existing: Object, found: Vec<(Text, Value)>) -> Object {
    for (key, value) in found {
        existing.insert(key, value);
    }
    existing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_stays_and_a_failed_look_up_gets_its_value() {
        let member = |key: &str, value: &str| (Text::from(key), Value::from(value));
        let failed: Object =
            [(Text::from("$providerError"), Value::from("no credentials"))].into_iter().collect();
        let existing: Object =
            [member("z", "kept"), (Text::from("y"), Value::Object(failed)), member("x", "kept")]
                .into_iter()
                .collect();
        let merged = with_looked_up(existing, vec![member("y", "found"), member("a", "new")]);
        let members: Vec<_> =
            merged.iter().map(|(key, value)| (key.as_str(), value.as_str().unwrap())).collect();
        assert_eq!(members, [("z", "kept"), ("y", "found"), ("x", "kept"), ("a", "new")]);
    }
}
