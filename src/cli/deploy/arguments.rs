//! The arguments of `cdkr deploy`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::super::shared::{AccountArgs, AppArgs, DecisionArgs, ReportArgs};
use crate::report::Style;
use crate::settings::{Approval, Method, Refactoring, Surroundings, Typed, TypedDeploying};

/// Deploy the app, with the resources that moved
///
/// Finds the resources that are the same under another logical ID or in another stack, moves them
/// with CloudFormation's stack refactoring, and deploys the stacks, as `cdk deploy` does. If the
/// deployment fails, stacks are rolled back and the moves taken back.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(in crate::cli) struct DeployArgs {
    /// Stacks to deploy, as patterns (`Stage/*`, `**`); not needed if the app has only one
    stacks: Vec<String>,

    /// Deploy all stacks
    #[arg(long, conflicts_with = "stacks")]
    all: bool,

    /// Leave alone what the stacks need, and those between which and them resources move
    #[arg(short, long)]
    exclusively: bool,

    /// Do not ask, except where data would be lost
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    app: AppArgs,

    #[command(flatten)]
    account: AccountArgs,

    /// What to do about resources that moved [default: `ASK` at a terminal, else `EXECUTE_AND_DEPLOY`]
    ///
    /// Also the key `refactoring` of cdk.json.
    #[arg(long, value_name = "CHOICE", value_enum, ignore_case = true, help_heading = "Moves")]
    refactoring: Option<RefactoringArg>,

    /// Go on in spite of resources that cannot be told apart: they are replaced
    ///
    /// Also the key `ignoreAmbiguousRefactoring` of cdk.json.
    #[arg(long, help_heading = "Moves")]
    ignore_ambiguous_refactoring: bool,

    #[command(flatten)]
    decisions: DecisionArgs,

    /// Say that CloudFormation can move resources of this type
    #[arg(long, value_name = "TYPE", help_heading = "Moves")]
    assume_refactorable: Vec<String>,

    /// Say that CloudFormation cannot move resources of this type
    #[arg(long, value_name = "TYPE", help_heading = "Moves")]
    assume_fixed: Vec<String>,

    /// Read every resource that moves before and after the moves, through Cloud Control; if it is
    /// not what it was, move everything back and deploy nothing
    #[arg(long, help_heading = "Moves")]
    verify: bool,

    /// Let resources keep names, and logical IDs, that they could only change by being replaced
    ///
    /// The choice is kept in the metadata of the resource, so that the next deployment makes the
    /// same. Also the key `keepNames` of cdk.json.
    #[arg(long, help_heading = "Safety")]
    keep_names: bool,

    /// Allow that something that holds data is replaced or deleted
    ///
    /// A location (`Stack.LogicalId`), a construct path with or without wildcards, or a type.
    #[arg(long, value_name = "RESOURCE", help_heading = "Safety")]
    allow_replacement: Vec<String>,

    /// Which changes have to be approved [default: broadening]
    ///
    /// Also the key `requireApproval` of cdk.json. `cdkr diff` shows the risk of every change.
    #[arg(long, value_name = "WHICH", value_enum, help_heading = "Safety")]
    require_approval: Option<ApprovalArg>,

    #[command(flatten)]
    pub(super) report: ReportArgs,

    /// Leave everything as it is when a deployment fails
    #[arg(long, overrides_with = "rollback", help_heading = "Safety")]
    no_rollback: bool,

    /// Roll back what fails, and take back the moves (the default)
    #[arg(short = 'R', long, hide_short_help = true, help_heading = "Safety")]
    rollback: bool,

    /// How stacks are changed
    #[arg(
        short,
        long,
        value_name = "HOW",
        value_enum,
        default_value_t,
        help_heading = "Deployment"
    )]
    method: MethodArg,

    /// The name of the change sets, with `--method prepare-change-set`
    #[arg(long, value_name = "NAME", help_heading = "Deployment")]
    change_set_name: Option<String>,

    /// Deploy stacks even if nothing seems to have changed
    #[arg(short, long, help_heading = "Deployment")]
    force: bool,

    /// How many stacks are deployed at once [default: 1]
    #[arg(long, value_name = "NUMBER", help_heading = "Deployment")]
    concurrency: Option<usize>,

    /// The role that CloudFormation works with, in place of the one that the app names
    #[arg(short, long, value_name = "ARN", help_heading = "Deployment")]
    role_arn: Option<String>,

    /// A value for a parameter
    #[arg(long, value_name = "[STACK:]KEY=VALUE", help_heading = "Deployment")]
    parameters: Vec<String>,

    /// Let parameters that nobody names take their defaults
    #[arg(long, help_heading = "Deployment")]
    no_previous_parameters: bool,

    /// A tag for every stack, in place of those of the app
    #[arg(short, long, value_name = "KEY=VALUE", help_heading = "Deployment")]
    tags: Vec<String>,

    /// A topic that gets the events of every stack, besides those of the app
    #[arg(long, value_name = "ARN", help_heading = "Deployment")]
    notification_arns: Vec<String>,

    /// Write the outputs of the stacks to a JSON file
    #[arg(short = 'O', long, value_name = "FILE", help_heading = "Output")]
    outputs_file: Option<PathBuf>,

    /// Show construct paths instead of logical IDs
    #[arg(long, help_heading = "Output")]
    paths: bool,

    /// Say why resources are taken for the same
    #[arg(long, help_heading = "Output")]
    explain: bool,

    /// The form of the answer
    #[arg(long, value_enum, default_value_t, value_name = "FORM", help_heading = "Output")]
    pub(super) output: Form,

    /// Show everything that changes
    #[arg(short, long, conflicts_with = "quiet", help_heading = "Output")]
    verbose: bool,

    /// Leave out warnings, notes and events
    #[arg(short, long, help_heading = "Output")]
    pub(super) quiet: bool,

    /// Draw and ask nothing; warnings and notes go to the standard output
    #[arg(long, help_heading = "Output")]
    pub(super) ci: bool,

    /// Use no colours (`NO_COLOR` and `CLICOLOR_FORCE` are heeded as well)
    #[arg(long, help_heading = "Output")]
    no_color: bool,

    /// Accepted for the sake of scripts written for `cdk`; does nothing
    #[arg(long, value_name = "FEATURE", hide_short_help = true)]
    unstable: Vec<String>,
}

const AFTER_HELP: &str = "\
Examples:
  The only stack of the app of cdk.json, or all of them:
    cdkr deploy
    cdkr deploy --all
  One stack and what it needs, without an account:
    cdkr deploy Web --local
  In a pipeline, where nobody can answer:
    cdkr deploy --all --ci --require-approval never --ignore-ambiguous-refactoring
  Stop if something moved:
    cdkr deploy --all --refactoring QUIT
  With rules of the team, and the change report as a page:
    cdkr deploy --all --rules risks.yaml --report changes.html
  A table may be replaced, and nothing else that holds data:
    cdkr deploy Web --allow-replacement Web.Cache1A2B3C4D

Exit codes:
  0    done, or nothing to do
  1    failed, or somebody said to stop; the message says what was changed
  2    wrong usage, or nobody there to answer a question
  3    some resources cannot be told apart, data would be lost, or a rule rejects a change;
       nothing was changed, unless the message says what was
  130  interrupted";

/// The form of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// Text for a terminal
    #[default]
    Table,
    /// A line of JSON for everything that happens
    Json,
}

/// RFC 0162 writes its choices in capitals.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum RefactoringArg {
    /// Show what moved, and ask
    #[value(name = "ASK")]
    Ask,
    /// Move, then deploy
    #[value(name = "EXECUTE_AND_DEPLOY")]
    ExecuteAndDeploy,
    /// Deploy as if nothing had moved: what moved is replaced
    #[value(name = "DEPLOY_WITHOUT_REFACTORING")]
    DeployWithoutRefactoring,
    /// Stop if something moved
    #[value(name = "QUIT")]
    Quit,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ApprovalArg {
    /// None
    Never,
    /// Those of high risk: permissions become broader, or a rule of `--rules` says so
    Broadening,
    /// Any change of a stack
    AnyChange,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum MethodArg {
    /// By change sets, which are looked at before they are executed
    #[default]
    ChangeSet,
    /// At once, without a look at what would be replaced
    Direct,
    /// Make change sets, and leave them for somebody else to execute
    PrepareChangeSet,
}

impl DeployArgs {
    pub(in crate::cli) fn no_color(&self) -> bool {
        self.no_color
    }

    /// `asks`: questions follow.
    pub(super) fn style(&self, asks: bool) -> Style {
        Style { paths: self.paths, explain: self.explain, verbose: self.verbose, asks }
    }

    /// The file to which decisions are added, if they are to be kept.
    pub(super) fn kept_in(&self, surroundings: &Surroundings) -> Option<PathBuf> {
        self.decisions.kept_in(&self.typed(), surroundings)
    }

    pub(super) fn typed(&self) -> Typed {
        Typed {
            stacks: self.stacks.clone(),
            assume_refactorable: self.assume_refactorable.clone(),
            assume_fixed: self.assume_fixed.clone(),
            ignore_ambiguous_refactoring: self.ignore_ambiguous_refactoring,
            explain: self.explain,
            ..self.decisions.fill(self.account.fill(self.app.typed()))
        }
    }

    pub(super) fn deploying(&self) -> TypedDeploying {
        TypedDeploying {
            all: self.all,
            exclusively: self.exclusively,
            refactoring: self.refactoring.map(|choice| match choice {
                RefactoringArg::Ask => Refactoring::Ask,
                RefactoringArg::ExecuteAndDeploy => Refactoring::ExecuteAndDeploy,
                RefactoringArg::DeployWithoutRefactoring => Refactoring::DeployWithoutRefactoring,
                RefactoringArg::Quit => Refactoring::Quit,
            }),
            require_approval: self.require_approval.map(|which| match which {
                ApprovalArg::Never => Approval::Never,
                ApprovalArg::Broadening => Approval::Broadening,
                ApprovalArg::AnyChange => Approval::AnyChange,
            }),
            yes: self.yes,
            allow_replacement: self.allow_replacement.clone(),
            keep_names: self.keep_names,
            parameters: self.parameters.clone(),
            no_previous_parameters: self.no_previous_parameters,
            tags: self.tags.clone(),
            notification_arns: self.notification_arns.clone(),
            method: Some(match self.method {
                MethodArg::ChangeSet => Method::ChangeSet,
                MethodArg::Direct => Method::Direct,
                MethodArg::PrepareChangeSet => Method::PrepareChangeSet,
            }),
            change_set_name: self.change_set_name.clone(),
            role_arn: self.role_arn.clone(),
            force: self.force,
            rollback: match (self.rollback, self.no_rollback) {
                (_, true) => Some(false),
                (true, false) => Some(true),
                (false, false) => None,
            },
            concurrency: self.concurrency,
            outputs_file: self.outputs_file.clone(),
            verify: self.verify,
        }
    }
}
