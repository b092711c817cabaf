//! Whether a place is a block: for handles that come from outside and may be anything.
//!
//! A set has each granule of the slabs at which a block's header lies (S5). Nothing is pinned meanwhile, so a slab may leave
//! its class, and its memory become data, between a look at the set and one at a header. Each time it is taken, a slab
//! begins a new life. Who looks therefore notes the life first and looks at it again in the end: what he read in between was in
//! one life, in which a block's place is a header for good.

use super::{Slab, SlabTable};
use crate::arena::{Arena, Offset};
use crate::bits::{self, Bits, WORD};
use crate::class::{Class, Classes};
use crate::sync::{AtomicU32, Ordering, fence};
use std::ops::Range;

/// A block, free or not, at the time of a look.
pub(crate) struct Found<'a> {
    pub(crate) block: Offset,
    /// The number of the slab's life. A block's generations begin anew with each.
    pub(crate) life: u32,
    opened: &'a AtomicU32,
}

impl Found<'_> {
    /// Whether what was read of the block's header since it was found was a header's.
    #[inline(always)]
    pub(crate) fn was_a_block(&self) -> bool {
        // Pairs with the fence in `begin_writing`: who has read what was written in a later life sees here that it has begun.
        fence(Ordering::Acquire);
        self.opened.load(Ordering::Relaxed) == self.life
    }
}

impl SlabTable {
    /// The block that begins `granules` from the arena's base, if one does.
    ///
    /// If it is not somebody's, what its header says is worth something only if it [was a block](Found::was_a_block).
    #[inline(always)]
    pub(crate) fn block_at(&self, arena: Arena, granules: usize) -> Option<Found<'_>> {
        let from_first = granules.wrapping_sub(self.first.raw() as usize);
        if from_first >= self.granules as usize {
            return None;
        }
        // The pool may end right now, and each part of its description be zero from one moment to the next. Wherever that leads
        // is inside the arena: both tables are in front of the slabs, and for each granule of those shorter than a granule.
        let index = from_first >> self.granule_shift;
        let slab = self.slabs.bytes() + index * size_of::<Slab>();
        let word = self.made.bytes() + from_first / WORD as usize * size_of::<Bits>();
        // SAFETY: inside the arena, as said, which is readable; integers, aligned as the tables are.
        let (slab, word) = unsafe {
            let base = arena.base();
            let slab = base.byte_add(slab).cast::<Slab>().as_ref();
            (slab, base.byte_add(word).cast::<Bits>().as_ref())
        };
        let opened = &slab.opened;
        // Acquire: pairs with the release in `begin_life`.
        let life = opened.load(Ordering::Acquire);
        if !word.has(from_first as u32) {
            return None;
        }
        // SAFETY: slabs come after the pool's own state, so the place is not 0.
        let block = unsafe { Offset::from_raw_unchecked(granules as u32) };
        Some(Found {
            block,
            life,
            opened,
        })
    }

    fn made(&self, arena: Arena) -> &[Bits] {
        let words = bits::words(self.granules.into()) as usize;
        // SAFETY: laid out in `lay_out`.
        unsafe { arena.slice(self.made, words) }
    }

    /// The headers of a slab's blocks `numbers` are written.
    pub(super) fn note_made(
        &self,
        arena: Arena,
        classes: &Classes,
        class: Class,
        index: u32,
        numbers: Range<u32>,
    ) {
        let made = self.made(arena);
        for number in numbers {
            let block = self.block(classes, class, index, number);
            bits::add(made, block.raw() - self.first.raw());
        }
    }

    /// The slab is the caller's (S1): it has no blocks any more.
    pub(super) fn forget_made(&self, arena: Arena, index: u32) {
        let granules = self.granules / self.count;
        let words = granules / WORD;
        // A slab has whole words but for those of models, which are small.
        if words == 0 {
            let mask = u64::MAX >> (WORD - granules) << (index * granules % WORD);
            self.made(arena)[(index * granules / WORD) as usize].remove_mask(mask);
            return;
        }
        for word in &self.made(arena)[(index * words) as usize..][..words as usize] {
            // Most of them have nothing to forget, and are not to be written.
            if !word.is_empty() {
                word.reset();
            }
        }
    }

    /// What is written to a slab from here on is not seen before the beginning of its life is.
    pub(super) fn begin_writing() {
        // Pairs with the fence in `was_a_block`.
        fence(Ordering::Release);
    }
}
