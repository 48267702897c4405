//! Random apps and refactorings whose truth is known.
//!
//! A recipe (`build`) makes an app (`model`); `refactor` changes it; `render` synthesizes its
//! templates as the CDK would; `disturb` reorders and spoils them,
//! `harmless` changes what means nothing; `truth` says what a comparison of the two may answer.

#![allow(dead_code, unreachable_pub, reason = "each test uses its part of this")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

pub mod build;
pub mod disturb;
pub mod harmless;
pub mod model;
pub mod refactor;
pub mod render;
pub mod truth;
