//! The plan of the house, checked against the source: which room may import which, what the pure
//! rooms may not touch, who may print, and how long a file may be.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::fs;
use std::path::{Path, PathBuf};

/// Every room with its floor. A room imports from lower floors only.
const FLOORS: &[(&str, u8)] = &[
    ("model", 0),
    ("template", 1),
    ("registry", 1),
    ("event", 1),
    ("settings", 1),
    ("assembly", 2),
    ("compare", 2),
    ("aws", 2),
    ("local", 2),
    ("aspects", 3),
    ("history", 3),
    ("analyze", 3),
    ("plan", 3),
    ("run", 4),
    ("deploy", 4),
    ("report", 5),
    ("toolkit", 6),
    ("cli", 7),
];

/// Rooms that are functions of values.
const PURE: &[&str] = &[
    "model", "template", "registry", "compare", "aspects", "history", "analyze", "plan", "report",
];

/// What a pure room may not name, wherever it stands in a path or in a group of imports.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "std::thread::sleep",
    "std::time::SystemTime",
    "std::time::Instant",
    "tokio",
    "anstream::AutoStream",
    "anstream::stdout",
    "anstream::stderr",
];

/// Macros that write to a terminal.
const PRINTING: &[&str] = &["println!", "eprintln!", "print!", "eprint!", "dbg!"];

const LONGEST_FILE: usize = 800;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Each room that exists with its files.
fn rooms() -> Vec<(String, Vec<PathBuf>)> {
    let mut rooms: Vec<_> = fs::read_dir(root().join("src"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), rust_files(&path)))
        .collect();
    rooms.sort();
    rooms
}

fn floor(room: &str) -> u8 {
    let found = FLOORS.iter().find(|(name, _)| *name == room);
    found.unwrap_or_else(|| panic!("the room `{room}` is not in the table of floors")).1
}

/// The source without comments and without the contents of string and character literals, so
/// that words in texts are not taken for code. Raw strings are understood.
fn code(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let before = out.chars().last();
        let word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if rest.starts_with("/*") {
            rest = rest.find("*/").map_or("", |end| &rest[end + 2..]);
        } else if !word && let Some(length) = raw_string(rest) {
            out.push_str("\"\"");
            rest = &rest[length..];
        } else if first == '"' {
            out.push_str("\"\"");
            rest = &rest[string(rest)..];
        } else if let Some(length) = character(rest) {
            out.push_str("' '");
            rest = &rest[length..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// Length of a raw string that starts here.
fn raw_string(text: &str) -> Option<usize> {
    let marks = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = marks.len() - marks.trim_start_matches('#').len();
    let inner = marks[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = inner.find(&close)?;
    Some(text.len() - inner.len() + end + close.len())
}

/// Length of the string that starts here.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Length of a character literal that starts here; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('\'')?;
    let length = match inner.strip_prefix('\\') {
        Some(escape) => 2 + escape.char_indices().skip(1).find(|(_, c)| *c == '\'')?.0,
        None => 1 + inner.chars().next()?.len_utf8(),
    };
    text[length..].starts_with('\'').then_some(length + 1)
}

/// Every path that a piece of code names, groups of imports spelt out: `std::{fs, io::Write}`
/// gives `std::fs` and `std::io::Write`.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut prefixes: Vec<String> = Vec::new();
    let mut current = String::new();
    for c in code.chars() {
        match c {
            c if c.is_alphanumeric() || c == '_' || c == ':' => current.push(c),
            '{' if current.ends_with("::") || !prefixes.is_empty() => {
                prefixes.push(format!("{}{current}", prefixes.last().map_or("", String::as_str)));
                current.clear();
            }
            _ => {
                if !current.is_empty() {
                    let prefix = prefixes.last().map_or("", String::as_str);
                    found.push(format!("{prefix}{current}"));
                    current.clear();
                }
                match c {
                    '}' => drop(prefixes.pop()),
                    ';' => prefixes.clear(),
                    _ => {}
                }
            }
        }
    }
    found.push(current);
    found
}

fn names(path: &str, forbidden: &str) -> bool {
    path.strip_prefix(forbidden).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// The rooms that a piece of code imports from.
fn imports(code: &str) -> Vec<String> {
    let rooms = paths(code).into_iter().filter_map(|path| {
        let rest = path.strip_prefix("crate::").or_else(|| path.strip_prefix("cdkr::"))?;
        Some(rest.split("::").next().unwrap_or_default().to_owned())
    });
    rooms.filter(|room| !room.is_empty()).collect()
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap()
}

#[test]
fn every_room_has_a_floor_and_every_file_of_the_source_is_in_a_room() {
    for (room, _) in rooms() {
        floor(&room);
    }
    let loose: Vec<_> = fs::read_dir(root().join("src"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != "main.rs" && name != "lib.rs")
        .collect();
    assert!(loose.is_empty(), "files outside of the rooms: {loose:?}");
}

#[test]
fn a_room_imports_from_lower_floors_only() {
    let mut wrong = Vec::new();
    for (room, files) in rooms() {
        for file in files {
            for other in imports(&code(&read(&file))) {
                if other != room && floor(&other) >= floor(&room) {
                    wrong.push(format!("{}: `{room}` imports `{other}`", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pure_rooms_name_no_file_clock_process_network_or_terminal() {
    let mut wrong = Vec::new();
    for (room, files) in rooms().into_iter().filter(|(room, _)| PURE.contains(&room.as_str())) {
        for file in files {
            for path in paths(&code(&read(&file))) {
                if let Some(forbidden) = IMPURE.iter().find(|forbidden| names(&path, forbidden)) {
                    wrong.push(format!("{}: `{room}` names `{forbidden}`", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_one_room_names_the_sdk_of_aws() {
    let mut wrong = Vec::new();
    for (_, files) in rooms().into_iter().filter(|(room, _)| room != "aws") {
        for file in files {
            for path in paths(&code(&read(&file))) {
                if path.split("::").next().is_some_and(|first| first.starts_with("aws_")) {
                    wrong.push(format!("{}: `{path}`", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_the_command_line_prints() {
    let mut wrong = Vec::new();
    for (_, files) in rooms().into_iter().filter(|(room, _)| room != "cli") {
        for file in files {
            let code = code(&read(&file));
            wrong.extend(
                PRINTING
                    .iter()
                    .filter(|name| {
                        code.match_indices(**name).any(|(at, _)| {
                            !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
                        })
                    })
                    .map(|name| format!("{}: `{name}`", file.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_room_opens_with_what_it_is() {
    for (room, _) in rooms() {
        let text = read(&root().join("src").join(&room).join("mod.rs"));
        assert!(text.starts_with("//! "), "`{room}` does not start with a doc comment");
    }
}

#[test]
fn no_file_is_too_long() {
    for directory in ["src", "tests", "benches"] {
        let directory = root().join(directory);
        if !directory.exists() {
            continue;
        }
        for file in rust_files(&directory) {
            let lines = read(&file).lines().count();
            assert!(lines <= LONGEST_FILE, "{} has {lines} lines", file.display());
        }
    }
}

#[test]
fn the_program_itself_is_a_call_of_the_library() {
    let lines = read(&root().join("src/main.rs")).lines().count();
    assert!(lines <= 15, "main.rs has {lines} lines");
}

#[test]
fn the_check_sees_through_groups_comments_and_texts() {
    let source = r##"
        // std::fs in a comment
        use std::{collections::BTreeMap, fs::File, time::{Duration, Instant}};
        use crate::{model::Stack, report};
        const TEXT: &str = "std::env and println!(\"x\")";
        const RAW: &str = r#"tokio::spawn "quoted" "#;
        fn quote(c: char) -> bool { c == '"' && crate::cli::main() }
        fn hold<'a>(x: &'a str) -> std::process::ExitCode { x }
    "##;
    let code = code(source);
    let paths = paths(&code);
    for expected in ["std::fs::File", "std::time::Instant", "std::process::ExitCode"] {
        assert!(paths.iter().any(|path| path == expected), "{expected} in {paths:?}");
    }
    for unexpected in ["std::fs", "std::env", "tokio::spawn"] {
        assert!(!paths.iter().any(|path| path == unexpected), "{unexpected} in {paths:?}");
    }
    assert_eq!(imports(&code), ["model", "report", "cli"]);
    assert!(!code.contains("println!"));
}
