//! Freeing: the end of handles, of references, and of blocks.

use super::{Mbuf, foreign};
use crate::arena::Offset;
use crate::class::Class;
use crate::header::{Header, flags};
use crate::pool::{Core, LocalPool};
use crate::sync::{Ordering, fence};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Whether the caller's reference to `owner`'s data is the only one.
#[inline(always)]
pub(super) fn is_unique(owner: &Header) -> bool {
    // Acquire: pairs with the release in `give_up`: what was done through a reference that is gone happened before the data
    // is written or its block used again. No other thread can make a second reference of the only one.
    owner.refcount.load(Ordering::Acquire) == 1
}

/// Gives up one reference to `owner`'s data; says whether it was the last, so that the block is now the caller's.
#[inline(always)]
fn give_up(owner: &Header) -> bool {
    // Release: pairs with the acquires of whoever finds that it holds the only reference, or has given up the last.
    if !is_unique(owner) && owner.refcount.fetch_sub(1, Ordering::Release) != 1 {
        return false;
    }
    // Pairs with the release above, of all other references.
    fence(Ordering::Acquire);
    // ThreadSanitizer does not know fences: for it, a load that has the same effect.
    #[cfg(mbuf_tsan)]
    owner.refcount.load(Ordering::Acquire);
    owner.data.write();
    true
}

/// Makes the watched header of a block that nobody refers to show that it is free (H5), but for what chains and copies change.
///
/// # Safety
/// The block is the caller's.
#[cfg(feature = "capi")]
#[inline(always)]
pub(super) unsafe fn retire(header: &Header) {
    header.data.write();
    // Relaxed: handed on by whatever hands the free block on.
    header.refcount.store(0, Ordering::Relaxed);
    // SAFETY: H3: the caller's.
    unsafe { header.deactivate(0) };
}

impl Drop for Mbuf {
    #[inline]
    fn drop(&mut self) {
        let header = self.header();
        // SAFETY: M1: the handle and its header are ours and not used afterwards. A plain header heads no span.
        unsafe {
            if header.is_plain() && is_unique(header) {
                let (block, class) = (header.offset(), header.class());
                let core = Core::at(self.header, block);
                header.data.write();
                core.give(class, block);
            } else {
                free_others(self.header);
            }
        }
    }
}

impl Mbuf {
    #[inline(always)]
    pub(super) fn free_to(self, local: &LocalPool) {
        let header = self.header();
        let (block, class) = (header.offset(), header.class());
        // SAFETY: M1: the handle and its header are ours and not used afterwards.
        unsafe {
            let core = Core::at(self.header, block);
            if local.may_keep(core) && header.is_plain() && is_unique(header) {
                header.data.write();
                local.give(class, block);
                std::mem::forget(self);
            }
        }
    }
}

/// Frees what is not plain: copies, chains, what has copies, spans, and what is watched.
///
/// # Safety
/// M1: the handle at `head` is the caller's and not used afterwards.
#[inline(never)]
unsafe fn free_others(head: NonNull<Header>) {
    // SAFETY: M1. A segment that is not yet freed keeps the arena mapped (M2). A pool watches all of its headers or none.
    unsafe {
        let header = head.as_ref();
        let segment = header.offset();
        let core = Core::at(head, segment);
        #[cfg(feature = "capi")]
        if header.is_plain_and_watched() && is_unique(header) {
            let class = header.class();
            retire(header);
            return core.give(class, segment);
        }
        if header.is_watched() || header.next().is_some() {
            free_chain(core, segment, header.is_watched());
        } else {
            free_segment::<false>(core, segment);
        }
    }
}

/// Frees a header, and those behind it. A pool's headers are watched or not.
///
/// # Safety
/// As [`free_others`].
#[inline(never)]
unsafe fn free_chain(core: Core, head: Offset, is_watched: bool) {
    // SAFETY: the caller's promise.
    unsafe {
        if is_watched {
            free_all::<true>(core, head);
        } else {
            free_all::<false>(core, head);
        }
    }
}

/// # Safety
/// As [`free_chain`].
#[inline(always)]
unsafe fn free_all<const WATCHED: bool>(core: Core, head: Offset) {
    // SAFETY: as in `free_others`. What is behind a segment is read before it is freed.
    unsafe {
        let mut rest = Rest {
            core,
            next: core.header(head).next(),
        };
        if rest.next.is_some() {
            core.header(head).unchain(head);
        }
        free_segment::<WATCHED>(core, head);
        while let Some(segment) = rest.next {
            if !WATCHED && let Some(behind) = free_members(core, segment) {
                rest.next = behind;
                continue;
            }
            let header = core.header(segment);
            rest.next = header.next();
            // A member is restored when it is allocated again, if nobody watches.
            if WATCHED {
                header.unchain(segment);
            }
            free_segment::<WATCHED>(core, segment);
        }
    }
}

/// What is still to be freed of a chain, should the owner of foreign memory in it panic when it is dropped.
struct Rest {
    core: Core,
    next: Option<Offset>,
}

impl Drop for Rest {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(segment) = self.next {
            // SAFETY: M1: a chain's members that were not reached. They keep the arena mapped.
            drop(unsafe { Mbuf::from_block(self.core, segment) });
        }
    }
}

/// Frees a chain's members that are not watched, from `first` on, as long as each is its data's only reference, of one class with
/// the first, and goes into the loaded magazine. Returns what is behind them, or `None` if there are none.
///
/// # Safety
/// As [`free_chain`].
#[inline(always)]
unsafe fn free_members(core: Core, first: Offset) -> Option<Option<Offset>> {
    let class = core.header(first).class();
    let cache = core.cache()?;
    // SAFETY: C1: `cache` finds the calling thread's, which is not used until the rooms are dropped. H3: the headers are the
    // caller's. Blocks keep the arena mapped until then, and so does what is behind them.
    unsafe {
        let mut rooms = cache.rooms(class);
        let mut next = Some(first);
        while let Some(segment) = next {
            let header = core.header(segment);
            // On its own data in the arena, and not to go back to the reserve.
            let others = flags::SPAN | flags::EXTERNAL | flags::COPY | flags::RESERVE;
            if header.flags() & others != 0 || header.class() != class || !is_unique(header) {
                break;
            }
            let behind = header.next();
            header.data.write();
            if !rooms.fill(segment) {
                break;
            }
            next = behind;
        }
        (next != Some(first)).then_some(next)
    }
}

/// Frees a header that is in no chain any more. The arena may be gone afterwards.
///
/// # Safety
/// The header is live and the caller's.
#[inline(always)]
unsafe fn free_segment<const WATCHED: bool>(core: Core, segment: Offset) {
    let header = core.header(segment);
    // SAFETY: H3: the caller's. The handle ends before the reference does: then the block may be another's.
    // The reference keeps the arena mapped until it is given up.
    unsafe {
        let owner = header.owner();
        if owner == segment {
            if WATCHED {
                header.show_from_start();
                // Copies may still use it.
                header.deactivate(flags::EXTERNAL);
            }
            give_up_data::<WATCHED>(core, header, owner);
        } else {
            debug_assert_eq!(header.class(), Class::HEADER, "a copy is a bare header");
            if WATCHED {
                header.disown(segment);
                header.deactivate(0);
            }
            // Before the reference: who drops the owner of foreign memory may panic.
            core.give(Class::HEADER, segment);
            give_up_data::<WATCHED>(core, core.header(owner), owner);
        }
    }
}

/// Gives up one reference to the data of `owner`, and gives the block back if it was the last.
///
/// # Safety
/// The reference is the caller's.
#[inline(always)]
unsafe fn give_up_data<const WATCHED: bool>(core: Core, owner: &Header, block: Offset) {
    if !give_up(owner) {
        return;
    }
    if owner.flags() & flags::EXTERNAL != 0 {
        // SAFETY: the block was the caller's reference's, which was the last.
        return unsafe { foreign::release(core, block) };
    }
    if WATCHED {
        // Relaxed: handed on by whatever hands the free block on.
        owner.refcount.store(0, Ordering::Relaxed);
    }
    // SAFETY: the block was the caller's reference's, which was the last.
    unsafe { give_back(core, owner, block) };
}

/// Gives a block back that nobody refers to: to its class, or as a span. The arena may be gone afterwards.
///
/// # Safety
/// The block is free as H4 and H5 say, and the caller's.
#[inline(always)]
pub(super) unsafe fn give_back(core: Core, header: &Header, block: Offset) {
    match header.class() {
        // SAFETY: the caller's promise.
        Class::SPAN => unsafe { core.give_span(block) },
        class if header.flags() & flags::RESERVE != 0 => core.give_past_caches(class, block),
        class => core.give(class, block),
    }
}

/// Frees mbufs, each with the chain that it heads: as dropping them one by one, but faster where they are of one size and pool.
///
/// # Example
/// ```
/// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
/// let mut burst = Vec::new();
/// pool.alloc_bulk(2048, 32, &mut burst)?;
/// mbuf::free_bulk(burst.drain(..));
/// assert_eq!(pool.stats().in_use, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn free_bulk(mbufs: impl IntoIterator<Item = Mbuf>) {
    let mut places = [const { MaybeUninit::uninit() }; BATCH];
    let mut batch = Batch {
        places: &mut places,
        count: 0,
    };
    for mbuf in mbufs {
        batch.push(mbuf);
    }
}

/// How many mbufs are freed together.
const BATCH: usize = 32;

/// Mbufs that are about to be freed, by their addresses: gathered first, for the iterator that they come from may do whatever it
/// likes, but not to a cache that is in use.
struct Batch<'a> {
    places: &'a mut [MaybeUninit<NonNull<c_void>>; BATCH],
    count: usize,
}

impl Batch<'_> {
    #[inline(always)]
    fn push(&mut self, mbuf: Mbuf) {
        self.places[self.count].write(mbuf.into_raw());
        self.count += 1;
        if self.count == BATCH {
            self.free();
        }
    }

    #[inline(always)]
    fn free(&mut self) {
        let count = std::mem::take(&mut self.count);
        // SAFETY: the first `count` are initialised, with mbufs that are ours and are forgotten with this.
        unsafe { free_batch(self.places[..count].assume_init_ref()) };
    }
}

impl Drop for Batch<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.free();
    }
}

/// Frees mbufs.
///
/// # Safety
/// M1: the mbufs are the caller's and not used afterwards.
unsafe fn free_batch(mbufs: &[NonNull<c_void>]) {
    let mut left = Left(mbufs);
    while let [first, others @ ..] = left.0 {
        // SAFETY: M1.
        unsafe {
            match free_alike(*first, left.0) {
                0 => {
                    left.0 = others;
                    drop(Mbuf::from_raw(*first));
                }
                freed => left.0 = &left.0[freed..],
            }
        }
    }
}

/// What is still to be freed of a batch, should the owner of foreign memory in it panic when it is dropped.
struct Left<'a>(&'a [NonNull<c_void>]);

impl Drop for Left<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        for mbuf in self.0 {
            // SAFETY: M1: the batch's mbufs that were not reached.
            drop(unsafe { Mbuf::from_raw(*mbuf) });
        }
    }
}

/// Frees mbufs as long as they are plain, of one pool and class with `first`, and go into the loaded magazine. Says how many.
///
/// # Safety
/// M1: the mbufs are the caller's, and not used afterwards if they are freed.
#[inline(always)]
unsafe fn free_alike(first: NonNull<c_void>, mbufs: &[NonNull<c_void>]) -> usize {
    let first = first.cast::<Header>();
    // SAFETY: M1, M2. C1: `cache` finds the calling thread's, which is not used until the rooms are dropped. A plain header heads
    // no span. Blocks keep their arena mapped until then.
    unsafe {
        let (core, class) = (Core::of(first), first.as_ref().class());
        let Some(cache) = core.cache() else { return 0 };
        let mut rooms = cache.rooms(class);
        let mut freed = 0;
        for mbuf in mbufs {
            let mbuf = mbuf.cast::<Header>();
            let header = mbuf.as_ref();
            let block = header.offset();
            let is_alike = header.class() == class && Core::at(mbuf, block) == core;
            if !is_alike || !header.is_plain() || !is_unique(header) || !rooms.fill(block) {
                break;
            }
            header.data.write();
            freed += 1;
        }
        freed
    }
}
