//! Chains.

use super::code::Outcome;
use super::handle::{Handle, any, head, not_null};
use super::{Code, Out, status};
use std::ffi::c_int;

pub(super) fn append(front: Handle, behind: Handle) -> Outcome {
    not_null(behind)?;
    let mut chain = head(front)?;
    let rest = head(behind)?;
    if front == behind {
        return Err(Code::HANDLE);
    }
    match chain.append(rest.into_mbuf()) {
        Ok(()) => Ok(()),
        Err(error) => {
            let code = error.kind().into();
            // It is C's again, as it was.
            let _ = error.into_mbuf().into_raw();
            Err(code)
        }
    }
}

pub(super) fn count(front: Handle, count: *mut u32) -> Outcome {
    let out = Out::new(count)?;
    out.set(head(front)?.segment_count() as u32);
    Ok(())
}

pub(super) fn get(front: Handle, index: u32, buf: *mut Handle) -> Outcome {
    let out = Out::new(buf)?;
    let chain = head(front)?;
    let segment = chain.segment(index as usize).ok_or(Code::ARGUMENT)?;
    out.set(segment.address());
    Ok(())
}

fn length(buf: Handle, bytes: *mut u64) -> Outcome {
    let out = Out::new(bytes)?;
    out.set(any(buf)?.total_len() as u64);
    Ok(())
}

fn next(buf: Handle, next: *mut Handle) -> Outcome {
    let out = Out::new(next)?;
    let mbuf = any(buf)?;
    let behind = mbuf.segment(1);
    out.set(behind.map_or(std::ptr::null_mut(), |segment| segment.address()));
    Ok(())
}

fn split(front: Handle, index: u32, rest: *mut Handle) -> Outcome {
    let out = Out::new(rest)?;
    not_null(front)?;
    // Of no chain, so it is out of range whatever the handle is.
    if index == 0 {
        return Err(Code::ARGUMENT);
    }
    let mut chain = head(front)?;
    let rest = chain.split_off(index as usize).ok_or(Code::ARGUMENT)?;
    out.set(rest.into_raw().as_ptr());
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_append(head: Handle, buf: Handle) -> c_int {
    status(append(head, buf))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_chain_count(head: Handle, out: *mut u32) -> c_int {
    status(count(head, out))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_chain_get(head: Handle, index: u32, buf: *mut Handle) -> c_int {
    status(get(head, index, buf))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_chain_length(buf: Handle, bytes: *mut u64) -> c_int {
    status(length(buf, bytes))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_next(buf: Handle, out: *mut Handle) -> c_int {
    status(next(buf, out))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_split(head: Handle, index: u32, rest: *mut Handle) -> c_int {
    status(split(head, index, rest))
}
