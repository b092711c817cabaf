//! Files, opened, and sent behind the head of a response.

use super::response::{Head, Status};
use super::{Contents, Method, Request, Server};
use crate::Memory;
use crate::sending::send;
use mbuf::{AllocError, Mbuf, Pool};
use memmap2::{Mmap, MmapOptions};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;

/// Answers a request. Returns whether another may follow.
pub(super) async fn answer(
    server: &Server,
    stream: &TcpStream,
    request: &Request,
) -> io::Result<bool> {
    let (root, path) = (server.root.clone(), server.root.join(&request.path));
    let opened = spawn_blocking(move || open(&root, path)).await?;
    let (head, file) = match opened {
        Ok((file, len)) => (head(request, len), Some(file)),
        Err(_) => (Head::of(Status::NotFound), None),
    };
    let head = Head {
        keep_alive: request.keep_alive,
        ..head
    };
    let (start, end) = head.part;
    match (file, server.contents) {
        (Some(file), Contents::Read { segment, segments })
            if request.method == Method::Get && start < end =>
        {
            let window = Window { segment, segments };
            send_read(server, stream, &head, file, window).await?;
        }
        (Some(file), Contents::Map) if request.method == Method::Get && start < end => {
            send_mapped(server, stream, &head, file).await?;
        }
        _ => send_head(server, stream, &head).await?,
    }
    Ok(request.keep_alive)
}

fn head(request: &Request, len: u64) -> Head {
    let (status, part) = match request.range.map(|range| range.within(len)) {
        None => (Status::Ok, (0, len)),
        Some(Some(part)) => (Status::Partial, part),
        Some(None) => (Status::NotSatisfiable, (0, 0)),
    };
    Head {
        part,
        len,
        ..Head::of(status)
    }
}

/// The file at `path`, and its length, if it lies below `root` wherever links lead.
fn open(root: &Path, path: PathBuf) -> io::Result<(File, u64)> {
    let path = path.canonicalize()?;
    // Looked at before it is opened, which for a pipe would wait for somebody who writes to it.
    if !path.starts_with(root) || !fs::metadata(&path)?.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let file = File::open(path)?;
    let len = file.metadata()?.len();
    Ok((file, len))
}

/// Sends a response without contents, or to a request for its head alone.
pub(super) async fn send_head(server: &Server, stream: &TcpStream, head: &Head) -> io::Result<()> {
    let memory = &server.memory;
    let head = memory.patiently(|pool| head.write(pool)).await;
    send(stream, head.map_err(io::Error::other)?, &server.counts).await
}

/// How much of a file is read at once.
#[derive(Clone, Copy)]
struct Window {
    segment: usize,
    segments: usize,
}

impl Window {
    /// Segments for `len` bytes: one at least, and more as far as there is memory.
    fn alloc(self, pool: &Pool, len: u64) -> Result<Mbuf, AllocError> {
        let wanted = len.div_ceil(self.segment as u64).min(self.segments as u64);
        let mut window = pool.alloc(self.segment)?;
        for _ in 1..wanted {
            match pool.alloc(self.segment).map(|more| window.append(more)) {
                Ok(Ok(())) => {}
                _ => break,
            }
        }
        Ok(window)
    }
}

async fn send_read(
    server: &Server,
    stream: &TcpStream,
    head: &Head,
    file: File,
    window: Window,
) -> io::Result<()> {
    let file = Arc::new(file);
    let (mut at, end) = head.part;
    let first = |pool: &Pool| Ok((head.write(pool)?, window.alloc(pool, end - at)?));
    let first = server.memory.patiently(first).await;
    let (first, mut room) = first.map_err(io::Error::other)?;
    let mut first = Some(first);
    loop {
        let file = file.clone();
        let reading = server.reads.clone();
        // In this order, so that the mbufs go first if nobody waits for them any more.
        let read = spawn_blocking(move || (read(&file, at, end, room), reading)).await?;
        let mut contents = read.0?;
        at += contents.total_len() as u64;
        if let Some(head) = first.take() {
            contents.prepend_chain(head).map_err(io::Error::other)?;
        }
        send(stream, contents, &server.counts).await?;
        if at == end {
            return Ok(());
        }
        // Nothing is held now.
        let next = |pool: &Pool| window.alloc(pool, end - at);
        room = server
            .memory
            .patiently(next)
            .await
            .map_err(io::Error::other)?;
    }
}

/// Reads what of the bytes `at..end` there is room for.
fn read(file: &File, mut at: u64, end: u64, mut room: Mbuf) -> io::Result<Mbuf> {
    for mut segment in room.segments_mut() {
        while segment.len() < segment.capacity() && at < end {
            let len = segment.len();
            let Some(spare) = segment.spare_capacity_mut() else {
                unreachable!("a segment of ours alone")
            };
            let most = usize::try_from(end - at).map_or(spare.len(), |left| left.min(spare.len()));
            let read = rustix::io::pread(file, &mut spare[..most], at)?.0.len();
            if read == 0 {
                // The file has become shorter than its length, which is promised.
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            // SAFETY: so many bytes behind the valid ones have just been read, within the capacity.
            unsafe { segment.set_len_unchecked(len + read) };
            at += read as u64;
        }
    }
    Ok(room)
}

async fn send_mapped(
    server: &Server,
    stream: &TcpStream,
    head: &Head,
    file: File,
) -> io::Result<()> {
    let (start, end) = head.part;
    let len = usize::try_from(end - start).map_err(io::Error::other)?;
    // SAFETY: whoever chooses to map files answers for it that nobody changes them.
    let map = unsafe { MmapOptions::new().offset(start).len(len).map(&file)? };
    let mut map = Some(map);
    let chain = loop {
        match chain(server, head, &mut map) {
            Err(AllocError::Exhausted) => server.memory.pause(Memory::PAUSE).await,
            chain => break chain.map_err(io::Error::other)?,
        }
    };
    send(stream, chain, &server.counts).await
}

/// Head and contents. Without memory for both `map` stays as it is.
fn chain(server: &Server, head: &Head, map: &mut Option<Mmap>) -> Result<Mbuf, AllocError> {
    let pool = server.memory.pool();
    let mut chain = head.write(pool)?;
    let Some(owner) = map.take() else {
        return Ok(chain);
    };
    match pool.wrap(owner) {
        Ok(contents) => {
            let appended = chain.append(contents);
            debug_assert!(appended.is_ok(), "two mbufs of one pool");
            Ok(chain)
        }
        Err(error) => {
            let why = error.error();
            *map = Some(error.into_owner());
            Err(why)
        }
    }
}
