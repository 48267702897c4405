//! Decisions that last: they are added to a file, so that nobody is asked twice.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::files;
use super::Decided;
use crate::model::Environment;
use crate::settings::decision_file;

/// Why decisions cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The file cannot be read.
    #[error("cannot read `{}`, to which decisions were to be added", .file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write decisions to `{}`", .file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Nothing can be added to what the file says.
    #[error("{}: {problem}", .file.display())]
    Add {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

/// Checks that decisions can be added to a file: whoever has answered forty questions must not
/// learn only then that nothing can be kept. The file need not be there.
///
/// # Errors
/// When it can be neither read nor written, or is no file of decisions.
pub fn check_decision_file(file: &Path) -> Result<(), KeepError> {
    let environment = Environment::new("", "");
    add(file, read(file)?.as_deref(), &environment, &Decided::default())?;
    files::check_writable(file).map_err(|source| KeepError::Write { file: file.to_owned(), source })
}

/// Adds decisions to a file, which is written as a whole or not at all. What it says already
/// stays. Without decisions nothing is written.
///
/// # Errors
/// When the file cannot be read or written, or says something else about the same resources.
pub fn keep_decisions(file: &Path, decided: &[(Environment, Decided)]) -> Result<(), KeepError> {
    if decided.iter().all(|(_, decided)| decided.is_empty()) {
        return Ok(());
    }
    let mut text = read(file)?;
    for (environment, decided) in decided {
        text = Some(add(file, text.as_deref(), environment, decided)?);
    }
    let text = text.unwrap_or_default();
    files::write(file, text.as_bytes())
        .map_err(|source| KeepError::Write { file: file.to_owned(), source })
}

fn read(file: &Path) -> Result<Option<String>, KeepError> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(KeepError::Read { file: file.to_owned(), source }),
    }
}

fn add(
    file: &Path,
    text: Option<&str>,
    environment: &Environment,
    decided: &Decided,
) -> Result<String, KeepError> {
    decision_file::append(text, environment, &decided.pairs, &decided.left)
        .map_err(|error| KeepError::Add { file: file.to_owned(), problem: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(pairs: &[(&str, &str)], left: &[&str]) -> Decided {
        let pair = |(old, new): &(&str, &str)| (old.parse().unwrap(), new.parse().unwrap());
        Decided {
            pairs: pairs.iter().map(pair).collect(),
            left: left.iter().map(|name| name.parse().unwrap()).collect(),
        }
    }

    #[test]
    fn decisions_are_added_to_those_that_are_there() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("moves.json");
        let here = Environment::new("111111111111", "us-east-1");
        check_decision_file(&file).unwrap();
        assert!(!file.exists(), "a check writes nothing");
        keep_decisions(&file, &[(here.clone(), decided(&[("A.P", "A.Q")], &[]))]).unwrap();
        keep_decisions(&file, &[(here, decided(&[], &["A.R"]))]).unwrap();
        insta::assert_snapshot!(fs::read_to_string(&file).unwrap());
    }

    #[test]
    fn a_file_that_is_none_is_refused_before_anybody_is_asked() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("moves.json");
        fs::write(&file, "[1, 2").unwrap();
        let error = check_decision_file(&file).unwrap_err().to_string();
        assert!(error.contains("moves.json"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "[1, 2");
    }

    #[test]
    fn without_decisions_nothing_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("moves.json");
        keep_decisions(&file, &[]).unwrap();
        assert!(!file.exists());
    }
}
