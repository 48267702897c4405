//! The whole program, run in a directory of its own.

#![expect(unreachable_pub, reason = "tests share this file")]
#![allow(dead_code, reason = "not every test needs all of it")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value as Json;
use tempfile::TempDir;

/// A directory in which the program is run.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cdkr"));
        command.args(arguments).env_clear().env("HOME", self.path()).stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).current_dir(self.path());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The standard output of a call that succeeds.
    pub fn out(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The standard error stream of a call that fails with an exit code.
    pub fn err(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        text(&output.stderr)
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub fn app(name: &str, side: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join("fixtures/apps").join(name).join(side).to_str().unwrap().to_owned()
}

impl Place {
    /// Deploys an assembly as it is to the embedded CloudFormation of this place.
    pub fn seed(&self, assembly: &str) {
        self.out(&["local", "seed", "--app", assembly]);
    }

    /// Every resource that exists, nested stacks included: where it is, and the number of its
    /// creation.
    pub fn resources(&self) -> BTreeMap<String, u64> {
        let names = self.json(&["local", "ls", "--output", "json"]);
        let mut found = BTreeMap::new();
        for stack in names["stacks"].as_array().unwrap() {
            let name = stack["name"].as_str().unwrap();
            let shown = self.json(&["local", "show", name, "--output", "json"]);
            for stack in shown["stacks"].as_array().unwrap() {
                for resource in stack["resources"].as_array().unwrap() {
                    // Nested stacks are not counted, but what is in them.
                    let Some(generation) = resource["generation"].as_u64() else { continue };
                    let place = format!(
                        "{} {name}.{}",
                        stack["region"].as_str().unwrap(),
                        resource["logicalId"].as_str().unwrap()
                    );
                    found.insert(place, generation);
                }
            }
        }
        found
    }

    /// The answer of a call that succeeds, as JSON.
    pub fn json(&self, arguments: &[&str]) -> Json {
        serde_json::from_str(&self.out(arguments)).unwrap()
    }
}

/// The templates of an assembly with every occurrence of a text replaced.
pub fn edited(assembly: &str, old: &str, new: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(assembly).unwrap() {
        let entry = entry.unwrap();
        let target = directory.path().join(entry.file_name());
        if entry.file_name().to_str().unwrap().ends_with(".template.json") {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            std::fs::write(target, text.replace(old, new)).unwrap();
        } else if entry.path().is_file() {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
    directory
}
