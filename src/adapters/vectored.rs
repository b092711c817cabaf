//! Lists of a chain's segments, for `readv` and `writev`.

use crate::Mbuf;
use std::io::{IoSlice, IoSliceMut};

impl Mbuf {
    /// The chain's data as a list for `writev`: what of it `list` has places for, from the first byte on. Returns how many places were
    /// filled; empty segments take none.
    ///
    /// The list borrows the chain for as long as it may be used again: in a loop that [advances](Self::advance) the chain, make the
    /// list anew each time.
    ///
    /// # Example
    /// ```
    /// use std::io::{IoSlice, Write};
    ///
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut message = pool.alloc(8)?;
    /// message.extend_from_slice(b"head ")?;
    /// message.append(pool.wrap(&b"body"[..])?)?;
    /// let mut list = [IoSlice::new(&[]); 16];
    /// let count = message.io_slices(&mut list);
    /// let mut out = Vec::new();
    /// let written = out.write_vectored(&list[..count])?;
    /// message.advance(written)?;
    /// assert_eq!((out, message.total_len()), (b"head body".to_vec(), 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn io_slices<'a>(&'a self, list: &mut [IoSlice<'a>]) -> usize {
        let chunks = self.chunks().filter(|chunk| !chunk.is_empty());
        let mut count = 0;
        for (place, chunk) in list.iter_mut().zip(chunks) {
            *place = IoSlice::new(chunk);
            count += 1;
        }
        count
    }

    /// The chain's valid data as a list for `readv`, to be written over. `None` if some of it is shared or read-only.
    ///
    /// # Example
    /// ```
    /// use std::io::Read;
    ///
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut message = pool.alloc_zeroed(2)?;
    /// message.append(pool.alloc_zeroed(8)?)?;
    /// let mut list = message.io_slices_mut().unwrap();
    /// let read = (&b"abcd"[..]).read_vectored(&mut list)?;
    /// message.truncate(read);
    /// assert_eq!(message, b"abcd");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn io_slices_mut(&mut self) -> Option<Vec<IoSliceMut<'_>>> {
        self.segments_mut()
            .map(|segment| segment.into_data_mut().map(IoSliceMut::new))
            .collect()
    }
}
