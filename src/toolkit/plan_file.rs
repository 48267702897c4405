//! Plans as files: saved for review, carried out later as they are; and the templates that would
//! be sent.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::planning::{Planned, Prepared};
use super::{Error, account, files};
use crate::aws::Roles;
use crate::model::StackOptions;
use crate::plan::{Action, Plan};
use crate::settings::Place;

/// The version of the form: raised when an older program could misread it.
const VERSION: u32 = 1;

/// Why a plan cannot be saved or read.
#[derive(Debug, thiserror::Error)]
pub enum PlanFileError {
    /// It cannot be read.
    #[error("cannot read the plan `{}`: {error}", .file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// It cannot be written.
    #[error("cannot write `{}`: {error}", .file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// It is no plan.
    #[error("`{}` is not a plan: {error}", .file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// What is wrong, with line and column.
        error: serde_json::Error,
    },
    /// A newer program has written it.
    #[error(
        "`{}` is a plan of version {version}, written by cdkr {cdkr}; this program knows versions up \
         to {VERSION}. Use the version of cdkr that has written it, or a newer one", .file.display()
    )]
    Version {
        /// The file.
        file: PathBuf,
        /// Its version.
        version: u32,
        /// Which program has written it.
        cdkr: String,
    },
    /// There is no account behind it.
    #[error("there is no plan without an account: the deployed side came from an assembly")]
    NoAccount,
}

#[derive(Deserialize, Serialize)]
struct Head {
    version: u32,
    #[serde(default)]
    cdkr: String,
}

#[derive(Deserialize, Serialize)]
struct Wire {
    version: u32,
    cdkr: String,
    environments: Vec<PlannedWire>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct PlannedWire {
    roles: Roles,
    new_stacks: BTreeMap<String, StackOptions>,
    plan: Plan,
}

/// Saves plans to a file that only its owner can read: it holds templates and roles.
///
/// # Errors
/// When there is no account behind them, or the file cannot be written.
pub fn save_plan(prepared: &Prepared, file: &Path) -> Result<(), Error> {
    if prepared.connection.is_none() {
        return Err(PlanFileError::NoAccount.into());
    }
    let environments = prepared.plans.iter().map(|one| PlannedWire {
        roles: one.roles.clone(),
        new_stacks: one.new_stacks.clone(),
        plan: one.plan.clone(),
    });
    let wire = Wire {
        version: VERSION,
        cdkr: env!("CARGO_PKG_VERSION").to_owned(),
        environments: environments.collect(),
    };
    // Texts, numbers and lists can always be written.
    let text = serde_json::to_string_pretty(&wire).unwrap_or_default() + "\n";
    write(file, text.as_bytes())
}

/// Reads plans from a file, to be carried out as they are.
///
/// # Errors
/// When the file is no plan, or one of a newer version.
pub async fn prepare_file(place: &Place, file: &Path) -> Result<Prepared, Error> {
    let wire = read(file)?;
    let plans = wire.environments.into_iter().map(|one| Planned {
        plan: one.plan,
        roles: one.roles,
        new_stacks: one.new_stacks,
    });
    Ok(Prepared {
        plans: plans.collect(),
        connection: Some(account::connect(&place.account).await?),
        ..Prepared::nothing()
    })
}

fn read(file: &Path) -> Result<Wire, PlanFileError> {
    let owned = || file.to_owned();
    let text =
        fs::read_to_string(file).map_err(|error| PlanFileError::Read { file: owned(), error })?;
    let malformed = |error| PlanFileError::Malformed { file: owned(), error };
    let head: Head = serde_json::from_str(&text).map_err(malformed)?;
    if head.version > VERSION {
        let Head { version, cdkr } = head;
        return Err(PlanFileError::Version { file: owned(), version, cdkr });
    }
    serde_json::from_str(&text).map_err(malformed)
}

/// Writes the templates that would be sent: `DIRECTORY/account-region/step-stack.template.json`.
/// Returns how many.
///
/// # Errors
/// When a file cannot be written.
pub fn write_templates(plans: &[Plan], directory: &Path) -> Result<usize, Error> {
    let mut written = 0;
    for plan in plans {
        let inside = directory.join(format!("{}-{}", plan.account, plan.region));
        for (at, step) in plan.steps.iter().enumerate() {
            let templates: Vec<(&str, &str)> = match &step.action {
                Action::Change(change) => vec![(&change.stack, &change.template)],
                Action::Refactor(batch) => batch
                    .stacks
                    .iter()
                    .map(|stack| (stack.name.as_str(), stack.template.as_str()))
                    .collect(),
            };
            for (stack, template) in templates {
                // Nested stacks have a slash in their name, and nothing else may lead elsewhere.
                let name: String = stack
                    .chars()
                    .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '.' })
                    .collect();
                let file = inside.join(format!("{}-{name}.template.json", at + 1));
                write(&file, template.as_bytes())?;
                written += 1;
            }
        }
    }
    Ok(written)
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |error| PlanFileError::Write { file: file.to_owned(), error };
    Ok(files::write_private(file, bytes).map_err(failed)?)
}
