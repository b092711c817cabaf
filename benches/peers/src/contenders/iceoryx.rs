//! iceoryx2's pool allocator: a lock-free set of indices over buckets of one size.

use super::block::{Block, Part};
use crate::contender::{Contender, Need, SIZES, Source, chain_through_data, class_of};
use iceoryx2_bb_elementary_traits::allocator::Allocate;
use iceoryx2_bb_memory::heap_allocator::HeapAllocator;
use iceoryx2_bb_memory::pool_allocator::PoolAllocator;
// Its logger is found by a symbol.
use iceoryx2_bb_loggers as _;
use std::alloc::Layout;

/// One pool for each size, where it stays: its parts refer to each other by distance.
pub(crate) struct Buckets {
    pools: [Box<PoolAllocator>; SIZES.len()],
    _memory: [Block; SIZES.len()],
}

// SAFETY: allocating and freeing is what it makes for several threads and processes.
unsafe impl Sync for Buckets {}

#[inline(always)]
fn layout(size: usize) -> Layout {
    // SAFETY: a power of two, and sizes far below the limit.
    unsafe { Layout::from_size_align_unchecked(size, 64) }
}

impl Source for Buckets {
    type Buffer = Part;

    #[inline(always)]
    fn alloc(&self, size: usize) -> Part {
        let class = class_of(size);
        let address = self.pools[class].allocate(layout(size));
        Part {
            address: address.expect("as many as are needed"),
            class,
        }
    }

    #[inline(always)]
    fn free(&self, buffer: Part) {
        // SAFETY: allocated there, and given up.
        unsafe { self.pools[buffer.class].deallocate_bucket(buffer.address) };
    }
}

impl Contender for Buckets {
    type Buffer = Part;
    type Thread<'a> = &'a Self;

    /// What manages the buckets comes from the heap and is lost with the contender, as its allocator frees nothing.
    fn new(need: Need) -> Result<Self, String> {
        let memory = need.pools(|size, count| Block::new(size * count.max(1)));
        let mut failed = None;
        let pools = need.pools(|size, count| {
            let start = memory[class_of(size)].address();
            // SAFETY: the memory is there for as long as the pool, and is initialised at its final place.
            unsafe {
                let pool = PoolAllocator::new_uninit(layout(size), start, size * count.max(1));
                let mut pool = Box::new(pool);
                if let Err(error) = pool.init(&HeapAllocator::new()) {
                    failed = Some(format!("{error:?}"));
                }
                pool
            }
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(Self {
                pools,
                _memory: memory,
            }),
        }
    }

    fn thread(&self) -> &Self {
        self
    }

    #[inline(always)]
    fn data(buffer: &Part) -> *mut u8 {
        buffer.address.as_ptr()
    }
}

chain_through_data!([] Buckets);
