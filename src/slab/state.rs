//! A slab's state: one word, changed by compare-and-swap only, so that each decision about a slab is a single step.
//!
//! ```text
//! bits  0..14  carved   blocks that exist: a prefix of the slab
//! bits 14..28  home     of these, blocks that are free and rest in the slab's bitmap
//! bits 28..34  class
//! bit  34      kind     a class's, or not: free, a span's, or its finder's
//! bits 35..64  tag      grows with each change of kind
//! ```
//!
//! Only this file does arithmetic on the word. The tag tells a class's slab from the same slab after it was given back
//! and taken again with equal counts.

use crate::arena::InArena;
use crate::class::Class;
use crate::sync::{AtomicU64, Ordering};

const COUNT_BITS: u32 = 14;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
const HOME_SHIFT: u32 = COUNT_BITS;
const CLASS_SHIFT: u32 = 2 * COUNT_BITS;
const KIND_SHIFT: u32 = CLASS_SHIFT + 6;
const TAG_SHIFT: u32 = KIND_SHIFT + 1;

const KIND_NONE: u64 = 0;
const KIND_CLASS: u64 = 1;

/// A value of the word.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Word(u64);

impl Word {
    fn new(kind: u64, class: Class, tag: u64) -> Self {
        Self(tag << TAG_SHIFT | kind << KIND_SHIFT | (class.raw() as u64) << CLASS_SHIFT)
    }

    fn carved(self) -> u32 {
        (self.0 & COUNT_MASK) as u32
    }

    fn home(self) -> u32 {
        (self.0 >> HOME_SHIFT & COUNT_MASK) as u32
    }

    fn class(self) -> Class {
        Class::from_index((self.0 >> CLASS_SHIFT & 63) as usize)
    }

    fn kind(self) -> u64 {
        self.0 >> KIND_SHIFT & 1
    }

    fn next_tag(self) -> u64 {
        (self.0 >> TAG_SHIFT) + 1
    }

    fn serves(self, class: Class) -> bool {
        self.kind() == KIND_CLASS && self.class() == class
    }

    fn plus_carved(self, blocks: u32) -> Self {
        Self(self.0 + u64::from(blocks))
    }

    fn plus_home(self, blocks: u32) -> Self {
        Self(self.0 + (u64::from(blocks) << HOME_SHIFT))
    }

    fn minus_home(self, blocks: u32) -> Self {
        Self(self.0 - (u64::from(blocks) << HOME_SHIFT))
    }
}

/// What a taker got of a slab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum Taken {
    /// As many home blocks are the caller's; it picks any set bits of the bitmap.
    Home(u32),
    /// Blocks `first..first + count` exist from now on and are the caller's; it writes their headers.
    Carved { first: u32, count: u32 },
    /// The slab serves the class but has neither.
    Full,
    /// The slab does not serve the class.
    NotOurs,
}

/// The state of one slab.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct SlabState(AtomicU64);

// SAFETY: an integer; zero is a slab that is nobody's.
unsafe impl InArena for SlabState {
    fn fresh() -> Self {
        Self(AtomicU64::new(0))
    }
}

impl SlabState {
    /// Makes the slab `class`'s; its first `carved` blocks are the caller's, at least one, so that the slab does not look
    /// idle. The caller owns the slab: nobody else changes the state meanwhile.
    pub(crate) fn open(&self, class: Class, carved: u32) {
        // Relaxed: only the owner writes, and it is the owner.
        let old = Word(self.0.load(Ordering::Relaxed));
        let new = Word::new(KIND_CLASS, class, old.next_tag()).plus_carved(carved);
        // Release: pairs with the acquire in `take`. Whoever carves here sees what the owner did to the slab before,
        // above all the last user's accesses to the memory, which happened before the owner got the slab.
        self.0.store(new.0, Ordering::Release);
    }

    /// Takes up to `want` blocks for `class`: home ones first, for their headers exist; else by carving on.
    pub(crate) fn take(&self, class: Class, want: u32, blocks_per_slab: u32) -> Taken {
        // Acquire: pairs with the release in `give` (home blocks: their bits and headers) and in `open`
        // (carving). The compare-and-swap below can be relaxed because it succeeds on this very value.
        let mut old = Word(self.0.load(Ordering::Acquire));
        loop {
            if !old.serves(class) {
                return Taken::NotOurs;
            }
            let (new, taken) = if old.home() > 0 {
                let count = want.min(old.home());
                (old.minus_home(count), Taken::Home(count))
            } else if old.carved() < blocks_per_slab {
                let first = old.carved();
                let count = want.min(blocks_per_slab - first);
                (old.plus_carved(count), Taken::Carved { first, count })
            } else {
                return Taken::Full;
            };
            match self
                .0
                .compare_exchange_weak(old.0, new.0, Ordering::Relaxed, Ordering::Acquire)
            {
                Ok(_) => return taken,
                Err(now) => old = Word(now),
            }
        }
    }

    /// Counts `blocks` home whose bits were set before. They were taken from this slab, so it still serves their class.
    pub(crate) fn give(&self, blocks: u32) {
        // Release: pairs with the acquire in `take` and in `leave`: who takes the blocks, or the slab, sees the bits and
        // all that was done to the blocks before.
        let old = Word(
            self.0
                .fetch_add(Word(0).plus_home(blocks).0, Ordering::Release),
        );
        debug_assert!(old.kind() == KIND_CLASS && old.home() + blocks <= old.carved());
    }

    /// Takes the slab from its class if every block that was carved is home. On success the caller owns the slab;
    /// the class and the number of carved blocks are returned.
    pub(crate) fn leave(&self) -> Option<(Class, u32)> {
        let mut old = Word(self.0.load(Ordering::Relaxed));
        loop {
            if old.kind() != KIND_CLASS || old.home() != old.carved() {
                return None;
            }
            let new = Word::new(KIND_NONE, old.class(), old.next_tag());
            // Acquire: pairs with the release in `give`: all that was ever done to the blocks happened before.
            match self
                .0
                .compare_exchange_weak(old.0, new.0, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => return Some((old.class(), old.carved())),
                Err(now) => old = Word(now),
            }
        }
    }

    /// Whether `class` could take a block here.
    pub(crate) fn has_room(&self, class: Class, blocks_per_slab: u32) -> bool {
        // Relaxed: the callers order this read themselves, after a read-modify-write of the room bitmap.
        let now = Word(self.0.load(Ordering::Relaxed));
        now.serves(class) && (now.home() > 0 || now.carved() < blocks_per_slab)
    }

    /// Whether `class` has home blocks here.
    pub(crate) fn has_home(&self, class: Class) -> bool {
        // Relaxed: a hint; `take` decides.
        let now = Word(self.0.load(Ordering::Relaxed));
        now.serves(class) && now.home() > 0
    }

    /// Whether every carved block is home, the slab being a class's: it could leave it.
    pub(crate) fn is_idle(&self) -> bool {
        // Relaxed: a hint; `leave` decides.
        let now = Word(self.0.load(Ordering::Relaxed));
        now.kind() == KIND_CLASS && now.home() == now.carved()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_carved_in_order_then_taken_from_home() {
        let state = SlabState::fresh();
        let class = Class::from_index(3);
        assert_eq!(state.take(class, 1, 4), Taken::NotOurs);
        state.open(class, 1);
        assert!(state.has_room(class, 4));
        assert_eq!(
            state.take(class, 2, 4),
            Taken::Carved { first: 1, count: 2 }
        );
        assert_eq!(
            state.take(class, 3, 4),
            Taken::Carved { first: 3, count: 1 }
        );
        assert_eq!(state.take(class, 3, 4), Taken::Full);
        assert!(!state.has_room(class, 4));
        state.give(2);
        assert!(state.has_room(class, 4));
        state.give(1);
        assert_eq!(state.leave(), None);
        assert_eq!(state.take(class, 1, 4), Taken::Home(1));
        state.give(2);
        assert!(state.is_idle());
        assert_eq!(state.leave(), Some((class, 4)));
        assert_eq!(state.take(class, 1, 4), Taken::NotOurs);
        assert_eq!(state.leave(), None);
    }

    #[test]
    fn another_class_finds_nothing() {
        let state = SlabState::fresh();
        state.open(Class::from_index(1), 1);
        assert_eq!(state.take(Class::from_index(2), 1, 4), Taken::NotOurs);
        assert!(!state.has_room(Class::from_index(2), 4));
    }

    #[test]
    fn each_life_of_a_slab_is_another_word() {
        let state = SlabState::fresh();
        let class = Class::from_index(1);
        state.open(class, 1);
        let first = state.0.load(Ordering::Relaxed);
        state.give(1);
        assert!(state.leave().is_some());
        state.open(class, 1);
        assert_ne!(state.0.load(Ordering::Relaxed), first);
    }

    #[test]
    fn the_counts_hold_the_fullest_slab() {
        let state = SlabState::fresh();
        let most = (2 << 20) / 192;
        state.open(Class::HEADER, 1);
        let rest = Taken::Carved {
            first: 1,
            count: most - 1,
        };
        assert_eq!(state.take(Class::HEADER, most, most), rest);
        state.give(most);
        assert_eq!(state.leave(), Some((Class::HEADER, most)));
    }
}
