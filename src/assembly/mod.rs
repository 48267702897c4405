//! The cloud assembly: the directory that a CDK app synthesizes.
//!
//! In: a directory (`cdk.out`), or the command that writes one. Out: an [`Assembly`], its stacks
//! with their templates, nested stacks and constructs. Called by `toolkit`. Reads the disk and
//! starts the app; nothing else here has an effect.
//!
//! - [`load`] reads a directory; [`select`] picks stacks by pattern.
//! - [`App`] runs the command of an app; [`is_assembly_directory`] tells a directory from one.

mod app;
mod assets;
mod confine;
mod constructs;
mod error;
mod images;
mod load;
mod manifest;
mod metadata;
mod nested;
mod nodes;
mod select;
mod stack;
mod templates;
mod tree;
mod walk;

pub use app::{App, AppError, is_assembly_directory};
pub use assets::{BootstrapNeed, FileAsset, FileDestination, file_assets};
pub use error::{AssemblyError, SelectError};
pub use images::{
    BuildOptions, CacheOption, ImageAsset, ImageDestination, ImageSource, image_assets,
};
pub use load::{LoadOptions, load};
pub use manifest::MAX_SCHEMA;
pub use select::select;
pub use stack::{Assembly, AssemblyStack, LookupRole, Missing, StackProperties};
