//! Looks at stacks before anything is done to them.

use super::{Driver, call};
use crate::aws::Session;
use crate::model::StatusKind;
use crate::plan::body_digest;
use crate::run::error::Problem;
use crate::run::journal::{Before, Task};
use crate::run::options::RunOptions;
use crate::run::state::State;

/// Checks every stack that the steps ahead meet, where they meet it first.
pub(in crate::run) async fn check_all(
    session: &Session,
    options: &RunOptions,
    state: &State,
) -> Result<(), Problem> {
    for (name, id, before) in state.expected() {
        look_at(session, options, &name, id.as_deref(), before.as_deref()).await?;
    }
    Ok(())
}

impl Driver<'_> {
    /// Returns the stacks of a step, if all of them are as it needs them.
    pub(super) async fn look_at_all(&self, step: usize) -> Result<Vec<Before>, Problem> {
        let begin = &self.state.begin;
        let stacks = begin.task(step).map(Task::stacks).unwrap_or_default();
        let mut found = Vec::new();
        for (name, id, before) in stacks {
            let id = id.or_else(|| self.state.ids.get(name).map(String::as_str));
            found.push(look_at(&self.session, self.options, name, id, before).await?);
        }
        Ok(found)
    }
}

/// Returns a stack if it is stable and has the template with the digest, or if it is not there
/// and should not be.
async fn look_at(
    session: &Session,
    options: &RunOptions,
    name: &str,
    id: Option<&str>,
    before: Option<&str>,
) -> Result<Before, Problem> {
    let stack = name.to_owned();
    let Some(digest) = before else {
        // Whoever has taken the name may have another ARN than the one that we know.
        let found = session.describe_stack(name);
        return match call(options, "DescribeStacks", found).await?? {
            Some(found) => Err(Problem::NameTaken { stack, status: found.status }),
            None => Ok(Before { name: stack, id: None, body: None }),
        };
    };
    let found = session.describe_stack(id.unwrap_or(name));
    let found = call(options, "DescribeStacks", found).await??;
    let Some(found) = found.filter(|found| found.status.0 != "DELETE_COMPLETE") else {
        return Err(Problem::Missing { stack });
    };
    if found.status.kind() != StatusKind::Stable {
        return Err(Problem::NotReady { stack, status: found.status });
    }
    let body = call(options, "GetTemplate", session.submitted_template(&found.id)).await??;
    if body_digest(&body) != digest {
        return Err(Problem::Changed { stack });
    }
    Ok(Before { name: stack, id: Some(found.id), body: Some(body) })
}
