//! The command line.

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the program with the given arguments, the program's name first.
pub fn main(_arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::SUCCESS
}
