//! A file server for HTTP/1.1: GET and HEAD, persistent connections, single ranges.
//!
//! A request's head is read into an mbuf and parsed there. The response is a chain: the head, written by a `Writer`, and the file's
//! contents, either read into segments, a window at a time, or mapped and wrapped whole. It is sent by `writev`.
//!
//! Who waits for memory holds none that others wait for: a connection has its request's mbuf no longer than the request is
//! incomplete, and gets head and first segment together or neither. A client that sends requests before their turn keeps one mbuf for
//! them, so the pool has room for one of these for each connection at least.

mod body;
mod request;
mod response;

use crate::serving::{Unfinished, interrupted, listen, serve};
use crate::{Counts, Memory, Summary};
use bytes::BufMut;
use mbuf::Mbuf;
use request::{Method, Request};
use response::{Head, Status};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

/// The most that a request's head may be.
const REQUEST: usize = (8 << 10) - 192;

/// How long a client may take for a request.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long what a refused client still sends is taken.
const DRAIN: Duration = Duration::from_secs(1);

/// How contents get into mbufs.
#[derive(Clone, Copy, Debug)]
pub enum Contents {
    /// Read into a window of so many segments of so many bytes.
    Read {
        /// Bytes of a segment.
        segment: usize,
        /// Segments of a window, from 1 to one less than [`mbuf::MAX_CHAIN`].
        segments: usize,
    },
    /// Mapped and wrapped. A file that is cut short while it is served ends the process: only for files that nobody changes.
    Map,
}

/// A file server that listens.
#[derive(Debug)]
pub struct Files {
    listener: TcpListener,
    server: Arc<Server>,
}

/// What the connections share.
#[derive(Debug)]
struct Server {
    root: PathBuf,
    contents: Contents,
    memory: Memory,
    counts: Arc<Counts>,
    /// One more reference for each read under way: it keeps its mbufs even when its connection is ended meanwhile.
    reads: Arc<()>,
}

impl Files {
    /// Listens at `at`, and serves the files below `root`. The system keeps `send_buffer` bytes for a client, or as many as it likes.
    ///
    /// # Errors
    /// When the address cannot be listened at, or there is no `root`.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn bind(
        at: SocketAddr,
        root: PathBuf,
        memory: Memory,
        contents: Contents,
        send_buffer: Option<u32>,
    ) -> io::Result<Self> {
        let contents = match contents {
            // With the head in front it is a chain.
            Contents::Read { segment, segments } => Contents::Read {
                segment,
                segments: segments.clamp(1, mbuf::MAX_CHAIN - 1),
            },
            Contents::Map => Contents::Map,
        };
        let server = Server {
            root: root.canonicalize()?,
            contents,
            memory,
            counts: Arc::default(),
            reads: Arc::default(),
        };
        Ok(Self {
            listener: listen(at, send_buffer)?,
            server: Arc::new(server),
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not know.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Works until the process is interrupted.
    ///
    /// # Errors
    /// When the system does not allow signals to be handled.
    pub async fn run(self) -> io::Result<Summary> {
        let stop = interrupted()?;
        Ok(self.run_until(stop).await)
    }

    /// Works until `stop`.
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> Summary {
        let server = self.server;
        serve(&self.listener, stop, &server.counts, |stream| {
            converse(server.clone(), stream)
        })
        .await;
        while Arc::strong_count(&server.reads) > 1 {
            tokio::time::sleep(Memory::PAUSE).await;
        }
        // Pairs with the release by which a reference goes: what was freed before is counted.
        fence(Ordering::Acquire);
        let memory = &server.memory;
        server.counts.summary(memory.pool(), memory.waits())
    }
}

/// A connection, from its beginning to its end.
async fn converse(server: Arc<Server>, stream: TcpStream) -> io::Result<()> {
    let mut client = Unfinished::new(stream);
    client.stream.set_nodelay(true)?;
    if let Last::Refused = answer_all(&server, &client.stream).await? {
        drain(&server, &mut client.stream).await?;
    }
    client.finish();
    Ok(())
}

/// What the last request of a connection was.
enum Last {
    Answered,
    /// More of it may come.
    Refused,
}

/// Takes what a client still sends, so that it comes to read why it was refused: a socket that is closed with something unread resets
/// the connection.
async fn drain(server: &Server, stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown().await?;
    let drained = async {
        loop {
            stream.readable().await?;
            let mut nowhere = server
                .memory
                .alloc(REQUEST)
                .await
                .map_err(io::Error::other)?;
            match stream.try_read_buf(&mut nowhere) {
                Ok(0) => return Ok(()),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
    };
    tokio::time::timeout(DRAIN, drained).await.unwrap_or(Ok(()))
}

async fn answer_all(server: &Server, stream: &TcpStream) -> io::Result<Last> {
    let mut input = None;
    loop {
        let received = tokio::time::timeout(PATIENCE, receive(server, stream, &mut input));
        let request = match received.await {
            Ok(Ok(Received::Request(request))) => request,
            Ok(Ok(Received::End)) | Err(_) => return Ok(Last::Answered),
            Ok(Err(error)) => return Err(error),
        };
        match request {
            Ok(request) if body::answer(server, stream, &request).await? => {}
            Ok(_) => return Ok(Last::Answered),
            Err(status) => {
                let head = Head::of(status).closing();
                body::send_head(server, stream, &head).await?;
                return Ok(Last::Refused);
            }
        }
    }
}

/// What came from a client.
enum Received {
    Request(Result<Request, Status>),
    End,
}

/// Reads a request's head. `input` is what has been read and not yet parsed, never empty.
async fn receive(
    server: &Server,
    stream: &TcpStream,
    input: &mut Option<Mbuf>,
) -> io::Result<Received> {
    loop {
        if let Some(bytes) = input {
            if let Some((len, request)) = request::parse(bytes.data()) {
                bytes.advance(len).map_err(io::Error::other)?;
                input.take_if(|bytes| bytes.is_empty());
                return Ok(Received::Request(request));
            }
            if bytes.len() == REQUEST {
                return Ok(Received::Request(Err(Status::TooLarge)));
            }
        }
        stream.readable().await?;
        let mut bytes = match input.take() {
            Some(bytes) if bytes.has_remaining_mut() => bytes,
            // None so far, or behind requests that have been answered.
            rest => {
                let mut fresh = server
                    .memory
                    .alloc(REQUEST)
                    .await
                    .map_err(io::Error::other)?;
                let rest = rest.as_ref().map_or(&[][..], Mbuf::data);
                fresh.extend_from_slice(rest).map_err(io::Error::other)?;
                fresh
            }
        };
        let read = stream.try_read_buf(&mut bytes);
        *input = Some(bytes).filter(|bytes| !bytes.is_empty());
        match read {
            Ok(0) if input.is_none() => return Ok(Received::End),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
    }
}
