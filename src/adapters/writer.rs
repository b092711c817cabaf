//! Writing a chain that grows by segments from its pool.

use crate::{AllocError, AppendErrorKind, LenError, MAX_CHAIN, Mbuf};
use std::fmt;
use std::io::{self, Write};

/// Why a chain did not grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// There is no further segment.
    Alloc(AllocError),
    /// The chain has [`MAX_CHAIN`] segments.
    TooLong,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alloc(error) => error.fmt(f),
            Self::TooLong => write!(f, "a chain holds at most {MAX_CHAIN} segments"),
        }
    }
}

impl std::error::Error for WriteError {}

impl From<AllocError> for WriteError {
    fn from(error: AllocError) -> Self {
        Self::Alloc(error)
    }
}

impl From<WriteError> for io::Error {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Alloc(error) => error.into(),
            WriteError::TooLong => Self::new(io::ErrorKind::FileTooLarge, error),
        }
    }
}

/// A chain that is written at its end, and grows by segments from its pool: [`Mbuf::into_writer`]. It implements `Write` and `Extend`, and
/// with the feature `bytes` `bytes::BufMut`.
///
/// # Example
/// ```
/// use std::io::Write;
///
/// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
/// let mut writer = pool.alloc(8)?.into_writer(64);
/// write!(writer, "{} bytes in all", 20)?;
/// let message = writer.into_mbuf();
/// assert_eq!(message, b"20 bytes in all");
/// assert_eq!(message.segment_count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer {
    chain: Mbuf,
    segment: usize,
    /// What kept the last `extend` from being done.
    failed: Option<WriteError>,
}

impl Mbuf {
    /// A new mbuf of `size` bytes, of the same pool.
    ///
    /// # Errors
    /// As [`Pool::alloc`](crate::Pool::alloc). It works without a handle on the pool, too, slower.
    pub fn sibling(&self, size: usize) -> Result<Self, AllocError> {
        crate::mbuf::from_core(self.core(), size)
    }

    /// A writer that goes on where this chain's data ends, and appends segments of `segment` bytes, 1 at least, when its last has no room.
    /// If that is shared, or read-only, there is none in it.
    pub fn into_writer(self, segment: usize) -> Writer {
        let mut writer = Writer {
            chain: self,
            segment: segment.max(1),
            failed: None,
        };
        // So that there is room at once, for those who ask that before they write. Who writes is told why there is none.
        let _ = writer.grow();
        writer
    }
}

impl Writer {
    /// The chain so far.
    pub fn mbuf(&self) -> &Mbuf {
        &self.chain
    }

    /// The chain. A last segment that nothing was written to is freed.
    pub fn into_mbuf(mut self) -> Mbuf {
        let segments = self.chain.segment_count();
        if self.chain.last_mut().is_empty() {
            drop(self.chain.split_off(segments - 1));
        }
        self.chain
    }

    /// As [`into_mbuf`](Self::into_mbuf), if nothing that was to be written by `Extend` is missing.
    ///
    /// # Errors
    /// What kept the last `extend` from being done.
    pub fn finish(self) -> Result<Mbuf, WriteError> {
        match self.failed {
            None => Ok(self.into_mbuf()),
            Some(error) => Err(error),
        }
    }

    /// Bytes that can be written before the chain must grow.
    pub fn room(&self) -> usize {
        self.chain.last_room()
    }

    /// Sees to it that there is room for a byte at least.
    ///
    /// # Errors
    /// [`WriteError`]; nothing is changed then.
    pub fn grow(&mut self) -> Result<(), WriteError> {
        if self.room() > 0 {
            return Ok(());
        }
        if self.chain.segment_count() == MAX_CHAIN {
            return Err(WriteError::TooLong);
        }
        let next = self.chain.sibling(self.segment)?;
        self.chain.append(next).map_err(|error| match error.kind() {
            AppendErrorKind::TooLong | AppendErrorKind::OtherPool => WriteError::TooLong,
        })
    }

    /// Appends as many of `bytes` as there is memory for, at once in one segment where they fit.
    ///
    /// # Errors
    /// [`WriteError`], with how many were written before.
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), (usize, WriteError)> {
        let mut written = 0;
        while written < bytes.len() {
            self.grow().map_err(|error| (written, error))?;
            let part = self.room().min(bytes.len() - written);
            let appended = self.chain.append_bytes(&bytes[written..written + part]);
            debug_assert_eq!(appended, Ok::<(), LenError>(()), "there is room");
            written += part;
        }
        Ok(())
    }

    #[cfg(feature = "bytes")]
    pub(super) fn chain(&mut self) -> &mut Mbuf {
        &mut self.chain
    }
}

/// Writes what there is memory for; an error only when that is nothing.
impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.write_bytes(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err((0, error)) => Err(error.into()),
            Err((written, _)) => Ok(written),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Stops where there is no memory: [`Writer::finish`] then says so.
impl Extend<u8> for Writer {
    fn extend<T: IntoIterator<Item = u8>>(&mut self, bytes: T) {
        let mut bytes = bytes.into_iter();
        let mut gathered = [0; 64];
        loop {
            let mut count = 0;
            for (place, byte) in gathered.iter_mut().zip(bytes.by_ref()) {
                *place = byte;
                count += 1;
            }
            if count == 0 || self.failed.is_some() {
                return;
            }
            if let Err((_, error)) = self.write_bytes(&gathered[..count]) {
                self.failed = Some(error);
            }
        }
    }
}

impl<'a> Extend<&'a u8> for Writer {
    fn extend<T: IntoIterator<Item = &'a u8>>(&mut self, bytes: T) {
        self.extend(bytes.into_iter().copied());
    }
}

impl<'a> Extend<&'a [u8]> for Writer {
    fn extend<T: IntoIterator<Item = &'a [u8]>>(&mut self, slices: T) {
        for bytes in slices {
            if self.failed.is_some() {
                return;
            }
            if let Err((_, error)) = self.write_bytes(bytes) {
                self.failed = Some(error);
            }
        }
    }
}
