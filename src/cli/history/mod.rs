//! `cdkr history`

mod record;
mod views;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use super::Exit;
use super::failure::Failure;
use super::terminal::Terminal;
use crate::report::plain;
use crate::toolkit::history::{self, HISTORY_FILE};

/// Record what became of the stacks, and look at it
///
/// The log `cdkr.history.jsonl` is committed with the app. It says of every state of the stacks
/// what the resources of the state before are called now, so that what was decided once holds in
/// every environment, however many versions that is behind.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  Begin a log with the app as it is now, and have Git keep it:
    cdkr history record
    cdkr history install-hook
  After the app was changed, before it is committed:
    cdkr history record
    git add cdkr.history.jsonl cdkr.history
  After branches were merged:
    cdkr history merge
  What happened, and what the stacks looked like two states ago:
    cdkr history log
    cdkr history snapshot HEAD~2

Events are named by `HEAD`, `HEAD~2` (two before the last one), or the first digits of a hash.")]
pub(super) struct HistoryCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Record(Box<record::RecordArgs>),
    Log(views::LogArgs),
    Show(views::ShowArgs),
    Graph(views::GraphArgs),
    Snapshot(views::SnapshotArgs),
    Diff(views::DiffArgs),
    Merge(Box<record::MergeArgs>),
    InstallHook(HookArgs),
    MergeDriver(DriverArgs),
}

/// Have Git check before each commit that the state of the app is recorded, and merge logs
///
/// Writes the hooks `pre-commit` and `pre-merge-commit`, the configuration of a merge driver, and
/// the lines of .gitattributes that name it. Hooks and configuration are those of this clone:
/// everybody calls this once. What is there already stays as it is.
#[derive(Args, Debug)]
#[command(after_help = "\
The hooks run `cdkr history record --check` with the `cdkr` that is in the path.

Examples:
  cdkr history install-hook
  git commit --no-verify    (commits without the check)")]
struct HookArgs {
    /// The app that the hook looks at, if that of cdk.json is not meant
    #[arg(short, long, value_name = "DIRECTORY|COMMAND")]
    app: Option<String>,

    /// Replace hooks that somebody else has written; they are kept beside the new ones
    #[arg(long)]
    force: bool,

    /// Use no colours (`NO_COLOR` and `CLICOLOR_FORCE` are heeded as well)
    #[arg(long, help_heading = "Output")]
    no_color: bool,
}

/// Merge two versions of our files, for Git
///
/// Git calls this as `install-hook` has told it. Both branches' events go into the log, which has
/// branched then: `cdkr history merge` brings the branches together.
#[derive(Args, Debug)]
#[command(hide = true)]
struct DriverArgs {
    /// The version before both branches
    base: PathBuf,
    /// Our version, which gets the result
    ours: PathBuf,
    /// Their version
    theirs: PathBuf,
    /// What the file is called
    path: Option<PathBuf>,
}

/// The form of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Text for a terminal
    #[default]
    Table,
    /// One JSON document
    Json,
}

impl HistoryCommand {
    pub(super) fn no_color(&self) -> bool {
        match &self.action {
            Action::Record(one) => one.no_color(),
            Action::Merge(one) => one.no_color(),
            Action::Log(one) => one.no_color(),
            Action::Show(one) => one.no_color(),
            Action::Graph(one) => one.no_color(),
            Action::Snapshot(one) => one.no_color(),
            Action::Diff(one) => one.no_color(),
            Action::InstallHook(one) => one.no_color,
            Action::MergeDriver(_) => false,
        }
    }
}

pub(super) fn run(command: &HistoryCommand, terminal: &mut Terminal) -> Result<Exit, Failure> {
    match &command.action {
        Action::Record(one) => record::record(one, terminal),
        Action::Merge(one) => record::merge(one, terminal),
        Action::Log(one) => views::log(one, terminal),
        Action::Show(one) => views::show(one, terminal),
        Action::Graph(one) => views::graph(one, terminal),
        Action::Snapshot(one) => views::snapshot(one, terminal),
        Action::Diff(one) => views::diff(one, terminal),
        Action::InstallHook(one) => install_hook(one, terminal),
        Action::MergeDriver(one) => {
            history::merge_driver(&one.ours, &one.theirs, one.path.as_deref())?;
            Ok(Exit::Done)
        }
    }
}

fn install_hook(arguments: &HookArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let project = Path::new(".");
    let hooked = history::install_hook(project, arguments.app.as_deref(), arguments.force)?;
    let shown = |path: &PathBuf| plain(&path.display().to_string()).into_owned();
    for file in &hooked.replaced {
        terminal.note(&format!("a hook that was there is kept as {}", shown(file)));
    }
    for file in &hooked.written {
        terminal.answer(&format!("wrote {}\n", shown(file)))?;
    }
    if hooked.written.is_empty() {
        terminal.answer("Everything is in place.\n")?;
    }
    if history::load_branches(project)?.is_none() {
        terminal.note(&format!(
            "there is no {HISTORY_FILE} yet: `cdkr history record` begins it, and until then the hook \
             stops every commit"
        ));
    }
    Ok(Exit::Done)
}
