//! `Arc<[u8]>`: the standard library's counted memory, on the default allocator.

use crate::contender::{self, Contender, Need, Sharing, Source, USER_AREA};
use std::mem::MaybeUninit;
use std::sync::Arc;

pub(crate) struct Counted;

type Memory = Arc<[MaybeUninit<u8>]>;

/// A reference and what travels with it.
pub(crate) struct Packet {
    memory: Memory,
    user: [u8; USER_AREA],
}

impl Source for Counted {
    type Buffer = Memory;

    #[inline(always)]
    fn alloc(&self, size: usize) -> Memory {
        Arc::new_uninit_slice(size)
    }

    #[inline(always)]
    fn free(&self, buffer: Memory) {
        drop(buffer);
    }
}

impl Contender for Counted {
    type Buffer = Memory;
    type Thread<'a> = &'a Self;

    fn new(_: Need) -> Result<Self, String> {
        Ok(Self)
    }

    fn thread(&self) -> &Self {
        self
    }

    #[inline(always)]
    fn data(buffer: &Memory) -> *mut u8 {
        Arc::as_ptr(buffer).cast::<u8>().cast_mut()
    }
}

impl Sharing for Counted {
    type Shared = Packet;

    #[inline(always)]
    fn share(buffer: Memory, user: &[u8; USER_AREA]) -> Packet {
        Packet {
            memory: buffer,
            user: *user,
        }
    }

    #[inline(always)]
    fn copy(_: &&Self, original: &Packet) -> Packet {
        Packet {
            memory: Arc::clone(&original.memory),
            user: original.user,
        }
    }

    #[inline(always)]
    fn free_shared(_: &&Self, shared: Packet) {
        drop(shared);
    }

    #[inline(always)]
    fn read_shared(shared: &Packet) -> u64 {
        // SAFETY: as many were written before it was shared.
        unsafe { contender::sum(Self::data(&shared.memory)) }
    }

    fn user(shared: &Packet) -> [u8; USER_AREA] {
        shared.user
    }
}
