//! What we are not allowed to see, and can do without as long as somebody is told.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use futures_util::future::try_join_all;

use super::error::{AwsError, Cause};
use super::facts::Policy;
use super::session::Session;
use crate::model::{Export, StackName};

/// How many stacks a warning names.
const NAMED: usize = 5;

/// Operations that were not allowed, with the stacks that they were for.
#[derive(Debug, Default)]
pub(super) struct Gaps(Mutex<BTreeMap<&'static str, Vec<StackName>>>);

impl Gaps {
    /// Returns the policy of a stack; nothing if we may not see it.
    pub(super) async fn policy(
        &self,
        session: &Session,
        key: &str,
        name: &StackName,
    ) -> Result<Option<Policy>, AwsError> {
        match session.policy(key).await {
            Ok(policy) => Ok(Some(policy)),
            Err(error) if error.cause() == Some(Cause::Denied) => {
                self.add("GetStackPolicy", name);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Adds the importers to exports, as far as we may see them.
    pub(super) async fn importers(
        &self,
        session: &Session,
        name: &StackName,
        exports: Vec<Export>,
    ) -> Result<Vec<Export>, AwsError> {
        let fill = exports.into_iter().map(async |mut export| {
            match session.importers(&export.name).await {
                Ok(importers) => export.importers = importers,
                Err(error) if error.cause() == Some(Cause::Denied) => self.add("ListImports", name),
                Err(error) => return Err(error),
            }
            Ok(export)
        });
        try_join_all(fill).await
    }

    fn add(&self, operation: &'static str, stack: &StackName) {
        let mut gaps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stacks = gaps.entry(operation).or_default();
        if !stacks.contains(stack) {
            stacks.push(stack.clone());
        }
    }

    /// Returns what is not known, a sentence each.
    pub(super) fn sentences(&self) -> Vec<String> {
        let gaps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sentence = |(operation, stacks): (&&str, &Vec<StackName>)| {
            let mut stacks = stacks.clone();
            stacks.sort();
            let named: Vec<_> =
                stacks.iter().take(NAMED).map(|stack| format!("`{stack}`")).collect();
            let named = named.join(", ");
            let others = match stacks.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let unknown = match *operation {
                "GetStackPolicy" => "whether stack policies forbid a refactor",
                _ => "which other stacks import the exports",
            };
            format!("{unknown} is not known for {named}{others}: {operation} is not allowed")
        };
        gaps.iter().map(sentence).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_said_once_for_all_stacks() {
        let gaps = Gaps::default();
        for number in 0..7 {
            gaps.add("GetStackPolicy", &format!("Stack{number}").as_str().into());
        }
        assert_eq!(
            gaps.sentences(),
            ["whether stack policies forbid a refactor is not known for `Stack0`, `Stack1`, \
              `Stack2`, `Stack3`, `Stack4` and 2 more: GetStackPolicy is not allowed"]
        );
    }
}
