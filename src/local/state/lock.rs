//! One writer at a time in an environment, or any number of readers.
//!
//! The lock is the operating system's, on an open file: it goes away with its owner, however
//! that ends, so that there are no stale locks to judge by their age. What stands in the file is
//! only there to name the owner to those who wait too long.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use crate::local::clock::iso8601;
use crate::local::error::{Answer, ServiceError};

/// How long to try in all. Pauses start short and get longer.
const PATIENCE: Duration = Duration::from_mins(1);
const SHORTEST: Duration = Duration::from_micros(200);
const LONGEST: Duration = Duration::from_millis(5);

/// The lock, held until this is dropped.
#[derive(Debug)]
pub(crate) struct Held(File);

impl Drop for Held {
    fn drop(&mut self) {
        // Closing the file would do; an error here changes nothing.
        drop(self.0.unlock());
    }
}

/// Waits for the lock of a directory: that of an environment, or of a bucket.
pub(crate) fn acquire(directory: &Path, now_ms: u64) -> Answer<Held> {
    let path = directory.join("lock");
    let mut file = wait(&path, File::try_lock)?;
    sign(&mut file, now_ms).map_err(ServiceError::io(&path))?;
    Ok(Held(file))
}

/// Waits until nobody writes, and keeps it so. Others may read at the same time.
pub(super) fn share(directory: &Path) -> Answer<Held> {
    wait(&directory.join("lock"), File::try_lock_shared).map(Held)
}

fn wait(path: &Path, attempt: fn(&File) -> Result<(), TryLockError>) -> Answer<File> {
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(path)
        .map_err(ServiceError::io(path))?;
    let (mut waited, mut pause) = (Duration::ZERO, SHORTEST);
    while waited < PATIENCE {
        match attempt(&file) {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {
                sleep(pause);
                waited += pause;
                pause = LONGEST.min(pause * 2);
            }
            Err(TryLockError::Error(error)) => return Err(ServiceError::state(path, error)),
        }
    }
    let mut owner = String::new();
    // Whoever holds the lock may be writing; then the message is without the name.
    drop(file.read_to_string(&mut owner));
    Err(ServiceError::state(path, format!("held for too long by {}", owner.trim())))
}

fn sign(file: &mut File, now_ms: u64) -> std::io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "process {} since {}", std::process::id(), iso8601(now_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_excludes_others_and_names_its_owner() {
        let directory = tempfile::tempdir().unwrap();
        let held = acquire(directory.path(), 0).unwrap();
        let other = File::open(directory.path().join("lock")).unwrap();
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        let text = std::fs::read_to_string(directory.path().join("lock")).unwrap();
        assert!(text.starts_with(&format!("process {}", std::process::id())), "{text}");
        drop(held);
        assert!(other.try_lock().is_ok());
    }

    #[test]
    fn readers_share_the_lock_and_exclude_writers() {
        let directory = tempfile::tempdir().unwrap();
        let one = share(directory.path()).unwrap();
        let other = share(directory.path()).unwrap();
        let writer = File::open(directory.path().join("lock")).unwrap();
        drop(one);
        assert!(matches!(writer.try_lock(), Err(TryLockError::WouldBlock)));
        drop(other);
        assert!(writer.try_lock().is_ok());
    }
}
