//! The context for the app: `-c`, `cdk.json`, `cdk.context.json` and `~/.cdk.json`, the first
//! that has a key winning, as in `cdk`.

use std::path::Path;

use super::project::{CONTEXT_FILE, Project, optional};
use super::{Context, SettingsError};

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
