//! The embedded CloudFormation on a loopback port: the wire protocols of AWS.
//!
//! In: HTTP requests of any client of AWS. Out: what the engine answers, as CloudFormation, STS,
//! SSM, S3, ECR, EC2, Route 53 and Cloud Control write it. Account and region are those of the credentials of a
//! request; signatures are not verified. Called by whoever points the SDK, or another program, at
//! it.
//!
//! `listen` accepts connections, `http` reads requests and writes answers, `dispatch` finds the
//! service and its operation; each service is a module of its own.

mod auth;
mod cloud_control;
mod cloudformation;
mod control;
mod dispatch;
mod ec2;
mod ecr;
mod fault_text;
mod form;
mod http;
mod listen;
mod log;
mod protocol;
mod route53;
mod s3;
mod ssm;
mod sts;
mod wire_faults;
mod xml;

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::error::Answer;
use super::faults::Faults;
use super::state::{Cloud, Region};
use crate::model::Environment;

pub use auth::access_key;
pub use fault_text::{Fault, FaultError};
pub use listen::Stopper;
pub use log::RequestRecord;
pub use wire_faults::{WireFault, WireFaultKind, WireFaults};

/// What can be chosen when a server is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeOptions {
    /// The port on the loopback interface; 0 lets the system choose.
    pub port: u16,
    /// The account of access keys that name none: 12 digits.
    pub account: String,
    /// How many requests are worked on at the same time.
    pub concurrency: usize,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self { port: 0, account: "123456789012".to_owned(), concurrency: 64 }
    }
}

/// What all requests share.
#[derive(Debug)]
struct Server {
    cloud: Cloud,
    account: String,
    port: u16,
    wire: Mutex<WireFaults>,
    everywhere: Mutex<Everywhere>,
    log: Mutex<log::Log>,
}

/// Faults that are armed once in each environment, when it is first asked for something.
#[derive(Debug, Default)]
struct Everywhere {
    faults: Faults,
    armed: BTreeSet<Environment>,
}

/// A server that runs. Dropping it stops it; answers in flight are finished first.
#[derive(Debug)]
pub struct Running {
    url: String,
    server: Arc<Server>,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

/// Starts a server on a thread of its own, so that callers need no runtime.
///
/// # Errors
/// When the port is taken, or the system gives no port or no thread.
pub fn start(cloud: Cloud, options: &ServeOptions) -> io::Result<Running> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", options.port))?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let server = Arc::new(Server {
        cloud,
        account: options.account.clone(),
        port,
        wire: Mutex::default(),
        everywhere: Mutex::default(),
        log: Mutex::default(),
    });
    let (stopper, thread) = listen::run(listener, Arc::clone(&server), options.concurrency)?;
    let url = format!("http://127.0.0.1:{port}");
    Ok(Running { url, server, stopper, thread: Some(thread) })
}

impl Running {
    /// Returns the endpoint, such as `http://127.0.0.1:4566`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the cloud behind it.
    pub fn cloud(&self) -> &Cloud {
        &self.server.cloud
    }

    /// Returns a handle with which any thread can stop the server.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Waits until the server has been stopped by its [`Stopper`].
    pub fn wait(mut self) {
        self.join();
    }

    /// Arms faults of the wire; what was armed before is forgotten.
    pub fn arm_wire(&self, faults: WireFaults) {
        *lock(&self.server.wire) = faults;
    }

    /// Arms faults, in addition to those that are armed: those of the wire at once, those of the
    /// engine once in each environment, when it is next asked for something.
    pub fn arm(&self, faults: &[Fault]) {
        let mut wire = lock(&self.server.wire);
        let mut everywhere = lock(&self.server.everywhere);
        for fault in faults {
            fault.add_to(&mut wire, &mut everywhere.faults);
        }
        everywhere.armed.clear();
    }

    /// Returns the requests that were answered, oldest first: the last ten thousand.
    pub fn requests(&self) -> Vec<RequestRecord> {
        lock(&self.server.log).records()
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic of the server has been reported by its own thread.
            drop(thread.join());
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        self.join();
    }
}

impl Server {
    /// Returns an environment, with the faults that are armed everywhere.
    fn region(&self, environment: &Environment) -> Answer<Region<'_>> {
        let region = self.cloud.region(environment);
        let mut everywhere = lock(&self.everywhere);
        if everywhere.faults != Faults::default() && !everywhere.armed.contains(environment) {
            let mut faults = region.armed()?;
            faults.throttle += everywhere.faults.throttle;
            faults.refactors.extend(everywhere.faults.refactors.iter().cloned());
            faults.resources.extend(everywhere.faults.resources.iter().cloned());
            region.arm(&faults)?;
            everywhere.armed.insert(environment.clone());
        }
        drop(everywhere);
        Ok(region)
    }
}

/// Locks what requests share. A request that panicked has left it whole: all changes are single
/// assignments.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
