//! The documents show what the program prints: every command in them is run.
//!
//! A block whose first line starts with `$ ` is a session: its commands are run by a shell, in the
//! directory in which the block before has ended. A document begins in a fresh directory beside
//! the fixtures.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Variables that make Git the same for everybody.
const GIT: [(&str, &str); 6] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_AUTHOR_NAME", "Ann"),
    ("GIT_AUTHOR_EMAIL", "ann@example.com"),
    ("GIT_COMMITTER_NAME", "Ann"),
    ("GIT_COMMITTER_EMAIL", "ann@example.com"),
    ("GIT_MERGE_AUTOEDIT", "no"),
];

/// A shell that stays where it went.
struct Session {
    home: TempDir,
    directory: PathBuf,
    path: String,
    /// The events of histories, in the order in which they are seen.
    events: Vec<String>,
}

impl Session {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("cdkr");
        fs::create_dir(&directory).unwrap();
        std::os::unix::fs::symlink(root("fixtures"), directory.join("fixtures")).unwrap();
        let programs = Path::new(env!("CARGO_BIN_EXE_cdkr")).parent().unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        Self { home, directory, path, events: Vec::new() }
    }

    /// Runs a command and returns what is seen of it: its answer, and what went wrong.
    fn run(&mut self, command: &str) -> String {
        let ends_in = self.home.path().join("directory");
        let script = format!("{command}\nended=$?\npwd > {}\nexit $ended", ends_in.display());
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).env_clear().envs(GIT).stdin(Stdio::null());
        shell.env("HOME", self.home.path()).env("PATH", &self.path).env("COLUMNS", "100");
        let output = shell.current_dir(&self.directory).output().unwrap();
        self.directory = fs::read_to_string(ends_in).unwrap().trim_end().into();
        let err = if output.status.success() { Vec::new() } else { output.stderr };
        let seen = [output.stdout, err].concat();
        self.with_events(&without_chance(&String::from_utf8(seen).unwrap()))
    }

    /// The text with the hashes of events, which hold the time, replaced by others.
    fn with_events(&mut self, text: &str) -> String {
        let hash = regex::Regex::new(r"\b[0-9a-f]{12}\b").unwrap();
        let exchanged = hash.replace_all(text, |found: &regex::Captures<'_>| {
            let found = found[0].to_owned();
            // The number of an account.
            if found.chars().all(|digit| found.starts_with(digit)) {
                return found;
            }
            let at = self.events.iter().position(|event| *event == found);
            let at = at.unwrap_or_else(|| {
                self.events.push(found);
                self.events.len() - 1
            });
            let digits = u64::try_from(at + 1).unwrap().wrapping_mul(0x9e37_79b9_7f4a_7c15);
            format!("{:012x}", digits >> 16)
        });
        exchanged.into_owned()
    }
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A document with the output of each command in it as it is now.
fn with_present_outputs(text: &str) -> String {
    let mut session = Session::new();
    let mut blocks: Vec<String> = text.split("```\n").map(str::to_owned).collect();
    let has_git = Command::new("git").arg("--version").output().is_ok();
    // What comes after a block with Git builds on it.
    let shown = blocks.iter_mut().take_while(|block| has_git || !block.contains("\n$ git "));
    for block in shown.filter(|block| block.starts_with("$ ")) {
        let commands: Vec<String> =
            block.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect();
        block.clear();
        for command in commands {
            let shown = session.run(&command);
            write!(block, "$ {command}\n{shown}").unwrap();
        }
    }
    blocks.join("```\n")
}

/// The text with what is different every time replaced: times, and the ends of physical IDs.
fn without_chance(text: &str) -> String {
    let exchanged = [
        (r"\d{8}T\d{6}Z-[0-9a-f]{8}", "20261121T084739Z-1a2b3c4d"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "2026-11-21T08:47:39Z"),
        (r"-[A-Z0-9]{12,13}\b", "-1ABCDEFGHIJKL"),
    ];
    let mut text = text.to_owned();
    for (pattern, with) in exchanged {
        text = regex::Regex::new(pattern).unwrap().replace_all(&text, with).into_owned();
    }
    text
}

#[test]
fn the_readme_shows_what_the_program_prints() {
    let path = root("README.md");
    let text = fs::read_to_string(&path).unwrap();
    let present = with_present_outputs(&text);
    if std::env::var("INSTA_UPDATE").is_ok_and(|mode| mode == "always") {
        fs::write(&path, &present).unwrap();
        return;
    }
    assert!(text == present, "INSTA_UPDATE=always cargo test brings README.md up to date");
}
