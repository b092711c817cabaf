//! Whether a place is a block: for handles that come from outside and may be anything.
//!
//! Nothing is pinned meanwhile, so a slab may leave its class, and its memory become data, between a look at its state and
//! one at a header. Who looks therefore looks at the state again afterwards: while that names one life of the slab, what lies
//! at a block that was made is a header.

use super::SlabTable;
use super::state::{Life, SlabState};
use crate::arena::{Arena, Offset};
use crate::bits::{self, Bits, WORD};
use crate::class::{Class, Classes};
use std::ops::Range;

/// A block, free or not, at the time of a look.
pub(crate) struct Found<'a> {
    pub(crate) block: Offset,
    pub(crate) class: Class,
    state: &'a SlabState,
    life: Life,
}

impl Found<'_> {
    /// Whether what was read of the block's header before was a header's.
    #[inline(always)]
    pub(crate) fn was_a_block(&self) -> bool {
        self.state.still_lives(self.life)
    }
}

impl SlabTable {
    /// The block that begins `granules` from the arena's base, if one does.
    ///
    /// Reads the slab table only. If the block is not somebody's, what its header says is worth something only if it
    /// [was a block](Found::was_a_block).
    #[inline(always)]
    pub(crate) fn block_at(
        &self,
        arena: Arena,
        classes: &Classes,
        granules: usize,
    ) -> Option<Found<'_>> {
        let from_first = granules.wrapping_sub(self.first.raw() as usize) as u64;
        let index = from_first >> self.granule_shift;
        if index >= u64::from(self.count) {
            return None;
        }
        let index = index as u32;
        let state = &self.slab(arena, index).state;
        let (life, class) = state.life()?;
        let inside = from_first & u64::from(self.granule_mask);
        let number = classes.exact_block_number(class, inside)?;
        if !self.is_made(arena, index, number) {
            return None;
        }
        // SAFETY: slabs come after the pool's own state, so the place is not 0.
        let block = unsafe { Offset::from_raw_unchecked(granules as u32) };
        Some(Found {
            block,
            class,
            state,
            life,
        })
    }

    #[inline(always)]
    fn is_made(&self, arena: Arena, index: u32, number: u32) -> bool {
        let word = number / WORD;
        if word >= self.home_words {
            return false;
        }
        let at = index as usize * self.home_words as usize + word as usize;
        let bytes = self.exists.bytes() + at * size_of::<Bits>();
        // SAFETY: laid out in `lay_out`: `home_words` words for each slab.
        let word = unsafe { arena.base().byte_add(bytes).cast::<Bits>().as_ref() };
        bits::has(word, number)
    }

    fn made(&self, arena: Arena, index: u32) -> &[Bits] {
        let words = self.home_words as usize;
        // SAFETY: as in `is_made`.
        unsafe {
            &arena.slice(self.exists, words * self.count as usize)[index as usize * words..]
                [..words]
        }
    }

    /// The headers of a slab's blocks `numbers` are written.
    pub(super) fn note_made(&self, arena: Arena, index: u32, numbers: Range<u32>) {
        bits::add_range(self.made(arena, index), numbers);
    }

    /// The slab is the caller's (S1): its first `carved` blocks are no more.
    pub(super) fn forget_made(&self, arena: Arena, index: u32, carved: u32) {
        for word in &self.made(arena, index)[..bits::words(carved.into()) as usize] {
            word.reset();
        }
    }
}
