//! Whether a place is a block: for handles that come from outside and may be anything.
//!
//! A set has each granule of the slabs at which a block's header lies (S5). Nothing is pinned meanwhile, so a slab may leave
//! its class, and its memory become data, between a look at the set and one at a header. Who looks therefore looks at the set
//! again afterwards. What could still deceive him is a slab that becomes data and then has a block at this very place again,
//! each between two of his instructions, with data that looks like a live header.

use super::SlabTable;
use crate::arena::{Arena, Offset};
use crate::bits::{self, Bits, WORD};
use crate::class::{Class, Classes};
use crate::sync::{Ordering, fence};
use std::ops::Range;

/// A block, free or not, at the time of a look.
pub(crate) struct Found<'a> {
    pub(crate) block: Offset,
    word: &'a Bits,
    bit: u32,
}

impl Found<'_> {
    /// Whether what was read of the block's header since it was found was a header's.
    #[inline(always)]
    pub(crate) fn was_a_block(&self) -> bool {
        // Pairs with the fence in `begin_writing`: who has read what was written after the block was no more sees here that it is
        // no more.
        fence(Ordering::Acquire);
        self.word.has(self.bit)
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
        let bytes = self.made.bytes() + from_first / WORD as usize * size_of::<Bits>();
        // SAFETY: laid out in `lay_out`: a bit for each of the granules.
        let word = unsafe { arena.base().byte_add(bytes).cast::<Bits>().as_ref() };
        let bit = from_first as u32 % WORD;
        if !word.has_acquired(bit) {
            return None;
        }
        // SAFETY: slabs come after the pool's own state, so the place is not 0.
        let block = unsafe { Offset::from_raw_unchecked(granules as u32) };
        Some(Found { block, word, bit })
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

    /// What is written to slabs from here on is not seen before what was forgotten of them.
    pub(super) fn begin_writing() {
        // Pairs with the fence in `was_a_block`.
        fence(Ordering::Release);
    }
}
