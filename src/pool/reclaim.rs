//! What is done when a class has run out: memory is looked for wherever it rests, in this order:
//! the thread's own magazines, the depot, slabs with room, free slabs (these by the refill), then spares of other
//! threads, and then whatever other classes have free. Only when all of that is empty is the pool exhausted.
//!
//! What stays out of reach is at most one loaded magazine for each other thread and class.

use super::state::Core;
use crate::arena::Offset;
use crate::cache::{Backing, Cache};
use crate::class::Class;
use crate::event::{self, Notes};
use crate::registry::Pin;
use crate::slab::Purpose;

/// How often a search is repeated because memory was on the move: more often than other threads can move what there is,
/// unless they go on for ever.
#[cfg(not(loom))]
const SEARCHES: u32 = 1000;
#[cfg(loom)]
const SEARCHES: u32 = 8;

impl Core {
    /// Repeats `attempt` until it succeeds or has failed while nothing was on the move. Between attempts it frees slabs,
    /// beginning with what `cache`, the calling thread's, holds. The caller tells what is noted, when it is done.
    pub(super) fn search<T>(
        self,
        cache: Option<&Cache>,
        notes: &mut Notes,
        mut attempt: impl FnMut(Backing<'_>, &mut Notes) -> Option<T>,
    ) -> Option<T> {
        let from = self.backing();
        let moves = from.slabs.transit.moves();
        let mut was_flushed = false;
        let found = self.search_for(cache, &mut was_flushed, notes, &mut attempt);
        // Only then: two waiters who search in vain would wake each other for ever.
        if was_flushed || from.slabs.transit.moves() != moves {
            self.made_reachable(None);
        }
        found
    }

    fn search_for<T>(
        self,
        cache: Option<&Cache>,
        was_flushed: &mut bool,
        notes: &mut Notes,
        attempt: &mut impl FnMut(Backing<'_>, &mut Notes) -> Option<T>,
    ) -> Option<T> {
        let from = self.backing();
        for round in 0..SEARCHES {
            let before = from.slabs.transit.snapshot();
            if let Some(found) = attempt(from, notes) {
                return Some(found);
            }
            if let (0, Some(cache)) = (round, cache) {
                // SAFETY: C1: the calling thread's.
                *was_flushed = unsafe { self.flush(cache) };
            }
            if self.free_slabs(notes) {
                continue;
            }
            if from.slabs.transit.undisturbed(before) || !from.slabs.transit.wait() {
                return None;
            }
        }
        None
    }

    /// Fills `cache`'s empty loaded magazine after a refill has failed.
    ///
    /// # Safety
    /// C1.
    #[cold]
    pub(super) unsafe fn scavenge(self, cache: &Cache, class: Class, notes: &mut Notes) -> bool {
        let caches = &self.state().caches;
        let attempt = |from: Backing<'_>, notes: &mut Notes| {
            // SAFETY: C1.
            let found = unsafe {
                cache.refill(from, class, notes) || caches.steal(from, class, cache, notes)
            };
            found.then_some(())
        };
        self.search(Some(cache), notes, attempt).is_some()
    }

    /// Takes one block of `class` past the caches. `cache`, the calling thread's, is emptied if need be.
    pub(super) fn take_one(
        self,
        cache: Option<&Cache>,
        class: Class,
        purpose: Purpose,
        notes: &mut Notes,
    ) -> Option<Offset> {
        self.search(cache, notes, |from, notes| {
            if from.slabs.counts(class).home == 0 {
                self.send_magazine_home(class);
            }
            let mut found = None;
            let mut put = |block| found = Some(block);
            let (arena, classes) = (from.arena, from.classes);
            let mut got = from.slabs.take(arena, classes, class, purpose, 1, &mut put);
            if got == 0 {
                got = from.slabs.open(arena, classes, class, purpose, 1, &mut put);
                if got > 0 {
                    notes.slabs_taken(class, 1);
                }
            }
            debug_assert!(got <= 1);
            found
        })
    }

    /// Brings free blocks home, of all classes and from all threads' spares, and takes slabs that are whole from their
    /// classes. Says whether anything came of it, so that another look is worth while.
    fn free_slabs(self, notes: &mut Notes) -> bool {
        let from = self.backing();
        let mut any = false;
        for class in from.classes.all() {
            any |= self.state().caches.send_spares_home(from, class);
            while self.send_magazine_home(class) {
                any = true;
            }
        }
        any | (from.slabs.reclaim(from.arena, notes) > 0)
    }

    /// Sends the blocks of one magazine in the depot home; false when there is none.
    fn send_magazine_home(self, class: Class) -> bool {
        let from = self.backing();
        if from.depot.is_empty(class) {
            return false;
        }
        let mut move_ = from.slabs.transit.begin();
        let Some(magazine) = from.depot.take_full(from.arena, class) else {
            return false;
        };
        magazine.send_home(from, class);
        move_.moved();
        true
    }

    /// Gives back to the system what no mbuf uses; see [`Pool::trim`](super::Pool::trim).
    pub(crate) fn trim(self) -> u64 {
        if let Some(cache) = self.attach() {
            // SAFETY: C1: the calling thread's.
            unsafe { self.flush(cache) };
        }
        let mut notes = Notes::new();
        self.free_slabs(&mut notes);
        let from = self.backing();
        let bytes = from.slabs.discard_free(from.arena, from.classes);
        self.made_reachable(None);
        notes.tell(self.id().raw(), from.classes);
        event::trimmed(self.id().raw(), bytes);
        self.weigh(None);
        bytes
    }

    /// Makes all that the calling thread has cached of `class` available to every thread.
    pub(crate) fn share_cached(self, class: Class) {
        if let Some(cache) = self.attach() {
            // SAFETY: C1: the calling thread's.
            unsafe { cache.flush(self.backing(), class) };
            self.made_reachable(None);
            self.weigh(None);
        }
    }

    /// Makes all that `cache` holds available to every thread.
    ///
    /// # Safety
    /// C1.
    pub(super) unsafe fn share(self, cache: &Cache) {
        // SAFETY: C1.
        if unsafe { self.flush(cache) } {
            self.made_reachable(None);
        }
    }

    /// Returns the calling thread's cache, flushed. `pin` is the pool's.
    ///
    /// # Safety
    /// C1, and the cache is not used again.
    pub(super) unsafe fn return_cache(self, cache: &Cache, pin: &Pin) {
        // SAFETY: C1.
        unsafe {
            self.flush(cache);
            self.made_reachable(Some(pin));
            self.state().caches.release(self.arena(), cache);
        }
        self.weigh(Some(pin));
    }

    /// Empties the cache; says whether there was anything in it.
    ///
    /// # Safety
    /// C1.
    pub(super) unsafe fn flush(self, cache: &Cache) -> bool {
        let mut any = false;
        for class in self.state().classes.all() {
            // SAFETY: C1.
            any |= unsafe { cache.flush(self.backing(), class) };
        }
        any
    }
}
