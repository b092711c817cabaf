//! Copies, and the way from shared or scattered data to data of one's own.

use super::code::Outcome;
use super::handle::{Handle, any, head};
use super::{Code, Out, status};
use crate::error::AllocError;
use crate::mbuf::{MAX_CHAIN, Mbuf};
use std::ffi::c_int;

pub(super) fn copy_ref(buf: Handle, copy: *mut Handle) -> Outcome {
    let out = Out::new(copy)?;
    let made = any(buf)?.copy_ref()?;
    out.set(made.into_raw().as_ptr());
    Ok(())
}

fn is_shared(buf: Handle, shared: *mut c_int) -> Outcome {
    let out = Out::new(shared)?;
    out.set(any(buf)?.is_shared().into());
    Ok(())
}

/// Does what may replace the buffer that C's `place` names.
///
/// # Safety
/// F1.
pub(super) unsafe fn replace<E: Into<Code>>(
    place: *mut Handle,
    act: impl FnOnce(&mut Mbuf) -> Result<(), E>,
) -> Outcome {
    let out = Out::new(place)?;
    // SAFETY: F1.
    let mut chain = head(unsafe { place.read_unaligned() })?;
    act(&mut chain).map_err(E::into)?;
    out.set(chain.address());
    Ok(())
}

/// All of the data is copied: C writes it by a pointer, and its length may be set later.
fn make_unique(chain: &mut Mbuf) -> Result<(), AllocError> {
    let mut lengths = [0; MAX_CHAIN];
    for (length, mut segment) in lengths.iter_mut().zip(chain.segments_mut()) {
        *length = segment.len();
        // SAFETY: within the capacity; to C, old bytes are bytes.
        unsafe { segment.set_len_unchecked(segment.capacity()) };
    }
    let outcome = chain.make_unique();
    for (&length, mut segment) in lengths.iter().zip(chain.segments_mut()) {
        // SAFETY: what it was.
        unsafe { segment.set_len_unchecked(length) };
    }
    outcome
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_copy_ref(buf: Handle, copy: *mut Handle) -> c_int {
    status(copy_ref(buf, copy))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_is_shared(buf: Handle, shared: *mut c_int) -> c_int {
    status(is_shared(buf, shared))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_make_unique(head: *mut Handle) -> c_int {
    // SAFETY: F1.
    status(unsafe { replace(head, make_unique) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_linearize(head: *mut Handle) -> c_int {
    // SAFETY: F1.
    status(unsafe { replace(head, Mbuf::linearize) })
}
