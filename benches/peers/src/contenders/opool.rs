//! `opool`: objects in a lock-free queue, returned when their guard goes.

use super::block::Block;
use crate::contender::{Contender, Need, SIZES, Source, chain_through_data, class_of};
use opool::{Pool, PoolAllocator, RefGuard};
use std::ptr::NonNull;

/// Makes blocks of its size.
pub(crate) struct Maker(pub(super) usize);

impl PoolAllocator<Block> for Maker {
    fn allocate(&self) -> Block {
        Block::new(self.0)
    }
}

/// One pool for each size, at addresses that outlive the guards.
pub(crate) struct Objects([NonNull<Pool<Maker, Block>>; SIZES.len()]);

// SAFETY: only shared references to pools are made, which may be used on any thread.
unsafe impl Sync for Objects {}

impl Source for Objects {
    type Buffer = RefGuard<'static, Maker, Block>;

    #[inline(always)]
    fn alloc(&self, size: usize) -> Self::Buffer {
        // SAFETY: pools live until the contender is dropped, and all guards are gone by then.
        let pool: &'static Pool<_, _> = unsafe { self.0[class_of(size)].as_ref() };
        pool.get()
    }

    #[inline(always)]
    fn free(&self, buffer: Self::Buffer) {
        drop(buffer);
    }
}

impl Contender for Objects {
    type Buffer = RefGuard<'static, Maker, Block>;
    type Thread<'a> = &'a Self;

    fn new(need: Need) -> Result<Self, String> {
        Ok(Self(need.pools(|size, count| {
            let pool = Pool::new_prefilled(count.max(1), Maker(if count == 0 { 0 } else { size }));
            NonNull::from(Box::leak(Box::new(pool)))
        })))
    }

    fn thread(&self) -> &Self {
        self
    }

    #[inline(always)]
    fn data(buffer: &Self::Buffer) -> *mut u8 {
        buffer.address().as_ptr()
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        for pool in self.0 {
            // SAFETY: leaked by `new`; no guard is left.
            drop(unsafe { Box::from_raw(pool.as_ptr()) });
        }
    }
}

chain_through_data!([] Objects);
