//! Work that waits for the network, and that can be interrupted.

use std::io::{self, Write as _};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, mpsc};
use std::thread;

use dialoguer::console::Term;
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

/// Whether Ctrl-C is a request to stop at the next safe point.
static CANCELS: AtomicBool = AtomicBool::new(false);

/// Lets Ctrl-C end the program as it does without anybody's help, but with the cursor shown, which
/// a question hides, and a word: before something is carried out nothing was changed.
pub(super) fn watch_interrupts() {
    static WATCHED: OnceLock<()> = OnceLock::new();
    WATCHED.get_or_init(|| {
        let (is_ready, ready) = mpsc::channel();
        thread::spawn(move || {
            let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return };
            runtime.block_on(async {
                let mut is_ready = Some(is_ready);
                loop {
                    tokio::select! {
                        // The signal is ours from the first look at it.
                        biased;
                        signal = tokio::signal::ctrl_c() => {
                            if signal.is_err() {
                                return;
                            }
                            if !CANCELS.load(Ordering::Acquire) {
                                interrupted();
                            }
                        }
                        () = async {}, if is_ready.is_some() => drop(is_ready.take()),
                    }
                }
            });
        });
        // The other end goes away when Ctrl-C is watched.
        ready.recv().unwrap_or(());
    });
}

/// Ends the program at a question that was answered with Ctrl-C.
#[expect(clippy::exit, reason = "a question blocks whoever could return")]
pub(super) fn interrupted() -> ! {
    // Who comes second waits for the end.
    static ONCE: Mutex<()> = Mutex::new(());
    let _first = ONCE.lock();
    // When nobody listens there is nobody to tell.
    Term::stderr().show_cursor().ok();
    writeln!(io::stderr(), "interrupted: nothing was changed").ok();
    process::exit(INTERRUPTED.into())
}

/// Turns Ctrl-C into a request to stop at the next safe point; the second one stops at once.
pub(super) struct Cancelling {
    sender: watch::Sender<bool>,
    receiver: Cancel,
}

impl Cancelling {
    pub(super) fn start() -> Self {
        CANCELS.store(true, Ordering::Release);
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
