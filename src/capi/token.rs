//! Tokens: names of buffers that a later buffer in the same block does not answer to.

use super::code::Outcome;
use super::handle::{Handle, any};
use super::{Code, Out, status};
use crate::header::flags;
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
    life: u32,
    reserved: u32,
}

fn of(buf: Handle, token: *mut Token) -> Outcome {
    let out = Out::new(token)?;
    let mbuf = any(buf)?;
    let (core, header) = (mbuf.core(), mbuf.header());
    // SAFETY: the arena of a live mbuf of C's is kept.
    let (_, found) = unsafe { core.block_at(buf.addr()) }.ok_or(Code::HANDLE)?;
    out.set(Token {
        pool: core.number().raw(),
        offset: found.block.raw(),
        generation: header.generation(),
        life: found.life,
        reserved: 0,
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
    let address = core.address_of(token.offset);
    // SAFETY: a kept arena is readable for ever.
    let (header, found) = unsafe { core.block_at(address) }.ok_or(Code::HANDLE)?;
    let is_live = header.flags() & flags::LIVE != 0;
    let generation = header.generation();
    // Last, so that it covers all that was read.
    if !found.was_a_block()
        || !is_live
        || generation != token.generation
        || found.life != token.life
    {
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
