//! Plans made by hand, carried out against the embedded CloudFormation over the wire.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "run/faults.rs"]
mod faults;
#[path = "run/journals.rs"]
mod journals;
#[path = "run/kills.rs"]
mod kills;
#[path = "run/moves.rs"]
mod moves;
#[path = "run/reverts.rs"]
mod reverts;
#[path = "run/world.rs"]
mod world;
