//! Running the command that synthesizes an app.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use crate::model::{Object, Value};
use crate::template::json;

/// The version of the CDK CLI that the app is told. Frameworks compare it with what they need.
const CLI_VERSION: &str = "2.1148.2";
/// The version of the assembly schema that the app is told.
const SCHEMA_VERSION: &str = "55.0.0";
/// A context longer than this goes through a file: systems limit environment variables.
const MAX_CONTEXT_VARIABLE: usize = 32 * 1024;
/// The variable that names this file (the same word in the framework).
const CONTEXT_FILE: &str = "CONTEXT_OVERFLOW_LOCATION_ENV";

/// An app to be synthesized.
#[derive(Clone, Debug)]
pub struct App {
    /// The command line, for a shell.
    pub command: String,
    /// The directory in which it runs.
    pub project: PathBuf,
    /// Where it writes the assembly; relative to the project.
    pub output: PathBuf,
    /// Context values.
    pub context: Object,
    /// The account of stacks that ask for the default one.
    pub account: Option<String>,
    /// The region of stacks that ask for the default one.
    pub region: Option<String>,
}

/// Why an app gave no assembly.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The project directory does not exist.
    #[error("project directory `{}` does not exist", .0.display())]
    NoProject(PathBuf),
    /// The shell could not be started.
    #[error("cannot run `{command}` in `{}`: {error}", .project.display())]
    NotStarted {
        /// The command.
        command: String,
        /// Where it was to run.
        project: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A file or directory for the app could not be made.
    #[error("cannot write `{}`: {error}", .path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The app ended with an error, which it has printed itself.
    #[error("the app failed: `{command}`, {status}")]
    Failed {
        /// The command.
        command: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// The app ended well but wrote no assembly.
    #[error(
        "the app wrote no cloud assembly to `{}`: does `{command}` call `app.synth()`, and does \
         it leave the output directory to the caller?", .output.display()
    )]
    NothingWritten {
        /// The command.
        command: String,
        /// Where the assembly was expected.
        output: PathBuf,
    },
}

/// Whether an `app` setting names an existing directory: then it is an assembly and not a command.
pub fn is_assembly_directory(project: &Path, app: &str) -> bool {
    !app.trim().is_empty() && project.join(app.trim()).is_dir()
}

impl App {
    /// Returns an app that runs in a directory and writes to `cdk.out` there, without context.
    pub fn new(command: &str, project: &Path) -> Self {
        Self {
            command: command.to_owned(),
            project: project.to_owned(),
            output: PathBuf::from("cdk.out"),
            context: Object::new(),
            account: None,
            region: None,
        }
    }

    /// Runs the app and returns the directory of the assembly that it wrote. What the app prints
    /// goes to our standard error stream, which leaves the standard output to the answer.
    ///
    /// The environment variables are those of the CDK CLI.
    ///
    /// # Errors
    /// When the command cannot be started, fails, or leaves no new assembly.
    pub fn synthesize(&self) -> Result<PathBuf, AppError> {
        if !self.project.is_dir() {
            return Err(AppError::NoProject(self.project.clone()));
        }
        let output = self.output_directory()?;
        let before = Stamp::of(&output);
        let mut command = shell(&self.command_line());
        command
            .current_dir(&self.project)
            .stdin(Stdio::null())
            .stdout(io::stderr())
            .env("CDK_OUTDIR", &output)
            .env("CDK_CLI_ASM_VERSION", SCHEMA_VERSION)
            .env("CDK_CLI_VERSION", CLI_VERSION);
        if let Some(account) = &self.account {
            command.env("CDK_DEFAULT_ACCOUNT", account);
        }
        if let Some(region) = &self.region {
            command.env("CDK_DEFAULT_REGION", region);
        }
        let overflow = hand_over(&self.full_context(), &mut command)?;
        let status = command.status().map_err(|error| AppError::NotStarted {
            command: self.command.clone(),
            project: self.project.clone(),
            error,
        })?;
        drop(overflow);
        if !status.success() {
            return Err(AppError::Failed { command: self.command.clone(), status });
        }
        let after = Stamp::of(&output);
        if after.is_none() || after == before {
            return Err(AppError::NothingWritten { command: self.command.clone(), output });
        }
        Ok(output)
    }

    /// The app needs an absolute path, since it may change its directory.
    fn output_directory(&self) -> Result<PathBuf, AppError> {
        let path = self.project.join(&self.output);
        let failed = |error| AppError::Write { path: path.clone(), error };
        fs::create_dir_all(&path).map_err(failed)?;
        std::path::absolute(&path).map_err(failed)
    }

    /// A command that is just a JavaScript file is run by Node.js, as the CDK CLI does.
    fn command_line(&self) -> String {
        let command = self.command.trim();
        let script = Path::new(command);
        let is_script = script.extension().is_some_and(|extension| extension == "js");
        if is_script && self.project.join(script).is_file() {
            format!("node \"{command}\"")
        } else {
            command.to_owned()
        }
    }

    /// The context with the switches without which templates do not say where resources come
    /// from. The user's own word counts more.
    fn full_context(&self) -> Value {
        let mut context = self.context.clone();
        for key in ["aws:cdk:enable-path-metadata", "aws:cdk:enable-asset-metadata"] {
            if !context.contains_key(key) {
                context.insert(key.into(), Value::Bool(true));
            }
        }
        Value::Object(context)
    }
}

#[cfg(not(windows))]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command);
    shell
}

#[cfg(windows)]
fn shell(command: &str) -> Command {
    use std::os::windows::process::CommandExt;
    let mut shell = Command::new("cmd");
    // `cmd` takes the rest of its line as it is, between the outermost quotes.
    shell.raw_arg(format!("/D /S /C \"{command}\""));
    shell
}

/// Gives the context to the app: in a variable or, if it is too long, in a file that lives as
/// long as the returned value.
fn hand_over(context: &Value, command: &mut Command) -> Result<Option<ContextFile>, AppError> {
    let text = json::to_compact(context);
    if text.len() <= MAX_CONTEXT_VARIABLE {
        command.env("CDK_CONTEXT_JSON", text).env_remove(CONTEXT_FILE);
        return Ok(None);
    }
    let file = ContextFile::write(&text)?;
    command.env("CDK_CONTEXT_JSON", "{}").env(CONTEXT_FILE, file.directory.join("context.json"));
    Ok(Some(file))
}

/// A file with the context, in a temporary directory of its own.
struct ContextFile {
    directory: PathBuf,
}

impl ContextFile {
    fn write(text: &str) -> Result<Self, AppError> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("cdkr-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(name);
        private_directory(&directory)
            .map_err(|error| AppError::Write { path: directory.clone(), error })?;
        let file = Self { directory };
        let path = file.directory.join("context.json");
        fs::write(&path, text).map_err(|error| AppError::Write { path, error })?;
        Ok(file)
    }
}

impl Drop for ContextFile {
    fn drop(&mut self) {
        // Nothing depends on it: at worst a small file stays behind.
        drop(fs::remove_dir_all(&self.directory));
    }
}

/// Makes a directory that must be new: whoever else made one of this name could read or replace
/// what is in it.
fn private_directory(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// What changes when a manifest is written again.
#[derive(PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    /// On Unix the inode and its change time, which also tell a copy with an old date.
    inode: (u64, i64, i64),
}

impl Stamp {
    fn of(output: &Path) -> Option<Self> {
        let metadata = fs::metadata(output.join("manifest.json")).ok()?;
        #[cfg(unix)]
        let inode = {
            use std::os::unix::fs::MetadataExt;
            (metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
        };
        #[cfg(not(unix))]
        let inode = (0, 0, 0);
        Some(Self { modified: metadata.modified().ok(), length: metadata.len(), inode })
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn run(
        command: &str,
        change: impl FnOnce(&mut App),
    ) -> (tempfile::TempDir, Result<PathBuf, AppError>) {
        let project = tempfile::tempdir().unwrap();
        let mut app = App::new(command, project.path());
        change(&mut app);
        let result = app.synthesize();
        (project, result)
    }

    fn written(project: &tempfile::TempDir, name: &str) -> String {
        fs::read_to_string(project.path().join("cdk.out").join(name)).unwrap()
    }

    #[test]
    fn the_app_is_told_where_to_write_for_whom_and_with_which_context() {
        let (project, output) = run(
            r#"cd / && echo "$CDK_DEFAULT_ACCOUNT $CDK_DEFAULT_REGION $CDK_CLI_ASM_VERSION $CDK_CLI_VERSION" > "$CDK_OUTDIR/said" &&
               printf %s "$CDK_CONTEXT_JSON" > "$CDK_OUTDIR/context" && echo x > "$CDK_OUTDIR/manifest.json""#,
            |app| {
                app.account = Some("111111111111".into());
                app.region = Some("eu-west-1".into());
                app.context.insert("aws:cdk:enable-asset-metadata".into(), Value::Bool(false));
            },
        );
        assert!(output.unwrap().is_absolute());
        assert_eq!(written(&project, "said"), "111111111111 eu-west-1 55.0.0 2.1148.2\n");
        assert_eq!(
            written(&project, "context"),
            r#"{"aws:cdk:enable-asset-metadata":false,"aws:cdk:enable-path-metadata":true}"#
        );
    }

    #[test]
    fn a_long_context_goes_through_a_file_that_is_removed_afterwards() {
        let (project, output) = run(
            r#"cp "$CONTEXT_OVERFLOW_LOCATION_ENV" "$CDK_OUTDIR/context" &&
               echo "$CONTEXT_OVERFLOW_LOCATION_ENV" > "$CDK_OUTDIR/manifest.json""#,
            |app| {
                app.context.insert("long".into(), Value::from("x".repeat(40_000).as_str()));
            },
        );
        output.unwrap();
        assert!(written(&project, "context").contains(&"x".repeat(40_000)));
        assert!(!Path::new(written(&project, "manifest.json").trim()).exists());
    }

    #[test]
    fn a_failing_app_is_named_with_its_exit_status() {
        let (_project, result) = run("exit 7", |_| {});
        assert_eq!(result.unwrap_err().to_string(), "the app failed: `exit 7`, exit status: 7");
    }

    #[test]
    fn an_app_that_writes_nothing_is_refused_even_if_an_old_assembly_is_there() {
        let (_project, result) = run("true", |_| {});
        let error = result.unwrap_err().to_string();
        assert!(error.starts_with("the app wrote no cloud assembly to `"), "{error}");
        let (_project, result) = run("true", |app| {
            let output = app.project.join("cdk.out");
            fs::create_dir(&output).unwrap();
            fs::write(output.join("manifest.json"), "{}").unwrap();
        });
        assert!(matches!(result, Err(AppError::NothingWritten { .. })));
    }

    #[test]
    fn an_existing_directory_is_an_assembly_and_anything_else_a_command() {
        let project = tempfile::tempdir().unwrap();
        fs::create_dir(project.path().join("cdk.out")).unwrap();
        assert!(is_assembly_directory(project.path(), "cdk.out"));
        assert!(!is_assembly_directory(project.path(), "npx ts-node bin/app.ts"));
        assert!(!is_assembly_directory(project.path(), ""));
    }
}
