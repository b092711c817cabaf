//! Parts of buffers, the room in front of and behind their data, and memory that is not ours.

use super::code::Outcome;
use super::handle::{Handle, any, head, not_null};
use super::pool::numbered;
use super::share::replace;
use super::{Code, Out, status};
use crate::header::flags;
use crate::mbuf::{self, Mbuf};
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

/// A function that C wants called.
type Release = unsafe extern "C-unwind" fn(data: *mut c_void, argument: *mut c_void);

fn slice(buf: Handle, offset: usize, length: usize, part: *mut Handle) -> Outcome {
    let out = Out::new(part)?;
    not_null(buf)?;
    let end = offset.checked_add(length).ok_or(Code::ARGUMENT)?;
    let part = any(buf)?.slice(offset..end)?;
    out.set(part.into_raw().as_ptr());
    Ok(())
}

fn split_bytes(front: Handle, offset: usize, rest: *mut Handle) -> Outcome {
    let out = Out::new(rest)?;
    let rest = head(front)?.split_off_bytes(offset)?;
    out.set(rest.into_raw().as_ptr());
    Ok(())
}

fn room(buf: Handle, out: *mut usize, of: impl FnOnce(&Mbuf) -> usize) -> Outcome {
    let out = Out::new(out)?;
    out.set(of(&*any(buf)?));
    Ok(())
}

fn prepend(buf: Handle, length: usize, data: *mut *mut c_void) -> Outcome {
    let out = Out::new(data)?;
    let mut mbuf = any(buf)?;
    out.set(mbuf.prepend(length)?.as_mut_ptr().cast());
    Ok(())
}

/// # Safety
/// F1.
unsafe fn copy_out(buf: Handle, offset: usize, data: *mut c_void, length: usize) -> Outcome {
    not_null(buf)?;
    let place = NonNull::new(data.cast::<u8>()).ok_or(Code::ARGUMENT)?;
    let end = offset.checked_add(length).ok_or(Code::ARGUMENT)?;
    let mbuf = any(buf)?;
    let parts = mbuf.parts(offset..end).ok_or(Code::ARGUMENT)?;
    let mut written = 0;
    for part in parts {
        // SAFETY: F1; the parts are as long as the range. C's memory may be this very data.
        unsafe {
            part.as_ptr()
                .copy_to(place.as_ptr().add(written), part.len())
        };
        written += part.len();
    }
    Ok(())
}

fn retained(buf: Handle, bytes: *mut u64) -> Outcome {
    let out = Out::new(bytes)?;
    out.set(any(buf)?.retained());
    Ok(())
}

/// # Safety
/// F1, and the header's conditions for the memory.
unsafe fn wrap(
    pool: u64,
    (data, length): (*mut c_void, usize),
    writable: c_int,
    (release, argument): (Option<Release>, *mut c_void),
    buf: *mut Handle,
) -> Outcome {
    let out = Out::new(buf)?;
    let data = NonNull::new(data.cast::<u8>()).ok_or(Code::ARGUMENT)?;
    let release = release.ok_or(Code::ARGUMENT)?;
    if isize::try_from(length).is_err() {
        return Err(Code::ARGUMENT);
    }
    let kind = if writable == 0 { flags::READ_ONLY } else { 0 };
    let core = numbered(pool)?;
    // SAFETY: the caller's promise.
    let mbuf = unsafe { mbuf::wrap_raw(core, (data, length), kind, release, argument)? };
    out.set(mbuf.into_raw().as_ptr());
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_slice(
    buf: Handle,
    offset: usize,
    length: usize,
    part: *mut Handle,
) -> c_int {
    status(slice(buf, offset, length, part))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_split_bytes(head: Handle, offset: usize, rest: *mut Handle) -> c_int {
    status(split_bytes(head, offset, rest))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_headroom(buf: Handle, bytes: *mut usize) -> c_int {
    status(room(buf, bytes, Mbuf::headroom))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_tailroom(buf: Handle, bytes: *mut usize) -> c_int {
    status(room(buf, bytes, Mbuf::tailroom))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_prepend(buf: Handle, length: usize, data: *mut *mut c_void) -> c_int {
    status(prepend(buf, length, data))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_advance(head: *mut Handle, length: usize) -> c_int {
    // SAFETY: F1.
    status(unsafe { replace(head, |chain| chain.advance(length)) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_truncate(buf: Handle, length: usize) -> c_int {
    status(head(buf).map(|mut chain| chain.truncate(length)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_copy_out(
    buf: Handle,
    offset: usize,
    data: *mut c_void,
    length: usize,
) -> c_int {
    // SAFETY: F1.
    status(unsafe { copy_out(buf, offset, data, length) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_linearize_prefix(head: *mut Handle, length: usize) -> c_int {
    // SAFETY: F1.
    status(unsafe { replace(head, |chain| chain.linearize_prefix(length)) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_coalesce(head: *mut Handle, headroom: usize) -> c_int {
    // SAFETY: F1.
    status(unsafe { replace(head, |chain| chain.coalesce(headroom)) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_retained(buf: Handle, bytes: *mut u64) -> c_int {
    status(retained(buf, bytes))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_compact(head: *mut Handle) -> c_int {
    // SAFETY: F1.
    status(unsafe { replace(head, Mbuf::compact) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_wrap(
    pool: u64,
    data: *mut c_void,
    length: usize,
    writable: c_int,
    release: Option<Release>,
    argument: *mut c_void,
    buf: *mut Handle,
) -> c_int {
    // SAFETY: F1, and the header's conditions for the memory.
    status(unsafe { wrap(pool, (data, length), writable, (release, argument), buf) })
}
