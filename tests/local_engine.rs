//! The embedded CloudFormation through its library: what a client of AWS would see.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "local/refactors.rs"]
mod refactors;

#[path = "local/mod.rs"]
mod world;

#[path = "local/stacks.rs"]
mod stacks;

#[path = "local/change_sets.rs"]
mod change_sets;

#[path = "local/state.rs"]
mod state;

#[path = "local/apps.rs"]
mod apps;
