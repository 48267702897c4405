//! `cdk.json` and `~/.cdk.json`: the keys that we know, with where they were found. All other
//! keys belong to somebody else and are left alone.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Approval, Context, Origin, Refactoring, Setting, SettingsError, Surroundings, Typed};

/// The configuration file of a project.
pub(super) const PROJECT_FILE: &str = "cdk.json";
/// The configuration file of a user, in the home directory.
pub(super) const USER_FILE: &str = ".cdk.json";

/// The settings of one such file.
#[derive(Debug, Default)]
pub(super) struct Project {
    pub(super) app: Option<Setting<String>>,
    pub(super) output: Option<Setting<String>>,
    pub(super) profile: Option<Setting<String>>,
    pub(super) region: Option<Setting<String>>,
    pub(super) role_arn: Option<Setting<String>>,
    pub(super) toolkit_stack_name: Option<Setting<String>>,
    pub(super) context: Context,
    pub(super) lookups: Option<bool>,
    pub(super) refactor: Option<Setting<serde_json::Value>>,
    pub(super) refactoring: Option<Setting<Refactoring>>,
    pub(super) ignore_ambiguous_refactoring: Option<Setting<bool>>,
    pub(super) override_file: Option<Setting<PathBuf>>,
    pub(super) skip_file: Option<PathBuf>,
    pub(super) require_approval: Option<Setting<Approval>>,
    pub(super) rollback: Option<bool>,
    pub(super) keep_names: Option<bool>,
    pub(super) concurrency: Option<usize>,
    pub(super) outputs_file: Option<PathBuf>,
    pub(super) notification_arns: Option<Vec<String>>,
    pub(super) tags: BTreeMap<String, String>,
    /// `history` of `refactor`.
    pub(super) history: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    app: Option<String>,
    output: Option<String>,
    profile: Option<String>,
    region: Option<String>,
    role_arn: Option<String>,
    toolkit_stack_name: Option<String>,
    context: Option<Context>,
    lookups: Option<bool>,
    refactor: Option<serde_json::Value>,
    refactoring: Option<WireRefactoring>,
    ignore_ambiguous_refactoring: Option<bool>,
    override_file: Option<PathBuf>,
    skip_file: Option<PathBuf>,
    require_approval: Option<WireApproval>,
    rollback: Option<bool>,
    keep_names: Option<bool>,
    concurrency: Option<usize>,
    outputs_file: Option<PathBuf>,
    notification_arns: Option<Vec<String>>,
    #[serde(default)]
    tags: Vec<WireTag>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WireApproval {
    Never,
    Broadening,
    AnyChange,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct WireTag {
    key: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum WireRefactoring {
    Ask,
    ExecuteAndDeploy,
    DeployWithoutRefactoring,
    Quit,
}

impl Project {
    /// Reads the file of the project and that of the user.
    pub(super) fn both(surroundings: &Surroundings) -> Result<(Self, Self), SettingsError> {
        let project = Self::read(&surroundings.directory.join(PROJECT_FILE))?;
        let home = surroundings.home.as_deref();
        let user = home.map(|home| Self::read(&home.join(USER_FILE))).transpose()?;
        Ok((project, user.unwrap_or_default()))
    }

    /// Reads the file; one that is not there says nothing.
    pub(super) fn read(file: &Path) -> Result<Self, SettingsError> {
        let Some(wire) = optional::<Wire>(file, "configuration")? else {
            return Ok(Self::default());
        };
        let origin = Origin::File(file.to_owned());
        let found = |value: String| Setting::new(value, origin.clone());
        let history = match wire.refactor.as_ref().and_then(|keys| keys.get("history")) {
            None => None,
            Some(value) => Some(bool::deserialize(value).map_err(|source| {
                let what = "configuration (`history` of `refactor`)";
                SettingsError::Malformed { file: file.to_owned(), what, source }
            })?),
        };
        Ok(Self {
            app: wire.app.map(found),
            output: wire.output.map(found),
            profile: wire.profile.map(found),
            region: wire.region.map(found),
            role_arn: wire.role_arn.map(found),
            toolkit_stack_name: wire.toolkit_stack_name.map(found),
            context: wire.context.unwrap_or_default(),
            lookups: wire.lookups,
            refactor: wire.refactor.map(|value| Setting::new(value, origin.clone())),
            refactoring: wire.refactoring.map(|choice| {
                let choice = match choice {
                    WireRefactoring::Ask => Refactoring::Ask,
                    WireRefactoring::ExecuteAndDeploy => Refactoring::ExecuteAndDeploy,
                    WireRefactoring::DeployWithoutRefactoring => {
                        Refactoring::DeployWithoutRefactoring
                    }
                    WireRefactoring::Quit => Refactoring::Quit,
                };
                Setting::new(choice, origin.clone())
            }),
            ignore_ambiguous_refactoring: wire
                .ignore_ambiguous_refactoring
                .map(|flag| Setting::new(flag, origin.clone())),
            override_file: wire.override_file.map(|file| Setting::new(file, origin.clone())),
            skip_file: wire.skip_file,
            require_approval: wire.require_approval.map(|approval| {
                let approval = match approval {
                    WireApproval::Never => Approval::Never,
                    WireApproval::Broadening => Approval::Broadening,
                    WireApproval::AnyChange => Approval::AnyChange,
                };
                Setting::new(approval, origin.clone())
            }),
            rollback: wire.rollback,
            keep_names: wire.keep_names,
            concurrency: wire.concurrency,
            outputs_file: wire.outputs_file,
            notification_arns: wire.notification_arns,
            tags: wire.tags.into_iter().map(|tag| (tag.key, tag.value)).collect(),
            history,
        })
    }
}

/// Whether the history of the app decides, if it has one.
pub(super) fn history(typed: &Typed, project: &Project, user: &Project) -> bool {
    !typed.no_history && project.history.or(user.history).unwrap_or(true)
}

/// Reads a JSON file that need not be there.
pub(super) fn optional<T: DeserializeOwned>(
    file: &Path,
    what: &'static str,
) -> Result<Option<T>, SettingsError> {
    match text(file) {
        Ok(text) => parse(file, &text, what).map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(SettingsError::Unreadable { file: file.to_owned(), source }),
    }
}

fn parse<T: DeserializeOwned>(
    file: &Path,
    text: &str,
    what: &'static str,
) -> Result<T, SettingsError> {
    serde_json::from_str(text.strip_prefix('\u{feff}').unwrap_or(text))
        .map_err(|source| SettingsError::Malformed { file: file.to_owned(), what, source })
}

fn text(file: &Path) -> std::io::Result<String> {
    std::fs::read_to_string(file)
}
