//! DPDK's `rte_mbuf`, with a cache of 512 for each core, on transparent huge pages.

use crate::contender::{
    self, Bulk, COPIES, Chaining, Contender, Need, SIZES, Sharing, Source, USER_AREA, WRITTEN,
    class_of,
};
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::NonNull;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};

/// `struct rte_mempool`.
enum Mempool {}

type Raw = *mut c_void;

unsafe extern "C" {
    fn peers_dpdk_start(bytes: usize) -> c_int;
    fn peers_dpdk_enter() -> c_int;
    fn peers_dpdk_leave();
    fn peers_dpdk_pool(size: usize, count: c_uint) -> *mut Mempool;
    fn peers_dpdk_pool_free(pool: *mut Mempool);
    fn peers_dpdk_alloc(pool: *mut Mempool) -> Raw;
    fn peers_dpdk_free(buf: Raw);
    fn peers_dpdk_alloc_bulk(pool: *mut Mempool, bufs: *mut Raw, count: c_uint) -> c_int;
    fn peers_dpdk_free_bulk(bufs: *mut Raw, count: c_uint);
    fn peers_dpdk_set_user(buf: Raw, user: *const u8);
    fn peers_dpdk_get_user(buf: Raw, user: *mut u8);
    fn peers_dpdk_copy(buf: Raw, clones: *mut Mempool) -> Raw;
    fn peers_dpdk_set_len(buf: Raw, len: u16);
    fn peers_dpdk_append(head: Raw, tail: Raw, buf: Raw, len: u16);
    fn peers_dpdk_total_len(buf: Raw) -> u64;
}

/// Address space for all pools; pages are had as they are touched.
const HEAP: usize = 8 << 30;

pub(crate) struct Mbufs {
    pools: [Option<NonNull<Mempool>>; SIZES.len()],
    /// Bare headers, for clones.
    clones: NonNull<Mempool>,
}

// SAFETY: mempools are made for several threads.
unsafe impl Sync for Mbufs {}

#[repr(transparent)]
pub(crate) struct Mbuf(NonNull<c_void>);

// SAFETY: mbufs may be used and freed on any thread.
unsafe impl Send for Mbuf {}

impl Mbuf {
    #[inline(always)]
    fn made(raw: Raw) -> Self {
        Self(NonNull::new(raw).expect("the pool is large enough"))
    }

    #[inline(always)]
    fn raw(&self) -> Raw {
        self.0.as_ptr()
    }
}

/// Starts DPDK when it is first needed.
fn start() -> Result<(), String> {
    static STARTING: Once = Once::new();
    static CODE: AtomicI32 = AtomicI32::new(0);
    // SAFETY: called once.
    STARTING.call_once(|| CODE.store(unsafe { peers_dpdk_start(HEAP) }, Ordering::Release));
    match CODE.load(Ordering::Acquire) {
        0 => Ok(()),
        code => Err(format!("DPDK does not start: error {code}")),
    }
}

fn new_pool(size: usize, count: usize) -> Result<NonNull<Mempool>, String> {
    // SAFETY: DPDK has been started.
    let pool = unsafe { peers_dpdk_pool(size, count as c_uint) };
    NonNull::new(pool).ok_or_else(|| format!("DPDK makes no pool of {count} times {size} bytes"))
}

impl Source for Mbufs {
    type Buffer = Mbuf;

    #[inline(always)]
    fn alloc(&self, size: usize) -> Mbuf {
        let pool = self.pools[class_of(size)].expect("made for this size");
        // SAFETY: a live pool.
        Mbuf::made(unsafe { peers_dpdk_alloc(pool.as_ptr()) })
    }

    #[inline(always)]
    fn free(&self, buffer: Mbuf) {
        // SAFETY: given up here.
        unsafe { peers_dpdk_free(buffer.raw()) };
    }
}

impl Contender for Mbufs {
    type Buffer = Mbuf;
    type Thread<'a> = &'a Self;

    fn new(need: Need) -> Result<Self, String> {
        start()?;
        let mut made = Self {
            pools: [None; SIZES.len()],
            clones: new_pool(0, COPIES)?,
        };
        for &size in need.sizes {
            made.pools[class_of(size)] = Some(new_pool(size, need.count)?);
        }
        Ok(made)
    }

    fn thread(&self) -> &Self {
        // SAFETY: DPDK has been started.
        let entered = unsafe { peers_dpdk_enter() };
        assert!(entered >= 0, "as many threads as DPDK has room for");
        self
    }

    fn leave(&self) {
        // SAFETY: the thread entered, and is not the one that started DPDK.
        unsafe { peers_dpdk_leave() };
    }

    #[inline(always)]
    fn data(buffer: &Mbuf) -> *mut u8 {
        let raw = buffer.raw().cast::<u8>();
        // SAFETY: the shim asserts that the buffer's address and the offset of the data in it are at these places.
        unsafe {
            let start = raw.cast::<*mut u8>().read();
            start.add(raw.add(16).cast::<u16>().read().into())
        }
    }

    #[inline(always)]
    fn write(buffer: &mut Mbuf, bytes: &[u8; WRITTEN]) {
        // SAFETY: the owned buffer, which has room for them.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), Self::data(buffer), WRITTEN);
            peers_dpdk_set_len(buffer.raw(), WRITTEN as u16);
        }
    }
}

impl Drop for Mbufs {
    fn drop(&mut self) {
        for pool in self.pools.into_iter().flatten().chain([self.clones]) {
            // SAFETY: all of its mbufs are back.
            unsafe { peers_dpdk_pool_free(pool.as_ptr()) };
        }
    }
}

impl Bulk for Mbufs {
    #[inline(always)]
    fn alloc_bulk(thread: &&Self, size: usize, count: usize, out: &mut Vec<Mbuf>) {
        let pool = thread.pools[class_of(size)].expect("made for this size");
        out.reserve(count);
        // SAFETY: there is room for as many, and an mbuf is represented as its pointer.
        unsafe {
            let room = out.spare_capacity_mut().as_mut_ptr().cast();
            let code = peers_dpdk_alloc_bulk(pool.as_ptr(), room, count as c_uint);
            assert_eq!(code, 0, "the pool is large enough");
            out.set_len(out.len() + count);
        }
    }

    #[inline(always)]
    fn free_bulk(_: &&Self, buffers: &mut Vec<Mbuf>) {
        // SAFETY: given up here.
        unsafe {
            peers_dpdk_free_bulk(buffers.as_mut_ptr().cast(), buffers.len() as c_uint);
            buffers.set_len(0);
        }
    }
}

impl Sharing for Mbufs {
    type Shared = Mbuf;

    #[inline(always)]
    fn share(buffer: Mbuf, user: &[u8; USER_AREA]) -> Mbuf {
        // SAFETY: all of the area.
        unsafe { peers_dpdk_set_user(buffer.raw(), user.as_ptr()) };
        buffer
    }

    #[inline(always)]
    fn copy(thread: &&Self, original: &Mbuf) -> Mbuf {
        // SAFETY: both live.
        Mbuf::made(unsafe { peers_dpdk_copy(original.raw(), thread.clones.as_ptr()) })
    }

    #[inline(always)]
    fn free_shared(thread: &&Self, shared: Mbuf) {
        thread.free(shared);
    }

    #[inline(always)]
    fn read_shared(shared: &Mbuf) -> u64 {
        // SAFETY: written before it was shared.
        unsafe { contender::sum(Self::data(shared)) }
    }

    fn user(shared: &Mbuf) -> [u8; USER_AREA] {
        let mut user = [0; USER_AREA];
        // SAFETY: all of the area.
        unsafe { peers_dpdk_get_user(shared.raw(), user.as_mut_ptr()) };
        user
    }
}

/// The head and the address of the tail, which is kept as DPDK's fastest users do.
pub(crate) struct Chain {
    head: Mbuf,
    tail: Raw,
}

impl Chaining for Mbufs {
    type Chain = Chain;

    #[inline(always)]
    fn start(buffer: Mbuf) -> Chain {
        // SAFETY: the owned buffer.
        unsafe { peers_dpdk_set_len(buffer.raw(), WRITTEN as u16) };
        Chain {
            tail: buffer.raw(),
            head: buffer,
        }
    }

    #[inline(always)]
    fn append(chain: &mut Chain, buffer: Mbuf) {
        // SAFETY: all three are the chain's from here on.
        unsafe { peers_dpdk_append(chain.head.raw(), chain.tail, buffer.raw(), WRITTEN as u16) };
        chain.tail = buffer.raw();
    }

    #[inline(always)]
    fn total_len(chain: &Chain) -> usize {
        // SAFETY: a live chain.
        unsafe { peers_dpdk_total_len(chain.head.raw()) as usize }
    }

    #[inline(always)]
    fn free_chain(thread: &&Self, chain: Chain) {
        thread.free(chain.head);
    }
}
