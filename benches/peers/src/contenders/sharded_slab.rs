//! `sharded-slab`: its pool, which keeps what its slots hold. Buffers are named by keys, as its users do it.

use super::block::Block;
use crate::contender::{Contender, Need, SIZES, Source, chain_through_data, class_of};
use sharded_slab::{Clear, Pool};
use std::ptr::NonNull;

pub(crate) struct Slabs([Pool<Slot>; SIZES.len()]);

#[derive(Default)]
struct Slot(Block);

impl Clear for Slot {
    fn clear(&mut self) {}
}

/// A slot that is taken, and where its memory is.
pub(crate) struct Taken {
    key: usize,
    class: usize,
    address: NonNull<u8>,
}

// SAFETY: who has it owns the memory there.
unsafe impl Send for Taken {}

impl Source for Slabs {
    type Buffer = Taken;

    #[inline(always)]
    fn alloc(&self, size: usize) -> Taken {
        let class = class_of(size);
        let mut slot = self.0[class].create().expect("room for as many");
        if slot.0.is_none() {
            slot.0 = Block::new(SIZES[class]);
        }
        Taken {
            key: slot.key(),
            class,
            address: slot.0.address(),
        }
    }

    #[inline(always)]
    fn free(&self, buffer: Taken) {
        self.0[buffer.class].clear(buffer.key);
    }
}

impl Contender for Slabs {
    type Buffer = Taken;
    type Thread<'a> = &'a Self;

    fn new(need: Need) -> Result<Self, String> {
        let warm = Self(need.pools(|_, _| Pool::new()));
        for &size in need.sizes {
            let taken: Vec<_> = (0..need.count).map(|_| warm.alloc(size)).collect();
            taken.into_iter().for_each(|taken| warm.free(taken));
        }
        Ok(warm)
    }

    fn thread(&self) -> &Self {
        self
    }

    #[inline(always)]
    fn data(buffer: &Taken) -> *mut u8 {
        buffer.address.as_ptr()
    }
}

chain_through_data!([] Slabs);
