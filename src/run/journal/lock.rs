//! One run at a time in a project and an environment.
//!
//! The lock is the operating system's, on an open file: it goes away with its owner, however
//! that ends, so that a lock is never stale. What stands in the file names the owner to others.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::file::{JournalError, io_error};
use crate::model::Environment;

/// How often the lock is tried, and how long it is waited for in between.
const TRIES: usize = 5;
const GLANCE: Duration = Duration::from_millis(10);

/// The lock, held until this is dropped.
#[derive(Debug)]
pub(in crate::run) struct Lock {
    file: File,
    path: PathBuf,
}

/// Why the lock was not got.
#[derive(Debug)]
pub(in crate::run) enum LockError {
    /// Somebody else has it.
    Held(Owner),
    /// The file cannot be read or written.
    Journal(JournalError),
}

/// Who has the lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::run) struct Owner {
    pub(in crate::run) process: u32,
    pub(in crate::run) host: String,
    pub(in crate::run) since: String,
    /// The file name of its journal, once it has one.
    pub(in crate::run) journal: String,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file would do; an error here changes nothing.
        drop(self.file.unlock());
    }
}

impl Lock {
    /// Takes the lock of an environment at once, or says who has it.
    pub(in crate::run) fn take(
        directory: &Path,
        environment: &Environment,
        since: String,
        journal: &str,
    ) -> Result<Self, LockError> {
        let path = path(directory, environment);
        let failed = |error| LockError::Journal(io_error(&path)(error));
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(failed)?;
        let mut tries = 1;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // Whoever lists the runs has it for a moment.
                Err(TryLockError::WouldBlock) if tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(GLANCE);
                }
                Err(TryLockError::WouldBlock) => return Err(LockError::Held(owner(&mut file))),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        sign(&mut file, since, journal).map_err(failed)?;
        Ok(Self { file, path })
    }

    /// Returns the lock, held for another journal.
    pub(in crate::run) fn renamed(
        mut self,
        since: String,
        journal: &str,
    ) -> Result<Self, JournalError> {
        sign(&mut self.file, since, journal).map_err(io_error(&self.path))?;
        Ok(self)
    }
}

fn sign(file: &mut File, since: String, journal: &str) -> std::io::Result<()> {
    let owner =
        Owner { process: std::process::id(), host: host(), since, journal: journal.to_owned() };
    let text = serde_json::to_string(&owner).unwrap_or_default();
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{text}")
}

/// Returns who has the lock of an environment; `None` if nobody has.
pub(super) fn holder(directory: &Path, environment: &Environment) -> Option<Owner> {
    let mut file = File::open(path(directory, environment)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(owner(&mut file)),
        _ => None,
    }
}

fn path(directory: &Path, environment: &Environment) -> PathBuf {
    directory.join(format!("{}-{}.lock", environment.account, environment.region))
}

/// Whoever holds the lock may be writing; then it has no name.
fn owner(file: &mut File) -> Owner {
    let mut text = String::new();
    drop(file.seek(SeekFrom::Start(0)));
    drop(file.read_to_string(&mut text));
    serde_json::from_str(&text).unwrap_or_default()
}

fn host() -> String {
    let named = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = named.or_else(|| std::env::var("HOSTNAME").ok());
    let named = named.or_else(|| std::env::var("COMPUTERNAME").ok()).unwrap_or_default();
    match named.trim() {
        "" => "this host".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_lists_the_runs_keeps_nobody_from_beginning_one() {
        let directory = tempfile::tempdir().unwrap();
        let environment = Environment::new("111111111111", "eu-west-1");
        let take = || Lock::take(directory.path(), &environment, String::new(), "x").map(drop);
        assert!(take().is_ok());
        let looking = File::open(path(directory.path(), &environment)).unwrap();
        looking.try_lock_shared().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(GLANCE);
                drop(looking);
            });
            assert!(take().is_ok());
        });
    }

    #[test]
    fn a_second_run_learns_who_is_first_and_goes_on_when_the_first_has_ended() {
        let directory = tempfile::tempdir().unwrap();
        let environment = Environment::new("111111111111", "eu-west-1");
        let take = |name| Lock::take(directory.path(), &environment, "12:00".into(), name);
        let held = take("first.jsonl").unwrap();
        let Err(LockError::Held(owner)) = take("second.jsonl") else { panic!() };
        assert_eq!((owner.process, owner.journal.as_str()), (std::process::id(), "first.jsonl"));
        assert_eq!(holder(directory.path(), &environment), Some(owner));
        let elsewhere = Environment::new("111111111111", "us-east-1");
        assert!(Lock::take(directory.path(), &elsewhere, String::new(), "x").is_ok());
        drop(held);
        assert_eq!(holder(directory.path(), &environment), None);
        assert!(take("second.jsonl").is_ok());
    }
}
