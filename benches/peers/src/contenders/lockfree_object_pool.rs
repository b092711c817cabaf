//! `lockfree-object-pool`: its linear pool, the fastest of its kinds.

use super::block::Block;
use crate::contender::{Contender, Need, SIZES, Source, chain_through_data, class_of};
use lockfree_object_pool::{LinearObjectPool, LinearReusable};
use std::ptr::NonNull;

/// One pool for each size, at addresses that outlive the guards.
pub(crate) struct Objects([NonNull<LinearObjectPool<Block>>; SIZES.len()]);

// SAFETY: only shared references to pools are made, which may be used on any thread.
unsafe impl Sync for Objects {}

impl Source for Objects {
    type Buffer = LinearReusable<'static, Block>;

    #[inline(always)]
    fn alloc(&self, size: usize) -> Self::Buffer {
        // SAFETY: pools live until the contender is dropped, and all guards are gone by then.
        let pool: &'static LinearObjectPool<_> = unsafe { self.0[class_of(size)].as_ref() };
        pool.pull()
    }

    #[inline(always)]
    fn free(&self, buffer: Self::Buffer) {
        drop(buffer);
    }
}

impl Contender for Objects {
    type Buffer = LinearReusable<'static, Block>;
    type Thread<'a> = &'a Self;

    /// The pools start empty, and cannot be asked to make objects ready.
    fn new(need: Need) -> Result<Self, String> {
        Ok(Self(need.pools(|size, count| {
            let size = if count == 0 { 0 } else { size };
            let pool = LinearObjectPool::new(move || Block::new(size), |_| {});
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
