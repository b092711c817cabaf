//! The data of one segment: reading, writing, length.

use super::{Mbuf, free::is_unique};
use crate::error::LenError;
use crate::header::flags;
use std::mem::MaybeUninit;
use std::{ptr, slice};

impl Mbuf {
    /// The valid data of this segment.
    ///
    /// # Cost
    /// Two loads from the first line of the header; the data itself is not touched.
    #[inline]
    pub fn data(&self) -> &[u8] {
        self.owner().data.read();
        // SAFETY: M4: the bytes are initialised; M3: nobody writes them while the handle is shared.
        unsafe { slice::from_raw_parts(self.data_ptr(), self.len()) }
    }

    /// The valid data of this segment, to be written; `None` while another mbuf shares it, and for what is
    /// [read-only](Self::is_read_only).
    ///
    /// # Cost
    /// One atomic load, of the header of the data's owner.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut packet = pool.alloc_zeroed(4)?;
    /// packet.data_mut().unwrap()[0] = 1;
    /// let copy = packet.copy_ref()?;
    /// assert!(packet.data_mut().is_none());
    /// drop(copy);
    /// assert_eq!(packet.data_mut().unwrap(), [1, 0, 0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn data_mut(&mut self) -> Option<&mut [u8]> {
        let len = self.len();
        // SAFETY: M4: the bytes are initialised, the exclusive data is at least as long.
        self.exclusive()
            .map(|all| unsafe { slice::from_raw_parts_mut(all.as_mut_ptr().cast(), len) })
    }

    /// The room behind the valid data, to be written before [`set_len_unchecked`](Self::set_len_unchecked) makes it valid;
    /// `None` where [`data_mut`](Self::data_mut) is.
    ///
    /// # Example
    /// ```
    /// use std::mem::MaybeUninit;
    ///
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut packet = pool.alloc(64)?;
    /// let room = packet.spare_capacity_mut().unwrap();
    /// assert_eq!(room.len(), 64);
    /// room[..2].write_copy_of_slice(b"ok");
    /// // SAFETY: the first two bytes have just been written.
    /// unsafe { packet.set_len_unchecked(2) };
    /// assert_eq!(packet.data(), b"ok");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn spare_capacity_mut(&mut self) -> Option<&mut [MaybeUninit<u8>]> {
        let len = self.len();
        self.exclusive().map(|all| &mut all[len..])
    }

    /// Whether the data may be written through this handle.
    #[inline(always)]
    pub(super) fn is_exclusive(&self) -> bool {
        // One branch for most.
        if self.header().flags() & (flags::COPY | flags::READ_ONLY) == 0 {
            return is_unique(self.header());
        }
        !self.is_read_only() && is_unique(self.owner())
    }

    /// All of the data area, if no copy-ref shares it.
    #[inline(always)]
    fn exclusive(&mut self) -> Option<&mut [MaybeUninit<u8>]> {
        if !self.is_exclusive() {
            return None;
        }
        self.owner().data.write();
        // SAFETY: M3: the only reference is `self`, exclusively borrowed. The view lies inside the data area.
        Some(unsafe { slice::from_raw_parts_mut(self.data_ptr().cast(), self.capacity()) })
    }

    /// Sets the length of the valid data, in bytes. What it grows by reads as zero.
    ///
    /// # Errors
    /// [`LenError::TooLong`] past the capacity, [`LenError::Shared`] when it would grow while a copy-ref shares the data;
    /// nothing is changed then.
    ///
    /// # Cost
    /// Growing writes the zeros. Who is about to write the bytes can do so through
    /// [`spare_capacity_mut`](Self::spare_capacity_mut) and [`set_len_unchecked`](Self::set_len_unchecked), or by
    /// [`extend_from_slice`](Self::extend_from_slice).
    #[inline]
    pub fn set_len(&mut self, len: usize) -> Result<(), LenError> {
        if len > self.capacity() {
            return Err(LenError::TooLong);
        }
        if let Some(growth) = len.checked_sub(self.len()).filter(|&growth| growth > 0) {
            let room = self.spare_capacity_mut().ok_or(LenError::Shared)?;
            // SAFETY: the growth is no longer than the room, as the length is within the capacity.
            unsafe { ptr::write_bytes(room.as_mut_ptr(), 0, growth) };
        }
        // SAFETY: H3: exclusive; the bytes are initialised (M4).
        unsafe { self.header().set_data_len(len) };
        Ok(())
    }

    /// Sets the length of the valid data, in bytes, without a check and without touching the data.
    ///
    /// # Safety
    /// `len` is at most [`capacity`](Self::capacity), and the first `len` bytes of the data area have been written: by
    /// this mbuf's users, not by those of its memory's earlier mbufs.
    #[inline]
    pub unsafe fn set_len_unchecked(&mut self, len: usize) {
        debug_assert!(len <= self.capacity());
        // SAFETY: H3: exclusive; the caller vouches for the bytes (M4).
        unsafe { self.header().set_data_len(len) };
    }

    /// Appends `bytes` to the valid data of this segment, all or nothing.
    ///
    /// # Errors
    /// [`LenError::TooLong`] when they do not fit, [`LenError::Shared`] while a copy-ref shares the data; nothing is changed
    /// then.
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) -> Result<(), LenError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let len = self.len();
        if bytes.len() > self.capacity() - len {
            return Err(LenError::TooLong);
        }
        let room = self.spare_capacity_mut().ok_or(LenError::Shared)?;
        // SAFETY: the room is long enough, and exclusive, so `bytes` is elsewhere.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), room.as_mut_ptr().cast(), bytes.len());
            self.header().set_data_len(len + bytes.len());
        }
        Ok(())
    }

    /// Makes this segment's data empty. Shared data stays with its other mbufs.
    #[inline]
    pub fn clear(&mut self) {
        // SAFETY: H3: exclusive.
        unsafe { self.header().set_data_len(0) };
    }
}
