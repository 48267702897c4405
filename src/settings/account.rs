//! How the deployed side is reached: credentials, region, and the embedded CloudFormation.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::project::Project;
use super::{Origin, Setting, SettingsError, Surroundings, Typed};

/// Where the state of the embedded CloudFormation is kept if nobody says.
pub const DEFAULT_LOCAL: &str = ".cdkr/local";
/// How many requests run at once if nobody says.
pub const DEFAULT_CONCURRENCY: usize = 20;
/// The bootstrap stack if nobody says.
pub const DEFAULT_TOOLKIT_STACK: &str = "CDKToolkit";

const LOCAL_VARIABLE: &str = "CDKR_LOCAL";

/// How the deployed side is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The profile of the credentials, unless the usual chain is to find them.
    pub profile: Option<Setting<String>>,
    /// The region of environment-agnostic stacks, unless the usual chain is to find it.
    pub region: Option<Setting<String>>,
    /// A role that takes the place of the roles to deploy with.
    pub role_arn: Option<Setting<String>>,
    /// The directory of the embedded CloudFormation that takes the place of AWS.
    pub local: Option<Setting<PathBuf>>,
    /// Whether that directory is made if it is not there.
    pub creates_local: bool,
    /// Deployed stacks that the app does not have any more, or calls otherwise.
    pub additional_stacks: Vec<String>,
    /// How many requests run at once.
    pub concurrency: usize,
    /// Whether busy stacks are waited for.
    pub wait: bool,
    /// Whether stacks are read whose last update failed and was not rolled back.
    pub accepts_failed: bool,
    /// The bootstrap stack.
    pub toolkit_stack_name: Setting<String>,
    /// The pause between two looks at something that goes on, if somebody says.
    pub poll_interval: Option<Duration>,
    /// How long anything that goes on is waited for, if somebody says.
    pub wait_limit: Option<Duration>,
}

/// An account and the project whose records are kept: all that is needed to continue a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// How the account is reached.
    pub account: Account,
    /// The directory of the project.
    pub project: PathBuf,
    /// Whether the history of the app is kept up to date, if it has one.
    pub history: bool,
}

impl Place {
    /// Resolves what was typed with the environment and the files, as
    /// [`Settings::resolve`](super::Settings::resolve) does, without an app.
    ///
    /// # Errors
    /// When a flag or a file is malformed.
    pub fn resolve(typed: &Typed, surroundings: &Surroundings) -> Result<Self, SettingsError> {
        let (project, user) = Project::both(surroundings)?;
        Ok(Self {
            account: Account::resolve(typed, surroundings, &project, &user)?,
            project: super::working(&surroundings.directory),
            history: super::project::history(typed, &project, &user),
        })
    }
}

impl Account {
    pub(super) fn resolve(
        typed: &Typed,
        surroundings: &Surroundings,
        project: &Project,
        user: &Project,
    ) -> Result<Self, SettingsError> {
        let configured = |flag: &Option<String>, name, file: fn(&Project) -> &Option<_>| {
            let flag = flag.clone().map(|value| Setting::new(value, Origin::Flag(name)));
            flag.or_else(|| file(project).clone()).or_else(|| file(user).clone())
        };
        let concurrency = typed.concurrency.unwrap_or(DEFAULT_CONCURRENCY);
        if concurrency == 0 {
            return Err(SettingsError::NoConcurrency);
        }
        Ok(Self {
            profile: configured(&typed.profile, "--profile", |file| &file.profile),
            region: configured(&typed.region, "--region", |file| &file.region),
            role_arn: configured(&typed.role_arn, "--role-arn", |file| &file.role_arn),
            local: match local(typed.local.as_deref(), surroundings) {
                Some(found) if found.value.is_file() => {
                    return Err(SettingsError::LocalIsFile(found.value));
                }
                found => found,
            },
            creates_local: false,
            accepts_failed: false,
            additional_stacks: typed.additional_stacks.clone(),
            concurrency,
            poll_interval: typed.poll_interval,
            wait_limit: typed.wait_limit,
            wait: typed.wait,
            toolkit_stack_name: configured(
                &typed.toolkit_stack_name,
                "--toolkit-stack-name",
                |file| &file.toolkit_stack_name,
            )
            .unwrap_or_else(|| Setting::new(DEFAULT_TOOLKIT_STACK.to_owned(), Origin::Default)),
        })
    }
}

/// Returns the state directory that is meant, if one is: `--local` or `CDKR_LOCAL`. The variable
/// names a directory, or says `1` or `true` for the default one; `0`, `false` and nothing turn it
/// off.
pub fn local(typed: Option<&Path>, surroundings: &Surroundings) -> Option<Setting<PathBuf>> {
    let at = |path: &Path| surroundings.directory.join(path);
    if let Some(directory) = typed {
        return Some(Setting::new(at(directory), Origin::Flag("--local")));
    }
    let variable = surroundings.variables.get(LOCAL_VARIABLE)?;
    let directory = match variable.as_str() {
        "" | "0" | "false" => return None,
        "1" | "true" => DEFAULT_LOCAL,
        directory => directory,
    };
    Some(Setting::new(at(Path::new(directory)), Origin::Variable(LOCAL_VARIABLE)))
}
