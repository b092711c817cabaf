//! Reading a chain from any place in it, without changing it.

use crate::{Mbuf, Segments};
use std::io::{self, BufRead, Read, Seek, SeekFrom};

/// A place in a chain's data, from which it is read: [`Mbuf::cursor`]. It implements `Read`, `BufRead` and `Seek`, and with the feature
/// `bytes` `bytes::Buf`.
///
/// # Example
/// ```
/// use std::io::{BufRead, Read, Seek, SeekFrom};
///
/// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
/// let mut message = pool.alloc(16)?;
/// message.extend_from_slice(b"first li")?;
/// let mut rest = pool.alloc(16)?;
/// rest.extend_from_slice(b"ne\nsecond")?;
/// message.append(rest)?;
///
/// let mut cursor = message.cursor();
/// let mut line = String::new();
/// cursor.read_line(&mut line)?;
/// assert_eq!(line, "first line\n");
/// cursor.seek(SeekFrom::End(-3))?;
/// let mut end = Vec::new();
/// cursor.read_to_end(&mut end)?;
/// assert_eq!(end, b"ond");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    chain: &'a Mbuf,
    /// Of the whole chain.
    len: usize,
    position: u64,
    /// What is left of the segment that the cursor is in: empty only at the end.
    front: &'a [u8],
    behind: Segments<'a>,
}

impl Mbuf {
    /// A reader of the chain's data, at its beginning.
    ///
    /// # Cost
    /// Walks the chain once for its length.
    pub fn cursor(&self) -> Cursor<'_> {
        let mut cursor = Cursor {
            chain: self,
            len: self.total_len(),
            position: 0,
            front: &[],
            behind: self.segments(),
        };
        cursor.go_on();
        cursor
    }
}

impl<'a> Cursor<'a> {
    /// Where the cursor is, in bytes from the start. It may be behind the end.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Bytes from here to the end.
    pub fn remaining(&self) -> usize {
        // A position within the length fits.
        (self.len as u64).saturating_sub(self.position) as usize
    }

    /// The bytes from here to the end of a segment: none only at the end of the chain.
    pub fn chunk(&self) -> &'a [u8] {
        self.front
    }

    /// The chunk after this one, and so on.
    #[cfg(feature = "bytes")]
    pub(super) fn chunks(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let behind = self.behind.clone().map(|segment| segment.into_data());
        std::iter::once(self.front).chain(behind)
    }

    /// Goes on by `n` bytes, to the end at most; says by how many.
    pub(super) fn skip(&mut self, n: usize) -> usize {
        let mut left = n;
        while left >= self.front.len() && !self.front.is_empty() {
            left -= self.front.len();
            self.position += self.front.len() as u64;
            self.front = &[];
            self.go_on();
        }
        let skipped = left.min(self.front.len());
        self.front = &self.front[skipped..];
        self.position += skipped as u64;
        n - left + skipped
    }

    /// Goes on to the next segment that has data, if this one has none left.
    fn go_on(&mut self) {
        while self.front.is_empty() {
            match self.behind.next() {
                Some(segment) => self.front = segment.into_data(),
                None => return,
            }
        }
    }
}

impl Read for Cursor<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < out.len() && !self.front.is_empty() {
            let n = self.front.len().min(out.len() - done);
            out[done..done + n].copy_from_slice(&self.front[..n]);
            done += self.skip(n);
        }
        Ok(done)
    }
}

impl BufRead for Cursor<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(self.front)
    }

    fn consume(&mut self, n: usize) {
        self.skip(n);
    }
}

/// A place behind the end is no error; nothing is there to be read.
impl Seek for Cursor<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(distance) => (self.len as u64).checked_add_signed(distance),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
        };
        let target = target.ok_or(io::ErrorKind::InvalidInput)?;
        if target < self.position {
            self.position = 0;
            self.front = &[];
            self.behind = self.chain.segments();
            self.go_on();
        }
        let ahead = target.saturating_sub(self.position);
        self.skip(usize::try_from(ahead).unwrap_or(usize::MAX));
        self.position = target;
        Ok(target)
    }

    fn stream_position(&mut self) -> io::Result<u64> {
        Ok(self.position)
    }
}
