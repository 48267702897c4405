//! The embedded CloudFormation on the wire, as the AWS SDK for Rust sees it.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]
#![expect(clippy::result_large_err, reason = "errors of the SDK are as large as they are")]

#[path = "local_server/client.rs"]
mod client;

#[path = "local_server/cloudformation.rs"]
mod cloudformation;

#[path = "local_server/others.rs"]
mod others;

#[path = "local_server/wire.rs"]
mod wire;
