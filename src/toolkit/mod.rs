//! The use cases as library functions.
//!
//! In: [`Settings`](crate::settings::Settings). Out: values that say what was found, or an error
//! with what to do about it. Called by `cli`, and by programs that use the library. Prints
//! nothing.

mod account;
mod decisions;
mod detect;
mod error;
mod files;
pub mod local;
mod planning;
mod selection;
mod sources;
mod types;

pub use decisions::DecisionError;
pub use detect::Outcome;
pub use error::Error;
pub use planning::{Planned, Prepared, prepare};

#[cfg(test)]
mod tests;
