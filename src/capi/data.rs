//! One buffer's data, length, user area and timestamp.

use super::handle::{Handle, any, not_null};
use super::{Code, Out, Outcome, status};
use crate::header::USER_AREA;
use std::ffi::{c_int, c_void};
use std::ptr;

/// Start and size of the data; either place may be null.
pub(super) fn data(buf: Handle, start: *mut *mut c_void, size: *mut usize) -> Outcome {
    let mbuf = any(buf)?;
    let (at, capacity) = (mbuf.data_start().cast(), mbuf.capacity());
    // A null pointer is a result that is not wanted.
    let _ = Out::new(start).map(|out| out.set(at));
    let _ = Out::new(size).map(|out| out.set(capacity));
    Ok(())
}

pub(super) fn length(buf: Handle, length: *mut usize) -> Outcome {
    let out = Out::new(length)?;
    out.set(any(buf)?.len());
    Ok(())
}

pub(super) fn set_length(buf: Handle, length: usize) -> Outcome {
    let mut mbuf = any(buf)?;
    if length > mbuf.capacity() {
        return Err(Code::ARGUMENT);
    }
    // SAFETY: within the capacity. C vouches for its bytes; to C, old bytes are bytes.
    unsafe { mbuf.set_len_unchecked(length) };
    Ok(())
}

/// The user area's part of `size` bytes from `offset` on, computed so that nothing wraps.
fn user_range(data: *const c_void, size: usize, offset: usize) -> Outcome {
    if offset > USER_AREA || size > USER_AREA - offset || data.is_null() {
        return Err(Code::ARGUMENT);
    }
    Ok(())
}

/// # Safety
/// F1.
pub(super) unsafe fn set_user_data(
    buf: Handle,
    data: *const c_void,
    size: usize,
    offset: usize,
) -> Outcome {
    not_null(buf)?;
    user_range(data, size, offset)?;
    let mut mbuf = any(buf)?;
    if size > 0 {
        // Perhaps C's bytes are in this very area, which `user_mut` therefore must not be held on to.
        let area = mbuf.user_mut().as_mut_ptr();
        // SAFETY: F1 for `data`; the range was checked.
        unsafe { ptr::copy(data.cast(), area.add(offset), size) };
    }
    Ok(())
}

/// # Safety
/// F1.
pub(super) unsafe fn get_user_data(
    buf: Handle,
    data: *mut c_void,
    size: usize,
    offset: usize,
) -> Outcome {
    not_null(buf)?;
    user_range(data, size, offset)?;
    let mbuf = any(buf)?;
    let area = mbuf.user().as_ptr();
    // SAFETY: F1 for `data`; the range was checked.
    unsafe { ptr::copy(area.add(offset), data.cast(), size) };
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_data(buf: Handle, start: *mut *mut c_void, size: *mut usize) -> c_int {
    status(data(buf, start, size))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_length(buf: Handle, out: *mut usize) -> c_int {
    status(length(buf, out))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_set_length(buf: Handle, length: usize) -> c_int {
    status(set_length(buf, length))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_append_bytes(buf: Handle, bytes: *const c_void, length: usize) -> c_int {
    // SAFETY: F1.
    status(unsafe { append_bytes(buf, bytes, length) })
}

/// # Safety
/// F1.
unsafe fn append_bytes(buf: Handle, bytes: *const c_void, length: usize) -> Outcome {
    not_null(bytes.cast_mut())?;
    let mut mbuf = any(buf)?;
    let len = mbuf.len();
    if length > mbuf.capacity() - len {
        return Err(Code::ARGUMENT);
    }
    if length > 0 {
        // Not as a slice: C's bytes may be this buffer's own.
        let room = mbuf.spare_capacity_mut().ok_or(Code::SHARED)?.as_mut_ptr();
        // SAFETY: F1 for `bytes`; the room is long enough, and written before it is made valid.
        unsafe {
            ptr::copy(bytes.cast(), room.cast::<u8>(), length);
            mbuf.set_len_unchecked(len + length);
        }
    }
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_set_user_data(
    buf: Handle,
    data: *const c_void,
    size: usize,
    offset: usize,
) -> c_int {
    // SAFETY: F1.
    status(unsafe { set_user_data(buf, data, size, offset) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_get_user_data(
    buf: Handle,
    data: *mut c_void,
    size: usize,
    offset: usize,
) -> c_int {
    // SAFETY: F1.
    status(unsafe { get_user_data(buf, data, size, offset) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_set_timestamp(buf: Handle, timestamp: u64) -> c_int {
    status(any(buf).map(|mut mbuf| mbuf.set_timestamp(timestamp)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_timestamp(buf: Handle, timestamp: *mut u64) -> c_int {
    let read = |out: Out<u64>| any(buf).map(|mbuf| out.set(mbuf.timestamp()));
    status(Out::new(timestamp).and_then(read))
}
