//! Change sets that a deployment has left because it was killed.

use std::collections::BTreeMap;

use crate::aws::{Aws, AwsError, Cause, ChangeSetMeans, Purpose, Roles, Session, change_set_means};
use crate::deploy::CHANGE_SET_PREFIX;
use crate::event::{Event, Host};
use crate::model::Environment;

/// Deletes what deployments have prepared for stacks, by name with their ARNs, and not executed.
/// It was prepared for the templates from before the move: whoever executes it now lets
/// CloudFormation replace what has moved. What cannot be deleted is told.
pub(super) async fn delete_change_sets(
    aws: &Aws,
    (environment, roles): (&Environment, &Roles),
    stacks: &BTreeMap<String, String>,
    host: &dyn Host,
) {
    if stacks.is_empty() {
        return;
    }
    let tell = |text: String| host.tell(&Event::Note { text });
    let left = |error: &AwsError| {
        tell(format!(
            "{environment}: whether a deployment has left change sets cannot be told: {error}"
        ));
    };
    let session = match aws.session(environment, roles, Purpose::Write).await {
        Ok(session) => session,
        Err(error) => return left(&error),
    };
    for (name, arn) in stacks {
        match of_stack(&session, arn).await {
            Ok(deleted) => {
                for set in deleted {
                    tell(format!(
                        "deleted the change set {set} of stack `{name}`, which a deployment had \
                         prepared for the template from before"
                    ));
                }
            }
            // Older roles to deploy with may not list change sets, and the stack of a run that
            // is undone may be gone.
            Err(error) if error.cause() == Some(Cause::Denied) || error.is_missing_stack() => {}
            Err(error) => left(&error),
        }
    }
}

/// Deletes those of a stack; returns their names.
async fn of_stack(session: &Session, stack: &str) -> Result<Vec<String>, AwsError> {
    let mut deleted = Vec::new();
    for name in session.change_sets_of(stack).await? {
        if !name.starts_with(CHANGE_SET_PREFIX) {
            continue;
        }
        let state = session.describe_change_set(stack, &name).await?;
        if matches!(
            change_set_means(state.as_ref()),
            ChangeSetMeans::Ready | ChangeSetMeans::Obsolete | ChangeSetMeans::Refused(_)
        ) {
            session.delete_change_set(stack, &name).await?;
            deleted.push(name);
        }
    }
    Ok(deleted)
}
