//! The embedded CloudFormation through its library: what a client of AWS would see.

#[path = "local/mod.rs"]
mod world;

#[path = "local/stacks.rs"]
mod stacks;
