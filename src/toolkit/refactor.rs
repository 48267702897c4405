//! Showing the moves.

use super::Error;
use super::detect::{Outcome, detect};
use crate::event::Host;
use crate::settings::Settings;

/// Finds the resources that moved, in every environment of the app. Changes nothing.
///
/// # Errors
/// When an assembly or an account cannot be read, a selection or a decision fits nothing, or a
/// template cannot be compared.
pub async fn refactor(settings: &Settings, host: &dyn Host) -> Result<Outcome, Error> {
    Ok(Box::pin(detect(settings, host)).await?.outcome)
}
