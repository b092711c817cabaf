//! Chains to sockets, by `writev`.

use crate::Counts;
use bytes::Buf;
use mbuf::Mbuf;
use std::io::{self, IoSlice};
use tokio::net::TcpStream;

/// Segments for one call: more than a socket's buffer usually takes.
const SLICES: usize = 64;

/// Sends of the chain what the socket takes at once, and cuts it off. Segments that are sent are free from then on.
pub(crate) fn try_send(stream: &TcpStream, chain: &mut Mbuf, counts: &Counts) -> io::Result<()> {
    let mut list = [IoSlice::new(&[]); SLICES];
    let count = chain.io_slices(&mut list);
    let sent = stream.try_write_vectored(&list[..count])?;
    counts.write(sent, count);
    chain.advance(sent).map_err(io::Error::other)
}

/// Sends the chain.
pub(crate) async fn send(stream: &TcpStream, mut chain: Mbuf, counts: &Counts) -> io::Result<()> {
    while chain.has_remaining() {
        stream.writable().await?;
        match try_send(stream, &mut chain, counts) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            done => done?,
        }
    }
    Ok(())
}
