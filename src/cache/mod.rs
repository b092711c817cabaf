//! Caches: a thread's own magazines, one loaded and one spare for each class.
//!
//! Alloc pops from the loaded magazine and free pushes to it, with no atomic read-modify-write and no line that another
//! thread writes. Only when it is empty (or full) is the spare looked at, then the depot, then the slabs.
//!
//! Invariants:
//!
//! * **C1** A cache belongs to the thread that took it from the [`CacheTable`], until it is returned. Only that thread
//!   touches loaded magazines and writes counters.
//! * **C2** A spare slot names a full magazine or nothing. Its owner puts one in when it is empty; anyone may take what is
//!   in it, by exchange.
//! * **C3** The frees counter is the last word of the arena that freeing a block touches: a reader that counts a free
//!   knows that it is over. That is what lets a pool end when its last mbuf does.

mod table;

pub(crate) use table::CacheTable;

use crate::arena::{Arena, GRANULE, InArena, Offset};
use crate::class::{CLASSES, Class, Classes};
use crate::depot::{Depot, Magazine};
use crate::event::Notes;
use crate::slab::{Purpose, SlabTable};
use crate::sync::{AtomicU32, AtomicU64, Field, Ordering, Published32};

/// The largest magazine, and the room a cache has for a loaded one.
#[cfg(not(loom))]
pub(crate) const MAGAZINE_MAX: usize = 128;
/// Under the model checker two blocks make a magazine.
#[cfg(loom)]
pub(crate) const MAGAZINE_MAX: usize = 2;

/// How many scattered magazines a refill sends home at most.
const HOME_AT_ONCE: usize = 4;

/// Where a cache gets blocks and leaves them: the parts below.
#[derive(Clone, Copy)]
pub(crate) struct Backing<'a> {
    pub(crate) arena: Arena,
    pub(crate) classes: &'a Classes,
    pub(crate) slabs: &'a SlabTable,
    pub(crate) depot: &'a Depot,
}

/// A thread's magazines of one class. The first line is all that alloc and free touch beside the item itself.
#[repr(C, align(64))]
#[derive(Debug)]
struct ClassCache {
    /// Blocks in the loaded magazine.
    count: Published32,
    /// How many fit: 0 until the class is first used here.
    limit: Field<u32>,
    allocs: AtomicU64,
    frees: AtomicU64,
    spare: AtomicU32,
    /// An empty magazine kept at hand, or 0.
    empty: Field<u32>,
    /// How many blocks the next refill from the slabs takes: doubles from 1, so that who wants one does not take sixty.
    refill: Field<u32>,
    items: [Field<u32>; MAGAZINE_MAX],
}

impl ClassCache {
    /// Fills the empty loaded magazine, such that the first of `blocks` is popped first: in the order in which they were freed, or
    /// lie in memory. Whoever reads one buffer after the other on another thread then has them in an order that processors
    /// foresee, and waits half as long; `docs/performance.md` has the figures.
    ///
    /// # Safety
    /// C1.
    unsafe fn load(&self, blocks: impl ExactSizeIterator<Item = u32> + DoubleEndedIterator) {
        self.count.set(blocks.len() as u32);
        for (item, block) in self.items.iter().zip(blocks.rev()) {
            // SAFETY: C1.
            unsafe { item.set(block) };
        }
    }
}

/// A thread's cache: see the module's documentation.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Cache {
    /// Local handles that use the cache (C1).
    locals: Field<u32>,
    /// Whether the thread is ending and the last local handle returns the cache (C1).
    detached: Field<bool>,
    classes: [ClassCache; CLASSES],
}

// SAFETY: integers and a bool; zero is an empty cache that no class has been used in.
unsafe impl InArena for Cache {
    fn fresh() -> Self {
        Self {
            locals: Field::new(0),
            detached: Field::new(false),
            classes: std::array::from_fn(|_| ClassCache {
                count: Published32::new(0),
                limit: Field::new(0),
                allocs: AtomicU64::new(0),
                frees: AtomicU64::new(0),
                spare: AtomicU32::new(0),
                empty: Field::new(0),
                refill: Field::new(0),
                items: std::array::from_fn(|_| Field::new(0)),
            }),
        }
    }
}

/// A free place in a cache's loaded magazine: its thread's.
pub(crate) struct Room<'a> {
    cache: &'a ClassCache,
    count: u32,
}

impl Room<'_> {
    /// Puts a free block there, all that was done to it being done.
    #[inline(always)]
    pub(crate) fn fill(self, block: Offset) {
        // SAFETY: C1: a room is its thread's; `limit`, which the count is below, never exceeds the items.
        unsafe {
            let item = self.cache.items.get_unchecked(self.count as usize);
            item.set(block.raw());
        }
        self.cache.count.set(self.count + 1);
        // Release: pairs with the acquire in `CacheTable::in_use` (C3).
        count_up(&self.cache.frees, 1, Ordering::Release);
    }
}

/// The free places in a cache's loaded magazine: its thread's, for several blocks at once. They are the cache's when this is
/// dropped; until then nothing else may use the cache.
pub(crate) struct Rooms<'a> {
    cache: &'a ClassCache,
    /// Blocks in the magazine before, and now.
    before: u32,
    count: u32,
    limit: u32,
}

impl Rooms<'_> {
    /// Puts a free block into the next place, all that was done to it being done; false when there is none left.
    #[inline(always)]
    pub(crate) fn fill(&mut self, block: Offset) -> bool {
        if self.count >= self.limit {
            return false;
        }
        // SAFETY: C1: rooms are their thread's; `limit` never exceeds the items.
        unsafe {
            let item = self.cache.items.get_unchecked(self.count as usize);
            item.set(block.raw());
        }
        self.count += 1;
        true
    }
}

impl Drop for Rooms<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.cache.count.set(self.count);
        // Release: as in `Room::fill`.
        let filled = (self.count - self.before) as usize;
        count_up(&self.cache.frees, filled, Ordering::Release);
    }
}

/// Adds to a counter that only the caller writes.
#[inline(always)]
fn count_up(counter: &AtomicU64, by: usize, ordering: Ordering) {
    // Relaxed: reads back what this thread, or the cache's last owner, wrote.
    counter.store(counter.load(Ordering::Relaxed) + by as u64, ordering);
}

/// What the owner does with its cache.
///
/// # Safety
/// C1, for every function here: the calling thread owns the cache.
#[allow(clippy::missing_safety_doc)]
impl Cache {
    #[inline(always)]
    fn class(&self, class: Class) -> &ClassCache {
        // SAFETY: a class's index is below `CLASSES`.
        unsafe { self.classes.get_unchecked(class.index()) }
    }

    /// Takes a block from the loaded magazine.
    #[inline(always)]
    pub(crate) unsafe fn pop(&self, class: Class) -> Option<Offset> {
        let cache = self.class(class);
        let left = cache.count.get().checked_sub(1)?;
        cache.count.set(left);
        // Relaxed: whoever frees the block later counts it with release, so a reader that sees the free sees this.
        count_up(&cache.allocs, 1, Ordering::Relaxed);
        // SAFETY: C1; `count` never exceeds the room, and items below it are blocks' offsets.
        unsafe {
            let item = cache.items.get_unchecked(left as usize).get();
            Some(Offset::from_raw_unchecked(item))
        }
    }

    /// Takes up to `most` blocks from the loaded magazine. The caller pushes nothing to it until it has seen them all.
    #[inline(always)]
    pub(crate) unsafe fn pop_many(
        &self,
        class: Class,
        most: usize,
    ) -> impl ExactSizeIterator<Item = Offset> {
        let cache = self.class(class);
        let count = cache.count.get() as usize;
        let left = count.saturating_sub(most);
        cache.count.set(left as u32);
        // Relaxed: as in `pop`.
        count_up(&cache.allocs, count - left, Ordering::Relaxed);
        // SAFETY: C1; `count` never exceeds the room, and items below it are blocks' offsets until the next push.
        unsafe {
            let items = cache.items.get_unchecked(left..count).iter().rev();
            items.map(|item| Offset::from_raw_unchecked(item.get()))
        }
    }

    /// As [`pop_many`](Self::pop_many), `count` blocks or none.
    #[cfg(feature = "capi")]
    #[inline(always)]
    pub(crate) unsafe fn pop_all_of(
        &self,
        class: Class,
        count: usize,
    ) -> Option<impl ExactSizeIterator<Item = Offset>> {
        if (self.class(class).count.get() as usize) < count {
            return None;
        }
        // SAFETY: C1; the caller's promise.
        Some(unsafe { self.pop_many(class, count) })
    }

    /// Adds a free block to the loaded magazine; false when that is full.
    #[inline(always)]
    pub(crate) unsafe fn push(&self, class: Class, block: Offset) -> bool {
        // SAFETY: C1.
        match unsafe { self.room(class) } {
            Some(room) => {
                room.fill(block);
                true
            }
            None => false,
        }
    }

    /// The place for one more block in the loaded magazine, until the cache is used otherwise.
    #[inline(always)]
    pub(crate) unsafe fn room(&self, class: Class) -> Option<Room<'_>> {
        let cache = self.class(class);
        let count = cache.count.get();
        // SAFETY: C1.
        let limit = unsafe { cache.limit.get() };
        (count < limit).then_some(Room { cache, count })
    }

    /// The places for more blocks in the loaded magazine, until the cache is used otherwise. There may be none.
    #[inline(always)]
    pub(crate) unsafe fn rooms(&self, class: Class) -> Rooms<'_> {
        let cache = self.class(class);
        let count = cache.count.get();
        Rooms {
            cache,
            before: count,
            count,
            // SAFETY: C1.
            limit: unsafe { cache.limit.get() },
        }
    }

    /// Fills the empty loaded magazine: from the spare, the depot, the slabs the class has, or a new slab.
    #[cold]
    pub(crate) unsafe fn refill(&self, from: Backing<'_>, class: Class, notes: &mut Notes) -> bool {
        let cache = self.class(class);
        debug_assert_eq!(cache.count.get(), 0);
        // SAFETY: C1.
        unsafe {
            self.prepare(from.classes, class);
            let magazine = self.take_spare(class);
            if let Some(magazine) = magazine.or_else(|| self.take_full(from, class)) {
                self.unload(from, class, magazine);
                return true;
            }
            let want = cache.refill.get();
            let mut room = [0; MAGAZINE_MAX];
            let mut got = 0;
            let mut put = |block: Offset| {
                room[got] = block.raw();
                got += 1;
            };
            let slabs = from.slabs;
            let (arena, classes, purpose) = (from.arena, from.classes, Purpose::Ordinary);
            if slabs.take(arena, classes, class, purpose, want, &mut put) == 0
                && slabs.open(arena, classes, class, purpose, want, &mut put) > 0
            {
                notes.slabs_taken(class, 1);
            }
            cache.load(room[..got].iter().copied());
            cache.refill.set((want * 2).min(cache.limit.get()));
            got > 0
        }
    }

    /// Takes a magazine from the depot whose blocks follow each other in memory, or are this thread's own. Others go home to the
    /// slabs, some at each call, from where blocks are taken in the order of their addresses: [`ClassCache::load`] says why.
    ///
    /// Without that, where magazines of one thread are another's, each exchange would cut runs of blocks into shorter ones, until
    /// none are left.
    unsafe fn take_full(&self, from: Backing<'_>, class: Class) -> Option<Magazine> {
        let granules = (from.classes.block_bytes(class) / GRANULE as u64) as u32;
        for _ in 0..HOME_AT_ONCE {
            let magazine = from.depot.take_full(from.arena, class)?;
            if !magazine.is_scattered(from.arena, self.number(), granules) {
                return Some(magazine);
            }
            // Others could take the magazine where it was: they look again until its blocks are where they go.
            let mut move_ = from.slabs.transit.begin();
            magazine.send_home(from, class);
            move_.moved();
            let cache = self.class(class);
            // SAFETY: C1. As many are to come back.
            unsafe { cache.refill.set(cache.limit.get()) };
        }
        None
    }

    /// A number that no other cache of the pool has.
    fn number(&self) -> u32 {
        (std::ptr::from_ref(self).addr() / GRANULE) as u32
    }

    /// Fills the empty loaded magazine with `victim`'s spare.
    pub(crate) unsafe fn steal(&self, from: Backing<'_>, class: Class, victim: &Cache) -> bool {
        match victim.take_spare(class) {
            Some(magazine) => {
                // SAFETY: C1.
                unsafe { self.unload(from, class, magazine) };
                true
            }
            None => false,
        }
    }

    unsafe fn prepare(&self, classes: &Classes, class: Class) {
        let cache = self.class(class);
        // SAFETY: C1.
        unsafe {
            if cache.limit.get() == 0 {
                cache.limit.set(classes.magazine(class));
                cache.refill.set(1);
            }
        }
    }

    /// Moves a full magazine's blocks into the empty loaded one and keeps or returns the magazine.
    unsafe fn unload(&self, from: Backing<'_>, class: Class, magazine: Magazine) {
        let cache = self.class(class);
        // SAFETY: C1.
        unsafe {
            cache.load(magazine.unload(from.arena));
            if cache.empty.get() == 0 {
                cache.empty.set(magazine.into_offset().raw());
            } else {
                from.depot.put_empty(from.arena, magazine);
            }
        }
    }

    /// Makes room in the loaded magazine: its blocks become the spare, or go to the depot, or home.
    #[cold]
    pub(crate) unsafe fn spill(&self, to: Backing<'_>, class: Class) {
        let cache = self.class(class);
        // SAFETY: C1.
        unsafe {
            self.prepare(to.classes, class);
            if cache.count.get() < cache.limit.get() {
                return;
            }
            let Some(magazine) = self.load(to, class) else {
                self.send_home(to, class);
                return;
            };
            // Only this thread fills the slot, so empty it stays; what another takes, it takes by exchange.
            if !self.has_spare(class) {
                // Release: pairs with the acquire in `take_spare`, which then sees the magazine's items.
                let offset = magazine.into_offset().raw();
                cache.spare.store(offset, Ordering::Release);
            } else {
                to.depot.put_full(to.arena, class, magazine);
            }
        }
    }

    /// Moves the loaded blocks into an empty magazine, if one can be had.
    unsafe fn load(&self, to: Backing<'_>, class: Class) -> Option<Magazine> {
        let cache = self.class(class);
        // SAFETY: C1; an offset in `empty` names a magazine that the cache owns (D1).
        unsafe {
            let magazine = match Offset::from_raw(cache.empty.get()) {
                Some(kept) => {
                    cache.empty.set(0);
                    Magazine::from_offset(kept)
                }
                None => to.depot.take_empty(to.arena)?,
            };
            let count = cache.count.get() as usize;
            let blocks = cache.items[..count].iter().map(|item| item.get());
            magazine.load(to.arena, self.number(), blocks);
            cache.count.set(0);
            Some(magazine)
        }
    }

    unsafe fn send_home(&self, to: Backing<'_>, class: Class) {
        let cache = self.class(class);
        let mut blocks = [0; MAGAZINE_MAX];
        let count = cache.count.get() as usize;
        // SAFETY: C1.
        unsafe {
            for (block, item) in blocks.iter_mut().zip(&cache.items[..count]) {
                *block = item.get();
            }
        }
        cache.count.set(0);
        to.slabs
            .give(to.arena, to.classes, class, &mut blocks[..count]);
    }

    /// Empties the magazines of `class`: a full one goes to the depot, the rest home. Says whether there was anything in them.
    pub(crate) unsafe fn flush(&self, to: Backing<'_>, class: Class) -> bool {
        let cache = self.class(class);
        let any = cache.count.get() > 0 || self.has_spare(class);
        // SAFETY: C1.
        unsafe {
            if cache.limit.get() == 0 {
                return false;
            }
            if cache.count.get() == cache.limit.get()
                && let Some(magazine) = self.load(to, class)
            {
                to.depot.put_full(to.arena, class, magazine);
            } else if cache.count.get() > 0 {
                self.send_home(to, class);
            }
            if self.has_spare(class) {
                // Others could take the spare where it is: they look again until it is where it goes.
                let mut move_ = to.slabs.transit.begin();
                if let Some(spare) = self.take_spare(class) {
                    to.depot.put_full(to.arena, class, spare);
                    move_.moved();
                }
            }
            if let Some(empty) = Offset::from_raw(cache.empty.get()) {
                cache.empty.set(0);
                to.depot.put_empty(to.arena, Magazine::from_offset(empty));
            }
            cache.refill.set(1);
        }
        any
    }

    /// Notes one more, or one fewer, local handle; says whether the cache is now to be returned.
    pub(crate) unsafe fn use_locally(&self, more: bool) -> bool {
        // SAFETY: C1.
        unsafe {
            let locals = self.locals.get();
            let now = if more { locals + 1 } else { locals - 1 };
            self.locals.set(now);
            now == 0 && self.detached.get()
        }
    }

    /// The thread is ending. False while local handles still use the cache: the last of them returns it.
    pub(crate) unsafe fn detach(&self) -> bool {
        // SAFETY: C1.
        unsafe {
            // Not by way of one boolean: rustc 1.95 loses it when it is both stored negated and branched on.
            let locals = self.locals.get();
            self.detached.set(locals != 0);
            locals == 0
        }
    }
}

impl Cache {
    /// Whether there was a spare magazine of `class` at a glance.
    pub(crate) fn has_spare(&self, class: Class) -> bool {
        // Relaxed: whoever acts on it takes the spare by exchange.
        self.class(class).spare.load(Ordering::Relaxed) != 0
    }

    /// Takes the spare magazine of `class`, if there is one. Any thread may (C2).
    pub(crate) fn take_spare(&self, class: Class) -> Option<Magazine> {
        if !self.has_spare(class) {
            return None;
        }
        // Acquire: pairs with the release in `spill`.
        let at = Offset::from_raw(self.class(class).spare.swap(0, Ordering::Acquire))?;
        // SAFETY: what the exchange returns was in the slot and is nobody else's now (C2, D1).
        Some(unsafe { Magazine::from_offset(at) })
    }
}

impl Magazine {
    /// Gives the magazine's blocks home to their slabs and leaves it, empty, in the depot.
    pub(crate) fn send_home(self, to: Backing<'_>, class: Class) {
        let mut room = [0; MAGAZINE_MAX];
        let blocks = self.unload(to.arena);
        let count = blocks.len();
        for (place, block) in room.iter_mut().zip(blocks) {
            *place = block;
        }
        to.slabs
            .give(to.arena, to.classes, class, &mut room[..count]);
        to.depot.put_empty(to.arena, self);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
