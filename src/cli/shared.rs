//! Arguments that several commands have.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::failure::Failure;
use super::terminal::Terminal;
use crate::analyze::{ChangeReport, Rules};
use crate::settings::{DEFAULT_LOCAL, Origin, Settings, Surroundings, Typed};
use crate::{report, toolkit};

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

    /// The bootstrap stack
    #[arg(long, value_name = "STACK")]
    toolkit_stack_name: Option<String>,

    /// Also read this deployed stack, which the app does not have any more or calls otherwise
    #[arg(long = "additional-stack-name", value_name = "STACK")]
    additional_stacks: Vec<String>,

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

/// What people have decided about moves.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Decisions")]
pub(super) struct DecisionArgs {
    /// Say that a deployed resource is now another one
    ///
    /// Both are named by location or by construct path: `Stack.Old:Stack.New` or
    /// `Stack/Old:Stack/New`. Wildcards name several: `Stack.Old*:Stack.New*`, or
    /// `Old/Website/**:Web/Site/**` for all that is below a construct.
    #[arg(long, value_name = "OLD:NEW")]
    map: Vec<String>,

    /// Read such decisions from a JSON or YAML file, besides cdkr.decisions.json
    ///
    /// {"environments": [{"account": "…", "region": "…", "resources": {"Stack.Old":
    /// "Stack.New", "Stack.Gone": null}}]}, or {"mappings": {"Stack.Old": "Stack.New"}}. What is
    /// `null` is left to be replaced. `cdkr schema override-file` says more. The file
    /// cdkr.decisions.json, or the one that the key `overrideFile` of cdk.json names, is always
    /// read.
    #[arg(long, value_name = "FILE")]
    override_file: Option<PathBuf>,

    /// Move what this file of decisions lists, and nothing else
    ///
    /// It has the form of an override file; no other file of decisions is read. What else seems
    /// to have moved is told.
    #[arg(long, value_name = "FILE", conflicts_with = "override_file")]
    refactor_file: Option<PathBuf>,

    /// Add what is decided at the terminal to a file of decisions
    ///
    /// Default: the file of `--override-file`, else that of the key `overrideFile` of cdk.json, else
    /// cdkr.decisions.json; the last two are always read. The file is written when every question was answered, whatever is done then.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "not given, given, given with a file")]
    write_decisions: Option<Option<PathBuf>>,

    /// Leave alone what a JSON or YAML file lists: locations, construct paths, resource types,
    /// with wildcards
    #[arg(long, value_name = "FILE")]
    skip_file: Option<PathBuf>,

    /// Do not compare this, for one run: `KIND:TYPE:PATH`
    ///
    /// `everything:AWS::S3::Bucket:Tags`, `prefix:AWS::SQS::Queue:QueueName:dev-`; kinds are
    /// everything, whitespace, prefix, json, yaml, order, set, scalars, tag and assets; `*` is any
    /// type. What is ignored is deployed nevertheless. `refactor.aspects` in cdk.json does more.
    #[arg(long, value_name = "KIND:TYPE:PATH")]
    ignore: Vec<String>,

    /// Treat indistinct mappings as ambiguous
    ///
    /// A mapping is indistinct if the two resources are equal and nothing else supports that
    /// they are the same.
    #[arg(long)]
    strict: bool,

    /// Do not let the history of the app (cdkr.history.jsonl) decide, nor write what is done into
    /// the logs of the environments
    #[arg(long)]
    no_history: bool,
}

/// The file in which decisions are kept if nobody says otherwise.
const DECISIONS: &str = "cdkr.decisions.json";

impl DecisionArgs {
    /// The file to which decisions are added, if they are to be kept.
    pub(super) fn kept_in(&self, typed: &Typed, surroundings: &Surroundings) -> Option<PathBuf> {
        let named = self.write_decisions.as_ref()?;
        if let Some(named) = named.as_ref().or(self.override_file.as_ref()) {
            return Some(named.clone());
        }
        // Where the settings are wrong, whoever needs them says so.
        let settings = Settings::resolve(typed, surroundings).ok();
        let kept = settings.map(|settings| settings.decision_file);
        let configured = kept.filter(|kept| matches!(kept.origin, Origin::File(_)));
        Some(configured.map_or_else(|| PathBuf::from(DECISIONS), |kept| kept.value))
    }

    pub(super) fn fill(&self, typed: Typed) -> Typed {
        Typed {
            map: self.map.clone(),
            override_file: self.override_file.clone(),
            refactor_file: self.refactor_file.clone(),
            skip_file: self.skip_file.clone(),
            ignore: self.ignore.clone(),
            strict: self.strict,
            no_history: self.no_history,
            ..typed
        }
    }
}

/// Who works, and how much at once. `deploy` means something else by these flags.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Account")]
pub(super) struct CallerArgs {
    /// The role to work with, in place of those that the app names
    #[arg(short, long, value_name = "ARN")]
    role_arn: Option<String>,

    /// How many requests run at once [default: 20]
    #[arg(long, value_name = "NUMBER")]
    concurrency: Option<usize>,
}

impl CallerArgs {
    pub(super) fn fill(&self, typed: Typed) -> Typed {
        Typed { role_arn: self.role_arn.clone(), concurrency: self.concurrency, ..typed }
    }
}

/// The change report.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Risk")]
pub(super) struct ReportArgs {
    /// Read rules that say how dangerous changes are, from a JSON or YAML file
    ///
    /// May be given several times; the last rule that speaks of a change counts. The README describes
    /// the language: "Rules of risk".
    #[arg(long, value_name = "FILE")]
    rules: Vec<PathBuf>,

    /// Write the change report as one HTML page that needs nothing else
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

impl ReportArgs {
    /// The built-in rules and those of the files.
    ///
    /// # Errors
    /// When a file cannot be read, or has a mistake.
    pub(super) fn rules(&self) -> Result<Rules, Failure> {
        Ok(toolkit::rules(&self.rules)?)
    }

    /// Tells early that the page could not be written.
    ///
    /// # Errors
    /// When it could not.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.report.as_deref().map_or(Ok(()), |file| Ok(toolkit::check_report_file(file)?))
    }

    /// Writes the page, if one is wanted.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(
        &self,
        report: &ChangeReport,
        terminal: &mut Terminal,
    ) -> Result<(), Failure> {
        let Some(file) = &self.report else { return Ok(()) };
        toolkit::write_report(file, &report::html(report, "What the deployment does"))?;
        terminal.note(&format!("the report is in {}", file.display()));
        Ok(())
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
            toolkit_stack_name: self.toolkit_stack_name.clone(),
            additional_stacks: self.additional_stacks.clone(),
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
