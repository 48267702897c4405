//! What can be set of a stack besides its template.

use super::{get, save};
use crate::local::error::{Answer, ServiceError};
use crate::local::state::Region;
use crate::template::json;

impl Region<'_> {
    /// Returns the stack policy, if there is one.
    ///
    /// # Errors
    /// `ValidationError` when the stack does not exist.
    pub fn get_stack_policy(&self, stack: &str) -> Answer<Option<String>> {
        self.read(|tx| Ok(get(tx, stack)?.policy))
    }

    /// Sets the stack policy. It is not enforced in updates, but no stack that has one can be
    /// refactored.
    ///
    /// # Errors
    /// `ValidationError` when the stack does not exist or the policy is no JSON.
    pub fn set_stack_policy(&self, stack: &str, policy: &str) -> Answer<()> {
        self.transact(|tx| {
            let mut stack = get(tx, stack)?;
            if json::parse(policy).is_err() {
                return Err(ServiceError::validation(
                    "Error validating stack policy: Invalid stack policy",
                ));
            }
            stack.policy = Some(policy.to_owned());
            save(tx, &stack)
        })
    }

    /// Sets whether deletion of a stack is refused; returns its ARN.
    ///
    /// # Errors
    /// `ValidationError` when the stack does not exist.
    pub fn update_termination_protection(&self, stack: &str, enabled: bool) -> Answer<String> {
        self.transact(|tx| {
            let mut stack = get(tx, stack)?;
            stack.info.termination_protection = enabled;
            save(tx, &stack)?;
            Ok(stack.info.id)
        })
    }
}
