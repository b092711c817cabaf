//! `opool`'s other kind of pool, for one thread: no atomics, and nothing leaves the thread.

use super::block::Block;
use super::opool::Maker;
use crate::contender::{Contender, Need, SIZES, Source, chain_through_data, class_of};
use opool::{LocalPool, RefLocalGuard};
use std::ptr::NonNull;

/// One pool for each size, at addresses that outlive the guards.
pub(crate) struct Objects([NonNull<LocalPool<Maker, Block>>; SIZES.len()]);

// SAFETY: entered only for workloads in which one thread at a time uses it, after the thread that made it, which waits until the other has
// ended. Nothing in such a pool depends on which thread that is.
unsafe impl Sync for Objects {}

/// A guard, which the traits want to be one that could be sent.
pub(crate) struct Guard(RefLocalGuard<'static, Maker, Block>);

// SAFETY: as for `Objects`: none is sent to a thread that runs at the same time as another with access to the pool.
unsafe impl Send for Guard {}

impl Source for Objects {
    type Buffer = Guard;

    #[inline(always)]
    fn alloc(&self, size: usize) -> Guard {
        // SAFETY: pools live until the contender is dropped, and all guards are gone by then.
        let pool: &'static LocalPool<_, _> = unsafe { self.0[class_of(size)].as_ref() };
        Guard(pool.get())
    }

    #[inline(always)]
    fn free(&self, buffer: Guard) {
        drop(buffer);
    }
}

impl Contender for Objects {
    type Buffer = Guard;
    type Thread<'a> = &'a Self;

    fn new(need: Need) -> Result<Self, String> {
        Ok(Self(need.pools(|size, count| {
            let pool = LocalPool::new_prefilled(count, Maker(size));
            NonNull::from(Box::leak(Box::new(pool)))
        })))
    }

    fn thread(&self) -> &Self {
        self
    }

    #[inline(always)]
    fn data(buffer: &Guard) -> *mut u8 {
        buffer.0.address().as_ptr()
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
