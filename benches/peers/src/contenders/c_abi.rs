//! The crate's C interface, called as C calls it: by functions that the compiler does not see into.

use crate::contender::{
    self, Bulk, COPIES, Chaining, Contender, Need, Sharing, Source, USER_AREA, WRITTEN,
};
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::ptr::{self, NonNull};

type AllocBuf = unsafe extern "C" fn(*mut *mut c_void, usize) -> c_int;
type FreeBuf = unsafe extern "C" fn(*mut c_void) -> c_int;

#[allow(clashing_extern_declarations)]
unsafe extern "C" {
    fn aclrtAllocBuf(buf: *mut *mut c_void, size: usize) -> c_int;
    fn aclrtFreeBuf(buf: *mut c_void) -> c_int;
    fn aclrtGetBufData(buf: *mut c_void, data: *mut *mut c_void, size: *mut usize) -> c_int;
    fn aclrtSetBufDataLen(buf: *mut c_void, len: usize) -> c_int;
    fn aclrtSetBufUserData(buf: *mut c_void, data: *const u8, size: usize, at: usize) -> c_int;
    fn aclrtGetBufUserData(buf: *mut c_void, data: *mut u8, size: usize, at: usize) -> c_int;
    fn aclrtCopyBufRef(buf: *mut c_void, copy: *mut *mut c_void) -> c_int;
    fn aclrtAppendBufChain(head: *mut c_void, buf: *mut c_void) -> c_int;
    fn mbuf_chain_length(buf: *const c_void, bytes: *mut u64) -> c_int;
    fn mbuf_pool_reserve(pool: u64, size: usize, count: usize) -> c_int;
    fn mbuf_pool_trim(pool: u64, bytes: *mut u64) -> c_int;
    fn mbuf_alloc_bulk(pool: u64, size: usize, bufs: *mut *mut c_void, count: usize) -> c_int;
    fn mbuf_free_bulk(bufs: *const *mut c_void, count: usize) -> c_int;
}

/// The default pool, by its number.
const DEFAULT: u64 = 0;

/// Link-time optimisation would inline them where they are called by name.
pub(crate) struct CAbi {
    alloc: AllocBuf,
    free: FreeBuf,
}

/// An owned handle.
#[repr(transparent)]
pub(crate) struct Buf(NonNull<c_void>);

// SAFETY: buffers may be used and freed on any thread.
unsafe impl Send for Buf {}

impl Buf {
    #[inline(always)]
    fn made(raw: *mut c_void) -> Self {
        Self(NonNull::new(raw).expect("a call that succeeded wrote its output"))
    }

    #[inline(always)]
    fn raw(&self) -> *mut c_void {
        self.0.as_ptr()
    }
}

#[inline(always)]
fn succeeded(code: c_int) {
    assert_eq!(code, 0, "a call of the C interface");
}

impl Source for CAbi {
    type Buffer = Buf;

    #[inline(always)]
    fn alloc(&self, size: usize) -> Buf {
        let mut raw = ptr::null_mut();
        // SAFETY: the output is there.
        succeeded(unsafe { (self.alloc)(&mut raw, size) });
        Buf::made(raw)
    }

    #[inline(always)]
    fn free(&self, buffer: Buf) {
        // SAFETY: given up here.
        succeeded(unsafe { (self.free)(buffer.raw()) });
    }
}

impl Contender for CAbi {
    type Buffer = Buf;
    type Thread<'a> = &'a Self;

    fn new(need: Need) -> Result<Self, String> {
        let sizes = need.sizes.iter().map(|&size| (size, need.count));
        for (size, count) in sizes.chain([(0, COPIES)]) {
            // SAFETY: no pointers.
            match unsafe { mbuf_pool_reserve(DEFAULT, size, count) } {
                0 => {}
                code => return Err(format!("reserving failed with code {code}")),
            }
        }
        Ok(Self {
            alloc: black_box(aclrtAllocBuf as AllocBuf),
            free: black_box(aclrtFreeBuf as FreeBuf),
        })
    }

    fn thread(&self) -> &Self {
        self
    }

    #[inline(always)]
    fn data(buffer: &Buf) -> *mut u8 {
        let (mut data, mut size) = (ptr::null_mut(), 0);
        // SAFETY: the outputs are there.
        succeeded(unsafe { aclrtGetBufData(buffer.raw(), &mut data, &mut size) });
        data.cast()
    }

    #[inline(always)]
    fn write(buffer: &mut Buf, bytes: &[u8; WRITTEN]) {
        // SAFETY: as many bytes as fit, in the owned buffer.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), Self::data(buffer), WRITTEN);
            succeeded(aclrtSetBufDataLen(buffer.raw(), WRITTEN));
        }
    }
}

/// The default pool stays for the process, but does not keep the memory: others may need it.
impl Drop for CAbi {
    fn drop(&mut self) {
        let mut bytes = 0;
        // SAFETY: the output is there.
        succeeded(unsafe { mbuf_pool_trim(DEFAULT, &mut bytes) });
    }
}

impl Bulk for CAbi {
    #[inline(always)]
    fn alloc_bulk(_: &&Self, size: usize, count: usize, out: &mut Vec<Buf>) {
        out.reserve(count);
        // SAFETY: there is room for as many, and a handle is represented as its pointer.
        unsafe {
            let room = out.spare_capacity_mut().as_mut_ptr().cast();
            succeeded(mbuf_alloc_bulk(DEFAULT, size, room, count));
            out.set_len(out.len() + count);
        }
    }

    #[inline(always)]
    fn free_bulk(_: &&Self, buffers: &mut Vec<Buf>) {
        // SAFETY: given up here.
        unsafe {
            succeeded(mbuf_free_bulk(buffers.as_ptr().cast(), buffers.len()));
            buffers.set_len(0);
        }
    }
}

impl Sharing for CAbi {
    type Shared = Buf;

    #[inline(always)]
    fn share(buffer: Buf, user: &[u8; USER_AREA]) -> Buf {
        // SAFETY: all of the area.
        let code = unsafe { aclrtSetBufUserData(buffer.raw(), user.as_ptr(), USER_AREA, 0) };
        succeeded(code);
        buffer
    }

    #[inline(always)]
    fn copy(_: &&Self, original: &Buf) -> Buf {
        let mut raw = ptr::null_mut();
        // SAFETY: the output is there.
        succeeded(unsafe { aclrtCopyBufRef(original.raw(), &mut raw) });
        Buf::made(raw)
    }

    #[inline(always)]
    fn free_shared(thread: &&Self, shared: Buf) {
        thread.free(shared);
    }

    #[inline(always)]
    fn read_shared(shared: &Buf) -> u64 {
        // SAFETY: written before it was shared.
        unsafe { contender::sum(Self::data(shared)) }
    }

    fn user(shared: &Buf) -> [u8; USER_AREA] {
        let mut user = [0; USER_AREA];
        // SAFETY: all of the area.
        succeeded(unsafe { aclrtGetBufUserData(shared.raw(), user.as_mut_ptr(), USER_AREA, 0) });
        user
    }
}

impl Chaining for CAbi {
    type Chain = Buf;

    #[inline(always)]
    fn start(buffer: Buf) -> Buf {
        // SAFETY: no pointers but the handle.
        succeeded(unsafe { aclrtSetBufDataLen(buffer.raw(), WRITTEN) });
        buffer
    }

    #[inline(always)]
    fn append(chain: &mut Buf, buffer: Buf) {
        let buffer = Self::start(buffer);
        // SAFETY: given up to the chain.
        succeeded(unsafe { aclrtAppendBufChain(chain.raw(), buffer.raw()) });
    }

    #[inline(always)]
    fn total_len(chain: &Buf) -> usize {
        let mut bytes = 0;
        // SAFETY: the output is there.
        succeeded(unsafe { mbuf_chain_length(chain.raw(), &mut bytes) });
        bytes as usize
    }

    #[inline(always)]
    fn free_chain(thread: &&Self, chain: Buf) {
        thread.free(chain);
    }
}
