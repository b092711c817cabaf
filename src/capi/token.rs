//! Tokens: names of buffers that a later buffer in the same block does not answer to.

use super::code::Outcome;
use super::handle::{Handle, any};
use super::{Code, Out, status};
use crate::pool::Core;
use crate::registry::PoolId;
use std::ffi::c_int;
use std::ptr::{self, NonNull};

/// `mbuf_token`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Token {
    pool: u64,
    offset: u32,
    generation: u32,
}

fn of(buf: Handle, token: *mut Token) -> Outcome {
    let out = Out::new(token)?;
    let mbuf = any(buf)?;
    let header = mbuf.header();
    out.set(Token {
        pool: mbuf.core().number().raw(),
        offset: header.offset().raw(),
        generation: header.generation(),
    });
    Ok(())
}

/// # Safety
/// F1.
unsafe fn resolve(token: *const Token, buf: *mut Handle) -> Outcome {
    let out = Out::new(buf)?;
    let token = NonNull::new(token.cast_mut()).ok_or(Code::ARGUMENT)?;
    // SAFETY: F1.
    let token = unsafe { token.read_unaligned() };
    let core = Core::numbered_or_closed(PoolId::from_raw(token.pool)).ok_or(Code::HANDLE)?;
    // SAFETY: a kept arena is readable for ever.
    let header = unsafe { core.live_at_offset(token.offset) }.ok_or(Code::HANDLE)?;
    if header.generation() != token.generation {
        return Err(Code::HANDLE);
    }
    out.set(ptr::from_ref(header).cast_mut().cast());
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_token_of(buf: Handle, token: *mut Token) -> c_int {
    status(of(buf, token))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_from_token(token: *const Token, buf: *mut Handle) -> c_int {
    // SAFETY: F1.
    status(unsafe { resolve(token, buf) })
}
