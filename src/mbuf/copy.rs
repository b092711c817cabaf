//! Sharing data: new headers on the same bytes, and the way back to bytes of one's own.

use super::{MAX_CHAIN, Mbuf};
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
    #[inline]
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
    /// are not shared keep theirs.
    ///
    /// Lengths, capacities, user areas and timestamps stay as they are.
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
        // The replacements come first, so that failing changes nothing.
        let mut fresh = [const { None }; MAX_CHAIN];
        for (place, segment) in fresh.iter_mut().zip(self.segments()) {
            if segment.is_shared() {
                *place = Some(segment.duplicate()?);
            }
        }
        // The chain is turned round once, front to end, with replacements in their segments' places.
        let segments = self.segment_count();
        for place in fresh.iter_mut().take(segments) {
            if let Some(front) = self.pop_front() {
                let kept = place.take().unwrap_or(front);
                let appended = self.append(kept);
                debug_assert!(
                    appended.is_ok(),
                    "of the same pool, and one was just detached"
                );
            } else if let Some(replacement) = place.take() {
                *self = replacement;
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
        let mut whole = super::alloc::from_core(self.core(), self.total_len())?;
        for segment in self.segments() {
            let appended = whole.extend_from_slice(segment.data());
            debug_assert!(appended.is_ok(), "a fresh mbuf with room for all");
        }
        whole.take_after(self);
        *self = whole;
        Ok(())
    }

    /// Copies timestamp and user area.
    fn take_after(&mut self, original: &Self) {
        self.set_timestamp(original.timestamp());
        if original.header().flags() & flags::USER_WRITTEN != 0 {
            *self.user_mut() = *original.user();
        }
    }

    /// A new mbuf with a copy of this segment's data and all that is the segment's own.
    fn duplicate(&self) -> Result<Self, AllocError> {
        let mut copy = super::alloc::from_core(self.core(), self.capacity())?;
        let appended = copy.extend_from_slice(self.data());
        debug_assert!(appended.is_ok(), "a fresh mbuf of the same capacity");
        copy.take_after(self);
        Ok(copy)
    }
}

/// A copy of one header, live, alone and the caller's.
#[inline(always)]
fn copy_segment(core: Core, original: &Header) -> Result<Offset, AllocError> {
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
