//! A project with an app that changes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use regex::Regex;

use crate::program::{Place, app, text};

/// A directory with a `cdk.json`, and an assembly that stands for the app.
pub(crate) struct Project(Place);

impl Project {
    /// A project whose app is that of a fixture before its change.
    pub(crate) fn of(name: &str) -> Self {
        let project = Self(Place::new());
        fs::write(project.path().join("cdk.json"), "{\"app\": \"cdk.out\"}\n").unwrap();
        project.becomes(name, "before");
        project
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Replaces the app.
    pub(crate) fn becomes(&self, name: &str, side: &str) {
        let target = self.path().join("cdk.out");
        if target.exists() {
            fs::remove_dir_all(&target).unwrap();
        }
        copy(Path::new(&app(name, side)), &target);
    }

    /// Replaces a text in all templates of the app.
    pub(crate) fn edit(&self, old: &str, new: &str) {
        let mut found = false;
        for entry in fs::read_dir(self.path().join("cdk.out")).unwrap() {
            let path = entry.unwrap().path();
            if path.to_str().unwrap().ends_with(".template.json") {
                let text = fs::read_to_string(&path).unwrap();
                found |= text.contains(old);
                fs::write(&path, text.replace(old, new)).unwrap();
            }
        }
        assert!(found, "nothing to edit: {old}");
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.0.command(arguments);
        command.env("COLUMNS", "100").env("GIT_CEILING_DIRECTORIES", self.path().parent().unwrap());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The standard output of a call that succeeds.
    pub(crate) fn out(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Both streams of a call that fails with an exit code.
    pub(crate) fn failing(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        let all = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {all}");
        without_chance(&all)
    }

    /// What `history record` says.
    pub(crate) fn record(&self, arguments: &[&str]) -> String {
        self.out(&[&["history", "record"], arguments].concat())
    }

    /// What a command of the history answers, without what is different every time.
    pub(crate) fn seen(&self, arguments: &[&str]) -> String {
        without_chance(&self.out(&[&["history"], arguments].concat()))
    }

    /// The files of the history with their contents.
    pub(crate) fn files(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let templates = fs::read_dir(self.path().join("cdkr.history"));
        let templates = templates.into_iter().flatten().map(|entry| entry.unwrap().path());
        for file in templates.chain([self.path().join("cdkr.history.jsonl")]) {
            if let Ok(text) = fs::read_to_string(&file) {
                found.push((file.to_str().unwrap().to_owned(), text));
            }
        }
        found.sort();
        found
    }
}

/// The account of the fixtures, which looks like the beginning of a hash.
const ACCOUNT: &str = "111111111111";

/// A text with numbers in place of hashes and times.
pub(crate) fn without_chance(text: &str) -> String {
    let hash = Regex::new(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{12}\b").unwrap();
    let mut known: Vec<String> = Vec::new();
    let text = hash.replace_all(text, |found: &regex::Captures<'_>| {
        let found = &found[0];
        if found == ACCOUNT {
            return ACCOUNT.to_owned();
        }
        let at = known.iter().position(|other| other[..12] == found[..12]);
        let at = at.unwrap_or_else(|| {
            known.push(found.to_owned());
            known.len() - 1
        });
        format!("<hash {}{}>", at + 1, if found.len() == 64 { ", in full" } else { "" })
    });
    let time = Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").unwrap();
    time.replace_all(&text, "<time>").into_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
