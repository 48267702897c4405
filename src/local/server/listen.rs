//! Connections: accepted until the server is stopped, then finished.

use std::io;
use std::net::TcpListener as StdListener;
use std::pin::pin;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

use super::{Server, http};

/// How long requests in flight may take once the server is stopped. A client that never sends
/// the rest of its request cannot hold it up for longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait when the system has no more connections to give.
const PAUSE: Duration = Duration::from_millis(20);

/// Stops a server.
#[derive(Clone, Debug)]
pub struct Stopper(watch::Sender<bool>);

impl Stopper {
    /// Stops the server: it accepts no connections any more and finishes what it is answering.
    /// Does not wait for that.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// Serves on a thread of its own until it is stopped.
pub(super) fn run(
    listener: StdListener,
    server: Arc<Server>,
    concurrency: usize,
) -> io::Result<(Stopper, JoinHandle<()>)> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(concurrency.max(1))
        .thread_name("cdkr-local")
        .enable_all()
        .build()?;
    // A listener of tokio belongs to the runtime in which it is made.
    let listener = {
        let _inside = runtime.enter();
        TcpListener::from_std(listener)?
    };
    let (sender, stop) = watch::channel(false);
    let thread = std::thread::Builder::new()
        .name("cdkr-local".to_owned())
        .spawn(move || runtime.block_on(accept(listener, server, stop)))?;
    Ok((Stopper(sender), thread))
}

async fn accept(listener: TcpListener, server: Arc<Server>, mut stop: watch::Receiver<bool>) {
    // Every connection holds a sender: when all are gone, all are finished.
    let (busy, mut finished) = mpsc::channel::<()>(1);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.changed() => break,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let (server, stop, busy) = (Arc::clone(&server), stop.clone(), busy.clone());
        drop(tokio::spawn(async move {
            connection(stream, server, stop).await;
            drop(busy);
        }));
    }
    drop((listener, busy));
    // Whether all are finished or patience is at its end: the runtime ends now.
    drop(tokio::time::timeout(PATIENCE, finished.recv()).await);
}

async fn connection(stream: TcpStream, server: Arc<Server>, mut stop: watch::Receiver<bool>) {
    // Without it, answers would only be slower.
    drop(stream.set_nodelay(true));
    let service = service_fn(move |request| http::answer(Arc::clone(&server), request));
    let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let mut serving = pin!(serving);
    tokio::select! {
        // Whatever went wrong, the client sees it and nobody else needs to.
        _ = serving.as_mut() => return,
        _ = stop.changed() => {}
    }
    serving.as_mut().graceful_shutdown();
    drop(serving.await);
}
