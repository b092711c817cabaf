//! From what C has for a buffer to the buffer, if it is one.

use super::code::Code;
use crate::header::{Header, flags};
use crate::mbuf::Mbuf;
use crate::pool::{Core, Pool};
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A buffer's address as it comes from C. It may be anything.
pub(super) type Handle = *mut c_void;

/// A live buffer, used for one call, and not the call's to drop (F2).
pub(super) struct Borrowed(ManuallyDrop<Mbuf>);

impl Borrowed {
    fn new(header: &Header) -> Self {
        // SAFETY: the header is live, and what is made of it is never dropped but by `free`, which gives C's mbuf up.
        Self(ManuallyDrop::new(unsafe {
            Mbuf::from_raw(NonNull::from(header).cast())
        }))
    }

    /// The address again: it is another one if the mbuf was replaced.
    pub(super) fn address(&self) -> Handle {
        self.0.address()
    }

    /// The mbuf, which C has no more.
    pub(super) fn into_mbuf(self) -> Mbuf {
        ManuallyDrop::into_inner(self.0)
    }
}

impl Deref for Borrowed {
    type Target = Mbuf;

    #[inline(always)]
    fn deref(&self) -> &Mbuf {
        &self.0
    }
}

impl DerefMut for Borrowed {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Mbuf {
        &mut self.0
    }
}

/// The live header at `handle`. Its pool is the default one, or one with a number; pools that only Rust has are not C's.
#[inline(always)]
fn live<'a>(handle: Handle) -> Result<&'a Header, Code> {
    let address = handle.addr();
    if let Some(pool) = Pool::made_global() {
        // SAFETY: the default pool never ends.
        if let Some(header) = unsafe { pool.core().live_at(address) } {
            return Ok(header);
        }
    }
    live_elsewhere(address)
}

#[cold]
#[inline(never)]
fn live_elsewhere<'a>(address: usize) -> Result<&'a Header, Code> {
    let core = Core::around(address).ok_or(Code::HANDLE)?;
    // SAFETY: a kept arena is readable for ever.
    unsafe { core.live_at(address) }.ok_or(Code::HANDLE)
}

/// The buffer at `handle`, a chain's head or a member.
#[inline(always)]
pub(super) fn any(handle: Handle) -> Result<Borrowed, Code> {
    Ok(Borrowed::new(live(not_null(handle)?)?))
}

/// The buffer at `handle`, which is no chain's member, nor about to be freed by a call that tells the owner of foreign memory just now.
#[inline(always)]
pub(super) fn head(handle: Handle) -> Result<Borrowed, Code> {
    let header = live(not_null(handle)?)?;
    if header.flags() & (flags::MEMBER | flags::CONDEMNED) != 0 {
        return Err(Code::HANDLE);
    }
    Ok(Borrowed::new(header))
}

#[inline(always)]
pub(super) fn not_null(handle: Handle) -> Result<Handle, Code> {
    if handle.is_null() {
        return Err(Code::ARGUMENT);
    }
    Ok(handle)
}
