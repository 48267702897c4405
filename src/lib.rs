//! `cdkr` finds the resources of an AWS CDK app that merely moved, and moves them with
//! CloudFormation's stack refactoring, so that a deployment does not replace them.
//!
//! The way of the data, one direction, one pass:
//!
//! ```text
//! app or cdk.out ──► assembly ──► stacks as they are now ─┐
//!                                                         ├─► compare ─► plan ─► run
//! CloudFormation ──► aws ───────► stacks as deployed ─────┘       └── report ──┘
//! ```
//!
//! Everything between `assembly`/`aws` and `run` is a function of its input. Another assembly can
//! take the place of the account (`--against`), and the embedded CloudFormation ([`local`]) that
//! of AWS: `aws` then talks to a server on the loopback interface.
//!
//! # Rooms
//! A room imports from lower floors only (`tests/architecture.rs` checks it):
//! [`model`] (0) · [`template`], [`registry`], [`event`], [`settings`] (1) · [`assembly`],
//! [`compare`], [`aws`], [`local`] (2) · [`aspects`], [`history`], [`analyze`], [`plan`] (3) · [`run`], [`deploy`] (4) · [`report`] (5) ·
//! [`toolkit`] (6) · [`cli`] (7).

pub mod analyze;
pub mod aspects;
pub mod assembly;
pub mod aws;
pub mod cli;
pub mod compare;
pub mod deploy;
pub mod event;
pub mod history;
pub mod local;
pub mod model;
pub mod plan;
pub mod registry;
pub mod report;
pub mod run;
pub mod settings;
pub mod template;
pub mod toolkit;
