//! Nested stacks that are the same under another name.

use crate::compare::{Comparison, Place};

/// The type of the resources that make nested stacks.
const NESTED: &str = "AWS::CloudFormation::Stack";

/// The names of nested stacks before and after, by the resources that make them.
#[derive(Debug, Default)]
pub(in crate::analyze) struct Nested {
    names: Vec<(String, String)>,
}

impl Nested {
    /// Returns what a comparison says.
    pub(in crate::analyze) fn of(comparison: &Comparison) -> Self {
        let nested = comparison.mappings.iter().filter(|one| one.resource_type.as_str() == NESTED);
        let name =
            |place: &Place| format!("{}/{}", place.location.stack, place.location.logical_id);
        let mut names: Vec<_> =
            nested.map(|one| (name(&one.source), name(&one.destination))).collect();
        // What is nested deepest says most.
        names.sort_by_key(|(_, new)| std::cmp::Reverse(new.len()));
        Self { names }
    }

    /// Returns the name that a stack had.
    pub(in crate::analyze) fn old(&self, stack: &str) -> String {
        let found = self.names.iter().find_map(|(old, new)| {
            let rest = stack.strip_prefix(new.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{old}{rest}"))
        });
        found.unwrap_or_else(|| stack.to_owned())
    }

    /// Whether a deployed stack has another name now.
    pub(in crate::analyze) fn is_renamed(&self, stack: &str) -> bool {
        self.names.iter().any(|(old, _)| {
            stack
                .strip_prefix(old.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}
