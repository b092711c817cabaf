//! Whether a place is a block: for handles that come from outside and may be anything.

use super::SlabTable;
use crate::arena::{Arena, Offset};
use crate::class::{Class, Classes};

impl SlabTable {
    /// The block that begins `granules` from the arena's base, free or not, if one does, and its class.
    ///
    /// Reads the slab table only. The answer holds while the block is somebody's; of a free one it may be out of date.
    #[inline(always)]
    pub(crate) fn block_at(
        &self,
        arena: Arena,
        classes: &Classes,
        granules: usize,
    ) -> Option<(Offset, Class)> {
        let from_first = granules.wrapping_sub(self.first.raw() as usize) as u64;
        let index = from_first >> self.granule_shift;
        if index >= u64::from(self.count) {
            return None;
        }
        let (class, carved) = self.slab(arena, index as u32).state.blocks()?;
        let inside = from_first & u64::from(self.granule_mask);
        let number = classes.exact_block_number(class, inside)?;
        if number >= carved {
            return None;
        }
        // SAFETY: slabs come after the pool's own state, so the place is not 0.
        Some((
            unsafe { Offset::from_raw_unchecked(granules as u32) },
            class,
        ))
    }
}
