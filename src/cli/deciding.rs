//! What `refactor` and `deploy` have in common when somebody decides at the terminal.

use std::path::Path;

use super::failure::Failure;
use super::terminal::Terminal;
use crate::model::Environment;
use crate::toolkit::{self, Decided};

/// Stops early if decisions could not be kept: nobody shall answer for nothing.
pub(super) fn check(file: Option<&Path>) -> Result<(), Failure> {
    file.map_or(Ok(()), |file| Ok(toolkit::check_decision_file(file).map_err(boxed)?))
}

/// Keeps what was decided, and says what becomes of it.
pub(super) fn keep(
    file: Option<&Path>,
    decided: &[(Environment, Decided)],
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let nothing = decided.iter().all(|(_, decided)| decided.is_empty());
    match file {
        Some(file) if nothing => terminal.note(&format!(
            "nothing was decided at the terminal, and nothing was added to {}",
            file.display()
        )),
        Some(file) => {
            toolkit::keep_decisions(file, decided).map_err(boxed)?;
            terminal.note(&format!(
                "what you decided is kept in {}, whatever happens now: commit it, and nobody is \
                 asked again",
                file.display()
            ));
        }
        None if nothing => {}
        None => terminal.note(
            "what you decided holds for this run; --write-decisions keeps it for other \
             environments and for pipelines",
        ),
    }
    Ok(())
}

fn boxed(error: toolkit::KeepError) -> toolkit::Error {
    Box::new(error).into()
}

/// What is said when somebody stops.
pub(super) fn stopped() -> Failure {
    Failure::Stopped("stopped: nothing was changed".to_owned())
}
