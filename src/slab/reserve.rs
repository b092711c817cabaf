//! The reserve: slabs that only urgent allocations may open.
//!
//! A count of free slabs, in pools that have a reserve, says how many may go before it begins. It is never below the number of slabs whose `taken` bit
//! is clear: who claims a slab takes it off the count afterwards, who releases one adds it before. So whoever has a claim can
//! take it off, and what an ordinary claim must leave is left.
//!
//! A slab of the reserve that a class has opened serves urgent allocations of that class alone, until all its blocks are home
//! and it is free again. Its blocks are marked while they are in use, and go home past the caches.

use super::SlabTable;
use crate::arena::Arena;
use crate::class::Classes;
use crate::sync::Ordering;

/// What memory is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    Ordinary,
    /// May use the reserve.
    Urgent,
}

/// Whether claimed slabs are the claimant's, and out of what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(super) enum Admission {
    Free,
    Reserve,
    Refused,
}

impl SlabTable {
    /// The same, with a reserve of at least `bytes`.
    pub(crate) fn with_reserve(self, classes: &Classes, bytes: u64) -> Self {
        Self {
            reserve: bytes.div_ceil(classes.slab_bytes()) as u32,
            ..self
        }
    }

    /// How many slabs are set aside.
    pub(crate) fn reserve(&self) -> u32 {
        self.reserve
    }

    /// Whether a claim of `slabs` would be admitted now, so that who would be refused claims nothing.
    pub(super) fn would_admit(&self, purpose: Purpose, slabs: u32) -> bool {
        // Relaxed: slabs that were given back before a search began are in it, by what told the search of it.
        purpose == Purpose::Urgent
            || self.reserve == 0
            || self.free.load(Ordering::Relaxed) >= slabs.saturating_add(self.reserve)
    }

    /// Takes `slabs`, whose bits the caller has claimed, off the count of free ones. Refused, the claim is to be given up.
    pub(super) fn admit(&self, purpose: Purpose, slabs: u32) -> Admission {
        if self.reserve == 0 {
            return Admission::Free;
        }
        // Relaxed, all: the count alone decides; what a slab holds is ordered by its bit.
        let relaxed = Ordering::Relaxed;
        let ordinary = |free: u32| free.checked_sub(slabs).filter(|left| *left >= self.reserve);
        if self.free.fetch_update(relaxed, relaxed, ordinary).is_ok() {
            return Admission::Free;
        }
        if purpose == Purpose::Ordinary {
            return Admission::Refused;
        }
        let free = self.free.fetch_sub(slabs, relaxed);
        debug_assert!(free >= slabs, "claimed slabs are counted");
        Admission::Reserve
    }

    /// Adds slabs to the count whose bits the caller is about to clear.
    pub(super) fn discharge(&self, slabs: u32) {
        if self.reserve > 0 {
            // Relaxed: as in `admit`.
            self.free.fetch_add(slabs, Ordering::Relaxed);
        }
    }

    /// Whether blocks of slab `index` that are at home or not carved may be had for `purpose`.
    pub(super) fn serves(&self, arena: Arena, index: u32, purpose: Purpose) -> bool {
        purpose == Purpose::Urgent || self.slab(arena, index).is_reserve.get() == 0
    }
}
