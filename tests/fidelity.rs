//! The embedded CloudFormation and clients that we did not write, and our reading from an
//! emulator that is not ours. `.ci/run` installs them with `tests/fidelity/requirements.txt`;
//! without them these tests are skipped, and say so.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]
#![expect(clippy::print_stderr, reason = "a test says why it is skipped")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The virtual environment with the clients, unless nobody made one.
fn python() -> Option<PathBuf> {
    let named = std::env::var_os("CDKR_FIDELITY").map(PathBuf::from);
    let directory =
        named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/fidelity"));
    let python = directory.join("bin/python");
    if python.exists() {
        return Some(python);
    }
    eprintln!(
        "skipped: no clients in `{}`. To install them: python3 -m venv target/fidelity && \
         target/fidelity/bin/pip install -r tests/fidelity/requirements.txt",
        directory.display()
    );
    None
}

/// `cdkr local serve` in a directory of its own.
struct Server {
    child: Child,
    url: String,
    _directory: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_cdkr"))
            .args(["local", "serve", "--port", "0", "--local"])
            .arg(directory.path().join("state"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_whitespace().last().unwrap().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{line}");
        Self { child, url, _directory: directory }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn run(python: &Path, script: &str, arguments: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fidelity").join(script);
    let output = Command::new(python).arg(&script).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{}\n{}{}",
        script.display(),
        text(&output.stdout),
        text(&output.stderr)
    );
}

#[test]
fn the_aws_sdk_for_python_creates_updates_refactors_lists_and_pages() {
    let Some(python) = python() else { return };
    run(&python, "sdk.py", &[&Server::start().url]);
}

#[test]
fn the_aws_command_line_creates_refactors_and_copies() {
    let Some(python) = python() else { return };
    let server = Server::start();
    let aws = python.with_file_name("aws");
    run(&python, "command_line.py", &[&server.url, aws.to_str().unwrap()]);
}

#[test]
fn stacks_are_read_from_an_emulator_that_is_not_ours() {
    let Some(python) = python() else { return };
    let app = |side: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/apps/rename").join(side);
        path.to_str().unwrap().to_owned()
    };
    run(&python, "other_emulator.py", &[env!("CARGO_BIN_EXE_cdkr"), &app("before"), &app("after")]);
}
