//! What the C interface does with mbufs beside what Rust does.

use super::Mbuf;
use super::free::{is_unique, retire};
use crate::class::Class;
use crate::header::flags;
use crate::pool::Core;
use std::ffi::c_void;

/// A new mbuf of `size` bytes, of which every pool has a class, if the calling thread has a block at hand.
#[inline(always)]
pub(crate) fn at_hand(core: Core, size: usize) -> Option<Mbuf> {
    debug_assert!(core.has_class_for(size));
    // SAFETY: C1: `cache` finds the calling thread's. A free block of the class for `size`, ours.
    unsafe {
        let block = core.cache()?.pop(Class::of(size))?;
        Some(Mbuf::activate(core, block, size, 0))
    }
}

/// `count` new mbufs of `size` bytes, if the calling thread has as many blocks at hand. It uses its cache for nothing else until it
/// has seen them all.
#[inline(always)]
pub(crate) fn all_at_hand(
    core: Core,
    size: usize,
    count: usize,
) -> Option<impl Iterator<Item = Mbuf>> {
    let class = Class::of(size);
    let cache = core.cache().filter(|_| core.has_class_for(size))?;
    // SAFETY: C1: `cache` finds the calling thread's. Free blocks of the class for `size`, ours.
    unsafe {
        let blocks = cache.pop_all_of(class, count)?;
        Some(blocks.map(move |block| Mbuf::activate(core, block, size, 0)))
    }
}

/// Frees the mbuf at `address` if it is `core`'s pool's, alone, on data that nobody shares, and the calling thread has room for
/// it at hand. False, and nothing is done, for whatever else is there.
///
/// # Safety
/// The arena is readable: the pool is pinned or kept. If a live mbuf is there it is the caller's to free.
#[inline(always)]
pub(crate) unsafe fn free_at_hand(core: Core, address: usize) -> bool {
    // SAFETY: the caller's promise for the arena. A plain header is live, and then it is the caller's (H3). C1: `cache`
    // finds the calling thread's.
    unsafe {
        let Some((header, found)) = core.block_at(address) else {
            return false;
        };
        if !header.is_plain_and_watched() || !is_unique(header) || !found.was_a_block() {
            return false;
        }
        let class = header.class();
        let Some(room) = core.cache().and_then(|cache| cache.room(class)) else {
            return false;
        };
        retire(header);
        room.fill(found.block);
        true
    }
}

impl Mbuf {
    /// The address by which C knows the mbuf.
    #[inline(always)]
    pub(crate) fn address(&self) -> *mut c_void {
        self.header.as_ptr().cast()
    }

    /// The first byte of the data.
    #[inline(always)]
    pub(crate) fn data_start(&self) -> *mut u8 {
        self.data_ptr()
    }

    /// Marks the mbuf as about to be freed.
    pub(crate) fn condemn(&self) {
        // SAFETY: H3: whoever frees an mbuf has it exclusively.
        unsafe { self.header().set_flags(flags::CONDEMNED, 0) };
    }

    /// Takes the mark away.
    pub(crate) fn reprieve(&self) {
        // SAFETY: as in `condemn`.
        unsafe { self.header().set_flags(0, flags::CONDEMNED) };
    }
}
