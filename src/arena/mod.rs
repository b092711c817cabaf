//! The arena: one contiguous, reserved range of addresses, and the offsets that name places in it.
//!
//! Everything that two threads may touch lives in an arena as `#[repr(C)]` data that holds offsets, never addresses, so
//! an arena means the same wherever it is mapped.
//!
//! Invariants:
//!
//! * **A1** An [`Offset`] made for an arena lies inside it, and what it names is laid out there for as long as the
//!   arena is mapped.
//! * **A2** Memory that was never written reads as zero, and zero bytes are a valid value of every [`InArena`] type.
//! * **A3** Pointers into an arena are derived from its base, so each may reach the whole of it.

mod mapping;

pub use mapping::HugePages;
pub(crate) use mapping::{HUGE, Mapping};

use std::num::NonZeroU32;
use std::ptr::NonNull;

/// What an offset counts: 64 bytes, a cache line.
pub(crate) const GRANULE: usize = 1 << GRANULE_SHIFT;
const GRANULE_SHIFT: u32 = 6;

/// The most that 32-bit offsets of granules can name: 256 GiB, tables included.
pub(crate) const MAX_BYTES: u64 = (u32::MAX as u64 + 1) << GRANULE_SHIFT;

/// A place in an arena, as granules from its base. Never 0: the base holds the pool's own state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(transparent)]
pub(crate) struct Offset(NonZeroU32);

impl Offset {
    /// `None` for 0, which stands for "nothing" wherever an offset is stored.
    #[inline(always)]
    pub(crate) const fn from_raw(granules: u32) -> Option<Self> {
        match NonZeroU32::new(granules) {
            Some(granules) => Some(Self(granules)),
            None => None,
        }
    }

    /// # Safety
    /// `granules` is not 0.
    #[inline(always)]
    pub(crate) const unsafe fn from_raw_unchecked(granules: u32) -> Self {
        // SAFETY: the caller vouches for it.
        Self(unsafe { NonZeroU32::new_unchecked(granules) })
    }

    #[inline(always)]
    pub(crate) const fn raw(self) -> u32 {
        self.0.get()
    }

    /// The place `bytes` further on; `bytes` is a multiple of [`GRANULE`] and stays inside the arena.
    #[inline]
    pub(crate) const fn plus(self, bytes: u64) -> Self {
        debug_assert!(bytes.is_multiple_of(GRANULE as u64));
        match Self::from_raw(self.raw() + (bytes >> GRANULE_SHIFT) as u32) {
            Some(offset) => offset,
            None => self,
        }
    }

    /// Bytes from the arena's base.
    #[inline(always)]
    pub(crate) const fn bytes(self) -> usize {
        (self.raw() as usize) << GRANULE_SHIFT
    }
}

/// Types that live in an arena.
///
/// # Safety
/// Without loom, zero bytes are a valid value and equal to [`fresh`](InArena::fresh) in every respect (A2).
pub(crate) unsafe trait InArena {
    /// A value as it is before first use. Only loom, whose atomics are more than their bytes, has to write it.
    #[cfg_attr(not(loom), allow(dead_code))]
    fn fresh() -> Self;
}

/// An arena that is mapped: its base. Whoever holds one knows a reason why the arena stays mapped meanwhile (a handle
/// on the pool, a live mbuf, a pin in the registry).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Arena {
    base: NonNull<u8>,
}

// SAFETY: an address; what lies there is shared by atomics and by the invariants of the parts.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// # Safety
    /// `base` is the base of an arena that stays mapped for as long as the value and its copies are used.
    #[inline(always)]
    pub(crate) const unsafe fn from_base(base: NonNull<u8>) -> Self {
        Self { base }
    }

    #[inline(always)]
    pub(crate) const fn base(self) -> NonNull<u8> {
        self.base
    }

    /// The address of `offset`.
    #[inline(always)]
    pub(crate) fn at<T>(self, offset: Offset) -> NonNull<T> {
        // SAFETY: A1: the offset lies inside the arena, which is one mapping (A3).
        unsafe { self.base.byte_add(offset.bytes()).cast() }
    }

    /// What lies at `offset`.
    ///
    /// # Safety
    /// A `T` was laid out at `offset`, nothing else was since, and nobody forms a `&mut` to it.
    #[inline(always)]
    pub(crate) unsafe fn get<'a, T: InArena>(self, offset: Offset) -> &'a T {
        // SAFETY: laid out there, says the caller, so aligned and valid (A2); mapped while `self` is used.
        unsafe { self.at::<T>(offset).as_ref() }
    }

    /// `count` values that lie from `offset` on.
    ///
    /// # Safety
    /// As [`get`](Self::get), for each of them.
    #[inline]
    pub(crate) unsafe fn slice<'a, T: InArena>(self, offset: Offset, count: usize) -> &'a [T] {
        // SAFETY: as in `get`; the region was planned for `count` values.
        unsafe { std::slice::from_raw_parts(self.at::<T>(offset).as_ptr(), count) }
    }

    /// Lays out `count` fresh values from `offset` on, in memory that was never written.
    ///
    /// # Safety
    /// The region was planned for them and nobody else knows of it yet.
    pub(crate) unsafe fn lay_out<T: InArena>(self, offset: Offset, count: usize) {
        #[cfg(loom)]
        for index in 0..count {
            // SAFETY: inside the region, which is ours alone.
            unsafe { self.at::<T>(offset).add(index).write(T::fresh()) };
        }
        #[cfg(not(loom))]
        let _ = (offset, count);
    }
}

/// Hands out an arena's first part, table by table, before the arena exists.
pub(crate) struct Plan {
    next: u64,
}

impl Plan {
    /// A plan whose first `bytes` are taken: the pool's own state at the base.
    pub(crate) fn after(bytes: usize) -> Self {
        let mut plan = Self { next: 0 };
        plan.take(bytes as u64, GRANULE as u64);
        plan
    }

    /// Room for `count` values of `T`.
    pub(crate) fn table<T: InArena>(&mut self, count: u64) -> Offset {
        let align = align_of::<T>().max(GRANULE) as u64;
        self.bytes(count * size_of::<T>() as u64, align)
    }

    /// Room for `bytes` at a multiple of `align`, a power of two.
    pub(crate) fn bytes(&mut self, bytes: u64, align: u64) -> Offset {
        let at = self.take(bytes, align);
        // A plan past what offsets can name is refused by its length, before any of its offsets is used.
        let granules = u32::try_from(at >> GRANULE_SHIFT).unwrap_or(u32::MAX);
        Offset::from_raw(granules).unwrap_or(Offset(NonZeroU32::MIN))
    }

    /// Bytes planned so far, whole granules.
    pub(crate) fn len(&self) -> u64 {
        self.next
    }

    fn take(&mut self, bytes: u64, align: u64) -> u64 {
        let at = self.next.next_multiple_of(align);
        self.next = (at + bytes).next_multiple_of(GRANULE as u64);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_hands_out_disjoint_aligned_tables() {
        let mut plan = Plan::after(1);
        let first = plan.bytes(65, 64);
        let second = plan.bytes(1, 4096);
        assert_eq!(first.bytes(), 64);
        assert_eq!(second.bytes(), 4096);
        assert_eq!(plan.len(), 4096 + 64);
    }

    #[test]
    fn offsets_name_granules() {
        let offset = Offset::from_raw(3).unwrap();
        assert_eq!(offset.bytes(), 192);
        assert_eq!(offset.plus(128).raw(), 5);
        assert_eq!(Offset::from_raw(0), None);
        assert_eq!(size_of::<Option<Offset>>(), 4);
    }
}
