//! Runs the tools that build and push assets.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader};

use crate::event::{Event, Host};

/// How many of its last lines an error shows.
const SHOWN: usize = 15;

/// Why a tool did not do what it was to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// Nothing says what to run.
    #[error("it has neither a file nor a command that makes it.")]
    Nothing,
    /// It is not there, or is no program.
    #[error("cannot run `{program}`: {error}.{}", installation(*.is_docker))]
    NotStarted {
        /// The program.
        program: String,
        /// Whether it is to build or push images.
        is_docker: bool,
        /// What the system says.
        error: io::Error,
    },
    /// It has failed. What it was called with is not shown: there may be secrets in it.
    #[error("`{program}` failed ({status}){}", Said(.last))]
    Failed {
        /// The program, with the name of what it was to do.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// The last lines that it said.
        last: Vec<String>,
    },
    /// It was to say a path or a name, and said nothing.
    #[error("`{program}` was to say what it has made on its standard output, and said nothing.")]
    SaidNothing {
        /// The program.
        program: String,
    },
    /// The configuration of Docker for the login cannot be written.
    #[error("a configuration of Docker for the login cannot be written: {0}.")]
    Configuration(io::Error),
}

fn installation(is_docker: bool) -> &'static str {
    if is_docker {
        " Install it, or name another one in the environment variable CDK_DOCKER. It has to be \
         running, too."
    } else {
        ""
    }
}

struct Said<'a>(&'a [String]);

impl std::fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str(" and said nothing.");
        }
        self.0.iter().try_for_each(|line| write!(f, "\n  {line}"))?;
        f.write_str("\n")
    }
}

/// A tool with its arguments. It is ended if nobody waits for it any more.
pub(super) struct Command<'a> {
    words: Vec<OsString>,
    /// What it is called in errors.
    name: String,
    directory: Option<PathBuf>,
    environment: Vec<(&'static str, OsString)>,
    input: Option<String>,
    is_docker: bool,
    /// The asset that it is for.
    id: &'a str,
    host: &'a dyn Host,
}

impl<'a> Command<'a> {
    /// A command of the app.
    pub(super) fn of(words: &[String], id: &'a str, host: &'a dyn Host) -> Self {
        Self {
            words: words.iter().map(OsString::from).collect(),
            name: words.first().cloned().unwrap_or_default(),
            directory: None,
            environment: Vec::new(),
            input: None,
            is_docker: false,
            id,
            host,
        }
    }

    /// A command of Docker, or of what takes its place.
    pub(super) fn docker(program: &OsStr, verb: &str, id: &'a str, host: &'a dyn Host) -> Self {
        Self {
            words: vec![program.to_owned(), verb.into()],
            name: format!("{} {verb}", program.to_string_lossy()),
            is_docker: true,
            ..Self::of(&[], id, host)
        }
    }

    pub(super) fn args(mut self, args: impl IntoIterator<Item = String>) -> Self {
        self.words.extend(args.into_iter().map(OsString::from));
        self
    }

    pub(super) fn directory(mut self, directory: &Path) -> Self {
        self.directory = Some(directory.to_owned());
        self
    }

    pub(super) fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// What it reads from its standard input.
    pub(super) fn input(mut self, text: &str) -> Self {
        self.input = Some(text.to_owned());
        self
    }

    /// Runs it and tells what it says.
    ///
    /// # Errors
    /// When it cannot be started or fails.
    pub(super) async fn run(self) -> Result<(), Box<CommandError>> {
        let (status, last, _) = self.end(true).await?;
        self.judge(status, last)
    }

    /// Runs it and tells nothing of what it says; returns how it ended.
    ///
    /// # Errors
    /// When it cannot be started, or fails with another code than the expected ones.
    pub(super) async fn succeeds(self, failures: &[i32]) -> Result<bool, Box<CommandError>> {
        let (status, last, _) = self.end(false).await?;
        match status.code() {
            Some(code) if failures.contains(&code) => Ok(false),
            _ => self.judge(status, last).map(|()| true),
        }
    }

    /// Runs it and returns what it says on its standard output; tells nothing of it.
    ///
    /// # Errors
    /// When it cannot be started, fails, or says nothing.
    pub(super) async fn said(self) -> Result<String, Box<CommandError>> {
        if self.words.is_empty() {
            return Err(Box::new(CommandError::Nothing));
        }
        let (status, last, output) = self.end(false).await?;
        self.judge(status, last)?;
        let said = output.trim().to_owned();
        if said.is_empty() {
            return Err(Box::new(CommandError::SaidNothing { program: self.name }));
        }
        Ok(said)
    }

    fn judge(&self, status: ExitStatus, last: Vec<String>) -> Result<(), Box<CommandError>> {
        if status.success() {
            return Ok(());
        }
        Err(Box::new(CommandError::Failed { program: self.name.clone(), status, last }))
    }

    async fn end(
        &self,
        tells: bool,
    ) -> Result<(ExitStatus, Vec<String>, String), Box<CommandError>> {
        let not_started = |error| {
            let (program, is_docker) = (self.name.clone(), self.is_docker);
            Box::new(CommandError::NotStarted { program, is_docker, error })
        };
        let Some((program, args)) = self.words.split_first() else {
            return Err(Box::new(CommandError::Nothing));
        };
        let mut command = tokio::process::Command::new(program);
        command.args(args).kill_on_drop(true).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(if self.input.is_some() { Stdio::piped() } else { Stdio::null() });
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let mut child = command.spawn().map_err(not_started)?;
        let (input, output, errors) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let write = async {
            if let (Some(mut input), Some(text)) = (input, &self.input) {
                // Whoever does not read it says so by how it ends.
                input.write_all(text.as_bytes()).await.ok();
            }
        };
        let last = std::sync::Mutex::new(VecDeque::new());
        let take = |line: &str| {
            if let Ok(mut last) = last.lock() {
                last.push_back(line.to_owned());
                if last.len() > SHOWN {
                    last.pop_front();
                }
            }
            if tells {
                self.host.tell(&Event::Output { id: self.id.to_owned(), line: line.to_owned() });
            }
        };
        let ((), output, _) = tokio::join!(write, lines(output, &take), lines(errors, &take));
        let status = child.wait().await.map_err(not_started)?;
        let last = last.into_inner().unwrap_or_default().into_iter().collect();
        Ok((status, last, output))
    }
}

/// Takes each line as it comes; returns all of them.
async fn lines(from: Option<impl AsyncRead + Unpin>, take: &impl Fn(&str)) -> String {
    let mut all = String::new();
    let Some(from) = from else { return all };
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    // What cannot be read ends it as its end does: how the tool ended says the rest.
    while reader.read_until(b'\n', &mut line).await.is_ok_and(|bytes| bytes > 0) {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if !text.is_empty() {
            take(text);
        }
        all.push_str(text);
        all.push('\n');
        line.clear();
    }
    all
}
