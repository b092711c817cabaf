//! What both servers do: accept until they are told to stop.

use crate::Counts;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// After an `accept` that failed: the system has too many sockets just now.
const PAUSE: Duration = Duration::from_millis(10);

/// Listens at `at`. What is sent to a connection and not yet received is `send_buffer` bytes at most, if that is given, beside what lies in
/// mbufs; otherwise as much as the system likes, which may be mebibytes.
pub(crate) fn listen(at: SocketAddr, send_buffer: Option<u32>) -> io::Result<TcpListener> {
    let socket = match at {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    if let Some(bytes) = send_buffer {
        // Those that are accepted inherit it.
        socket.set_send_buffer_size(bytes)?;
    }
    socket.bind(at)?;
    socket.listen(BACKLOG)
}

/// Gives each connection to a task of its own, until `stop`; then ends those that are left, and returns when they are gone.
pub(crate) async fn serve<F>(
    listener: &TcpListener,
    stop: impl Future<Output = ()>,
    counts: &Arc<Counts>,
    mut connection: impl FnMut(TcpStream) -> F,
) where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    counts.connection();
                    let (task, counts) = (connection(stream), counts.clone());
                    tasks.spawn(async move {
                        if task.await.is_err() {
                            counts.broken();
                        }
                    });
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            Some(_) = tasks.join_next() => {}
            () = &mut stop => break,
        }
    }
    tasks.shutdown().await;
}

/// A connection that is reset unless it comes to its end: whoever is at the other one must not take what he has for all.
pub(crate) struct Unfinished {
    pub(crate) stream: TcpStream,
    finished: bool,
}

impl Unfinished {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            finished: false,
        }
    }

    /// All was sent.
    pub(crate) fn finish(mut self) {
        self.finished = true;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.finished {
            // A socket that is broken already cannot be told; it need not be.
            let _ = self.stream.set_zero_linger();
        }
    }
}

/// Until the process is interrupted or told to end.
///
/// # Errors
/// When the system does not allow signals to be handled.
pub(crate) fn interrupted() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
