//! Sharing data: new headers on the same bytes, and the way back to bytes of one's own.

use super::{Layout, MAX_CHAIN, Mbuf, Segment, ViewError};
use crate::arena::Offset;
use crate::class::Class;
use crate::error::AllocError;
use crate::header::{Header, flags};
use crate::pool::Core;
use crate::sync::Ordering;

/// Copy-refs.
impl Mbuf {
    /// Another mbuf on the same data, for every segment from this one to the end of its chain, chained like them.
    ///
    /// Lengths, timestamps and user areas are copied and independent from then on. The data is shared, and read-only while it
    /// is.
    ///
    /// # Errors
    /// [`AllocError::Exhausted`] when the pool has no headers left; nothing is half copied then.
    ///
    /// # Cost
    /// For each segment a bare header of 192 bytes, one atomic increment (on a line that others may use), and a copy of the
    /// user area if it was ever written. No data is touched.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut packet = pool.alloc(64)?;
    /// packet.extend_from_slice(b"same bytes")?;
    /// let mut copy = packet.copy_ref()?;
    /// assert_eq!(copy.data().as_ptr(), packet.data().as_ptr());
    /// copy.set_len(4)?;
    /// assert_eq!((copy.data(), packet.len()), (&b"same"[..], 10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn copy_ref(&self) -> Result<Self, AllocError> {
        let core = self.core();
        let copy = copy_segment(core, self.header())?;
        // SAFETY: H3 for the read; the copy is a live header of ours.
        unsafe {
            if let Some(next) = self.header().next() {
                copy_rest(core, copy, next)?;
            }
            Ok(Self::from_block(core, copy))
        }
    }

    /// Gives every segment of the chain data of its own, so that [`data_mut`](Self::data_mut) succeeds on it. Segments that
    /// are neither shared nor [read-only](Self::is_read_only) keep theirs.
    ///
    /// Lengths, capacities, user areas and timestamps stay as they are, but for the capacity of what was foreign, which is its length
    /// then. What was copied has no headroom.
    ///
    /// # Errors
    /// [`AllocError::Exhausted`] when the pool has not enough memory; nothing is changed then.
    ///
    /// # Cost
    /// For each shared segment an allocation and a copy of its valid data.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let original = pool.alloc_zeroed(4)?;
    /// let mut copy = original.copy_ref()?;
    /// copy.make_unique()?;
    /// copy.data_mut().unwrap()[0] = 1;
    /// assert_eq!(original.data(), [0; 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn make_unique(&mut self) -> Result<(), AllocError> {
        self.replace_segments(|segment| {
            if !segment.is_shared() && !segment.is_read_only() {
                return Ok(None);
            }
            // Of foreign memory there may be far more than anybody will write.
            let capacity = if segment.is_foreign() {
                segment.len()
            } else {
                segment.capacity()
            };
            segment.duplicate(capacity).map(Some)
        })
    }

    /// Puts what `replacement` makes of a segment in its place, if that is anything: in all places or, when it fails, in none.
    pub(super) fn replace_segments(
        &mut self,
        replacement: impl Fn(&Segment<'_>) -> Result<Option<Self>, AllocError>,
    ) -> Result<(), AllocError> {
        // The replacements come first, so that failing changes nothing.
        let mut fresh = [const { None }; MAX_CHAIN];
        for (place, segment) in fresh.iter_mut().zip(self.segments()) {
            *place = replacement(&segment)?;
        }
        // The chain is turned round once, front to end, with replacements in their segments' places. Those go when it is whole:
        // owners of foreign memory may panic.
        let segments = self.segment_count();
        for place in fresh.iter_mut().take(segments) {
            if let Some(mut front) = self.pop_front() {
                if let Some(replacement) = place {
                    std::mem::swap(replacement, &mut front);
                }
                self.append_fitting(front);
            } else if let Some(replacement) = place {
                std::mem::swap(replacement, self);
            }
        }
        Ok(())
    }

    /// Makes the chain one segment: its valid data is copied into a new one, which has the user area and timestamp of the first and
    /// whose capacity is their length. An mbuf alone stays as it is.
    ///
    /// # Errors
    /// As [`Pool::alloc`](crate::Pool::alloc); nothing is changed then.
    ///
    /// # Cost
    /// An allocation, a copy of all valid data, and the free of the chain.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut message = pool.alloc(8)?;
    /// message.extend_from_slice(b"one ")?;
    /// let mut rest = pool.alloc(8)?;
    /// rest.extend_from_slice(b"piece")?;
    /// message.append(rest)?;
    /// message.linearize()?;
    /// assert_eq!((message.data(), message.segment_count()), (&b"one piece"[..], 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn linearize(&mut self) -> Result<(), AllocError> {
        if self.segment_count() == 1 {
            return Ok(());
        }
        self.coalesce(0)
    }

    /// Copies the valid data of the whole chain into one new segment, with `headroom` bytes in front of it. That has the user area and
    /// timestamp of the first, and its capacity is the data's length.
    ///
    /// # Errors
    /// As [`Pool::alloc`](crate::Pool::alloc); nothing is changed then.
    ///
    /// # Cost
    /// An allocation, a copy of all valid data, and the free of the chain.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut packet = pool.alloc_zeroed(8)?;
    /// packet.coalesce(2)?;
    /// packet.prepend_slice(b"ok")?;
    /// assert_eq!(packet.data(), b"ok\0\0\0\0\0\0\0\0");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn coalesce(&mut self, headroom: usize) -> Result<(), AllocError> {
        let layout = Layout::new(self.total_len()).headroom(headroom);
        let mut whole = super::layout::alloc_with(self.core(), layout)?;
        for chunk in self.chunks() {
            let appended = whole.extend_from_slice(chunk);
            debug_assert!(appended.is_ok(), "a fresh mbuf with room for all");
        }
        whole.take_after(self);
        *self = whole;
        Ok(())
    }

    /// Brings the first `len` bytes of the chain into one segment, its first, so that a header can be read in one piece. Nothing is done
    /// if they are there already. The rest stays where it is.
    ///
    /// # Errors
    /// [`ViewError::OutOfRange`] when the chain is shorter, and as [`Pool::alloc`](crate::Pool::alloc); nothing is changed then.
    ///
    /// # Cost
    /// An allocation and a copy of `len` bytes, and of one header if the cut goes through a segment.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut message = pool.alloc(8)?;
    /// message.extend_from_slice(b"he")?;
    /// let mut rest = pool.alloc(8)?;
    /// rest.extend_from_slice(b"ad body")?;
    /// message.append(rest)?;
    /// message.linearize_prefix(4)?;
    /// assert_eq!(message.data(), b"head");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn linearize_prefix(&mut self, len: usize) -> Result<(), ViewError> {
        if len <= self.len() {
            return Ok(());
        }
        let parts = self.parts(..len).ok_or(ViewError::OutOfRange)?;
        let mut prefix = super::alloc::from_core(self.core(), len)?;
        for part in parts {
            let appended = prefix.extend_from_slice(part);
            debug_assert!(appended.is_ok(), "a fresh mbuf with room for all");
        }
        prefix.take_after(self);
        if len < self.total_len() {
            let rest = self.split_off_bytes(len)?;
            prefix.append_fitting(rest);
        }
        *self = prefix;
        Ok(())
    }

    /// Copies timestamp and user area.
    pub(super) fn take_after(&mut self, original: &Self) {
        self.set_timestamp(original.timestamp());
        let flags = original.header().flags() | self.header().flags();
        if flags & flags::USER_WRITTEN != 0 {
            *self.user_mut() = *original.user();
        }
    }

    /// A new mbuf of `capacity` bytes with a copy of this segment's data and all that is the segment's own.
    pub(super) fn duplicate(&self, capacity: usize) -> Result<Self, AllocError> {
        let mut copy = super::alloc::from_core(self.core(), capacity)?;
        let appended = copy.extend_from_slice(self.data());
        debug_assert!(appended.is_ok(), "a fresh mbuf with room for all");
        copy.take_after(self);
        Ok(copy)
    }
}

/// A copy of one header, live, alone and the caller's.
#[inline(always)]
pub(super) fn copy_segment(core: Core, original: &Header) -> Result<Offset, AllocError> {
    let block = core.take(Class::HEADER)?;
    // SAFETY: H3: the original is shared at least; the block is free and ours. Each reference has a header, and an arena
    // has fewer than 2^31 of them, so the count cannot overflow.
    unsafe {
        let owner = core.header(original.owner());
        // Relaxed: the caller's own reference keeps the count above 0, and whoever gets the copy gets it by other means.
        owner.refcount.fetch_add(1, Ordering::Relaxed);
        core.header(block).activate_copy(block, original);
    }
    Ok(block)
}

/// Copies the headers from `next` on and chains them to the lone copy `head`, which is freed on failure.
#[inline(never)]
fn copy_rest(core: Core, head: Offset, next: Offset) -> Result<(), AllocError> {
    // SAFETY: the caller's to chain to, and on failure to free, with what is linked so far, which is all there is.
    let copy = unsafe { Mbuf::from_block(core, head) };
    let mut last = head;
    let mut segments = 1;
    let mut next = Some(next);
    while let Some(original) = next {
        let block = copy_segment(core, core.header(original))?;
        // SAFETY: H3: the originals are shared at least, the copies ours.
        unsafe {
            core.header(block).set_flags(flags::MEMBER, 0);
            core.header(last).set_next(Some(block));
            next = core.header(original).next();
        }
        last = block;
        segments += 1;
    }
    // SAFETY: H3: the copies are ours.
    unsafe {
        copy.header().set_tail(last);
        copy.header().set_segments(segments);
    }
    std::mem::forget(copy);
    Ok(())
}
