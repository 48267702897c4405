//! Work that waits for the network, and that can be interrupted.

use std::process;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use super::failure::{Failure, INTERRUPTED};
use crate::toolkit::{self, Cancel};

/// Carries out what waits for the network.
pub(super) fn block_on<T>(
    work: impl Future<Output = Result<T, toolkit::Error>>,
) -> Result<T, Failure> {
    Ok(runtime()?.block_on(work)?)
}

fn runtime() -> Result<Runtime, Failure> {
    Builder::new_multi_thread().enable_all().build().map_err(Failure::Runtime)
}

/// Turns Ctrl-C into a request to stop at the next safe point; the second one stops at once.
pub(super) struct Cancelling {
    sender: watch::Sender<bool>,
    receiver: Cancel,
}

impl Cancelling {
    pub(super) fn start() -> Self {
        let (sender, receiver) = watch::channel(false);
        Self { sender, receiver }
    }

    /// What the work looks at.
    pub(super) fn receiver(&self) -> &Cancel {
        &self.receiver
    }

    /// Carries out work that looks at the receiver.
    pub(super) fn block_on<T>(
        &self,
        work: impl Future<Output = Result<T, toolkit::Error>>,
    ) -> Result<T, Failure> {
        let runtime = runtime()?;
        let sender = self.sender.clone();
        runtime.spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                // The journal knows where things stand: to be killed is safe at any time.
                if sender.send_replace(true) {
                    process::exit(INTERRUPTED.into());
                }
            }
        });
        Ok(runtime.block_on(work)?)
    }
}
