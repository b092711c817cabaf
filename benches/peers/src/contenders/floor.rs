//! The floor: no allocator, only pointers that are popped off a `Vec` and pushed onto it.

use super::block::Block;
use crate::contender::{Contender, Need, Source, chain_through_data};
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::ptr::NonNull;

/// One size for all: as large as the largest that is needed.
pub(crate) struct Floor {
    memory: Block,
    size: usize,
}

/// A thread's stack. Each thread's points to the same memory, which workloads on several threads do not touch.
pub(crate) struct Stack(UnsafeCell<Vec<Pointer>>);

pub(crate) struct Pointer(NonNull<u8>);

// SAFETY: a number; who may use what is there is up to the workload.
unsafe impl Send for Pointer {}

impl Source for Stack {
    type Buffer = Pointer;

    #[inline(always)]
    fn alloc(&self, _: usize) -> Pointer {
        // The stack is in memory and may have been looked at, so each pop and each push is done.
        let stack = black_box(self.0.get());
        // SAFETY: the cell's own pointer; every borrow of what is inside is as short as this.
        unsafe { (*stack).pop() }.expect("as many as any workload has out")
    }

    #[inline(always)]
    fn free(&self, buffer: Pointer) {
        let stack = black_box(self.0.get());
        // SAFETY: as in `alloc`.
        unsafe { (*stack).push(buffer) };
    }
}

impl Contender for Floor {
    type Buffer = Pointer;
    type Thread<'a> = Stack;

    fn new(need: Need) -> Result<Self, String> {
        let size = need.sizes.iter().copied().max().unwrap_or(1);
        let memory = Block::new(size * need.count);
        Ok(Self { memory, size })
    }

    fn thread(&self) -> Stack {
        let pointers = self.memory.parts(self.size).map(Pointer);
        Stack(UnsafeCell::new(pointers.collect()))
    }

    #[inline(always)]
    fn data(buffer: &Pointer) -> *mut u8 {
        buffer.0.as_ptr()
    }
}

chain_through_data!([] Floor);
