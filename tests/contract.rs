//! The command line is a contract: scripts call it. What was promised once stays; what is new is
//! written down by `INSTA_UPDATE=always cargo test --test contract`.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

const RULE: &str = "The command line is a contract (tests/snapshots/command-line.contract): options, \
    aliases, values, defaults, environment variables and exit codes stay as they are until the next \
    major version, and nothing that could be left out has to be given. Keep the old form as an alias. \
    Whoever breaks the contract on purpose takes the lines out of the file by hand, and says so in \
    the release notes.";

/// What is gone, and what is more restricted than it was.
fn broken(promised: &BTreeSet<String>, now: &BTreeSet<String>) -> Vec<String> {
    // A new option may be as restricted as it likes, but it must be possible to do without it.
    let is_restriction = |line: &&String| {
        let Some((of, what)) = line.split_once(": ") else { return false };
        match what.strip_prefix("not together with ") {
            Some(other) => {
                let command = of.rsplit_once(' ').map_or("", |(command, _)| command);
                promised.contains(of) && promised.contains(&format!("{command} {other}"))
            }
            None if what.ends_with("must be given") => is_of_promised(of, promised),
            None => false,
        }
    };
    let gone = promised.difference(now).map(|line| format!("- {line}"));
    let restricted =
        now.difference(promised).filter(is_restriction).map(|line| format!("+ {line}"));
    gone.filter(|line| !is_relaxed(line, now)).chain(restricted).collect()
}

/// Whether an argument belongs to a command that was there before.
fn is_of_promised(of: &str, promised: &BTreeSet<String>) -> bool {
    let words = of.split(' ').take_while(|word| !word.starts_with(['-', '<']));
    promised.contains(&words.collect::<Vec<_>>().join(" "))
}

/// Whether what is gone is a restriction of something that is still there.
fn is_relaxed(line: &str, now: &BTreeSet<String>) -> bool {
    let Some((of, what)) = line.trim_start_matches("- ").split_once(": ") else { return false };
    now.contains(of) && (what.starts_with("not together with ") || what.ends_with("must be given"))
}

/// The environment variables that are read, and those that an app gets.
fn variables() -> BTreeSet<String> {
    let name = Regex::new(r#""(CDKR?_[A-Z_]+)""#).unwrap();
    let mut found =
        BTreeSet::from(["AWS_*", "CLICOLOR_FORCE", "DOCKER_CONFIG", "NO_COLOR"].map(str::to_owned));
    let mut open = vec![root("src")];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            let is_source = entry.extension().is_some_and(|extension| extension == "rs");
            if entry.is_dir() {
                open.push(entry);
            } else if is_source {
                let text = fs::read_to_string(&entry).unwrap();
                found.extend(name.captures_iter(&text).map(|found| found[1].to_owned()));
            }
        }
    }
    found.into_iter().map(|name| format!("variable {name}")).collect()
}

#[test]
fn what_scripts_count_on_is_still_there() {
    let mut now: BTreeSet<String> = cdkr::cli::contract().into_iter().collect();
    now.extend(variables());
    let file = root("tests/snapshots/command-line.contract");
    let text = fs::read_to_string(&file).unwrap_or_default();
    let promised: BTreeSet<String> = text.lines().map(str::to_owned).collect();
    let broken = broken(&promised, &now);
    assert!(broken.is_empty(), "{}\n\n{RULE}", broken.join("\n"));
    if now == promised {
        return;
    }
    if std::env::var("INSTA_UPDATE").is_ok_and(|mode| mode == "always") {
        let lines: Vec<&str> = now.iter().map(String::as_str).collect();
        fs::write(&file, lines.join("\n") + "\n").unwrap();
        return;
    }
    let new: Vec<String> = now.difference(&promised).map(|line| format!("+ {line}")).collect();
    panic!(
        "{}\n\nNothing is broken, but there is more than was promised: \
         INSTA_UPDATE=always cargo test --test contract writes it down",
        new.join("\n")
    );
}

fn lines(text: &[&str]) -> BTreeSet<String> {
    text.iter().map(|line| (*line).to_owned()).collect()
}

#[test]
fn what_is_removed_is_told_apart_from_what_is_added() {
    let old =
        lines(&["cdkr a", "cdkr a --x", "cdkr a --x: also -x", "cdkr a --x: is 1 by default"]);
    let with = |more: &[&str]| old.union(&lines(more)).cloned().collect::<BTreeSet<_>>();
    let without = |less: &str| old.iter().filter(|line| *line != less).cloned().collect();
    assert_eq!(broken(&old, &old), [] as [&str; 0]);
    assert_eq!(broken(&old, &with(&["cdkr b", "cdkr a --y", "exit code 9: new"])), [] as [&str; 0]);
    assert_eq!(broken(&old, &without("cdkr a --x: also -x")), ["- cdkr a --x: also -x"]);
    let mut other: BTreeSet<String> = without("cdkr a --x: is 1 by default");
    other.insert("cdkr a --x: is 2 by default".to_owned());
    assert_eq!(broken(&old, &other), ["- cdkr a --x: is 1 by default"]);
}

#[test]
fn to_ask_for_more_than_before_is_told_and_to_ask_for_less_is_not() {
    let old = lines(&["cdkr a", "cdkr a --x", "cdkr a --x: may be left out", "cdkr a --z"]);
    let required = lines(&["cdkr a", "cdkr a --x", "cdkr a --x: must be given", "cdkr a --z"]);
    let expected = ["- cdkr a --x: may be left out", "+ cdkr a --x: must be given"];
    assert_eq!(broken(&old, &required), expected);
    assert_eq!(broken(&required, &old), [] as [&str; 0]);
    let with = |line: &str| old.union(&lines(&[line])).cloned().collect::<BTreeSet<_>>();
    let excluded = with("cdkr a --x: not together with --z");
    assert_eq!(broken(&old, &excluded), ["+ cdkr a --x: not together with --z"]);
    assert_eq!(broken(&excluded, &old), [] as [&str; 0]);
    // An option that is new may exclude others; it may not be needed, unless its command is new.
    assert_eq!(broken(&old, &with("cdkr a --n: not together with --z")), [] as [&str; 0]);
    assert_eq!(broken(&old, &with("cdkr a --n: must be given")), ["+ cdkr a --n: must be given"]);
    assert_eq!(broken(&old, &with("cdkr new --n: must be given")), [] as [&str; 0]);
    let group = "cdkr a --x --z: one of them must be given";
    assert_eq!(broken(&old, &with(group)), [format!("+ {group}")]);
}
