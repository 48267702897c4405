//! The state directory: environments, transactions, the lock, and what is due.
//!
//! ```text
//! DIR/buckets/<bucket>/<key>                 objects (S3 names are global)
//! DIR/<account>/<region>/stacks/<name>.json  one file per stack, and so on (see BEHAVIOUR.md)
//! ```
//! An operation reads what it needs, collects what it writes, and commits all of it or nothing.

mod lock;
mod name;
mod tx;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use super::clock::Ambient;
use super::error::{Answer, ServiceError};
use super::{advance, faults};
use crate::model::Environment;
pub(crate) use lock::{Held, acquire};
pub(crate) use name::file_name;
pub(crate) use tx::{Tx, entries};

/// How long operations take, in milliseconds. All but one are zero by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// From the request to the end of a creation, update or deletion, and of its rollback.
    pub stack: u64,
    /// From `UPDATE_COMPLETE_CLEANUP_IN_PROGRESS` to `UPDATE_COMPLETE`.
    pub cleanup: u64,
    /// The creation of a change set.
    pub change_set: u64,
    /// The creation of a stack refactor.
    pub refactor_create: u64,
    /// The execution of a stack refactor, and its rollback.
    pub refactor_execute: u64,
    /// From `EXECUTE_COMPLETE` until the stacks are stable: 0.5 to 3 seconds at AWS, so that a
    /// client that does not wait is caught.
    pub refactor_settle: u64,
}

impl Default for Delays {
    fn default() -> Self {
        Self {
            stack: 0,
            cleanup: 0,
            change_set: 0,
            refactor_create: 0,
            refactor_execute: 0,
            refactor_settle: 300,
        }
    }
}

/// Called before each file of a commit is written, with the number of the write; `false` stops
/// there and then, as if the process had been killed.
pub type WriteHook = Arc<dyn Fn(usize) -> bool + Send + Sync>;

/// What can be chosen when a state directory is opened.
#[derive(Clone)]
pub struct Options {
    /// How long operations take.
    pub delays: Delays,
    /// How many items a page of a list has.
    pub page_size: usize,
    /// A hook for tests of crashes.
    pub on_write: Option<WriteHook>,
}

impl Default for Options {
    fn default() -> Self {
        Self { delays: Delays::default(), page_size: 100, on_write: None }
    }
}

/// An AWS with every account and region, its state in a directory.
#[derive(Clone)]
pub struct Cloud {
    root: PathBuf,
    pub(crate) ambient: Ambient,
    pub(crate) options: Options,
    /// Threads of one process queue here, which wakes the next at once, instead of all of them
    /// looking at the lock of the directory again and again. Whoever only reads shares it.
    queue: Arc<RwLock<()>>,
}

/// One environment of a [`Cloud`]: what a client with credentials and a region talks to.
#[derive(Clone)]
pub struct Region<'a> {
    pub(crate) cloud: &'a Cloud,
    pub(crate) environment: Environment,
}

/// Something that goes on by itself when its time has come (the file `due.json`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Due {
    pub(crate) at_ms: u64,
    pub(crate) task: Task,
}

/// What goes on; the record itself knows how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Task {
    /// The operation of the stack with this ID.
    Stack(String),
    /// The change set with this file name.
    ChangeSet(String),
    /// The stack refactor with this ID.
    Refactor(String),
}

impl std::fmt::Debug for Cloud {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cloud").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Cloud {
    /// Opens a state directory; one that does not exist yet is an AWS without stacks.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn open(root: &Path, ambient: Ambient, options: Options) -> Answer<Self> {
        std::fs::create_dir_all(root).map_err(ServiceError::io(root))?;
        Ok(Self { root: root.to_owned(), ambient, options, queue: Arc::default() })
    }

    /// Returns the state directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns an environment. Every one exists.
    pub fn region(&self, environment: &Environment) -> Region<'_> {
        Region { cloud: self, environment: environment.clone() }
    }

    /// Returns the environments in which something was done, sorted.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn environments(&self) -> Answer<Vec<Environment>> {
        let mut found = Vec::new();
        for account in tx::entries(&self.root)? {
            if account == "buckets" || !self.root.join(&account).is_dir() {
                continue;
            }
            for region in tx::entries(&self.root.join(&account))? {
                found.push(Environment::new(&account, &region));
            }
        }
        found.sort();
        Ok(found)
    }

    pub(crate) fn directory(&self, environment: &Environment) -> PathBuf {
        let (account, region) = (file_name(&environment.account), file_name(&environment.region));
        self.root.join(account).join(region)
    }
}

impl<'a> Region<'a> {
    /// Returns the account and the region.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Carries out a request: what is due happens first, and is kept even if the request is
    /// refused.
    pub(crate) fn transact<T>(&self, request: impl FnOnce(&mut Tx<'a>) -> Answer<T>) -> Answer<T> {
        let queue = self.cloud.queue.write().unwrap_or_else(PoisonError::into_inner);
        let (mut tx, held) = self.begin()?;
        if faults::take_throttle(&mut tx)? {
            tx.commit()?;
            return Err(ServiceError::throttling());
        }
        advance::advance(&mut tx)?;
        tx.commit()?;
        let answer = request(&mut tx)?;
        tx.commit()?;
        drop((held, queue));
        Ok(answer)
    }

    /// Carries out a request that only reads: side by side with others of its kind, as long as
    /// nothing is due, armed or to be repaired.
    pub(crate) fn read<T>(&self, request: impl FnOnce(&Tx<'a>) -> Answer<T>) -> Answer<T> {
        let queue = self.cloud.queue.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((tx, held)) = self.begin_reading()? {
            let answer = request(&tx);
            drop((held, queue));
            return answer;
        }
        drop(queue);
        self.transact(|tx| request(tx))
    }

    /// Waits for a share of the lock; `None` if something has to be written first.
    fn begin_reading(&self) -> Answer<Option<(Tx<'a>, lock::Held)>> {
        let directory = self.cloud.directory(&self.environment);
        if !directory.exists() {
            return Ok(None);
        }
        let held = lock::share(&directory)?;
        if tx::needs_repair(&directory) {
            return Ok(None);
        }
        let tx = Tx::new(self.cloud, self.environment.clone(), directory);
        let quiet = !faults::throttles(&tx)? && !tx.is_due()?;
        Ok(quiet.then_some((tx, held)))
    }

    /// Like `transact`, for what no client of AWS can ask for.
    pub(crate) fn unthrottled<T>(
        &self,
        request: impl FnOnce(&mut Tx<'a>) -> Answer<T>,
    ) -> Answer<T> {
        let queue = self.cloud.queue.write().unwrap_or_else(PoisonError::into_inner);
        let (mut tx, held) = self.begin()?;
        let answer = request(&mut tx)?;
        tx.commit()?;
        drop((held, queue));
        Ok(answer)
    }

    /// Waits for the lock and repairs what a crash has left.
    fn begin(&self) -> Answer<(Tx<'a>, lock::Held)> {
        let directory = self.cloud.directory(&self.environment);
        std::fs::create_dir_all(&directory).map_err(ServiceError::io(&directory))?;
        let held = lock::acquire(&directory, self.cloud.ambient.now_ms())?;
        tx::repair(&directory)?;
        Ok((Tx::new(self.cloud, self.environment.clone(), directory), held))
    }
}
