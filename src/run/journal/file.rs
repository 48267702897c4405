//! The file of a journal.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::record::{Begin, Line, Record, VERSION};

/// Why a journal cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file or a directory cannot be read or written.
    #[error("the journal {} cannot be read or written: {error}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why; the text of this error says it.
        error: io::Error,
    },
    /// A line is not what is expected.
    #[error("the journal {}, line {line}, cannot be read: {message}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Why.
        message: String,
    },
    /// A newer program has written it.
    #[error(
        "the journal {} has version {found}; this program knows versions up to {VERSION}. \
         Use the version of cdkr that has written it, or a newer one", .path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
}

/// A journal that is being written.
#[derive(Debug)]
pub(in crate::run) struct Journal {
    path: PathBuf,
    file: File,
}

/// What tells the version of a first line whose form is not known.
#[derive(Deserialize)]
struct Versioned {
    record: VersionedRecord,
}

#[derive(Deserialize)]
struct VersionedRecord {
    begin: VersionedBegin,
}

#[derive(Deserialize)]
struct VersionedBegin {
    version: u64,
}

impl Journal {
    /// Creates a journal that is not there yet; only its owner may read it.
    pub(in crate::run) fn create(path: &Path, first: &Line) -> Result<Self, JournalError> {
        let mut options = OpenOptions::new();
        options.create_new(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(io_error(path))?;
        let mut journal = Self { path: path.to_owned(), file };
        let directory = directory_of(path);
        let written = journal.append(first).and_then(|()| {
            // The name has to survive, too.
            sync_directory(directory).map_err(io_error(directory))
        });
        match written {
            Ok(()) => Ok(journal),
            Err(error) => {
                drop(journal);
                // Nothing was done. What stays of the file would look like a run.
                drop(std::fs::remove_file(path));
                Err(error)
            }
        }
    }

    /// Opens a journal to go on with it; returns what it says. A last line that was torn by a
    /// crash is cut off: nothing was done after it.
    pub(in crate::run) fn open(path: &Path) -> Result<(Self, Vec<Line>), JournalError> {
        let file = OpenOptions::new().read(true).append(true).open(path);
        let mut file = file.map_err(io_error(path))?;
        let (lines, whole) = load(path)?;
        file.set_len(whole).map_err(io_error(path))?;
        file.seek(SeekFrom::End(0)).map_err(io_error(path))?;
        Ok((Self { path: path.to_owned(), file }, lines))
    }

    /// Returns the file.
    pub(in crate::run) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line and waits until it is on the disk.
    pub(in crate::run) fn append(&mut self, line: &Line) -> Result<(), JournalError> {
        let error = io_error(&self.path);
        let mut text = match serde_json::to_string(line) {
            Ok(text) => text,
            Err(failure) => return Err(error(io::Error::from(failure))),
        };
        text.push('\n');
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(error)
    }
}

/// Reads a journal without changing it.
pub(in crate::run) fn read(path: &Path) -> Result<Vec<Line>, JournalError> {
    Ok(load(path)?.0)
}

/// Returns the whole lines, and how many bytes they take.
fn load(path: &Path) -> Result<(Vec<Line>, u64), JournalError> {
    let text = std::fs::read(path).map_err(io_error(path))?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let malformed = |line: usize, message: String| JournalError::Malformed {
        path: path.to_owned(),
        line,
        message,
    };
    let mut lines = Vec::new();
    for (at, bytes) in text[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
        if at == 0 {
            check_version(path, bytes)?;
        }
        let line: Line =
            serde_json::from_slice(bytes).map_err(|error| malformed(at + 1, error.to_string()))?;
        if matches!(line.record, Record::Begin(_)) != (at == 0) {
            return Err(malformed(at + 1, "`begin` stands in the first line only".to_owned()));
        }
        lines.push(line);
    }
    if lines.is_empty() {
        return Err(malformed(1, "there is no whole line: nothing was done".to_owned()));
    }
    Ok((lines, whole as u64))
}

fn check_version(path: &Path, first: &[u8]) -> Result<(), JournalError> {
    match serde_json::from_slice::<Versioned>(first) {
        Ok(Versioned { record: VersionedRecord { begin: VersionedBegin { version } } })
            if version > u64::from(VERSION) =>
        {
            Err(JournalError::Newer { path: path.to_owned(), found: version })
        }
        _ => Ok(()),
    }
}

/// Returns what the first of the lines says; `load` lets no other be the first.
pub(in crate::run) fn begin(lines: &[Line]) -> Option<&Begin> {
    match lines.first().map(|line| &line.record) {
        Some(Record::Begin(begin)) => Some(begin),
        _ => None,
    }
}

/// Returns the directory of a file: `.` for a bare name.
pub(in crate::run) fn directory_of(path: &Path) -> &Path {
    named(path.parent().unwrap_or(Path::new("")))
}

/// Returns a directory by a name that the system knows: the empty path is `.`.
pub(in crate::run) fn named(directory: &Path) -> &Path {
    if directory.as_os_str().is_empty() { Path::new(".") } else { directory }
}

pub(super) fn io_error(path: &Path) -> impl Fn(io::Error) -> JournalError + use<> {
    let path = path.to_owned();
    move |error| JournalError::Io { path: path.clone(), error }
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Elsewhere directories cannot be opened; the system keeps names by itself.
#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::run::journal::{End, Kind, Outcome};

    fn first(version: u32) -> Line {
        let plan = Plan {
            account: "111111111111".to_owned(),
            region: "eu-west-1".to_owned(),
            steps: Vec::new(),
            staying: Vec::new(),
            findings: Vec::new(),
        };
        let begin = Begin {
            version,
            cdkr: "0.1.0".to_owned(),
            id: "x".to_owned(),
            kind: Kind::Forward,
            reverses: None,
            plan,
            deletions: Vec::new(),
            roles: crate::aws::Roles::default(),
            new_stacks: std::collections::BTreeMap::new(),
        };
        Line { at: "now".to_owned(), record: Record::Begin(Box::new(begin)) }
    }

    fn end() -> Line {
        let end = End { outcome: Outcome::Finished, reason: None };
        Line { at: "later".to_owned(), record: Record::End(end) }
    }

    #[test]
    fn a_line_that_was_torn_by_a_crash_is_cut_off_and_written_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.jsonl");
        let mut journal = Journal::create(&path, &first(VERSION)).unwrap();
        journal.append(&end()).unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
        assert_eq!(read(&path).unwrap().len(), 1);
        let (mut journal, lines) = Journal::open(&path).unwrap();
        assert_eq!(lines, [first(VERSION)]);
        journal.append(&end()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }

    #[test]
    fn a_file_without_a_directory_is_in_the_working_directory() {
        assert_eq!(directory_of(Path::new("run.jsonl")), Path::new("."));
        assert_eq!(directory_of(Path::new("runs/run.jsonl")), Path::new("runs"));
        assert_eq!(named(Path::new("")), Path::new("."));
    }

    #[test]
    fn an_error_is_told_once() {
        let error = read(Path::new("not/there.jsonl")).unwrap_err();
        assert!(error.to_string().starts_with("the journal not/there.jsonl cannot be read"));
        assert!(std::error::Error::source(&error).is_none());
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_read_a_journal() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.jsonl");
        Journal::create(&path, &first(VERSION)).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_journal_of_a_newer_version_is_refused_whatever_else_it_says() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.jsonl");
        std::fs::write(&path, "{\"record\":{\"begin\":{\"version\":99}},\"new\":1}\n").unwrap();
        assert!(matches!(read(&path), Err(JournalError::Newer { found: 99, .. })));
    }

    #[test]
    fn a_journal_that_was_tampered_with_is_refused_with_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.jsonl");
        let line = serde_json::to_string(&first(VERSION)).unwrap();
        std::fs::write(&path, format!("{line}\n{{}}\n")).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("run.jsonl, line 2,"), "{error}");
        std::fs::write(&path, format!("{line}\n{line}\n")).unwrap();
        assert!(read(&path).is_err());
        std::fs::write(&path, "{\"at\"").unwrap();
        assert!(read(&path).is_err());
    }
}
