//! A transaction on the files of an environment.
//!
//! What is written is kept in memory until the commit. A commit of one file is a rename. A commit
//! of several first puts all of them into a journal (a rename again: from then on the operation
//! has happened), then carries the journal out, then removes it. Whoever finds a journal carries
//! it out again, which does no harm. So a process can be killed between any two writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Cloud, Due, Task, file_name};
use crate::local::error::{Answer, ServiceError};
use crate::model::Environment;

const JOURNAL: &str = "journal.json";
const DUE: &str = "due.json";

/// A file of a commit: its path below the environment, and its text unless it goes away.
#[derive(Serialize, Deserialize)]
struct Write {
    path: String,
    text: Option<String>,
}

/// The files of an environment as an operation sees and leaves them.
pub(crate) struct Tx<'a> {
    pub(crate) cloud: &'a Cloud,
    pub(crate) environment: Environment,
    /// The time at which the operation happens.
    pub(crate) now: u64,
    directory: PathBuf,
    writes: BTreeMap<String, Option<String>>,
}

/// What a transaction had written at some moment.
pub(crate) struct Savepoint(BTreeMap<String, Option<String>>);

impl<'a> Tx<'a> {
    pub(super) fn new(cloud: &'a Cloud, environment: Environment, directory: PathBuf) -> Self {
        let now = cloud.ambient.now_ms();
        Self { cloud, environment, now, directory, writes: BTreeMap::new() }
    }

    /// Returns a document of this environment, or `None` if there is no such file.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Answer<Option<T>> {
        let file = self.directory.join(path);
        let text = match self.writes.get(path) {
            Some(written) => written.clone(),
            None => read(&file)?,
        };
        let parse = |text: String| {
            serde_json::from_str(&text).map_err(|error| ServiceError::state(&file, error))
        };
        text.map(parse).transpose()
    }

    /// Returns a document of another environment, as it is at this moment.
    pub(crate) fn get_elsewhere<T: DeserializeOwned>(
        &self,
        environment: &Environment,
        path: &str,
    ) -> Answer<Option<T>> {
        if *environment == self.environment {
            return self.get(path);
        }
        let file = self.cloud.directory(environment).join(path);
        let parse = |text: String| {
            serde_json::from_str(&text).map_err(|error| ServiceError::state(&file, error))
        };
        read(&file)?.map(parse).transpose()
    }

    /// Writes a document.
    pub(crate) fn put<T: Serialize>(&mut self, path: &str, document: &T) -> Answer<()> {
        let text = serde_json::to_string_pretty(document)
            .map_err(|error| ServiceError::state(&self.directory.join(path), error))?;
        self.writes.insert(path.to_owned(), Some(text + "\n"));
        Ok(())
    }

    /// Takes a document away.
    pub(crate) fn remove(&mut self, path: &str) {
        self.writes.insert(path.to_owned(), None);
    }

    /// Returns the paths of the documents in a directory, sorted.
    pub(crate) fn list(&self, directory: &str) -> Answer<Vec<String>> {
        let names = entries(&self.directory.join(directory))?.into_iter();
        let mut paths: Vec<String> = names
            .filter(|name| Path::new(name).extension().is_some_and(|found| found == "json"))
            .map(|name| format!("{directory}/{name}"))
            .filter(|path| !self.writes.contains_key(path))
            .collect();
        let here = |path: &str| {
            path.strip_prefix(directory)
                .and_then(|rest| rest.strip_prefix('/'))
                .is_some_and(|name| !name.contains('/'))
        };
        let written = self.writes.iter().filter(|(path, text)| text.is_some() && here(path));
        paths.extend(written.map(|(path, _)| path.clone()));
        paths.sort();
        Ok(paths)
    }

    /// Remembers what is written so far.
    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint(self.writes.clone())
    }

    /// Forgets what was written since.
    pub(crate) fn restore(&mut self, savepoint: Savepoint) {
        self.writes = savepoint.0;
    }

    /// Lets something go on by itself after a delay.
    pub(crate) fn schedule(&mut self, delay_ms: u64, task: Task) -> Answer<()> {
        let mut due: Vec<Due> = self.get(DUE)?.unwrap_or_default();
        due.retain(|other| other.task != task);
        due.push(Due { at_ms: self.now + delay_ms, task });
        self.put(DUE, &due)
    }

    /// Whether the time of something has come.
    pub(super) fn is_due(&self) -> Answer<bool> {
        let due = self.get::<Vec<Due>>(DUE)?.unwrap_or_default();
        Ok(due.iter().any(|due| due.at_ms <= self.now))
    }

    /// Takes what is due first, if its time has come. What is due at the same time goes on in
    /// the order in which it was started.
    pub(crate) fn take_due(&mut self) -> Answer<Option<Due>> {
        let Some(mut due) = self.get::<Vec<Due>>(DUE)? else { return Ok(None) };
        let now = self.cloud.ambient.now_ms();
        let first = due.iter().enumerate().filter(|(_, due)| due.at_ms <= now);
        let Some(at) = first.min_by_key(|(at, due)| (due.at_ms, *at)).map(|(at, _)| at) else {
            return Ok(None);
        };
        let taken = due.remove(at);
        if due.is_empty() {
            self.remove(DUE);
        } else {
            self.put(DUE, &due)?;
        }
        Ok(Some(taken))
    }

    /// Writes everything or nothing.
    pub(super) fn commit(&mut self) -> Answer<()> {
        let writes: Vec<Write> = std::mem::take(&mut self.writes)
            .into_iter()
            .map(|(path, text)| Write { path, text })
            .collect();
        let mut count = 0;
        let mut alive = || {
            count += 1;
            match &self.cloud.options.on_write {
                Some(hook) if !hook(count) => {
                    Err(ServiceError::new("InternalFailure", 500, "stopped between two writes"))
                }
                _ => Ok(()),
            }
        };
        if let [only] = writes.as_slice() {
            alive()?;
            return apply(&self.directory, only);
        }
        if writes.is_empty() {
            return Ok(());
        }
        let journal = self.directory.join(JOURNAL);
        let text = serde_json::to_string(&writes).map_err(|e| ServiceError::state(&journal, e))?;
        alive()?;
        write_atomically(&self.directory, &journal, text.as_bytes())?;
        for write in &writes {
            alive()?;
            apply(&self.directory, write)?;
        }
        alive()?;
        std::fs::remove_file(&journal).map_err(ServiceError::io(&journal))
    }
}

/// Whether an operation was interrupted after its commit.
pub(super) fn needs_repair(directory: &Path) -> bool {
    directory.join(JOURNAL).exists()
}

/// Carries out the journal of an operation that was interrupted after its commit.
pub(super) fn repair(directory: &Path) -> Answer<()> {
    let journal = directory.join(JOURNAL);
    let Some(text) = read(&journal)? else { return Ok(()) };
    let writes: Vec<Write> =
        serde_json::from_str(&text).map_err(|error| ServiceError::state(&journal, error))?;
    for write in &writes {
        apply(directory, write)?;
    }
    std::fs::remove_file(&journal).map_err(ServiceError::io(&journal))
}

fn apply(directory: &Path, write: &Write) -> Answer<()> {
    let file = directory.join(&write.path);
    match &write.text {
        Some(text) => write_atomically(directory, &file, text.as_bytes()),
        None => match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(ServiceError::state(&file, error))
            }
            _ => Ok(()),
        },
    }
}

/// Writes a file under a temporary name next to it and renames it. The caller holds the lock, so
/// one temporary name is enough, and a leftover is overwritten.
pub(crate) fn write_atomically(directory: &Path, file: &Path, bytes: &[u8]) -> Answer<()> {
    if let Some(parent) = file.parent() {
        std::fs::create_dir_all(parent).map_err(ServiceError::io(parent))?;
    }
    let temporary = directory.join(format!("{}.tmp", file_name("new")));
    std::fs::write(&temporary, bytes).map_err(ServiceError::io(&temporary))?;
    std::fs::rename(&temporary, file).map_err(ServiceError::io(file))
}

fn read(file: &Path) -> Answer<Option<String>> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ServiceError::state(file, error)),
    }
}

/// Returns the names of what is in a directory; nothing if there is no such directory.
pub(crate) fn entries(directory: &Path) -> Answer<Vec<String>> {
    let found = match std::fs::read_dir(directory) {
        Ok(found) => found,
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Vec::new());
        }
        Err(error) => return Err(ServiceError::state(directory, error)),
    };
    let mut names = Vec::new();
    for entry in found {
        let entry = entry.map_err(ServiceError::io(directory))?;
        names.extend(entry.file_name().into_string().ok());
    }
    names.sort();
    Ok(names)
}
