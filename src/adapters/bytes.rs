//! The traits and the type of the `bytes` crate.

use super::{Cursor, Writer};
use crate::Mbuf;
use bytes::buf::UninitSlice;
use bytes::{Buf, BufMut, Bytes, TryGetError};
use std::io::IoSlice;

/// Reads the chain and lets go of what was read: see [`Mbuf::advance`]. A [`Cursor`] leaves the chain as it is.
///
/// # Cost
/// `remaining` walks the chain; `has_remaining` as far as the first byte.
impl Buf for Mbuf {
    fn remaining(&self) -> usize {
        self.total_len()
    }

    fn has_remaining(&self) -> bool {
        self.chunks().any(|chunk| !chunk.is_empty())
    }

    fn chunk(&self) -> &[u8] {
        self.chunks()
            .find(|chunk| !chunk.is_empty())
            .unwrap_or_default()
    }

    fn chunks_vectored<'a>(&'a self, list: &mut [IoSlice<'a>]) -> usize {
        self.io_slices(list)
    }

    fn advance(&mut self, n: usize) {
        if Self::advance(self, n).is_err() {
            behind_the_end(n, self.total_len());
        }
    }

    fn copy_to_bytes(&mut self, len: usize) -> Bytes {
        let available = self.total_len();
        if len > available {
            behind_the_end(len, available);
        }
        // Without a copy where the bytes are in one piece and there is a header for them.
        if len > 0
            && self.len() >= len
            && let Ok(front) = self.split_to(len)
            && let Ok(bytes) = Bytes::try_from(front)
        {
            return bytes;
        }
        let mut bytes = Vec::with_capacity(len);
        bytes.extend(self.parts(..len).into_iter().flatten().flatten());
        Buf::advance(self, len);
        bytes.into()
    }
}

/// What the trait demands.
#[cold]
fn behind_the_end(requested: usize, available: usize) -> ! {
    panic!(
        "{}",
        TryGetError {
            requested,
            available
        }
    )
}

impl Buf for Cursor<'_> {
    fn remaining(&self) -> usize {
        Cursor::remaining(self)
    }

    fn chunk(&self) -> &[u8] {
        Cursor::chunk(self)
    }

    fn chunks_vectored<'b>(&'b self, list: &mut [IoSlice<'b>]) -> usize {
        let chunks = self.chunks().filter(|chunk| !chunk.is_empty());
        let mut count = 0;
        for (place, chunk) in list.iter_mut().zip(chunks) {
            *place = IoSlice::new(chunk);
            count += 1;
        }
        count
    }

    fn advance(&mut self, n: usize) {
        let available = Cursor::remaining(self);
        if n > available {
            behind_the_end(n, available);
        }
        self.skip(n);
    }
}

/// Writes to the last segment's room; none if that is shared or read-only. A [`Writer`] appends further segments.
///
/// Those that read into a `BufMut`, such as tokio's `read_buf`, return 0 when it has no room, as they do at the end of what they read.
// SAFETY: `chunk_mut` is all of the room, exclusively, and `advance_mut` lets as much of it be data as its caller has written.
unsafe impl BufMut for Mbuf {
    fn remaining_mut(&self) -> usize {
        self.last_room()
    }

    unsafe fn advance_mut(&mut self, n: usize) {
        let available = self.last_room();
        if n > available {
            behind_the_end(n, available);
        }
        let mut last = self.last_mut();
        let len = last.len() + n;
        // SAFETY: the caller has written the bytes, which are within the capacity.
        unsafe { last.set_len_unchecked(len) };
    }

    fn chunk_mut(&mut self) -> &mut UninitSlice {
        match self.last_mut().into_room() {
            Some(room) => UninitSlice::uninit(room),
            None => UninitSlice::new(&mut []),
        }
    }
}

/// Room is what the last segment has. When that is used up, the next is appended at once; only when there is no memory for it, or the
/// chain is as long as can be, is there none: [`grow`](Writer::grow) says why. `put_slice` of more than that panics, as the trait
/// demands; [`write_bytes`](Writer::write_bytes) does not.
///
/// Those that read into a `BufMut`, such as tokio's `read_buf`, return 0 when it has no room, as they do at the end of what they read.
/// Before each such read [`grow`](Writer::grow) tells the two apart.
// SAFETY: as for `Mbuf`.
unsafe impl BufMut for Writer {
    fn remaining_mut(&self) -> usize {
        self.mbuf().last_room()
    }

    unsafe fn advance_mut(&mut self, n: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.chain().advance_mut(n) };
        // Without memory there is no room, and that is what it says.
        let _ = self.grow();
    }

    fn chunk_mut(&mut self) -> &mut UninitSlice {
        self.chain().chunk_mut()
    }
}

/// Without a copy: the bytes keep the mbuf. Only of one segment; a chain comes back as it is, to be
/// [made one](Mbuf::linearize). The other way is [`Pool::wrap`](crate::Pool::wrap).
///
/// # Example
/// ```
/// use bytes::Bytes;
///
/// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
/// let mut packet = pool.alloc(64)?;
/// packet.extend_from_slice(b"payload")?;
/// let address = packet.data().as_ptr();
/// let bytes = Bytes::try_from(packet).unwrap();
/// assert_eq!((&bytes[..], bytes.as_ptr()), (&b"payload"[..], address));
/// let back = pool.wrap(bytes)?;
/// assert_eq!(back.data().as_ptr(), address);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl TryFrom<Mbuf> for Bytes {
    type Error = Mbuf;

    fn try_from(mbuf: Mbuf) -> Result<Self, Mbuf> {
        if mbuf.segment_count() > 1 {
            return Err(mbuf);
        }
        Ok(Self::from_owner(mbuf))
    }
}
