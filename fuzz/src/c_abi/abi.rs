//! The functions of `include/mbuf.h` and `include/acl_mbuf.h`. Outputs of calls that only ask are all `void *` here, so that they fit
//! into one table.

use std::ffi::{c_int, c_void};

pub(super) type Handle = *mut c_void;
/// A call that asks a buffer for something.
pub(super) type Ask = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;
pub(super) type Release = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) struct_size: usize,
    pub(super) capacity: u64,
    pub(super) magazine_size: u32,
    pub(super) huge_pages: u32,
    pub(super) prefault: u32,
    pub(super) reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Statistics {
    pub(super) struct_size: usize,
    pub(super) capacity: u64,
    pub(super) reserved: u64,
    pub(super) in_use: u64,
    pub(super) carved: u64,
    pub(super) cached: u64,
    pub(super) in_depot: u64,
    pub(super) allocs: u64,
    pub(super) frees: u64,
    pub(super) failed: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) pool: u64,
    pub(super) offset: u32,
    pub(super) generation: u32,
    pub(super) life: u32,
    pub(super) reserved: u32,
}

// Only the symbols are used.
use mbuf as _;

unsafe extern "C" {
    pub(super) fn mbuf_pool_create(options: *const Options, pool: *mut u64) -> c_int;
    pub(super) fn mbuf_pool_destroy(pool: u64, in_use: *mut u64) -> c_int;
    pub(super) fn mbuf_pool_reserve(pool: u64, size: usize, count: usize) -> c_int;
    pub(super) fn mbuf_pool_trim(pool: u64, bytes: *mut u64) -> c_int;
    pub(super) fn mbuf_pool_get_statistics(pool: u64, statistics: *mut Statistics) -> c_int;
    pub(super) fn mbuf_pool_of(buf: Handle, pool: *mut c_void) -> c_int;
    pub(super) fn mbuf_alloc(pool: u64, size: usize, buf: *mut Handle) -> c_int;
    pub(super) fn mbuf_alloc_aligned(
        pool: u64,
        size: usize,
        alignment: usize,
        buf: *mut Handle,
    ) -> c_int;
    pub(super) fn mbuf_alloc_headroom(
        pool: u64,
        size: usize,
        headroom: usize,
        alignment: usize,
        buf: *mut Handle,
    ) -> c_int;
    pub(super) fn mbuf_wrap(
        pool: u64,
        data: *mut c_void,
        length: usize,
        writable: c_int,
        release: Option<Release>,
        argument: *mut c_void,
        buf: *mut Handle,
    ) -> c_int;
    pub(super) fn mbuf_alloc_bulk(pool: u64, size: usize, bufs: *mut Handle, count: usize)
    -> c_int;
    pub(super) fn mbuf_free(buf: Handle) -> c_int;
    pub(super) fn mbuf_free_bulk(bufs: *const Handle, count: usize) -> c_int;
    pub(super) fn mbuf_data(buf: Handle, data: *mut *mut c_void, size: *mut usize) -> c_int;
    pub(super) fn mbuf_length(buf: Handle, length: *mut c_void) -> c_int;
    pub(super) fn mbuf_set_length(buf: Handle, length: usize) -> c_int;
    pub(super) fn mbuf_append_bytes(buf: Handle, bytes: *const c_void, length: usize) -> c_int;
    pub(super) fn mbuf_headroom(buf: Handle, bytes: *mut c_void) -> c_int;
    pub(super) fn mbuf_tailroom(buf: Handle, bytes: *mut c_void) -> c_int;
    pub(super) fn mbuf_prepend(buf: Handle, length: usize, data: *mut *mut c_void) -> c_int;
    pub(super) fn mbuf_copy_out(
        buf: Handle,
        offset: usize,
        data: *mut c_void,
        length: usize,
    ) -> c_int;
    pub(super) fn mbuf_set_user_data(
        buf: Handle,
        data: *const c_void,
        size: usize,
        offset: usize,
    ) -> c_int;
    pub(super) fn mbuf_get_user_data(
        buf: Handle,
        data: *mut c_void,
        size: usize,
        offset: usize,
    ) -> c_int;
    pub(super) fn mbuf_set_timestamp(buf: Handle, timestamp: u64) -> c_int;
    pub(super) fn mbuf_timestamp(buf: Handle, timestamp: *mut c_void) -> c_int;
    pub(super) fn mbuf_copy_ref(buf: Handle, copy: *mut Handle) -> c_int;
    pub(super) fn mbuf_is_shared(buf: Handle, shared: *mut c_void) -> c_int;
    pub(super) fn mbuf_slice(buf: Handle, offset: usize, length: usize, part: *mut Handle)
    -> c_int;
    pub(super) fn mbuf_retained(buf: Handle, bytes: *mut c_void) -> c_int;
    pub(super) fn mbuf_compact(head: *mut Handle) -> c_int;
    pub(super) fn mbuf_make_unique(head: *mut Handle) -> c_int;
    pub(super) fn mbuf_append(head: Handle, buf: Handle) -> c_int;
    pub(super) fn mbuf_chain_count(head: Handle, count: *mut c_void) -> c_int;
    pub(super) fn mbuf_chain_get(head: Handle, index: u32, buf: *mut Handle) -> c_int;
    pub(super) fn mbuf_chain_length(buf: Handle, bytes: *mut c_void) -> c_int;
    pub(super) fn mbuf_next(buf: Handle, next: *mut c_void) -> c_int;
    pub(super) fn mbuf_split(head: Handle, index: u32, rest: *mut Handle) -> c_int;
    pub(super) fn mbuf_split_bytes(head: Handle, offset: usize, rest: *mut Handle) -> c_int;
    pub(super) fn mbuf_advance(head: *mut Handle, length: usize) -> c_int;
    pub(super) fn mbuf_truncate(head: Handle, length: usize) -> c_int;
    pub(super) fn mbuf_linearize_prefix(head: *mut Handle, length: usize) -> c_int;
    pub(super) fn mbuf_coalesce(head: *mut Handle, headroom: usize) -> c_int;
    pub(super) fn mbuf_linearize(head: *mut Handle) -> c_int;
    pub(super) fn mbuf_token_of(buf: Handle, token: *mut c_void) -> c_int;
    pub(super) fn mbuf_from_token(token: *const Token, buf: *mut Handle) -> c_int;
    pub(super) fn aclrtAllocBuf(buf: *mut Handle, size: usize) -> c_int;
    pub(super) fn aclrtFreeBuf(buf: Handle) -> c_int;
    pub(super) fn aclrtSetBufDataLen(buf: Handle, length: usize) -> c_int;
    pub(super) fn aclrtGetBufDataLen(buf: Handle, length: *mut c_void) -> c_int;
    pub(super) fn aclrtGetBufData(buf: Handle, data: *mut *mut c_void, size: *mut usize) -> c_int;
    pub(super) fn aclrtSetBufUserData(
        buf: Handle,
        data: *const c_void,
        size: usize,
        offset: usize,
    ) -> c_int;
    pub(super) fn aclrtGetBufUserData(
        buf: Handle,
        data: *mut c_void,
        size: usize,
        offset: usize,
    ) -> c_int;
    pub(super) fn aclrtCopyBufRef(buf: Handle, copy: *mut Handle) -> c_int;
    pub(super) fn aclrtAppendBufChain(head: Handle, buf: Handle) -> c_int;
    pub(super) fn aclrtGetBufChainNum(head: Handle, count: *mut c_void) -> c_int;
    pub(super) fn aclrtGetBufFromChain(head: Handle, index: u32, buf: *mut Handle) -> c_int;
}

/// What a handle must name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Need {
    Any,
    Head,
}

/// The calls that ask.
pub(super) const ASKS: [(Ask, Need); 12] = [
    (mbuf_length, Need::Any),
    (mbuf_headroom, Need::Any),
    (mbuf_tailroom, Need::Any),
    (mbuf_timestamp, Need::Any),
    (mbuf_is_shared, Need::Any),
    (mbuf_retained, Need::Any),
    (mbuf_chain_length, Need::Any),
    (mbuf_next, Need::Any),
    (mbuf_token_of, Need::Any),
    (mbuf_chain_count, Need::Head),
    (aclrtGetBufDataLen, Need::Any),
    (aclrtGetBufChainNum, Need::Head),
];
