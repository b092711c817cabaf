//! The eleven functions that CANN's runtime publishes, on the default pool: thin calls of what `mbuf.h` has.

#![expect(non_snake_case, reason = "names are the vendor's")]

use super::handle::{Handle, not_null};
use super::{Code, Outcome, chain, data, pool, share, status};
use std::ffi::{c_int, c_void};

#[unsafe(no_mangle)]
unsafe extern "C" fn aclrtAllocBuf(buf: *mut Handle, size: usize) -> c_int {
    // Elsewhere a buffer may be without data.
    if size == 0 {
        return Code::ARGUMENT.number();
    }
    pool::alloc_default(buf, size)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aclrtFreeBuf(buf: Handle) -> c_int {
    pool::free(buf)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aclrtSetBufDataLen(buf: Handle, len: usize) -> c_int {
    status(data::set_length(buf, len))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aclrtGetBufDataLen(buf: Handle, len: *mut usize) -> c_int {
    status(data::length(buf, len))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aclrtGetBufData(
    buf: Handle,
    dataPtr: *mut *mut c_void,
    size: *mut usize,
) -> c_int {
    status(both(buf, dataPtr, size))
}

fn both(buf: Handle, start: *mut *mut c_void, size: *mut usize) -> Outcome {
    not_null(size.cast())?;
    not_null(start.cast())?;
    data::data(buf, start, size)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aclrtSetBufUserData(
    buf: Handle,
    dataPtr: *const c_void,
    size: usize,
    offset: usize,
) -> c_int {
    // SAFETY: F1.
    status(unsafe { data::set_user_data(buf, dataPtr, size, offset) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aclrtGetBufUserData(
    buf: Handle,
    dataPtr: *mut c_void,
    size: usize,
    offset: usize,
) -> c_int {
    // SAFETY: F1.
    status(unsafe { data::get_user_data(buf, dataPtr, size, offset) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aclrtCopyBufRef(buf: Handle, newBuf: *mut Handle) -> c_int {
    status(share::copy_ref(buf, newBuf))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aclrtAppendBufChain(headBuf: Handle, buf: Handle) -> c_int {
    status(chain::append(headBuf, buf))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aclrtGetBufChainNum(headBuf: Handle, num: *mut u32) -> c_int {
    status(chain::count(headBuf, num))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aclrtGetBufFromChain(headBuf: Handle, index: u32, buf: *mut Handle) -> c_int {
    status(chain::get(headBuf, index, buf))
}
