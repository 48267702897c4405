//! The embedded CloudFormation on the wire, as the AWS SDK for Rust sees it.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "local_server/client.rs"]
mod client;

#[path = "local_server/cloudformation.rs"]
mod cloudformation;
