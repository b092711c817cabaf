//! `bytes`: a buffer of one's own, then counted references to it, on the default allocator.

use crate::contender::{self, Chaining, Contender, Need, Sharing, Source, USER_AREA, WRITTEN};
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;

pub(crate) struct Owned;

/// A reference and what travels with it. A `Bytes` has no room for the user's own, so it stands beside it.
pub(crate) struct Packet {
    bytes: Bytes,
    user: [u8; USER_AREA],
}

impl Source for Owned {
    type Buffer = BytesMut;

    #[inline(always)]
    fn alloc(&self, size: usize) -> BytesMut {
        BytesMut::with_capacity(size)
    }

    #[inline(always)]
    fn free(&self, buffer: BytesMut) {
        drop(buffer);
    }
}

impl Contender for Owned {
    type Buffer = BytesMut;
    type Thread<'a> = &'a Self;

    fn new(_: Need) -> Result<Self, String> {
        Ok(Self)
    }

    fn thread(&self) -> &Self {
        self
    }

    #[inline(always)]
    fn data(buffer: &BytesMut) -> *mut u8 {
        buffer.as_ptr().cast_mut()
    }

    #[inline(always)]
    fn write(buffer: &mut BytesMut, bytes: &[u8; WRITTEN]) {
        buffer.extend_from_slice(bytes);
    }
}

impl Sharing for Owned {
    type Shared = Packet;

    #[inline(always)]
    fn share(buffer: BytesMut, user: &[u8; USER_AREA]) -> Packet {
        Packet {
            bytes: buffer.freeze(),
            user: *user,
        }
    }

    #[inline(always)]
    fn copy(_: &&Self, original: &Packet) -> Packet {
        Packet {
            bytes: original.bytes.clone(),
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
        unsafe { contender::sum(shared.bytes.as_ptr()) }
    }

    fn user(shared: &Packet) -> [u8; USER_AREA] {
        shared.user
    }
}

/// As users of `bytes` keep messages of several parts.
impl Chaining for Owned {
    type Chain = VecDeque<Bytes>;

    #[inline(always)]
    fn start(buffer: BytesMut) -> VecDeque<Bytes> {
        let mut chain = VecDeque::new();
        Self::append(&mut chain, buffer);
        chain
    }

    #[inline(always)]
    fn append(chain: &mut VecDeque<Bytes>, mut buffer: BytesMut) {
        // SAFETY: there is room, and nothing reads what is there.
        unsafe { buffer.set_len(WRITTEN) };
        chain.push_back(buffer.freeze());
    }

    #[inline(always)]
    fn total_len(chain: &VecDeque<Bytes>) -> usize {
        chain.iter().map(Bytes::len).sum()
    }

    #[inline(always)]
    fn free_chain(_: &&Self, chain: VecDeque<Bytes>) {
        drop(chain);
    }
}
