//! The pool's state at the base of its arena, and [`Core`]: what pools and mbufs do with blocks.

use super::marks::Marks;
use super::thread;
use crate::arena::{Arena, Offset};
use crate::cache::{Backing, Cache, CacheTable};
use crate::class::{Class, Classes};
use crate::depot::Depot;
use crate::error::AllocError;
use crate::event::{self, Notes};
use crate::header::Header;
use crate::registry::{Pin, PoolId, Registry, registry};
use crate::slab::{Purpose, SlabTable};
#[cfg(feature = "capi")]
use crate::sync::AtomicPtr;
use crate::sync::{AtomicU64, Ordering};
use crossbeam_utils::CachePadded;
use std::ptr::NonNull;

/// Where `key` is when no cache may be used: no pool's identity.
const NO_KEY: u64 = u64::MAX;

/// Above this the key is how many wait for memory: [`super::wait`]. No identity has all of these bits.
pub(super) const WAITED: u64 = 0xffff_ffff << 32;

/// With so few blocks in use, or fewer, each free of a closed pool looks whether it was the last.
const EACH_LOOKS: u64 = if cfg!(loom) { 0 } else { 64 };

/// What lies at the base of an arena. The first line is only read while the pool is in use.
#[repr(C)]
pub(super) struct State {
    /// The pool's identity while it has handles; [`NO_KEY`] afterwards, so that frees leave the fast path and the last
    /// of them is noticed; over [`WAITED`] while somebody waits for memory, for the like reason.
    pub(super) key: AtomicU64,
    id: u64,
    /// Blocks freed since the pool closed, and the number of them at which to sum up again what is left: summing
    /// reads every thread's counters, so it is done seldom while much is left, and at each of the last frees.
    orphans: AtomicU64,
    next_look: AtomicU64,
    /// The one handle of a pool that is known by its number: whoever takes it ends the pool.
    #[cfg(feature = "capi")]
    pub(super) pool: AtomicPtr<super::Pool>,
    pub(super) reserved: u64,
    pub(super) capacity: u64,
    pub(super) classes: CachePadded<Classes>,
    pub(super) slabs: CachePadded<SlabTable>,
    pub(super) depot: CachePadded<Depot>,
    pub(super) caches: CachePadded<CacheTable>,
    pub(super) marks: CachePadded<Marks>,
}

impl State {
    pub(super) fn new(
        id: PoolId,
        reserved: u64,
        classes: Classes,
        slabs: SlabTable,
        depot: Depot,
        caches: CacheTable,
        marks: Marks,
    ) -> Self {
        Self {
            key: AtomicU64::new(id.raw()),
            id: id.raw(),
            orphans: AtomicU64::new(0),
            next_look: AtomicU64::new(0),
            #[cfg(feature = "capi")]
            pool: AtomicPtr::new(std::ptr::null_mut()),
            reserved,
            capacity: u64::from(slabs.count()) * classes.slab_bytes(),
            classes: CachePadded::new(classes),
            slabs: CachePadded::new(slabs),
            depot: CachePadded::new(depot),
            caches: CachePadded::new(caches),
            marks: CachePadded::new(marks),
        }
    }
}

/// A pool by its arena, known to be mapped: by a handle, by a live mbuf, or by a pin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Core {
    arena: Arena,
}

impl Core {
    /// # Safety
    /// A pool's state lies at the arena's base, and the arena stays mapped while the value and its copies are used.
    #[inline(always)]
    pub(crate) unsafe fn new(arena: Arena) -> Self {
        Self { arena }
    }

    /// The pool of the block that `header` heads.
    ///
    /// # Safety
    /// `header` is the header of a carved block whose arena stays mapped while the value and its copies are used.
    #[inline(always)]
    pub(crate) unsafe fn of(header: NonNull<Header>) -> Self {
        // SAFETY: the block lies where its header says (H1).
        unsafe { Self::at(header, header.as_ref().offset()) }
    }

    /// As [`of`](Self::of), with the block's offset at hand.
    ///
    /// # Safety
    /// As there; `block` is the header's own offset.
    #[inline(always)]
    pub(crate) unsafe fn at(header: NonNull<Header>, block: Offset) -> Self {
        // SAFETY: pointers into an arena reach the whole of it (A3).
        unsafe { Self::new(Arena::from_base(header.cast().byte_sub(block.bytes()))) }
    }

    #[inline(always)]
    pub(crate) fn arena(self) -> Arena {
        self.arena
    }

    #[inline(always)]
    pub(super) fn state<'a>(self) -> &'a State {
        // SAFETY: `new`: the state lies at the base of a mapped arena, and only shared references to it are formed.
        unsafe { self.arena.base().cast().as_ref() }
    }

    #[inline]
    pub(super) fn backing<'a>(self) -> Backing<'a> {
        let state = self.state();
        Backing {
            arena: self.arena,
            classes: &state.classes,
            slabs: &state.slabs,
            depot: &state.depot,
        }
    }

    pub(super) fn id(self) -> PoolId {
        PoolId::from_raw(self.state().id)
    }

    #[inline(always)]
    pub(crate) fn header<'a>(self, block: Offset) -> &'a Header {
        // SAFETY: blocks have headers from their carving on, and headers are only ever shared.
        unsafe { self.arena.get(block) }
    }

    /// Whether `size` bytes are a class's to carry, not a span's.
    #[inline(always)]
    pub(crate) fn has_class_for(self, size: usize) -> bool {
        size <= Classes::SURE || size as u64 <= self.state().classes.largest()
    }

    /// Bytes of the block at `block`, of `class`, its header included.
    pub(crate) fn block_bytes(self, class: Class, block: Offset) -> u64 {
        let state = self.state();
        if class == Class::SPAN {
            return state.slabs.span_bytes(self.arena, &state.classes, block);
        }
        state.classes.block_bytes(class)
    }

    /// Bytes of a block, or span, for `size` bytes, its header included.
    pub(crate) fn bytes_for(self, size: usize) -> u64 {
        let classes = &self.state().classes;
        if self.has_class_for(size) {
            return classes.block_bytes(Class::of(size));
        }
        classes.span_slabs(size as u64) * classes.slab_bytes()
    }

    /// Fails when the whole pool could not hold `n` mbufs of `size` bytes, so that nobody goes and tries.
    pub(crate) fn could_hold(self, size: usize, n: usize) -> Result<(), AllocError> {
        let state = self.state();
        let classes = &state.classes;
        let (class, each) = if self.has_class_for(size) {
            let class = Class::of(size);
            (
                class,
                classes.slab_bytes() / u64::from(classes.blocks_per_slab(class)),
            )
        } else {
            let slabs = classes.span_slabs(size as u64);
            (Class::SPAN, slabs * classes.slab_bytes())
        };
        // Of the reserve an ordinary allocation gets nothing.
        let reserve = u64::from(state.slabs.reserve()) * classes.slab_bytes();
        if (n as u64) <= (state.capacity - reserve) / each {
            return Ok(());
        }
        Err(self.exhausted(class, size as u64, Notes::new()))
    }

    /// Counts and tells of an allocation of `class` that has failed: of `bytes`, if it was a span, and after all that is noted.
    #[cold]
    fn exhausted(self, class: Class, bytes: u64, notes: Notes) -> AllocError {
        let state = self.state();
        state.caches.count_failure(class);
        notes.tell(state.id, &state.classes);
        let data_capacity = match class {
            Class::SPAN => bytes,
            class => state.classes.data_bytes(class),
        };
        event::exhausted(state.id, class, data_capacity);
        AllocError::Exhausted
    }

    /// The calling thread's cache, if this is the pool it used last.
    #[inline(always)]
    pub(crate) fn cache<'a>(self) -> Option<&'a Cache> {
        // Relaxed: the key changes when the last handle goes, and when somebody waits. Who ought to know sees it by whatever
        // told him; a free that is under way at that moment may still see the old one, which `CacheTable::in_use` allows
        // for, and for waiters `super::wait`.
        thread::find(self.state().key.load(Ordering::Relaxed))
    }

    /// Whether this is the pool with the identity `key`, and neither closed nor waited for.
    #[inline(always)]
    pub(super) fn has_key(self, key: u64) -> bool {
        // Relaxed: as in `cache`.
        self.state().key.load(Ordering::Relaxed) == key
    }

    /// Makes the pool's caches unusable and its frees exact: called when the last handle goes.
    pub(super) fn retire_key(self) {
        self.state().key.store(NO_KEY, Ordering::Relaxed);
    }

    fn has_handles(self) -> bool {
        // Relaxed: as in `cache`.
        self.state().key.load(Ordering::Relaxed) != NO_KEY
    }

    /// Takes a block of `class`, in the calling thread's name.
    #[inline(always)]
    pub(crate) fn take(self, class: Class) -> Result<Offset, AllocError> {
        if let Some(cache) = self.cache() {
            // SAFETY: C1: `cache` finds the calling thread's.
            if let Some(block) = unsafe { cache.pop(class) } {
                return Ok(block);
            }
        }
        self.take_slowly(class)
    }

    #[cold]
    #[inline(never)]
    fn take_slowly(self, class: Class) -> Result<Offset, AllocError> {
        let mut notes = Notes::new();
        let found = self.find(class, &mut notes);
        self.conclude(class, 0, found, notes)
    }

    /// As [`take`](Self::take), and out of the reserve when that fails: says whether it was.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_urgently(self, class: Class) -> Result<(Offset, bool), AllocError> {
        let mut notes = Notes::new();
        let mut found = self.find(class, &mut notes);
        let of_reserve = found.is_none();
        if of_reserve {
            found = self.take_one(self.attach(), class, Purpose::Urgent, &mut notes);
            if found.is_some() {
                self.state().caches.count_alloc(class);
            }
        }
        Ok((self.conclude(class, 0, found, notes)?, of_reserve))
    }

    /// The end of a search for a block, which counts as a failure if there is none: of `bytes`, if it is a span. Who is told of it, and of
    /// what is noted, may use the pool: the block is the caller's already.
    fn conclude(
        self,
        class: Class,
        bytes: u64,
        found: Option<Offset>,
        notes: Notes,
    ) -> Result<Offset, AllocError> {
        let concluded = match found {
            Some(block) => {
                notes.tell(self.state().id, &self.state().classes);
                Ok(block)
            }
            None => Err(self.exhausted(class, bytes, notes)),
        };
        self.weigh(None);
        concluded
    }

    fn find(self, class: Class, notes: &mut Notes) -> Option<Offset> {
        match self.attach() {
            // SAFETY: C1: the calling thread's.
            Some(cache) if self.is_waited_for() => unsafe {
                // Others wait for what a refill would take beyond the block, and for what is there already.
                let found = cache.pop(class);
                let found = found.or_else(|| self.find_past_caches(Some(cache), class, notes));
                self.share(cache);
                found
            },
            // SAFETY: C1.
            Some(cache) => unsafe { self.find_with(cache, class, notes) },
            None => self.find_past_caches(None, class, notes),
        }
    }

    /// The calling thread's cache, registered if need be. `None` for a thread that is ending or came when all caches
    /// were taken.
    ///
    /// Once the pool's handles are gone, only a thread that has a cache takes from it, and nobody frees to it: see
    /// [`State::key`].
    pub(crate) fn attach<'a>(self) -> Option<&'a Cache> {
        if self.has_handles() {
            thread::attach(self)
        } else {
            thread::existing(self)
        }
    }

    /// Takes a block of `class` with `cache`, whose loaded magazine is empty.
    ///
    /// # Safety
    /// C1: `cache` is the calling thread's and this pool's.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn take_with(
        self,
        cache: &Cache,
        class: Class,
    ) -> Result<Offset, AllocError> {
        let mut notes = Notes::new();
        let found = if self.is_waited_for() {
            self.find_past_caches(Some(cache), class, &mut notes)
        } else {
            // SAFETY: C1.
            unsafe { self.find_with(cache, class, &mut notes) }
        };
        self.conclude(class, 0, found, notes)
    }

    /// Takes a block from `cache`, refilled if need be, while nobody waits.
    ///
    /// # Safety
    /// C1.
    unsafe fn find_with(self, cache: &Cache, class: Class, notes: &mut Notes) -> Option<Offset> {
        // SAFETY: C1.
        unsafe {
            if let Some(block) = cache.pop(class) {
                return Some(block);
            }
            if !cache.refill(self.backing(), class, notes) && !self.scavenge(cache, class, notes) {
                return None;
            }
            // A refill that succeeds leaves a block in the loaded magazine, which is this thread's alone.
            let block = cache.pop(class);
            // On the way it may have hidden more than it took.
            self.made_reachable(None);
            block
        }
    }

    /// Gives a free block of `class` back, in the calling thread's name.
    #[inline(always)]
    pub(crate) fn give(self, class: Class, block: Offset) {
        if let Some(cache) = self.cache() {
            // SAFETY: C1: `cache` finds the calling thread's.
            if unsafe { cache.push(class, block) } {
                return;
            }
        }
        self.give_slowly(class, block);
    }

    /// As [`give`](Self::give), where the loaded magazine is full, or not known to be there.
    #[cold]
    #[inline(never)]
    pub(crate) fn give_slowly(self, class: Class, block: Offset) {
        match self.attach() {
            // SAFETY: C1: the calling thread's.
            Some(cache) if self.has_key(self.id().raw()) => unsafe {
                self.give_with(cache, class, block);
            },
            // SAFETY: C1.
            Some(cache) if self.is_waited_for() => unsafe {
                self.flush(cache);
                self.give_past_caches(class, block);
            },
            _ => self.give_past_caches(class, block),
        }
    }

    /// Gives a block of `class` back to `cache`, whose loaded magazine may be full.
    ///
    /// # Safety
    /// C1: `cache` is the calling thread's and this pool's.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn give_with(self, cache: &Cache, class: Class, block: Offset) {
        // SAFETY: C1.
        unsafe {
            if cache.push(class, block) {
                return;
            }
            // Keeps the arena mapped until the pool is weighed.
            let pin = self.has_marks().then(|| registry().pin(self.id()));
            cache.spill(self.backing(), class);
            // Before the push, with which the arena may go (C3).
            self.made_reachable(None);
            // A spill makes room. Who was woken may have used it, if he is so bold as to run here.
            if !cache.push(class, block) {
                self.give_past_caches(class, block);
            }
            if let Some(Some(pin)) = pin {
                self.weigh(Some(&pin));
            }
        }
    }

    /// Takes a block past the caches. `cache`, the calling thread's, is emptied if need be.
    fn find_past_caches(
        self,
        cache: Option<&Cache>,
        class: Class,
        notes: &mut Notes,
    ) -> Option<Offset> {
        let block = self.take_one(cache, class, Purpose::Ordinary, notes)?;
        self.state().caches.count_alloc(class);
        Some(block)
    }

    /// Gives a block home past the caches. The arena may be gone when this returns.
    pub(crate) fn give_past_caches(self, class: Class, block: Offset) {
        self.ending(|| {
            let to = self.backing();
            let mut block = [block.raw()];
            to.slabs.give(to.arena, to.classes, class, &mut block);
            self.state().caches.count_free(class);
        });
    }

    /// Takes a span for `data` bytes.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_span(self, data: u64, purpose: Purpose) -> Result<Offset, AllocError> {
        let state = self.state();
        let mut notes = Notes::new();
        let mut take = |purpose| {
            let take = |from: Backing<'_>, _: &mut Notes| {
                from.slabs
                    .take_span(from.arena, from.classes, purpose, data)
            };
            self.search(self.attach(), &mut notes, take)
        };
        let mut found = take(Purpose::Ordinary);
        if found.is_none() && purpose == Purpose::Urgent {
            found = take(purpose);
        }
        if found.is_some() {
            state.caches.count_alloc(Class::SPAN);
            notes.slabs_taken(Class::SPAN, state.classes.span_slabs(data));
        }
        self.conclude(Class::SPAN, data, found, notes)
    }

    /// Gives a span back. The arena may be gone when this returns.
    ///
    /// # Safety
    /// The block is free as H4 says and belongs to the caller.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn give_span(self, block: Offset) {
        self.ending(|| {
            let (to, pool) = (self.backing(), self.state().id);
            // SAFETY: the span is the caller's.
            let slabs = unsafe { to.slabs.give_span(to.arena, to.classes, block) };
            self.state().caches.count_free(Class::SPAN);
            event::span_given_back(pool, slabs);
        });
    }

    /// Does the last step of a free past the caches, which may be the pool's end.
    fn ending(self, last_step: impl FnOnce()) {
        // Before the step: the caller's block keeps the arena mapped only until then.
        let pin = registry().pin(self.id());
        last_step();
        if pin.is_some() {
            self.made_reachable(pin.as_ref());
            self.weigh(pin.as_ref());
        }
        // After it, the read-modify-write in `is_closed` orders it before or after those of all other last steps.
        if let Some(pin) = pin
            && pin.is_closed()
            && self.is_worth_a_look()
        {
            self.end_if_idle(&pin);
        }
    }

    /// Counts a free of a closed pool; says whether enough were freed since somebody last summed up what is left.
    fn is_worth_a_look(self) -> bool {
        let state = self.state();
        // Relaxed, both: a count that only says when to look.
        let orphans = state.orphans.fetch_add(1, Ordering::Relaxed) + 1;
        orphans >= state.next_look.load(Ordering::Relaxed)
    }

    /// Ends the closed pool if no mbuf is left.
    fn end_if_idle(self, pin: &Pin) {
        let state = self.state();
        let orphans = state.orphans.load(Ordering::Relaxed);
        let left = self.in_use();
        if left > EACH_LOOKS {
            // Frees that were under way when the pool closed are not among the orphans, so not all of `left` is waited for.
            state.next_look.store(orphans + left / 2, Ordering::Relaxed);
        } else if left == 0 && pin.end() {
            event::pool_ended(state.id);
        }
    }

    /// Blocks in use.
    pub(super) fn in_use(self) -> u64 {
        self.state().caches.in_use(self.arena)
    }
}

/// Ends the pool if its handles are gone and no mbuf is left.
pub(super) fn end_if_idle(pin: &Pin) {
    // SAFETY: a registered pool's arena, mapped while the pin exists.
    let core = unsafe { Core::new(pin.arena()) };
    if pin.is_closed() {
        core.end_if_idle(pin);
    }
}

/// Ends the closed pools whose last mbuf was freed just while the last handle went, unnoticed.
pub(super) fn end_closed(registry: &'static Registry) {
    registry.closed().for_each(|pin| end_if_idle(&pin));
}
