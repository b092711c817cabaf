//! Size classes: how much data a block of each class carries, and how many blocks a magazine of it holds.
//!
//! Class 0 is a bare header, for copy-refs and for mbufs without data. Classes from 1 up carry data in steps of 64
//! bytes to 256, then four steps per doubling, so no request from 256 bytes up wastes more than a quarter and each block is
//! whole cache lines. The largest class is cut to what fits in a slab twice. What is larger is a span of whole slabs.

use crate::arena::{GRANULE, InArena};
use crate::header::HEADER;

/// The most an mbuf holds: 4 GiB, itself included.
pub(crate) const MAX_DATA: u64 = 1 << 32;

/// Room for every class of the largest slab, and one for spans.
#[cfg(not(loom))]
pub(crate) const CLASSES: usize = 54;
/// Under the model checker: bare headers, two sizes of data, and spans.
#[cfg(loom)]
pub(crate) const CLASSES: usize = 4;

#[cfg(not(loom))]
const SLAB_SHIFTS: std::ops::RangeInclusive<u32> = 16..=21;
#[cfg(loom)]
const SLAB_SHIFTS: std::ops::RangeInclusive<u32> =
    LOOM_SLAB.trailing_zeros()..=LOOM_SLAB.trailing_zeros();

/// Bytes of a slab under the model checker: three or four blocks of any class.
///
/// A pool for a model is built with a capacity of as many slabs as it needs; each class in use takes one at least.
#[cfg(loom)]
pub const LOOM_SLAB: u64 = (4 * HEADER as u64).next_power_of_two();

/// A magazine keeps at most this part of a slab from other threads.
const MAGAZINE_SHARE: u64 = if cfg!(loom) { 1 } else { 4 };

/// A size class, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(transparent)]
pub(crate) struct Class(u8);

impl Class {
    /// Bare headers.
    pub(crate) const HEADER: Self = Self(0);
    /// Not a size: the spans, where a table has a line for each class.
    pub(crate) const SPAN: Self = Self(CLASSES as u8 - 1);

    /// # Safety
    /// `number` is below [`CLASSES`].
    #[inline(always)]
    pub(crate) unsafe fn from_raw_unchecked(number: u8) -> Self {
        debug_assert!((number as usize) < CLASSES);
        Self(number)
    }

    pub(crate) fn from_index(index: usize) -> Self {
        debug_assert!(index < CLASSES);
        Self(index as u8)
    }

    #[inline(always)]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    #[inline(always)]
    pub(crate) const fn raw(self) -> u8 {
        self.0
    }

    /// The smallest class that carries `size` bytes, were slabs large enough for it. Constant when `size` is.
    #[inline(always)]
    pub(crate) const fn of(size: usize) -> Self {
        if size == 0 {
            return Self::HEADER;
        }
        let below = (size - 1) / GRANULE;
        // With fewer than 8 granules the steps are single granules, as in the first doubling.
        let top_bit = usize::BITS - 1 - (below | 4).leading_zeros();
        let shift = top_bit - 2;
        Self((4 * shift as usize + (below >> shift) + 1) as u8)
    }

    /// Bytes of data a block of this class would carry, were slabs large enough.
    const fn nominal(self) -> u64 {
        if self.0 == 0 {
            return 0;
        }
        let step = self.0 as u64 - 1;
        let granules = if step < 8 {
            step + 1
        } else {
            (step % 4 + 5) << (step / 4 - 1)
        };
        granules * GRANULE as u64
    }
}

/// The classes of one pool: fixed when it is built.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Classes {
    slab_shift: u32,
    count: u32,
    largest: u64,
    magazine: [u32; CLASSES],
    /// By class: 2^32 over the granules of a block, rounded up.
    reciprocal: [u32; CLASSES],
}

// SAFETY: integers, for which zero bytes are a value.
unsafe impl InArena for Classes {
    fn fresh() -> Self {
        Self {
            slab_shift: 0,
            count: 0,
            largest: 0,
            magazine: [0; CLASSES],
            reciprocal: [0; CLASSES],
        }
    }
}

impl Classes {
    /// Bytes of data that some class of any pool carries.
    pub(crate) const SURE: usize = Self::largest_in(*SLAB_SHIFTS.start()) as usize;

    /// The classes of a pool of `capacity` bytes.
    ///
    /// The slab is the largest that lets one of every class fit into a quarter of the pool, so that the
    /// rest can serve a single class; never below the smallest slab, of which a small pool then has too few for every
    /// class.
    pub(crate) fn of_pool(capacity: u64, magazine_size: u32) -> Self {
        let slab_shift = Self::slab_shift_of(capacity);
        let mut classes = Self {
            slab_shift,
            count: Self::count_in(slab_shift),
            largest: Self::largest_in(slab_shift),
            magazine: [0; CLASSES],
            reciprocal: [0; CLASSES],
        };
        for class in classes.all() {
            let share = classes.slab_bytes() / MAGAZINE_SHARE / classes.block_bytes(class);
            let most = share.clamp(1, magazine_size.into());
            classes.magazine[class.index()] = most as u32;
            let granules = classes.block_bytes(class) / GRANULE as u64;
            classes.reciprocal[class.index()] = (u64::from(u32::MAX) / granules + 1) as u32;
        }
        classes
    }

    fn slab_shift_of(capacity: u64) -> u32 {
        let fits = |shift: &u32| u64::from(Self::count_in(*shift)) << *shift <= capacity / 4;
        SLAB_SHIFTS.rev().find(fits).unwrap_or(*SLAB_SHIFTS.start())
    }

    /// How many blocks make a magazine in a pool of `capacity` bytes, at most `most`.
    ///
    /// An idle thread's loaded magazine keeps the slabs that its blocks lie in from other classes: at worst as many as it has
    /// blocks. So a magazine holds at most a block for every eighth slab.
    pub(crate) fn fair_magazine(capacity: u64, most: u32) -> u32 {
        let slabs = capacity >> Self::slab_shift_of(capacity);
        (slabs / 8).clamp(1, most.into()) as u32
    }

    const fn largest_in(slab_shift: u32) -> u64 {
        (1 << (slab_shift - 1)) - HEADER as u64
    }

    fn count_in(slab_shift: u32) -> u32 {
        let by_size = Class::of(Self::largest_in(slab_shift) as usize).index() + 1;
        by_size.min(CLASSES - 1) as u32
    }

    #[inline]
    pub(crate) fn slab_shift(&self) -> u32 {
        self.slab_shift
    }

    #[inline]
    pub(crate) fn slab_bytes(&self) -> u64 {
        1 << self.slab_shift
    }

    /// Bytes of data beyond which a request is a span.
    #[inline(always)]
    pub(crate) fn largest(&self) -> u64 {
        self.largest
    }

    /// The classes this pool's slabs serve, spans aside.
    pub(crate) fn all(&self) -> impl Iterator<Item = Class> + use<> {
        (0..self.count as usize).map(Class::from_index)
    }

    /// Bytes of data that a block of `class` carries.
    pub(crate) fn data_bytes(&self, class: Class) -> u64 {
        class.nominal().min(self.largest)
    }

    /// Bytes of a block of `class`, its header included: whole granules.
    pub(crate) fn block_bytes(&self, class: Class) -> u64 {
        HEADER as u64 + self.data_bytes(class)
    }

    /// How many blocks of `class` a slab has.
    pub(crate) fn blocks_per_slab(&self, class: Class) -> u32 {
        (self.slab_bytes() / self.block_bytes(class)) as u32
    }

    /// How many blocks of `class` fill a magazine, at least 1.
    #[inline]
    pub(crate) fn magazine(&self, class: Class) -> u32 {
        self.magazine[class.index()]
    }

    /// Which block of its slab, all of `class`, the byte at `inside` belongs to.
    ///
    /// By multiplication, exact for whole granules of a slab: there are at most 2^15, so the reciprocal's error, less than a
    /// block's granules in 2^32, does not add up to one block.
    #[inline]
    pub(crate) fn block_number(&self, class: Class, inside: u64) -> u32 {
        debug_assert!(inside < self.slab_bytes());
        let granules = inside / GRANULE as u64;
        ((granules * u64::from(self.reciprocal[class.index()])) >> 32) as u32
    }

    /// How many slabs a span with `data` bytes takes.
    pub(crate) fn span_slabs(&self, data: u64) -> u64 {
        (data + HEADER as u64).div_ceil(self.slab_bytes())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn pool(capacity: u64) -> Classes {
        Classes::of_pool(capacity, 64)
    }

    #[test]
    fn every_size_gets_the_smallest_class_that_carries_it() {
        let classes = pool(8 << 30);
        let mut size = 1;
        while size <= classes.largest() {
            for size in [size, size.saturating_sub(1), size + 1, size + 63, size + 64] {
                if size > classes.largest() {
                    continue;
                }
                let class = Class::of(size as usize);
                assert!(classes.data_bytes(class) >= size, "{size} in {class:?}");
                if class.index() > 0 {
                    let smaller = Class::from_index(class.index() - 1);
                    assert!(classes.data_bytes(smaller) < size, "{size} in {class:?}");
                }
            }
            size += size / 16 + 1;
        }
    }

    #[test]
    fn no_request_from_256_bytes_wastes_more_than_a_quarter() {
        let classes = pool(8 << 30);
        for size in (256..100_000).chain([900_000, 1_000_000]) {
            let given = classes.data_bytes(Class::of(size as usize));
            assert!((given - size) * 4 <= size, "{size} gets {given}");
        }
    }

    #[test]
    fn the_largest_class_fits_twice_in_a_slab() {
        for capacity in [
            1,
            1 << 20,
            16 << 20,
            40 << 20,
            100 << 20,
            1 << 30,
            256 << 30,
        ] {
            let classes = pool(capacity);
            let last = classes.all().last().unwrap();
            assert_eq!(classes.data_bytes(last), classes.largest());
            assert_eq!(classes.blocks_per_slab(last), 2);
            assert_eq!(Class::of(classes.largest() as usize), last);
            assert!(classes.all().count() < CLASSES);
        }
    }

    #[test]
    fn slabs_leave_three_quarters_of_a_pool_to_one_class() {
        for capacity in [9 << 20, 64 << 20, 1 << 30, 8u64 << 30] {
            let classes = pool(capacity);
            let all = classes.all().count() as u64 * classes.slab_bytes();
            assert!(all <= capacity / 4, "{capacity}: {all}");
        }
        assert_eq!(pool(1 << 30).slab_bytes(), 2 << 20);
        assert_eq!(pool(4 << 20).slab_bytes(), 64 << 10);
    }

    #[test]
    fn magazines_are_never_empty_nor_over_their_size() {
        let classes = pool(64 << 20);
        for class in classes.all() {
            assert!((1..=64).contains(&classes.magazine(class)));
        }
        assert_eq!(classes.magazine(Class::HEADER), 64);
        assert_eq!(Classes::of_pool(64 << 20, 1).magazine(Class::HEADER), 1);
    }

    #[test]
    fn a_magazine_keeps_at_most_a_quarter_of_a_slab_from_others() {
        let classes = pool(64 << 20);
        for class in classes.all() {
            let most = classes.magazine(class);
            let kept = u64::from(most) * classes.block_bytes(class);
            assert!(most == 1 || kept <= classes.slab_bytes() / 4, "{class:?}");
        }
    }

    #[test]
    fn a_fair_magazine_cannot_keep_more_than_an_eighth_of_the_slabs() {
        assert_eq!(Classes::fair_magazine(1, 64), 1);
        assert_eq!(Classes::fair_magazine(1 << 20, 64), 2);
        assert_eq!(Classes::fair_magazine(16 << 20, 64), 32);
        assert_eq!(Classes::fair_magazine(1 << 30, 64), 64);
    }

    #[test]
    fn every_granule_of_a_slab_is_its_blocks() {
        for capacity in [1, 64 << 20, 1 << 30] {
            let classes = pool(capacity);
            for class in classes.all() {
                for inside in (0..classes.slab_bytes()).step_by(GRANULE) {
                    let number = inside / classes.block_bytes(class);
                    assert_eq!(u64::from(classes.block_number(class, inside)), number);
                }
            }
        }
    }

    #[test]
    fn a_span_has_room_for_its_header() {
        let classes = pool(8 << 30);
        assert_eq!(classes.span_slabs(2 << 20), 2);
        assert_eq!(classes.span_slabs((2 << 20) - HEADER as u64), 1);
        assert_eq!(classes.span_slabs(MAX_DATA), 2049);
    }
}
