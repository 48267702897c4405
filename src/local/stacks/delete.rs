//! The request to delete a stack.

use super::{find, phases};
use crate::local::error::{Answer, ServiceError};
use crate::local::events::set_status;
use crate::local::record::Operation;
use crate::local::state::Region;

/// What to delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteStack {
    /// The name or the ARN.
    pub name: String,
    /// Resources that stay in the account although they could not be deleted before.
    pub retain: Vec<String>,
}

impl Region<'_> {
    /// Starts the deletion of a stack. One that is not there is deleted already.
    ///
    /// # Errors
    /// `ValidationError` when the stack is protected, nested or busy.
    pub fn delete_stack(&self, request: &DeleteStack) -> Answer<()> {
        self.transact(|tx| {
            let Some(mut stack) = find(tx, &request.name)? else { return Ok(()) };
            let (name, status) = (stack.info.name.clone(), stack.info.status.clone());
            if stack.info.termination_protection {
                return Err(ServiceError::validation(format!(
                    "Stack [{name}] cannot be deleted while TerminationProtection is enabled"
                )));
            }
            if status == "DELETE_IN_PROGRESS" {
                return Ok(());
            }
            if stack.is_busy() {
                return Err(ServiceError::validation(format!(
                    "Stack [{name}] cannot be deleted while in status {status}"
                )));
            }
            if !request.retain.is_empty() && status != "DELETE_FAILED" {
                return Err(ServiceError::validation(format!(
                    "Invalid operation on stack [{}]. Specify a list of resources to retain only \
                     when the stack is in the DELETE_FAILED state",
                    stack.info.id
                )));
            }
            stack.revision += 1;
            let reason = Some("User Initiated".to_owned());
            set_status(tx, &mut stack, "DELETE_IN_PROGRESS", reason)?;
            crate::local::refactor::obsolete(tx, &stack)?;
            let delay = tx.cloud.options.delays.stack;
            let next = Operation::Delete { retain: request.retain.clone(), before: status };
            phases::wait(tx, stack, next, delay)
        })
    }
}
