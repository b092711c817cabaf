//! Where buffers come from: one trait, so that everything measured does the same work.

use mbuf::{LocalPool, Mbuf, Pool};
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::ptr;

/// Gives buffers out and takes them back.
pub(super) trait Source {
    type Buffer;

    fn alloc(&self, size: usize) -> Self::Buffer;

    fn free(&self, buffer: Self::Buffer);
}

impl Source for Pool {
    type Buffer = Mbuf;

    #[inline(always)]
    fn alloc(&self, size: usize) -> Mbuf {
        Pool::alloc(self, size).expect("the pool is large enough")
    }

    #[inline(always)]
    fn free(&self, buffer: Mbuf) {
        drop(buffer);
    }
}

impl Source for LocalPool {
    type Buffer = Mbuf;

    #[inline(always)]
    fn alloc(&self, size: usize) -> Mbuf {
        LocalPool::alloc(self, size).expect("the pool is large enough")
    }

    #[inline(always)]
    fn free(&self, buffer: Mbuf) {
        LocalPool::free(self, buffer);
    }
}

/// The floor: no buffers, only pointers that are popped off a `Vec` and pushed onto it.
pub(super) struct Floor(UnsafeCell<Vec<*mut u8>>);

impl Floor {
    pub(super) fn new() -> Self {
        Self(UnsafeCell::new(vec![ptr::dangling_mut(); super::RESERVED]))
    }
}

impl Source for Floor {
    type Buffer = *mut u8;

    #[inline(always)]
    fn alloc(&self, _: usize) -> *mut u8 {
        // The stack is in memory and may have been looked at, so each pop and each push is done.
        let stack = black_box(self.0.get());
        // SAFETY: the cell's own pointer; every borrow of what is inside is as short as this.
        unsafe { (*stack).pop() }.expect("as many as any workload has out")
    }

    #[inline(always)]
    fn free(&self, buffer: *mut u8) {
        let stack = black_box(self.0.get());
        // SAFETY: as in `alloc`.
        unsafe { (*stack).push(buffer) };
    }
}
