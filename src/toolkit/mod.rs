//! The use cases as library functions.
//!
//! In: [`Settings`](crate::settings::Settings). Out: values that say what was found, or an error
//! with what to do about it. Called by `cli`, and by programs that use the library. Prints
//! nothing.

mod account;
mod decisions;
mod detect;
mod error;
pub mod local;
mod refactor;
mod selection;
mod sources;

pub use decisions::DecisionError;
pub use detect::Outcome;
pub use error::Error;
pub use refactor::refactor;

#[cfg(test)]
mod tests;
