//! crossbeam's bounded queue as a list of free buffers, one for each size.

use super::block::{Block, Part};
use crate::contender::{Contender, Need, SIZES, Source, chain_through_data, class_of};
use crossbeam_queue::ArrayQueue;
use std::ptr::NonNull;

pub(crate) struct Queues {
    free: [ArrayQueue<Address>; SIZES.len()],
    _memory: [Block; SIZES.len()],
}

struct Address(NonNull<u8>);

// SAFETY: memory that belongs to who takes it out of the queue.
unsafe impl Send for Address {}

impl Source for Queues {
    type Buffer = Part;

    #[inline(always)]
    fn alloc(&self, size: usize) -> Part {
        let class = class_of(size);
        let Address(address) = self.free[class].pop().expect("as many as are needed");
        Part { address, class }
    }

    #[inline(always)]
    fn free(&self, buffer: Part) {
        let pushed = self.free[buffer.class].push(Address(buffer.address));
        debug_assert!(pushed.is_ok(), "there is room for all");
    }
}

impl Contender for Queues {
    type Buffer = Part;
    type Thread<'a> = &'a Self;

    fn new(need: Need) -> Result<Self, String> {
        let memory = need.pools(|size, count| Block::new(size * count));
        let free = need.pools(|size, count| {
            let queue = ArrayQueue::new(count.max(1));
            for address in memory[class_of(size)].parts(size) {
                let pushed = queue.push(Address(address));
                debug_assert!(pushed.is_ok(), "made for as many");
            }
            queue
        });
        Ok(Self {
            free,
            _memory: memory,
        })
    }

    fn thread(&self) -> &Self {
        self
    }

    #[inline(always)]
    fn data(buffer: &Part) -> *mut u8 {
        buffer.address.as_ptr()
    }
}

chain_through_data!([] Queues);
