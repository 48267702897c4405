//! Arguments that several commands have.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::settings::{DEFAULT_LOCAL, Typed};

/// Where the app is.
#[derive(Args, Clone, Debug)]
pub(super) struct AppArgs {
    /// The app as it is now: a cloud assembly, or a command that makes one
    ///
    /// Default: the environment variable `CDK_APP`, then the key `app` of cdk.json, then that of
    /// ~/.cdk.json.
    #[arg(short, long, value_name = "DIRECTORY|COMMAND")]
    app: Option<String>,

    /// Context for the app, if it is a command
    #[arg(short, long, value_name = "KEY=VALUE")]
    context: Vec<String>,

    /// Look up context that the app lacks, and keep it in cdk.context.json (the default)
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "true|false", overrides_with_all = ["lookups", "no_lookups"], hide_short_help = true)]
    lookups: Option<bool>,

    /// Fail if the app lacks context, in place of looking it up
    #[arg(long, overrides_with_all = ["lookups", "no_lookups"], hide_short_help = true)]
    no_lookups: bool,

    /// Read cloud assemblies of a newer schema than this version knows
    #[arg(long)]
    ignore_schema_version: bool,
}

/// The embedded CloudFormation.
#[derive(Args, Clone, Debug)]
pub(super) struct LocalArgs {
    /// The embedded CloudFormation, its state in this directory (default .cdkr/local)
    ///
    /// Also by the environment variable `CDKR_LOCAL`: a directory, or 1 for the default one.
    #[arg(long, value_name = "DIRECTORY", num_args = 0..=1, default_missing_value = DEFAULT_LOCAL)]
    local: Option<PathBuf>,
}

/// How the account is reached.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Account")]
pub(super) struct AccountArgs {
    /// Work with the embedded CloudFormation in place of AWS, its state in this directory
    /// (default .cdkr/local)
    ///
    /// Also by the environment variable `CDKR_LOCAL`: a directory, or 1 for the default one.
    /// `cdkr local seed` fills it.
    #[arg(long, value_name = "DIRECTORY", num_args = 0..=1, default_missing_value = DEFAULT_LOCAL)]
    local: Option<PathBuf>,

    /// The profile with the credentials
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,

    /// The region of stacks that leave it open
    #[arg(long, value_name = "REGION")]
    region: Option<String>,

    /// The role to work with, in place of those that the app names
    #[arg(short, long, value_name = "ARN")]
    role_arn: Option<String>,

    /// The bootstrap stack
    #[arg(long, value_name = "STACK")]
    toolkit_stack_name: Option<String>,

    /// Also read this deployed stack, which the app does not have any more or calls otherwise
    #[arg(long = "additional-stack-name", value_name = "STACK")]
    additional_stacks: Vec<String>,

    /// How many requests run at once [default: 20]
    #[arg(long, value_name = "NUMBER")]
    concurrency: Option<usize>,

    /// Wait for stacks that are being changed
    #[arg(long)]
    wait: bool,

    /// The pause between two looks at something that goes on, in seconds [default: 3]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, hide_short_help = true)]
    poll_interval: Option<Duration>,

    /// How long anything that goes on is waited for, in minutes [default: 60]
    #[arg(long, value_name = "MINUTES", value_parser = minutes, hide_short_help = true)]
    wait_limit: Option<Duration>,
}

impl AppArgs {
    pub(super) fn typed(&self) -> Typed {
        Typed {
            app: self.app.clone(),
            context: self.context.clone(),
            lookups: if self.no_lookups { Some(false) } else { self.lookups },
            ignore_schema_version: self.ignore_schema_version,
            ..Typed::default()
        }
    }
}

impl LocalArgs {
    pub(super) fn directory(&self) -> Option<&PathBuf> {
        self.local.as_ref()
    }
}

impl AccountArgs {
    pub(super) fn fill(&self, typed: Typed) -> Typed {
        Typed {
            local: self.local.clone(),
            profile: self.profile.clone(),
            region: self.region.clone(),
            role_arn: self.role_arn.clone(),
            toolkit_stack_name: self.toolkit_stack_name.clone(),
            additional_stacks: self.additional_stacks.clone(),
            concurrency: self.concurrency,
            wait: self.wait,
            poll_interval: self.poll_interval,
            wait_limit: self.wait_limit,
            ..typed
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    if !(0.01..=3600.0).contains(&number) {
        return Err("it has to be between 0.01 and 3600".to_owned());
    }
    Ok(Duration::from_secs_f64(number))
}

fn minutes(text: &str) -> Result<Duration, String> {
    let number: u32 = text.parse().map_err(|_| "it is not a whole number".to_owned())?;
    if number == 0 {
        return Err("it has to be at least 1".to_owned());
    }
    Ok(Duration::from_secs(u64::from(number) * 60))
}
