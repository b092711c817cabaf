//! The caches of a pool: handed to threads and taken back, searched for spares, and counted.

use super::{Backing, Cache, ClassCache};
use crate::arena::{Arena, Offset, Plan};
use crate::bits::{self, Bits};
use crate::class::{CLASSES, Class, Classes};
use crate::event::Notes;
use crate::sync::{AtomicU32, AtomicU64, Ordering, Tally};

/// Blocks of one class that went past the caches: of threads that are ending, or that found all caches taken.
#[repr(C, align(64))]
#[derive(Debug)]
struct Direct {
    allocs: AtomicU64,
    frees: AtomicU64,
    failed: Tally,
}

/// A class's counts, read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CacheCounts {
    pub(crate) allocs: u64,
    pub(crate) frees: u64,
    pub(crate) failed: u64,
    /// Blocks in loaded and spare magazines.
    pub(crate) cached: u64,
}

/// All caches of a pool.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct CacheTable {
    caches: Offset,
    taken: Offset,
    count: u32,
    /// No cache from this one on was ever taken.
    high_water: AtomicU32,
    direct: [Direct; CLASSES],
}

impl CacheTable {
    /// Plans `count` caches.
    pub(crate) fn plan(plan: &mut Plan, count: u32) -> Self {
        Self {
            caches: plan.table::<Cache>(count.into()),
            taken: plan.table::<Bits>(bits::words(count.into())),
            count,
            high_water: AtomicU32::new(0),
            direct: std::array::from_fn(|_| Direct {
                allocs: AtomicU64::new(0),
                frees: AtomicU64::new(0),
                failed: Tally::new(),
            }),
        }
    }

    /// # Safety
    /// `arena` was mapped by the plan and nobody else knows of it yet.
    pub(crate) unsafe fn lay_out(&self, arena: Arena) {
        // SAFETY: the regions were planned for exactly these.
        unsafe {
            arena.lay_out::<Cache>(self.caches, self.count as usize);
            arena.lay_out::<Bits>(self.taken, bits::words(self.count.into()) as usize);
        }
    }

    fn taken(&self, arena: Arena) -> &[Bits] {
        // SAFETY: laid out in `lay_out`, and only ever shared.
        unsafe { arena.slice(self.taken, bits::words(self.count.into()) as usize) }
    }

    /// The caches that were ever used.
    fn used(&self, arena: Arena) -> &[Cache] {
        // Relaxed: a cache was laid out with the pool, so seeing it late is all that can happen, and who has seen
        // anything that its owner did sees the cache.
        let count = self.high_water.load(Ordering::Relaxed);
        // SAFETY: laid out in `lay_out`, and only ever shared.
        unsafe { arena.slice(self.caches, count as usize) }
    }

    /// Takes a cache for the calling thread (C1). `None` when all are taken.
    pub(crate) fn acquire(&self, arena: Arena) -> Option<&Cache> {
        // The claim acquires what the cache's last owner released: its counters go on.
        let index = bits::claim(self.taken(arena), self.count)?;
        self.high_water.fetch_max(index + 1, Ordering::Relaxed);
        self.used(arena).get(index as usize)
    }

    /// Returns a cache.
    ///
    /// # Safety
    /// The calling thread owns it (C1), has flushed it, and does not use it again.
    pub(crate) unsafe fn release(&self, arena: Arena, cache: &Cache) {
        // SAFETY: C1.
        unsafe { cache.detached.set(false) };
        let first = arena.at::<Cache>(self.caches).as_ptr().addr();
        let index = (std::ptr::from_ref(cache).addr() - first) / size_of::<Cache>();
        bits::release(self.taken(arena), index as u32);
    }

    /// Fills `thief`'s empty loaded magazine of `class` with a spare of another thread's.
    ///
    /// # Safety
    /// C1: the calling thread owns `thief`.
    pub(crate) unsafe fn steal(
        &self,
        from: Backing<'_>,
        class: Class,
        thief: &Cache,
        notes: &mut Notes,
    ) -> bool {
        let stolen = self
            .used(from.arena)
            .iter()
            // SAFETY: C1 for the thief; a victim's spare is anybody's.
            .any(|victim| unsafe { thief.steal(from, class, victim) });
        if stolen {
            notes.spare_stolen(class);
        }
        stolen
    }

    /// Sends the spares of `class` home to their slabs, all threads'. Says whether there were any.
    pub(crate) fn send_spares_home(&self, to: Backing<'_>, class: Class) -> bool {
        let mut any = false;
        for victim in self.used(to.arena) {
            if !victim.has_spare(class) {
                continue;
            }
            let mut move_ = to.slabs.transit.begin();
            if let Some(magazine) = victim.take_spare(class) {
                magazine.send_home(to, class);
                move_.moved();
                any = true;
            }
        }
        any
    }

    /// Counts blocks handed out past the caches. Relaxed: as in [`Cache::pop`].
    pub(crate) fn count_alloc(&self, class: Class) {
        self.direct[class.index()]
            .allocs
            .fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a block that came back past the caches, as the last thing its freeing does (C3).
    pub(crate) fn count_free(&self, class: Class) {
        // Release: pairs with the acquire in `in_use`.
        self.direct[class.index()]
            .frees
            .fetch_add(1, Ordering::Release);
    }

    /// Counts an allocation that failed.
    pub(crate) fn count_failure(&self, class: Class) {
        self.direct[class.index()].failed.add(1);
    }

    /// Blocks in use, all classes. Never too few: all frees are read before any alloc, and a free that is seen shows
    /// its alloc. So 0 means that at some moment during the call nothing was in use.
    pub(crate) fn in_use(&self, arena: Arena) -> u64 {
        // Acquire: pairs with the release in `Cache::push` and `count_free`.
        let freed = self.sum(
            arena,
            |direct| &direct.frees,
            |class| &class.frees,
            Ordering::Acquire,
        );
        // Relaxed: ordered by those acquires after the allocs of all frees that were seen. The caches are listed anew for
        // the same reason.
        let allocs = self.sum(
            arena,
            |direct| &direct.allocs,
            |class| &class.allocs,
            Ordering::Relaxed,
        );
        allocs.saturating_sub(freed)
    }

    fn sum(
        &self,
        arena: Arena,
        direct: impl Fn(&Direct) -> &AtomicU64,
        cached: impl Fn(&ClassCache) -> &AtomicU64,
        ordering: Ordering,
    ) -> u64 {
        let past = self.direct.iter().map(direct);
        let caches = self
            .used(arena)
            .iter()
            .flat_map(|cache| &cache.classes)
            .map(cached);
        past.chain(caches)
            .map(|counter| counter.load(ordering))
            .sum()
    }

    /// The counts of `class`, in the order that keeps `allocs - frees` from being too small.
    pub(crate) fn counts(&self, arena: Arena, classes: &Classes, class: Class) -> CacheCounts {
        let direct = &self.direct[class.index()];
        let mut counts = CacheCounts {
            frees: direct.frees.load(Ordering::Acquire),
            failed: direct.failed.get(),
            ..CacheCounts::default()
        };
        for cache in self.used(arena) {
            counts.frees += cache.class(class).frees.load(Ordering::Acquire);
        }
        counts.allocs = direct.allocs.load(Ordering::Relaxed);
        for cache in self.used(arena) {
            let cached = cache.class(class);
            counts.allocs += cached.allocs.load(Ordering::Relaxed);
            counts.cached += u64::from(cached.count.get());
            if cache.has_spare(class) {
                counts.cached += u64::from(classes.magazine(class));
            }
        }
        counts
    }
}
