//! The one error that every operation answers with.

use std::io;
use std::path::Path;

/// What an AWS service answers when it refuses a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ServiceError {
    /// The code by which clients tell errors apart, such as `ValidationError`.
    pub code: String,
    /// The text for people.
    pub message: String,
    /// The status of the HTTP response.
    pub http_status: u16,
}

impl ServiceError {
    /// Returns an error with a code of its own.
    pub fn new(code: &str, http_status: u16, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), http_status }
    }

    /// Returns the error for a request that asks for something impossible.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new("ValidationError", 400, message)
    }

    /// Returns the answer to too many requests.
    pub fn throttling() -> Self {
        Self::new("Throttling", 400, "Rate exceeded")
    }

    /// Returns the error for a stack that is not there.
    pub(crate) fn no_stack(name: &str) -> Self {
        Self::validation(format!("Stack with id {name} does not exist"))
    }

    /// Returns the error for a member of the request that has the wrong form.
    pub(crate) fn constraint(value: &str, member: &str, constraint: &str) -> Self {
        Self::validation(format!(
            "1 validation error detected: Value '{value}' at '{member}' failed to satisfy \
             constraint: {constraint}"
        ))
    }

    /// Returns the error for an operation that a service does not have, or not here.
    pub(crate) fn no_operation(action: &str, version: &str) -> Self {
        let message = format!("Could not find operation {action} for version {version}");
        Self::new("InvalidAction", 400, message)
    }

    /// Returns the error for an operation that a service of the JSON protocol does not have here.
    pub(crate) fn unknown_operation(action: &str) -> Self {
        let message = format!("The embedded CloudFormation has no operation {action}");
        Self::new("UnknownOperationException", 400, message)
    }

    /// Returns the error for trouble with the state directory.
    pub(crate) fn state(path: &Path, error: impl std::fmt::Display) -> Self {
        let text = format!("state directory: `{}`: {error}", path.display());
        Self::new("InternalFailure", 500, text)
    }

    /// Turns an error of the file system into one that names the file.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |error| Self::state(path, error)
    }
}

/// What every operation answers.
pub type Answer<T> = Result<T, ServiceError>;
