//! The pools of this process: which are mapped, and who may look into one that he has no handle or mbuf of.
//!
//! A thread that ends returns its caches to pools that may be gone by then. It pins the pool by its identity first: while
//! a pin exists the arena stays mapped, and a pool that ended refuses pins. The last pin of an ended pool unmaps it, so
//! memory goes back at that moment, whatever other threads and other pools do.
//!
//! A slot of the registry serves one pool after another; its word counts them (the generation), so that an identity is
//! never that of two pools. Slots are never freed.
//!
//! A pool may be *kept*, as those of the C interface are: when it ends, its memory goes back to the system but its addresses stay
//! reserved, for the next such pool of as many bytes. So whatever address a C program comes with, looking at it is looking
//! at memory, without a pin: the pool's, or zeros, which are no pool's blocks.
//!
//! ```text
//! bits  0..30  pins
//! bits 30..32  state: vacant, shut (being set up or unmapped), closed (handles gone, mbufs out), open
//! bits 32..64  generation
//! ```

use crate::arena::{Arena, Mapping};
use crate::pressure::Outside;
#[cfg(feature = "capi")]
use crate::sync::count_arena;
use crate::sync::{AtomicPtr, AtomicU64, Ordering, Witness, fence, process_static};
use std::ptr::{self, NonNull};

const STATE_SHIFT: u32 = 30;
const PINS: u64 = (1 << STATE_SHIFT) - 1;
const VACANT: u64 = 0;
const SHUT: u64 = 1;
const CLOSED: u64 = 2;
const OPEN: u64 = 3;

#[cfg(not(loom))]
const CHUNK: usize = 64;
#[cfg(loom)]
const CHUNK: usize = 2;

/// A pool's identity: the slot, and which of the slot's pools. Never 0, and never that of another pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct PoolId(u64);

impl PoolId {
    pub(crate) fn raw(self) -> u64 {
        self.0
    }

    pub(crate) fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    fn new(slot: usize, generation: u64) -> Self {
        Self(generation << 32 | slot as u64)
    }

    fn slot(self) -> usize {
        self.0 as u32 as usize
    }

    fn generation(self) -> u64 {
        self.0 >> 32
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Word(u64);

impl Word {
    fn new(generation: u64, state: u64, pins: u64) -> Self {
        Self(generation << 32 | state << STATE_SHIFT | pins)
    }

    fn generation(self) -> u64 {
        self.0 >> 32
    }

    fn state(self) -> u64 {
        self.0 >> STATE_SHIFT & 3
    }

    fn pins(self) -> u64 {
        self.0 & PINS
    }

    fn admits(self, id: PoolId) -> bool {
        self.generation() == id.generation() && self.state() >= CLOSED
    }
}

#[derive(Debug)]
struct Slot {
    word: AtomicU64,
    base: AtomicPtr<u8>,
    bytes: AtomicU64,
    /// What of the pool lies outside the arena: a leaked box, set before the pool is opened.
    outside: AtomicPtr<Outside>,
    /// Not 0: base and bytes are this slot's for ever.
    kept: AtomicU64,
    /// Stands for the arena: read by who has pinned it, written by who unmaps it.
    arena: Witness,
}

/// Some slots, and where there are more.
#[derive(Debug)]
struct Chunk {
    slots: [Slot; CHUNK],
    next: AtomicPtr<Chunk>,
}

impl Slot {
    #[cfg(not(loom))]
    const fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
            base: AtomicPtr::new(ptr::null_mut()),
            bytes: AtomicU64::new(0),
            outside: AtomicPtr::new(ptr::null_mut()),
            kept: AtomicU64::new(0),
            arena: Witness::new(),
        }
    }

    #[cfg(loom)]
    fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
            base: AtomicPtr::new(ptr::null_mut()),
            bytes: AtomicU64::new(0),
            outside: AtomicPtr::new(ptr::null_mut()),
            kept: AtomicU64::new(0),
            arena: Witness::new(),
        }
    }
}

impl Chunk {
    #[cfg(not(loom))]
    const fn new() -> Self {
        Self {
            slots: [const { Slot::new() }; CHUNK],
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    #[cfg(loom)]
    fn new() -> Self {
        Self {
            slots: std::array::from_fn(|_| Slot::new()),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    fn next(&self) -> Option<&Self> {
        // Acquire: pairs with the release in `grow`: the chunk's slots are seen as it made them.
        // SAFETY: chunks are leaked, so what is linked stays.
        unsafe { self.next.load(Ordering::Acquire).as_ref() }
    }

    /// The chunk after this last one, made if need be. `None` when the heap is exhausted.
    fn grow(&self) -> Option<&Self> {
        let layout = std::alloc::Layout::new::<Self>();
        // SAFETY: a chunk has a size.
        let made: *mut Self = unsafe { std::alloc::alloc(layout) }.cast();
        if made.is_null() {
            return None;
        }
        // SAFETY: fresh memory for a chunk.
        unsafe { made.write(Self::new()) };
        // Release: pairs with the acquire in `next`.
        let linked =
            self.next
                .compare_exchange(ptr::null_mut(), made, Ordering::Release, Ordering::Relaxed);
        if linked.is_err() {
            // SAFETY: not linked, so nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
        }
        self.next()
    }
}

/// The pools of this process.
#[derive(Debug)]
pub(crate) struct Registry {
    first: Chunk,
}

process_static! {
    /// The process's registry.
    leaked pub(crate) fn registry() -> Registry = Registry { first: Chunk::new() };
}

impl Registry {
    fn chunks(&'static self) -> impl Iterator<Item = &'static Chunk> {
        std::iter::successors(Some(&self.first), |chunk| chunk.next())
    }

    fn slot(&'static self, id: PoolId) -> Option<&'static Slot> {
        let chunk = self.chunks().nth(id.slot() / CHUNK)?;
        chunk.slots.get(id.slot() % CHUNK)
    }

    /// Notes a pool and returns the pin that its first handle is to hold. The pool is shut until that pin
    /// [opens](Pin::open) it, and can be [kept](Pin::keep) if that is asked for here. `None` when the heap is exhausted; the
    /// mapping is then returned to the system.
    pub(crate) fn register(&'static self, mapping: Mapping, keep: bool) -> Option<Pin> {
        let suits = |slot: &Slot| if keep { slot.is_new() } else { !slot.is_kept() };
        let mut chunk = &self.first;
        let mut base = 0;
        loop {
            for (index, slot) in chunk.slots.iter().enumerate() {
                if let Some(generation) = slot.claim_if(suits) {
                    slot.hold(mapping);
                    let id = PoolId::new(base + index, generation);
                    return Some(Pin { slot, id });
                }
            }
            base += CHUNK;
            match chunk.next().or_else(|| chunk.grow()) {
                Some(next) => chunk = next,
                None => {
                    mapping.unmap();
                    return None;
                }
            }
        }
    }

    /// As [`register`](Self::register), for a kept pool of `bytes` in the place of one that has ended, if there is such a place.
    /// Its memory reads as zero.
    #[cfg(feature = "capi")]
    pub(crate) fn register_again(&'static self, bytes: u64) -> Option<Pin> {
        self.slots().find_map(|(index, slot)| {
            let generation = slot.claim_if(|slot| slot.keeps(bytes))?;
            count_arena(true);
            let id = PoolId::new(index, generation);
            Some(Pin { slot, id })
        })
    }

    /// The arena of the kept pool that is at `address`, if there is one, without pinning it: the arena stays readable, though
    /// its pool may end meanwhile.
    #[cfg(feature = "capi")]
    pub(crate) fn kept_at(&'static self, address: usize) -> Option<Arena> {
        self.slots().find_map(|(_, slot)| {
            let (base, bytes) = slot.range()?;
            let inside = address.wrapping_sub(base.as_ptr().addr());
            // SAFETY: a kept slot's mapping stays for ever.
            ((inside as u64) < bytes).then(|| unsafe { Arena::from_base(base) })
        })
    }

    /// The arena of a kept pool that has handles, or perhaps only mbufs, by its identity, without pinning it.
    #[cfg(feature = "capi")]
    #[inline]
    pub(crate) fn kept(&'static self, id: PoolId, closed_too: bool) -> Option<Arena> {
        let slot = match self.first.slots.get(id.slot()) {
            Some(slot) => slot,
            None => self.slot(id)?,
        };
        // Relaxed: whoever has the identity by right got it from who opened the pool.
        let now = Word(slot.word.load(Ordering::Relaxed));
        let (base, _) = slot.range()?;
        let least = if closed_too { CLOSED } else { OPEN };
        let is_open = now.generation() == id.generation() && now.state() >= least;
        // SAFETY: a kept slot's mapping stays for ever.
        is_open.then(|| unsafe { Arena::from_base(base) })
    }

    fn slots(&'static self) -> impl Iterator<Item = (usize, &'static Slot)> {
        self.chunks().flat_map(|chunk| &chunk.slots).enumerate()
    }

    /// Pins the pool, unless it has ended.
    pub(crate) fn pin(&'static self, id: PoolId) -> Option<Pin> {
        let slot = self.slot(id)?;
        let mut now = Word(slot.word.load(Ordering::Relaxed));
        loop {
            if !now.admits(id) {
                return None;
            }
            // Acquire: pairs with the release in `open`: the arena is seen as its builder made it.
            match slot.word.compare_exchange_weak(
                now.0,
                now.0 + 1,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(Pin { slot, id }),
                Err(other) => now = Word(other),
            }
        }
    }

    /// Pools whose handles are gone and whose mbufs perhaps, too: they end when somebody looks.
    pub(crate) fn closed(&'static self) -> impl Iterator<Item = Pin> {
        self.slots().filter_map(move |(index, slot)| {
            // Relaxed: a glance; pinning decides.
            let now = Word(slot.word.load(Ordering::Relaxed));
            let id = PoolId::new(index, now.generation());
            (now.state() == CLOSED).then(|| self.pin(id))?
        })
    }

    /// Whether the pool has ended.
    pub(crate) fn has_ended(&'static self, id: PoolId) -> bool {
        // Relaxed: an identity that has ended stays so.
        self.slot(id)
            .is_none_or(|slot| !Word(slot.word.load(Ordering::Relaxed)).admits(id))
    }
}

/// Keeps a pool's arena mapped.
#[derive(Debug)]
pub(crate) struct Pin {
    slot: &'static Slot,
    id: PoolId,
}

impl Slot {
    /// Whether its addresses are reserved for ever.
    fn is_kept(&self) -> bool {
        // Relaxed: set once, by who owns the slot.
        self.kept.load(Ordering::Relaxed) != 0
    }

    /// Whether it never had a pool. Only such a slot can be kept: of another, somebody might see the old base as kept.
    fn is_new(&self) -> bool {
        self.base.load(Ordering::Relaxed).is_null()
    }

    #[cfg(feature = "capi")]
    fn keeps(&self, bytes: u64) -> bool {
        self.is_kept() && self.bytes.load(Ordering::Relaxed) == bytes
    }

    /// Relaxed, all: published by the release in `open`; who looks without a pin finds a kept slot whole or not at all.
    fn hold(&self, mapping: Mapping) {
        let (address, bytes) = mapping.into_parts();
        self.base.store(address.as_ptr(), Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Where a kept slot's arena is. Of one that is just being made, a thread may see a part: then it is nowhere, or empty.
    #[cfg(feature = "capi")]
    #[inline]
    fn range(&self) -> Option<(NonNull<u8>, u64)> {
        let base = NonNull::new(self.base.load(Ordering::Relaxed))?;
        let bytes = self.bytes.load(Ordering::Relaxed);
        self.is_kept().then_some((base, bytes))
    }

    /// Claims the slot if it is vacant and suits.
    fn claim_if(&self, suits: impl Fn(&Self) -> bool) -> Option<u64> {
        // At a glance first, and then for good: it may have had another pool in between.
        let generation = suits(self).then(|| self.claim())??;
        if suits(self) {
            return Some(generation);
        }
        self.vacate(generation);
        None
    }

    fn vacate(&self, generation: u64) {
        let vacant = Word::new(generation, VACANT, 0);
        // Release: pairs with the acquire in `claim`.
        self.word.store(vacant.0, Ordering::Release);
    }

    fn claim(&self) -> Option<u64> {
        let now = Word(self.word.load(Ordering::Relaxed));
        if now.state() != VACANT {
            return None;
        }
        // Generations start at 1, so that no identity is 0, and pass over the last, of which no identity is made.
        let generation = (now.generation() + 1) % u64::from(u32::MAX);
        let generation = generation.max(1);
        let claimed = Word::new(generation, SHUT, 1);
        // Acquire: pairs with the release in `vacate`.
        self.word
            .compare_exchange(now.0, claimed.0, Ordering::Acquire, Ordering::Relaxed)
            .ok()
            .map(|_| generation)
    }
}

impl Pin {
    /// The pool's identity.
    pub(crate) fn id(&self) -> PoolId {
        self.id
    }

    /// The pool's arena.
    pub(crate) fn arena(&self) -> Arena {
        // Relaxed: the base was written before the pool was opened, and pinning acquired that.
        let base = self.slot.base.load(Ordering::Relaxed);
        // SAFETY: a registered pool has a base, and while the pin exists it is mapped.
        unsafe { Arena::from_base(NonNull::new_unchecked(base)) }
    }

    /// From now on the pool is kept. It was registered for that.
    #[cfg(feature = "capi")]
    pub(crate) fn keep(&self) {
        // Relaxed: as in `hold`.
        self.slot.kept.store(1, Ordering::Relaxed);
    }

    /// The pool's mapping, for who sets it up. It stays the registry's.
    #[cfg(feature = "capi")]
    pub(crate) fn mapping(&self) -> Mapping {
        let bytes = self.slot.bytes.load(Ordering::Relaxed);
        // SAFETY: what the slot holds; only looked at, and not ended, by who sets the pool up.
        unsafe { Mapping::from_parts(self.arena().base(), bytes) }
    }

    /// Hands over what of the pool lies outside its arena, before the pool is opened.
    pub(crate) fn equip(&self, outside: Box<Outside>) {
        // Relaxed: published by the release in `open`.
        let old = self
            .slot
            .outside
            .swap(Box::into_raw(outside), Ordering::Relaxed);
        debug_assert!(old.is_null());
    }

    /// What of the pool lies outside its arena.
    pub(crate) fn outside(&self) -> Option<&Outside> {
        // Relaxed: written before the pool was opened, and pinning acquired that.
        // SAFETY: a leaked box, which the last pin frees.
        unsafe { self.slot.outside.load(Ordering::Relaxed).as_ref() }
    }

    /// The pool is built: lets others pin it.
    pub(crate) fn open(&self) {
        let open = Word::new(self.id.generation(), OPEN, 1);
        // Release: pairs with the acquire in `pin`.
        self.slot.word.store(open.0, Ordering::Release);
    }

    /// The pool's last handle is gone.
    pub(crate) fn close(&self) {
        self.change(OPEN, CLOSED);
    }

    /// Whether the pool's last handle is gone.
    ///
    /// Frees that are the last ones and the close of the last handle must not miss each other. All that might end the pool ask
    /// here, the closer after its close, and asking changes the word: who comes last sees what all others did before.
    pub(crate) fn is_closed(&self) -> bool {
        // Acquire and release: pairs with itself.
        Word(self.slot.word.fetch_add(0, Ordering::AcqRel)).state() == CLOSED
    }

    /// A closed pool has no mbuf left: refuses further pins. The last of those that exist unmaps it. Says whether this call was the
    /// one that ended it.
    pub(crate) fn end(&self) -> bool {
        self.change(CLOSED, SHUT)
    }

    fn change(&self, from: u64, to: u64) -> bool {
        let mut now = Word(self.slot.word.load(Ordering::Relaxed));
        while now.state() == from {
            let new = Word::new(now.generation(), to, now.pins());
            // Relaxed: who closes asks `is_closed` afterwards, and an end is ordered by the pins.
            match self.slot.word.compare_exchange_weak(
                now.0,
                new.0,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(other) => now = Word(other),
            }
        }
        false
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.slot.arena.read();
        // Release: pairs with the fence below: what was done under the pin happened before the arena goes.
        let before = Word(self.slot.word.fetch_sub(1, Ordering::Release));
        debug_assert!(before.pins() > 0);
        if before.pins() == 1 && before.state() == SHUT {
            // Pairs with the release of all other pins.
            fence(Ordering::Acquire);
            // ThreadSanitizer does not know fences: for it, a load that has the same effect.
            #[cfg(mbuf_tsan)]
            self.slot.word.load(Ordering::Acquire);
            self.slot.unmap_and_vacate(self.id);
        }
    }
}

impl Slot {
    fn unmap_and_vacate(&self, id: PoolId) {
        // Relaxed: written before the pool was opened.
        let base = self.base.load(Ordering::Relaxed);
        let bytes = self.bytes.load(Ordering::Relaxed);
        self.arena.write();
        // Relaxed: the pins are gone, and the fence of the last has ordered what they did.
        let outside = self.outside.swap(ptr::null_mut(), Ordering::Relaxed);
        if !outside.is_null() {
            // SAFETY: a leaked box, and nobody has pinned the pool.
            drop(unsafe { Box::from_raw(outside) });
        }
        if let Some(base) = NonNull::new(base) {
            // SAFETY: the parts were given to the registry, and the pool's last pin takes them back.
            let mapping = unsafe { Mapping::from_parts(base, bytes) };
            if !self.is_kept() {
                mapping.unmap();
            } else if !mapping.clear() {
                // Never again to be used: what the pool left cannot be cleared away.
                return;
            }
        }
        self.vacate(id.generation());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn new_pool() -> Pin {
        registry()
            .register(Mapping::reserve(4096).unwrap(), false)
            .unwrap()
    }

    /// For tests, whose mappings hold no pool: nobody else may come upon them closed.
    fn end(pin: Pin) {
        let shut = Word::new(pin.id.generation(), SHUT, 1);
        pin.slot.word.store(shut.0, Ordering::Relaxed);
    }

    #[test]
    fn a_pool_is_pinned_only_while_it_lives() {
        let first = new_pool();
        let id = first.id();
        assert!(registry().pin(id).is_none());
        first.open();
        let other = registry().pin(id).unwrap();
        assert_eq!(other.arena(), first.arena());
        assert!(!registry().has_ended(id));
        drop(other);
        end(first);
        assert!(registry().pin(id).is_none());
        assert!(registry().has_ended(id));
    }

    #[test]
    fn identities_are_never_used_twice() {
        let mut seen = std::collections::HashSet::new();
        for _ in 0..3 * CHUNK {
            let pin = new_pool();
            assert!(seen.insert(pin.id().raw()));
            end(pin);
        }
    }

    #[test]
    fn any_number_of_pools_is_noted() {
        let pools: Vec<_> = (0..3 * CHUNK).map(|_| new_pool()).collect();
        for pin in &pools {
            pin.open();
            assert!(registry().pin(pin.id()).is_some());
        }
        pools.into_iter().for_each(end);
    }
}
