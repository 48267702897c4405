//! `cdkr --version --verbose`

use std::ffi::OsString;

use crate::assembly::MAX_SCHEMA;
use crate::registry;

/// Whether the arguments ask for the version with everything that comes with it.
pub(super) fn is_asked_for(arguments: &[OsString]) -> bool {
    let flags: Vec<&str> =
        arguments.iter().skip(1).filter_map(|argument| argument.to_str()).collect();
    let has = |names: [&str; 2]| names.iter().any(|name| flags.contains(name));
    flags.len() == 2 && has(["--version", "-V"]) && has(["--verbose", "-v"])
}

/// Returns the version, and those of the data that are part of the program.
pub(super) fn in_full() -> String {
    format!(
        "cdkr {}\nresource types: {}\ncloud assemblies: schema up to {MAX_SCHEMA}.x.x\n",
        env!("CARGO_PKG_VERSION"),
        registry::source()
    )
}
