//! The crate itself, through the handle that any thread may use and through a thread's own.

use crate::contender::{
    Bulk, COPIES, Chaining, Contender, Need, Sharing, Source, USER_AREA, WRITTEN,
};
use mbuf::{HugePages, LocalPool, Mbuf, Pool};
use std::marker::PhantomData;

/// A kind of handle.
pub(crate) trait Handle: Source<Buffer = Mbuf> {
    fn of(pool: &Pool) -> Self;

    fn alloc_bulk(&self, size: usize, count: usize, out: &mut Vec<Mbuf>);
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

impl Handle for Pool {
    fn of(pool: &Pool) -> Self {
        pool.clone()
    }

    #[inline(always)]
    fn alloc_bulk(&self, size: usize, count: usize, out: &mut Vec<Mbuf>) {
        Pool::alloc_bulk(self, size, count, out).expect("the pool is large enough");
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

impl Handle for LocalPool {
    fn of(pool: &Pool) -> Self {
        pool.local()
    }

    #[inline(always)]
    fn alloc_bulk(&self, size: usize, count: usize, out: &mut Vec<Mbuf>) {
        LocalPool::alloc_bulk(self, size, count, out).expect("the pool is large enough");
    }
}

pub(crate) struct Ours<H> {
    pool: Pool,
    _handle: PhantomData<fn() -> H>,
}

impl<H: Handle + 'static> Contender for Ours<H> {
    type Buffer = Mbuf;
    type Thread<'a> = H;

    fn new(need: Need) -> Result<Self, String> {
        let pool = Pool::builder()
            .huge_pages(HugePages::Transparent)
            .build()
            .map_err(|error| error.to_string())?;
        let sizes = need.sizes.iter().map(|&size| (size, need.count));
        // Size 0 is for the headers of copies.
        for (size, count) in sizes.chain([(0, COPIES)]) {
            let reserved = pool.reserve(size, count);
            reserved.map_err(|error| error.to_string())?;
        }
        Ok(Self {
            pool,
            _handle: PhantomData,
        })
    }

    fn thread(&self) -> H {
        H::of(&self.pool)
    }

    #[inline(always)]
    fn data(buffer: &Mbuf) -> *mut u8 {
        buffer.data().as_ptr().cast_mut()
    }

    #[inline(always)]
    fn write(buffer: &mut Mbuf, bytes: &[u8; WRITTEN]) {
        buffer.extend_from_slice(bytes).expect("they fit");
    }

    #[inline(always)]
    fn read(buffer: &Mbuf) -> u64 {
        buffer.data().iter().map(|&byte| u64::from(byte)).sum()
    }
}

impl<H: Handle + 'static> Bulk for Ours<H> {
    #[inline(always)]
    fn alloc_bulk(thread: &H, size: usize, count: usize, out: &mut Vec<Mbuf>) {
        thread.alloc_bulk(size, count, out);
    }

    #[inline(always)]
    fn free_bulk(_: &H, buffers: &mut Vec<Mbuf>) {
        mbuf::free_bulk(buffers.drain(..));
    }
}

impl<H: Handle + 'static> Sharing for Ours<H> {
    type Shared = Mbuf;

    #[inline(always)]
    fn share(mut buffer: Mbuf, user: &[u8; USER_AREA]) -> Mbuf {
        *buffer.user_mut() = *user;
        buffer
    }

    #[inline(always)]
    fn copy(_: &H, original: &Mbuf) -> Mbuf {
        original.copy_ref().expect("the pool is large enough")
    }

    #[inline(always)]
    fn free_shared(thread: &H, shared: Mbuf) {
        thread.free(shared);
    }

    #[inline(always)]
    fn read_shared(shared: &Mbuf) -> u64 {
        Self::read(shared)
    }

    fn user(shared: &Mbuf) -> [u8; USER_AREA] {
        *shared.user()
    }
}

impl<H: Handle + 'static> Chaining for Ours<H> {
    type Chain = Mbuf;

    #[inline(always)]
    fn start(mut buffer: Mbuf) -> Mbuf {
        // SAFETY: it fits, and reserving wrote the memory. That this mbuf has not does not matter: nothing reads it.
        unsafe { buffer.set_len_unchecked(WRITTEN) };
        buffer
    }

    #[inline(always)]
    fn append(chain: &mut Mbuf, buffer: Mbuf) {
        let appended = chain.append(Self::start(buffer));
        appended.expect("short enough, and of one pool");
    }

    #[inline(always)]
    fn total_len(chain: &Mbuf) -> usize {
        chain.total_len()
    }

    #[inline(always)]
    fn free_chain(thread: &H, chain: Mbuf) {
        thread.free(chain);
    }
}
