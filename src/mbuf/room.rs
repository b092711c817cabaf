//! Room in front of the data and behind it: what comes and goes at a chain's ends without data being moved.

use super::Mbuf;
use crate::error::LenError;
use std::{ptr, slice};

/// Headroom and tailroom.
impl Mbuf {
    /// Bytes that can be [prepended](Self::prepend) to this segment: those of its block, or foreign memory, in front of the data.
    ///
    /// # Cost
    /// One load.
    #[inline]
    pub fn headroom(&self) -> usize {
        // SAFETY: H3.
        unsafe { self.header().data_offset() }
    }

    /// Bytes that can be appended to this segment's data: its capacity less its length.
    ///
    /// # Cost
    /// Two loads.
    #[inline]
    pub fn tailroom(&self) -> usize {
        self.capacity() - self.len()
    }

    /// Puts `n` zero bytes in front of this segment's data, to be written. Its capacity grows by as many.
    ///
    /// # Errors
    /// [`LenError::TooLong`] with more than the [headroom](Self::headroom), [`LenError::Shared`] while another mbuf shares the data, or
    /// it is read-only; nothing is changed then.
    ///
    /// # Cost
    /// Writes `n` bytes and the first line of the header; no data is moved.
    ///
    /// # Example
    /// ```
    /// use mbuf::Layout;
    ///
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut packet = pool.alloc_with(Layout::new(64).headroom(14))?;
    /// packet.extend_from_slice(b"payload")?;
    /// let before = packet.headroom();
    /// packet.prepend(2)?.copy_from_slice(b"> ");
    /// assert_eq!((packet.data(), packet.headroom()), (&b"> payload"[..], before - 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prepend(&mut self, n: usize) -> Result<&mut [u8], LenError> {
        // SAFETY: the bytes are written before they are lent.
        unsafe {
            let front = self.open_front(n)?;
            front.write_bytes(0, n);
            Ok(slice::from_raw_parts_mut(front, n))
        }
    }

    /// Puts `bytes` in front of this segment's data: as [`prepend`](Self::prepend), without the zeros in between.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn prepend_slice(&mut self, bytes: &[u8]) -> Result<(), LenError> {
        // SAFETY: the front is as long, and exclusive, so `bytes` is elsewhere.
        unsafe {
            let front = self.open_front(bytes.len())?;
            ptr::copy_nonoverlapping(bytes.as_ptr(), front, bytes.len());
        }
        Ok(())
    }

    /// Lets the data begin `n` bytes earlier, and says where that is.
    ///
    /// # Safety
    /// The caller writes the bytes (M4).
    #[inline(always)]
    unsafe fn open_front(&mut self, n: usize) -> Result<*mut u8, LenError> {
        let Some(offset) = self.headroom().checked_sub(n) else {
            return Err(LenError::TooLong);
        };
        if n > 0 {
            if !self.is_exclusive() {
                return Err(LenError::Shared);
            }
            self.owner().data.write();
        }
        let (len, capacity) = (self.len() + n, self.capacity() + n);
        // SAFETY: H3: exclusive; the view begins no earlier than the data area.
        unsafe {
            self.header().set_view(offset, capacity);
            self.header().set_data_len(len);
        }
        Ok(self.data_ptr())
    }

    /// Cuts `n` bytes off the front of the chain. Segments that are left without any are freed, all but the last; user area and timestamp
    /// go over to the segment that is then the first.
    ///
    /// What is cut off becomes headroom of the first segment, and its capacity shrinks by it.
    ///
    /// # Errors
    /// [`LenError::TooLong`] with more than [`total_len`](Self::total_len) bytes; nothing is changed then.
    ///
    /// # Cost
    /// The first line of the header; with several segments, of those that are passed and one more. No data is touched.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut message = pool.alloc(8)?;
    /// message.extend_from_slice(b"head")?;
    /// let mut rest = pool.alloc(8)?;
    /// rest.extend_from_slice(b"body")?;
    /// message.append(rest)?;
    /// message.advance(5)?;
    /// assert_eq!((message.data(), message.segment_count()), (&b"ody"[..], 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn advance(&mut self, n: usize) -> Result<(), LenError> {
        if n <= self.len() && (n < self.len() || self.segment_count() == 1) {
            self.cut_front(n);
            return Ok(());
        }
        self.advance_far(n)
    }

    fn advance_far(&mut self, n: usize) -> Result<(), LenError> {
        if n > self.total_len() {
            return Err(LenError::TooLong);
        }
        let mut left = n;
        // Let go at the end, when the chain is as it is to be: an owner of foreign memory may panic.
        let mut passed: Option<Self> = None;
        while left >= self.len() {
            left -= self.len();
            let Some(front) = self.pop_front() else {
                // The last one stays, empty.
                left = self.len();
                break;
            };
            self.take_after(&front);
            match &mut passed {
                None => passed = Some(front),
                Some(passed) => passed.append_fitting(front),
            }
        }
        self.cut_front(left);
        Ok(())
    }

    /// Lets this segment's data begin `n` bytes later, of its length at most.
    #[inline(always)]
    fn cut_front(&mut self, n: usize) {
        let (offset, capacity) = (self.headroom() + n, self.capacity() - n);
        let len = self.len() - n;
        // SAFETY: H3: exclusive.
        unsafe {
            self.header().set_view(offset, capacity);
            self.header().set_data_len(len);
        }
    }

    /// Shortens the chain's data to `len` bytes. Segments behind the one that then is the last are freed. A chain that is no longer stays
    /// as it is.
    ///
    /// # Cost
    /// The first lines of the chain's headers, and what freeing costs. No data is touched.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut message = pool.alloc_zeroed(8)?;
    /// message.append(pool.alloc_zeroed(8)?)?;
    /// message.truncate(5);
    /// assert_eq!((message.total_len(), message.segment_count()), (5, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn truncate(&mut self, len: usize) {
        // Empty segments at its end may be room for more.
        if len >= self.total_len() {
            return;
        }
        let mut left = len;
        let mut kept = 0;
        for mut segment in self.segments_mut() {
            kept += 1;
            if left <= segment.len() {
                segment.shorten(left);
                drop(self.split_off(kept));
                return;
            }
            left -= segment.len();
        }
    }

    /// Shortens this segment's data.
    #[inline]
    pub(super) fn shorten(&mut self, len: usize) {
        debug_assert!(len <= self.len());
        // SAFETY: H3: exclusive; fewer bytes of those that are valid (M4).
        unsafe { self.header().set_data_len(len) };
    }

    /// Appends `bytes` to the last segment of the chain, all or nothing: as [`extend_from_slice`](Self::extend_from_slice) of that.
    ///
    /// # Errors
    /// As there: [`LenError::TooLong`] with more than the last segment's [tailroom](Self::tailroom), [`LenError::Shared`].
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut message = pool.alloc_zeroed(2)?;
    /// message.append(pool.alloc(8)?)?;
    /// message.append_bytes(b"tail")?;
    /// assert_eq!(message.segment(1).unwrap().data(), b"tail");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn append_bytes(&mut self, bytes: &[u8]) -> Result<(), LenError> {
        self.last_mut().extend_from_slice(bytes)
    }
}
