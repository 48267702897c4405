//! The forecast of deployments, held against what the embedded CloudFormation does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod carry;
#[path = "forecast/deployment.rs"]
mod deployment;
#[path = "forecast/fixtures.rs"]
mod fixtures;
mod generate;
#[path = "forecast/generated.rs"]
mod generated;
#[path = "forecast/holding.rs"]
mod holding;
#[path = "forecast/keeping.rs"]
mod keeping;
#[path = "forecast/rules.rs"]
mod rules;
#[path = "local/mod.rs"]
mod world;
