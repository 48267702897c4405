//! `cdkr local`

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Exit;
use super::failure::Failure;
use super::shared::{AppArgs, LocalArgs};
use super::terminal::Terminal;
use crate::report;
use crate::settings::{DEFAULT_LOCAL, Settings, Surroundings, Typed, local_directory};
use crate::toolkit::local::{self, Change, Seeded, Serving};

/// Work with the embedded CloudFormation: an AWS in a directory, for trying things and for tests
///
/// Every account and region exists in it. Commands that take `--local` work with it in place of
/// AWS. It evaluates templates and keeps stacks, physical IDs and exports, but creates no real
/// resource and costs nothing.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(super) struct LocalCommand {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  Deploy an app to it as it is, then see what moved since:
    cdkr local seed --app release
    cdkr refactor --dry-run --local --app cdk.out
  Look into it:
    cdkr local ls
    cdkr local show MyStack
  Offer it to other programs, such as the AWS command line:
    cdkr local serve --port 4599
    aws cloudformation list-stacks --endpoint-url http://127.0.0.1:4599";

#[derive(Debug, Subcommand)]
enum Command {
    Seed(SeedArgs),
    Ls(ListArgs),
    Show(ShowArgs),
    Fail(FailArgs),
    Drift(DriftArgs),
    Reset(ResetArgs),
    Serve(ServeArgs),
}

/// Deploy an app as it is
///
/// Creates or updates every stack in the order in which they need each other. Resources that
/// moved are replaced: nothing is compared.
#[derive(Args, Debug)]
struct SeedArgs {
    /// Stacks to deploy, as patterns, with what they depend on; without any, all of them
    stacks: Vec<String>,
    #[command(flatten)]
    app: AppArgs,
    #[command(flatten)]
    local: LocalArgs,
    /// The region of stacks that leave it open [default: us-east-1]
    #[arg(long, value_name = "REGION")]
    region: Option<String>,
}

/// List the stacks
#[derive(Args, Debug)]
struct ListArgs {
    #[command(flatten)]
    local: LocalArgs,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    output: Form,
}

/// Show a stack with its resources and outputs
///
/// Each resource has a marker, the number of its creation: a resource that was replaced has
/// another one, a resource that moved has the same.
#[derive(Args, Debug)]
struct ShowArgs {
    /// The name of the stack
    stack: String,
    #[command(flatten)]
    local: LocalArgs,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    output: Form,
}

/// Let the next change of a resource fail
///
/// To see what happens then. The stack has to be there, the resource need not.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cdkr local fail Shop.Table1A2B3C4D
  cdkr local fail Shop.Table1A2B3C4D \"Table limit reached\"")]
struct FailArgs {
    /// The resource: `Stack.LogicalId`
    resource: String,
    /// What the service says
    reason: Option<String>,
    #[command(flatten)]
    local: LocalArgs,
}

/// Change a resource behind CloudFormation's back
///
/// To see what notices: `cdkr drift`, `cdkr refactor --verify`. Its stack does not learn of it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cdkr local drift Shop.Queue1A2B3C4D --set VisibilityTimeout=45
  cdkr local drift Shop.Queue1A2B3C4D patch.json
  cdkr local drift Shop.Queue1A2B3C4D --delete")]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(false))]
struct DriftArgs {
    /// The resource: `Stack.LogicalId`
    resource: String,
    /// A JSON patch (RFC 6902) of its properties
    #[arg(group = "what")]
    patch: Option<PathBuf>,
    /// Set a property: a dotted path or a JSON pointer, and a value, JSON or a text
    #[arg(long, value_name = "PATH=VALUE", group = "what")]
    set: Vec<String>,
    /// Delete the resource
    #[arg(long, group = "what")]
    delete: bool,
    #[command(flatten)]
    local: LocalArgs,
}

/// Forget everything
#[derive(Args, Debug)]
struct ResetArgs {
    #[command(flatten)]
    local: LocalArgs,
}

/// Offer it to other programs, over the protocols of AWS
///
/// Listens on the loopback interface only. Any credentials will do: an access key of twelve
/// digits is taken for the number of an account, any other belongs to account 123456789012.
#[derive(Args, Debug)]
struct ServeArgs {
    #[command(flatten)]
    local: LocalArgs,
    /// The port; 0 lets the system choose
    #[arg(long, value_name = "NUMBER", default_value_t = 4599)]
    port: u16,
    /// Let something go wrong, such as `throttle=5`; a wrong one lists what there is
    #[arg(long, value_name = "FAULT")]
    fault: Vec<String>,
}

/// The form of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A table for a terminal
    #[default]
    Table,
    /// One JSON document
    Json,
}

pub(super) fn run(arguments: &LocalCommand, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let surroundings = Surroundings::of_process();
    match &arguments.command {
        Command::Seed(arguments) => seed(arguments, &surroundings, terminal)?,
        Command::Ls(arguments) => {
            let stacks = local::list(&directory(&arguments.local, &surroundings))?;
            terminal.answer(&match arguments.output {
                Form::Table => report::local_stacks(&stacks),
                Form::Json => report::local_stacks_json(&stacks, false),
            })?;
        }
        Command::Show(arguments) => {
            let directory = directory(&arguments.local, &surroundings);
            let stacks = local::show(&directory, &arguments.stack)?;
            terminal.answer(&match arguments.output {
                Form::Table => report::local_stack(&stacks),
                Form::Json => report::local_stacks_json(&stacks, true),
            })?;
        }
        Command::Fail(arguments) => {
            let directory = directory(&arguments.local, &surroundings);
            local::fail(&directory, &arguments.resource, arguments.reason.as_deref())?;
            let resource = report::plain(&arguments.resource);
            terminal.answer(&format!("The next change of {resource} will fail.\n"))?;
        }
        Command::Drift(arguments) => {
            let directory = directory(&arguments.local, &surroundings);
            let change = match &arguments.patch {
                Some(file) => Change::read(file)?,
                None if arguments.delete => Change::Delete,
                None => Change::set(&arguments.set)?,
            };
            local::drift(&directory, &arguments.resource, &change)?;
            let resource = report::plain(&arguments.resource);
            let word = if arguments.delete { "deleted" } else { "changed" };
            terminal.answer(&format!("{resource} was {word}; its stack does not know.\n"))?;
        }
        Command::Reset(arguments) => {
            let directory = directory(&arguments.local, &surroundings);
            let shown = directory.display();
            let text = if local::reset(&directory)? {
                format!("Forgot everything in {shown}.\n")
            } else {
                format!("There is nothing in {shown}.\n")
            };
            terminal.answer(&text)?;
        }
        Command::Serve(arguments) => serve(arguments, &surroundings, terminal)?,
    }
    Ok(Exit::Done)
}

fn directory(arguments: &LocalArgs, surroundings: &Surroundings) -> PathBuf {
    let typed = arguments.directory().map(PathBuf::as_path);
    let found = local_directory(typed, surroundings).map(|found| found.value);
    found.unwrap_or_else(|| surroundings.directory.join(DEFAULT_LOCAL))
}

fn seed(
    arguments: &SeedArgs,
    surroundings: &Surroundings,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let typed = Typed {
        stacks: arguments.stacks.clone(),
        region: arguments.region.clone(),
        ..arguments.app.typed()
    };
    let settings = Settings::resolve(&typed, surroundings)?;
    let done =
        local::seed(&settings, &directory(&arguments.local, surroundings), &terminal.host())?;
    let mut text = String::new();
    for (environment, stack, outcome) in done {
        let word = match outcome {
            Seeded::Created => "created",
            Seeded::Updated => "updated",
            Seeded::Unchanged => "unchanged",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{environment}  {}  {word}", report::plain(&stack));
    }
    Ok(terminal.answer(&text)?)
}

fn serve(
    arguments: &ServeArgs,
    surroundings: &Surroundings,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let directory = directory(&arguments.local, surroundings);
    let serving = Serving::start(&directory, arguments.port, &arguments.fault)?;
    terminal.answer(&format!(
        "The embedded CloudFormation in {} listens on {}\n",
        directory.display(),
        serving.url()
    ))?;
    terminal.note("Ctrl-C stops it");
    serving.wait();
    Ok(())
}
