//! A TCP proxy: what one side sends goes to the other, each way through a chain of mbufs that is filled at its end and sent from its
//! front.
//!
//! * **Bounded**: a direction holds so many segments at most; then it does not read before some were sent, and TCP slows the sender down.
//! * **Patient**: when the pool is exhausted a direction reads on later. What it already has goes on being sent, and frees memory.
//! * **Idle connections hold nothing**: a segment is allocated when there is something to read, and freed when it was sent. So those who
//!   wait for memory wait only for such as have data and a receiver for it.
//! * **Faithful**: an end of data is passed on when all before it was sent, and a broken connection breaks its other half.

use crate::sending::try_send;
use crate::serving::{Unfinished, interrupted, listen, serve};
use crate::{Counts, Memory, Summary};
use bytes::{Buf, BufMut};
use mbuf::{AllocError, Mbuf};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// How much a direction of a connection holds.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a segment.
    pub segment: usize,
    /// Segments of a direction, from 1 to [`mbuf::MAX_CHAIN`].
    pub segments: usize,
    /// Bytes that the system keeps for a client, if not as many as it likes.
    pub send_buffer: Option<u32>,
}

/// A proxy that listens.
#[derive(Debug)]
pub struct Proxy {
    listener: TcpListener,
    to: SocketAddr,
    memory: Memory,
    limits: Limits,
    counts: Arc<Counts>,
}

impl Proxy {
    /// Listens at `at` for connections to `to`.
    ///
    /// # Errors
    /// When the address cannot be listened at.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn bind(
        at: SocketAddr,
        to: SocketAddr,
        memory: Memory,
        limits: Limits,
    ) -> io::Result<Self> {
        let segments = limits.segments.clamp(1, mbuf::MAX_CHAIN);
        Ok(Self {
            listener: listen(at, limits.send_buffer)?,
            to,
            memory,
            limits: Limits { segments, ..limits },
            counts: Arc::default(),
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
        let connection = |client| {
            let (memory, counts) = (self.memory.clone(), self.counts.clone());
            connect(client, self.to, memory, self.limits, counts)
        };
        serve(&self.listener, stop, &self.counts, connection).await;
        self.counts.summary(self.memory.pool(), self.memory.waits())
    }
}

/// A connection, from its beginning to its end.
async fn connect(
    client: TcpStream,
    to: SocketAddr,
    memory: Memory,
    limits: Limits,
    counts: Arc<Counts>,
) -> io::Result<()> {
    let mut client = Unfinished::new(client);
    let mut server = Unfinished::new(TcpStream::connect(to).await?);
    client.stream.set_nodelay(true)?;
    server.stream.set_nodelay(true)?;
    let (from_client, to_client) = client.stream.split();
    let (from_server, to_server) = server.stream.split();
    tokio::try_join!(
        Direction::new(&memory, limits, &counts).relay(from_client, to_server),
        Direction::new(&memory, limits, &counts).relay(from_server, to_client),
    )?;
    client.finish();
    server.finish();
    Ok(())
}

/// What came of an attempt to read.
enum Read {
    Some,
    Nothing,
    End,
    NoMemory,
}

/// One direction of a connection.
struct Direction<'a> {
    memory: &'a Memory,
    limits: Limits,
    counts: &'a Counts,
    /// Read and not yet sent. Never empty.
    queue: Option<Mbuf>,
}

impl<'a> Direction<'a> {
    fn new(memory: &'a Memory, limits: Limits, counts: &'a Counts) -> Self {
        Self {
            memory,
            limits,
            counts,
            queue: None,
        }
    }

    async fn relay(mut self, from: ReadHalf<'_>, mut to: WriteHalf<'_>) -> io::Result<()> {
        let (mut ended, mut short) = (false, false);
        while !ended || self.queue.is_some() {
            tokio::select! {
                ready = from.readable(), if !ended && !short && self.may_read() => {
                    ready?;
                    match self.read(from.as_ref())? {
                        Read::Some | Read::Nothing => {}
                        Read::End => ended = true,
                        Read::NoMemory => short = true,
                    }
                }
                ready = to.writable(), if self.queue.is_some() => {
                    ready?;
                    // Memory is free that was not before.
                    short &= !self.write(to.as_ref())?;
                }
                () = self.memory.pause(Memory::PAUSE), if short => short = false,
            }
        }
        to.shutdown().await
    }

    /// Whether there is room, or a further segment may be had.
    fn may_read(&self) -> bool {
        self.queue.as_ref().is_none_or(|queue| {
            queue.has_remaining_mut() || queue.segment_count() < self.limits.segments
        })
    }

    /// Reads what is there into the last segment's room, or into a new one.
    fn read(&mut self, from: &TcpStream) -> io::Result<Read> {
        let full = |queue: &Mbuf| !queue.has_remaining_mut();
        let fresh = match &mut self.queue {
            Some(queue) if !full(queue) => return outcome(from.try_read_buf(queue)),
            _ => self.memory.pool().alloc(self.limits.segment),
        };
        let mut fresh = match fresh {
            Ok(fresh) => fresh,
            Err(AllocError::Exhausted) => return Ok(Read::NoMemory),
            Err(error) => return Err(io::Error::other(error)),
        };
        let read = outcome(from.try_read_buf(&mut fresh))?;
        if matches!(read, Read::Some) {
            match &mut self.queue {
                Some(queue) => queue.append(fresh).map_err(io::Error::other)?,
                none => *none = Some(fresh),
            }
        }
        Ok(read)
    }

    /// Sends what the receiver takes. Returns whether that was something.
    fn write(&mut self, to: &TcpStream) -> io::Result<bool> {
        let Some(queue) = &mut self.queue else {
            return Ok(false);
        };
        match try_send(to, queue, self.counts) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            done => done?,
        }
        if !queue.has_remaining() {
            self.queue = None;
        }
        Ok(true)
    }
}

fn outcome(read: io::Result<usize>) -> io::Result<Read> {
    match read {
        Ok(0) => Ok(Read::End),
        Ok(_) => Ok(Read::Some),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Read::Nothing),
        Err(error) => Err(error),
    }
}
