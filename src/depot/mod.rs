//! The depot: lock-free stacks of magazines, one of full ones for each class and one of empty ones.
//!
//! Magazines, after Bonwick and Adams, "Magazines and Vmem" (USENIX ATC 2001), are arrays of free blocks by which threads
//! exchange memory in bulk. Departures from the paper: the stacks are Treiber's (IBM RJ 5118, 1986), without a lock; a
//! magazine's size is fixed; magazines come from a table of the pool's and are never anything else.
//!
//! Invariants:
//!
//! * **D1** A magazine belongs to the stack that holds it, to the spare slot that names it, or to the thread that took it
//!   from there. Only its owner touches its items and count.
//! * **D2** A magazine's `next` may be read by anyone at any time, for a popper may be late; the head's tag tells it
//!   whether what it read still holds. That is why magazine memory is never used for anything else.
//! * **D3** A head's tag grows with every push and pop, so equal heads mean that nothing happened in between (for fewer
//!   than 2^32 operations between a popper's two steps).

use crate::arena::{Arena, InArena, Offset, Plan};
use crate::class::{CLASSES, Class};
use crate::sync::{AtomicU32, AtomicU64, Backoff, Field, Ordering, Tally};
use crossbeam_utils::CachePadded;

/// What a stack's head word says: the top magazine and the tag.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Head(u64);

impl Head {
    fn top(self) -> Option<Offset> {
        Offset::from_raw(self.0 as u32)
    }

    /// The head after a push or a pop that leaves `top` on top.
    fn then(self, top: u32) -> Self {
        let tag = (self.0 >> 32).wrapping_add(1);
        Self(tag << 32 | u64::from(top))
    }
}

/// A stack of magazines.
#[repr(transparent)]
#[derive(Debug)]
struct Stack(AtomicU64);

impl Stack {
    fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Whether the stack looked empty.
    fn is_empty(&self) -> bool {
        // Relaxed: a hint.
        Head(self.0.load(Ordering::Relaxed)).top().is_none()
    }

    fn push(&self, arena: Arena, magazine: Offset) {
        let backoff = Backoff::new();
        // Relaxed: the old top is stored, not looked at.
        let mut head = Head(self.0.load(Ordering::Relaxed));
        loop {
            let below = head.top().map_or(0, Offset::raw);
            // Relaxed: published by the exchange below.
            link(arena, magazine).store(below, Ordering::Relaxed);
            // Release: pairs with the acquire in `pop`, which then sees the magazine's link and items. Later pushes and
            // pops continue the release sequence, so this holds for magazines further down, too.
            match self.0.compare_exchange_weak(
                head.0,
                head.then(magazine.raw()).0,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => head = Head(now),
            }
            backoff.spin();
        }
    }

    fn pop(&self, arena: Arena) -> Option<Offset> {
        let backoff = Backoff::new();
        // Acquire: pairs with the release in `push`.
        let mut head = Head(self.0.load(Ordering::Acquire));
        loop {
            let top = head.top()?;
            // Relaxed and perhaps late (D2): if another thread has popped the magazine since, the exchange fails.
            let below = link(arena, top).load(Ordering::Relaxed);
            // Relaxed on success: it succeeds on the value whose load acquired. Acquire on failure: that value is next.
            match self.0.compare_exchange_weak(
                head.0,
                head.then(below).0,
                Ordering::Relaxed,
                Ordering::Acquire,
            ) {
                Ok(_) => return Some(top),
                Err(now) => head = Head(now),
            }
            backoff.spin();
        }
    }
}

/// The start of a magazine; its items follow.
#[repr(C)]
#[derive(Debug)]
struct MagazineHead {
    next: AtomicU32,
    count: Field<u32>,
    /// The number of the cache that filled it.
    filler: Field<u32>,
}

// SAFETY: integers; zero is an empty magazine.
unsafe impl InArena for MagazineHead {
    fn fresh() -> Self {
        Self {
            next: AtomicU32::new(0),
            count: Field::new(0),
            filler: Field::new(0),
        }
    }
}

// SAFETY: an integer; zero names no block and is never read as one, for the count says how many items there are.
unsafe impl InArena for Field<u32> {
    fn fresh() -> Self {
        Self::new(0)
    }
}

const _: () = assert!(size_of::<MagazineHead>().is_multiple_of(align_of::<Field<u32>>()));

fn head_of<'a>(arena: Arena, magazine: Offset) -> &'a MagazineHead {
    // SAFETY: magazines are laid out with the depot and never become anything else (D2).
    unsafe { arena.get(magazine) }
}

fn link<'a>(arena: Arena, magazine: Offset) -> &'a AtomicU32 {
    &head_of(arena, magazine).next
}

/// A magazine that the holder owns (D1).
#[derive(Debug)]
#[must_use = "a magazine that is dropped is lost"]
pub(crate) struct Magazine {
    at: Offset,
}

impl Magazine {
    /// # Safety
    /// The magazine at `at` is the caller's (D1): taken from where [`into_offset`](Self::into_offset) was put.
    pub(crate) unsafe fn from_offset(at: Offset) -> Self {
        Self { at }
    }

    /// The magazine's place, to be put where one owner at most finds it.
    pub(crate) fn into_offset(self) -> Offset {
        self.at
    }

    /// The magazine's place.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn place(&self) -> Offset {
        self.at
    }

    fn items<'a>(&self, arena: Arena, count: usize) -> &'a [Field<u32>] {
        // SAFETY: the items follow the head, laid out with the depot, `Depot::size` of them, which bounds every count.
        unsafe {
            let items = arena.at::<u8>(self.at).add(size_of::<MagazineHead>());
            std::slice::from_raw_parts(items.cast().as_ptr(), count)
        }
    }

    /// Empties the magazine and returns its items, to be looked at before it is given up.
    pub(crate) fn unload(
        &self,
        arena: Arena,
    ) -> impl ExactSizeIterator<Item = u32> + DoubleEndedIterator {
        let head = head_of(arena, self.at);
        // SAFETY: D1.
        unsafe {
            let count = head.count.get() as usize;
            head.count.set(0);
            self.items(arena, count).iter().map(|item| item.get())
        }
    }

    /// Whether a cache that is not number `taker` filled the magazine, and more than one in sixteen of its blocks, each of which takes
    /// `granules`, does not follow the one before it in memory.
    pub(crate) fn is_scattered(&self, arena: Arena, taker: u32, granules: u32) -> bool {
        let head = head_of(arena, self.at);
        // SAFETY: D1.
        unsafe {
            if head.filler.get() == taker {
                return false;
            }
            let items = self.items(arena, head.count.get() as usize);
            let follows = |pair: &&[Field<u32>]| {
                let distance = pair[1].get().wrapping_sub(pair[0].get());
                distance == granules
            };
            let breaks = items.windows(2).filter(|pair| !follows(pair)).count();
            breaks > items.len() / 16
        }
    }

    /// Fills the empty magazine with `blocks`, at most [`Depot::size`].
    pub(crate) fn load(
        &self,
        arena: Arena,
        filler: u32,
        blocks: impl ExactSizeIterator<Item = u32>,
    ) {
        let count = blocks.len();
        // SAFETY: D1.
        unsafe {
            head_of(arena, self.at).filler.set(filler);
            for (item, block) in self.items(arena, count).iter().zip(blocks) {
                item.set(block);
            }
            head_of(arena, self.at).count.set(count as u32);
        }
    }
}

#[repr(C)]
#[derive(Debug)]
struct ClassDepot {
    full: Stack,
    /// Blocks in the full magazines.
    blocks: Tally,
}

/// A pool's magazines that are in no thread's hands.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Depot {
    magazines: Offset,
    stride: u32,
    count: u32,
    size: u32,
    empty: CachePadded<Stack>,
    /// How many magazines of the table have been used.
    used: CachePadded<AtomicU32>,
    classes: [CachePadded<ClassDepot>; CLASSES],
}

impl Depot {
    /// Plans `count` magazines of `size` items.
    pub(crate) fn plan(plan: &mut Plan, count: u32, size: u32) -> Self {
        let bytes = size_of::<MagazineHead>() + size as usize * size_of::<Field<u32>>();
        let stride = (bytes as u64).next_multiple_of(crate::arena::GRANULE as u64);
        Self {
            magazines: plan.bytes(
                stride * u64::from(count),
                stride.next_power_of_two().min(4096),
            ),
            stride: stride as u32,
            count,
            size,
            empty: CachePadded::new(Stack::new()),
            used: CachePadded::new(AtomicU32::new(0)),
            classes: std::array::from_fn(|_| {
                CachePadded::new(ClassDepot {
                    full: Stack::new(),
                    blocks: Tally::new(),
                })
            }),
        }
    }

    /// # Safety
    /// `arena` was mapped by the plan and nobody else knows of it yet.
    pub(crate) unsafe fn lay_out(&self, arena: Arena) {
        #[cfg(loom)]
        for index in 0..self.count {
            let at = self.nth(index);
            // SAFETY: each magazine's part of the planned region.
            unsafe {
                arena.lay_out::<MagazineHead>(at, 1);
                let items = arena.at::<u8>(at).add(size_of::<MagazineHead>()).cast();
                for item in 0..self.size as usize {
                    items.add(item).write(Field::<u32>::fresh());
                }
            }
        }
        // Elsewhere magazines are valid as they are mapped (A2).
        #[cfg(not(loom))]
        let _ = (arena, self.size);
    }

    fn nth(&self, index: u32) -> Offset {
        self.magazines
            .plus(u64::from(index) * u64::from(self.stride))
    }

    /// Whether `class` looked as if it had no full magazine.
    pub(crate) fn is_empty(&self, class: Class) -> bool {
        self.classes[class.index()].full.is_empty()
    }

    /// Takes a full magazine of `class`.
    pub(crate) fn take_full(&self, arena: Arena, class: Class) -> Option<Magazine> {
        let depot = &self.classes[class.index()];
        let at = depot.full.pop(arena)?;
        // SAFETY: popped, so ours (D1).
        let magazine = unsafe { Magazine::from_offset(at) };
        // SAFETY: D1.
        let count = unsafe { head_of(arena, at).count.get() };
        depot.blocks.subtract(count.into());
        Some(magazine)
    }

    /// Leaves a magazine of blocks of `class` for any thread.
    pub(crate) fn put_full(&self, arena: Arena, class: Class, magazine: Magazine) {
        let depot = &self.classes[class.index()];
        // SAFETY: D1.
        let count = unsafe { head_of(arena, magazine.at).count.get() };
        depot.blocks.add(count.into());
        depot.full.push(arena, magazine.into_offset());
    }

    /// Takes an empty magazine: a used one, else a new one of the table; `None` when all are in use.
    pub(crate) fn take_empty(&self, arena: Arena) -> Option<Magazine> {
        let at = match self.empty.pop(arena) {
            Some(at) => at,
            None => {
                // Relaxed: the number alone makes the magazine ours; nobody has used it before.
                let next = |used| (used < self.count).then_some(used + 1);
                let relaxed = Ordering::Relaxed;
                self.nth(self.used.fetch_update(relaxed, relaxed, next).ok()?)
            }
        };
        // SAFETY: popped or new, so ours (D1).
        Some(unsafe { Magazine::from_offset(at) })
    }

    /// Leaves an empty magazine for any thread.
    pub(crate) fn put_empty(&self, arena: Arena, magazine: Magazine) {
        self.empty.push(arena, magazine.into_offset());
    }

    /// Blocks of `class` in full magazines here.
    pub(crate) fn blocks(&self, class: Class) -> u64 {
        self.classes[class.index()].blocks.get()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
