//! The `cdkr` program: everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    cdkr::cli::main(std::env::args_os())
}
